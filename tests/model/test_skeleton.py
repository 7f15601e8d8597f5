"""Values of a skeleton: frozen, named, and honest about what lengths join."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import UsageError
from condyle.model.limbs import limb_geometry
from condyle.model.skeleton import Joint, Limb, Skeleton, Verdict

LENGTH = 1e-12  # m


def joint(child: str, parent: str, at_child, at_parent, kind="ball", point="determined", axis=None) -> Joint:  # type: ignore[no-untyped-def]
    return Joint(
        child, parent, kind, point, np.array(at_child, float), np.array(at_parent, float), axis, axis, None, 0.001, 100,
        np.ones(6), None, 2.0, None, np.zeros(3),
    )  # fmt: skip


def test_arrays_of_a_joint_are_copies_and_cannot_be_written() -> None:
    place = np.zeros(3)
    made = joint("a", "b", place, place)
    place[0] = 1
    assert made.p_child_joint[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        made.p_child_joint[0] = 1


def test_the_length_between_two_points_is_their_distance() -> None:
    length, direction, between = limb_geometry(
        joint("b", "a", [0, 0, 0], [9, 9, 9]), joint("c", "b", [0] * 3, [3, 4, 0]), "b"
    )  # type: ignore[misc]
    assert length == pytest.approx(5, abs=LENGTH)
    assert between == "joints"
    assert direction == pytest.approx([-0.6, -0.8, 0])


@pytest.mark.parametrize("kind", ["hinge", "undetermined"])
def test_the_length_to_an_open_axis_is_to_the_point_on_it_that_is_given(kind: str) -> None:
    axis = np.array([0.0, 0, 1])
    hinge = joint("c", "b", [0] * 3, [3, 4, 0], kind, "arbitrary", axis)
    length, direction, between = limb_geometry(joint("b", "a", [0, 0, 0], [0] * 3), hinge, "b")  # type: ignore[misc]
    assert (length, between) == (pytest.approx(5, abs=LENGTH), "joint and axis")
    assert abs(direction @ axis) < LENGTH


@pytest.mark.parametrize("second", [[1.0, 0, 0], [0.0, 1, 0], [0.99, 0.1, 0]], ids=["parallel", "skew", "nearly"])
def test_two_open_hinges_are_as_far_apart_as_their_points_whatever_the_angle_of_their_axes(second: list) -> None:
    along_x = joint("b", "a", [0, 0, 0], [0] * 3, "hinge", "arbitrary", np.array([1.0, 0, 0]))
    other = joint("c", "b", [0] * 3, [0, 3, 4], "hinge", "arbitrary", np.array(second) / np.linalg.norm(second))
    length, _, between = limb_geometry(along_x, other, "b")  # type: ignore[misc]
    assert (length, between) == (pytest.approx(5, abs=LENGTH), "axes")


@pytest.mark.parametrize(("angle", "told"), [(29.0, False), (31.0, True)])
def test_a_limb_that_points_along_an_open_axis_has_no_length(angle: float, told: bool) -> None:
    axis = np.array([np.sin(np.radians(angle)), 0, np.cos(np.radians(angle))])
    hinge = joint("c", "b", [0] * 3, [0, 0, 2], "hinge", "arbitrary", axis)
    assert (limb_geometry(joint("b", "a", [0] * 3, [0] * 3), hinge, "b") is not None) == told


def test_the_half_width_is_that_of_the_wider_half_in_its_worst_direction() -> None:
    made = joint("b", "a", [0] * 3, [0] * 3, "hinge", "arbitrary", np.array([1.0, 0, 0]))
    assert made.half_width is made.line_95 is made.axis_95 is None
    covariance = np.diag([0.0, 1, 4, 0, 9, 1]) * 1e-6
    made = replace(made, axis_covariance=4 * covariance).with_covariance(covariance)
    assert made.half_width == made.line_95 == pytest.approx(1.96 * 0.003, rel=1e-4)
    assert made.axis_95 == pytest.approx(1.96 * 0.006, rel=1e-4)
    assert replace(made, kind="ball").with_covariance(covariance).line_95 is None
    assert made.with_covariance(None).line_95 is None


@pytest.mark.parametrize("kind", ["rigid", "undetermined"])
def test_no_length_is_told_to_a_joint_that_is_not_located(kind: str) -> None:
    assert limb_geometry(joint("b", "a", [0] * 3, [0] * 3), joint("c", "b", [0] * 3, [1] * 3, kind), "b") is None


def test_joints_and_limbs_are_found_by_name_or_told_with_the_choices() -> None:
    joints = (joint("b", "a", [0] * 3, [0] * 3), joint("c", "b", [0] * 3, [1] * 3))
    limbs = (Limb("b", "b", "c", 1.0, 0.9, 1.1), Limb("b", "b", "d", 1.0, 0.9, 1.1))
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), joints, limbs)
    assert skeleton.joint("c").parent == "b"
    assert skeleton.limb("b", "c").to_joint == "c"
    assert skeleton.parent == {"a": None, "b": "a", "c": "b"}
    with pytest.raises(UsageError, match="named by its child: b, c"):
        skeleton.joint("elbow")
    with pytest.raises(UsageError, match="2 limbs fit 'b'"):
        skeleton.limb("b")


def test_a_skeleton_prints_like_a_sentence() -> None:
    skeleton = Skeleton(
        ("a", "b"), ("a",), (), (joint("b", "a", [0] * 3, [0] * 3),), take={"frames": 9, "seconds": 1.0}
    )
    assert str(skeleton) == "2 sensors, 9 frames, 1.0 s. 1 joint"
    judged = replace(skeleton, verdict=Verdict(1, 1, (), None, "good", "Found: 1 of 1 joint sure."))
    assert str(judged) == "2 sensors, 9 frames, 1.0 s. Found: 1 of 1 joint sure."
