"""Files to one take: read, markers to bodies, the convention that the motion tells, and segments joined."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding
from ..io.format import Reading, ReadOptions
from ..io.formats import read_recording
from ..model.recording import QUATERNIONS, Bodies, Recording, to_take
from ..model.take import Take, join
from .convention import Diagnosis, apply_diagnosis, diagnose
from .odd_sensors import repair_odd_sensors

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
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return load(paths, ReadOptions.of(fix, **options)).take


def load(paths: Sequence[str | os.PathLike[str]], options: ReadOptions) -> Loaded:
    """The take in several files under the convention that the motion tells, with what it was made from."""
    if not paths:
        raise UsageError("no file to read", code="bad-call")
    recordings = recordings_in(paths, options)
    diagnosis: Diagnosis | None = None
    findings: list[Finding] = []
    if _is_in_doubt(recordings, options):
        diagnosis = diagnose(recordings)
        try:
            recordings, findings = apply_diagnosis(recordings, diagnosis)
        except CondyleError as error:
            raise error.at(", ".join(one.source for one in recordings)) from None
    take = join_takes([take_of(recording) for recording in recordings])
    if diagnosis is not None and diagnosis.odd:
        take = repair_odd_sensors(take, diagnosis.odd)
    return Loaded(take.telling((*findings, *take.findings)), tuple(recordings), diagnosis)


def recordings_in(paths: Sequence[str | os.PathLike[str]], options: ReadOptions) -> list[Recording]:
    """The numbers in every file, with bodies formed where that was asked."""
    return bodies_in([read_recording(path, options) for path in paths], options)


def _is_in_doubt(recordings: Sequence[Recording], options: ReadOptions) -> bool:
    """Whether the motion is asked for the convention: not where condyle or another program computed the poses."""
    if options.doctor is False or not _alike(recordings):
        return False
    computed = options.bodies is not None or any(one.solved_by is not None for one in recordings)
    many = any(one.bodies is None or len(one.bodies.names) > MOST_TRIED_BODIES for one in recordings)
    return bool(options.doctor) or not (computed or many)


def bodies_in(recordings: Sequence[Recording], options: ReadOptions) -> list[Recording]:
    """The recordings with bodies: formed from markers where that was asked, side by side where each file has one."""
    if options.bodies is not None:
        from ..io.bodies_file import bodies_of
        from .clusters import form_bodies

        for one in recordings:
            if one.markers is None:
                raise UsageError(
                    "the option 'bodies' is for markers, but this file has none",
                    code="option-not-used",
                    path=one.source,
                )
        return form_bodies(recordings, bodies_of(options.bodies), fix_swaps="swaps" in options.fix)
    return _side_by_side(recordings)


def join_takes(takes: Sequence[Take]) -> Take:
    return takes[0] if len(takes) == 1 else join(takes)


def take_of(recording: Recording) -> Take:
    """The poses of a recording; an error names its file."""
    try:
        return to_take(recording)
    except CondyleError as error:
        raise error.at(recording.source) from None


def _alike(recordings: Sequence[Recording]) -> bool:
    return all(one.convention == recordings[0].convention for one in recordings)


def _side_by_side(recordings: Sequence[Recording]) -> list[Recording]:
    """Files of one body each, recorded at the same time, as one recording of several bodies on a common clock."""
    bodies = [one.bodies for one in recordings]
    names = [part.names[0] for part in bodies if part is not None and len(part.names) == 1]
    clocks = [one.time for one in recordings if one.time is not None and one.frames]
    if len(recordings) < 2 or not len(recordings) == len(names) == len(set(names)) == len(clocks):
        return list(recordings)
    if recordings[0].convention.rotation not in QUATERNIONS or not _alike(recordings):
        return list(recordings)
    shared = min(clock[-1] for clock in clocks) - max(clock[0] for clock in clocks)
    if shared < SIDE_BY_SIDE_MIN_SHARE * min(clock[-1] - clock[0] for clock in clocks):
        return list(recordings)
    from ..io.resample import Stream, resample_streams

    streams = [
        Stream(name, clock, part.position[:, 0], part.orientation[:, 0])
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
            markers=None,
            time=np.asarray(time),
            segment=None,
            findings=(*(finding for one in recordings for finding in one.findings), *findings),
            own=None,
        )
    ]
