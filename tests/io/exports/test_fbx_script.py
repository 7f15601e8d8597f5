"""The script for Blender: for the GLB beside it, at the recording's rate; run by Blender where that is set up."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import numpy as np

from condyle.io.exports.export import write_figure
from condyle.io.exports.scene import Scene
from condyle.simulate import human, simulate
from tests.make import moving
from tests.make.clients import ask, client

NEAR_M = 1e-4  # of joints in FBX, which Blender writes in single precision, in centimetres
LOOK = """
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.context.scene.render.fps = facts["fps"]
bpy.ops.import_scene.fbx(filepath=facts["file"])
rig = next(one for one in bpy.data.objects if one.type == "ARMATURE")
start = int(rig.animation_data.action.frame_range[0])
told = {}
for frame in facts["frames"]:
    bpy.context.scene.frame_set(start + frame)
    for bone in rig.pose.bones:
        told.setdefault(bone.name, []).append(list((rig.matrix_world @ bone.matrix).translation))
answer({"bones": told, "frames": list(rig.animation_data.action.frame_range)})
"""


def scene() -> Scene:
    one = moving.moving(simulate(human(), "walk", seconds=1, rate=30, seed=3))
    return Scene(one.skeleton, one.motion, one.take, "mixamo")


def test_the_script_is_for_the_glb_of_its_name(tmp_path: Path) -> None:
    files = write_figure(scene(), "glb,fbx-script", tmp_path, "walk").files
    assert [file.name for file in files] == ["walk.glb", "walk.fbx.py"]
    text = files[1].read_text()
    ast.parse(text)
    assert "with_name('walk.glb')" in text
    assert "fps, scene.render.fps_base = 30, " in text


def test_blender_makes_fbx_whose_bones_are_where_the_figure_has_them(tmp_path: Path) -> None:
    python = client("blender")
    made = scene()
    files = write_figure(made, "glb,fbx-script", tmp_path, "walk").files
    subprocess.run([str(python), str(files[1])], check=True, capture_output=True, timeout=300)
    frames = [0, 7, 29]
    told = ask("blender", LOOK, {"file": str(tmp_path / "walk.fbx"), "fps": 30, "frames": frames})
    figure = made.figure.turn_up("z")
    assert set(told["bones"]) >= set(figure.names)
    for k, name in enumerate(figure.names):
        off = np.array(told["bones"][name]) - figure.world[1][frames, k]
        assert np.abs(off).max() < NEAR_M, name


def test_without_its_glb_the_script_says_so(tmp_path: Path) -> None:
    python = client("blender")
    (script,) = write_figure(scene(), "fbx-script", tmp_path, "walk").files
    done = subprocess.run([str(python), str(script)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "walk.glb is not there; write it with condyle export --to glb" in done.stderr
