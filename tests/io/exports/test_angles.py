from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.io.exports._angles import BALL_ORDER, count_flexion, name_hinge, split_free, split_joint
from condyle.io.exports.figure import Figure
from condyle.io.exports.scene import Scene
from tests.make import moving, walkers

EXACT = 1e-12  # of matrix entries


@pytest.fixture(scope="module")
def person() -> Figure:
    fit = walkers.fitted(1)
    return fit.scene("play").figure.turn_up("y")


def bone(figure: Figure, name: str) -> int:
    return figure.names.index(name)


@pytest.mark.parametrize("up", ["y", "z"])
def test_three_hinges_multiply_to_the_rotation_and_the_rest_has_its_angles(person: Figure, up: str) -> None:
    figure = person.turn_up(up)
    for k, above in enumerate(figure.parent):
        if above < 0:
            continue
        found = split_joint(figure, k)

        def turn(angles: np.ndarray, found=found) -> np.ndarray:  # type: ignore[no-untyped-def]
            parts = [Rotation.from_rotvec(angles[:, [i]] * found.axes[i]).as_matrix() for i in range(3)]
            return found.zero @ parts[0] @ parts[1] @ parts[2]

        np.testing.assert_allclose(turn(found.angles), figure.R_parent_bone[:, k], atol=EXACT)
        np.testing.assert_allclose(turn(found.rest[None])[0], figure.R_parent_bone_rest[k], atol=EXACT)


def test_the_order_is_that_of_the_angles_whatever_the_motion_was(person: Figure) -> None:
    other = walkers.fitted(2, "exercise", 20.0).scene("play").figure.turn_up("y")
    for name in ("thigh_l", "thigh_r", "upper_arm_l", "upper_arm_r", "foot_l", "chest", "head"):
        one, two = (split_joint(figure, bone(figure, name)) for figure in (person, other))
        assert one.names == two.names
        np.testing.assert_allclose(one.axes, two.axes)
    assert split_joint(person, bone(person, "thigh_l")).names == ("hip_flexion_l", "hip_adduction_l", "hip_rotation_l")
    assert split_joint(person, bone(person, "chest")).names == ("waist_flexion", "waist_bending", "waist_rotation")


@pytest.mark.parametrize(
    ("name", "joint"),
    [("thigh", "hip"), ("shank", "knee"), ("foot", "ankle"), ("forearm", "elbow"), ("hand", "wrist")],
)
@pytest.mark.parametrize("side", ["l", "r"])
def test_exported_angles_are_those_of_condyle_angles_up_to_the_frames(
    person: Figure, name: str, joint: str, side: str
) -> None:
    turned = split_joint(person, bone(person, f"{name}_{side}"))
    true = walkers.true_angles(walkers.walker(1), f"{joint}_{side}")
    for k in range(3):
        off = np.degrees(turned.angles[:, k]) - true[:, k]
        assert np.abs(off - off.mean()).max() < 12, turned.names[k]
        assert np.corrcoef(np.degrees(turned.angles[:, k]), true[:, k])[0, 1] > 0.9, "the same sign on both sides"


def test_an_arm_that_hangs_is_the_zero_of_a_shoulder(person: Figure) -> None:
    for side in "lr":
        k = bone(person, f"upper_arm_{side}")
        found = split_joint(person, k)
        arm = (person.rest[0][person.parent[k]] @ found.zero)[:, 1]
        np.testing.assert_allclose(arm, [0, -1, 0], atol=1e-9)
        np.testing.assert_allclose(np.degrees(found.rest[1]), -90, atol=1e-6)  # arms out are abducted
        assert found.names[0] == f"shoulder_flexion_{side}"
        true = Rotation.from_matrix(walkers.true_rotations(walkers.walker(1))[f"shoulder_{side}"]).as_euler("ZXY")
        off = np.degrees(found.angles - true)
        assert np.abs(off - off.mean(axis=0)).max() < 12


def test_hinges_of_knees_and_elbows_count_flexion(person: Figure) -> None:
    axis = np.zeros(person.axis.shape) * np.nan
    kind = list(person.kind)
    for name in ("shank_l", "shank_r", "forearm_l"):
        axis[bone(person, name)] = [1.0, 0.0, 0.0]
        kind[bone(person, name)] = "hinge"
    figure = replace(person, axis=axis, kind=tuple(kind))
    found = count_flexion(figure)
    np.testing.assert_allclose(
        found[[bone(person, name) for name in ("shank_l", "shank_r", "forearm_l")], 0], [-1, -1, 1]
    )
    assert np.median(replace(figure, axis=found).angles[:, bone(person, "shank_l")]) > 0


def test_other_balls_bend_first_and_free_bones_head_first() -> None:
    one = moving.links(("ball",), seconds=1)
    figure = Scene(one.skeleton, one.motion).figure
    assert split_joint(figure, 1).names == tuple(f"link1_joint_r{letter.lower()}" for letter in BALL_ORDER)
    free = split_free(figure, 0)
    assert free.names == ("link0_free_ry", "link0_free_rz", "link0_free_rx")
    again = Rotation.from_euler("YZX", free.angles).as_matrix() @ figure.R_parent_bone_rest[0]
    np.testing.assert_allclose(again, figure.R_parent_bone[:, 0], atol=EXACT)


def test_a_hinge_is_called_as_the_first_angle_of_a_ball_on_either_side(person: Figure) -> None:
    knees = {side: person.names.index(f"shank_{side}") for side in "lr"}
    for side, k in knees.items():
        kind = tuple("hinge" if i == k else one for i, one in enumerate(person.kind))
        assert split_joint(person, k).names[0] == f"knee_flexion_{side}"
        assert name_hinge(replace(person, kind=kind), k, "other") == f"knee_flexion_{side}"
    stranger = replace(person, kind=("hinge",) * len(person.kind), parts=("",) * len(person.kind))
    assert name_hinge(stranger, knees["l"], "other") == "other"
