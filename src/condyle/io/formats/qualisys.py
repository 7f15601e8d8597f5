"""TSV of Qualisys Track Manager: markers (3D), rigid bodies (6D), skeletons; docs/formats/qualisys.md describes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...maths.spool import hide, over_frames
from ...model.recording import Bodies, Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.header import check_different, read_count, read_positive
from ..tables.rows import describe_truncation, hide_zeros, split_cells, strip_empty, take_columns
from ..tables.table import Table
from ..tables.text import Text, decode, first_block, read_head_lines, read_text, walk_lines

KEYWORD = re.compile(r"[A-Z][A-Z0-9_]+")
FIRST_KEYS = ("NO_OF_FRAMES", "FILE_VERSION")
OTHER_KEYS = ("NO_OF_CAMERAS", "NO_OF_MARKERS", "NO_OF_BODIES", "FREQUENCY", "DATA_INCLUDED")
# Rot[0], Rot[1], Rot[2] are the first column of the matrix: the body's x axis in the room.
MATRIX_BY_ROWS = (0, 3, 6, 1, 4, 7, 2, 5, 8)
BODY_COLUMNS = ("X", "Y", "Z", "Roll", "Pitch", "Yaw", "Residual", *(f"Rot[{k}]" for k in range(9)))
QTM_HEADER_LINES = 100_000  # one line per event stands in it


class _QtmHeader(dict[str, list[str]]):
    """{key in capitals: the cells behind it}."""

    def fact(self, key: str) -> str:
        return " ".join(self.get(key, ())).strip()

    def names(self, key: str) -> list[str]:
        return strip_empty(cell.strip() for cell in self.get(key, ()))


def looks_like(head: bytes) -> bool:
    """The first line is NO_OF_FRAMES or FILE_VERSION with a value, and another key of QTM's follows."""
    lines = read_head_lines(head)
    if len(lines) < 2 or not lines[0].startswith(FIRST_KEYS):
        return False
    return any(line.startswith(OTHER_KEYS) for line in lines[1:10])


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; an empty cell, NaN or a position of exactly 0 0 0 is a sample not seen."""
    header, table = _read_table(read_text(path))
    included = header.fact("DATA_INCLUDED").upper()
    if included == "2D":
        raise CondyleError("holds 2D data of single cameras; export 3D, 6D or skeleton data", code="no-data", line=1)
    if not table.names:
        table = replace(table, names=_find_columns_by_width(header, table))
    values, cut = table.numbers()
    clock = next((k for k, name in enumerate(table.names[:3]) if name.lower().startswith("time")), None)
    time = table.time(values, clock, options.rate)
    markers, bodies, convention, skeleton = None, None, Convention(unit="mm", up="z"), False
    groups = _find_groups(table.names)
    posed = any({"QX", "Rot[0]"} & set(parts) for _, parts in groups)
    if posed or (groups and (header.names("BODY_NAMES") or included == "6D")):
        bodies, convention, skeleton = _read_bodies(header, table, values, groups)
    else:
        markers = _read_markers(header, table, values, groups)
    return Recording(
        bodies=bodies,
        markers=markers,
        time=time,
        rate=read_positive(header.fact("FREQUENCY")),  # EXT: an outside clock
        convention=convention,
        facts=_describe(header, convention, bodies, skeleton),
        findings=tuple(describe_truncation(len(values), read_count(header.fact("NO_OF_FRAMES")), cut)),
        solved_by="QTM" if skeleton else None,
    )


def _read_table(text: Text) -> tuple[_QtmHeader, Table]:
    """Lines that begin with a key in capitals are the header; the line after them names the columns or is a row."""
    header, start = _QtmHeader(), 0
    for line, raw, after in walk_lines(text):
        cells = decode(raw).split("\t")
        word = cells[0].strip()
        if start >= len(text) or line >= QTM_HEADER_LINES:
            break
        if word and KEYWORD.fullmatch(word):
            header.setdefault(word, cells[1:])
        elif any(cell.strip() for cell in cells):
            if re.fullmatch(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?", word) or not word:
                return header, Table((), text[start:], line, b"\t")
            return header, Table(tuple(strip_empty(cell.strip() for cell in cells)), text[after:], line + 1, b"\t")
        start = after
    raise CondyleError("a header without a single row of numbers", code="no-data", line=line)


def _find_columns_by_width(header: _QtmHeader, table: Table) -> tuple[str, ...]:
    """Column names of a file exported without them: from the names in the header and the number of cells."""
    bodies, markers = header.names("BODY_NAMES"), header.names("MARKER_NAMES")
    first = first_block(table.rows).lstrip(b"\n").split(b"\n", 1)[0]
    width = len(split_cells(first, b"\t")) - first.endswith(b"\t")
    if bodies:
        titles = [f"{name} {part}" if part == "X" else part for name in bodies for part in BODY_COLUMNS]
    else:
        titles = [f"{name} {axis}" for name in markers for axis in "XYZ"]
    for lead in ([], ["Frame", "Time"], ["Frame"]):
        if titles and width == len(lead) + len(titles):
            return (*lead, *titles)
    text = (
        f"{width} cells in the first row do not fit the {len(bodies or markers)} names of the header; "
        "export again with the column header"
    )
    raise CondyleError(text, code="bad-header", line=table.line)


def _find_groups(columns: Sequence[str]) -> list[tuple[str, dict[str, int]]]:
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


def _read_markers(
    header: _QtmHeader, table: Table, values: Floats, groups: Sequence[tuple[str, dict[str, int]]]
) -> Markers:
    if not groups:
        raise CondyleError("no column of a marker ('<name> X')", code="no-data", line=table.line - 1)
    places = _find_columns(table, groups, ("X", "Y", "Z"))
    names = _read_names(header.names("MARKER_NAMES"), groups, table, "marker")
    return Markers(names, hide_zeros(take_columns(values, places)))


def _read_bodies(
    header: _QtmHeader, table: Table, values: Floats, groups: Sequence[tuple[str, dict[str, int]]]
) -> tuple[Bodies, Convention, bool]:
    """Poses of a 6D or skeleton file: nine matrix elements before three angles; and whether it is a skeleton."""
    _, first = groups[0]
    skeleton = "QX" in first
    if skeleton:
        wanted: tuple[str, ...] = ("QX", "QY", "QZ", "QW")
        kind, stated = "xyzw", {"rotation"}
        if header.fact("REFERENCE").upper() == "LOCAL":
            text = "these poses are relative to the parent segment (REFERENCE is LOCAL); export global coordinates"
            raise CondyleError(text, code="local-poses")
    elif "Rot[0]" in first:
        wanted, kind, stated = tuple(f"Rot[{k}]" for k in MATRIX_BY_ROWS), "matrix", {"rotation", "transposed"}
    else:
        # The angles can be renamed in QTM: they are the three columns after Z, whatever their names.
        ordered = [part for part, _ in sorted(first.items(), key=lambda item: item[1])]
        wanted, kind, stated = (*ordered[3:6], *["of its angles"] * (6 - len(ordered)))[:3], "XYZ", set()
    columns = _find_columns(table, groups, ("X", "Y", "Z", *wanted))
    names = _read_names(header.names("BODY_NAMES"), groups, table, "body")
    poses = take_columns(values, columns)
    poses = hide(poses, over_frames(lambda part: (part[..., :3] == 0).all(axis=2), poses))
    bodies = Bodies(names, poses[..., :3], poses[..., 3:])
    return bodies, Convention(kind, unit="mm", up="z", stated=frozenset(stated)), skeleton


def _find_columns(table: Table, groups: Sequence[tuple[str, dict[str, int]]], wanted: Sequence[str]) -> list[list[int]]:
    """The columns of these parts of each thing; raises at the first that one lacks."""
    for name, parts in groups:
        if lacking := [part for part in wanted if part not in parts]:
            raise CondyleError(f"'{name}' has no column {lacking[0]}", code="missing-column", line=table.line - 1)
    return [[parts[part] for part in wanted] for _, parts in groups]


def _read_names(
    stated: Sequence[str], groups: Sequence[tuple[str, dict[str, int]]], table: Table, word: str
) -> tuple[str, ...]:
    """The names in the header where they are as many as the things, else those above the columns."""
    names = tuple(stated) if len(stated) == len(groups) else tuple(name for name, _ in groups)
    check_different(names, word, table.line - 1)
    return names


def _describe(header: _QtmHeader, convention: Convention, bodies: Bodies | None, skeleton: bool) -> dict[str, str]:
    facts = {"program": "QTM", "length": "mm"}
    if bodies is not None:
        facts["rotation"] = str(convention)
    for key in ("TIME_STAMP", "SOLVER", "SCALE", "FILE_VERSION"):
        if header.fact(key):
            facts[key.lower().replace("_", " ")] = header.fact(key)
    if skeleton:
        facts["poses"] = "segments of a skeleton"
    return facts


FORMAT = Format("qualisys", "Qualisys QTM TSV", looks_like, read)
