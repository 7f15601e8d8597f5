"""Tables of marker positions with a row of column names: `LASI_x, LASI_y, LASI_z, ...`."""

from __future__ import annotations

from pathlib import Path

from ...errors import CondyleError
from ...model.recording import Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.rows import describe_truncation, hide_zeros
from ..tables.table import find_table, find_titled
from ..tables.text import read_text
from ..tables.vocabulary import TIME_UNITS, ColumnMeaning, read_column_names

FEWEST_MARKERS = 3  # markers; fewer make no body


def looks_like(head: bytes) -> bool:
    """Below comments a row of names, all of x, y and z of things, of a time or of orientations; then numbers."""
    table = find_titled(head)
    return table is not None and _is_markers(read_column_names(table.names))


def read(path: Path, options: ReadOptions) -> Recording:
    """The markers; orientations without a position are left out, since the markers tell them better."""
    table = find_table(read_text(path))
    if table is None or not table.titled:
        raise CondyleError("holds no row of names above rows of numbers", code="no-data")
    found = read_column_names(table.names)
    table.check_names()
    markers = found.markers
    if not markers:
        text = "no column names like LASI_x, LASI_y, LASI_z; write a column map and give it with --columns"
        raise CondyleError(text, code="missing-column", line=table.names_line)
    wanted = [column for marker in markers for column in marker.position]
    values, _, cut = table.read(wanted if found.time is None else [*wanted, found.time])
    unit, rate = table.unit, table.rate
    facts = {"length": unit or "not stated", "markers": str(len(markers))}
    if skipped := sum(bool(thing.rotation) for thing in found.things):
        facts["orientations"] = f"{skipped} in the file, not used"
    if rate is not None:
        facts["rate"] = f"{rate:g} Hz"
    return Recording(
        markers=Markers(
            tuple(marker.name for marker in markers),
            hide_zeros(values[:, : len(wanted)].reshape(len(values), len(markers), 3)),
        ),
        time=None if found.time is None else values[:, -1] * TIME_UNITS[found.time_unit or "s"],
        rate=None if found.time is not None else rate,
        convention=Convention(unit=unit, stated=frozenset({"unit"} if unit else ())),
        facts=facts,
        findings=tuple(describe_truncation(len(values), None, cut)),
    )


def _is_markers(found: ColumnMeaning) -> bool:
    """Every column is known, and nothing has a position and an orientation: that would be a body."""
    named = all(marker.name for marker in found.markers)
    return (
        len(found.markers) >= FEWEST_MARKERS and named and not found.bodies and not found.rest and found.sensor is None
    )


FORMAT = Format("marker-table", "table of markers", looks_like, read, certain=False)
