"""Normal equations as sums: blocks add up to the take, and a sweep knows what other joints would leave."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs, gaps, refine_pairs
from condyle.pairs.normal import Rows, Sweep, System, gap_products
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, linkage, simulate

SAME = 1e-9  # relative: the same sums in another order
SAME_M = 1e-9  # m
NOISE = Disturbances(position_noise=0.003, orientation_noise=0.005)


def covariance_of(gap: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(J, J) [m^2] per axis covariance of gaps (3, n, J)."""
    none = np.empty((0, 0))
    return Sweep(none, none, *gap_products(gap, weight)).covariance()


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(linkage(), seconds=10, rate=30, seed=4, disturbances=NOISE)


def edges(world: World) -> np.ndarray:
    return np.array([(k, up) for k, up in enumerate(world.truth.parent) if up >= 0])


def swept(take: Take, pairs: np.ndarray, u: np.ndarray, weight: np.ndarray) -> Sweep:
    rows = Rows.of(take, pairs)
    return Sweep(*rows.sums(weight * rows.seen), *gap_products(rows.gap(u), weight * rows.seen))


def assert_same(a: Sweep, b: Sweep) -> None:
    for name in ("G", "H", "square", "count"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=SAME, atol=SAME * np.abs(y).max())


@pytest.mark.parametrize("weighed", [False, True], ids=["plain", "weighed, with gaps"])
def test_the_sweeps_of_blocks_add_up_to_that_of_the_take(world: World, rng: np.random.Generator, weighed: bool) -> None:
    take, pairs = world.take, edges(world)
    u = rng.normal(0, 0.2, 6 * len(pairs))
    weight = np.ones((take.frames, len(pairs)))
    if weighed:
        take = take.mask(rng.random((take.frames, take.bodies)) < 0.1)
        weight = rng.random(weight.shape)
    parts = np.array_split(np.arange(take.frames), 7)
    assert_same(reduce(add, [swept(take.at(k), pairs, u, weight[k]) for k in parts]), swept(take, pairs, u, weight))


def test_a_sweep_moved_to_other_joints_is_the_sweep_there(world: World, rng: np.random.Generator) -> None:
    pairs = edges(world)
    u, to = rng.normal(0, 0.2, (2, 6 * len(pairs)))
    weight = rng.random((world.take.frames, len(pairs)))
    assert_same(swept(world.take, pairs, u, weight).move_to(u, to), swept(world.take, pairs, to, weight))


def test_the_residual_is_the_weighted_root_mean_square_of_the_gaps(world: World, rng: np.random.Generator) -> None:
    pairs = edges(world)
    u = rng.normal(0, 0.2, 6 * len(pairs))
    weight = rng.random((world.take.frames, len(pairs)))
    halves = u.reshape(-1, 2, 3)
    square = np.square(gaps(world.take, pairs, halves[:, 0], halves[:, 1])).sum(axis=2)
    wanted = np.sqrt((weight * square).sum(axis=0) / weight.sum(axis=0))
    np.testing.assert_allclose(swept(world.take, pairs, u, weight).residual(), wanted, rtol=SAME)


def test_without_covariance_and_correction_the_answer_is_least_squares(world: World) -> None:
    pairs = edges(world)
    fits = fit_pairs(sum_pairs(world.take), pairs)
    J = len(pairs)
    system = System(pairs, np.eye(6 * J), np.ones(6 * J))
    weight = np.ones((world.take.frames, J))
    u = system.solve(*Rows.of(world.take, pairs).sums(weight), np.eye(J)).reshape(-1, 2, 3)
    np.testing.assert_allclose(u[:, 0], fits.p_child_joint, atol=SAME_M)
    np.testing.assert_allclose(u[:, 1], fits.p_parent_joint, atol=SAME_M)


def test_a_direction_that_is_not_solved_for_stays_at_nought(world: World) -> None:
    pairs = edges(world)
    J = len(pairs)
    basis = np.delete(np.eye(6 * J), 2, axis=1)
    sums = Rows.of(world.take, pairs).sums(np.ones((world.take.frames, J)))
    assert System(pairs, basis, np.ones(6 * J)).solve(*sums, np.eye(J))[2] == 0


def test_a_joint_without_frames_leaves_the_others_alone(world: World) -> None:
    pairs = edges(world)
    J = len(pairs)
    system = System(pairs, np.eye(6 * J), np.ones(6 * J))
    weight = np.ones((world.take.frames, J))
    weight[:, 0] = 0
    u = system.solve(*Rows.of(world.take, pairs).sums(weight), np.eye(J))
    assert np.isfinite(u).all()
    np.testing.assert_array_equal(u[:6], 0)


def test_gaps_of_nothing_have_a_covariance_that_can_be_inverted() -> None:
    C = covariance_of(np.zeros((3, 50, 4)), np.ones((50, 4)))
    assert np.isfinite(np.linalg.inv(C)).all()


@pytest.mark.parametrize("exact", [False, True], ids=["noisy", "exact"])
def test_the_covariance_of_gaps_is_the_same_from_sums_and_from_rows(exact: bool) -> None:
    world = simulate(linkage(), seconds=10, rate=30, seed=4, disturbances=Disturbances() if exact else NOISE)
    pairs = edges(world)
    fits = refine_pairs(world.take, fit_pairs(sum_pairs(world.take), pairs))
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    rows, weight = Rows.of(world.take, pairs), np.ones((world.take.frames, len(pairs)))
    C = covariance_of(rows.gap(u), weight)
    np.testing.assert_allclose(rows.covariance(u, weight), C, rtol=1e-7, atol=1e-9 * C.max())
