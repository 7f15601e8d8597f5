from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.io.exports._angles import split_joint
from condyle.io.exports.scene import Scene
from condyle.io.exports.urdf import Robot, find_roll_pitch_yaw, write_urdf
from condyle.maths import rotation
from condyle.maths.euler import find_angles
from tests.docs.pages import DOCS, blocks
from tests.make import moving, simulators
from tests.make.clients import ask

PLACES = 1e-9  # m
TURNS = 1e-9  # of matrix entries

MUJOCO_AT_ZERO = """
import mujoco
found = []
for path in facts["files"]:
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found.append({
        "poses": {model.body(k).name: [*data.xpos[k], *data.xmat[k]] for k in range(1, model.nbody)},
        "limits": {model.joint(k).name: model.jnt_range[k].tolist() for k in range(model.njnt)},
        "mass": model.body_mass[1:].tolist(),
        "shapes": model.ngeom,
    })
answer(found)
"""
PINOCCHIO_AT_ZERO = """
import pinocchio
found = []
for path in facts["files"]:
    model = pinocchio.buildModelFromUrdf(path)
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, pinocchio.neutral(model))
    poses = {}
    for k, one in enumerate(model.frames):
        if one.type == pinocchio.FrameType.BODY:
            poses[one.name] = [*data.oMf[k].translation, *data.oMf[k].rotation.ravel()]
    limits = {}
    for k in range(1, model.njoints):
        at = model.idx_qs[k]
        if model.nqs[k] == 1:
            limits[model.names[k]] = [model.lowerPositionLimit[at], model.upperPositionLimit[at]]
    found.append({"poses": poses, "limits": limits, "mass": [one.mass for one in model.inertias][1:]})
answer(found)
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


def _table(path: Path) -> dict[str, np.ndarray]:
    names = path.read_text().split("\n", 1)[0].split(",")
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2).T, strict=True))


def test_every_link_but_the_world_is_the_child_of_one_joint_and_names_are_those_that_ros_allows(tmp_path: Path) -> None:
    for label, case in simulators.cases().items():
        for file in write_urdf(case.scene, tmp_path / f"{label.replace(' ', '-')}.urdf").files:
            if file.suffix != ".urdf":
                continue
            root = ET.parse(file).getroot()
            links = [link.get("name", "") for link in root.findall("link")]
            joints = [joint.get("name", "") for joint in root.findall("joint")]
            children = [one.get("link") for one in root.findall("joint/child")]
            parents = [one.get("link") for one in root.findall("joint/parent")]
            assert len(set(links)) == len(links)
            assert len(set(joints)) == len(joints)
            assert sorted(children) == sorted(set(links) - {"world"})  # type: ignore[type-var]
            assert set(parents) <= set(links)
            assert all(name.isascii() and name.isidentifier() for name in links + joints), label


def test_a_ball_is_three_hinges_whose_limits_are_the_angles_of_the_motion(tmp_path: Path) -> None:
    scene = _scene(moving.links(("ball", "hinge", "rigid"), seconds=2))
    write_urdf(scene, tmp_path / "clip.urdf")
    root = ET.parse(tmp_path / "clip.urdf").getroot()
    types = {joint.get("name"): joint.get("type") for joint in root.findall("joint")}
    assert types["link0_free"] == "floating"
    assert types["link3_joint"] == "fixed"
    turning = [name for name, kind in types.items() if kind == "revolute"]
    assert turning == ["link1_joint_rx", "link1_joint_rz", "link1_joint_ry", "link2_joint"]
    table = _table(tmp_path / "clip-joint-states.csv")
    assert list(table)[8:] == turning
    for joint in root.findall("joint"):
        if joint.get("type") == "revolute":
            limit = joint.find("limit")
            assert limit is not None
            angle = table[joint.get("name", "")]
            assert float(limit.get("lower", "")) == pytest.approx(angle.min(), abs=1e-14)
            assert float(limit.get("upper", "")) == pytest.approx(angle.max(), abs=1e-14)
            assert np.abs(np.diff(angle)).max() < 0.3


def test_a_forest_is_a_file_with_a_table_for_every_tree(tmp_path: Path) -> None:
    written = write_urdf(simulators.cases()["forest"].scene, tmp_path / "clip.urdf")
    names = [file.name for file in written.files]
    roots = ["hips", "b_link0", "c_prop"]
    assert names == [f"clip-{root}{end}" for root in roots for end in (".urdf", "-joint-states.csv")]


def test_names_that_are_made_up_do_not_meet_those_of_bones() -> None:
    names = {"link0": "a_joint", "link1": "base_a", "link2": "a_joint_sensor", "link3": "a_joint_sensor_first"}
    world = simulators.simulate(simulators.chain(("hinge", "ball", "ball")), "exercise", seconds=1)
    one = moving.moving(world, names)
    robot = Robot(Scene(one.skeleton, one.motion, None, "bodies").figure_on_axes.turn_up("z"))
    links = [*robot.figure.names, *robot.sensor, *(name for pair in robot.between.values() for name in pair)]
    joints = [robot.stands, *(name for own in robot.joint.values() for name in own)]
    assert len(set(links)) == len(links) == 4 + 4 + 4
    assert len(set(joints)) == len(joints) == 1 + 1 + 1 + 6


def test_roll_pitch_and_yaw_turn_about_the_fixed_axes(rng: np.random.Generator) -> None:
    for R in rotation.random(rng, (20,)):
        angles = find_roll_pitch_yaw(R)
        np.testing.assert_allclose(rotation.from_euler(angles, "XYZ", extrinsic=True), R, atol=1e-14)
    assert find_angles(np.eye(3)[None], "ZYX").tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(("client", "script"), [("mujoco", MUJOCO_AT_ZERO), ("pinocchio", PINOCCHIO_AT_ZERO)])
def test_at_zero_the_figure_has_its_rest_pose_with_hanging_arms_over_the_origin(
    client: str, script: str, tmp_path: Path
) -> None:
    links = moving.links(("ball", "hinge", "rigid"), seconds=2)
    scenes = [_scene(moving.person(seconds=2)), _scene(links), simulators.scaled(links, 3e-3)]
    files = [str(write_urdf(scene, tmp_path / f"{k}.urdf").files[0]) for k, scene in enumerate(scenes)]
    for scene, file, told in zip(scenes, files, ask(client, script, {"files": files}), strict=True):
        figure = scene.figure_on_axes.turn_up("z")
        zero = [
            split_joint(figure, k).zero if kind == "ball" else figure.R_parent_bone_rest[k]
            for k, kind in enumerate(figure.kind)
        ]
        R, p = replace(figure, R_parent_bone_rest=zero).rest
        poses = np.array([told["poses"][name] for name in figure.names])
        np.testing.assert_allclose(poses[:, :3], p - p[0], atol=PLACES)
        np.testing.assert_allclose(poses[:, 3:].reshape(-1, 3, 3), R, atol=TURNS)
        assert min(told["mass"]) > 0
        table = _table(Path(file.replace(".urdf", "-joint-states.csv")))
        for joint, (low, high) in told["limits"].items():
            if joint in table:
                assert low == pytest.approx(table[joint].min(), abs=1e-14)
                assert high == pytest.approx(table[joint].max(), abs=1e-14)
        assert len(set(told["limits"]) & set(table)) == len(table) - 8
        if client == "mujoco":
            assert told["shapes"] == len(ET.parse(file).getroot().findall("link/visual"))


def test_the_player_on_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    write_urdf(_scene(moving.person(seconds=1)), tmp_path / "sim" / "walk.urdf")
    (code,) = [block.text for block in blocks(DOCS / "exports" / "urdf.md", "text") if "import" in block.text]
    assert ask("pinocchio", PLAYER, {"folder": str(tmp_path), "code": code}) == 30
