"""The frames of a C3D file: points, and the 4x4 matrices of bodies, in blocks of frames and never one by one."""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.spool import empty, is_any_finite, over_frames, seal
from ...model.recording import Bodies, Markers
from ..tables.header import number_repeats
from ._c3d_layout import ROTATION_WORDS, PointLayout, Rotations
from ._c3d_parameters import C3D_BLOCK_BYTES, Numbers, Parameters

C3D_DECODED_AT_ONCE_BYTES = 2**20  # bytes of frames decoded at once: they stay in the processor's cache
C3D_WORLD_NAME = "worldbody"  # the room itself, which Theia writes beside the segments
C3D_MATRIX_SUFFIX = "_4x4"
COMPUTED_GROUPS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")  # lists of points that are no places, in POINT
_BY_ROWS = [0, 4, 8, 1, 5, 9, 2, 6, 10]  # of the 3x3 part of a 4x4 matrix that is stored by columns


def read_markers(
    stream: IO[bytes], numbers: Numbers, parameters: Parameters, layout: PointLayout, frames: int
) -> tuple[Markers, list[Finding]]:
    """The points that are places, in the file's unit, and what to say of their names."""
    labels, kept = _read_marker_labels(parameters, layout.points)
    names, told = number_repeats(labels, "marker")
    position = _read_points(stream, numbers, layout, frames)
    if not is_any_finite(position):  # residuals that nobody computed are -1 throughout: no point is absent by that
        position = _read_points(stream, numbers, layout, frames, by_residual=False)
    if len(kept) < layout.points:
        position = over_frames(lambda part: part[:, kept], position)
    if layout.open:
        position = _drop_padding(position, layout.stride)
    return Markers(names, seal(position)), told


def _read_points(
    stream: IO[bytes], numbers: Numbers, layout: PointLayout, frames: int, *, by_residual: bool = True
) -> Floats:
    """(frames, points, 3) in the file's unit.

    NaN where the residual is below zero, unless residuals do not count, all three are zero, or one is no number.
    """
    k, width, stride = layout.points, layout.width, layout.stride
    is_float = layout.scale < 0
    kind = numbers.float_type if is_float else numbers.integer_type
    position = empty((frames, k, 3))
    step = max(C3D_DECODED_AT_ONCE_BYTES // stride, 1)
    stream.seek(layout.start)
    for first in range(0, frames, step):
        count = min(step, frames - first)
        raw = _read_exactly(stream, count * stride)
        values: NDArray[Any] = np.ndarray((count, k, 4), kind, raw, strides=(stride, 4 * width, width))
        part = position[first : first + count]
        with np.errstate(all="ignore"):
            if is_float:
                values = numbers.floats(values)
                part[...] = values[..., :3]
            else:
                np.multiply(values[..., :3], layout.scale, out=part, dtype=np.float64)
            x, y, z = part[..., 0], part[..., 1], part[..., 2]
            nowhere = ((x == 0) & (y == 0) & (z == 0)) | ~np.isfinite(x + y + z)
            part[((values[..., 3] < 0) & by_residual) | nowhere] = np.nan
    return position


def _drop_padding(position: Floats, stride: int) -> Floats:
    """Frames without the zeros that fill the last block: they look like frames in which nothing is seen."""
    most = min(C3D_BLOCK_BYTES // stride, len(position) - 1)
    tail = position[len(position) - most :]
    seen = np.flatnonzero(np.isfinite(tail).any(axis=(1, 2)))
    last = seen[-1] + 1 if len(seen) else 0
    return position[: len(position) - most + last]


def _read_marker_labels(parameters: Parameters, points: int) -> tuple[list[str], list[int]]:
    """Labels of the points that are places, and which points these are. No label: `*` and the number of the point."""
    labels = parameters.read_continued("POINT:LABELS")[:points]
    labels += [""] * (points - len(labels))
    labels = [label or f"*{k + 1}" for k, label in enumerate(labels)]
    computed = {label for name in COMPUTED_GROUPS for label in parameters.read_continued(f"POINT:{name}") if label}
    kept = [k for k, label in enumerate(labels) if label not in computed]
    return [labels[k] for k in kept], kept


def read_bodies(
    stream: IO[bytes], numbers: Numbers, parameters: Parameters, rotations: Rotations, frames: int
) -> tuple[Bodies | None, list[Finding]]:
    """Bodies of the ROTATION group without the world itself (None: nothing else is there), and what to say of names."""
    m = rotations.used
    names = _read_body_names(parameters, m)
    kept = [k for k, name in enumerate(names) if name.lower() != C3D_WORLD_NAME]
    if not kept:
        return None, []
    position, orientation = empty((frames, len(kept), 3)), empty((frames, len(kept), 9))
    step, no_matrix, seen = max(C3D_DECODED_AT_ONCE_BYTES // rotations.stride, 1), 0, 0
    stream.seek(rotations.start)
    for first in range(0, frames, step):
        count = min(step, frames - first)
        raw = _read_exactly(stream, count * rotations.stride)
        words = np.frombuffer(raw, numbers.float_type).reshape(count, m, ROTATION_WORDS)
        with np.errstate(all="ignore"):
            values = numbers.floats(words)[:, kept].astype(np.float64)
            size = np.abs(values[..., :15]).sum(-1)
            unseen = (values[..., 16] < 0) | ~np.isfinite(size) | (size == 0)
            flawed = ~unseen & (np.abs(values[..., 3:16:4] - [0, 0, 0, 1]) > 1e-3).any(-1)
        no_matrix, seen = no_matrix + int(flawed.sum()), seen + int((~unseen).sum())
        values[unseen | flawed] = np.nan
        position[first : first + count] = values[..., 12:15]
        orientation[first : first + count] = values[..., _BY_ROWS]
    if 2 * no_matrix > seen:
        text = f"the rotations from byte {rotations.start} on are no 4x4 matrices: their last rows are not 0 0 0 1"
        raise CondyleError(text, code="damaged-file")
    labels, told = number_repeats([names[k] for k in kept], "segment")
    return Bodies(labels, seal(position), seal(orientation)), told


def _read_body_names(parameters: Parameters, used: int) -> list[str]:
    labels = parameters.read_continued("ROTATION:LABELS")[:used]
    labels += [""] * (used - len(labels))
    names = [
        label[: -len(C3D_MATRIX_SUFFIX)] if label.lower().endswith(C3D_MATRIX_SUFFIX) else label for label in labels
    ]
    return [name.strip() or f"rotation {k + 1}" for k, name in enumerate(names)]


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    raw = stream.read(count)
    if len(raw) < count:
        raise CondyleError("the file became shorter while it was read; try again", code="damaged-file")
    return raw
