"""Vicon's CSV (Tracker, Nexus): blocks of objects, segments and trajectories; docs/formats/vicon.md describes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.spool import one_of_many, seal, side_by_side
from ...model.recording import VECTOR, Bodies, Convention, Markers, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import check_unit, read_positive
from ..tables.rows import describe_truncation, find_separator, hide_zeros, parse_rows, read_cells, strip_empty
from ..tables.text import Text, as_bytes, decode, find_all, first_block, read_text, to_utf8, unify_line_ends

POSE_BLOCKS = ("objects", "segments", "global angles")
POINT_BLOCKS = ("trajectories", "markers")
LONGEST_VECTOR_DEG = 180.5  # deg: no rotation vector is longer, but for rounding
LARGEST_MIDDLE_ANGLE_DEG = 90.05  # deg: nor is the middle one of three Euler angles larger
WILDEST_ANGLE_DEG = 1e6  # deg: what is beyond is no angle
MOST_VICON_BLOCKS = 1000
MOST_EMPTY_PER_NUMBER = 20  # times the numbers in the file: blocks that share so few frames are not put together
# A block: its title, its rate, and what follows up to the next. Titles are short: a longer line is something else.
_BLOCK = re.compile(
    rb'^[ "]{0,3}([A-Za-z][^,;\t\n"]{0,60})[,;\t "]*\n[ "]{0,3}(\d[\d.]{0,20})[,;\t "]*\n', re.MULTILINE
)
_COLUMNS = re.compile(rb'^[ "]{0,3}Frame"?[,;\t]\s{0,3}"?Sub Frame', re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class _ViconBlock:
    """One block: title in lower case, rate [Hz] or None, names and columns of its things, their units, its numbers.

    groups  [(name, {column title: column})]
    units   cell of the row of units above each column; empty where there is no such row
    line    1-based, of the column titles
    """

    title: str
    rate: float | None
    groups: list[tuple[str, dict[str, int]]]
    units: list[str]
    values: Floats
    cut: int
    line: int

    def unit(self, columns: Sequence[int]) -> str:
        """The one unit of these columns, "" where none is said; raises where they differ."""
        said = {self.units[k].lower() if k < len(self.units) else "" for k in columns}
        if len(said) > 1:
            text = f"columns of one kind in {' and '.join(sorted(said))}"
            raise CondyleError(text, code="bad-header", line=self.line)
        return said.pop() if said else ""

    def at(self, columns: Sequence[int], frames: Floats) -> Floats:
        """Numbers at the frames of the recording, NaN where the block has no such frame."""
        taken = self.values[:, list(columns)]
        if np.array_equal(self.values[:, 0], frames):
            return taken
        out = np.full((len(frames), *taken.shape[1:]), np.nan)
        _, first = np.unique(self.values[:, 0], return_index=True)
        out[np.searchsorted(frames, self.values[first, 0])] = taken[first]
        return out


def looks_like(head: bytes) -> bool:
    """A title, a rate, a row of names, and `Frame, Sub Frame, ...`."""
    text = unify_line_ends(to_utf8(head)).lstrip()
    first = _BLOCK.match(text)
    return first is not None and b"\x00" not in text[:200] and _COLUMNS.search(text) is not None


def read(path: Path, options: ReadOptions) -> Recording:
    """Objects, segments and trajectories; empty cells or all zeros are samples not seen. Other blocks are skipped."""
    text = read_text(path)
    starts = list(find_all(_BLOCK, text))
    if not starts:
        raise CondyleError("no block of a title and a rate, such as Objects and 100", code="bad-header", line=1)
    if len(starts) > MOST_VICON_BLOCKS:
        raise CondyleError(f"{len(starts)} blocks are no recording", code="bad-header", line=1)
    whole: list[_ViconBlock] = []
    skipped: list[str] = []
    without: list[str] = []
    for k, start in enumerate(starts):
        title = decode(start[1]).strip().lower()
        if title in POSE_BLOCKS or title in POINT_BLOCKS:
            block = _read_block(text, start, starts[k + 1].start() if k + 1 < len(starts) else len(text), title)
            if block is not None and len(block.values):
                whole.append(block)
            else:
                without.append(title)
        else:
            skipped.append(decode(start[1]).strip())
    if not whole:
        raise CondyleError(
            "no row of objects, segments or trajectories" + (f"; it holds {', '.join(skipped[:5])}" if skipped else ""),
            code="no-data",
        )
    frames = _find_frames(whole)
    posed, pointed = [b for b in whole if b.title in POSE_BLOCKS], [b for b in whole if b.title in POINT_BLOCKS]
    bodies, convention, findings = _read_bodies(posed, frames, options) if posed else (None, Convention(up="z"), [])
    markers = _read_markers(pointed, frames) if pointed else None
    if bodies is None and markers is None:
        raise CondyleError("no columns RX ... TZ or X, Y, Z", code="missing-column", line=whole[0].line)
    unit = _read_unit(whole)
    rate = whole[0].rate
    stated = convention.stated | ({"unit"} if unit else set())
    joined = posed and any(b.title == "segments" and len(b.groups) > 1 for b in posed)
    return Recording(
        bodies=bodies,
        markers=markers,
        time=(frames - frames[0]) / rate if rate else None,
        convention=convention.but(unit=unit or "mm", stated=stated),
        facts=_describe(whole, skipped, unit, bodies),
        findings=(*_describe_truncation(whole, without, frames), *findings),
        solved_by="Vicon" if joined else None,
    )


def _read_block(text: Text, start: re.Match[bytes], end: int, title: str) -> _ViconBlock | None:
    """The block between two places of the file; None where it ends before its rows."""
    top = first_block(text, None, start.end())[: end - start.end()]
    found = _COLUMNS.search(top)
    at = start.end() + (0 if found is None else found.start())
    stop = -1 if found is None else text.find(b"\n", at, end)
    if found is None or stop < 0:
        return None
    line = text.count(b"\n", 0, at) + 1
    names = as_bytes(text[at:stop])
    separator = find_separator(names)
    titles = strip_empty(cell.upper() for cell in read_cells(names, separator))
    above = top[: found.start()].rstrip(b"\n").rpartition(b"\n")[2]
    units, body, row = list[str](), stop + 1, line + 1
    after = text.find(b"\n", body, end)
    cells = read_cells(as_bytes(text[body : end if after < 0 else after]), separator)
    if not any(cells[:2]) or not re.match(r"[+-]?[\d.]", cells[0]):
        units, body, row = cells, end if after < 0 else after + 1, row + 1
    values, cut = parse_rows(text[body:end], titles, line=row, separator=separator, decimal_comma=None)
    number = values[:, 0]
    if not np.isfinite(number).all():
        frame = int(np.argmin(np.isfinite(number)))
        raise CondyleError("no frame number in this row", code="bad-time", line=row + frame, column=1, frame=frame)
    groups = _find_groups(read_cells(above, separator), titles, line)
    return _ViconBlock(title, read_positive(start[2].decode()), groups, units, values, cut, line)


def _find_groups(names: Sequence[str], titles: Sequence[str], line: int) -> list[tuple[str, dict[str, int]]]:
    """[(name, {title: column})]: a new one begins where a name stands above or a title comes again."""
    groups: list[tuple[str, dict[str, int]]] = []
    for k in range(2, len(titles)):
        name = names[k] if k < len(names) else ""
        name = re.sub(r"^Global (Angle|Rotation|Pose|Translation) ", "", name)
        if name and (not groups or name != groups[-1][0] or titles[k] in groups[-1][1]):
            groups.append((name, {}))
        if not groups or titles[k] in groups[-1][1]:
            raise CondyleError("no name stands above this column", code="bad-header", line=line - 1, column=k + 1)
        groups[-1][1][titles[k]] = k
    return groups


def _find_frames(blocks: Sequence[_ViconBlock]) -> Floats:
    """Frame numbers of the recording: those of the one block, or all of several."""
    numbers = [block.values[:, 0] for block in blocks]
    if all(np.array_equal(numbers[0], other) for other in numbers[1:]):
        return numbers[0]
    frames = np.unique(np.concatenate(numbers))
    held, wanted = sum(block.values.size for block in blocks), sum(block.values.shape[1] for block in blocks)
    if len(frames) * wanted > max(MOST_EMPTY_PER_NUMBER * held, 10**6):
        raise CondyleError("the blocks share hardly a frame; export them into files of their own", code="bad-header")
    return frames


def _read_bodies(
    blocks: Sequence[_ViconBlock], frames: Floats, options: ReadOptions
) -> tuple[Bodies | None, Convention, list[Finding]]:
    """Poses of all blocks. Three numbers of a rotation may be a vector or Euler angles."""
    position, turns, widths = [], [], set()
    things = _find_things(blocks, ("RX", "RY", "RZ", "TX", "TY", "TZ"), "object")
    if not things:
        return None, Convention(up="z"), []
    for block, parts in things.values():
        axes = ("RX", "RY", "RZ", "RW") if "RW" in parts else ("RX", "RY", "RZ")
        place = block.at([parts[axis] for axis in ("TX", "TY", "TZ")], frames)
        turn = block.at([parts[axis] for axis in axes], frames)
        unseen = (place == 0).all(axis=1, keepdims=True) & (turn[:, :3] == 0).all(axis=1, keepdims=True)
        if len(axes) == 3 and block.unit([parts[axis] for axis in axes]).startswith("rad"):
            turn = np.degrees(turn)
        position.append(one_of_many(np.where(unseen, np.nan, place), len(things)))
        turns.append(one_of_many(np.where(unseen, np.nan, turn), len(things)))
        widths.add(len(axes))
    angles = [turn for turn in turns if turn.shape[1] == 3]
    kind, findings = _guess_reading(angles) if angles and options.euler is None else (VECTOR, [])
    stated, guessed = frozenset({"rotation"}), frozenset[str]()
    if widths == {3}:
        stated, guessed = frozenset({"degrees"}), frozenset({"rotation"})
        tame = (np.where(np.abs(turn) < WILDEST_ANGLE_DEG, turn, np.nan) for turn in turns)
        turns = [one_of_many(turn, len(things)) for turn in tame]
    elif angles:  # quaternions for all
        turns = [turn if turn.shape[1] == 4 else _make_quaternions(turn, kind) for turn in turns]
    kind = kind if widths == {3} else "xyzw"
    convention = Convention(kind, degrees=True, up="z", stated=stated, guessed=guessed)
    bodies = Bodies(tuple(things), seal(side_by_side(position)), seal(side_by_side(turns)))
    return bodies, convention, findings


def _guess_reading(angles: Sequence[Floats]) -> tuple[str, list[Finding]]:
    """Whether three numbers [deg] are rotation vectors (helical) or Euler angles XYZ, as far as their size tells."""
    longest = middle = 0.0
    for turn in angles:
        known = np.nan_to_num(turn, posinf=0.0, neginf=0.0)
        with np.errstate(over="ignore"):
            longest = max(longest, float(np.linalg.norm(known, axis=1).max()))
            middle = max(middle, float(np.abs(known[:, 1]).max()))
    if middle <= LARGEST_MIDDLE_ANGLE_DEG and longest > LONGEST_VECTOR_DEG:
        text = (
            "the file does not say how its angles are meant; as a rotation vector one of them would turn by "
            f"{longest:.0f} degrees, so they are read as Euler angles XYZ"
        )
        return "XYZ", [Finding("rotation-assumed", "info", text, value=longest, unit="deg")]
    if middle > LARGEST_MIDDLE_ANGLE_DEG and longest <= LONGEST_VECTOR_DEG:
        text = (
            f"the file does not say how its angles are meant; RY reaches {middle:.0f} degrees, as the middle one of "
            "three Euler angles never does, so they are read as rotation vectors (helical)"
        )
        return VECTOR, [Finding("rotation-assumed", "info", text, value=middle, unit="deg")]
    text = (
        "the file does not say how its angles are meant; they are read as rotation vectors (helical), but Euler angles "
        "are as likely from their size: give --euler XYZ if they are such, or export quaternions"
    )
    return VECTOR, [Finding("rotation-assumed", "warning", text)]


def _make_quaternions(turn: Floats, kind: str) -> Floats:
    """Quaternions xyzw (n, 4) of rotation vectors, or of Euler angles XYZ, in degrees."""
    r = np.radians(np.where(np.abs(turn) < WILDEST_ANGLE_DEG, turn, np.nan))
    if kind != VECTOR:
        return rotation.to_quaternion(rotation.from_euler(r, "XYZ"))[:, [1, 2, 3, 0]]
    half = np.linalg.norm(r, axis=1, keepdims=True) / 2
    return np.concatenate([r * np.sinc(half / np.pi) / 2, np.cos(half)], axis=1)


def _find_things(
    blocks: Sequence[_ViconBlock], titles: Sequence[str], word: str
) -> dict[str, tuple[_ViconBlock, dict[str, int]]]:
    """{name: its block and columns} of all things that have columns with these titles; raises at a name twice."""
    found: dict[str, tuple[_ViconBlock, dict[str, int]]] = {}
    for block in blocks:
        for name, parts in block.groups:
            if set(titles) <= set(parts) and found.setdefault(name, (block, parts))[1] is not parts:
                text, column = f"a second {word} '{name}'", parts[titles[0]] + 1
                raise CondyleError(text, code="duplicate-name", line=block.line - 1, column=column)
    return found


def _read_markers(blocks: Sequence[_ViconBlock], frames: Floats) -> Markers | None:
    things = _find_things(blocks, "XYZ", "marker")
    found = (block.at([parts[axis] for axis in "XYZ"], frames) for block, parts in things.values())
    places = [one_of_many(place, len(things)) for place in found]
    return Markers(tuple(things), hide_zeros(side_by_side(places))) if things else None


def _read_unit(blocks: Sequence[_ViconBlock]) -> str | None:
    """Unit of length of all blocks, or None where no row says it."""
    said = set()
    for block in blocks:
        wanted = ("TX", "TY", "TZ") if block.title in POSE_BLOCKS else ("X", "Y", "Z")
        lengths = [k for _, parts in block.groups for title, k in parts.items() if title in wanted]
        said.add(block.unit(lengths))
    said -= {""}
    if len(said) > 1:
        raise CondyleError(f"lengths in {' and '.join(sorted(said))}; export them in one unit", code="bad-header")
    return check_unit(said.pop(), blocks[0].line + 1) if said else None


def _describe_truncation(blocks: Sequence[_ViconBlock], without: Sequence[str], frames: Floats) -> list[Finding]:
    """No length is declared: a cut row is facts, and a block that has no row or ends before the others."""
    last = blocks[-1]
    present = int(np.searchsorted(frames, last.values[-1, 0], side="right")) if not without else 0
    if without:
        text = f"the block {without[0]} has no whole row; the end of the file is missing"
    elif len(blocks) > 1 and present < len(frames):
        text = f"the block {last.title} has {present} of {len(frames)} frames; the end of the file is missing"
    else:
        return describe_truncation(len(frames), None, any(block.cut for block in blocks))
    missing = len(frames) - present
    return [Finding("truncated-file", "warning", text, value=missing, unit="frames", frame=present, count=missing)]


def _describe(
    blocks: Sequence[_ViconBlock], skipped: Sequence[str], unit: str | None, bodies: Bodies | None
) -> dict[str, str]:
    facts = {"program": "Vicon", "blocks": ", ".join(block.title for block in blocks), "length": unit or "mm by custom"}
    if skipped:
        facts["blocks not read"] = ", ".join(skipped[:10])
    if bodies is not None:
        four = any("RW" in parts for block in blocks if block.title in POSE_BLOCKS for _, parts in block.groups)
        turned = "" if four or bodies.orientation.shape[2] == 3 else ", turned into quaternions"
        facts["rotation"] = "quaternion xyzw" if four else f"three numbers{turned}"
    return facts


FORMAT = Format("vicon", "Vicon CSV", looks_like, read)
