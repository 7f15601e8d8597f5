"""Rows of numbers in text, whatever separates them: fast where they are plain, exact about the place of a fault."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from functools import cache, partial
from struct import Struct
from typing import Any

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, Severity, many
from ...maths.arrays import Floats
from ...maths.spool import blocks, empty, over_frames, seal
from ...model.progress import tell_share
from .stamps import LIKE_A_TIME, count_from_first, read_stamps
from .text import Text, as_bytes, change_lines, decode, first_block, unify_line_ends, with_line_feeds


class Cut(IntEnum):
    """Whether the last row of a table was cut and left out. PERHAPS: only its line end is missing."""

    NO = 0
    PERHAPS = 1
    YES = 2


PARSED_AT_ONCE_BYTES = 2**16  # handed to the number parser at once, to stay in the processor's cache: 12 MB take
# 17 ms, 20 by 2**15, 18 by 2**18
FIRST_ROW_BYTES = 2**16  # in which the first row is found


def parse_rows(
    rows: Text,
    names: Sequence[str],
    *,
    line: int,
    separator: bytes | None = b",",
    decimal_comma: bool | None = False,
    line_ends: bool = False,
) -> tuple[Floats, Cut]:
    """Numbers (rows, columns), NaN for an empty cell, `nan`, `null`; and whether a cut or broken last row was left out.

    rows           lines ended by a line feed, or some by CR or CRLF; blank lines are skipped
    names          of the columns, for messages; a separator too many at the end of the lines is allowed
    line           1-based line of the file on which `rows` begins
    separator      None: any run of blanks and tabs
    decimal_comma  None: as the first row shows
    line_ends      every row ends with a line feed: a last one without is cut, however whole it looks

    A broken row that is not the last raises with line and column.
    """
    width = len(names)
    rows, of_day = read_stamps(rows, separator)
    if decimal_comma is None:
        first = re.search(rb"\S[^\n]*", first_block(rows, FIRST_ROW_BYTES))
        decimal_comma = separator != b"," and first is not None and b"," in first[0] and b"." not in first[0]
    if separator != b"," and b"," in rows and b"." not in rows:
        decimal_comma = True  # whatever the first row showed: it may hold whole numbers only
    end = rows.rfind(b"\n") + 1
    if b"\r" in rows[rows.rfind(b"\n", 0, max(end - 1, 0)) + 1 :]:  # elsewhere `_read_blocks` sees to them
        rows = with_line_feeds(rows)
        end = rows.rfind(b"\n") + 1
    tail = as_bytes(rows[end:])
    cut = Cut.NO
    if tail.strip():
        cut = Cut.YES if line_ends or not _is_row(tail, width, separator, decimal_comma) else Cut.PERHAPS
    stop = find_end(rows, end, b"\n \t" if separator != b"\t" else b"\n ")
    last = rows.rfind(b"\n", 0, stop) + 1
    row = as_bytes(rows[last:stop])
    cells = len(row.split()) if separator is None else row.count(separator) + 1
    if stop and cells < width:
        stop, cut = find_end(rows, last, b"\n"), Cut.YES
    if not stop:
        return np.empty((0, width)), cut
    values, broken_last = _read_blocks(rows, names, line, separator, decimal_comma, stop)
    for column in of_day:
        count_from_first(values[:, column])
    return values, Cut.YES if broken_last else cut


def find_end(rows: Text, end: int, blank: bytes) -> int:
    """Where `rows[:end].rstrip(blank)` ends, without a copy of it."""
    while end and rows[end - 1] in blank:
        before = max(end - PARSED_AT_ONCE_BYTES, 0)
        end = before + len(as_bytes(rows[before:end]).rstrip(blank))
    return end


def describe_truncation(present: int, declared: int | None, cut: int) -> list[Finding]:
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
    cells = split_row(line, width, separator)
    whole = len(cells) == width and bool(cells[-1].strip())
    return whole and all(read_number(cell, decimal_comma) is not None for cell in cells)


def _read_blocks(
    body: Text, names: Sequence[str], line: int, separator: bytes | None, decimal_comma: bool, stop: int
) -> tuple[Floats, bool]:
    """The rows up to byte `stop`, and whether the last one was broken and left out; a block of plain numbers at once,
    and cell by cell one that holds anything else.
    """
    width = len(names)
    values = np.empty((0, width))
    even = _make_even_reader(width)
    start = filled = 0
    broken = False
    while start < stop:
        tell_share(start / stop)
        end = body.find(b"\n", start + PARSED_AT_ONCE_BYTES, stop)
        block = as_bytes(body[start : stop if end < 0 else end])
        start += len(block) + 1
        if b"\r" in block:  # of the whole text, this would be another way through the file
            block = unify_line_ends(block + b"\n")[:-1]
        text = _nest(block, separator, decimal_comma)
        rows = None if text is None else even(text)
        lines = block.count(b"\n") + 1 if rows is None else len(rows)  # bytes are counted a sixth as fast as parsed
        try:
            rows = _read_uneven(block, width, separator, decimal_comma) if rows is None else rows
        except ValueError:
            if start < stop:  # before a row, a broken one is not the last, and raises
                block += b"\n" + (separator or b" ").join([b"0"] * width)
            rows, broken = _read_carefully(block, names, line, separator, decimal_comma)
            rows = rows[: len(rows) - (start < stop)]
        line += lines
        if filled + len(rows) > len(values):
            values = _grow(values, filled, (filled + len(rows)) * stop / min(start, stop))
        values[filled : filled + len(rows)] = rows
        filled += len(rows)
    return values[:filled], broken


def _grow(values: Floats, filled: int, expected: float) -> Floats:
    """The same rows with room for about so many, and for some more: counting lines first would cost as much as this."""
    more = empty((int(1.02 * expected) + 16, values.shape[1]))
    for rows in blocks(values[:filled]):
        more[rows] = values[rows]
    return more


def _nest(block: bytes, separator: bytes | None, decimal_comma: bool) -> bytes | None:
    """Lines as one JSON array of arrays; None where they are not separated so that this is done at once."""
    if separator is None or decimal_comma or b"[" in block:  # a bracket would pass for the begin of a row
        return None
    if separator != b",":
        if b"," in block:
            return None
        block = block.replace(separator, b",")
    return b"[[%b]]" % block.replace(b"\n", b"],[")


def _make_even_reader(width: int) -> Callable[[bytes], Floats | None]:
    """The numbers of lines that all have `width` cells with a number in each, as most files have; None elsewhere.

    simdjson makes no Python float of every number, and is twice as fast; it is the extra `fast`.
    """
    try:
        import simdjson
    except ImportError:
        return partial(_read_even_floats, width=width)
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


def _read_even_floats(text: bytes, width: int) -> Floats | None:
    import msgspec

    try:
        rows: list[list[float]] = _make_decoder(list[list[float]]).decode(text)
    except msgspec.MsgspecError:
        return None
    if set(map(len, rows)) != {width}:
        return None
    values = np.empty((len(rows), width))
    pack, memory = Struct(f"{width}d").pack_into, values.data
    for k, row in enumerate(rows):
        pack(memory, 8 * width * k, *row)
    return values


def _read_uneven(block: bytes, width: int, separator: bytes | None, decimal_comma: bool) -> Floats:
    """The same where cells are empty, lines blank or ended by a separator, or numbers written as +1 or .5."""
    lines = [_make_plain(line, separator, decimal_comma) for line in block.split(b"\n") if line.strip()]
    counts = {line.count(b",") for line in lines}
    if counts == {width}:  # a separator at the end of each line
        if not all(line.endswith(b",") for line in lines):
            raise ValueError("ragged")
        lines = [line[:-1] for line in lines]
    elif counts and counts != {width - 1}:
        raise ValueError("ragged")
    return _read_floats(lines).reshape(-1, width)


def _make_plain(line: bytes, separator: bytes | None, decimal_comma: bool) -> bytes:
    """The line with commas between its cells and no blanks at its ends."""
    if decimal_comma:
        line = line.replace(b",", b".")
    if separator is None:
        return b",".join(line.split())
    return line.strip(b" \r").replace(separator, b",") if separator != b"," else line.strip(b" \t\r")


def _read_floats(lines: list[bytes]) -> Floats:
    import msgspec

    if not lines:
        return np.empty(0)
    text = b",".join(lines)
    for fill in (False, True):
        if fill:  # empty cells
            text = (b"," + text + b",").replace(b",,", b",null,").replace(b",,", b",null,")[1:-1]
        try:
            return np.array(_make_decoder(list[float | None]).decode(b"[" + text + b"]"), dtype=np.float64)
        except msgspec.MsgspecError:  # an empty cell, or +1 and .5, which JSON does not know
            pass
    if b"_" in text:
        raise ValueError("underscore")
    if b"n" in text or b"N" in text:
        text = re.sub(rb"(?i)\bnull\b", b"nan", text)
    return np.array([float(cell) if cell.strip() else np.nan for cell in text.split(b",")])


@cache
def _make_decoder(kind: Any) -> Any:
    import msgspec

    return msgspec.json.Decoder(kind)


def _read_carefully(
    body: bytes, names: Sequence[str], line: int, separator: bytes | None, decimal_comma: bool
) -> tuple[Floats, bool]:
    """The same cell by cell; a broken last row is left out, a broken row elsewhere raises with line and column."""
    width = len(names)

    def numbers(raw: bytes) -> list[float]:
        row = []
        for j, cell in enumerate(split_whole_row(raw, width, separator)):
            number = read_number(cell, decimal_comma)
            if number is None:
                text = f"'{decode(cell).strip()[:40]}' in column {names[j].strip() or j + 1} is no number"
                if LIKE_A_TIME.search(cell):
                    text += "; write times as seconds, as 10:00:00.123 or as 2026-11-18T10:00:00.123"
                raise CondyleError(text, code="bad-number", column=j + 1)
            row.append(number)
        return row

    values: list[list[float]] = []
    fault: CondyleError | None = None  # of the last row, unless another follows
    for k, raw in enumerate(body.split(b"\n")):
        if raw.strip() and fault is not None:
            raise fault
        try:
            values += [numbers(raw)] if raw.strip() else []
        except CondyleError as error:
            fault = CondyleError(error.text, code=error.code, line=line + k, column=error.column)
    return np.array(values, np.float64).reshape(-1, width), fault is not None


def parse_picked(
    rows: Text, pick: Callable[[bytes], list[bytes]], labels: Sequence[str], columns: Sequence[int], *, line: int
) -> tuple[Floats, int]:
    """Like `parse_rows`, of the numbers that `pick` takes out of a line: for rows that hold words as well.

    pick     raises CondyleError, without a line, at a broken row
    columns  0-based, from which it takes them: for messages, as the labels
    """
    fault: CondyleError | None = None

    def pick_lines(block: bytes) -> bytes:
        """The numbers of a block's lines; a broken line waits for the next row, to be the last one or a fault."""
        nonlocal fault, line
        picked = list[bytes]()
        for raw in block.split(b"\n"):
            if raw.strip() and fault is not None:
                raise fault
            row = b""
            try:
                row = b"0," + b",".join(pick(raw)) if raw.strip() else b""
            except CondyleError as error:
                fault = CondyleError(error.text, code=error.code, line=line + len(picked), column=error.column)
            picked.append(row)
        line += len(picked) - 1
        return b"\n".join(picked)

    first = line
    text = change_lines(rows, pick_lines)
    try:
        values, cut = parse_rows(text, ("row", *labels), line=first)
    except CondyleError as error:
        place = None if error.column is None or error.column < 2 else columns[error.column - 2] + 1
        raise CondyleError(error.text, code=error.code, line=error.line, column=place) from None
    return values[:, 1:], cut or fault is not None


def take_columns(values: Floats, columns: Sequence[Sequence[int]]) -> Floats:
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
        picked = over_frames(lambda part: part[:, at], values)
    else:
        for owner in (values, values.base):
            if isinstance(owner, np.ndarray):
                owner.flags.writeable = False
        table = values[:, start : start + apart * things].reshape(len(values), things, apart)
        picked = table[..., first - start : first - start + parts]
    return seal(picked)


def hide_zeros(position: Floats) -> Floats:
    """The same positions (n, ..., 3) with NaN where all three are exactly zero, as programs write what was not seen."""
    return seal(over_frames(lambda part: np.where((part == 0).all(axis=-1, keepdims=True), np.nan, part), position))


def find_separator(names: bytes) -> bytes:
    """The first comma, semicolon or tab in a row of column names."""
    mark = re.search(rb"[,;\t]", names)
    return mark[0] if mark else b","


def split_cells(line: bytes, separator: bytes | None) -> list[bytes]:
    """The cells of a line, without the quotes around them; separator None: any run of blanks."""
    if separator is None:
        return line.split() if line.isascii() else [cell.encode() for cell in decode(line).split()]
    if b'"' in line:
        try:
            row = next(csv.reader([decode(line)], delimiter=separator.decode(), skipinitialspace=True), [])
            return [cell.encode() for cell in row]
        except csv.Error:
            pass
    return line.split(separator)


def read_cells(line: bytes | str, separator: bytes | None) -> list[str]:
    """The cells of a line as text without blanks and quotes around them."""
    text = decode(line) if isinstance(line, bytes) else line
    if separator is None or '"' not in text:
        return [cell.strip().strip('"') for cell in text.split(None if separator is None else separator.decode())]
    raw = text.encode("utf-8", "replace")
    return [decode(cell).strip().strip('"').strip() for cell in split_cells(raw, separator)]


def strip_empty(cells: Iterable[str]) -> list[str]:
    """The cells without the empty ones at their end."""
    found = list(cells)
    while found and not found[-1]:
        found.pop()
    return found


def split_row(line: bytes, width: int, separator: bytes | None) -> list[bytes]:
    """The cells of a row, of which `width` are expected: a separator too many at its end is none."""
    cells = split_cells(line, separator)
    return cells[:-1] if len(cells) == width + 1 and not cells[-1].strip() else cells


def split_whole_row(line: bytes, width: int, separator: bytes | None) -> list[bytes]:
    """The `width` cells of a row; raises with the column from where on they are too few or too many."""
    cells = split_row(line, width, separator)
    if len(cells) != width:
        text = f"{len(cells)} cells, expected {width}"
        raise CondyleError(text, code="ragged-row", column=min(len(cells), width) + 1)
    return cells


def read_number(cell: bytes | str, decimal_comma: bool = False) -> float | None:
    """The number in a cell, NaN where it is empty or `null`; None where it holds something else."""
    text = (decode(cell) if isinstance(cell, bytes) else cell).strip().strip('"')
    if not text or text.lower() == "null":
        return np.nan
    try:
        return None if "_" in text else float(text.replace(",", ".") if decimal_comma else text)
    except ValueError:
        return None
