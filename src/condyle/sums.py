"""PairSums: everything a pair of bodies needs for its joint, as sums over frames that add.

Files, chunks, windows, streams and several takes are sums of sums. One pass serves every pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ._shapes import Bools, Floats
from .take import Take

CHUNK_BYTES = 1_000_000  # of one block of frames laid out for the matrix product
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
    for rows in chunks(take):
        seen = take.seen[rows]
        X, R, p = stacked(take.R_world_body[rows], take.p_world_body[rows], seen)
        gram += X.T @ X
        if not whole:  # what a body adds alone is summed over the frames in which its partner is seen
            w = seen.astype(np.float64)
            frames += w.T @ w
            own = np.einsum("nirc,nir->nic", R, p).reshape(len(w), 3 * m)  # R_i' p_i
            own_b += (w.T @ own).reshape(m, m, 3).transpose(1, 0, 2)
            square += (w.T @ np.einsum("nic,nic->ni", p, p)).T
    blocks = gram.reshape(m, 4, m, 4).transpose(0, 2, 1, 3)
    Rp, pp = blocks[..., :3, 3], blocks[..., 3, 3]
    if whole:
        k = np.arange(m)
        frames += n
        own_b += Rp[k, k][:, None]
        square += np.diagonal(pp)[:, None]
    dd = np.maximum(square + square.T - 2 * pp, 0.0)
    return PairSums(frames, np.ascontiguousarray(blocks[..., :3, :3]), Rp - own_b, dd)


def centred(p_world_body: Floats, seen: Bools) -> Floats:
    """Positions from each frame's first seen body, 0 where not seen.

    Only differences between bodies matter; without this, products of positions far from the origin lose them.
    """
    if seen.all():
        return np.asarray(p_world_body - p_world_body[:, :1])
    p = np.where(seen[..., None], p_world_body, 0.0)
    first = np.take_along_axis(p, np.argmax(seen, axis=1)[:, None, None], axis=1)
    return np.where(seen[..., None], p - first, 0.0)


def stacked(R: Floats, p: Floats, seen: Bools) -> tuple[Floats, Floats, Floats]:
    """(3 n, 4 m) all poses as one matrix, with the rotations and centred positions it holds; 0 where not seen.

    Rows are (world axis, frame), columns (body, [its three axes, its position]): products of its columns are what
    every pair of bodies needs, and a column vector of joint centres turns it into gaps.
    """
    n, m = seen.shape
    p = centred(p, seen)
    if not seen.all():
        R = np.where(seen[..., None, None], R, 0.0)
    X = np.empty((3, n, m, 4))
    for axis in range(3):
        X[axis, :, :, :3] = R[:, :, axis]
        X[axis, :, :, 3] = p[:, :, axis]
    return X.reshape(3 * n, 4 * m), R, p


def chunks(take: Take) -> Iterator[slice]:
    """Frames in blocks whose stacked matrix fits a processor's cache, and is tall enough for its product to pay."""
    step = max(FEWEST_ROWS, CHUNK_BYTES // (96 * max(take.bodies, 1)))
    for start in range(0, take.frames, step):
        yield slice(start, start + step)
