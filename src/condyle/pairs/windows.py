"""The sums of all pairs of bodies over short windows of a take, the room among the bodies.

Windows are added from blocks, longer windows from shorter ones, so that nothing is lost to subtraction. A few times as
many numbers as the take has poses tell for every pair and window how well one joint explains it, and how far a point
of one body moves as another sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, hardly_seen
from ..maths.robust import median
from ..maths.series import count_frames
from ..maths.spool import PART_BYTES, POSE_BYTES, blocks_of
from ..model.take import Take
from ..model.values import dataclass
from .fits import fit_laid_out
from .sums import PairSums, multiply_poses, stack_poses

WINDOW_RATE_HZ = 30.0  # Hz that suffice for how people move
WINDOW_BLOCK_S = 0.5  # s of the blocks that windows are made of
WINDOW_DOUBLINGS = 4  # times that windows double: 1, 2, 4 and 8 s
WINDOW_LONGEST_HOLE_S = 0.25  # s without a frame, across which no window reaches
WINDOW_RIDGE_RAD2 = 3e-4  # half mean square rotation [rad^2] below which a point is drawn towards the sensors
WINDOW_CHUNK_BYTES = 4_000_000  # of the sums of blocks that are held at a time; with joins and fits seven times that


@dataclass(frozen=True, eq=False)
class Windows:
    """Sums of w windows, all of one length; the last of m bodies is the room.

    first, stop  (w,)  frames of the take
    run          (w,)  windows with the same number follow each other without a break
    frames       (w,)  how many were summed
    bodies       m
    sums         of every pair i < j, P in the order of `np.triu_indices`, as `PoseProducts.lay_out` has them
    """

    first: Ints
    stop: Ints
    run: Ints
    frames: Ints
    bodies: int
    sums: PairSums

    def join_later(self, steps: int) -> Windows:
        """Each window joined to the one `steps` later, where nothing lies between them but windows."""
        near = self.run[steps:] == self.run[:-steps]
        here: slice | Ints = slice(None) if near.all() else np.flatnonzero(near)  # a slice copies nothing

        def join(values: Floats) -> Floats:
            return np.asarray(values[..., :-steps, :][..., here, :] + values[..., steps:, :][..., here, :])

        sums = self.sums.map(join)
        frames = self.frames[:-steps][here] + self.frames[steps:][here]
        first, stop, run = self.first[:-steps][here], self.stop[steps:][here], self.run[:-steps][here]
        return Windows(first, stop, run, frames, self.bodies, sums)

    def thin(self, every: int) -> Windows:
        """Every so-manieth window."""
        facts = {name: getattr(self, name)[::every] for name in ("first", "stop", "run", "frames")}
        return replace(self, **facts, sums=self.sums.map(lambda values: values[..., ::every, :]))

    def fit(self, i: Ints, j: Ints) -> tuple[Floats, Floats, Floats]:
        """Gap (w, P) [m] that one joint leaves in each window and pair, and the joint (w, P, 3) [m] in i and in j.

        Where a pair hardly turns its joint is drawn towards the sensors. A pair that is not seen has an infinite gap.
        """
        own = self._read((slice(None),), i, j)
        # The room has no sensor that a point could be drawn to.
        c, l, gap = fit_laid_out(own, WINDOW_RIDGE_RAD2, np.where(j == self.bodies - 1, 0.0, WINDOW_RIDGE_RAD2))
        # Half of the frames at least: else a window of two seconds might be a tenth of one.
        return np.where(own.frames >= 0.5 * self.frames[:, None], gap, np.inf), c, l

    def spread(self, window: Ints, body: Ints, point: Floats, by: Ints) -> Floats:
        """(q,) [m] how far a point (q, 3) of a body (q,) moves in a window (q,), as another body (q,) sees it."""
        own = self._read((window,), body, by)
        n = np.maximum(own.frames, 1.0)
        mean = np.einsum("rsq,qr->sq", own.M, point) + own.b_parent
        square = own.dd - 2 * np.einsum("rq,qr->q", own.b_child, point)
        square = square / n + np.sum(point * point, axis=-1) - np.sum(mean * mean, axis=0) / n**2
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def _read(self, window: tuple[Ints | slice], i: Ints, j: Ints) -> PairSums:
        """The sums of pairs (i, j), either way round, in some windows."""
        low, high = np.minimum(i, j), np.maximum(i, j)
        row = low * (2 * self.bodies - low - 1) // 2 + high - low - 1
        if len(row) == self.sums.frames.shape[-1] and (row == np.arange(len(row))).all():
            own = self.sums  # all of them
        else:
            own = self.sums.map(lambda values: values[(..., *window, row)])
        turned = i > j
        if not turned.any():
            return own
        M = np.where(turned, np.swapaxes(own.M, 0, 1), own.M)
        child, parent = np.where(turned, own.b_parent, own.b_child), np.where(turned, own.b_child, own.b_parent)
        return PairSums(own.frames, M, child, parent, own.dd)


def sum_windows(take: Take, good: Bools | None = None) -> Iterator[Windows]:
    """Windows of 1, 2, 4 and 8 s over a take, as far as it is long enough; part by part where it is long.

    good   (n, m) poses to trust; all that are seen by default
    """
    every = count_skipped(take)
    rows = pick_frames(take.seen, every)
    blocks, run = _blocks(take, rows, max(2, take.count_frames(WINDOW_BLOCK_S, every)))
    reach = 2**WINDOW_DOUBLINGS
    m = take.bodies + 1
    most = max(WINDOW_CHUNK_BYTES // (112 * m * m), 2 * reach)
    most -= most % reach  # so that a part has the windows that the whole take would have
    start = 0
    while start < len(blocks):
        stop = len(blocks) if start + 2 * most >= len(blocks) else start + most
        yield from _scales(
            _sum_blocks(take, good, blocks[start : stop + reach - 1], run[start : stop + reach - 1], every)
        )
        start = stop


def cut_windows(
    take: Take, first: int, stop: int, seconds: float, good: Bools | None = None, bodies: Ints | None = None
) -> Windows:
    """Frames first <= k < stop cut into windows of about so many seconds, side by side; one at least.

    bodies   those to sum, and the room after them; all by default
    """
    every = count_skipped(take)
    rows = first + pick_frames(take.seen[first:stop], every)
    count = max(1, count_frames((len(rows) * every / take.rate + 1e-9) // seconds, len(rows)))
    size = len(rows) // count
    blocks = rows[: count * size].reshape(count, size)
    return _sum_blocks(take, good, blocks, np.zeros(count, dtype=np.int64), every, bodies)


def count_skipped(take: Take) -> int:
    """Every so-manieth frame is enough: which."""
    return max(1, count_frames(take.rate / WINDOW_RATE_HZ, take.frames, whole=True))


def pick_frames(seen: Bools, every: int) -> Ints:
    """Every so-manieth frame; where a body is in hardly any of these (n, m), as a sensor of a fraction of the rate may
    be, that of each so many in which most are.
    """
    rows = np.arange(0, len(seen), every)
    if every == 1 or not hardly_seen(seen, slice(None, None, every)):
        return rows
    count = np.full(len(rows) * every, -1)
    count[: len(seen)] = seen.sum(axis=1)
    return np.asarray(rows + count.reshape(-1, every).argmax(axis=1))


def _scales(windows: Windows) -> Iterator[Windows]:
    steps = 1
    for _ in range(WINDOW_DOUBLINGS):
        if len(windows.first) <= steps:
            return
        windows = windows.join_later(steps)
        steps *= 2
        yield windows.thin(max(1, steps // 4))


def _blocks(take: Take, rows: Ints, size: int) -> tuple[Ints, Ints]:
    """(b, size) frames of whole blocks, none across a break, and (b,) the number of the unbroken run of each."""
    step = np.diff(take.time[rows], prepend=take.time[:1])
    fresh = np.diff(take.segment[rows], prepend=take.segment[:1]) != 0
    broken = fresh | (step > np.maximum(WINDOW_LONGEST_HOLE_S, 3 * (median(step[1:]) if len(step) > 1 else 0.0)))
    edges = np.concatenate([[0], np.flatnonzero(broken), [len(rows)]])
    blocks, run = [], []
    for number, (a, b) in enumerate(pairwise(edges)):
        count = (b - a) // size
        blocks.append(rows[a : a + count * size].reshape(count, size))
        run.append(np.full(count, number))
    return np.concatenate(blocks), np.concatenate(run)


def _sum_blocks(
    take: Take, good: Bools | None, blocks: Ints, run: Ints, every: int, bodies: Ints | None = None
) -> Windows:
    """The sums of each block (b, size) of frames, with the room as one more body."""
    who: Ints | slice = slice(None) if bodies is None else bodies
    seen = take.seen[blocks][..., who]
    if good is not None:
        seen = seen & good[blocks][..., who]
    known = take.p_world_body[blocks[seen.any(axis=-1)][:1]][:, who]
    room = np.nanmean(known, axis=(0, 1)) if known.size else np.zeros(3)  # any place near by, so that digits are kept
    seen = np.concatenate([seen, np.ones((*seen.shape[:-1], 1), dtype=bool)], axis=-1)
    i, j = np.triu_indices(seen.shape[-1], 1)

    def add_up(part: slice) -> PairSums:
        there: Any = blocks[part] if bodies is None else (blocks[part][..., None], bodies)
        X = stack_poses(take.R_world_body[there], take.p_world_body[there], seen[part, ..., :-1], room)
        return multiply_poses(X, seen[part]).lay_out(i, j)

    first, *others = map(add_up, blocks_of(len(blocks), POSE_BYTES * seen[:1].size, PART_BYTES))
    sums = first.map(lambda *parts: np.concatenate(parts, axis=-2), *others) if others else first
    stop = np.minimum(blocks[:, -1] + every, take.frames)
    return Windows(blocks[:, 0], stop, run, np.full(len(blocks), blocks.shape[1]), seen.shape[-1], sums)
