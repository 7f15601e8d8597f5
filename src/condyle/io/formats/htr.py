"""Motion Analysis HTR: per segment, the translation and rotation from its base position in its parent's frame."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import CondyleError, UsageError
from ...findings import Finding
from ...maths.arrays import Floats
from ...model.recording import Bodies, Convention, Recording
from ...model.take import OwnSkeleton
from ...model.units import metres_per
from ..format import Format, ReadOptions
from ..tables.header import number_repeats
from ..tables.rows import parse_rows, truncation
from ..tables.text import decode, head_lines, read_text
from ._kinematics import FARTHEST, STATED, STILL, Figure, bodies_of, forward, parents_first, turn

COLUMNS = ("Fr", "Tx", "Ty", "Tz", "Rx", "Ry", "Rz", "SF")
BOGUS = 9_000_000  # Motion Analysis writes 9999999 for what it could not solve
MOST_SEGMENTS = 4096
GLOBAL = "GLOBAL"  # the parent of a root
UP = "globalaxisofgravity"


@dataclass(frozen=True)
class _Section:
    """name without its brackets; text: the lines below, without comments; line: 1-based, of the first of them."""

    name: str
    text: bytes
    line: int


@dataclass(frozen=True, eq=False)
class _Motion:
    """rows: per segment (n, 6) translation and angles, NaN where missing, or empty where the segment has none.

    numbers  (n,) of the frames; present: of them, how many every segment has; cut: the last row was left out
    """

    rows: list[Floats]
    numbers: Floats
    present: int
    cut: int


@dataclass(frozen=True, eq=False)
class _Header:
    """Facts in small letters by keyword in small letters, and what follows from them."""

    facts: dict[str, str]
    frames: int | None
    segments: int | None
    rate: float | None
    order: str
    degrees: bool
    scale: float
    unit: str | None
    up: str | None


def looks_like(head: bytes) -> bool:
    """A section [Header] in which FileType is htr or gtr."""
    lines = [line.partition("#")[0].strip().lower() for line in head_lines(head)[:200]]
    kinds = (line.split()[1] for line in lines if line.startswith("filetype") and len(line.split()) > 1)
    return "[header]" in lines and next(kinds, "") in ("htr", "gtr", "htr2")


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every segment; rows of 9999999 are missing samples."""
    sections = _sections(read_text(path))
    header = _header(_named(sections, "header"))
    written, parent = _hierarchy(sections, flat=header.facts.get("filetype") == "gtr")
    base = _base(_named(sections, "baseposition"), written)
    names, findings = number_repeats(written, "segment")
    motion = _motion(sections, written)
    kept = _with_data(parent, motion.rows)
    if not kept:
        raise CondyleError("a skeleton without a single whole frame", code="no-data")
    at = {k: row for row, k in enumerate(kept)}
    figure = Figure(
        tuple(names[k] for k in kept), tuple(at.get(parent[k], -1) for k in kept), base[kept, :3] * header.scale
    )
    bodies, own, same = _poses(figure, base[kept, 3:], [motion.rows[k] for k in kept], header)
    declared = max(header.segments or 0, len(names))
    told = _truncated(motion, header.frames, len(kept), declared)
    time = _time(motion.numbers, header.rate)
    stated = {field for field, value in (("unit", header.unit), ("up", header.facts.get(UP))) if value}
    return Recording(
        str(path),
        "htr",
        bodies=bodies,
        time=time,
        rate=header.rate if time is None else None,
        convention=Convention("matrix", unit=header.unit, up=header.up, stated=STATED | stated),
        facts={
            "length": header.facts.get("calibrationunits", "not stated"),
            "rotation": f"Euler {header.order} in {'degrees' if header.degrees else 'radians'} from the base position",
            "up": header.facts.get(UP, "not stated"),
        },
        findings=(*told, *findings, *same),
        solved_by="the program that wrote the HTR file",
        own=own if any(up >= 0 for up in figure.parent) else None,
    )


def _sections(text: bytes) -> list[_Section]:
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    marks = list(re.finditer(rb"^[ \t]*\[([^\]\n]*)\][^\n]*(?:\n|$)", text, re.MULTILINE))
    ends = ([mark.start() for mark in marks[1:]] + [len(text)])[: len(marks)]
    found, line, counted = [], 1, 0
    for mark, end in zip(marks, ends, strict=True):
        line, counted = line + text.count(b"\n", counted, mark.end()), mark.end()
        found.append(_Section(" ".join(decode(mark[1]).split()), text[mark.end() : end], line))
    return found


def _named(sections: list[_Section], name: str) -> _Section:
    for section in sections:
        if section.name.lower() == name:
            return section
    raise CondyleError(f"no section [{name}]; is the file cut?", code="bad-header")


def _header(section: _Section) -> _Header:
    facts: dict[str, str] = {}
    for raw in section.text.split(b"\n"):
        words = decode(raw).split()
        if words:
            facts.setdefault(words[0].lower(), words[1].lower() if len(words) > 1 else "")
    if facts.get("filetype") == "htr2" or facts.get("fileversion", "1") not in ("1", "1.0", ""):
        raise CondyleError(
            "this is version 2 of HTR, which is ordered by frames; export version 1 (HTR) instead", code="newer-format"
        )
    order = facts.get("eulerrotationorder", "zyx").upper()
    if sorted(order) != ["X", "Y", "Z"]:
        raise CondyleError(f"EulerRotationOrder '{order[:20]}' is no order of X, Y and Z", code="bad-header")
    rate = _positive(facts, "dataframerate")
    up = facts.get(UP, "y").lstrip("+")
    unit: str | None = facts.get("calibrationunits")
    try:
        metres_per(unit or "")
    except UsageError:
        unit = None
    return _Header(
        facts,
        _count(facts, "numframes"),
        _count(facts, "numsegments"),
        rate,
        order,
        not facts.get("rotationunits", "degrees").startswith("rad"),
        _positive(facts, "scalefactor") or 1.0,
        unit,
        up if up in ("x", "y", "z", "-x", "-y", "-z") else None,
    )


def _count(facts: dict[str, str], key: str) -> int | None:
    text = facts.get(key)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,12}", text):
        raise CondyleError(f"{key} '{text[:40]}' is no count", code="bad-header")
    return int(text)


def _positive(facts: dict[str, str], key: str) -> float | None:
    """A positive number; None where it is not there or zero."""
    text = facts.get(key)
    if not text:
        return None
    try:
        number = float(text)
        if not 0 <= number < 1e9 or "_" in text:
            raise ValueError
    except ValueError:
        raise CondyleError(f"{key} '{text[:40]}' is no positive number", code="bad-header") from None
    return number if number > 1e-9 else None


def _hierarchy(sections: list[_Section], flat: bool) -> tuple[list[str], list[int]]:
    """Names and the parent's index of each; in a GTR file every segment stands in the room."""
    names, parents, lines = [], [], []
    section = _named(sections, "baseposition" if flat else "segmentnames&hierarchy")
    for k, raw in enumerate(section.text.split(b"\n")):
        words = _cells(decode(raw), flat)
        if not words:
            continue
        if not flat and len(words) != 2:
            text = f"'{decode(raw).strip()[:40]}' is not a segment and its parent"
            raise CondyleError(text, code="bad-header", line=section.line + k)
        names.append(words[0])
        parents.append(GLOBAL if flat else words[1])
        lines.append(section.line + k)
    if not names:
        raise CondyleError("the hierarchy names no segment", code="bad-header", line=section.line)
    if len(names) > MOST_SEGMENTS:
        raise CondyleError(f"more than {MOST_SEGMENTS} segments", code="file-too-large")
    index = {name: k for k, name in reversed(list(enumerate(names)))}
    found = []
    for name, up, line in zip(names, parents, lines, strict=True):
        if up.upper() != GLOBAL and up not in index:
            raise CondyleError(f"the parent '{up[:40]}' of '{name[:40]}' is no segment", code="bad-header", line=line)
        found.append(-1 if up.upper() == GLOBAL else index[up])
    return names, found


def _cells(line: str, flat: bool) -> list[str]:
    """A segment and its parent; where tabs separate them, names may have blanks. Flat: the name before the numbers."""
    if flat:
        return [name] if (name := _named_row(line)[0]) else []
    cells = line.strip().split("\t") if "\t" in line.strip() else line.split()
    return [" ".join(cell.split()) for cell in cells if cell.strip()]


def _named_row(line: str) -> tuple[str, list[str]]:
    """The name, and the six or seven cells behind it."""
    words = line.replace(",", " ").split()
    count = 7 if len(words) > 7 else 6
    return " ".join(words[:-count]), words[-count:]


def _base(section: _Section, names: list[str]) -> Floats:
    """(m, 6) base translation [file's unit] and angles x, y, z [as written] of each segment."""
    found: dict[str, list[list[float]]] = {}
    for k, raw in enumerate(section.text.split(b"\n")):
        name, cells = _named_row(decode(raw))
        if not cells:
            continue
        try:
            numbers = [float(cell) for cell in cells[:6]]
            sane = len(numbers) == 6 and all(abs(number) < FARTHEST for number in numbers)
            if not name or not sane or any("_" in cell for cell in cells):
                raise ValueError
        except ValueError:
            text = f"the base position '{decode(raw).strip()[:40]}' is not a name, six numbers and a bone length"
            raise CondyleError(text, code="bad-number", line=section.line + k) from None
        found.setdefault(name, []).append(numbers)
    base = []
    for name in names:
        if not found.get(name):
            raise CondyleError(f"no base position for '{name[:40]}'", code="bad-header", line=section.line, body=name)
        base.append(found[name].pop(0))
    return np.array(base)


def _motion(sections: list[_Section], names: list[str]) -> _Motion:
    """The blocks below the base position, one per segment, in any order."""
    first = next(k for k, section in enumerate(sections) if section.name.lower() == "baseposition") + 1
    blocks = [section for section in sections[first:] if section.name.lower() != "endoffile"]
    waiting: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        waiting.setdefault(name, []).append(k)
    rows = [np.empty((0, 6))] * len(names)
    numbers, present, cut = np.empty(0), 0, 0
    for block in blocks:
        if not waiting.get(block.name):
            text = f"'[{block.name[:40]}]' is no segment, or is there twice"
            raise CondyleError(text, code="bad-header", line=block.line - 1)
        values, cut = _block(block, may_be_cut=block is sections[-1])
        if block is blocks[0]:
            numbers = values[:, 0]
        if len(values) > len(numbers) or (len(values) < len(numbers) and block is not sections[-1]):
            text = f"'{block.name[:40]}' has {len(values)} frames, the segments before have {len(numbers)}"
            raise CondyleError(text, code="ragged-row", line=block.line, body=block.name)
        if not np.array_equal(values[:, 0], numbers[: len(values)]):
            text = f"the frame numbers of '{block.name[:40]}' differ from the first segment's"
            raise CondyleError(text, code="bad-time", line=block.line, body=block.name)
        present = len(values)
        if present:
            whole = np.full((len(numbers), 6), np.nan)
            whole[:present] = values[:, 1:7]
            with np.errstate(invalid="ignore"):
                whole[~(np.abs(whole) < BOGUS).all(axis=1)] = np.nan
            rows[waiting[block.name].pop(0)] = whole
    return _Motion(rows, numbers, present, cut)


def _block(block: _Section, may_be_cut: bool) -> tuple[Floats, int]:
    head = block.text.lstrip().partition(b"\n")[0].split()
    columns = COLUMNS if len(head) != 7 else COLUMNS[:7]
    values, cut = parse_rows(block.text, columns, line=block.line, separator=None)
    if cut and not may_be_cut:
        line = block.line + block.text.rstrip().count(b"\n")
        raise CondyleError(
            f"the last row of '{block.name[:40]}' is not {len(columns)} numbers", code="ragged-row", line=line
        )
    return values, cut


def _with_data(parent: list[int], rows: list[Floats]) -> list[int]:
    """Segments that have frames, and whose ancestors have."""
    known = [False] * len(parent)
    for k in parents_first(parent):
        known[k] = len(rows[k]) > 0 and (parent[k] < 0 or known[parent[k]])
    return [k for k in range(len(parent)) if known[k]]


def _truncated(motion: _Motion, declared: int | None, segments: int, declared_segments: int) -> list[Finding]:
    missing = declared_segments - segments
    if missing > 0:
        text = f"header says {declared_segments} segments, {segments} have frames; the end of the recording is missing"
        return [Finding("truncated-file", "warning", text, value=float(missing), unit="segments", count=missing)]
    return truncation(motion.present, max(declared or 0, len(motion.numbers)), motion.cut)


def _time(numbers: Floats, rate: float | None) -> Floats | None:
    """[s] by the frame numbers, from zero; None where they do not increase or no rate is known."""
    if rate is None or not np.isfinite(numbers).all() or not (np.diff(numbers) > 0).all():
        return None
    return np.asarray((numbers - numbers[0]) / rate)


def _poses(
    figure: Figure, base_angles: Floats, rows: list[Floats], header: _Header
) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
    """In the parent's frame: R = R_base R_frame, p = p_base + p_frame. The scale of a bone moves no joint."""
    figure.check_size(len(rows[0]), 6 * len(rows))
    columns = ["XYZ".index(letter) for letter in header.order]
    unit = np.pi / 180 if header.degrees else 1.0
    R_local, p_local, still = [], [], []
    for angles, offset, row in zip(base_angles, figure.offsets, rows, strict=True):
        R_base = turn(angles[None, columns] * unit, header.order)
        R_local.append(R_base @ turn(row[:, 3:][:, columns] * unit, header.order))
        p_local.append(offset + row[:, :3] * header.scale)
        still.append(bool((angles == 0).all() and (np.abs(row) < STILL).all()))
    R, p = forward(figure.parent, R_local, p_local)
    return bodies_of(figure, R, p, np.array(still, dtype=np.bool_))


FORMAT = Format("htr", "Motion Analysis HTR", looks_like, read)
