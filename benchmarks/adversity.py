"""What lies behind the readers, by the thousand: spoilt takes and stages, damaged folders, files of options and logs.

`python -m benchmarks.adversity --runs 20000`; `--only poses` for one class; `--resume --runs 1000000` goes on behind
the last seed of each row, may be ended at any time, and goes on again another night. What is done, the limits and what
counts as a failure are those of tests/fuzz/behind.py; runs that failed are kept in tests/fuzz/test_behind.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import date

from tests.fuzz.adversity import KINDS, MOST_KINDS
from tests.fuzz.behind import CLASSES, SLOW_S, run
from tests.fuzz.worker import MEMORY, Failure, Outcome

from condyle.io.atomic import open_atomic

from .harness import RESULTS, Table, progress, versions

ROWS, PAGE = RESULTS / "adversity.json", RESULTS / "adversity.md"
AT_ONCE = 500  # runs of one process, after which the table is written: a long run may be ended at any time
HEADS = ("class", "runs", "worked through", "most frequent refusals", "mean [s]", "slowest [s]", "memory [MB]")
HEADS += ("failures", "seeds", "measured")
FAILURES = HEADS.index("failures")
HOW = (
    f"poses: takes of 3 to 6 bodies and 24 to 160 frames with one to {MOST_KINDS} of {len(KINDS)} kinds of adversity, "
    "fitted by any plan with any options, played and printed, one in six written, shown and exported. folders: the "
    "folder of a fit with a damaged file, loaded, shown, exported, retargeted, written. options: fits with a damaged "
    "file of options, edges, bodies, columns or a scale. profiles: a damaged profile compared, written, fitted and "
    "solved with. studies: a study that goes on with a damaged list or ledger. verbs: solve, angles, axes, export, "
    "retarget, profile, compare, info, doctor and others with a damaged folder, a damaged file beside it or a spoilt "
    "later recording. stages: any stage of any plan, one by one: a sound take goes through those before it, is spoilt "
    "as in poses, meets that stage without the checks before it, and goes through the rest. logs: logs of live "
    "sessions damaged byte by byte, or record by record with right checksums, fitted, looked at, replayed into another "
    "log and solved as a session that goes on; ledgers of studies whose lines say something else. A failure is any "
    f"exception but CondyleError, any warning, nan in a text, more than {SLOW_S:g} s of CPU time for one run, or more "
    f"than {MEMORY // 2**20} MB beyond an idle process. Seconds are CPU time, those of a run without "
    "the start of its process. A seed is a word and a number: "
    "`python -m tests.fuzz.behind CLASS WORD NUMBER` does that run again. A row may be of several runs of the script, "
    "each going on behind the last seed with the code of its day; a row with a failure begins anew "
    "once that is mended, and its seed is kept in the tests."
)
MILLION = (
    "A million runs of each class were not made: at these means they are {hours:.0f} hours of one core. `python -m "
    "benchmarks.adversity --resume --runs 1000000` goes on towards them from these rows."
)


def measure(name: str, runs: int, word: str, total: Outcome) -> Iterator[Outcome]:
    """What was found so far, after every process; the runs that the total has already are not made again."""
    for first in range(total.executions, runs, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, runs))
        while len(numbers):  # a process ends early where much fails
            part = run(name, word, numbers)
            total.executions += max(part.executions, 1)
            total.read += part.read
            total.seconds += part.seconds
            total.slowest, total.memory = max(total.slowest, part.slowest), max(total.memory, part.memory)
            total.failures += part.failures
            for code, count in part.codes.items():
                total.codes[code] = total.codes.get(code, 0) + count
            numbers = numbers[max(part.executions, 1) :]
            yield total


def row(name: str, word: str, outcome: Outcome) -> list[str]:
    refusals = sorted(outcome.codes, key=lambda code: -outcome.codes[code])[:4]
    return [
        name,
        str(outcome.executions),
        f"{100 * outcome.read / max(outcome.executions, 1):.0f} %",
        ", ".join(refusals),
        f"{outcome.seconds / max(outcome.executions, 1):.3f}",
        f"{outcome.slowest:.1f}",
        f"{outcome.memory / 2**20:.0f}",
        str(len(outcome.failures)),
        f"{word} 0 to {outcome.executions - 1}",
        str(date.today()),
    ]


def read_row(cells: list[str]) -> tuple[str, Outcome]:
    """The word of a row, and what was found by its runs, as exactly as the row says it."""
    _, runs, share, codes, mean, slowest, memory, failures, seeds, _ = cells
    total = Outcome(int(runs), round(int(runs) * int(share.removesuffix(" %")) / 100), int(runs) * float(mean))
    total.slowest, total.memory = float(slowest), int(memory) * 2**20
    total.codes = {code: int(runs) - k for k, code in enumerate(filter(None, codes.split(", ")))}  # their order alone
    total.failures = [Failure("found before", b"")] * int(failures)
    return seeds.split()[0], total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="of each class (20000)")
    parser.add_argument("--word", default="benchmark", help="other words spoil in other ways")
    parser.add_argument("--resume", action="store_true", help="go on behind the last seed of each row, with its word")
    parser.add_argument("--only", metavar="NAME,...", help="these classes; other rows of the table stay as they are")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    rows = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}
    failed = 0
    for name in given.only.split(",") if given.only else CLASSES:
        goes_on = given.resume and name in rows and rows[name][FAILURES] == "0"
        word, total = read_row(rows[name]) if goes_on else (given.word, Outcome())
        told = before = len(total.failures)
        for outcome in measure(name, given.runs, word, total):
            rows[name] = row(name, word, outcome)
            progress(" | ".join(rows[name]))
            for failure in outcome.failures[told:]:
                progress(f"{name} {failure.why}\n{failure.trace}")
            told = len(outcome.failures)
            if not given.dry:
                lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
                for file, text in ((ROWS, "{\n" + lines + "\n}\n"), (PAGE, page(rows))):
                    with open_atomic(file) as stream:
                        stream.write(text.encode())
        failed += told - before
    return 1 if failed else 0


def page(rows: dict[str, list[str]]) -> str:
    about = ", ".join(f"{key} {value}" for key, value in versions().items() if key != "scipy")
    table = Table(HEADS, [rows[name] for name in CLASSES if name in rows])
    hours = 1e6 * sum(float(cells[4]) for cells in rows.values()) / 3600
    short = any(int(cells[1]) < 10**6 for cells in rows.values())
    about = "\n\n".join([HOW, *([MILLION.format(hours=hours)] if short else []), f"{about}."])
    return f"# Adversity behind the readers\n\n{about}\n\n{table}\n"


if __name__ == "__main__":
    sys.exit(main())
