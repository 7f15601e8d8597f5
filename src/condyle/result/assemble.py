"""Joints, limbs and sensor placements as values, from the arrays of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..estimate.intervals import Uncertainty
from ..maths.robust import Z95
from ..model.skeleton import Joint, Limb, Placement, limb_geometry


def assemble_limbs(joints: Sequence[Joint], sure: Uncertainty | None) -> list[Limb]:
    """The distance between every two joints of a body, with its interval."""
    on: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        on.setdefault(joint.parent, []).append(k)
        on.setdefault(joint.child, []).insert(0, k)  # a body's own joint comes first
    limbs = []
    for body, mine in on.items():
        for a, b in combinations(mine, 2):
            limbs.append(_limb(joints, a, b, body, sure))
    return limbs


def _limb(joints: Sequence[Joint], a: int, b: int, body: str, sure: Uncertainty | None) -> Limb:
    first, second = joints[a], joints[b]
    shape = limb_geometry(first, second, body)
    if shape is None:
        return Limb(body, first.child, second.child, None, None, None)
    length, direction, between = shape
    if sure is None:
        return Limb(body, first.child, second.child, length, None, None, between)
    slope = np.zeros(len(sure.covariance))
    for k, sign in ((a, 1.0), (b, -1.0)):
        half = 0 if joints[k].child == body else 3
        slope[6 * k + half : 6 * k + half + 3] += sign * direction
    variance = max(float(slope @ sure.covariance @ slope), 0.0)
    half_width = Z95 * float(np.sqrt(variance))
    passing = float(slope @ sure.passing @ slope) / variance if variance > 0 else None
    low, high = max(length - half_width, 0.0), length + half_width
    return Limb(body, first.child, second.child, length, low, high, between, passing)


def assemble_placements(joints: Sequence[Joint], sure: Uncertainty | None) -> list[Placement]:
    """Every joint as seen from each of its two sensors."""
    out = []
    for k, joint in enumerate(joints):
        for half, (body, place) in enumerate(
            ((joint.child, joint.p_child_joint), (joint.parent, joint.p_parent_joint))
        ):
            distance = float(np.linalg.norm(place))
            low = high = None
            if sure is not None and joint.covariance is not None and joint.point == "determined" and distance > 0:
                block = sure.covariance[
                    6 * k + 3 * half : 6 * k + 3 * half + 3, 6 * k + 3 * half : 6 * k + 3 * half + 3
                ]
                width = Z95 * float(np.sqrt(max(float(place @ block @ place), 0.0))) / distance
                low, high = max(distance - width, 0.0), distance + width
            out.append(Placement(body, joint.child, place, distance, low, high))
    return out
