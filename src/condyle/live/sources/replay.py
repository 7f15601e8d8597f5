"""replay:FILE[@FACTOR|@max]: any recording that condyle reads, packet by packet as if it came now.

The numbers are those of the file, before any convention is applied, so that a log of them gives the skeleton of the
file.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence

import numpy as np

from ...errors import UsageError
from ...io.format import ReadOptions
from ...io.formats import list_files, read_recording
from ...io.log_records import ClockKind, Layout
from ...maths.arrays import Floats
from ...model.clock import LATEST, PAUSE
from ...model.recording import Recording
from ...model.take import UNTIMED_RATE
from ...prepare.cutting import choose_bodies, cut_time
from ..reading import leave_missing
from ..source import Packet, now

PACKETS_AT_ONCE = 256  # at most, of a file that is replayed as fast as it can be
SPEED_AT_MOST = "max"  # the word for that


class ReplaySource:
    """The frames of a recording. factor: how many times faster than recorded; infinite: as fast as they are read.

    sent_names  of the bodies in the file; None where they are formed when it is fitted
    """

    sent_names: tuple[str, ...] | None = None

    def __init__(self, recording: Recording, word: str, factor: float = 1.0) -> None:
        self.word = word
        self.ended = False
        self.bad_packets, self.fault = 0, ""
        self._recording, self._next = recording, 0
        self._due = find_due_times(recording) / factor
        self._begin: float | None = None
        self._layout: Layout | None = None

    @property
    def has_markers_only(self) -> bool:
        """Whether its bodies are formed when it is fitted."""
        return self._recording.bodies is None

    def read(self, timeout: float) -> list[Packet]:
        if self._begin is None:
            self._begin = time.perf_counter()
        if self.ended:
            return []
        waiting = self._begin + float(self._due[self._next]) - time.perf_counter()
        if waiting > 0:
            time.sleep(min(waiting, timeout))
        stop = int(np.searchsorted(self._due, time.perf_counter() - self._begin, "right"))
        stop = min(stop, self._next + PACKETS_AT_ONCE)
        if stop <= self._next:
            return []
        packets = self._make_packets(self._next, stop)
        self._next = stop
        self.ended = self._next >= self._recording.frames
        return packets

    def _make_packets(self, start: int, stop: int) -> list[Packet]:
        if self._layout is None:
            self._layout = describe_recording(self._recording, self.word)
        recording, rows = self._recording, slice(start, stop)
        parts: list[Floats] = []
        if recording.bodies is not None:
            parts += [recording.bodies.position[rows], recording.bodies.orientation[rows]]
        if recording.markers is not None:
            parts.append(recording.markers.position[rows])
        count = stop - start
        values = np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
        times: Sequence[float] = [math.nan] * count if recording.time is None else recording.time[rows].tolist()
        segments = [0] * count if recording.segment is None else recording.segment[rows].tolist()
        arrival = now()
        return [
            Packet(self._layout, device, arrival, row, segment)
            for device, row, segment in zip(times, values, segments, strict=True)
        ]

    def close(self) -> None:
        self.ended = True


def find_due_times(recording: Recording) -> Floats:
    """(n,) [s] after the first when frames are due: as they were recorded, without pauses and jumps."""
    n = recording.frames
    if recording.time is None:
        return np.arange(n) / (recording.rate or UNTIMED_RATE)
    step = np.diff(np.where(np.abs(recording.time) < LATEST, recording.time, np.nan))
    step = np.where(np.isfinite(step), np.clip(step, 0.0, PAUSE), 0.0)
    return np.concatenate([[0.0], np.cumsum(step)])[:n]


def describe_recording(recording: Recording, word: str) -> Layout:
    """What the numbers of a recording mean, as a log keeps it."""
    clock: ClockKind = "frames" if recording.time is None else "file"
    bodies, markers = recording.bodies, recording.markers
    return Layout(
        source=word,
        bodies=() if bodies is None else bodies.names,
        markers=() if markers is None else markers.names,
        convention=recording.convention,
        clock=clock,
        rate=recording.rate,
        facts=recording.facts,
        findings=recording.findings,
        solved_by=recording.solved_by,
        own=recording.own,
    )


def open_source(address: str, reading: ReadOptions | None = None, *, alone: bool = True) -> ReplaySource:
    """The recording FILE, FILE@2 twice as fast, FILE@max as fast as can be.

    reading  what the user says of it
    alone    of no other source beside it
    """
    reading = reading or ReadOptions()
    file, _, speed = address.rpartition("@")
    if not file or os.path.exists(address):
        return _make_source(address, reading, f"replay:{address}", 1.0, alone=alone)
    try:
        factor = math.inf if speed == SPEED_AT_MOST else float(speed)
    except ValueError:
        factor = math.nan
    if not factor > 0:
        raise UsageError(f"'@{speed}' is no speed; give a factor such as @2, or @{SPEED_AT_MOST}", code="bad-option")
    return _make_source(file, reading, f"replay:{file}", factor, alone=alone)


def _make_source(file: str, reading: ReadOptions, word: str, factor: float, *, alone: bool) -> ReplaySource:
    """The source of a file's chosen bodies; bodies that are formed from markers are chosen when they are fitted."""
    recording = _read(file, reading)
    if reading.bodies is not None or recording.bodies is None:
        return ReplaySource(recording, word, factor)
    names = recording.bodies.names
    try:
        chosen = reading if alone else leave_missing(reading, names)
    except UsageError as error:
        raise error.at(file) from None
    source = ReplaySource(choose_bodies(recording, chosen), word, factor)
    source.sent_names = names
    return source


def _read(file: str, reading: ReadOptions) -> Recording:
    """The part of a file that is asked for, or of the only file of a bag that is a folder."""
    files = list_files(file)
    if len(files) > 1:
        names = ", ".join(one.name for one in files)
        raise UsageError(f"is a bag of {len(files)} files; replay one of them: {names}", code="bad-call", path=file)
    recording = cut_time(read_recording(files[0], reading), reading.start, reading.stop)
    if reading.bodies is not None and recording.markers is None:
        text = "the option 'bodies' is for markers, but this file has none"
        raise UsageError(text, code="option-not-used", path=file)
    return recording
