"""BVH: a hierarchy of joints and, per frame, their angles. Poses come out by forward kinematics."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.spool import over_frames
from ...model.recording import Bodies, Convention, Recording
from ...model.take import OwnSkeleton
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import number_repeats, read_count
from ..tables.rows import describe_truncation, read_number
from ..tables.table import Table
from ..tables.text import Text, decode, first_block, read_head_lines, read_text
from ._kinematics import FARTHEST_OFFSET, STATED_BY_ANGLES, STILL_ANGLE, BoneChain, LocalPoses, place_bones, turn

BVH_CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")
MOST_BVH_JOINTS = 4096
MOTION_HEAD = re.compile(
    rb"\s*+Frames[ \t]*+:[ \t]*+(\S*+)[^\n]*+\n\s*+Frame[ \t]*+Time[ \t]*+:[ \t]*+(\S*+)[^\n]*+(?:\n|$)", re.IGNORECASE
)  # nothing is given back: a long line is gone through once


@dataclass
class BvhJoint:
    """A joint or an end site while the hierarchy is read; the offset is in the file's unit."""

    name: str
    parent: int
    line: int
    end: bool
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    channels: tuple[str, ...] = ()


def looks_like(head: bytes) -> bool:
    """The first word is HIERARCHY, and a ROOT follows."""
    words = " ".join(read_head_lines(head)[:20]).split()
    return len(words) > 1 and words[0].upper() == "HIERARCHY" and words[1].upper() == "ROOT"


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every joint; lengths in the file's unit, which BVH does not declare."""
    text = read_text(path)
    head = first_block(text)
    top = re.search(rb"^[ \t]*MOTION[ \t]*$", head, re.MULTILINE | re.IGNORECASE)
    if top is None:
        raise CondyleError("ends before the line MOTION; export it again", code="bad-header")
    joints = read_hierarchy(head[: top.start()])
    declared, step, table = _read_motion(text[top.end() :], text.count(b"\n", 0, top.end()) + 1, joints)
    values, cut = table.numbers(empty="a skeleton without a single whole frame")
    names, findings = number_repeats([joint.name for joint in joints if not joint.end], "joint")
    bones = [k for k, joint in enumerate(joints) if not joint.end]
    row_of = {k: row for row, k in enumerate(bones)}
    offsets = np.array([joints[k].offset for k in bones])
    chain = BoneChain(names, tuple(row_of.get(joints[k].parent, -1) for k in bones), offsets)
    chain.check_size(*values.shape)
    absolute = positions_are_absolute(joints, values)
    values = over_frames(lambda part: np.where(np.isfinite(part), part, np.nan), values)
    poses, own, same = _compute_poses(joints, bones, chain, values, absolute is True)
    facts = {"length": "not stated", "rotation": "angles in degrees per joint", "up": "y by custom, not stated"}
    if absolute is not None:
        facts["positions of joints"] = "instead of their offsets" if absolute else "added to their offsets"
    if len(values) > declared:
        facts["frames"] = f"header says {declared}, {len(values)} present and read"
    return Recording(
        bodies=poses,
        rate=1 / step if step > 0 else None,
        convention=Convention("matrix", up="y", stated=STATED_BY_ANGLES),
        facts=facts,
        findings=(*describe_truncation(len(values), declared, cut), *findings, *same),
        solved_by="the program that wrote the BVH file",
        own=own,
    )


def read_hierarchy(text: bytes) -> list[BvhJoint]:
    """All joints and end sites, in the order of their channels in a row."""
    joints: list[BvhJoint] = []
    stack: list[int] = []
    opened = True  # the brace of the newest joint was seen
    for number, raw in enumerate(text.split(b"\n"), start=1):
        line = decode(raw).strip()
        word, rest = [*line.split(None, 1), "", ""][:2]
        word, marks = word.upper(), ""
        if not line or word == "HIERARCHY":
            continue
        if word in ("ROOT", "JOINT") or (word == "END" and rest.upper().rstrip("{ \t") == "SITE"):
            name = rest.removesuffix("{").strip()
            if not opened or (word == "ROOT") == bool(stack):
                fault = f"'{word} {name[:40]}' stands where none can be; is a brace missing?"
                raise CondyleError(fault, code="bad-header", line=number)
            joints.append(_begin(name, word, joints, stack[-1] if stack else -1, number))
            opened, marks = False, "{" if rest.endswith("{") else ""
        elif not line.strip("{} \t"):
            marks = line
        elif word in ("OFFSET", "CHANNELS"):
            if not stack or not opened:
                raise CondyleError(f"{word} outside the braces of a joint", code="bad-header", line=number)
            joint, marks = joints[stack[-1]], "}" * rest.count("}")
            if word == "OFFSET":
                joint.offset = _read_offset(rest.rstrip("} \t"), number)
            else:
                joint.channels = _read_channels(rest.rstrip("} \t"), joint.name, number)
        else:
            fault = f"'{line[:40]}' is none of ROOT, JOINT, End Site, OFFSET, CHANNELS"
            raise CondyleError(fault, code="bad-header", line=number)
        for mark in "".join(marks.split()):
            if mark == "{" and not opened:
                stack.append(len(joints) - 1)
                opened = True
            elif mark == "}" and stack and opened:
                stack.pop()
            else:
                raise CondyleError(f"a brace '{mark}' too many", code="bad-header", line=number)
    if stack or not opened:
        raise CondyleError("the hierarchy ends inside a joint; export it again", code="bad-header", line=number)
    if not any(not joint.end for joint in joints):
        raise CondyleError("the hierarchy has no joint", code="bad-header", line=1)
    return joints


def _begin(name: str, word: str, joints: list[BvhJoint], parent: int, number: int) -> BvhJoint:
    if not name:
        raise CondyleError("a joint has no name", code="bad-name", line=number)
    if len(joints) >= MOST_BVH_JOINTS:
        raise CondyleError(f"more than {MOST_BVH_JOINTS} joints", code="file-too-large", line=number)
    if parent >= 0 and joints[parent].end:
        raise CondyleError(f"'{name[:40]}' hangs on an End Site", code="bad-header", line=number)
    return BvhJoint(name, parent, number, end=word == "END")


def _read_offset(text: str, line: int) -> tuple[float, float, float]:
    comma = "," in text and "." not in text
    numbers = [number for cell in text.split() if (number := read_number(cell, comma)) is not None]
    if len(numbers) != 3 or len(text.split()) != 3 or not all(abs(value) < FARTHEST_OFFSET for value in numbers):
        raise CondyleError(f"OFFSET '{text[:40]}' is not three numbers", code="bad-number", line=line)
    return numbers[0], numbers[1], numbers[2]


def _read_channels(text: str, joint: str, line: int) -> tuple[str, ...]:
    count, *names = text.split() or [""]
    channels = tuple(name[:1].upper() + name[1:].lower() for name in names)
    if count != str(len(names)):
        raise CondyleError(
            f"'{joint[:40]}' says CHANNELS {count[:10]} and names {len(names)}", code="bad-header", line=line
        )
    for channel in channels:
        if channel not in BVH_CHANNELS:
            fault = f"'{joint[:40]}' has the channel '{channel[:40]}'; read are {', '.join(BVH_CHANNELS)}"
            raise CondyleError(fault, code="bad-header", line=line)
    return channels


def _read_motion(text: Text, line: int, joints: list[BvhJoint]) -> tuple[int, float, Table]:
    """What stands below MOTION: frames as declared, time between them [s], and the rows."""
    head = MOTION_HEAD.match(first_block(text))
    if head is None:
        raise CondyleError("below MOTION, 'Frames:' and 'Frame Time:' are expected", code="bad-header", line=line)
    frames, step = read_count(decode(head[1])), read_number(head[2], decimal_comma=True)
    if frames is None:
        raise CondyleError(f"'Frames: {decode(head[1])[:40]}' is no count", code="bad-header", line=line + 1)
    if step is None or not 0 <= step < 1e6 or (step > 0 and not np.isfinite(1 / step)):
        fault = f"'Frame Time: {decode(head[2])[:40]}' is no time in seconds"
        raise CondyleError(fault, code="bad-time", line=line + 2)
    columns = tuple(f"{joint.name} {channel}" for joint in joints for channel in joint.channels)
    if not columns:
        raise CondyleError("no joint has a channel: nothing moves", code="no-data", line=joints[0].line)
    return frames, step, Table(columns, text[head.end() :], line + text.count(b"\n", 0, head.end()), None)


def positions_are_absolute(joints: list[BvhJoint], values: Floats) -> bool | None:
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
                offset = joint.offset["XYZ".index(channel[0])]
                usual = float(_find_usual(values[:, column : column + 1])[0])
                as_place += abs(usual - offset)
                as_departure += abs(usual)
            column += 1
    return as_place < as_departure if any_position else None


def _find_usual(values: Floats) -> Floats:
    """(k,) the middle of each column of (n, k); 0 where a column has no number."""
    finite = np.sort(np.where(np.isfinite(values), values, np.inf), axis=0)  # what is no number goes to the end
    middle = finite[np.isfinite(values).sum(axis=0) // 2, np.arange(values.shape[1])]
    return np.where(np.isfinite(middle), middle, 0.0)


def _compute_poses(
    joints: list[BvhJoint], bones: list[int], chain: BoneChain, values: Floats, absolute: bool
) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
    """Bodies, skeleton and findings by forward kinematics over all frames."""
    starts = np.cumsum([0] + [len(joint.channels) for joint in joints])
    offsets = chain.offsets.copy()
    still = []

    def find_channels(k: int, kind: str) -> list[int]:
        return [c for c, channel in enumerate(joints[k].channels) if channel.endswith(kind)]

    def find_place(row: int, k: int, data: Floats) -> Floats:
        """(n, 3) of a joint in its parent."""
        p = np.tile(chain.offsets[row], (len(data), 1))
        for c in find_channels(k, "position"):
            axis = "XYZ".index(joints[k].channels[c][0])
            p[:, axis] = data[:, c] if absolute else p[:, axis] + data[:, c]
        return p

    def find_local(rows: slice) -> LocalPoses:
        R_local, p_local = [], []
        for row, k in enumerate(bones):
            data, turns = values[rows, starts[k] : starts[k + 1]], find_channels(k, "rotation")
            R_local.append(turn(np.radians(data[:, turns]), "".join(joints[k].channels[c][0] for c in turns)))
            p_local.append(find_place(row, k, data))
        return R_local, p_local

    for row, k in enumerate(bones):
        data = values[:, starts[k] : starts[k + 1]]
        p = find_place(row, k, data)
        if find_channels(k, "position") and chain.parent[row] >= 0:
            offsets[row] = _find_usual(p)
        rests = (np.abs(data[:, find_channels(k, "rotation")]) < STILL_ANGLE).all()
        still.append(bool(rests and (p == offsets[row]).all()))
    R, p_world = place_bones(chain.parent, len(values), find_local)
    return BoneChain(chain.names, chain.parent, offsets).bodies(R, p_world, np.array(still, dtype=np.bool_))


FORMAT = Format("bvh", "BVH", looks_like, read)
