"""OptiTrack Motive's CSV: rigid bodies, skeleton bones and markers; docs/formats/motive.md describes it.

Tracking Tools and the first Motive wrote another CSV, which `_tracking_tools` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...model.recording import EULER_ORDERS, QUATERNIONS, Bodies, Convention, Markers, Recording, matrices
from ...model.take import OwnSkeleton
from ...model.units import METRES, metres_per
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import check_different, check_unit, number_repeats, read_count, read_positive
from ..tables.rows import describe_truncation, find_separator, read_cells, take_columns
from ..tables.table import Table
from ..tables.text import Text, as_bytes, change_lines, decode, first_block, read_head_lines, read_text, walk_lines
from ._kinematics import is_forest
from ._tracking_tools import is_old, read_old

TITLE_ROWS = ("type", "name", "id", "parent")
BODY_TYPES = ("rigid body", "bone", "rigid body bone")
MODEL_MARKERS = ("rigid body marker", "bone marker", "skeleton marker")  # where the model expects them: not measured
MOTIVE_HEADER_LINES = 40  # the row of column names is looked for in so many lines
LOOSEST_OFFSET_M = 0.001  # m: a bone whose joint wanders more than this in its parent's frame has no constant offset


@dataclass
class _MotiveAsset:
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
    lines = read_head_lines(head)
    if not lines:
        return False
    if re.match(r'"?Format Version"?[,;\t]', lines[0]):
        return True
    return is_old(lines)


def read(path: Path, options: ReadOptions) -> Recording:
    """Rigid bodies, bones and markers as they stand in the columns; an empty cell is a pose not seen."""
    text = read_text(path)
    if is_old(decode(first_block(text, 65536)).split("\n")):
        try:
            whole = as_bytes(text)
        except CondyleError:
            fault = "records of Tracking Tools are read up to the length that the memory holds; export a CSV instead"
            raise CondyleError(fault, code="file-too-large") from None
        return read_old(whole)
    facts, titles, table = _read_header(text)
    assets = _read_assets(titles, table)
    if facts.get("coordinate space", "global").lower() == "local":
        fault = (
            "these poses are relative to the parent bone (Coordinate Space is Local); "
            "export again with World or Global coordinates"
        )
        raise CondyleError(fault, code="local-poses", line=1)
    values, cut = table.numbers()
    convention = _find_convention(facts)
    solid = [asset for asset in assets if asset.kind in BODY_TYPES and asset.at("position", "XYZ")]
    bodies, convention = _read_bodies(values, solid, convention, table.names_line)
    markers, left_out = _read_markers(values, assets)
    if bodies is None and markers is None:
        raise CondyleError("no rigid body, bone or marker among the columns", code="no-data", line=table.names_line)
    bones = [asset for asset in solid if asset.kind == "bone"]
    if left_out:
        facts["markers of the model"] = f"{left_out}, not read: they are computed from the poses"
    clock = next((k for k, name in enumerate(table.names) if name.lower().startswith("time (s")), None)
    rates = (read_positive(facts.get(key, "")) for key in ("export frame rate", "capture frame rate"))
    return Recording(
        bodies=bodies,
        markers=markers,
        time=table.time(values, clock, options.rate),
        rate=next((rate for rate in rates if rate), None),
        convention=convention,
        facts=_describe(facts, convention, bodies),
        findings=tuple(describe_truncation(len(values), read_count(facts.get("total exported frames", "")), cut)),
        solved_by="Motive" if bones else None,
        own=_find_own_skeleton(bodies, bones, solid, convention) if bodies is not None and bones else None,
    )


def _read_header(text: Text) -> tuple[dict[str, str], dict[str, list[str]], Table]:
    """Facts of the first line, title rows by name, and the table below the row of column names."""
    lines: list[bytes] = []
    for number, raw, start in walk_lines(text):  # noqa: B007
        if number > MOTIVE_HEADER_LINES:
            fault = f"no row 'Frame, Time, ...' of column names in the first {MOTIVE_HEADER_LINES} lines"
            raise CondyleError(fault, code="bad-header", line=1)
        if re.match(rb'[\s",;]*Frame"?\s*[,;\t]', raw, re.IGNORECASE):
            break
        lines.append(raw)
    else:
        fault = "the file ends in its header: no row 'Frame, Time, ...' of column names"
        raise CondyleError(fault, code="no-data", line=number)
    separator = find_separator(raw)
    columns = read_cells(raw, separator)
    titles = _read_titles(lines[1:], separator)
    # Old files leave the name of an error column empty: the rows above tell that it is there.
    used = [
        k for row in (columns, titles.get("type", []), titles.get("part", [])) for k, cell in enumerate(row) if cell
    ]
    columns = (columns + [""] * (max(used) + 1))[: max(used) + 1]
    first = read_cells(lines[0], separator) if lines else []
    facts = {first[k].lower(): first[k + 1] for k in range(0, len(first) - 1, 2) if first[k]}
    rows = text[start:]
    for k, column in enumerate(columns[:4]):
        if column.lower() == "timecode":
            rows = _drop_column(rows, k, separator)
    return facts, titles, Table(tuple(columns), rows, number + 1, separator, names_line=number)


def _read_titles(lines: Sequence[bytes], separator: bytes) -> dict[str, list[str]]:
    """The rows above the column names: type, name, id, parent and part (Rotation, Position). Old files name no row."""
    rows = [row for raw in lines if any(row := read_cells(raw, separator))]
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


def _read_assets(titles: dict[str, list[str]], table: Table) -> list[_MotiveAsset]:
    """Runs of columns that belong together, in the order of the file."""
    missing = [name for name in ("type", "name", "part") if name not in titles]
    if missing:
        text = f"no row above the column names says the {' and the '.join(missing)} of each column"
        raise CondyleError(text, code="bad-header", line=table.names_line)

    def said(row: str, k: int) -> str:
        cells = titles.get(row, ())
        return cells[k] if k < len(cells) else ""

    assets: list[_MotiveAsset] = []
    for k, axis in enumerate(table.names):
        kind, name, part = said("type", k).lower(), said("name", k), said("part", k).lower()
        if k == 0 or not kind or kind == "type":
            continue
        key = (part, axis.upper())
        last = assets[-1] if assets else None
        if last is None or (last.kind, last.name, last.identity) != (kind, name, said("id", k)) or key in last.columns:
            last = _MotiveAsset(kind, name, said("id", k), said("parent", k) if "parent" in titles else None)
            assets.append(last)
        last.columns[key] = k
    return assets


def _find_convention(facts: dict[str, str]) -> Convention:
    """What the first line says; a right-handed world with y up is Motive's custom and not said."""
    stated = set()
    unit = facts.get("length units")
    if unit:
        metres = metres_per(check_unit(unit, line=1))
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


def _read_bodies(
    values: Floats, solid: Sequence[_MotiveAsset], convention: Convention, line: int
) -> tuple[Bodies | None, Convention]:
    """The poses. The columns decide between quaternion and angles where the header is silent or wrong."""
    if not solid:
        return None, convention
    if convention.rotation in QUATERNIONS and all(asset.at("rotation", "XYZW") is None for asset in solid):
        convention = convention.but(rotation="XYZ", stated=convention.stated - {"rotation"})
    axes = "XYZW" if convention.rotation in QUATERNIONS else convention.rotation
    places, turns = [asset.at("position", "XYZ") or [] for asset in solid], list[list[int]]()
    for asset in solid:
        turn = asset.at("rotation", axes)
        if turn is None:
            text = f"'{asset.name}' has no rotation {' '.join(axes)}"
            raise CondyleError(text, code="missing-column", line=line, body=asset.name)
        turns.append(turn)
    names = tuple(asset.name for asset in solid)
    check_different(names, solid[0].kind, line, [place[0] + 1 for place in places])
    return Bodies(names, take_columns(values, places), take_columns(values, turns)), convention


def _read_markers(values: Floats, assets: Sequence[_MotiveAsset]) -> tuple[Markers | None, int]:
    """The measured markers, or those of the model where none were exported; and how many of the model were left out."""
    measured = [asset for asset in assets if asset.kind == "marker" and asset.at("position", "XYZ")]
    model = [asset for asset in assets if asset.kind in MODEL_MARKERS and asset.at("position", "XYZ")]
    taken = measured or model
    if not taken:
        return None, 0
    columns = [asset.at("position", "XYZ") or [] for asset in taken]
    names, _ = number_repeats([asset.name for asset in taken], "marker", "{} ({})")  # Motive splits trajectories
    return Markers(names, take_columns(values, columns)), len(model) if measured else 0


def _find_own_skeleton(
    bodies: Bodies, bones: Sequence[_MotiveAsset], solid: Sequence[_MotiveAsset], convention: Convention
) -> OwnSkeleton | None:
    """The skeleton of the Parent row, with each bone's constant place in its parent; None where it is not constant."""
    names = [bone.name for bone in bones]
    where = {name: k for k, name in enumerate(names)}
    if not any(bone.parent in where for bone in bones):
        return None
    parent = np.array([where.get(bone.parent or "", -1) for bone in bones])
    if not is_forest(parent):
        return None
    rows = [k for k, asset in enumerate(solid) if asset.kind == "bone"]
    R, _ = matrices(bodies.orientation[:, rows], convention)
    p = bodies.position[:, rows]
    child = np.flatnonzero(parent >= 0)
    with np.errstate(invalid="ignore"):
        offset = np.einsum("nkji,nkj->nki", R[:, parent[child]], p[:, child] - p[:, parent[child]])
    seen = np.isfinite(offset).all(axis=(1, 2))
    if not seen.any():
        return None
    middle = np.median(offset[seen], axis=0)
    loose = LOOSEST_OFFSET_M / metres_per(convention.unit or "m")
    if np.abs(offset[seen] - middle).max() > loose:
        return None
    place = np.zeros((len(names), 3))
    place[child] = middle
    return OwnSkeleton(tuple(names), parent, place)


def _drop_column(rows: Text, column: int, separator: bytes) -> Text:
    """The rows without what stands in one column: time codes are no numbers."""
    mark = re.escape(separator)
    before = re.compile(rb"(?m)^((?:[^" + mark + rb"\n]*" + mark + rb"){%d})[^" % column + mark + rb"\n]*")
    return change_lines(rows, partial(before.sub, rb"\1"))


def _describe(facts: dict[str, str], convention: Convention, bodies: Bodies | None) -> dict[str, str]:
    shown = {"program": "Motive", "format version": facts.get("format version", "not stated")}
    for key in ("take name", "export frame rate", "coordinate space", "markers of the model"):
        if facts.get(key):
            shown[key] = facts[key]
    shown["length"] = convention.unit or "not stated"
    if bodies is not None:
        shown["rotation"] = str(convention)
    return shown


FORMAT = Format("motive", "OptiTrack Motive CSV", looks_like, read)
