"""Left and right alike: an assumption on request, carried into joints and intervals as what it is.

Each pair of lengths that mirror each other is taken as measured equal, within a tolerance, and joints move as far as
their own uncertainty lets them. Real people differ from side to side (the paper's subject by 16 mm at the thigh), so
nothing assumes this by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..estimate.intervals import Uncertainty
from ..findings import Finding, Severity, mm
from ..maths.arrays import Floats
from ..model.anatomy import find_segments, mirror_segments
from ..model.limbs import SharedLength, measure_shared
from ..model.skeleton import Joint
from ..model.values import dataclass

UNLIKE_MIN_SIGMAS = 3.0  # standard deviations by which two lengths differ that are not alike

Ends = tuple[int, int, str]  # two joints by their number, and the body on which they are


@dataclass(frozen=True, eq=False)
class Mirrored:
    """Joints after left and right were made alike, how sure they are then, and what to say of it."""

    joints: list[Joint]
    sure: Uncertainty
    findings: list[Finding]


def mirror_lengths(joints: Sequence[Joint], sure: Uncertainty | None, tolerance: float) -> Mirrored:
    """Joints (J,) with lengths of the left and the right side equal within `tolerance` [m], one standard deviation."""
    if not (0 < tolerance < np.inf):
        raise UsageError(f"a tolerance of {tolerance:g} m is not above zero", code="bad-call")
    if sure is None:
        raise UsageError(
            "symmetry weighs joints by their intervals; fit with intervals, on a longer take", code="bad-call"
        )
    pairs = _pairs(joints)
    if not pairs:
        text = (
            "left and right were to be alike, but no length is known on both: the bodies' names tell no two sides, or "
            "their joints are not determined alike; nothing was changed"
        )
        return Mirrored(list(joints), sure, [Finding("symmetry-assumed", "warning", text)])
    lengths = [tuple(_measure(joints, ends) for ends in pair) for pair in pairs]
    H = np.stack([_slope(joints, left) - _slope(joints, right) for left, right in pairs])
    apart = np.array([left.value - right.value for left, right in lengths])
    V = sure.covariance
    allowed = tolerance**2 + np.array([left.variance + right.variance for left, right in lengths])
    gain = V @ H.T @ np.linalg.inv(H @ V @ H.T + np.diag(allowed))
    step = -gain @ apart
    keep = np.eye(len(V)) - gain @ H
    moved = [_move_joint(joint, step[6 * k : 6 * k + 6]) for k, joint in enumerate(joints)]
    covariance = keep @ V
    sure = replace(sure, covariance=0.5 * (covariance + covariance.T), passing=keep @ sure.passing @ keep.T)
    after = [_measure(moved, left).value for left, _ in pairs]
    change = [abs(value - before.value) for value, (before, _) in zip(after, lengths, strict=True)]
    most = int(np.argmax(change))
    text = (
        f"left and right lengths were taken as equal within {mm(tolerance)} mm in {len(pairs)} pairs, as was asked; "
        f"they differed by up to {mm(float(np.abs(apart).max()))} mm, and {pairs[most][0][2]} changed by "
        f"{mm(change[most])} mm"
    )
    doubt = np.abs(apart) / np.sqrt(np.diagonal(H @ V @ H.T) + allowed)
    least = int(np.argmax(doubt))
    if doubt[least] > UNLIKE_MIN_SIGMAS:
        text += (
            f"; but {pairs[least][0][2]} and {pairs[least][1][2]} differ by {mm(abs(float(apart[least])))} mm, "
            "more than that and their intervals allow: allow more, or leave the option out"
        )
    severity: Severity = "warning" if doubt[least] > UNLIKE_MIN_SIGMAS else "info"
    finding = Finding("symmetry-assumed", severity, text, value=float(np.abs(apart).max()), unit="m")
    return Mirrored([_set_covariance(joint, sure, k) for k, joint in enumerate(moved)], sure, [finding])


def _pairs(joints: Sequence[Joint]) -> list[tuple[Ends, Ends]]:
    """Left and right lengths that are known on both sides, each once."""
    bodies = list(dict.fromkeys(name for joint in joints for name in (joint.child, joint.parent)))
    segments = find_segments(bodies, [(joint.parent, joint.child) for joint in joints])
    twins = mirror_segments(segments)
    number = {joint.child: k for k, joint in enumerate(joints)}
    found = []
    for body, segment in segments.items():
        if segment.side == "r":
            continue
        own = [k for k, joint in enumerate(joints) if body in (joint.child, joint.parent)]
        for i, a in enumerate(own):
            for b in own[i + 1 :]:
                other = [twins.get(joints[k].child) for k in (a, b)]
                twin = twins[body]
                if twin is None or None in other or set(other) == {joints[a].child, joints[b].child}:
                    continue  # a length that mirrors itself
                right = (number.get(str(other[0]), -1), number.get(str(other[1]), -1), twin)
                left = (a, b, body)
                if min(right[:2]) < 0 or (segment.side == "" and right[:2] < left[:2]):
                    continue
                shapes = [_find_shape(joints, ends) for ends in (left, right)]
                if shapes[0] is not None and shapes[1] is not None and shapes[0].axes == shapes[1].axes:
                    found.append((left, right))
    return found


def _find_shape(joints: Sequence[Joint], ends: Ends) -> SharedLength | None:
    """The length, across axes along which a joint is open: where on them its point is given depends on the sensors."""
    a, b, body = ends
    if not all(body in (joints[k].child, joints[k].parent) for k in (a, b)):
        return None
    return measure_shared(joints[a], joints[b], body)


def _measure(joints: Sequence[Joint], ends: Ends) -> SharedLength:
    shape = _find_shape(joints, ends)
    assert shape is not None
    return shape


def _slope(joints: Sequence[Joint], ends: Ends) -> Floats:
    """(6J,) how a length changes with the unknowns of all joints."""
    slope = np.zeros(6 * len(joints))
    for k, sign in ((ends[0], 1.0), (ends[1], -1.0)):
        first = 6 * k + (0 if joints[k].child == ends[2] else 3)
        slope[first : first + 3] += sign * _measure(joints, ends).direction
    return slope


def _move_joint(joint: Joint, step: Floats) -> Joint:
    return replace(joint, p_child_joint=joint.p_child_joint + step[:3], p_parent_joint=joint.p_parent_joint + step[3:])


def _set_covariance(joint: Joint, sure: Uncertainty, k: int) -> Joint:
    block = sure.covariance[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
    return joint if joint.covariance is None else joint.with_covariance(block)
