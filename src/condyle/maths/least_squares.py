"""Normal equations, solved: within the directions that are free, or cleared of columns that do not matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Bools, Floats
from .spool import blocks, empty, over_frames

SPAN_LOADING = 1e-9  # of unit columns: what keeps two that are alike from being told apart by rounding
NUMBER_MIN_SQUARE = 1e-290  # of a column's length: products of smaller ones have lost digits, and they count as 0
WELL_CONDITIONED_MIN = 1e-10  # mean eigenvalues: least eigenvalue of a matrix that is inverted as it is
INVERTED_AT_ONCE = 18  # columns up to which a matrix is inverted without taking it apart
SYMMETRIC_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of a symmetric 3 x 3 matrix
SYMMETRIC_SHARE = 1e-6  # by which a covariance may differ from its transpose, or fall below zero, by rounding
COVARIANCE_MAX_SIZE = 1e24  # of its entries: sums and products of larger ones are no numbers any more
OPEN_RATIO = 1e-9  # of the largest singular value, below which a direction is open
INDEPENDENT_RATIO = 1e-9  # of the largest diagonal entry of a triangle, below which a column says nothing new
JACOBI_MIN_MATRICES = 2_000  # from which on turning them together is the faster: pairs of 64 bodies
JACOBI_AT_A_TIME = 8_192  # matrices whose columns stay in the processor's cache
JACOBI_SETTLED = 1e-8  # cosine between columns before a sweep that leaves its square, which is rounding
JACOBI_MAX_SWEEPS = 12  # over all columns; random matrices settle in 4 to 6
JACOBI_MIN_RATIO = 1e-6  # smallest over largest singular value: below, a column's direction is left to LAPACK


def solve_normal(N: Floats, h: Floats, basis: Floats | None = None, loading: float = 0.0) -> Floats:
    """(F, ...) the x in the span of orthonormal columns `basis` (F, K) that minimises x'Nx / 2 - h'x.

    An unknown that no row speaks of stays at 0.

    h         (F, ...) one right side, or several
    loading   what is added to the diagonal, as if x were known to be 0 with this precision
    """
    if basis is None or basis.shape[0] == basis.shape[1]:  # then all directions are free
        inner, right, basis = N.copy(), h, None
    else:
        inner, right = basis.T @ N @ basis, basis.T @ h
    inner[np.diag_indices_from(inner)] += np.where(np.diagonal(inner) == 0, 1.0, loading)
    try:
        x = np.linalg.solve(inner, right)
    except np.linalg.LinAlgError:  # what nothing determines is left at 0
        x = np.linalg.lstsq(inner, right, rcond=None)[0]
    return np.asarray(x if basis is None else basis @ x)


def invert_normal(N: Floats, basis: Floats) -> Floats:
    """(F, F) inverse of normal equations in the span of `basis`; directions outside it, and open ones, have 0."""
    whole = basis.shape[0] == basis.shape[1]
    inner = N if whole else basis.T @ N @ basis
    scale = np.sqrt(np.maximum(np.diagonal(inner), 0.0))
    if (scale > 0).all():
        unit = inner / scale / scale[:, None]
        if is_well_conditioned(unit):
            inverse = np.linalg.inv(unit) / scale / scale[:, None]
            return np.asarray(inverse if whole else basis @ inverse @ basis.T)
    return np.asarray(basis @ np.linalg.pinv(basis.T @ N @ basis, hermitian=True) @ basis.T)


def invert_positive(A: Floats) -> Floats:
    """The inverse of symmetric positive matrices (..., F, F), block by block: at 72 columns and 15 matrices 0.6 ms,
    where a general inverse takes 1.5. Where one is exactly singular, its open directions have 0.
    """
    half = A.shape[-1] // 2
    if A.shape[-1] <= INVERTED_AT_ONCE:
        try:
            return np.asarray(np.linalg.inv(A))
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.pinv(A, hermitian=True))
    first = invert_positive(A[..., :half, :half])
    onto = first @ A[..., :half, half:]
    second = invert_positive(A[..., half:, half:] - A[..., half:, :half] @ onto)
    across = onto @ second
    out = np.empty_like(A)
    out[..., :half, :half] = first + across @ np.swapaxes(onto, -1, -2)
    out[..., :half, half:], out[..., half:, :half] = -across, -np.swapaxes(across, -1, -2)
    out[..., half:, half:] = second
    return out


def invert_open(A: Floats) -> Floats:
    """The inverse of matrices (..., F, F); open directions have 0, and all of one that holds what is no number."""
    known = np.isfinite(A).all(axis=(-2, -1), keepdims=True)
    return np.asarray(np.linalg.pinv(np.where(known, A, 0.0), rcond=OPEN_RATIO))


def invert_triangle(L: Floats) -> Floats:
    """The inverse of lower triangles (..., F, F), block by block: at 105 columns 0.1 ms, where a general inverse takes
    0.27.
    """
    half = L.shape[-1] // 2
    if L.shape[-1] <= INVERTED_AT_ONCE:
        return np.asarray(np.linalg.inv(L))
    first, second = invert_triangle(L[..., :half, :half]), invert_triangle(L[..., half:, half:])
    out = np.zeros_like(L)
    out[..., :half, :half], out[..., half:, half:] = first, second
    out[..., half:, :half] = -second @ (L[..., half:, :half] @ first)
    return out


def is_well_conditioned(unit: Floats) -> bool:
    """Whether symmetric matrices (..., F, F) with diagonals of ones are positive, by far more than rounding."""
    return is_above(unit, WELL_CONDITIONED_MIN * unit.shape[-1])


def is_above(symmetric: Floats, least: float) -> bool:
    """Whether all eigenvalues of symmetric matrices (..., F, F) are above `least`."""
    try:
        np.linalg.cholesky(symmetric - least * np.eye(symmetric.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def solve_symmetric(S: Floats, right: Floats) -> Floats:
    """The solution of symmetric systems (..., 3, 3) by cofactors: many times faster here than a general solver."""
    entries = [S[..., r, k] for r, k in SYMMETRIC_ENTRIES]
    return np.stack(solve_entries(entries, [right[..., k] for k in range(3)]), axis=-1)


def solve_entries(entries: Sequence[Floats], right: Sequence[Floats]) -> list[Floats]:
    """The same of systems given as six arrays of entries and three of right sides, which is as it is fastest."""
    a, b, c, d, e, f = entries
    A, B, C, D, E, F = d * f - e * e, c * e - b * f, b * e - c * d, a * f - c * c, b * c - a * e, a * d - b * b
    x, y, z = right
    over = 1 / (a * A + b * B + c * C)
    return [(A * x + B * y + C * z) * over, (B * x + D * y + E * z) * over, (C * x + E * y + F * z) * over]


def span_columns(columns: Floats, out: Floats | None = None) -> Floats:
    """(n, G) orthonormal columns that span the given ones (n, F), but for what only rounding keeps apart; in the place
    of `out` (n, F), which may be the columns themselves.
    """
    if not len(columns):
        return np.zeros((0, 0))
    used, size, gram = _unit_gram(columns)
    back = invert_triangle(np.asarray(np.linalg.cholesky(gram))).T / size[:, None]
    found = empty((len(columns), len(back))) if out is None else out[:, : len(back)]
    for rows in blocks(columns):
        found[rows] = (columns[rows] if used.all() else columns[rows][:, used]) @ back
    return found


def clear_of_columns(columns: Floats, values: Floats) -> Floats:
    """Values (n,) without what columns (n, F) explain of them."""
    if not len(columns):
        return values
    used, size, gram = _unit_gram(columns)
    share = np.zeros(len(used))
    onto = np.asarray(sum(columns[rows].T @ values[rows] for rows in blocks(columns)))
    share[used] = np.linalg.solve(gram, onto[used] / size) / size
    return np.asarray(values - over_frames(lambda part: part @ share, columns))


def eliminate(products: Floats, count: int) -> tuple[Floats, int]:
    """Products (F, F) of columns without what the first `count` of them explain of the others: those of the others, and
    how many of the first are not 0.
    """
    used, size, gram = _load_unit(products[:count, :count])
    across = invert_triangle(np.asarray(np.linalg.cholesky(gram))) @ (products[:count, count:][used] / size[:, None])
    return np.asarray(products[count:, count:] - across.T @ across), int(used.sum())


def _unit_gram(columns: Floats) -> tuple[Bools, Floats, Floats]:
    """Which of the columns (n, F) are not 0, their lengths (G,), and their products (G, G) in unit length, loaded."""
    return _load_unit(np.asarray(sum(columns[rows].T @ columns[rows] for rows in blocks(columns))))


def _load_unit(gram: Floats) -> tuple[Bools, Floats, Floats]:
    """The same from their products (F, F)."""
    used = np.diagonal(gram) > NUMBER_MIN_SQUARE
    size = np.sqrt(np.diagonal(gram)[used])
    gram = (gram if used.all() else gram[np.ix_(used, used)]) / size / size[:, None]
    gram[np.diag_indices_from(gram)] += SPAN_LOADING
    return used, size, gram


def factor_columns(Q: Floats) -> tuple[Floats, Floats, Bools]:
    """Orthonormal columns q (..., n, K) and a triangle r (..., K, K) with q r = Q (..., n, K), for those columns of Q
    that are independent: the others are 0 in q, and not among those kept (..., K).

    Columns that come after one that depends on those before it are met only as far as the others span them.
    """
    q, r = np.linalg.qr(Q)
    size = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    keep = np.asarray(size > INDEPENDENT_RATIO * size.max(axis=-1, initial=1e-300, keepdims=True))
    return (q if keep.all() else q * keep[..., None, :]), r, keep


def solve_triangle(r: Floats, right: Floats, keep: Bools) -> Floats:
    """(P, K) the solutions of triangles r (P, K, K) for right sides (P, K), 0 for columns that are not kept (P, K)."""
    k = keep[:, :, None] & keep[:, None]
    inner = r if k.all() else np.where(k, r, np.eye(r.shape[1]))
    return np.asarray(np.linalg.solve(inner, np.where(keep, right, 0.0)[..., None])[..., 0])


def clear_of(base: Floats, values: Floats) -> Floats:
    """Values (n, ...) without what orthonormal columns `base` (n, G) explain; or (P, n, F) without (P, n, G)."""
    return np.asarray(values - base @ (np.swapaxes(base, -1, -2) @ values))


def is_covariance(values: Floats) -> bool:
    """Whether a matrix (k, k) that was read may be a covariance: symmetric, none below zero, none beyond all sizes."""
    if not (np.abs(values) < COVARIANCE_MAX_SIZE).all():
        return False
    off = SYMMETRIC_SHARE * float(np.abs(values).max(initial=0.0))
    if (np.abs(values - values.T) > off).any():
        return False
    return not len(values) or float(np.linalg.eigvalsh(values)[0]) >= -off


def svd_of_many(A: Floats) -> tuple[Floats, Floats, Floats]:
    """`numpy.linalg.svd` of matrices (P, 3, 3). Thousands are turned together, column against column until all are
    perpendicular (one-sided Jacobi): LAPACK takes three times as long for them one by one.
    """
    if len(A) < JACOBI_MIN_MATRICES:
        return np.linalg.svd(A)
    U, s, Vt = np.empty_like(A), np.empty(A.shape[:2]), np.empty_like(A)
    for first in range(0, len(A), JACOBI_AT_A_TIME):
        some = slice(first, first + JACOBI_AT_A_TIME)
        U[some], s[some], Vt[some], settled = _turn_columns(A[some])
        left = np.flatnonzero(~settled) + first
        if len(left):
            U[left], s[left], Vt[left] = np.linalg.svd(A[left])
    return U, s, Vt


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _turn_columns(A: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """U, s, Vt of (P, 3, 3), and (P,) where they are: not of matrices that are nearly singular or no numbers."""
    own = [np.ascontiguousarray(A[:, :, k].T) for k in range(3)]  # columns (3, P)
    turned = [np.repeat(np.eye(3)[:, k : k + 1], len(A), axis=1) for k in range(3)]
    for _ in range(JACOBI_MAX_SWEEPS):
        largest = 0.0
        for p, q in ((0, 1), (0, 2), (1, 2)):
            a, b, ab = (np.einsum("xn,xn->n", *both) for both in ((own[p],) * 2, (own[q],) * 2, (own[p], own[q])))
            across = np.abs(ab) / np.sqrt(a * b)
            largest = max(largest, float(np.fmax.reduce(across)))
            ratio = (b - a) / (2 * ab)
            tangent = np.copysign(1 / (np.abs(ratio) + np.sqrt(1 + ratio * ratio)), ratio)
            tangent[~(across > 0)] = 0.0
            cosine = 1 / np.sqrt(1 + tangent * tangent)
            sine = cosine * tangent
            for columns in (own, turned):
                columns[p], columns[q] = (
                    cosine * columns[p] - sine * columns[q],
                    sine * columns[p] + cosine * columns[q],
                )
        if largest <= JACOBI_SETTLED:
            break
    size = np.sqrt([np.einsum("xn,xn->n", one, one) for one in own])
    order = np.argsort(-size, axis=0)
    s = np.take_along_axis(size, order, axis=0)
    U, V = (np.take_along_axis(np.stack(part), order[:, None], axis=0) for part in (own, turned))
    settled = (s[2] > JACOBI_MIN_RATIO * s[0]) & (largest <= JACOBI_SETTLED)
    return np.moveaxis(U / s[:, None], 2, 0).swapaxes(1, 2), s.T, np.moveaxis(V, 2, 0), settled
