"""OpenSim storage files (STO, MOT): poses of bodies from BodyKinematics, or points; docs/formats/opensim.md.

Coordinates of a model, forces and orientations alone are told apart and refused with the way to poses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...errors import CondyleError
from ...findings import list_some
from ...model.recording import Bodies, Convention, Markers, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import check_unit, read_count
from ..tables.rows import describe_truncation, take_columns
from ..tables.table import Table
from ..tables.text import Text, as_bytes, change_lines, decode, first_block, read_head_lines, read_text

OPENSIM_POSE = ("X", "Y", "Z", "Ox", "Oy", "Oz")
OPENSIM_GROUND = "ground"  # older versions record the ground as a body that stands still
TO_POSES = "in OpenSim run the analysis BodyKinematics and give its file ..._pos_global.sto"
_NOT_SEEN = re.compile(rb"(?i)[-+]?(?:nan\(\w*\)|1\.#\w+)")  # how some compilers print a number that is none


@dataclass(frozen=True)
class _Storage:
    """The head of a file: its first line, {key in small letters: value}, all its words; and the table below it."""

    name: str
    facts: dict[str, str]
    words: str
    table: Table

    @property
    def program(self) -> dict[str, str]:
        return {"program": f"OpenSim {self.facts.get('opensimversion', '')[:40]}".strip()}

    def count(self, *keys: str) -> int | None:
        """The count that the first of these keys states; raises where it is none."""
        said = next((self.facts[key] for key in keys if key in self.facts), None)
        count = None if said is None else read_count(said)
        if said is not None and count is None:
            raise CondyleError(f"the header says {keys[0]}={said[:40]}, which is no count", code="bad-header")
        return count


def looks_like(head: bytes) -> bool:
    """A line `endheader`, and below it column names of which the first is time."""
    lines = [line.strip().lower() for line in read_head_lines(head)]
    if "endheader" not in lines:
        return False
    names = next((line for line in lines[lines.index("endheader") + 1 :] if line), "time")
    return names.split(maxsplit=1)[0] == "time"


def read(path: Path, options: ReadOptions) -> Recording:
    """Bodies where all six columns of a pose are there, markers where cells are points."""
    storage = _read_storage(read_text(path))
    kind = storage.facts.get("datatype", "double").lower()
    if kind == "quaternion":
        text = f"holds orientations without positions, and joint centres need both; fit a model first, then {TO_POSES}"
        raise CondyleError(text, code="no-positions")
    if kind not in ("double", "float", "int", "vec3"):
        listed = "double (BodyKinematics) and Vec3 (points)"
        raise CondyleError(f"DataType {kind[:40]} is not read; {listed} are", code="bad-header")
    recording, cut = (_read_markers if kind == "vec3" else _read_bodies)(storage, options)
    found = describe_truncation(recording.frames, storage.count("nrows", "datarows"), cut)
    return replace(recording, facts={**recording.facts, **storage.program}, findings=tuple(found))


def _read_bodies(storage: _Storage, options: ReadOptions) -> tuple[Recording, int]:
    names, columns = _find_poses(storage), storage.table.names
    values, cut = storage.table.numbers()
    place = {cell: k for k, cell in enumerate(columns)}
    parts = take_columns(values, [[place[f"{name}_{part}"] for part in OPENSIM_POSE] for name in names])
    stated = {"degrees"} if "indegrees" in storage.facts else set()
    if "body-fixed X-Y-Z" in storage.words:
        stated.add("rotation")
    degrees = storage.facts.get("indegrees", "no").lower() in ("yes", "y", "true", "1")
    facts = {"length": "m", "rotation": f"Euler XYZ in {'degrees' if degrees else 'radians'}"}
    read_too = set(names)
    if left := [name for name in _find_stems(columns) if name not in read_too]:
        facts["not read"] = list_some(left, 8, ", ...")
    return Recording(
        bodies=Bodies(tuple(names), parts[..., :3], parts[..., 3:]),
        time=storage.table.time(values, 0, options.rate),
        convention=Convention("XYZ", degrees, unit="m", up="y", stated=frozenset(stated)),
        facts=facts,
        solved_by="OpenSim",
    ), cut


def _read_markers(storage: _Storage, options: ReadOptions) -> tuple[Recording, int]:
    first, *labels = storage.table.names
    columns = (first, *(f"{label}.{axis}" for label in labels for axis in "xyz"))
    rows = change_lines(storage.table.rows, lambda block: block.replace(b",", b" "))
    table = replace(storage.table, names=columns, rows=rows)
    values, cut = table.numbers()
    unit = storage.facts.get("units")
    if unit is not None:
        check_unit(unit)
    return Recording(
        markers=Markers(tuple(labels), values[:, 1:].reshape(len(values), len(labels), 3)),
        time=table.time(values, 0, options.rate),
        convention=Convention(unit=unit, up="y", stated=frozenset({"unit"} if unit else ())),
        facts={"length": unit or "not stated"},
    ), cut


def _read_storage(text: Text) -> _Storage:
    """Header lines up to `endheader`, then column names, then rows."""
    found = re.search(rb"(?im)^[ \t]*endheader[ \t]*\n", first_block(text))
    if found is None:
        raise CondyleError("the header has no line 'endheader'", code="bad-header")
    lines = [line.strip() for line in decode(first_block(text)[: found.start()]).split("\n")]
    facts: dict[str, str] = {}
    for words in lines:
        if match := re.fullmatch(r"(\w+)\s*=\s*(.*)", words) or re.fullmatch(r"(datacolumns|datarows)\s+(.*)", words):
            facts.setdefault(match[1].lower(), match[2].strip())
    start = found.end()
    while text[start : start + 1] in (b"\n", b" ", b"\t"):
        start += 1
    end = text.find(b"\n", start)
    rows = b"" if end < 0 else text[end + 1 :]
    names = decode(as_bytes(text[start:] if end < 0 else text[start:end])).strip()
    columns = [cell.strip() for cell in names.split("\t")] if "\t" in names else names.split()
    line = text.count(b"\n", 0, start) + 1
    if not columns or columns[0].lower() != "time":
        raise CondyleError("the row of column names does not begin with time", code="bad-header", line=line)
    if end < 0:
        raise CondyleError("column names without a single whole row of numbers", code="no-data", line=line)
    if "" in columns:
        raise CondyleError("a column has no name", code="bad-name", line=line, column=columns.index("") + 1)
    if b"#" in rows or b"(" in rows:
        rows = change_lines(rows, partial(_NOT_SEEN.sub, b"nan"))
    storage = _Storage(lines[0], facts, "\n".join(lines), Table(tuple(columns), rows, line + 1, None, names_line=line))
    storage.table.check_names()
    declared = storage.count("ncolumns", "datacolumns")
    if declared is not None and declared != len(columns):
        text_of_fault = f"the header says {declared} columns, {len(columns)} are named"
        raise CondyleError(text_of_fault, code="bad-header", line=line)
    return storage


def _find_stems(columns: Sequence[str]) -> dict[str, set[str]]:
    """{body: parts of a pose that it has columns for}, by first column."""
    found: dict[str, set[str]] = {}
    for cell in columns[1:]:
        body, _, part = cell.rpartition("_")
        if body and part in OPENSIM_POSE:
            found.setdefault(body, set()).add(part)
    return found


def _find_poses(storage: _Storage) -> list[str]:
    """Bodies with all six columns, the ground left out; raises with what the file holds instead."""
    rates = {"velocities": "velocities", "accelerations": "accelerations"}
    if said := rates.get(storage.name.lower()):
        raise CondyleError(f"holds {said}, not poses; give the file ..._pos_global.sto beside it", code="no-positions")
    bodies = [name for name, parts in _find_stems(storage.table.names).items() if len(parts) == len(OPENSIM_POSE)]
    bodies = [name for name in bodies if name.rpartition("/")[2] != OPENSIM_GROUND]
    if bodies:
        return bodies
    shown = ", ".join(storage.table.names[1:4])
    text = f"holds coordinates, forces or states of a model ({shown}, ...), not poses of bodies; {TO_POSES}"
    raise CondyleError(text, code="joint-angles", line=storage.table.names_line)


FORMAT = Format("opensim", "OpenSim STO/MOT", looks_like, read)
