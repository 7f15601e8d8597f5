"""The running figure: each estimator solves the tree it finds, hung on the root that was asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.fitting import (
    DRIFT,
    PLAIN,
    ROBUST,
    Estimate,
    Estimator,
    find_asked_root,
    fit_tree,
    solve_robust,
    uncertainty_of,
)
from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.take import Take, with_world
from condyle.pairs.fits import gaps
from condyle.pairs.noise import Noise
from condyle.pairs.rows import read_rows
from condyle.simulate import Disturbances, World, human, linkage, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))
NEAR_M = 0.004  # rms joint error at this noise
OPTIONS = FitOptions()


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(linkage(), "exercise", seconds=12, seed=3, disturbances=NOISE)


def edges(take: Take, pairs: np.ndarray) -> set[frozenset[str]]:
    return {frozenset((take.names[i], take.names[j])) for i, j in pairs}


ESTIMATORS = {"plain": PLAIN, "robust": ROBUST, "drift": DRIFT}


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_every_estimator_finds_the_tree_and_the_joints(world: World, estimator: Estimator) -> None:
    estimate = fit_tree(world.take, [], OPTIONS, estimator)
    assert edges(world.take, estimate.pairs) == {frozenset(edge) for edge in world.truth.edges}
    assert (estimate.solution.pairs == estimate.pairs).all()
    truth = {frozenset((k, int(up))): k for k, up in enumerate(world.truth.parent) if up >= 0}
    off = []
    for (i, j), c, l in zip(*estimate.solution.joints, strict=True):
        child = truth[frozenset((int(i), int(j)))]
        own = (c, l) if child == i else (l, c)
        off += [own[0] - world.truth.p_child_joint[child], own[1] - world.truth.p_parent_joint[child]]
    assert np.sqrt(np.mean(np.sum(np.square(off), axis=1))) < NEAR_M


def test_parents_come_before_children_and_roots_have_none(world: World) -> None:
    estimate = fit_tree(world.take, [], OPTIONS, ROBUST)
    placed = set(estimate.roots)
    for child, parent in estimate.pairs.tolist():
        assert parent in placed
        assert estimate.parent[child] == parent
        placed.add(child)
    assert len(placed) == world.take.bodies
    assert (estimate.parent[estimate.roots] == -1).all()


def test_the_root_is_asked_for_by_name_by_the_room_or_by_a_whole_tree(world: World) -> None:
    take = world.take
    assert find_asked_root(take, OPTIONS) is None
    assert find_asked_root(take, FitOptions(root="head")) == take.index("head")
    assert find_asked_root(with_world(take), FitOptions(world=True)) == take.bodies
    whole = tuple((take.names[up], take.names[k]) for k, up in enumerate(world.truth.parent) if up >= 0)
    head = next(take.names[k] for k, up in enumerate(world.truth.parent) if up < 0)
    assert find_asked_root(take, FitOptions(tree=whole)) == take.index(head)
    assert find_asked_root(take, FitOptions(tree=whole[1:])) is None
    estimate = fit_tree(take, [], FitOptions(root="head"), PLAIN)
    assert estimate.roots == [take.index("head")]


def test_a_refit_keeps_what_was_given_and_holds_what_it_is_told(world: World) -> None:
    take = world.take
    hand, head = take.index("l_forearm"), take.index("head")
    estimate = fit_tree(take, [(head, hand)], OPTIONS, PLAIN)
    again = estimate.refit(take.slice(0, 200))
    assert frozenset(("head", "l_forearm")) in edges(take, again.pairs)
    other = take.index("r_forearm")
    held = estimate.refit(take, [(head, other)])
    assert frozenset(("head", "r_forearm")) in edges(take, held.pairs)
    assert frozenset(("head", "l_forearm")) in edges(take, held.pairs)


def test_the_gap_is_that_of_its_joints(world: World) -> None:
    estimate = fit_tree(world.take, [], OPTIONS, ROBUST)
    np.testing.assert_array_equal(estimate.gap, gaps(world.take, *estimate.solution.joints))


def test_uncertainty_needs_time_and_grows_by_what_orientation_noise_may_pull(world: World) -> None:
    plain = fit_tree(world.take, [], OPTIONS, PLAIN)
    silent = Noise(plain.structure.noise.position, np.zeros(world.take.bodies))
    parts = plain.take, plain.solution, plain.fits
    sure = uncertainty_of(*parts, plain.structure, 0.0)
    calm = uncertainty_of(*parts, replace(plain.structure, noise=silent), 0.0)
    assert sure is not None
    assert calm is not None
    assert np.trace(sure.covariance) > np.trace(calm.covariance)
    untimed = replace(world.take, time=np.arange(world.take.frames), timed=False)
    assert uncertainty_of(untimed, plain.solution, plain.fits, plain.structure, 0.0) is None


def test_motion_that_is_fast_is_not_taken_for_noise(rng: np.random.Generator) -> None:
    """Joints that close exactly, however their bodies shake: a pull that is not there was taken away, by 20 mm."""
    truth = simulate(linkage(), "exercise", seconds=12, seed=3).truth
    shake = np.radians(1.0) * rng.standard_normal(truth.p_world_body.shape)
    R, p = truth.R_world_body @ rotation.from_vector(shake), truth.p_world_body.copy()
    for k, up in enumerate(truth.parent):  # parents come first
        if up >= 0:
            p[:, k] = p[:, up] + R[:, up] @ truth.p_parent_joint[k] - R[:, k] @ truth.p_child_joint[k]
    take = Take(truth.names, truth.time, R, p.round(5))
    estimate = fit_tree(take, [], OPTIONS, ROBUST)
    assert np.degrees(estimate.structure.noise.orientation).max() < 0.01
    for (i, j), c, _ in zip(*estimate.solution.joints, strict=True):
        true = truth.p_child_joint[i] if truth.parent[i] == j else truth.p_parent_joint[j]
        np.testing.assert_allclose(c, true, atol=1e-4)


ROWS = simulate(human(), "exercise", seconds=25, rate=120, seed=5, disturbances=NOISE)  # long enough to be read by rows


def errors_of(world: World, estimate: Estimate) -> np.ndarray:
    """(J,) [m] how far off the joints are, in the child."""
    truth = {frozenset((k, int(up))): k for k, up in enumerate(world.truth.parent) if up >= 0}
    off = []
    for (i, j), c, l in zip(*estimate.solution.joints, strict=True):
        child = truth[frozenset((int(i), int(j)))]
        off.append(np.linalg.norm((c if child == i else l) - world.truth.p_child_joint[child]))
    return np.array(off)


def widths_of(estimate: Estimate) -> np.ndarray:
    args = (estimate.take, estimate.solution, estimate.fits, estimate.structure)
    sure = uncertainty_of(*args, lag=0.0)
    assert sure is not None
    return np.sqrt(np.diagonal(sure.covariance))


def test_scattered_single_dropouts_cost_no_width(rng) -> None:
    """Where rows that lack a frame were left out, they cost a quarter of it."""
    spoilt = ROWS.take.mask(rng.random(ROWS.take.seen.shape) < 0.02)
    whole, part = (fit_tree(take, [], OPTIONS, ROBUST) for take in (ROWS.take, spoilt))
    assert whole.solution.every == part.solution.every == 4
    assert np.median(widths_of(part) / widths_of(whole)) < 1.05


def test_after_outliers_are_masked_everything_is_made_again() -> None:
    """Else pairs, axes and held directions are those of the spoilt poses: 9 mm off under bursts."""
    bursts = replace(NOISE, spikes=0.01, bursts=0.05)
    world = simulate(human(), "exercise", seconds=25, rate=120, seed=5, disturbances=bursts)
    spoilt = world.take
    clean, robust = (fit_tree(take, [], OPTIONS, ROBUST) for take in (ROWS.take, spoilt))
    assert edges(spoilt, robust.pairs) == edges(ROWS.take, clean.pairs)
    bad = world.truth.burst | world.truth.spiked
    assert (robust.structure.good[bad]).mean() < 0.5
    assert errors_of(world, robust).max() < 1.5 * max(errors_of(ROWS, clean).max(), NEAR_M)
    both = robust.structure.rows.sums.frames
    assert both.mean() < 0.95 * clean.structure.rows.sums.frames.mean()
    assert robust.solution.basis.shape == clean.solution.basis.shape


def test_joints_read_off_rows_are_those_read_off_frames() -> None:
    """By a small part of their error; the weights and the covariance of the gaps are those of frames."""
    by_rows = fit_tree(ROWS.take, [], OPTIONS, ROBUST)
    frames = replace(by_rows.structure, rows=read_rows(ROWS.take, frames=True))
    by_frames, _, _ = solve_robust(ROWS.take, frames, by_rows.pairs)
    assert (by_rows.solution.every, by_frames.every) == (4, 1)
    sd = np.sqrt(np.diagonal(by_frames.covariance()))
    assert (np.abs(by_rows.solution.unknowns - by_frames.unknowns) < 0.6 * sd + 1e-9).all()
    sizes = (np.diagonal(one.residual_cov) for one in (by_rows.solution, by_frames))
    np.testing.assert_allclose(*sizes, rtol=0.1)
    assert by_rows.solution.frame_weight.shape == by_frames.frame_weight.shape == by_frames.weight.shape
    assert by_rows.solution.weight.shape == (by_rows.structure.rows.take.frames, len(by_rows.pairs))
    np.testing.assert_allclose(
        np.diagonal(by_rows.solution.covariance()), np.diagonal(by_frames.covariance()), rtol=0.25
    )


def test_exact_poses_are_solved_frame_by_frame() -> None:
    world = simulate(human(), "exercise", seconds=25, rate=120, seed=5)
    estimate = fit_tree(world.take, [], OPTIONS, ROBUST)
    assert estimate.solution.every == 1
    assert errors_of(world, estimate).max() < 1e-12
