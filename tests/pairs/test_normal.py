"""Normal equations as sums: blocks add up to the take."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.least_squares import solve_normal
from condyle.pairs.fits import fit_pairs, refine_pairs
from condyle.pairs.normal import Rows, System, descend, estimate_covariance, gap_products, solve_by_joints
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, linkage, simulate

SAME = 1e-9  # relative: the same sums in another order
SAME_M = 1e-9  # m
NOISE = Disturbances(position_noise=0.003, orientation_noise=0.005)


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(linkage(), seconds=10, rate=30, seed=4, disturbances=NOISE)


def edges(world: World) -> np.ndarray:
    return np.array([(k, up) for k, up in enumerate(world.truth.parent) if up >= 0])


@pytest.mark.parametrize("weighed", [0.0, 0.1, 1.0], ids=["plain", "some weighed", "weighed, with gaps"])
def test_the_sums_of_blocks_add_up_to_those_of_the_take(world: World, rng: np.random.Generator, weighed: float) -> None:
    take, pairs = world.take, edges(world)
    u = rng.normal(0, 0.2, 6 * len(pairs))
    weight = np.ones((take.frames, len(pairs)))
    if weighed:
        take = take.mask(rng.random((take.frames, take.bodies)) < 0.1 * weighed)
        some = rng.random(take.frames) <= weighed
        weight[some] = rng.random((int(some.sum()), len(pairs)))

    def sums(frames: np.ndarray) -> list[np.ndarray]:
        rows = Rows.of(take.at(frames), pairs)
        own = weight[frames] * rows.seen
        return [*rows.sums(own), *gap_products(rows.gap(u), own)]

    parts = [sums(frames) for frames in np.array_split(np.arange(take.frames), 7)]
    for part, whole in zip(zip(*parts, strict=True), sums(np.arange(take.frames)), strict=True):
        np.testing.assert_allclose(sum(part), whole, rtol=SAME, atol=SAME * np.abs(whole).max())


def test_the_sums_are_products_of_the_weighted_columns(world: World, rng: np.random.Generator) -> None:
    take, pairs = world.take, edges(world)
    weight = np.ones((take.frames, len(pairs)))
    weight[5, 0], weight[40:60, 2] = 0.0, rng.random(20)  # most frames count in full
    R, p, (i, j), root = take.R_world_body, take.p_world_body, pairs.T, np.sqrt(weight)[:, None, :, None]
    Z = np.concatenate([R[:, i], -R[:, j]], axis=3).swapaxes(1, 2) * root  # (n, 3, J, 6)
    flat = Z.reshape(3 * take.frames, -1)
    d = ((p[:, j] - p[:, i]).swapaxes(1, 2) * root[..., 0]).reshape(-1, len(pairs))
    for found, right in zip(Rows.of(take, pairs).sums(weight), (flat.T @ flat, flat.T @ d), strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=SAME * take.frames)


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


@pytest.mark.parametrize("held", [0, 5])
@pytest.mark.parametrize("weighed", [False, True], ids=["plain", "weighed, with gaps"])
def test_refining_a_solution_finds_it_again(world: World, rng: np.random.Generator, weighed: bool, held: int) -> None:
    take, pairs = world.take, edges(world)
    take = take.mask(rng.random((take.frames, take.bodies)) < 0.1) if weighed else take
    rows, J = Rows.of(take, pairs), len(pairs)
    weight = rows.seen * (rng.random(rows.seen.shape) if weighed else 1.0)
    basis, root = np.eye(6 * J)[:, held:], rng.normal(size=(J, J))
    system, S = (
        System(pairs, basis, 1 + 1e-3 * rng.random(6 * J).reshape(-1, 3)[:, :1].repeat(3, 1).ravel()),
        root @ root.T,
    )
    G, H = rows.sums(weight)
    u = system.solve(G, H, S)
    near = u + 1e-3 * basis @ rng.normal(size=basis.shape[1])
    again = system.refine(G, S, near, lambda: rows.slope(rows.gap(near), weight, S))
    np.testing.assert_allclose(again, u, rtol=0, atol=SAME_M)


@pytest.mark.parametrize("held", [0, 5])
def test_many_joints_are_solved_in_steps_as_they_are_at_once(world: World, held: int) -> None:
    pairs = edges(world)
    J = len(pairs)
    basis = np.delete(np.eye(6 * J), range(held), axis=1)
    rng = np.random.default_rng(held)
    root = np.eye(J) + 0.2 * rng.standard_normal((J, J))
    system = System(pairs, basis, np.ones(6 * J))
    G, _ = Rows.of(world.take, pairs).sums(np.ones((world.take.frames, J)))
    N, h = system.normal(G, root @ root.T), rng.standard_normal(6 * J)
    found = descend(N, h, basis, rng.standard_normal(6 * J))
    assert found is not None
    np.testing.assert_allclose(found, solve_normal(N, h, basis), rtol=0, atol=1e-9 * np.abs(found).max())
    near = descend(N, h, basis, np.zeros(6 * J), 1e-3)  # as near as it is asked for
    assert near is not None
    assert 1e-9 < np.abs(near - found).max() / np.abs(found).max() < 0.1
    assert descend(0 * N, h, basis, np.zeros(6 * J)) is None


@pytest.mark.parametrize("held", [0, 4])
def test_many_joints_whose_steps_do_not_settle_are_solved_by_their_free_directions(held: int) -> None:
    rng, J = np.random.default_rng(held), 7
    root = rng.standard_normal((6 * J, 6 * J))
    N, h = root @ root.T, rng.standard_normal(6 * J)
    N[6:12], N[:, 6:12], h[6:12] = 0, 0, 0  # a joint that no frame shows
    own = np.linalg.qr(rng.standard_normal((J, 6, 6)))[0]  # directions that are no axes
    basis = np.zeros((J, 6, J, 6))
    basis[np.arange(J), :, np.arange(J)] = own
    free = np.delete(basis.reshape(6 * J, 6 * J), [0, 7, 13, 14][:held], axis=1)
    expected = solve_normal(N, h, free)
    np.testing.assert_allclose(solve_by_joints(N, h, free), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_array_equal(solve_by_joints(N, h, free)[6:12], 0)


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
    C = estimate_covariance(*gap_products(np.zeros((3, 50, 4)), np.ones((50, 4))))
    assert np.isfinite(np.linalg.inv(C)).all()


@pytest.mark.parametrize("exact", [False, True], ids=["noisy", "exact"])
def test_the_covariance_of_gaps_is_the_same_from_sums_and_from_rows(exact: bool) -> None:
    world = simulate(linkage(), seconds=10, rate=30, seed=4, disturbances=Disturbances() if exact else NOISE)
    pairs = edges(world)
    fits = refine_pairs(world.take, fit_pairs(sum_pairs(world.take), pairs))
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    rows, weight = Rows.of(world.take, pairs), np.ones((world.take.frames, len(pairs)))
    C = estimate_covariance(*gap_products(rows.gap(u), weight))
    np.testing.assert_allclose(rows.covariance(u, weight), C, rtol=1e-7, atol=1e-9 * C.max())
