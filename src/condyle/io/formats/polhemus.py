"""Logs of Polhemus trackers (Liberty, Fastrak, Patriot): rows of stations, CSV, matrices; docs/formats/polhemus.md.

Text output has a row per station, `01 x y z azimuth elevation roll`; the third character is an error flag. Positions of
fixed width leave no blank before a minus, and the unit is whatever the device was set to.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, many
from ...maths.arrays import Floats
from ...maths.spool import over_frames
from ...model.recording import QUATERNIONS, Bodies, Convention, Recording
from ..format import Format, ReadOptions
from ..tables.rows import describe_truncation, parse_rows
from ..tables.sensors import (
    MOST_STATIONS,
    POLHEMUS,
    SensorColumns,
    add_extras,
    assemble_log,
    drop_absurd,
    find_kind,
    find_log,
    find_sensors,
    group_frames,
    sample_rows,
)
from ..tables.table import Table
from ..tables.text import Text, change_lines, decode, first_block, read_head_lines, read_text, walk_blocks
from ..tables.vocabulary import TIME_UNITS, read_column_name, read_column_names

MOST_COLUMNS_BEFORE = 2  # columns before the station at most: a count, a time
MOST_SWITCH_COLUMNS = 2  # columns behind the pose that are neither: of a button, of the level of distortion
_FLAG = re.compile(rb"(?m)^([ \t]*\d{1,2})[ \t]?(?![eE][+-]?\d+(?:\s|[,;]))([A-Za-z*?!#@])(?=[ \t,;+-]|\d)")
_GLUED = re.compile(rb"(?<=\d)(?=-)")
_LAST_ROW = (0.0, 0.0, 0.0, 1.0)


def looks_like(head: bytes) -> bool:
    """Matrices one after another, columns `w1 ... loc1_x`, or rows that begin with the numbers of a few stations."""
    lines = read_head_lines(head)
    if _are_matrices(lines):
        return True
    try:
        table = find_log(_separate("".join(f"{line}\n" for line in lines).encode())[0])
        if _find_named_columns(table) is not None:
            return True
        if find_sensors(table) is None:
            return _find_station_columns(table) is not None
        return any(POLHEMUS.search(line) for line in table.above)
    except CondyleError:
        return False


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers of whichever of the three forms this is."""
    text = read_text(path)
    if _are_matrices(decode(first_block(text, 65536)).split("\n")):
        return _read_matrices(text)
    text, flags = _separate(text)
    table = find_log(text)
    columns = _find_named_columns(table) or find_sensors(table) or _find_station_columns(table)
    if columns is None:
        fault = (
            "neither rows of `station x y z azimuth elevation roll` nor columns with the names of such; "
            "name the columns in a first line"
        )
        raise CondyleError(fault, code="bad-header", line=table.line)
    recording = assemble_log(table, columns)
    return replace(recording, findings=(*recording.findings, *_describe_flags(flags)))


def _find_named_columns(table: Table) -> SensorColumns | None:
    """Columns `Time, w1, x1, y1, z1, ..., loc1_x, loc1_y, loc1_z, ...`: x1 belongs to the quaternion of sensor 1."""
    named = read_column_names(table.names)
    whole = [
        thing
        for thing in named.things
        if thing.kind in QUATERNIONS and not thing.word and thing.position and thing.place_word == "loc"
    ]
    if not whole or not all(thing.name.isdecimal() for thing in whole):
        return None
    table.check_names()
    parts = [part for name in table.names if (part := read_column_name(name)) is not None]
    owners = {part.owner for part in parts if part.kind == "place" or part.word == "loc"}
    if missing := owners - {thing.name for thing in whole}:
        text = f"sensor {min(missing)} has no whole set of columns w x y z loc_x loc_y loc_z"
        raise CondyleError(text, code="missing-column", line=table.names_line)
    sensors = tuple((int(thing.name), thing.position, thing.rotation, None) for thing in whole)
    tick = None if named.time_unit is None else TIME_UNITS[named.time_unit]
    return SensorColumns(sensors, whole[0].kind, time=named.time, tick=tick, order_stated=True)


def _find_station_columns(table: Table) -> SensorColumns | None:
    """Rows of `station x y z` and an orientation, perhaps with a count of frames or a time before or behind."""
    width = len(table.names)
    if width < 7 or width > 13 + MOST_COLUMNS_BEFORE + MOST_SWITCH_COLUMNS:
        return None
    values = sample_rows(table)
    for lead in range(min(MOST_COLUMNS_BEFORE, width - 7) + 1):
        if not _are_stations(values[:, lead]):
            continue
        kind = find_kind(values[:, lead + 4 :])
        if kind is None:
            continue
        after = lead + 4 + kind[1]
        others = [*range(lead), *range(after, width)]
        layout = SensorColumns(
            ((1, (lead + 1, lead + 2, lead + 3), tuple(range(lead + 4, after)), None),), kind[0], station=lead
        )
        layout = add_extras(layout, values, others)
        unknown = [column for column in others if column not in (layout.time, layout.frame)]
        if len(unknown) <= MOST_SWITCH_COLUMNS and all(column > lead for column in unknown):
            return layout
    return None


def _are_stations(values: Floats) -> bool:
    """Small whole numbers that come round again in ascending order, as stations do."""
    if len(values) < 2 or not (np.isfinite(values) & (values == np.trunc(values))).all():
        return False
    if values.min() < 1 or values.max() > MOST_STATIONS:
        return False
    stations, frames = len(np.unique(values)), int(group_frames(values.astype(np.int64))[-1]) + 1
    return frames > 1 and len(values) >= 0.5 * stations * frames


def _separate(text: Text) -> tuple[Text, list[tuple[str, str]]]:
    """The text without error flags behind the station, and which there were: (station, flag).

    Where blanks separate the cells, numbers that a minus glues together are put apart.
    """
    start = first_block(text, 65536)
    flags: list[tuple[str, str]] = []
    if _FLAG.search(start):
        found = (one for _, block in walk_blocks(text) for one in _FLAG.findall(block))
        flags = [(decode(station).strip(), decode(flag)) for station, flag in found]
        text = change_lines(text, partial(_FLAG.sub, rb"\1 "))
    if not any(mark in start for mark in (b",", b";", b"\t")) and _GLUED.search(start):
        text = change_lines(text, partial(_GLUED.sub, b" "))
    return text, flags


def _describe_flags(flags: list[tuple[str, str]]) -> list[Finding]:
    if not flags:
        return []
    stations = sorted({f"s{int(station)}" for station, _ in flags})
    codes = ", ".join(sorted({flag for _, flag in flags}))
    text = (
        f"{', '.join(stations)}: {many(len(flags), 'row')} with the tracker's error flag ({codes}); they are kept, "
        "because the flag tells the last fault of the system and not that of the row"
    )
    return [Finding("device-error", "warning", text, tuple(stations), count=len(flags))]


def _are_matrices(lines: tuple[str, ...] | list[str]) -> bool:
    """The first four rows are a homogeneous matrix, and what follows is the next one or nothing."""
    rows = [line.split() for line in lines[:40] if line.strip()][:5]
    if len(rows) < 4 or any(len(row) != 4 for row in rows):
        return False
    try:
        T = np.array(rows[:4], dtype=np.float64)
    except ValueError:
        return False
    R = T[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((T[3] == _LAST_ROW).all() and np.abs(R @ R.T - np.eye(3)).max() < 0.1)


def _read_matrices(text: Text) -> Recording:
    """One 4x4 matrix after another, of one sensor."""
    values, cut = parse_rows(text, ("1", "2", "3", "4"), line=1, separator=None)
    frames = len(values) // 4
    T = drop_absurd(values[: 4 * frames].reshape(frames, 4, 4))
    wrong = ~(T[:, 3] == _LAST_ROW).all(axis=1)
    if wrong.any():
        row = 4 * int(np.argmax(wrong)) + 3
        filled = [
            lines + k for lines, block in walk_blocks(text) for k, line in enumerate(block.split(b"\n")) if line.strip()
        ]
        fault = "every fourth row of a matrix is 0 0 0 1; here a row is missing or too many"
        raise CondyleError(fault, code="ragged-row", line=filled[row] + 1, frame=row // 4)
    return Recording(
        bodies=Bodies(("s1",), T[:, None, :3, 3], over_frames(lambda part: part[:, None, :3, :3].reshape(-1, 1, 9), T)),
        convention=Convention("matrix"),
        facts={"length": "not stated", "rotation": "matrix", "rows": "4x4 matrices of one sensor", "clock": "none"},
        findings=tuple(describe_truncation(frames, None, cut or len(values) % 4 > 0)),
    )


FORMAT = Format("polhemus", "Polhemus log", looks_like, read)
