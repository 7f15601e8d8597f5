"""Contacts that hold for a while: two figures hand in hand, one's own hands, a prop picked up, feet on the floor.

Each takes an exact world, as it is before a tracker records it, and gives back one in which the contact is exact too;
`disturb` then records it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.graph import components
from .mounting import Truth

CONTACT_RAMP_S = 0.6  # s in which a contact is come to and left
TOE_M = (0.10, 0.0, -0.06)  # m, in a foot's bone


def join_hands(truth: Truth, bodies: tuple[str, str], points: Floats, start: float, end: float) -> Truth:
    """The second body's figure moved so that the points (2, 3) [m] of the two bodies meet from start to end [s]."""
    a, b = (truth.names.index(name) for name in bodies)
    w = _weight(truth.time, start, end)[:, None]
    way = w * (_places(truth, a, points[0]) - _places(truth, b, points[1]))
    p = truth.p_world_body.copy()
    p[:, _figure_of(truth, b)] += way[:, None]
    return replace(truth, p_world_body=p)


def clasp_hands(truth: Truth, start: float, end: float, rng: np.random.Generator) -> Truth:
    """A human's own hands brought together before the chest from start to end [s], and moved about there.

    They meet 8 cm beyond the wrists. Elbows and shoulders bend for it; wrists keep what they did.
    """
    time = truth.time
    w = _weight(time, start, end)[:, None]
    R, p = _bones(truth)
    chest = truth.names.index("chest")
    sway = np.stack([np.sin(2 * np.pi * (f * time + s)) for f, s in rng.uniform((0.3, 0), (0.7, 1), (3, 2))], axis=1)
    target = p[:, chest] + np.einsum("nxy,ny->nx", R[:, chest], np.array([0.33, 0.0, 0.12]) + 0.07 * sway)
    for side in ("l_", "r_"):
        upper, fore, hand = (truth.names.index(side + name) for name in ("upper_arm", "forearm", "hand"))
        shoulder = p[:, upper].copy()
        elbow = p[:, fore].copy()
        grip = p[:, hand] + R[:, hand] @ np.array([0.0, 0.0, -0.08])
        reach = np.linalg.norm(target - shoulder, axis=1)
        bend = rotation.from_vector(w * _elbow_turn(shoulder, elbow, grip, reach, R[:, upper, :, 1]))
        for k in (fore, hand):
            R[:, k] = bend @ R[:, k]
            p[:, k] = elbow + np.einsum("nxy,ny->nx", bend, p[:, k] - elbow)
        grip = elbow + np.einsum("nxy,ny->nx", bend, grip - elbow)
        swing = rotation.from_vector(w * _from_to(grip - shoulder, target - shoulder))
        for k in (upper, fore, hand):
            R[:, k] = swing @ R[:, k]
            p[:, k] = shoulder + np.einsum("nxy,ny->nx", swing, p[:, k] - shoulder)
    return _with_bones(truth, R, p)


def pick_up(truth: Truth, holder: str, prop: str, start: float, end: float) -> Truth:
    """A prop that lies still, is carried rigidly by the holder from start to end [s], and lies still again."""
    a, b = truth.names.index(holder), truth.names.index(prop)
    R, p = truth.R_world_body.copy(), truth.p_world_body.copy()
    first, last = (int(np.searchsorted(truth.time, t)) for t in (start, end))
    when = np.clip(np.arange(len(truth.time)), first, min(last, len(truth.time) - 1))
    R[:, b] = R[when, a]
    p[:, b] = p[when, a] + R[when, a] @ np.array([0.0, 0.06, 0.1])
    return replace(truth, R_world_body=R, p_world_body=p)


def plant_feet(
    truth: Truth,
    feet: Sequence[str] = ("l_foot", "r_foot"),
    stance: float = 0.6,
    point: tuple[float, float, float] = TOE_M,
) -> Truth:
    """A figure moved along so that a point [m] of one foot's bone after the other stays in place for `stance` [s]."""
    R, p = _bones(truth)
    toes = np.stack([p[:, k] + R[:, k] @ np.array(point) for k in map(truth.names.index, feet)])
    turn = (truth.time // stance).astype(np.int64) % len(feet)
    steps = np.diff(toes, axis=1)[turn[1:], np.arange(len(turn) - 1)]
    way = -np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    out = truth.p_world_body.copy()
    out[:, _figure_of(truth, truth.names.index(feet[0]))] += way[:, None]
    return replace(truth, p_world_body=out)


def _weight(time: Floats, start: float, end: float) -> Floats:
    """1 from start to end, 0 a ramp away, smooth between."""
    away = np.maximum(start - time, time - end)
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * np.clip(away / CONTACT_RAMP_S, 0, 1)))


def _places(truth: Truth, body: int, point: Floats) -> Floats:
    return np.asarray(truth.p_world_body[:, body] + truth.R_world_body[:, body] @ point)


def _figure_of(truth: Truth, body: int) -> Ints:
    """The bodies of the tree that a body belongs to."""
    edges = np.array([(k, up) for k, up in enumerate(truth.parent) if up >= 0], dtype=np.int64).reshape(-1, 2)
    return np.array(next(group for group in components(len(truth.names), edges) if body in group))


def _bones(truth: Truth) -> tuple[Floats, Floats]:
    """Poses of the bones under the sensors."""
    R = truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2)
    return R, truth.p_world_body - np.einsum("nmxy,my->nmx", R, truth.mounts.p_bone_body)


def _with_bones(truth: Truth, R: Floats, p: Floats) -> Truth:
    return replace(
        truth,
        R_world_body=R @ truth.mounts.R_bone_body,
        p_world_body=p + np.einsum("nmxy,my->nmx", R, truth.mounts.p_bone_body),
    )


def _elbow_turn(shoulder: Floats, elbow: Floats, grip: Floats, reach: Floats, axis: Floats) -> Floats:
    """Rotation vectors (n, 3) about the elbow's own axis (n, 3) that bring the grip, the hand before the arm, to a
    distance (n,) [m] from the shoulder."""
    upper, fore = shoulder - elbow, grip - elbow
    square = [np.sum(one**2, axis=1) for one in (upper, fore)]
    level = [one - axis * np.sum(one * axis, axis=1, keepdims=True) for one in (upper, fore)]
    along = np.sum((upper - level[0]) * (fore - level[1]), axis=1)
    size = np.linalg.norm(level[0], axis=1) * np.linalg.norm(level[1], axis=1)
    now = np.arctan2(np.sum(np.cross(*level) * axis, axis=1), np.sum(level[0] * level[1], axis=1)) % (2 * np.pi)
    want = np.arccos(np.clip(((square[0] + square[1] - reach**2) / 2 - along) / size, -1, 1))
    return np.asarray((want - now)[:, None] * axis)


def _from_to(a: Floats, b: Floats) -> Floats:
    """The vectors (n, 3) of the smallest rotations that turn directions (n, 3) into others."""
    axis = np.cross(a, b)
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.arctan2(sine[:, 0], np.sum(a * b, axis=1))
    return np.asarray(angle[:, None] * axis / np.maximum(sine, 1e-300))
