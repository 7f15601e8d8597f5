"""Do these files belong together? Before several become one calibration: the same sensors, places and person.

Every file is held against another by where its joints are on the sensors (`files`), and by the lengths between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

import numpy as np

from ..errors import CondyleError
from ..estimate.checks import check_asked
from ..estimate.fitting import ROBUST, fit_tree
from ..estimate.lengths import LENGTH_MIN_SD_M, Lengths, measure_between
from ..findings import Finding, many, mm
from ..model.anatomy import Segment, find_segments
from ..model.options import FitOptions
from ..model.skeleton import Joint
from ..model.stage import Decision
from ..model.take import Take
from ..model.values import dataclass
from .files import MovedSensor, describe_moved, find_moved, locate_places

Relation = Literal["same", "moved", "remounted", "mirrored", "other person", "unknown"]
LEFT_OUT = -1  # in the place of the number of a source
NEAR: tuple[Relation, ...] = ("same", "moved", "unknown")  # relations of files that become one calibration
REMOUNTED_MIN_SHARE = 0.5  # of the sensors that are compared: so many moved between files as if all were put on anew
MIRRORED_MAX_SHARE = 0.25  # of the sensors that are compared, that may have moved once left and right are exchanged
STATURE_SD, LIMB_SD = 0.05, 0.03  # of a length, by which people differ in size as a whole, and in a limb besides
OTHER_PERSON_MIN_LOG_RATIO = 0.0  # log likelihood of two people over that of one


@dataclass(frozen=True, eq=False)
class Comparison:
    """How one file stands to another: what they are, and the sensors that sit elsewhere."""

    relation: Relation
    moved: tuple[MovedSensor, ...] = ()


def compare_files(a: Sequence[Joint], b: Sequence[Joint]) -> Comparison:
    """What file b is to file a, by the joints that each tells."""
    bodies = _find_compared(a, b)
    if not bodies:
        return Comparison("unknown")
    moved = find_moved(a, b)
    if not moved:
        return Comparison("same")
    if len(moved) <= REMOUNTED_MIN_SHARE * len(bodies):
        return Comparison("moved", tuple(moved))
    mirrored = mirror_names(b)
    if mirrored is not None and len(find_moved(a, mirrored)) <= MIRRORED_MAX_SHARE * len(_find_compared(a, mirrored)):
        return Comparison("mirrored", tuple(moved))
    other = is_other_person(measure_between(a), measure_between(b))
    return Comparison("other person" if other else "remounted", tuple(moved))


def is_other_person(a: Lengths, b: Lengths) -> bool:
    """Whether lengths differ as those of two people do, rather than by their errors: the likelier of the two."""
    keys = [key for key in a.keys if key in b.keys]
    if not keys:
        return False
    one, other = a.part(keys), b.part(keys)
    apart, V = other.value - one.value, one.covariance + other.covariance + LENGTH_MIN_SD_M**2 * np.eye(len(keys))
    between = STATURE_SD**2 * np.outer(one.value, one.value) + np.diag((LIMB_SD * one.value) ** 2)
    likely = [-0.5 * float(np.linalg.slogdet(S)[1] + apart @ np.linalg.solve(S, apart)) for S in (V, V + 2 * between)]
    return likely[1] - likely[0] > OTHER_PERSON_MIN_LOG_RATIO


def mirror_names(joints: Sequence[Joint]) -> list[Joint] | None:
    """The joints with left and right exchanged in their bodies' names; None where the names tell no sides."""
    bodies = list(dict.fromkeys(name for joint in joints for name in (joint.child, joint.parent)))
    segments = find_segments(bodies, [(joint.parent, joint.child) for joint in joints])
    named = {segment: body for body, segment in segments.items()}
    twin = dict(zip(bodies, bodies, strict=True))
    for body, segment in segments.items():
        if segment.side:
            other = named.get(Segment(segment.part, "r" if segment.side == "l" else "l"))
            if other is None:
                return None
            twin[body] = other
    if all(body == other for body, other in twin.items()):
        return None
    return [replace(joint, child=twin[joint.child], parent=twin[joint.parent]) for joint in joints]


def _find_compared(a: Sequence[Joint], b: Sequence[Joint]) -> set[str]:
    """The bodies of joints whose place both tell."""
    edges = [{frozenset((j.child, j.parent)) for j in joints if j.covariance is not None} for joints in (a, b)]
    return {name for edge in edges[0] & edges[1] for name in edge}


def check_belonging(take: Take, options: FitOptions) -> Decision:
    """Files of the take that do not belong to the others are left out, and so are sensors that moved in one of them.

    The largest group of files that belong together stays; of two alike the first. Sensors are asked for once no file
    is left out any more.
    """
    numbers = sorted(set(take.of_source) - {LEFT_OUT})
    count = len(numbers)
    if count < 2 or not options.belong:
        return Decision()
    parts = [take.at(np.flatnonzero(take.in_source(k))) for k in numbers]
    edges = _find_edges(max(parts, key=lambda part: part.seconds), options)
    places = [locate_places(part, edges) for part in parts]
    against = [[compare_files(a, b) for b in places] for a in places]
    kept = _choose_group(against)
    reference = max(kept, key=lambda k: len([joint for joint in places[k] if joint.covariance is not None]))
    others = {k: against[reference][k] for k in range(count) if k != reference}
    gone = [k for k, found in others.items() if found.relation not in NEAR]
    told = {k: found for k, found in others.items() if (k in gone if gone else found.relation != "same")}
    findings = [
        describe_relation(found, _name(take, numbers[k]), _name(take, numbers[reference])) for k, found in told.items()
    ]
    if gone:
        return Decision(findings, _leave_out(take, [numbers[k] for k in gone]))
    hidden = np.zeros((take.frames, take.bodies), bool)
    for k, found in told.items():
        own = take.in_source(numbers[k])
        hidden |= own[:, None] & np.isin(take.names, [one.body for one in found.moved])
    return Decision(findings, take.mask(hidden) if hidden.any() else None)


def _find_edges(part: Take, options: FitOptions) -> list[tuple[str, str]]:
    """(parent, child) of the tree of one file, by which all of them are compared."""
    try:
        asked = replace(options, world=False, root=None, loops=())
        estimate = fit_tree(part, check_asked(part, asked), asked, ROBUST)
    except CondyleError:
        return list(options.tree)
    return [(part.names[up], part.names[child]) for child, up in estimate.pairs.tolist()]


def _choose_group(against: Sequence[Sequence[Comparison]]) -> list[int]:
    """The largest group of files that are the same as one of them, or nearly so."""
    groups = [[k for k, found in enumerate(row) if k == j or found.relation in NEAR] for j, row in enumerate(against)]
    return max(groups, key=len)


def _leave_out(take: Take, gone: Sequence[int]) -> Take:
    """The take without the frames of some of its sources."""
    kept = sorted(set(take.of_source) - {LEFT_OUT, *gone})
    rows = np.flatnonzero(~np.any([take.in_source(k) for k in gone], axis=0))
    of_source = tuple(kept.index(k) if k in kept else LEFT_OUT for k in take.of_source)
    part = take.at(rows)
    return replace(part, sources=tuple(take.sources[k] for k in kept if k < len(take.sources)), of_source=of_source)


def _name(take: Take, number: int) -> str:
    return PurePath(take.sources[number]).name if number < len(take.sources) else f"file {number + 1}"


def describe_later_take(found: Comparison) -> list[Finding]:
    """What to say of a later take that does not belong to the calibration that it is played on, or not wholly."""
    if found.relation in NEAR:
        return describe_moved(found.moved)
    bodies = tuple(one.body for one in found.moved)
    if found.relation == "mirrored":
        text = "left and right are exchanged in the names against the calibration; correct them, or give --rename"
        return [Finding("mirrored-names", "error", text, bodies)]
    if found.relation == "other person":
        text = "the limbs have other lengths than at the calibration: another person; solve on a calibration of theirs"
        return [Finding("another-person", "error", text, bodies)]
    most = max(one.distance for one in found.moved)
    text = (
        f"{many(len(bodies), 'sensor')} sit elsewhere on the person than at the calibration, by up to {mm(most)} mm; "
        "the poses of their bodies are off by as much. Solve with --remounted"
    )
    return [Finding("remounted", "error", text, bodies, value=most, unit="m")]


def describe_relation(found: Comparison, file: str, other: str) -> Finding:
    """What to say of a file that does not belong to another, or not wholly."""
    bodies = tuple(one.body for one in found.moved)
    most = max((one.distance for one in found.moved), default=0.0)
    if found.relation == "unknown":
        text = f"{file}: its motion does not tell whether its sensors sit where they do in {other}; move every joint"
        return Finding("files-not-compared", "info", text)
    if found.relation == "moved":
        where = ", ".join(f"{one.body} by {mm(one.distance)} mm" for one in found.moved)
        text = f"{file}: sensors sit elsewhere than in {other}: {where}; they are left out there. --remounted uses them"
        return Finding("sensor-moved-between-files", "warning", text, bodies, value=most, unit="m")
    if found.relation == "mirrored":
        text = f"{file}: left and right are exchanged in its names against {other}; it is left out. Correct the names"
        return Finding("mirrored-names", "error", text, bodies)
    if found.relation == "other person":
        text = (
            f"{file}: its limbs have other lengths than in {other}: another person; it is left out. Fit people one by "
            "one, or in one scene with --together a=FILE b=FILE"
        )
        return Finding("another-person", "error", text, bodies)
    text = (
        f"{file}: {many(len(bodies), 'sensor')} sit elsewhere on the person than in {other}, by up to {mm(most)} mm; "
        "it is left out. Fit the files with --remounted"
    )
    return Finding("remounted", "error", text, bodies, value=most, unit="m")
