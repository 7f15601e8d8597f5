"""Rows of numbers in text, whatever separates them: fast where they are plain, exact about the place of a fault."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache, partial
from struct import Struct
from typing import Any

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, Severity, many
from ...maths.arrays import Floats
from .text import decode


class Cut(IntEnum):
    """Whether the last row of a table was cut and left out. PERHAPS: only its line end is missing."""

    NO = 0
    PERHAPS = 1
    YES = 2


BLOCK = 2**15  # bytes handed to the number parser at once: what it makes of them stays in the processor's cache
MOST_CELLS = 5 * 10**8  # of one table, 4 GB: a file that claims more is refused before memory is asked for


def parse_rows(
    rows: bytes,
    names: Sequence[str],
    *,
    line: int,
    separator: bytes | None = b",",
    decimal_comma: bool = False,
    line_ends: bool = False,
) -> tuple[Floats, Cut]:
    """Numbers (rows, columns), NaN for an empty cell, `nan`, `null`; and whether a cut or broken last row was left out.

    rows       lines ended by a line feed; blank lines are skipped
    names      of the columns, for messages; a separator too many at the end of the lines is allowed
    line       1-based line of the file on which `rows` begins
    separator  None: any run of blanks and tabs
    line_ends  every row ends with a line feed: a last one without is cut, however whole it looks

    A broken row that is not the last raises with line and column.
    """
    width = len(names)
    if separator in (b"\t", b";") and b"," in rows and b"." not in rows:
        decimal_comma = True  # whatever the first row showed: it may hold whole numbers only
    end = rows.rfind(b"\n") + 1
    tail = rows[end:]
    cut = Cut.NO
    if tail.strip():
        cut = Cut.YES if line_ends or not _is_row(tail, width, separator, decimal_comma) else Cut.PERHAPS
    stop = _stripped(rows, end, b"\n \t" if separator != b"\t" else b"\n ")
    last = rows.rfind(b"\n", 0, stop) + 1
    if stop and _cells_in(rows[last:stop], separator) < width:
        stop, cut = _stripped(rows, last, b"\n"), Cut.YES
    if not stop:
        return np.empty((0, width)), cut
    try:
        return _quick(rows, width, separator, decimal_comma, stop), cut
    except ValueError:
        values, broken_last = _careful(rows[:stop], names, line, separator, decimal_comma)
        return values, Cut.YES if broken_last else cut


def _stripped(rows: bytes, end: int, blank: bytes) -> int:
    """Where `rows[:end].rstrip(blank)` ends, without a copy of it."""
    while end and rows[end - 1] in blank:
        end = max(end - BLOCK, 0) + len(rows[max(end - BLOCK, 0) : end].rstrip(blank))
    return end


def separator_of(line: str) -> tuple[bytes | None, bool]:
    """Separator of a row of numbers and whether it has decimal commas; None: blanks.

    Tabs and semicolons are told by being there; then a comma is a decimal comma where no point is. So it is where
    blanks separate the numbers and commas stand inside them only. Raises nothing.
    """
    for mark in ("\t", ";"):
        if mark in line.strip("\n\r "):
            return mark.encode(), "," in line and "." not in line
    if re.fullmatch(r"\s*[+-]?\d+(,\d+)?(\s+[+-]?\d+(,\d+)?)+\s*", line):
        return None, "," in line
    if "," in line:
        return b",", False
    return None, False


def truncation(present: int, declared: int | None, cut: int) -> list[Finding]:
    """What to say of a file that ends early; nothing where it does not. `declared`: frames that its header promises."""
    missing = 0 if declared is None else declared - present
    if missing <= 0 and not cut:
        return []
    said = f"header says {many(declared, 'frame')}, {present} present" if declared is not None else ""
    said = said or f"{many(present, 'frame')} present"
    severity: Severity = "warning"
    if cut is Cut.PERHAPS and missing <= 1:  # many programs write no last line end, so it is no cause for alarm
        severity, text = "info", f"{said}; the last line has no line end and was left out, for it may be cut"
    elif cut:
        text = f"{said}; the last line is cut and was left out"
    else:
        text = f"{said}; the end of the recording is missing"
    count = max(missing, 1)
    return [Finding("truncated-file", severity, text, value=float(count), unit="frames", frame=present, count=count)]


def _is_row(line: bytes, width: int, separator: bytes | None, decimal_comma: bool) -> bool:
    """Whether a line holds a number in its last cell, and numbers or nothing in the others."""
    cells = _cells(line, separator)
    if len(cells) == width + 1 and not cells[-1].strip():
        cells = cells[:-1]
    numbers = [_number(cell.replace(",", ".") if decimal_comma else cell) for cell in cells]
    return len(cells) == width and bool(cells[-1].strip()) and None not in numbers


def _cells_in(line: bytes, separator: bytes | None) -> int:
    return len(line.split()) if separator is None else line.count(separator) + 1


def _quick(body: bytes, width: int, separator: bytes | None, decimal_comma: bool, stop: int) -> Floats:
    """The rows of plain numbers up to byte `stop`; raises ValueError at anything else."""
    values = np.empty((0, width))
    even = _even_rows(width)
    start = filled = 0
    while start < stop:
        end = body.find(b"\n", start + BLOCK, stop)
        block = body[start : stop if end < 0 else end]
        start += len(block) + 1
        text = _nested(block, separator, decimal_comma)
        rows = None if text is None else even(text)
        if rows is None:
            rows = _uneven(block, width, separator, decimal_comma)
        if filled + len(rows) > len(values):
            values = _grown(values, filled, (filled + len(rows)) * stop / min(start, stop))
        values[filled : filled + len(rows)] = rows
        filled += len(rows)
    return values[:filled]


def _grown(values: Floats, filled: int, expected: float) -> Floats:
    """The same rows with room for about so many, and for some more: counting lines first would cost as much as this."""
    room = int(1.02 * expected) + 16
    if room * values.shape[1] > MOST_CELLS:
        raise CondyleError("holds more numbers than are read at once; split the recording", code="file-too-large")
    more = np.empty((room, values.shape[1]))
    more[:filled] = values[:filled]
    return more


def _nested(block: bytes, separator: bytes | None, decimal_comma: bool) -> bytes | None:
    """Lines as one JSON array of arrays; None where they are not separated so that this is done at once."""
    if separator is None or decimal_comma or b"[" in block:  # a bracket would pass for the begin of a row
        return None
    if separator != b",":
        if b"," in block:
            return None
        block = block.replace(separator, b",")
    return b"[[%b]]" % block.replace(b"\n", b"],[")


def _even_rows(width: int) -> Callable[[bytes], Floats | None]:
    """The numbers of lines that all have `width` cells with a number in each, as most files have; None elsewhere.

    simdjson makes no Python float of every number, and is twice as fast; there is no build of it for every Python.
    """
    try:
        import simdjson
    except ImportError:
        return partial(_even_floats, width=width)
    parser = simdjson.Parser()

    def even(text: bytes) -> Floats | None:
        try:
            rows: Any = parser.parse(text)
            if set(map(len, rows)) != {width}:
                return None
            return np.frombuffer(rows.as_buffer(of_type="d"), np.float64).reshape(-1, width)
        except (ValueError, TypeError, RuntimeError):  # not JSON; not a number; a whole number beyond 64 bits
            return None

    return even


def _even_floats(text: bytes, width: int) -> Floats | None:
    import msgspec

    try:
        rows: list[list[float]] = _rows_of_numbers().decode(text)
    except msgspec.MsgspecError:
        return None
    if set(map(len, rows)) != {width}:
        return None
    values = np.empty((len(rows), width))
    pack, memory = Struct(f"{width}d").pack_into, values.data
    for k, row in enumerate(rows):
        pack(memory, 8 * width * k, *row)
    return values


def _uneven(block: bytes, width: int, separator: bytes | None, decimal_comma: bool) -> Floats:
    """The same where cells are empty, lines blank or ended by a separator, or numbers written as +1 or .5."""
    lines = [_plain(line, separator, decimal_comma) for line in block.split(b"\n") if line.strip()]
    counts = {line.count(b",") for line in lines}
    if counts == {width}:  # a separator at the end of each line
        if not all(line.endswith(b",") for line in lines):
            raise ValueError("ragged")
        lines = [line[:-1] for line in lines]
    elif counts and counts != {width - 1}:
        raise ValueError("ragged")
    return _floats(lines).reshape(-1, width)


def _plain(line: bytes, separator: bytes | None, decimal_comma: bool) -> bytes:
    """The line with commas between its cells and no blanks at its ends."""
    if decimal_comma:
        line = line.replace(b",", b".")
    if separator is None:
        return b",".join(line.split())
    return line.strip(b" \r").replace(separator, b",") if separator != b"," else line.strip(b" \t\r")


def _floats(lines: list[bytes]) -> Floats:
    import msgspec

    if not lines:
        return np.empty(0)
    text = b",".join(lines)
    for fill in (False, True):
        if fill:  # empty cells
            text = (b"," + text + b",").replace(b",,", b",null,").replace(b",,", b",null,")[1:-1]
        try:
            return np.array(_decoder().decode(b"[" + text + b"]"), dtype=np.float64)
        except msgspec.MsgspecError:  # an empty cell, or +1 and .5, which JSON does not know
            pass
    if b"_" in text:
        raise ValueError("underscore")
    if b"n" in text or b"N" in text:
        text = re.sub(rb"(?i)\bnull\b", b"nan", text)
    return np.array([float(cell) if cell.strip() else np.nan for cell in text.split(b",")])


@cache
def _rows_of_numbers() -> Any:
    import msgspec

    return msgspec.json.Decoder(list[list[float]])


@cache
def _decoder() -> Any:
    import msgspec

    return msgspec.json.Decoder(list[float | None])


def _careful(
    body: bytes, names: Sequence[str], line: int, separator: bytes | None, decimal_comma: bool
) -> tuple[Floats, bool]:
    """The same cell by cell; a broken last row is left out, a broken row elsewhere raises with line and column."""
    width = len(names)
    values: list[list[float]] = []
    fault: CondyleError | None = None
    for k, raw in enumerate(body.split(b"\n")):
        if not raw.strip():
            continue
        if fault is not None:
            raise fault
        cells = _cells(raw, separator)
        if len(cells) == width + 1 and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) != width:
            at = min(len(cells), width) + 1
            fault = CondyleError(f"{len(cells)} cells, expected {width}", code="ragged-row", line=line + k, column=at)
            continue
        row = []
        for j, cell in enumerate(cells):
            number = _number(cell.replace(",", ".") if decimal_comma else cell)
            if number is None:
                text = f"'{cell[:40]}' in column {names[j].strip() or j + 1} is no number"
                fault = CondyleError(text, code="bad-number", line=line + k, column=j + 1)
                break
            row.append(number)
        else:
            values.append(row)
    return np.array(values, dtype=np.float64).reshape(len(values), width), fault is not None


def in_columns(values: Floats, columns: Sequence[Sequence[int]]) -> Floats:
    """(n, m, k) the columns (m, k) of a table (n, all), read-only: a part of it where they are evenly spaced, as in
    most files. The table is not to be written to from then on.
    """
    at = np.array(columns)
    things, parts = at.shape
    first, apart = int(at[0, 0]), int(at[1, 0] - at[0, 0]) if things > 1 else parts
    start = min(first, values.shape[1] - apart * things)
    if (
        start < 0
        or first - start + parts > apart
        or (at != first + apart * np.arange(things)[:, None] + range(parts)).any()
    ):
        picked = np.asarray(values[:, at])
    else:
        for owner in (values, values.base):
            if isinstance(owner, np.ndarray):
                owner.flags.writeable = False
        table = values[:, start : start + apart * things].reshape(len(values), things, apart)
        picked = table[..., first - start : first - start + parts]
    picked.flags.writeable = False
    return picked


def _cells(line: bytes, separator: bytes | None) -> list[str]:
    text = decode(line)
    if separator is None:
        return text.split()
    if separator != b",":
        return text.split(separator.decode())
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return text.split(",")


def _number(cell: str) -> float | None:
    cell = cell.strip().strip('"')
    if not cell or cell.lower() == "null":
        return np.nan
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
