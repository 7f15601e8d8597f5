from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import Take, play
from condyle.io.exports.build_figure import build_figure
from condyle.maths import rotation
from condyle.model.skeleton import Skeleton
from condyle.motion.frames import build_frames, carry_frames, find_pose, zero_frames
from condyle.motion.neutral import Neutral, find_neutral
from condyle.motion.person import Body, find_bodies
from tests.make import walkers

UP = np.array([0.0, 0.0, 1.0])
NONE = Neutral(None, "")
LEGS_DEG = 1.2  # departure of a functional frame from the true one, exact data of a walk of 20 s
ARMS_DEG = 4.0  # of roll about the long axis where a mean pose defines it


def body_of(skeleton: Skeleton, take: Take) -> Body:
    return find_bodies(skeleton, build_figure(skeleton, play(skeleton, take)))[0]


def departures(body: Body, frames: dict, world: object) -> dict[str, np.ndarray]:
    """{segment: (3,) [deg] rotation vector, in the frame's own axes, to the true frame}."""
    truth = world.truth  # type: ignore[attr-defined]
    found = {}
    for k, frame in frames.items():
        R_bone_body = truth.mounts.R_bone_body[truth.names.index(body.body(k))]
        found[frame.segment] = np.degrees(rotation.to_vector(frame.R_body_anat.T @ R_bone_body.T @ walkers.AXES))
    return found


@pytest.fixture(scope="module")
def walking() -> Body:
    return body_of(walkers.fitted(1).skeleton, walkers.walker(1).take)


def test_functional_frames_of_an_exact_walk_are_the_true_ones(walking: Body) -> None:
    off = departures(walking, build_frames(walking, NONE, UP, {}), walkers.walker(1))
    assert set(off) >= {
        "pelvis",
        "thorax",
        "head",
        "thigh_l",
        "shank_r",
        "upper_arm_l",
        "forearm_r",
        "hand_l",
        "foot_r",
    }
    for segment in ("pelvis", "thigh_l", "thigh_r", "shank_l", "shank_r"):
        assert np.abs(off[segment]).max() < LEGS_DEG, segment
    for segment in ("upper_arm_l", "upper_arm_r", "forearm_l", "forearm_r"):
        assert np.abs(off[segment][[0, 2]]).max() < 0.01, "the long axis goes from joint to joint"
        assert abs(off[segment][1]) < ARMS_DEG


def test_a_frame_says_how_it_was_made_and_what_is_a_definition(walking: Body) -> None:
    frames = {frame.segment: frame for frame in build_frames(walking, NONE, UP, {}).values()}
    assert frames["thigh_l"].source == frames["shank_l"].source == "functional"
    assert "functional axis of the knee" in frames["thigh_l"].made
    assert "mean up of the take" in frames["pelvis"].made
    assert np.isnan(frames["pelvis"].sd[2]), "its tilt is a definition"
    assert frames["foot_l"].source == "pose"
    assert np.isnan(frames["foot_l"].sd).all()
    assert "shows no axis" in frames["forearm_l"].made, "arms that also turn inwards have no one axis"
    for frame in frames.values():
        np.testing.assert_allclose(frame.R_body_anat.T @ frame.R_body_anat, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame.R_body_anat) == pytest.approx(1)


def test_a_neutral_pose_sets_up_feet_hands_and_head_and_leaves_the_legs() -> None:
    skeleton, still = walkers.fitted(1).skeleton, walkers.walker(1, "still", 2.0)
    standing = body_of(skeleton, still.take)
    neutral = find_neutral("quiet", (standing,), UP)
    off = departures(standing, build_frames(standing, neutral, UP, {}), still)
    for segment in ("pelvis", "foot_l", "foot_r", "hand_l", "head"):
        assert np.abs(off[segment]).max() < LEGS_DEG, segment


def test_a_neutral_pose_in_which_a_trunk_is_not_seen_says_nothing_of_it() -> None:
    skeleton, take = walkers.fitted(1).skeleton, walkers.walker(1).take
    p = take.p_world_body.copy()
    p[:10, take.index("pelvis")] = np.nan
    body = body_of(skeleton, replace(take, p_world_body=p))
    frames = build_frames(body, Neutral(np.arange(10), ""), UP, {})
    assert "mean up of the take" in frames[body.root].made


@pytest.mark.costly
def test_errors_of_frames_cover_what_they_are(walking: Body) -> None:
    ratios = []
    for seed in (1, 2, 3):
        fit = walkers.fitted(seed, "walk", 20.0, True)
        body = body_of(fit.skeleton, fit.take)
        frames = build_frames(body, NONE, UP, {})
        off = departures(body, frames, walkers.walker(seed, "walk", 20.0, True))
        for frame in frames.values():
            if frame.segment.startswith(("thigh", "shank")):
                ratios += (np.radians(off[frame.segment]) / frame.sd)[np.isfinite(frame.sd)].tolist()
    assert len(ratios) > 20
    assert np.mean(np.abs(ratios) < 1.96) > 0.8


def test_frames_are_the_same_whatever_the_mounts_and_the_side_of_the_world(walking: Body) -> None:
    skeleton, take = walkers.fitted(1).skeleton, walkers.walker(1).take
    turn = rotation.from_vector(np.array([0.0, 0.0, 2.1]))
    moved = Take(take.names, take.time, turn @ take.R_world_body, take.p_world_body @ turn.T + [1.0, 2.0, 0.0])
    frames, again = (build_frames(body_of(skeleton, one), NONE, UP, {}) for one in (take, moved))
    for k, frame in frames.items():
        np.testing.assert_allclose(frame.R_body_anat, again[k].R_body_anat, atol=1e-9)


def test_zeroed_frames_read_zero_in_the_neutral_pose(walking: Body) -> None:
    neutral = find_neutral("3:3.2", (walking,), UP)
    frames = zero_frames(walking, neutral, build_frames(walking, neutral, UP, {}))
    for k, frame in frames.items():
        if walking.parent(k) in frames:
            turn = frames[walking.parent(k)].R_body_anat.T @ find_pose(walking, neutral, k) @ frame.R_body_anat
            np.testing.assert_allclose(turn, np.eye(3), atol=1e-9)


def test_any_figure_carries_its_roots_axes_on(walking: Body) -> None:
    frames = carry_frames(walking, NONE)
    assert set(frames) == set(walking.bones)
    for k in walking.bones[1:]:
        turn = frames[walking.parent(k)].R_body_anat.T @ walking.mean_turn(k) @ frames[k].R_body_anat
        np.testing.assert_allclose(turn, np.eye(3), atol=1e-9)


def test_one_leg_tells_a_pelvis_by_its_knee() -> None:
    import condyle

    world = walkers.walker(1)
    names = ("pelvis", "chest", "r_thigh", "r_shank", "r_foot")
    take = world.take.select(names)
    fit = condyle.fit(take, tree={"chest": "pelvis", "r_thigh": "pelvis", "r_shank": "r_thigh", "r_foot": "r_shank"})
    body = body_of(fit.skeleton, take)
    frames = build_frames(body, NONE, UP, {})
    assert "one knee" in frames[body.root].made
    off = departures(body, frames, world)
    assert np.abs(off["pelvis"]).max() < 5, "as far as the thigh turned in the pelvis on average"
    assert np.abs(off["thigh_r"]).max() < LEGS_DEG
