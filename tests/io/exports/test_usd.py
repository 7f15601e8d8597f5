from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.exports import usd
from condyle.io.exports.export import write_figure
from condyle.io.exports.figure import Figure
from condyle.io.exports.scene import Scene
from tests.make import PROJECT
from tests.make.clients import ask
from tests.make.usd_cases import CASES

PLACES = 1e-6  # m: rotations in single precision, along a chain of bones; 2e-7 is usual for a person
TURNS = 1e-6  # of matrix entries
BLENDER = 2e-6  # m: Blender computes in single precision as well

if find_spec("pxr") is not None:
    os.environ.setdefault("CONDYLE_USD", sys.executable)

WRITE = """
sys.path[:0] = facts["path"]
from pathlib import Path
import numpy as np
from pxr import Usd, UsdGeom, UsdSkel, UsdValidation
from condyle.io.exports.usd import write_usd
from tests.make.usd_cases import CASES

validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
context = UsdValidation.ValidationContext(validators)

def opened(path, frames):
    stage = Usd.Stage.Open(path)
    trees = {}
    for prim in stage.GetDefaultPrim().GetChildren():
        cache, top = UsdSkel.Cache(), UsdSkel.Root(prim)
        assert top, prim.GetPath()
        cache.Populate(top, Usd.PrimDefaultPredicate)
        (binding,) = cache.ComputeSkelBindings(top, Usd.PrimDefaultPredicate)
        query = cache.GetSkelQuery(binding.GetSkeleton())
        sensors = next(one for one in binding.GetSkinningTargets() if one.GetPrim().GetName() == "sensors")
        points = UsdGeom.Mesh(sensors.GetPrim()).GetPointsAttr().Get()
        corners, poses = [], []
        for frame in frames:
            poses.append(np.array(query.ComputeJointSkelTransforms(frame)).tolist())
            moved = type(points)(points)
            sensors.ComputeSkinnedPoints(query.ComputeSkinningTransforms(frame), moved, frame)
            corners.append(np.array(moved).tolist())
        low, high = np.array(UsdGeom.Boundable(prim).GetExtentAttr().Get()).tolist()
        skeleton = binding.GetSkeleton()
        trees[prim.GetName()] = {
            "joints": [str(joint) for joint in query.GetJointOrder()],
            "poses": poses,
            "boxes": corners,
            "box of": list(sensors.GetJointIndicesPrimvar().Get()),
            "rest": np.array(query.ComputeJointSkelTransforms(0, True)).tolist(),
            "bind": np.array(skeleton.GetBindTransformsAttr().Get()).tolist(),
            "low": low, "high": high,
            "bodies": list(skeleton.GetPrim().GetCustomDataByKey("condyle:bodies")),
            "codes": query.GetAnimQuery().GetJointTransformTimeSamples(),
        }
    return {
        "path": path,
        "errors": [error.GetErrorAsString() for error in context.Validate(stage)],
        "up": UsdGeom.GetStageUpAxis(stage),
        "metres": UsdGeom.GetStageMetersPerUnit(stage),
        "rate": [stage.GetTimeCodesPerSecond(), stage.GetFramesPerSecond()],
        "span": [stage.GetStartTimeCode(), stage.GetEndTimeCode()],
        "default": str(stage.GetDefaultPrim().GetPath()),
        "trees": trees,
    }

found = {}
for name, case in CASES.items():
    written = write_usd(case(), Path(facts["folder"]) / f"{name}.usd")
    frames = facts["frames"][name]
    found[name] = {
        "findings": [finding.code for finding in written.findings],
        "files": [opened(str(file), frames) for file in written.files],
    }
broken = Usd.Stage.Open(str(Path(facts["folder"]) / "person.usd"))
broken.ClearDefaultPrim()
broken.GetPrimAtPath("/figure/hips/links").RemoveAPI(UsdSkel.BindingAPI)
answer({"cases": found, "validators": len(validators), "broken": len(context.Validate(broken))})
"""

BLENDER_POSES = """
import bpy
found = []
for path in facts["files"]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=path)
    scene = bpy.context.scene
    rigs = [one for one in bpy.data.objects if one.type == "ARMATURE"]
    frames = []
    for frame in facts["frames"]:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        joints, corners = {}, []
        for rig in rigs:
            seen = rig.evaluated_get(graph)
            joints |= {bone.name: list((seen.matrix_world @ bone.matrix).translation) for bone in seen.pose.bones}
        for thing in bpy.data.objects:
            if thing.type == "MESH":
                seen = thing.evaluated_get(graph)
                corners += [list(seen.matrix_world @ vertex.co) for vertex in seen.data.vertices]
        low = [min(corner[k] for corner in corners) for k in range(3)]
        high = [max(corner[k] for corner in corners) for k in range(3)]
        frames.append({"joints": joints, "low": low, "high": high})
    colours = {m.name: list(m.diffuse_color) for m in bpy.data.materials}
    span = [scene.frame_start, scene.frame_end]
    found.append({"rigs": len(rigs), "frames": frames, "span": span, "colours": colours})
answer(found)
"""


def _figure(scene: Scene) -> Figure:
    """As it is written: y or z up, names of identifiers, nothing unknown."""
    figure = scene.figure.rename(usd.USD_LETTERS, usd.USD_FIRST_LETTER)
    return (figure if figure.up in ("y", "z") else figure.turn_up("z")).fill_gaps()


def _frames(scene: Scene) -> list[int]:
    last = min(clip.frames for clip in scene.figure.clips()) - 1
    return sorted({0, min(1, last), last // 2, last})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every case as usd-core wrote it and reads it."""
    folder = tmp_path_factory.mktemp("usd")
    facts = {
        "path": [str(PROJECT / "src"), str(PROJECT)],
        "folder": str(folder),
        "frames": {name: _frames(case()) for name, case in CASES.items()},
    }
    found = ask("usd", WRITE, facts)
    assert isinstance(found, dict)
    return found


def test_usd_validation_finds_nothing_and_would_find_something(written: dict[str, Any]) -> None:
    assert written["validators"] >= 20
    assert written["broken"] > 0
    for name, case in written["cases"].items():
        for file in case["files"]:
            assert file["errors"] == [], name


@pytest.mark.parametrize("name", CASES)
def test_usd_itself_puts_every_joint_where_condyle_does(name: str, written: dict[str, Any]) -> None:
    scene = CASES[name]()
    clips, files = _figure(scene).clips(), written["cases"][name]["files"]
    assert len(files) == len(clips)
    for clip, file in zip(clips, files, strict=True):
        trees = clip.trees()
        assert list(file["trees"]) == [tree.names[0] for tree in trees]
        for tree, told in zip(trees, file["trees"].values(), strict=True):
            R, p = tree.world
            assert [joint.rpartition("/")[2] for joint in told["joints"]] == list(tree.names)
            assert told["bodies"] == list(tree.bodies)
            for frame, matrices in zip(_frames(scene), told["poses"], strict=True):
                row = int(np.searchsorted(told["codes"], frame))
                assert told["codes"][row] == frame
                M = np.array(matrices)
                np.testing.assert_allclose(M[:, 3, :3], p[row], atol=PLACES)
                np.testing.assert_allclose(np.swapaxes(M[:, :3, :3], 1, 2), R[row], atol=TURNS)


@pytest.mark.parametrize("name", CASES)
def test_the_shapes_follow_their_bones_and_stay_in_the_box_that_is_told(name: str, written: dict[str, Any]) -> None:
    scene = CASES[name]()
    for clip, file in zip(_figure(scene).clips(), written["cases"][name]["files"], strict=True):
        for tree, told in zip(clip.trees(), file["trees"].values(), strict=True):
            sensors = tree.take(sensors=True).p_world_body
            bone = np.array(told["box of"])
            for frame, corners in zip(_frames(scene), told["boxes"], strict=True):
                row = int(np.searchsorted(told["codes"], frame))
                points = np.array(corners)
                middle = np.array([points[bone == k].mean(axis=0) for k in range(len(tree.names))])
                np.testing.assert_allclose(middle, sensors[row], atol=2 * PLACES)
                assert (points > told["low"]).all()
                assert (points < told["high"]).all()


@pytest.mark.parametrize("name", CASES)
def test_the_rest_pose_is_the_pose_the_shapes_are_bound_in(name: str, written: dict[str, Any]) -> None:
    for clip, file in zip(_figure(CASES[name]()).clips(), written["cases"][name]["files"], strict=True):
        for tree, told in zip(clip.trees(), file["trees"].values(), strict=True):
            R, p = tree.rest
            for M in (np.array(told["rest"]), np.array(told["bind"])):
                np.testing.assert_allclose(M[:, 3, :3], p, atol=1e-12)
                np.testing.assert_allclose(np.swapaxes(M[:, :3, :3], 1, 2), R, atol=1e-12)


def test_a_file_tells_its_axis_unit_rate_span_and_default_prim(written: dict[str, Any]) -> None:
    (file,) = written["cases"]["person"]["files"]
    told = {key: file[key] for key in ("up", "metres", "span", "default")}
    assert told == {"up": "Z", "metres": 1, "span": [0, 59], "default": "/figure"}
    assert file["rate"] == pytest.approx([30, 30])
    assert Path(file["path"]).read_bytes().startswith(b"PXR-USDC")
    assert file["trees"]["hips"]["joints"][:3] == ["hips", "hips/chest", "hips/chest/head"]
    assert [written["cases"][name]["files"][0]["up"] for name in ("y up", "x down")] == ["Y", "Z"]


def test_trees_are_skeletons_of_one_file_and_segments_are_files(written: dict[str, Any]) -> None:
    (file,) = written["cases"]["forest"]["files"]
    assert list(file["trees"]) == ["hips", "prop"]
    files = written["cases"]["segments"]["files"]
    assert [Path(file["path"]).name for file in files] == ["segments.usd", "segments-2.usd"]
    assert [file["span"] for file in files] == [[0, 39], [0, 19]]


def test_lost_frames_keep_their_place_in_time_and_unknown_poses_are_held_and_told(written: dict[str, Any]) -> None:
    case = written["cases"]["gaps"]
    assert {"pose-held", "gap-left"} <= set(case["findings"])
    assert "resampled" not in case["findings"]
    (file,) = case["files"]
    assert file["rate"] == pytest.approx([30, 30])
    assert file["trees"]["hips"]["codes"] == [*range(70), *range(72, 90)]


def test_names_become_identifiers_and_that_is_told(written: dict[str, Any]) -> None:
    case = written["cases"]["names"]
    assert "renamed-bones" in case["findings"]
    (tree,) = case["files"][0]["trees"].values()
    leaves = [joint.rpartition("/")[2] for joint in tree["joints"]]
    assert {"b1_skeleton", "skeleton", "a_b", "a_b_2"} <= set(leaves)
    assert tree["bodies"][leaves.index("b1_skeleton")] == "1 skeleton"


def test_blender_puts_every_joint_where_condyle_does_and_the_shapes_follow(written: dict[str, Any]) -> None:
    names, frames = ["person", "y up", "chain", "forest"], [0, 1, 30, 59]
    files = [written["cases"][name]["files"][0]["path"] for name in names]
    told = ask("blender", BLENDER_POSES, {"files": files, "frames": frames})
    for name, seen in zip(names, told, strict=True):
        figure = _figure(CASES[name]()).turn_up("z")  # which Blender turns every scene to
        R, p = figure.world
        tips = p + (R @ figure.tip[..., None])[..., 0]
        assert seen["rigs"] == len(figure.free)
        assert seen["span"] == [0, 59]
        assert {"links", "joints", "sensors"} <= {colour.partition(".")[0] for colour in seen["colours"]}
        for frame, one in zip(frames, seen["frames"], strict=True):
            found = np.array([one["joints"][bone] for bone in figure.names])
            np.testing.assert_allclose(found, p[frame], atol=BLENDER)
            around = np.concatenate([p[frame], tips[frame]])
            assert (np.array(one["low"]) < around.min(axis=0) + 1e-5).all()
            assert (np.array(one["high"]) > around.max(axis=0) - 1e-5).all()
            assert (np.abs(np.array(one["low"]) - around.min(axis=0)) < 0.35).all(), "the shapes are on the figure"


def test_without_usd_core_one_sentence_tells_what_to_install_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usd, "find_spec", lambda name: None)
    with pytest.raises(CondyleError, match=r'pip install "condyle\[usd\]"') as error:
        write_figure(CASES["chain"](), [usd.FORMAT], tmp_path / "new")
    assert error.value.code == "missing-extra"
    assert not (tmp_path / "new").exists()
