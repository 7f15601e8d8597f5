"""Acclaim AMC: angles of a skeleton over time. The skeleton is in an ASF file beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats, Ints
from ...maths.spool import GrowingRows
from ...model.recording import Bodies, Convention, Recording
from ...model.take import OwnSkeleton
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import read_positive
from ..tables.rows import describe_truncation, read_number
from ..tables.text import Text, as_bytes, decode, first_block, read_head_lines, read_text, walk_blocks, walk_lines
from ._asf import ASF_ROOT, AsfBone, AsfSkeleton, find_skeleton, read_skeleton
from ._kinematics import STATED_BY_ANGLES, STILL_ANGLE, BoneChain, LocalPoses, place_bones, turn

LONGEST_AMC_NUMBER = 64  # characters


@dataclass(frozen=True, eq=False)
class _BoneAngles:
    """numbers: of each frame; values: {bone: (n, channels)}; cut: a last frame was left out."""

    numbers: Floats
    values: dict[str, Floats]
    cut: bool


def looks_like(head: bytes) -> bool:
    """A motion: its keyword, or a frame number and then the root. Also a skeleton, so that it is told what it lacks."""
    lines = [words for line in read_head_lines(head) if (words := line.partition("#")[0].split())]
    return _is_motion(lines) or _is_skeleton(lines)


def _is_motion(lines: Sequence[Sequence[str]]) -> bool:
    rows = [words for words in lines[:40] if not words[0].startswith(":")]
    starts = len(rows) > 1 and len(rows[0]) == 1 and rows[0][0].isdecimal() and rows[1][0].lower() == ASF_ROOT
    return starts or any(words[0].upper() == ":FULLY-SPECIFIED" for words in lines[:40])


def _is_skeleton(lines: Sequence[Sequence[str]]) -> bool:
    keys = {words[0].lower() for words in lines if words[0].startswith(":")}
    return {":root", ":bonedata"} <= keys


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every bone at its joint; lengths in the skeleton's unit."""
    text = read_text(path)
    lines = [
        words for line in first_block(text, 65536).split(b"\n") if (words := decode(line).partition("#")[0].split())
    ]
    if _is_skeleton(lines) and not _is_motion(lines):
        raise CondyleError("a skeleton without motion; give the .amc", code="no-data")
    if not lines:
        raise CondyleError("holds no frame", code="no-data")
    asf = find_skeleton(path)
    skeleton = read_skeleton(asf)
    facts, start, line = _read_head(text)
    motion = _read_motion(text[start:], line, skeleton, asf)
    degrees = {"degrees": True, "radians": False}.get(facts.get("angle", ""), skeleton.degrees)
    bodies, own, told = _compute_poses(skeleton, motion, degrees)
    unit = skeleton.unit
    return Recording(
        bodies=bodies,
        rate=read_positive(facts.get("samples-per-second", "")),
        segment=_find_segment(motion.numbers),
        convention=Convention(
            "matrix", unit=unit, up="y", stated=STATED_BY_ANGLES | ({"unit"} if unit is not None else frozenset())
        ),
        facts={
            "length": "not stated" if unit is None else f"{float(unit):.6g} m",
            "rotation": f"angles in {'degrees' if degrees else 'radians'} per bone",
            "skeleton": asf.name,
        },
        findings=(*describe_truncation(len(motion.numbers), None, motion.cut), *told),
        solved_by="the program that wrote the AMC file",
        own=own,
    )


def _read_head(text: Text) -> tuple[dict[str, str], int, int]:
    """What the lines before the first frame say, the byte after them, and the 1-based line there."""
    facts: dict[str, str] = {}
    start = 0
    for line, raw, after in walk_lines(text):  # noqa: B007
        words = decode(raw).partition("#")[0].split()
        if words and not words[0].startswith(":"):
            break
        if words:
            key = words[0][1:].lower()
            if key in ("degrees", "radians"):
                facts["angle"] = key
            facts.setdefault(key, " ".join(words[1:]))
        start = after
    return facts, start, line


def _read_motion(text: Text, line: int, skeleton: AsfSkeleton, asf: Path) -> _BoneAngles:
    """The frames, in one sweep where all are built alike; else, and for the place of a fault, line by line."""
    widths = {bone.name: len(bone.channels) for bone in skeleton.bones}
    end = text.rfind(b"\n") + 1
    cut = bool(as_bytes(text[end:]).strip())  # the last line has no end: its last number may have lost digits
    moving = {name: width for name, width in widths.items() if width}
    rows = GrowingRows()
    for body, last in _walk_frames(text[:end]):
        plain = re.sub(rb"#[^\n]*", b"", body) if b"#" in body else body
        try:
            numbers, values = _read_quickly(plain, moving)
        except ValueError:
            numbers, values, broken = _read_carefully(plain, line, widths, asf, last)
            cut = cut or broken
        rows.extend(np.column_stack([numbers, *(values[name] for name in moving)]))
        line += body.count(b"\n")
    if len(rows) == 0:
        raise CondyleError("not a single whole frame", code="no-data")
    table, starts = rows.array(), np.cumsum([1, *moving.values()])
    parts = {name: table[:, start : start + moving[name]] for name, start in zip(moving, starts, strict=False)}
    return _BoneAngles(table[:, 0], parts, cut)


def _walk_frames(body: Text) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole frames, and whether each is the last; a motion in memory is one block."""
    if isinstance(body, bytes):
        yield body, True
        return
    held = b""
    for _, block in walk_blocks(body):
        held += block
        at = len(held)
        while at and not held[at:].split(b"\n", 1)[0].strip().isdigit():  # the last line that begins a frame
            at = held.rfind(b"\n", 0, at - 1) + 1
        if at:
            yield held[:at], False
            held = held[at:]
    yield held, True


def _read_quickly(body: bytes, widths: dict[str, int]) -> tuple[Floats, dict[str, Floats]]:
    """Frames that all name the same bones in the same order; raises ValueError at anything else."""
    words = body.split()
    per_frame = 1 + sum(width + 1 for width in widths.values())
    if not words or len(words) % per_frame:
        raise ValueError("frames differ")
    order, at = [], 1
    names = {name.encode(): name for name in widths}
    while at < per_frame:
        name = names.pop(words[at], None)
        if name is None or words[at::per_frame].count(words[at]) != len(words) // per_frame:
            raise ValueError("frames differ")
        order.append((name, at + 1))
        at += widths[name] + 1
    if not b"".join(words[0::per_frame]).isdigit():
        raise ValueError("no frame number")
    numbers = _read_floats(words[0::per_frame])
    values = {
        name: np.column_stack([_read_floats(words[first + k :: per_frame]) for k in range(widths[name])])
        for name, first in order
    }
    return numbers, values


def _read_floats(words: list[bytes]) -> Floats:
    if b"_" in b" ".join(words) or max(map(len, words)) > LONGEST_AMC_NUMBER:
        raise ValueError("no plain numbers")
    return np.array(list(map(float, words)))


def _read_carefully(
    body: bytes, line: int, widths: dict[str, int], asf: Path, last: bool
) -> tuple[Floats, dict[str, Floats], bool]:
    """The same line by line: raises with the place of a fault; a last frame that lacks bones is left out."""
    moving = {name: width for name, width in widths.items() if width}
    numbers: list[float] = []
    frames: list[dict[str, list[float]]] = []
    starts: list[int] = []
    for number, raw in enumerate(body.split(b"\n"), start=line):
        words = decode(raw).split()
        if not words:
            continue
        if len(words) == 1 and words[0].isdecimal() and len(words[0]) < 16:
            _check_whole(frames, starts, moving)
            numbers.append(float(words[0]))
            frames.append({})
            starts.append(number)
            continue
        if not frames:
            raise CondyleError(
                f"'{words[0][:40]}' stands before the first frame number", code="bad-header", line=number
            )
        name = words[0]
        if widths.get(name) == len(words) - 1 == 0:
            continue  # some programs list the bones that cannot move as well
        if not widths.get(name):
            text = f"the bone '{name[:40]}' does not move in {asf.name}; is that the skeleton of this motion?"
            raise CondyleError(text, code="bad-header", line=number)
        if name in frames[-1]:
            raise CondyleError(
                f"a second line for '{name}' in one frame", code="duplicate-name", line=number, body=name
            )
        frames[-1][name] = _read_row(words, widths[name], number)
    if not last:
        _check_whole(frames, starts, moving)
    broken = bool(frames) and len(frames[-1]) != len(moving)
    if broken:
        del frames[-1], numbers[-1]
    values = {
        name: np.array([frame[name] for frame in frames], dtype=np.float64).reshape(len(frames), width)
        for name, width in moving.items()
    }
    return np.array(numbers), values, broken


def _check_whole(frames: list[dict[str, list[float]]], starts: list[int], widths: dict[str, int]) -> None:
    if frames and len(frames[-1]) != len(widths):
        missing = next(name for name in widths if name not in frames[-1])
        text = f"the frame that begins here has no line for '{missing}'"
        raise CondyleError(text, code="missing-column", line=starts[-1], frame=len(frames) - 1, body=missing)


def _read_row(words: list[str], width: int, line: int) -> list[float]:
    if len(words) - 1 != width:
        text = f"'{words[0][:40]}' has {len(words) - 1} numbers, expected {width}"
        raise CondyleError(text, code="ragged-row", line=line, column=min(len(words), width + 1) + 1)
    row = []
    for column, word in enumerate(words[1:], start=2):
        number = read_number(word)
        if number is None:
            text = f"'{word[:40]}' of '{words[0][:40]}' is no number"
            raise CondyleError(text, code="bad-number", line=line, column=column)
        row.append(number)
    return row


def _find_segment(numbers: Floats) -> Ints | None:
    """A new segment where the frame numbers jump: the time between is not known."""
    steps = np.diff(numbers)
    if len(steps) == 0 or (steps == steps[0]).all():
        return None
    usual = np.sort(steps)[len(steps) // 2]
    return np.concatenate([[0], np.cumsum(steps != usual)]).astype(np.int64)


def _compute_poses(
    skeleton: AsfSkeleton, motion: _BoneAngles, degrees: bool
) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
    """A bone's frame stands at its joint with the axes of the rest pose: R = C turn C' from its parent's."""
    n = len(motion.numbers)
    offsets = [skeleton.bones[up].end if up >= 0 else skeleton.position for up in skeleton.parent]
    chain = BoneChain(tuple(bone.name for bone in skeleton.bones), skeleton.parent, np.array(offsets))
    chain.check_size(n, sum(data.shape[1] for data in motion.values.values()))
    moved = [motion.values.get(bone.name, np.empty((n, 0))) for bone in skeleton.bones]
    still = [bool((np.abs(data) < STILL_ANGLE).all()) for data in moved]

    def find_local(rows: slice) -> LocalPoses:
        poses = [
            _turn_bone(bone, offset, data[rows], degrees)
            for bone, offset, data in zip(skeleton.bones, offsets, moved, strict=True)
        ]
        return [R for R, _ in poses], [p for _, p in poses]

    R, p_world = place_bones(chain.parent, n, find_local)
    return chain.bodies(R, p_world, np.array(still, dtype=np.bool_))


def _turn_bone(bone: AsfBone, offset: Floats, data: Floats, degrees: bool) -> tuple[Floats, Floats]:
    """(n, 3, 3), (n, 3) pose of a bone in its parent's frame, from its channels (n, k)."""
    data = np.where(np.isfinite(data), data, np.nan)
    turns = [k for k, channel in enumerate(bone.channels) if channel[0] == "R"]
    angles = np.radians(data[:, turns]) if degrees else data[:, turns]
    axes = "".join(bone.channels[k][1] for k in turns)
    turned = turn(angles[:, ::-1], axes[::-1])  # about fixed axes: the first in the file is done first
    p = np.tile(offset, (len(data), 1))
    for k, channel in enumerate(bone.channels):
        if channel[0] == "T":
            p[:, "XYZ".index(channel[1])] += data[:, k]
    return bone.C @ turned @ bone.C.T, p


FORMAT = Format("amc", "Acclaim AMC", looks_like, read)
