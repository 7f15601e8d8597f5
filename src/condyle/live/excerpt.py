"""What a session remembers of its log: the newest seconds whole, older ones in stretches spread over all of it.

An excerpt is read as a whole log is, so a solve of a session in progress is a fit of part of its recording.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ..io.formats._log_frames import LogContents, SourceFrames
from ..io.formats.session_log import assemble_recording
from ..io.log_records import (
    FRAME_RECORD,
    FRAME_RECORD_HEAD,
    LAYOUT,
    LOG_MAGIC,
    Damage,
    Layout,
    LogRecord,
    decode_layout,
    walk_records,
)
from ..maths.series import count_frames, usual_step
from ..model.clock import LATEST, find_origin
from ..model.recording import Recording

NEWEST_S = 30.0  # s: kept whole; benchmarks/live.py has how soon slips are told with it, live_cost.py what it costs
OLDER_S = 30.0  # s: of everything before that
# s of arrival, or of a replayed file's own time, kept or dropped together; so short that the fifteen to thirty of them
# are not fitted one by one as takes of their own (estimate.intervals.SEGMENTS_MAX_COUNT), which doubles a solve's CPU
STRETCH_S = 1.0
# Hz of the frames that are solved, of faster streams every second, third...: more costs CPU (benchmarks/live_cost.py),
# and slips are told as soon at 60 Hz as is asked for (benchmarks/live.py); VR trackers at 90 Hz are solved whole
SOLVED_MOST_HZ = 95.0


@dataclass(eq=False)
class LogTail:
    """A log that another process writes: each `read` gives the whole records that were appended since the last."""

    path: str | os.PathLike[str]
    _at: int = len(LOG_MAGIC)

    def read(self) -> Iterator[LogRecord]:
        with open(self.path, "rb") as stream:
            stream.seek(self._at)
            fresh = LOG_MAGIC + stream.read()
        damage = Damage()
        yield from walk_records(memoryview(fresh), damage)
        self._at += len(fresh) - len(LOG_MAGIC) - damage.torn


@dataclass(eq=False)
class Excerpt:
    """Records of a log, bounded: add what came, ask for a recording of what is kept.

    newest  [s] arrival of the newest frame
    begin   [s] time of the first frame on the clock of the recordings that are asked for; None before it
    stride  one older stretch of so many is kept; it doubles when there are too many, so early and late count alike
    """

    newest_s: float = NEWEST_S
    older_s: float = OLDER_S
    newest: float = -np.inf
    begin: float | None = None
    stride: int = 1
    _layouts: dict[int, Layout] = field(default_factory=dict)
    _layout_records: list[LogRecord] = field(default_factory=list)
    _stretches: dict[int, list[LogRecord]] = field(default_factory=dict)
    _origins: dict[int, float] = field(default_factory=dict)

    def add(self, record: LogRecord) -> None:
        """Takes in the next record of the log."""
        if record.kind == LAYOUT:
            payload = bytes(record.payload)
            number, layout = decode_layout(payload)
            self._layouts[number] = layout
            self._layout_records.append(LogRecord(LAYOUT, memoryview(payload)))
        elif record.kind == FRAME_RECORD and len(record.payload) >= FRAME_RECORD_HEAD.size:
            number, _, device, arrival = FRAME_RECORD_HEAD.unpack_from(record.payload)
            if number not in self._layouts:
                return
            moment = device if self._layouts[number].clock == "file" else arrival
            if not (abs(moment) < LATEST and abs(arrival) < LATEST):  # a damaged log
                return
            stretch = int(moment // STRETCH_S)
            if stretch not in self._stretches:
                self._stretches[stretch] = []
                self._forget(stretch)
            self._stretches[stretch].append(record)
            self.newest = max(self.newest, arrival)

    def _forget(self, number: int) -> None:
        """Drops what is neither new nor one of the older stretches that are kept, when stretch `number` begins."""
        first = number - int(self.newest_s / STRETCH_S)
        older = [one for one in self._stretches if one < first]
        while sum(one % self.stride == 0 for one in older) * STRETCH_S > self.older_s:
            self.stride *= 2
        for one in older:
            if one % self.stride:
                del self._stretches[one]

    @property
    def frames(self) -> int:
        return sum(len(records) for records in self._stretches.values())

    @property
    def sources(self) -> list[str]:
        """Words of the sources."""
        return list(dict.fromkeys(layout.source for layout in self._layouts.values()))

    def restart(self) -> None:
        """Forgets all frames."""
        self._stretches, self.stride = {}, 1
        self._origins, self.begin = {}, None

    def make_recording(self) -> Recording:
        """What is kept, as a recording that is thin enough to solve; nothing is carried across what was dropped."""
        contents = LogContents()
        for record in self._layout_records:
            contents.add(record)
        for number in sorted(self._stretches):
            for record in self._stretches[number]:
                contents.add(record)
        recording = assemble_recording([_mark_breaks(source) for source in contents.assemble()])
        if recording.time is None or not len(recording.time) or not (np.abs(recording.time) < LATEST).all():
            return recording
        # What is dropped later must not move the time of what stays; a source that joins brings another clock.
        origin = self._origins.setdefault(len(contents.stretches), find_origin(recording.time))
        if self.begin is None:
            self.begin = float(recording.time[0]) - origin
        return _thin(replace(recording, time=recording.time - origin))


def _mark_breaks(source: SourceFrames) -> SourceFrames:
    """The source with a new segment after every stretch that was dropped."""
    number = (source.device if source.layout.clock == "file" else source.arrival) // STRETCH_S
    dropped = np.diff(number, prepend=number[:1]) > 1
    return replace(source, segment=source.segment + np.cumsum(dropped)) if dropped.any() else source


def _thin(recording: Recording) -> Recording:
    """Every k-th frame of each segment of a recording at more than SOLVED_MOST_HZ."""
    assert recording.time is not None
    segment = np.zeros(recording.frames, np.int64) if recording.segment is None else recording.segment
    step = usual_step(np.maximum(np.diff(recording.time)[np.diff(segment) == 0], 0.0))
    every = max(count_frames(np.ceil(1 / (SOLVED_MOST_HZ * step)), recording.frames), 1)
    if every == 1:
        return recording
    first = np.append(True, np.diff(segment) != 0)
    number = np.arange(recording.frames)
    number -= np.maximum.accumulate(np.where(first, number, 0))  # of each frame in its segment
    return recording.at(np.flatnonzero(number % every == 0))
