from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.bvh import write_bvh
from condyle.io.exports.export import write_figure
from condyle.io.exports.figure import Figure
from condyle.io.exports.gltf import write_glb
from condyle.io.exports.registry import Names
from condyle.io.exports.rigs import RIGS, Rig, find_rig_names, name_rig, pose_rig
from condyle.io.exports.scene import Scene
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving
from tests.make.clients import ask

EXACT = 1e-12  # m, and entries of rotations
BLENDER = 1e-6  # m: Blender computes in single precision

# What the programs' own documents call the bones of a suit with a sensor on every segment, and of one finger and thumb.
SUIT = [
    "pelvis",
    "spine",
    "chest",
    "neck",
    "head",
    "l_clavicle",
    "l_upper_arm",
    "l_forearm",
    "l_hand",
    "l_thigh",
    "l_shank",
    "l_foot",
    "l_toe",
]
CALLED = {
    "mixamo": "Hips Spine Spine1 Neck Head LeftShoulder LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot "
    "LeftToeBase",
    "humanik": "Hips Spine Spine1 Neck Head LeftShoulder LeftArm LeftForeArm LeftHand LeftUpLeg LeftLeg LeftFoot "
    "LeftToeBase",
    "vrm": "hips spine chest neck head leftShoulder leftUpperArm leftLowerArm leftHand leftUpperLeg leftLowerLeg "
    "leftFoot leftToes",
    "unreal": "pelvis spine_01 spine_02 neck_01 head clavicle_l upperarm_l lowerarm_l hand_l thigh_l calf_l foot_l "
    "ball_l",
    "unity": "Hips Spine Chest Neck Head LeftShoulder LeftUpperArm LeftLowerArm LeftHand LeftUpperLeg LeftLowerLeg "
    "LeftFoot LeftToes",
    "smpl": "Pelvis Spine1 Spine2 Neck Head L_Collar L_Shoulder L_Elbow L_Wrist L_Hip L_Knee L_Ankle L_Foot",
    "cmu": "root lowerback upperback lowerneck head lclavicle lhumerus lradius lwrist lfemur ltibia lfoot ltoes",
    "slimevr": "HIP WAIST CHEST NECK HEAD LEFT_SHOULDER LEFT_UPPER_ARM LEFT_LOWER_ARM LEFT_HAND LEFT_UPPER_LEG "
    "LEFT_LOWER_LEG LEFT_FOOT toe_l",  # it has no toes
}
DIGITS = ["l_index1", "l_index2", "l_index3", "l_thumb1", "l_pinky1"]
FINGERS = {
    "mixamo": "LeftHandIndex1 LeftHandIndex2 LeftHandIndex3 LeftHandThumb1 LeftHandPinky1",
    "humanik": "LeftHandIndex1 LeftHandIndex2 LeftHandIndex3 LeftHandThumb1 LeftHandPinky1",
    "vrm": "leftIndexProximal leftIndexIntermediate leftIndexDistal leftThumbMetacarpal leftLittleProximal",
    "unreal": "index_01_l index_02_l index_03_l thumb_01_l pinky_01_l",
    "unity": "LeftIndexProximal LeftIndexIntermediate LeftIndexDistal LeftThumbProximal LeftLittleProximal",
    "slimevr": "LEFT_INDEX_PROXIMAL LEFT_INDEX_INTERMEDIATE LEFT_INDEX_DISTAL LEFT_THUMB_METACARPAL "
    "LEFT_LITTLE_PROXIMAL",
}

OPEN = """
import bpy
found = []
for path in facts["files"]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if path.endswith(".bvh"):
        bpy.ops.import_anim.bvh(filepath=path, global_scale=0.01)
    else:
        bpy.ops.import_scene.gltf(filepath=path, bone_heuristic="BLENDER")
    rig = next(one for one in bpy.data.objects if one.type == "ARMATURE")
    found.append({bone.name: list(rig.matrix_world @ bone.head_local) for bone in rig.data.bones})
answer(found)
"""


def _suit(*more: tuple[str, str]) -> moving.Moving:
    ups = [
        "_",
        "pelvis",
        "spine",
        "chest",
        "neck",
        "chest",
        "l_clavicle",
        "l_upper_arm",
        "l_forearm",
        "pelvis",
        "l_thigh",
        "l_shank",
        "l_foot",
    ]
    return moving.tree({body: "" if up == "_" else up for body, up in zip(SUIT, ups, strict=True)} | dict(more))


def _named(one: moving.Moving, names: Names) -> dict[str, str]:
    figure = build_figure(one.skeleton, one.motion, names)
    return dict(zip(figure.bodies, figure.names, strict=True))


def _codes(figure: Figure) -> dict[str, str]:
    return {finding.code: finding.text for finding in figure.findings if finding.code.startswith("rig-")}


def test_every_rig_is_a_choice_of_names() -> None:
    assert get_args(Names) == ("anatomy", "bodies", *RIGS)


@pytest.mark.parametrize("rig", RIGS)
def test_a_whole_suit_has_the_names_of_the_rig(rig: Names) -> None:
    found = _named(_suit(), rig)
    before = "mixamorig:" if rig == "mixamo" else ""
    assert [found[body] for body in SUIT] == [before + name for name in CALLED[rig].split()]


@pytest.mark.parametrize("rig", RIGS)
def test_fingers_are_counted_from_the_hand_outwards(rig: Names) -> None:
    hand = [(body, "l_hand" if body.endswith("1") else DIGITS[k - 1]) for k, body in enumerate(DIGITS)]
    one = _suit(*hand, ("l_index_tip", "l_index3"))
    found = _named(one, rig)
    before = "mixamorig:" if rig == "mixamo" else ""
    if rig not in FINGERS:  # CMU and SMPL's body have none
        assert [found[body] for body in DIGITS] == DIGITS
        return
    assert [found[body] for body in DIGITS] == [before + name for name in FINGERS[rig].split()]
    assert found["l_index_tip"] == "l_index_tip"


def test_a_metacarpal_of_a_finger_keeps_its_name_and_is_not_counted() -> None:
    found = _named(_suit(("l_ring_metacarpal", "l_hand"), ("l_ring_proximal", "l_ring_metacarpal")), "vrm")
    assert found["l_ring_metacarpal"] == "l_ring_metacarpal"
    assert found["l_ring_proximal"] == "leftRingProximal"


def test_a_name_of_a_finger_that_is_not_on_a_hand_is_none() -> None:
    assert _named(_suit(("ring", "pelvis")), "vrm")["ring"] == "ring"


@pytest.mark.parametrize("rig", ["humanik", "vrm", "unity"])
def test_a_suit_of_fifteen_sensors_has_all_that_is_required(rig: Names) -> None:
    one = moving.person(seconds=1)
    figure = build_figure(one.skeleton, one.motion, rig)
    assert len(RIGS[rig].needed) == 15
    assert set(figure.names) == RIGS[rig].needed
    assert not _codes(figure)


def test_what_a_rig_requires_and_nobody_wore_is_told() -> None:
    one = _suit()
    told = _codes(build_figure(one.skeleton, one.motion, "vrm"))["rig-bones-missing"]
    assert told.startswith("VRM requires 6 bones that no sensor was worn on: rightFoot, rightHand, rightLowerArm")
    one = moving.person(seconds=1)
    told = _codes(build_figure(one.skeleton, one.motion, "smpl"))["rig-bones-missing"]
    assert "L_Collar, L_Foot, Neck, R_Collar, R_Foot, Spine2, Spine3" in told


def test_more_vertebrae_than_names_leave_the_last_name_to_the_uppermost() -> None:
    edges = {"pelvis": "", "L5": "pelvis", "L3": "L5", "T12": "L3", "T8": "T12", "neck": "T8", "l_upper_arm": "T8"}
    one = moving.tree(edges)
    found = _named(one, "vrm")
    assert [found[body] for body in ("L5", "L3", "T8")] == ["spine", "chest", "upperChest"]
    assert "kept its own: chest" in _codes(build_figure(one.skeleton, one.motion, "vrm"))["rig-bones-extra"]
    assert [_named(one, "unreal")[body] for body in ("L5", "L3", "T12", "T8")] == [f"spine_0{k}" for k in range(1, 5)]


def test_a_tracker_on_the_chest_alone_is_slimevrs_chest() -> None:
    one = moving.person(seconds=1)
    assert _named(one, "slimevr")["chest"] == "CHEST"
    assert _named(one, "mixamo")["chest"] == "mixamorig:Spine"


def test_a_person_without_a_pelvis_keeps_spine_below_chest() -> None:
    found = _named(moving.tree({"chest": "", "spine": "chest", "l_upper_arm": "chest", "head": "chest"}), "vrm")
    assert (found["spine"], found["chest"]) == ("spine", "chest")


def test_a_body_that_is_called_as_a_bone_of_the_rig_does_not_take_its_name() -> None:
    edges = {"pelvis": "", "head": "pelvis", "l_thigh": "pelvis", "chest": "pelvis", "skull": "chest"}
    found = _named(moving.tree(edges), "unreal")
    assert (found["skull"], found["head"]) == ("head", "head_2")


def test_two_people_and_a_thing_have_names_of_their_own() -> None:
    people = [simulate(human(), "walk", seconds=1, rate=30, seed=seed) for seed in (1, 2)]
    one = moving.moving(together([*people, prop(seconds=1, rate=30)]))
    found = _named(one, "unreal")
    assert found["a_l_shank"] == "calf_l"
    assert found["b_l_shank"] == "p2_calf_l"
    assert found["c_prop"] == "c_prop"


def test_what_is_no_person_is_refused_with_the_way_out_and_nothing_is_written(tmp_path: Path) -> None:
    one = moving.links()
    scene = Scene(one.skeleton, one.motion, one.take, names="mixamo")
    for formats in ("bvh", "json"):
        with pytest.raises(UsageError, match=r"Mixamo names the bones of a person.* take --names bodies"):
            write_figure(scene, formats, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_table_of_names_is_all_that_a_rig_takes() -> None:
    one = moving.person(seconds=1)
    figure = build_figure(one.skeleton, one.motion)
    bare = Rig("Bare", ("L", "R"), ("Back",), {"pelvis": ("Hip",), "hand": ("Hand{side}",)})
    found = find_rig_names(figure, range(len(figure.names)), bare)
    assert sorted(found.values()) == ["Back", "HandL", "HandR", "Hip"]
    assert "thigh_l" in name_rig(figure, bare).names


# rest poses


@pytest.mark.parametrize(("rig", "arm", "leg"), [("vrm", 0.0, 0.0), ("unreal", 45.0, 0.0), ("cmu", 0.0, 20.0)])
def test_a_rig_rests_in_its_pose_and_moves_as_ever(rig: Names, arm: float, leg: float) -> None:
    one = moving.person(seconds=1)
    plain = Scene(one.skeleton, one.motion, one.take).figure.turn_up("y")
    figure = Scene(one.skeleton, one.motion, one.take, names=rig).figure.turn_up("y")
    R, p = figure.rest
    for side, out in (("l", 1.0), ("r", -1.0)):  # left on +x
        for part in ("upper_arm", "forearm"):
            k = next(k for k, body in enumerate(figure.bodies) if body == f"{side}_{part}")
            along = [out * np.cos(np.radians(arm)), -np.sin(np.radians(arm)), 0]
            np.testing.assert_allclose(R[k][:, 1], along, atol=1e-9)
        k = figure.bodies.index(f"{side}_shank")
        np.testing.assert_allclose(R[k][:, 1], [out * np.sin(np.radians(leg)), -np.cos(np.radians(leg)), 0], atol=1e-9)
        np.testing.assert_allclose(R[figure.bodies.index(f"{side}_foot")][:, 1], [0, 0, 1], atol=1e-9)
    tips = p + (R @ figure.tip[..., None])[..., 0]
    assert min(p[:, 1].min(), tips[:, 1].min()) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(figure.world[1], plain.world[1], atol=EXACT)
    np.testing.assert_allclose(figure.world[0], plain.world[0], atol=EXACT)


def test_angles_count_from_the_same_pose_whatever_the_names_are() -> None:
    one = moving.person(seconds=1)
    plain, posed = (Scene(one.skeleton, one.motion, names=names).figure_on_axes for names in ("anatomy", "cmu"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(plain.R_parent_bone_rest, posed.R_parent_bone_rest)
    assert plain.joints == posed.joints


def test_a_rigid_shoulder_keeps_its_pose() -> None:
    one = moving.person(seconds=1)
    figure = build_figure(one.skeleton, one.motion)
    stiff = replace(figure, kind=tuple("rigid" if k else "free" for k in range(len(figure.names))))
    assert pose_rig(stiff, RIGS["unreal"]) is stiff


# files


def test_a_bvh_keeps_the_colon_of_mixamo_and_is_read_back(tmp_path: Path) -> None:
    one = moving.person(seconds=1)
    written = write_bvh(Scene(one.skeleton, one.motion, one.take, names="mixamo"), tmp_path / "a.bvh")
    assert "renamed-bones" not in {finding.code for finding in written.findings}
    assert "mixamorig:LeftForeArm" in read(tmp_path / "a.bvh", unit="cm").names


def test_blender_finds_every_rig_by_its_names_in_its_rest_pose(tmp_path: Path) -> None:
    one = moving.person(seconds=1)
    scenes, files = [], []
    for rig in RIGS:
        scene = Scene(one.skeleton, one.motion, one.take, names=rig)  # type: ignore[arg-type]
        files += [*write_bvh(scene, tmp_path / f"{rig}.bvh").files, *write_glb(scene, tmp_path / f"{rig}.glb").files]
        scenes += [scene, scene]
    told = ask("blender", OPEN, {"files": [str(file) for file in files]})
    assert len(told) == 2 * len(RIGS)
    for scene, places in zip(scenes, told, strict=True):
        figure = scene.figure
        assert set(figure.names) <= set(places)
        found = np.array([places[name] for name in figure.names])
        expected = figure.rest[1]
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=BLENDER)
