"""Lengths on a body: between two of its joints, or of a machine's link between and along its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..maths.robust import Z95
from .skeleton import ONE_AXIS, Between, Joint

if TYPE_CHECKING:  # people have no links, so that the axes of machines are imported where one is measured
    from .axes import Axis, Measured

ALONG_AXIS_RAD = np.radians(30.0)  # angle of a limb to a hinge's axis, below which its length is left open by the axis
LINK_AXIS_MAX_95_RAD = np.radians(2.0)  # half-width of the interval of axes that a link is measured between; people's
# hinges have 4.9 deg and more on recordings of data/more, machines' 0.01 to 0.6
OPEN_POINT_SD_M = 0.03  # m: along its axis, of a hinge's point from mounting to mounting; chosen: it is the nearest
# to the sensors, which sit within some 6 cm of each other along the axis of a limb
BETWEEN: tuple[Between, ...] = ("joints", "joint and axis", "axes")  # by the number of axes at which a length ends


class AxisLink(NamedTuple):
    """The shortest distance of two axes [m], and its unit direction from the first to the second."""

    distance: Measured
    direction: Floats


def limb_geometry(joint_a: Joint, joint_b: Joint, body: str) -> tuple[float, Floats, Between] | None:
    """Length [m] on `body` between two of its joints, the unit direction it is measured along, and what it joins.

    On an axis along which a joint is open the length ends at the point that is given, nearest to the sensors. None
    where a joint is not located, and where the limb points along the axis, so that its length is what is left open.
    Between axes that are known well it is their shortest distance.
    """
    if not all(body in (joint.child, joint.parent) for joint in (joint_a, joint_b)):
        return None  # of a segment with several sensors
    if is_link(joint_a, joint_b):
        link = measure_link(joint_a, joint_b, body)
        return link.distance.value, -link.direction, "axes"
    places, axes = [], []
    for joint in (joint_a, joint_b):
        if is_open(joint):
            axis = find_open_axis(joint, body)
            if axis is None:
                return None
            axes.append(axis)
        places.append(joint.p_child_joint if joint.child == body else joint.p_parent_joint)
    apart = places[0] - places[1]
    length = float(np.linalg.norm(apart))
    direction = apart / length if length > 0 else np.array([1.0, 0, 0])
    if any(abs(float(axis @ direction)) > np.cos(ALONG_AXIS_RAD) for axis in axes):
        return None
    return length, direction, BETWEEN[len(axes)]


class SharedLength(NamedTuple):
    """A length on a body that does not depend on where sensors sit.

    value      [m]
    direction  (3,) unit direction, on the body, that it is measured along, from the second joint to the first
    axes       which of its two joints count as an axis, along which they are open, and not as a centre
    variance   [m^2] that the directions of axes, and what is open along them, add to that of the places
    """

    value: float
    direction: Floats
    axes: tuple[bool, bool]
    variance: float


def measure_shared(joint_a: Joint, joint_b: Joint, body: str) -> SharedLength | None:
    """The length on `body` between two of its joints, across the axes along which they are open.

    None where `limb_geometry` has none, where a joint is open along an axis that nothing says it turns about alone, and
    across two axes of people that are far from parallel.
    """
    shape = limb_geometry(joint_a, joint_b, body)
    if shape is None or "undetermined" in (joint_a.kind, joint_b.kind):
        return None
    axes = [find_open_axis(joint, body) for joint in (joint_a, joint_b)]
    ends = (axes[0] is not None, axes[1] is not None)
    if not any(ends) or is_link(joint_a, joint_b):
        return SharedLength(shape[0], shape[1], ends, 0.0)
    known = [axis for axis in axes if axis is not None]
    if abs(float(known[0] @ known[-1])) < np.cos(ALONG_AXIS_RAD):
        return None
    mean = known[0] + np.copysign(1.0, known[0] @ known[-1]) * known[-1]
    mean = mean / np.linalg.norm(mean)
    apart = shape[0] * shape[1]
    across = apart - mean * float(mean @ apart)
    length = float(np.linalg.norm(across))
    if length == 0:
        return None
    direction = across / length
    variance = 0.0
    for joint, axis in zip((joint_a, joint_b), axes, strict=True):
        if axis is None:
            continue
        variance += (OPEN_POINT_SD_M * float(axis @ direction)) ** 2
        if joint.axis_covariance is not None:
            half = slice(0, 3) if joint.child == body else slice(3, 6)
            lever = float(mean @ apart) / len(known)
            variance += lever**2 * float(direction @ joint.axis_covariance[half, half] @ direction)
    return SharedLength(length, direction, ends, variance)


def find_open_axis(joint: Joint, body: str) -> Floats | None:
    """The axis [-] on a body along which a joint is open; None where it has a centre, or nothing at all."""
    if not is_open(joint):
        return None
    return joint.axis_child if joint.child == body else joint.axis_parent


def is_open(joint: Joint) -> bool:
    """Whether a joint has an axis, or nothing at all, and no centre."""
    return joint.point == "arbitrary" or joint.kind in ("rigid", "undetermined")


def is_link(joint_a: Joint, joint_b: Joint) -> bool:
    """Whether two joints are hinges whose axes are known so well that the body between them is a machine's link."""
    widths = [joint.axis_95 for joint in (joint_a, joint_b) if joint.kind in ONE_AXIS and joint.point == "arbitrary"]
    return len(widths) == 2 and all(width is not None and width < LINK_AXIS_MAX_95_RAD for width in widths)


def measure_link(joint_a: Joint, joint_b: Joint, body: str) -> AxisLink:
    """How far apart the axes of two hinges of a body are; 0 where the motion cannot tell them from axes that meet."""
    from .axes import Measured, find_lies, solve_table

    axes = make_axis(joint_a, outer=body), make_axis(joint_b, inner=body)
    lies, _, sds = find_lies(axes)
    table = solve_table(axes, lies)
    half = None if np.isnan(sds[1, 1]) else Z95 * float(sds[1, 1])
    return AxisLink(Measured(float(table.a[1]), half), table.x_outer[0])


def measure_offset(joints: Sequence[Joint], body: str, from_joint: Joint, to_joint: Joint) -> Measured | None:
    """The offset [m] along the axis of `from_joint` between the normals to the axis before and to that of `to_joint`.

    None where the body before has not one such axis, and between parallel axes, whose normals are anywhere.
    """
    from .axes import Measured, find_lies, solve_table

    before = from_joint.parent if from_joint.child == body else from_joint.child
    others = [one for one in joints if one is not from_joint and before in (one.child, one.parent)]
    others = [one for one in others if is_link(one, from_joint)]
    if len(others) != 1 or not is_link(from_joint, to_joint):
        return None
    axes = make_axis(others[0], outer=before), make_axis(from_joint, outer=body), make_axis(to_joint, inner=body)
    lies, _, sds = find_lies(axes)
    if "parallel" in lies or "same line" in lies:
        return None
    return Measured(float(solve_table(axes, lies).d[1]), None if np.isnan(sds[1, 2]) else Z95 * float(sds[1, 2]))


def make_axis(joint: Joint, *, outer: str | None = None, inner: str | None = None) -> Axis:
    """The axis of a hinge with the body named outside, or inside, of it; its zero is any."""
    from .axes import Axis

    outer = outer if outer is not None else joint.parent if joint.child == inner else joint.child
    inner = joint.parent if joint.child == outer else joint.child
    (p_in, p_out), (z_in, z_out) = find_sides(joint, outer, "p_{}_joint"), find_sides(joint, outer, "axis_{}")
    turn = rotation.find_shortest_arc(z_out, z_in)
    return Axis(joint.child, inner, outer, p_in, z_in, p_out, z_out, turn, find_covariance(joint, outer))


def find_sides(joint: Joint, outer: str, name: str) -> tuple[Floats, Floats]:
    """What a joint has of both its bodies, the one that is not `outer` first."""
    child, parent = (np.asarray(getattr(joint, name.format(half))) for half in ("child", "parent"))
    return (parent, child) if joint.child == outer else (child, parent)


def find_covariance(joint: Joint, outer: str) -> Floats | None:
    """(12, 12) of an axis, as `Axis` has it, from those of a joint's point and direction."""
    if joint.covariance is None or joint.axis_covariance is None:
        return None
    halves = (1, 0) if joint.child == outer else (0, 1)
    out = np.zeros((12, 12))
    for a, one in enumerate(halves):
        for b, other in enumerate(halves):
            for first, whole in ((0, joint.covariance), (3, joint.axis_covariance)):
                rows, columns = slice(6 * a + first, 6 * a + first + 3), slice(6 * b + first, 6 * b + first + 3)
                out[rows, columns] = whole[3 * one : 3 * one + 3, 3 * other : 3 * other + 3]
    return out
