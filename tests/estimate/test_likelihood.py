"""Whole-skeleton maximum likelihood: nearer to the bound than least squares, exact on exact data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.likelihood import fisher_information, fit_likelihood
from condyle.estimate.solve import solve_together
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.noise import Noise, estimate_noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, chain, human, linkage, simulate

EXACT_M = 1e-9
DEGREE = np.pi / 180
LOUD = Disturbances(position_noise=0.003, orientation_noise=1 * DEGREE)
NEAR = 1.2  # times the bound, over a few seeds


def tree_of(world: World) -> np.ndarray:
    return np.array([(k, int(up)) for k, up in enumerate(world.truth.parent) if up >= 0])


def true_unknowns(world: World) -> np.ndarray:
    k = tree_of(world)[:, 0]
    return np.concatenate([world.truth.p_child_joint[k], world.truth.p_parent_joint[k]], axis=1).ravel()


def exact_take(world: World) -> Take:
    return Take(world.truth.names, world.truth.time, world.truth.R_world_body, world.truth.p_world_body)


def known_noise(bodies: int, d: Disturbances = LOUD) -> Noise:
    return Noise(np.full(bodies, d.position_noise), np.full(bodies, d.orientation_noise))


def errors(world: World, bound_noise: Noise) -> tuple[float, float, float]:
    """Root mean square error [m] of least squares and of maximum likelihood, and the bound on it."""
    take, pairs, true = world.take, tree_of(world), true_unknowns(world)
    fits = fit_pairs(sum_pairs(take), pairs)
    noise = estimate_noise(take)
    likely = fit_likelihood(take, solve_together(take, fits, noise), noise)
    plain = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    information = fisher_information(exact_take(world), pairs, true, bound_noise)
    off = [float(np.mean((u - true) ** 2)) for u in (plain, likely.unknowns)]
    return off[0], off[1], float(np.trace(np.linalg.inv(information)) / len(true))


def test_it_comes_near_the_bound_where_least_squares_does_not() -> None:
    squares = [
        errors(simulate(linkage(), motion, seconds=20, seed=seed, disturbances=LOUD), known_noise(6))
        for seed in range(4)
        for motion in ("exercise", "walk")
    ]
    plain, likely, bound = np.sqrt(np.mean(squares, axis=0))
    assert plain > 1.3 * bound
    assert likely < NEAR * bound


def test_it_beats_least_squares_on_a_person() -> None:
    world = simulate(human(), "walk", seconds=10, rate=60, seed=2, disturbances=LOUD)
    plain, likely, bound = np.sqrt(errors(world, known_noise(15)))
    assert likely < 0.8 * plain
    assert likely < 1.5 * bound


def test_exact_data_stay_exact() -> None:
    world = simulate(linkage(), "walk", seconds=5, seed=3)
    start = solve_together(world.take, fit_pairs(sum_pairs(world.take), tree_of(world)), Noise.none(6))
    answer = fit_likelihood(world.take, start, known_noise(6))
    assert np.abs(answer.unknowns - true_unknowns(world)).max() < EXACT_M


def test_held_directions_stay_held() -> None:
    world = simulate(chain(("hinge", "ball")), "walk", seconds=10, seed=3, disturbances=LOUD)
    fits = fit_pairs(sum_pairs(world.take), tree_of(world))
    held = np.zeros((2, 3), bool)
    held[0, 0] = True
    noise = known_noise(3)
    start = solve_together(world.take, fits, noise, held=held)
    answer = fit_likelihood(world.take, start, noise)
    along = np.concatenate([fits.axis_child[0, :, 0], fits.axis_parent[0, :, 0]])
    assert abs(along @ answer.unknowns[:6]) < EXACT_M
    assert np.abs(answer.unknowns - start.unknowns).max() > 1e-6


def test_samples_weighed_out_and_missing_ones_are_left_out() -> None:
    spoilt = replace(LOUD, spikes=0.03, missing=0.1)
    world = simulate(linkage(), "walk", seconds=20, seed=4, disturbances=spoilt)
    clean = simulate(linkage(), "walk", seconds=20, seed=4, disturbances=LOUD)
    noise = known_noise(6)
    off = []
    for each in (world, clean):
        start = solve_together(each.take, fit_pairs(sum_pairs(each.take), tree_of(each)), noise)
        answer = fit_likelihood(each.take, start, noise)
        off.append(np.sqrt(np.mean((answer.unknowns - true_unknowns(each)) ** 2)))
    assert off[0] < 2 * off[1]


def test_more_frames_and_quieter_sensors_tell_more() -> None:
    world = simulate(linkage(), "walk", seconds=10, seed=5)
    take, pairs, u = exact_take(world), tree_of(world), true_unknowns(world)
    whole = fisher_information(take, pairs, u, known_noise(6))
    parts = [fisher_information(take.slice(a, b), pairs, u, known_noise(6)) for a, b in ((0, 100), (100, 300))]
    np.testing.assert_allclose(parts[0] + parts[1], whole, rtol=1e-6, atol=1e-6 * np.abs(whole).max())
    quiet = Noise(known_noise(6).position / 2, known_noise(6).orientation / 2)
    np.testing.assert_allclose(fisher_information(take, pairs, u, quiet), 4 * whole, rtol=1e-9)


def test_what_is_not_seen_tells_nothing() -> None:
    world = simulate(linkage(), "walk", seconds=5, seed=5)
    pairs, u = tree_of(world), true_unknowns(world)
    hidden = np.zeros((150, 6), bool)
    hidden[:75] = True
    take = exact_take(world)
    half = fisher_information(take.slice(75), pairs, u, known_noise(6))
    np.testing.assert_allclose(fisher_information(take.mask(hidden), pairs, u, known_noise(6)), half, rtol=1e-6)
    nothing = fisher_information(take.mask(np.ones((150, 6), bool)), pairs, u, known_noise(6))
    assert not nothing.any()
    assert not fisher_information(take.slice(0, 0), pairs, u, known_noise(6)).any()


def test_no_joints_have_nothing_to_tell() -> None:
    take = simulate(linkage(), "walk", seconds=1, seed=5).take
    none = np.empty((0, 2), np.int64)
    assert fisher_information(take, none, np.empty(0), known_noise(6)).shape == (0, 0)
    start = solve_together(take, fit_pairs(sum_pairs(take), none), Noise.none(6))
    assert fit_likelihood(take, start, known_noise(6)).unknowns.shape == (0,)


@pytest.mark.parametrize("frames", [1, 3])
def test_few_frames_give_a_finite_answer(frames) -> None:
    world = simulate(linkage(), "walk", seconds=1, seed=1, disturbances=LOUD)
    take = world.take.slice(0, frames)
    fits = fit_pairs(sum_pairs(take), tree_of(world))
    start = solve_together(take, fits, Noise.none(6), held=~fits.determined)
    assert np.isfinite(fit_likelihood(take, start, known_noise(6)).unknowns).all()
