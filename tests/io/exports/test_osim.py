from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports.osim import write_osim
from condyle.io.exports.scene import Scene
from condyle.io.exports.shapes import shape_bones
from condyle.maths import rotation
from condyle.prepare.read import read
from tests.docs.pages import DOCS, blocks
from tests.make import moving, simulators
from tests.make.clients import ask

PLACES = 1e-9  # m
TURNS = 1e-9  # of matrix entries
ANALYSED = 1e-8  # m and matrix entries: the analysis prints eight decimals

AT_REST = """
import opensim
opensim.Logger.setLevelString("warn")
found = []
for path in facts["files"]:
    model = opensim.Model(path)
    state = model.initSystem()
    model.realizePosition(state)
    poses = {}
    for body in model.getBodyList():
        p, R = body.getTransformInGround(state).p(), body.getTransformInGround(state).R().asMat33()
        poses[body.getName()] = [p[i] for i in range(3)] + [R.get(i, j) for i in range(3) for j in range(3)]
    coordinates = {}
    for one in model.getCoordinateSet():
        coordinates[one.getName()] = [one.getRangeMin(), one.getRangeMax()]
    joints = {joint.getName(): joint.getConcreteClassName() for joint in model.getJointList()}
    found.append({"poses": poses, "coordinates": coordinates, "joints": joints, "markers": model.getNumMarkers(),
                  "mass": model.getTotalMass(state), "gravity": [model.getGravity()[i] for i in range(3)]})
answer(found)
"""
ANALYSE = """
import opensim, os
opensim.Logger.setLevelString("warn")
tool = opensim.AnalyzeTool()
tool.setName("clip")
tool.setModelFilename(facts["model"])
tool.setCoordinatesFileName(facts["motion"])
tool.setResultsDir(facts["folder"])
tool.setInitialTime(facts["time"][0])
tool.setFinalTime(facts["time"][1])
kinematics = opensim.BodyKinematics()
kinematics.setStartTime(facts["time"][0])
kinematics.setEndTime(facts["time"][1])
tool.updAnalysisSet().cloneAndAppend(kinematics)
tool.setLowpassCutoffFrequency(-1)
setup = os.path.join(facts["folder"], "setup.xml")
tool.printToXML(setup)
opensim.AnalyzeTool(setup).run()
answer(sorted(os.listdir(facts["folder"])))
"""
PLAYER = """
import os
frames = []
os.chdir(facts["folder"])
exec(facts["code"], {"print": lambda *words: frames.append(words)})
answer(len(frames))
"""


def _scene(one: moving.Moving) -> Scene:
    return Scene(one.skeleton, one.motion, one.take)


def test_joints_have_their_kinds_and_coordinates_the_ranges_of_the_motion(tmp_path: Path) -> None:
    scene = _scene(moving.links(("ball", "hinge", "rigid"), seconds=2))
    write_osim(scene, tmp_path / "clip.osim")
    model = ET.parse(tmp_path / "clip.osim").getroot()
    kinds = {joint.get("name"): joint.tag for joint in model.find("Model/JointSet/objects") or ()}
    assert list(kinds.values()) == ["CustomJoint", "CustomJoint", "PinJoint", "WeldJoint"]
    lines = (tmp_path / "clip.sto").read_text().splitlines()
    names = lines[6].split("\t")
    table = dict(zip(names, np.array([line.split("\t") for line in lines[7:]], float).T, strict=True))
    coordinates = {one.get("name"): one for one in model.iter("Coordinate")}
    assert list(coordinates) == names[1:]
    assert len(names) == 1 + 6 + 3 + 1
    for name, one in coordinates.items():
        low, high = map(float, one.findtext("range", "").split())
        assert low == pytest.approx(table[str(name)].min(), abs=1e-14)
        assert high == pytest.approx(table[str(name)].max(), abs=1e-14)


def test_the_motion_is_a_storage_file_in_radians_that_condyle_tells_from_poses(tmp_path: Path) -> None:
    write_osim(_scene(moving.links(seconds=1)), tmp_path / "clip.osim")
    head = (tmp_path / "clip.sto").read_text().splitlines()[:6]
    assert head == ["Coordinates", "version=1", "nRows=30", "nColumns=11", "inDegrees=no", "endheader"]
    with pytest.raises(CondyleError, match="BodyKinematics") as caught:
        read(tmp_path / "clip.sto")
    assert caught.value.code == "joint-angles"


def test_a_heading_of_any_angle_and_a_bent_hip_stay_clear_of_gimbal_lock(tmp_path: Path) -> None:
    one = moving.person(seconds=4)
    turn = np.linspace(0, 4 * np.pi, one.take.frames)
    W = rotation.from_vector(turn[:, None] * [0.0, 0.0, 1.0])
    take = one.take
    spun = replace(
        take,
        R_world_body=W[:, None] @ take.R_world_body,
        p_world_body=(W[:, None] @ take.p_world_body[..., None])[..., 0],
    )
    write_osim(Scene(one.skeleton, moving.play(one.skeleton, spun), None, up="z"), tmp_path / "clip.osim")
    lines = (tmp_path / "clip.sto").read_text().splitlines()
    names, rows = lines[6].split("\t"), np.array([line.split("\t") for line in lines[7:]], float)
    assert names[1:4] == ["hips_free_ry", "hips_free_rz", "hips_free_rx"]
    assert np.ptp(rows[:, 1]) > 3 * np.pi
    turns = [k for k, name in enumerate(names) if name.split("_")[-1] in ("rx", "ry", "rz")]
    assert np.abs(np.diff(rows[:, turns], axis=0)).max() < 0.3
    assert np.abs(rows[:, turns[1::3]]).max() < np.radians(60)


def test_opensim_has_the_rest_pose_the_kinds_and_the_ranges(tmp_path: Path) -> None:
    scenes = {name: case.scene for name, case in simulators.cases().items()}
    one = moving.links(("ball", "hinge"), seconds=1)
    scenes["one frame"] = Scene(one.skeleton, one.motion.at(slice(3, 4)))
    scenes["as small as a mite"] = simulators.scaled(one, 3e-3)
    files = [str(write_osim(scene, tmp_path / f"{k}.osim").files[0]) for k, scene in enumerate(scenes.values())]
    classes = {"free": "CustomJoint", "ball": "CustomJoint", "hinge": "PinJoint", "rigid": "WeldJoint"}
    for (label, scene), told in zip(scenes.items(), ask("opensim", AT_REST, {"files": files}), strict=True):
        figure = scene.figure_on_axes.turn_up("y")
        kinds = [
            "rigid" if body == "world" and label[:4] == "door" else kind
            for body, kind in zip(figure.bodies, figure.kind, strict=True)
        ]
        assert list(told["joints"].values()) == [classes[kind] for kind in kinds], label
        assert told["markers"] == len(figure.names)
        assert told["gravity"] == [0, -9.80665, 0]
        assert told["mass"] > 0
        assert all(low < high for low, high in told["coordinates"].values())
        if label[:4] != "door":
            R, p = figure.rest
            poses = np.array(list(told["poses"].values()))
            np.testing.assert_allclose(poses[:, :3], p, atol=PLACES, err_msg=label)
            np.testing.assert_allclose(poses[:, 3:].reshape(-1, 3, 3), R, atol=TURNS, err_msg=label)


def test_markers_are_at_the_sensors(tmp_path: Path) -> None:
    case = simulators.Case(_scene(moving.person(seconds=2)))
    files = write_osim(case.scene, tmp_path / "clip.osim").files
    facts = {"groups": [[str(file) for file in files]], "frames": list(simulators.FRAMES)}
    (told,) = ask("opensim", simulators.OSIM, facts)
    _, p = case.expected("y")
    found = np.array([told[f"marker {name}_sensor"] for name in case.scene.figure_on_axes.names]).swapaxes(0, 1)
    np.testing.assert_allclose(found, p, atol=PLACES)


def test_what_opensim_makes_of_the_motion_is_read_back_as_the_same_figure(tmp_path: Path) -> None:
    scene = _scene(moving.person(seconds=4))
    model, motion = write_osim(scene, tmp_path / "clip.osim").files
    figure = scene.figure_on_axes.turn_up("y")
    folder = tmp_path / "analysed"
    folder.mkdir()
    facts = {"model": str(model), "motion": str(motion), "folder": str(folder), "time": figure.time[[0, -1]].tolist()}
    names = ask("opensim", ANALYSE, facts)
    (file,) = [name for name in names if name.endswith("_pos_global.sto")]
    back = read(folder / file).select(figure.names)
    R, p = figure.world
    centre = np.array([shapes.inertial()[1] for shapes in shape_bones(figure)])  # the analysis tells centres of mass
    np.testing.assert_allclose(back.R_world_body, R, atol=ANALYSED)
    np.testing.assert_allclose(back.p_world_body, p + (R @ centre[..., None])[..., 0], atol=ANALYSED)
    found = {frozenset((joint.child, joint.parent)) for joint in condyle.fit(back).skeleton.joints}
    pairs = {frozenset((figure.names[k], figure.names[up])) for k, up in enumerate(figure.parent) if up >= 0}
    assert found == pairs


def test_the_player_on_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    write_osim(_scene(moving.person(seconds=1)), tmp_path / "sim" / "walk.osim")
    (code,) = [block.text for block in blocks(DOCS / "exports" / "osim.md", "text") if "import" in block.text]
    assert ask("opensim", PLAYER, {"folder": str(tmp_path), "code": code}) == 30
