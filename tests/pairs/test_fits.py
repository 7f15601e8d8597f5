"""Joints of pairs from sums: the same as stacked least squares on every kind of pair, near and far."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.fits import JointMap, all_pairs, fit_pairs, gaps, refine_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import human, simulate
from tests.oracle import stacked
from tests.oracle.worlds import Pair, ball, hinge, moved, noisy, rigid

EXACT_M = 1e-12  # m, on exact data after refinement
SAME_M = 1e-12  # m, between two ways of solving the same equations
OPEN_M = 1e-10  # m, between two ways of choosing the minimum norm
FROM_SUMS_M = 1e-7  # m, floor of a residual that comes from sums alone
SINGULAR = 1e-10  # relative, singular values that carry signal
SINGULAR_FLOOR = 1e-7  # of the root of the frames, singular values that are zero
PARALLEL = 1e-9  # 1 - |cosine| would be its square: sine of the angle between two axes, rad
CHILD_PARENT = np.array([[0, 1]])
PLACES_M = {"near": np.zeros(3), "a kilometre away": np.array([800.0, -500.0, 330.0])}


@pytest.fixture(params=list(PLACES_M))
def place(request: pytest.FixtureRequest):
    """Turns a pair into the same pair elsewhere in a turned world."""

    def put(pair: Pair, rng: np.random.Generator) -> Take:
        return moved(pair.take, rotation.random(rng), PLACES_M[request.param])

    return put


def refined(take: Take, pairs=CHILD_PARENT):
    return refine_pairs(take, fit_pairs(sum_pairs(take), pairs))


def sine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(np.cross(a, b)))


def test_an_exact_ball_joint_is_found_exactly(rng, place) -> None:
    pair = ball(rng)
    fits = refined(place(pair, rng))
    assert np.linalg.norm(fits.p_child_joint[0] - pair.p_child_joint) < EXACT_M
    assert np.linalg.norm(fits.p_parent_joint[0] - pair.p_parent_joint) < EXACT_M
    assert fits.residual[0] < EXACT_M


@pytest.mark.parametrize("world", [ball, hinge, rigid])
def test_exact_data_leave_no_residual_after_refinement(rng, place, world) -> None:
    assert refined(place(world(rng), rng)).residual[0] < EXACT_M


@pytest.mark.parametrize("world", [ball, hinge, rigid])
def test_a_residual_from_sums_alone_has_a_small_floor(rng, place, world) -> None:
    take = place(world(rng), rng)
    assert fit_pairs(sum_pairs(take), CHILD_PARENT).residual[0] < FROM_SUMS_M


@pytest.mark.parametrize("turn", [0.05, 0.3, 1.0], ids=["stiff", "usual", "free"])
def test_a_noisy_ball_joint_is_that_of_stacked_least_squares(rng, place, turn) -> None:
    take = noisy(place(ball(rng, turn=turn), rng), rng, position=0.003, orientation=0.005)
    fits, want = refined(take), stacked.fit(take, 0, 1)
    np.testing.assert_allclose(fits.p_child_joint[0], want.p_child_joint, rtol=0, atol=SAME_M)
    np.testing.assert_allclose(fits.p_parent_joint[0], want.p_parent_joint, rtol=0, atol=SAME_M)
    assert fits.residual[0] == pytest.approx(want.residual, abs=SAME_M)
    np.testing.assert_allclose(fits.singular_values[0], want.singular_values, rtol=SINGULAR)


def test_a_noisy_hinge_is_the_line_of_stacked_least_squares(rng, place) -> None:
    take = noisy(place(hinge(rng), rng), rng, position=0.003, orientation=0.005)
    fits, want = refined(take), stacked.fit(take, 0, 1)
    axis = fits.axis_child[0, :, 0]
    assert sine(axis, np.sqrt(2) * want.vectors[5, :3]) < PARALLEL
    assert sine(axis, fits.p_child_joint[0] - want.p_child_joint) < SAME_M
    assert sine(fits.axis_parent[0, :, 0], fits.p_parent_joint[0] - want.p_parent_joint) < SAME_M
    np.testing.assert_allclose(fits.singular_values[0], want.singular_values, rtol=SINGULAR)


def test_an_exact_hinge_has_its_own_line(rng, place) -> None:
    pair = hinge(rng)
    fits = refined(place(pair, rng))
    assert sine(fits.axis_child[0, :, 0], pair.axis_child) < PARALLEL
    assert sine(fits.axis_parent[0, :, 0], pair.axis_parent) < PARALLEL
    assert sine(pair.axis_child, fits.p_child_joint[0] - pair.p_child_joint) < EXACT_M
    assert sine(pair.axis_parent, fits.p_parent_joint[0] - pair.p_parent_joint) < EXACT_M


@pytest.mark.parametrize(("world", "open_directions"), [(ball, 0), (hinge, 1), (rigid, 3)])
def test_what_the_motion_leaves_open_is_at_minimum_norm(rng, place, world, open_directions) -> None:
    take = place(world(rng), rng)
    fits, want = refined(take), stacked.fit(take, 0, 1)
    np.testing.assert_allclose(fits.p_child_joint[0], want.p_child_joint, rtol=0, atol=OPEN_M)
    np.testing.assert_allclose(fits.p_parent_joint[0], want.p_parent_joint, rtol=0, atol=OPEN_M)
    assert (~fits.determined[0]).sum() == open_directions
    np.testing.assert_allclose(
        fits.singular_values[0], want.singular_values, rtol=SINGULAR, atol=SINGULAR_FLOOR * np.sqrt(take.frames)
    )


def test_the_minimum_norm_point_is_the_shortest_of_all_that_fit(rng) -> None:
    pair = hinge(rng)
    fits = refined(pair.take)
    for shift in (-0.01, 0.01):
        c = fits.p_child_joint[0] + shift * fits.axis_child[0, :, 0]
        l = fits.p_parent_joint[0] + shift * fits.axis_parent[0, :, 0]
        assert np.abs(gaps(pair.take, CHILD_PARENT, c[None], l[None])).max() < EXACT_M
        assert c @ c + l @ l > np.sum(fits.p_child_joint[0] ** 2) + np.sum(fits.p_parent_joint[0] ** 2)


def test_the_first_half_of_the_null_vector_is_the_axis_in_the_child(rng) -> None:
    """The paper says the parent; with its own unknowns [c; l] it is the child."""
    pair = hinge(rng)
    null = stacked.fit(pair.take, 0, 1).vectors[5] * np.sqrt(2)
    assert sine(null[:3], pair.axis_child) < PARALLEL
    assert sine(null[3:], pair.axis_parent) < PARALLEL
    assert sine(null[:3], pair.axis_parent) > 0.1  # the sensors are turned against each other, so the halves differ
    fits = refined(pair.take)
    assert sine(fits.axis_child[0, :, 0], null[:3]) < PARALLEL
    assert sine(fits.axis_parent[0, :, 0], null[3:]) < PARALLEL
    assert fits.axis_child[0, :, 0] @ null[:3] * (fits.axis_parent[0, :, 0] @ null[3:]) > 0


def test_exchanging_child_and_parent_exchanges_the_halves(rng) -> None:
    take = noisy(ball(rng).take, rng, 0.003, 0.005)
    one, other = refined(take, [[0, 1]]), refined(take, [[1, 0]])
    np.testing.assert_allclose(one.p_child_joint, other.p_parent_joint, atol=SAME_M)
    np.testing.assert_allclose(one.p_parent_joint, other.p_child_joint, atol=SAME_M)
    np.testing.assert_allclose(one.residual, other.residual, atol=SAME_M)


def test_many_pairs_at_once_are_the_pairs_one_by_one(rng) -> None:
    take = noisy(simulate(human(), seconds=4, seed=3).take, rng, 0.003, 0.005)
    sums = sum_pairs(take)
    together = fit_pairs(sums)
    assert len(together.pairs) == 15 * 14 / 2
    for row in rng.choice(len(together.pairs), 10, replace=False):
        alone = fit_pairs(sums, together.pairs[row])
        np.testing.assert_allclose(together.p_child_joint[row], alone.p_child_joint[0], atol=SAME_M)
        np.testing.assert_allclose(together.residual[row], alone.residual[0], atol=SAME_M)


def test_gaps_lie_between_the_two_places_of_the_joint(rng) -> None:
    pair = ball(rng)
    c, l = rng.standard_normal((2, 3))
    gap = gaps(pair.take, CHILD_PARENT, c[None], l[None])
    R, p = pair.take.R_world_body, pair.take.p_world_body
    np.testing.assert_allclose(gap[:, 0], R[:, 0] @ c + p[:, 0] - R[:, 1] @ l - p[:, 1], atol=SAME_M)
    hidden = np.zeros((pair.take.frames, 2), bool)
    hidden[3, 0] = hidden[5, 1] = True
    gap = gaps(pair.take.mask(hidden), CHILD_PARENT, c[None], l[None])
    assert np.flatnonzero(np.isnan(gap[:, 0]).all(axis=1)).tolist() == [3, 5]


def test_hidden_poses_count_like_deleted_rows(rng) -> None:
    take = noisy(ball(rng).take, rng, 0.003, 0.005)
    hidden = rng.random((take.frames, 2)) < 0.2
    left = ~hidden.any(axis=1)
    rest = Take(take.names, take.time[left], take.R_world_body[left], take.p_world_body[left])
    masked, deleted = refined(take.mask(hidden)), refined(rest)
    np.testing.assert_allclose(masked.p_child_joint, deleted.p_child_joint, atol=SAME_M)
    np.testing.assert_allclose(masked.residual, deleted.residual, atol=SAME_M)
    assert masked.frames[0] == left.sum()


def test_a_pair_never_seen_together_has_no_residual_and_no_joint(rng) -> None:
    take = ball(rng).take
    hidden = np.zeros((take.frames, 2), bool)
    hidden[: take.frames // 2, 0] = hidden[take.frames // 2 :, 1] = True
    for fits in (fit_pairs(sum_pairs(take.mask(hidden))), refined(take.mask(hidden))):
        assert np.isnan(fits.residual[0])
        assert fits.frames[0] == 0
        assert not fits.p_child_joint.any()


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_frames_leave_directions_open_at_minimum_norm(rng, n) -> None:
    take = ball(rng).take.slice(0, n)
    fits, want = refined(take), stacked.fit(take, 0, 1)
    assert (~fits.determined[0]).sum() == {1: 3, 2: 1}[n]
    np.testing.assert_allclose(fits.p_child_joint[0], want.p_child_joint, atol=OPEN_M)
    np.testing.assert_allclose(fits.p_parent_joint[0], want.p_parent_joint, atol=OPEN_M)


def test_a_take_without_frames_has_pairs_without_residual(rng) -> None:
    fits = refined(ball(rng).take.slice(0, 0))
    assert np.isnan(fits.residual[0])
    assert not fits.p_child_joint.any()
    assert not fits.singular_values.any()


def test_a_pair_never_seen_together_is_determined_in_no_direction(rng) -> None:
    fits = fit_pairs(sum_pairs(ball(rng).take.slice(0, 0)))
    assert not fits.determined.any()


def test_one_body_has_no_pairs(rng) -> None:
    take = ball(rng).take.select(["child"])
    fits = refine_pairs(take, fit_pairs(sum_pairs(take)))
    assert fits.pairs.shape == (0, 2)
    assert fits.singular_values.shape == (0, 6)


def test_a_take_in_which_nothing_is_seen_has_pairs_without_residual(rng) -> None:
    take = ball(rng).take
    fits = refined(take.mask(np.ones((take.frames, 2), bool)))
    assert np.isnan(fits.residual).all()
    assert np.isfinite(fits.p_child_joint).all()


@pytest.mark.parametrize("m", [0, 1, 2, 5])
def test_every_pair_is_listed_once(m) -> None:
    pairs = all_pairs(m)
    assert len({frozenset(pair) for pair in pairs.tolist()}) == m * (m - 1) // 2 == len(pairs)


def test_gaps_and_what_they_pull_are_the_same_whether_all_bodies_or_those_of_each_pair_are_multiplied(
    monkeypatch,
) -> None:
    rng = np.random.default_rng(4)
    m, pairs = 21, np.array([[10, 0], [2, 1], [6, 20], [1, 0], [20, 19]])  # neither children nor parents in order
    X, (c, l) = rng.standard_normal((30, 4 * m)), rng.standard_normal((2, 5, 3))
    dense = JointMap(m, pairs, c, l)
    monkeypatch.setattr("condyle.pairs.fits.DENSE_MAX_BODIES", 6)
    few = JointMap(m, pairs, c, l)
    gap, poses = dense.apply(X), X.reshape(30, m, 4)
    np.testing.assert_allclose(few.apply(X), gap, atol=1e-12)
    pulls = [np.einsum("nkx,nk->kx", poses[:, side, :3], gap) for side in pairs.T]
    for one in (dense, few):
        np.testing.assert_allclose(one.multiply(X, gap), pulls, atol=1e-12)
