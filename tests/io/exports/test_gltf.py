from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle._version import __version__
from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.figure import Figure
from condyle.io.exports.gltf import align_signs, to_glb, write_glb
from condyle.io.exports.scene import Scene
from condyle.maths import rotation
from condyle.motion.play import play
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving
from tests.make.clients import ask, ask_node, client

PLACES = 1e-6  # m: single precision, along a chain of bones
TURNS = 1e-6  # of matrix entries
BLENDER = 2e-6  # m: both compute in single precision

POSES = """
import bpy
found = []
for path in facts["files"]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 30
    bpy.ops.import_scene.gltf(filepath=path)
    rigs = [one for one in bpy.data.objects if one.type == "ARMATURE"]
    shapes = next(one for one in bpy.data.objects if one.type == "MESH" and "figure_shapes" in one.name)
    frames = []
    for frame in facts["frames"]:
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        places = {}
        for rig in rigs:
            seen = rig.evaluated_get(graph)
            places |= {bone.name: list((seen.matrix_world @ bone.matrix).translation) for bone in seen.pose.bones}
        skin = shapes.evaluated_get(graph)
        corners = [skin.matrix_world @ vertex.co for vertex in skin.data.vertices]
        low, high = ([pick(corner[axis] for corner in corners) for axis in range(3)] for pick in (min, max))
        frames.append({"joints": places, "low": low, "high": high})
    found.append({"frames": frames, "actions": [action.name for action in bpy.data.actions], "rigs": len(rigs)})
answer(found)
"""
THREE = """
globalThis.self = globalThis;
(async () => {
  const three = await import("three");
  const { GLTFLoader } = await import("three/examples/jsm/loaders/GLTFLoader.js");
  const raw = require("fs").readFileSync(facts.file);
  const data = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength);
  const { scene, animations } = await new GLTFLoader().parseAsync(data, "");
  const mixer = new three.AnimationMixer(scene);
  const action = mixer.clipAction(animations[0]);
  action.clampWhenFinished = true;
  action.setLoop(three.LoopOnce).play();
  let skinned = 0;
  scene.traverse((one) => { skinned += one.isSkinnedMesh ? 1 : 0; });
  const places = facts.times.map((time) => {
    mixer.setTime(time);
    scene.updateMatrixWorld(true);
    const found = {};
    scene.traverse((one) => {
      if (one.isBone) found[one.name] = new three.Vector3().setFromMatrixPosition(one.matrixWorld).toArray();
    });
    return found;
  });
  answer({ places, skinned });
})();
"""
VALIDATE = """
const fs = require("fs"), validator = require("gltf-validator");
(async () => {
  const told = [];
  for (const file of facts) {
    const { issues } = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)));
    told.push({ errors: issues.numErrors, warnings: issues.numWarnings, messages: issues.messages });
  }
  answer(told);
})();
"""


def _forest() -> moving.Moving:
    worlds = [simulate(human(), "walk", seconds=2, rate=30), prop(seconds=2, rate=30)]
    return moving.moving(together(worlds, ["", ""]))


def _gappy() -> moving.Moving:
    one = moving.person(seconds=2)
    hidden = np.zeros((60, 15), bool)
    hidden[20:50, [0, 4]] = True
    take = replace(one.take.mask(hidden), segment=np.arange(60) // 35, time=np.arange(60) ** 1.01 / 30)
    return moving.Moving(one.skeleton, take, play(one.skeleton, take))


CASES = {
    "person": lambda: moving.person(seconds=2),
    "chain": lambda: moving.links(("ball", "hinge", "rigid"), seconds=2),
    "forest": _forest,
    "segments and gaps": _gappy,
    "one body": lambda: moving.moving(prop(seconds=2, rate=30)),
    "one frame": lambda: (lambda one: one._replace(motion=one.motion.at(slice(0, 1))))(moving.links(seconds=2)),
}


def _write(one: moving.Moving, path: Path) -> Figure:
    scene = Scene(one.skeleton, one.motion, one.take)
    write_glb(scene, path)
    return scene.figure


def _content(raw: bytes) -> dict[str, Any]:
    size = struct.unpack("<I", raw[12:16])[0]
    content: dict[str, Any] = json.loads(raw[20 : 20 + size])
    return content


@pytest.mark.parametrize("case", CASES)
def test_reading_a_file_back_gives_the_same_poses(case: str, tmp_path: Path) -> None:
    one = CASES[case]()
    figure = _write(one, tmp_path / "figure.glb").turn_up("y").fill_gaps()
    back = read(tmp_path / "figure.glb")
    expected = figure.take().select(back.names)
    np.testing.assert_allclose(back.p_world_body, expected.p_world_body, atol=PLACES)
    np.testing.assert_allclose(back.R_world_body, expected.R_world_body, atol=TURNS)
    for clip, told in zip(figure.clips(), [back.time[back.segment == k] for k in range(9)], strict=False):
        np.testing.assert_allclose(told, clip.time - clip.time[0], atol=1e-5)
    assert back.up == "y"
    assert back.own is not None
    rows = [figure.names.index(name) for name in back.own.names if figure.parent[figure.names.index(name)] >= 0]
    inside = back.own.parent >= 0
    np.testing.assert_allclose(back.own.p_parent_joint[inside], figure.p_parent_bone[rows], atol=PLACES)


def test_the_parts_of_a_file_say_what_they_are(tmp_path: Path) -> None:
    one = moving.person(seconds=2)
    _write(one, tmp_path / "figure.glb")
    content = _content((tmp_path / "figure.glb").read_bytes())
    assert content["asset"]["generator"] == f"condyle {__version__}"
    assert content["asset"]["extras"]["frame_rate"] == pytest.approx(30)
    thigh = next(node for node in content["nodes"] if node["name"] == "thigh_l")
    assert thigh["extras"] == {"body": "l_thigh", "joint": "hip_l", "kind": "ball"}
    assert [material["name"] for material in content["materials"]] == ["links", "joints", "sensors"]
    assert len(content["animations"]) == 1
    paths = [channel["target"]["path"] for channel in content["animations"][0]["channels"]]
    assert (paths.count("rotation"), paths.count("translation")) == (15, 1)


def test_every_segment_is_an_animation_of_its_own() -> None:
    one = _gappy()
    figure = build_figure(one.skeleton, one.motion).turn_up("y").fill_gaps()
    animations = _content(to_glb(figure))["animations"]
    assert [animation["name"] for animation in animations] == ["take 1", "take 2"]
    assert [animation["extras"]["frames"] for animation in animations] == [35, 25]


def test_gaps_are_told(tmp_path: Path) -> None:
    one = _gappy()
    written = write_glb(Scene(one.skeleton, one.motion), tmp_path / "figure.glb")
    assert "pose-held" in {finding.code for finding in written.findings}


def test_quaternions_take_the_short_way_round() -> None:
    turn = np.linspace(0, 20, 300)
    q = rotation.to_quaternion(rotation.from_vector(turn[:, None] * [0.6, 0, 0.8]))
    assert np.abs(np.diff(q, axis=0)).max() > 1
    steady = align_signs(q)
    assert np.abs(np.diff(steady, axis=0)).max() < 0.1
    np.testing.assert_allclose(rotation.from_quaternion(steady), rotation.from_quaternion(q), atol=1e-12)


def test_the_khronos_validator_finds_nothing(tmp_path: Path) -> None:
    files = []
    for number, case in enumerate(CASES.values()):
        files.append(str(tmp_path / f"{number}.glb"))
        _write(case(), Path(files[-1]))
    for file, told in zip(files, ask_node("gltf", VALIDATE, files), strict=True):
        assert (told["errors"], told["warnings"], told["messages"]) == (0, 0, []), file


def test_three_js_puts_every_joint_where_condyle_does(tmp_path: Path) -> None:
    if not (client("gltf") / "node_modules" / "three").is_dir():
        pytest.skip("three is not beside gltf-validator")
    path = tmp_path / "figure.glb"
    figure = _write(moving.person(seconds=2), path).turn_up("y")
    frames = [0, 7, 59]
    told = ask_node("gltf", THREE, {"file": str(path), "times": (figure.time[frames] - figure.time[0]).tolist()})
    for frame, places in zip(frames, told["places"], strict=True):
        found = np.array([places[name] for name in figure.names])
        np.testing.assert_allclose(found, figure.world[1][frame], atol=PLACES)
    assert told["skinned"] == 3


def test_blender_puts_every_joint_where_condyle_does_and_the_shapes_follow(tmp_path: Path) -> None:
    cases = {name: CASES[name]() for name in ("person", "chain", "forest")}
    files = [str(tmp_path / f"{number}.glb") for number in range(len(cases))]
    figures = [_write(one, Path(file)) for one, file in zip(cases.values(), files, strict=True)]
    frames = [0, 1, 30, 59]
    for figure, told in zip(figures, ask("blender", POSES, {"files": files, "frames": frames}), strict=True):
        R, p = figure.world
        tips = p + (R @ figure.tip[..., None])[..., 0]
        assert told["rigs"] == 1
        for frame, seen in zip(frames, told["frames"], strict=True):
            found = np.array([seen["joints"][name] for name in figure.names])
            np.testing.assert_allclose(found, p[frame], atol=BLENDER)
            around = np.concatenate([p[frame], tips[frame]])
            low, high = around.min(axis=0), around.max(axis=0)
            assert (np.array(seen["low"]) < low + 1e-6).all()
            assert (np.array(seen["high"]) > high - 1e-6).all()
            assert (np.abs(np.array(seen["low"]) - low) < 0.35).all(), "the shapes are on the figure"
