"""BVH: a hierarchy of joints and their angles, y up. docs/exports/bvh.md describes what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...maths.arrays import Floats
from ...maths.euler import find_angles
from ...maths.series import mean_step
from .figure import Figure
from .scene import FigureFormat, Scene, Written

BVH_UNIT_M = 0.01  # m in the file's unit of length, centimetres
BVH_ORDER = "ZXY"  # of the angles of every joint: its gimbal lock is a quarter turn of flexion, never a heading
BVH_DECIMALS = 6  # behind the point, of centimetres and degrees
BVH_LETTERS = r"[A-Za-z0-9_.:-]"


def write_bvh(scene: Scene, path: Path) -> Written:
    """One file per tree and segment: `path` for the first, its stem with the tree's root and a number for others."""
    figure = scene.figure.turn_up("y").rename(BVH_LETTERS, form="BVH").resample().fill_gaps()
    files = []
    trees = figure.trees()
    for tree in trees:
        for number, clip in enumerate(tree.clips(), start=1):
            words = [path.stem] + [tree.names[0]] * (len(trees) > 1) + [str(number)] * (number > 1)
            file = path.with_name("-".join(words) + path.suffix)
            file.write_bytes(to_bvh(clip))
            files.append(file)
    return Written(tuple(files), figure.findings)


def to_bvh(figure: Figure) -> bytes:
    """The file of one tree in one segment, y up and without unknown poses."""
    R_rest, _ = figure.rest
    lines = ["HIERARCHY", *_joint(figure, R_rest, 0, 0), "MOTION", f"Frames: {figure.frames}"]
    lines.append(f"Frame Time: {mean_step(figure.time):.10g}")
    return ("\n".join(lines) + "\n").encode("ascii") + _rows(_channels(figure, R_rest))


def _joint(figure: Figure, R_rest: Floats, bone: int, depth: int) -> list[str]:
    """Lines of a joint and all below it. Offsets are in the room's axes: at rest, all angles are zero."""
    pad = "  " * depth
    root = figure.parent[bone] < 0
    offset = np.zeros(3) if root else R_rest[figure.parent[bone]] @ figure.p_parent_bone[bone]
    angles = " ".join(f"{axis}rotation" for axis in BVH_ORDER)
    channels = f"6 Xposition Yposition Zposition {angles}" if root else f"3 {angles}"
    lines = [f"{pad}{'ROOT' if root else 'JOINT'} {figure.names[bone]}", f"{pad}{{"]
    lines += [f"{pad}  OFFSET {_numbers(offset)}", f"{pad}  CHANNELS {channels}"]
    below = figure.children(bone)
    for child in below:
        lines += _joint(figure, R_rest, child, depth + 1)
    if not below:
        lines += [f"{pad}  End Site", f"{pad}  {{", f"{pad}    OFFSET {_numbers(R_rest[bone] @ figure.tip[bone])}"]
        lines.append(f"{pad}  }}")
    return [*lines, f"{pad}}}"]


def _numbers(v: Floats) -> str:
    return " ".join(f"{x:.{BVH_DECIMALS}f}" for x in (np.round(v / BVH_UNIT_M, BVH_DECIMALS) + 0.0).tolist())  # no -0.0


def _channels(figure: Figure, R_rest: Floats) -> Floats:
    """(n, 3 + 3 b) root's place [cm] and angles [deg] in the order of the hierarchy, which is depth first."""
    R_world, p_world = figure.world
    R_world = R_world @ np.swapaxes(R_rest, -1, -2)  # of frames that lie along the room's axes at rest
    columns = [p_world[:, 0] / BVH_UNIT_M]
    for bone in figure.depth_first:
        up = int(figure.parent[bone])
        R = R_world[:, bone] if up < 0 else np.swapaxes(R_world[:, up], -1, -2) @ R_world[:, bone]
        columns.append(np.degrees(find_angles(R, BVH_ORDER)))
    return np.concatenate(columns, axis=1)


def _rows(values: Floats) -> bytes:
    line = " ".join([f"%.{BVH_DECIMALS}f"] * values.shape[1]) + "\n"
    return "".join(line % tuple(row) for row in values.tolist()).encode("ascii")


FORMAT = FigureFormat("bvh", "BVH, y up, centimetres", ".bvh", write_bvh)
