"""URDF: a robot description, z up, and its motion as a table of joint angles. docs/exports/urdf.md describes both."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.euler import find_angles
from ._angles import list_moves, name_hinge
from .figure import Figure, legalise
from .inertia import Inertial, weigh_bones
from .mechanism import (
    POSE,
    LoopClosure,
    add,
    align_axis,
    build_mechanism,
    format_weights,
    list_loops,
    list_quaternions,
    make_title,
    to_xml,
    widen_range,
    write_tables,
)
from .scene import FigureFormat, Scene, Written
from .shapes import PART_COLOURS, Shapes, shape_bones

URDF_LETTERS, URDF_FIRST_LETTER = r"[A-Za-z0-9_]", r"[A-Za-z]"  # what ROS allows
WORLD_LINK, BASE_LINK = "world", "base"
BETWEEN_LINK_SHARE = 1e-3  # of a bone's mass and inertia: of the links between the three hinges of a ball joint
EFFORT_LIMIT_NM, SPEED_LIMIT_RAD_S = (
    "1000",
    "100",
)  # N m and rad/s: a limit must name both, and a recording tells neither


def write_urdf(scene: Scene, path: Path) -> Written:
    """One file per tree: `path`, or with the root's name where there are several. Beside it <stem>-joint-states.csv."""
    figure = build_mechanism(scene, "z", URDF_LETTERS, URDF_FIRST_LETTER, (WORLD_LINK, BASE_LINK), "URDF")
    trees = figure.trees()
    files: list[Path] = []
    for tree in trees:
        own = path if len(trees) == 1 else path.with_name(f"{path.stem}-{tree.names[0]}{path.suffix}")
        robot = Robot(tree)
        own.write_bytes(to_urdf(robot, make_title(own), scene.body_mass if tree.parts[0] else None))
        columns, values = robot.table()
        files += [own, *write_tables(own.with_name(f"{own.stem}-joint-states.csv"), tree, columns, values)]
    return Written(tuple(files), (*figure.findings, *describe_lost_loops(scene, figure)))


def describe_lost_loops(scene: Scene, figure: Figure) -> list[Finding]:
    """The loops that a tree does not hold together."""
    return [
        Finding("loop-lost", "warning", text, (figure.bodies[loop.first], figure.bodies[loop.second]))
        for loop in list_loops(scene, figure)
        if (text := _describe_loss(figure, loop))
    ]


def _describe_loss(figure: Figure, loop: LoopClosure) -> str:
    both = " and ".join(figure.bodies[k] for k in (loop.first, loop.second))
    return f"a URDF is a tree: nothing in it holds {both} together, which close a loop; mjcf and osim do"


class Robot:
    """One tree with the names of its links and joints: a joint of several axes is as many joints, links between."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        moves = {k: list_moves(figure, k) for k in range(len(figure.names))}
        self.moves = {k: own for k, (_, own) in moves.items() if own}
        self.zero = {k: zero for k, (zero, _) in moves.items()}
        several = [k for k, own in self.moves.items() if len(own) > 1]
        single = [name_hinge(figure, k, name) for k, name in enumerate(figure.joints) if k not in several]
        others = [move.name for k in several for move in self.moves[k]]
        joints = iter(legalise((*single, *others, f"{BASE_LINK}_{figure.names[0]}"), "."))
        self.joint: dict[int, tuple[str, ...]] = {
            k: (next(joints),) for k in range(len(figure.names)) if k not in several
        }
        self.joint |= {k: tuple(next(joints) for _ in self.moves[k]) for k in several}
        self.stands = next(joints)
        between = [
            f"{figure.names[k]}_{order}" for k in several for order in ("first", "second")[: len(self.moves[k]) - 1]
        ]
        sensors = [f"{name}_sensor" for name in figure.names]
        links = iter(legalise((WORLD_LINK, BASE_LINK, *figure.names, *sensors, *between), ".")[2 + len(figure.names) :])
        self.sensor = [next(links) for _ in figure.names]
        self.between = {k: tuple(next(links) for _ in self.moves[k][1:]) for k in several}

    def find_parent_link(self, k: int) -> str:
        """What a bone hangs on; a free one stands in the world."""
        up = self.figure.parent[k]
        return self.figure.names[up] if up >= 0 else WORLD_LINK

    def table(self) -> tuple[list[str], Floats]:
        """Names and values (n, c): pose of the base in the world [m], then angles [rad] and ways [m] of the joints."""
        figure = self.figure
        columns: list[str] = []
        values = [np.zeros((figure.frames, 0))]
        for k, kind in enumerate(figure.kind):
            if kind == "free":
                columns += [f"{self.joint[k][0]}_{part}" for part in POSE]
                R = figure.R_parent_bone[:, k] @ figure.R_parent_bone_rest[k].T
                values += [figure.p_world_free[:, 0], list_quaternions(R)]
            elif k in self.moves:
                columns += self.joint[k]
                values.append(np.stack([move.values for move in self.moves[k]], axis=1))
        return columns, np.concatenate(values, axis=1)


def to_urdf(robot: Robot, title: str, body_mass: float | None = None) -> bytes:
    """The file of one tree that is z up and without unknown poses."""
    figure = robot.figure
    root = ET.Element("robot", name=title)
    # For MuJoCo: keep every link and shape, and lift the links without mass over what it refuses.
    compiler = {"fusestatic": "false", "discardvisual": "false", "boundmass": "1e-9", "boundinertia": "1e-12"}
    add(add(root, "mujoco"), "compiler", **compiler)
    for name, colour in PART_COLOURS.items():
        add(add(root, "material", name=name), "color", rgba=[*colour, 1])
    add(root, "link", name=WORLD_LINK)
    shapes = shape_bones(figure)
    weights = weigh_bones(figure, shapes, body_mass)
    for k, name in enumerate(figure.names):
        given_away = len(robot.between.get(k, ())) + (figure.kind[k] == "free")  # to links between
        between = given_away * BETWEEN_LINK_SHARE
        mass, centre, inertia = weights[k]
        _link(root, name, shapes[k], Inertial((1 - between) * mass, centre, (1 - between) * inertia))
        _joints(root, robot, k, weights[k])
        sensor = add(root, "link", name=robot.sensor[k])
        _visual(sensor, "sensors", add(ET.Element("geometry"), "box", size=[2 * shapes[k].box] * 3))
        _joint(root, robot.sensor[k], "fixed", name, robot.sensor[k], figure.R_bone_body[k], figure.p_bone_body[k])
    return to_xml(root, figure.fit_id)


def _joints(root: ET.Element, robot: Robot, k: int, weight: Inertial) -> None:
    """The joint between a bone and its parent, or the world."""
    figure, name, joints = robot.figure, robot.figure.names[k], robot.joint[k]
    rest, place = figure.R_parent_bone_rest[k], figure.p_parent_bone[k]
    kind = figure.kind[k]
    up = robot.find_parent_link(k)
    if kind == "free":
        _weightless(add(root, "link", name=BASE_LINK), weight)
        _joint(root, joints[0], "floating", WORLD_LINK, BASE_LINK, np.eye(3), np.zeros(3))
        _joint(root, robot.stands, "fixed", BASE_LINK, name, rest, np.zeros(3))
    elif kind == "rigid":
        _joint(root, joints[0], "fixed", up, name, rest, place)
    else:
        links = (up, *robot.between.get(k, ()), name)
        for step, (joint, move) in enumerate(zip(joints, robot.moves[k], strict=True)):
            if step:
                _weightless(add(root, "link", name=links[step]), weight)
            R, p = (np.eye(3), np.zeros(3)) if step else (robot.zero[k], place)
            sort = "revolute" if move.sort == "rotational" else "prismatic"
            one = _joint(root, joint, sort, links[step], links[step + 1], R, p)
            _limit(one, move.axis, move.values)
            if move.follows is not None:
                add(one, "mimic", joint=joints[step - 1], multiplier=move.follows[0], offset=move.follows[1])


def _joint(root: ET.Element, name: str, kind: str, parent: str, child: str, R: Floats, p: Floats) -> ET.Element:
    joint = add(root, "joint", name=name, type=kind)
    add(joint, "parent", link=parent)
    add(joint, "child", link=child)
    add(joint, "origin", xyz=p, rpy=find_roll_pitch_yaw(R))
    return joint


def _limit(joint: ET.Element, axis: Floats, values: Floats) -> None:
    low, high = widen_range(float(values.min()), float(values.max()))
    add(joint, "axis", xyz=axis)
    add(joint, "limit", lower=low, upper=high, effort=EFFORT_LIMIT_NM, velocity=SPEED_LIMIT_RAD_S)


def _link(root: ET.Element, name: str, shapes: Shapes, weight: Inertial) -> None:
    link = add(root, "link", name=name)
    _inertial(link, *weight)
    for end in shapes.rods:
        rod = add(ET.Element("geometry"), "cylinder", radius=shapes.thick, length=float(np.linalg.norm(end)))
        _visual(link, "links", rod, align_axis(end, 2), end / 2)
    for centre, radius, colour in shapes.balls:
        _visual(link, colour, add(ET.Element("geometry"), "sphere", radius=radius), np.eye(3), centre)


def _visual(
    link: ET.Element, material: str, shape: ET.Element, R: Floats | None = None, p: Floats | None = None
) -> None:
    visual = add(link, "visual")
    if R is not None and p is not None:
        add(visual, "origin", xyz=p, rpy=find_roll_pitch_yaw(R))
    add(visual, "geometry").append(shape)
    add(visual, "material", name=material)


def _weightless(link: ET.Element, weight: Inertial) -> None:
    mass, _, inertia = weight
    _inertial(link, BETWEEN_LINK_SHARE * mass, np.zeros(3), BETWEEN_LINK_SHARE * np.trace(inertia) / 3 * np.eye(3))


def _inertial(link: ET.Element, mass: float, centre: Floats, inertia: Floats) -> None:
    inertial = add(link, "inertial")
    add(inertial, "origin", xyz=centre)
    add(inertial, "mass", value=format_weights(mass))
    entries = {f"i{'xyz'[i]}{'xyz'[j]}": format_weights(inertia[i, j]) for i in range(3) for j in range(i, 3)}
    add(inertial, "inertia", **entries)


def find_roll_pitch_yaw(R: Floats) -> Floats:
    """Roll, pitch and yaw [rad]: turns about x, y and z of the parent, in this order."""
    return find_angles(R[None], "ZYX")[0, ::-1]


FORMAT = FigureFormat("urdf", "URDF, z up, with its motion as joint angles", ".urdf", write_urdf)
