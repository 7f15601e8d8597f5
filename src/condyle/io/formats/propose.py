"""A column map for a table that no format knows: from the names of its columns, else from the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import list_some, many
from ...maths.arrays import Floats
from ...model.recording import QUATERNIONS
from ...model.values import dataclass
from ..tables.guess import find_quaternions, find_time_unit, guess
from ..tables.rows import read_number
from ..tables.table import TRUTHS, Table, find_table
from ..tables.text import first_block, to_utf8, unify_line_ends
from ..tables.vocabulary import TIME_UNITS, ColumnMeaning, Thing, read_column_name, read_column_names, read_named_order
from ..toml_file import spell_key, spell_value

PROPOSED_FROM_BYTES = 2**21  # of a file that are looked at
PROPOSED_FROM_ROWS = 5000
ANGLES_NOTE = "the order of the angles cannot be told from their numbers; try others"
UNITY_NOTE = "Unity's, as the columns are called; without the mark it is not compared with the motion"
NAMED_NOTE = "as the columns are named; without the mark it is not compared with the motion"
FLAT_NOTE = (
    "the column names speak of points of less than three coordinates, such as {name}; positions in space are needed"
)
ORDER_NOTE = 'the order of a quaternion cannot be told from one column group: compare the fit with "{other}"'


@dataclass(frozen=True)
class MapProposal:
    """A column map as TOML, or None where none can be proposed, and what that is based on, one sentence each."""

    toml: str | None
    reasons: tuple[str, ...]


@dataclass
class _Draft:
    """Lines of the map in the making, and what they are based on."""

    table: Table
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def column(self, k: int) -> str:
        """How a 0-based column is called in the map."""
        name = self.table.names[k]
        return spell_value(name) if name and self.table.names.count(name) == 1 else str(k + 1)

    def columns(self, ks: Sequence[int]) -> str:
        return "[" + ", ".join(self.column(k) for k in ks) + "]"

    def add_thing(self, name: str, position: Sequence[int], rotation: Sequence[int]) -> None:
        key = spell_key(name)
        if not rotation:
            self.body.append(f"markers.{key} = {self.columns(position)}")
            return
        self.body += ["", f"[bodies.{key}]", f"position = {self.columns(position)}"]
        self.body.append(f"orientation = {self.columns(rotation)}")

    def add_unit(self) -> None:
        unit = self.table.unit
        if unit is not None:
            self.head.append(f"unit = {spell_value(unit)}")
            self.reasons.append(f"the file says that lengths are in {unit}")
        else:
            self.head.append('# unit = "mm"  # not stated: give it if you know it')

    def add_rotation(self, kind: str, word: str, turns: Floats, *, as_in_unity: bool = False) -> None:
        """The line `rotation`; commented out where only the motion can tell it, so that it does not count as given."""
        if kind == "matrix":
            self.head.append(f'rotation = "{kind}"')
        elif kind in QUATERNIONS:
            self.head.append(f'# rotation = "{kind}"  # {NAMED_NOTE}')
        elif kind in ("quaternion", "q0123"):
            first, other = ("wxyz", "xyzw") if kind == "q0123" else ("xyzw", "wxyz")
            self.head.append(f'# rotation = "{first}"  # {ORDER_NOTE.format(other=other)}')
        else:
            largest = float(np.nanmax(np.abs(turns), initial=0.0))
            degrees = largest > 2 * np.pi + 0.1
            order, note = "ZYX", NAMED_NOTE if word == "turns" else ANGLES_NOTE
            if as_in_unity:
                order, note = "YXZ", UNITY_NOTE
            self.head.append(f'# rotation = "{order}"  # {note}')
            doubt = "" if degrees else "  # none exceeds two pi; angles in degrees could be small"
            self.head.append(f"degrees = {str(degrees).lower()}{doubt}")
            self.reasons.append(f"the largest angle is {largest:.4g}: {'degrees' if degrees else 'radians'}")

    def add_time(self, column: int | None, unit: str | None, values: Floats, long: bool) -> None:
        if column is None:
            unknown = "# rate = 100  # no column of time was found: give the rate in Hz"
            self.head.append(f"rate = {self.table.rate:g}" if self.table.rate else unknown)
            return
        time = values[:, column]
        self.head.append(f"time = {self.column(column)}")
        if unit is None and np.isfinite(time).all():
            unit = find_time_unit(time)
            if unit is not None:
                step = float(np.median(np.diff(np.unique(time)))) * TIME_UNITS[unit]
                self.reasons.append(f"time in {unit}" + ("" if long else f" gives {1 / step:.4g} frames per second"))
        if unit not in (None, "s"):
            self.head.append(f'time_unit = "{unit}"')

    def proposal(self) -> MapProposal:
        return MapProposal("\n".join([*self.head, *self.body]) + "\n", tuple(self.reasons))


def propose(path: str | Path) -> MapProposal | None:
    """What the columns of a table could be; None where the file holds no table of numbers. Raises OSError only."""
    with open(path, "rb") as stream:
        raw = stream.read(PROPOSED_FROM_BYTES)
    text = unify_line_ends(to_utf8(raw))
    if b"\x00" in text:
        return None
    if len(raw) == PROPOSED_FROM_BYTES:
        text = text[: text.rfind(b"\n") + 1]
    table = find_table(text)
    values = None if table is None else _read_numbers(table)
    if table is None or values is None or len(values) == 0:
        return None
    if len(table.names) < 3 and text.lstrip().startswith((b"{", b"[")):  # numbers on lines of their own in JSON
        return None
    if len(table.names) < 3:
        return MapProposal(None, (_describe_narrow(values),))
    names = read_column_names(table.names)
    is_named = names.bodies or (names.markers and not find_quaternions(values, names.rest))
    propose_by = _propose_by_names if is_named else _propose_by_numbers
    return propose_by(table, names, values, Path(path).stem)


def _read_numbers(table: Table) -> Floats:
    """(n, columns) of the first rows; NaN throughout for a column that is no number.

    Nothing where a row before the last has more or fewer cells.
    """
    part = replace(
        table, rows=b"\n".join(first_block(table.rows).split(b"\n", PROPOSED_FROM_ROWS)[:PROPOSED_FROM_ROWS]) + b"\n"
    )
    try:
        return part.numbers()[0]
    except CondyleError as error:
        rows, width = part.cells(PROPOSED_FROM_ROWS) if error.code != "no-data" else [], len(table.names)
    if rows and len(rows[-1]) != width:
        del rows[-1]
    if any(len(row) != width for row in rows):
        rows = []
    values = np.full((len(rows), width), np.nan)
    for k in range(width):
        cells = [TRUTHS.get(row[k].strip().lower(), row[k]) for row in rows]
        column = [read_number(cell, bool(table.decimal_comma)) for cell in cells]
        if None not in column:
            values[:, k] = column
    return values


def _describe_narrow(values: Floats) -> str:
    count = "a single column" if values.shape[1] == 1 else "two columns"
    if values.shape[1] == 1 and len(values) > 2 and (np.diff(values[:, 0]) > 0).all():
        return "a single column of numbers that increase: a clock without poses"
    return f"{count} of numbers: joint angles need a kinematic model, and a pose has at least six numbers"


def _propose_by_names(table: Table, names: ColumnMeaning, values: Floats, stem: str) -> MapProposal:
    draft = _Draft(table)
    things = names.bodies or names.markers
    as_in_unity = all(thing.kind == "angles" and thing.is_unitys for thing in things)
    if as_in_unity:
        things = tuple(_order_angles(thing) for thing in things)
    count = "1 body" if len(things) == 1 else f"{len(things)} bodies"
    if not names.bodies:
        count = many(len(things), "marker")
    draft.reasons.append(f"the column names speak of {count}")
    draft.add_unit()
    kinds = {thing.kind for thing in things if thing.rotation}
    if len(kinds) > 1:
        return MapProposal(None, ("the bodies have rotations of different kinds, " + " and ".join(sorted(kinds)),))
    if kinds:
        turns = values[:, [k for thing in things for k in thing.rotation]]
        draft.add_rotation(kinds.pop(), things[0].word, turns, as_in_unity=as_in_unity)
        if as_in_unity:
            draft.head += ['handed = "left"', 'up = "y"']
            draft.reasons.append("position and rotation are called as in Unity, whose world is left-handed with y up")
    long = names.sensor is not None and len(things) == 1 and not things[0].name
    draft.add_time(names.time, names.time_unit, values, long)
    if long and names.sensor is not None:
        for key, column in (("sensor", names.sensor), ("frame", names.frame), ("valid", names.valid)):
            if column is not None:
                draft.head.append(f"{key} = {draft.column(column)}")
        draft.head.append(f"position = {draft.columns(things[0].position)}")
        if things[0].rotation:
            draft.head.append(f"orientation = {draft.columns(things[0].rotation)}")
        draft.reasons.append(f"column {table.labels[names.sensor]} says of which sensor a row is")
        return draft.proposal()
    for thing in things:
        name = thing.name or stem
        draft.add_thing(f"sensor{name}" if name.isdigit() else name, thing.position, thing.rotation)
    chosen = {thing.name for thing in things}
    left = [label for k in names.rest if (label := table.labels[k])]
    left += [thing.name for thing in names.things if thing.name not in chosen]
    if left:
        draft.reasons.append("not used: " + list_some(left, 8, " ..."))
    return draft.proposal()


def _order_angles(thing: Thing) -> Thing:
    """The thing with its angles about Z, Y and X in the order in which Unity turns, about Y, X and Z."""
    z, y, x = thing.rotation
    return replace(thing, rotation=(y, x, z))


def _propose_by_numbers(table: Table, names: ColumnMeaning, values: Floats, stem: str) -> MapProposal:
    found = guess(values, names.time)
    if isinstance(found, str):
        return MapProposal(None, (found,))
    if (flat := _find_flat_point(table.names, found.poses)) is not None:
        return MapProposal(None, (FLAT_NOTE.format(name=flat),))
    draft = _Draft(table)
    draft.reasons += found.reasons
    draft.add_unit()
    if found.kind:
        orders = {read_named_order([table.names[k] for k in pose.rotation]) for pose in found.poses}
        named = orders.pop() if len(orders) == 1 and found.kind == "quaternion" else ""
        kind = named if named in QUATERNIONS else found.kind
        draft.add_rotation(kind, "", values[:, [k for pose in found.poses for k in pose.rotation]])
    draft.add_time(found.time if names.time is None else names.time, names.time_unit, values, False)
    for k, pose in enumerate(found.poses):
        name = stem if len(found.poses) == 1 else f"{'body' if found.kind else 'marker'}{k + 1}"
        draft.add_thing(name, pose.position, pose.rotation)
    return draft.proposal()


def _find_flat_point(names: Sequence[str], poses: Sequence[Thing]) -> str | None:
    """Whose x and y some of the columns are by their names, without a z, where markers are cut out of columns across
    what the names say; None where no names contradict.
    """
    for pose in poses:
        parts = [read_column_name(names[k]) for k in pose.position]
        owners = [part.owner for part in parts if part is not None and part.owner]
        if not pose.rotation and len(set(owners)) > 1:
            return owners[0]
    return None
