"""A table in a text file: where its rows begin, what separates its cells, what its columns are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import zip_longest

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...maths.spool import over_frames
from ...model.values import dataclass
from .header import is_length
from .rows import parse_picked, parse_rows, read_cells, read_number, split_row, split_whole_row
from .text import Text, as_bytes, change_lines, decode, first_block, read_head_lines
from .vocabulary import find_stated_rate, find_stated_unit, read_bracketed_unit

SEPARATORS: dict[str, bytes | None] = {"\t": b"\t", ";": b";", ",": b",", "|": b"|", " ": None}
COMMENT = re.compile(r"\s*(#|%|//)")
UNIT_CELL = re.compile(r"(?i)m|mm|cm|in|s|ms|deg|rad|Hz")  # of a row of units; others are left to their names
MOST_LINES_ABOVE = 400  # above the first row of numbers that are looked at
LONG_LOOK_BYTES = 2**20
FIRST_LOOK_BYTES = 2**14  # bytes that are enough for most files
WIDTH_ROWS = 50  # that tell how many columns there are, and the decimal mark
ALIKE_ROWS = 5  # rows of the same width that make a table
MOST_TABLE_COLUMNS = 20_000
ROW_MIN_NUMERIC_SHARE = 0.5  # share of numbers above which a line is a row of numbers; half is a list of settings
TRUTHS = {b"true": b"1", b"false": b"0"}
NO_ROWS = "a header without a single whole row of numbers"
NO_TIME = "no time in this row; correct or delete it, or give --rate to count frames instead"


@dataclass(frozen=True)
class Table:
    """The rows of a table and what stands above them.

    names          of the columns, "" where the file has none for it
    rows           as bytes, ended by line feeds; line: 1-based line of the file on which they begin
    separator      None: any run of blanks
    decimal_comma  None: as the first row shows
    above          the lines above the rows; names_line: 1-based, of the one that names the columns
    stacked        whether names, axes and units of the columns stand below each other; they are `RASI X [mm]` in names
    """

    names: tuple[str, ...]
    rows: Text
    line: int
    separator: bytes | None = b","
    decimal_comma: bool | None = None
    above: tuple[str, ...] = ()
    names_line: int = 0
    stacked: bool = False

    @property
    def titled(self) -> bool:
        """Whether the file names its columns."""
        return any(self.names)

    @property
    def comments(self) -> tuple[str, ...]:
        """Lines above the names of the columns, and those that start with #, % or //, without that mark."""
        return tuple(
            _strip_comment(line)
            for number, line in enumerate(self.above, 1)
            if number < self.names_line or COMMENT.match(line)
        )

    @property
    def unit(self) -> str | None:
        """Unit of length from brackets behind a column's name, or from a comment that speaks of units."""
        said = (read_bracketed_unit(name) for name in self.names)
        return next((unit for unit in said if unit and is_length(unit)), None) or find_stated_unit(self.comments)

    @property
    def rate(self) -> float | None:
        """[Hz] that a comment states."""
        return find_stated_rate(self.comments)

    @property
    def labels(self) -> tuple[str, ...]:
        """Column names for messages: a number where there is no name."""
        return tuple(name or str(k + 1) for k, name in enumerate(self.names))

    def numbers(self, labels: Sequence[str] = (), *, empty: str = NO_ROWS) -> tuple[Floats, int]:
        """All columns (n, width), and whether the last row was cut; raises, saying `empty`, where no row is whole."""
        values, cut = parse_rows(
            self.rows,
            labels or self.labels,
            line=self.line,
            separator=self.separator,
            decimal_comma=self.decimal_comma,
        )
        if not len(values):
            raise CondyleError(empty, code="no-data", line=self.line)
        return values, cut

    def read(
        self, numbers: Sequence[int], words: Sequence[int] = (), *, empty: str = NO_ROWS
    ) -> tuple[Floats, list[list[str]], int]:
        """These columns: numbers (n, k), for each column of words a list of n, and whether the last row was cut.

        Other columns may hold anything. Raises with line and column where a number is none, or no row is whole.
        """
        if not words:
            try:
                values, cut = self.numbers(empty=empty)
                return over_frames(lambda part: part[:, list(numbers)], values), [], cut
            except CondyleError as error:
                if error.code != "bad-number":  # in a column that nobody asked for, perhaps
                    raise
        texts: list[list[bytes]] = [[] for _ in words]
        same: dict[bytes, bytes] = {}  # few words, in many rows
        comma = b"." if self.decimal_comma else b"?"  # inside a cell it is a decimal one, or a fault

        def pick(raw: bytes) -> list[bytes]:
            cells = split_whole_row(raw, len(self.names), self.separator)
            for column, text in zip(words, texts, strict=True):
                text.append(same.setdefault(cells[column], cells[column]))
            picked = [cells[c] for c in numbers]
            if self.separator != b"," or b'"' in raw:
                picked = [cell.replace(b",", comma) for cell in picked]
            return [TRUTHS.get(cell.strip().lower(), cell) for cell in picked]

        values, cut = parse_picked(self.rows, pick, [self.labels[c] for c in numbers], numbers, line=self.line)
        if not len(values):
            raise CondyleError(empty, code="no-data", line=self.line)
        spelled = {cell: decode(cell).strip() for column in texts for cell in set(column)}
        return values, [[spelled[cell] for cell in column[: len(values)]] for column in texts], cut

    def cells(self, most: int) -> list[list[bytes]]:
        """The cells of the first rows, whatever they hold, without a last line that may be cut."""
        lines = self.rows.split(b"\n", most)
        rows = [as_bytes(line) for line in lines[:-1] or lines]
        return [split_row(raw, len(self.names), self.separator) for raw in rows if raw.strip()]

    def time(self, values: Floats, column: int | None, rate: float | None, place: int | None = None) -> Floats | None:
        """The column of time (n,) of the numbers; raises with the line of a row that has none.

        None where there is no such column, or where the user gives the rate: then frames are counted.

        place  of the column among the numbers, where these are not all columns
        """
        if column is None or rate is not None:
            return None
        time = values[:, column if place is None else place]
        if not np.isfinite(time).all():
            row = int(np.argmin(np.isfinite(time)))
            raise CondyleError(NO_TIME, code="bad-time", line=self.line + row, column=column + 1, frame=row)
        return time

    def check_names(self) -> None:
        """Raise at the first name that two columns have."""
        known: set[str] = set()
        for k, name in enumerate(self.names):
            if name and name in known:
                text = f"a second column '{name[:60]}'"
                raise CondyleError(text, code="duplicate-column", line=self.names_line, column=k + 1)
            known.add(name)


def find_table(
    text: Text,
    *,
    separator: str | None = None,
    decimal_comma: bool | None = None,
    skip: int = 0,
    header: int | bool | None = None,
    fewest: int = 0,
) -> Table | None:
    """The table in a text (UTF-8, line feeds), or None where there is none.

    separator      a key of SEPARATORS; None: found
    decimal_comma  None: found
    skip           lines at the top that are not looked at
    header         1-based line of the column names; False: there are none; None: found
    fewest         0: columns may hold words, and be one more or fewer than their names; else a row begins the table
                   that has at least so many cells, all of them numbers
    """
    for most in (FIRST_LOOK_BYTES, LONG_LOOK_BYTES):
        lines = _read_first_lines(first_block(text, most))
        start = _find_first_row(lines, max(skip, int(header or 0)), separator, decimal_comma, fewest)
        if start is not None and start[0] + WIDTH_ROWS < len(lines):
            break
    if start is None:
        return None
    at, mark, comma = start
    width, empty_end = _find_width(lines[at : at + (1 if fewest else WIDTH_ROWS)], mark)
    names, names_line = _read_names(lines, at, mark, width - (empty_end and fewest > 0), skip, header, exact=fewest > 0)
    stacked = _stack_names(lines[skip:at], mark) if header is None and mark is not None and not fewest else None
    if stacked is not None:
        names, names_line = stacked[0], skip + stacked[1]
    if empty_end and (names is None or len(names) < width or not names[-1]):
        width -= 1
    labels = ("",) * width if names is None else tuple((names + [""] * width)[:width])
    rows = drop_comments(text.split(b"\n", at)[at])
    return Table(labels, rows, at + 1, mark, comma, tuple(lines[:at]), names_line, stacked is not None)


def drop_comments(rows: Text) -> Text:
    """The rows with empty lines in place of those that begin with #."""
    return change_lines(rows, partial(re.compile(rb"(?m)^[ \t]*#[^\n]*").sub, b"")) if b"#" in rows else rows


@lru_cache(maxsize=4)
def find_titled(head: bytes) -> Table | None:
    """The table that the first bytes of a file begin, where its first line below comments names the columns, or where
    names, axes and units stand below each other.
    """
    lines = read_head_lines(head)[: 2 * MOST_LINES_ABOVE]
    plain = next((line for line in lines if _is_plain(line)), "")
    if not re.search("[A-Za-z]", plain):
        return None
    table = find_table("".join(f"{line}\n" for line in lines).encode())
    if table is None or not table.titled:
        return None
    first = list(table.names) == read_cells(plain, table.separator)[: len(table.names)]
    return table if first or table.stacked else None


def _read_first_lines(block: bytes) -> list[str]:
    """The first lines as text; the last one may be cut."""
    most = max(2 * MOST_LINES_ABOVE, block.count(b"\n", 0, 2**16))
    lines = block.split(b"\n", most)[:most]
    try:
        return b"\n".join(lines).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return [decode(line) for line in lines]


def _strip_comment(line: str) -> str:
    return re.sub(r"^\s*(#|%|//)+\s*", "", line).strip().rstrip(",;\t ")


def _is_plain(line: str) -> bool:
    return not line.lstrip().startswith(("#", "%", "//")) and bool(line.strip())


def _find_first_row(
    lines: Sequence[str], first: int, separator: str | None, decimal_comma: bool | None, fewest: int
) -> tuple[int, bytes | None, bool] | None:
    """Index of the first line that begins a run of rows of numbers, their separator and their decimal mark."""
    marks = SEPARATORS if separator is None else {separator: SEPARATORS[separator]}
    plain = [k for k in range(first, len(lines)) if _is_plain(lines[k])]
    for place in range(len(plain[:MOST_LINES_ABOVE])):
        sample = [lines[k] for k in plain[place : place + ALIKE_ROWS]]
        has_comma = any("," in line for line in sample)
        best, found = ROW_MIN_NUMERIC_SHARE, None
        for sign, mark in marks.items():
            if sign != " " and sign not in sample[0] and len(marks) > 1:
                continue
            for comma in (False, True) if decimal_comma is None else (decimal_comma,):
                if comma and (sign == "," or not (has_comma or decimal_comma)):
                    continue
                share = _find_numeric_share(sample, mark, comma, fewest)
                if share > best:
                    best, found = share, (mark, comma)
        if found is not None:
            mark, comma = found
            if decimal_comma is None:
                more = "".join(lines[k] for k in plain[place : place + WIDTH_ROWS])
                comma = comma or (mark != b"," and "," in more and "." not in more)
            return _add_rows_above(lines, plain, place, mark, comma, fewest > 0), mark, comma
    return None


def _add_rows_above(
    lines: Sequence[str], plain: Sequence[int], place: int, mark: bytes | None, comma: bool, exact: bool
) -> int:
    """The first row, or one right above it that is broken: nothing is left out in silence. exact: of the same width."""
    width = len(read_cells(lines[plain[place]], mark))
    while place > 0:
        above = read_cells(lines[plain[place - 1]], mark)
        near = len(above) == width if exact else width <= 2 * len(above) <= 4 * width
        if not near or width <= 2 or _find_share(above, comma) <= ROW_MIN_NUMERIC_SHARE:
            break
        place -= 1
    return plain[place]


def _find_numeric_share(sample: Sequence[str], mark: bytes | None, comma: bool, fewest: int) -> float:
    """Mean share of the cells that are numbers; 0 where most rows differ from the first, or names stand below.

    A row may be broken: that is told when the rows are read.
    """
    first = read_cells(sample[0], mark)
    share = _find_share(first, comma)
    if fewest or share <= ROW_MIN_NUMERIC_SHARE:
        return float(share == 1 and len(first) >= fewest > 0)
    rows = [first, *(read_cells(line, mark) for line in sample[1:])]
    shares = [_find_share(row, comma) for row in rows if len(row) == len(first)]
    if 2 * len(shares) < len(rows) or shares[1:2] == [0.0]:
        return 0.0
    return sum(shares) / len(shares)


def _find_share(cells: Sequence[str], comma: bool) -> float:
    filled = [cell for cell in cells if cell]
    if not filled or len(cells) > MOST_TABLE_COLUMNS:
        return 0.0
    return sum(_is_number(cell, comma) or cell.lower() in ("true", "false") for cell in filled) / len(filled)


def _is_number(cell: str, comma: bool = False) -> bool:
    return bool(cell) and read_number(cell, comma) is not None


def _find_width(lines: Sequence[str], mark: bytes | None) -> tuple[int, bool]:
    """Cells of most of these rows, and whether the last of each is empty: a separator too many at the end."""
    sample = [read_cells(line, mark) for line in lines if _is_plain(line)]
    counts = Counter(len(row) for row in sample)
    width = max(counts, key=lambda count: (counts[count], count))
    return width, mark is not None and width > 1 and all(not row[-1] for row in sample if len(row) == width)


def _read_names(
    lines: Sequence[str], at: int, mark: bytes | None, width: int, skip: int, header: int | bool | None, exact: bool
) -> tuple[list[str] | None, int]:
    """The column names or None, and their 1-based line.

    Of two rows of text the one nearer to the numbers counts, unless it repeats. exact: as many names as cells.
    """
    if header is not None and header is not True:
        known = header and header <= len(lines)
        return (read_cells(_strip_comment(lines[header - 1]), mark), header) if known else (None, 0)
    found: list[str] | None = None
    number = 0
    for k in range(at - 1, skip - 1, -1):
        line = lines[k]
        if not line.strip():
            continue
        comment = COMMENT.match(line)
        cells = read_cells(_strip_comment(line) if comment else line, mark)
        if comment and len(cells) != width:
            cells = re.split(r"[\s,;]+", _strip_comment(line))
        if exact and not cells[-1]:
            cells.pop()
        near = abs(len(cells) - width) == 1 and width > 2 and not (comment or exact)
        text = [cell for cell in cells if cell and not _is_number(cell)]
        if not (len(cells) == width or near) or len(text) * 2 <= len(cells):
            break
        cells = cells[:width]
        repeats = len(set(cells)) < len(cells)
        if found is None or not repeats:
            found, number = cells, k + 1
        if not repeats:
            break
    return found, number


def _stack_names(above: Sequence[str], mark: bytes) -> tuple[list[str], int] | None:
    """Names of columns from rows below each other, and the 1-based line of the first: whose columns they are, once for
    each three, then X, Y and Z, and the units of all columns below either. None where it is not so.
    """
    axes: list[str] = []
    units: list[str] = []
    for k in range(len(above) - 1, max(len(above) - 4, -1), -1):
        cells = read_cells(above[k], mark)
        filled = [cell for cell in cells if cell]
        if not filled:
            return None
        if not axes and len(filled) > 2 and set("".join(filled[:3]).upper()) == set("XYZ"):
            axes = [cell.upper() for cell in cells]
            if not set(axes) <= {"", "X", "Y", "Z"}:
                return None
        elif not units and len(filled) > 2 and all(UNIT_CELL.fullmatch(cell) for cell in filled):
            units = cells
        elif not axes or any(axis == "X" and not cell for axis, cell in zip_longest(axes, cells)):
            return None
        else:
            return _join_stacked(cells, axes, units), k + 1
    return None


def _join_stacked(owners: Sequence[str], axes: Sequence[str], units: Sequence[str]) -> list[str]:
    """`RASI X [mm]` and `Time [s]` from a cell of each row; a name stands above its first column only."""
    names, owner = list[str](), ""
    for k, axis in enumerate(axes):
        own = owners[k] if k < len(owners) else ""
        owner = own if own or axis in ("", "X") else owner
        unit = units[k] if k < len(units) else ""
        names.append(f"{owner} {axis}".strip() + (f" [{unit}]" if unit else ""))
    return names
