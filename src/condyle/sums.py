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
    m = take.bodies
    total = PairSums(np.zeros((m, m)), np.zeros((m, m, 3, 3)), np.zeros((m, m, 3)), np.zeros((m, m)))
    for rows in chunks(take):
        total = total + _sum_block(take.R_world_body[rows], take.p_world_body[rows], take.seen[rows])
    return total


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
    """Frames in blocks that keep a stacked matrix small."""
    step = max(32, CHUNK_BYTES // (96 * max(take.bodies, 1)))
    for start in range(0, take.frames, step):
        yield slice(start, start + step)


def _sum_block(R: Floats, p: Floats, seen: Bools) -> PairSums:
    n, m = seen.shape
    whole = bool(seen.all())
    flat, R, p = stacked(R, p, seen)
    gram = (flat.T @ flat).reshape(m, 4, m, 4).transpose(0, 2, 1, 3)
    M, Rp, pp = gram[..., :3, :3], gram[..., :3, 3], gram[..., 3, 3]
    k = np.arange(m)
    if whole:
        frames = np.full((m, m), float(n))
        own_b = np.broadcast_to(Rp[k, k][:, None], (m, m, 3))
        square = np.broadcast_to(np.diagonal(pp)[:, None], (m, m))
    else:
        w = seen.astype(np.float64)
        own = np.einsum("nirc,nir->nic", R, p)  # R_i' p_i, frame by frame, since partners are seen in other frames
        frames = w.T @ w
        own_b = (w.T @ own.reshape(n, 3 * m)).reshape(m, m, 3).transpose(1, 0, 2)
        square = (w.T @ np.einsum("nic,nic->ni", p, p)).T
    dd = np.maximum(square + square.T - 2 * pp, 0.0)
    return PairSums(frames, np.ascontiguousarray(M), Rp - own_b, dd)
