"""Intervals: narrow when the gap is white noise, wide when the error follows the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.intervals import (
    EFFECT_MIN_GAIN,
    Uncertainty,
    _coloured_effects,
    _random_effects,
    estimate_uncertainty,
)
from condyle.estimate.solve import Solution, solve_together
from condyle.pairs.fits import fit_pairs, refine_pairs
from condyle.pairs.noise import estimate_noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, human, linkage, simulate
from condyle.simulate.device import colour_noise

PASSES = 0.8  # of the variance
SIZE = 0.25  # of the size of gaps that are a third of the noise
WHITE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))


def solved(world: World) -> tuple[Solution, Uncertainty | None]:
    truth = world.truth
    pairs = np.array([(k, p) for k, p in enumerate(truth.parent) if p >= 0])
    fits = refine_pairs(world.take, fit_pairs(sum_pairs(world.take), pairs))
    noise = estimate_noise(world.take)
    solution = solve_together(world.take, fits, noise)
    return solution, estimate_uncertainty(world.take, solution, noise)


def test_white_noise_is_recognised_and_gives_the_narrow_covariance() -> None:
    solution, sure = solved(simulate(linkage(), seconds=30, seed=4, disturbances=WHITE))
    assert sure is not None
    assert sure.white.all()
    ratio = np.sqrt(np.diagonal(sure.covariance) / np.diagonal(solution.covariance()))
    assert ratio == pytest.approx(np.ones(len(ratio)), abs=0.25)


@pytest.mark.parametrize("what", [{"field_warp": 0.0125}, {"soft_tissue": 0.005}])
def test_errors_that_follow_the_motion_are_recognised_and_widen_the_intervals(what: dict) -> None:
    world = simulate(linkage(), seconds=30, seed=4, disturbances=Disturbances(0.0015, np.radians(0.2), **what))
    solution, sure = solved(world)
    assert sure is not None
    assert not sure.white.any()
    narrow = np.sqrt(np.diagonal(solution.covariance()))
    wide = np.sqrt(np.diagonal(sure.covariance))
    assert np.median(wide / narrow) > 3
    assert (sure.effect.max(axis=1) > 0.0005).all()


def test_joints_that_move_with_their_angle_are_told_from_white_noise_with_their_size() -> None:
    moving = replace(WHITE, non_rotary=0.6)
    exact = simulate(human(), "walk", seconds=30, seed=8, disturbances=Disturbances(non_rotary=0.6))
    true = np.sqrt(3 * np.diagonal(solved(exact)[0].residual_cov))
    solution, sure = solved(simulate(human(), "walk", seconds=30, seed=8, disturbances=moving))
    assert sure is not None
    names = exact.truth.names
    moves = np.array([names[child].endswith(("shank", "upper_arm")) for child, _ in solution.pairs])
    assert (sure.white == ~moves).all()
    told, there = (np.sqrt(np.mean(np.square(size[moves]))) for size in (sure.effect[:, 0], true))
    assert told == pytest.approx(there, rel=SIZE)


def passing(seconds: float, disturbances: Disturbances) -> float:
    """The share of the usual joint's variance that more of the same motion would shrink."""
    _, sure = solved(simulate(linkage(), "walk", seconds=seconds, seed=4, disturbances=disturbances))
    assert sure is not None
    assert not sure.white.any()
    return float(np.median(np.diagonal(sure.passing) / np.diagonal(sure.covariance)))


def test_noise_that_is_correlated_passes_with_time_and_errors_that_repeat_do_not() -> None:
    slow = Disturbances(0.003, np.radians(0.3), correlation_time=0.5)
    assert passing(15, slow) > PASSES
    for what in ({"field_warp": 0.0125}, {"soft_tissue": 0.005}):
        assert passing(15, Disturbances(0.0015, np.radians(0.15), **what)) < 1 - PASSES


def test_effects_gain_likelihood_where_there_are_some_and_none_where_noise_is_merely_slow(rng) -> None:
    blocks, fresh = 200, np.arange(200) == 0
    slow = np.cumsum(rng.standard_normal((blocks, 12)), axis=0) / np.sqrt(blocks)
    Q, X = rng.standard_normal((3 * blocks, 6)), np.repeat(slow, 3, axis=0)
    noise = colour_noise(rng.standard_normal((blocks, 3)), np.arange(blocks) / 6, 0.5).ravel()
    groups = np.repeat([0, 1], 6)
    assert _coloured_effects(noise, Q, X, groups, fresh)[2] < EFFECT_MIN_GAIN
    assert _coloured_effects(noise + 2 * X @ rng.standard_normal(12), Q, X, groups, fresh)[2] > 3 * EFFECT_MIN_GAIN


def test_a_take_of_a_moment_claims_nothing() -> None:
    world = simulate(linkage(), seconds=0.3, rate=30, seed=1, disturbances=WHITE)
    assert solved(world)[1] is None


def test_the_covariance_is_symmetric_and_positive() -> None:
    _, sure = solved(
        simulate(linkage(), seconds=10, seed=9, disturbances=Disturbances(0.002, 0.004, soft_tissue=0.004))
    )
    assert sure is not None
    assert np.abs(sure.covariance - sure.covariance.T).max() < 1e-12
    assert np.linalg.eigvalsh(sure.covariance)[0] > -1e-12


def test_expected_gap_is_position_noise_and_levers_of_orientation_noise() -> None:
    world = simulate(linkage(), seconds=30, seed=4, disturbances=WHITE)
    solution, _ = solved(world)
    expected = estimate_noise(world.take).gap_variance(*solution.joints)
    assert np.diagonal(solution.residual_cov) / expected == pytest.approx(np.ones(5), abs=0.2)


def test_random_effects_of_known_size_are_found(rng: np.random.Generator) -> None:
    rows, sizes = 3000, np.array([0.5, 0.0, 2.0])
    groups = np.repeat([0, 1, 2], 12)
    found = []
    for _ in range(12):
        Q, X = rng.standard_normal((rows, 6)), rng.standard_normal((rows, 36))
        y = Q @ rng.standard_normal(6) + X @ (sizes[groups] * rng.standard_normal(36)) + 0.3 * rng.standard_normal(rows)
        variance, *_ = _random_effects(y, Q, X, groups)
        found.append(np.sqrt(variance))
    assert np.mean(found, axis=0) == pytest.approx(sizes, abs=0.15)


def test_gaps_that_are_exactly_zero_have_no_effects(rng) -> None:
    variance, coefficients, _ = _random_effects(
        np.zeros(60), rng.standard_normal((60, 3)), rng.standard_normal((60, 4)), np.array([0, 0, 1, 1])
    )
    assert (variance == 0).all()
    assert (coefficients == 0).all()
