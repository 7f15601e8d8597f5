"""How a joint's rotations are counted: three angles, a rotation vector or one angle, over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from ..maths.euler import find_angles, find_principal_angles, measure_lock
from ..maths.robust import median
from ..maths.series import segment_slices
from ..maths.spool import empty, seal
from ..model.angle_conventions import JointRow
from ..model.angles import AngleColumn, SegmentFrame

LOCK_MIN_SINE = np.sin(np.radians(10.0))  # distance to gimbal lock below which the first and third angle are left out


class Counted(NamedTuple):
    """One joint to be counted: R_proximal_distal (n, 3, 3) in anatomical frames, mirrored on the left.

    ends      frames of the two segments; None: the room
    mirrored  on the left
    axis      (3,) of a hinge that is counted by its one angle
    """

    columns: tuple[AngleColumn, ...]
    R: Floats
    row: JointRow
    ends: tuple[SegmentFrame | None, SegmentFrame]
    mirrored: bool
    axis: Floats | None = None


def measure_columns(joints: list[Counted], segment: Ints, keep_locked: bool) -> tuple[Floats, list[Bools], list[Bools]]:
    """(n, c) [rad] of all columns; of every joint (n,) where it is near gimbal lock, and where it is beyond."""
    n = len(segment)
    values = empty((n, sum(len(joint.columns) for joint in joints)))
    locked, crossed, at = [], [], 0
    for joint in joints:
        near, beyond = np.zeros(n, bool), np.zeros(n, bool)
        if joint.axis is not None:
            found = _unwrap(rotation.find_turn(joint.axis, joint.R), segment)[:, None]
        elif joint.row.order == "vector":
            found = _find_vectors(joint.R)
        else:
            raw, near, beyond = _follow(joint.R, joint.row.order, segment)
            found = _pick(joint.row, raw)
            if joint.row.total is not None:
                found[:, -1] = _unwrap(found[:, -1], segment)
            if not keep_locked:
                found[np.ix_(np.flatnonzero(near), find_locked_columns(joint.row))] = np.nan
        values[:, at : at + found.shape[1]] = found
        at += found.shape[1]
        locked.append(near)
        crossed.append(beyond)
    return seal(values), locked, crossed


def _follow(R: Floats, order: str, segment: Ints) -> tuple[Floats, Bools, Bools]:
    """(n, 3) [rad] over time, and (n,) where they are near gimbal lock and beyond it.

    Where the last axis is the first again, the middle angle keeps its sign, as an elevation does: the lock is not gone
    through, and after it the other two begin anew.
    """
    if order[0] != order[2]:
        raw = find_angles(R, order, segment)
        with np.errstate(invalid="ignore"):
            return raw, measure_lock(raw, order) < LOCK_MIN_SINE, np.cos(raw[:, 1]) < 0
    known = np.isfinite(np.einsum("nij->n", R))
    raw = np.full((len(R), 3), np.nan)
    raw[known] = find_principal_angles(R[known], order)
    with np.errstate(invalid="ignore"):
        near = measure_lock(raw, order) < LOCK_MIN_SINE
    run = np.cumsum(np.diff(near, prepend=False) | (np.diff(segment, prepend=segment[:1]) != 0))
    for column in (0, 2):
        raw[:, column] = _unwrap(raw[:, column], run)
    return raw, near, np.zeros(len(R), bool)


def _pick(row: JointRow, raw: Floats) -> Floats:
    """The columns of a joint from its three angles, with their signs, and the sum of two where it has one."""
    signed = raw * row.signs
    columns = [signed[:, i] for i, name in enumerate(row.names) if name is not None]
    if row.total is not None:
        columns.append(signed[:, 0] + signed[:, 2])
    return np.stack(columns, axis=1)


def find_locked_columns(row: JointRow) -> Ints:
    """Columns of the first and the third angle."""
    kept = [i for i, name in enumerate(row.names) if name is not None]
    return np.array([column for column, i in enumerate(kept) if i != 1], np.int64)


def _unwrap(angle: Floats, segment: Ints) -> Floats:
    """(n,) without jumps in what is known, the median within half a turn."""
    known = np.isfinite(angle)
    found = np.full(len(angle), np.nan)
    for part in segment_slices(segment):
        rows = np.flatnonzero(known[part]) + part.start
        if len(rows):
            steady = np.unwrap(angle[rows])
            found[rows] = steady - 2 * np.pi * np.ceil(median(steady) / (2 * np.pi) - 0.5)
    return found


def _find_vectors(R: Floats) -> Floats:
    """(n, 3) [rad] rotation vectors, up to a whole turn long, so that half a turn is no jump."""
    known = np.isfinite(np.einsum("nij->n", R))
    found = np.full((len(R), 3), np.nan)
    q = rotation.to_quaternion(R[known])
    if len(q):
        flips = np.concatenate([[0], np.cumsum(np.einsum("ni,ni->n", q[1:], q[:-1]) < 0)]) % 2
        q = q * np.where(flips == 1, -1.0, 1.0)[:, None]
        sine = np.linalg.norm(q[:, 1:], axis=1)
        scale = np.where(sine > 1e-12, 2 * np.arctan2(sine, q[:, 0]) / np.maximum(sine, 1e-12), 2.0)
        found[known] = q[:, 1:] * scale[:, None]
    return found


def describe_lock(joints: list[Counted], locked: list[Bools], crossed: list[Bools], kept: bool) -> Iterator[Finding]:
    """Joints near the singular pose of their sequence, or beyond it."""
    for joint, near, beyond in zip(joints, locked, crossed, strict=True):
        if near.any():
            what = "are kept, and noise makes them large" if kept else "are left out"
            names = [joint.columns[i].name for i in find_locked_columns(joint.row)]
            text = (
                f"{joint.columns[0].label} is within 10 deg of the singular pose of {joint.row.order} in "
                f"{many(int(near.sum()), 'frame')}; there {' and '.join(names)} {what}"
            )
            bodies = (joint.columns[0].child,)
            yield Finding("near-gimbal-lock", "info", text, bodies, frame=int(np.argmax(near)), count=int(near.sum()))
        if beyond.any():
            text = (
                f"{joint.columns[0].label} goes beyond the singular pose of {joint.row.order} in "
                f"{many(int(beyond.sum()), 'frame')}; a take that begins there has the other of two equal triples"
            )
            bodies = (joint.columns[0].child,)
            yield Finding(
                "beyond-gimbal-lock", "info", text, bodies, frame=int(np.argmax(beyond)), count=int(beyond.sum())
            )


def find_usable(joint: Counted, R: Floats) -> Bools:
    """(k, c) where a column is not left out for gimbal lock."""
    usable = np.ones((len(R), len(joint.columns)), bool)
    if joint.axis is None and joint.row.order != "vector":
        near = measure_lock(find_principal_angles(R, joint.row.order), joint.row.order) < LOCK_MIN_SINE
        if not near.all():
            usable[np.ix_(np.flatnonzero(near), find_locked_columns(joint.row))] = False
    return usable


def count_each(joint: Counted, R: Floats) -> Floats:
    """(k, c) [rad] columns of rotations, each frame for itself up to whole turns."""
    if joint.axis is not None:
        return rotation.find_turn(joint.axis, R)[:, None]
    if joint.row.order == "vector":
        return rotation.to_vector(R)
    return _pick(joint.row, find_principal_angles(R, joint.row.order))
