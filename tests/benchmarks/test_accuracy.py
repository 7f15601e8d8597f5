"""Short versions of the measurements of accuracy, as claims."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bound, coverage, hinges, trees
from condyle.simulate import linkage, simulate
from tests.make.size import pick

SEED = 30_000
SEEDS = range(SEED, SEED + 6)
DEFAULT_OVER_BOUND = 1.2  # joint error over the Cramer-Rao bound, 3 mm and 0.5 deg
PLAIN_OVER_BOUND = 1.3  # what least squares does not reach
OUTLIER_ERROR = 0.0015  # m, joint error under spikes and bursts
COVERAGE = 0.85  # of 95 % intervals, over few limbs
WIDTH = 3.0  # half-width over what the errors need
AXIS = np.radians(1.0)


def case(cases, name):
    return next(case for case in cases if case.name == name)


@pytest.mark.costly
@pytest.mark.sized
def test_default_comes_near_the_bound_where_least_squares_does_not():
    found = bound.measure(case(bound.WHITE, "A3 0.3 cm, 0.5 deg"), SEEDS[: pick(3, 6, 6)], ("least-squares", "default"))
    assert found.ratio("default") <= DEFAULT_OVER_BOUND
    assert found.ratio("least-squares") >= PLAIN_OVER_BOUND


@pytest.mark.sized
def test_default_shrugs_off_spikes_and_bursts():
    spikes = case(bound.OUTLIERS, "2 % spikes + 5 % bursts")
    found = bound.measure(spikes, SEEDS[: pick(1, 3, 3)], ("least-squares", "default"), bound=False)
    assert np.sqrt(np.mean(found.joint["default"])) <= OUTLIER_ERROR
    assert np.sqrt(np.mean(found.joint["least-squares"])) >= 5 * OUTLIER_ERROR


def test_information_of_noise_that_changes_adds_over_frames():
    world = simulate(linkage(), seconds=5.0, seed=SEED)
    shape = world.truth.p_world_body.shape[:2]
    position, orientation = np.full(shape, 0.003), np.full(shape, 0.01)
    nearly = position.copy()
    nearly[0, 0] *= 1 + 1e-9  # no longer the same in all frames
    np.testing.assert_allclose(
        bound.bounds(world.truth, nearly, orientation), bound.bounds(world.truth, position, orientation), rtol=1e-6
    )


@pytest.mark.costly
@pytest.mark.sized
def test_intervals_hold_under_noise_warped_fields_and_soft_tissue():
    for name in ("white, walk", "warped field, walk", "soft tissue, exercise"):
        found = coverage.measure(case(coverage.CASES, name), SEEDS[: pick(1, 3, 3)])
        assert found.coverage >= COVERAGE, name
        assert found.width <= WIDTH, name
        assert found.wrong_trees == 0, name


@pytest.mark.costly
@pytest.mark.sized
def test_trees_are_right_where_a_wobbling_pelvis_pack_breaks_the_spanning_tree():
    for name in ("pelvis pack wobbles 8 cm", "half-range gait, pelvis pack 4 cm"):
        tally = trees.measure(case(trees.CASES, name), SEEDS[: pick(1, 3, 3)])
        assert tally.right == tally.trials, name
        assert tally.paper_right < tally.trials, name


@pytest.mark.costly
@pytest.mark.sized
def test_two_people_are_two_figures_a_prop_is_loose_and_planted_feet_belong_to_their_shanks():
    for name in ("two people", "person and loose prop", "both feet planted throughout"):
        tally = trees.measure(case(trees.CASES, name), SEEDS[: pick(1, 2, 2)], paper=False)
        assert tally.right == tally.trials, name


def test_planted_feet_stay_on_the_floor_and_joints_stay_together():
    truth = trees.planted(SEED).truth
    for foot in ("l_foot", "r_foot"):
        k = truth.names.index(foot)
        assert np.ptp(truth.p_world_body[:, k], axis=0).max() < 1e-12
    child = np.flatnonzero(truth.parent >= 0)
    up = truth.parent[child]
    places = [
        np.einsum("nkij,kj->nki", truth.R_world_body[:, body], point[child]) + truth.p_world_body[:, body]
        for body, point in ((child, truth.p_child_joint), (up, truth.p_parent_joint))
    ]
    np.testing.assert_allclose(places[0], places[1], atol=1e-12)


@pytest.mark.sized
def test_hinges_are_told_and_their_axes_are_true():
    found = hinges.measure(case(hinges.CASES, "0.3 cm, 0.5 deg"), SEEDS[: pick(1, 3, 3)])
    assert found.share("hinge", "hinge") == 1
    assert found.share("ball", "hinge") == 0
    assert max(found.axis) <= AXIS
