"""The field that all joints ask for together: found where it is, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.faults.field_fit import fit_field, likeliest, measure_bend

from .test_field import FIELD, carried, true_joints, world

FOUND = 0.7  # of the displacement between places that a field with a rod must explain


def test_the_likeliest_size_of_random_effects_is_theirs(rng: np.random.Generator) -> None:
    X = rng.standard_normal((3000, 40))
    x = 0.3 * rng.standard_normal(40)
    y = X @ x + 0.5 * rng.standard_normal(3000)
    ratio, noise, gain, share, found, factor = likeliest(X.T @ X, X.T @ y, float(y @ y), 3000.0)
    assert np.sqrt(noise) == pytest.approx(0.5, rel=0.05)
    assert np.sqrt(ratio * noise) == pytest.approx(0.3, rel=0.4)
    assert gain > 100
    assert 0.7 < share < 1
    np.testing.assert_allclose(found, x, atol=0.05)
    assert np.sqrt(np.diagonal(factor @ factor.T)) == pytest.approx(0.5 / np.sqrt(3000), rel=0.2)
    white = 0.5 * rng.standard_normal(3000)
    assert likeliest(X.T @ X, X.T @ white, float(white @ white), 3000.0)[2] < 3


def test_no_rows_tell_nothing() -> None:
    ratio, noise, gain, share, found, factor = likeliest(np.zeros((4, 4)), np.zeros(4), 0.0, 0.0)
    assert (ratio, noise, gain, share) == (0.0, 0.0, 0.0, 0.0)
    assert not found.any()
    assert not factor.any()


def test_a_field_is_asked_for_where_it_is_and_shared_by_all_joints() -> None:
    straight, bent = (measure_bend(one.take, true_joints(one)) for one in (world(), world(**FIELD)))
    assert straight.gain < 10
    assert bent.gain > 100
    assert bent.shared > 0.2
    assert 0.003 < bent.size < 0.05


def test_with_a_rod_the_field_itself_is_found() -> None:
    one = world(**FIELD)
    fit = fit_field(one.take, true_joints(one), carried(**FIELD))
    off = one.take.p_world_body[::10] - one.truth.p_world_body[::10]
    told = fit.model.displacement(one.take.p_world_body[::10])
    off, told = (values - values.reshape(-1, 3).mean(axis=0) for values in (off, told))
    assert float(((off - told) ** 2).sum()) < (1 - FOUND) * float((off**2).sum())


def test_a_straight_field_stays_straight_and_leaves_nothing_open() -> None:
    one = world()
    solution = true_joints(one)
    fit = fit_field(one.take, solution)
    assert not len(fit.model.centres)
    assert not fit.left_open(solution).any()


def test_what_the_field_leaves_open_follows_a_joint_that_changed_its_child() -> None:
    one = world(**FIELD)
    solution = true_joints(one)
    fit = fit_field(one.take, solution)
    whole = fit.left_open(solution)
    assert np.diagonal(whole).max() > 0
    back = vars(solution) | {"pairs": solution.pairs[:, ::-1]}
    turned = fit.left_open(type(solution)(**back))
    order = np.concatenate([6 * a + np.roll(np.arange(6), 3) for a in range(len(solution.pairs))])
    assert np.diagonal(turned) == pytest.approx(np.diagonal(whole)[order])
