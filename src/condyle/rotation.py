"""Rotations as (..., 3, 3) matrices: active, right-handed, column vectors. Leading axes are batch axes.

Quaternions are wxyz and appear only here and at the borders. NaN in, NaN out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._polar import blocks, cofactors, gram, nearest_rotations, off_orthonormal, times_symmetric
from ._shapes import Floats

_TINY = 1e-12  # rad; below it series stand in for sin(x)/x
_HALF_TURN = 2 * np.cos(2.8)  # twice the cosine of the angle from which an axis is taken from the quaternion


def from_quaternion(q_wxyz: ArrayLike) -> Floats:
    """Matrices of quaternions (..., 4), which need not be of unit length; zero or infinite length gives NaN."""
    q = np.asarray(q_wxyz, dtype=np.float64)
    R = np.empty((*q.shape[:-1], 3, 3))
    flat = R.reshape(-1, 9)
    with np.errstate(all="ignore"):
        for rows, parts in blocks(q, 4):
            length = np.sqrt((parts * parts).sum(axis=0))
            w, x, y, z = np.where((length > 0) & (length < np.inf), parts / length, np.nan)
            x2, y2, z2 = 2 * x, 2 * y, 2 * z
            wx, wy, wz, xx, xy, xz = w * x2, w * y2, w * z2, x * x2, x * y2, x * z2
            yy, yz, zz = y * y2, y * z2, z * z2
            flat[rows] = np.stack(
                [1 - (yy + zz), xy - wz, xz + wy, xy + wz, 1 - (xx + zz), yz - wx, xz - wy, yz + wx, 1 - (xx + yy)]
            ).T
    return R


def to_quaternion(R: ArrayLike) -> Floats:
    """Unit quaternions wxyz (..., 4) with w >= 0."""
    R = np.asarray(R, dtype=np.float64)
    q = np.empty((R[..., 0, 0].size, 4))
    with np.errstate(invalid="ignore"):
        for rows, (a, b, c, d, e, f, g, h, i) in blocks(R, 9):
            # Four times w, x, y, z times the largest of them: that one keeps every branch well conditioned.
            ww, xx, yy, zz = 1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i
            wx, wy, wz, xy, xz, yz = h - f, c - g, d - b, d + b, c + g, h + f
            by_w, by_x, by_y = (ww >= xx) & (ww >= yy) & (ww >= zz), (xx >= yy) & (xx >= zz), yy >= zz
            w = np.where(by_w, ww, np.where(by_x, wx, np.where(by_y, wy, wz)))
            x = np.where(by_w, wx, np.where(by_x, xx, np.where(by_y, xy, xz)))
            y = np.where(by_w, wy, np.where(by_x, xy, np.where(by_y, yy, yz)))
            z = np.where(by_w, wz, np.where(by_x, xz, np.where(by_y, yz, zz)))
            scale = np.copysign(1 / np.sqrt(w * w + x * x + y * y + z * z), w)
            q[rows] = (np.stack([w, x, y, z]) * scale).T
    return q.reshape(*R.shape[:-2], 4)


def skew(v: ArrayLike) -> Floats:
    """(..., 3, 3) with skew(v) @ x = v x x."""
    v = np.asarray(v, dtype=np.float64)
    S = np.zeros((*v.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return S


def from_vector(r: ArrayLike) -> Floats:
    """Rotation by |r| radians about r, for r (..., 3)."""
    r = np.asarray(r, dtype=np.float64)
    angle = np.linalg.norm(r, axis=-1)[..., None, None]
    small = angle < _TINY
    safe = np.where(small, 1.0, angle)
    S = skew(r)
    a = np.where(small, 1.0, np.sin(safe) / safe)
    b = np.where(small, 0.5, 2 * (np.sin(0.5 * safe) / safe) ** 2)
    return np.eye(3) + a * S + b * (S @ S)


def to_vector(R: ArrayLike) -> Floats:
    """Rotation vectors (..., 3) [rad] of length at most pi."""
    R = np.asarray(R, dtype=np.float64)
    vector = np.empty((R[..., 0, 0].size, 3))
    far = np.zeros(len(vector), dtype=bool)
    with np.errstate(invalid="ignore"):
        for rows, (a, b, c, d, e, f, g, h, i) in blocks(R, 9):
            x, y, z, cosine = h - f, c - g, d - b, a + e + i - 1  # twice sine times axis, twice cosine
            sine = np.sqrt(x * x + y * y + z * z)
            small = sine < _TINY
            scale = np.where(small, 0.5, np.arctan2(sine, cosine) / np.where(small, 1.0, sine))
            vector[rows] = (np.stack([x, y, z]) * scale).T
            far[rows] = cosine < _HALF_TURN
    if far.any():  # near half a turn the sine says too little about the axis
        q = to_quaternion(R.reshape(-1, 3, 3)[far])
        sine = np.linalg.norm(q[:, 1:], axis=1, keepdims=True)
        vector[far] = q[:, 1:] * (2 * np.arctan2(sine, q[:, :1]) / sine)
    return vector.reshape(*R.shape[:-2], 3)


def angle(R: ArrayLike) -> Floats:
    """Angle of rotation (...) [rad], from 0 to pi."""
    return np.asarray(np.linalg.norm(to_vector(R), axis=-1))


def from_euler(angles: ArrayLike, order: str, *, extrinsic: bool = False) -> Floats:
    """Matrices of Euler angles (..., 3) [rad]; `order` such as "ZYX" names the axes in the order of the angles.

    Intrinsic (the default): R = R_first @ R_second @ R_third. Extrinsic: the axes stay fixed, the product is reversed.
    """
    angles = np.asarray(angles, dtype=np.float64)
    parts = []
    for k, letter in enumerate(order.upper()):
        i = "XYZ".index(letter)
        vector = np.zeros((*angles.shape[:-1], 3))
        vector[..., i] = angles[..., k]
        parts.append(from_vector(vector))
    if extrinsic:
        parts.reverse()
    return np.asarray(parts[0] @ parts[1] @ parts[2])


def project(M: ArrayLike) -> Floats:
    """Nearest rotation (Frobenius) to each (..., 3, 3); the result has determinant +1."""
    M = np.asarray(M, dtype=np.float64)
    flat = M.reshape(-1, 3, 3)
    R, doubtful = nearest_rotations(flat)
    if doubtful.any():
        rows = np.flatnonzero(doubtful)
        rows = rows[np.isfinite(flat[rows]).all(axis=(-2, -1))]
        R[doubtful] = np.nan
        U, _, Vt = np.linalg.svd(flat[rows])
        U[:, :, 2] *= np.where(np.linalg.det(U @ Vt) < 0, -1.0, 1.0)[:, None]
        R[rows] = U @ Vt
    return R.reshape(M.shape)


def polish(M: ArrayLike) -> Floats:
    """What `project` gives for each (..., 3, 3) that nearly is a rotation (defect up to 0.1), faster.

    Newton's iteration for the polar factor: the departure from orthonormal squares in every round.
    """
    M = np.asarray(M, dtype=np.float64)
    R = np.empty((M[..., 0, 0].size, 9))
    for rows, near in blocks(M, 9):
        for _ in range(6):
            off = gram(near, 1.0)
            near = near - 0.5 * times_symmetric(near, off)
            if not max(np.abs(entry).max() for entry in off) > 2e-7:  # its square is rounding
                break
        R[rows] = near.T
    return R.reshape(M.shape)


def defect(M: ArrayLike) -> Floats:
    """How far each (..., 3, 3) is from orthonormal: largest entry of |M'M - I|; inf where det <= 0, NaN stays NaN."""
    M = np.asarray(M, dtype=np.float64)
    off = np.empty(M[..., 0, 0].size)
    for rows, entries in blocks(M, 9):
        determinant = (entries[:3] * cofactors(entries)[:3]).sum(axis=0)
        off[rows] = np.where(determinant <= 0, np.inf, off_orthonormal(entries))
    return off.reshape(M.shape[:-2])


def mean(R: ArrayLike, axis: int = 0) -> Floats:
    """Chordal mean over one axis, NaN ignored: the rotation nearest to the average matrix; NaN where all are NaN."""
    R = np.asarray(R, dtype=np.float64)
    known = np.isfinite(R).all(axis=(-2, -1), keepdims=True)
    count = known.sum(axis=axis)
    total = np.where(known, R, 0.0).sum(axis=axis)
    return project(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Floats:
    """Uniform random rotations of the given batch shape."""
    return from_quaternion(rng.standard_normal((*shape, 4)))
