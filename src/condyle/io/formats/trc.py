"""TRC marker files (Track Row Column) of Motion Analysis, OpenSim and others; docs/formats/trc.md describes them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError
from ...maths.arrays import Floats
from ...model.recording import Convention, Markers, Recording
from ...model.units import metres_per
from ..format import Format, ReadOptions
from ..tables.rows import _cells, parse_rows, truncation
from ..tables.text import head_lines, read_text

FIRST_WORD = "PathFileType"


def looks_like(head: bytes) -> bool:
    """The first word is PathFileType."""
    lines = head_lines(head)
    return bool(lines) and lines[0].lstrip().startswith(FIRST_WORD)


def read(path: Path, options: ReadOptions) -> Recording:
    """Markers as they stand in the columns; an empty cell, NaN or exactly 0 0 0 is a marker not seen."""
    text = read_text(path)
    lines, start, line = _header(text)
    facts = _facts(lines[1], lines[2])
    separator = b"\t" if b"\t" in lines[3] else b"," if b"," in lines[3] else None
    names = _names(lines[3], lines[4], separator)
    columns = ["Frame#", "Time", *(f"{name} {axis}" for name in names for axis in "XYZ")]
    rows = text[start:]
    first = re.search(rb"\S[^\n]*", rows)
    decimal_comma = separator != b"," and first is not None and b"," in first[0] and b"." not in first[0]
    values, cut = parse_rows(rows, columns, line=line, separator=separator, decimal_comma=decimal_comma)
    if not len(values):
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=line)
    position = values[:, 2:].reshape(len(values), len(names), 3)
    position = np.where((position == 0).all(axis=2, keepdims=True), np.nan, position)
    unit = _unit(facts)
    return Recording(
        str(path),
        "trc",
        markers=Markers(tuple(names), position),
        time=_time(values, line),
        rate=_number(facts, "datarate"),
        convention=Convention(unit=unit, up="y", stated=frozenset({"unit"} if unit else ())),
        facts={"length": unit or "not stated", "rate": facts.get("datarate", "not stated")},
        findings=tuple(truncation(len(values), _count(facts, "numframes"), cut)),
    )


def _header(text: bytes) -> tuple[list[bytes], int, int]:
    """The five lines of the header, the byte and the 1-based line where the rows begin."""
    lines: list[bytes] = []
    start = 0
    for number in range(1, 6):
        end = text.find(b"\n", start)
        if end < 0:
            raise CondyleError(
                "the file ends in its header; five lines come before the first frame", code="no-data", line=number
            )
        lines.append(text[start:end])
        start = end + 1
    if not re.match(rb"\s*Frame\s?#?", lines[3], re.IGNORECASE):
        raise CondyleError("the fourth line does not begin with Frame#", code="bad-header", line=4)
    return lines, start, 6


def _facts(keys: bytes, values: bytes) -> dict[str, str]:
    """{key in lower case: value} of the second and third line; the cells are split alike in both."""
    separator = b"\t" if b"\t" in keys.strip() else b"," if b"," in keys else None
    pairs = zip(_cells(keys.strip(), separator), _cells(values.strip(), separator), strict=False)
    return {key.strip().lower(): value.strip() for key, value in pairs}


def _names(titles: bytes, axes: bytes, separator: bytes | None) -> list[str]:
    """Names of the markers: above each X where the cells tell, else in order."""
    cells = [cell.strip() for cell in _cells(titles, separator)]
    labels = [cell.strip().upper() for cell in _cells(axes, separator)]
    at = [k for k, label in enumerate(labels) if re.fullmatch(r"X\d*", label)]
    if separator is None or not at or at[0] != 2 or not all(k < len(cells) and cells[k] for k in at):
        names = [cell for cell in cells[2:] if cell]
    else:
        names, set_of_x = [cells[k] for k in at], set(at)
        if extra := [cell for k, cell in enumerate(cells[2:], 2) if cell and k not in set_of_x]:
            raise CondyleError(f"the marker '{extra[0][:40]}' stands above no X column", code="bad-header", line=4)
    if not names:
        raise CondyleError("the line of marker names is empty", code="bad-header", line=4)
    if at and len(at) != len(names):
        raise CondyleError(f"{len(names)} marker names for {len(at)} markers", code="bad-header", line=4)
    seen: set[str] = set()
    for k, name in enumerate(names):
        if name in seen:
            raise CondyleError(f"a second marker '{name}'", code="duplicate-name", line=4, column=3 + 3 * k)
        seen.add(name)
    return names


def _unit(facts: dict[str, str]) -> str | None:
    unit = facts.get("units")
    if not unit:
        return None
    try:
        metres_per(unit)
    except UsageError as error:
        raise CondyleError(error.text, code=error.code, line=3) from None
    return unit


def _count(facts: dict[str, str], key: str) -> int | None:
    number = _number(facts, key)
    return int(number) if number is not None and number == int(number) else None


def _number(facts: dict[str, str], key: str) -> float | None:
    """A positive number of the third line, or None; decimal commas are understood."""
    text = facts.get(key, "").replace(",", ".")
    number = float(text) if re.fullmatch(r"\d{1,12}(\.\d*)?", text) else 0.0
    return number if number > 0 else None


def _time(values: Floats, line: int) -> Floats:
    time = values[:, 1]
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time)))
        raise CondyleError("no time in this row", code="bad-time", line=line + row, column=2, frame=row)
    return time


FORMAT = Format("trc", "TRC markers", looks_like, read)
