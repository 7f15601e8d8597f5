"""Joints as turns about and moves along single axes. Ball joints are three hinges in a fixed order: that of
`condyle angles` for a person's joints, never the data's.
"""

from __future__ import annotations

import numpy as np

from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.euler import find_angles
from ...model.anatomy import Part
from ...model.angle_conventions import CONVENTIONS, JointRow
from ...model.values import dataclass
from .figure import Figure, find_axis, find_world_turn

BALL_ORDER = "XZY"  # of other joints, with y along the bone: bend, side bend, twist
HEADING_ORDER = "YZX"  # of free bones, in a room with y up: a way round is no lock
_LIMBS: tuple[Part, ...] = ("thigh", "shank", "upper_arm", "forearm", "hand")
_TRUNK: tuple[Part, ...] = ("pelvis", "spine", "chest", "neck", "head")
_X, _Y, _Z = np.eye(3)
AXES_OF: dict[str, Floats] = {  # ISB's X, Y, Z as columns, in the bone's axes at rest
    **dict.fromkeys(_LIMBS, np.stack([_Z, -_Y, _X], axis=1)),
    **dict.fromkeys(_TRUNK, np.stack([_Z, _Y, -_X], axis=1)),
    "foot": np.stack([_Y, _Z, _X], axis=1),
}
# YXY has its singular pose where arms hang, so a shoulder is exported as OpenSim's models have it.
_ROWS: dict[str, JointRow] = {
    **{row.distal: row for row in CONVENTIONS["isb"].joints if row.proximal is not None and row.order == "ZXY"},
    "upper_arm": JointRow(
        "shoulder",
        "upper_arm",
        "chest",
        "ZXY",
        (1, 1, 1),
        ("shoulder_flexion", "shoulder_adduction", "shoulder_rotation"),
        "OpenSim",
    ),
}
_ROWS["spine"] = _ROWS["neck"] = _ROWS["chest"]


@dataclass(frozen=True, eq=False)
class Turning:
    """A ball joint as three hinges: R_parent_bone = zero @ R(axis 1, angle) @ R(axis 2, angle) @ R(axis 3, angle); a
    universal joint as c = two.

    zero    (3, 3)        where all angles are zero: the rest pose, for a shoulder the arm that hangs
    axes    (c, 3)        rows: unit axes in the bone's frame
    names   of the c angles
    angles  (n, c) [rad]
    rest    (c,)   [rad]  angles of the rest pose
    """

    zero: Floats
    axes: Floats
    names: tuple[str, ...]
    angles: Floats
    rest: Floats


@dataclass(frozen=True, eq=False)
class Move:
    """One coordinate of a joint: about or along `axis` (3,) in the bone's frame, values (n,) and at rest [rad or m].

    sort     "rotational" or "translational"
    follows  of the thread of a screw: how far along for each radian of the move before [m/rad], and at its zero [m]
    """

    name: str
    sort: str
    axis: Floats
    values: Floats
    rest: float = 0.0
    follows: tuple[float, float] | None = None


def list_moves(figure: Figure, k: int) -> tuple[Floats, tuple[Move, ...]]:
    """R_parent_bone (3, 3) where all coordinates of a joint are zero, and these; none of a rigid joint."""
    rest, name, axis = figure.R_parent_bone_rest[k], figure.joints[k], figure.axis[k]
    kind = figure.kind[k]
    if kind == "slider":
        return rest, (Move(name, "translational", axis, figure.travel[:, k]),)
    if kind == "hinge":
        turn = Move(name, "rotational", axis, figure.angles[:, k])
        pitch = float(figure.pitch[k])
        if not pitch:
            return rest, (turn,)
        thread = (pitch, float(figure.thread_start[k]))
        return rest, (turn, Move(f"{name}_along", "translational", axis, figure.travel[:, k], thread[1], thread))
    if kind in ("ball", "universal"):
        turned = split_joint(figure, k) if kind == "ball" else _split_universal(figure, k)
        parts = zip(turned.names, turned.axes, turned.angles.T, turned.rest.tolist(), strict=True)
        return turned.zero, tuple(Move(own, "rotational", *part) for own, *part in parts)
    return rest, ()


def _split_universal(figure: Figure, k: int) -> Turning:
    """The two angles of a universal joint from the rest pose, without jumps."""
    first, second, turns = figure.first_axis[k], figure.axis[k], figure.turns[:, k]
    across = np.eye(3) - np.outer(first, first)
    start, now = across @ second, (turns @ second) @ across
    one = np.unwrap(np.arctan2(np.cross(start, now) @ first, now @ start))
    back = np.swapaxes(rotation.from_vector(one[:, None] * first), -1, -2)
    other = np.unwrap(rotation.find_turn(second, back @ turns))
    names = tuple(f"{figure.joints[k]}_{number}" for number in (1, 2))
    return Turning(
        figure.R_parent_bone_rest[k],
        np.stack([first, second]),
        names,
        np.stack([one, other], axis=1),
        np.zeros(2),
    )


def split_joint(figure: Figure, k: int) -> Turning:
    """The three angles of bone k in its parent: ISB's order and signs where a person's joint has them, else bend first.

    Angles go on without jumps through gimbal lock and whole turns.
    """
    rest, R, joint = figure.R_parent_bone_rest[k], figure.R_parent_bone[:, k], figure.joints[k]
    row, side = _ROWS.get(figure.parts[k]), figure.sides[k]
    if row is None:
        letters, names = BALL_ORDER, tuple(f"{joint}_r{letter.lower()}" for letter in BALL_ORDER)
        axes, signs, zero, own = np.eye(3), np.ones(3), rest, np.eye(3)
    else:
        letters, own = row.order, AXES_OF[figure.parts[k]]
        names = tuple(_name_angle(joint, side, str(name).removeprefix(f"{row.joint}_")) for name in row.names)
        signs = np.array(row.signs) * ((1, -1, -1) if side == "l" else (1, 1, 1))  # a left joint is mirrored
        zero = _find_hanging(figure, k) if row.joint == "shoulder" else rest
        axes = own
    angles = find_angles(own.T @ zero.T @ R @ own, letters) * signs
    at_rest = find_angles((own.T @ zero.T @ rest @ own)[None], letters)[0] * signs if zero is not rest else np.zeros(3)
    rows = np.stack([sign * axes[:, "XYZ".index(letter)] for sign, letter in zip(signs, letters, strict=True)])
    return Turning(zero, rows, names, angles, at_rest)


def split_free(figure: Figure, k: int) -> Turning:
    """The turns of a free bone about the axes of a room with y up, since its rest pose; heading first."""
    rest, joint = figure.R_parent_bone_rest[k], figure.joints[k]
    axes = np.eye(3)[["XYZ".index(letter) for letter in HEADING_ORDER]]
    names = tuple(f"{joint}_r{letter.lower()}" for letter in HEADING_ORDER)
    return Turning(np.eye(3), axes, names, find_angles(figure.R_parent_bone[:, k] @ rest.T, HEADING_ORDER), np.zeros(3))


def count_flexion(figure: Figure) -> Floats:
    """(b, 3) axes of the hinges, a person's the way round that flexion is positive on both sides."""
    axis = figure.axis.copy()
    for k, part in enumerate(figure.parts):
        row = _ROWS.get(part)
        if figure.kind[k] == "hinge" and row is not None:
            bend = row.signs[0] * AXES_OF[part][:, 2]
            axis[k] = axis[k] if axis[k] @ bend >= 0 else -axis[k]
    return axis


def name_hinge(figure: Figure, k: int, other: str) -> str:
    """What the one angle of a hinge is called: as that of a ball where it is a person's joint, else `other`."""
    row = _ROWS.get(figure.parts[k])
    if row is None or figure.kind[k] != "hinge":
        return other
    return _name_angle(figure.joints[k], figure.sides[k], str(row.names[0]).removeprefix(f"{row.joint}_"))


def _name_angle(joint: str, side: str, word: str) -> str:
    """hip_l and flexion to hip_flexion_l."""
    end = f"_{side}"
    return f"{joint.removesuffix(end)}_{word}{end}" if side and joint.endswith(end) else f"{joint}_{word}"


def _find_hanging(figure: Figure, k: int) -> Floats:
    """(3, 3) R_parent_bone of an arm that hangs, its front forward, while all above is at rest."""
    y, z = -find_axis(figure.up), find_world_turn("z", figure.up) @ find_axis("-y")
    hanging = np.stack([np.cross(y, z), y, z], axis=1)
    above = int(figure.parent[k])
    return np.asarray(figure.rest[0][above].T @ hanging)
