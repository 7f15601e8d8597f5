"""Time as devices write it: repeated stamps, jumps, sensors that each have a clock of their own."""

from __future__ import annotations

import numpy as np

from ..errors import CondyleError
from ..findings import Finding, many
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median

PAUSE = 1.0  # s: a longer step may be a pause of the recording
PERIODS = 20.0  # ... if it is also so many times the usual step
LATEST = 1e100  # s, and as early: no clock, whatever it counts, and differences of such numbers are finite


def in_order(
    time: Floats | None, segment: Ints | None, frames: int
) -> tuple[Ints | slice, Ints | None, Floats | None, list[Finding]]:
    """Rows to keep, their segment and time, and what was repaired.

    time, segment   (frames,) [s], (frames,), or None where a recording has none
    A stamp that repeats keeps its first row. Where time runs backwards, or jumps forward far, a new segment begins:
    nothing in a fit needs one clock throughout, but nothing may differentiate across the jump. Time itself is left as
    it is.
    """
    if time is None:
        return slice(None), segment, None, []
    known = np.abs(time) < LATEST
    if not known.all():
        frame = int(np.argmin(known))
        raise CondyleError(
            "time is not a number; correct or delete that row, or give --rate to count frames instead",
            code="bad-time",
            frame=frame,
        )
    own = np.zeros(frames, np.int64) if segment is None else segment
    inside = np.diff(own) == 0
    step = np.diff(time)
    if ((step > 0) | ~inside).all() and not _jumps(step, inside).any():
        return slice(None), segment, time, []
    return _repaired(time, own)


def _jumps(step: Floats, inside: Bools) -> Bools:
    """Steps of time [s] within a segment that are no gap any more: the recording was paused."""
    forward = step[inside & (step > 0)]
    usual = float(median(forward)) if len(forward) else np.inf
    return np.asarray(inside & (step > max(PAUSE, PERIODS * usual)))


def _repaired(time: Floats, segment: Ints) -> tuple[Ints, Ints, Floats, list[Finding]]:
    inside = np.diff(segment) == 0
    repeated = np.concatenate([[False], (np.diff(time) == 0) & inside])
    findings = []
    if repeated.any():
        count = int(repeated.sum())
        verb = "repeats" if count == 1 else "repeat"
        text = f"{many(count, 'row')} {verb} the time of the row before; the first of each is kept"
        findings.append(
            Finding("repeated-time", "warning", text, frame=int(np.argmax(repeated)), count=int(repeated.sum()))
        )
    rows = np.flatnonzero(~repeated)
    time, segment = time[rows], segment[rows]
    back = (np.diff(time) < 0) & (np.diff(segment) == 0)
    if back.any():
        first = int(np.argmax(back)) + 1
        text = (
            f"time runs backwards in {many(int(back.sum()), 'place')}, first from {time[first - 1]:g} s to "
            f"{time[first]:g} s; a new segment begins at each, and the joints do not depend on it"
        )
        findings.append(Finding("time-backwards", "warning", text, frame=int(rows[first]), count=int(back.sum())))
    step = np.diff(time)
    jump = _jumps(step, np.diff(segment) == 0)
    if jump.any():
        first = int(np.argmax(jump)) + 1
        longest = float(step[jump].max())
        text = (
            f"time jumps forward in {many(int(jump.sum()), 'place')}, first from {time[first - 1]:g} s to "
            f"{time[first]:g} s; a new segment begins at each; if the recording was not paused, check its clock"
        )
        findings.append(
            Finding(
                "time-jumps",
                "warning",
                text,
                time=(float(time[first - 1]), float(time[first])),
                value=longest,
                unit="s",
                frame=int(rows[first]),
                count=int(jump.sum()),
            )
        )
    starts = np.concatenate([[0], np.cumsum(back | jump | (np.diff(segment) != 0))])
    return rows, starts.astype(np.int64), time, findings
