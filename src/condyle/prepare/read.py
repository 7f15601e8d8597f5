"""Files to one take: read, markers to bodies, the convention that the motion tells, and segments joined."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..errors import UsageError, check_paths, name_file
from ..findings import Finding
from ..io.format import Reading, ReadOptions
from ..io.formats import list_files, read_recording
from ..maths.arrays import Floats
from ..maths.spool import blocks, hide, over_frames
from ..maths.threads import limit_threads
from ..model.field import Rod
from ..model.recording import QUATERNIONS, Bodies, Convention, Recording, to_take
from ..model.take import CENTRE, FARTHEST, BodyMarker, Take, join
from ..model.values import dataclass
from .convention import Diagnosis, apply_diagnosis, diagnose
from .cutting import choose_bodies, cut_time, rename_marker
from .odd_sensors import repair_odd_sensors
from .own_rows import share_rows

if TYPE_CHECKING:  # of markers alone
    from .joint_centres import JointCentre
    from .recognise_bodies import Recognition

MOST_TRIED_BODIES = 64  # bodies beyond which trying conventions would take longer than the fit
SIDE_BY_SIDE_MIN_SHARE = 0.5  # of the shorter of two files' time, from which they were recorded side by side


@dataclass(frozen=True)
class Loaded:
    """A take with the recordings it came from; `diagnosis` is None where the convention could not be tried."""

    take: Take
    recordings: tuple[Recording, ...]
    diagnosis: Diagnosis | None


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    fix: str | Iterable[str] = (),
    **options: Unpack[Reading],
) -> Take:
    """The take in a file, or in several files of the same sensors: segments of one.

    The options are described in `condyle.io.format.ReadOptions`: rate, unit, quaternion, bodies, ... Raises
    CondyleError naming the file when it cannot be read; what was repaired stands in the take's findings.
    """
    return load(check_paths(path), ReadOptions.of(fix, **options)).take


def load(paths: Sequence[str | os.PathLike[str]], options: ReadOptions, known: Sequence[BodyMarker] = ()) -> Loaded:
    """The take in several files under the convention that the motion tells, with what it was made from.

    known  markers of the figure, where it is known: centres that complete its segments are not sought anew
    """
    if not paths:
        raise UsageError("no file to read", code="bad-call")
    with limit_threads():
        return understand(recordings_in(paths, options, known), options)


def understand(recordings: list[Recording], options: ReadOptions) -> Loaded:
    """The take in recordings whose bodies are formed, under the convention that the motion tells."""
    diagnosis: Diagnosis | None = None
    findings: list[Finding] = []
    if _is_in_doubt(recordings, options):
        diagnosis = diagnose(recordings)
        with name_file(", ".join(one.source for one in recordings)):
            recordings, findings = apply_diagnosis(recordings, diagnosis)
    take = join_takes([take_of(recording) for recording in recordings])
    if diagnosis is not None and diagnosis.odd:
        take = repair_odd_sensors(take, diagnosis.odd)
    return Loaded(take.with_findings((*findings, *take.findings)), tuple(recordings), diagnosis)


def read_turns(loaded: Loaded) -> Floats | None:
    """(n, m, 3, 3) rotations that were recorded without a position, NaN elsewhere; None where there are none.

    A position of zeros in every frame is none: programs write it for sensors that measure no position.
    """
    parts = []
    for recording in loaded.recordings:
        bodies = recording.bodies
        assert bodies is not None
        gone = np.isnan(bodies.position).any(axis=-1) | (np.nan_to_num(bodies.position) == 0).all(axis=(0, 2))
        alone = gone & np.isfinite(bodies.orientation).all(axis=-1)
        marked = Bodies(bodies.names, np.where(alone[..., None], np.ones(3), np.nan), bodies.orientation)
        parts.append(take_of(replace(recording, bodies=marked, convention=recording.convention.but(unit="m"))))
    turned = join_takes(parts)
    return turned.R_world_body if turned.seen.any() else None


def recordings_in(
    paths: Sequence[str | os.PathLike[str]], options: ReadOptions, known: Sequence[BodyMarker] = ()
) -> list[Recording]:
    """The part of every file that is asked for, with bodies formed where that was asked."""
    recordings = [read_recording(file, options) for path in paths for file in list_files(path)]
    if options.bodies is not None:  # what markers do in the part that is not wanted tells nothing
        recordings = bodies_in([cut_time(one, options.start, options.stop) for one in recordings], options, known)
    else:  # files side by side have one clock once they are together
        recordings = [share_rows(one) for one in bodies_in(recordings, options, known)]
        recordings = [cut_time(one, options.start, options.stop) for one in recordings]
    return [choose_bodies(one, options) for one in recordings]


def _is_in_doubt(recordings: Sequence[Recording], options: ReadOptions) -> bool:
    """Whether the motion is asked for the convention: not where condyle or another program computed the poses."""
    if options.doctor is False or not _alike(recordings):
        return False
    computed = any(one.placed or one.solved_by is not None for one in recordings)
    many = any(one.bodies is None or len(one.bodies.names) > MOST_TRIED_BODIES for one in recordings)
    return bool(options.doctor) or not (computed or many)


def bodies_in(
    recordings: Sequence[Recording], options: ReadOptions, known: Sequence[BodyMarker] = ()
) -> list[Recording]:
    """The recordings with bodies: formed from markers where that was asked, side by side where each file has one."""
    recordings = [hide_far_markers(one) for one in recordings]
    if options.bodies is not None:
        from ..io.bodies_file import bodies_of

        for one in recordings:
            if one.markers is None:
                raise UsageError(
                    "the option 'bodies' is for markers, but this file has none",
                    code="option-not-used",
                    path=one.source,
                )
        return _bodies_as_listed(recordings, bodies_of(options.bodies), options, known)
    if _has_markers_only(recordings):
        return _bodies_by_name(recordings, options, known)
    return _side_by_side(recordings)


def hide_far_markers(recording: Recording) -> Recording:
    """The recording without places of markers that are none: squares of such numbers would drown all others."""
    markers = recording.markers
    if markers is None or not markers.position.size:
        return recording
    p = markers.position
    if not any(bool((np.abs(p[rows]) >= FARTHEST).any()) for rows in blocks(p)):
        return recording
    hidden = over_frames(lambda part: ~(np.abs(part) < FARTHEST).all(axis=-1), p)
    return replace(recording, markers=replace(markers, position=hide(p, hidden)))


def _has_markers_only(recordings: Sequence[Recording]) -> bool:
    return bool(recordings) and all(one.bodies is None and one.markers is not None for one in recordings)


def _bodies_by_name(
    recordings: Sequence[Recording], options: ReadOptions, known: Sequence[BodyMarker]
) -> list[Recording]:
    """The recordings with the bodies that the names of their markers tell; as they are where they tell none."""
    from .recognise_bodies import describe_recognition

    found = _recognise(recordings, options, known)
    if not found.bodies:
        return list(recordings)
    return _form(recordings, found.groups, found.centres, options, describe_recognition(found))


def _bodies_as_listed(
    recordings: Sequence[Recording],
    groups: Mapping[str, Sequence[str]],
    options: ReadOptions,
    known: Sequence[BodyMarker],
) -> list[Recording]:
    """The recordings with the bodies of a list, which may name centres of joints as `info` has them."""
    from .recognise_bodies import describe_completed, describe_computed

    told = describe_computed(groups, recordings)
    if not any(marker.endswith(CENTRE) for markers in groups.values() for marker in markers):
        return _form(recordings, groups, (), options, told)
    from .joint_centres import choose_centres

    centres, groups = choose_centres(_recognise(recordings, options, known).centres, groups, recordings)
    return _form(recordings, groups, centres, options, [*describe_completed(centres), *told])


def _recognise(recordings: Sequence[Recording], options: ReadOptions, known: Sequence[BodyMarker]) -> Recognition:
    """What the names of markers tell, with the centres of joints of a known figure."""
    from .recognise_bodies import recall_bodies, recognise_bodies

    found = recognise_bodies(recordings)
    if any(one.carried is not None for one in known):
        own = {new: old for old, new in (options.rename or {}).items()}  # names of bodies as the markers have them
        found = recall_bodies(found, [rename_marker(one, own) for one in known], recordings)
    return found


def _form(
    recordings: Sequence[Recording],
    groups: Mapping[str, Sequence[str]],
    centres: Sequence[JointCentre],
    options: ReadOptions,
    told: Sequence[Finding],
) -> list[Recording]:
    """The recordings with a body for each group of markers, among them centres of joints; the first tells the rest."""
    from .clusters import form_bodies
    from .joint_centres import add_centres, mark_centres

    with_centres = [add_centres(one, centres) for one in recordings] if centres else recordings
    formed = form_bodies(with_centres, groups, fix_swaps="swaps" in options.fix)
    if centres:
        formed = [
            replace(mark_centres(made, centres), markers=one.markers)
            for made, one in zip(formed, recordings, strict=True)
        ]
    return [replace(formed[0], findings=(*formed[0].findings, *told)), *formed[1:]] if formed else []


def join_takes(takes: Sequence[Take]) -> Take:
    return takes[0] if len(takes) == 1 else join(takes)


def take_of(recording: Recording) -> Take:
    """The poses of a recording; an error names its file."""
    with name_file(recording.source):
        return to_take(recording)


def read_rod(
    names: Sequence[str] | None, distance: float, file: str | os.PathLike[str] | None, reading: ReadOptions
) -> Rod:
    """A rod with the recording in a file, or in the recording itself; without names, of the file's two sensors."""
    if file is None:
        a, b = names or ("", "")
        return Rod((a, b), distance)
    take = load([file], reading).take
    pair = tuple(names or take.names)
    if len(pair) != 2:
        raise UsageError(
            f"has {len(pair)} sensors; name the rod's two with --rod-pair A:B", code="bad-option", path=str(file)
        )
    return Rod((take.names[take.index(pair[0])], take.names[take.index(pair[1])]), distance, take)


def _alike(recordings: Sequence[Recording]) -> bool:
    return all(one.convention == recordings[0].convention for one in recordings)


def _share_convention(recordings: Sequence[Recording]) -> Convention | None:
    """The convention that all files have, stated as far as each states it: of two logs of one program one may have a
    line of comment. None where their numbers mean different things.
    """
    said = [one.convention for one in recordings]
    stated = frozenset.intersection(*(one.stated for one in said))
    guessed = frozenset.union(*(one.guessed for one in said))
    shared = [replace(one, stated=stated, guessed=guessed) for one in said]
    return shared[0] if all(one == shared[0] for one in shared) else None


def _side_by_side(recordings: Sequence[Recording]) -> list[Recording]:
    """Files of one body each, recorded at the same time, as one recording of several bodies on a common clock."""
    bodies = [one.bodies for one in recordings]
    names = [part.names[0] for part in bodies if part is not None and len(part.names) == 1]
    clocks = [one.time for one in recordings if one.time is not None and one.frames]
    if len(recordings) < 2 or not len(recordings) == len(names) == len(set(names)) == len(clocks):
        return list(recordings)
    convention = _share_convention(recordings)
    if convention is None or convention.rotation not in QUATERNIONS:
        return list(recordings)
    shared = min(clock[-1] for clock in clocks) - max(clock[0] for clock in clocks)
    if shared < SIDE_BY_SIDE_MIN_SHARE * min(clock[-1] - clock[0] for clock in clocks):
        return list(recordings)
    from ..io.resample import BodySamples, resample_streams

    streams = [
        BodySamples(name, clock, part.position[:, 0], part.orientation[:, 0])
        for name, clock, part in zip(names, clocks, bodies, strict=True)
        if part is not None
    ]
    time, position, orientation, findings = resample_streams(streams)
    first = recordings[0]
    return [
        replace(
            first,
            source=", ".join(one.source for one in recordings),
            bodies=Bodies(tuple(names), position, orientation),
            convention=convention,
            markers=None,
            time=np.asarray(time),
            segment=None,
            findings=(*(finding for one in recordings for finding in one.findings), *findings),
            own=None,
        )
    ]
