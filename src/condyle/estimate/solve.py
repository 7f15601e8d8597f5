"""All joints of a tree solved together: what joints that share a sensor have in common is its noise.

Seemingly unrelated regressions (a generalised least squares over joints), corrected for orientation noise, with
robust weights where the residuals ask for them. The paper's estimator is the first step and the fallback.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.least_squares import invert_normal
from ..maths.robust import CHI3_MEDIAN, median
from ..maths.spool import over_frames
from ..model.take import Take
from ..pairs.fits import PairFits, gaps
from ..pairs.noise import Noise
from ..pairs.normal import Rows, Sweep, System, gap_products
from ..pairs.outliers import LIVELY_S, MEDIAN_FRAMES, measure_gaps, weigh_outliers

SOLVE_SWEEPS = 3
EXACT_RESIDUAL_SHARE = 1e-8  # residual over lever length below which the data are exact and nothing needs weighing
NOISE_CORRECTION_MAX_SHARE = 0.5  # share of the weakest rotation's signal that the noise correction may take away


@dataclass(frozen=True, eq=False)
class Solution:
    """Joints of a tree, solved together, with the normal matrix that produced them.

    pairs           (J, 2)          child, parent
    p_child_joint   (J, 3)     [m]
    p_parent_joint  (J, 3)     [m]
    weight          (n, J)     [-]  0 where not seen or weighted out
    information     (6J, 6J) [1/m^2]  normal matrix; unknowns joint by joint, child half first
    basis           (6J, F)    [-]  directions that were solved for; the rest are held at minimum norm
    residual_cov    (J, J)   [m^2]  per axis covariance of the joints' gaps
    robust          (J,)            whether outliers made the weights count
    together                        False: every joint for itself, as the paper does
    factor          (6J,)      [-]  what undoes the shrinking of rotations by orientation noise; None: nothing does
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    weight: Floats
    information: Floats
    basis: Floats
    residual_cov: Floats
    robust: Bools
    together: bool = True
    factor: Floats | None = None

    @property
    def joints(self) -> tuple[Ints, Floats, Floats]:
        """Pairs, and the joint of each in child and in parent."""
        return self.pairs, self.p_child_joint, self.p_parent_joint

    @property
    def unknowns(self) -> Floats:
        """(6J,) joint by joint: child half, parent half."""
        return np.concatenate([self.p_child_joint, self.p_parent_joint], axis=1).ravel()

    def covariance(self) -> Floats:
        """(6J, 6J) [m^2] of the unknowns if the gaps were white; held directions have none."""
        return invert_normal(self.information, self.basis)


def gap_scale(take: Take, fits: PairFits) -> Floats:
    """(J,) [m] per axis size of each joint's gap that outliers do not raise, from frames spread over the take."""
    part, _ = take.thinned(MEDIAN_FRAMES)
    gap = gaps(part, *fits.joints)
    return median(np.sqrt(np.square(gap).sum(axis=2))) / CHI3_MEDIAN


def solve_together(
    take: Take,
    start: PairFits,
    noise: Noise,
    held: Bools | None = None,
    base_weight: Floats | None = None,
    robust: bool = True,
    correct: bool = True,
    sweeps: int = SOLVE_SWEEPS,
    suspect: Bools | None = None,
) -> Solution:
    """The default estimator over the joints of `start`, whose pairs are the edges of a tree (child, parent).

    held         (J, 3) directions of `start.axis_child` that the motion leaves open: kept at minimum norm
    base_weight  (n, J) relative precision of each joint's gap, 1 on average, where the noise changes with place
    robust       weigh out outliers where they are found; correct: remove the bias of orientation noise
    suspect      (J,) joints known to have outliers, weighed whatever their gaps look like
    """
    rows = Rows.of(take, start.pairs)
    J = len(start.pairs)
    basis = free_basis(start, held)
    u = basis @ (basis.T @ np.concatenate([start.p_child_joint, start.p_parent_joint], axis=1).ravel())
    system = System(start.pairs, basis, row_factors(start, noise, held) if correct else np.ones(6 * J))
    weight = _weigh_seen(rows.seen, base_weight)
    fires = np.zeros(J, dtype=bool) if suspect is None else suspect
    window = take.count_frames(LIVELY_S)
    G, H = rows.sums(weight)
    for sweep in range(sweeps + 2):
        gap = rows.gap(u)
        if robust:
            # Once a joint had outliers it keeps its weights.
            fresh, now = weigh_outliers(measure_gaps(gap, base_weight), rows.seen, window, fires)
            fresh, fires = fresh if base_weight is None else over_frames(np.multiply, fresh, base_weight), fires | now
            if not np.array_equal(fresh, weight):
                weight = fresh
                G, H = rows.sums(weight)
        # The first sweeps are pair by pair, so that an outlier in one joint cannot leak into the others.
        together = sweep > 1 or not fires.any()
        old, u = u, system.solve(Sweep(G, H, *gap_products(gap, weight)), together=together)
        if sweep >= 2 and np.abs(u - old).max(initial=0.0) < 1e-9 * np.abs(u).max(initial=1.0):
            break
    last = Sweep(G, H, *gap_products(rows.gap(u), weight))
    C = last.covariance()
    N = system.normal(last, np.asarray(np.linalg.inv(C)))
    halves = u.reshape(J, 2, 3)
    return Solution(start.pairs, halves[:, 0], halves[:, 1], weight, N, basis, C, fires, factor=system.factor)


def solution_of(take: Take, fits: PairFits) -> Solution:
    """Plain least squares as a Solution: every joint for itself, nothing weighed, no correction."""
    rows = Rows.of(take, fits.pairs)
    weight = _weigh_seen(rows.seen)
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    C = rows.covariance(u, weight)
    G, _ = rows.sums(weight)
    N = G * np.kron(np.diag(1 / np.diagonal(C)), np.ones((6, 6)))
    basis = free_basis(fits, ~fits.determined)
    quiet = np.zeros(len(fits.pairs), dtype=bool)
    return Solution(*fits.joints, weight, N, basis, C, quiet, together=False)


def _weigh_seen(seen: Bools, base: Floats | None = None) -> Floats:
    """(n, J) weights to begin with: 1, or those of the base, where a joint is seen."""
    if base is None:
        return over_frames(lambda part: part.astype(np.float64), seen)
    return over_frames(lambda part, weight: np.where(part, weight, 0.0), seen, base)


def free_basis(fits: PairFits, held: Bools | None) -> Floats:
    """(6J, F) orthonormal directions of the unknowns that are solved for."""
    J = len(fits.pairs)
    if held is None or not held.any():
        return np.eye(6 * J)
    columns = []
    for a in range(J):
        directions = np.concatenate([fits.axis_child[a], fits.axis_parent[a]]) / np.sqrt(2)  # (6, 3)
        closed = directions[:, held[a]]
        u, _, _ = np.linalg.svd(np.eye(6) - closed @ closed.T)
        block = np.zeros((6 * J, 6 - closed.shape[1]))
        block[6 * a : 6 * a + 6] = u[:, : 6 - closed.shape[1]]
        columns.append(block)
    return np.concatenate(columns, axis=1)


def guarded_noise(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(m,) orientation noise [rad], scaled down where correcting for it would take away most of a joint's signal."""
    s = noise.orientation.copy()
    weakest = np.where(held, np.inf, fits.spread).min(axis=1) if held is not None else fits.spread[:, 0]
    for a, (i, j) in enumerate(fits.pairs):
        both = s[i] ** 2 + s[j] ** 2
        if both > NOISE_CORRECTION_MAX_SHARE * weakest[a]:
            factor = np.sqrt(NOISE_CORRECTION_MAX_SHARE * weakest[a] / both)
            s[i], s[j] = s[i] * factor, s[j] * factor
    return s


def row_factors(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(6J,) factors that undo E[R] = (1 - s^2) R in what a sensor's rotation is multiplied with."""
    s = guarded_noise(fits, noise, held)
    return np.repeat(1 / (1 - s[fits.pairs.ravel()] ** 2), 3)
