"""Rotations as three angles about a body's own axes: without jumps, and in an order that keeps out of gimbal lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...maths import rotation
from ...maths.arrays import Bools, Floats

GIMBAL_LOCK_MAX_COSINE = (
    1e-14  # cosine of the middle angle below which the first angle is held: rounding alone would tell it
)
SAFE_MAX_SINE = np.sin(np.radians(60))  # of the middle angle: up to here an order of axes is taken before all after it
NEAR_LOCK_MIN_SINE = np.sin(np.radians(80))  # of the middle angle: from here on the mean pose is tried as the zero

# With y along the bone: bend, side bend, twist; then others that end in the twist, as joints are read.
BENDS_FIRST = ("XZY", "ZXY", "ZYX", "YXZ", "XYZ", "YZX")
HEADING_FIRST = ("YZX", "YXZ", "ZXY", "XZY", "ZYX", "XYZ")  # in a room with y up: a way round is no lock


@dataclass(frozen=True, eq=False)
class Turning:
    """A ball joint as three hinges: R_parent_bone = zero @ R_first(angle) @ R_second(angle) @ R_third(angle).

    zero    (3, 3)        where all angles are zero: the rest pose, unless the motion from there meets gimbal lock
    order   such as "XZY", axes of the bone
    angles  (n, 3) [rad]  in that order
    rest    (3,)   [rad]  angles of the rest pose
    """

    zero: Floats
    order: str
    angles: Floats
    rest: Floats


def split_rotation(rest: Floats, R: Floats, orders: Sequence[str] = BENDS_FIRST) -> Turning:
    """The angles of R_parent_bone (n, 3, 3), in the first of `orders` that is safe, else in the safest of all."""
    zero = rest
    order, worst = _order(rest.T @ R, orders)
    if worst > NEAR_LOCK_MIN_SINE:
        mean = rotation.mean(R)
        other, less = _order(mean.T @ R, orders)
        if less < worst:
            zero, order = mean, other
    at_rest = np.zeros(3) if zero is rest else find_angles((zero.T @ rest)[None], order)[0]
    return Turning(zero, order, find_angles(zero.T @ R, order), at_rest)


def find_angles(R: Floats, order: str) -> Floats:
    """(n, 3) [rad] with R = R_first @ R_second @ R_third about the axes in `order`, all different, for R (n, 3, 3).

    Two triples give one rotation, (a, b, c) and (a + pi, pi - b, c + pi). From frame to frame the nearer one is taken,
    then whole turns are taken out. The product is R to rounding, in gimbal lock too.
    """
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    a = np.arctan2(-sign * R[:, j, k], R[:, k, k])
    a = _held(a, np.hypot(R[:, j, k], R[:, k, k]) > GIMBAL_LOCK_MAX_COSINE)
    sine, cosine = (sign * np.sin(a))[:, None], np.cos(a)[:, None]
    row_j, row_k = cosine * R[:, j] + sine * R[:, k], cosine * R[:, k] - sine * R[:, j]  # of R_second @ R_third
    b = np.arctan2(sign * R[:, i, k], row_k[:, k])
    c = np.arctan2(sign * row_j[:, i], row_j[:, j])
    angles = np.stack([a, b, c], axis=1)
    other = np.stack([a + np.pi, np.pi - b, c + np.pi], axis=1)
    # Whether a step crosses over does not depend on the side it starts from, so the sides are a running count.
    cross = _apart(other[1:], angles[:-1]) < _apart(angles[1:], angles[:-1])
    side = np.concatenate([[0], np.cumsum(cross)])[: len(R)] % 2
    return np.unwrap(np.where(side[:, None] == 1, other, angles), axis=0)


def _order(turns: Floats, orders: Sequence[str]) -> tuple[str, float]:
    """The first order whose middle angle stays safe, or that where it stays smallest; and the sine of its extreme.

    The sine of the middle angle of order ijk is, up to its sign, the entry (i, k) of the matrix.
    """
    worst = np.abs(turns).max(axis=0, initial=0.0)
    sines = {order: float(worst["XYZ".index(order[0]), "XYZ".index(order[2])]) for order in orders}
    order = next(
        (order for order, sine in sines.items() if sine <= SAFE_MAX_SINE), min(sines, key=lambda one: sines[one])
    )
    return order, sines[order]


def _held(a: Floats, told: Bools) -> Floats:
    """The last value that is told stands for those after it that are not; zero before the first."""
    last = np.maximum.accumulate(np.where(told, np.arange(len(a)), -1))
    return np.where(last >= 0, a[last], 0.0) if len(a) else a


def _apart(a: Floats, b: Floats) -> Floats:
    """Squared distance of angles, whole turns apart."""
    d = (a - b + np.pi) % (2 * np.pi) - np.pi
    return np.asarray((d * d).sum(axis=1))
