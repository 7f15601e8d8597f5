from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from condyle.model.anatomy import (
    Segment,
    count_between,
    find_finger,
    find_segments,
    mirror_segments,
    rest_direction,
    segment_of,
)

NAMES = {
    Segment("pelvis"): "pelvis Pelvis Hips hip Skeleton:Hip mixamorig:Hips LowBack low_back PELV sacrum pelvis_sensor",
    Segment("chest"): "chest Thorax T8 T12 sternum torso trunk UpperBack",
    Segment("spine"): "spine Spine1 spine_02 L5 Ab abdomen",
    Segment("neck"): "neck Neck1 lowerneck",
    Segment("head"): "head Head skull HEAD",
    Segment(
        "thigh", "l"
    ): "l_thigh LeftUpLeg Left_Thigh LTHI thigh_l thigh.L lfemur LeftUpperLeg l-upper-leg ThighLeft",
    Segment("thigh", "r"): "r_thigh RightUpLeg RTHI thigh_r Thigh.R Subject_1:RThigh",
    Segment("shank", "l"): "l_shank LeftLeg ltibia LShin calf_l LeftLowerLeg left_shin LSHK LeftKnee",
    Segment("foot", "r"): "r_foot RightFoot foot_R RFoot right_foot_1 RightAnkle",
    Segment("toe", "l"): "LeftToeBase ltoes l_toes ball_l LToe",
    Segment("clavicle", "r"): "r_clavicle RightShoulder rclavicle clavicle_r RightCollar",
    Segment("upper_arm", "l"): "l_upper_arm LeftArm LeftUpperArm LUArm l_uarm lhumerus upperarm_l",
    Segment("forearm", "r"): "r_forearm RightForeArm RFArm r_farm rradius lowerarm_r r_larm",
    Segment("hand", "l"): "l_hand LeftHand lhand hand_l LHND LeftWrist",
}
ELSE = [
    "seg1", "link0", "forearm", "hand", "prop", "body1", "763:763", "left", "l_r_thigh", "LThumb1", "upper_arm_link",
    "wrist_3", "lumber", "left_pelvis", "RightHandIndex1", "world", "ball", "racket",
]  # fmt: skip


@pytest.mark.parametrize(("segment", "name"), [(seg, name) for seg, names in NAMES.items() for name in names.split()])
def test_names_of_segments_are_known_in_many_spellings(segment: Segment, name: str) -> None:
    assert segment_of(name) == segment


@pytest.mark.parametrize("name", ELSE)
def test_other_names_mean_no_segment(name: str) -> None:
    assert segment_of(name) is None


def _chain(*names: str) -> list[tuple[str, str]]:
    return list(pairwise(names))


LEGS = [*_chain("pelvis", "l_thigh", "l_shank", "l_foot"), *_chain("pelvis", "r_thigh", "r_shank", "r_foot")]


def _find(edges: list[tuple[str, str]]) -> dict[str, Segment]:
    return find_segments(list(dict.fromkeys(name for edge in edges for name in edge)), edges)


def test_a_tree_of_a_person_is_known_whole_whichever_way_its_edges_point() -> None:
    for edges in (LEGS, [(b, a) for a, b in LEGS], LEGS[::-1]):
        found = _find(edges)
        assert set(found) == {name for edge in LEGS for name in edge}
        assert found["l_foot"] == Segment("foot", "l")


def test_a_thigh_on_the_other_thigh_is_not_known_but_what_hangs_on_it_is() -> None:
    found = _find([*_chain("pelvis", "l_thigh", "l_shank"), *_chain("l_thigh", "r_thigh", "r_shank")])
    assert "r_thigh" not in found
    assert found["r_shank"] == Segment("shank", "r")


def test_a_limb_of_the_other_side_is_not_known() -> None:
    assert "r_shank" not in _find(_chain("pelvis", "l_thigh", "r_shank"))


def test_a_body_between_that_means_nothing_is_passed_through() -> None:
    found = _find([*_chain("Hips", "connector", "LeftUpLeg"), *_chain("Hips", "Spine", "Head")])
    assert found["LeftUpLeg"] == Segment("thigh", "l")
    assert "connector" not in found


def test_the_low_back_is_the_pelvis_unless_there_is_one() -> None:
    arms = [("chest", "head"), ("chest", "l_upper_arm")]
    assert _find([("lowback", "chest"), ("lowback", "l_thigh"), *arms])["lowback"] == Segment("pelvis")
    found = _find([*_chain("Hips", "LowerBack", "chest"), ("Hips", "LeftUpLeg"), *arms])
    assert (found["Hips"], found["LowerBack"]) == (Segment("pelvis"), Segment("spine"))


def test_the_hip_of_a_side_is_the_thigh_unless_there_is_one() -> None:
    assert _find(_chain("Hips", "LeftHip", "LeftKnee", "LeftAnkle"))["LeftHip"] == Segment("thigh", "l")
    found = _find([*_chain("Hips", "LHipJoint", "LeftUpLeg", "LeftLeg"), ("Hips", "Spine")])
    assert "LHipJoint" not in found
    assert found["LeftUpLeg"] == Segment("thigh", "l")


def test_the_spine_that_carries_the_arms_is_the_chest_unless_there_is_one() -> None:
    edges = [*_chain("Hips", "Spine", "Spine1", "Head"), ("Spine1", "LeftArm"), ("Spine1", "RightArm")]
    found = _find(edges)
    assert (found["Spine"], found["Spine1"]) == (Segment("spine"), Segment("chest"))
    assert _find([*edges[:2], ("Spine1", "chest"), ("chest", "Head")])["Spine1"] == Segment("spine")


def test_names_that_begin_alike_are_one_person_of_several() -> None:
    found = _find([(f"a_{a}", f"a_{b}") for a, b in LEGS] + [(f"b_{a}", f"b_{b}") for a, b in LEGS])
    assert found["a_l_thigh"] == found["b_l_thigh"] == Segment("thigh", "l")


def test_the_second_body_of_one_segment_is_not_known_unless_it_follows_the_first() -> None:
    found = _find([("pelvis", "l_thigh"), ("pelvis", "LeftThigh"), ("chest", "pelvis"), ("chest", "chest2")])
    assert ("l_thigh" in found) + ("LeftThigh" in found) == 1
    assert found["chest2"] == Segment("chest")
    assert _find(_chain("chest", "l_upper_arm", "l_forearm", "LeftForeArm"))["LeftForeArm"] == Segment("forearm", "l")


def test_nothing_is_known_of_no_bodies_and_of_loose_ones_only_their_names() -> None:
    assert find_segments([], []) == {}
    assert find_segments(["head", "box"], []) == {"head": Segment("head")}


def test_legs_rest_downwards_arms_sideways_feet_forward_and_the_trunk_upwards() -> None:
    assert rest_direction(Segment("shank", "r")) == "down"
    assert rest_direction(Segment("hand", "l")) == "left"
    assert rest_direction(Segment("clavicle", "r")) == "right"
    assert rest_direction(Segment("toe", "l")) == "forward"
    assert rest_direction(Segment("neck")) == "up"


def between(names: Sequence[str]) -> dict[tuple[str, str], float]:
    steps, _ = count_between(names)
    return {(a, b): float(steps[i, j]) for i, a in enumerate(names) for j, b in enumerate(names) if i < j}


def test_segments_between_two_bodies_are_counted_over_what_is_worn() -> None:
    names = ("pelvis", "chest", "LeftUpLeg", "l_shank", "l_foot", "r_upper_arm", "r_forearm")
    found = between(names)
    assert found["pelvis", "chest"] == found["LeftUpLeg", "l_shank"] == found["r_upper_arm", "r_forearm"] == 0
    assert found["pelvis", "l_foot"] == 2
    assert found["l_foot", "r_forearm"] == 5
    assert np.isinf(between(("pelvis", "l_shank", "l_foot"))["pelvis", "l_shank"])


def test_two_sensors_on_one_segment_are_neighbours_and_sides_are_not() -> None:
    assert between(("l_thigh1", "l_thigh2", "pelvis"))["l_thigh1", "l_thigh2"] == 0
    assert between(("l_hand", "r_hand", "r_forearm"))["l_hand", "r_forearm"] > 0
    assert between(("hand", "r_forearm"))["hand", "r_forearm"] == 0  # a side that is not told may be either


def test_what_is_worn_between_two_segments_is_between_them() -> None:
    trunk = between(("pelvis", "lumbar", "thorax", "neck", "head"))
    assert (
        trunk["pelvis", "lumbar"] == trunk["lumbar", "thorax"] == trunk["thorax", "neck"] == trunk["neck", "head"] == 0
    )
    assert trunk["pelvis", "thorax"] == trunk["thorax", "head"] == trunk["lumbar", "neck"] == 1
    assert between(("pelvis", "thorax", "head"))["pelvis", "thorax"] == 0
    arms = between(("thorax", "l_scapula", "l_uarm", "r_uarm"))
    assert arms["thorax", "l_scapula"] == arms["l_scapula", "l_uarm"] == arms["thorax", "r_uarm"] == 0
    assert arms["thorax", "l_uarm"] == 1
    two = between(("a_pelvis", "a_chest", "a_head", "b_pelvis", "b_spine", "b_chest"))
    assert two["a_pelvis", "a_chest"] == 0  # the spine is another person's
    assert two["b_pelvis", "b_chest"] == 1


@pytest.mark.parametrize(
    "names", ["pelvis lower_trunk upper_trunk head", "l_thigh lower_torso upper_torso", "l_shank l_hindfoot l_midfoot"]
)
def test_parts_of_trunk_and_foot_follow_each_other(names: str) -> None:
    found = between(names.split())
    assert all(found[pair] == 0 for pair in pairwise(names.split()))


@pytest.mark.parametrize("name", ["l_wrist", "LKnee", "leg", "s7", "world", "stick", "ball"])
def test_names_of_joints_and_of_things_say_nothing(name: str) -> None:
    assert all(np.isnan(steps) for pair, steps in between((name, "pelvis", "l_thigh")).items() if name in pair)


def test_a_shoulder_beside_an_upper_arm_is_the_clavicle_and_a_leg_beside_a_thigh_the_shank() -> None:
    found = between(("T8", "LeftShoulder", "LeftUpperArm", "Pelvis", "LeftUpLeg", "LeftLeg", "RightShoulder"))
    assert found["T8", "LeftShoulder"] == found["LeftShoulder", "LeftUpperArm"] == found["LeftUpLeg", "LeftLeg"] == 0
    assert found["Pelvis", "LeftLeg"] == 1
    assert np.isnan(found["T8", "RightShoulder"])  # no right upper arm is worn: it may be that


def test_a_toe_on_a_shank_is_the_foot_unless_one_is_worn() -> None:
    legs = ["PELV", "LFEO", "LTIO", "LTOE"]
    assert find_segments(legs, list(pairwise(legs)))["LTOE"] == Segment("foot", "l")
    whole = ["pelvis", "l_thigh", "l_shank", "l_foot", "l_toe"]
    assert find_segments(whole, list(pairwise(whole)))["l_toe"] == Segment("toe", "l")
    front = ["pelvis", "l_thigh", "l_shank", "l_forefoot"]
    assert "l_forefoot" not in find_segments(front, list(pairwise(front)))


def test_persons_are_told_by_what_stands_before_the_names_of_several_segments() -> None:
    names = ("a_pelvis", "a_chest", "a_l_hand", "b_pelvis", "b_chest", "b_r_hand")
    steps, strangers = count_between(names)
    assert strangers[2, 5]
    assert not strangers[0, 1]
    assert steps[0, 1] == 0
    assert np.isinf(steps[2, 5])
    assert np.isnan(count_between(("medial_foot", "lateral_foot"))[0]).all()
    assert count_between(("Bob:Hips", "Bob:LeftUpLeg", "Bob:Spine"))[0][0, 1] == 0


@pytest.mark.parametrize(
    "names",
    [
        "pelvis femur_r tibia_r calcn_r toes_r",
        "RPV RTH RSK RFT",
        "PEL LFE LTI LFO LTO",
        "PELO LFEO LTIO LTOE",
        "pelvis_4X4 l_thigh_4X4 l_shank_4X4 l_foot_4X4",
        "Pelvis RightUpperLeg RightLowerLeg RightFoot RightToe",
        "Lumbar R.UpperLeg R.LowerLeg R.Foot",
        "Becken Oberschenkel_links Unterschenkel_links Fuß_links",
        "trunk LThighPlate LShankPlate",
    ],
)
def test_the_names_of_common_models_follow_each_other(names: str) -> None:
    steps, _ = count_between(names.split())
    assert np.diagonal(steps, 1).tolist() == [0.0] * (len(steps) - 1)
    assert (np.diagonal(steps, 2) == 1).all()


def test_names_that_may_mean_two_segments_say_nothing() -> None:
    assert np.isnan(between(("pelvis", "thigh1", "thigh2", "l_foot"))["thigh1", "thigh2"])
    assert np.isnan(between(("pelvis", "left_hip", "right_hip", "l_foot"))["left_hip", "right_hip"])
    assert np.isinf(between(("pelvis", "trunk", "l_shank"))["trunk", "l_shank"])
    assert between(("pelvis", "trunk", "l_thigh"))["trunk", "l_thigh"] == 1


@pytest.mark.parametrize(
    ("name", "finger"),
    [
        ("LeftHandThumb1", 0),
        ("mixamorig:RightHandPinky2", 4),
        ("index_01_l", 1),
        ("LeftHandIndexTip", None),
        ("hand", None),
    ],
)
def test_fingers_are_told_by_their_names(name: str, finger: int | None) -> None:
    assert find_finger(name) == finger


def test_twins_are_of_one_part_on_both_sides_and_the_middle_is_its_own() -> None:
    segments = {
        "hip": Segment("pelvis"),
        "a": Segment("thigh", "l"),
        "b": Segment("thigh", "r"),
        "c": Segment("shank", "r"),
    }
    assert mirror_segments(segments) == {"hip": "hip", "a": "b", "b": "a", "c": None}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HMD", Segment("head")),
        ("headset", Segment("head")),
        ("LeftController", Segment("hand", "l")),
        ("controller_right", Segment("hand", "r")),
        ("vive_tracker_left_foot", Segment("foot", "l")),
        ("TrackerRole_Waist", Segment("pelvis")),
        ("TrackerRole_RightKnee", Segment("shank", "r")),
        ("TRACKERROLE_LEFT_FOOT", Segment("foot", "l")),
        ("controller", None),
    ],
)
def test_what_virtual_reality_wears_has_its_segment(name: str, expected: Segment | None) -> None:
    assert segment_of(name) == expected
