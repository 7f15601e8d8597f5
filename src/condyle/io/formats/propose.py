"""A column map for a table that no format knows: from the names of its columns, else from the numbers in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ..tables.guess import Guess, Pose, guess
from ..tables.sheet import Sheet, _raw_cells, find_sheet
from ..tables.text import line_feeds, to_utf8
from ..tables.vocabulary import Meaning, meaning_of
from .marker_table import rate_of, unit_of
from .vr import plausible_time_unit

BYTES = 2**21  # of a file that are looked at
ROWS = 5000
ANGLES_NOTE = "the order of the angles cannot be told from their numbers; try others"
ORDER_NOTE = 'the order of a quaternion cannot be told from one column group: compare the fit with "{other}"'


@dataclass(frozen=True)
class Proposal:
    """A column map as TOML, or None where none can be proposed, and what that is based on, one sentence each."""

    toml: str | None
    reasons: tuple[str, ...]


@dataclass
class _Draft:
    """Lines of the map in the making. columns: how a 0-based column is called in the map."""

    sheet: Sheet
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = Counter(self.sheet.names)

    def column(self, k: int) -> str:
        name = self.sheet.names[k]
        return _quoted(name) if name and self.counts[name] == 1 else str(k + 1)

    def columns(self, ks: Sequence[int]) -> str:
        return "[" + ", ".join(self.column(k) for k in ks) + "]"

    def proposal(self) -> Proposal:
        return Proposal("\n".join([*self.head, *self.body]) + "\n", tuple(self.reasons))


def propose(path: str | Path) -> Proposal | None:
    """What the columns of a table could be; None where the file holds no table of numbers. Raises OSError only."""
    with open(path, "rb") as stream:
        raw = stream.read(BYTES)
    text = line_feeds(to_utf8(raw))
    if b"\x00" in text:
        return None
    if len(raw) == BYTES:
        text = text[: text.rfind(b"\n") + 1]
    sheet = find_sheet(text)
    values = None if sheet is None else _numbers(sheet)
    if sheet is None or values is None or len(values) == 0:
        return None
    if len(sheet.names) < 3:
        return Proposal(None, (_too_narrow(values),))
    names = meaning_of(sheet.names)
    stem = Path(path).stem
    if names.bodies or names.markers:
        return _by_names(sheet, names, values, stem)
    return _by_numbers(sheet, names, values, stem)


def _numbers(sheet: Sheet) -> Floats | None:
    """(n, columns) of the first rows; NaN throughout for a column that is no number."""
    rows = sheet.rows.split(b"\n", ROWS)[:ROWS]
    part = replace(sheet, rows=b"\n".join(rows) + b"\n")
    try:
        return part.read(range(len(sheet.names)))[0]
    except CondyleError:
        return _column_by_column(part)


def _column_by_column(sheet: Sheet) -> Floats:
    """The same where some columns are no numbers; nothing where a row before the last has more or fewer cells."""
    width = len(sheet.names)
    rows = [_raw_cells(raw, sheet.separator) for raw in sheet.rows.split(b"\n") if raw.strip()]
    rows = [row[:-1] if len(row) == width + 1 and not row[-1].strip() else row for row in rows]
    if rows and len(rows[-1]) != width:
        del rows[-1]
    values = np.full((len(rows), width), np.nan)
    if any(len(row) != width for row in rows):
        return values[:0]
    for k in range(width):
        try:
            values[:, k] = [_number(row[k], sheet.decimal_comma) for row in rows]
        except ValueError:  # words: NaN throughout
            values[:, k] = np.nan
    return values


def _number(cell: bytes, decimal_comma: bool) -> float:
    """The number in a cell, NaN where it is empty; raises ValueError at a word."""
    plain = cell.strip().strip(b'"').lower()
    if plain in (b"", b"null"):
        return np.nan
    if plain in (b"true", b"false"):
        return float(plain == b"true")
    return float(plain.replace(b",", b".") if decimal_comma else plain)


def _too_narrow(values: Floats) -> str:
    count = "a single column" if values.shape[1] == 1 else "two columns"
    if values.shape[1] == 1 and len(values) > 2 and (np.diff(values[:, 0]) > 0).all():
        return "a single column of numbers that increase: a clock without poses"
    return f"{count} of numbers: joint angles need a kinematic model, and a pose has at least six numbers"


def _by_names(sheet: Sheet, names: Meaning, values: Floats, stem: str) -> Proposal:
    draft = _Draft(sheet)
    things = names.bodies or names.markers
    draft.reasons.append(f"the column names speak of {len(things)} {'bodies' if names.bodies else 'markers'}")
    _add_unit(draft)
    kinds = {thing.kind for thing in things if thing.rotation}
    if len(kinds) > 1:
        return Proposal(None, ("the bodies have rotations of different kinds, " + " and ".join(sorted(kinds)),))
    if kinds:
        turns = values[:, [k for thing in things for k in thing.rotation]]
        _add_rotation(draft, kinds.pop(), things[0].word, turns)
    long = names.sensor is not None and len(things) == 1 and not things[0].name
    _add_time(draft, names.time, names.time_unit, values, long)
    table = "bodies" if names.bodies else "markers"
    if long and names.sensor is not None:
        draft.head.append(f"sensor = {draft.column(names.sensor)}")
        if names.frame is not None:
            draft.head.append(f"frame = {draft.column(names.frame)}")
        if names.valid is not None:
            draft.head.append(f"valid = {draft.column(names.valid)}")
        draft.head.append(f"position = {draft.columns(things[0].position)}")
        if things[0].rotation:
            draft.head.append(f"orientation = {draft.columns(things[0].rotation)}")
        draft.reasons.append(f"column {sheet.labels[names.sensor]} says of which sensor a row is")
        return draft.proposal()
    for thing in things:
        name = thing.name or stem
        name = f"sensor{name}" if name.isdigit() else name
        if table == "markers":
            draft.body.append(f"markers.{_key(name)} = {draft.columns(thing.position)}")
            continue
        draft.body += ["", f"[bodies.{_key(name)}]", f"position = {draft.columns(thing.position)}"]
        draft.body.append(f"orientation = {draft.columns(thing.rotation)}")
    left = [sheet.labels[k] for k in names.rest if sheet.labels[k]]
    chosen = {thing.name for thing in things}
    alone = [thing.name for thing in names.things if thing.name not in chosen]
    if left or alone:
        draft.reasons.append(
            "not used: " + ", ".join([*left, *alone][:8]) + (" ..." if len(left) + len(alone) > 8 else "")
        )
    return draft.proposal()


def _by_numbers(sheet: Sheet, names: Meaning, values: Floats, stem: str) -> Proposal:
    found = guess(values, names.time)
    if isinstance(found, str):
        return Proposal(None, (found,))
    draft = _Draft(sheet)
    draft.reasons += found.reasons
    _add_unit(draft)
    if found.kind:
        turns = values[:, [k for pose in found.poses for k in pose.rotation]]
        _add_rotation(draft, {"quaternion": "four"}.get(found.kind, found.kind), "", turns)
    _add_time(draft, found.time if names.time is None else names.time, names.time_unit, values, False)
    for k, pose in enumerate(found.poses):
        _add_pose(draft, found, pose, stem if len(found.poses) == 1 else f"{'body' if found.kind else 'marker'}{k + 1}")
    return draft.proposal()


def _add_pose(draft: _Draft, found: Guess, pose: Pose, name: str) -> None:
    if not found.kind:
        draft.body.append(f"markers.{_key(name)} = {draft.columns(pose.position)}")
        return
    draft.body += ["", f"[bodies.{_key(name)}]", f"position = {draft.columns(pose.position)}"]
    draft.body.append(f"orientation = {draft.columns(pose.rotation)}")


def _add_unit(draft: _Draft) -> None:
    unit = unit_of(draft.sheet)
    if unit is not None:
        draft.head.append(f"unit = {_quoted(unit)}")
        draft.reasons.append(f"the file says that lengths are in {unit}")
    else:
        draft.head.append('# unit = "mm"  # not stated: give it if you know it')


def _add_rotation(draft: _Draft, kind: str, word: str, turns: Floats) -> None:
    """The line `rotation`; commented out where the numbers cannot tell it, so that it does not count as given."""
    if kind == "wxyz":
        draft.head.append('rotation = "wxyz"')
    elif kind == "matrix":
        draft.head.append('rotation = "matrix"')
    elif kind in ("four", "q0123"):
        first, other = ("wxyz", "xyzw") if kind == "q0123" else ("xyzw", "wxyz")
        note = ORDER_NOTE.format(other=other)
        draft.head.append(f'{"" if kind == "q0123" else "# "}rotation = "{first}"  # {note}')
    else:
        known = word == "turns"
        largest = float(np.nanmax(np.abs(turns), initial=0.0))
        degrees = largest > 2 * np.pi + 0.1
        draft.head.append('rotation = "ZYX"' if known else f'# rotation = "ZYX"  # {ANGLES_NOTE}')
        doubt = "" if degrees else "  # none exceeds two pi; angles in degrees could be small"
        draft.head.append(f"degrees = {str(degrees).lower()}{doubt}")
        draft.reasons.append(f"the largest angle is {largest:.4g}: {'degrees' if degrees else 'radians'}")


def _add_time(draft: _Draft, column: int | None, unit: str | None, values: Floats, long: bool) -> None:
    if column is None:
        rate = rate_of(draft.sheet.comments)
        draft.head.append(
            f"rate = {rate:g}" if rate else "# rate = 100  # no column of time was found: give the rate in Hz"
        )
        return
    time = values[:, column]
    draft.head.append(f"time = {draft.column(column)}")
    if unit is None and np.isfinite(time).all():
        unit = plausible_time_unit(time)
        if unit is not None:
            why = "" if long else f" gives {1 / _median_step(time, unit):.4g} frames per second"
            draft.reasons.append(f"time in {unit}{why}")
    if unit not in (None, "s"):
        draft.head.append(f'time_unit = "{unit}"')


def _median_step(time: Floats, unit: str) -> float:
    from ..tables.column_map import TIME_UNITS

    return float(np.median(np.diff(np.unique(time)))) * TIME_UNITS[unit]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A TOML string; what a terminal or TOML would choke on is escaped."""
    return json.dumps(text)
