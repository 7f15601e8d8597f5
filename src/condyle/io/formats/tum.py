"""TUM trajectories: `timestamp tx ty tz qx qy qz qw`, one pose per line, one body per file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...model.recording import Bodies, Convention, Recording
from ..format import Format, ReadOptions
from ..tables.guess import are_unit
from ..tables.rows import describe_truncation, read_number
from ..tables.table import Table, drop_comments
from ..tables.text import first_block, read_head_lines, read_text

TUM_COLUMNS = ("timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw")
TUM_SAMPLE_ROWS = 50  # rows that are looked at
SOUND_MIN_SHARE = 0.9  # of them that must be sound


def looks_like(head: bytes) -> bool:
    """Rows of eight numbers between blanks whose first increases and whose last four have unit length.

    A few rows may be broken: they are for the reader to tell.
    """
    rows = [line for line in read_head_lines(head) if line.strip() and not line.lstrip().startswith("#")][
        :TUM_SAMPLE_ROWS
    ]
    if len(rows) < 2:
        return False
    cells = [[read_number(cell) for cell in row.split()] for row in rows]
    values = np.array(
        [row if len(row) == len(TUM_COLUMNS) else [None] * len(TUM_COLUMNS) for row in cells], dtype=np.float64
    )
    whole = np.asarray(np.isfinite(values).all(axis=1))
    if not whole[0] or whole.mean() < SOUND_MIN_SHARE:
        return False
    values = values[whole]
    step, unit = np.diff(values[:, 0]), are_unit(values[:, 4:])
    sound = unit.mean() >= SOUND_MIN_SHARE and len(step) > 0 and (step >= 0).mean() >= SOUND_MIN_SHARE
    return bool(sound and (step > 0).any())


def read(path: Path, options: ReadOptions) -> Recording:
    """The poses of one body, named after the file."""
    text = read_text(path)
    rows = drop_comments(text)
    values, cut = Table(TUM_COLUMNS, rows, 1, None).numbers(empty="not a single whole row of eight numbers")
    named = re.search(rb"(?m)^[ \t]*#.*\bqx\W+qy\W+qz\W+qw\b", first_block(text, 65536)) is not None
    return Recording(
        bodies=Bodies((path.stem.strip() or "body",), values[:, None, 1:4], values[:, None, 4:]),
        time=values[:, 0],
        convention=Convention("xyzw", unit="m", stated=frozenset({"unit", "rotation"} if named else {"unit"})),
        facts={"length": "m", "rotation": "quaternion xyzw", "body": "named after the file"},
        findings=tuple(describe_truncation(len(values), None, cut)),
    )


FORMAT = Format("tum", "TUM trajectory", looks_like, read, certain=False)
