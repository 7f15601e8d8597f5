from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle import CondyleError, Motion, Skeleton, Take, UsageError, forward, on_axes, play, reference_rotations
from condyle.maths import rotation
from condyle.model.motion import derive_motion, measure_slide, order_joints
from tests.make import jointed

MEET = 1e-12  # m, the two sides of a joint
SAME = 1e-12  # m and entries of matrices
seeds = st.integers(0, 2**32 - 1)


def gappy(take: Take, body: str, frames: slice) -> Take:
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[frames, take.index(body)] = True
    return take.mask(hidden)


def test_one_body_and_no_frame_and_no_body_are_motions_too() -> None:
    alone = Skeleton(("a",), (), ("a",), ())
    take = Take(("a",), [0.0], np.eye(3)[None, None], np.ones((1, 1, 3)))
    np.testing.assert_array_equal(forward(alone, play(alone, take)).p_world_body, take.p_world_body)
    assert play(alone, take.slice(0, 0)).frames == 0
    assert forward(alone, play(alone, take.slice(0, 0))).frames == 0
    none = Skeleton((), (), (), ())
    nothing = Take((), [0.0, 1.0], np.zeros((2, 0, 3, 3)), np.zeros((2, 0, 3)))
    assert forward(none, play(none, nothing)).bodies == 0


@pytest.mark.parametrize("frames", [1, 1023, 1024, 1025])
def test_any_number_of_frames_is_the_same_frame_by_frame(rng: np.random.Generator, frames: int) -> None:
    skeleton = jointed.figure(rng, 4)
    moved = jointed.motion(rng, skeleton, frames)
    whole = forward(skeleton, moved)
    alone = forward(skeleton, moved.at(slice(frames - 1, frames)))
    np.testing.assert_allclose(alone.p_world_body[0], whole.p_world_body[-1], atol=SAME)
    assert jointed.gaps(skeleton, whole).max() <= MEET


def test_the_sides_of_a_screw_are_apart_along_its_axis_by_the_slide(rng: np.random.Generator) -> None:
    screw = replace(jointed.joint(rng, "b", "a", "hinge"), kind="screw", pitch=0.02)
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), (screw, jointed.joint(rng, "c", "b", "ball")))
    slide = np.zeros((30, 3))
    slide[:, 1] = rng.uniform(-0.1, 0.1, 30)
    turned = jointed.motion(rng, skeleton, 30)
    poses, plain = forward(skeleton, replace(turned, slide=slide)), forward(skeleton, turned)
    way = slide[:, 1, None] * (plain.R_world_body[:, 0] @ screw.axis_parent)
    np.testing.assert_allclose(poses.p_world_body - plain.p_world_body, np.stack([0 * way, way, way], 1), atol=SAME)
    np.testing.assert_allclose(measure_slide(skeleton, poses), slide, atol=SAME)
    np.testing.assert_allclose(derive_motion(skeleton, poses).slide, slide, atol=SAME)
    assert jointed.gaps(skeleton, plain).max() <= MEET
    assert measure_slide(replace(skeleton, joints=(replace(screw, kind="hinge"), skeleton.joints[1])), poses) is None


def test_a_motion_of_another_skeleton_is_refused(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 4)
    moved = jointed.motion(rng, skeleton)
    other = replace(skeleton, bodies=skeleton.bodies[::-1])
    with pytest.raises(UsageError, match="play the recording on this skeleton"):
        forward(other, moved)


def test_joints_in_a_circle_are_refused(rng: np.random.Generator) -> None:
    a, b = jointed.joint(rng, "a", "b", "ball"), jointed.joint(rng, "b", "a", "ball")
    with pytest.raises(CondyleError, match="every body exactly once"):
        order_joints(Skeleton(("a", "b"), (), (), (a, b)))


def test_the_room_stands_still_where_the_take_does_not_name_it(rng: np.random.Generator) -> None:
    skeleton = Skeleton(
        ("door", "world"), ("world",), (), (jointed.joint(rng, "door", "world", "ball"),), options={"world": True}
    )
    take = Take(("door",), np.arange(4) / 10, rotation.random(rng, (4, 1)), np.zeros((4, 1, 3)))
    poses = forward(skeleton, play(skeleton, take))
    np.testing.assert_array_equal(poses.p_world_body[:, poses.index("world")], np.zeros((4, 3)))
    np.testing.assert_allclose(poses.R_world_body[:, 0], take.R_world_body[:, 0], atol=SAME)


@pytest.fixture
def swing(rng: np.random.Generator) -> tuple[Skeleton, Take]:
    """Three bodies in a row that turn evenly about fixed axes, at 100 Hz."""
    joints = (jointed.joint(rng, "b", "a", "ball"), jointed.joint(rng, "c", "b", "ball"))
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), joints)
    time = np.arange(101) / 100
    R = rotation.from_vector(time[:, None, None] * rng.uniform(-1, 1, (3, 3)))
    p = time[:, None] * rng.uniform(-1, 1, 3)
    return skeleton, forward(skeleton, Motion(skeleton.bodies, ("a",), time, R, p[:, None]))


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_a_motion_that_keeps_to_its_axes_is_left_alone_and_another_is_put_on_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 9, 1, 0, jointed.KINDS)
    exact = jointed.motion(rng, skeleton, 30)
    np.testing.assert_allclose(on_axes(skeleton, exact).R_parent_body, exact.R_parent_body, atol=1e-10)
    loose = play(skeleton, jointed.noisy(rng, skeleton, exact, 0.0, 0.1))
    kept, reference = on_axes(skeleton, loose), reference_rotations(skeleton, loose)
    for child, _, joint in order_joints(skeleton):
        R = kept.R_parent_body[:, child]
        if joint.kind == "hinge":
            assert joint.axis_child is not None
            np.testing.assert_allclose(R @ joint.axis_child, np.tile(joint.axis_parent, (30, 1)), atol=SAME)
            angle = rotation.find_turn(joint.axis_child, reference[child].T @ R)
            rebuilt = reference[child] @ rotation.from_vector(angle[:, None] * joint.axis_child)
            np.testing.assert_allclose(R, rebuilt, atol=SAME)
            middle = reference_rotations(skeleton, exact)[child].T @ exact.R_parent_body[:, child]
            assert abs(np.sin(rotation.find_turn(joint.axis_child, middle)).sum()) <= 1e-9
        elif joint.kind == "rigid":
            np.testing.assert_array_equal(R, np.broadcast_to(reference[child], R.shape))
        else:
            np.testing.assert_array_equal(R, loose.R_parent_body[:, child])


def test_no_turn_about_a_hinge_comes_nearer_to_a_rotation_than_the_one_found(rng: np.random.Generator) -> None:
    axis = np.array([0.6, 0.0, 0.8])
    R = rotation.random(rng, (50,))
    best = rotation.angle(np.swapaxes(rotation.from_vector(rotation.find_turn(axis, R)[:, None] * axis), -1, -2) @ R)
    for angle in np.linspace(-np.pi, np.pi, 100):
        assert (best <= rotation.angle(rotation.from_vector(angle * axis).T @ R) + 1e-9).all()


def test_opposite_axes_and_full_turns_have_a_reference(rng: np.random.Generator) -> None:
    one = jointed.joint(rng, "b", "a", "hinge")
    joint = replace(one, axis_parent=-one.axis_child)  # type: ignore[operator]
    skeleton = Skeleton(("a", "b"), ("a",), (), (joint,))
    across = np.cross(one.axis_child, np.eye(3)[0])  # type: ignore[arg-type]
    half = rotation.from_vector(np.pi * across / np.linalg.norm(across))
    turns = np.linspace(0, 2 * np.pi, 36, endpoint=False)[:, None] * one.axis_child
    R = np.stack([np.tile(np.eye(3), (36, 1, 1)), half @ rotation.from_vector(turns)], axis=1)
    motion = Motion(("a", "b"), ("a",), np.arange(36) / 10, R, np.zeros((36, 1, 3)))
    np.testing.assert_allclose(on_axes(skeleton, motion).R_parent_body, R, atol=1e-9)


def test_a_motion_says_what_it_holds(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 4, 1, 1)
    moved = jointed.motion(rng, skeleton, 10)
    assert str(moved) == "3 joints, 10 frames"
    assert moved.at(slice(2, 5)).frames == 3
    with pytest.raises(ValueError, match="read-only"):
        moved.R_parent_body[0] = 0
