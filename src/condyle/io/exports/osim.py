"""OpenSim: a model (.osim, version 4), y up, and its motion (.sto). docs/exports/osim.md describes both."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...maths.arrays import Floats
from ...maths.euler import find_angles
from ...maths.series import segment_slices
from ...model.values import dataclass
from ._angles import Move, list_moves, name_hinge, split_free
from .figure import Figure
from .inertia import Inertial, weigh_bones
from .mechanism import (
    LoopClosure,
    add,
    align_axis,
    build_mechanism,
    describe_lost_threads,
    format_weights,
    list_loops,
    make_title,
    to_xml,
    widen_range,
)
from .scene import FigureFormat, Scene, Written, number_file
from .shapes import PART_COLOURS, Shapes, shape_bones

OSIM_LETTERS, OSIM_FIRST_LETTER = r"[A-Za-z0-9_]", r"[A-Za-z_]"
OSIM_VERSION = "40000"  # of the document: what OpenSim 4.0 and later read
GRAVITY_M_S2 = 9.80665  # m/s2


@dataclass(frozen=True, eq=False)
class OsimJoint:
    """Type of OpenSim's joint, its coordinates in order, and its frames' axes in parent and bone (3, 3).

    follows  of a screw: along z for each radian of its coordinate [m/rad], and at its zero [m]
    """

    type: str
    coordinates: tuple[Move, ...]
    R_parent_frame: Floats
    p_parent_frame: Floats
    R_bone_frame: Floats
    follows: tuple[float, float] | None = None


def write_osim(scene: Scene, path: Path) -> Written:
    """The model at `path`, and its coordinates over time as <stem>.sto for every segment."""
    figure = build_mechanism(scene, "y", OSIM_LETTERS, OSIM_FIRST_LETTER, ("ground",), "OpenSim")
    joints = [_joint(figure, k) for k in range(len(figure.names))]
    path.write_bytes(to_osim(figure, joints, make_title(path), scene.body_mass, list_loops(scene, figure)))
    files = [path]
    coordinates = [one for joint in joints for one in joint.coordinates]
    for number, rows in enumerate(segment_slices(figure.segment), start=1):
        files.append(number_file(path.with_suffix(".sto"), number))
        files[-1].write_bytes(
            to_sto(figure.time[rows], [(one.name, one.values[rows]) for one in coordinates], figure.fit_id)
        )
    return Written(tuple(files), (*figure.findings, *describe_lost_threads(scene, "OpenSim")))


def to_sto(
    time: Floats, columns: Iterable[tuple[str, Floats]], fit_id: str | None = None, *, degrees: bool = False
) -> bytes:
    """A storage file of coordinates [rad or deg, m] over time [s]."""
    names, values = zip(("time", time), *columns, strict=True)
    unit = f"inDegrees={'yes' if degrees else 'no'}"
    head = ["Coordinates", "version=1", f"nRows={len(time)}", f"nColumns={len(names)}", unit]
    head += [f"condyleFit={fit_id}"] * (fit_id is not None) + ["endheader"]
    rows = ["\t".join(map(repr, row)) for row in (np.stack(values, axis=1) + 0.0).tolist()]
    return ("\n".join([*head, "\t".join(names), *rows]) + "\n").encode("ascii")


def _joint(figure: Figure, k: int) -> OsimJoint:
    name, kind, eye = figure.joints[k], figure.kind[k], np.eye(3)
    rest, place = figure.R_parent_bone_rest[k], figure.p_parent_bone[k]
    if kind == "rigid":
        return OsimJoint("WeldJoint", (), rest, place, eye)
    if kind == "hinge":
        frame = align_axis(figure.axis[k], 2)  # a pin turns about z
        moves = list_moves(figure, k)[1]
        angle = replace(moves[0], name=name_hinge(figure, k, f"{name}_angle"), axis=eye[2])
        if len(moves) == 1:
            return OsimJoint("PinJoint", (angle,), rest @ frame, place, frame)
        return OsimJoint("CustomJoint", (angle,), rest @ frame, place, frame, moves[1].follows)
    if kind == "slider":
        frame = align_axis(figure.axis[k], 0)  # a slider goes along x
        along = replace(list_moves(figure, k)[1][0], name=f"{name}_along")
        return OsimJoint("SliderJoint", (along,), rest @ frame, place, frame)
    if kind in ("ball", "universal"):
        zero, moves = list_moves(figure, k)
        return OsimJoint("CustomJoint", moves, zero, place, eye)
    # A free bone turns about the room's axes, from its rest pose.
    turned = split_free(figure, k)
    p = figure.p_world_free[:, figure.free.tolist().index(k)]
    moves = tuple(Move(f"{name}_t{'xyz'[i]}", "translational", eye[i], p[:, i], float(place[i])) for i in range(3))
    turns = (Move(own, "rotational", turned.axes[i], turned.angles[:, i]) for i, own in enumerate(turned.names))
    return OsimJoint("CustomJoint", (*turns, *moves), turned.zero, np.zeros(3), rest.T)


def to_osim(
    figure: Figure,
    joints: list[OsimJoint],
    title: str,
    body_mass: float | None = None,
    loops: Sequence[LoopClosure] = (),
) -> bytes:
    """The model of a figure that is y up and without unknown poses."""
    root = ET.Element("OpenSimDocument", Version=OSIM_VERSION)
    model = add(root, "Model", name=title)
    add(model, "gravity", [0, -GRAVITY_M_S2, 0])
    add(model, "length_units", "meters")
    add(model, "force_units", "N")
    bodies = add(add(model, "BodySet", name="bodyset"), "objects")
    every = shape_bones(figure)
    for k, weight in enumerate(weigh_bones(figure, every, body_mass)):
        _body(bodies, figure, k, every[k], weight)
    links = add(add(model, "JointSet", name="jointset"), "objects")
    for k, joint in enumerate(joints):
        _add_joint(links, figure, k, joint)
    if loops:
        _close_loops(add(add(model, "ConstraintSet", name="constraintset"), "objects"), figure, loops)
    markers = add(add(model, "MarkerSet", name="markerset"), "objects")
    for k, name in enumerate(figure.names):
        marker = add(markers, "Marker", name=f"{name}_sensor")
        add(marker, "socket_parent_frame", f"/bodyset/{name}")
        add(marker, "location", figure.p_bone_body[k])
        add(marker, "fixed", "true")
    return to_xml(root, figure.fit_id)


def _body(bodies: ET.Element, figure: Figure, k: int, shapes: Shapes, weight: Inertial) -> None:
    name = figure.names[k]
    body = add(bodies, "Body", name=name)
    frames = add(body, "components")
    for number, end in enumerate(shapes.rods, start=1):
        frame = _frame(frames, f"{name}_link_{number}", "..", align_axis(end, 1), end / 2)
        rod = _shape(add(frame, "attached_geometry"), "Cylinder", f"{name}_link_{number}_shape", "links")
        add(rod, "radius", shapes.thick)
        add(rod, "half_height", float(np.linalg.norm(end)) / 2)
    for number, (centre, radius, colour) in enumerate(shapes.balls, start=1):
        frame = _frame(frames, f"{name}_ball_{number}", "..", np.eye(3), centre)
        ball = _shape(add(frame, "attached_geometry"), "Sphere", f"{name}_ball_{number}_shape", colour)
        add(ball, "radius", radius)
    sensor = _frame(frames, f"{name}_sensor", "..", figure.R_bone_body[k], figure.p_bone_body[k])
    box = _shape(add(sensor, "attached_geometry"), "Brick", f"{name}_sensor_shape", "sensors")
    add(box, "half_lengths", [shapes.box] * 3)
    mass, centre, inertia = weight
    add(body, "mass", format_weights(mass))
    add(body, "mass_center", centre)
    add(body, "inertia", format_weights([*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]))


def _frame(parent: ET.Element, name: str, socket: str, R: Floats, p: Floats) -> ET.Element:
    frame = add(parent, "PhysicalOffsetFrame", name=name)
    add(frame, "socket_parent", socket)
    add(frame, "translation", p)
    add(frame, "orientation", find_angles(R[None], "XYZ")[0])  # about the frame's own axes, in this order
    return frame


def _shape(place: ET.Element, kind: str, name: str, colour: str) -> ET.Element:
    shape = add(place, kind, name=name)
    add(shape, "socket_frame", "..")
    add(add(shape, "Appearance"), "color", PART_COLOURS[colour])
    return shape


def _add_joint(links: ET.Element, figure: Figure, k: int, joint: OsimJoint) -> None:
    up = int(figure.parent[k])
    parent = "ground" if up < 0 else figure.names[up]
    path = "/ground" if up < 0 else f"/bodyset/{parent}"
    element = add(links, joint.type, name=figure.joints[k])
    frames = ET.Element("frames")
    for socket, name, body, R, p in (
        ("socket_parent_frame", f"{parent}_offset", path, joint.R_parent_frame, joint.p_parent_frame),
        (
            "socket_child_frame",
            f"{figure.names[k]}_own",
            f"/bodyset/{figure.names[k]}",
            joint.R_bone_frame,
            np.zeros(3),
        ),
    ):
        add(element, socket, name)
        _frame(frames, name, body, R, p)
    if joint.coordinates:
        coordinates = add(element, "coordinates")
        for one in joint.coordinates:
            coordinate = add(coordinates, "Coordinate", name=one.name)
            add(coordinate, "default_value", one.rest)
            add(coordinate, "range", widen_range(float(one.values.min()), float(one.values.max())))
    element.append(frames)
    if joint.type == "CustomJoint":
        _transform(element, joint)


def _close_loops(constraints: ET.Element, figure: Figure, loops: Sequence[LoopClosure]) -> None:
    """Points of two bodies that stay together."""
    for number, loop in enumerate(loops, start=1):
        for point, ends in enumerate(zip(loop.points_first, loop.points_second, strict=True), start=1):
            constraint = add(constraints, "PointConstraint", name=f"loop_{number}_{point}")
            for half, bone in enumerate((loop.first, loop.second), start=1):
                add(constraint, f"socket_body_{half}", f"/bodyset/{figure.names[bone]}")
            for half, place in enumerate(ends, start=1):
                add(constraint, f"location_body_{half}", place)


def _transform(element: ET.Element, joint: OsimJoint) -> None:
    """Turns about the axes in order, after moves along the room's; a screw goes along z with its turn."""
    transform = add(element, "SpatialTransform")
    for sort, slot in (("rotational", "rotation"), ("translational", "translation")):
        own = [(one.name, one.axis, (1.0, 0.0)) for one in joint.coordinates if one.sort == sort]
        if sort == "translational" and joint.follows is not None:
            own = [(joint.coordinates[0].name, np.eye(3)[2], joint.follows)]
        axes = _fill_axes([axis for _, axis, _ in own])
        for i in range(3):
            element = add(transform, "TransformAxis", name=f"{slot}{i + 1}")
            add(element, "coordinates", own[i][0] if i < len(own) else None)
            add(element, "axis", axes[i])
            if i < len(own):
                add(add(element, "LinearFunction", name="function"), "coefficients", own[i][2])
            else:
                add(add(element, "Constant", name="function"), "value", "0")


def _fill_axes(axes: list[Floats]) -> list[Floats]:
    """Three axes: those that are used, and others across them."""
    if not axes:
        return list(np.eye(3))
    if len(axes) == 1:
        frame = align_axis(axes[0], 0)
        return [axes[0], frame[:, 1], frame[:, 2]]
    if len(axes) == 2:
        across = np.cross(axes[0], axes[1])
        return [*axes, across / np.linalg.norm(across)]
    return axes


FORMAT = FigureFormat("osim", "OpenSim model, y up, with its motion", ".osim", write_osim)
