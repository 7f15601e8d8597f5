"""Which frames stand for others: of an even clock, and where a pose is not known."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .robust import median
from .spool import join_arrays

if TYPE_CHECKING:
    from .arrays import Bools, Floats, Ints

EVEN_CLOCK_MAX_OFF = 0.1  # of a frame: a time stamp further off an even clock calls for resampling
SAME_FRAME_MAX_OFF = 1e-9  # of a frame: a time as near to a frame's is that frame's
SENSOR_RATES_HZ = (1.0, 5000.0)  # Hz between which a rate is believed
SHORTEST_STEP_S = 1e-12  # s between frames: no clock counts faster
PACKET_SHORT_STEP = (
    0.25  # of the mean step: a shorter one is within a packet; none in 8400 clocks of random steps and losses
)
PACKET_MIN_SHORT_SHARE = 0.25  # of the steps: clocks that tremble have fewer short ones
PACKET_MAX_OFF = 0.4  # of the usual time of a frame, by which that of a packet may be off; sizes 2 and 3 may take turns
PACKET_MIN_LIKE_SHARE = 0.75  # of the packets that must be so; where frames were lost at random fewer are
PACKET_MIN_COUNT = 10  # whole packets
TURNS_WINDOW_FRAMES = 15  # whose median tells whole turns: noise of a third of a turn is then a tenth
MOST_EVEN_FRAMES = 20  # frames of an even clock for each that was recorded: pauses are cut out at as many steps


class EvenPlaces(NamedTuple):
    """Places between frames on an even clock (k,) [s]: the frame before each, and the share of the way to the next."""

    clock: Floats
    before: Ints
    share: Floats


def count_frames(frames: float, most: int, *, whole: bool = False) -> int:
    """Frames, rows or blocks that a quotient of times stands for, at most those there are; 0 where it is no number.

    most   frames there are
    whole  those that lie wholly in it; else the nearest number

    No other count is made from seconds: a clock may be wrong by any factor.
    """
    if not frames > 0:
        return 0
    least = min(frames, float(most))
    return int(least) if whole else round(least)


def mean_step(time: Floats) -> float:
    """Time between frames [s]; a hundredth where there is one frame only. None is shorter than a clock can count."""
    return max(float((time[-1] - time[0]) / (len(time) - 1)), SHORTEST_STEP_S) if len(time) > 1 else 0.01


class Packets(NamedTuple):
    """Stamps that come in packets, several frames at nearly the same time, then none for a while: those of arrival.

    step  [s] between the frames as they were measured
    """

    step: float


def find_packets(steps: Floats) -> Packets | None:
    """Packets in the steps of time (n,) [s] within segments; None where frames are stamped one by one.

    Packets are alike, a few frames in as much time; or so irregular, as after a program was held up, that only a usual
    step which no sensor has tells them from frames that were lost.
    """
    if len(steps) < 2 * PACKET_MIN_COUNT:
        return None
    mean = float(steps.mean())
    begins = np.flatnonzero(steps >= PACKET_SHORT_STEP * mean)
    if len(begins) > (1 - PACKET_MIN_SHORT_SHARE) * len(steps):
        return None
    if len(begins) > PACKET_MIN_COUNT:
        count, span = np.diff(begins), np.add.reduceat(steps, begins)[:-1]  # the last may be cut
        usual = float(median(span / count))
        like = np.abs(span / count - usual) <= PACKET_MAX_OFF * usual
        if like.mean() >= PACKET_MIN_LIKE_SHARE:
            return Packets(float(span[like].sum() / count[like].sum()))
    return Packets(mean) if float(median(steps)) * SENSOR_RATES_HZ[1] < 1 else None


def usual_step(steps: Floats) -> float:
    """[s] between frames, given the steps of time (n,) within segments: the median, or the time of a frame where stamps
    come in packets. NaN where there is no step, or none that a clock could count.
    """
    if not len(steps):
        return float("nan")
    packets = find_packets(steps)
    step = float(median(steps)) if packets is None else packets.step
    return step if step > SHORTEST_STEP_S else float("nan")


def spread_packets(time: Floats, segment: Ints, packets: Packets, fresh: Bools | None = None) -> Floats:
    """(n,) [s] when frames were measured that arrived in packets: as late as may be, but no two nearer than their step.

    fresh  (n,) frames that are none of the one before written again; all by default. Those lie between the others

    A frame that arrived without delay keeps its time, and where frames were lost a hole stays.
    """
    row = np.arange(len(time))
    number = row.astype(np.float64)
    if fresh is not None and not fresh.all():
        first = np.flatnonzero(fresh)
        number = np.interp(row, np.append(first, len(time)), np.arange(len(first) + 1.0))
    even, out = packets.step * number, np.empty(len(time))
    for part in segment_slices(segment):
        delayed = time[part] - even[part]
        out[part] = even[part] + np.minimum.accumulate(delayed[::-1])[::-1]
    return out


def even_step(time: Floats) -> float:
    """[s] between frames of an even clock for one segment's time (n,): the usual step, and not so short a one that it
    would make many frames of each.
    """
    return max(float(np.nan_to_num(usual_step(np.diff(time)))), mean_step(time) / MOST_EVEN_FRAMES)


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
    step = even_step(time) if step is None else step
    most = MOST_EVEN_FRAMES * len(time)
    count = count_frames((time[-1] - time[0]) / step + SAME_FRAME_MAX_OFF, most, whole=True) + 1
    clock = time[0] + step * np.arange(count)
    before = np.clip(np.searchsorted(time, clock, side="right") - 1, 0, len(time) - 2)
    share = (clock - time[before]) / (time[before + 1] - time[before])
    share = np.where(np.abs(share - np.round(share)) < SAME_FRAME_MAX_OFF, np.round(share), share)
    return EvenPlaces(clock, before, np.clip(share, 0.0, 1.0))


def find_known_around(known: Bools, segment: Ints) -> tuple[Ints, Ints]:
    """(n,) last known frame up to each and first known from each in its segment; -1 and n where there is none."""
    n = len(known)
    row = np.arange(n)
    before = np.maximum.accumulate(np.where(known, row, -1))
    after = np.minimum.accumulate(np.where(known, row, n)[::-1])[::-1]
    for part in segment_slices(segment):
        before[part][before[part] < part.start] = -1
        after[part][after[part] >= part.stop] = n
    return before, after


def find_held_frames(known: Bools, segment: Ints) -> Ints:
    """(n,) for each frame the last known one of its segment up to it, or the first known after; -1: none is known."""
    before, after = find_known_around(known, segment)
    return np.where(before >= 0, before, np.where(after < len(known), after, -1))


def segment_slices(segment: Ints) -> list[slice]:
    """The frames of every segment (n,), in order; one without frames where there are none at all."""
    starts = (np.flatnonzero(np.diff(segment) != 0) + 1).tolist()
    return [slice(a, b) for a, b in zip([0, *starts], [*starts, len(segment)], strict=True)]


def find_runs(flags: Bools) -> list[tuple[int, int]]:
    """(first, stop) of every run of frames (n,) that are flagged."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def cut_blocks(values: Floats, length: int) -> Floats:
    """(length, blocks, ...) values (n, ...) cut into blocks of so many, the last filled up with NaN."""
    if short := -len(values) % length:
        values = join_arrays([values, np.full((short, *values.shape[1:]), np.nan)])
    return np.swapaxes(values.reshape(-1, length, *values.shape[1:]), 0, 1)


def correlated_square_sum(values: Floats) -> Floats:
    """(...) sum of squares about the mean of values (b, ...) in their order, with what neighbours share where that
    makes it more: what it takes for the error of a mean, or of a jackknife, over blocks of time.
    """
    off = values - values.mean(axis=0)
    own, near = np.square(off).sum(axis=0), (off[1:] * off[:-1]).sum(axis=0)
    return np.asarray(np.maximum(own, own + 2 * near))


def average_runs(values: Floats, start: Ints, count: Ints) -> Floats:
    """(N, w) means of values (n, w) over runs of frames that follow each other, as products: many times faster than
    `np.add.reduceat`.
    """
    size = int(count[0])
    if size == 1 and (count == 1).all():
        return values
    if (count == size).all():
        return np.asarray(np.matmul(np.full((1, size), 1 / size), values.reshape(len(count), size, -1))[:, 0])
    out = np.empty((len(count), values.shape[1]))
    border = np.flatnonzero(np.diff(count)) + 1
    for a, b in zip([0, *border], [*border, len(count)], strict=True):  # stretches of runs that are equally long
        part = values[start[a] : start[b - 1] + count[b - 1]]
        size = int(count[a])
        out[a:b] = np.matmul(np.full((1, size), 1 / size), part.reshape(b - a, size, -1))[:, 0]
    return out


def sum_from_end(values: Floats) -> Floats:
    """The values (n, w), in their place, with all rows behind each added to it: row by row, which takes a third of what
    `np.cumsum` takes over rows of hundreds of numbers.
    """
    rows = list(values)
    for behind, row in pairwise(reversed(rows)):
        np.add(row, behind, out=row)
    return values


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


def follow_turns(angle: Floats, wanted: Floats, segment: Ints) -> Floats:
    """(n,) [rad] angles that are known up to whole turns, with the turns that something else tells, and its zero.

    wanted  (n,) [rad] as it tells them, with more noise; NaN where not known

    The frames around each in its run of frames that are known decide: no single bad one counts. Where one of the two is
    not known the angle is within half a turn of even motion, in a segment without any of zero. Never known: zeros.
    """
    angle = np.array(angle)
    seen = np.isfinite(angle) & np.isfinite(wanted)
    if not seen.any():
        return np.zeros(len(angle))
    ends, ahead = np.flatnonzero(np.diff(seen) | (np.diff(segment) != 0)) + 1, np.zeros(len(angle))
    for run in np.split(np.arange(len(angle)), ends):
        if seen[run[0]]:
            angle[run] = np.unwrap(angle[run])
            ahead[run] = _smooth_median(wanted[run] - angle[run])
    zero = np.angle(np.exp(1j * ahead[seen]).mean())  # the same in all frames but for whole turns
    angle += zero
    angle[seen] += _round_turns(ahead[seen] - zero)
    for part in segment_slices(segment):
        rows, other = (part.start + np.flatnonzero(which[part]) for which in (seen, ~seen))
        even = np.interp(other, rows, angle[rows]) if len(rows) else np.zeros(len(other))
        angle[other] = np.where(np.isfinite(angle[other]), angle[other] + _round_turns(even - angle[other]), even)
    return angle


def _smooth_median(values: Floats) -> Floats:
    """(n,) medians over `TURNS_WINDOW_FRAMES`: noise is less, and a step stays where it is."""
    wide = np.pad(values, TURNS_WINDOW_FRAMES // 2, mode="symmetric")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(wide, TURNS_WINDOW_FRAMES), axis=-1))


def _round_turns(angle: Floats) -> Floats:
    """[rad] in whole turns."""
    return np.asarray(2 * np.pi * np.round(angle / (2 * np.pi)))
