"""Bones of rigs by their names, in every list of names that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.exports.rigs import RIGS
from condyle.io.rigs.rig_file import RigFile
from condyle.motion.rig_map import find_crossed, find_rig_segments, map_bones
from tests.make.rigs import standing_person, write_bvh_rig


def rig_of(names: list[str], parent: list[int]) -> RigFile:
    b = len(names)
    eye, zero = np.tile(np.eye(3), (b, 1, 1)), np.zeros((b, 3))
    return RigFile(Path("rig.bvh"), tuple(names), np.array(parent), eye, zero, zero, (True,) * b, lambda clips: [])


@pytest.mark.parametrize("preset", RIGS)
def test_every_preset_is_understood_whole(preset: str) -> None:
    """A rig with the preset's names takes the person whose bones were given those names."""
    figure = standing_person().scene(names=preset).figure  # type: ignore[arg-type]
    found = map_bones(figure, rig_of(list(figure.names), figure.parent.tolist()))
    assert found == {k: k for k in range(len(figure.names))}


def test_arms_of_smpl_are_arms() -> None:
    names = ["Pelvis", "L_Hip", "Spine1", "Spine2", "Spine3", "L_Collar", "L_Shoulder", "L_Elbow", "L_Wrist"]
    found = find_rig_segments(rig_of(names, [-1, 0, 0, 2, 3, 4, 5, 6, 7]))
    assert {names[k]: segment.part for k, segment in found.items()}["L_Shoulder"] == "upper_arm"


def test_a_chest_takes_the_uppermost_bone_of_a_long_trunk() -> None:
    figure = standing_person().scene().figure
    names = ["pelvis", "spine_01", "spine_02", "spine_03", "neck_01", "head", "thigh_l", "thigh_r"]
    found = map_bones(figure, rig_of(names, [-1, 0, 1, 2, 3, 4, 0, 0]))
    assert figure.bodies[found[3]] == "chest"
    assert not {1, 2, 4} & found.keys()


def test_what_is_told_stands_over_names() -> None:
    figure = standing_person().scene().figure
    rig = rig_of(["Hips", "Spine", "Head", "LeftUpLeg"], [-1, 0, 1, 0])
    found = map_bones(figure, rig, {"LeftUpLeg": "r_thigh", "Head": ""})
    assert figure.bodies[found[3]] == "r_thigh"
    assert 2 not in found


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"Tail": "pelvis"}, "the rig has no bone 'Tail'; choose from Hips"),
        ({"Hips": "pelvs"}, "the fit has no body 'pelvs'; did you mean 'pelvis'"),
        ({"Hips": "pelvis", "Spine": "pelvis"}, "'pelvis' is told to move two bones"),
        ({"Hips": 3}, "the map has 'Hips': 3; it takes names"),
        ({"LeftLeg": "r_shank"}, "'LeftLeg' is to move as r_shank and 'LeftUpLeg' above it as l_thigh"),
    ],
)
def test_a_wrong_map_is_one_sentence(told: dict[str, str], text: str) -> None:
    rig = rig_of(["Hips", "Spine", "Head", "LeftUpLeg", "LeftLeg"], [-1, 0, 1, 0, 3])
    with pytest.raises(UsageError, match=text):
        map_bones(standing_person().scene().figure, rig, told)


def test_bones_that_move_as_the_other_side_are_found() -> None:
    figure = standing_person().scene().figure
    rig = rig_of(["Hips", "Spine", "Head", "LeftUpLeg", "RightUpLeg"], [-1, 0, 1, 0, 0])
    assert find_crossed(figure, rig, map_bones(figure, rig)) == []
    crossed = map_bones(figure, rig, {"LeftUpLeg": "r_thigh", "RightUpLeg": "l_thigh"})
    assert [rig.names[bone] for bone, _ in find_crossed(figure, rig, crossed)] == ["LeftUpLeg", "RightUpLeg"]


def test_of_two_roots_one_takes_the_motion() -> None:
    figure = standing_person().scene().figure
    names = ["Hips", "Spine", "Head", "LeftUpLeg", "RightUpLeg"]
    rig = rig_of(["b_Hips", "b_Spine", *names], [-1, 0, -1, 2, 3, 2, 2])
    found = map_bones(figure, rig)
    assert [rig.names[bone] for bone in found] == names
    with pytest.raises(UsageError, match="the map has bones under 'b_Hips' and 'Hips'"):
        map_bones(figure, rig, {"b_Spine": "chest"})


def test_names_that_tell_nothing_ask_for_a_map(tmp_path: Path) -> None:
    from condyle.io.rigs.read_rig import read_rig

    rig = read_rig(write_bvh_rig(tmp_path / "rig.bvh", prefix=""))
    with pytest.raises(UsageError, match=r"\(bone0, bone1, .*--map"):
        map_bones(standing_person().scene().figure, rig)
