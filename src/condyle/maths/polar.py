"""Nearest rotations in closed form, for many 3 x 3 matrices at once.

Numpy takes a matrix apart through LAPACK at some microseconds each. Here every entry is an array over matrices, in
blocks that stay in the processor's cache, which is about ten times faster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .arrays import Bools, Floats

POLAR_BLOCK_MATRICES = 4096  # matrices at once
ORTHONORMAL_MAX_DEFECT = 1e-12  # departure beyond which a closed form has lost too many digits


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
