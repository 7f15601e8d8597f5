"""The sources of a session log as a recording: one as it came, several on the clock of the machine that recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...findings import Finding, many
from ...maths import rotation
from ...maths.arrays import Bools, Floats, Ints
from ...maths.envelope import lower_line
from ...maths.series import segment_slices
from ...maths.spool import over_frames, seal, take_rows
from ...model.clock import LATEST
from ...model.recording import QUATERNIONS, Bodies, Convention, Markers, Recording, to_take
from ..resample import BodySamples, resample_streams
from ._log_frames import SourceFrames, tell_untimed

LATE_MAX_S = 1.0  # s by which a packet may come behind later ones and still be put before them
DRIFT_BLOCK_S = 300.0  # s over which a clock's drift is taken as even when a log is read

_NUMBERS = ("device", "arrival", "position", "orientation", "points")


def put_in_order(source: SourceFrames) -> tuple[SourceFrames, list[Finding]]:
    """The source with packets that came late put in their place, each time once, and what was moved.

    A device whose time goes back farther has started anew: a segment begins. A file that was replayed stays as it is.
    """
    if source.layout.clock != "device" or not len(source.device):
        return source, []
    known = np.abs(source.device) < LATEST
    device = np.where(known, source.device, -LATEST)  # what is no time came first
    behind = np.maximum.accumulate(device) - device
    starts = _find_restarts(device)
    if not starts.any() and not behind.any():
        return source, []
    segment = source.segment + np.cumsum(starts)
    rows = np.lexsort([np.arange(len(device)), device, segment])
    late = int((np.maximum.accumulate(np.argsort(rows)) > np.argsort(rows)).sum())
    numbers: dict[str, Any] = {name: take_rows(getattr(source, name), rows) for name in _NUMBERS}
    moved = replace(source, segment=segment[rows], **numbers)
    if not late:
        return moved, []
    text = (
        f"{many(late, 'frame')} of {source.layout.source} came out of order and were put in their place by their time"
    )
    return moved, [Finding("frames-reordered", "info", text, frame=int(np.argmax(behind > 0)), count=late)]


def _find_restarts(device: Floats) -> Bools:
    """(n,) whether a device's clock starts anew at a frame: it lies far before the latest of its stretch."""
    starts = np.zeros(len(device), bool)
    if (np.maximum.accumulate(device) - device > LATE_MAX_S).any():
        latest = -np.inf
        for k, time in enumerate(device.tolist()):
            starts[k] = latest - time > LATE_MAX_S
            latest = time if starts[k] or time > latest else latest
    return starts


def recording_of(source: SourceFrames) -> Recording:
    """A source alone as a recording, its numbers as they came."""
    layout = source.layout
    time: Floats | None = {"arrival": source.arrival, "frames": None}.get(layout.clock, source.device)
    segment: Ints | None = source.segment if source.segment.any() else None
    return Recording(
        bodies=Bodies(layout.bodies, seal(source.position), seal(source.orientation)) if layout.bodies else None,
        markers=Markers(layout.markers, seal(source.points)) if layout.markers else None,
        time=time,
        rate=layout.rate,
        segment=segment,
        convention=layout.convention,
        facts={**layout.facts, "recorded from": layout.source},
        findings=layout.findings,
        solved_by=layout.solved_by,
        own=layout.own,
    )


def merge_sources(sources: Sequence[SourceFrames]) -> Recording:
    """The bodies and markers of all sources, interpolated onto one clock where theirs differ.

    The worlds of all sources are taken as one; names that two of them have bear the source in front.
    """
    recordings = [recording_of(source) for source in sources]
    one_convention = all(one.convention == recordings[0].convention for one in recordings)
    if not one_convention or recordings[0].convention.rotation not in QUATERNIONS:
        recordings = [_in_metres(one) for one in recordings]
    times = [find_times(source) for source in sources]
    kinds = ("bodies", "markers")
    counts = {kind: Counter(name for one in sources for name in getattr(one.layout, kind)) for kind in kinds}
    streams: dict[str, list[BodySamples]] = {kind: [] for kind in kinds}
    for source, one, time in zip(sources, recordings, times, strict=True):
        for kind in kinds:
            part = getattr(one, kind)
            for k, name in enumerate(part.names if part is not None else ()):
                full = f"{source.layout.source}/{name}" if counts[kind][name] > 1 else name
                turn = part.orientation[:, k] if kind == "bodies" else np.tile([1.0, 0, 0, 0], (len(time), 1))
                streams[kind].append(BodySamples(full, time, part.position[:, k], turn))
    m = len(streams["bodies"])
    time, position, orientation, findings = resample_streams([*streams["bodies"], *streams["markers"]])
    names = {kind: tuple(stream.name for stream in streams[kind]) for kind in kinds}
    return Recording(
        bodies=Bodies(names["bodies"], position[:, :m], orientation[:, :m]) if m else None,
        markers=Markers(names["markers"], position[:, m:]) if names["markers"] else None,
        time=np.asarray(time),
        convention=recordings[0].convention,
        facts={"recorded from": ", ".join(source.layout.source for source in sources)},
        findings=(*(finding for one in recordings for finding in one.findings), *findings),
        solved_by=next((one.solved_by for one in recordings if one.solved_by is not None), None),
    )


def leave_untimed(source: SourceFrames, alone: bool) -> tuple[SourceFrames, list[Finding]]:
    """The source without frames whose time is none, and what is left out: nobody can correct a row of a log. A file
    that was replayed alone stays as it is.
    """
    timed = np.abs(source.device) < LATEST
    clocks = ("device",) if alone else ("device", "file")
    if source.layout.clock not in clocks or timed.all() or (alone and not timed.any()):
        return source, []
    count = int((~timed).sum())
    numbers: dict[str, Any] = {name: take_rows(getattr(source, name), timed) for name in _NUMBERS}
    told = tell_untimed(source.layout.source, count, int(np.argmin(timed)))
    return replace(source, segment=source.segment[timed], **numbers), [told]


def find_times(source: SourceFrames) -> Floats:
    """(n,) [s] when the frames of a source were measured, by the clock of the machine that recorded.

    Delays are never negative, so the line below arrival minus device time is the offset between both clocks, but for
    the shortest delay.
    """
    if source.layout.clock == "arrival":
        return source.arrival
    if source.layout.clock == "frames":
        counted = np.arange(len(source.arrival), dtype=float)
        return counted + lower_line(counted, source.arrival - counted, np.inf)
    time = np.empty(len(source.device))
    for rows in segment_slices(source.segment):
        device = source.device[rows]
        time[rows] = device + lower_line(device, source.arrival[rows] - device, DRIFT_BLOCK_S)
    return time


def _in_metres(recording: Recording) -> Recording:
    """The recording as quaternions in metres, so that it can stand beside others that are written in another way."""
    bodies, markers, findings = recording.bodies, recording.markers, list(recording.findings)
    convention = recording.convention
    if bodies is not None:
        take = to_take(replace(recording, time=None, segment=None, rate=1.0))
        bodies = Bodies(take.names, take.p_world_body, over_frames(rotation.to_quaternion, take.R_world_body))
        findings = list(take.findings)
    if markers is not None:
        still = Bodies(markers.names, markers.position, np.tile([1.0, 0, 0, 0], (*markers.position.shape[:2], 1)))
        take = to_take(Recording(bodies=still, rate=1.0, convention=convention.but(rotation="wxyz")))
        markers = Markers(markers.names, take.p_world_body)
    convention = Convention("wxyz", unit="m", up=convention.up)
    return replace(recording, bodies=bodies, markers=markers, convention=convention, findings=tuple(findings))
