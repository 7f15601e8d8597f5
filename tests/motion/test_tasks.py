from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from condyle import Motion, Skeleton, Target, UsageError, forward, reach_targets
from condyle.maths import rotation
from condyle.maths.elimination import KinematicRig
from condyle.motion.pose_solver import Problem
from condyle.motion.rig import build_rig
from condyle.motion.tasks import GUESS_SIGMA_RAD, FrameRows, LoopTask, Posture, SensorPoses, Smoothness, add_up
from tests.make import jointed

REACHED = 1e-4  # m and rad, against sigmas of 1e-3 m and 1e-2 rad
MEET = 1e-12  # m


@pytest.fixture
def arm(rng: np.random.Generator) -> tuple[Skeleton, Motion]:
    """Shoulder, upper arm, forearm with a hinge, hand; straight and at rest."""
    down = np.array([0.0, 0.0, -0.15])
    names = ("trunk", "upper", "fore", "hand")
    kinds = ("ball", "hinge", "ball")
    joints = tuple(
        jointed.replace_places(jointed.joint(rng, child, parent, kind), -down, down)
        for parent, child, kind in zip(names, names[1:], kinds, strict=False)
    )
    R = np.tile(np.eye(3), (1, 4, 1, 1))
    return Skeleton(names, ("trunk",), (), joints), Motion(names, ("trunk",), [0.0], R, np.zeros((1, 1, 3)))


def test_a_hand_reaches_a_point_and_the_trunk_stays(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    goal = forward(skeleton, start).p_world_body[0, 3] + [0.1, 0.1, 0.25]
    fit = reach_targets(
        skeleton, start, [Target("hand", p_world=goal), Target("trunk", p_world=np.zeros(3), R_world=np.eye(3))]
    )
    poses = forward(skeleton, fit.motion)
    assert fit.settled.all()
    np.testing.assert_allclose(poses.p_world_body[0, 3], goal, atol=REACHED)
    np.testing.assert_allclose(poses.p_world_body[0, 0], 0.0, atol=REACHED)
    assert jointed.gaps(skeleton, poses).max() <= MEET
    elbow = skeleton.joints[1]
    assert elbow.axis_child is not None
    np.testing.assert_allclose(fit.motion.R_parent_body[0, 2] @ elbow.axis_child, elbow.axis_parent, atol=1e-12)


def test_targets_over_time_start_from_one_frame(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    here = forward(skeleton, start).p_world_body[0, 3]
    angle = np.linspace(0, 2 * np.pi, 40)
    path = here + 0.1 * np.stack([np.sin(angle), 0 * angle, 1.5 - np.cos(angle)], axis=1)
    fit = reach_targets(skeleton, start, [Target("hand", p_world=path)])
    assert fit.motion.frames == 40
    np.testing.assert_allclose(forward(skeleton, fit.motion).p_world_body[:, 3], path, atol=REACHED)


def test_a_target_out_of_reach_is_approached_as_far_as_the_hold_allows(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    goal = np.array([3.0, 0.0, 0.0])
    tight = [Target("trunk", p_world=np.zeros(3), R_world=np.eye(3), sigma_position=1e-5, sigma_rotation=1e-5)]
    fit = reach_targets(skeleton, start, [*tight, Target("hand", p_world=goal)])
    hand = forward(skeleton, fit.motion).p_world_body[0, 3]
    shoulder = np.array([0.0, 0.0, -0.15])
    straight = 0.3 + 0.3 + 0.15
    assert np.linalg.norm(hand - shoulder) <= straight + 1e-3
    assert np.linalg.norm(goal - hand) < np.linalg.norm(goal - forward(skeleton, start).p_world_body[0, 3])


def test_without_targets_the_start_stays(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    fit = reach_targets(skeleton, start, [])
    np.testing.assert_allclose(fit.motion.R_parent_body, start.R_parent_body, atol=1e-9)
    assert (fit.weight == 0).all()


def test_a_frame_without_its_target_stays_at_the_start(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    turn = np.tile(rotation.from_vector([0.0, 0.5, 0.0]), (3, 1, 1))
    turn[1] = np.nan
    fit = reach_targets(skeleton, start, [Target("hand", R_world=turn)])
    np.testing.assert_allclose(fit.motion.R_parent_body[1], start.R_parent_body[0], atol=1e-9)
    found = rotation.angle(turn[0].T @ forward(skeleton, fit.motion).R_world_body[[0, 2], 3])
    assert found.max() <= 1e-2
    assert fit.weight[:, 3].tolist() == [1, 0, 1]


def test_what_makes_no_sense_is_refused(arm: tuple[Skeleton, Motion]) -> None:
    skeleton, start = arm
    with pytest.raises(UsageError, match="neither place nor axes"):
        Target("hand")
    with pytest.raises(UsageError, match="not above zero"):
        Target("hand", p_world=np.zeros(3), sigma_position=0.0)
    with pytest.raises(UsageError, match="no body named 'foot'"):
        reach_targets(skeleton, start, [Target("foot", p_world=np.zeros(3))])
    with pytest.raises(UsageError, match="two targets"):
        reach_targets(skeleton, start, [Target("hand", p_world=np.zeros(3))] * 2)
    one, two = Target("hand", p_world=np.zeros((3, 3))), Target("fore", p_world=np.zeros((4, 3)))
    with pytest.raises(UsageError, match="make them agree"):
        reach_targets(skeleton, start, [one, two])
    with pytest.raises(UsageError, match="too many axes"):
        Target("hand", p_world=np.zeros((2, 2, 3)))
    with pytest.raises(UsageError, match="hold"):
        reach_targets(skeleton, start, [], hold=0.0)
    unknown = Motion(start.bodies, start.free, [0.0], np.full((1, 4, 3, 3), np.nan), np.zeros((1, 1, 3)))
    with pytest.raises(UsageError, match="frame 0, sensor trunk: the start is not known there"):
        reach_targets(skeleton, unknown, [])


@dataclass(frozen=True)
class Heavier:
    """A task of another kind: what is there already counts more."""

    times: float

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        return replace(problem, w_position=self.times * problem.w_position)


def test_tasks_of_any_kind_add_up_to_one_problem(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 4)
    motion = jointed.motion(rng, skeleton, 5)
    poses = forward(skeleton, motion)
    rig = build_rig(skeleton, np.tile(np.eye(3), (4, 1, 1)))
    sensors = SensorPoses(poses, np.full(4, 0.1), np.full(4, 0.2), poses.R_world_body, np.ones((5, 4)), poses.seen)
    loop = LoopTask(replace(skeleton.joints[0], time=(0.0, motion.time[1])), motion.time, 0.5)
    problem = add_up([sensors, Heavier(2.0), loop, Smoothness(1.0, 2.0, motion.time)], rig, slice(1, 5), 4)
    np.testing.assert_allclose(problem.w_position, 2 / 0.1**2)
    np.testing.assert_allclose(problem.w_rotation, 1 / 0.2**2)
    np.testing.assert_array_equal(np.moveaxis(problem.p, -1, 0), poses.p_world_body[1:, rig.bodies])
    assert problem.loops[0].weight.tolist() == [4.0, 0.0, 0.0, 0.0]
    assert problem.accelerations is not None
    assert problem.accelerations.w_place == 0.25


def test_a_pose_without_weight_leaves_its_place_open_and_its_turn_vague(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 2)
    poses = forward(skeleton, jointed.motion(rng, skeleton, 3))
    rig = build_rig(skeleton, np.tile(np.eye(3), (2, 1, 1)))
    weight = np.ones((3, 2))
    weight[1, 0] = 0.0
    sensors = SensorPoses(poses, np.ones(2), np.ones(2), np.tile(np.eye(3), (3, 2, 1, 1)), weight, poses.seen)
    problem = add_up([sensors], rig, slice(None), 3)
    row = rig.names.index(skeleton.bodies[0])
    assert (problem.w_position[row, 1], problem.w_rotation[row, 1]) == (0.0, 1 / GUESS_SIGMA_RAD**2)
    np.testing.assert_array_equal(problem.R[row, :, :, 1], np.eye(3))


def test_a_posture_holds_joints_by_springs_and_free_bodies_by_their_pose(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 3)
    motion = jointed.motion(rng, skeleton, 2)
    rig = build_rig(skeleton, np.tile(np.eye(3), (3, 1, 1)))
    problem = add_up([Posture(motion, forward(skeleton, motion), 0.5, 0.25)], rig, slice(None), 2)
    assert problem.w_position.tolist() == [[16.0, 16.0], [0.0, 0.0], [0.0, 0.0]]
    assert problem.spring is not None
    assert problem.spring.tolist() == [[0.0, 0.0], [4.0, 4.0], [4.0, 4.0]]
