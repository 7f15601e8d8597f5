from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.prepare.samples import Neighbours

SPEED_SHARE = 0.03  # by which smoothing may lower a velocity of 2 Hz
CARRIED = 1e-4  # m, at half a frame from a sample


def swing(time: np.ndarray, hertz: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Pose (n, 12) of a body that swings 0.2 m and 0.5 rad, and its velocity."""
    angle = 2 * np.pi * hertz * time
    r = np.stack([0 * time, 0.5 * np.sin(angle), 0 * time], axis=1)
    R = rotation.from_vector(r)
    dR = (0.5 * 2 * np.pi * hertz * np.cos(angle))[:, None, None] * (R @ rotation.skew([0.0, 1.0, 0.0]))
    p = 0.2 * np.stack([np.sin(angle), np.cos(angle), 0 * time], axis=1)
    dp = 0.4 * np.pi * hertz * np.stack([np.cos(angle), -np.sin(angle), 0 * time], axis=1)
    return np.concatenate([R.reshape(-1, 9), p], axis=1), np.concatenate([dR.reshape(-1, 9), dp], axis=1)


def take_of(time: np.ndarray, segment: np.ndarray | None = None, hertz: float = 1.0) -> Take:
    pose, _ = swing(time, hertz)
    return Take(("a",), time, pose[:, None, :9].reshape(-1, 1, 3, 3), pose[:, None, 9:], segment)


@pytest.mark.parametrize("rate", [30.0, 60.0, 240.0])
def test_velocity_is_that_of_the_motion(rate) -> None:
    time = np.arange(int(4 * rate)) / rate
    take = take_of(time, hertz=2.0 if rate > 30 else 1.0)
    near = Neighbours.of(take)
    rows = np.flatnonzero(near.whole)
    _, want = swing(time[rows], 2.0 if rate > 30 else 1.0)
    got = near.velocity(take, rows[:, None])[:, 0]
    assert np.abs(got - want).max() < SPEED_SHARE * np.abs(want).max()


def test_an_uneven_clock_gives_the_same_velocity_in_every_segment(rng) -> None:
    time = (np.arange(300) + rng.uniform(-0.3, 0.3, 300)) / 60
    for segment in (None, np.arange(300) // 75):
        take = take_of(time, segment)
        near = Neighbours.of(take)
        assert len(near.weights) == 300
        rows = np.flatnonzero(near.whole)
        got = near.velocity(take, rows[:, None])[:, 0]
        _, want = swing(time[rows])
        assert np.abs(got - want).max() < SPEED_SHARE * np.abs(want).max()


def test_the_nearest_sample_is_found_in_the_same_segment_only() -> None:
    time = np.concatenate([np.arange(60) / 60, np.arange(60) / 60])
    near = Neighbours.of(take_of(time, np.repeat([0, 1], 60)))
    at = near.nearest(np.array([30, 45, 59, 60, 90]), np.array([0.034]))[:, 0]
    assert at[0] == 32
    assert at[1] == 47
    assert at[2] == -1
    assert at[4] == 92
    reach = near.offsets[-1]
    assert not near.whole[60 - reach : 60 + reach].any()
    assert near.whole[reach : 60 - reach].all()


def test_no_sample_is_near_in_a_hole() -> None:
    time = np.concatenate([np.arange(60) / 60, 3 + np.arange(60) / 60])
    near = Neighbours.of(take_of(time))
    assert near.nearest(np.array([40]), np.array([0.8])).tolist() == [[-1]]


@pytest.mark.parametrize("later", [0.0, 0.005, -0.005, 0.0083, 0.05, -0.1])
def test_a_carried_pose_is_where_the_body_was(later) -> None:
    time = np.arange(240) / 60
    near = Neighbours.of(take_of(time))
    got = near.carry(take_of(time), 0, later)
    seen = np.isfinite(got).all(axis=1)
    want, _ = swing(time + later)
    assert seen.sum() > 200
    assert np.abs(got - want)[seen].max() < CARRIED


def test_a_carried_pose_of_a_lost_sample_is_lost() -> None:
    time = np.arange(240) / 60
    hidden = np.zeros((240, 1), dtype=bool)
    hidden[100] = True
    take = take_of(time).mask(hidden)
    got = Neighbours.of(take).carry(take, 0, 2 / 60)
    assert np.isnan(got[98]).all()
    want, _ = swing(time + 2 / 60)
    assert np.abs(got - want)[[95, 97, 99, 101]].max() < CARRIED


@pytest.mark.parametrize("frames", [0, 1, 2, 5])
def test_few_frames_have_no_whole_neighbourhood(frames) -> None:
    assert not Neighbours.of(take_of(np.arange(frames) / 60)).whole.any()


def test_at_a_usual_rate_every_sample_around_counts() -> None:
    near = Neighbours.of(take_of(np.arange(240) / 60))
    assert set(np.diff(near.offsets)) == {1}
    np.testing.assert_array_equal(near.offsets, -near.offsets[::-1])


def test_of_a_fast_clock_four_samples_on_each_side_are_spread_over_a_tenth_of_a_second() -> None:
    near = Neighbours.of(take_of(np.arange(480) / 240))
    assert near.offsets.tolist() == [-24, -18, -12, -6, 0, 6, 12, 18, 24]


def test_a_clock_is_even_that_trembles_by_a_hundredth_and_has_a_hole_from_one_and_a_half_steps_on() -> None:
    for tremble, even in ((0.01, True), (0.04, False)):
        time = np.arange(100) / 60 + np.where(np.arange(100) % 2, tremble / 120, 0.0)
        assert Neighbours.of(take_of(time)).even == even, tremble
    for step, whole in ((1.2, True), (2.0, False)):
        time = np.arange(100) / 60 + np.where(np.arange(100) >= 50, (step - 1) / 60, 0.0)
        assert Neighbours.of(take_of(time)).whole[50] == whole, step


def test_a_sample_has_a_velocity_where_half_of_those_around_are_seen() -> None:
    take = take_of(np.arange(200) / 60)
    near = Neighbours.of(take)
    for seen_every, known in ((2, True), (4, False)):
        hidden = np.ones((200, take.bodies), dtype=bool)
        hidden[::seen_every] = False
        velocity = near.velocity(take.mask(hidden), np.full((1, take.bodies), 100))
        assert np.isfinite(velocity).all() == known
