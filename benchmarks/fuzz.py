"""Damaged files by the thousand: does every reader read or refuse them, in time and memory?

`python -m benchmarks.fuzz --executions 20000`; `--only c3d,bvh` for some formats. The files, the limits and what counts
as a failure are those of tests/fuzz.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date

import pytest
from tests.fuzz.seeds import BESIDE, NAMES, target
from tests.fuzz.worker import HANG, MEMORY, SLOW, Outcome, run

from .harness import RESULTS, Table, progress, versions

ROWS, PAGE = RESULTS / "fuzz.json", RESULTS / "fuzz.md"
HEADS = (
    "format",
    "files",
    "read in part or whole",
    "most frequent refusals",
    "files/s",
    "slowest [s]",
    "memory [MB]",
    "failures",
)
HOW = (
    "Small sound files of every format, each damaged in one to five places (bytes flipped, cut out, doubled, spliced, "
    "numbers replaced by awkward ones, lines swapped, other encodings, very long runs) and read by its format, as "
    "`condyle.read` reads it and, one in fifteen, as `condyle info` shows it. A failure is any exception but "
    f"CondyleError, any warning, more than {SLOW:g} s of CPU time for one file, or more than {MEMORY // 2**20} MB "
    "beyond an idle process. Seconds are CPU time; memory is the peak of the whole process."
)


def measure(name: str, executions: int, seed: str) -> Outcome | str:
    """The outcome, or why there is none."""
    try:
        aim = target(name)
    except pytest.skip.Exception as reason:
        return str(reason)
    return run(aim, executions, seed=seed, timeout=60 + HANG + executions * 0.2)


def row(name: str, outcome: Outcome | str) -> list[str]:
    if isinstance(outcome, str):
        return [name, "0", outcome, "", "", "", "", ""]
    refusals = sorted(outcome.codes, key=lambda code: -outcome.codes[code])[:3]
    return [
        name,
        str(outcome.executions),
        f"{100 * outcome.read / max(outcome.executions, 1):.0f} %",
        ", ".join(refusals),
        f"{outcome.executions / outcome.seconds:.0f}" if outcome.seconds else "",
        f"{outcome.slowest:.2f}",
        f"{outcome.memory / 2**20:.0f}",
        str(len(outcome.failures)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=20_000, help="damaged files per format (20000)")
    parser.add_argument("--seed", default="benchmark", help="any word: other words damage in other ways")
    parser.add_argument("--only", metavar="NAME,...", help="these formats; other rows of the table stay as they are")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    failed = 0
    rows = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}
    for name in given.only.split(",") if given.only else (*NAMES, *BESIDE.values()):
        outcome = measure(name, given.executions, given.seed)
        rows[name] = row(name, outcome)
        progress(" | ".join(rows[name]))
        for failure in outcome.failures if isinstance(outcome, Outcome) else ():
            failed += 1
            progress(f"{name}: {failure.why}\n{failure.trace}\n{failure.raw[:2000]!r}\n")
        if not given.dry:  # after each format: a run of hours may be interrupted
            ROWS.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")
            PAGE.write_text(page(rows, given.seed), encoding="utf-8")
    return 1 if failed else 0


def page(rows: dict[str, list[str]], seed: str) -> str:
    about = ", ".join(f"{key} {value}" for key, value in versions().items() if key != "scipy")
    table = Table(HEADS, [rows[name] for name in (*NAMES, *BESIDE.values()) if name in rows])
    return f"# Damaged files\n\n{HOW}\n\n{date.today()}, {about}; seed '{seed}'.\n\n{table}\n"


if __name__ == "__main__":
    sys.exit(main())
