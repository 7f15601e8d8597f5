"""Lengths that no limb of that name has: the unit is wrong, or a sensor sits on another limb than its name says."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Finding
from ..model.anatomy import TYPICAL, Part, find_segments
from ..model.skeleton import Joint, Limb

LONG_PARTS: tuple[Part, ...] = ("thigh", "shank", "upper_arm", "forearm")  # whose length differs little between adults
LIMB_MIN_SHARE = 0.25  # of an adult's: an infant's thigh is a third; 1105 limbs of tests/goldens have 0.73 and more
LIMB_MAX_SHARE = 2.0  # of the same: 1.30 at most
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
        return []
    named = ", ".join(
        f"{body} is {1000 * length:.3g} mm long (an adult's is about {1000 * usual:.0f})"
        for body, length, usual in odd[:MOST_NAMED]
    )
    more = f" and {len(odd) - MOST_NAMED} more" if len(odd) > MOST_NAMED else ""
    text = f"{named}{more}: check the unit (--unit), and whether the sensors sit on the limbs that they are named after"
    names = tuple(dict.fromkeys(body for body, _, _ in odd))
    return [Finding("implausible-size", "warning", text, names, value=odd[0][1], unit="m")]
