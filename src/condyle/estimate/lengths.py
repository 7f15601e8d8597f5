"""Limb lengths that several mountings share: the one thing that does not change when sensors are strapped on anew.

Every mounting tells the lengths with errors of its own, since skin moves otherwise under every place; their covariances
have that in them. Together they are a generalised least squares, and what it gives is carried back into the joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..errors import CondyleError
from ..maths.arrays import Floats
from ..maths.robust import Z95
from ..model.limbs import BETWEEN, SharedLength, is_open, limb_geometry, measure_shared
from ..model.profile import LengthKey, Profile, name_length
from ..model.skeleton import Joint, Limb, Placement, Skeleton
from ..model.values import dataclass

LENGTH_MIN_SD_M = 1e-4  # m: no length is known better, and no geometry need hold lengths more exactly
SHARED_WIDENING = 1.2  # of intervals that several mountings share: their weights are estimates, and err themselves
GEOMETRY_ROUNDS = 3  # in which joints move until they have the lengths: these are not linear in the joints


@dataclass(frozen=True, eq=False)
class Lengths:
    """Lengths [m] by their names, and their covariance (L, L) [m^2]."""

    keys: tuple[LengthKey, ...]
    value: Floats
    covariance: Floats

    @property
    def sd(self) -> Floats:
        """(L,) [m]"""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))  # rounding leaves less than nothing

    def part(self, keys: Sequence[LengthKey]) -> Lengths:
        """Some of them, in this order."""
        rows = [self.keys.index(key) for key in keys]
        return Lengths(tuple(keys), self.value[rows], self.covariance[np.ix_(rows, rows)])


def measure_lengths(skeleton: Skeleton) -> Lengths:
    """The lengths of a skeleton that have an interval; those that share a joint are correlated.

    A length that ends at an axis is measured across it: the point on it that is given depends on the sensors' places.
    """
    joints = {joint.child: joint for joint in skeleton.joints}
    limbs = _find_known_limbs(skeleton)
    slopes = _slope(skeleton, limbs)
    V = _block_covariance(skeleton)
    own = slopes @ V @ slopes.T
    sd = np.array([max((limb.high - limb.length) / Z95, LENGTH_MIN_SD_M) for limb in limbs])  # type: ignore[operator]
    sd = np.hypot(sd, np.sqrt(_open_variance(skeleton, limbs)))
    size = np.sqrt(np.maximum(np.diagonal(own), 1e-300))
    likeness = np.where(np.eye(len(limbs)) > 0, 1.0, own / np.outer(size, size))
    keys = tuple(_key(limb, joints) for limb in limbs)
    told = np.array([float(limb.length or 0) for limb in limbs])
    value = np.where([bool(axes) for *_, axes in keys], _lengths_now(skeleton, limbs), told)
    return Lengths(keys, value, likeness * np.outer(sd, sd))


def _find_known_limbs(skeleton: Skeleton) -> list[Limb]:
    """Those between joints of the tree that have an interval, and can be measured whatever the mounting."""
    joints = {joint.child: joint for joint in skeleton.joints}
    limbs = [limb for limb in skeleton.limbs if limb.length is not None and limb.high is not None]
    limbs = [limb for limb in limbs if {limb.from_joint, limb.to_joint} <= set(joints)]
    return [limb for limb in limbs if _find_axes(limb, joints) is not None]


def _is_of_several(limb: Limb, joints: Mapping[str, Joint]) -> bool:
    """Whether a limb is that of a segment with several sensors, between joints on different ones."""
    return any(limb.body not in (joints[name].child, joints[name].parent) for name in (limb.from_joint, limb.to_joint))


def _find_axes(limb: Limb, joints: Mapping[str, Joint]) -> tuple[bool, bool] | None:
    """Which of its two joints count as an axis, where a limb can be measured whatever the mounting; else None."""
    if not _is_of_several(limb, joints):
        shape = _measure(limb, joints)
        return None if shape is None else shape.axes
    # Such a limb was measured across its axes already. Of one end alone that is one the joints must tell which.
    count = BETWEEN.index(limb.between)
    first, second = (is_open(joints[name]) if count == 1 else count == 2 for name in (limb.from_joint, limb.to_joint))
    return (first, second) if first + second == count else None


def _measure(limb: Limb, joints: Mapping[str, Joint]) -> SharedLength | None:
    return measure_shared(joints[limb.from_joint], joints[limb.to_joint], limb.body)


def measure_across(skeleton: Skeleton) -> list[tuple[Limb, tuple[bool, bool]]]:
    """The limbs with lengths that may be compared over mountings, and which of their two joints count as an axis.

    One that ends at an axis is measured across it, and has no length where that cannot be.
    """
    joints = {joint.child: joint for joint in skeleton.joints}
    known = measure_lengths(skeleton)
    half = dict(zip(known.keys, (Z95 * known.sd).tolist(), strict=True))
    found = []
    for limb in skeleton.limbs:
        inside = {limb.from_joint, limb.to_joint} <= set(joints)
        axes = _find_axes(limb, joints) if inside else (False, False) if limb.between == "joints" else None
        if limb.length is None or axes is None:
            found.append((replace(limb, length=None, low=None, high=None), (False, False)))
        elif not any(axes) or _is_of_several(limb, joints):
            found.append((limb, axes))
        else:
            length, wide = _measure(limb, joints).value, half.get(_key(limb, joints))  # type: ignore[union-attr]
            low, high = (None, None) if wide is None else (max(length - wide, 0.0), length + wide)
            found.append((replace(limb, length=length, low=low, high=high), axes))
    return found


def measure_between(joints: Sequence[Joint]) -> Lengths:
    """The lengths between every two joints of a body that have a covariance, each joint with its own errors."""
    figure = Skeleton((), (), (), tuple(joints))
    known = [joint for joint in joints if joint.covariance is not None]
    limbs, bodies = [], dict.fromkeys(name for joint in known for name in (joint.child, joint.parent))
    for body in bodies:
        for one, other in combinations([joint for joint in known if body in (joint.child, joint.parent)], 2):
            shape = measure_shared(one, other, body)
            if shape is not None:
                limbs.append(Limb(body, one.child, other.child, shape.value, None, None))
    slopes = _slope(figure, limbs)
    named = {joint.child: joint for joint in joints}
    value = np.array([float(limb.length or 0) for limb in limbs])
    V = slopes @ _block_covariance(figure) @ slopes.T + np.diag(_open_variance(figure, limbs))
    return Lengths(tuple(_key(limb, named) for limb in limbs), value, V)


def profile_lengths(profile: Profile) -> Lengths:
    """The lengths of a performer."""
    value = np.array([one.length for one in profile.lengths])
    return Lengths(
        tuple(one.key for one in profile.lengths), value, profile.matrix + LENGTH_MIN_SD_M**2 * np.eye(len(value))
    )


@dataclass(frozen=True, eq=False)
class Shared:
    """Lengths that several mountings share.

    lengths  the best of all of them
    spread   [-] their scatter over what their covariances say; above 1 it widened the covariance
    degrees  numbers that the scatter is told from
    """

    lengths: Lengths
    spread: float
    degrees: int


def share_lengths(parts: Sequence[Lengths], alike: Sequence[int] | None = None) -> Shared:
    """The lengths that all parts tell, by generalised least squares.

    alike  (parts,) number of the mounting of each; parts of one mounting have the same error, and count as one
    """
    mountings = list(range(len(parts))) if alike is None else list(alike)
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys))
    if not keys:
        raise CondyleError("no length has an interval; fit with intervals, on longer takes", code="no-lengths")
    N, b = np.zeros((len(keys), len(keys))), np.zeros(len(keys))
    place = {key: k for k, key in enumerate(keys)}
    for part, mounting in zip(parts, mountings, strict=True):
        rows = [place[key] for key in part.keys]
        W = np.linalg.inv(_regular(part.covariance)) / mountings.count(mounting)
        N[np.ix_(rows, rows)] += W
        b[rows] += W @ part.value
    V: Floats = np.asarray(np.linalg.inv(N), dtype=np.float64)
    value = V @ b
    total, degrees = 0.0, -len(keys)
    for part, mounting in zip(parts, mountings, strict=True):
        off = part.value - value[[place[key] for key in part.keys]]
        total += float(off @ np.linalg.inv(_regular(part.covariance)) @ off) / mountings.count(mounting)
    degrees += sum(len(parts[mountings.index(one)].keys) for one in set(mountings))
    spread = float(np.sqrt(total / degrees)) if degrees > 0 else 1.0
    widening = max(spread, 1.0) * (SHARED_WIDENING if len(set(mountings)) > 1 else 1.0)
    return Shared(Lengths(keys, value, V * widening**2), spread, max(degrees, 0))


def _regular(V: Floats) -> Floats:
    """A covariance that can be inverted: a body with many joints has more lengths than freedoms."""
    return np.asarray(V + LENGTH_MIN_SD_M**2 * np.eye(len(V)))


def hold_lengths(skeleton: Skeleton, target: Lengths) -> Skeleton:
    """The skeleton with its joints moved, as far as their own errors let them, until its limbs have these lengths.

    target  with a covariance that is no wider than that of the skeleton's own lengths, which counted in it
    """
    own = measure_lengths(skeleton)
    keys = [key for key in own.keys if key in target.keys]
    if not keys:
        return skeleton
    joints = {joint.child: joint for joint in skeleton.joints}
    limbs = [limb for limb in _find_known_limbs(skeleton) if _key(limb, joints) in keys]
    keys = [_key(limb, joints) for limb in limbs]
    aim, before = target.part(keys), own.part(keys)
    V = _block_covariance(skeleton)
    moved = skeleton
    for _ in range(GEOMETRY_ROUNDS):
        H = _slope(moved, limbs)
        S = _regular(H @ V @ H.T)
        gain = V @ H.T @ np.linalg.inv(S)
        moved = _move(moved, gain @ (aim.value - _lengths_now(moved, limbs)))
    scale = np.sqrt(np.diagonal(S)) / before.sd
    left = aim.covariance * np.outer(scale, scale)
    V_held = V - gain @ (S - left) @ gain.T
    held = tuple(
        joint
        if joint.covariance is None
        else joint.with_covariance(_positive(V_held[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]))
        for k, joint in enumerate(moved.joints)
    )
    moved = replace(moved, joints=held)
    return replace(moved, limbs=_measure_limbs(moved, aim), sensors=_place_sensors(moved))


def _positive(V: Floats) -> Floats:
    """A covariance (6, 6) without the variances below zero that rounding leaves."""
    value, axes = np.linalg.eigh(0.5 * (V + V.T))
    return np.asarray((axes * np.maximum(value, 0.0)) @ axes.T)


def _measure_limbs(skeleton: Skeleton, held: Lengths) -> tuple[Limb, ...]:
    """The limbs as the joints have them, with the intervals of the lengths that they are held to.

    Those of segments with several sensors, which no one sensor has whole, have these lengths themselves.
    """
    joints, found = {joint.child: joint for joint in skeleton.joints}, []
    value, width = (dict(zip(held.keys, part.tolist(), strict=True)) for part in (held.value, Z95 * held.sd))
    for limb in skeleton.limbs:
        if limb.length is None or not {limb.from_joint, limb.to_joint} <= set(joints):  # a loop keeps what it was
            found.append(limb)
            continue
        key = _key(limb, joints)
        shape = limb_geometry(joints[limb.from_joint], joints[limb.to_joint], limb.body)
        length = value.get(key, limb.length) if _is_of_several(limb, joints) else shape and shape[0]
        if length is None:
            found.append(limb)
            continue
        half = width.get(key, None if limb.high is None else limb.high - limb.length)
        low, high = (None, None) if half is None else (max(length - half, 0.0), length + half)
        found.append(replace(limb, length=length, low=low, high=high))
    return tuple(found)


def _place_sensors(skeleton: Skeleton) -> tuple[Placement, ...]:
    joints, found = {joint.child: joint for joint in skeleton.joints}, []
    for sensor in skeleton.sensors:
        joint = joints[sensor.joint]
        place = joint.p_child_joint if joint.child == sensor.body else joint.p_parent_joint
        distance = float(np.linalg.norm(place))
        shift = distance - sensor.distance
        low, high = (None if end is None else max(end + shift, 0.0) for end in (sensor.low, sensor.high))
        found.append(replace(sensor, p_body_joint=place, distance=distance, low=low, high=high))
    return tuple(found)


def _key(limb: Limb, joints: Mapping[str, Joint]) -> LengthKey:
    ends = [joints[name] for name in (limb.from_joint, limb.to_joint)]
    edges = [(joint.child, joint.parent) for joint in ends]
    axes = zip(edges, _find_axes(limb, joints) or (), strict=False)
    return name_length(limb.body, edges[0], edges[1], [edge for edge, is_axis in axes if is_axis])


def _block_covariance(skeleton: Skeleton) -> Floats:
    """(6J, 6J) [m^2] of the joints, each with its own; those without one are held."""
    J = len(skeleton.joints)
    V = np.zeros((6 * J, 6 * J))
    for k, joint in enumerate(skeleton.joints):
        if joint.covariance is not None:
            V[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = joint.covariance
    return V


def _slope(skeleton: Skeleton, limbs: Sequence[Limb]) -> Floats:
    """(L, 6J) how lengths change with the joints."""
    number = {joint.child: k for k, joint in enumerate(skeleton.joints)}
    joints = {joint.child: joint for joint in skeleton.joints}
    slopes = np.zeros((len(limbs), 6 * len(skeleton.joints)))
    for row, limb in zip(slopes, limbs, strict=True):
        shape = _measure(limb, joints)
        for name, sign in zip((limb.from_joint, limb.to_joint), (1.0, -1.0), strict=True) if shape is not None else ():
            first = 6 * number[name] + (0 if name == limb.body else 3)
            row[first : first + 3] += sign * shape.direction  # type: ignore[union-attr]
    return slopes


def _lengths_now(skeleton: Skeleton, limbs: Sequence[Limb]) -> Floats:
    joints = {joint.child: joint for joint in skeleton.joints}
    shapes = [_measure(limb, joints) for limb in limbs]
    return np.array([limb.length if shape is None else shape.value for limb, shape in zip(limbs, shapes, strict=True)])


def _open_variance(skeleton: Skeleton, limbs: Sequence[Limb]) -> Floats:
    """(L,) [m^2] see `SharedLength`"""
    joints = {joint.child: joint for joint in skeleton.joints}
    return np.array([0.0 if (shape := _measure(limb, joints)) is None else shape.variance for limb in limbs])


def _move(skeleton: Skeleton, step: Floats) -> Skeleton:
    moved = []
    for k, joint in enumerate(skeleton.joints):
        own = step[6 * k : 6 * k + 6]
        p_child, p_parent = joint.p_child_joint + own[:3], joint.p_parent_joint + own[3:]
        moved.append(replace(joint, p_child_joint=p_child, p_parent_joint=p_parent))
    return replace(skeleton, joints=tuple(moved))
