"""Which frames stand for others: of an even clock, and where a pose is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .robust import median

if TYPE_CHECKING:
    from .arrays import Bools, Floats, Ints

EVEN_CLOCK_MAX_OFF = 0.1  # of a frame: a time stamp further off an even clock calls for resampling
SAME_FRAME_MAX_OFF = 1e-9  # of a frame: a time as near to a frame's is that frame's


class EvenPlaces(NamedTuple):
    """Places between frames on an even clock (k,) [s]: the frame before each, and the share of the way to the next."""

    clock: Floats
    before: Ints
    share: Floats


def mean_step(time: Floats) -> float:
    """Time between frames [s]; a hundredth where there is one frame only."""
    return float((time[-1] - time[0]) / (len(time) - 1)) if len(time) > 1 else 0.01


def even_places(time: Floats, step: float | None = None) -> EvenPlaces | None:
    """An even clock over one segment's time (n,) [s], or None where that is even already.

    step  [s] wanted between frames; None: the recording's own. Where frames were lost the mean step is too long, so the
          usual one keeps the rate of the recording
    """
    if len(time) < 2:
        return None
    mean = mean_step(time)
    off = float(np.abs(time - time[0] - mean * np.arange(len(time))).max())
    if off <= EVEN_CLOCK_MAX_OFF * mean and (step is None or abs(step - mean) <= SAME_FRAME_MAX_OFF * mean):
        return None
    step = float(median(np.diff(time))) if step is None else step
    count = int(np.floor((time[-1] - time[0]) / step + SAME_FRAME_MAX_OFF)) + 1
    clock = time[0] + step * np.arange(count)
    before = np.clip(np.searchsorted(time, clock, side="right") - 1, 0, len(time) - 2)
    share = (clock - time[before]) / (time[before + 1] - time[before])
    share = np.where(np.abs(share - np.round(share)) < SAME_FRAME_MAX_OFF, np.round(share), share)
    return EvenPlaces(clock, before, np.clip(share, 0.0, 1.0))


def known_around(known: Bools, segment: Ints) -> tuple[Ints, Ints]:
    """(n,) last known frame up to each and first known from each in its segment; -1 and n where there is none."""
    n = len(known)
    row = np.arange(n)
    before = np.maximum.accumulate(np.where(known, row, -1))
    after = np.minimum.accumulate(np.where(known, row, n)[::-1])[::-1]
    for part in segment_slices(segment):
        before[part][before[part] < part.start] = -1
        after[part][after[part] >= part.stop] = n
    return before, after


def held_frames(known: Bools, segment: Ints) -> Ints:
    """(n,) for each frame the last known one of its segment up to it, or the first known after; -1: none is known."""
    before, after = known_around(known, segment)
    return np.where(before >= 0, before, np.where(after < len(known), after, -1))


def segment_slices(segment: Ints) -> list[slice]:
    """The frames of every segment (n,), in order; one without frames where there are none at all."""
    starts = (np.flatnonzero(np.diff(segment) != 0) + 1).tolist()
    return [slice(a, b) for a, b in zip([0, *starts], [*starts, len(segment)], strict=True)]


def cut_blocks(values: Floats, length: int) -> Floats:
    """(length, blocks, ...) values (n, ...) cut into blocks of so many, the last filled up with NaN."""
    pad = np.full((-len(values) % length, *values.shape[1:]), np.nan)
    return np.swapaxes(np.concatenate([values, pad]).reshape(-1, length, *values.shape[1:]), 0, 1)


def correlated_square_sum(values: Floats) -> Floats:
    """(...) sum of squares about the mean of values (b, ...) in their order, with what neighbours share where that
    makes it more: what it takes for the error of a mean, or of a jackknife, over blocks of time.
    """
    off = values - values.mean(axis=0)
    own, near = np.square(off).sum(axis=0), (off[1:] * off[:-1]).sum(axis=0)
    return np.asarray(np.maximum(own, own + 2 * near))


def block_starts(segment: Ints, size: int) -> Ints:
    """First frames of blocks of `size` frames, none across segments (n,)."""
    return np.concatenate([np.arange(one.start, one.stop, size) for one in segment_slices(segment)])


def block_medians(values: Floats, first: Ints) -> Floats:
    """(b, k) median of values (n, k) in each block; NaN where none is known."""
    edges = [*first, len(values)]
    longest = int(np.diff(edges).max())
    block = np.repeat(np.arange(len(first)), np.diff(edges))
    out = np.empty((len(first), values.shape[1]))
    for k in range(values.shape[1]):
        table = np.full((longest, len(first)), np.nan)
        table[np.arange(len(values)) - first[block], block] = values[:, k]
        out[:, k] = median(table, np.nan)
    return out
