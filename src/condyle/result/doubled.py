"""Several sensors on one segment: they never move against each other, and each is a mounting of its own.

The joints of such a segment are found on different sensors, between which no length is measured. So every one of the
sensors is asked for all of them, as if it were alone there, and the lengths are shared as those of several mountings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..estimate.lengths import Lengths, measure_between, share_lengths
from ..faults.files import locate_places
from ..findings import Finding, mm, sort_findings
from ..maths.graph import components
from ..maths.robust import Z95
from ..model.limbs import BETWEEN
from ..model.profile import Edge, LengthKey, name_length
from ..model.skeleton import Joint, Limb, Skeleton
from ..model.take import WORLD, Take
from ..model.values import dataclass


@dataclass(frozen=True, eq=False)
class _Segment:
    """Sensors of one segment, and the joints by which it hangs on others: {body outside: joint}."""

    sensors: tuple[str, ...]
    ends: dict[str, Joint]


def share_doubled(skeleton: Skeleton, take: Take, *, intervals: bool = True) -> Skeleton:
    """The skeleton with the lengths of segments that bear several sensors, and what is to be said of them."""
    limbs, findings = list(skeleton.limbs), list[Finding]()
    for segment in _find_segments(skeleton):
        parts = [part for sensor in segment.sensors if (part := _measure(segment, sensor, take)).keys]
        if not parts:
            continue
        shared = share_lengths(parts).lengths
        told = [_make_limb(segment, key, shared, intervals=intervals) for key in _choose_keys(parts)]
        within = {joint.child for joint in skeleton.joints if {joint.child, joint.parent} <= set(segment.sensors)}
        ends = {frozenset((limb.from_joint, limb.to_joint)) for limb in told}
        limbs = [
            limb
            for limb in limbs
            if limb.body not in segment.sensors
            or not (within & {limb.from_joint, limb.to_joint} or {limb.from_joint, limb.to_joint} in ends)
        ]
        limbs += told
        findings.append(_describe(segment, parts, shared))
    if not findings:
        return skeleton
    return replace(skeleton, limbs=tuple(limbs), findings=sort_findings([*skeleton.findings, *findings]))


def _find_segments(skeleton: Skeleton) -> list[_Segment]:
    """Segments with several sensors that have a length: two joints or more to other bodies."""
    number = {name: k for k, name in enumerate(skeleton.bodies)}
    stiff = [
        (number[joint.child], number[joint.parent])
        for joint in skeleton.joints
        if joint.kind == "rigid" and WORLD not in (joint.child, joint.parent)
    ]
    found = []
    for group in components(len(number), np.array(stiff, dtype=np.int64).reshape(-1, 2)) if stiff else ():
        sensors = tuple(skeleton.bodies[k] for k in group)
        ends = {
            (joint.parent if joint.child in sensors else joint.child): joint
            for joint in skeleton.joints
            if (joint.child in sensors) != (joint.parent in sensors)
        }
        if len(sensors) > 1 and len(ends) > 1:
            found.append(_Segment(sensors, ends))
    return found


def _measure(segment: _Segment, sensor: str, take: Take) -> Lengths:
    """The segment's lengths as one of its sensors alone tells them, named as those of the first."""
    joints = locate_places(take.select([sensor, *segment.ends]), [(sensor, other) for other in segment.ends])
    own = measure_between(joints)
    told = own.part([key for key in own.keys if key[0] == sensor])
    return Lengths(tuple(_rename(key, segment.sensors[0]) for key in told.keys), told.value, told.covariance)


def _choose_keys(parts: Sequence[Lengths]) -> list[LengthKey]:
    """One length between every two joints: that of centres or axes which more of the sensors tell."""
    told = Counter(key for part in parts for key in part.keys)
    best: dict[tuple[object, ...], LengthKey] = {}
    for key in sorted(told, key=lambda one: (-told[one], len(one[2]))):
        best.setdefault(key[:2], key)
    return [key for key in told if key in best.values()]


def _rename(key: LengthKey, sensor: str) -> LengthKey:
    """The same length on another sensor of its segment."""
    body, ends, axes = key

    def change(edge: Edge) -> Edge:
        return sensor, next(name for name in edge if name != body)

    return name_length(sensor, change(ends[0]), change(ends[1]), map(change, axes))


def _make_limb(segment: _Segment, key: LengthKey, shared: Lengths, *, intervals: bool) -> Limb:
    """The limb of a length, on the sensor that bears its first joint."""
    first, second = (next(segment.ends[name] for name in edge if name in segment.ends) for edge in key[1])
    if second.child in segment.sensors:  # the joint towards the root comes first
        first, second = second, first
    body = first.child if first.child in segment.sensors else first.parent
    only = shared.part([key])
    length, half = float(only.value[0]), Z95 * float(only.sd[0])
    low, high = (max(length - half, 0.0), length + half) if intervals else (None, None)
    return Limb(body, first.child, second.child, length, low, high, BETWEEN[len(key[2])])


def _describe(segment: _Segment, parts: Sequence[Lengths], shared: Lengths) -> Finding:
    key = _choose_keys(parts)[0]
    only = shared.part([key])
    each = [part.part([key]) for part in parts if key in part.keys]
    alone = ", ".join(f"{mm(one.value[0])} ± {mm(Z95 * one.sd[0])}" for one in each)
    a, b = (next(name for name in edge if name in segment.ends) for edge in key[1])
    text = (
        f"{' and '.join(segment.sensors)} sit on one segment and count as {len(segment.sensors)} mountings of it: "
        f"between {a} and {b} it is {mm(only.value[0])} ± {mm(Z95 * only.sd[0])} mm long, by each alone {alone} mm"
    )
    return Finding("two-sensors", "info", text, segment.sensors, value=float(only.value[0]), unit="m")
