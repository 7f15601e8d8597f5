"""Do these files belong together? Before several become one calibration: the same sensors, places and person.

Every file is held against another by where its joints are on the sensors (`files`), and by the lengths between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from ..errors import CondyleError
from ..estimate.checks import check_asked
from ..estimate.fitting import ROBUST, fit_tree
from ..estimate.lengths import LENGTH_MIN_SD_M, Lengths, measure_between
from ..findings import Finding, many, mm
from ..maths import rotation
from ..maths.robust import median
from ..model.anatomy import find_segments, mirror_segments
from ..model.options import FitOptions
from ..model.profile import name_edge
from ..model.skeleton import Joint
from ..model.stage import Decision
from ..model.take import Take, name_source
from ..model.units import METRES
from ..model.values import dataclass
from ..pairs.rows import read_rows
from .exchanged import ExchangedSensors, Pairs, bound_gap, find_exchange, make_twins
from .files import MovedSensor, describe_moved, find_moved, locate_places

Relation = Literal["same", "moved", "exchanged", "remounted", "mirrored", "other unit", "other person", "unknown"]
LEFT_OUT = -1  # in the place of the number of a source
NEAR: tuple[Relation, ...] = ("same", "moved", "exchanged", "unknown")  # relations of files that become one calibration
REMOUNTED_MIN_SHARE = 0.5  # of the sensors that are compared: so many moved between files as if all were put on anew
MIRRORED_MAX_SHARE = 0.25  # of the sensors that are compared, that may have moved once left and right are exchanged
OTHER_UNIT_MIN_RATIO = 2.0  # of lengths of one file over another's: no two people are so unlike
OTHER_UNIT_MAX_SHARE = 0.25  # by which that ratio may differ from that of two units, for two people
STATURE_SD, LIMB_SD = 0.05, 0.03  # of a length, by which people differ in size as a whole, and in a limb besides
OTHER_PERSON_MIN_LOG_RATIO = 0.0  # log likelihood of two people over that of one


@dataclass(frozen=True, eq=False)
class Comparison:
    """How one file stands to another.

    moved     the sensors that sit elsewhere
    exchange  those that stand for each other
    ratio     [-] of its lengths over the other's, where it is that of two units
    """

    relation: Relation
    moved: tuple[MovedSensor, ...] = ()
    exchange: ExchangedSensors | None = None
    ratio: float | None = None

    @property
    def bodies(self) -> tuple[str, ...]:
        """Those that it is about."""
        exchanged = () if self.exchange is None else self.exchange.bodies
        return (*exchanged, *(one.body for one in self.moved))


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
    ratio = find_unit_ratio(a, b)
    if ratio is not None:
        return Comparison("other unit", tuple(moved), ratio=ratio)
    mirrored = mirror_names(b)
    if mirrored is not None and len(find_moved(a, mirrored)) <= MIRRORED_MAX_SHARE * len(_find_compared(a, mirrored)):
        return Comparison("mirrored", tuple(moved))
    other = is_other_person(measure_between(a), measure_between(b))
    return Comparison("other person" if other else "remounted", tuple(moved))


def compare_take(known: Sequence[Joint], part: Take, now: Sequence[Joint]) -> Comparison:
    """What a take is to joints that are known, by those that it tells; sensors that stand for each other are told.

    known  joints with a covariance
    now    see `locate_places`, of the take
    """
    found = compare_files(known, now)
    if found.relation in ("mirrored", "other unit"):
        return found
    near = found.relation in NEAR
    moved = {one.body for one in found.moved} if near else set()
    exchange = find_exchange(known, part, moved, partial(_closes_anew, moved=moved))
    if exchange is None:
        return found
    # What moved besides is told by the joints of the others: those of the two come apart by the exchange.
    aside = set(exchange.bodies)
    before, after = ([one for one in joints if aside.isdisjoint((one.child, one.parent))] for joints in (known, now))
    rest = find_moved(before, after)
    others = {name for one in before for name in (one.child, one.parent)}
    if not near and len(rest) > REMOUNTED_MIN_SHARE * len(others):
        return found
    return Comparison("exchanged", tuple(rest), exchange)


def _closes_anew(joints: Sequence[Joint], part: Take, pairs: Pairs, moved: Collection[str]) -> bool:
    """Whether the bodies beside two sensors have their joints where they had them once the two are exchanged alone."""
    twin = make_twins(pairs)
    touched = [one for one in joints if not {one.child, one.parent}.isdisjoint(twin)]
    beside = {name for one in touched for name in (one.child, one.parent)} - set(twin)
    if beside.isdisjoint(moved) or not set(twin) <= {name for one in touched for name in (one.child, one.parent)}:
        return False
    renamed = replace(part.select([*twin, *beside]), names=tuple(twin.get(name, name) for name in (*twin, *beside)))
    now = locate_places(renamed, [(one.parent, one.child) for one in touched])
    told = {name for one in now if one.covariance is not None for name in (one.child, one.parent)}
    usual = {frozenset((one.child, one.parent)): bound_gap(one) for one in touched}
    if len(now) < len(touched) or not {*twin, *beside} <= told:
        return False
    if any(one.residual > usual[frozenset((one.child, one.parent))] for one in now):
        return False
    return beside.isdisjoint(one.body for one in find_moved(touched, now))


def find_unit_ratio(a: Sequence[Joint], b: Sequence[Joint]) -> float | None:
    """How many times lengths are longer in b, where that is the ratio of two units of length; None where it is not.

    Where no length is in both, the ways from sensor to sensor by the joints tell it, as far as none was put on anew.
    """
    sizes: list[dict[tuple[object, ...], float]]
    sizes = [dict(zip(one.keys, one.value.tolist(), strict=True)) for one in (measure_between(a), measure_between(b))]
    if sizes[0].keys().isdisjoint(sizes[1]):
        sizes = [{name_edge(one.child, one.parent): _reach(one) for one in joints} for joints in (a, b)]
    ratios = [size / sizes[0][key] for key, size in sizes[1].items() if size > 0 and sizes[0].get(key, 0.0) > 0]
    if not ratios:
        return None
    ratio = float(np.exp(median(np.log(ratios))))
    units = sorted({one / other for one in METRES.values() for other in METRES.values()})
    nearest = min(units, key=lambda unit: abs(np.log(ratio / unit)))
    alike = abs(np.log(ratio / nearest)) < np.log1p(OTHER_UNIT_MAX_SHARE)
    return nearest if alike and abs(np.log(ratio)) > np.log(OTHER_UNIT_MIN_RATIO) else None


def _reach(joint: Joint) -> float:
    """[m] from one sensor to the other by the joint."""
    return float(np.linalg.norm(joint.p_child_joint) + np.linalg.norm(joint.p_parent_joint))


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
    twin = dict(zip(bodies, bodies, strict=True))
    for body, other in mirror_segments(segments).items():
        if segments[body].side:
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
    parts = _cut_rows(take, numbers)
    edges = _find_edges(max(parts, key=lambda part: part.seconds), options)
    places = [locate_places(part, edges) for part in parts]
    against = [[compare_files(a, b) for b in places] for a in places]
    kept = _choose_group(against)
    reference = max(kept, key=lambda k: len([joint for joint in places[k] if joint.covariance is not None]))
    known = [joint for joint in places[reference] if joint.covariance is not None]
    others = {k: compare_take(known, parts[k], places[k]) for k in range(count) if k != reference}
    gone = [k for k, found in others.items() if found.relation not in NEAR]
    told = {k: found for k, found in others.items() if (k in gone if gone else found.relation != "same")}
    files = [name_source(take, number) for number in numbers]
    findings = [describe_relation(found, files[k], files[reference]) for k, found in told.items()]
    if gone:
        return Decision(findings, _leave_out(take, [numbers[k] for k in gone]))
    hidden = np.zeros((take.frames, take.bodies), bool)
    for k, found in told.items():
        own = take.in_source(numbers[k])
        hidden |= own[:, None] & np.isin(take.names, found.bodies)
    return Decision(findings, take.mask(hidden) if hidden.any() else None)


def _cut_rows(take: Take, numbers: Sequence[int]) -> list[Take]:
    """The rows of every file in the place of its frames, with the rotations nearest to their mean ones.

    Rows are sums over frames, which whatever is done with the whole take needs too: no frame is read for this.
    """
    rows = read_rows(take)
    whole = rows.take
    if rows.digest is not None:
        whole = replace(whole, R_world_body=rotation.project(whole.R_world_body))
    return [whole.at(np.flatnonzero(whole.in_source(k))) for k in numbers]


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


def describe_later_take(found: Comparison) -> list[Finding]:
    """What to say of a later take that does not belong to the calibration that it is played on, or not wholly."""
    bodies = found.bodies
    if found.exchange is not None:
        text = f"{_describe_exchange(found.exchange, 'at the calibration')}; {_name_back(found.exchange)}"
        return [Finding("sensors-exchanged", "error", text, found.exchange.bodies), *describe_moved(found.moved)]
    if found.relation in NEAR:
        return describe_moved(found.moved)
    if found.relation == "other unit":
        text = f"{_describe_unit(found)} at the calibration; {_name_unit(found)}"
        return [Finding("other-unit", "error", text, value=found.ratio)]
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


def _describe_exchange(exchange: ExchangedSensors, where: str) -> str:
    """Which sensors stand for each other against another recording."""
    named = ", ".join(f"{a} and {b}" for a, b in exchange.pairs)
    if exchange.anew:
        return f"{named} sit on each other's bodies, and otherwise than {where}"
    return f"{named} are exchanged against what they were {where}"


def _name_back(exchange: ExchangedSensors) -> str:
    """How names are exchanged back."""
    renamed = ",".join(f"{a}={b},{b}={a}" for a, b in exchange.pairs)
    after = ", and calibrate anew, since they were put on anew" if exchange.anew else ""
    return f"correct the names, or give --rename {renamed}{after}"


def _describe_unit(found: Comparison) -> str:
    assert found.ratio is not None
    times = f"{found.ratio:.4g} times" if found.ratio > 1 else f"1/{1 / found.ratio:.4g} of"
    return f"all lengths are {times} those"


def _name_unit(found: Comparison) -> str:
    """The unit that the numbers of a take seem to be in."""
    assert found.ratio is not None
    unit = next((name for name, metres in METRES.items() if np.isclose(metres, 1 / found.ratio)), None)
    return "give the unit of length with --unit" + ("" if unit is None else f" {unit}")


def _list_moved(found: Comparison) -> str:
    return ", ".join(f"{one.body} by {mm(one.distance)} mm" for one in found.moved)


def describe_relation(found: Comparison, file: str, other: str) -> Finding:
    """What to say of a file that does not belong to another, or not wholly."""
    bodies = found.bodies
    most = max((one.distance for one in found.moved), default=0.0)
    if found.exchange is not None:
        besides = f", and {_list_moved(found)} sit elsewhere" if found.moved else ""
        told = f"{_describe_exchange(found.exchange, f'in {other}')}{besides}"
        text = f"{file}: {told}; they are left out there. Correct the names"
        return Finding("sensors-exchanged", "warning", text, bodies)
    if found.relation == "other unit":
        text = f"{file}: {_describe_unit(found)} in {other}; it is left out. Bring both to one unit"
        return Finding("other-unit", "error", text, value=found.ratio)
    if found.relation == "unknown":
        text = f"{file}: its motion does not tell whether its sensors sit where they do in {other}; move every joint"
        return Finding("files-not-compared", "info", text)
    if found.relation == "moved":
        where = f"{file}: sensors sit elsewhere than in {other}: {_list_moved(found)}"
        text = f"{where}; they are left out there. --remounted uses them"
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
