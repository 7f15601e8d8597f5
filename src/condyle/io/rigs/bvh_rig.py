"""A BVH file as a rig: its hierarchy stays to the letter, its rows are written anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...maths.euler import find_angles
from ...maths.series import mean_step
from ..atomic import read_small
from ..formats.bvh import BvhJoint, read_hierarchy
from ..tables.header import number_repeats
from ..tables.rows import read_number
from ..tables.text import to_utf8, unify_line_ends
from .rig_file import RigClip, RigFile

MOST_RIG_BYTES = 2**28  # of a rig's file
ROW_DECIMALS = 6  # behind the point, of lengths in the file's unit and of degrees


def read_bvh_rig(path: Path) -> RigFile:
    """The rig at rest: all angles zero, the root at its offset."""
    raw = read_small(path, MOST_RIG_BYTES)
    if len(raw) > MOST_RIG_BYTES:
        raise CondyleError(f"has more than {MOST_RIG_BYTES} bytes; a rig needs no motion", code="file-too-large")
    text = unify_line_ends(to_utf8(raw))
    top = re.search(rb"^[ \t]*MOTION[ \t]*$", text, re.MULTILINE | re.IGNORECASE)
    head = text if top is None else text[: top.start()]
    joints = read_hierarchy(head)
    bones = [k for k, joint in enumerate(joints) if not joint.end]
    row_of = {k: row for row, k in enumerate(bones)}
    names, _ = number_repeats([joints[k].name for k in bones], "joint")
    for row, k in enumerate(bones):
        turns = [channel[0] for channel in joints[k].channels if channel.endswith("rotation")]
        if sorted(turns) != ["X", "Y", "Z"]:
            fault = f"'{names[row]}' turns about {''.join(turns) or 'no axis'}; a rig's joints turn about X, Y and Z"
            raise CondyleError(fault, code="bad-header", line=joints[k].line)
    place = np.zeros((len(joints), 3))
    for k, joint in enumerate(joints):
        place[k] = np.array(joint.offset) + (place[joint.parent] if joint.parent >= 0 else 0.0)
    tip = np.full((len(bones), 3), np.nan)
    for k, joint in enumerate(joints):
        if joint.end:
            tip[row_of[joint.parent]] = place[k]
    parent = np.array([row_of.get(joints[k].parent, -1) for k in bones], np.int64)
    placeable = tuple(sum(word.endswith("position") for word in joints[k].channels) == 3 for k in bones)
    own = [joints[k] for k in bones]
    start = _find_start(own[0], b"" if top is None else text[top.end() :])

    def render(clips: Sequence[RigClip]) -> list[bytes]:
        return [head.rstrip() + _render_motion(own, parent.tolist(), clip, start) for clip in clips]

    eye = np.tile(np.eye(3), (len(bones), 1, 1))
    return RigFile(path, names, parent, eye, place[bones], tip, placeable, render)


def _find_start(root: BvhJoint, motion: bytes) -> Floats:
    """(3,) where places of the root count from: its offset, or zero. Programs differ, so the file's own first frame
    tells; without one, zero.
    """
    offset, zero = np.array(root.offset), np.zeros(3)
    row = re.search(rb"Frame[ \t]*Time[^\n]*\n([^\n]+)", motion, re.IGNORECASE)
    numbers = [] if row is None else [read_number(cell) for cell in row[1].split()[: len(root.channels)]]
    if None in numbers or len(numbers) < len(root.channels):
        return zero
    told = [(word, value) for word, value in zip(root.channels, numbers, strict=True) if word.endswith("position")]
    first = np.array([0.0 if value is None else value for _, value in told])
    own = np.array([offset["XYZ".index(word[0])] for word, _ in told])
    return offset if np.abs(first).sum() < np.abs(first - own).sum() else zero


def _render_motion(joints: Sequence[BvhJoint], parent: Sequence[int], clip: RigClip, start: Floats) -> bytes:
    """What stands from MOTION on. Places of joints are in their parents, offset included, as most programs do."""
    columns = []
    for k, joint in enumerate(joints):
        up = parent[k]
        back = np.swapaxes(clip.R_world[:, up], -1, -2) if up >= 0 else np.eye(3)
        order = "".join(word[0] for word in joint.channels if word.endswith("rotation"))
        angles = np.degrees(find_angles(back @ clip.R_world[:, k], order))
        if k == clip.placed or up < 0:
            away = clip.p_world[:, k] - (clip.p_world[:, up] if up >= 0 else start)
            place: Floats = (back @ away[..., None])[..., 0]
        else:
            place = np.tile(np.array(joint.offset), (len(clip.time), 1))
        for word in joint.channels:
            is_turn = word.endswith("rotation")
            columns.append(angles[:, order.index(word[0])] if is_turn else place[:, "XYZ".index(word[0])])
    values = np.round(np.stack(columns, axis=1), ROW_DECIMALS) + 0.0
    line = " ".join([f"%.{ROW_DECIMALS}f"] * values.shape[1]) + "\n"
    rows = "".join(line % tuple(row) for row in values.tolist())
    return f"\nMOTION\nFrames: {len(values)}\nFrame Time: {mean_step(clip.time):.10g}\n{rows}".encode("ascii")
