"""condyle's CSV, one row per frame; docs/formats.md describes it."""

from __future__ import annotations

import os
import re

import numpy as np

from ...maths import rotation
from ...model.take import Take
from ..atomic import open_atomic
from ..formats.csv import CSV_VERSION, PARTS, RISKY

CSV_CONVENTIONS = (
    "time [s]; p is the body's origin in the world and q turns the body's axes into the world's "
    "(active, right-handed, column vectors); an empty cell is a pose not seen"
)
_ROWS_AT_ONCE = 1024  # written at once


def write_take_csv(path: str | os.PathLike[str], take: Take, fit_id: str | None = None) -> None:
    """Writes every number with the digits that bring it back; a pose not seen is seven empty cells.

    Time that was made up from a count of frames is not written, nor is a single segment.
    """
    columns = ["time"] * take.timed + ["segment"] * bool(take.segment.any())
    columns += [f"{escape_name(name)}.{part}" for name in take.names for part in PARTS]
    head = (
        f"# condyle take {CSV_VERSION}\n# frames: {take.frames}\n# length: m\n# quaternion: wxyz\n"
        f"# conventions: {CSV_CONVENTIONS}\n"
        + f"# fit: {fit_id}\n" * (fit_id is not None)
        + ",".join(_quote(column) for column in columns)
        + "\n"
    )
    with open_atomic(path) as stream:
        stream.write(head.encode("utf-8", "backslashreplace"))
        for start in range(0, take.frames, _ROWS_AT_ONCE):
            stream.write(_rows(take, slice(start, start + _ROWS_AT_ONCE)))


def escape_name(name: str) -> str:
    """The name behind an apostrophe where a spreadsheet would otherwise run it as a formula."""
    return f"'{name}" if name and name[0] in RISKY else name


def _quote(cell: str) -> str:
    return cell if re.fullmatch(r"[\w.'-]+", cell) else '"' + cell.replace('"', '""') + '"'


def _rows(take: Take, rows: slice) -> bytes:
    R, p = take.R_world_body[rows], take.p_world_body[rows]
    poses = np.concatenate([p, rotation.to_quaternion(R)], axis=-1).reshape(len(p), -1).tolist()
    several = bool(take.segment.any())
    lines = []
    for time, segment, pose in zip(take.time[rows].tolist(), take.segment[rows].tolist(), poses, strict=True):
        cells = ([repr(time)] if take.timed else []) + ([str(segment)] if several else [])
        cells.append(",".join(map(repr, pose)).replace("nan", ""))
        lines.append(",".join(cells) + "\n")
    return "".join(lines).encode("ascii")
