"""Lengths that no limb of that name has: the unit is wrong, or a sensor sits on another limb than its name says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..findings import Finding
from ..model.anatomy import TYPICAL, Part, Segment, find_segments
from ..model.skeleton import Joint, Limb

LONG_PARTS: tuple[Part, ...] = ("thigh", "shank", "upper_arm", "forearm")  # whose length differs little between adults
LIMB_MIN_SHARE = 0.25  # of an adult's: an infant's thigh is a third; 1105 limbs of tests/goldens have 0.73 and more
LIMB_MAX_SHARE = 2.0  # of the same: 1.30 at most
HIPS_MAX_M = 0.22  # m: Harrington's regression (prepare/joint_centres.py) for spines 311 mm apart; recordings have 276
MOST_NAMED = 3  # limbs in the sentence


def find_odd_limbs(bodies: Sequence[str], joints: Sequence[Joint], limbs: Sequence[Limb]) -> list[Finding]:
    """A finding where lengths of named limbs, with their intervals, lie outside of what people have."""
    segments = find_segments(bodies, [(joint.parent, joint.child) for joint in joints])
    odd = []
    for limb in limbs:
        segment = segments.get(limb.body)
        if segment is None or segment.part not in LONG_PARTS or limb.length is None:
            continue
        low, high = (limb.length if end is None else end for end in (limb.low, limb.high))
        usual = TYPICAL[segment.part]
        if high < LIMB_MIN_SHARE * usual or low > LIMB_MAX_SHARE * usual:
            odd.append((limb.body, limb.length, usual))
    if not odd:
        return _find_wide_hips(segments, joints, limbs)
    named = ", ".join(
        f"{body} is {1000 * length:.3g} mm long (an adult's is about {1000 * usual:.0f})"
        for body, length, usual in odd[:MOST_NAMED]
    )
    more = f" and {len(odd) - MOST_NAMED} more" if len(odd) > MOST_NAMED else ""
    text = f"{named}{more}: check the unit (--unit), and whether the sensors sit on the limbs that they are named after"
    names = tuple(dict.fromkeys(body for body, _, _ in odd))
    return [Finding("implausible-size", "warning", text, names, value=odd[0][1], unit="m")]


def _find_wide_hips(segments: Mapping[str, Segment], joints: Sequence[Joint], limbs: Sequence[Limb]) -> list[Finding]:
    """A finding where the hips, with their interval, are farther apart than people's."""
    sides = {body: one.side for body, one in segments.items() if one.part == "thigh"}
    above = {joint.child: joint.parent for joint in joints}
    for limb in limbs:
        if limb.length is None or (limb.length if limb.low is None else limb.low) <= HIPS_MAX_M:
            continue
        ends = {above[child] if child == limb.body else child for child in (limb.from_joint, limb.to_joint)}
        if {sides.get(end) for end in ends} == {"l", "r"}:
            text = (
                f"the hips are {1000 * limb.length:.0f} mm apart, people's are {1000 * HIPS_MAX_M:.0f} at most: in "
                "this motion the skin of pelvis and thighs moves with the legs, and these are not the bones' hips; "
                "record each leg swung in circles, and fit that take"
            )
            return [Finding("implausible-size", "warning", text, (limb.body,), value=limb.length, unit="m")]
    return []
