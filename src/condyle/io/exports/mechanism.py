"""What the formats of simulation programs share: joints with kinds and ranges, XML and tables of numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...findings import Finding
from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.series import segment_slices
from ...model.skeleton import ONE_AXIS, Joint
from ...model.take import WORLD
from ._angles import count_flexion
from .figure import Figure, legalise
from .gltf import align_signs
from .scene import Scene, number_file

XmlValue = str | Floats | Sequence[float] | float | None  # in XML
LOOP_AXIS_M = 0.1  # m between two points that hold the axis of a hinge which closes a loop
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")  # of a free bone, in tables of a motion
RANGE_MIN_WIDTH = 1e-3  # rad or m: the least width of a range, since programs refuse a range without any


def build_mechanism(scene: Scene, up: str, allowed: str, first: str, reserved: Sequence[str], form: str) -> Figure:
    """The figure on its hinges, this axis up, with legal names, every pose known, and the room itself standing still.

    A body that is the room (`--world`) is a free bone of kind "rigid", fixed where it stands.
    """
    figure = scene.figure_on_axes.turn_up(up).rename(allowed, first, form).fill_gaps()
    return _anchor_room(_avoid_names(replace(figure, axis=count_flexion(figure)), reserved, form))


def _avoid_names(figure: Figure, reserved: Sequence[str], form: str) -> Figure:
    """No bone is called as the format calls something of its own."""
    names = legalise((*reserved, *figure.names), ".")[len(reserved) :]
    changed = [(old, new) for old, new in zip(figure.names, names, strict=True) if old != new]
    if not changed:
        return figure
    pairs = ", ".join(f"{old} to {new}" for old, new in changed)
    text = f"{form} means something of its own by a name, which changed: {pairs}"
    told = Finding("renamed-bones", "info", text, tuple(old for old, _ in changed), count=len(changed))
    return replace(figure, names=names, findings=(*figure.findings, told))


def _anchor_room(figure: Figure) -> Figure:
    kind, rest, place = list(figure.kind), figure.R_parent_bone_rest.copy(), figure.p_parent_bone.copy()
    for column, k in enumerate(figure.free.tolist()):
        R, p = figure.R_parent_bone[:, k], figure.p_world_free[:, column]
        if figure.bodies[k] == WORLD and (R == R[0]).all() and (p == p[0]).all():
            kind[k], rest[k], place[k] = "rigid", R[0], p[0]
    return replace(figure, kind=tuple(kind), R_parent_bone_rest=rest, p_parent_bone=place)


class LoopClosure(NamedTuple):
    """A joint outside the tree that holds throughout: two bones by their numbers, and points that coincide (k, 3) [m],
    in the frame of each. A hinge has two points on its axis.
    """

    first: int
    second: int
    points_first: Floats
    points_second: Floats


def list_loops(scene: Scene, figure: Figure) -> list[LoopClosure]:
    """What closes loops of a figure from the first frame to the last."""
    place = {name: k for k, name in enumerate(figure.bodies)}
    found = []
    for joint in (*scene.skeleton.loops, *_find_opened(scene, figure)):
        start, end = joint.time or (figure.time[0], figure.time[-1])
        whole = start <= figure.time[0] + 1e-9 and end >= figure.time[-1] - 1e-9
        if (
            not whole
            or joint.kind not in ("ball", "universal", *ONE_AXIS)
            or not {joint.child, joint.parent} <= set(place)
        ):
            continue
        halves = []
        for body, p, axis in (
            (joint.child, joint.p_child_joint, joint.axis_child),
            (joint.parent, joint.p_parent_joint, joint.axis_parent),
        ):
            points = [p] if joint.kind not in ONE_AXIS or axis is None else [p, p + LOOP_AXIS_M * axis]
            k = place[body]
            halves.append(np.array(points) @ figure.R_bone_body[k].T + figure.p_bone_body[k])
        found.append(LoopClosure(place[joint.child], place[joint.parent], *halves))
    return found


def _find_opened(scene: Scene, figure: Figure) -> list[Joint]:
    """Joints of the skeleton in whose place a slider holds the figure's tree together."""
    up = [figure.bodies[k] if k >= 0 else None for k in figure.parent.tolist()]
    links = {frozenset(pair) for pair in zip(figure.bodies, up, strict=True)}
    return [joint for joint in scene.skeleton.joints if frozenset((joint.child, joint.parent)) not in links]


def describe_lost_threads(scene: Scene, form: str) -> list[Finding]:
    """Screws that close a loop, which are written as if they only turned."""
    return [
        Finding("loop-lost", "warning", text, (joint.child, joint.parent))
        for joint in scene.skeleton.loops
        if joint.kind == "screw"
        and (
            text := f"{joint.child} and {joint.parent} close a loop by a screw; "
            f"{form} keeps its axis there, and not what it moves along it"
        )
    ]


def list_quaternions(R: Floats) -> Floats:
    """wxyz (n, 4), each on the side of the one before."""
    return align_signs(rotation.to_quaternion(R))


def widen_range(low: float, high: float) -> tuple[float, float]:
    """An observed range, at least RANGE_MIN_WIDTH wide."""
    more = max(RANGE_MIN_WIDTH - (high - low), 0.0) / 2
    return low - more, high + more


def align_axis(direction: Floats, axis: int) -> Floats:
    """(3, 3) whose column `axis` points along a direction."""
    return rotation.find_shortest_arc(np.eye(3)[axis], direction / np.linalg.norm(direction), np.eye(3)[(axis + 1) % 3])


def format_numbers(values: Floats | Sequence[float] | float) -> str:
    """Lengths [m], directions and angles [rad] as XML has them, blanks between, to the 15th decimal."""
    return " ".join(map(repr, (np.round(np.asarray(values, np.float64).ravel(), 15) + 0.0).tolist()))


def format_weights(values: Floats | Sequence[float] | float) -> str:
    """Masses and inertias, of any size, to 9 digits."""
    return " ".join(f"{value:.9g}" for value in np.asarray(values, np.float64).ravel().tolist())


def add(parent: ET.Element, tag: str, text: XmlValue = None, /, **attributes: XmlValue) -> ET.Element:
    """A new element under `parent`; attributes that are None are left out, and `class_` is class."""
    plain = {name.rstrip("_"): _format(value) for name, value in attributes.items()}
    element = ET.SubElement(parent, tag, {name: value for name, value in plain.items() if value is not None})
    element.text = _format(text)
    return element


def _format(value: XmlValue) -> str | None:
    return value if value is None or isinstance(value, str) else format_numbers(value)


def to_xml(root: ET.Element, fit_id: str | None) -> bytes:
    """The document, with the fit that it came from as its first comment."""
    if fit_id is not None:
        root.insert(0, ET.Comment(f" condyle fit {fit_id} "))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def make_title(path: Path) -> str:
    """The file's stem with nothing in it that XML or a program might refuse."""
    return legalise((path.stem,), r"[A-Za-z0-9_.-]")[0]


def write_tables(path: Path, figure: Figure, columns: Sequence[str], values: Floats) -> list[Path]:
    """A CSV per segment: time [s] and these columns (n, c), each number exactly."""
    files = []
    for number, rows in enumerate(segment_slices(figure.segment), start=1):
        table = np.concatenate([figure.time[rows, None], values[rows] + 0.0], axis=1).tolist()
        lines = [",".join(("time", *columns)), *(",".join(map(repr, row)) for row in table)]
        files.append(number_file(path, number))
        files[-1].write_bytes(("\n".join(lines) + "\n").encode("utf-8"))
    return files
