"""C3D: joint centres as points, bones as the 4x4 matrices of the ROTATION group, in mm.

docs/exports/c3d.md describes what is written.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ...findings import Finding, many
from ...maths.arrays import Bools
from ...maths.series import mean_step
from ..formats._c3d_data import C3D_MATRIX_SUFFIX
from ..formats._c3d_layout import COUNTER_FULL, ROTATION_WORDS
from ..formats._c3d_parameters import C3D_BLOCK_BYTES
from ._c3d_parameters import ParameterValue, fill_block, write_parameters
from .figure import Figure
from .scene import FigureFormat, Scene, Written, number_file

C3D_UNIT_M = 0.001  # m: the trade's millimetres
C3D_LETTERS = r"[A-Za-z0-9_.-]"
ROTATION_START_MAX_BLOCK = 32_767  # block in which the matrices begin: 16 bits, which some programs read with a sign
HEAD_MAX_BLOCKS = 255  # that stand before the points at most, and the header
_SCREEN_RIGHT = {"x": "+Y", "y": "+X", "z": "+X"}  # axis to the right on a screen, by the one that points up


def write_c3d(scene: Scene, path: Path) -> Written:
    """`path` for the first segment, its stem with a number for others and for what does not fit into one file."""
    figure = scene.figure.rename(C3D_LETTERS, form="C3D").resample()
    most = count_most_frames(figure)
    clips = figure.clips()
    parts = [(clip, at) for clip in clips for at in range(0, max(clip.frames, 1), most)]
    files = []
    for number, (clip, at) in enumerate(parts, start=1):
        file = number_file(path, number)
        file.write_bytes(to_c3d(clip.at(slice(at, at + most)), at + 1))
        files.append(file)
    told: tuple[Finding, ...] = ()
    if len(parts) > len(clips):
        text = (
            f"a C3D file holds {many(most, 'frame')} of this figure, because it counts in 16 bits; "
            f"the motion is in {len(parts)} files, one after the other"
        )
        told = (Finding("split-file", "info", text, value=float(most), unit="1", count=len(parts)),)
    return Written(tuple(files), (*figure.findings, *told))


def count_most_frames(figure: Figure) -> int:
    """Frames of this figure that every program finds in one file: as many as are counted, and the matrices in reach."""
    stride = 16 * max(int((figure.parent >= 0).sum()), 1)
    return min(COUNTER_FULL, (ROTATION_START_MAX_BLOCK - HEAD_MAX_BLOCKS - 3) * C3D_BLOCK_BYTES // stride)


def to_c3d(figure: Figure, first: int = 1) -> bytes:
    """The file of one segment on an even clock, or of a part that begins with frame `first` of it, counted from 1.

    A pose that is not known is marked as not seen.
    """
    points, matrices = _points(figure), _matrices(figure)
    rate = 1 / mean_step(figure.time)
    frames = fill_block(points.tobytes())
    groups = _groups(figure, rate, first, 1, 1)
    start = 2 + len(write_parameters(groups)) // C3D_BLOCK_BYTES
    section = write_parameters(_groups(figure, rate, first, start, start + len(frames) // C3D_BLOCK_BYTES))
    return _header(figure, rate, start) + section + frames + fill_block(matrices.tobytes())


def _points(figure: Figure) -> NDArray[np.float32]:
    """(n, J, 4) joint centres [mm] and the residual: 0 for a point that a model made, -1 for one that is not seen."""
    p = figure.world[1][:, figure.parent >= 0] / C3D_UNIT_M
    points = np.zeros((*p.shape[:2], 4), "<f4")
    seen: Bools = np.asarray(np.isfinite(p).all(axis=-1))
    points[..., :3] = np.where(seen[..., None], p, 0.0)
    points[..., 3] = np.where(seen, 0.0, -1.0)
    return points


def _matrices(figure: Figure) -> NDArray[np.float32]:
    """(n, b, 17) a 4x4 matrix by columns that takes a bone's coordinates [mm] to the room's, and 0; -1: not seen."""
    R, p = figure.world
    matrices = np.zeros((*p.shape[:2], ROTATION_WORDS), "<f4")
    columns = matrices[..., :16].reshape(*p.shape[:2], 4, 4)
    columns[..., :3, :3] = np.swapaxes(R, -1, -2)
    columns[..., 3, :3] = p / C3D_UNIT_M
    columns[..., 3, 3] = 1.0
    seen: Bools = np.asarray(np.isfinite(columns).all(axis=(-2, -1)))
    columns[~seen, :, :3] = np.nan  # as Theia marks what it did not see
    matrices[..., 16] = np.where(seen, 0.0, -1.0)
    return matrices


def _groups(
    figure: Figure, rate: float, first: int, point_start: int, find_rotation_start: int
) -> dict[str, dict[str, ParameterValue]]:
    b, last = len(figure.names), first + figure.frames - 1
    inside = [k for k in range(b) if figure.parent[k] >= 0]
    labels = [figure.joints[k] for k in inside]
    bones = [f"{name}{C3D_MATRIX_SUFFIX.upper()}" for name in figure.names]
    joins = [f"joint of {figure.bodies[figure.parent[k]]} and {figure.bodies[k]}"[:127] for k in inside]
    sign, axis = ("-" if figure.up.startswith("-") else "+"), figure.up[-1]
    return {
        "POINT": {
            "USED": len(labels),
            "FRAMES": figure.frames,
            "DATA_START": point_start,
            "SCALE": -0.1,
            "RATE": rate,
            "UNITS": "mm",
            "X_SCREEN": _SCREEN_RIGHT[axis],
            "Y_SCREEN": f"{sign}{axis.upper()}",
            "LABELS": labels,
            "DESCRIPTIONS": joins,
        },
        "ANALOG": {"USED": 0, "LABELS": [], "DESCRIPTIONS": [], "GEN_SCALE": 1.0, "RATE": 0.0, "UNITS": []},
        "FORCE_PLATFORM": {"USED": 0},
        "TRIAL": {  # numbers of 32 bits, the low half first
            "ACTUAL_START_FIELD": [first & 0xFFFF, first >> 16],
            "ACTUAL_END_FIELD": [last & 0xFFFF, last >> 16],
            "CAMERA_RATE": rate,
        },
        "ROTATION": {
            "USED": b,
            "DATA_START": find_rotation_start,
            "RATE": rate,
            "RATIO": 1,
            "LABELS": bones,
            "DESCRIPTIONS": [f"bone of {body}"[:127] for body in figure.bodies],
        },
        "DATA_BLOCKS": {"ROTATION": "4x4 ROTATION"},
        "MANUFACTURER": {"COMPANY": "condyle", "SOFTWARE": "condyle", "VERSION_LABEL": __version__},
        **({} if figure.fit_id is None else {"CONDYLE": {"FIT_ID": figure.fit_id}}),
    }


def _header(figure: Figure, rate: float, start: int) -> bytes:
    """The first block: points, frames from 1, floats, where the points begin, rate."""
    points = int((figure.parent >= 0).sum())
    words = struct.pack("<BBHHHHHfHHf", 2, 0x50, points, 0, 1, figure.frames, 10, -0.1, start, 0, rate)
    return fill_block(words)


FORMAT = FigureFormat("c3d", "C3D, joint centres and rotations, mm", ".c3d", write_c3d)
