"""Rows in the place of frames: the same joints from a quarter of the numbers, exactly where the data are exact."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs, gaps
from condyle.pairs.rows import read_rows
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, chain, human, simulate

ROUNDING_M = 1e-10  # m, of joints from sums
POSITION_M, ORIENTATION_RAD = 0.003, np.radians(0.5)
NOISE = Disturbances(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)


def exercise(disturbances: Disturbances = NOISE, figure=human, seconds: float = 20.0, rate: float = 120.0) -> Take:
    return simulate(figure(), "exercise", seconds=seconds, rate=rate, seed=2, disturbances=disturbances).take


def edges_of(take: Take) -> np.ndarray:
    fits = fit_pairs(sum_pairs(take))
    return fits.pairs[np.argsort(fits.residual)[: take.bodies - 1]]


def test_exact_poses_have_exactly_their_joints_although_mean_rotations_are_none() -> None:
    take = exercise(Disturbances())
    rows, pairs = read_rows(take), edges_of(take)
    assert rows.every == 4
    own = np.swapaxes(rows.take.R_world_body, 2, 3) @ rows.take.R_world_body
    assert np.abs(own - np.eye(3)).max() > 1e-4
    by_rows, by_frames = fit_pairs(rows.sums, pairs), fit_pairs(sum_pairs(take), pairs)
    np.testing.assert_allclose(by_rows.p_child_joint, by_frames.p_child_joint, rtol=0, atol=ROUNDING_M)
    np.testing.assert_allclose(by_rows.p_parent_joint, by_frames.p_parent_joint, rtol=0, atol=ROUNDING_M)
    assert by_rows.residual.max() < 1e-7


def test_the_axis_of_a_hinge_is_that_of_both_bodies() -> None:
    take = exercise(Disturbances(), partial(chain, ("ball", "hinge", "ball")))
    rows = read_rows(take)
    fits, plain = (fit_pairs(sums, edges_of(take)) for sums in (rows.sums, sum_pairs(take)))
    hinges = plain.spread[:, 0] < 1e-9
    assert hinges.any()
    along = np.abs(np.einsum("px,px->p", fits.axis_child[hinges, :, 0], plain.axis_child[hinges, :, 0]))
    np.testing.assert_allclose(along, 1, rtol=0, atol=1e-9)
    for axes in (fits.axis_child, fits.axis_parent):
        unit = np.broadcast_to(np.eye(3), axes.shape)
        np.testing.assert_allclose(np.swapaxes(axes, 1, 2) @ axes, unit, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.02], ids=["whole", "dropouts"])
def test_the_joints_of_rows_solve_their_least_squares(rng, missing) -> None:
    take = exercise()
    take = take.mask(rng.random(take.seen.shape) < missing)
    rows, pairs = read_rows(take), edges_of(take)
    fits = fit_pairs(rows.sums, pairs)
    for k, (i, j) in enumerate(pairs):
        both = rows.take.seen[:, i] & rows.take.seen[:, j]
        R, p = rows.take.R_world_body[both], rows.take.p_world_body[both]
        A = np.concatenate([R[:, i], -R[:, j]], axis=2).reshape(-1, 6)
        u, square, *_ = np.linalg.lstsq(A, (p[:, j] - p[:, i]).ravel(), rcond=None)
        np.testing.assert_allclose(
            np.concatenate([fits.p_child_joint[k], fits.p_parent_joint[k]]), u, rtol=0, atol=1e-9
        )
        assert fits.residual[k] == pytest.approx(np.sqrt(square[0] / both.sum()), rel=1e-6)
        assert fits.frames[k] == both.sum()


def test_rows_have_the_less_noise_the_more_frames_they_have() -> None:
    take = exercise()
    rows, pairs = read_rows(take), edges_of(take)
    joints = fit_pairs(sum_pairs(take), pairs).joints
    expected = rows.noise.of_rows(rows.every).gap_variance(*joints)
    np.testing.assert_allclose(np.square(gaps(rows.take, *joints)).mean(axis=(0, 2)), expected, rtol=0.15)


def test_lone_dropouts_cost_hardly_any_rows_of_pairs(rng) -> None:
    """Where rows that lack a frame were left out, 2 % of dropouts cost 15 % of the rows of every pair."""
    take = exercise()
    whole, spoilt = (read_rows(one) for one in (take, take.mask(rng.random(take.seen.shape) < 0.02)))
    assert (spoilt.sums.frames > 0.99 * whole.sums.frames).all()


def test_what_is_masked_is_left_out_of_sums_and_noise(rng) -> None:
    take = exercise()
    good = np.ones(take.seen.shape, dtype=bool)
    good[400:1000, 3] = False
    p = take.p_world_body + np.where(good, 0.0, 0.3)[..., None] * rng.standard_normal(take.p_world_body.shape)
    spoilt = Take(take.names, take.time, take.R_world_body, p)
    one, two = read_rows(spoilt, good), read_rows(take, good)
    for a, b in zip(vars(one.sums).values(), vars(two.sums).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.noise.position, two.noise.position, rtol=1e-12)
    pairs = np.array([[3, 4], [5, 2]])
    again = two.sum_masked(np.repeat(np.arange(take.bodies)[None] != 5, len(two.take.time), axis=0), pairs)
    for a, b in zip(vars(again).values(), vars(two.sums).values(), strict=True):
        np.testing.assert_allclose(a[0], b[3, 4], rtol=0, atol=1e-9)
        assert not a[1].any()


def test_weights_of_rows_are_those_of_their_frames_where_these_are_seen() -> None:
    take = exercise()
    rows = read_rows(take)
    weight = np.linspace(0, 1, rows.take.frames)[:, None]
    good = take.seen.copy()
    good[10, 2] = False
    made = replace(rows, good=good).to_frames(weight, np.array([[1, 2]]))
    frames = np.asarray(made)
    assert frames.shape == made.shape == (take.frames, 1)
    assert frames[10] == 0
    np.testing.assert_array_equal(np.delete(frames, 10, axis=0), np.delete(np.repeat(weight, 4, axis=0), 10, axis=0))
    for part in (
        slice(0, 0),
        slice(0, 1),
        slice(3, 5),
        slice(5, 23),
        slice(take.frames - 3, None),
        slice(None),
        slice(1, 99, 3),
    ):
        np.testing.assert_array_equal(made[part], frames[part])


def test_a_short_or_slow_take_is_read_frame_by_frame() -> None:
    for take in (exercise(seconds=3), exercise(rate=30.0)):
        rows = read_rows(take)
        assert (rows.every, rows.digest) == (1, None)
        assert rows.take is take
        assert read_rows(take, take.seen).take is take
