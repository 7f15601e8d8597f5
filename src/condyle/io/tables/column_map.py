"""The column map: TOML in which the user says what the columns of a table are; docs/formats/columns.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import CondyleError, UsageError, suggest
from ...model.recording import HANDS, Convention, width_of
from ...model.take import UP_AXES
from ...model.units import metres_per
from ...model.values import dataclass
from ..toml_file import read_toml
from .table import SEPARATORS
from .vocabulary import TIME_UNITS

Column = str | int  # a name, or a number counted from 1
SEPARATOR_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "blank": " ", "bar": "|"}
MAP_KEYS = (
    "unit", "up", "handed", "rotation", "degrees", "transposed", "axes", "rate", "time", "time_unit", "separator",
    "decimal", "skip_rows", "header", "missing", "sensor", "frame", "position", "orientation", "pose", "valid",
    "bodies", "markers",
)  # fmt: skip
THING_KEYS = ("position", "orientation", "pose", "valid", "id")


@dataclass(frozen=True)
class MappedThing:
    """One body or marker: where its numbers stand.

    position     3 columns; orientation: 3, 4 or 9, empty for a marker
    valid        column that is 0 where it is not seen, or None
    id           what the `sensor` column holds in its rows, in a table with one row per sensor and frame
    key          its place in the TOML file, for messages
    """

    name: str
    position: tuple[Column, ...]
    orientation: tuple[Column, ...]
    valid: Column | None
    id: str | None
    key: str


@dataclass(frozen=True)
class ColumnMap:
    """A column map, checked for everything that needs no table.

    convention  with what the map says as given; rotation: None where it is left to the columns
    any_body    a table with a `sensor` column and no list of bodies: each id is one, read like this
    """

    path: Path
    convention: dict[str, Any]
    rotation: str | None
    rate: float | None
    time: Column | None
    time_unit: str
    separator: str | None
    decimal_comma: bool | None
    skip_rows: int
    header: int | bool | None
    missing: float | str | None
    sensor: Column | None
    frame: Column | None
    bodies: tuple[MappedThing, ...]
    markers: tuple[MappedThing, ...]
    any_body: MappedThing | None

    def fault(self, key: str, text: str, code: str = "bad-columns") -> CondyleError:
        return CondyleError(f"{key}: {text}", code=code, path=self.path)


def read_map(path: str | Path) -> ColumnMap:
    """The column map in a TOML file; raises naming the file, the key and the choices."""
    file = Path(path)
    try:
        table, _ = read_toml(file, "a column map", "bad-columns")
    except CondyleError as error:
        if error.code == "bad-columns":
            raise
        raise CondyleError(f"{error.text}; --columns is the path of a column map", code=error.code, path=file) from None
    check = _MapCheck(file)
    check.keys(table, MAP_KEYS, "")
    convention = check.convention(table)
    separator = check.choice(table, "separator", (*SEPARATORS, *SEPARATOR_WORDS), "comma, semicolon, tab, bar, blank")
    decimal = check.choice(table, "decimal", (".", ","))
    header = table.get("header")
    if header is not None and header is not False and (header is True or not isinstance(header, int) or header < 1):
        raise check.fault("header", f"is the line of the column names, counted from 1, or false, not {_show(header)}")
    skip = table.get("skip_rows", 0)
    if isinstance(skip, bool) or not isinstance(skip, int) or skip < 0:
        raise check.fault("skip_rows", f"is a number of lines, not {_show(skip)}")
    rate = check.positive(table, "rate")
    time = check.column(table, "time")
    if time is not None and rate is not None:
        raise check.fault("rate", "the frames have a time column already; give time or rate, not both")
    bodies, markers = check.items(table, "bodies"), check.items(table, "markers")
    sensor = check.column(table, "sensor")
    any_body = None
    if not bodies and not markers:
        if "position" not in table and "pose" not in table:
            text = 'the map names no columns; add a table such as [bodies.hand] with position = ["x", "y", "z"]'
            raise check.fault("bodies", text)
        any_body = check.item("", {}, table, "", needs_orientation=False)
        if sensor is None:
            text = "belongs into a table such as [bodies.hand], or give the column of the sensor's id as sensor"
            raise check.fault("position", text)
    return ColumnMap(
        file,
        convention,
        convention.pop("rotation", None),
        rate,
        time,
        check.choice(table, "time_unit", tuple(TIME_UNITS)) or "s",
        SEPARATOR_WORDS.get(separator, separator) if separator else None,
        None if decimal is None else decimal == ",",
        skip,
        header,
        check.read_missing(table),
        sensor,
        check.column(table, "frame"),
        bodies,
        markers,
        any_body,
    )


def _show(value: object) -> str:
    try:
        return repr(value)[:60]
    except ValueError:  # Python prints no whole number of thousands of digits
        return "a number of thousands of digits"


@dataclass(frozen=True)
class _MapCheck:
    """The checks of a map's values; every fault names the file and the key."""

    path: Path

    def fault(self, key: str, text: str) -> CondyleError:
        return CondyleError(f"{key}: {text}", code="bad-columns", path=self.path)

    def keys(self, table: dict[str, Any], known: Sequence[str], place: str) -> None:
        for key in table:
            if key not in known:
                raise self.fault(f"{place}{key}", f"no such key; {suggest(key, known)}")

    def choice(self, table: dict[str, Any], key: str, choices: Sequence[str], said: str | None = None) -> str | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or value not in choices:
            raise self.fault(key, f"is one of {said or ', '.join(choices)}, not {_show(value)}")
        return value

    def positive(self, table: dict[str, Any], key: str) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise self.fault(key, f"is a positive number, not {_show(value)}")
        return float(value)

    def read_missing(self, table: dict[str, Any]) -> float | str | None:
        value = table.get("missing")
        if value is None or value == "zeros":
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fault("missing", f'is "zeros" or the number that stands for a missing one, not {_show(value)}')
        return float(value)

    def convention(self, table: dict[str, Any]) -> dict[str, Any]:
        """The fields of a Convention that the map gives."""
        said: dict[str, Any] = {}
        for key in ("degrees", "transposed"):
            if key in table:
                if not isinstance(table[key], bool):
                    raise self.fault(key, f"is true or false, not {_show(table[key])}")
                said[key] = table[key]
        for key, choices in (("up", UP_AXES), ("handed", HANDS)):
            if (value := self.choice(table, key, choices)) is not None:
                said[key] = value
        try:
            if (unit := table.get("unit")) is not None:
                metres_per(str(unit))
                said["unit"] = str(unit)
            if (kind := table.get("rotation")) is not None:
                said["rotation"] = _spell_rotation(str(kind))
            if (axes := table.get("axes")) is not None:
                parts = axes.split(",") if isinstance(axes, str) else axes if isinstance(axes, list) else [axes]
                said["axes"] = tuple(str(part).strip().lower() for part in parts)
                Convention(axes=said["axes"])
        except UsageError as error:
            key = "axes" if "axes" in said else "unit" if "unit" not in said and "unit" in table else "rotation"
            raise self.fault(key, error.text) from None
        return said

    def column(self, table: dict[str, Any], key: str, place: str = "") -> Column | None:
        value = table.get(key)
        if value is None:
            return None
        out_of_range = isinstance(value, int) and not 0 < value < 10**6
        if isinstance(value, bool) or not isinstance(value, (int, str)) or out_of_range:
            raise self.fault(place + key, f"is a column's name or its number from 1, not {_show(value)}")
        return value

    def columns(self, value: object, key: str, counts: Sequence[int]) -> tuple[Column, ...]:
        """A list of columns; "4-7" stands for the numbers 4, 5, 6, 7."""
        wanted = " or ".join(str(count) for count in counts)
        if isinstance(value, str) and (span := re.fullmatch(r"\s*(\d{1,6})\s*-\s*(\d{1,6})\s*", value)):
            first, last = int(span[1]), int(span[2])
            value = list(range(first, last + 1)) if last - first < 100 else []
        if not isinstance(value, list):
            forms = f'a list of {wanted} columns like ["x", "y", "z"] or [2, 3, 4], or a span like "2-4"'
            raise self.fault(key, f"is {forms}, not {_show(value)}")
        found = [self.column({key: entry}, key) for entry in value]
        columns = tuple(entry for entry in found if entry is not None)
        if len(columns) not in counts:
            raise self.fault(key, f"names {len(columns)} columns, expected {wanted}")
        return columns

    def items(self, table: dict[str, Any], kind: str) -> tuple[MappedThing, ...]:
        found = table.get(kind, {})
        if not isinstance(found, dict):
            raise self.fault(kind, f"is a table, such as [{kind}.hand]")
        return tuple(self._entry(kind, name, entry, table) for name, entry in found.items())

    def _entry(self, kind: str, name: str, entry: object, table: dict[str, Any]) -> MappedThing:
        key = f"[{kind}.{name}]"
        if not name.strip():
            raise self.fault(kind, "a name is empty")
        if kind == "markers" and isinstance(entry, (list, str)):
            entry = {"position": entry}
        if not isinstance(entry, dict):
            raise self.fault(key, f"is a table with {', '.join(THING_KEYS)}")
        self.keys(entry, THING_KEYS, key + " ")
        return self.item(name, entry, table, key + " ", needs_orientation=kind == "bodies")

    def item(
        self, name: str, entry: dict[str, Any], table: dict[str, Any], key: str, *, needs_orientation: bool
    ) -> MappedThing:
        """A body or marker from its own table, with what the map's top level says for all."""
        own: dict[str, Any] = {k: table[k] for k in ("position", "orientation", "pose", "valid") if k in table}
        own |= entry
        if "pose" in own and "position" not in entry and "orientation" not in entry:
            cells = self.columns(own["pose"], key + "pose", (12, 16))
            position, orientation = cells[3:12:4], tuple(cells[4 * i + j] for i in range(3) for j in range(3))
        elif "position" not in own:
            raise self.fault(f"{key}position", "is not given")
        else:
            position = self.columns(own["position"], f"{key}position", (3,))
            orientation = ()
            if "orientation" in own and (needs_orientation or key == ""):
                orientation = self.columns(own["orientation"], f"{key}orientation", self._widths(table))
        if needs_orientation and not orientation:
            raise self.fault(f"{key}orientation", "is not given; a thing without one is a marker: [markers.NAME]")
        number = entry.get("id")
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float, str))):
            raise self.fault(f"{key}id", f"is a number or a word, not {_show(number)}")
        valid = self.column(own, "valid", key)
        return MappedThing(name, position, orientation, valid, None if number is None else str(number), key.strip())

    def _widths(self, table: dict[str, Any]) -> tuple[int, ...]:
        return (3, 4, 9) if table.get("rotation") is None else (width_of(_spell_rotation(str(table["rotation"]))),)


def _spell_rotation(kind: str) -> str:
    """As a convention spells it: `zyx` and `ZYX-intrinsic` are ZYX."""
    order, dash, frame = kind.partition("-")
    if order.lower() in ("wxyz", "xyzw", "matrix"):
        return kind.lower()
    spelled = order.upper() + (dash + frame if frame != "intrinsic" else "")
    width_of(spelled)
    return spelled
