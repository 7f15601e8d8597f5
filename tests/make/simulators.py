"""Figures in motion, exported and given to simulation programs: what each says about every sensor at some frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle.io.exports.figure import find_world_turn
from condyle.io.exports.scene import FigureFormat, Scene
from condyle.model.motion import forward, on_axes
from condyle.model.take import Take
from condyle.simulate import Disturbances, chain, human, linkage, prop, simulate, together
from tests.make import machines, moving
from tests.make.clients import ask

FRAMES = (0, 1, 17, 44)

# Each script answers, for every group of files, {name of a link: [[x, y, z, nine of the matrix by rows], one a frame]}.
MJCF = """
import mujoco, numpy
found = []
for group in facts["groups"]:
    model = mujoco.MjModel.from_xml_path(group[0])
    data, told = mujoco.MjData(model), {}
    qpos = numpy.loadtxt(group[1], delimiter=",", skiprows=1, ndmin=2, encoding="utf-8")[:, 1:]
    for frame in facts["frames"]:
        data.qpos[:] = qpos[frame]
        mujoco.mj_forward(model, data)
        for k in range(1, model.nbody):
            told.setdefault(model.body(k).name, []).append([*data.xpos[k], *data.xmat[k]])
        for k in range(model.nsite):
            told.setdefault(model.site(k).name, []).append([*data.site_xpos[k], *data.site_xmat[k]])
    found.append(told)
answer(found)
"""
URDF_IN_MUJOCO = """
import csv, mujoco
found = []
for group in facts["groups"]:
    told = {}
    for path, table in zip(group[::2], group[1::2]):
        model = mujoco.MjModel.from_xml_path(path)
        data = mujoco.MjData(model)
        rows = list(csv.DictReader(open(table)))
        for frame in facts["frames"]:
            for k in range(model.njnt):
                name, at = model.joint(k).name, model.jnt_qposadr[k]
                cells = [name + "_" + part for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]
                cells = cells if model.jnt_type[k] == mujoco.mjtJoint.mjJNT_FREE else [name]
                data.qpos[at : at + len(cells)] = [float(rows[frame][cell]) for cell in cells]
            mujoco.mj_forward(model, data)
            for k in range(1, model.nbody):
                told.setdefault(model.body(k).name, []).append([*data.xpos[k], *data.xmat[k]])
    found.append(told)
answer(found)
"""
URDF_IN_PINOCCHIO = """
import csv, pinocchio
found = []
for group in facts["groups"]:
    told = {}
    for path, table in zip(group[::2], group[1::2]):
        model = pinocchio.buildModelFromUrdf(path)
        data, rows = model.createData(), list(csv.DictReader(open(table)))
        for frame in facts["frames"]:
            q = pinocchio.neutral(model)
            for k in range(1, model.njoints):
                name, at = model.names[k], model.idx_qs[k]
                cells = [name + "_" + part for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
                cells = cells if model.nqs[k] == 7 else [name]
                q[at : at + len(cells)] = [float(rows[frame][cell]) for cell in cells]
            pinocchio.framesForwardKinematics(model, data, q)
            for k, one in enumerate(model.frames):
                if one.type == pinocchio.FrameType.BODY:
                    pose = data.oMf[k]
                    told.setdefault(one.name, []).append([*pose.translation, *pose.rotation.ravel()])
    found.append(told)
answer(found)
"""
OSIM = """
import opensim
opensim.Logger.setLevelString("warn")
found = []
for group in facts["groups"]:
    model = opensim.Model(group[0])
    model.initSystem()
    states = opensim.StatesTrajectory.createFromStatesStorage(model, opensim.Storage(group[1]), True, True)
    told = {}
    def tell(name, frame, state):
        pose = frame.getTransformInGround(state)
        p, R = pose.p(), pose.R().asMat33()
        told.setdefault(name, []).append([p[i] for i in range(3)] + [R.get(i, j) for i in range(3) for j in range(3)])
    for row in facts["frames"]:
        state = states[row]
        model.realizePosition(state)
        for body in model.getBodyList():
            tell(body.getName(), body, state)
            sensor = opensim.PhysicalOffsetFrame.safeDownCast(body.getComponent(body.getName() + "_sensor"))
            tell(sensor.getName(), sensor, state)
        for k in range(model.getMarkerSet().getSize()):
            marker = model.getMarkerSet().get(k)
            p = marker.getLocationInGround(state)
            told.setdefault("marker " + marker.getName(), []).append([p[i] for i in range(3)])
    found.append(told)
answer(found)
"""


@dataclass(frozen=True, eq=False)
class Case:
    scene: Scene

    def expected(self, up: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """R (f, b, 3, 3) and p (f, b, 3) [m] of the sensors, in the figure's order, by `forward` and nothing else."""
        scene, figure = self.scene, self.scene.figure_on_axes
        poses = forward(scene.skeleton, on_axes(scene.skeleton, scene.motion)).select(figure.bodies)
        W = find_world_turn(figure.up, up)
        return W @ poses.R_world_body[list(FRAMES)], poses.p_world_body[list(FRAMES)] @ W.T


def cases() -> dict[str, Case]:
    """What every program is asked about."""
    walk = simulate(human(), "walk", seconds=2, rate=30)
    hard = [
        "world",
        "头",
        "ground",
        "a b",
        "a_b",
        "<&\"'>",
        "-x=1",
        "base",
        "名 前",
        "é",
        "a/b",
        "..",
        "3",
        "\U0001f9b4",
        "*+",
    ]
    hostile = dict(zip(walk.take.names, hard, strict=True))
    hinged = moving.moving(simulate(hinged_human(), "walk", seconds=2, rate=30, seed=3))
    at_foot = moving.rooted(hinged.skeleton, "l_foot")
    stand = moving.links(("ball", "hinge", "rigid", "hinge"), seconds=2)
    forest = together([walk, simulate(chain(("hinge",)), "exercise", seconds=2, rate=30), prop(seconds=2, rate=30)])
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    rough = simulate(chain(("hinge", "ball", "hinge")), "exercise", seconds=10, rate=30, disturbances=noise).take
    fitted, door = condyle.fit(rough).skeleton, _door()
    hung = condyle.fit(door, world=True).skeleton
    found = {
        "person": moving.moving(walk),
        "linkage": moving.moving(simulate(linkage(), "exercise", seconds=2, rate=30)),
        "chain": stand,
        "knees from a foot": moving.Moving(at_foot, hinged.take, moving.play(at_foot, hinged.take)),
        "forest": moving.moving(forest),
        "fitted with noise": moving.Moving(fitted, rough, moving.play(fitted, rough)),
        "door in the room": moving.Moving(hung, door, moving.play(hung, door)),
    }
    scenes = {name: Scene(one.skeleton, one.motion, one.take) for name, one in found.items()}
    named = moving.moving(walk, hostile)
    scenes["hostile names"] = Scene(named.skeleton, named.motion, named.take, "bodies")
    scenes["up is -x"] = replace(scenes["chain"], up="-x")
    return {name: Case(scene) for name, scene in scenes.items()}


@dataclass(frozen=True, eq=False)
class MachineCase(Case):
    """A machine whose sensors are expected where they were simulated."""

    def expected(self, up: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        figure, take = self.scene.figure_on_axes, self.scene.take
        assert take is not None
        poses = take.select(figure.bodies)
        W = find_world_turn(figure.up, up)
        return W @ poses.R_world_body[list(FRAMES)], poses.p_world_body[list(FRAMES)] @ W.T


def machine_cases() -> dict[str, Case]:
    """Exact machines with sliders, threads and universal joints, hung on their base and on their other end."""
    found = {}
    for name in ("scara", "universal", "screw"):
        for root in (None, "link2"):
            fit = machines.fitted(name, 0.0, root=root)
            found[f"{name} from {root}"] = MachineCase(Scene(fit.skeleton, fit.motion, fit.take))
    return found


def _door() -> Take:
    """One body on a hinge in the room."""
    take = simulate(chain(("hinge",)), "exercise", seconds=10, rate=30).take
    R, p = take.R_world_body, take.p_world_body
    to_first = np.swapaxes(R[:, :1], -1, -2)
    return Take(("door",), take.time, to_first @ R[:, 1:], (to_first @ (p[:, 1:] - p[:, :1])[..., None])[..., 0])


def hinged_human() -> Any:
    """The human with hinges at knees and elbows."""
    figure = human()
    bends = [name.endswith(("shank", "forearm")) for name in figure.names]
    kind = tuple("hinge" if bend else "ball" for bend in bends)
    return replace(figure, kind=kind, axis=np.tile([0.0, 1.0, 0.0], (len(kind), 1)))


def scaled(one: moving.Moving, scale: float) -> Scene:
    """The same of another size."""
    joints = tuple(
        replace(joint, p_child_joint=scale * joint.p_child_joint, p_parent_joint=scale * joint.p_parent_joint)
        for joint in one.skeleton.joints
    )
    skeleton = replace(one.skeleton, joints=joints)
    return Scene(skeleton, replace(one.motion, p_world_free=scale * one.motion.p_world_free))


def departures(
    form: FigureFormat, client: str, script: str, up: str, found: dict[str, Case], folder: Path
) -> dict[str, tuple[float, float]]:
    """{case: largest distance [m], largest difference of matrix entries} between a program and `forward`."""
    groups, names = [], []
    for number, case in enumerate(found.values()):
        files = form.write(case.scene, folder / f"{number}{form.suffix}").files
        groups.append([str(file) for file in files])
        names.append(sensors_of(form, case.scene))
    told = ask(client, script, {"groups": groups, "frames": list(FRAMES)})
    result = {}
    for (label, case), sensors, poses in zip(found.items(), names, told, strict=True):
        R, p = case.expected(up)
        seen = np.array([poses[name] for name in sensors]).swapaxes(0, 1)
        off = np.linalg.norm(seen[..., :3] - p, axis=-1).max()
        result[label] = float(off), float(np.abs(seen[..., 3:].reshape(R.shape) - R).max())
    return result


def sensors_of(form: FigureFormat, scene: Scene) -> list[str]:
    """What the sensors are called in a file, in the figure's order."""
    from condyle.io.exports import mjcf, osim, urdf
    from condyle.io.exports.mechanism import build_mechanism

    module = {"mjcf": mjcf, "urdf": urdf, "osim": osim}[form.name]
    reserved = {"mjcf": ("world",), "urdf": ("world", "base"), "osim": ("ground",)}[form.name]
    letters = [getattr(module, f"{form.name.upper()}_{part}") for part in ("LETTERS", "FIRST_LETTER")]
    figure = build_mechanism(scene, "z", *letters, reserved, form.name)
    return [f"{name}_sensor" for name in figure.names]
