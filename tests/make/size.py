"""How much the costly tests do: CONDYLE_TESTS is light (the default), middle (in .ci/run) or full.

Tests whose size depends on it have the marker `sized`, those that the light size leaves out `costly`. The full size
takes hours; its tables come from benchmarks/.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

T = TypeVar("T")
Size = Literal["light", "middle", "full"]
SIZE = os.environ.get("CONDYLE_TESTS") or "light"
if SIZE not in get_args(Size):
    raise ValueError(f"CONDYLE_TESTS is '{SIZE}'; choose from {', '.join(get_args(Size))}")


def pick(light: T, middle: T, full: T) -> T:
    """The value for the size that was asked for."""
    return {"light": light, "middle": middle, "full": full}[SIZE]


CUT_STEP = pick(7, 2, 1)  # bytes from one cut of a file to the next
MOST_CUTS = pick(300, 2000, 100_000)  # of the smallest file of a format, where all formats are cut
FEWER_CUTS = pick(20, 50, 5000)  # of each other file
DAMAGED_FILES = pick(20, 2000, 20_000)  # of a format
ADVERSE_RUNS = pick(16, 1200, 20_000)  # of spoilt takes; of every other class a quarter as many
GOLDEN_STEP = pick(24, 1, 1)  # takes from one that is compared with its golden to the next
SAMPLED = (  # folders, files and tests below tests/
    *("api/", "benchmarks/", "cli/", "estimate/", "faults/", "fuzz/", "io/", "live/", "maths/", "model/", "motion/"),
    *("oracle/", "pairs/", "paper/", "prepare/", "promises/", "properties/", "real/", "report/", "result/"),
    *("simulate/", "test_examples.py", "test_notebooks.py", "test_pipeline.py"),
    "docs/test_pages.py::test_every_block",
)
CASE_STEP = pick(8, 1, 1)  # cases from one that is run to the next, of a parametrised test among these


def cut_lengths(whole: Sequence[object], first: int = 0) -> list[int]:
    """Lengths below its own to cut a file to, the longest among them."""
    return sorted({*range(first, len(whole), CUT_STEP), len(whole) - 1})


def trials(few: int, all_: int) -> range:
    """Numbers of the trials of a statistical test: a few of them in the light size."""
    return range(pick(few, all_, all_))
