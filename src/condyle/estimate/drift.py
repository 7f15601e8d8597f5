"""Joints from differences over a second: slow drift of the sensors falls out of them, fast noise counts more.

What a sensor's position drifts by over tens of seconds hardly changes within one, so gaps are compared with themselves
a second later instead of with zero. White noise then counts twice, which is why this is only for drift.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths.arrays import Bools, Floats
from ..model.take import Take
from ..pairs.fits import PairFits
from ..pairs.noise import Noise
from ..pairs.normal import residual_covariance
from ..pairs.sums import whole_stack
from .solve import SWEEPS, Solution, frames_in, guarded_noise

LAG = 1.0  # s


def solve_differences(take: Take, fits: PairFits, solution: Solution, noise: Noise, held: Bools) -> Solution:
    """The joints of a solution again, from differences over LAG; the solution itself for a take without time.

    held  (J, 3) directions of `fits.axis_child` that the motion leaves open, as in the solution
    """
    lag = frames_in(take, LAG)
    if not 0 < lag < take.frames:
        return solution
    J = len(solution.pairs)
    Z, d, weight = _rows(take, solution, lag)
    if not (weight.sum(axis=0) > 12).all():
        return solution
    root = np.sqrt(weight)[..., None]
    flat = (Z * root[..., None]).transpose(0, 2, 1, 3).reshape(-1, 6 * J)
    G = flat.T @ flat
    H = flat.T @ (d * root).transpose(0, 2, 1).reshape(-1, J)
    G, H = _without_noise_bias(G, H, weight, solution, guarded_noise(fits, noise, held))
    basis, u = solution.basis, solution.unknowns
    N = G
    for _ in range(SWEEPS):
        gap = (np.einsum("njxu,ju->njx", Z, u.reshape(J, 6)) - d).transpose(2, 0, 1)
        S = np.linalg.inv(residual_covariance(gap, weight))
        N = G * np.kron(S, np.ones((6, 6)))
        rhs = (H.reshape(J, 6, J) * S[:, None, :]).sum(axis=2).ravel()
        u = basis @ np.linalg.solve(basis.T @ N @ basis, basis.T @ rhs)
    halves = u.reshape(J, 2, 3)
    return replace(solution, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], information=N)


def _rows(take: Take, solution: Solution, lag: int) -> tuple[Floats, Floats, Floats]:
    """Differences over `lag` frames of designs (n, J, 3, 6) and of d (n, J, 3) [m], and what each counts (n, J)."""
    X = whole_stack(take).reshape(3, take.frames, take.bodies, 4)
    i, j = solution.pairs.T
    change = X[:, lag:] - X[:, :-lag]
    Z = np.concatenate([change[:, :, i, :3], -change[:, :, j, :3]], axis=3).transpose(1, 2, 0, 3)
    d = (change[:, :, j, 3] - change[:, :, i, 3]).transpose(1, 2, 0)
    near = (take.segment[lag:] == take.segment[:-lag])[:, None]
    return Z, d, np.sqrt(solution.weight[lag:] * solution.weight[:-lag]) * near


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
