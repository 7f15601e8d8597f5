"""OptiTrack Motive's CSV: rigid bodies, skeleton bones and markers; docs/formats/motive.md describes it.

Tracking Tools and the first Motive wrote another CSV, which `_tracking_tools` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError
from ...maths.arrays import Floats, Ints
from ...model.recording import EULER_ORDERS, QUATERNIONS, Bodies, Convention, Markers, Recording, matrices
from ...model.take import OwnSkeleton
from ...model.units import METRES, metres_per
from ..format import Format, ReadOptions
from ..tables.rows import _cells, in_columns, parse_rows, truncation
from ..tables.text import decode, head_lines, read_text
from ._tracking_tools import is_old, read_old

TITLE_ROWS = ("type", "name", "id", "parent")
BODY_TYPES = ("rigid body", "bone", "rigid body bone")
MODEL_MARKERS = ("rigid body marker", "bone marker", "skeleton marker")  # where the model expects them: not measured
HEADER_LINES = 40  # the row of column names is looked for in so many lines
LOOSEST = 0.001  # m: a bone whose joint wanders more than this in its parent's frame has no constant offset


@dataclass
class _Thing:
    """One rigid body, bone or marker: what the rows above say of it, and the column of each of its numbers."""

    kind: str
    name: str
    identity: str
    parent: str | None
    columns: dict[tuple[str, str], int] = field(default_factory=dict)

    def at(self, part: str, axes: str) -> list[int] | None:
        """Columns of `part` ("rotation", "position") along these axes, or None where one is not there."""
        found = [self.columns.get((part, axis)) for axis in axes]
        return None if None in found else [column for column in found if column is not None]


def looks_like(head: bytes) -> bool:
    """The first cell is `Format Version` and columns of frames follow, or the lines are `info` and `frame` records."""
    lines = head_lines(head)
    if not lines:
        return False
    if re.match(r'"?Format Version"?[,;\t]', lines[0]):
        return True
    return is_old(lines)


def read(path: Path, options: ReadOptions) -> Recording:
    """Rigid bodies, bones and markers as they stand in the columns; an empty cell is a pose not seen."""
    text = read_text(path)
    if is_old(decode(text[:65536]).split("\n")):
        return read_old(path, text)
    separator, facts, titles, columns, start, line = _header(text)
    things = _things(titles, columns, line - 1)
    space = facts.get("coordinate space", "global")
    if space.lower() == "local":
        raise CondyleError(
            "these poses are relative to the parent bone (Coordinate Space is Local); "
            "export again with World or Global coordinates",
            code="local-poses",
            line=1,
        )
    rows = text[start:]
    first = re.search(rb"\S[^\n]*", rows)
    decimal_comma = separator != b"," and first is not None and b"," in first[0] and b"." not in first[0]
    for k, column in enumerate(columns[:4]):
        if column.lower() == "timecode":
            rows = _blanked(rows, k, separator)
    values, cut = parse_rows(rows, columns, line=line, separator=separator, decimal_comma=decimal_comma)
    if not len(values):
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=line)
    convention = _convention(facts)
    solid = [thing for thing in things if thing.kind in BODY_TYPES and thing.at("position", "XYZ")]
    bodies, convention = _bodies(values, solid, convention, line - 1)
    markers, left_out = _markers(values, things)
    if bodies is None and markers is None:
        raise CondyleError("no rigid body, bone or marker among the columns", code="no-data", line=line - 1)
    bones = [thing for thing in solid if thing.kind == "bone"]
    declared = facts.get("total exported frames", "")
    count = int(declared) if re.fullmatch(r"\d{1,12}", declared) else None
    if left_out:
        facts["markers of the model"] = f"{left_out}, not read: they are computed from the poses"
    return Recording(
        str(path),
        "motive",
        bodies=bodies,
        markers=markers,
        time=_time(values, columns, line),
        rate=_rate(facts),
        convention=convention,
        facts=_for_people(facts, convention, bodies),
        findings=tuple(truncation(len(values), count, cut)),
        solved_by="Motive" if bones else None,
        own=_own(bodies, bones, solid, convention) if bodies is not None and bones else None,
    )


def _header(text: bytes) -> tuple[bytes, dict[str, str], dict[str, list[str]], list[str], int, int]:
    """Separator, facts of the first line, title rows by name, column names, byte and 1-based line of the first row."""
    lines: list[bytes] = []
    start = 0
    for number in range(1, HEADER_LINES + 1):
        end = text.find(b"\n", start)
        raw = text[start : len(text) if end < 0 else end]
        start = len(text) if end < 0 else end + 1
        if re.match(rb'[\s",;]*Frame"?\s*[,;\t]', raw, re.IGNORECASE):
            break
        lines.append(raw)
        if end < 0:
            raise CondyleError(
                "the file ends in its header: no row 'Frame, Time, ...' of column names", code="no-data", line=number
            )
    else:
        raise CondyleError(
            f"no row 'Frame, Time, ...' of column names in the first {HEADER_LINES} lines", code="bad-header", line=1
        )
    mark = re.search(rb"[,;\t]", raw)
    separator = mark[0] if mark else b","
    columns = [cell.strip() for cell in _cells(raw, separator)]
    titles = _titles(lines[1:], separator)
    # Old files leave the name of an error column empty: the rows above tell that it is there.
    used = [
        k for row in (columns, titles.get("type", []), titles.get("part", [])) for k, cell in enumerate(row) if cell
    ]
    columns = (columns + [""] * (max(used) + 1))[: max(used) + 1]
    first = [cell.strip() for cell in _cells(lines[0], separator)] if lines else []
    facts = {first[k].lower(): first[k + 1] for k in range(0, len(first) - 1, 2) if first[k]}
    return separator, facts, titles, columns, start, number + 1


def _titles(lines: Sequence[bytes], separator: bytes) -> dict[str, list[str]]:
    """The rows above the column names: type, name, id, parent and part (Rotation, Position). Old files name no row."""
    rows = [[cell.strip() for cell in _cells(raw, separator)] for raw in lines]
    rows = [row for row in rows if any(row)]
    titles: dict[str, list[str]] = {}
    for row in rows:
        label = next((cell.lower() for cell in row[:2] if cell), "")
        if label in TITLE_ROWS:
            titles[label] = row
    left = [row for row in rows if not any(row is known for known in titles.values())]
    if left:
        titles["part"] = left.pop()
    for name, row in zip([name for name in TITLE_ROWS if name not in titles], left, strict=False):
        titles[name] = row
    return titles


def _things(titles: dict[str, list[str]], columns: Sequence[str], line: int) -> list[_Thing]:
    """Runs of columns that belong together, in the order of the file."""
    missing = [name for name in ("type", "name", "part") if name not in titles]
    if missing:
        raise CondyleError(
            f"no row above the column names says the {' and the '.join(missing)} of each column",
            code="bad-header",
            line=line,
        )

    def said(row: str, k: int) -> str:
        cells = titles.get(row, ())
        return cells[k] if k < len(cells) else ""

    things: list[_Thing] = []
    for k, axis in enumerate(columns):
        kind, name, part = said("type", k).lower(), said("name", k), said("part", k).lower()
        if k == 0 or not kind or kind == "type":
            continue
        key = (part, axis.upper())
        last = things[-1] if things else None
        if last is None or (last.kind, last.name, last.identity) != (kind, name, said("id", k)) or key in last.columns:
            last = _Thing(kind, name, said("id", k), said("parent", k) if "parent" in titles else None)
            things.append(last)
        last.columns[key] = k
    return things


def _convention(facts: dict[str, str]) -> Convention:
    """What the first line says; a right-handed world with y up is Motive's custom and not said."""
    stated = set()
    unit = facts.get("length units")
    if unit:
        try:
            metres = metres_per(unit)
        except UsageError as error:
            raise CondyleError(error.text, code=error.code, line=1) from None
        unit = next((name for name, length in METRES.items() if length == metres), unit)
        stated.add("unit")
    kind = facts.get("rotation type", "")
    order = re.sub(r"[^XYZ]", "", kind.upper().replace("EULER", ""))
    if kind and order not in EULER_ORDERS and kind.lower() != "quaternion":
        raise CondyleError(f"the rotation type '{kind}' is not known", code="bad-header", line=1)
    if kind:
        stated.add("rotation")
    rotation = "xyzw" if kind.lower() in ("quaternion", "") else order
    return Convention(rotation, unit=unit or None, up="y", stated=frozenset(stated))


def _bodies(
    values: Floats, solid: Sequence[_Thing], convention: Convention, line: int
) -> tuple[Bodies | None, Convention]:
    """The poses. The columns decide between quaternion and angles where the header is silent or wrong."""
    names: dict[str, None] = {}
    places: list[list[int]] = []
    turns: list[list[int]] = []
    if solid and convention.rotation in QUATERNIONS and all(thing.at("rotation", "XYZW") is None for thing in solid):
        convention = convention.but(rotation="XYZ", stated=convention.stated - {"rotation"})
    axes = "XYZW" if convention.rotation in QUATERNIONS else convention.rotation
    for thing in solid:
        place, turn = thing.at("position", "XYZ"), thing.at("rotation", axes)
        if place is None or turn is None:
            text = f"'{thing.name}' has no rotation {' '.join(axes)}"
            raise CondyleError(text, code="missing-column", line=line, body=thing.name)
        if thing.name in names:
            text = f"a second {thing.kind} '{thing.name}'"
            raise CondyleError(text, code="duplicate-name", line=line, column=place[0] + 1)
        names[thing.name] = None
        places.append(place)
        turns.append(turn)
    if not names:
        return None, convention
    return Bodies(tuple(names), in_columns(values, places), in_columns(values, turns)), convention


def _markers(values: Floats, things: Sequence[_Thing]) -> tuple[Markers | None, int]:
    """The measured markers, or those of the model where none were exported; and how many of the model were left out."""
    measured = [thing for thing in things if thing.kind == "marker" and thing.at("position", "XYZ")]
    model = [thing for thing in things if thing.kind in MODEL_MARKERS and thing.at("position", "XYZ")]
    taken = measured or model
    if not taken:
        return None, 0
    columns = [thing.at("position", "XYZ") or [] for thing in taken]
    names = _unique([thing.name for thing in taken])
    return Markers(names, in_columns(values, columns)), len(model) if measured else 0


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names; one that comes again (Motive splits trajectories) gets a number."""
    count: dict[str, int] = {}
    taken = set(names)
    out = []
    for name in names:
        count[name] = count.get(name, 0) + 1
        new = name
        while count[name] > 1 and new in taken:
            new = f"{name} ({count[name]})"
            count[name] += new in taken
        taken.add(new)
        out.append(new)
    return tuple(out)


def _own(
    bodies: Bodies, bones: Sequence[_Thing], solid: Sequence[_Thing], convention: Convention
) -> OwnSkeleton | None:
    """The skeleton of the Parent row, with each bone's constant place in its parent; None where it is not constant."""
    names = [bone.name for bone in bones]
    where = {name: k for k, name in enumerate(names)}
    if not any(bone.parent in where for bone in bones):
        return None
    parent = np.array([where.get(bone.parent or "", -1) for bone in bones])
    if not _is_forest(parent):
        return None
    rows = [k for k, thing in enumerate(solid) if thing.kind == "bone"]
    R, _ = matrices(bodies.orientation[:, rows], convention)
    p = bodies.position[:, rows]
    child = np.flatnonzero(parent >= 0)
    with np.errstate(invalid="ignore"):
        offset = np.einsum("nkji,nkj->nki", R[:, parent[child]], p[:, child] - p[:, parent[child]])
    seen = np.isfinite(offset).all(axis=(1, 2))
    if not seen.any():
        return None
    middle = np.median(offset[seen], axis=0)
    loose = LOOSEST / metres_per(convention.unit or "m")
    if np.abs(offset[seen] - middle).max() > loose:
        return None
    place = np.zeros((len(names), 3))
    place[child] = middle
    return OwnSkeleton(tuple(names), parent, place)


def _is_forest(parent: Ints) -> bool:
    at = parent
    for _ in range(len(parent).bit_length()):  # twice as many generations up in each round
        at = np.where(at >= 0, at[at], -1)
    return bool((at < 0).all())


def _time(values: Floats, columns: Sequence[str], line: int) -> Floats | None:
    column = next((k for k, name in enumerate(columns) if name.lower().startswith("time (s")), None)
    if column is None:
        return None
    time = values[:, column]
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time)))
        raise CondyleError("no time in this row", code="bad-time", line=line + row, column=column + 1, frame=row)
    return time


def _rate(facts: dict[str, str]) -> float | None:
    for key in ("export frame rate", "capture frame rate"):
        if re.fullmatch(r"\d{1,9}(\.\d*)?", facts.get(key, "")) and float(facts[key]) > 0:
            return float(facts[key])
    return None


def _blanked(rows: bytes, column: int, separator: bytes) -> bytes:
    """The rows without what stands in one column: time codes are no numbers."""
    mark = re.escape(separator)
    return re.sub(rb"(?m)^((?:[^" + mark + rb"\n]*" + mark + rb"){%d})[^" % column + mark + rb"\n]*", rb"\1", rows)


def _for_people(facts: dict[str, str], convention: Convention, bodies: Bodies | None) -> dict[str, str]:
    told = {"program": "Motive", "format version": facts.get("format version", "not stated")}
    for key in ("take name", "export frame rate", "coordinate space", "markers of the model"):
        if facts.get(key):
            told[key] = facts[key]
    told["length"] = convention.unit or "not stated"
    if bodies is not None:
        told["rotation"] = str(convention)
    return told


FORMAT = Format("motive", "OptiTrack Motive CSV", looks_like, read)
