"""OpenSim storage files (STO, MOT): poses of bodies from BodyKinematics, or points; docs/formats/opensim.md.

Coordinates of a model, forces and orientations alone are told apart and refused with the way to poses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError
from ...maths.arrays import Floats
from ...model.recording import Bodies, Convention, Markers, Recording
from ...model.units import metres_per
from ..format import Format, ReadOptions
from ..tables.rows import parse_rows, truncation
from ..tables.text import decode, head_lines, read_text

POSE = ("X", "Y", "Z", "Ox", "Oy", "Oz")
WORLD = "ground"  # older versions record the ground as a body that stands still
TO_POSES = "in OpenSim run the analysis BodyKinematics and give its file ..._pos_global.sto"
_NOT_SEEN = re.compile(rb"(?i)[-+]?(?:nan\(\w*\)|1\.#\w+)")  # how some compilers print a number that is none


@dataclass(frozen=True)
class _Storage:
    """The head of a file, and the rows below it as bytes. line: 1-based line of the first row."""

    name: str
    facts: dict[str, str]
    words: str
    columns: list[str]
    rows: bytes
    line: int


def looks_like(head: bytes) -> bool:
    """A line `endheader`, and below it column names of which the first is time."""
    lines = [line.strip().lower() for line in head_lines(head)]
    if "endheader" not in lines:
        return False
    names = next((line for line in lines[lines.index("endheader") + 1 :] if line), "time")
    return names.split(maxsplit=1)[0] == "time"


def read(path: Path, options: ReadOptions) -> Recording:
    """Bodies where all six columns of a pose are there, markers where cells are points."""
    storage = _storage(read_text(path))
    kind = storage.facts.get("datatype", "double").lower()
    if kind == "vec3":
        return _markers(path, storage)
    if kind == "quaternion":
        raise CondyleError(
            f"holds orientations without positions, and joint centres need both; fit a model first, then {TO_POSES}",
            code="no-positions",
        )
    if kind not in ("double", "float", "int"):
        listed = "double (BodyKinematics) and Vec3 (points)"
        raise CondyleError(f"DataType {kind[:40]} is not read; {listed} are", code="bad-header")
    return _bodies(path, storage)


def _bodies(path: Path, storage: _Storage) -> Recording:
    names = _poses_in(storage)
    values, cut = parse_rows(_with_nan(storage.rows), storage.columns, line=storage.line, separator=None)
    _check_rows(values, storage)
    place = {cell: k for k, cell in enumerate(storage.columns)}
    parts = values[:, [place[f"{name}_{part}"] for name in names for part in POSE]]
    parts = parts.reshape(len(values), len(names), len(POSE))
    stated = {"degrees"} & {"degrees" if "indegrees" in storage.facts else ""}
    if "body-fixed X-Y-Z" in storage.words:
        stated.add("rotation")
    degrees = storage.facts.get("indegrees", "no").lower() in ("yes", "y", "true", "1")
    facts = {"length": "m", "rotation": f"Euler XYZ in {'degrees' if degrees else 'radians'}", **_program(storage)}
    read_too = set(names)
    if left := [name for name in _stems(storage.columns) if name not in read_too]:
        facts["not read"] = ", ".join(left[:8]) + (", ..." if len(left) > 8 else "")
    return Recording(
        str(path),
        "opensim",
        bodies=Bodies(tuple(names), parts[..., :3], parts[..., 3:]),
        time=_time(values, storage),
        convention=Convention("XYZ", degrees, unit="m", up="y", stated=frozenset(stated)),
        facts=facts,
        findings=tuple(truncation(len(values), _declared(storage, "nrows", "datarows"), cut)),
        solved_by="OpenSim",
    )


def _markers(path: Path, storage: _Storage) -> Recording:
    labels = storage.columns[1:]
    parts = [storage.columns[0], *(f"{label}.{axis}" for label in labels for axis in "xyz")]
    rows = _with_nan(storage.rows).replace(b",", b" ")
    values, cut = parse_rows(rows, parts, line=storage.line, separator=None)
    _check_rows(values, storage)
    unit = storage.facts.get("units")
    if unit is not None:
        try:
            metres_per(unit)
        except UsageError as error:
            raise CondyleError(error.text, code=error.code) from None
    return Recording(
        str(path),
        "opensim",
        markers=Markers(tuple(labels), values[:, 1:].reshape(len(values), len(labels), 3)),
        time=_time(values, storage),
        convention=Convention(unit=unit, up="y", stated=frozenset({"unit"} if unit else ())),
        facts={"length": unit or "not stated", **_program(storage)},
        findings=tuple(truncation(len(values), _declared(storage, "nrows", "datarows"), cut)),
    )


def _storage(text: bytes) -> _Storage:
    """Header lines up to `endheader`, then column names, then rows."""
    found = re.search(rb"(?im)^[ \t]*endheader[ \t]*\n", text)
    if found is None:
        raise CondyleError("the header has no line 'endheader'", code="bad-header")
    lines = [line.strip() for line in decode(text[: found.start()]).split("\n")]
    facts: dict[str, str] = {}
    for words in lines:
        if match := re.fullmatch(r"(\w+)\s*=\s*(.*)", words) or re.fullmatch(r"(datacolumns|datarows)\s+(.*)", words):
            facts.setdefault(match[1].lower(), match[2].strip())
    start = found.end()
    while text[start : start + 1] in (b"\n", b" ", b"\t"):
        start += 1
    end = text.find(b"\n", start)
    row, rows = (text[start:], b"") if end < 0 else (text[start:end], text[end + 1 :])
    names = decode(row).strip()
    columns = [cell.strip() for cell in names.split("\t")] if "\t" in names else names.split()
    line = text.count(b"\n", 0, start) + 1
    if not columns or columns[0].lower() != "time":
        raise CondyleError("the row of column names does not begin with time", code="bad-header", line=line)
    if end < 0:
        raise CondyleError("column names without a single whole row of numbers", code="no-data", line=line)
    met: set[str] = set()
    for k, cell in enumerate(columns):
        if not cell:
            raise CondyleError("a column has no name", code="bad-name", line=line, column=k + 1)
        if cell in met:
            raise CondyleError(f"a second column '{cell[:80]}'", code="duplicate-column", line=line, column=k + 1)
        met.add(cell)
    storage = _Storage(lines[0], facts, "\n".join(lines), columns, rows, line + 1)
    declared = _declared(storage, "ncolumns", "datacolumns")
    if declared is not None and declared != len(columns):
        raise CondyleError(
            f"the header says {declared} columns, {len(columns)} are named", code="bad-header", line=line
        )
    return storage


def _with_nan(rows: bytes) -> bytes:
    return _NOT_SEEN.sub(b"nan", rows) if b"#" in rows or b"(" in rows else rows


def _declared(storage: _Storage, *keys: str) -> int | None:
    said = next((storage.facts[key] for key in keys if key in storage.facts), None)
    if said is None:
        return None
    if not re.fullmatch(r"\d{1,12}", said):
        raise CondyleError(f"the header says {keys[0]}={said[:40]}, which is no count", code="bad-header")
    return int(said)


def _stems(columns: Sequence[str]) -> dict[str, set[str]]:
    """{body: parts of a pose that it has columns for}, by first column."""
    found: dict[str, set[str]] = {}
    for cell in columns[1:]:
        body, _, part = cell.rpartition("_")
        if body and part in POSE:
            found.setdefault(body, set()).add(part)
    return found


def _poses_in(storage: _Storage) -> list[str]:
    """Bodies with all six columns, the ground left out; raises with what the file holds instead."""
    rates = {"velocities": "velocities", "accelerations": "accelerations"}
    if said := rates.get(storage.name.lower()):
        raise CondyleError(f"holds {said}, not poses; give the file ..._pos_global.sto beside it", code="no-positions")
    bodies = [name for name, parts in _stems(storage.columns).items() if len(parts) == len(POSE)]
    bodies = [name for name in bodies if name.rpartition("/")[2] != WORLD]
    if bodies:
        return bodies
    shown = ", ".join(storage.columns[1:4])
    raise CondyleError(
        f"holds coordinates, forces or states of a model ({shown}, ...), not poses of bodies; {TO_POSES}",
        code="joint-angles",
        line=storage.line - 1,
    )


def _check_rows(values: Floats, storage: _Storage) -> None:
    if len(values) == 0:
        raise CondyleError("a header without a single whole row of numbers", code="no-data", line=storage.line)


def _time(values: Floats, storage: _Storage) -> Floats:
    time = values[:, 0]
    if not np.isfinite(time).all():
        row = int(np.argmin(np.isfinite(time)))
        raise CondyleError("no time in this row", code="bad-time", line=storage.line + row, column=1, frame=row)
    return time


def _program(storage: _Storage) -> dict[str, str]:
    version = storage.facts.get("opensimversion")
    return {"program": f"OpenSim {version[:40]}" if version else "OpenSim"}


FORMAT = Format("opensim", "OpenSim STO/MOT", looks_like, read)
