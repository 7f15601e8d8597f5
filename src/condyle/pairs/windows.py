"""The sums of all pairs of bodies over short windows of a take, the room among the bodies.

Windows are added from blocks, longer windows from shorter ones, so that nothing is lost to subtraction. A few times as
many numbers as the take has poses tell for every pair and window how well one joint explains it, and how far a point
of one body moves as another sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, centred
from ..maths.robust import median
from ..model.take import Take

RATE = 30.0  # Hz that suffice for how people move
BLOCK = 0.5  # s
LONGEST = 4  # times that windows double: 1, 2, 4 and 8 s
JUMP = 0.25  # s without a frame, across which no window reaches
RIDGE = 3e-4  # half mean square rotation [rad^2] below which a point is drawn towards the sensors
CHUNK_BYTES = 16_000_000  # of the sums of blocks that are held at a time


@dataclass(frozen=True, eq=False)
class Windows:
    """PairSums of w windows, all of one length; the last body is the room.

    first, stop  (w,)              frames of the take
    run          (w,)              windows with the same number follow each other without a break
    frames       (w, m, m)
    M            (w, m, m, 3, 3)   as in PairSums
    b            (w, m, m, 3)
    dd           (w, m, m)
    """

    first: Ints
    stop: Ints
    run: Ints
    frames: Floats
    M: Floats
    b: Floats
    dd: Floats

    def with_later(self, steps: int) -> Windows:
        """Each window joined to the one `steps` later, where nothing lies between them but windows."""
        near = self.run[steps:] == self.run[:-steps]
        here, there = np.flatnonzero(near), np.flatnonzero(near) + steps
        frames, M, b, dd = (values[here] + values[there] for values in (self.frames, self.M, self.b, self.dd))
        return Windows(self.first[here], self.stop[there], self.run[here], frames, M, b, dd)

    def thinned(self, every: int) -> Windows:
        """Every so-manieth window."""
        first, stop, run = (values[::every] for values in (self.first, self.stop, self.run))
        frames, M, b, dd = (values[::every] for values in (self.frames, self.M, self.b, self.dd))
        return Windows(first, stop, run, frames, M, b, dd)

    def fit(self, i: Ints, j: Ints) -> tuple[Floats, Floats, Floats]:
        """Gap (w, P) [m] that one joint leaves in each window and pair, and the joint (w, P, 3) [m] in i and in j.

        Where a pair hardly turns its joint is drawn towards the sensors. A pair that is not seen has an infinite gap.
        """
        n = np.maximum(self.frames[:, i, j], 1.0)
        A = self.M[:, i, j] / n[..., None, None]
        bi, bj = self.b[:, i, j] / n[..., None], self.b[:, j, i] / n[..., None]
        # The room has no sensor that a point could be drawn to.
        pull = np.where(j == self.frames.shape[1] - 1, 0.0, RIDGE)
        stiff = (1 + pull)[:, None]
        # With the half in j solved for, [[1 + ridge, -A], [-A', 1 + pull]] [c; l] = [bi; bj] is 3 x 3.
        inner = (1 + RIDGE) * np.eye(3) - A @ np.swapaxes(A, -1, -2) / stiff[..., None]
        c = _solved(inner, bi + np.einsum("wprs,wps->wpr", A, bj) / stiff)
        l = (bj + np.einsum("wprs,wpr->wps", A, c)) / stiff
        square = self.dd[:, i, j] / n - np.sum(bi * c, axis=-1) - np.sum(bj * l, axis=-1)
        square -= RIDGE * np.sum(c * c, axis=-1) + pull * np.sum(l * l, axis=-1)
        # Half of the frames at least: else a window of two seconds might be a tenth of one.
        seen = self.frames[:, i, j] >= 0.5 * self.frames[:, -1, -1][:, None]
        return np.where(seen, np.sqrt(np.maximum(square, 0.0)), np.inf), c, l

    def spread(self, window: Ints, body: Ints, point: Floats, by: Ints) -> Floats:
        """(q,) [m] how far a point (q, 3) of a body (q,) moves in a window (q,), as another body (q,) sees it."""
        n = np.maximum(self.frames[window, body, by], 1.0)
        mean = np.einsum("qrs,qr->qs", self.M[window, body, by], point) + self.b[window, by, body]
        square = self.dd[window, body, by] - 2 * np.sum(self.b[window, body, by] * point, axis=-1)
        square = square / n + np.sum(point * point, axis=-1) - np.sum(mean * mean, axis=-1) / n**2
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def _solved(S: Floats, right: Floats) -> Floats:
    """The solution of symmetric systems (..., 3, 3) by cofactors: many times faster here than a general solver."""
    (a, b, c), (d, e), f = (S[..., 0, k] for k in range(3)), (S[..., 1, k] for k in (1, 2)), S[..., 2, 2]
    A, B, C, D, E, F = d * f - e * e, c * e - b * f, b * e - c * d, a * f - c * c, b * c - a * e, a * d - b * b
    x, y, z = (right[..., k] for k in range(3))
    solved = np.stack([A * x + B * y + C * z, B * x + D * y + E * z, C * x + E * y + F * z], axis=-1)
    return np.asarray(solved / (a * A + b * B + c * C)[..., None])


def sum_windows(take: Take, good: Bools | None = None) -> Iterator[Windows]:
    """Windows of 1, 2, 4 and 8 s over a take, as far as it is long enough; part by part where it is long.

    good   (n, m) poses to trust; all that are seen by default
    """
    every = _every(take)
    rows = np.arange(0, take.frames, every)
    blocks, run = _blocks(take, rows, max(2, round(BLOCK * take.rate / every)))
    reach = 2**LONGEST
    m = take.bodies + 1
    most = max(CHUNK_BYTES // (112 * m * m), 2 * reach)
    start = 0
    while start < len(blocks):
        stop = len(blocks) if start + 2 * most >= len(blocks) else start + most
        yield from _scales(_summed(take, good, blocks[start : stop + reach - 1], run[start : stop + reach - 1], every))
        start = stop


def cut_windows(
    take: Take, first: int, stop: int, seconds: float, good: Bools | None = None, bodies: Ints | None = None
) -> Windows:
    """Frames first <= k < stop cut into windows of about so many seconds, side by side; one at least.

    bodies   those to sum, and the room after them; all by default
    """
    every = _every(take)
    rows = np.arange(first, stop, every)
    count = max(1, int((len(rows) * every / take.rate + 1e-9) // seconds))
    size = len(rows) // count
    blocks = rows[: count * size].reshape(count, size)
    return _summed(take, good, blocks, np.zeros(count, dtype=np.int64), every, bodies)


def _every(take: Take) -> int:
    """Every so-manieth frame is enough."""
    return max(1, int(take.rate / RATE))


def _scales(windows: Windows) -> Iterator[Windows]:
    steps = 1
    for _ in range(LONGEST):
        if len(windows.first) <= steps:
            return
        windows = windows.with_later(steps)
        steps *= 2
        yield windows.thinned(max(1, steps // 4))


def _blocks(take: Take, rows: Ints, size: int) -> tuple[Ints, Ints]:
    """(b, size) frames of whole blocks, none across a break, and (b,) the number of the unbroken run of each."""
    step = np.diff(take.time[rows], prepend=take.time[:1])
    fresh = np.diff(take.segment[rows], prepend=take.segment[:1]) != 0
    broken = fresh | (step > np.maximum(JUMP, 3 * (median(step[1:]) if len(step) > 1 else 0.0)))
    edges = np.concatenate([[0], np.flatnonzero(broken), [len(rows)]])
    blocks, run = [], []
    for number, (a, b) in enumerate(pairwise(edges)):
        count = (b - a) // size
        blocks.append(rows[a : a + count * size].reshape(count, size))
        run.append(np.full(count, number))
    return np.concatenate(blocks), np.concatenate(run)


def _summed(take: Take, good: Bools | None, blocks: Ints, run: Ints, every: int, bodies: Ints | None = None) -> Windows:
    """The sums of each block (b, size) of frames, with the room as one more body."""
    b, size = blocks.shape
    who: Ints | slice = slice(None) if bodies is None else bodies
    rows = blocks.ravel()
    n, m = len(rows), (take.bodies if bodies is None else len(bodies)) + 1
    seen = np.ones((n, m), dtype=bool)
    seen[:, :-1] = take.seen[rows][:, who]
    if good is not None:
        seen[:, :-1] &= good[rows][:, who]
    p = np.empty((n, m, 3))
    p[:, :-1] = take.p_world_body[rows][:, who]
    known = p[seen[:, :-1].any(axis=1)][:1, :-1]
    p[:, -1] = np.nanmean(known, axis=(0, 1)) if known.size else 0.0  # any place near by, so that digits are kept
    p = centred(p, seen)
    X = np.empty((n, 3, m, 4))
    X[:, :, :-1, :3] = np.swapaxes(np.where(seen[:, :-1, None, None], take.R_world_body[rows][:, who], 0.0), 1, 2)
    X[:, :, -1, :3] = np.eye(3)
    X[..., 3] = np.swapaxes(p, 1, 2)
    flat = X.reshape(b, size * 3, 4 * m)
    gram = np.empty((b, 4 * m, 4 * m))
    for k, block in enumerate(flat):  # a matrix by itself takes half the time of a stack of them
        np.matmul(block.T, block, out=gram[k])
    grid = gram.reshape(b, m, 4, m, 4).transpose(0, 1, 3, 2, 4)
    weight = np.swapaxes(seen.reshape(b, size, m).astype(np.float64), 1, 2)
    # What a body adds alone is summed over the frames in which its partner is seen.
    own = np.einsum("nxmr,nxm->nmr", X[..., :3], X[..., 3]).reshape(b, size, 3 * m)
    square = weight @ np.einsum("nmx,nmx->nm", p, p).reshape(b, size, m)
    half = (weight @ own).reshape(b, m, m, 3).transpose(0, 2, 1, 3)
    dd = square + np.swapaxes(square, 1, 2) - 2 * grid[..., 3, 3]
    return Windows(
        blocks[:, 0],
        np.minimum(blocks[:, -1] + every, take.frames),
        run,
        weight @ np.swapaxes(weight, 1, 2),
        np.ascontiguousarray(grid[..., :3, :3]),
        grid[..., :3, 3] - half,
        np.maximum(dd, 0.0),
    )
