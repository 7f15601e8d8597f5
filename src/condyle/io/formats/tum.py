"""TUM trajectories: `timestamp tx ty tz qx qy qz qw`, one pose per line, one body per file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...model.recording import Bodies, Convention, Recording
from ..format import Format, ReadOptions
from ..tables.rows import parse_rows, truncation
from ..tables.text import head_lines, read_text

NAMES = ("timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw")
SAMPLE = 50  # rows that are looked at
MOST = 0.9  # of them that must be sound
OFF_UNIT = 0.02  # of a quaternion's length, for few decimals


def looks_like(head: bytes) -> bool:
    """Rows of eight numbers between blanks whose first increases and whose last four have unit length.

    A few rows may be broken: they are for the reader to tell.
    """
    rows = [line for line in head_lines(head) if line.strip() and not line.lstrip().startswith("#")][:SAMPLE]
    if len(rows) < 2:
        return False
    values = np.array([_numbers(row) for row in rows])
    whole = np.isfinite(values).all(axis=1)
    if not whole[0] or whole.mean() < MOST:
        return False
    values = values[whole]
    with np.errstate(over="ignore"):
        unit = np.abs(np.linalg.norm(values[:, 4:], axis=1) - 1) < OFF_UNIT
    step = np.diff(values[:, 0])
    return bool(unit.mean() >= MOST and len(step) and (step >= 0).mean() >= MOST and (step > 0).any())


def _numbers(row: str) -> list[float]:
    """The eight numbers of a row; NaN where it is something else."""
    try:
        numbers = [float(cell) for cell in row.split()]
    except ValueError:
        numbers = []
    return numbers if len(numbers) == len(NAMES) else [np.nan] * len(NAMES)


def read(path: Path, options: ReadOptions) -> Recording:
    """The poses of one body, named after the file."""
    text = read_text(path)
    rows = re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", text)
    values, cut = parse_rows(rows, NAMES, line=1, separator=None)
    if len(values) == 0:
        raise CondyleError("not a single whole row of eight numbers", code="no-data")
    named = re.search(rb"(?m)^[ \t]*#.*\bqx\W+qy\W+qz\W+qw\b", text[:65536]) is not None
    return Recording(
        str(path),
        "tum",
        bodies=Bodies((path.stem.strip() or "body",), values[:, None, 1:4], values[:, None, 4:]),
        time=values[:, 0],
        convention=Convention("xyzw", unit="m", stated=frozenset({"unit", "rotation"} if named else {"unit"})),
        facts={"length": "m", "rotation": "quaternion xyzw", "body": "named after the file"},
        findings=tuple(truncation(len(values), None, cut)),
    )


FORMAT = Format("tum", "TUM trajectory", looks_like, read, certain=False)
