"""Any table by a column map that the user writes once; docs/formats/columns.md describes the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError, check_path, suggest
from ...maths.arrays import Floats, Ints
from ...maths.spool import empty, seal, take_rows
from ...model.recording import MATRIX, QUATERNIONS, Bodies, Convention, Markers, Recording, width_of
from ..format import Format, ReadOptions
from ..tables.column_map import Column, ColumnMap, MappedThing, read_map
from ..tables.long_rows import gather_frames, number_sensors
from ..tables.rows import describe_truncation, read_number
from ..tables.table import Table, find_table
from ..tables.text import read_text
from ..tables.vocabulary import TIME_UNITS, read_column_name, read_named_order

MOST_SENSORS = 1000
NO_WHOLE_ROW = "not a single whole row of numbers"
USUAL_ROTATION = {3: "ZYX", 4: "xyzw", 9: MATRIX}  # where neither the map nor the columns' names say more


def looks_like(head: bytes) -> bool:
    """Never: only the user knows which columns mean what, and says so with a map."""
    return False


def read(path: Path, options: ReadOptions) -> Recording:
    """The columns that the map names; what the map says of them counts as given by the user."""
    if options.columns is None:
        raise UsageError("a table is read by a column map; give its path with --columns map.toml", code="bad-option")
    return read_by(path, read_map(check_path(options.columns, "a column map")), options.rate)


def read_by(path: Path, columns: ColumnMap, rate: float | None = None) -> Recording:
    """The recording in a table under a column map; with a `rate` [Hz] rows that are frames are counted."""
    table = find_table(
        read_text(path),
        separator=columns.separator,
        decimal_comma=columns.decimal_comma,
        skip=columns.skip_rows,
        header=columns.header,
    )
    if table is None:
        raise CondyleError("holds no row of numbers that the column map could apply to", code="no-data")
    places = _MapColumns(columns, table, path)
    recording = _read_long(places) if columns.sensor is not None else _read_wide(places, rate)
    return replace(recording, facts=_describe_facts(places, recording))


class _MapColumns:
    """Finds the columns that a map names in a table, and remembers which numbers are to be read."""

    def __init__(self, columns: ColumnMap, table: Table, path: Path) -> None:
        self.map, self.table, self.path = columns, table, path
        self._place: dict[int, int] = {}

    @property
    def wanted(self) -> list[int]:
        return list(self._place)

    def want(self, column: Column | None, key: str) -> int | None:
        """Place among the numbers that will be read."""
        if column is None:
            return None
        return self._place.setdefault(self.column(column, key), len(self._place))

    def each(self, columns: Sequence[Column], key: str) -> list[int]:
        return [place for column in columns if (place := self.want(column, key)) is not None]

    def seconds(self, values: Floats, place: int | None, rate: float | None = None) -> Floats | None:
        """The time [s] in the numbers that were read."""
        if place is None:
            return None
        time = self.table.time(values, self.wanted[place], rate, place)
        return None if time is None else time * TIME_UNITS[self.map.time_unit]

    def column(self, column: Column, key: str) -> int:
        """0-based column of the table."""
        names = self.table.names
        if isinstance(column, int):
            if column > len(names):
                text = f"no column {column} in {self.path.name}, which has {len(names)}"
                raise self.map.fault(key, text, "missing-column")
            return column - 1
        count = names.count(column.strip())
        if count > 1:
            text = f"{count} columns of {self.path.name} are named '{column}'; give its number"
            raise self.map.fault(key, text, "duplicate-column")
        if count == 0:
            hint = f"its columns have no names; give numbers from 1 to {len(names)}"
            if self.table.titled:
                hint = suggest(column, names)
            raise self.map.fault(key, f"no column '{column}' in {self.path.name}; {hint}", "missing-column")
        return names.index(column.strip())


def _read_wide(places: _MapColumns, rate: float | None) -> Recording:
    """One row per frame."""
    columns, table = places.map, places.table
    for item in (*columns.bodies, *columns.markers):
        if item.id is not None:
            raise columns.fault(f"{item.key} id", "has a meaning only with the key sensor, the column of the ids")
    time = places.want(columns.time, "time")
    bodies = [_split_line(places, item) for item in columns.bodies]
    markers = [_split_line(places, item) for item in columns.markers]
    convention = _find_convention(columns, columns.bodies)
    values, _, cut = table.read(places.wanted, empty=NO_WHOLE_ROW)
    position, orientation = _take(values, bodies, columns.missing, width_of(convention.rotation))
    marked, _ = _take(values, markers, columns.missing, 0)
    return Recording(
        bodies=Bodies(tuple(item.name for item in columns.bodies), position, orientation) if bodies else None,
        markers=Markers(tuple(item.name for item in columns.markers), marked) if markers else None,
        time=places.seconds(values, time, rate),
        rate=columns.rate,
        convention=convention,
        findings=tuple(describe_truncation(len(values), None, cut)),
    )


def _read_long(places: _MapColumns) -> Recording:
    """One row per sensor and frame."""
    columns, table = places.map, places.table
    if columns.bodies and columns.markers:
        raise columns.fault("markers", "a table with one row per sensor holds bodies or markers, not both")
    assert columns.sensor is not None
    who = places.column(columns.sensor, "sensor")
    time, frame = places.want(columns.time, "time"), places.want(columns.frame, "frame")
    items = columns.bodies or columns.markers
    shape = columns.any_body or items[0]
    for item in items:
        if (item.position, item.orientation, item.valid) != (shape.position, shape.orientation, shape.valid):
            text = (
                "where each row is one sensor, all sensors share their columns; "
                "give position and orientation once, above the tables"
            )
            raise columns.fault(item.key, text)
    cells = _split_line(places, shape)
    convention = _find_convention(columns, [shape])
    values, words, cut = table.read(places.wanted, [who], empty=NO_WHOLE_ROW)
    names, sensor = _find_sensors(words[0], items, columns, table.labels[who])
    kept = sensor >= 0
    values, sensor = take_rows(values, kept), sensor[kept]
    width = width_of(convention.rotation) if shape.orientation else 0
    position, orientation = _take(values, [cells], columns.missing, width)
    found = gather_frames(
        sensor,
        names,
        position[:, 0],
        orientation[:, 0],
        time=places.seconds(values, time),
        frame=None if frame is None else values[:, frame],
        rotation=convention.rotation if width else "",
    )
    is_body = bool(shape.orientation)
    return Recording(
        bodies=Bodies(names, found.position, found.orientation) if is_body else None,
        markers=None if is_body else Markers(names, found.position),
        time=found.time,
        rate=columns.rate,
        convention=convention,
        findings=(*describe_truncation(len(found.position), None, cut), *found.findings),
    )


def _split_line(places: _MapColumns, item: MappedThing) -> tuple[list[int], list[int], int | None]:
    """Places of the position, of the orientation and of the mark of validity among the numbers read."""
    key = f"{item.key} " if item.key else ""
    return (
        places.each(item.position, f"{key}position"),
        places.each(item.orientation, f"{key}orientation"),
        places.want(item.valid, f"{key}valid"),
    )


def _take(
    values: Floats, cells: Sequence[tuple[list[int], list[int], int | None]], missing: float | str | None, width: int
) -> tuple[Floats, Floats]:
    """Positions (n, k, 3) and orientations (n, k, width); NaN where the map says that a thing is not seen."""
    n, k = len(values), len(cells)
    position, orientation = empty((n, k, 3)), empty((n, k, width))
    for j, (place, turn, valid) in enumerate(cells):
        position[:, j] = values[:, place]
        if width:
            orientation[:, j] = values[:, turn]
        if missing == "zeros":
            gone = (values[:, place] == 0).all(axis=1) & (values[:, turn] == 0).all(axis=1)
        elif missing is not None:
            gone = (values[:, [*place, *turn]] == missing).any(axis=1)
        else:
            gone = np.zeros(n, bool)
        if valid is not None:
            gone |= ~(np.nan_to_num(values[:, valid]) != 0)
        position[gone, j], orientation[gone, j] = np.nan, np.nan
    return seal(position), seal(orientation)


def _find_convention(columns: ColumnMap, bodies: Sequence[MappedThing]) -> Convention:
    """What the map gives, and for the rotation what the number and the names of its columns say."""
    with_turn = [item for item in bodies if item.orientation]
    given = dict(columns.convention)
    stated: set[str] = set()
    guessed: set[str] = set()
    kind = columns.rotation
    if kind is None and with_turn:
        first = with_turn[0]
        kind = USUAL_ROTATION[len(first.orientation)]
        guessed = {"rotation"}
        named = read_named_order([column if isinstance(column, str) else None for column in first.orientation])
        if kind in QUATERNIONS and named in QUATERNIONS:
            kind, stated, guessed = named, {"rotation"}, set()
        elif kind in QUATERNIONS and named == "0123":  # the scalar first, by custom
            kind, guessed = "wxyz", set()
        elif named == kind:  # yaw, pitch, roll
            guessed = set()
    elif kind is not None:
        given["rotation"] = kind
    for item in with_turn:
        if kind is not None and len(item.orientation) != width_of(kind):
            text = f"names {len(item.orientation)} columns, expected {width_of(kind)} for rotation {kind}"
            raise columns.fault(f"{item.key} orientation", text)
    for item in with_turn:
        parts = [part for column in item.orientation if isinstance(column, str) and (part := read_column_name(column))]
        if len(item.orientation) == 3 and any(part.part == "w" for part in parts):
            text = "names 3 columns, and one of them is the w of a quaternion; name all 4, in the order of rotation"
            raise columns.fault(f"{item.key} orientation", text)
    convention = Convention(rotation=kind or "wxyz", stated=frozenset(stated), guessed=frozenset(guessed))
    return convention.but(given=True, **given) if given else convention


def _find_sensors(
    words: Sequence[str], items: Sequence[MappedThing], columns: ColumnMap, label: str
) -> tuple[tuple[str, ...], Ints]:
    """Names of the sensors, and for each row which one it is of; -1: none that the map names."""
    ids, place = number_sensors(words)
    if len(ids) > MOST_SENSORS:
        raise columns.fault("sensor", f"column '{label}' holds {len(ids)} different ids; that is no column of sensors")
    if not items:
        names = [cell for cell in ids if cell]
        return tuple(names), np.array([names.index(cell) if cell else -1 for cell in ids], dtype=np.int64)[place]
    number = np.full(len(ids), -1, dtype=np.int64)
    for k, item in enumerate(items):
        wanted = item.name if item.id is None else item.id
        number_wanted = read_number(wanted) if wanted else None
        hits = [j for j, cell in enumerate(ids) if cell == wanted or (cell and read_number(cell) == number_wanted)]
        if not hits:
            text = f"no row has '{wanted}' in column '{label}'; {suggest(wanted, ids)}"
            raise columns.fault(f"{item.key} id", text, "unknown-body")
        for j in hits:
            if number[j] >= 0:
                raise columns.fault(f"{item.key} id", f"'{ids[j]}' is the id of '{items[number[j]].name}' already")
            number[j] = k
    return tuple(item.name for item in items), number[place]


def _describe_facts(places: _MapColumns, recording: Recording) -> dict[str, str]:
    columns, table = places.map, places.table
    facts = {
        "column map": columns.path.name,
        "columns": f"{len(places.wanted)} of {len(table.names)} used",
        "length": recording.convention.unit or "not stated",
    }
    if recording.bodies is not None:
        facts["rotation"] = str(recording.convention)
    if columns.sensor is not None:
        facts["rows"] = "one per sensor and frame"
    return facts


FORMAT = Format("columns", "a table with a column map", looks_like, read, certain=False)
