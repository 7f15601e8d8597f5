"""Text exports of Mokka and BTK: rate and first frame, events, then points with their units, then analog channels."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import CondyleError
from ...model.recording import Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.header import check_different, is_length, read_count, read_positive
from ..tables.rows import describe_truncation, find_separator, hide_zeros, read_cells, take_columns
from ..tables.table import Table
from ..tables.text import Text, read_head_lines, read_text, walk_lines

HEADER_WORDS = ("Frame number", "First frame", "Point frequency", "Analog frequency")
POINTS = b"Time"  # begins the names of a section's columns; those of its axes and units follow
MOST_HEADER_LINES = 2000  # lines above the points: events have one each


def looks_like(head: bytes) -> bool:
    """The four lines of the header."""
    lines = read_head_lines(head)
    return len(lines) >= len(HEADER_WORDS) and all(map(str.startswith, lines, HEADER_WORDS))


def read(path: Path, options: ReadOptions) -> Recording:
    """The points whose unit is one of length; angles, forces, events and analog channels are left out.

    A marker at exactly 0 0 0 was not seen.
    """
    text = read_text(path)
    facts, names, start, line = _read_header(text)
    separator = find_separator(names[0])
    titles, units, axes = (read_cells(row, separator) for row in names)
    at = [k for k, axis in enumerate(axes) if axis.upper() == "X" and k + 2 < len(units)]
    placed = [k for k in at if is_length(units[k])]
    if not placed:
        raise CondyleError("has no point in a unit of length", code="no-markers", line=line - 2)
    found = {units[k] for k in placed}
    if len(found) > 1:
        raise CondyleError(
            f"has points in {' and '.join(sorted(found))}; export them in one unit", code="unknown-unit", line=line - 2
        )
    labels = [titles[k] if k < len(titles) else "" for k in placed]
    check_different(labels, "marker", line - 3, [k + 1 for k in placed])
    columns = ["Time", *(f"{titles[k] if k < len(titles) else ''} {axis}" for k in at for axis in "XYZ")]
    table = Table(tuple(columns), _first_section(text[start:]), line, separator)
    values, cut = table.numbers()
    rate, count = read_positive(facts["Point frequency"]), read_count(facts["Frame number"])
    left_out = len(at) - len(placed)
    return Recording(
        markers=Markers(tuple(labels), hide_zeros(take_columns(values, [[k, k + 1, k + 2] for k in placed]))),
        time=table.time(values, 0, options.rate) if rate else None,
        rate=rate,
        convention=Convention(unit=found.pop(), stated=frozenset({"unit"})),
        facts={
            "length": units[placed[0]],
            "rate": f"{facts['Point frequency']} Hz",
            "first frame": facts["First frame"],
            **({"left out": f"{left_out} points that are angles, forces, moments or powers"} if left_out else {}),
        },
        findings=tuple(describe_truncation(len(values), count, cut)),
    )


def _read_header(text: Text) -> tuple[dict[str, str], list[bytes], int, int]:
    """Facts, the rows of names, units and axes, the byte where numbers begin, and its 1-based line."""
    facts: dict[str, str] = {}
    rows: list[bytes] = []
    number = after = 0
    for number, line, after in walk_lines(text):  # noqa: B007
        key, *rest = read_cells(line, find_separator(line))
        if key in HEADER_WORDS and rest:
            facts[key] = rest[0]
        if rows or line.startswith(POINTS):
            rows.append(line)
        if len(rows) == 3:
            break
        if number > MOST_HEADER_LINES:
            rows = []
            break
    if len(rows) < 3 or not re.search(rb"(?i)\bX\b", rows[2]):
        raise CondyleError("ends before the names, units and axes of its points", code="no-data", line=number)
    missing = [key for key in HEADER_WORDS[:3] if key not in facts]
    if missing:
        raise CondyleError(f"its header does not state '{missing[0]}'", code="bad-header", line=1)
    return facts, rows, after, number + 1


def _first_section(rows: Text) -> Text:
    """Rows up to an empty line: other sections follow."""
    end = rows.find(b"\n\n")
    return rows if end < 0 else rows[: end + 1]


FORMAT = Format("mokka", "Mokka / BTK text", looks_like, read)
