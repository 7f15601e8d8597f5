"""What must not matter to plain least squares: where the world is, how sensors sit, units, order, names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.fits import PairFits, fit_pairs, refine_pairs
from condyle.pairs.sums import sum_pairs
from tests.oracle.worlds import ball, hinge, moved, noisy

NEAR_M = 1e-12  # m, within 10 m of the origin
FAR_M = 1e-9  # m, at 10 km
PARALLEL = 1e-9  # rad
CHILD_PARENT = np.array([[0, 1]])
SETTINGS = settings(max_examples=15, deadline=None, derandomize=True, database=None)

seeds = st.integers(0, 2**32 - 1)
lengths = st.floats(-10, 10)
directions = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))


def shaken_ball(seed: int) -> tuple[Take, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return noisy(ball(rng, 150).take, rng, 0.003, 0.01), rng


def fitted(take: Take, pairs=CHILD_PARENT) -> PairFits:
    return refine_pairs(take, fit_pairs(sum_pairs(take), pairs))


def assert_same(a: PairFits, b: PairFits, within: float = NEAR_M) -> None:
    np.testing.assert_allclose(a.p_child_joint, b.p_child_joint, rtol=0, atol=within)
    np.testing.assert_allclose(a.p_parent_joint, b.p_parent_joint, rtol=0, atol=within)
    np.testing.assert_allclose(a.residual, b.residual, rtol=0, atol=within)


@SETTINGS
@given(seed=seeds, turn=directions, place=st.tuples(lengths, lengths, lengths))
def test_moving_the_world_moves_no_joint(seed, turn, place) -> None:
    take, _ = shaken_ball(seed)
    assert_same(fitted(moved(take, rotation.from_vector(turn), np.array(place))), fitted(take))


@SETTINGS
@given(seed=seeds, turn=directions, heading=directions)
def test_ten_kilometres_move_no_joint(seed, turn, heading) -> None:
    take, _ = shaken_ball(seed)
    place = np.array([1e4, 0, 0]) @ rotation.from_vector(heading)
    assert_same(fitted(moved(take, rotation.from_vector(turn), place)), fitted(take), FAR_M)


@SETTINGS
@given(seed=seeds, turn=directions, shift=st.tuples(*[st.floats(-0.5, 0.5)] * 3), which=st.integers(0, 1))
def test_a_sensor_mounted_otherwise_tells_the_same_joint_in_its_own_frame(seed, turn, shift, which) -> None:
    take, _ = shaken_ball(seed)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    A, a = rotation.from_vector(turn), np.array(shift)
    p[:, which] += R[:, which] @ a
    R[:, which] = R[:, which] @ A
    here, there = fitted(take), fitted(Take(take.names, take.time, R, p))
    halves, others = (np.stack([fits.p_child_joint[0], fits.p_parent_joint[0]]) for fits in (here, there))
    np.testing.assert_allclose(A @ others[which] + a, halves[which], rtol=0, atol=NEAR_M)
    np.testing.assert_allclose(others[1 - which], halves[1 - which], rtol=0, atol=NEAR_M)


@SETTINGS
@given(seed=seeds, scale=st.floats(1e-3, 1e3))
def test_other_units_scale_the_joint(seed, scale) -> None:
    take, _ = shaken_ball(seed)
    here = fitted(take)
    there = fitted(Take(take.names, take.time, take.R_world_body, scale * take.p_world_body))
    np.testing.assert_allclose(there.p_child_joint, scale * here.p_child_joint, rtol=0, atol=scale * NEAR_M)
    np.testing.assert_allclose(there.residual, scale * here.residual, rtol=0, atol=scale * NEAR_M)
    np.testing.assert_allclose(there.singular_values, here.singular_values, rtol=NEAR_M)


@SETTINGS
@given(seed=seeds)
def test_the_order_of_the_frames_does_not_matter(seed) -> None:
    take, rng = shaken_ball(seed)
    mixed = rng.permutation(take.frames)
    assert_same(fitted(Take(take.names, take.time, take.R_world_body[mixed], take.p_world_body[mixed])), fitted(take))


@SETTINGS
@given(seed=seeds, cuts=st.lists(st.integers(0, 150), max_size=5))
def test_merged_chunks_are_the_whole(seed, cuts) -> None:
    take, _ = shaken_ball(seed)
    parts = [sum_pairs(take.slice(a, b)) for a, b in pairwise(sorted({0, 150, *cuts}))]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    merged, whole = fit_pairs(total, CHILD_PARENT), fit_pairs(sum_pairs(take), CHILD_PARENT)
    np.testing.assert_allclose(merged.p_child_joint, whole.p_child_joint, rtol=0, atol=NEAR_M)
    np.testing.assert_allclose(merged.p_parent_joint, whole.p_parent_joint, rtol=0, atol=NEAR_M)


@SETTINGS
@given(seed=seeds)
def test_child_and_parent_may_be_exchanged_and_bodies_reordered_and_renamed(seed) -> None:
    take, _ = shaken_ball(seed)
    here = fitted(take)
    for there in (fitted(take, [[1, 0]]), fitted(take.select(["parent", "child"]))):
        np.testing.assert_allclose(there.p_child_joint, here.p_parent_joint, rtol=0, atol=NEAR_M)
        np.testing.assert_allclose(there.p_parent_joint, here.p_child_joint, rtol=0, atol=NEAR_M)
        np.testing.assert_allclose(there.residual, here.residual, rtol=0, atol=NEAR_M)
    renamed = Take(("x", "a"), take.time, take.R_world_body, take.p_world_body)
    assert_same(fitted(renamed), here)


@SETTINGS
@given(seed=seeds, hidden=st.floats(0, 0.6))
def test_hidden_poses_are_deleted_rows(seed, hidden) -> None:
    take, rng = shaken_ball(seed)
    gone = rng.random((take.frames, 2)) < hidden
    left = ~gone.any(axis=1)
    rest = Take(take.names, take.time[left], take.R_world_body[left], take.p_world_body[left])
    assert_same(fitted(take.mask(gone)), fitted(rest))


@SETTINGS
@given(seed=seeds, turn=directions, place=st.tuples(lengths, lengths, lengths))
def test_a_hinge_keeps_its_line_wherever_the_world_is(seed, turn, place) -> None:
    pair = hinge(np.random.default_rng(seed), 150)
    here, there = fitted(pair.take), fitted(moved(pair.take, rotation.from_vector(turn), np.array(place)))
    axis = here.axis_child[0, :, 0]
    assert np.linalg.norm(np.cross(axis, there.axis_child[0, :, 0])) < PARALLEL
    assert np.linalg.norm(np.cross(axis, there.p_child_joint[0] - here.p_child_joint[0])) < NEAR_M
