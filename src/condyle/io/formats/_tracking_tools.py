"""The CSV of OptiTrack's Tracking Tools and of the first Motive: one `frame` record per line below `info` lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...errors import CondyleError
from ...model.recording import Bodies, Convention, Recording
from ..tables.rows import describe_truncation, read_cells

CELLS_PER_BODY = 11  # of a rigid body in a frame record: id, position, quaternion, three angles
MOST_UNSEEN_PER_POSE = 100  # poses not seen for each that is: such a file is not worth its memory


def is_old(lines: Sequence[str]) -> bool:
    """`comment`, `righthanded`, `info,version,...` records, as Tracking Tools writes them."""
    start = [line.strip().lower() for line in lines[:400]]
    return any(line.startswith("info,framecount,") for line in start) and any(
        line.startswith(("righthanded", "lefthanded")) for line in start
    )


def read_old(text: bytes) -> Recording:
    """The rigid bodies of records frame,number,time,bodies,{id,x,y,z,qx,qy,qz,qw,yaw,pitch,roll},markers,..."""
    names: dict[str, str] = {}
    known: set[str] = set()
    handed, declared = "right", None
    stamps: list[float] = []
    poses: list[list[tuple[str, list[float]]]] = []
    whole, _, tail = text.rpartition(b"\n")
    cut = bool(tail.strip())
    for number, raw in enumerate(whole.split(b"\n"), 1):
        cells = read_cells(raw, b",")
        word = cells[0].lower() if cells else ""
        if word in ("righthanded", "lefthanded"):
            handed = word.removesuffix("handed")
        elif word == "info" and len(cells) > 2 and cells[1].lower() == "framecount" and cells[2].isdecimal():
            declared = int(cells[2][:12])
        elif word in ("rigidbody", "trackable") and not stamps and len(cells) > 3:
            if cells[1] in known or cells[2] in names:
                raise CondyleError(f"a second rigid body '{cells[1]}'", code="duplicate-name", line=number)
            names[cells[2]] = cells[1]
            known.add(cells[1])
        elif word == "frame":
            stamps.append(_read_numbers(cells[2:3], number, 3)[0] if len(cells) > 3 else np.nan)
            poses.append(_frame(cells, number))
    if not names:
        raise CondyleError("no rigid body is declared; export rigid bodies, not point clouds", code="no-data")
    if not stamps:
        raise CondyleError("not a single whole frame", code="no-data")
    if len(stamps) * len(names) > max(MOST_UNSEEN_PER_POSE * sum(len(found) for found in poses), 10**6):
        raise CondyleError("the rigid bodies are hardly ever seen; export those that are", code="file-too-large")
    pose = np.full((len(stamps), len(names), 7), np.nan)
    place = {identity: k for k, identity in enumerate(names)}
    for frame, found in enumerate(poses):
        for identity, numbers in found:
            if identity in place:
                pose[frame, place[identity]] = numbers
    if not np.isfinite(stamps).all():
        raise CondyleError("no time in this frame", code="bad-time", frame=int(np.argmin(np.isfinite(stamps))))
    return Recording(
        bodies=Bodies(tuple(names.values()), pose[..., :3], pose[..., 3:]),
        time=np.array(stamps),
        convention=Convention("xyzw", unit="m", handed=handed, up="y", stated=frozenset({"handed"})),
        facts={"program": "Tracking Tools or Motive 1", "length": "m by custom", "rotation": "quaternion xyzw"},
        findings=tuple(describe_truncation(len(stamps), declared, cut)),
    )


def _frame(cells: Sequence[str], line: int) -> list[tuple[str, list[float]]]:
    """[(id, position and quaternion)] of the bodies that a frame record holds."""
    count = int(cells[3]) if len(cells) > 3 and re.fullmatch(r"\d{1,9}", cells[3]) else len(cells)
    if 4 + CELLS_PER_BODY * count > len(cells):
        raise CondyleError("the frame record is shorter than its count of rigid bodies", code="ragged-row", line=line)
    found = []
    for k in range(4, 4 + CELLS_PER_BODY * count, CELLS_PER_BODY):
        found.append((cells[k], _read_numbers(cells[k + 1 : k + 8], line, k + 2)))
    return found


def _read_numbers(cells: Sequence[str], line: int, column: int) -> list[float]:
    """Numbers; `1.#QNAN` and its kin are no pose."""
    numbers = []
    for k, cell in enumerate(cells):
        try:
            numbers.append(np.nan if "#" in cell or not cell else float(cell))
        except ValueError:
            raise CondyleError(f"'{cell[:40]}' is no number", code="bad-number", line=line, column=column + k) from None
    return numbers
