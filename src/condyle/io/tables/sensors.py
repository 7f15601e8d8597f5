"""Logs of trackers as tables: which columns hold which sensor, and which rows form a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats, Ints
from ...maths.robust import median
from ...maths.spool import hide, over_frames
from ...model.recording import MATRIX, Bodies, Convention, Recording
from ...model.values import dataclass
from .guess import are_rotations, are_unit
from .header import is_length
from .long_rows import gather_rows
from .rows import describe_truncation, read_number, take_columns
from .table import Table, find_table
from .text import Text, read_head_lines
from .vocabulary import SPELLED_TIME_UNITS, TIME_UNITS, find_stated_unit, read_tracker_name

POLHEMUS = re.compile(r"polhemus|liberty|fastrak|patriot|viper|pimgr|\bstation", re.IGNORECASE)  # its words
MOST_STATIONS = 16  # sensors that one tracker can have
ABSURD_NUMBER = 1e20  # beyond is no number that a device measured
FEWEST_LOG_CELLS = 6  # numbers in a row: a place and three angles
SAMPLE_ROWS = 400  # rows that a table is recognised by
EULER, QUATERNION = "ZYX", "wxyz"  # azimuth, elevation, roll: R = Rz(az) Ry(el) Rx(roll)
ORIENTATION = {
    QUATERNION: ("q0", "q1", "q2", "q3"),
    MATRIX: tuple(f"m{row}{column}" for row in "123" for column in "123"),
    EULER: ("az", "el", "roll"),
}
_ANGLES = {"deg": True, "degrees": True, "rad": False, "radians": False}

Sensor = tuple[int, tuple[int, ...], tuple[int, ...], int | None]


@dataclass(frozen=True)
class SensorColumns:
    """Columns of a tracker's log.

    sensors   per sensor: number, 3 columns of the position, 3, 4 or 9 of the orientation, column of its time or None
    rotation  as `Convention` has it
    station   column with the sensor's number, where each row is one sensor
    tick      [s] of the time's unit; None: not stated
    degrees   of Euler angles; None: not stated
    order_stated  whether the names of the columns say the order of a quaternion
    """

    sensors: tuple[Sensor, ...]
    rotation: str
    station: int | None = None
    time: int | None = None
    frame: int | None = None
    tick: float | None = None
    unit: str | None = None
    degrees: bool | None = None
    order_stated: bool = False


def drop_absurd(values: Floats) -> Floats:
    """The same with NaN for what no device measures."""
    return over_frames(lambda part: np.where(np.abs(part) < ABSURD_NUMBER, part, np.nan), values)


def find_log(text: Text) -> Table:
    """The rows of a log, all numbers; raises when it has none."""
    table = find_table(text, fewest=FEWEST_LOG_CELLS)
    if table is None:
        raise CondyleError("not a single row of numbers", code="no-data", line=min(text.count(b"\n") + 1, 200))
    return table


@lru_cache(maxsize=4)
def find_log_head(head: bytes) -> Table:
    """The same in the first bytes of a file, of which the last line may be cut."""
    return find_log("".join(f"{line}\n" for line in read_head_lines(head)).encode())


def sample_rows(table: Table) -> Floats:
    """The first rows (n, width) as far as they are whole rows of numbers: faults are told when all are read."""
    width = len(table.names)
    rows = [[read_number(cell, bool(table.decimal_comma)) for cell in row] for row in table.cells(SAMPLE_ROWS)]
    good = [row for row in rows if len(row) == width and None not in row]
    return drop_absurd(np.array(good, dtype=np.float64).reshape(len(good), width))


def find_sensors(table: Table) -> SensorColumns | None:
    """The columns that the header names, or None where it names no whole pose; raises where it names one twice."""
    found: dict[tuple[str, int], int] = {}
    units: dict[str, set[str]] = {"x": set(), "time": set(), "az": set()}
    untagged: dict[str, int] = {}
    for column, cell in enumerate(table.names):
        role, tag, unit = read_tracker_name(cell)
        if role is None:
            continue
        if tag is None:
            tag = untagged[role] = untagged.get(role, 0) + 1
        if (role, tag) in found:
            text = f"a second column '{cell[:40]}'"
            raise CondyleError(text, code="duplicate-column", line=table.names_line, column=column + 1)
        found[role, tag] = column
        if unit and role in units:
            units[role].add(unit)
    sensors, rotation = _find_whole_poses(found)
    if not sensors:
        return None
    lengths = [unit for unit in units["x"] if is_length(unit)]
    ticks = [TIME_UNITS[SPELLED_TIME_UNITS[unit]] for unit in units["time"] if unit in SPELLED_TIME_UNITS]
    angles = [_ANGLES[unit] for unit in units["az"] if unit in _ANGLES]
    return SensorColumns(
        sensors,
        rotation,
        station=found.get(("station", 1)) if len(sensors) == 1 else None,
        time=next((column for (role, _), column in found.items() if role == "time"), None),
        frame=next((column for (role, _), column in found.items() if role == "frame"), None),
        tick=ticks[0] if len(ticks) == 1 else None,
        unit=lengths[0] if len(lengths) == 1 else None,
        degrees=angles[0] if len(angles) == 1 else None,
    )


def _find_whole_poses(found: dict[tuple[str, int], int]) -> tuple[tuple[Sensor, ...], str]:
    """The sensors that have a position and an orientation of the first kind that any of them has."""
    for rotation, parts in ORIENTATION.items():
        whole = ("x", "y", "z", *parts)
        tags = [tag for role, tag in found if role == "x" and all((part, tag) in found for part in whole)]
        columns = [[found[part, tag] for part in whole] for tag in tags]
        if tags:
            return tuple(
                (tag, tuple(own[:3]), tuple(own[3:]), found.get(("time", tag)))
                for tag, own in zip(tags, columns, strict=True)
            ), rotation
    return (), EULER


def find_kind(values: Floats) -> tuple[str, int] | None:
    """What numbers (n, k) behind a position can be: kind of rotation and its width; zeros and NaN tell nothing.

    Most rows decide: a few that are no rotations, or one sensor of several, are for the conversion to tell.
    """
    known = values[np.isfinite(values).all(axis=1) & (values != 0).any(axis=1)]
    if not len(known):
        return None
    if known.shape[1] >= 9 and are_rotations(known[:, :9].reshape(-1, 3, 3)).mean() > 0.5:
        return MATRIX, 9
    if known.shape[1] >= 4 and are_unit(known[:, :4]).mean() > 0.5:
        return QUATERNION, 4
    if known.shape[1] >= 3 and (np.abs(known[:, :3]) <= (360.0, 90.0, 360.0)).all():
        return EULER, 3
    return None


def group_frames(station: Ints, number: Floats | None = None, time: Floats | None = None) -> Ints:
    """Frame (n,) of each row, from the number of its sensor: they come in ascending order, and one may be missing.

    number   (n,) or None: count of frames beside it; where it changes, a new frame begins
    time     (n,) or None, in any unit; where it jumps by more than half the usual frame, a new frame begins
    """
    fresh = np.diff(station) <= 0
    if number is not None:
        fresh |= np.diff(number) != 0
    if time is not None:
        period = median(np.diff(time[station == station[0]]))
        if period > 0:
            fresh |= np.diff(time) > 0.5 * period
    return np.concatenate([[0], np.cumsum(fresh)])[: len(station)].astype(np.int64)


def assemble_log(table: Table, layout: SensorColumns, names: Sequence[str] = ()) -> Recording:
    """The recording in a table. A pose whose numbers are all zero is not seen: no sensor is inside the transmitter."""
    values, cut = table.numbers(names)
    values = drop_absurd(values)
    unit = layout.unit or find_stated_unit(table.above)
    stated = {"unit"} if unit else set()
    if layout.degrees is not None:
        stated.add("degrees")
    if layout.order_stated:
        stated.add("rotation")
    position = take_columns(values, [sensor[1] for sensor in layout.sensors])
    orientation = take_columns(values, [sensor[2] for sensor in layout.sensors])
    numbers: Sequence[int] = [sensor[0] for sensor in layout.sensors]
    time = None if layout.time is None else values[:, layout.time]
    findings = describe_truncation(len(values), None, cut)
    if layout.station is not None:
        station = _read_stations(values[:, layout.station], table.line, layout.station)
        frame = group_frames(station, None if layout.frame is None else values[:, layout.frame], time)
        numbers, place = np.unique(station, return_inverse=True)  # type: ignore[assignment]
        position, orientation = gather_rows(frame, place, len(numbers), position[:, 0], orientation[:, 0])
        time = None if time is None else time[np.flatnonzero(np.diff(frame, prepend=-1))]
        findings = describe_truncation(len(position), None, cut)
    else:
        findings += _describe_own_clocks(values, layout)
    gone = over_frames(lambda p, q: (p == 0).all(axis=2) & (q == 0).all(axis=2), position, orientation)
    position, orientation = hide(position, gone), hide(orientation, gone)
    time, clock = _find_seconds(time, layout.tick)
    facts = {
        "length": unit or "not stated",
        "rotation": {EULER: "azimuth elevation roll", MATRIX: "matrix"}.get(
            layout.rotation, f"quaternion {layout.rotation}"
        ),
        "rows": "one per sensor" if layout.station is not None else "one per frame",
        "clock": clock,
    }
    return Recording(
        bodies=Bodies(tuple(f"s{number}" for number in numbers), position, orientation),
        time=time,
        convention=Convention(
            layout.rotation,
            degrees=layout.degrees is not False,
            unit=unit,
            stated=frozenset(stated),
        ),
        facts=facts,
        findings=tuple(findings),
    )


def add_extras(layout: SensorColumns, values: Floats, columns: Sequence[int]) -> SensorColumns:
    """The layout with the columns among `columns` that count frames or tell time, as their numbers show."""
    for column in columns:
        series = values[:, column]
        step = np.diff(series)
        if not (np.isfinite(series).all() and len(step) and (step >= 0).all() and step.any()):
            continue
        forward = step[step > 0]
        if (series == np.trunc(series)).all() and median(forward) == 1:
            layout = replace(layout, frame=column) if layout.frame is None else layout
        elif layout.time is None:
            layout = replace(layout, time=column)
    return layout


def _read_stations(values: Floats, line: int, column: int) -> Ints:
    whole = np.isfinite(values) & (values == np.trunc(values)) & (values >= 0) & (values < 1000)
    if not whole.all():
        row = int(np.argmin(whole))
        raise CondyleError(
            f"'{values[row]:g}' is not the number of a sensor", code="bad-number", line=line + row, column=column + 1
        )
    if len(np.unique(values)) > 4 * MOST_STATIONS:
        text = f"{len(np.unique(values))} different numbers of sensors in column {column + 1}; no tracker has so many"
        raise CondyleError(text, code="bad-number", column=column + 1)
    return values.astype(np.int64)


def _find_seconds(time: Floats | None, tick: float | None) -> tuple[Floats | None, str]:
    """Time [s], and how it was understood. Trackers that count in whole numbers count milliseconds."""
    if time is None:
        return None, "none"
    known = time[np.isfinite(time)]
    if not len(known) or (len(known) > 1 and known.min() == known.max()):
        return None, "stands still, not used"
    if tick is not None:
        return time * tick, "as the header says"
    if (known == np.trunc(known)).all() and len(known) > 2:
        return time * 1e-3, "whole numbers, taken as ms"
    return time, "s"


def _describe_own_clocks(values: Floats, layout: SensorColumns) -> list[Finding]:
    """What to say where sensors of one row have times of their own that are most of a frame apart."""
    clocks = [(number, column) for number, _, _, column in layout.sensors if column is not None]
    if len(clocks) < 2 or len(values) < 3:
        return []
    tick = 1.0 if layout.tick is None else layout.tick
    time = values[:, [column for _, column in clocks]] * tick
    if not np.isfinite(time).all():
        return []
    step = median(np.diff(time[:, 0]))
    late = np.array([median(time[:, k] - time[:, 0]) for k in range(len(clocks))])
    apart = np.abs(late) > 0.5 * step
    if not (step > 0 and apart.any()):
        return []
    names = tuple(f"s{number}" for (number, _), far in zip(clocks, apart, strict=True) if far)
    worst = float(late[np.argmax(np.abs(late))])
    text = (
        f"{', '.join(names)}: their own time differs from that of s{clocks[0][0]} in the same row "
        f"by {worst * 1e3:.2g} ms, where a frame lasts {step * 1e3:.2g} ms; the row's first clock is used"
    )
    return [Finding("sensor-clocks", "info", text, names, value=worst, unit="s")]
