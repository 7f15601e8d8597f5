"""What lies behind the readers, by the thousand: spoilt takes and stages, damaged folders, files of options and logs.

`python -m benchmarks.adversity --runs 20000`; `--only poses` for one class; `--resume --in-all 1000000` goes on behind
the last seed of each row towards a million runs that the classes share, may be ended at any time, and goes on again
another night. What is done, the limits and what counts as a failure are those of tests/fuzz/behind.py; runs that failed
are kept in tests/fuzz/test_behind.py.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from datetime import date

from tests.fuzz.adversity import KINDS, MOST_KINDS
from tests.fuzz.behind import CLASSES, SLOW_S, run
from tests.fuzz.worker import MEMORY, Failure, Outcome

from condyle.io.atomic import open_atomic

from .harness import RESULTS, Table, progress, versions

ROWS, PAGE = RESULTS / "adversity.json", RESULTS / "adversity.md"
AT_ONCE = 1000  # runs of one process, after which the table is written: a long run may be ended at any time
MILLION = 10**6  # runs in all that the table is to come to
PERCENT = {  # of the runs in all: classes whose runs cost little have more of them
    "poses": 6, "folders": 22, "options": 42, "profiles": 12, "studies": 4, "verbs": 3, "stages": 7, "logs": 4,
}  # fmt: skip
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
    "each going on behind the last seed with the code of its day. Before it goes on, runs of it that failed are made "
    "again: those that fail no more are told as mended, and their seeds are kept in the tests."
)
MISSING = (
    "{done:,} runs in all. The script is made for a million, shared by what a run costs ({shares}): {missing:,} are "
    "missing, at these means {hours:.1f} hours of one core. `python -m benchmarks.adversity --resume --in-all 1000000` "
    "goes on towards them from these rows."
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


def row(name: str, word: str, outcome: Outcome, mended: int = 0) -> list[str]:
    """A row of the table; mended: runs that failed once and do no more."""
    refusals = sorted(outcome.codes, key=lambda code: -outcome.codes[code])[:4]
    return [
        name,
        str(outcome.executions),
        f"{100 * outcome.read / max(outcome.executions, 1):.0f} %",
        ", ".join(refusals),
        f"{outcome.seconds / max(outcome.executions, 1):.3f}",
        f"{outcome.slowest:.1f}",
        f"{outcome.memory / 2**20:.0f}",
        describe_failures(outcome, mended),
        f"{word} 0 to {outcome.executions - 1}",
        str(date.today()),
    ]


def describe_failures(outcome: Outcome, mended: int) -> str:
    """How many runs failed, the numbers of their seeds, and how many did before."""
    numbers = [failure.why.split(":")[0].split()[-1] for failure in outcome.failures]
    failed = f"{len(numbers)} ({', '.join(numbers)})" if numbers else "0"
    return failed + (f", {mended} mended" if mended else "")


def read_failures(cell: str) -> tuple[list[int], int]:
    """The numbers of the seeds of runs that failed, and how many are mended."""
    found = re.fullmatch(r"\d+(?: \(([^)]*)\))?(?:, (\d+) mended)?", cell)
    assert found, cell
    return [int(number) for number in re.findall(r"\d+", found[1] or "")], int(found[2] or 0)


def mend(name: str, word: str, total: Outcome, numbers: list[int]) -> int:
    """Makes runs that failed again; how many of them fail no more, the others stay failures of the total."""
    again = run(name, word, numbers) if numbers else Outcome()
    total.failures = again.failures
    return len(numbers) - len(again.failures)


def read_row(cells: list[str]) -> tuple[str, Outcome]:
    """The word of a row, and what was found by its runs, as exactly as the row says it."""
    _, runs, share, codes, mean, slowest, memory, failures, seeds, _ = cells
    total = Outcome(int(runs), round(int(runs) * int(share.removesuffix(" %")) / 100), int(runs) * float(mean))
    total.slowest, total.memory = float(slowest), int(memory) * 2**20
    total.codes = {code: int(runs) - k for k, code in enumerate(filter(None, codes.split(", ")))}  # their order alone
    word = seeds.split()[0]
    total.failures = [Failure(f"{word} {number}: found before", b"") for number in read_failures(failures)[0]]
    return word, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="of each class (20000)")
    parser.add_argument("--in-all", type=int, help="runs of all classes together, in place of --runs: each its share")
    parser.add_argument("--word", default="benchmark", help="other words spoil in other ways")
    parser.add_argument("--resume", action="store_true", help="go on behind the last seed of each row, with its word")
    parser.add_argument("--only", metavar="NAME,...", help="these classes; other rows of the table stay as they are")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    rows = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}
    aims = {name: share(name, given.in_all) if given.in_all else given.runs for name in CLASSES}
    words, totals, mended = dict[str, str](), dict[str, Outcome](), dict[str, int]()
    for name in given.only.split(",") if given.only else CLASSES:
        goes_on = given.resume and name in rows
        words[name], totals[name] = read_row(rows[name]) if goes_on else (given.word, Outcome())
        failed, mended[name] = read_failures(rows[name][FAILURES]) if goes_on else ([], 0)
        mended[name] += mend(name, words[name], totals[name], failed)
    told = dict.fromkeys(totals, 0)
    for name in take_turns(aims, words, totals):
        rows[name] = row(name, words[name], totals[name], mended[name])
        progress(" | ".join(rows[name]))
        for failure in totals[name].failures[told[name] :]:
            progress(f"{name} {failure.why}\n{failure.trace}")
        told[name] = len(totals[name].failures)
        if not given.dry:
            write(rows)
    return 1 if any(told.values()) else 0


def share(name: str, runs: int) -> int:
    """The runs of a class, of so many in all."""
    return runs * PERCENT[name] // 100


def take_turns(aims: dict[str, int], words: dict[str, str], totals: dict[str, Outcome]) -> Iterator[str]:
    """The class whose total has grown, after every process: always the one that is farthest from its aim goes on."""
    parts = {name: measure(name, aims[name], words[name], total) for name, total in totals.items()}
    while left := [name for name, total in totals.items() if total.executions < aims[name]]:
        name = min(left, key=lambda name: totals[name].executions / aims[name])
        next(parts[name])
        yield name


def write(rows: dict[str, list[str]]) -> None:
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
    for file, text in ((ROWS, "{\n" + lines + "\n}\n"), (PAGE, page(rows))):
        with open_atomic(file) as stream:
            stream.write(text.encode())


def page(rows: dict[str, list[str]]) -> str:
    about = ", ".join(f"{key} {value}" for key, value in versions().items() if key != "scipy")
    table = Table(HEADS, [rows[name] for name in CLASSES if name in rows])
    about = "\n\n".join([HOW, describe_missing(rows), f"{about}."])
    return f"# Adversity behind the readers\n\n{about}\n\n{table}\n"


def describe_missing(rows: dict[str, list[str]]) -> str:
    """How many runs there are, and what is missing to a million."""
    done = {name: read_row(cells)[1].executions for name, cells in rows.items()}
    missing = {name: max(share(name, MILLION) - runs, 0) for name, runs in done.items()}
    if not any(missing.values()):
        return f"{sum(done.values()):,} runs in all."
    hours = sum(float(rows[name][4]) * runs for name, runs in missing.items()) / 3600
    shares = ", ".join(f"{name} {percent} %" for name, percent in PERCENT.items())
    return MISSING.format(done=sum(done.values()), missing=sum(missing.values()), shares=shares, hours=hours)


if __name__ == "__main__":
    sys.exit(main())
