"""What errors of frames and sensors do to angles: frames are turned a little, and the angles counted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, evenly
from ..model.skeleton import Skeleton
from .counting import Counted, count_each, find_usable

PROBE_RAD = np.radians(1.0)  # by which a frame is turned to see what its errors do to the angles
PROBE_FRAMES = 200  # in which that is looked at
DEFINITION_MIN_SHARE = 0.5  # of a frame's turn that shows in the level of an angle which depends on its definition


def find_errors(joints: Sequence[Counted], skeleton: Skeleton) -> tuple[Floats, Floats, Floats, tuple[bool, ...]]:
    """Of every column (c,) [rad]: errors of level and course that the frames make, noise of a frame; by definition."""
    noise = {one.body: one.orientation for one in skeleton.noise}
    offsets, curves, noises, defined = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)], []
    for joint in joints:
        level, course, white, open_ = _probe_joint(joint, noise)
        offsets.append(level)
        curves.append(course)
        noises.append(white)
        defined += open_
    return np.concatenate(offsets), np.concatenate(curves), np.concatenate(noises), tuple(defined)


def _probe_joint(joint: Counted, noise: Mapping[str, float]) -> tuple[Floats, Floats, Floats, list[bool]]:
    """`find_errors` of one joint: its frames are turned a little about each axis, and what that does is looked at."""
    known = np.flatnonzero(np.isfinite(np.einsum("nij->n", joint.R)))
    R = joint.R[known[evenly(len(known), PROBE_FRAMES)]]
    c = len(joint.columns)
    if not len(R):
        return np.full(c, np.nan), np.full(c, np.nan), np.full(c, np.nan), [False] * c
    usable = find_usable(joint, R)
    turn = rotation.from_vector(PROBE_RAD * np.eye(3))[:, None]
    probes = np.concatenate([R[None], np.swapaxes(turn, -1, -2) @ R, R @ turn])  # as it is, its sides turned by each
    counted = count_each(joint, probes.reshape(-1, 3, 3)).reshape(len(probes), len(R), c)
    change = ((counted[1:] - counted[0] + np.pi) % (2 * np.pi) - np.pi) / PROBE_RAD
    with np.errstate(invalid="ignore"):  # of a column that is nowhere usable
        mean, square = (_mean_of(part, usable) for part in (change, np.square(change)))
        spread = np.sqrt(_mean_of(np.square(change - mean[:, None]), usable))
    white = square[3:].sum(axis=0)
    level, course = np.zeros(c), np.zeros(c)
    lost, defined = np.zeros(c, bool), np.zeros(c, bool)
    for side, frame in enumerate(joint.ends):
        for i, sd in enumerate([] if frame is None else frame.sd.tolist()):
            at = 3 * side + i
            if np.isfinite(sd):
                level += np.square(mean[at] * sd)
                course += np.square(spread[at] * sd)
            else:
                lost |= spread[at] > DEFINITION_MIN_SHARE
                defined |= np.abs(mean[at]) > DEFINITION_MIN_SHARE
    child, parent = noise.get(joint.columns[0].child), noise.get(joint.columns[0].parent or "", 0.0)
    sensor = np.nan if child is None else float(np.hypot(child, parent))
    course = np.where(lost, np.nan, np.sqrt(course))
    return np.where(defined, np.nan, np.sqrt(level)), course, np.sqrt(white) * sensor, defined.tolist()


def _mean_of(values: Floats, usable: Bools) -> Floats:
    """(..., c) mean over frames of (..., k, c) where it is usable (k, c); NaN where it is nowhere."""
    return np.asarray(np.where(usable, values, 0.0).sum(axis=-2) / usable.sum(axis=0))
