from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.io.exports.figure import Figure
from condyle.io.exports.mjcf import write_mjcf
from condyle.io.exports.scene import Scene
from condyle.maths import rotation
from tests.docs.pages import DOCS, blocks
from tests.make import moving, simulators
from tests.make.clients import ask

PLACES = 1e-9  # m
TURNS = 1e-9  # of matrix entries

MODELS = """
import mujoco, numpy
found = []
for path in facts["files"]:
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rest = {model.body(k).name: [*data.xpos[k], *data.xmat[k]] for k in range(1, model.nbody)}
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    first = {model.body(k).name: [*data.xpos[k], *data.xmat[k]] for k in range(1, model.nbody)}
    for _ in range(facts["steps"]):
        mujoco.mj_step(model, data)
    found.append({
        "joints": [model.joint(k).name for k in range(model.njnt)],
        "types": model.jnt_type.tolist(),
        "limited": model.jnt_limited.tolist(),
        "range": model.jnt_range.tolist(),
        "nq": model.nq,
        "gravity": model.opt.gravity.tolist(),
        "rest": rest,
        "first": first,
        "warnings": [int(one.number) for one in data.warning],
        "finite": bool(numpy.isfinite(data.qpos).all()),
        "lowest": float(data.geom_xpos[1:, 2].min() - data.geom("floor").xpos[2]) if facts["steps"] else 0,
    })
answer(found)
"""
PLAYER = """
import contextlib, os, sys, time, types
frames = []
screen = types.ModuleType("mujoco.viewer")
screen.launch_passive = lambda model, data: contextlib.nullcontext(
    types.SimpleNamespace(sync=lambda: frames.append(data.qpos.copy()))
)
sys.modules["mujoco.viewer"], time.sleep = screen, lambda seconds: None
import mujoco
mujoco.viewer = screen
os.chdir(facts["folder"])
exec(facts["code"])
answer(len(frames))
"""


def _scene(one: moving.Moving) -> Scene:
    return Scene(one.skeleton, one.motion, one.take)


def _read(path: Path) -> tuple[list[str], np.ndarray]:
    names = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    return names, np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, encoding="utf-8")


def test_one_body_per_bone_nested_as_the_figure_is_with_a_joint_of_its_kind(tmp_path: Path) -> None:
    scene = _scene(moving.links(("ball", "hinge", "rigid"), seconds=2))
    write_mjcf(scene, tmp_path / "clip.xml")
    root = ET.parse(tmp_path / "clip.xml").getroot()
    figure = scene.figure_on_axes
    bodies = {body.get("name"): body for body in root.iter("body")}
    assert set(bodies) == set(figure.names)
    for k, name in enumerate(figure.names):
        assert [one.get("name") for one in bodies[name].findall("body")] == [
            figure.names[c] for c in figure.children(k)
        ]
        joints = [*bodies[name].findall("joint"), *bodies[name].findall("freejoint")]
        tags = [joint.get("type", joint.tag) for joint in joints]
        assert tags == {"free": ["freejoint"], "ball": ["ball"], "hinge": ["hinge"], "rigid": []}[figure.kind[k]]
        assert len(bodies[name].findall("site")) == 1
    assert root.find("compiler").attrib.items() >= {"angle": "radian", "autolimits": "true"}.items()  # type: ignore[union-attr]


def test_ranges_are_those_of_the_motion(tmp_path: Path) -> None:
    scene = _scene(moving.links(("ball", "hinge"), seconds=2))
    write_mjcf(scene, tmp_path / "clip.xml")
    joints = ET.parse(tmp_path / "clip.xml").getroot().iter("joint")
    ranges = {one.get("type"): np.array(one.get("range", "").split(), float) for one in joints}
    names, table = _read(tmp_path / "clip-qpos.csv")
    hinge = table[:, names.index("link2_joint")]
    np.testing.assert_allclose(ranges["hinge"], [hinge.min(), hinge.max()], atol=1e-14)
    turn = 2 * np.arccos(np.clip(np.abs(table[:, names.index("link1_joint_qw")]), 0, 1))
    np.testing.assert_allclose(ranges["ball"], [0, turn.max()], atol=1e-7)


def test_quaternions_in_the_table_do_not_change_sides(tmp_path: Path) -> None:
    write_mjcf(_scene(moving.person("exercise", seconds=8)), tmp_path / "clip.xml")
    names, table = _read(tmp_path / "clip-qpos.csv")
    for start in [k for k, name in enumerate(names) if name.endswith("_qw")]:
        q = table[:, start : start + 4]
        np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=1e-14)
        assert (q[1:] * q[:-1]).sum(axis=1).min() > 0


def test_the_rest_pose_stands_on_the_floor_that_is_under_the_motion(tmp_path: Path) -> None:
    one = moving.person(seconds=2)
    raised = replace(one.motion, p_world_free=one.motion.p_world_free + [0, 0, 5.0], up="z")
    write_mjcf(Scene(one.skeleton, raised), tmp_path / "clip.xml")
    root = ET.parse(tmp_path / "clip.xml").getroot()
    floor = float(root.find("worldbody/geom[@name='floor']").get("pos", "").split()[2])  # type: ignore[union-attr]
    hips = float(root.find("worldbody/body").get("pos", "").split()[2])  # type: ignore[union-attr]
    assert 4.5 < floor < 5.2
    assert hips - floor == pytest.approx(0.9, abs=0.1)


def test_mujoco_has_the_joints_the_rest_pose_and_the_first_frame_of_the_figure(tmp_path: Path) -> None:
    scenes = {name: case.scene for name, case in simulators.cases().items()}
    one = moving.links(("ball", "hinge"), seconds=1)
    scenes["one frame"] = Scene(one.skeleton, one.motion.at(slice(3, 4)))
    scenes["as small as a mite"] = simulators.scaled(one, 3e-3)
    scenes["as large as a crane"] = simulators.scaled(one, 1e3)
    files = []
    for number, scene in enumerate(scenes.values()):
        files.append(tmp_path / f"{number}.xml")
        write_mjcf(scene, files[-1])
    told = ask("mujoco", MODELS, {"files": [str(file) for file in files], "steps": 0})
    for (label, scene), file, model in zip(scenes.items(), files, told, strict=True):
        figure = scene.figure_on_axes.turn_up("z")
        names, table = _read(file.with_name(f"{file.stem}-qpos.csv"))
        assert model["nq"] == len(names) - 1 == table.shape[1] - 1, label
        stems = [name.rsplit("_q", 1)[0].removesuffix("_x").removesuffix("_y").removesuffix("_z") for name in names[1:]]
        assert model["joints"] == list(dict.fromkeys(stems)), label
        assert model["gravity"][:2] == [0, 0]
        assert model["gravity"][2] < 0
        assert all(limited or kind == 0 for limited, kind in zip(model["limited"], model["types"], strict=True))
        _check_pose(figure, model["first"], *(array[0] for array in figure.world))
        R, p = figure.rest
        if len(figure.free) == 1 and figure.bodies[0] != "world":
            lift = np.array(next(iter(model["rest"].values()))[:3]) - p[0]
            assert np.abs(lift[:2]).max() < PLACES
            _check_pose(figure, model["rest"], R, p + lift)


def _check_pose(figure: Figure, told: dict[str, list[float]], R: np.ndarray, p: np.ndarray) -> None:
    """MuJoCo's bodies come depth first, as the figure's bones do where no name was changed."""
    rows = np.array([told.get(name, list(told.values())[k]) for k, name in enumerate(figure.names)])
    size = max(float(np.abs(p).max()), 1.0)
    np.testing.assert_allclose(rows[:, :3], p, atol=PLACES * size)
    np.testing.assert_allclose(rows[:, 3:].reshape(-1, 3, 3), R, atol=TURNS)


def test_the_model_falls_onto_its_floor_and_stays_there(tmp_path: Path) -> None:
    write_mjcf(_scene(moving.person(seconds=2)), tmp_path / "clip.xml")
    (told,) = ask("mujoco", MODELS, {"files": [str(tmp_path / "clip.xml")], "steps": 1500})
    assert told["finite"]
    assert not any(told["warnings"])
    assert told["lowest"] > -0.01


def test_the_turns_of_a_ball_are_from_the_rest_pose(tmp_path: Path) -> None:
    scene = _scene(moving.links(("ball",), seconds=1))
    write_mjcf(scene, tmp_path / "clip.xml")
    names, table = _read(tmp_path / "clip-qpos.csv")
    start = names.index("link1_joint_qw")
    turns = rotation.from_quaternion(table[:, start : start + 4])
    figure = scene.figure_on_axes
    np.testing.assert_allclose(figure.R_parent_bone_rest[1] @ turns, figure.R_parent_bone[:, 1], atol=1e-14)


def test_the_player_on_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    write_mjcf(_scene(moving.person(seconds=1)), tmp_path / "sim" / "walk.xml")
    (code,) = [block.text for block in blocks(DOCS / "exports" / "mjcf.md", "text") if "import" in block.text]
    assert ask("mujoco", PLAYER, {"folder": str(tmp_path), "code": code}) == 30
