"""The normal equations of all joints of a tree: weighted products of rows, and how they are solved for the joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..maths.least_squares import is_above, solve_normal
from ..maths.spool import BLOCK_BYTES, blocks, empty, over_frames
from ..model.values import dataclass
from .fits import JointMap, gap_columns
from .outliers import FAINT_GAP_SHARE, ROUNDING_M
from .sums import whole_gram, whole_stack

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints
    from ..model.take import Take

COVARIANCE_MIN_VALUE = 1e-6  # least eigenvalue of the joints' correlations, to which lesser ones are lifted
COVARIANCE_LOADING = 0.02  # of the diagonal, added to the joints' covariance before it is inverted
DENSE_MAX_JOINTS = 150  # joints up to which their equations are solved at once; at 500 four solves take 0.4 s, not 2.1
DESCENT_SETTLED = 1e-13  # of the right side: what is left where the steps end
DESCENT_NEAR = 1e-10  # the same of the first sweeps, whose unknowns only weigh the rows for those that follow
DESCENT_MAX_STEPS = 300  # of conjugate gradients; 57 in a figure of 500 bodies
CACHED_NUMBERS = 60_000  # that are weighed and multiplied at a time, so that they stay in a processor's cache
CANCELLATION_RATIO = 1e-5  # gap over lever above which nothing of note is lost in sums


@dataclass(frozen=True, eq=False)
class System:
    """The unknowns of J joints, and how products of rows are solved for them.

    pairs   (J, 2)       child, parent
    basis   (6J, F) [-]  orthonormal directions that are solved for; the rest are held
    factor  (6J,)   [-]  undoes what orientation noise takes off a sensor's rotation: 1 / E[shrinking]
    """

    pairs: Ints
    basis: Floats
    factor: Floats

    def normal(self, G: Floats, S: Floats) -> Floats:
        """(6J, 6J) normal matrix of products G of rows, with joints weighed by S (J, J), their gaps' precision."""
        J, sensor, factor = len(self.pairs), self.pairs.ravel(), self.factor[::3]
        # Products of two sensors' rotations shrink twice; a sensor with itself is exact.
        both = np.where(sensor[:, None] == sensor, 1.0, factor * factor[:, None])
        both = (both.reshape(J, 2, J, 2) * S[:, None, :, None]).reshape(2 * J, 2 * J)
        N = G.reshape(2 * J, 3, 6 * J) * np.repeat(both, 3, axis=1)[:, None]
        return np.asarray(N.reshape(6 * J, 6 * J))

    def solve(
        self, G: Floats, H: Floats, S: Floats, start: Floats | None = None, settled: float = DESCENT_SETTLED
    ) -> Floats:
        """(6J,) the unknowns that products G and H of weighted rows lead to, with joints weighed by S (J, J).

        start    (6J,) unknowns near by, from which those of many joints are sought; 0 by default
        settled  share of the right side that may be left there
        """
        J = len(self.pairs)
        rhs = np.einsum("acb,ab->ac", H.reshape(J, 6, J), S).ravel() * self.factor
        N = self.normal(G, S)
        if J <= DENSE_MAX_JOINTS:
            return solve_normal(N, rhs, self.basis)
        near = np.zeros(6 * J) if start is None else start
        found = descend(N, rhs, self.basis, near, settled)
        return solve_by_joints(N, rhs, self.basis) if found is None else found

    def refine(self, G: Floats, S: Floats, near: Floats, find_slope: Callable[[], Floats]) -> Floats:
        """(6J,) the unknowns that products G of rows lead to, from those near by and the rows' own slope (6J,) there.

        Sums of products are rounded as whole positions are, and the weakest directions multiply that by thousands;
        gaps are a hundredth of them, so that neither the order of the bodies nor the processor is seen in the joints.
        """
        if len(self.pairs) > DENSE_MAX_JOINTS:  # which are as near as their steps settle
            return near
        sensor, factor, weighed = np.repeat(self.pairs.ravel(), 3), self.factor, weigh_joints(G, S)
        alone = np.where(sensor[:, None] == sensor, (1 - factor * factor[:, None]) * weighed, 0.0)
        left = -factor * (find_slope() + weighed @ ((factor - 1) * near)) - alone @ near
        return near + solve_normal(self.normal(G, S), left, self.basis)


def weigh_joints(G: Floats, S: Floats) -> Floats:
    """(6J, 6J) products G of rows, those of two joints weighed by S (J, J)."""
    J = len(S)
    return np.asarray((G.reshape(J, 6, 6 * J) * np.repeat(S, 6, axis=1)[:, None]).reshape(6 * J, 6 * J))


def descend(N: Floats, h: Floats, basis: Floats, start: Floats, settled: float = DESCENT_SETTLED) -> Floats | None:
    """(6J,) the x in the span of `basis` (6J, F) with N x = h there, but for a share `settled` of h, by conjugate
    gradients from `start`, every joint solved for itself in each step; None where that does not settle.

    The joints of a figure have to do with their neighbours, so that the steps are few however many joints there are.
    """
    J, k = len(h) // 6, np.arange(len(h) // 6)
    free = project_joints(basis)
    own = free @ N.reshape(J, 6, J, 6)[k, :, k] @ free
    size = np.trace(own, axis1=1, axis2=2)
    held = np.where(size > 0, size, 1.0)[:, None, None] * (np.eye(6) - free)
    try:
        back = free @ np.linalg.inv(own + held) @ free
    except np.linalg.LinAlgError:
        return None

    def precondition(values: Floats) -> Floats:
        return np.asarray(np.einsum("jxy,jy->jx", back, values.reshape(J, 6)).ravel())

    x = np.einsum("jxy,jy->jx", free, start.reshape(J, 6)).ravel()
    rest = h - N @ x
    near = precondition(rest)
    way, left, enough = near, float(rest @ near), settled**2 * float(h @ precondition(h))
    for _ in range(DESCENT_MAX_STEPS):
        if left <= enough:
            return np.asarray(x)
        onto = N @ way
        step = left / float(way @ onto)
        x, rest = x + step * way, rest - step * onto
        near = precondition(rest)
        before, left = left, float(rest @ near)
        way = near + left / before * way
    return None


def project_joints(basis: Floats) -> Floats:
    """(J, 6, 6) what leaves of each joint's unknowns those in the span of `basis` (6J, F), whose columns are of one
    joint each.
    """
    wide = basis.reshape(len(basis) // 6, 6, -1)
    if basis.shape[0] == basis.shape[1]:
        return np.tile(np.eye(6), (len(wide), 1, 1))
    return np.asarray(np.matmul(wide, np.swapaxes(wide, 1, 2)))


def solve_by_joints(N: Floats, h: Floats, basis: Floats) -> Floats:
    """(6J,) the x in the span of `basis` (6J, F) with N x = h there, all joints at once.

    The basis is applied joint by joint: products with all of it take four times as long as what is left to solve.
    """
    J, k, free = len(h) // 6, np.arange(len(h) // 6), project_joints(basis)
    half = np.matmul(free, N.reshape(J, 6, -1)).reshape(len(h), -1)  # symmetric N: the other side is its transpose's
    inner = np.matmul(free, half.T.reshape(J, 6, -1))
    own = inner.reshape(J, 6, J, 6)[k, :, k]
    size = np.trace(own, axis1=1, axis2=2)
    seen = (size > 0)[:, None, None]
    inner.reshape(J, 6, J, 6)[k, :, k] += np.where(seen, size[:, None, None] * (np.eye(6) - free), np.eye(6))
    right = np.einsum("jxy,jy->jx", free, h.reshape(J, 6)).ravel()
    return solve_normal(inner.reshape(len(h), -1), right)


class Rows:
    """The rows of J joints: gaps at given unknowns, and the weighted sums of the normal equations."""

    def __init__(self, X: Floats, seen: Bools, pairs: Ints, gram: Callable[[], Floats] | None = None) -> None:
        """X (3 n, 4 m) stacked poses, or differences of them; seen (n, J); gram: where the products of X are kept."""
        self.X, self.seen, self.pairs = X, seen, pairs
        self.whole = bool(self.seen.all())
        self._gram = gram or (lambda: np.asarray(X.T @ X))

    @classmethod
    def of(cls, take: Take, pairs: Ints) -> Rows:
        X = whole_stack(take)
        return cls(X, np.asarray(take.seen[:, pairs].all(axis=2)), pairs, lambda: whole_gram(take, X))

    def _columns(self, u: Floats) -> Floats:
        """(4 m, J) what turns the rows into gaps."""
        halves = u.reshape(-1, 2, 3)
        return gap_columns(self.X.shape[1] // 4, self.pairs, halves[:, 0], halves[:, 1])

    def gap(self, u: Floats) -> Floats:
        """(3, n, J) gaps, world axis first, 0 where not seen."""
        flat, halves = empty((len(self.X), len(self.pairs))), u.reshape(-1, 2, 3)
        to_gaps = JointMap(self.X.shape[1] // 4, self.pairs, halves[:, 0], halves[:, 1])
        for rows in blocks(self.X):
            flat[rows] = to_gaps.apply(self.X[rows])
        gap: Floats = flat.reshape(3, *self.seen.shape)
        return gap if self.whole else np.multiply(gap, self.seen, out=gap)

    def covariance(self, u: Floats, weight: Floats) -> Floats:
        """(J, J) [m^2] per axis covariance of the gaps; without weights from the Gram matrix, where that is exact."""
        J = len(self.pairs)
        square, count = np.zeros((J, J)), np.full((J, J), float(len(weight)))
        if self._plain(weight):
            W = self._columns(u)
            square = W.T @ self._gram() @ W
        lever = np.abs(u).reshape(J, 6).sum(axis=1)
        if (np.diagonal(square) <= len(weight) * (CANCELLATION_RATIO * lever) ** 2).any():
            square, count = gap_products(self.gap(u), weight)
        return estimate_covariance(square, count)

    def slope(self, gap: Floats, weight: Floats, S: Floats) -> Floats:
        """(6J,) by how much half the weighted squares of gaps (3, n, J) grow with each unknown, joints weighed by S."""
        J, stack = len(self.pairs), self.X.reshape(3, len(weight), self.X.shape[1])
        found = np.zeros((stack.shape[2], J))
        for rows in blocks(weight, *gap, *stack):
            root = np.sqrt(weight[rows])
            for axis in range(3):
                found += stack[axis, rows].T @ ((gap[axis, rows] * root) @ S * root)
        child, parent = found.reshape(stack.shape[2] // 4, 4, J)[self.pairs.T, :3, np.arange(J)]
        return np.stack([child, -parent], axis=1).ravel()

    def _plain(self, weight: Floats) -> bool:
        """Whether every product of rows is already in the Gram matrix of the stacked poses."""
        return self.whole and bool((weight == 1).all())

    def sums(self, weight: Floats) -> tuple[Floats, Floats]:
        """Z'Z (6J, 6J) and Z'd (6J, J) with rows weighted by the root of each joint's weight."""
        if self._plain(weight):
            return self._take_apart(self._gram())
        J, n = len(self.pairs), len(weight)
        stack, full = self.X.reshape(3, n, -1), (weight == 1).all(axis=1)
        most = bool(2 * full.sum() > n)  # count in full, and the products of all are known; else all are weighed
        rest: Ints | range = np.flatnonzero(~full) if most else range(n)
        table, gram = np.zeros((7 * J, 7 * J)), np.zeros((stack.shape[2], stack.shape[2]))
        step = max(CACHED_NUMBERS // (21 * J), 2 * J)  # a sum of few frames is as large as that of many
        scratch = np.empty((3, min(step, len(rest)), 7, J))
        for start in range(0, len(rest), step):
            some = rest[start : start + step]
            frames: Ints | slice = slice(some.start, some.stop) if isinstance(some, range) else some
            own = weight[frames]
            weighted = scratch if len(own) == scratch.shape[1] else np.empty((3, len(own), 7, J))
            flat = np.multiply(self._design(frames), np.sqrt(own)[:, None], out=weighted).reshape(-1, 7 * J)
            table += flat.T @ flat
            if most:
                lesser = stack[:, frames].reshape(-1, stack.shape[2])
                gram += lesser.T @ lesser
        products = table.reshape(7, J, 7, J).transpose(1, 0, 3, 2)  # by joints and their columns
        G, H = products[:, :6, :, :6].reshape(6 * J, 6 * J), products[:, :6, :, 6].reshape(6 * J, J)
        if most:
            others = self._take_apart(self._gram() - gram)
            G, H = G + others[0], H + others[1]
        return G, H

    def _design(self, frames: Ints | slice) -> Floats:
        """(3, k, 7, J) columns of the unknowns in some frames, and what they explain; kept where they are few."""
        if self.X.nbytes > BLOCK_BYTES:
            return self._make_design(frames)
        return self._whole_design[:, frames]

    @cached_property
    def _whole_design(self) -> Floats:
        return self._make_design(slice(None))

    def _make_design(self, frames: Ints | slice) -> Floats:
        poses = self.X.reshape(3, len(self.seen), -1, 4)[:, frames]
        child, parent = (poses[:, :, bodies].swapaxes(2, 3) for bodies in self.pairs.T)  # (3, k, 4, J)
        return np.concatenate([child[:, :, :3], -parent[:, :, :3], parent[:, :, 3:] - child[:, :, 3:]], axis=2)

    def _take_apart(self, gram: Floats) -> tuple[Floats, Floats]:
        """Z'Z and Z'd from products (4 m, 4 m) of the stacked poses."""
        sign = np.tile(np.repeat([1.0, -1.0], 3), len(self.pairs))
        used, places = (4 * self.pairs.ravel()[:, None] + np.arange(3)).ravel(), 4 * self.pairs + 3
        G = gram[np.ix_(used, used)]
        G *= sign
        G *= sign[:, None]
        H = (gram[np.ix_(used, places[:, 1])] - gram[np.ix_(used, places[:, 0])]) * sign[:, None]
        return G, H


def gap_products(gap: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(J, J) products [m^2] of gaps (3, n, J) weighted by (n, J), and what two joints' gaps weigh together."""
    if (weight == 1).all():
        flat = gap.reshape(-1, gap.shape[2])
        return flat.T @ flat, np.full((gap.shape[2], gap.shape[2]), float(len(weight)))
    root = over_frames(np.sqrt, weight)
    scaled = np.multiply(gap, root, out=empty(gap.shape)).reshape(-1, gap.shape[2])
    return scaled.T @ scaled, root.T @ root


def estimate_covariance(square: Floats, count: Floats) -> Floats:
    """(J, J) [m^2] per axis covariance from products of gaps and what they weigh, loaded and lifted to be positive."""
    return condition_covariance(square / (3 * np.maximum(count, 1e-300)))


def condition_covariance(C: Floats) -> Floats:
    """(J, J) [m^2] a covariance of gaps, loaded and lifted to be positive."""
    # Else rounding would tell how exact joints correlate, and weigh them beyond all precision against the others.
    floor = max(ROUNDING_M, FAINT_GAP_SHARE * float(np.sqrt(np.diagonal(C).max(initial=0.0))))
    size = np.sqrt(np.maximum(np.diagonal(C), floor**2))
    C = C / size / size[:, None]
    if not is_above(C, COVARIANCE_MIN_VALUE):
        value, vector = np.linalg.eigh(C)
        C = (vector * np.maximum(value, COVARIANCE_MIN_VALUE)) @ vector.T
    np.fill_diagonal(C, np.diagonal(C) + COVARIANCE_LOADING)
    return np.asarray(C * size * size[:, None])
