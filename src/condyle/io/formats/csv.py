"""condyle's CSV, one row per frame; docs/formats.md describes it.

A clean file is read without a Python loop over its cells; only what that refuses is read cell by cell, to name the
line and the column of the fault.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats, Ints
from ...model.recording import Bodies, Convention, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import check_unit, read_count
from ..tables.rows import describe_truncation, parse_rows, take_columns
from ..tables.table import NO_TIME
from ..tables.text import (
    Text,
    decode,
    first_block,
    read_utf8,
    to_utf8,
    unify_line_ends,
    walk_lines,
    with_line_feeds,
)

PARTS = ("px", "py", "pz", "qw", "qx", "qy", "qz")
FIRST_LINE = "# condyle take"
CSV_VERSION = 1
# a spreadsheet takes a name that starts so for a formula: it is written after an apostrophe
RISKY = "=+-@＝＋－＠'#\t\r\n"


@dataclass(frozen=True)
class TakeTable:
    """The head of a file, and the rows below it as bytes.

    facts     what the comment lines say
    columns   column names as written
    names     of the bodies, still escaped
    line      1-based line of the first row; 0: the file has no lines
    frame     of the first row: 0, but in a later part of a file
    separator of the cells; spreadsheets in many countries write semicolons, and decimal commas
    """

    facts: dict[str, str]
    columns: list[str]
    names: list[str]
    rows: Text = b""
    line: int = 0
    frame: int = 0
    separator: bytes = b","


def looks_like(head: bytes) -> bool:
    """The first line says so, or the first row below the comments names columns like `hip.px` and `hip.qw`."""
    text = unify_line_ends(to_utf8(head)).lstrip()
    if text.lstrip(b'"').startswith(FIRST_LINE.encode()):
        return True
    row = re.match(rb'(?:"?#[^\n]*\n|[ \t]*\n)*([^\n]*)', text)
    return row is not None and all(part in row[1] for part in (b".px", b".py", b".pz", b".qw", b".qz"))


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; empty cells are poses not seen, and a file cut short is told as a finding."""
    text = read_utf8(path)
    if b"\r" in first_block(text, text.find(b"\n") + 1):  # elsewhere a name may hold a CR
        text = with_line_feeds(text)
    table = read_head(text)
    del text  # its rows are a copy, and what comes next can have its room
    values, cut = parse_rows(table.rows, table.columns, line=table.line, separator=table.separator, line_ends=True)
    findings = check_frames(table.facts, len(values), cut)
    if len(values) == 0:
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=table.line)
    return make_recording(path, table, values, options, findings)


def make_recording(
    path: Path, table: TakeTable, values: Floats, options: ReadOptions, findings: Sequence[Finding] = ()
) -> Recording:
    """The numbers (rows, columns) below a head as a recording."""
    column = {cell: k for k, cell in enumerate(table.columns)}
    poses = take_columns(values, [[column[f"{name}.{part}"] for part in PARTS] for name in table.names])
    escaped = [len(name) > 1 and name[0] == "'" and name[1] in RISKY for name in table.names]
    names = tuple(name[1:] if risky else name for name, risky in zip(table.names, escaped, strict=True))
    unit = table.facts.get("length", "m")
    if options.unit is None:
        check_unit(unit)
    stated = {"unit"} if "length" in table.facts else set()
    if "condyle take" in table.facts:
        stated = {"rotation", "transposed", "handed", "unit"}
    wanted = {"length": "m", "quaternion": "as the columns are named", "conventions": "not stated"}
    return Recording(
        str(path),
        "csv",
        bodies=Bodies(names, poses[..., :3], poses[..., 3:]),
        time=_read_time(table, values) if options.rate is None and "time" in table.columns else None,
        segment=_find_segment(table, values) if "segment" in table.columns else None,
        convention=Convention("wxyz", unit=options.unit or unit, stated=frozenset(stated)),
        facts={key: table.facts.get(key, fallback) for key, fallback in wanted.items()},
        findings=tuple(findings),
    )


def read_head(text: Text) -> TakeTable:
    """The head of a file, checked, and the rows below it."""
    facts, start, line = _read_comments(text)
    version = facts.get("condyle take", str(CSV_VERSION))
    if version != str(CSV_VERSION):
        fault = f"this is version '{version}' of the format, and version {CSV_VERSION} is read; update condyle"
        raise CondyleError(fault, code="newer-format", line=1)
    separator = _find_separator(first_block(text, 65536, start).partition(b"\n")[0])
    end = start

    def lines() -> Iterator[str]:
        nonlocal end
        for _, raw, end in walk_lines(text, start):  # noqa: B007
            yield decode(raw) + "\n"

    reader = csv.reader(lines(), delimiter=separator.decode(), skipinitialspace=True)  # a name may hold a line end
    try:
        columns = next(reader, [])
    except csv.Error as error:
        raise CondyleError(f"the row of column names is broken: {error}", code="bad-header", line=line) from None
    columns = [cell.strip() if cell.strip().lower() in ("time", "segment") else cell for cell in columns]
    columns = [cell.lower() if cell.lower() in ("time", "segment") else cell for cell in columns]
    if len(columns) < len(PARTS):
        raise CondyleError("no row of column names below the header", code="bad-header", line=line)
    line += reader.line_num
    names = check_columns(columns, line - 1)
    _check_quaternion_order(facts, columns, line - 1)
    return TakeTable(facts, columns, names, text[end:], line, separator=separator)


def _find_separator(names: bytes) -> bytes:
    """What stands behind most names of columns: commas, or semicolons or tabs. A body's name may hold any of them."""
    ends = {mark: len(re.findall(rb'\.[pq][wxyz]"?[ ]*(?:' + mark + rb"|\r?$)", names)) for mark in (b",", b";", b"\t")}
    return max(ends, key=ends.__getitem__)


def _read_comments(text: Text) -> tuple[dict[str, str], int, int]:
    """What the comment lines at the top say, the byte after them, and the 1-based line there."""
    facts: dict[str, str] = {}
    start = 0
    for line, raw, after in walk_lines(text):  # noqa: B007
        row = raw.strip(b' \t\r"').rstrip(b",;\t")  # spreadsheets quote comments and pad them
        if (row and not row.startswith(b"#")) or start >= len(text):
            break
        words = decode(row).lstrip("# ").rstrip('" ')
        if version := re.fullmatch(r"condyle take\s*(.*)", words):
            facts["condyle take"] = version[1]
        elif ":" in words:
            key, _, value = words.partition(":")
            facts.setdefault(key.strip().lower(), value.strip())
        start = after
    return facts, start, line


def check_columns(columns: list[str], line: int | None = None) -> list[str]:
    """Names of the bodies, still escaped, by their first column; raises unless each has all its columns."""
    bodies: dict[str, set[str]] = {}
    known: set[str] = set()
    for k, cell in enumerate(columns):
        if cell in known:
            raise CondyleError(f"a second column '{cell}'", code="duplicate-column", line=line, column=k + 1)
        known.add(cell)
        body, _, part = cell.rpartition(".")
        if part in PARTS:
            bodies.setdefault(body, set()).add(part)
        elif cell not in ("time", "segment"):
            text = (
                f"column '{cell[:80]}' is neither time, segment nor <body>.{'|'.join(PARTS)}; "
                "save another table as CSV and say what its columns are with --columns"
            )
            raise CondyleError(text, code="unknown-column", line=line, column=k + 1)
    for body, parts in bodies.items():
        if missing := [part for part in PARTS if part not in parts]:
            raise CondyleError(f"no column '{body}.{missing[0]}'", code="missing-column", line=line, body=body)
    return list(bodies)


def _check_quaternion_order(facts: dict[str, str], columns: list[str], line: int) -> None:
    """The column names decide; a header that says otherwise is a contradiction and not guessed about."""
    parts = [cell for cell in columns if cell.rpartition(".")[2] in PARTS[3:]]
    named = "".join(cell[-1] for cell in parts[:4])
    stated = facts.get("quaternion", named)
    if stated != named:
        text = f"the header says quaternions are {stated}, the columns are named {named}; correct one of them"
        raise CondyleError(text, code="bad-header", line=line)


def _read_time(table: TakeTable, values: Floats) -> Floats:
    column = table.columns.index("time")
    time = values[:, column]
    if not np.isfinite(time).all():
        raise _make_fault(table, NO_TIME, "bad-time", column, int(np.argmin(np.isfinite(time))))
    return time


def _find_segment(table: TakeTable, values: Floats) -> Ints:
    column = table.columns.index("segment")
    segment = values[:, column]
    whole = np.isfinite(segment) & (np.abs(segment) < 2**53) & (segment == np.trunc(segment))
    if not whole.all():
        raise _make_fault(table, "the segment is not a whole number", "bad-segment", column, int(np.argmin(whole)))
    return segment.astype(np.int64)


def _make_fault(table: TakeTable, text: str, code: str, column: int, row: int) -> CondyleError:
    line = table.line + row if table.line else None
    return CondyleError(text, code=code, line=line, column=column + 1, frame=table.frame + row)


def check_frames(facts: dict[str, str], present: int, cut: int) -> list[Finding]:
    """What to say of a file that ends early; raises where it holds more frames than its head declares."""
    declared = facts.get("frames")
    count = None if declared is None else read_count(declared)
    if declared is not None and count is None:
        raise CondyleError(f"the header says frames: '{declared}', which is no count", code="bad-header")
    if count is not None and count < present:
        text = f"header says {declared} frames, {present} present; correct or delete the line '# frames'"
        raise CondyleError(text, code="bad-header")
    return describe_truncation(present, count, cut)


FORMAT = Format("csv", "condyle CSV", looks_like, read)
