"""Blender's extension opens the folder of a fit as condyle has it, and follows a session."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle._version import __version__
from condyle.maths import rotation
from condyle.simulate import Disturbances, SensorSlip, human, simulate
from tests.make import PROJECT
from tests.make.clients import ask

BLENDER = PROJECT / "blender"
EXACT_M = 1e-5  # Blender keeps single precision
SLIP = SensorSlip("l_shank", 11.0, (0.03, 0.02, 0.0))
IMPORT = """
import os, sys
sys.path.insert(0, facts["zip"])
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
import condyle_figure
condyle_figure.register()
"""
OPEN = (
    IMPORT
    + """
assert bpy.ops.import_scene.condyle(filepath=facts["folder"]) == {"FINISHED"}
scene, objects = bpy.context.scene, bpy.data.objects
armature = next(one for one in objects if one.type == "ARMATURE")
frames = []
for frame in facts["frames"]:
    scene.frame_set(frame + 1)
    frames.append({
        "heads": {bone.name: list(armature.matrix_world @ bone.head) for bone in armature.pose.bones},
        "balls": {one.name[6:]: list(one.matrix_world.translation) for one in objects if one.name.startswith("joint ")},
        "sensors": {one.name[7:]: [list(row) for row in one.matrix_world] for one in objects if one.type == "EMPTY"},
    })
scene.frame_set(1)
bpy.context.view_layer.objects.active = armature
condyle_figure.show_frame(facts["live"])
bpy.context.view_layer.update()
answer({
    "live": {bone.name: list(armature.matrix_world @ bone.head) for bone in armature.pose.bones},
    "frames": frames,
    "rate": scene.render.fps / scene.render.fps_base,
    "end": scene.frame_end,
    "markers": [[one.name, one.frame] for one in scene.timeline_markers],
    "colours": {one.name[6:]: list(one.color) for one in objects if one.name.startswith("joint ")},
    "halves": {one.name[6:]: one["half_of_95_percent_interval_mm"] for one in objects if one.name.startswith("joint ")},
    "parents": {bone.name: bone.parent.name if bone.parent else None for bone in armature.data.bones},
})
sys.stdout.flush(); os._exit(0)
"""
)
FOLLOW = (
    IMPORT
    + """
import time
bpy.context.scene.condyle_address = facts["address"]
assert bpy.ops.condyle.follow() == {"FINISHED"}
seen, until = [], time.monotonic() + 80
def enough():  # joints are there once the session was solved
    return len(seen) > 2 and any(name.startswith("live joint ") for name in seen[-1])
while not enough() and time.monotonic() < until and condyle_figure.follow_tick() is not None:
    bpy.context.view_layer.update()
    live = {one.name: list(one.matrix_world.translation) for one in bpy.data.objects if one.name.startswith("live ")}
    if live and live not in seen:
        seen.append(live)
    time.sleep(0.05)
bpy.ops.condyle.leave()
answer(seen)
sys.stdout.flush(); os._exit(0)
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blender") / "fit"
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005, slips=(SLIP,))
    world = simulate(human(), "exercise", seconds=20, rate=30, seed=5, disturbances=noise)
    condyle.fit(world.take).save(place, report=False)
    return place


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension as its zip installs it."""
    place = tmp_path_factory.mktemp("extension")
    subprocess.run([sys.executable, BLENDER / "make_zip.py", place / "x.zip"], check=True, capture_output=True)
    with zipfile.ZipFile(place / "x.zip") as packed:
        packed.extractall(place / "condyle_figure")
    return place


def test_the_zip_has_a_manifest_of_this_version_and_all_modules(package: Path) -> None:
    manifest = tomllib.loads((package / "condyle_figure" / "blender_manifest.toml").read_text())
    assert manifest["schema_version"] == "1.0.0"
    assert re.fullmatch(r"[a-z_]+", manifest["id"])
    assert manifest["version"] == __version__.split("+")[0].split(".dev")[0]
    assert all(len(text) <= 64 for text in manifest["permissions"].values())
    modules = {path.name for path in (BLENDER / "condyle_figure").glob("*.py")}
    assert modules <= {path.name for path in (package / "condyle_figure").iterdir()}


def test_the_extension_needs_nothing_but_numpy_and_blender() -> None:
    for path in (BLENDER / "condyle_figure").glob("*.py"):
        roots = set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE))
        assert roots <= {*sys.stdlib_module_names, "numpy", "bpy", "bpy_extras", "bmesh", "mathutils"}


def test_a_fit_opens_with_joints_and_sensors_where_condyle_has_them(folder: Path, package: Path) -> None:
    fit = condyle.load(folder)
    chosen = [0, 100, 450, 599]
    with np.load(folder / "motion.npz") as motion:
        played = rotation.from_quaternion(motion["q_world_played"]), motion["p_world_played"]
        measured = motion["R_world_body"], motion["p_world_body"]
    sent = {
        name: {"p": played[1][300, k].tolist(), "q": rotation.to_quaternion(played[0][300, k]).tolist()}
        for k, name in enumerate(fit.skeleton.bodies)
    }
    facts = {"zip": str(package), "folder": str(folder / "skeleton.json"), "frames": chosen}
    told = ask("blender", OPEN, {**facts, "live": {"time": 10.0, "bodies": sent, "joints": {}}})
    for joint in fit.skeleton.joints:  # a frame of a session turns the same armature
        k = fit.skeleton.bodies.index(joint.child)
        place = played[0][300, k] @ joint.p_child_joint + played[1][300, k]
        np.testing.assert_allclose(told["live"][joint.child], place, atol=EXACT_M)
    for frame, seen in zip(chosen, told["frames"], strict=True):
        for joint in fit.skeleton.joints:
            k = fit.skeleton.bodies.index(joint.child)
            place = played[0][frame, k] @ joint.p_child_joint + played[1][frame, k]
            np.testing.assert_allclose(seen["heads"][joint.child], place, atol=EXACT_M)
            np.testing.assert_allclose(seen["balls"][joint.child], place, atol=EXACT_M)
            sensor = np.array(seen["sensors"][joint.child])
            np.testing.assert_allclose(sensor[:3, 3], measured[1][frame, k], atol=EXACT_M)
            np.testing.assert_allclose(sensor[:3, :3], measured[0][frame, k], atol=EXACT_M)
    assert told["rate"] == pytest.approx(30, rel=1e-3)
    assert told["end"] == fit.take.frames
    assert told["parents"] == {name: fit.skeleton.parent[name] for name in fit.skeleton.bodies}
    halves = {joint.child: 1000 * joint.half_width for joint in fit.skeleton.joints}
    assert told["halves"] == pytest.approx(halves, rel=1e-4)
    worst, best = max(halves, key=halves.__getitem__), min(halves, key=halves.__getitem__)
    assert told["colours"][worst][2] < told["colours"][best][2]  # from blue to red
    ((name, frame),) = told["markers"]
    assert name.startswith("slip: l_shank")
    assert abs(frame / 30 - SLIP.time) < 0.5


def test_a_folder_that_is_none_is_told_in_a_sentence(tmp_path: Path, package: Path) -> None:
    (tmp_path / "skeleton.json").write_text(json.dumps({"format": "other"}))
    script = (
        IMPORT
        + """
try:
    bpy.ops.import_scene.condyle(filepath=facts["folder"])
    answer("")
except RuntimeError as error:
    answer(str(error))
sys.stdout.flush(); os._exit(0)
"""
    )
    told = ask("blender", script, {"zip": str(package), "folder": str(tmp_path / "skeleton.json")})
    assert "is no skeleton.json of condyle; choose the folder that condyle fit -o wrote" in told


@pytest.mark.costly
def test_a_session_moves_bodies_and_joints(package: Path, tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    words = [sys.executable, "-m", "condyle", "live", "demo", "-o", str(tmp_path / "day"), "--no-open"]
    with subprocess.Popen(
        [*words, "--seconds", "90"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as live:
        try:
            address = next(found[0] for line in live.stdout if (found := re.search(r"http://127\S+", line)))
            first, *_, last = ask("blender", FOLLOW, {"zip": str(package), "address": address})
        finally:
            live.terminate()
    assert any(name.startswith("live joint ") for name in last)
    moved = [np.linalg.norm(np.subtract(last[name], place)) for name, place in first.items() if name in last]
    assert max(moved) > 1e-4
