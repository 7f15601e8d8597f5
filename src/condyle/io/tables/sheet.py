"""A table in a text file: where its rows begin, what separates its cells, what its columns are called."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...errors import CondyleError
from ...maths.arrays import Floats
from .rows import parse_rows
from .text import decode, head_lines

SEPARATORS: dict[str, bytes | None] = {"\t": b"\t", ";": b";", ",": b",", "|": b"|", " ": None}
COMMENT = re.compile(r"\s*(#|%|//)")
LINES = 400  # above the first row of numbers that are looked at
BYTES = 2**20
SAMPLE = 5  # rows of the same width that make a table
MOST_COLUMNS = 20_000
ENOUGH = 0.5  # share of numbers above which a line is a row of numbers; half is a list of settings
TRUTHS = ((re.compile(rb"(?i)\btrue\b"), b"1"), (re.compile(rb"(?i)\bfalse\b"), b"0"))


@dataclass(frozen=True)
class Sheet:
    """The rows of a table and what stands above them.

    names      of the columns, "" where the file has none for it
    titled     the file names its columns
    comments   lines above the rows that start with #, % or //, without that mark
    rows       as bytes, ended by line feeds; line: 1-based line of the file on which they begin
    separator  None: any run of blanks
    """

    names: tuple[str, ...]
    titled: bool
    comments: tuple[str, ...]
    rows: bytes
    line: int
    separator: bytes | None
    decimal_comma: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """Column names for messages: a number where there is no name."""
        return tuple(name or str(k + 1) for k, name in enumerate(self.names))

    def read(self, numbers: Sequence[int], words: Sequence[int] = ()) -> tuple[Floats, list[list[str]], int]:
        """These columns: numbers (n, k), for each column of words a list of n, and whether the last row was cut.

        Other columns may hold anything. Raises with line and column where a number is none.
        """
        if not words:
            try:
                values, cut = parse_rows(
                    self.rows,
                    self.labels,
                    line=self.line,
                    separator=self.separator,
                    decimal_comma=self.decimal_comma,
                )
                return values[:, list(numbers)], [], cut
            except CondyleError as error:
                if error.code != "bad-number":  # in a column that nobody asked for, perhaps
                    raise
        return self._picked(numbers, words)

    def _picked(self, numbers: Sequence[int], words: Sequence[int]) -> tuple[Floats, list[list[str]], int]:
        """The same by splitting every row: for tables with columns of text."""
        texts: list[list[bytes]] = [[] for _ in words]
        kept: list[bytes] = []
        fault: CondyleError | None = None
        width = len(self.names)
        for k, raw in enumerate(self.rows.split(b"\n")):
            if not raw.strip():
                kept.append(b"")
                continue
            if fault is not None:
                raise fault
            cells = _raw_cells(raw, self.separator)
            if len(cells) == width + 1 and not cells[-1].strip():
                cells = cells[:-1]
            if len(cells) != width:
                at = min(len(cells), width) + 1
                text = f"{len(cells)} cells, expected {width}"
                fault = CondyleError(text, code="ragged-row", line=self.line + k, column=at)
                kept.append(b"")
                continue
            picked = [cells[c] for c in numbers]
            if self.separator != b"," or b'"' in raw:  # a comma in a cell is a decimal one, or a fault
                picked = [cell.replace(b",", b"." if self.decimal_comma else b"?") for cell in picked]
            for column, text_column in zip(words, texts, strict=True):
                text_column.append(cells[column])
            kept.append(b"0," + b",".join(picked))
        rows = b"\n".join(kept)
        for word, number in TRUTHS:
            rows = word.sub(number, rows)
        labels = ["row"] + [self.labels[c] for c in numbers]
        try:
            values, cut = parse_rows(rows, labels, line=self.line)
        except CondyleError as error:
            place = None if error.column is None or error.column < 2 else numbers[error.column - 2] + 1
            raise CondyleError(error.text, code=error.code, line=error.line, column=place) from None
        spelled = {cell: decode(cell).strip() for column in texts for cell in set(column)}
        names = [[spelled[cell] for cell in column[: len(values)]] for column in texts]
        return values[:, 1:], names, cut or fault is not None


def find_sheet(
    text: bytes,
    *,
    separator: str | None = None,
    decimal_comma: bool | None = None,
    skip: int = 0,
    header: int | bool | None = None,
) -> Sheet | None:
    """The table in a text (UTF-8, line feeds), or None where there is none.

    separator      a key of SEPARATORS; None: found
    decimal_comma  None: found
    skip           lines at the top that are not looked at
    header         1-based line of the column names; False: there are none; None: found
    """
    lines = list(_lines(text))
    first = max(skip, int(header or 0))
    start = _first_row(lines, first, separator, decimal_comma)
    if start is None:
        return None
    at, mark, comma = start
    width, empty_end = _width(lines, at, mark)
    comments = tuple(_uncommented(line) for _, line in lines[:at] if COMMENT.match(line))
    names = _names(lines, at, mark, width, skip, header)
    if empty_end and (names is None or len(names) < width or not names[-1]):
        width -= 1
    labels = ("",) * width if names is None else tuple((names + [""] * width)[:width])
    rows = text[lines[at][0] :]
    if b"#" in rows:
        rows = re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", rows)
    return Sheet(labels, any(labels), comments, rows, at + 1, mark, comma)


@lru_cache(maxsize=4)
def titled_sheet(head: bytes) -> Sheet | None:
    """The table that the first bytes of a file begin, where its first line below comments names the columns."""
    lines = head_lines(head)[: 2 * LINES]
    plain = next((line for line in lines if _plain(line)), "")
    if not re.search("[A-Za-z]", plain):
        return None
    sheet = find_sheet("".join(f"{line}\n" for line in lines).encode())
    if sheet is None or not sheet.titled:
        return None
    return sheet if list(sheet.names) == cells_of(plain, sheet.separator)[: len(sheet.names)] else None


def cells_of(line: str, separator: bytes | None) -> list[str]:
    """The cells of a line without blanks and quotes around them."""
    if separator is None:
        return [cell.strip('"') for cell in line.split()]
    if '"' in line:
        return [decode(cell).strip().strip('"').strip() for cell in _raw_cells(line.encode(), separator)]
    return [cell.strip() for cell in line.split(separator.decode())]


def is_number(cell: str, decimal_comma: bool = False) -> bool:
    """Whether a cell holds a number, `nan` included."""
    try:
        float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return False
    return "_" not in cell


def _raw_cells(line: bytes, separator: bytes | None) -> list[bytes]:
    if separator is None:
        return line.split()
    if b'"' in line:
        try:
            row = next(csv.reader([decode(line)], delimiter=separator.decode(), skipinitialspace=True), [])
            return [cell.encode() for cell in row]
        except csv.Error:
            pass
    return line.split(separator)


def _lines(text: bytes) -> Iterator[tuple[int, str]]:
    """Start byte and text of the first lines; the last one may be cut."""
    start = count = 0
    while start < min(len(text), BYTES) and (count < 2 * LINES or start < 2**16):
        end = text.find(b"\n", start)
        stop = len(text) if end < 0 else end
        yield start, decode(text[start:stop])
        start, count = stop + 1, count + 1


def _uncommented(line: str) -> str:
    return re.sub(r"^\s*(#|%|//)+\s*", "", line).strip().rstrip(",;\t ")


def _plain(line: str) -> bool:
    return bool(line.strip()) and not COMMENT.match(line)


def _first_row(
    lines: Sequence[tuple[int, str]], first: int, separator: str | None, decimal_comma: bool | None
) -> tuple[int, bytes | None, bool] | None:
    """Index of the first line that begins a run of rows of numbers, their separator and their decimal mark."""
    marks = SEPARATORS if separator is None else {separator: SEPARATORS[separator]}
    plain = [k for k in range(first, len(lines)) if _plain(lines[k][1])]
    for place, at in enumerate(plain[:LINES]):
        sample = [lines[k][1] for k in plain[place : place + SAMPLE]]
        best, found = 0.0, None
        for sign, mark in marks.items():
            if sign != " " and sign not in sample[0] and len(marks) > 1:
                continue
            for comma in (False, True) if decimal_comma is None else (decimal_comma,):
                if comma and sign == ",":
                    continue
                share = _numeric_share(sample, mark, comma)
                if share > best:
                    best, found = share, (at, mark, comma)
        if found is not None and best > ENOUGH:
            more = "".join(lines[k][1] for k in plain[place : place + 50])
            comma = found[2] if decimal_comma is not None else found[1] != b"," and "," in more and "." not in more
            return _with_rows_above(lines, plain, place, found[1], comma or found[2])
    return None


def _with_rows_above(
    lines: Sequence[tuple[int, str]], plain: Sequence[int], place: int, mark: bytes | None, comma: bool
) -> tuple[int, bytes | None, bool]:
    """The first row, or one right above it that is broken: nothing is left out in silence."""
    width = len(cells_of(lines[plain[place]][1], mark))
    while place > 0:
        above = cells_of(lines[plain[place - 1]][1], mark)
        if not (width <= 2 * len(above) <= 4 * width and width > 2 and _share(above, comma) > ENOUGH):
            break
        place -= 1
    return plain[place], mark, comma


def _numeric_share(sample: Sequence[str], mark: bytes | None, comma: bool) -> float:
    """Mean share of the cells that are numbers; 0 where most rows differ from the first, or names stand below.

    A row may be broken: that is told when the rows are read.
    """
    if _share(cells_of(sample[0], mark), comma) <= ENOUGH:
        return 0.0
    rows = [cells_of(line, mark) for line in sample]
    alike = [row for row in rows if len(row) == len(rows[0])]
    shares = [_share(row, comma) for row in alike]
    if 2 * len(alike) < len(rows) or shares[1:2] == [0.0]:
        return 0.0
    return sum(shares) / len(shares)


def _share(cells: Sequence[str], comma: bool) -> float:
    if len(cells) > MOST_COLUMNS:
        return 0.0
    filled = [cell for cell in cells if cell]
    if not filled:
        return 0.0
    return sum(is_number(cell, comma) or cell.lower() in ("true", "false") for cell in filled) / len(filled)


def _width(lines: Sequence[tuple[int, str]], at: int, mark: bytes | None) -> tuple[int, bool]:
    """Cells of most rows, and whether the last of each is empty: a separator too many at the end."""
    sample = [cells_of(line, mark) for _, line in lines[at : at + 50] if _plain(line)]
    counts = Counter(len(row) for row in sample)
    width = max(counts, key=lambda count: (counts[count], count))
    return width, mark is not None and width > 1 and all(not row[-1] for row in sample if len(row) == width)


def _names(
    lines: Sequence[tuple[int, str]], at: int, mark: bytes | None, width: int, skip: int, header: int | bool | None
) -> list[str] | None:
    """The column names, or None. Of two rows of text the one nearer to the numbers counts, unless it repeats."""
    if header is False:
        return None
    if header is not None and header is not True:
        return cells_of(_uncommented(lines[header - 1][1]), mark) if header <= len(lines) else None
    found: list[str] | None = None
    for k in range(at - 1, skip - 1, -1):
        line = lines[k][1]
        if not line.strip():
            continue
        cells = cells_of(_uncommented(line) if COMMENT.match(line) else line, mark)
        if COMMENT.match(line) and len(cells) != width:
            cells = re.split(r"[\s,;]+", _uncommented(line))
        fits = len(cells) == width or (len(cells) in (width - 1, width + 1) and not COMMENT.match(line) and width > 2)
        text = [cell for cell in cells if cell and not is_number(cell)]
        if not fits or len(text) * 2 <= len(cells):
            break
        cells = cells[:width]
        repeats = len(set(cells)) < len(cells)
        if found is None or not repeats:
            found = cells
        if not repeats:
            break
    return found
