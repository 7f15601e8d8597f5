"""Rotations as (..., 3, 3) matrices: active, right-handed, column vectors. Leading axes are batch axes.

Quaternions are wxyz and appear only here and at the borders. NaN in, NaN out. Numpy takes a matrix apart through LAPACK
at some microseconds each; here every entry is an array over matrices, in blocks that stay in the processor's cache,
which is about ten times faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Bools, Floats, Ints
from .spool import blocks as frame_blocks

POLAR_BLOCK_MATRICES = 4096  # matrices at once
ORTHONORMAL_MAX_DEFECT = 1e-12  # departure beyond which a closed form has lost too many digits
_TINY = 1e-12  # rad; below it series stand in for sin(x)/x
_SLIGHT_SQUARE = 0.01  # of twice a sine, up to which six terms of the arcsine's series are exact to 1e-16
_ENTRIES = [(i, j) for i in range(3) for j in range(3)]
_HALF_TURN = 2 * np.cos(2.8)  # twice the cosine of the angle from which an axis is taken from the quaternion


def from_quaternion(q_wxyz: ArrayLike, *, last: bool = False) -> Floats:
    """Matrices of quaternions (..., 4), which need not be of unit length; zero or infinite length gives NaN.

    last   the scalar comes last: xyzw
    """
    q = np.asarray(q_wxyz, dtype=np.float64)
    R = np.empty((*q.shape[:-1], 3, 3))
    flat = R.reshape(-1, 9)
    with np.errstate(all="ignore"):
        for rows, parts in blocks(q, 4):
            w, x, y, z = (parts[3], *parts[:3]) if last else parts
            square = w * w + x * x + y * y + z * z
            twice = 2 / np.where((square > 0) & (square < np.inf), square, np.nan)
            x2, y2, z2 = twice * x, twice * y, twice * z
            wx, wy, wz, xx, xy, xz = w * x2, w * y2, w * z2, x * x2, x * y2, x * z2
            yy, yz, zz = y * y2, y * z2, z * z2
            out = flat[rows].T
            out[0], out[1], out[2] = 1 - (yy + zz), xy - wz, xz + wy
            out[3], out[4], out[5] = xy + wz, 1 - (xx + zz), yz - wx
            out[6], out[7], out[8] = xz - wy, yz + wx, 1 - (xx + yy)
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


def carry(R: Floats, v: Floats) -> Floats:
    """(n, 3): R (n, 3, 3) @ v (3,), at once for all matrices, where numpy goes from one to the next."""
    return (R.reshape(-1, 3) @ v).reshape(-1, 3)


def to_vector(R: ArrayLike) -> Floats:
    """Rotation vectors (..., 3) [rad] of length at most pi."""
    R = np.asarray(R, dtype=np.float64)
    vector = np.empty((R[..., 0, 0].size, 3))
    far = np.zeros(len(vector), dtype=bool)
    for rows, entries in blocks(R, 9):
        vector[rows], far[rows] = _vectors(entries)
    if far.any():
        vector[far] = _near_half_turn(R.reshape(-1, 3, 3)[far])
    return vector.reshape(*R.shape[:-2], 3)


def between(A: ArrayLike, B: ArrayLike) -> Floats:
    """Rotation vectors (..., 3) [rad] of A'B: what turns A into B, in A's own axes. Faster than the product itself."""
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    vector = np.empty((A[..., 0, 0].size, 3))
    far = np.zeros(len(vector), dtype=bool)
    for (rows, one), (_, two) in zip(blocks(A, 9), blocks(B, 9), strict=True):
        product = [one[i] * two[j] + one[i + 3] * two[j + 3] + one[i + 6] * two[j + 6] for i, j in _ENTRIES]
        vector[rows], far[rows] = _vectors(product)
    if far.any():
        left, right = A.reshape(-1, 3, 3)[far], B.reshape(-1, 3, 3)[far]
        vector[far] = _near_half_turn(np.swapaxes(left, -1, -2) @ right)
    return vector.reshape(*A.shape[:-2], 3)


def _vectors(entries: Sequence[Floats] | Floats) -> tuple[Floats, Bools]:
    """Rotation vectors (b, 3) of matrices as nine entries (b,), and where they are too near to half a turn for it."""
    a, b, c, d, e, f, g, h, i = entries
    with np.errstate(invalid="ignore"):
        x, y, z, cosine = h - f, c - g, d - b, a + e + i - 1  # twice sine times axis, twice cosine
        scale = divide_by_sine(x * x + y * y + z * z, cosine)
        return (np.stack([x, y, z]) * scale).T, cosine < _HALF_TURN


def divide_by_sine(square: Floats, cosine: Floats) -> Floats:
    """Angles over twice their sines, from the squares of those and twice the cosines."""
    if not (square > _SLIGHT_SQUARE).any() and not (cosine < 0).any():  # then a series to the last digit is faster
        s = 0.25 * square
        return np.asarray(0.5 + s * (1 / 12 + s * (3 / 80 + s * (5 / 224 + s * (35 / 2304 + s * (63 / 5632))))))
    sine = np.sqrt(square)
    small = sine < _TINY
    return np.where(small, 0.5, np.arctan2(sine, cosine) / np.where(small, 1.0, sine))


def _near_half_turn(R: Floats) -> Floats:
    """The same (k, 3) of (k, 3, 3) by way of quaternions: there the sine says too little about the axis."""
    q = to_quaternion(R)
    sine = np.linalg.norm(q[:, 1:], axis=1, keepdims=True)
    return np.asarray(q[:, 1:] * (2 * np.arctan2(sine, q[:, :1]) / sine))


def angle(R: ArrayLike) -> Floats:
    """Angle of rotation (...) [rad], from 0 to pi."""
    return np.asarray(np.linalg.norm(to_vector(R), axis=-1))


def find_turn(axis: Floats, R: Floats) -> Floats:
    """(...) [rad] angle about a unit axis whose rotation is nearest to each R (..., 3, 3), or to a sum of rotations."""
    sine = axis @ np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=0
    ).reshape(3, -1)
    along = (R @ axis) @ axis
    cosine = np.trace(R, axis1=-2, axis2=-1) - along
    return np.asarray(np.arctan2(sine.reshape(np.shape(cosine)), cosine))


def cross(a: Floats, b: Floats) -> Floats:
    """a x b of two vectors (3,): numpy's function takes twenty times as long for so few numbers."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def find_shortest_arc(a: Floats, b: Floats, across: Floats | None = None) -> Floats:
    """(3, 3) the smallest rotation from unit vector a to b; opposite ones turn about what is near `across`."""
    normal, cosine = cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(normal))
    if sine < 1e-9 and cosine < 0:  # opposite: half a turn about anything across
        side = np.zeros(3) if across is None else across - a * (a @ across)
        normal = side if np.linalg.norm(side) > 1e-3 else cross(a, np.eye(3)[np.argmin(np.abs(a))])
        sine = 0.0
    length = float(np.linalg.norm(normal))
    return from_vector(normal * (np.arctan2(sine, cosine) / length if length > 0 else 0.0))


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
    whole = axis != 0 or not len(R)
    parts = [_sum_known(R, axis)] if whole else [_sum_known(R[rows], axis) for rows in frame_blocks(R)]
    count, total = (np.sum([part[k] for part in parts], axis=0) for k in range(2))
    return project(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _sum_known(R: Floats, axis: int) -> tuple[Ints, Floats]:
    """How many matrices are known along an axis, and their sum."""
    known = np.isfinite(R).all(axis=(-2, -1), keepdims=True)
    return known.sum(axis=axis), np.where(known, R, 0.0).sum(axis=axis)


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Floats:
    """Uniform random rotations of the given batch shape."""
    return from_quaternion(rng.standard_normal((*shape, 4)))


def blocks(values: Floats, width: int) -> Iterator[tuple[slice, Floats]]:
    """Rows and entries (width, b) of (..., width) or (..., 3, 3), each entry in one piece."""
    flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1, width)
    for start in range(0, len(flat), POLAR_BLOCK_MATRICES):
        rows = slice(start, start + POLAR_BLOCK_MATRICES)
        yield rows, np.ascontiguousarray(flat[rows].T)


def nearest_rotations(M: Floats) -> tuple[Floats, Bools]:
    """The rotation nearest to each of (n, 3, 3), and for which of them it is not told to full precision.

    M = R S with S symmetric and, where M mirrors, its least eigenvalue negative. With the cofactors C = R adj(S) and
    the invariants t = trace(S), p = (t^2 - |M|^2) / 2 the theorem of Cayley and Hamilton gives R (S^2 + p I) = C + t M,
    where S^2 = M'M; t is the largest root of p^2 = |C|^2 + 2 det(M) t. No inverse of S: flat M are no special case.
    """
    R = np.empty((len(M), 9))
    doubtful = np.zeros(len(M), dtype=bool)
    with np.errstate(all="ignore"):
        for rows, entries in blocks(M, 9):
            scaled = entries / np.abs(entries).max(axis=0)
            near = _polar(scaled)
            R[rows] = near.T
            doubtful[rows] = ~(off_orthonormal(near) < ORTHONORMAL_MAX_DEFECT)
    return R.reshape(-1, 3, 3), doubtful


def off_orthonormal(M: Floats) -> Floats:
    """(b,) largest entry of |M'M - I| of matrices given as entries (9, b)."""
    off = np.zeros(M.shape[1])
    for entry in gram(M, 1.0):
        np.maximum(off, np.abs(entry), out=off)
    return off


def gram(M: Floats, less: float | Floats) -> tuple[Floats, ...]:
    """The six different entries xx, yy, zz, xy, xz, yz of M'M - less I, for M as entries (9, b)."""
    a, b, c, d, e, f, g, h, i = M
    return (
        a * a + d * d + g * g - less,
        b * b + e * e + h * h - less,
        c * c + f * f + i * i - less,
        a * b + d * e + g * h,
        a * c + d * f + g * i,
        b * c + e * f + h * i,
    )


def times_symmetric(M: Floats, S: tuple[Floats, ...]) -> Floats:
    """Entries (9, b) of M S for S given as xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = S
    out = np.empty_like(M)
    for k in (0, 3, 6):
        x, y, z = M[k : k + 3]
        out[k] = x * xx + y * xy + z * xz
        out[k + 1] = x * xy + y * yy + z * yz
        out[k + 2] = x * xz + y * yz + z * zz
    return out


def cofactors(M: Floats) -> Floats:
    """Entries (9, b) of the cofactors of M."""
    a, b, c, d, e, f, g, h, i = M
    return np.stack(
        [
            e * i - f * h, f * g - d * i, d * h - e * g,
            c * h - b * i, a * i - c * g, b * g - a * h,
            b * f - c * e, c * d - a * f, a * e - b * d,
        ]
    )  # fmt: skip


def _polar(M: Floats) -> Floats:
    C = cofactors(M)
    twice = 2 * (M[:3] * C[:3]).sum(axis=0)  # 2 det(M)
    size, area = (M * M).sum(axis=0), (C * C).sum(axis=0)
    t = np.sqrt(3 * size)  # never below the root: Newton comes down to it
    # Nor is what p^2 makes of it where det(M) is not negative, and that is nine times nearer at least.
    t = np.where(twice >= 0, np.sqrt(size + 2 * np.sqrt(area + twice * t)), t)
    for _ in range(12):
        p = 0.5 * (t * t - size)
        step = (p * p - twice * t - area) / (2 * p * t - twice)
        t = t - step
        if not (np.abs(step) > 1e-14 * t).any():
            break
    xx, yy, zz, xy, xz, yz = gram(M, -0.5 * (t * t - size))
    inverse = [yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy, xz * yz - xy * zz, xy * yz - xz * yy]
    inverse.append(xy * xz - xx * yz)
    scale = 1 / (xx * inverse[0] + xy * inverse[3] + xz * inverse[4])
    return times_symmetric((C + t * M) * scale, tuple(inverse))
