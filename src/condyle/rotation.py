"""Rotations as (..., 3, 3) matrices: active, right-handed, column vectors. Leading axes are batch axes.

Quaternions are wxyz and appear only here and at the borders. NaN in, NaN out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._shapes import Floats

_TINY = 1e-12  # rad; below it series stand in for sin(x)/x


def from_quaternion(q_wxyz: ArrayLike) -> Floats:
    """Matrices of quaternions (..., 4), which need not be of unit length; zero or infinite length gives NaN."""
    q = np.asarray(q_wxyz, dtype=np.float64)
    parts = np.ascontiguousarray(np.moveaxis(q, -1, 0))  # each part in one piece: several times faster than strided
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        w, x, y, z = parts
        length = np.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = np.where((length > 0) & (length < np.inf), parts / length, np.nan)
    R = np.empty((3, 3, *q.shape[:-1]))
    R[0, 0] = 1 - 2 * (y * y + z * z)
    R[0, 1] = 2 * (x * y - z * w)
    R[0, 2] = 2 * (x * z + y * w)
    R[1, 0] = 2 * (x * y + z * w)
    R[1, 1] = 1 - 2 * (x * x + z * z)
    R[1, 2] = 2 * (y * z - x * w)
    R[2, 0] = 2 * (x * z - y * w)
    R[2, 1] = 2 * (y * z + x * w)
    R[2, 2] = 1 - 2 * (x * x + y * y)
    return np.ascontiguousarray(np.moveaxis(R, (0, 1), (-2, -1)))


def to_quaternion(R: ArrayLike) -> Floats:
    """Unit quaternions wxyz (..., 4) with w >= 0."""
    R = np.asarray(R, dtype=np.float64)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1)
    # Four times the square of w, x, y, z; dividing by the largest keeps every branch well conditioned.
    squares = np.concatenate([1 + trace[..., None], 1 + 2 * diagonal - trace[..., None]], axis=-1)
    largest = np.argmax(np.nan_to_num(squares, nan=-1.0), axis=-1)
    a = R[..., 2, 1] - R[..., 1, 2]
    b = R[..., 0, 2] - R[..., 2, 0]
    c = R[..., 1, 0] - R[..., 0, 1]
    d = R[..., 1, 0] + R[..., 0, 1]
    e = R[..., 0, 2] + R[..., 2, 0]
    f = R[..., 2, 1] + R[..., 1, 2]
    rows = np.stack(
        [
            np.stack([squares[..., 0], a, b, c], axis=-1),
            np.stack([a, squares[..., 1], d, e], axis=-1),
            np.stack([b, d, squares[..., 2], f], axis=-1),
            np.stack([c, e, f, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    q = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.asarray(np.where(q[..., :1] < 0, -q, q))


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
    q = to_quaternion(R)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    small = sine < _TINY
    return q[..., 1:] * np.where(small, 2.0, angle / np.where(small, 1.0, sine))


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
    finite = np.isfinite(M)
    if not finite.all():
        known = finite.all(axis=(-2, -1))[..., None, None]
        return np.where(known, project(np.where(known, M, np.eye(3))), np.nan)
    U, _, Vt = np.linalg.svd(M)
    R = U @ Vt
    mirrored = _determinant(R) < 0
    if mirrored.any():
        U[..., :, 2] *= np.where(mirrored, -1.0, 1.0)[..., None]
        R = U @ Vt
    return np.asarray(R)


def polish(M: ArrayLike) -> Floats:
    """What `project` gives for each (..., 3, 3) that nearly is a rotation (defect up to 0.1), several times faster.

    Newton's iteration for the polar factor: the departure from orthonormal squares in every round.
    """
    R = np.asarray(M, dtype=np.float64)
    for _ in range(6):
        off = np.swapaxes(R, -1, -2) @ R
        off -= np.eye(3)
        R = R - 0.5 * (R @ off)
        if not np.abs(off).max(initial=0.0) > 2e-7:  # its square is rounding
            break
    return R


def defect(M: ArrayLike) -> Floats:
    """How far each (..., 3, 3) is from orthonormal: largest entry of |M'M - I|; inf where det <= 0, NaN stays NaN."""
    M = np.asarray(M, dtype=np.float64)
    off = np.abs(np.swapaxes(M, -1, -2) @ M - np.eye(3)).max(axis=(-2, -1))
    return np.where(_determinant(M) <= 0, np.inf, off)


def _determinant(M: Floats) -> Floats:
    """(...) of (..., 3, 3), by its six products: faster than the general way."""
    a, b, c, d, e, f, g, h, i = (M[..., j, k] for j in range(3) for k in range(3))
    return np.asarray(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


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
