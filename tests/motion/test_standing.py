"""Feet that stand: rolling, legs that reach, hips that come nearer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.motion.standing import (
    LEG_MAX_SHARE,
    BonePoses,
    Foot,
    bend_leg,
    bend_toes,
    find_ankles,
    find_level,
    find_sole,
    level_foot,
    measure_slide,
    move_hips,
    trim_stands,
)

N = 60
UP = np.array([0.0, 1.0, 0.0])
SOLE = np.array([[0.0, -0.07, 0.0], [0.0, -0.07, 0.15]])


def leg(pitch: np.ndarray, slide: float = 0.0) -> tuple[BonePoses, Foot]:
    """A bent leg over a foot that pitches [rad] and slides [m/s], all frames a stand; bones: hip, knee, ankle, toes."""
    time = np.arange(N) / 60
    p = np.tile([[0.0, 0.85, 0.0], [0.0, 0.45, 0.1], [0.0, 0.07, 0.0], [0.0, 0.0, 0.15]], (N, 1, 1))
    p[:, :, 2] += slide * time[:, None]
    R = np.tile(np.eye(3), (N, 4, 1, 1))
    R[:, 2] = rotation.from_vector(np.stack([pitch, 0 * pitch, 0 * pitch], axis=1))
    return BonePoses(R, p, time, np.zeros(N, np.int64), UP), Foot(0, 1, 2, 3, SOLE, ((0, N),))


def test_a_sole_lies_on_the_floor_below_ankle_and_ball() -> None:
    parent = np.array([-1, 0, 1, 2, 3])
    p = np.array([[0, 0.9, 0], [0, 0.5, 0], [0, 0.08, 0], [0, 0.02, 0.14], [0, 0.01, 0.2]])
    R = np.tile(rotation.from_vector(np.array([0.3, 0.2, 0.1])), (5, 1, 1))
    sole, toes = find_sole(parent, R, p, np.full((5, 3), np.nan), 2, UP, 0.0)
    np.testing.assert_allclose(p[2] + sole @ R[2].T, [[0, 0, 0], [0, 0, 0.14]], atol=1e-12)
    assert toes == 3


def test_a_foot_without_toes_ends_at_its_tip_or_below_its_ankle() -> None:
    parent, p, eye = np.array([-1, 0]), np.array([[0.0, 0.5, 0.0], [0.0, 0.1, 0.0]]), np.tile(np.eye(3), (2, 1, 1))
    tip = np.array([[np.nan] * 3, [0.0, 0.05, 0.2]])
    assert find_sole(parent, eye, p, tip, 1, UP, 0.0)[0].tolist() == [[0.0, -0.1, 0.0], [0.0, -0.1, 0.2]]
    assert len(find_sole(parent, eye, p, np.full((2, 3), np.nan), 1, UP, 0.0)[0]) == 1


@pytest.mark.parametrize("slide", [0.0, 0.2])
def test_a_foot_that_rolls_over_its_ball_stays_where_it_is(slide: float) -> None:
    poses, foot = leg(0.25 * np.sin(np.linspace(0, np.pi, N)), slide)
    ankle = find_ankles(poses, foot, 0.8)
    moved = replace_p(poses, ankle)
    assert measure_slide(moved, [foot]) == pytest.approx(0.0, abs=1e-12)
    lowest = (moved.p[:, 2, None] + np.einsum("nij,kj->nki", moved.R[:, 2], SOLE))[..., 1].min(axis=1)
    np.testing.assert_allclose(lowest, 0.0, atol=1e-12)


def replace_p(poses: BonePoses, ankle: np.ndarray) -> BonePoses:
    p = poses.p.copy()
    p[:, 2] = ankle
    return replace(poses, p=p)


def test_slide_is_the_speed_of_the_lowest_point() -> None:
    poses, foot = leg(np.zeros(N), slide=0.2)
    assert measure_slide(poses, [foot]) == pytest.approx(0.2)
    assert measure_slide(poses, [replace(foot, stands=())]) is None
    assert find_level(poses, [foot]) == pytest.approx(0.0)


def test_a_leg_bends_in_its_plane_until_it_reaches() -> None:
    poses, foot = leg(np.zeros(N))
    wanted = poses.p[:, 2] + np.stack([0.05 * np.sin(poses.time), 0.03 + 0 * poses.time, 0.1 * poses.time], axis=1)
    thigh, shank = bend_leg(poses, foot, wanted)
    knee = poses.p[:, 0] + thigh @ (poses.p[0, 1] - poses.p[0, 0])
    ankle = knee + shank @ (poses.p[0, 2] - poses.p[0, 1])
    np.testing.assert_allclose(ankle, wanted, atol=1e-9)
    assert (knee[:, 2] > (poses.p[:, 0] + wanted)[:, 2] / 2).all()  # forward, as it was


@pytest.mark.parametrize("ends", [(0, 1), (1, 2)])
def test_a_leg_whose_knee_is_at_its_hip_or_its_ankle_turns_without_bending(ends: tuple[int, int]) -> None:
    poses, foot = leg(np.zeros(N))
    p = poses.p.copy()
    p[:, ends[1]] = p[:, ends[0]]
    thigh, shank = bend_leg(replace(poses, p=p), foot, p[:, 2] + [0.0, 0.0, 0.1])
    for turn in (thigh, shank):
        np.testing.assert_allclose(turn @ np.swapaxes(turn, -1, -2), np.tile(np.eye(3), (N, 1, 1)), atol=1e-9)


def test_hips_come_as_near_as_a_short_leg_needs() -> None:
    poses, foot = leg(np.zeros(N))
    far = poses.p[:, 2] - [0.0, 0.3, 0.0]
    shift = move_hips(poses, [foot], [far])
    length = LEG_MAX_SHARE * sum(np.linalg.norm(poses.p[0, k] - poses.p[0, k + 1]) for k in (0, 1))
    np.testing.assert_allclose(np.linalg.norm(far - poses.p[:, 0] - shift, axis=1), length, atol=1e-9)
    assert not move_hips(poses, [foot], [poses.p[:, 2]]).any()


def test_a_foot_that_is_tilted_as_a_rule_is_made_level_but_not_one_on_its_toes() -> None:
    poses, foot = leg(np.full(N, 0.2))
    np.testing.assert_allclose(
        level_foot(poses.R[:, 2], np.eye(3), foot, poses.time, UP) @ UP, np.tile(UP, (N, 1)), atol=1e-9
    )
    tiptoe, foot = leg(np.full(N, 0.9))
    assert level_foot(tiptoe.R[:, 2], np.eye(3), foot, tiptoe.time, UP) is tiptoe.R[:, 2] or np.array_equal(
        level_foot(tiptoe.R[:, 2], np.eye(3), foot, tiptoe.time, UP), tiptoe.R[:, 2]
    )


def test_toes_stay_on_the_floor_while_the_heel_is_up() -> None:
    poses, foot = leg(np.full(N, 0.4))
    R = bend_toes(poses, foot, np.tile(np.eye(3), (4, 1, 1)))
    np.testing.assert_allclose(R[N // 2] @ UP, UP, atol=1e-9)


def test_stands_end_when_the_sole_is_off_the_floor_and_none_is_in_the_air() -> None:
    poses, foot = leg(np.zeros(N))
    p = poses.p.copy()
    p[50:, 2, 1] += 0.1
    (trimmed,) = trim_stands(replace(poses, p=p), [foot], 0.8)
    assert trimmed.stands == ((0, 50),)
    raised = replace(poses, p=poses.p + [0.0, 0.3, 0.0])
    (box,) = trim_stands(raised, [foot], 0.8)
    assert box.stands == ((0, N),)
    (jump,) = trim_stands(raised, [replace(foot, stands=((10, 25),))], 0.8)
    assert jump.stands == ()
