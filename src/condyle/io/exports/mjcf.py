"""MJCF: a model for MuJoCo, z up, and its motion as a table of qpos. docs/exports/mjcf.md describes what is written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...maths.arrays import Floats
from ...maths.series import segment_slices
from ._angles import list_moves
from .figure import Figure
from .inertia import weigh_bones
from .mechanism import (
    POSE,
    RANGE_MIN_WIDTH,
    LoopClosure,
    add,
    build_mechanism,
    describe_lost_threads,
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

MJCF_LETTERS, MJCF_FIRST_LETTER = r"[\w.-]", r"\w"
MUJOCO_BOUNDS = {"boundmass": "1e-9", "boundinertia": "1e-12"}  # MuJoCo refuses bodies of less mass than 1e-15

# Colours, a floor and a sky; bones touch the floor and not each other.
MJCF_LOOKS = """<mujoco>
  <default>
    <joint damping="0.1" armature="0.001" />
    <default class="bone"><geom contype="0" conaffinity="1" material="links" /></default>
  </default>
  <visual>
    <headlight ambient="0.3 0.3 0.3" diffuse="0.4 0.4 0.4" specular="0 0 0" />
    <quality shadowsize="4096" />
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="0.9 0.93 0.96" rgb2="0.6 0.7 0.8" width="64" height="64" />
    <texture name="floor" type="2d" builtin="checker" rgb1="0.82 0.82 0.8" rgb2="0.74 0.74 0.72" width="128"
      height="128" />
    <material name="floor" texture="floor" texrepeat="1 1" texuniform="true" />
  </asset>
</mujoco>"""


def write_mjcf(scene: Scene, path: Path) -> Written:
    """The model at `path`, and beside it <stem>-qpos.csv for every segment."""
    figure = build_mechanism(scene, "z", MJCF_LETTERS, MJCF_FIRST_LETTER, ("world",), "MJCF")
    columns, qpos = list_qpos(figure)
    loops = list_loops(scene, figure)
    path.write_bytes(to_mjcf(figure, qpos, make_title(path), scene.body_mass, loops))
    tables = write_tables(path.with_name(f"{path.stem}-qpos.csv"), figure, columns, qpos)
    return Written((path, *tables), (*figure.findings, *describe_lost_threads(scene, "MJCF")))


def list_qpos(figure: Figure) -> tuple[list[str], Floats]:
    """Names and values (n, nq) of MuJoCo's qpos: x y z [m] and a quaternion, a quaternion, angles [rad], ways [m]."""
    columns: list[str] = []
    values = [np.zeros((figure.frames, 0))]
    column = {int(bone): k for k, bone in enumerate(figure.free)}
    for k in figure.depth_first:
        joint, kind = figure.joints[k], figure.kind[k]
        if kind == "free":
            columns += [f"{joint}_{part}" for part in POSE]
            values += [figure.p_world_free[:, column[k]], list_quaternions(figure.R_parent_bone[:, k])]
        elif kind == "ball":
            columns += [f"{joint}_{part}" for part in POSE[3:]]
            values.append(list_quaternions(figure.turns[:, k]))
        else:
            moves = list_moves(figure, k)[1]
            columns += [move.name for move in moves]
            values += [move.values[:, None] for move in moves]
    return columns, np.concatenate(values, axis=1)


def to_mjcf(
    figure: Figure, qpos: Floats, title: str, body_mass: float | None = None, loops: Sequence[LoopClosure] = ()
) -> bytes:
    """The file of a figure that is z up and without unknown poses."""
    root = ET.Element("mujoco", model=title)
    add(root, "compiler", angle="radian", autolimits="true", **MUJOCO_BOUNDS)
    root.extend(ET.fromstring(MJCF_LOOKS))
    for name, colour in PART_COLOURS.items():
        add(root[-1], "material", name=name, rgba=[*colour, 1])
    world = add(root, "worldbody")
    shapes = shape_bones(figure)
    floor, lift = _floor(figure, shapes[0].thick)
    add(world, "light", pos=[0, 0, 4 + floor], dir="0 0 -1", directional="true")
    add(world, "geom", name="floor", type="plane", size="0 0 0.1", pos=[0, 0, floor], material="floor")
    elements: dict[int, ET.Element] = {}
    weights = weigh_bones(figure, shapes, body_mass)
    for k in figure.depth_first:
        elements[k] = _body(elements.get(int(figure.parent[k]), world), figure, k, shapes[k], lift)
        if body_mass is not None:
            mass, centre, inertia = weights[k]
            whole = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
            add(elements[k], "inertial", pos=centre, mass=format_weights(mass), fullinertia=format_weights(whole))
    threads = [pair for k in range(len(figure.names)) if figure.pitch[k] for pair in [list_moves(figure, k)[1]]]
    if loops or threads:
        equality = add(root, "equality")
        _close_loops(equality, elements, loops)
        for turn, along in threads:
            step, start = along.follows or (0.0, 0.0)
            add(equality, "joint", joint1=along.name, joint2=turn.name, polycoef=[start, step, 0, 0, 0])
    keys = add(root, "keyframe")
    for number, rows in enumerate(segment_slices(figure.segment), start=1):
        add(keys, "key", name=f"start_{number}", qpos=qpos[rows.start])
    return to_xml(root, figure.fit_id)


def _close_loops(equality: ET.Element, elements: dict[int, ET.Element], loops: Sequence[LoopClosure]) -> None:
    """Points of two bodies that stay together, as pairs of sites."""
    for number, loop in enumerate(loops, start=1):
        for point, ends in enumerate(zip(loop.points_first, loop.points_second, strict=True), start=1):
            sites = [f"loop_{number}_{point}_{half}" for half in "ab"]
            for site, bone, place in zip(sites, (loop.first, loop.second), ends, strict=True):
                add(elements[bone], "site", name=site, pos=place)
            add(equality, "connect", name=f"loop_{number}_{point}", site1=sites[0], site2=sites[1])


def _body(parent: ET.Element, figure: Figure, k: int, shapes: Shapes, lift: float) -> ET.Element:
    name, kind = figure.names[k], figure.kind[k]
    place = figure.p_parent_bone[k] + [0, 0, lift if kind == "free" else 0]
    turn = list_quaternions(figure.R_parent_bone_rest[[k]])[0]
    body = add(parent, "body", name=name, pos=place, quat=turn)
    if kind == "free":
        add(body, "freejoint", name=figure.joints[k])
    elif kind == "ball":
        reach = max(float(figure.reach[k]), RANGE_MIN_WIDTH)
        add(body, "joint", name=figure.joints[k], type="ball", range=[0, reach])
    else:
        for move in list_moves(figure, k)[1]:
            low, high = widen_range(float(move.values.min()), float(move.values.max()))
            sort = "hinge" if move.sort == "rotational" else "slide"
            add(body, "joint", name=move.name, type=sort, axis=move.axis, range=[low, high])
    for end in shapes.rods:
        add(body, "geom", class_="bone", type="capsule", size=shapes.thick, fromto=[0, 0, 0, *end])
    for centre, radius, colour in shapes.balls:
        add(body, "geom", class_="bone", type="sphere", size=radius, pos=centre, material=colour)
    turn = list_quaternions(figure.R_bone_body[[k]])[0]
    at = {"size": [shapes.box] * 3, "pos": figure.p_bone_body[k], "quat": turn}
    add(body, "site", name=f"{name}_sensor", type="box", **at, material="sensors")
    return body


def _floor(figure: Figure, thick: float) -> tuple[float, float]:
    """Height [m] of the floor, under the lowest bone of the motion; how far the rest pose is lifted to stand on it."""
    low = _lowest(figure, *figure.world)
    R, p = figure.rest
    return low - thick, low - _lowest(figure, R[None], p[None])


def _lowest(figure: Figure, R: Floats, p: Floats) -> float:
    ends = p + (R @ figure.tip[..., None])[..., 0]
    return float(min(p[..., 2].min(), ends[..., 2].min()))


FORMAT = FigureFormat("mjcf", "MuJoCo model, z up, with its motion as qpos", ".xml", write_mjcf)
