"""PairSums: everything a pair of bodies needs for its joint, as sums over frames that add.

Files, chunks, windows, streams and several takes are sums of sums. One pass serves every pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..maths.arrays import Floats, centred
from ..model.take import Take

CHUNK_BYTES = 1_000_000  # of one block of frames laid out for the matrix product
KEPT_BYTES = 9_000_000  # of the matrix that is kept with a small take
FEWEST_ROWS = 256  # frames in a block, however many bodies there are


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the frames in which both bodies of a pair are seen; index [i, j] for child i and parent j.

    With d = p_j - p_i, the normal equations of the paper's eq. 9 to 12 are
        [[n I, -M], [-M', n I]] [c; l] = [b_i; b_j]
    frames  (m, m)        [-]    n: how many frames
    M       (m, m, 3, 3)  [-]    sum R_i' R_j
    b       (m, m, 3)     [m]    sum R_i' d; b[j, i] is the parent's half, since d changes sign with the order
    dd      (m, m)        [m^2]  sum d.d
    """

    frames: Floats
    M: Floats
    b: Floats
    dd: Floats

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(self.frames + other.frames, self.M + other.M, self.b + other.b, self.dd + other.dd)

    @property
    def bodies(self) -> int:
        return len(self.frames)


def sum_pairs(take: Take) -> PairSums:
    """The sums of all pairs of a take, chunk by chunk in memory that does not grow with the take."""
    n, m = take.frames, take.bodies
    whole = bool(take.seen.all())
    gram = np.zeros((4 * m, 4 * m))
    frames, own_b, square = np.zeros((m, m)), np.zeros((m, m, 3)), np.zeros((m, m))
    for rows, X in blocks(take):
        gram += whole_gram(take, X) if len(X) == 3 * n else X.T @ X
        if not whole:  # what a body adds alone is summed over the frames in which its partner is seen
            w = take.seen[rows].astype(np.float64)
            poses = X.reshape(3, len(w), m, 4)
            frames += w.T @ w
            own = np.einsum("anic,ani->nic", poses[..., :3], poses[..., 3]).reshape(len(w), 3 * m)  # R_i' p_i
            own_b += (w.T @ own).reshape(m, m, 3).transpose(1, 0, 2)
            square += (w.T @ np.einsum("ani,ani->ni", poses[..., 3], poses[..., 3])).T
    grid = gram.reshape(m, 4, m, 4).transpose(0, 2, 1, 3)
    Rp, pp = grid[..., :3, 3], grid[..., 3, 3]
    if whole:
        k = np.arange(m)
        frames += n
        own_b += Rp[k, k][:, None]
        square += np.diagonal(pp)[:, None]
    dd = np.maximum(square + square.T - 2 * pp, 0.0)
    return PairSums(frames, np.ascontiguousarray(grid[..., :3, :3]), Rp - own_b, dd)


def stacked(take: Take, rows: slice = slice(None)) -> Floats:
    """(3 n, 4 m) poses of a take as one matrix; 0 where not seen.

    Rows are (world axis, frame), columns (body, [its three axes, its centred position]): products of its columns are
    what every pair of bodies needs, and a column vector of joint centres turns it into gaps.
    """
    R, p, seen = take.R_world_body[rows], take.p_world_body[rows], take.seen[rows]
    n, m = seen.shape
    first = p[:, :1]
    if not seen.all():
        R = np.where(seen[..., None, None], R, 0.0)
        p, first = centred(p, seen), np.zeros((n, 1, 3))
    X = np.empty((3, n, m, 4))
    for axis in range(3):
        X[axis, :, :, :3] = R[:, :, axis]
        np.subtract(p[..., axis], first[..., axis], out=X[axis, :, :, 3])
    return X.reshape(3 * n, 4 * m)


_kept: WeakKeyDictionary[Take, Floats] = WeakKeyDictionary()
_grams: WeakKeyDictionary[Take, Floats] = WeakKeyDictionary()


def forget_stacks() -> None:
    """Drops the kept matrices; for measurements that must not find them made."""
    _kept.clear()
    _grams.clear()


def whole_stack(take: Take) -> Floats:
    """The stacked matrix of all frames. That of a small take is made once and kept beside it."""
    if take.frames * take.bodies * 96 > KEPT_BYTES:
        return stacked(take)
    if take not in _kept:
        _kept[take] = stacked(take)
    return _kept[take]


def whole_gram(take: Take, X: Floats) -> Floats:
    """(4 m, 4 m) Gram matrix of the stacked poses X of a take. That of a small take is made once and kept beside it."""
    if take not in _kept:
        return np.asarray(X.T @ X)
    if take not in _grams:
        _grams[take] = X.T @ X
    return _grams[take]


def blocks(take: Take) -> Iterator[tuple[slice, Floats]]:
    """All frames in blocks, each with its stacked matrix; a small take is one block."""
    if take.frames * take.bodies * 96 <= KEPT_BYTES:
        yield slice(0, take.frames), whole_stack(take)
        return
    for rows in chunks(take):
        yield rows, stacked(take, rows)


def chunks(take: Take) -> Iterator[slice]:
    """Frames in blocks whose stacked matrix fits a processor's cache, and is tall enough for its product to pay."""
    step = max(FEWEST_ROWS, CHUNK_BYTES // (96 * max(take.bodies, 1)))
    for start in range(0, take.frames, step):
        yield slice(start, start + step)
