"""BVH: a hierarchy of joints and, per frame, their angles. Poses come out by forward kinematics."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats
from ...model.recording import Bodies, Convention, Recording
from ...model.take import OwnSkeleton
from ..format import Format, ReadOptions
from ..tables.header import number_repeats
from ..tables.rows import parse_rows, truncation
from ..tables.text import decode, head_lines, read_text
from ._kinematics import FARTHEST, STATED, STILL, BoneChain, forward, turn

CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")
MOST_JOINTS = 4096
HEAD = re.compile(
    rb"\s*+Frames[ \t]*+:[ \t]*+(\S*+)[^\n]*+\n\s*+Frame[ \t]*+Time[ \t]*+:[ \t]*+(\S*+)[^\n]*+(?:\n|$)", re.IGNORECASE
)  # nothing is given back: a long line is gone through once


@dataclass
class _Joint:
    """A joint or an end site while the hierarchy is read; the offset is in the file's unit."""

    name: str
    parent: int
    line: int
    end: bool = False
    offset: tuple[float, float, float] | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Motion:
    """What stands below MOTION. frames: as declared; step [s]; rows: lines of numbers, the first on line `line`."""

    frames: int
    step: float
    rows: bytes
    line: int


@dataclass
class _Hierarchy:
    """All joints and end sites, in the order of their channels in a row."""

    joints: list[_Joint] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    opened: bool = True  # the brace of the newest joint was seen


def looks_like(head: bytes) -> bool:
    """The first word is HIERARCHY, and a ROOT follows."""
    words = " ".join(head_lines(head)[:20]).split()
    return len(words) > 1 and words[0].upper() == "HIERARCHY" and words[1].upper() == "ROOT"


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every joint; lengths in the file's unit, which BVH does not declare."""
    text = read_text(path)
    top = re.search(rb"^[ \t]*MOTION[ \t]*$", text, re.MULTILINE | re.IGNORECASE)
    if top is None:
        raise CondyleError("ends before the line MOTION; export it again", code="bad-header")
    joints = _hierarchy(text[: top.start()])
    motion = _motion(text[top.end() :], line=text.count(b"\n", 0, top.end()) + 1)
    columns = [f"{joint.name} {channel}" for joint in joints for channel in joint.channels]
    if not columns:
        raise CondyleError("no joint has a channel: nothing moves", code="no-data", line=joints[0].line)
    values, cut = parse_rows(_points(motion.rows), columns, line=motion.line, separator=None)
    if len(values) == 0:
        raise CondyleError("a skeleton without a single whole frame", code="no-data", line=motion.line)
    names, findings = number_repeats([joint.name for joint in joints if not joint.end], "joint")
    bones = [k for k, joint in enumerate(joints) if not joint.end]
    row_of = {k: row for row, k in enumerate(bones)}
    offsets = np.array([joints[k].offset or (0.0, 0.0, 0.0) for k in bones])
    chain = BoneChain(names, tuple(row_of.get(joints[k].parent, -1) for k in bones), offsets)
    chain.check_size(len(values), len(columns))
    absolute = _positions_are_absolute(joints, values)
    poses, own, told = _poses(joints, bones, chain, np.where(np.isfinite(values), values, np.nan), absolute is True)
    facts = {"length": "not stated", "rotation": "angles in degrees per joint", "up": "y by custom, not stated"}
    if absolute is not None:
        facts["positions of joints"] = "instead of their offsets" if absolute else "added to their offsets"
    if len(values) > motion.frames:
        facts["frames"] = f"header says {motion.frames}, {len(values)} present and read"
    return Recording(
        bodies=poses,
        rate=1 / motion.step if motion.step > 0 else None,
        convention=Convention("matrix", up="y", stated=STATED),
        facts=facts,
        findings=(*truncation(len(values), motion.frames, cut), *findings, *told),
        solved_by="the program that wrote the BVH file",
        own=own,
    )


def _hierarchy(text: bytes) -> list[_Joint]:
    tree = _Hierarchy()
    lines = text.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        line = decode(raw).strip()
        word, rest = [*line.split(None, 1), "", ""][:2]
        _take_line(tree, word.upper(), rest, line, number)
    if tree.stack or not tree.opened:
        raise CondyleError("the hierarchy ends inside a joint; export it again", code="bad-header", line=len(lines))
    if not any(not joint.end for joint in tree.joints):
        raise CondyleError("the hierarchy has no joint", code="bad-header", line=1)
    return tree.joints


def _take_line(tree: _Hierarchy, word: str, rest: str, line: str, number: int) -> None:
    """One line of the hierarchy."""
    if not line or word == "HIERARCHY":
        return
    if word in ("ROOT", "JOINT") or (word == "END" and rest.upper().rstrip("{ \t") == "SITE"):
        _begin(tree, word, rest, number)
    elif not line.strip("{} \t"):
        _braces(tree, line, number)
    elif word in ("OFFSET", "CHANNELS"):
        if not tree.stack or not tree.opened:
            raise CondyleError(f"{word} outside the braces of a joint", code="bad-header", line=number)
        joint = tree.joints[tree.stack[-1]]
        closing = rest.rstrip("} \t")
        if word == "OFFSET":
            joint.offset = _offset(closing, number)
        else:
            joint.channels = _channels(closing, joint.name, number)
        if "}" in rest:
            _braces(tree, "".join(mark for mark in rest if mark == "}"), number)
    else:
        raise CondyleError(
            f"'{line[:40]}' is none of ROOT, JOINT, End Site, OFFSET, CHANNELS", code="bad-header", line=number
        )


def _begin(tree: _Hierarchy, word: str, rest: str, number: int) -> None:
    opens = rest.endswith("{")
    name = rest.removesuffix("{").strip()
    if not tree.opened or (word == "ROOT") == bool(tree.stack):
        raise CondyleError(
            f"'{word} {name[:40]}' stands where none can be; is a brace missing?", code="bad-header", line=number
        )
    if not name:
        raise CondyleError("a joint has no name", code="bad-name", line=number)
    if len(tree.joints) >= MOST_JOINTS:
        raise CondyleError(f"more than {MOST_JOINTS} joints", code="file-too-large", line=number)
    parent = tree.stack[-1] if tree.stack else -1
    if parent >= 0 and tree.joints[parent].end:
        raise CondyleError(f"'{name[:40]}' hangs on an End Site", code="bad-header", line=number)
    tree.joints.append(_Joint(name, parent, number, end=word == "END"))
    tree.opened = False
    if opens:
        _braces(tree, "{", number)


def _braces(tree: _Hierarchy, line: str, number: int) -> None:
    for mark in line.replace(" ", "").replace("\t", ""):
        if mark == "{" and not tree.opened:
            tree.stack.append(len(tree.joints) - 1)
            tree.opened = True
        elif mark == "}" and tree.stack and tree.opened:
            tree.stack.pop()
        else:
            raise CondyleError(f"a brace '{mark}' too many", code="bad-header", line=number)


def _offset(text: str, line: int) -> tuple[float, float, float]:
    try:
        x, y, z = (float(cell) for cell in decode(_points(text.encode())).split())
        if not all(abs(value) < FARTHEST for value in (x, y, z)) or "_" in text:
            raise ValueError
    except ValueError:
        raise CondyleError(f"OFFSET '{text[:40]}' is not three numbers", code="bad-number", line=line) from None
    return x, y, z


def _channels(text: str, joint: str, line: int) -> tuple[str, ...]:
    count, *names = text.split() or [""]
    channels = tuple(name[:1].upper() + name[1:].lower() for name in names)
    if count != str(len(names)):
        raise CondyleError(
            f"'{joint[:40]}' says CHANNELS {count[:10]} and names {len(names)}", code="bad-header", line=line
        )
    for channel in channels:
        if channel not in CHANNELS:
            fault = f"'{joint[:40]}' has the channel '{channel[:40]}'; read are {', '.join(CHANNELS)}"
            raise CondyleError(fault, code="bad-header", line=line)
    return channels


def _motion(text: bytes, line: int) -> _Motion:
    head = HEAD.match(text)
    if head is None:
        raise CondyleError("below MOTION, 'Frames:' and 'Frame Time:' are expected", code="bad-header", line=line)
    if not re.fullmatch(rb"\d{1,12}", head[1]):
        raise CondyleError(f"'Frames: {decode(head[1])[:40]}' is no count", code="bad-header", line=line + 1)
    try:
        step = float(head[2].replace(b",", b"."))
        if not 0 <= step < 1e6 or b"_" in head[2] or (step > 0 and not np.isfinite(1 / step)):
            raise ValueError
    except ValueError:
        raise CondyleError(
            f"'Frame Time: {decode(head[2])[:40]}' is no time in seconds", code="bad-time", line=line + 2
        ) from None
    return _Motion(int(head[1]), step, text[head.end() :], line + text.count(b"\n", 0, head.end()))


def _points(rows: bytes) -> bytes:
    """The rows with decimal points, where a program wrote commas throughout."""
    return rows.replace(b",", b".") if b"," in rows and b"." not in rows else rows


def _positions_are_absolute(joints: list[_Joint], values: Floats) -> bool | None:
    """Whether the positions of joints below a root contain their offsets; None where there are none.

    Programs differ: some write the joint's place in its parent, some the departure from its offset. What stays nearer
    to the offsets is the former.
    """
    column, as_place, as_departure = 0, 0.0, 0.0
    any_position = False
    for joint in joints:
        for channel in joint.channels:
            if channel.endswith("position") and joint.parent >= 0 and not joint.end:
                any_position = True
                offset = (joint.offset or (0.0, 0.0, 0.0))["XYZ".index(channel[0])]
                usual = float(_usual(values[:, column : column + 1])[0])
                as_place += abs(usual - offset)
                as_departure += abs(usual)
            column += 1
    return as_place < as_departure if any_position else None


def _usual(values: Floats) -> Floats:
    """(k,) the middle of each column of (n, k); 0 where a column has no number."""
    finite = np.sort(np.where(np.isfinite(values), values, np.inf), axis=0)  # what is no number goes to the end
    middle = finite[np.isfinite(values).sum(axis=0) // 2, np.arange(values.shape[1])]
    return np.where(np.isfinite(middle), middle, 0.0)


def _poses(
    joints: list[_Joint], bones: list[int], chain: BoneChain, values: Floats, absolute: bool
) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
    """Bodies, skeleton and findings by forward kinematics over all frames."""
    n = len(values)
    starts = np.cumsum([0] + [len(joint.channels) for joint in joints])
    offsets = chain.offsets.copy()
    R_local, p_local, still = [], [], []
    for row, k in enumerate(bones):
        channels = joints[k].channels
        data = values[:, starts[k] : starts[k + 1]]
        turns = [c for c, channel in enumerate(channels) if channel.endswith("rotation")]
        moves = [c for c, channel in enumerate(channels) if channel.endswith("position")]
        p = np.tile(chain.offsets[row], (n, 1))
        for c in moves:
            axis = "XYZ".index(channels[c][0])
            p[:, axis] = data[:, c] if absolute else p[:, axis] + data[:, c]
        if moves and chain.parent[row] >= 0:
            offsets[row] = _usual(p)
        R_local.append(turn(np.radians(data[:, turns]), "".join(channels[c][0] for c in turns)))
        p_local.append(p)
        still.append(bool((np.abs(data[:, turns]) < STILL).all() and (p == offsets[row]).all()))
    R, p_world = forward(chain.parent, R_local, p_local)
    return BoneChain(chain.names, chain.parent, offsets).bodies(R, p_world, np.array(still, dtype=np.bool_))


FORMAT = Format("bvh", "BVH", looks_like, read)
