"""What stands above a finding on the page: what to do about it, and what that would bring."""

from __future__ import annotations

from ..findings import CODES, Finding, mm
from ..model.anatomy import Part, find_segments
from ..model.skeleton import Joint, Skeleton
from ..result.coverage import foresee_half

MOVES: dict[Part, str] = {
    "thigh": "swing the {side}leg every way",
    "shank": "bend and twist the {side}knee",
    "foot": "circle the {side}ankle",
    "toe": "bend the {side}toes",
    "upper_arm": "circle the {side}arm",
    "forearm": "bend the {side}elbow and turn the palm",
    "hand": "circle the {side}wrist",
    "clavicle": "shrug the {side}shoulder",
    "head": "nod, tilt and turn the head",
    "neck": "nod, tilt and turn the head",
    "chest": "bend and twist the trunk",
    "spine": "bend and twist the trunk",
}  # that turn the joint above a part about two axes or more
SIDE_WORDS = {"l": "left ", "r": "right ", "": ""}
DEEDS = {
    "slip": "fasten {names} better: it moved {size}",
    "large-residual": "look how {names} is mounted: its joint comes apart by {size}",
    "missing-samples": "see what hides {names}",
    "gap-left": "see what hides {names}",
    "rivals": "move {names} against each other",
    "swap": "look at the cables or labels of {names}",
    "segment-completed": "put a third marker on {names}, off the line of the two",
    "bent-field": "keep away from metal, or correct with --field",
    "unit-assumed": "give the unit with --unit",
}  # by code, where the text does not end with it
OF_MOTION = ("wide-interval", "undetermined-joint", "one-axis-only")
NAMES_MAX = 3  # bodies that a title names


def entitle(finding: Finding, skeleton: Skeleton) -> tuple[str, str]:
    """The title of a finding and the text below it: of one to be looked at what to do, of a note what it is about."""
    if finding.severity == "info":
        return name_cause(finding), finding.text
    if finding.code in OF_MOTION and finding.bodies:
        return _begin(_advise_motion(finding, skeleton)), finding.text
    if finding.code in DEEDS and (finding.code != "rivals" or "move " in finding.text):
        names = finding.bodies if finding.code in ("rivals", "swap") else _own(finding)
        deed = DEEDS[finding.code].format(
            names=_join(names) or "the sensors", size=f"{mm(abs(finding.value or 0.0))} mm"
        )
        return _begin(deed), finding.text
    fact, _, deed = finding.text.rpartition("; ")
    if not fact:
        return name_cause(finding), finding.text
    name = f"{finding.bodies[0]}: " if len(_own(finding)) == 1 else ""
    return name + (deed if name else _begin(deed)), fact


def name_cause(finding: Finding) -> str:
    """What a finding is about, in a few words."""
    return _begin(CODES[finding.code].split(":")[0].split(";")[0])


def _advise_motion(finding: Finding, skeleton: Skeleton) -> str:
    """The motion that helps the worst of a finding's joints, for how long, and what that would bring."""
    own = [joint for joint in skeleton.joints if joint.child in _own(finding)]
    if not own:
        return f"move {_join(_own(finding))} about two axes"
    worst = max(own, key=lambda joint: joint.half_width or 0.0)
    seconds = skeleton.take.get("seconds")
    found = foresee_half(worst, float(seconds) if isinstance(seconds, (int, float)) else 0.0)
    told = describe_move(worst, skeleton)
    if found is not None and worst.half_width is not None:
        told += f" {found[0]:.0f} s: {mm(worst.half_width)} to {mm(found[1])} mm"
    elif worst.half_width is not None:
        told += f" in other ways: known to {mm(worst.half_width)} mm now"
    more = [joint.child for joint in own if joint is not worst]
    return f"{told}; then {_join(more)}" if more else told


def describe_move(joint: Joint, skeleton: Skeleton) -> str:
    """What a person does to turn a joint about several axes; of other figures the name of the body."""
    segment = find_segments(skeleton.bodies, skeleton.edges).get(joint.child)
    if segment is None or segment.part not in MOVES:
        return f"turn {joint.child} about two axes"
    return MOVES[segment.part].format(side=SIDE_WORDS[segment.side])


def _own(finding: Finding) -> tuple[str, ...]:
    """The bodies that a finding is of; the first where the second is the one it is joined to."""
    one = bool(finding.bodies) and finding.text.startswith(f"{finding.bodies[0]}:")
    return finding.bodies[:1] if one else finding.bodies


def _join(names: tuple[str, ...] | list[str]) -> str:
    """Names in a row, at most NAMES_MAX of them."""
    shown = [*names[:NAMES_MAX], *([f"{len(names) - NAMES_MAX} more"] if len(names) > NAMES_MAX else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _begin(text: str) -> str:
    """The text as it stands at the beginning of a sentence."""
    return text[:1].upper() + text[1:]
