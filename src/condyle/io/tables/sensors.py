"""Logs of trackers as tables: which columns hold which sensor, and which rows form a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats, Ints
from ...maths.robust import median
from ...model.recording import Bodies, Convention, Recording
from .rows import parse_rows, separator_of, truncation
from .text import decode

POLHEMUS = re.compile(r"polhemus|liberty|fastrak|patriot|viper|pimgr|\bstation", re.IGNORECASE)  # its words
MOST_STATIONS = 16  # sensors that one tracker can have
PREAMBLE = 200  # lines above the first row of numbers at most
NOWHERE = 1e20  # beyond is no number that a device measured
FEWEST = 6  # numbers in a row: a place and three angles
SAMPLE = 400  # rows that a table is recognised by
EULER, QUATERNION, MATRIX = "ZYX", "wxyz", "matrix"  # azimuth, elevation, roll: R = Rz(az) Ry(el) Rx(roll)
ORIENTATION = {
    QUATERNION: ("q0", "q1", "q2", "q3"),
    MATRIX: tuple(f"m{row}{column}" for row in "123" for column in "123"),
    EULER: ("az", "el", "roll"),
}

_SPELLED = {
    "time": "time timestamp time_stamp t clock",
    "frame": "frame frames framecount frame_count frame_number framenumber frame_no fc sample count",
    "station": "station station_id sensor sensor_id sensorid sensor_number sensornumber sensor_no bird receiver",
    "x": "x px pos_x posx x_pos position_x", "y": "y py pos_y posy y_pos position_y",
    "z": "z pz pos_z posz z_pos position_z",
    "az": "a az azi azim azimuth yaw", "el": "e el elev elevation pitch", "roll": "r ro rol roll",
    "q0": "q0 qw q_w quat_w quat0", "q1": "q1 qx q_x quat_x quat1", "q2": "q2 qy q_y quat_y quat2",
    "q3": "q3 qz q_z quat_z quat3",
    **{f"m{r}{c}": f"m{r}{c} m_{r}{c} m{r}_{c} r{r}{c}" for r in "123" for c in "123"},
}  # fmt: skip
_ROLE = {spelling: role for role, spellings in _SPELLED.items() for spelling in spellings.split()}
_WHO = r"(?:sensor|station|bird|receiver|rx|s)"
LONGEST = 200  # characters of a name or line that is understood: patterns would try long ones in every way
_BEFORE = re.compile(rf"{_WHO}?_?(\d{{1,2}})_(\w+)")
_AFTER = re.compile(rf"([a-z_]+?|q[0-3]_|[mr]\d\d_)_?{_WHO}?_?(\d{{1,2}})")
_LENGTH = r"(inches|inch|in|centimeters|centimetres|cm|millimeters|millimetres|mm|meters|metres|m)"
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}
_ANGLES = {"deg": True, "degrees": True, "rad": False, "radians": False}


@dataclass(frozen=True)
class Table:
    """Text above the numbers, the cells of the line right above them, and the numbers as bytes.

    width  cells in the first row of numbers; line: 1-based line it stands on
    """

    preamble: tuple[str, ...]
    header: tuple[str, ...]
    rows: bytes
    line: int
    width: int
    separator: bytes | None
    decimal_comma: bool

    @property
    def header_line(self) -> int:
        """1-based line of the header."""
        return max((k for k, words in enumerate(self.preamble, 1) if words.strip()), default=0)

    @property
    def sample(self) -> Floats:
        """The first rows (n, width) as far as they are whole rows of numbers: faults are for `numbers` to tell."""
        lines = self.rows.split(b"\n", SAMPLE)
        lines = lines[:-1] or lines  # a last line without its end may be cut, and its numbers others
        rows = [split(decode(row), self.separator) for row in lines]
        if self.decimal_comma:
            rows = [[cell.replace(",", ".") for cell in row] for row in rows]
        good = [row for row in rows if len(row) == self.width and all(_numeric(cell, False) for cell in row)]
        values = [[float(cell) if cell and cell.lower() != "null" else np.nan for cell in row] for row in good]
        return sane(np.array(values, dtype=np.float64).reshape(len(values), self.width))

    def numbers(self, names: Sequence[str] = ()) -> tuple[Floats, int]:
        """(rows, width), and whether the last row was cut."""
        labels = names or self.header if len(names or self.header) == self.width else ()
        labels = labels or [str(k + 1) for k in range(self.width)]
        return parse_rows(self.rows, labels, line=self.line, separator=self.separator, decimal_comma=self.decimal_comma)


Sensor = tuple[int, tuple[int, ...], tuple[int, ...], int | None]


@dataclass(frozen=True)
class Layout:
    """Columns of a table.

    sensors   per sensor: number, 3 columns of the position, 3, 4 or 9 of the orientation, column of its time or None
    rotation  as `Convention` has it
    station   column with the sensor's number, where each row is one sensor
    tick      [s] of the time's unit; None: not stated
    degrees   of Euler angles; None: not stated
    """

    sensors: tuple[Sensor, ...]
    rotation: str
    station: int | None = None
    time: int | None = None
    frame: int | None = None
    tick: float | None = None
    unit: str | None = None
    degrees: bool | None = None


def sane(values: Floats) -> Floats:
    """The same with NaN for what no device measures."""
    return np.where(np.abs(values) < NOWHERE, values, np.nan)


def find_table(text: bytes) -> Table:
    """Where the numbers of a log begin; raises when it has none."""
    start, preamble = 0, list[str]()
    for line in range(1, PREAMBLE + 1):
        end = text.find(b"\n", start)
        stop = len(text) if end < 0 else end
        words = decode(text[start:stop])
        separator, decimal_comma = separator_of(words)
        cells = split(words, separator)
        if len(cells) >= FEWEST and all(_numeric(cell, decimal_comma) for cell in cells) and any(cells):
            above = next((old for old in reversed(preamble) if old.strip()), "")
            header = tuple(split(above.lstrip("#%/ "), separator))
            return Table(tuple(preamble), header, text[start:], line, len(cells), separator, decimal_comma)
        preamble.append(words)
        if end < 0:
            break
        start = end + 1
    raise CondyleError("not a single row of numbers", code="no-data", line=len(preamble))


def split(line: str, separator: bytes | None) -> list[str]:
    """Cells without blanks and quotes around them; one separator too many at the end is left out."""
    if separator is None:
        return line.split()
    cells = [cell.strip().strip('"').strip() for cell in line.rstrip("\r\n").split(separator.decode())]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def find_layout(table: Table) -> Layout | None:
    """The columns that the header names, or None where it names no whole pose; raises where it names one twice."""
    if len(table.header) != table.width:
        return None
    found: dict[tuple[str, int], int] = {}
    units: dict[str, set[str]] = {"x": set(), "time": set(), "az": set()}
    untagged: dict[str, int] = {}
    for column, cell in enumerate(table.header):
        role, tag, unit = _meaning(cell)
        if role is None:
            continue
        if tag is None:
            untagged[role] = untagged.get(role, 0) + 1
            tag = untagged[role]
        if (role, tag) in found:
            text = f"a second column '{cell[:40]}'"
            raise CondyleError(text, code="duplicate-column", line=table.header_line, column=column + 1)
        found[role, tag] = column
        if unit and role in units:
            units[role].add(unit)
    sensors, rotation = _whole_poses(found)
    if not sensors:
        return None
    lengths = [unit for unit in units["x"] if re.fullmatch(_LENGTH, unit)]
    ticks = [_SECONDS[unit] for unit in units["time"] if unit in _SECONDS]
    angles = [_ANGLES[unit] for unit in units["az"] if unit in _ANGLES]
    return Layout(
        sensors,
        rotation,
        station=found.get(("station", 1)) if len(sensors) == 1 else None,
        time=next((column for (role, _), column in found.items() if role == "time"), None),
        frame=next((column for (role, _), column in found.items() if role == "frame"), None),
        tick=ticks[0] if len(ticks) == 1 else None,
        unit=lengths[0] if len(lengths) == 1 else None,
        degrees=angles[0] if len(angles) == 1 else None,
    )


def _whole_poses(found: dict[tuple[str, int], int]) -> tuple[tuple[Sensor, ...], str]:
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


def stated_unit(preamble: Sequence[str]) -> str | None:
    """Unit of length that a header states in words such as `Units: cm`."""
    for line in preamble:
        if told := re.search(rf"\b(?:units?|lengths?|positions?)\b\W*(?:\w+\W+)?{_LENGTH}\b", line[:LONGEST].lower()):
            return told[1]
    return None


def find_kind(values: Floats) -> tuple[str, int] | None:
    """What numbers (n, k) behind a position can be: kind of rotation and its width; zeros and NaN tell nothing.

    Most rows decide: a few that are no rotations, or one sensor of several, are for the conversion to tell.
    """
    known = values[np.isfinite(values).all(axis=1) & (values != 0).any(axis=1)]
    if not len(known):
        return None
    if known.shape[1] >= 9:
        R = known[:, :9].reshape(-1, 3, 3)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.mean((np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)) < 0.02).all(axis=(1, 2))) > 0.5:
                return MATRIX, 9
    if known.shape[1] >= 4:
        with np.errstate(over="ignore"):
            if np.mean(np.abs(np.linalg.norm(known[:, :4], axis=1) - 1) < 0.02) > 0.5:
                return QUATERNION, 4
    if known.shape[1] >= 3 and (np.abs(known[:, :3]) <= (360.0, 90.0, 360.0)).all():
        return EULER, 3
    return None


def frames_of(station: Ints, number: Floats | None = None, time: Floats | None = None) -> Ints:
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


def assembled(path: Path, fmt: str, table: Table, layout: Layout, names: Sequence[str] = ()) -> Recording:
    """The recording in a table. A pose whose numbers are all zero is not seen: no sensor is inside the transmitter."""
    _check_above(table)
    values, cut = table.numbers(names)
    values = sane(values)
    if not len(values):
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=table.line)
    unit = layout.unit or stated_unit(table.preamble)
    stated = {"unit"} if unit else set()
    if layout.degrees is not None:
        stated.add("degrees")
    position = np.stack([values[:, list(sensor[1])] for sensor in layout.sensors], axis=1)
    orientation = np.stack([values[:, list(sensor[2])] for sensor in layout.sensors], axis=1)
    numbers: Sequence[int] = [sensor[0] for sensor in layout.sensors]
    time = None if layout.time is None else values[:, layout.time]
    findings = truncation(len(values), None, cut)
    if layout.station is not None:
        station = _stations(values[:, layout.station], table.line, layout.station)
        frame = frames_of(station, None if layout.frame is None else values[:, layout.frame], time)
        numbers, place = np.unique(station, return_inverse=True)  # type: ignore[assignment]
        position, orientation = (_spread(part[:, 0], frame, place, len(numbers)) for part in (position, orientation))
        time = None if time is None else time[np.flatnonzero(np.diff(frame, prepend=-1))]
        findings = truncation(len(position), None, cut)
    else:
        findings += _own_clocks(values, layout)
    gone = (position == 0).all(axis=2) & (orientation == 0).all(axis=2)
    position[gone], orientation[gone] = np.nan, np.nan
    time, clock = _seconds(time, layout.tick)
    facts = {
        "length": unit or "not stated",
        "rotation": {EULER: "azimuth elevation roll", QUATERNION: "quaternion wxyz", MATRIX: "matrix"}[layout.rotation],
        "rows": "one per sensor" if layout.station is not None else "one per frame",
        "clock": clock,
    }
    return Recording(
        str(path),
        fmt,
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


def with_extras(layout: Layout, values: Floats, columns: Sequence[int]) -> Layout:
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


def _meaning(cell: str) -> tuple[str | None, int | None, str | None]:
    """Role of a column, number of the sensor in its name, unit in its name."""
    name = cell.strip().lower()
    unit = None
    if len(name) > LONGEST:
        return None, None, None
    if told := re.fullmatch(r"(.*?)\s*[\[(]\s*([a-z]+)\s*[\])]", name):
        name, unit = told[1], told[2]
    name = re.sub(r"[\s.\-:#]+", "_", name).strip("_")
    if unit is None and (told := re.fullmatch(r"(\w+?)_(mm|cm|in|inch|inches|m|ms|us|s|sec|deg|rad)", name)):
        name, unit = told[1], told[2]
    if name in _ROLE:
        return _ROLE[name], None, unit
    if (told := _BEFORE.fullmatch(name)) and told[2] in _ROLE:
        return _ROLE[told[2]], int(told[1]), unit
    if (told := _AFTER.fullmatch(name)) and told[1].rstrip("_") in _ROLE:
        return _ROLE[told[1].rstrip("_")], int(told[2]), unit
    return None, None, None


def _numeric(cell: str, decimal_comma: bool) -> bool:
    if not cell or cell.lower() in ("nan", "null"):
        return True
    try:
        float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return False
    return "_" not in cell


def _check_above(table: Table) -> None:
    """A line of mostly numbers right above the first good row is no header but a row with a fault."""
    good = [bool(cell) and _numeric(cell, table.decimal_comma) for cell in table.header]
    if len(good) == table.width and table.width // 2 < sum(good) < table.width:
        column = good.index(False)
        text = f"'{table.header[column][:40]}' in column {column + 1} is no number"
        raise CondyleError(text, code="bad-number", line=table.header_line, column=column + 1)


def _stations(values: Floats, line: int, column: int) -> Ints:
    whole = np.isfinite(values) & (values == np.trunc(values)) & (values >= 0) & (values < 1000)
    if not whole.all():
        row = int(np.argmin(whole))
        raise CondyleError(
            f"'{values[row]:g}' is not the number of a sensor", code="bad-number", line=line + row, column=column + 1
        )
    if len(np.unique(values)) > 4 * MOST_STATIONS:
        raise CondyleError(
            f"{len(np.unique(values))} different numbers of sensors in column {column + 1}; no tracker has so many",
            code="bad-number",
            column=column + 1,
        )
    return values.astype(np.int64)


def _spread(rows: Floats, frame: Ints, place: Ints, sensors: int) -> Floats:
    """(frames, sensors, k) from rows (n, k); NaN for a sensor that a frame lacks."""
    whole = np.full((int(frame[-1]) + 1, sensors, rows.shape[1]), np.nan)
    whole[frame, place] = rows
    return whole


def _seconds(time: Floats | None, tick: float | None) -> tuple[Floats | None, str]:
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


def _own_clocks(values: Floats, layout: Layout) -> list[Finding]:
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
