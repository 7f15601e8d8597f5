"""TSV of Qualisys Track Manager: markers (3D), rigid bodies (6D), skeletons; docs/formats/qualisys.md describes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...model.recording import Bodies, Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.rows import _cells, parse_rows, truncation
from ..tables.text import decode, head_lines, read_text

KEYWORD = re.compile(r"[A-Z][A-Z0-9_]+")
FIRST_KEYS = ("NO_OF_FRAMES", "FILE_VERSION")
OTHER_KEYS = ("NO_OF_CAMERAS", "NO_OF_MARKERS", "NO_OF_BODIES", "FREQUENCY", "DATA_INCLUDED")
# Rot[0], Rot[1], Rot[2] are the first column of the matrix: the body's x axis in the room.
BY_ROWS = (0, 3, 6, 1, 4, 7, 2, 5, 8)
BODY = ("X", "Y", "Z", "Roll", "Pitch", "Yaw", "Residual", *(f"Rot[{k}]" for k in range(9)))
HEADER_LINES = 100_000  # one line per event stands in it


@dataclass(frozen=True)
class _Table:
    """Header, column names (empty where there is no such line), and the rows with their 1-based first line."""

    facts: dict[str, list[str]]
    columns: list[str]
    rows: bytes
    line: int

    def fact(self, key: str) -> str:
        return " ".join(self.facts.get(key, ())).strip()

    def names(self, key: str) -> list[str]:
        found = [cell.strip() for cell in self.facts.get(key, ())]
        while found and not found[-1]:
            found.pop()
        return found


def looks_like(head: bytes) -> bool:
    """The first line is NO_OF_FRAMES or FILE_VERSION with a value, and another key of QTM's follows."""
    lines = head_lines(head)
    if len(lines) < 2 or not lines[0].startswith(FIRST_KEYS):
        return False
    return any(line.startswith(OTHER_KEYS) for line in lines[1:10])


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; an empty cell, NaN or a position of exactly 0 0 0 is a sample not seen."""
    table = _table(read_text(path))
    if table.fact("DATA_INCLUDED").upper() == "2D":
        raise CondyleError("holds 2D data of single cameras; export 3D, 6D or skeleton data", code="no-data", line=1)
    columns = table.columns or _columns_by_width(table)
    first = re.search(rb"\S[^\n]*", table.rows)
    decimal_comma = first is not None and b"," in first[0] and b"." not in first[0]
    values, cut = parse_rows(table.rows, columns, line=table.line, separator=b"\t", decimal_comma=decimal_comma)
    if not len(values):
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=table.line)
    declared = table.fact("NO_OF_FRAMES")
    count = int(declared) if re.fullmatch(r"\d{1,12}", declared) else None
    time = _time(values, columns, table.line)
    markers, bodies, convention, skeleton = None, None, Convention(unit="mm", up="z"), False
    groups = _groups(columns)
    posed = any({"QX", "Rot[0]"} & set(parts) for _, parts in groups)
    if posed or (groups and (table.names("BODY_NAMES") or table.fact("DATA_INCLUDED").upper() == "6D")):
        bodies, convention, skeleton = _bodies(table, values, groups)
    else:
        markers = _markers(table, values, groups)
    return Recording(
        str(path),
        "qualisys",
        bodies=bodies,
        markers=markers,
        time=time,
        rate=_rate(table),
        convention=convention,
        facts=_for_people(table, convention, bodies, skeleton),
        findings=tuple(truncation(len(values), count, cut)),
        solved_by="QTM" if skeleton else None,
    )


def _table(text: bytes) -> _Table:
    """Lines that begin with a key in capitals are the header; the line after them names the columns or is a row."""
    facts: dict[str, list[str]] = {}
    start, line = 0, 1
    while start < len(text) and line < HEADER_LINES:
        end = text.find(b"\n", start)
        stop = len(text) if end < 0 else end
        cells = decode(text[start:stop]).split("\t")
        word = cells[0].strip()
        if word and not KEYWORD.fullmatch(word):
            break
        if not word and any(cell.strip() for cell in cells):
            break
        if word:
            facts.setdefault(word, cells[1:])
        start, line = stop + 1, line + 1
    if start >= len(text):
        raise CondyleError("a header without a single row of numbers", code="no-data", line=line)
    if re.fullmatch(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?", word) or not word:
        return _Table(facts, [], text[start:], line)
    columns = [cell.strip() for cell in cells]
    while columns and not columns[-1]:
        columns.pop()
    return _Table(facts, columns, text[stop + 1 :], line + 1)


def _columns_by_width(table: _Table) -> list[str]:
    """Column names of a file exported without them: from the names in the header and the number of cells."""
    bodies, markers = table.names("BODY_NAMES"), table.names("MARKER_NAMES")
    first = table.rows.lstrip(b"\n").split(b"\n", 1)[0]
    width = len(_cells(first, b"\t")) - first.endswith(b"\t")
    if bodies:
        titles = [f"{name} {part}" if part == "X" else part for name in bodies for part in BODY]
    else:
        titles = [f"{name} {axis}" for name in markers for axis in "XYZ"]
    for lead in ([], ["Frame", "Time"], ["Frame"]):
        if titles and width == len(lead) + len(titles):
            return [*lead, *titles]
    raise CondyleError(
        f"{width} cells in the first row do not fit the {len(bodies or markers)} names of the header; "
        "export again with the column header",
        code="bad-header",
        line=table.line,
    )


def _groups(columns: Sequence[str]) -> list[tuple[str, dict[str, int]]]:
    """[(name, {part: column})]: each begins at a column `<name> X`, or `X` below a column that only holds the name."""
    groups: list[tuple[str, dict[str, int]]] = []
    before = ""
    for k, column in enumerate(columns):
        name, _, part = column.rpartition(" ")
        if part == "X":
            groups.append((name.strip() or before, {"X": k}))
        elif groups and column and name.strip() in ("", groups[-1][0]):
            groups[-1][1].setdefault(part, k)
        before = column
    return groups


def _markers(table: _Table, values: Floats, groups: Sequence[tuple[str, dict[str, int]]]) -> Markers:
    places = [[parts.get(axis, -1) for axis in "XYZ"] for _, parts in groups]
    if not places:
        raise CondyleError("no column of a marker ('<name> X')", code="no-data", line=table.line - 1)
    for (name, _), place in zip(groups, places, strict=True):
        if -1 in place:
            text = f"'{name}' has no column {'XYZ'[place.index(-1)]}"
            raise CondyleError(text, code="missing-column", line=table.line - 1)
    named = table.names("MARKER_NAMES")
    names = named if len(named) == len(groups) else [name for name, _ in groups]
    _check_names(names, table.line - 1, "marker")
    position = values[:, np.array(places)]
    return Markers(tuple(names), np.where((position == 0).all(axis=2, keepdims=True), np.nan, position))


def _bodies(
    table: _Table, values: Floats, groups: Sequence[tuple[str, dict[str, int]]]
) -> tuple[Bodies, Convention, bool]:
    """Poses of a 6D or skeleton file: nine matrix elements before three angles; and whether it is a skeleton."""
    _, first = groups[0]
    skeleton = "QX" in first
    if skeleton:
        wanted: tuple[str, ...] = ("QX", "QY", "QZ", "QW")
        kind, stated = "xyzw", {"rotation"}
        if table.fact("REFERENCE").upper() == "LOCAL":
            raise CondyleError(
                "these poses are relative to the parent segment (REFERENCE is LOCAL); export global coordinates",
                code="local-poses",
            )
    elif "Rot[0]" in first:
        wanted, kind, stated = tuple(f"Rot[{k}]" for k in BY_ROWS), "matrix", {"rotation", "transposed"}
    else:
        # The angles can be renamed in QTM: they are the three columns after Z, whatever their names.
        ordered = [part for part, _ in sorted(first.items(), key=lambda item: item[1])]
        wanted, kind, stated = tuple(ordered[3:6]), "XYZ", set()
    names, places, turns = [], [], []
    for name, parts in groups:
        lacking = [part for part in ("X", "Y", "Z", *wanted) if part not in parts]
        if lacking or len(wanted) < 3:
            raise CondyleError(
                f"'{name}' has no column {(lacking or ['of its angles'])[0]}",
                code="missing-column",
                line=table.line - 1,
            )
        names.append(name)
        places.append([parts[axis] for axis in "XYZ"])
        turns.append([parts[part] for part in wanted])
    named = table.names("BODY_NAMES")
    names = named if len(named) == len(names) else names
    _check_names(names, table.line - 1, "body")
    position, orientation = values[:, np.array(places)], values[:, np.array(turns)]
    unseen = (position == 0).all(axis=2, keepdims=True)
    bodies = Bodies(tuple(names), np.where(unseen, np.nan, position), np.where(unseen, np.nan, orientation))
    return bodies, Convention(kind, unit="mm", up="z", stated=frozenset(stated)), skeleton


def _check_names(names: Sequence[str], line: int, word: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name:
            raise CondyleError(f"a {word} without a name", code="bad-name", line=line)
        if name in seen:
            raise CondyleError(f"a second {word} '{name}'", code="duplicate-name", line=line)
        seen.add(name)


def _time(values: Floats, columns: Sequence[str], line: int) -> Floats | None:
    column = next((k for k, name in enumerate(columns[:3]) if name.lower().startswith("time")), None)
    if column is None:
        return None
    time = values[:, column]
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time)))
        raise CondyleError("no time in this row", code="bad-time", line=line + row, column=column + 1, frame=row)
    return time


def _rate(table: _Table) -> float | None:
    text = table.fact("FREQUENCY").replace(",", ".")
    rate = float(text) if re.fullmatch(r"\d{1,9}(\.\d*)?", text) else 0.0
    return rate if rate > 0 else None  # EXT: an outside clock


def _for_people(table: _Table, convention: Convention, bodies: Bodies | None, skeleton: bool) -> dict[str, str]:
    told = {"program": "QTM", "length": "mm"}
    if bodies is not None:
        told["rotation"] = str(convention)
    for key in ("TIME_STAMP", "SOLVER", "SCALE", "FILE_VERSION"):
        if table.fact(key):
            told[key.lower().replace("_", " ")] = table.fact(key)
    if skeleton:
        told["poses"] = "segments of a skeleton"
    return told


FORMAT = Format("qualisys", "Qualisys QTM TSV", looks_like, read)
