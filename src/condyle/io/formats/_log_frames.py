"""The frames of every source in a session log, whatever changes its bodies went through."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, many
from ...maths.arrays import Floats, Ints
from ...maths.spool import BLOCK_BYTES, GrowingRows, empty, largest_in_memory, seal, spool_bytes
from ...model.clock import LATEST
from ...model.values import dataclass
from ..log_records import (
    FRAME_RECORD,
    FRAME_RECORD_HEAD,
    LAYOUT,
    LOG_MAGIC,
    LOST,
    LOST_COUNT,
    MARK,
    Damage,
    Layout,
    LogRecord,
    Mark,
    decode_layout,
    decode_mark,
    walk_records,
)

FRAMES_AT_ONCE_BYTES = 2**20  # of one layout that are collected before they become numbers
MOST_LAYOUTS = 10_000  # of one log


@dataclass(frozen=True, eq=False)
class SourceFrames:
    """All frames of one source in the order of the log.

    layout    with the names of all its layouts
    segment   (n,) as a replayed file has it
    device    (n,) [s] by the device's own clock; NaN where it has none
    arrival   (n,) [s] by the clock of the machine that recorded
    position  (n, m, 3), orientation (n, m, 3 | 4 | 9), points (n, k, 3) of its markers; NaN where there was none
    """

    layout: Layout
    segment: Ints
    device: Floats
    arrival: Floats
    position: Floats
    orientation: Floats
    points: Floats


@dataclass
class _LayoutTable:
    """The frames of one layout: rows of segment, device time, arrival time and its numbers."""

    layout: Layout
    rows: GrowingRows = field(default_factory=GrowingRows)
    waiting: list[bytes] = field(default_factory=list)
    waiting_bytes: int = 0

    def add(self, payload: memoryview) -> None:
        self.waiting.append(payload.tobytes())
        self.waiting_bytes += len(payload)
        if self.waiting_bytes > FRAMES_AT_ONCE_BYTES:
            self.settle()

    def settle(self) -> None:
        """Bytes that wait become rows."""
        width = self.layout.width
        kind = np.dtype([("layout", "<u4"), ("segment", "<i4"), ("numbers", "<f8", (2 + width,))])
        frames = np.frombuffer(b"".join(self.waiting), kind)
        rows = np.empty((len(frames), 3 + width))
        rows[:, 0], rows[:, 1:] = frames["segment"], frames["numbers"]
        self.rows.extend(rows)
        self.waiting, self.waiting_bytes = [], 0


@dataclass
class _Stretch:
    """Frames of one source in a row that have the same layout."""

    table: _LayoutTable
    frames: int = 0


@dataclass
class LogContents:
    """What the records of a log hold: tables by the number of their layout, and the stretches of every source.

    astray   frames whose layout is not there, or has another width
    untimed  frames of every source that arrived at a time that is none
    lost     frames that could not be written while the log was recorded
    marks    that an operator set; frames before one that begins anew are not kept, but counted as `before`
    """

    tables: dict[int, _LayoutTable] = field(default_factory=dict)
    stretches: dict[str, list[_Stretch]] = field(default_factory=dict)
    astray: int = 0
    untimed: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    marks: list[Mark] = field(default_factory=list)
    before: int = 0

    def add(self, record: LogRecord) -> None:
        """Takes in the next record."""
        if record.kind == FRAME_RECORD:
            self.add_frame(record.payload)
        elif record.kind == LAYOUT:
            self.add_layout(record.payload)
        elif record.kind == LOST and len(record.payload) == LOST_COUNT.size:
            self.lost += LOST_COUNT.unpack(record.payload)[0]
        elif record.kind == MARK and (mark := decode_mark(record.payload)) is not None:
            self.add_mark(mark)

    def add_mark(self, mark: Mark) -> None:
        if mark.anew:
            self.before += sum(one.frames for row in self.stretches.values() for one in row)
            self.tables = {number: _LayoutTable(table.layout) for number, table in self.tables.items()}
            self.stretches = {source: [] for source in self.stretches}
            self.marks = []
        else:
            self.marks.append(mark)

    def assemble(self) -> list[SourceFrames]:
        """The frames of every source that sent any; raises where none did."""
        for stretch in (one for row in self.stretches.values() for one in row):
            stretch.table.settle()  # also of a table whose number another layout took
        if not any(self.stretches.values()):
            raise CondyleError("a session log without a single frame", code="no-data")
        return [_assemble(row) for row in self.stretches.values() if row]

    def add_layout(self, payload: memoryview) -> None:
        if len(self.tables) >= MOST_LAYOUTS:
            raise CondyleError(f"more than {MOST_LAYOUTS} changes of its bodies", code="suspicious-size")
        number, layout = decode_layout(payload)
        self.tables[number] = _LayoutTable(layout)
        self.stretches.setdefault(layout.source, [])

    def add_frame(self, payload: memoryview) -> None:
        number = int.from_bytes(payload[:4], "little")
        table = self.tables.get(number)
        if table is None or len(payload) != FRAME_RECORD_HEAD.size + 8 * table.layout.width:
            self.astray += 1
            return
        if not abs(FRAME_RECORD_HEAD.unpack_from(payload)[3]) < LATEST:
            self.untimed[table.layout.source] += 1
            return
        row = self.stretches[table.layout.source]
        if not row or row[-1].table is not table:
            row.append(_Stretch(table))
        row[-1].frames += 1
        table.add(payload)


def read_frames(path: Path) -> tuple[list[SourceFrames], list[Mark], list[Finding]]:
    """The frames of every source of a log that sent any, its marks, and what is damaged or missing in it."""
    with open(path, "rb") as stream:
        if stream.read(len(LOG_MAGIC)) != LOG_MAGIC:
            raise CondyleError("is no session log, or one of a newer condyle", code="damaged-file")
        stream.seek(0)  # not mapped: where somebody cuts the log meanwhile, that would end the process
        whole = os.fstat(stream.fileno()).st_size <= largest_in_memory()
        log = memoryview(stream.read() if whole else spool_bytes(iter(lambda: stream.read(BLOCK_BYTES), b"")))
    contents, damage = LogContents(), Damage()
    for record in walk_records(log, damage):
        contents.add(record)
    sources = contents.assemble()
    return sources, contents.marks, _describe(contents, damage, sum(len(source.device) for source in sources))


def _assemble(stretches: list[_Stretch]) -> SourceFrames:
    """The frames of a source with columns for everything that it ever had."""
    tables = list({id(one.table): one.table for one in stretches}.values())
    if len(tables) == 1:
        return _split(tables[0].layout, tables[0].rows.array())
    layout = _unite([table.layout for table in tables])
    rows = empty((sum(one.frames for one in stretches), 3 + layout.width))
    rows[...] = np.nan
    places = {id(table): _find_columns(table.layout, layout) for table in tables}
    done = dict.fromkeys(places, 0)
    at = 0
    for one in stretches:
        key = id(one.table)
        part = one.table.rows.array()[done[key] : done[key] + one.frames]
        rows[at : at + one.frames, places[key]] = part
        done[key] += one.frames
        at += one.frames
    return _split(layout, seal(rows))


def _unite(layouts: list[Layout]) -> Layout:
    """The layout with the names of all of them, in the order in which they came."""
    first = layouts[0]
    for one in layouts:
        if one.convention != first.convention or one.clock != first.clock:
            text = f"the numbers of the source {first.source} change their meaning in the middle"
            raise CondyleError(text, code="damaged-file")
        for kind, names in (("bodies", one.bodies), ("markers", one.markers)):
            if len(set(names)) != len(names):
                raise CondyleError(f"two {kind} of the source {first.source} have one name", code="damaged-file")
    return replace(
        first,
        bodies=tuple(dict.fromkeys(name for one in layouts for name in one.bodies)),
        markers=tuple(dict.fromkeys(name for one in layouts for name in one.markers)),
    )


def _find_columns(layout: Layout, whole: Layout) -> Ints:
    """(3 + width,) columns of a layout's rows among those of the whole."""
    body = {name: k for k, name in enumerate(whole.bodies)}
    marker = {name: k for k, name in enumerate(whole.markers)}
    bodies, markers = [body[name] for name in layout.bodies], [marker[name] for name in layout.markers]
    place, turned, points = whole.split(np.arange(3, 3 + whole.width))
    return np.concatenate([np.arange(3), *(part.ravel() for part in (place[bodies], turned[bodies], points[markers]))])


def _split(layout: Layout, rows: Floats) -> SourceFrames:
    return SourceFrames(layout, rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2], *layout.split(rows[:, 3:]))


def tell_untimed(source: str, count: int, frame: int | None = None) -> Finding:
    """What is said of frames of a source whose time is none, the first of them `frame`."""
    text = f"{many(count, 'frame')} of {source} without a time: left out"
    return Finding("log-damaged", "warning", text, frame=frame, count=count)


def _describe(contents: LogContents, damage: Damage, frames: int) -> list[Finding]:
    """What is said of a log that is not whole."""
    found = []
    if not damage.closed:
        end = f"the log ends in the middle of a record, {many(damage.torn, 'byte')} of it" if damage.torn else ""
        text = (
            f"{end or 'the log was not closed'}: the program or the machine stopped while it recorded, or it still "
            f"records; all {frames} frames before that are there"
        )
        found.append(Finding("truncated-file", "warning" if damage.torn else "info", text, frame=frames, count=1))
    if damage.skipped or contents.astray:
        parts = [f"{many(damage.skipped, 'byte')} in the middle of the log are damaged"] if damage.skipped else []
        parts += [f"{many(contents.astray, 'frame')} cannot be understood"] if contents.astray else []
        text = f"{', and '.join(parts)}; they are left out"
        found.append(Finding("log-damaged", "warning", text, value=float(damage.skipped), unit="bytes"))
    found += [tell_untimed(source, count) for source, count in contents.untimed.items()]
    if contents.before:
        text = f"the session was begun anew: {many(contents.before, 'frame')} before that are left out"
        found.append(Finding("begun-anew", "info", text, count=contents.before))
    if contents.lost:
        text = f"{many(contents.lost, 'frame')} could not be written while recording, as when a disk is full"
        found.append(Finding("log-damaged", "warning", text, count=contents.lost))
    return found
