"""Motion Analysis HTR: per segment, the translation and rotation from its base position in its parent's frame."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.spool import empty
from ...model.recording import Bodies, Convention, Recording
from ...model.take import UP_AXES, OwnSkeleton
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import is_length, number_repeats, read_count
from ..tables.rows import describe_truncation, find_end, parse_rows, read_number
from ..tables.text import Text, change_lines, decode, find_all, first_block, read_head_lines, read_text
from ._kinematics import (
    FARTHEST_OFFSET,
    STATED_BY_ANGLES,
    STILL_ANGLE,
    BoneChain,
    LocalPoses,
    order_parents_first,
    place_bones,
    turn,
)

HTR_COLUMNS = ("Fr", "Tx", "Ty", "Tz", "Rx", "Ry", "Rz", "SF")
HTR_UNSOLVED = 9_000_000  # Motion Analysis writes 9999999 for what it could not solve
MOST_HTR_SEGMENTS = 4096
HTR_ROOM = "GLOBAL"  # the parent of a root
UP_KEY = "globalaxisofgravity"


@dataclass(frozen=True)
class _HtrSection:
    """name without its brackets; text: the lines below, without comments; line: 1-based, of the first of them."""

    name: str
    text: Text
    line: int


@dataclass(frozen=True, eq=False)
class _SegmentRows:
    """rows: per segment (n, 6) translation and angles, NaN where missing, or empty where the segment has none.

    numbers  (n,) of the frames; present: of them, how many every segment has; cut: the last row was left out
    """

    rows: list[Floats]
    numbers: Floats
    present: int
    cut: int


def looks_like(head: bytes) -> bool:
    """A section [Header] in which FileType is htr or gtr."""
    lines = [line.partition("#")[0].strip().lower() for line in read_head_lines(head)[:200]]
    kinds = (line.split()[1] for line in lines if line.startswith("filetype") and len(line.split()) > 1)
    return "[header]" in lines and next(kinds, "") in ("htr", "gtr", "htr2")


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every segment; rows of 9999999 are missing samples."""
    sections = _split_sections(read_text(path))
    facts = _read_facts(_find_named(sections, "header"))
    order = facts.get("eulerrotationorder", "zyx").upper()
    if sorted(order) != ["X", "Y", "Z"]:
        raise CondyleError(f"EulerRotationOrder '{order[:20]}' is no order of X, Y and Z", code="bad-header")
    rate, scale = _read_positive(facts, "dataframerate"), _read_positive(facts, "scalefactor") or 1.0
    frames, segments = _read_count(facts, "numframes"), _read_count(facts, "numsegments")
    degrees = not facts.get("rotationunits", "degrees").startswith("rad")
    written, parent = _read_hierarchy(sections, flat=facts.get("filetype") == "gtr")
    base = _read_base(_find_named(sections, "baseposition"), written)
    names, findings = number_repeats(written, "segment")
    motion = _read_motion(sections, written)
    kept = _find_with_data(parent, motion.rows)
    if not kept:
        raise CondyleError("a skeleton without a single whole frame", code="no-data")
    at = {k: row for row, k in enumerate(kept)}
    chain = BoneChain(tuple(names[k] for k in kept), tuple(at.get(parent[k], -1) for k in kept), base[kept, :3] * scale)
    rows = [motion.rows[k] for k in kept]
    bodies, own, same = _compute_poses(chain, base[kept, 3:], rows, order, np.pi / 180 if degrees else 1.0, scale)
    unit, up = facts.get("calibrationunits", ""), facts.get(UP_KEY, "y").lstrip("+")
    stated = {field for field, said in (("unit", is_length(unit)), ("up", facts.get(UP_KEY))) if said}
    time = _read_time(motion.numbers, rate)
    return Recording(
        bodies=bodies,
        time=time,
        rate=rate if time is None else None,
        convention=Convention(
            "matrix",
            unit=unit if is_length(unit) else None,
            up=up if up in UP_AXES else None,
            stated=STATED_BY_ANGLES | stated,
        ),
        facts={
            "length": unit or "not stated",
            "rotation": f"Euler {order} in {'degrees' if degrees else 'radians'} from the base position",
            "up": facts.get(UP_KEY, "not stated"),
        },
        findings=(*_describe_truncation(motion, frames, len(kept), max(segments or 0, len(names))), *findings, *same),
        solved_by="the program that wrote the HTR file",
        own=own if any(up >= 0 for up in chain.parent) else None,
    )


def _split_sections(text: Text) -> list[_HtrSection]:
    if b"#" in text:
        text = change_lines(text, partial(re.compile(rb"#[^\n]*").sub, b""))
    marks = list(find_all(re.compile(rb"^[ \t]*\[([^\]\n]*)\][^\n]*(?:\n|$)", re.MULTILINE), text))
    ends = ([mark.start() for mark in marks[1:]] + [len(text)])[: len(marks)]
    found, line, counted = [], 1, 0
    for mark, end in zip(marks, ends, strict=True):
        line, counted = line + text.count(b"\n", counted, mark.end()), mark.end()
        found.append(_HtrSection(" ".join(decode(mark[1]).split()), text[mark.end() : end], line))
    return found


def _find_named(sections: list[_HtrSection], name: str) -> _HtrSection:
    for section in sections:
        if section.name.lower() == name:
            return section
    raise CondyleError(f"no section [{name}]; is the file cut?", code="bad-header")


def _read_facts(section: _HtrSection) -> dict[str, str]:
    """{keyword: what stands behind it}, both in small letters."""
    facts: dict[str, str] = {}
    for raw in first_block(section.text).split(b"\n"):
        if words := decode(raw).lower().split():
            facts.setdefault(words[0], words[1] if len(words) > 1 else "")
    if facts.get("filetype") == "htr2" or facts.get("fileversion", "1") not in ("1", "1.0", ""):
        text = "this is version 2 of HTR, which is ordered by frames; export version 1 (HTR) instead"
        raise CondyleError(text, code="newer-format")
    return facts


def _read_count(facts: dict[str, str], key: str) -> int | None:
    count = read_count(facts.get(key, ""))
    if count is None and key in facts:
        raise CondyleError(f"{key} '{facts[key][:40]}' is no count", code="bad-header")
    return count


def _read_positive(facts: dict[str, str], key: str) -> float | None:
    """A positive number; None where it is not there or zero."""
    text = facts.get(key)
    if not text:
        return None
    number = read_number(text)
    if number is None or not 0 <= number < 1e9:
        raise CondyleError(f"{key} '{text[:40]}' is no positive number", code="bad-header")
    return number if number > 1e-9 else None


def _read_hierarchy(sections: list[_HtrSection], flat: bool) -> tuple[list[str], list[int]]:
    """Names and the parent's index of each; in a GTR file every segment stands in the room."""
    names, parents = list[str](), list[tuple[str, int]]()
    section = _find_named(sections, "baseposition" if flat else "segmentnames&hierarchy")
    for line, raw in enumerate(first_block(section.text).split(b"\n"), section.line):
        words = _split_line(decode(raw), flat)
        if not flat and len(words) not in (0, 2):
            text = f"'{decode(raw).strip()[:40]}' is not a segment and its parent"
            raise CondyleError(text, code="bad-header", line=line)
        if words:
            names.append(words[0])
            parents.append((HTR_ROOM if flat else words[1], line))
    if not names:
        raise CondyleError("the hierarchy names no segment", code="bad-header", line=section.line)
    if len(names) > MOST_HTR_SEGMENTS:
        raise CondyleError(f"more than {MOST_HTR_SEGMENTS} segments", code="file-too-large")
    index = {name: k for k, name in reversed(list(enumerate(names)))}
    for name, (up, line) in zip(names, parents, strict=True):
        if up.upper() != HTR_ROOM and up not in index:
            raise CondyleError(f"the parent '{up[:40]}' of '{name[:40]}' is no segment", code="bad-header", line=line)
    return names, [-1 if up.upper() == HTR_ROOM else index[up] for up, _ in parents]


def _split_line(line: str, flat: bool) -> list[str]:
    """A segment and its parent; where tabs separate them, names may have blanks. Flat: the name before the numbers."""
    if flat:
        return [name] if (name := _split_named_row(line)[0]) else []
    cells = line.strip().split("\t") if "\t" in line.strip() else line.split()
    return [" ".join(cell.split()) for cell in cells if cell.strip()]


def _split_named_row(line: str) -> tuple[str, list[str]]:
    """The name, and the six or seven cells behind it."""
    words = line.replace(",", " ").split()
    count = 7 if len(words) > 7 else 6
    return " ".join(words[:-count]), words[-count:]


def _read_base(section: _HtrSection, names: list[str]) -> Floats:
    """(m, 6) base translation [file's unit] and angles x, y, z [as written] of each segment."""
    found: dict[str, list[list[float]]] = {}
    for k, raw in enumerate(first_block(section.text).split(b"\n")):
        name, cells = _split_named_row(decode(raw))
        if not cells:
            continue
        numbers = [number for cell in cells[:6] if (number := read_number(cell)) is not None]
        if not name or len(numbers) != 6 or not all(abs(number) < FARTHEST_OFFSET for number in numbers):
            text = f"the base position '{decode(raw).strip()[:40]}' is not a name, six numbers and a bone length"
            raise CondyleError(text, code="bad-number", line=section.line + k)
        found.setdefault(name, []).append(numbers)
    base = []
    for name in names:
        if not found.get(name):
            raise CondyleError(f"no base position for '{name[:40]}'", code="bad-header", line=section.line, body=name)
        base.append(found[name].pop(0))
    return np.array(base)


def _read_motion(sections: list[_HtrSection], names: list[str]) -> _SegmentRows:
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
        values, cut = _read_block(block, may_be_cut=block is sections[-1])
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
            whole = empty((len(numbers), 6))
            whole[:present], whole[present:] = values[:, 1:7], np.nan
            with np.errstate(invalid="ignore"):
                whole[~(np.abs(whole) < HTR_UNSOLVED).all(axis=1)] = np.nan
            rows[waiting[block.name].pop(0)] = whole
    return _SegmentRows(rows, numbers, present, cut)


def _read_block(block: _HtrSection, may_be_cut: bool) -> tuple[Floats, int]:
    head = first_block(block.text).lstrip().partition(b"\n")[0].split()
    columns = HTR_COLUMNS if len(head) != 7 else HTR_COLUMNS[:7]
    values, cut = parse_rows(block.text, columns, line=block.line, separator=None)
    if cut and not may_be_cut:
        line = block.line + block.text.count(b"\n", 0, find_end(block.text, len(block.text), b"\n \t"))
        raise CondyleError(
            f"the last row of '{block.name[:40]}' is not {len(columns)} numbers", code="ragged-row", line=line
        )
    return values, cut


def _find_with_data(parent: list[int], rows: list[Floats]) -> list[int]:
    """Segments that have frames, and whose ancestors have."""
    known = [False] * len(parent)
    for k in order_parents_first(parent):
        known[k] = len(rows[k]) > 0 and (parent[k] < 0 or known[parent[k]])
    return [k for k in range(len(parent)) if known[k]]


def _describe_truncation(
    motion: _SegmentRows, declared: int | None, segments: int, declared_segments: int
) -> list[Finding]:
    missing = declared_segments - segments
    if missing > 0:
        text = f"header says {declared_segments} segments, {segments} have frames; the end of the recording is missing"
        return [Finding("truncated-file", "warning", text, value=float(missing), unit="segments", count=missing)]
    return describe_truncation(motion.present, max(declared or 0, len(motion.numbers)), motion.cut)


def _read_time(numbers: Floats, rate: float | None) -> Floats | None:
    """[s] by the frame numbers, from zero; None where they do not increase or no rate is known."""
    if rate is None or not np.isfinite(numbers).all() or not (np.diff(numbers) > 0).all():
        return None
    return np.asarray((numbers - numbers[0]) / rate)


def _compute_poses(
    chain: BoneChain, base_angles: Floats, rows: list[Floats], order: str, unit: float, scale: float
) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
    """In the parent's frame: R = R_base R_frame, p = p_base + p_frame. The scale of a bone moves no joint.

    unit   [rad] of the angles
    """
    chain.check_size(len(rows[0]), 6 * len(rows))
    columns = ["XYZ".index(letter) for letter in order]
    base = turn(base_angles[:, columns] * unit, order)

    def find_local(frames: slice) -> LocalPoses:
        turned = [turn(row[frames, 3:][:, columns] * unit, order) for row in rows]
        moved = [offset + row[frames, :3] * scale for offset, row in zip(chain.offsets, rows, strict=True)]
        return [one @ two for one, two in zip(base[:, None], turned, strict=True)], moved

    rest = (base_angles == 0).all(axis=1)
    still = [bool(calm and (np.abs(row) < STILL_ANGLE).all()) for calm, row in zip(rest, rows, strict=True)]
    return chain.bodies(*place_bones(chain.parent, len(rows[0]), find_local), np.array(still, dtype=np.bool_))


FORMAT = Format("htr", "Motion Analysis HTR", looks_like, read)
