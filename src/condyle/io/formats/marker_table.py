"""Tables of marker positions with a row of column names: `LASI_x, LASI_y, LASI_z, ...`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError
from ...model.recording import Convention, Markers, Recording
from ...model.units import metres_per
from ..format import Format, ReadOptions
from ..tables.column_map import TIME_UNITS
from ..tables.rows import truncation
from ..tables.sheet import Sheet, find_sheet, titled_sheet
from ..tables.text import read_text
from ..tables.vocabulary import Meaning, length_unit, meaning_of

FEWEST = 3  # markers; fewer make no body
_RATE = re.compile(
    r"(?i)\b(?:(?:sampling|sample|capture|frame|camera|recording|data)[\s_]*)?(?:rate|frequency|freq|fps)\b"
    r"[^\d\n]{0,20}?(\d+(?:\.\d+)?)"
)
_UNIT = re.compile(
    r"(?i)\b(mm|cm|m|inch(?:es)?|in|milli(?:meter|metre)s?|centi(?:meter|metre)s?|meters?|metres?)\b(?!\s*/\s*s)"
)


def looks_like(head: bytes) -> bool:
    """Below comments a row of names, all of x, y and z of things, of a time or of orientations; then numbers."""
    sheet = titled_sheet(head)
    return sheet is not None and _is_markers(meaning_of(sheet.names))


def read(path: Path, options: ReadOptions) -> Recording:
    """The markers; orientations without a position are left out, since the markers tell them better."""
    sheet = find_sheet(read_text(path))
    if sheet is None or not sheet.titled:
        raise CondyleError("holds no row of names above rows of numbers", code="no-data")
    found = meaning_of(sheet.names)
    _check_names(sheet)
    markers = found.markers
    if not markers:
        raise CondyleError(
            "no column names like LASI_x, LASI_y, LASI_z; write a column map and give it with --columns",
            code="missing-column",
            line=sheet.line - 1,
        )
    wanted = [column for marker in markers for column in marker.position]
    if found.time is not None:
        wanted.append(found.time)
    values, _, cut = sheet.read(wanted)
    if len(values) == 0:
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=sheet.line)
    position = values[:, : 3 * len(markers)].reshape(len(values), len(markers), 3)
    position = np.where((position == 0).all(axis=2, keepdims=True), np.nan, position)  # no marker is in the origin
    unit = unit_of(sheet)
    skipped = sum(bool(thing.rotation) for thing in found.things)
    facts = {"length": unit or "not stated", "markers": str(len(markers))}
    if skipped:
        facts["orientations"] = f"{skipped} in the file, not used"
    rate = rate_of(sheet.comments)
    if rate is not None:
        facts["rate"] = f"{rate:g} Hz"
    return Recording(
        str(path),
        "marker-table",
        markers=Markers(tuple(marker.name for marker in markers), position),
        time=None if found.time is None else values[:, -1] * TIME_UNITS[found.time_unit or "s"],
        rate=None if found.time is not None else rate,
        convention=Convention(unit=unit, stated=frozenset({"unit"} if unit else ())),
        facts=facts,
        findings=tuple(truncation(len(values), None, cut)),
    )


def rate_of(comments: Sequence[str]) -> float | None:
    """[Hz] from a comment such as `sampling frequency: 120`."""
    for comment in comments:
        found = _RATE.search(comment)
        if found and 0 < float(found[1]) < 1e6:
            return float(found[1])
    return None


def unit_of(sheet: Sheet) -> str | None:
    """Unit of length from brackets behind a column's name, or from a comment that speaks of units."""
    for said in [length_unit(name) for name in sheet.names]:
        if said is not None and _is_unit(said):
            return said
    for comment in sheet.comments:
        if re.search(r"(?i)\b(units?|lengths?|positions?)\b", comment) and (found := _UNIT.search(comment)):
            return found[1].lower()
    return None


def _is_markers(found: Meaning) -> bool:
    """Every column is known, and nothing has a position and an orientation: that would be a body."""
    named = all(marker.name for marker in found.markers)
    return len(found.markers) >= FEWEST and named and not found.bodies and not found.rest and found.sensor is None


def _is_unit(said: str) -> bool:
    try:
        metres_per(said)
    except UsageError:
        return False
    return True


def _check_names(sheet: Sheet) -> None:
    known: set[str] = set()
    for k, name in enumerate(sheet.names):
        if name and name in known:
            text = f"a second column '{name[:60]}'"
            raise CondyleError(text, code="duplicate-column", line=sheet.line - 1, column=k + 1)
        known.add(name)


FORMAT = Format("marker-table", "table of markers", looks_like, read, certain=False)
