from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.io.exports.bones import Link, Room, build_bones, reorder_links
from condyle.maths import rotation
from condyle.model.anatomy import Segment

EXACT = 1e-12  # m, and entries of rotations
ROOM = Room(np.array([0, 0, 1.0]), np.array([0, -1.0, 0]))
EYE, ZERO = np.eye(3), np.zeros(3)


def _link(body: str, parent: int, kind: str = "ball", child=ZERO, up=ZERO, axis=None, segment=None) -> Link:  # type: ignore[no-untyped-def]
    at = [np.array(v, float) for v in (child, up)]
    return Link(body, parent, kind, *at, None if axis is None else np.array(axis, float), EYE, EYE, segment)  # type: ignore[arg-type]


def test_the_left_of_the_room_is_up_cross_forward() -> None:
    np.testing.assert_array_equal(ROOM.left, [1, 0, 0])
    np.testing.assert_array_equal(ROOM.direction("right"), [-1, 0, 0])
    np.testing.assert_array_equal(ROOM.direction("down"), [0, 0, -1])


def test_a_root_with_one_joint_begins_at_its_sensor_with_more_in_their_middle() -> None:
    one = build_bones([_link("a", -1, "free"), _link("b", 0, child=(1, 0, 0), up=(0, 0, 3))], ROOM, [False] * 2)
    np.testing.assert_array_equal(one[0].p_body_bone, ZERO)
    np.testing.assert_allclose(one[0].tip, [0, 3, 0], atol=EXACT)
    two = build_bones(
        [_link("a", -1, "free"), _link("b", 0, up=(2, 0, 0)), _link("c", 0, up=(0, 4, 0))], ROOM, [False] * 3
    )
    np.testing.assert_allclose(two[0].p_body_bone, [1, 2, 0], atol=EXACT)


def test_a_bone_without_a_next_joint_goes_through_its_sensor_or_has_some_length() -> None:
    bones = build_bones([_link("a", -1, "free"), _link("b", 0, child=(0, 0.3, 0), up=(1, 0, 0))], ROOM, [False] * 2)
    np.testing.assert_allclose(bones[1].tip, [0, 0.3, 0], atol=EXACT)
    alone = build_bones([_link("a", -1, "free")], ROOM, [False])
    assert np.linalg.norm(alone[0].tip) > 0.01


def test_a_bone_with_several_children_points_to_their_middle() -> None:
    links = [_link("a", -1, "free"), _link("b", 0, up=(0, 0, 1))]
    links += [_link("c", 1, up=(1, 0, 1)), _link("d", 1, up=(-1, 0, 1))]
    bones = build_bones(links, ROOM, [False] * 4)
    np.testing.assert_allclose(bones[1].R_body_bone @ bones[1].tip, [0, 0, 1], atol=EXACT)


def test_a_hinge_along_the_bone_keeps_y_on_the_bone_and_its_axis_where_it_is() -> None:
    links = [_link("a", -1, "free"), _link("b", 0, "hinge", up=(0, 0, 1), axis=(0, 0, 1)), _link("c", 1, up=(0, 0, 1))]
    bone = build_bones(links, ROOM, [False] * 3)[1]
    np.testing.assert_allclose(bone.R_body_bone @ bone.tip, [0, 0, 1], atol=EXACT)
    assert bone.axis is not None
    np.testing.assert_allclose(np.abs(bone.axis), [0, 1, 0], atol=EXACT)
    across = replace(links[1], axis=np.array([0.6, 0, 0.8]))
    bone = build_bones([links[0], across, links[2]], ROOM, [False] * 3)[1]
    assert bone.axis is not None
    np.testing.assert_allclose(bone.axis, [0.6, 0.8, 0], atol=EXACT)


@pytest.mark.parametrize("axis", [(1, 0, 0), (-1, 0, 0)])
def test_the_sign_of_a_hinges_axis_does_not_turn_the_bone_about(axis: tuple[float, float, float]) -> None:
    links = [_link("a", -1, "free"), _link("b", 0, "hinge", up=(0, 0, 1), axis=axis), _link("c", 1, up=(0, 0, 1))]
    bone = build_bones(links, ROOM, [False] * 3)[1]
    np.testing.assert_allclose(bone.R_world_rest[:, 2], ROOM.forward, atol=EXACT)
    np.testing.assert_allclose(bone.axis, [1, 0, 0], atol=EXACT)


def test_a_thigh_is_rolled_so_that_the_hinge_of_its_knee_goes_from_side_to_side() -> None:
    slant = np.array([np.cos(0.6), np.sin(0.6), 0])
    links = [
        _link("pelvis", -1, "free", segment=Segment("pelvis")),
        _link("lt", 0, "ball", up=(0.1, 0, 0), segment=Segment("thigh", "l")),
        _link("ls", 1, "hinge", up=(0, 0, -0.4), axis=slant, segment=Segment("shank", "l")),
        _link("rt", 0, "ball", up=(-0.1, 0, 0), segment=Segment("thigh", "r")),
        _link("chest", 0, "ball", up=(0, 0, 0.2), segment=Segment("chest")),
    ]
    bones = build_bones(links, ROOM, [True] * 5)
    assert bones[2].axis is not None
    np.testing.assert_allclose(bones[2].R_world_rest @ bones[2].axis, [-1, 0, 0], atol=EXACT)
    np.testing.assert_allclose(bones[1].R_world_rest @ bones[1].tip, [0, 0, -0.4], atol=EXACT)


def test_a_hinge_of_a_person_rests_as_near_to_its_direction_as_it_can_turn() -> None:
    links = [
        _link("pelvis", -1, "free", segment=Segment("pelvis")),
        _link("lt", 0, "ball", up=(0.1, 0, 0), segment=Segment("thigh", "l")),
        _link("rt", 0, "hinge", up=(-0.1, 0, 0), axis=(1, 0, 0), segment=Segment("thigh", "r")),
        _link("rs", 2, "ball", up=(0.1, -0.3, 0.3), segment=Segment("shank", "r")),
        _link("chest", 0, "ball", up=(0, 0, 0.2), segment=Segment("chest")),
    ]
    bones = build_bones(links, ROOM, [True] * 5)
    along = bones[2].R_world_rest @ bones[2].tip
    np.testing.assert_allclose(along, [0.1, 0, -np.hypot(0.3, 0.3)], atol=EXACT)


def test_a_rigid_joint_rests_as_it_is_whatever_its_segment() -> None:
    turned = rotation.from_vector([0.3, 0.2, 0.1])
    links = [
        _link("pelvis", -1, "free", segment=Segment("pelvis")),
        _link("lt", 0, "ball", up=(0.1, 0, 0), segment=Segment("thigh", "l")),
        _link("rt", 0, "ball", up=(-0.1, 0, 0), segment=Segment("thigh", "r")),
        _link("chest", 0, "rigid", up=(0, 0, 0.2), segment=Segment("chest")),
        _link("head", 3, "ball", up=(0, 0, 0.4), segment=Segment("head")),
    ]
    links[3] = replace(links[3], R_mean=turned, R_near=turned)
    bones = build_bones(links, ROOM, [True] * 5)
    relative = bones[0].R_body_bone @ bones[0].R_world_rest.T @ bones[3].R_world_rest @ bones[3].R_body_bone.T
    np.testing.assert_allclose(relative, turned, atol=EXACT)


def test_links_seen_from_another_root_change_sides() -> None:
    R = rotation.from_vector([0.1, 0.5, -0.3])
    links = [
        _link("a", -1, "free"),
        replace(_link("b", 0, "hinge", child=(1, 2, 3), up=(4, 5, 6), axis=(0, 0, 1)), R_mean=R, R_near=R),
        _link("c", 1, child=(7, 8, 9), up=(1, 1, 1)),
        _link("d", 0),
    ]
    turned = reorder_links(links, [2], ["a", "b", "c", "d"])
    assert [(link.body, link.parent) for link in turned] == [("c", -1), ("b", 0), ("a", 1), ("d", 2)]
    assert [link.kind for link in turned] == ["free", "ball", "hinge", "ball"]
    np.testing.assert_array_equal(turned[2].p_child, [4, 5, 6])
    np.testing.assert_array_equal(turned[2].p_parent, [1, 2, 3])
    np.testing.assert_allclose(turned[2].axis, R @ [0, 0, 1])
    np.testing.assert_allclose(turned[2].R_mean, R.T)
    same = reorder_links(links, [0], ["a", "b", "c", "d"])
    assert [link.body for link in same] == ["a", "b", "c", "d"]
    screw = [links[0], replace(links[1], pitch=0.01), *links[2:]]
    assert [link.pitch for link in reorder_links(screw, [1], ["a", "b", "c", "d"])] == [0.0, 0.01, 0.0, 0.0]


def test_fingers_rest_on_from_the_hand_and_the_thumb_halfway_forward() -> None:
    turned = rotation.from_vector(np.array([0.3, -0.2, 0.5]))
    links = [
        _link("chest", -1, "free", segment=Segment("chest")),
        _link("l_hand", 0, up=(0.5, 0, 0), segment=Segment("hand", "l")),
        _link("l_index_1", 1, child=(0, 0, -0.02), up=(0.1, 0, 0)),
        _link("l_index_2", 2, child=(0, 0, -0.02), up=(0, 0, 0.03)),
        _link("l_thumb_1", 1, child=(0, 0, -0.02), up=(0, 0.05, 0)),
        _link("watch", 1, child=(0, 0, -0.02), up=(0, 0, 0.05)),
    ]
    links = [replace(link, R_near=turned) if link.body != "chest" else link for link in links]
    bones = build_bones(links, ROOM, [True] * 6)
    for k, way in ((2, [1, 0, 0]), (3, [1, 0, 0]), (4, [0.5**0.5, -(0.5**0.5), 0])):
        np.testing.assert_allclose(bones[k].R_world_rest[:, 1], way, atol=1e-9)
    assert abs(bones[5].R_world_rest[0, 1]) < 0.99  # no finger: as it is
