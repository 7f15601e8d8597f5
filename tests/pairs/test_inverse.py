"""Errors carried through the joints' equations: with those near by as with all."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.pairs.inverse import NearInverse, WholeInverse, invert_joints

NEAR = 1e-6  # relative: joints beyond those near by have as little to do with one


def chain(rng: np.random.Generator, joints: int, alike: float) -> np.ndarray:
    """(6J, 6J) normal equations of joints in a row, each of which has to do with its neighbours."""
    N = np.zeros((6 * joints, 6 * joints))
    rows = rng.standard_normal((40, 6 * joints))
    for a in range(joints):
        for b in range(joints):
            own, other = slice(6 * a, 6 * a + 6), slice(6 * b, 6 * b + 6)
            N[own, other] = alike ** abs(a - b) * rows[:, own].T @ rows[:, other]
    return N


@pytest.mark.parametrize("held", [0, 3])
def test_errors_are_carried_with_the_nearest_joints_as_with_all(rng: np.random.Generator, held: int) -> None:
    J = 40
    N = chain(rng, J, 0.05)
    M, basis = 2.0 * N, np.delete(np.eye(6 * J), range(held), axis=1)
    whole, near = WholeInverse(N, basis), NearInverse(N, basis)
    expected, found = whole.carry(M), near.carry(M)
    np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR * np.abs(expected).max())
    assert not found[:held].any()
    np.testing.assert_array_equal(found, found.T)
    values = np.zeros((6 * J, 2))
    values[60:66] = rng.standard_normal((6, 2))
    at = near.reach(10)
    moved, everywhere = near.apply(values[at], 10), whole.apply(values[whole.reach(10)], 10)
    np.testing.assert_allclose(moved, everywhere[at], rtol=0, atol=NEAR * np.abs(everywhere).max())
    assert set(range(60, 66)) <= set(at.tolist())


def test_few_joints_are_inverted_at_once(rng: np.random.Generator) -> None:
    assert isinstance(invert_joints(chain(rng, 3, 0.1), np.eye(18)), WholeInverse)
    assert isinstance(invert_joints(np.eye(6 * 200), np.eye(6 * 200)), NearInverse)
