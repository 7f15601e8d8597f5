"""Logs that `condyle live` records: the packets of one or several sources as they came; docs/live.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...findings import Finding
from ...model.clock import find_origin
from ...model.recording import Recording
from ..format import Format, ReadOptions
from ..log_records import LOG_MAGIC, Mark
from ._log_frames import SourceFrames, read_frames
from ._log_sources import leave_untimed, merge_sources, put_in_order, recording_of


def looks_like(head: bytes) -> bool:
    """The first line of a session log."""
    return head.startswith(LOG_MAGIC)


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers of the only source as they came, or those of several on one clock."""
    sources, marks, damage = read_frames(path)
    recording = assemble_recording(sources)
    return replace(recording, findings=(*recording.findings, *damage, *describe_marks(marks, sources, recording)))


def describe_marks(marks: Sequence[Mark], sources: Sequence[SourceFrames], recording: Recording) -> list[Finding]:
    """The marks of an operator, on the clock of the recording as its take will have it."""
    arrival, found = leave_untimed(sources[0], alone=len(sources) == 1)[0].arrival, []
    for number, mark in enumerate(marks, 1):
        frame = int(np.clip(np.searchsorted(arrival, mark.arrival), 0, len(arrival) - 1))
        name = mark.text or f"mark {number}"
        if recording.time is None:
            found.append(Finding("mark", "info", f"{name}: marked at frame {frame}", frame=frame))
            continue
        time = mark.arrival if len(sources) > 1 else float(recording.time[frame])
        time -= find_origin(recording.time)
        text = f"{name}: marked at {time:.1f} s"
        found.append(Finding("mark", "info", text, time=(time, time), frame=frame if len(sources) == 1 else None))
    return found


def assemble_recording(sources: Sequence[SourceFrames]) -> Recording:
    """The frames of all sources as one recording."""
    timed = [leave_untimed(source, alone=len(sources) == 1) for source in sources]
    ordered = [put_in_order(source) for source, _ in timed]
    recording = recording_of(ordered[0][0]) if len(sources) == 1 else merge_sources([one for one, _ in ordered])
    moved = [finding for _, told in (*timed, *ordered) for finding in told]
    return replace(recording, findings=(*recording.findings, *moved))


FORMAT = Format("session-log", "condyle session log", looks_like, read)
