"""Pair joints against scipy's solvers and against extended precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from condyle.pairs.fits import fit_pairs, refine_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, human, simulate
from tests.oracle import stacked
from tests.oracle.worlds import ball, moved, noisy

SAME_M = 1e-12  # m
ROUNDING_M = 1e-15  # m
CHILD_PARENT = np.array([[0, 1]])


@pytest.mark.parametrize("driver", ["gelsd", "gelsy"])
def test_all_pairs_of_a_person_are_those_of_scipy(driver) -> None:
    noise = Disturbances(position_noise=0.003, orientation_noise=0.005, missing=0.1)
    take = simulate(human(), "walk", seconds=4, seed=9, disturbances=noise).take
    fits = refine_pairs(take, fit_pairs(sum_pairs(take)))
    for row, (i, j) in enumerate(fits.pairs):
        Q, d = stacked.rows_of(take, i, j)
        u = scipy.linalg.lstsq(Q, d, lapack_driver=driver)[0]
        np.testing.assert_allclose(fits.p_child_joint[row], u[:3], rtol=0, atol=SAME_M)
        np.testing.assert_allclose(fits.p_parent_joint[row], u[3:], rtol=0, atol=SAME_M)
        residual = np.sqrt(np.sum((Q @ u - d) ** 2) / (len(d) / 3))
        assert fits.residual[row] == pytest.approx(residual, abs=SAME_M)


def extended(Q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Least squares by Householder-free Gram-Schmidt, twice over, in extended precision."""
    A, y = Q.astype(np.longdouble), d.astype(np.longdouble)
    basis, R = np.zeros_like(A), np.zeros((6, 6), np.longdouble)
    for k in range(6):
        v = A[:, k].copy()
        for _ in range(2):
            shadow = basis[:, :k].T @ v
            R[:k, k] += shadow
            v -= basis[:, :k] @ shadow
        R[k, k] = np.sqrt(v @ v)
        basis[:, k] = v / R[k, k]
    u, right = np.zeros(6, np.longdouble), basis.T @ y
    for k in range(5, -1, -1):
        u[k] = (right[k] - R[k, k + 1 :] @ u[k + 1 :]) / R[k, k]
    return u


@pytest.mark.parametrize("offset", [0.0, 1000.0], ids=["near", "a kilometre away"])
@pytest.mark.parametrize("turn", [0.1, 0.5], ids=["stiff", "free"])
def test_refined_centres_are_not_worse_than_numpys(rng, offset, turn) -> None:
    ours, numpys = [], []
    for _ in range(5):
        take = noisy(ball(rng, turn=turn).take, rng, 0.003, 0.005)
        take = moved(take, np.eye(3), np.full(3, offset))
        fits = refine_pairs(take, fit_pairs(sum_pairs(take), CHILD_PARENT))
        want = extended(*stacked.rows_of(take, 0, 1))
        plain = stacked.fit(take, 0, 1)
        for found, off in ((fits, ours), (plain, numpys)):
            u = np.concatenate([np.ravel(found.p_child_joint), np.ravel(found.p_parent_joint)])
            off.append(float(np.abs(u - want).max()))
    assert np.mean(ours) <= np.mean(numpys) + ROUNDING_M
