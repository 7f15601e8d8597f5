"""The joint of a pair of bodies from its sums: centre in both bodies, residual, rank (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, norm_rows
from ..maths.least_squares import SYMMETRIC_ENTRIES, solve_entries, svd_of_many
from ..maths.robust import median
from ..maths.spool import blocks_of, empty
from ..model.values import dataclass
from .sums import PairSums, RowSums, blocks

if TYPE_CHECKING:
    from ..model.take import Take

DISTANCE_FRAMES = 500  # spread over a take, whose median distance is the usual one
# At 64 bodies a few at a time take 0.6 times as long.
DENSE_MAX_BODIES = 32  # bodies up to which gaps come from one product of all poses with all joints
BODIES_AT_A_TIME = 8  # of more, in one product: 26 ms for 500 bodies in 1,200 frames; with 4 or 16 of them 42
# Rows of stacked poses that stay in the processor's cache from a gap to its product with the poses: 2.2 ms for 16
# bodies in 5,400 frames; with 256 or 2,048 rows 3.1 and 3.9, with all at once 5.2.
GAP_ROWS = 512
# Multiplications of a product that OpenBLAS makes without laying its factors out anew: 0.18 ms for 15 joints in 4,050
# rows; as one product 0.35.
SMALL_PRODUCT = 500_000
OWN_LOADING = 1e-15  # of mean rotations' own products, which a body that spins through its rows leaves singular
RESIDUAL_FLOOR_SHARE = 1e-6  # of the scene's size: residuals below it are taken as zero
RANK_RATIO = 1e-6  # singular values below this share of the largest are rounding: the direction is not determined


@dataclass(frozen=True, eq=False)
class PairFits:
    """Least-squares joints of P pairs; a pair is a row (child, parent).

    pairs            (P, 2)
    p_child_joint    (P, 3)     [m]  in the child; the solution of minimum norm where the motion leaves it open
    p_parent_joint   (P, 3)     [m]
    residual         (P,)       [m]  root mean square of the gap's length
    frames           (P,)       [-]  frames in which both are seen
    spread           (P, 3)     [-]  1 - s_k / n, ascending: half the mean square rotation that moves the k-th axis
    axis_child       (P, 3, 3)  [-]  columns: the axes that `spread` belongs to, in the child
    axis_parent      (P, 3, 3)  [-]  the same axes in the parent
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    residual: Floats
    frames: Floats
    spread: Floats
    axis_child: Floats
    axis_parent: Floats

    @property
    def joints(self) -> tuple[Ints, Floats, Floats]:
        """Pairs, and the joint of each in child and in parent."""
        return self.pairs, self.p_child_joint, self.p_parent_joint

    @cached_property
    def reach(self) -> Floats:
        """(P,) [m] distance of each joint from its two sensors, added."""
        return np.asarray(norm_rows(self.p_child_joint) + norm_rows(self.p_parent_joint))

    @property
    def usual_reach(self) -> float:
        """The median [m] of these distances; 0 where none is known."""
        known = self.reach[np.isfinite(self.reach)]
        return float(median(known)) if len(known) else 0.0

    @property
    def singular_values(self) -> Floats:
        """(P, 6) singular values of the paper's stacked matrix Q, descending."""
        n = self.frames[:, None]
        high, low = np.sqrt(n * (2 - self.spread)), np.sqrt(n * np.maximum(self.spread, 0))
        return np.concatenate([high, low[:, ::-1]], axis=1)

    @property
    def determined(self) -> Bools:
        """(P, 3) True where rounding alone leaves the direction determined."""
        return above_rounding(self.spread)


def above_rounding(spread: Floats, rank_ratio: float = RANK_RATIO) -> Bools:
    """Where a spread is more than rounding: its singular value is at least `rank_ratio` of the largest."""
    return np.asarray(spread > rank_ratio**2 * (2 - spread))


def all_pairs(m: int) -> Ints:
    """(m (m - 1) / 2, 2) every pair once."""
    return np.stack(np.triu_indices(m, 1), axis=1)


def fit_pairs(sums: PairSums, pairs: Ints | None = None, rank_ratio: float = RANK_RATIO) -> PairFits:
    """The paper's least-squares joint of each pair, from sums alone; a pair never seen together has NaN residual.

    sums         of all pairs of bodies, or those of the P pairs themselves
    rank_ratio   singular values below this share of the largest leave a direction open
    """
    pairs = all_pairs(len(sums.frames)) if pairs is None else np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    sums = sums if sums.frames.ndim == 1 else sums[pairs[:, 0], pairs[:, 1]]
    mean = _mean(sums)
    if isinstance(mean, RowSums):
        return _fit_rows(pairs, mean, sums.frames, rank_ratio)
    # With M = U S V' the 6 x 6 system falls apart into (n - s)(c' + l') and (n + s)(c' - l').
    U, s, Vt = svd_of_many(mean.M)
    spread = np.where(sums.frames[:, None] > 0, np.maximum(1 - s, 0.0), 0.0)
    c, l = _least_norm(U, Vt, spread, mean.b_child, mean.b_parent, rank_ratio)
    residual = np.where(sums.frames > 0, _residual(mean, c, l), np.nan)
    return PairFits(pairs, c, l, residual, sums.frames, spread, U, np.swapaxes(Vt, 1, 2))


def _fit_rows(pairs: Ints, mean: RowSums, frames: Floats, rank_ratio: float) -> PairFits:
    """The same of mean rotations: with own products L L' on the diagonal, L'c and L'l solve the system of rotations."""
    none = np.where(frames > 0, OWN_LOADING, 1.0)
    back = [
        _root_of_inverse(own, none, bodies)
        for own, bodies in zip((mean.own_child, mean.own_parent), pairs.T, strict=True)
    ]
    U, s, Vt = svd_of_many(back[0] @ mean.M @ np.swapaxes(back[1], 1, 2))
    spread = np.where(frames[:, None] > 0, np.maximum(1 - s, 0.0), 0.0)
    b_child, b_parent = (
        np.einsum("pxy,py->px", L, b) for L, b in zip(back, (mean.b_child, mean.b_parent), strict=True)
    )
    halves = _least_norm(U, Vt, spread, b_child, b_parent, rank_ratio)
    c, l = (np.einsum("pyx,py->px", L, half) for L, half in zip(back, halves, strict=True))
    residual = np.where(frames > 0, _residual(mean, c, l), np.nan)
    axes = (_orthonormal(np.swapaxes(L, 1, 2) @ one) for L, one in zip(back, (U, np.swapaxes(Vt, 1, 2)), strict=True))
    return PairFits(pairs, c, l, residual, frames, spread, *axes)


def _root_of_inverse(own: Floats, loading: Floats, bodies: Ints) -> Floats:
    """(P, 3, 3) inverse triangles of products (P, 3, 3) loaded by (P,): once for each of the bodies (P,) where they are
    the same in all of its pairs.
    """
    which = np.arange(len(bodies))
    if len(bodies) > 2 * int(bodies.max(initial=0)):
        some = np.zeros(int(bodies.max()) + 1, dtype=np.int64)
        some[bodies] = which
        same = bool((own == own[some[bodies]]).all() and (loading == loading[some[bodies]]).all())
        own, loading, which = (own[some], loading[some], bodies) if same else (own, loading, which)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(own + loading[:, None, None] * np.eye(3)))[which])


def _orthonormal(columns: Floats) -> Floats:
    """(P, 3, 3) orthonormal columns of nearly orthonormal ones, the first in its own direction."""
    first, second, third = (columns[..., k] for k in range(3))
    first = first / np.linalg.norm(first, axis=1, keepdims=True)
    second = second - first * np.sum(first * second, axis=1, keepdims=True)
    second = second / np.linalg.norm(second, axis=1, keepdims=True)
    cross = np.cross(first, second)
    return np.stack([first, second, cross * np.sign(np.sum(cross * third, axis=1, keepdims=True))], axis=2)


def fit_joints(sums: PairSums, ridge: float) -> tuple[Floats, Floats, Floats]:
    """Joints (..., 3) [m] in child and parent of pairs (...), and their residual [m], infinite without frames.

    For thousands of pairs and windows: no rank and no axes, but a pair that hardly turns has a joint all the same.

    ridge   [rad^2] half mean square rotation below which the joint is drawn towards the child's sensor
    """
    return fit_laid_out(lay_out_sums(sums), ridge)


def lay_out_sums(sums: PairSums) -> PairSums:
    """Sums with the axes of bodies first, M (3, 3, ...), b_child and b_parent (3, ...)."""
    b_child, b_parent = _lay_out(sums.b_child, 1), _lay_out(sums.b_parent, 1)
    return PairSums(sums.frames, _lay_out(sums.M, 2), b_child, b_parent, sums.dd)


def fit_laid_out(sums: PairSums, ridge: float, ridge_parent: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
    """The same from sums with the axes of bodies first: M (3, 3, ...), b_child and b_parent (3, ...). Loops over three
    numbers would take most of the time.
    """
    share, stiff = 1 / np.maximum(sums.frames, 1), 1 + np.asarray(ridge_parent)
    A, b_child, b_parent = sums.M * share, sums.b_child * share, sums.b_parent * share
    # With the half in the parent solved for, [[1 + ridge, -A], [-A', stiff]] [c; l] = [b_child; b_parent] is 3 x 3.
    inner = [(1 + ridge if r == k else 0.0) - _dot(A[r], A[k]) / stiff for r, k in SYMMETRIC_ENTRIES]
    c = solve_entries(inner, [b_child[k] + _dot(A[k], b_parent) / stiff for k in range(3)])
    l = [(b_parent[k] + _dot(A[:, k], c)) / stiff for k in range(3)]
    square = sums.dd * share - _dot(b_child, c) - _dot(b_parent, l) - (ridge * _dot(c, c) + ridge_parent * _dot(l, l))
    residual = np.where(sums.frames > 0, np.sqrt(np.maximum(square, 0.0)), np.inf)
    return np.moveaxis(np.stack(c), 0, -1), np.moveaxis(np.stack(l), 0, -1), residual


def _lay_out(values: Floats, axes: int) -> Floats:
    """Values (..., 3) or (..., 3, 3) with their last axes first."""
    last = tuple(range(-axes, 0))
    return np.ascontiguousarray(np.moveaxis(values, last, range(axes)))


def _dot(a: Sequence[Floats] | Floats, b: Sequence[Floats] | Floats) -> Floats:
    """Products of three arrays with three, added up."""
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def _mean(sums: PairSums) -> PairSums:
    """Sums over the number of frames."""
    share = 1 / np.maximum(sums.frames, 1)
    return sums.map(lambda values: values * share.reshape(share.shape + (1,) * (values.ndim - share.ndim)))


def _residual(mean: PairSums, c: Floats, l: Floats) -> Floats:
    """(...) [m] root mean square gap of joints that solve the normal equations."""

    def dot(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.einsum("...i,...i->...", a, b))  # many times faster here than a sum of products

    square = mean.dd - dot(mean.b_child, c) - dot(mean.b_parent, l)
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def _least_norm(
    U: Floats, Vt: Floats, spread: Floats, b_child: Floats, b_parent: Floats, rank_ratio: float = RANK_RATIO
) -> tuple[Floats, Floats]:
    """Minimum-norm solution of [[I, -A], [-A', I]] [c; l] = [b_child; b_parent] with A = U (1 - spread) V'."""
    bc = np.einsum("pkc,pk->pc", U, b_child)
    bl = np.einsum("pck,pk->pc", Vt, b_parent)
    known = above_rounding(spread, rank_ratio)
    plus = np.where(known, (bc + bl) / np.where(known, spread, 1.0), 0.0)
    minus = (bc - bl) / (2 - spread)
    c = np.einsum("pkc,pc->pk", U, 0.5 * (plus + minus))
    l = np.einsum("pck,pc->pk", Vt, 0.5 * (plus - minus))
    return c, l


def orientation_bias(fits: PairFits, orientation_noise: Floats) -> Floats:
    """(P, 6) [m] by which orientation noise (m,) [rad] of the sensors pulls a least-squares joint off, to first order.

    E[R] shrinks by 1 - s^2 while R'R stays I, so the centre moves towards the sensors, and more frames do not help.
    """
    return np.asarray(orientation_pulls(fits, orientation_noise).sum(axis=1))


def orientation_pulls(fits: PairFits, orientation_noise: Floats) -> Floats:
    """(P, 2, 6) [m] the same by the noise of the child's sensor, and by that of the parent's."""
    s_child, s_parent = (orientation_noise[k, None] ** 2 for k in fits.pairs.T)
    A = (fits.axis_child * (1 - fits.spread)[:, None, :]) @ np.swapaxes(fits.axis_parent, 1, 2)
    c, l = fits.p_child_joint, fits.p_parent_joint
    U, Vt = fits.axis_child, np.swapaxes(fits.axis_parent, 1, 2)
    by_child = -s_child * c, -s_child * np.einsum("pyx,py->px", A, c)
    by_parent = -s_parent * np.einsum("pxy,py->px", A, l), -s_parent * l
    pulls = (np.concatenate(_least_norm(U, Vt, fits.spread, *by), axis=1) for by in (by_child, by_parent))
    return np.stack(list(pulls), axis=1)


def measure_distances(take: Take, pairs: Ints) -> Floats:
    """(J,) [m] usual distance between the sensors of each pair."""
    part, _ = take.thin(DISTANCE_FRAMES)
    apart = part.p_world_body[:, pairs[:, 0]] - part.p_world_body[:, pairs[:, 1]]
    return median(norm_rows(apart))


def gaps(take: Take, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
    """(n, P, 3) [m] world vector from the parent's joint to the child's; NaN where either body is not seen."""
    return np.asarray(JointGaps(take, pairs, p_child_joint, p_parent_joint))


def gap_blocks(
    take: Take, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats
) -> Iterator[tuple[slice, Floats]]:
    """(3, k, P) the same block by block of the frames, with the axes of the world first."""
    i, j = np.asarray(pairs).T
    to_gaps = JointMap(take.bodies, pairs, p_child_joint, p_parent_joint)
    for rows, X in blocks(take):
        seen = take.seen[rows]
        gap = to_gaps.apply(X).reshape(3, len(seen), len(pairs))
        if not seen.all():
            gap[:, ~(seen[:, i] & seen[:, j])] = np.nan
        yield rows, gap


class JointGaps:
    """(n, P, 3) [m] the same, made when they are asked for, as an array or block by block of the frames: those of a fit
    are as large as a quarter of its take.

    threads  {joint: (n,) [m] how far its screw goes along, and (3,) its axis in the parent}, which are no gap
    """

    def __init__(
        self,
        take: Take,
        pairs: Ints,
        p_child_joint: Floats,
        p_parent_joint: Floats,
        threads: Mapping[int, tuple[Floats, Floats]] | None = None,
    ) -> None:
        self.take, self.joints, self.threads = take, (pairs, p_child_joint, p_parent_joint), threads or {}

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Frames, and (3, k, P) their gaps."""
        for rows, gap in gap_blocks(self.take, *self.joints):
            for a, (along, axis) in self.threads.items():
                turned = self.take.R_world_body[rows, self.joints[0][a, 1]] @ axis
                gap[:, :, a] -= along[rows] * turned.T
            yield rows, gap

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        out = empty((self.take.frames, len(self.joints[0]), 3))
        for rows, gap in self.blocks():
            out[rows] = gap.transpose(1, 2, 0)
        return out


class JointMap:
    """What turns stacked poses (3 n, 4 m) of m bodies into gaps of P joints, and back; made once for all blocks."""

    def __init__(self, bodies: int, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> None:
        self.i, self.j = np.asarray(pairs).T
        self.dense, self.halves = np.empty((0, 0)), list[_HalfMap]()
        if bodies <= DENSE_MAX_BODIES:
            self.dense = gap_columns(bodies, pairs, p_child_joint, p_parent_joint)
        else:
            self.halves = [_HalfMap(bodies, self.i, p_child_joint), _HalfMap(bodies, self.j, p_parent_joint)]

    def apply(self, X: Floats) -> Floats:
        """(3 n, P) [m] gaps of the joints in stacked poses."""
        if not self.halves:
            out = np.empty((len(X), self.dense.shape[1]))
            for rows in blocks_of(len(X), self.dense.size, SMALL_PRODUCT):
                np.matmul(X[rows], self.dense, out=out[rows])
            return out
        child, parent = (half.apply(X) for half in self.halves)
        return np.subtract(child, parent, out=child)

    def multiply(self, X: Floats, gap: Floats) -> Floats:
        """(2, P, 3) products of gaps (3 n, P) with the rotations of children, and of parents, in stacked poses."""
        if self.halves:
            return np.stack([half.multiply(X, gap) for half in self.halves])
        back, k = (X.T @ gap).reshape(X.shape[1] // 4, 4, -1), np.arange(gap.shape[1])
        return np.stack([back[self.i, :3, k], back[self.j, :3, k]])


class _HalfMap:
    """The same of points (P, 3) of bodies (P,) alone: a few neighbouring columns of the poses at a time, since in a
    product with all of them nearly everything would be zero.
    """

    def __init__(self, bodies: int, own: Ints, points: Floats) -> None:
        order = np.argsort(own, kind="stable")
        self.order: Ints | None = None if (order[1:] > order[:-1]).all() else order
        self.back = np.argsort(order)
        own, p = own[order], np.concatenate([points, np.ones((len(points), 1))], axis=1)[order]
        self.groups = list[tuple[slice, slice, Ints, Floats]]()
        for first in range(0, bodies, BODIES_AT_A_TIME):
            last = min(first + BODIES_AT_A_TIME, bodies)
            some = slice(*np.searchsorted(own, (first, last)).tolist())
            if some.start == some.stop:
                continue
            W = np.zeros((last - first, 4, some.stop - some.start))
            W[own[some] - first, :, np.arange(W.shape[2])] = p[some]
            columns = W.reshape(4 * len(W), W.shape[2])
            self.groups.append((slice(4 * first, 4 * last), some, own[some] - first, columns))

    def apply(self, X: Floats) -> Floats:
        """(3 n, P) [m] where the points are."""
        out = np.empty((len(X), len(self.back)))
        for columns, some, _, W in self.groups:
            np.matmul(X[:, columns], W, out=out[:, some])
        return out if self.order is None else out.take(self.back, axis=1)

    def multiply(self, X: Floats, gap: Floats) -> Floats:
        """(P, 3) products of gaps (3 n, P) with the bodies' rotations."""
        gap, out = gap if self.order is None else gap.take(self.order, axis=1), np.empty((len(self.back), 3))
        for columns, some, own, _ in self.groups:
            back = (X[:, columns].T @ gap[:, some]).reshape(-1, 4, len(own))
            out[some] = back[own, :3, np.arange(len(own))]
        return out if self.order is None else out[self.back]


def gap_columns(bodies: int, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
    """(4 m, P) what turns stacked poses into gaps R_i c + p_i - R_j l - p_j."""
    W = np.zeros((bodies, 4, len(pairs)))
    k = np.arange(len(pairs))
    i, j = np.asarray(pairs).T
    W[i, :3, k], W[i, 3, k] = p_child_joint, 1.0
    W[j, :3, k], W[j, 3, k] = -p_parent_joint, -1.0
    return W.reshape(4 * bodies, len(pairs))


def refine_pairs(take: Take, fits: PairFits) -> PairFits:
    """The same least-squares joints, corrected on the rows of the take: sums leave the residual a floor of 1e-8 m."""
    U, Vt = fits.axis_child, np.swapaxes(fits.axis_parent, 1, 2)
    share = 1 / np.maximum(fits.frames, 1)[:, None]
    b_child, b_parent, square = _gap_sums(take, *fits.joints)
    dc, dl = _least_norm(U, Vt, fits.spread, -b_child * share, b_parent * share)
    # A step to the minimum of a quadratic lowers it by half of slope times step; no second pass is needed.
    square = square + np.sum(b_child * dc - b_parent * dl, axis=1)
    residual = np.where(fits.frames > 0, np.sqrt(np.maximum(square, 0.0) * share[:, 0]), np.nan)
    return replace(
        fits, p_child_joint=fits.p_child_joint + dc, p_parent_joint=fits.p_parent_joint + dl, residual=residual
    )


def _gap_sums(take: Take, pairs: Ints, c: Floats, l: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of R_i' gap, R_j' gap (P, 3) and gap.gap (P,) over the frames in which both are seen."""
    order = np.argsort(pairs[:, 0], kind="stable")  # as a map of many bodies is fastest
    i, j = pairs[order].T
    to_gaps = JointMap(take.bodies, pairs[order], c[order], l[order])
    slopes, square = np.zeros((2, len(pairs), 3)), np.zeros(len(pairs))
    for rows, X in blocks(take):
        both = take.seen[rows, i] & take.seen[rows, j]
        mask = None if both.all() else np.tile(both, (3, 1))
        step = GAP_ROWS if take.bodies <= DENSE_MAX_BODIES else max(len(X), 1)
        for first in range(0, len(X), step):
            part = X[first : first + step]
            flat = to_gaps.apply(part)
            if mask is not None:
                flat *= mask[first : first + step]
            square += np.einsum("np,np->p", flat, flat)
            slopes += to_gaps.multiply(part, flat)
    back = np.argsort(order)
    return slopes[0, back], slopes[1, back], square[back]
