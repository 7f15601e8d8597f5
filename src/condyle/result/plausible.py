"""What no person has: lengths that no limb of that name has (the unit is wrong, or a sensor sits on another limb than
its name says), knees that bend forwards (the world is left-handed, or the sides are exchanged in the names), left
arms over right legs, and joints between segments that are no neighbours (sensors bear each other's names).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..errors import join_command
from ..findings import Finding, list_some
from ..maths.arrays import Bools, Floats, Ints
from ..maths.graph import components
from ..maths.robust import median
from ..model.anatomy import TYPICAL, Part, Segment, count_between, find_segments
from ..model.skeleton import Joint, Limb
from ..model.take import Take

Exchange = tuple[tuple[int, ...], ...]  # circles of bodies, each of which is in truth the next of its circle
LONG_PARTS: tuple[Part, ...] = ("thigh", "shank", "upper_arm", "forearm")  # whose length differs little between adults
# Of joints that names speak against: those of data/more with two names exchanged have 0.9 and more mostly, edges of
# plain trees that are wrong next to nothing.
EXCHANGED_MIN_SUPPORT = 0.8
# An infant's thigh is a third; 1105 limbs of tests/goldens have 0.73 to 1.30.
LIMB_MIN_SHARE = 0.25  # of an adult's limb: a shorter one no person has
LIMB_MAX_SHARE = 2.0  # of an adult's limb: a longer one no person has
# Harrington's regression (prepare/joint_centres.py) for spines 311 mm apart; recordings have 276.
HIPS_MAX_M = 0.22  # m that people's hips are apart at most
MOST_NAMED = 3  # limbs in the sentence
SEVERAL_MIN_EDGES = 3  # edges over a segment, from which on more than two names may be exchanged
SEVERAL_MOST_BODIES = 24  # bodies any three of which, or two pairs, are tried
SEVERAL_MOST_WAYS = 3  # exchanges that would do alike, up to which they are told
EXCHANGED_MIN_NEIGHBOURS = 3  # joints of neighbours, as names exchanged have them: fewer may be a machine's
FORWARD_BEND_MIN_RAD = np.radians(30)  # rad by which every knee bends forwards; people's overstretch by 15 at most
FORWARD_BEND_RATIO = 3.0  # of that to how far the same knees bend backwards; 1 of 90 recordings is told, and is so
BEND_FRAMES = 1000  # frames at most in which knees are looked at
CROSSED_MAX_COSINE = (
    -0.5
)  # as a rule, hips against shoulders, left to right: 120 deg; 37 recorded takes have 0.71 or more


def find_odd_limbs(
    bodies: Sequence[str], joints: Sequence[Joint], limbs: Sequence[Limb], *, solved: bool = False
) -> list[Finding]:
    """A finding where lengths of named limbs, with their intervals, lie outside of what people have.

    solved  the poses are those of a skeleton, which has no skin
    """
    segments = find_segments(bodies, [(joint.parent, joint.child) for joint in joints])
    odd = []
    for limb in limbs:
        segment = segments.get(limb.body)
        if segment is None or segment.part not in LONG_PARTS or limb.length is None:
            continue
        low, high = (limb.length if end is None else end for end in (limb.low, limb.high))
        usual = TYPICAL[segment.part]
        meet = limb.between == "axes"  # two axes may meet, as an elbow's and that about which the forearm twists
        if (high < LIMB_MIN_SHARE * usual and not meet) or low > LIMB_MAX_SHARE * usual:
            odd.append((limb.body, limb.length, usual))
    if not odd:
        return _find_wide_hips(segments, joints, limbs, solved)
    said = [
        f"{body} is {1000 * length:.3g} mm long (an adult's is about {1000 * usual:.0f})" for body, length, usual in odd
    ]
    text = (
        f"{list_some(said, MOST_NAMED)}: check the unit (--unit), and whether the sensors sit on the limbs that they "
        "are named after"
    )
    names = tuple(dict.fromkeys(body for body, _, _ in odd))
    return [Finding("implausible-size", "warning", text, names, value=odd[0][1], unit="m")]


def _find_wide_hips(
    segments: Mapping[str, Segment], joints: Sequence[Joint], limbs: Sequence[Limb], solved: bool
) -> list[Finding]:
    """A finding where the hips, with their interval, are farther apart than people's."""
    sides = {body: one.side for body, one in segments.items() if one.part == "thigh"}
    above = {joint.child: joint.parent for joint in joints}
    for limb in limbs:
        if limb.length is None or (limb.length if limb.low is None else limb.low) <= HIPS_MAX_M:
            continue
        ends = {above[child] if child == limb.body else child for child in (limb.from_joint, limb.to_joint)}
        if {sides.get(end) for end in ends} == {"l", "r"}:
            text = f"the hips are {1000 * limb.length:.0f} mm apart, people's are {1000 * HIPS_MAX_M:.0f} at most: "
            if solved:
                text += "the skeleton on which these poses were solved has them there; check the unit (--unit)"
            else:
                text += (
                    "in this motion the skin of pelvis and thighs moves with the legs, and these are not the bones' "
                    "hips; record each leg swung in circles, and fit that take"
                )
            return [Finding("implausible-size", "warning", text, (limb.body,), value=limb.length, unit="m")]
    return []


def find_mirrored(take: Take, joints: Sequence[Joint]) -> list[Finding]:
    """A finding where the knees of a person bend forwards, as left and right are told by the names of the legs, or the
    arms have another left than the legs.
    """
    segments = find_segments(take.names, [(joint.parent, joint.child) for joint in joints])
    part, _ = take.thin(BEND_FRAMES)
    return _find_forward_knees(part, joints, segments) or _find_crossed_arms(part, joints, segments)


def find_exchanged_names(bodies: Sequence[str], joints: Sequence[Joint]) -> list[Finding]:
    """A finding where joints pass over segments that are worn, by the names, and none does with two names exchanged, or
    with three in a circle or two pairs where many do.
    """
    number = {name: k for k, name in enumerate(bodies)}
    inside = [joint for joint in joints if joint.parent in number]
    edges = np.array([(number[joint.parent], number[joint.child]) for joint in inside])
    if not len(edges):
        return []
    between = count_between(bodies)[0]
    over = _pass_over(between, edges)
    exchanges = _find_exchanges(between, edges) if over.any() else []
    if not exchanges or _least_support(inside, over) < EXCHANGED_MIN_SUPPORT:
        return []
    ends = ", ".join(" - ".join(bodies[k] for k in edge) for edge in edges[over][:MOST_NAMED])
    ways = " or ".join(", ".join(_name_circle(bodies, circle) for circle in one) for one in exchanges[:MOST_NAMED])
    renamed = [
        f"{bodies[a]}={bodies[b]}" for circle in exchanges[0] for a, b in zip(circle, _turn(circle), strict=True)
    ]
    text = (
        f"joined, but no neighbours by their names: {ends}; {ways} seem to bear each other's names: look which sensor "
        f"is where, and if so, give --rename {join_command([','.join(renamed)])}"
    )
    names = tuple(bodies[k] for k in dict.fromkeys(k for one in exchanges for circle in one for k in circle))
    return [Finding("exchanged-names", "warning", text, names, count=int(over.sum()))]


def _least_support(joints: Sequence[Joint], chosen: Bools) -> float:
    return min(joint.support or 0.0 for joint, one in zip(joints, chosen, strict=True) if one)


def _pass_over(between: Floats, edges: Ints) -> Bools:
    """(..., J) edges (..., J, 2) with segments between their ends that are worn."""
    steps = between[edges[..., 0], edges[..., 1]]
    return np.asarray((steps > 0) & np.isfinite(steps))


def _find_exchanges(between: Floats, edges: Ints) -> list[Exchange]:
    """Names exchanged that leave no edge that passes over a segment and most neighbours: of two bodies, or where that
    does not do and many edges pass over one, of three in a circle or of two pairs.
    """
    over = _pass_over(between, edges)
    named = np.intersect1d(np.flatnonzero(np.isfinite(between).any(axis=1)), edges).tolist()
    wrong = set(np.unique(edges[over]).tolist())
    pairs = [pair for pair in combinations(named, 2) if not wrong.isdisjoint(pair)]
    found = _choose_exchanges(between, edges, [(pair,) for pair in pairs])
    if found or over.sum() < SEVERAL_MIN_EDGES or len(named) > SEVERAL_MOST_BODIES:
        return found
    circles = [(one,) for a, b, c in combinations(named, 3) for one in ((a, b, c), (a, c, b)) if wrong & {a, b, c}]
    twice = [(one, other) for one, other in combinations(pairs, 2) if set(one).isdisjoint(other)]
    found = _choose_exchanges(between, edges, [*circles, *twice])
    return found if len(found) <= SEVERAL_MOST_WAYS else []


def _choose_exchanges(between: Floats, edges: Ints, trials: Sequence[Exchange]) -> list[Exchange]:
    """Those of the trials after which no edge passes over a segment, and as many as possible are of neighbours."""
    if not trials:
        return []
    names = np.tile(np.arange(len(between)), (len(trials), 1))
    for own, trial in zip(names, trials, strict=True):
        for circle in trial:
            own[list(circle)] = _turn(circle)
    renamed = names[:, edges]
    free = ~_pass_over(between, renamed).any(axis=1)
    count = np.where(free, (between[renamed[..., 0], renamed[..., 1]] == 0).sum(axis=1), 0)
    most = int(count.max())
    return [trials[k] for k in np.flatnonzero(count == most).tolist()] if most >= EXCHANGED_MIN_NEIGHBOURS else []


def _turn(circle: tuple[int, ...]) -> tuple[int, ...]:
    """What each of a circle is in truth: the next one."""
    return (*circle[1:], circle[0])


def _name_circle(bodies: Sequence[str], circle: tuple[int, ...]) -> str:
    return (" and " if len(circle) == 2 else ", ").join(bodies[k] for k in circle)


def _find_crossed_arms(take: Take, joints: Sequence[Joint], segments: Mapping[str, Segment]) -> list[Finding]:
    lines = []
    pairs: tuple[tuple[Part, Part], ...] = (("pelvis", "thigh"), ("chest", "upper_arm"))
    for pair in pairs:
        left, right = (_place_joint(take, joints, segments, pair, side) for side in "lr")
        if left is None or right is None or sum(one.part == pair[1] for one in segments.values()) > 2:
            return []  # of more than two, left and right may be of two people
        lines.append(right - left)
    limbs = {take.index(body) for body, one in segments.items() if one.part in ("thigh", "upper_arm")}
    edges = np.array([(take.index(joint.parent), take.index(joint.child)) for joint in joints])
    if not any(limbs <= set(group) for group in components(len(take.names), edges)):
        return []  # arms of one person, legs of another
    size = np.linalg.norm(lines[0], axis=1) * np.linalg.norm(lines[1], axis=1)
    cosine = (lines[0] * lines[1]).sum(axis=1) / np.where(size > 0, size, np.nan)
    cosine = cosine[np.isfinite(cosine)]
    if not len(cosine) or (usual := float(median(cosine))) > CROSSED_MAX_COSINE:
        return []
    text = (
        "by their names, the left arm is above the right leg: the arms, or the legs, bear each other's names; angles "
        "of trunk and shoulders are wrong until that is put right"
    )
    arms = tuple(body for body, one in segments.items() if one.part == "upper_arm")
    return [Finding("mirrored-person", "warning", text, arms, value=float(np.arccos(max(usual, -1.0))), unit="rad")]


def _find_forward_knees(part: Take, joints: Sequence[Joint], segments: Mapping[str, Segment]) -> list[Finding]:
    legs = {side: leg for side in "lr" if (leg := _place_leg(part, joints, segments, side)) is not None}
    if len(legs) < 2:
        return []
    right = legs["r"][0] - legs["l"][0]
    ahead, back = 0.0, 0.0
    for hip, knee, ankle in legs.values():
        up, down = hip - knee, ankle - knee
        forward = np.cross(up, right)
        across = np.linalg.norm(forward, axis=1)
        forward *= (np.linalg.norm(up, axis=1) / np.where(across > 0, across, np.nan))[:, None]
        bend = np.arctan2((down * forward).sum(axis=1), -(down * up).sum(axis=1))  # above zero: forwards
        bend = bend[np.isfinite(bend)]
        if not len(bend) or bend.max() < FORWARD_BEND_MIN_RAD:
            return []
        ahead, back = max(ahead, float(bend.max())), max(back, -float(bend.min()))
    if ahead < FORWARD_BEND_RATIO * back:
        return []
    text = (
        f"knees bend forwards, by {np.degrees(ahead):.0f} deg: the world of the recording is left-handed (--handed "
        "left), or left and right are exchanged in the names; angles have wrong signs until that is put right"
    )
    shanks = tuple(body for body, one in segments.items() if one.part == "shank")
    return [Finding("mirrored-person", "warning", text, shanks, value=ahead, unit="rad")]


def _place_leg(
    take: Take, joints: Sequence[Joint], segments: Mapping[str, Segment], side: str
) -> tuple[Floats, Floats, Floats] | None:
    """(n, 3) [m] of hip, knee and ankle of one side; None where a joint of them is not there."""
    ends: list[tuple[Part, Part]] = [("pelvis", "thigh"), ("thigh", "shank"), ("shank", "foot")]
    hip, knee, ankle = (_place_joint(take, joints, segments, pair, side) for pair in ends)
    return None if hip is None or knee is None or ankle is None else (hip, knee, ankle)


def _place_joint(
    take: Take, joints: Sequence[Joint], segments: Mapping[str, Segment], pair: tuple[Part, Part], side: str
) -> Floats | None:
    """(n, 3) [m] of the joint of two parts on one side; None where it is not there."""
    for joint in joints:
        parent, child = (segments.get(name) for name in (joint.parent, joint.child))
        if parent is None or child is None or {parent.part, child.part} != set(pair):
            continue
        if side in (parent.side, child.side):
            k = take.index(joint.child)
            return np.asarray(take.p_world_body[:, k] + take.R_world_body[:, k] @ joint.p_child_joint)
    return None
