"""Joints from differences over a second: slow drift of the sensors falls out of them, fast noise counts more.

What a sensor's position drifts by over tens of seconds hardly changes within one, so gaps are compared with themselves
a second later instead of with zero. White noise then counts twice, which is why this is only for drift.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths.arrays import Bools, Floats
from ..maths.spool import blocks, empty, over_frames
from ..model.take import Take
from ..pairs.fits import PairFits
from ..pairs.noise import Noise
from ..pairs.normal import Rows, System, estimate_covariance, gap_products
from ..pairs.sums import whole_stack
from .solve import SOLVE_SWEEPS, Solution, guard_noise

DRIFT_LAG_S = 1.0  # s between the frames whose differences a drifting take is fitted to


def solve_differences(take: Take, fits: PairFits, solution: Solution, noise: Noise, held: Bools) -> Solution:
    """The joints of a solution again, from differences over DRIFT_LAG_S; the solution itself for a take without time.

    held  (J, 3) directions of `fits.axis_child` that the motion leaves open, as in the solution
    """
    lag = take.count_frames(DRIFT_LAG_S)
    if not 0 < lag < take.frames:
        return solution
    X = whole_stack(take).reshape(3, take.frames, -1)
    near = (take.segment[lag:] == take.segment[:-lag])[:, None]
    weight = over_frames(
        lambda later, now, near: np.sqrt(later * now) * near, solution.weight[lag:], solution.weight[:-lag], near
    )
    if not (weight.sum(axis=0) > 12).all():
        return solution
    differences = empty((3, take.frames - lag, X.shape[2]))
    for part in blocks(weight, *differences):
        np.subtract(X[:, part.start + lag : part.stop + lag], X[:, part], out=differences[:, part])
    seen = over_frames(lambda part: part > 0, weight)
    rows = Rows(differences.reshape(-1, X.shape[2]), seen, solution.pairs)
    G, H = _without_noise_bias(*rows.sums(weight), weight, solution, guard_noise(fits, noise, held))
    system = System(solution.pairs, solution.basis, np.ones(len(G)))
    u, N = solution.unknowns, G
    for _ in range(SOLVE_SWEEPS):
        S = np.asarray(np.linalg.inv(estimate_covariance(*gap_products(rows.gap(u), weight))))
        N, u = system.normal(G, S), system.solve(G, H, S)
    halves = u.reshape(-1, 2, 3)
    return replace(solution, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], information=N)


def _without_noise_bias(
    G: Floats, H: Floats, weight: Floats, solution: Solution, orientation: Floats
) -> tuple[Floats, Floats]:
    """The sums without what orientation noise s adds to them: E[R] = (1 - s^2) R, and R'R = I at one moment."""
    sensor = np.repeat(solution.pairs.ravel(), 3)
    half = 1 - orientation[sensor] ** 2
    joint = np.repeat(np.arange(len(solution.pairs)), 6)
    shared = np.sqrt(weight).T @ np.sqrt(weight)  # what two joints' rows weigh together
    sign = np.tile(np.repeat([1.0, -1.0], 3), len(solution.pairs))
    axis = np.tile(np.arange(3), 2 * len(solution.pairs))
    own = sensor[:, None] == sensor[None]
    twice = 2 * shared[np.ix_(joint, joint)] * np.outer(sign, sign) * (axis[:, None] == axis[None]) * own
    corrected = np.where(own, twice - (twice - G) / half[:, None] ** 2, G / np.outer(half, half))
    return corrected, H / half[:, None]
