"""TRC marker files (Track Row Column) of Motion Analysis, OpenSim and others; docs/formats/trc.md describes them."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...model.recording import Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.header import check_different, check_unit, read_count, read_positive
from ..tables.rows import describe_truncation, hide_zeros, read_cells
from ..tables.table import Table
from ..tables.text import Text, first_block, read_head_lines, read_text, walk_lines

FIRST_WORD = "PathFileType"


def looks_like(head: bytes) -> bool:
    """The first word is PathFileType."""
    lines = read_head_lines(head)
    return bool(lines) and lines[0].lstrip().startswith(FIRST_WORD)


def read(path: Path, options: ReadOptions) -> Recording:
    """Markers as they stand in the columns; an empty cell, NaN or exactly 0 0 0 is a marker not seen.

    Names beyond NumMarkers whose columns are empty are of virtual markers that were not exported: they are left out.
    """
    text = read_text(path)
    lines, start = _read_header(text)
    facts = _read_facts(lines[1], lines[2])
    separator = b"\t" if b"\t" in lines[3] else b"," if b"," in lines[3] else None
    counted = read_count(facts.get("nummarkers", "")) or 0
    names = _read_names(lines[3], lines[4], separator, counted)
    room = (len(read_cells(first_block(text, None, start).lstrip().partition(b"\n")[0], separator)) - 2) // 3
    filled = names[: max(counted, room)] if counted else names
    columns = ("Frame#", "Time", *(f"{name} {axis}" for name in filled for axis in "XYZ"))
    table = Table(columns, text[start:], 6, separator)
    values, cut = table.numbers()
    points = values[:, 2:].reshape(len(values), len(filled), 3)
    while counted and len(filled) > counted and np.isnan(points[:, len(filled) - 1]).all():
        filled.pop()
    check_different(filled, "marker", 4, range(3, 3 + 3 * len(filled), 3))
    rate, count = read_positive(facts.get("datarate", "")), read_positive(facts.get("numframes", ""))
    unit = check_unit(facts["units"], line=3) if facts.get("units") else None
    return Recording(
        markers=Markers(tuple(filled), hide_zeros(points[:, : len(filled)])),
        time=table.time(values, 1, options.rate),
        rate=rate,
        convention=Convention(unit=unit, up="y", stated=frozenset({"unit"} if unit else ())),
        facts={
            "length": unit or "not stated",
            "rate": facts.get("datarate", "not stated"),
            **(
                {"virtual markers": f"{len(names) - len(filled)} named, none in the rows"}
                if len(names) > len(filled)
                else {}
            ),
        },
        findings=tuple(describe_truncation(len(values), int(count) if count and count == int(count) else None, cut)),
    )


def _read_header(text: Text) -> tuple[list[bytes], int]:
    """The five lines of the header, and the byte where the rows begin."""
    found = list(islice(walk_lines(text), 6))
    if len(found) < 6:
        fault = "the file ends in its header; five lines come before the first frame"
        raise CondyleError(fault, code="no-data", line=len(found))
    lines = [line for _, line, _ in found[:5]]
    if not re.match(rb"\s*Frame\s?#?", lines[3], re.IGNORECASE):
        raise CondyleError("the fourth line does not begin with Frame#", code="bad-header", line=4)
    return lines, found[4][2]


def _read_facts(keys: bytes, values: bytes) -> dict[str, str]:
    """{key in lower case: value} of the second and third line; empty cells, which one of them may have more of, aside
    where as many values are left as keys.
    """
    separator = b"\t" if b"\t" in keys.strip() else b"," if b"," in keys else None
    cells = [read_cells(line.strip(), separator) for line in (keys, values)]
    filled = [[cell for cell in row if cell.strip()] for row in cells]
    pairs = zip(*(filled if len(filled[0]) == len(filled[1]) else cells), strict=False)
    return {key.strip().lower(): value.strip() for key, value in pairs}


def _read_names(titles: bytes, axes: bytes, separator: bytes | None, counted: int) -> list[str]:
    """Names of the markers: above each X where the cells tell, else in order; those without an X are virtual, where
    as many as the header counts have one.
    """
    cells = read_cells(titles, separator)
    at = [k for k, label in enumerate(read_cells(axes, separator)) if re.fullmatch(r"[Xx]\d*", label)]
    if separator is None or not at or at[0] != 2 or not all(k < len(cells) and cells[k] for k in at):
        names = [cell for cell in cells[2:] if cell]
    else:
        if len(at) == counted:
            at += range(at[-1] + 3, len(cells), 3)
        at = [k for k in at if cells[k]]
        names, set_of_x = [cells[k] for k in at], set(at)
        if extra := [cell for k, cell in enumerate(cells[2:], 2) if cell and k not in set_of_x]:
            raise CondyleError(f"the marker '{extra[0][:40]}' stands above no X column", code="bad-header", line=4)
    if not names:
        raise CondyleError("the line of marker names is empty", code="bad-header", line=4)
    if at and len(at) != len(names):
        raise CondyleError(f"{len(names)} marker names for {len(at)} markers", code="bad-header", line=4)
    return names


FORMAT = Format("trc", "TRC markers", looks_like, read)
