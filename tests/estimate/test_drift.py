"""Joints from differences over a second, for sensors that drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.estimate.drift import solve_differences
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.model.options import FitOptions
from condyle.pairs.noise import Noise
from condyle.simulate import Disturbances, World, human, linkage, simulate

EXACT = 1e-8  # m
HELD = 0.9  # of 95 % intervals, over few limbs
DRIFT = Disturbances(position_noise=0.005, orientation_noise=np.radians(0.1), correlation_time=20.0)


def lengths(found: condyle.Fit) -> np.ndarray:
    return np.array([limb.length for limb in found.skeleton.limbs])


def error(world: World, method: str) -> float:
    tree = [(parent, child) for child, parent in world.truth.edges]
    root = world.take.names[int(np.flatnonzero(world.truth.parent < 0)[0])]
    found = condyle.fit(world.take, plan=method, tree=tree, root=root, intervals=False)  # type: ignore[arg-type]
    true = {(body, frozenset(ends)): length for (body, *ends), length in world.truth.limbs.items()}
    off = [x.length - true[x.body, frozenset((x.from_joint, x.to_joint))] for x in found.skeleton.limbs]
    return float(np.sqrt(np.mean(np.square(off))))


@pytest.mark.costly
def test_a_walk_with_sensors_that_drift_is_known_much_better() -> None:
    worlds = [simulate(human(), "walk", seconds=45, rate=30, seed=seed, disturbances=DRIFT) for seed in (401, 402)]
    plain, drift = (np.mean([error(world, method) for world in worlds]) for method in ("default", "drift"))
    assert drift < 0.6 * plain


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_exact_data_stay_exact(motion: str) -> None:
    world = simulate(linkage(), motion, seconds=15, rate=30, seed=2)  # type: ignore[arg-type]
    assert error(world, "drift") < EXACT


def test_a_take_without_time_or_shorter_than_the_lag_is_fitted_by_the_default() -> None:
    noisy = Disturbances(position_noise=0.002, orientation_noise=0.003)
    take = simulate(linkage(), seconds=10, rate=30, seed=4, disturbances=noisy).take
    untimed = replace(take, timed=False)
    for one in (untimed, take.slice(0, 30)):
        wanted, found = (condyle.fit(one, plan=method) for method in ("default", "drift"))  # type: ignore[arg-type]
        np.testing.assert_array_equal(lengths(found), lengths(wanted))


def test_nothing_is_compared_across_recordings() -> None:
    one, two = (simulate(linkage(), seconds=10, rate=30, seed=seed).take for seed in (5, 5))
    apart = replace(two, p_world_body=two.p_world_body + 3.0)  # another place in the room
    joined = condyle.join([one, apart])
    found = condyle.fit(joined, plan="drift", intervals=False)
    np.testing.assert_allclose(lengths(found), lengths(condyle.fit(one, plan="drift", intervals=False)), atol=EXACT)


@pytest.mark.costly
def test_intervals_are_those_of_the_differences_and_hold_where_nothing_drifts() -> None:
    white = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))
    held = []
    for seed in (501, 502):
        world = simulate(human(), "walk", seconds=20, rate=30, seed=seed, disturbances=white)
        tree = [(parent, child) for child, parent in world.truth.edges]
        found = condyle.fit(world.take, plan="drift", tree=tree, root="pelvis")
        held += [x.low <= world.truth.limbs[x.body, x.from_joint, x.to_joint] <= x.high for x in found.skeleton.limbs]
    assert np.mean(held) > HELD


def test_where_one_joint_has_few_differences_the_solution_stays() -> None:
    take = simulate(linkage(), seconds=10, rate=30, seed=4).take
    one = fit_tree(take, [], FitOptions(), ROBUST)
    held = np.zeros((len(one.pairs), 3), dtype=bool)
    noise = Noise.none(take.bodies)
    assert solve_differences(take, one.fits, one.solution, noise, held) is not one.solution
    weight = np.ones((take.frames, len(one.pairs)))
    weight[12:, 0] = 0.0
    few = replace(one.solution, weight=weight)
    assert solve_differences(take, one.fits, few, noise, held) is few


def test_a_recording_of_one_frame_a_second_has_differences_as_well() -> None:
    take = simulate(linkage(), seconds=60, rate=1, seed=4).take
    one = fit_tree(take, [], FitOptions(), ROBUST)
    held = np.zeros((len(one.pairs), 3), dtype=bool)
    found = solve_differences(take, one.fits, one.solution, Noise.none(take.bodies), held)
    assert found is not one.solution
