"""Time as devices write it: repeated stamps, jumps, sensors that each have a clock of their own."""

from __future__ import annotations

import numpy as np

from ._shapes import Floats, Ints
from .errors import CondyleError
from .findings import Finding


def in_order(
    time: Floats | None, segment: Ints | None, frames: int
) -> tuple[Ints | slice, Ints | None, Floats | None, list[Finding]]:
    """Rows to keep, their segment and time, and what was repaired.

    A stamp that repeats keeps its first row. Where time runs backwards a new segment begins: nothing in a fit needs
    one clock throughout, but nothing may differentiate across the jump.
    """
    if time is None:
        return slice(None), segment, None, []
    if not np.isfinite(time).all():
        frame = int(np.argmin(np.isfinite(time)))
        raise CondyleError("time is not a number", code="bad-time", frame=frame)
    step = np.diff(time)
    if (step > 0).all() or (segment is not None and ((step > 0) | (np.diff(segment) != 0)).all()):
        return slice(None), segment, time, []
    own = np.zeros(frames, np.int64) if segment is None else segment
    return _repaired(time, own)


def _repaired(time: Floats, segment: Ints) -> tuple[Ints, Ints, Floats, list[Finding]]:
    inside = np.diff(segment) == 0
    repeated = np.concatenate([[False], (np.diff(time) == 0) & inside])
    findings = []
    if repeated.any():
        text = f"{repeated.sum()} rows repeat the time of the row before; the first of each is kept"
        findings.append(
            Finding("repeated-time", "warning", text, frame=int(np.argmax(repeated)), count=int(repeated.sum()))
        )
    rows = np.flatnonzero(~repeated)
    time, segment = time[rows], segment[rows]
    back = (np.diff(time) < 0) & (np.diff(segment) == 0)
    if back.any():
        first = int(np.argmax(back)) + 1
        text = (
            f"time runs backwards in {back.sum()} places, first from {time[first - 1]:g} s to {time[first]:g} s; "
            "a new segment begins at each, and the joints do not depend on it"
        )
        findings.append(Finding("time-backwards", "warning", text, frame=int(rows[first]), count=int(back.sum())))
    starts = np.concatenate([[0], np.cumsum(back | (np.diff(segment) != 0))])
    return rows, starts.astype(np.int64), time, findings
