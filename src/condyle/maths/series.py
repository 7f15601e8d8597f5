"""Which frames stand for others: of an even clock, and where a pose is not known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import Bools, Floats, Ints
from .robust import median

UNEVEN = 0.1  # of a frame: a time stamp further off an even clock calls for resampling
AT_A_FRAME = 1e-9  # of a frame: a time as near to a frame's is that frame's


class Between(NamedTuple):
    """Places between frames: clock (k,) [s]; the frame before each (k,); share (k,) of the way to the next one."""

    clock: Floats
    before: Ints
    share: Floats


def mean_step(time: Floats) -> float:
    """Time between frames [s]; a hundredth where there is one frame only."""
    return float((time[-1] - time[0]) / (len(time) - 1)) if len(time) > 1 else 0.01


def even_places(time: Floats, step: float | None = None) -> Between | None:
    """An even clock over one segment's time (n,) [s], or None where that is even already.

    step  [s] wanted between frames; None: the recording's own. Where frames were lost the mean step is too long, so the
          usual one keeps the rate of the recording
    """
    if len(time) < 2:
        return None
    mean = mean_step(time)
    off = float(np.abs(time - time[0] - mean * np.arange(len(time))).max())
    if off <= UNEVEN * mean and (step is None or abs(step - mean) <= AT_A_FRAME * mean):
        return None
    step = float(median(np.diff(time))) if step is None else step
    count = int(np.floor((time[-1] - time[0]) / step + AT_A_FRAME)) + 1
    clock = time[0] + step * np.arange(count)
    before = np.clip(np.searchsorted(time, clock, side="right") - 1, 0, len(time) - 2)
    share = (clock - time[before]) / (time[before + 1] - time[before])
    share = np.where(np.abs(share - np.round(share)) < AT_A_FRAME, np.round(share), share)
    return Between(clock, before, np.clip(share, 0.0, 1.0))


def held_frames(known: Bools, segment: Ints) -> Ints:
    """(n,) for each frame the last known one of its segment up to it, or the first known after; -1: none is known."""
    n = len(known)
    row = np.arange(n)
    head = np.concatenate([[True], np.diff(segment) != 0])[:n]
    start = np.maximum.accumulate(np.where(head, row, 0))
    last = np.maximum.accumulate(np.where(known, row, -1))
    after = np.minimum.accumulate(np.where(known, row, n)[::-1])[::-1]
    end = np.append(np.flatnonzero(head)[1:], n)[np.cumsum(head) - 1]
    return np.where(last >= start, last, np.where(after < end, after, -1))
