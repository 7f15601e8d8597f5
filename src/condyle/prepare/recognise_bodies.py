"""Bodies from the names of markers: marker sets and words that people use, proved by the motion.

A name only proposes. The markers of a segment must also keep their distances: one that does not is left out and told.
A segment that has two markers of its own is completed by the centre of the joint above it (joint_centres.py), one that
has fewer is left out. A marker never serves two segments: a joint between them would be drawn to it and come out sure
and wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from ..findings import Finding, many
from ..maths.arrays import Bools, Floats, evenly
from ..maths.robust import median
from ..model.anatomy import Part, Side, segment_of
from ..model.recording import Recording, length_of
from ..model.take import CENTRE, BodyMarker
from ..model.values import dataclass
from .clusters import match_marker
from .joint_centres import ABOVE, ROLL_MAX_SD_RAD, JointCentre, Near, find_centre, recall_centres
from .marker_names import MIDDLE, MarkerNames, is_mere_number, name_markers, subject_of, without_subject
from .propose_bodies import SEEN_TOGETHER_MIN_FRAMES, distance_changes, propose_bodies
from .shapes import find_seen, fit_shape

RECOGNISING_FRAMES = 600  # frames of all recordings in which rigidity is looked at
SEGMENT_RIGID_MAX_SHARE = 0.06  # fit error over size of a segment; 629 segments of recorded people have 0.048 or less
COMPLETED_RIGID_MAX_SHARE = 0.08  # of one completed by a joint's centre, which skin carries; 107 recorded have 0.049
PLATE_MAX_SHARE = 0.02  # of a cluster that nothing but the motion tells; plates on people have 0.01 or less
APART_MIN_TIMES = 5.0  # times its own that all other markers change their distances to such a cluster
BETWEEN = {
    "wrist": ("forearm", "hand"),
    "elbow": ("upper_arm", "forearm"),
    "ankle": ("shank", "foot"),
    "knee": ("thigh", "shank"),
}  # places on two segments: of the first, or of the second where only that one has too few; from the ends inwards
ORDER = (
    "pelvis", "thorax", "head", "scapula", "upper_arm", "forearm", "hand", "thigh", "shank", "foot", "hindfoot",
    "forefoot",
)  # fmt: skip
RECOGNISED_SEGMENTS = frozenset(ORDER) - {"scapula", "hindfoot", "forefoot"}  # that a place of the same name is
LIMB_SEGMENTS = ("upper_arm", *(far for _, far in BETWEEN.values()))  # segments with a joint above that bears markers
SIDES: tuple[Side, ...] = ("", "l", "r")
PART_NAMES: dict[Part, str] = {
    "chest": "thorax",
    "clavicle": "scapula",
    "toe": "forefoot",
}  # others are called as they are

_Places = dict[tuple[Side, str], list[str]]
_Fits = Callable[[Sequence[str]], bool]  # whether markers move as one rigid body
DEFAULT_RATE_HZ = 100.0  # of a recording without time
LABELS_MOST = 300  # markers of one room; what has more is no set of them, or damaged
LABEL_MOST_CHARACTERS = 80  # letters of a marker's name; what has more is none, or damaged


@dataclass(frozen=True)
class RecognisedBody:
    """A body of three markers or more.

    markers  in the order of their names, so that the body's axes do not depend on the order of a file
    error    root mean square fit error of a marker per axis, usual over frames [m]
    size     root mean square distance of its markers from their mean [m]
    """

    markers: tuple[str, ...]
    error: float
    size: float


@dataclass(frozen=True)
class Recognition:
    """What markers were recognised as.

    title      the marker set, "" where it is none by name
    explained  how many of the worn markers the set names; worn: how many there are
    bodies     {name: body}
    few        {segment: its markers} of those that have too few
    lent       {segment: those and markers of a neighbour} that would make it a rigid body of three or more
    centres    of joints that complete segments of two markers, parents first
    by_motion  names say nothing, and the motion alone tells the bodies
    computed   points that a program computed
    findings   what was assumed, left out, and does not fit
    """

    title: str
    explained: int
    worn: int
    bodies: dict[str, RecognisedBody]
    few: dict[str, tuple[str, ...]]
    lent: dict[str, tuple[str, ...]]
    computed: tuple[str, ...]
    findings: tuple[Finding, ...]
    centres: tuple[JointCentre, ...] = ()
    by_motion: bool = False

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        return {name: body.markers for name, body in self.bodies.items()}


@dataclass
class _Person:
    """Markers by side and place, on their way to bodies; notes are sentences about what was assumed."""

    places: _Places
    bodies: _Places = field(default_factory=dict)
    few: _Places = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@np.errstate(over="ignore", invalid="ignore")  # numbers of damaged files, which no shape proves
def recognise_bodies(recordings: Sequence[Recording]) -> Recognition:
    """Bodies that the markers of recordings of the same person are, by names and by motion.

    Markers of a static trial are often taken off for the motion. Of all markers, and those that every recording has,
    those are taken that give more bodies, recording by recording.
    """
    given = {label for one in recordings if one.markers is not None for label in one.markers.names}
    if len(given) > LABELS_MOST or any(len(label) > LABEL_MOST_CHARACTERS for label in given):
        return Recognition("", 0, len(given), {}, {}, {}, (), ())
    labels, cloud = _look_at(recordings)
    found = _recognise(recordings, labels, cloud)
    worn = [one.markers.names for one in recordings if one.markers is not None]
    common = [k for k, label in enumerate(labels) if all(_column_of(label, own) is not None for own in worn)]
    if len(common) == len(labels):
        return found
    other = _recognise(recordings, [labels[k] for k in common], cloud[:, common])
    formed = [sum(_count_forming(body, worn) for body in one.bodies.values()) for one in (found, other)]
    return other if formed[1] > formed[0] else found


def _count_forming(body: RecognisedBody, worn: Sequence[Sequence[str]]) -> int:
    """Of recordings with these labels, those that have enough of a body's markers to form it."""
    own = [name for name in body.markers if not name.endswith(CENTRE)]
    return sum(sum(_column_of(name, labels) is not None for name in own) >= min(len(own), 3) for labels in worn)


def _recognise(recordings: Sequence[Recording], labels: Sequence[str], cloud: Floats) -> Recognition:
    """The same of markers with these labels, from some of their frames (n, k, 3) [m]."""
    column = {label: k for k, label in enumerate(labels)}
    names = name_markers(labels)
    plates = _find_plates(labels, names, cloud, column)
    seen = _Seen(cloud, column, _count_seconds(recordings), recordings[0].convention.handed == "left")
    taken = {label for plate in plates.values() for label in plate.markers}
    people = _find_people(names, taken, lambda markers: _is_rigid(_fit(cloud, markers, column)))
    bodies: dict[str, RecognisedBody] = {}
    few: dict[str, tuple[str, ...]] = {}
    lent: dict[str, tuple[str, ...]] = {}
    findings: list[Finding] = []
    centres: list[JointCentre] = []
    several = _has_namesakes(list(people.values()))
    for subject, person in people.items():
        prefix = f"{subject}:" if several and subject else ""
        for key, markers in sorted(person.bodies.items(), key=lambda item: (ORDER.index(item[0][1]), item[0][0])):
            name = prefix + call_segment(*key)
            body, told = _prove(name, markers, cloud, column)
            findings += told
            if body is not None:
                bodies[name] = body
        for name, (body, centre) in _complete(person, prefix, bodies, seen).items():
            bodies[name] = body
            centres.append(centre)
        for key, markers in person.few.items():
            few[prefix + call_segment(*key)] = tuple(markers)
            more = _lend(person, key, cloud, column)
            if more is not None:
                lent[prefix + call_segment(*key)] = more.markers
        findings += [Finding("marker-assumed", "info", note) for note in person.notes]
    bodies |= {name: plate for name, plate in plates.items() if name not in bodies}
    by_motion = not bodies and not few
    if by_motion:
        bodies = _find_rigid(labels, names, cloud)
    for name, body in bodies.items():  # centres of joints last
        bodies[name] = replace(body, markers=tuple(sorted(body.markers, key=lambda one: (one.endswith(CENTRE), one))))
    found = tuple(findings)
    return Recognition(
        names.title,
        names.explained,
        len(names.worn),
        bodies,
        few,
        lent,
        names.computed,
        found,
        tuple(centres),
        by_motion,
    )


def recall_bodies(found: Recognition, known: Sequence[BodyMarker], recordings: Sequence[Recording]) -> Recognition:
    """What was recognised, with segments that a known figure completed by centres formed of the same points again."""
    labels = [name for one in recordings if one.markers is not None for name in one.markers.names]
    bodies, few, centres = dict(found.bodies), dict(found.few), list[JointCentre]()
    there = {one.name for one in known if _column_of(one.name, labels) is not None}
    for centre in recall_centres(known, recordings[0].convention.handed == "left"):
        own = [one for one in known if one.body == centre.body]
        group = tuple(one.name for one in own)
        if len(there & set(centre.markers)) < 3 or not there >= {*group} - {centre.name}:
            continue
        there.add(centre.name)
        centres.append(replace(centre, lever=_find_lever(np.stack([one.p_body_marker for one in own])[None])))
        was = bodies.get(centre.body)
        bodies[centre.body] = RecognisedBody(group, was.error if was else 0.0, was.size if was else 0.0)
        few.pop(centre.body, None)
    for one in found.centres:
        if one.body not in {kept.body for kept in centres}:
            bodies.pop(one.body, None)
    return replace(found, bodies=bodies, few=few, centres=tuple(centres))


def describe_recognition(found: Recognition) -> list[Finding]:
    """What to say of a recognition whose bodies are used."""
    known = (
        f"{found.title}: {found.explained} of {found.worn} markers"
        if found.title
        else "names of landmarks and clusters"
    )
    source = "motion of markers whose names say nothing" if found.by_motion else f"names of markers ({known})"
    worst = max(found.bodies, key=lambda name: found.bodies[name].error)
    text = (
        f"bodies were formed from the {source}: {', '.join(found.bodies)}; they are rigid to "
        f"{1000 * found.bodies[worst].error:.1f} mm or better ({worst}); --bodies says otherwise"
    )
    notes = [Finding("markers-by-name", "info", text, tuple(found.bodies), value=found.bodies[worst].error, unit="m")]
    notes += describe_completed(found.centres)
    if found.few:
        some = "; ".join(f"{name}: {', '.join(markers)}" for name, markers in found.few.items())
        text = (
            f"{many(len(found.few), 'segment')} with too few markers of their own for a pose are left out: {some}; "
            "`condyle info FILE --propose bodies.toml` writes what a marker of a neighbour would make of them"
        )
        notes.append(Finding("segment-left-out", "warning", text, tuple(found.few), count=len(found.few)))
    return [*notes, *found.findings]


def describe_completed(centres: Sequence[JointCentre]) -> list[Finding]:
    """What to say of segments that centres of joints complete."""
    if not centres:
        return []
    whole = ", ".join(one.body for one in centres)
    points = "; ".join(f"{one.name} ({one.made}: ± {1000 * one.sd:.0f} mm)" for one in centres)
    rolls = (f"{np.degrees(edge(one.roll_sd for one in centres)):.0f}" for edge in (min, max))
    turns = " to ".join(dict.fromkeys(rolls))
    text = (
        f"segments of two markers are completed by the centre of the joint above them: {whole}. These joints "
        "hardly come apart, so their residuals tell nothing; their intervals contain what the centres may be "
        f"off: {points}. Turns about the long axes rest on one marker each: ± {turns} deg from moment to moment"
    )
    return [Finding("segment-completed", "warning", text, tuple(one.body for one in centres))]


def describe_computed(groups: Mapping[str, Sequence[str]], recordings: Sequence[Recording]) -> list[Finding]:
    """What to say of listed bodies of which some points, by their names, are computed by a program and others not."""
    labels = list(dict.fromkeys(name for one in recordings if one.markers is not None for name in one.markers.names))
    if len(labels) > LABELS_MOST or any(len(label) > LABEL_MOST_CHARACTERS for label in labels):
        return []
    computed = {without_subject(label).casefold() for label in name_markers(labels).computed}
    own = {
        body: [label for label in markers if without_subject(label).casefold() in computed]
        for body, markers in groups.items()
    }
    own = {body: points for body, points in own.items() if 0 < len(points) < len(groups[body])}
    if not own:
        return []
    which = "; ".join(f"{body}: {', '.join(points)}" for body, points in own.items())
    text = (
        f"points that a program computed, and no markers, are listed: {which}. One that was computed from a "
        "neighbour's markers is a point of both: the joint there hardly comes apart, and its interval does not contain "
        "what the point may be off"
    )
    return [Finding("segment-completed", "warning", text, tuple(own))]


def _look_at(recordings: Sequence[Recording]) -> tuple[list[str], Floats]:
    """Labels of all recordings, and some frames of them (n, k, 3) [m]."""
    labels: list[str] = []
    parts = []
    for recording in recordings:
        assert recording.markers is not None
        labels += [name for name in recording.markers.names if _column_of(name, labels) is None]
    for recording in recordings:
        assert recording.markers is not None
        columns = [_column_of(label, recording.markers.names) for label in labels]
        rows = evenly(recording.frames, max(RECOGNISING_FRAMES // len(recordings), SEEN_TOGETHER_MIN_FRAMES))
        part = np.full((len(rows), len(labels), 3), np.nan)
        there = [k for k, column in enumerate(columns) if column is not None]
        part[:, there] = recording.markers.position[rows][:, [column for column in columns if column is not None]]
        parts.append(part * length_of(recording)[0])
    cloud = np.concatenate(parts)
    ever: Bools = np.asarray(find_seen(cloud).any(axis=0))
    return [label for label, seen in zip(labels, ever, strict=True) if seen], cloud[:, ever]


def _column_of(name: str, labels: Sequence[str]) -> int | None:
    """`match_marker`, but the same label first and None where two match."""
    if name in labels:
        return list(labels).index(name)
    from ..errors import CondyleError

    try:
        return match_marker(name, labels)
    except CondyleError:
        return None


def _find_people(names: MarkerNames, taken: set[str], fits: _Fits) -> dict[str, _Person]:
    """{subject: person} of the markers that no plate has."""
    people: dict[str, _Person] = {}
    for label in names.worn:
        if label in names.meaning and label not in taken:
            person = people.setdefault(subject_of(label), _Person({}))
            person.places.setdefault(names.meaning[label], []).append(label)
    for person in people.values():
        _share_out(person, fits)
    return people


def _share_out(person: _Person, fits: _Fits) -> None:
    """Places to segments: bodies of three markers or more, and those that have too few."""
    at = person.places
    own = {key: list(markers) for key, markers in at.items() if key[1] in RECOGNISED_SEGMENTS}
    spare: list[str] = []
    for side in SIDES:
        _share_out_foot(own, at, side)
        for place, segments in BETWEEN.items():
            _give_joint_markers(person, own, side, place, segments, fits)
        blade = at.get((side, "shoulder"), []) + at.get((side, "scapula"), [])
        if len(blade) >= 3 and len(at.get((side, "scapula"), [])) >= 2:
            own[side, "scapula"] = blade
        else:
            spare += blade
    _give_spare(own, ("", "thorax"), spare)
    person.bodies = {key: markers for key, markers in own.items() if len(markers) >= 3}
    person.few = {key: markers for key, markers in own.items() if len(markers) < 3}


def _share_out_foot(own: _Places, at: _Places, side: Side) -> None:
    """Hindfoot and forefoot where both have three markers, else one foot."""
    halves = [at.get((side, half), []) for half in ("hindfoot", "forefoot")]
    if min(map(len, halves)) >= 3:
        own[side, "hindfoot"], own[side, "forefoot"] = halves
        own.pop((side, "foot"), None)
    elif any(halves):
        own[side, "foot"] = own.get((side, "foot"), []) + halves[0] + halves[1]


def _give_joint_markers(
    person: _Person, own: _Places, side: Side, place: str, segments: tuple[str, str], fits: _Fits
) -> None:
    """Markers at a joint to the segment above it, or to the one below where only that has too few without them, and
    they move with it.
    """
    near, far = ((side, segment) for segment in segments)
    markers = person.places.get((side, place), [])
    if not markers:
        return
    needs = 0 < len(own.get(far, [])) < 3 <= len(own.get(far, [])) + len(markers)
    if needs and len(own.get(near, [])) >= 3 and fits(own[far] + markers):
        own[far] += markers
        person.notes.append(
            f"{', '.join(markers)} at the {place} is counted to {call_segment(*far)}, which has too few markers "
            f"without; {call_segment(*near)} has enough"
        )
    else:
        own[near] = own.get(near, []) + markers


def _give_spare(own: _Places, key: tuple[Side, str], markers: Sequence[str]) -> None:
    """Markers whose skin moves much, to a segment that has too few without them."""
    if markers and len(own.get(key, [])) in (1, 2):
        own[key] = own[key] + list(markers)


def _lend(person: _Person, key: tuple[Side, str], cloud: Floats, column: Mapping[str, int]) -> RecognisedBody | None:
    """A segment of one or two markers with those at the joint above it, which serve its neighbour."""
    side, segment = key
    place = next((place for place, (_, far) in BETWEEN.items() if far == segment), "shoulder")
    markers = person.few[key] + [one for one in person.places.get((side, place), []) if one not in person.few[key]]
    body = _fit(cloud, markers, column) if len(markers) >= 3 and segment in LIMB_SEGMENTS else None
    return body if _is_rigid(body) else None


@dataclass
class _Seen:
    """Some frames of all recordings: cloud (n, k, 3) [m] by column; grows by the centres of joints.

    seconds   that the recordings last; mirrored: their world is left-handed
    """

    cloud: Floats
    column: dict[str, int]
    seconds: float
    mirrored: bool

    def of(self, labels: Sequence[str]) -> Floats:
        return self.cloud[:, [self.column[label] for label in labels]]

    def add(self, label: str, points: Floats) -> None:
        self.column[label] = self.cloud.shape[1]
        self.cloud = np.concatenate([self.cloud, points[:, None]], axis=1)


def _complete(
    person: _Person, prefix: str, bodies: Mapping[str, RecognisedBody], seen: _Seen
) -> dict[str, tuple[RecognisedBody, JointCentre]]:
    """{segment: itself and the centre that completes it} of those with two markers below a body, parents first; they
    are taken out of the person's `few`.
    """
    found: dict[str, tuple[RecognisedBody, JointCentre]] = {}
    for segment, (parent, joint) in ABOVE.items():
        for side in SIDES:
            own = person.few.get((side, segment), [])
            above = prefix + call_segment("" if parent in MIDDLE else side, parent)
            body = bodies[above] if above in bodies else found[above][0] if above in found else None
            if len(own) != 2 or not side or body is None:
                continue
            other: Side = "r" if side == "l" else "l"
            at, there = (person.places.get((one, joint), []) for one in (side, other))
            near = Near(body.markers, seen.of(body.markers), seen.of(own), seen.of(at), seen.of(there))
            name = prefix + call_segment(side, segment)
            names = prefix + call_segment(side, joint) + CENTRE, name, above
            centre = find_centre(joint, side, near, names, seen.seconds, seen.mirrored)
            if centre is None or centre.name in seen.column:
                continue
            seen.add(centre.name, centre.carry(near.above))
            whole = _fit(seen.cloud, [*own, centre.name], seen.column)
            centre = replace(centre, lever=_find_lever(seen.of([*own, centre.name])))
            if whole is None or len(whole.markers) < 3 or centre.roll_sd > ROLL_MAX_SD_RAD:
                continue
            if whole.error <= COMPLETED_RIGID_MAX_SHARE * whole.size:
                found[name] = whole, centre
                del person.few[side, segment]
    return found


def _find_lever(triangle: Floats) -> float:
    """[m] height of three points (n, 3, 3) over the longest of their sides, usual over frames."""
    sides = triangle[:, [1, 2, 0]] - triangle
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    return float(median(area / np.linalg.norm(sides, axis=2).max(axis=1), np.nan))


def _count_seconds(recordings: Sequence[Recording]) -> float:
    return sum(
        float(np.nanmax(one.time) - np.nanmin(one.time))
        if one.time is not None and np.isfinite(one.time).any()
        else one.frames / (one.rate or DEFAULT_RATE_HZ)
        for one in recordings
    )


def _prove(
    name: str, markers: Sequence[str], cloud: Floats, column: Mapping[str, int]
) -> tuple[RecognisedBody | None, list[Finding]]:
    """The segment without the markers that do not move with the rest; None where no three do."""
    kept, body = list(markers), _fit(cloud, markers, column)
    while len(kept) > 3 and not _is_rigid(body):
        without = {label: _fit(cloud, [one for one in kept if one != label], column) for label in kept}
        fits = {label: one for label, one in without.items() if one is not None}
        if not fits:
            break
        worst = min(fits, key=lambda label: fits[label].error / fits[label].size)
        kept.remove(worst)
        body = fits[worst]
    if body is None or not _is_rigid(body):
        text = (
            f"{name} is left out: {', '.join(markers)} do not move as one rigid body"
            + ("" if body is None else f" (usual fit error {1000 * body.error:.0f} mm)")
            + "; name the markers that belong together with --bodies"
        )
        return None, [Finding("segment-left-out", "warning", text, (name,))]
    lost = [label for label in markers if label not in kept]
    if not lost:
        return body, []
    text = f"{name}: {', '.join(lost)} by name, but not by motion: left out of the body"
    return body, [Finding("cluster-misfit", "warning", text, (name,), count=len(lost))]


def _fit(cloud: Floats, markers: Sequence[str], column: Mapping[str, int]) -> RecognisedBody | None:
    """Markers as one rigid body; None where they show no pose. One that is never seen with the others is left out."""
    points = cloud[:, [column[label] for label in markers]]
    if (find_seen(points).sum(axis=1) >= 3).sum() == 0:
        return None
    shape = fit_shape(points)
    if not shape.is_observed(shape.placed):
        return None
    kept = tuple(label for label, placed in zip(markers, shape.placed, strict=True) if placed)
    return RecognisedBody(kept, shape.noise, shape.size)


def _is_rigid(body: RecognisedBody | None) -> bool:
    return body is not None and body.error <= SEGMENT_RIGID_MAX_SHARE * body.size


def _find_plates(
    labels: Sequence[str], names: MarkerNames, cloud: Floats, column: Mapping[str, int]
) -> dict[str, RecognisedBody]:
    """Clusters whose markers carry one name with numbers or words behind it: `Arm:Marker1`, `stick 3`, `hand_top`."""
    stems: dict[str, list[str]] = {}
    for label in labels:
        if label not in names.computed and (stem := _stem(label)):
            stems.setdefault(stem, []).append(label)
    plates = {}
    for stem, members in stems.items():
        meanings = {names.meaning.get(label) for label in members}
        if len(members) < 3 or (len(meanings) == 1 and None not in meanings and not all(map(_is_motive, members))):
            continue
        body = _fit(cloud, members, column)
        if body is not None and _is_rigid(body):
            segment = segment_of(stem)
            known = (
                segment is not None and re.search(r"knee|leg|ankle|elbow|wrist|shoulder", stem, re.IGNORECASE) is None
            )
            name = call_segment(segment.side, PART_NAMES.get(segment.part, segment.part)) if segment and known else stem
            plates[name if name not in plates else stem] = body
    return plates


def _is_motive(label: str) -> bool:
    """Whether a label is one that Motive writes for the markers of a rigid body."""
    return re.fullmatch(r".*marker[\W_]*\d+", label, re.IGNORECASE) is not None


def _strip_separators(text: str) -> str:
    """Without what is neither letter nor digit at its end; in one pass, since labels of damaged files are long."""
    end = len(text)
    while end and not text[end - 1].isalnum():
        end -= 1
    return text[:end].strip()


def _stem(label: str) -> str:
    """What a label has in common with others of its cluster; nothing where that is no name."""
    bare = without_subject(label)
    if bare[-1:].isdecimal():
        end = len(bare)
        while end and bare[end - 1].isdecimal():
            end -= 1
        word = _strip_separators(bare[:end])
        marker = next((end for end in ("marker", "mk") if word.lower().endswith(end)), "")
        stem = _strip_separators(word[: len(word) - len(marker)]) or subject_of(label)
    else:
        words = re.split(r"[\W_]+", bare)
        stem = bare[: bare.rindex(words[-1])].strip(" _.-") if len(words) > 1 and words[-1] else ""
    return stem if len(re.findall(r"[^\W\d_]", stem)) >= 2 and not is_mere_number(stem) else ""


def _find_rigid(labels: Sequence[str], names: MarkerNames, cloud: Floats) -> dict[str, RecognisedBody]:
    """Clusters that the motion alone tells beyond doubt: rigid, and every other marker moves against them."""
    able = [k for k, label in enumerate(labels) if label not in names.computed]
    cloud, labels = cloud[:, able], [labels[k] for k in able]
    changes, _ = distance_changes(cloud)
    np.fill_diagonal(changes, 0.0)
    found = {}
    for one in propose_bodies(cloud, labels):
        inside = np.isin(labels, one.markers)
        own, other = changes[np.ix_(inside, inside)].max(), np.median(changes[np.ix_(inside, ~inside)], axis=0)
        if one.error <= PLATE_MAX_SHARE * one.size and other.min(initial=np.inf) > APART_MIN_TIMES * own:
            found[one.name] = RecognisedBody(one.markers, one.error, one.size)
    return found if len(found) > 1 else {}  # what keeps still against all else moves with nobody


def _has_namesakes(people: Sequence[_Person]) -> bool:
    """Whether two subjects have the same segment."""
    every = [key for person in people for key in person.bodies]
    return len(every) > len(set(every))


def call_segment(side: Side, place: str) -> str:
    """Name of a body: l_thigh, pelvis."""
    return f"{side}_{place}" if side else place
