"""Worlds whose joints are known by construction, built from nothing but rotations: pairs, loops, planted feet."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from condyle.maths import rotation
from condyle.model.take import Take

RATE = 60.0  # Hz, where a world does not say


@dataclass(frozen=True, eq=False)
class Pair:
    """Bodies child (0) and parent (1), and the joint between them: p_* [m], axes unit vectors or None."""

    take: Take
    p_child_joint: np.ndarray
    p_parent_joint: np.ndarray
    axis_child: np.ndarray | None = None
    axis_parent: np.ndarray | None = None


def wander(rng: np.random.Generator, n: int, *shape: int, rate: float = RATE) -> np.ndarray:
    """(n, *shape) smooth signals of rms about 1, between 0.1 and 0.7 Hz."""
    t = (np.arange(n) / rate).reshape(-1, *(1 for _ in shape))
    frequency, phase = rng.uniform(0.1, 0.7, (3, *shape)), rng.uniform(0, 2 * np.pi, (3, *shape))
    return np.sqrt(2 / 3) * sum(np.sin(2 * np.pi * frequency[k] * t + phase[k]) for k in range(3))


def take_of(names, R, p, rate: float = RATE) -> Take:
    """A take at a fixed rate from lists of (n, 3, 3) and (n, 3), one per body."""
    R, p = np.stack(R, axis=1), np.stack(p, axis=1)
    return Take(tuple(names), np.arange(len(p)) / rate, R, p)


def carried(rng: np.random.Generator, n: int, turn: float = 1.0, travel: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """A body carried through the room: turned by `turn` [rad] and moved by `travel` [m] rms per axis."""
    return rotation.from_vector(turn * wander(rng, n, 3)) @ rotation.random(rng), travel * wander(rng, n, 3)


def joined(
    rng: np.random.Generator, R_joint: np.ndarray, *, axis: np.ndarray | None = None, reach: float = 0.2
) -> Pair:
    """A pair that turns by R_joint (n, 3, 3) about a common point, exact, with sensors at random on both bodies."""
    n = len(R_joint)
    R_parent, p_parent = carried(rng, n)
    mount_child, mount_parent = rotation.random(rng, (2,))
    c, l = (reach * x / np.linalg.norm(x) for x in rng.standard_normal((2, 3)))
    R_child = R_parent @ mount_parent.T @ R_joint @ mount_child
    p_child = p_parent + R_parent @ l - R_child @ c
    take = take_of(("child", "parent"), (R_child, R_parent), (p_child, p_parent))
    if axis is None:
        return Pair(take, c, l)
    return Pair(take, c, l, mount_child.T @ axis, mount_parent.T @ axis)


def ball(rng: np.random.Generator, n: int = 400, turn: float = 0.5) -> Pair:
    """A ball joint turned by `turn` [rad] rms about every axis."""
    return joined(rng, rotation.from_vector(turn * wander(rng, n, 3)))


def hinge(rng: np.random.Generator, n: int = 400, turn: float = 0.7, play: float = 0.0) -> Pair:
    """A hinge turned by `turn` [rad] rms about its axis, and by `play` about the two others."""
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    off = wander(rng, n, 3)
    off -= (off @ axis)[:, None] * axis
    vector = turn * wander(rng, n, 1) * axis + play * off
    return joined(rng, rotation.from_vector(vector), axis=axis)


def rigid(rng: np.random.Generator, n: int = 400) -> Pair:
    """Two sensors on one body that is carried about."""
    return joined(rng, np.broadcast_to(np.eye(3), (n, 3, 3)))


def resting(rng: np.random.Generator, n: int = 400) -> Take:
    """Two bodies that stay where they are."""
    R, p = rotation.random(rng, (2,)), rng.uniform(-0.5, 0.5, (2, 3))
    return take_of(("child", "parent"), [np.tile(x, (n, 1, 1)) for x in R], [np.tile(x, (n, 1)) for x in p])


def sliding(rng: np.random.Generator, n: int = 400, travel: float = 0.15) -> Take:
    """A body that shifts in another's frame by `travel` [m] rms and never turns in it."""
    R, p = carried(rng, n)
    moved = p + np.einsum("nij,nj->ni", R, travel * wander(rng, n, 3) + [0.3, 0, 0])
    return take_of(("child", "parent"), (R @ rotation.random(rng), R), (moved, p))


def noisy(take: Take, rng: np.random.Generator, position: float = 0.0, orientation: float = 0.0) -> Take:
    """White noise of `position` [m] and `orientation` [rad] per axis on every pose."""
    p = take.p_world_body + position * rng.standard_normal(take.p_world_body.shape)
    R = take.R_world_body @ rotation.from_vector(orientation * rng.standard_normal(take.p_world_body.shape))
    return Take(take.names, take.time, R, p, take.segment)


def moved(take: Take, R: np.ndarray, p: np.ndarray) -> Take:
    """The same take in a world turned by R (3, 3) and moved by p (3,) [m]."""
    return Take(take.names, take.time, R @ take.R_world_body, take.p_world_body @ R.T + p, take.segment)


def four_bars(rng: np.random.Generator, n: int = 600) -> tuple[Take, dict[frozenset[str], np.ndarray]]:
    """A ring of four bars on ball joints, and each joint's place (n, 3) [m] by the names of its two bars."""
    a, b, c, d = 0.40, 0.35, 0.45, 0.38
    diagonal, fold = 0.52 + 0.06 * wander(rng, n), 1.2 + 0.4 * wander(rng, n)
    corners = np.zeros((n, 4, 3))
    corners[:, 3, 0] = diagonal  # corners 1 and 3 span the diagonal
    along, high = _apex(a, d, diagonal)
    corners[:, 0, :2] = np.stack([along, high], axis=1)
    along, high = _apex(b, c, diagonal)
    corners[:, 2] = np.stack([along, -high * np.cos(fold), high * np.sin(fold)], axis=1)
    corners = corners[:, [0, 1, 2, 3]]
    corners[:, 1] = 0
    R_room, p_room = carried(rng, n, turn=0.6)
    corners = np.einsum("nij,nkj->nki", R_room, corners) + p_room[:, None]
    names = ("north", "east", "south", "west")
    R, p = [], []
    for k in range(4):
        bar_R, bar_p = _bar(rng, corners[:, k], corners[:, (k + 1) % 4], R_room[:, :, 2])
        R.append(bar_R)
        p.append(bar_p)
    places = {frozenset((names[k - 1], names[k])): corners[:, k] for k in range(4)}
    return take_of(names, R, p), places


def crank_rocker(rng: np.random.Generator, n: int = 1800) -> tuple[Take, set[frozenset[str]]]:
    """A crank that turns a rocker by a coupler, on hinges in one plane, before a frame that stands; and its hinges."""
    names, (crank, coupler, rocker, base) = ("frame", "crank", "coupler", "rocker"), (0.2, 0.5, 0.4, 0.5)  # m
    turn = 2 * np.pi * 0.3 * np.arange(n) / RATE
    pin = crank * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    across = np.array([base, 0.0, 0.0]) - pin
    length = np.linalg.norm(across, axis=1)
    fold = np.arccos((coupler**2 + length**2 - rocker**2) / (2 * coupler * length))
    along = np.arctan2(across[:, 1], across[:, 0]) + fold
    knee = pin + coupler * np.stack([np.cos(along), np.sin(along), 0 * along], axis=1)
    swing = np.arctan2(knee[:, 1], knee[:, 0] - base)
    R, p = [], []
    for angle, end in ((0 * turn, 0 * pin), (turn, 0 * pin), (along, pin), (swing, 0 * pin + [base, 0, 0])):
        bar = rotation.from_vector(angle[:, None] * np.array([0.0, 0.0, 1.0]))
        R.append(bar @ rotation.random(rng))
        p.append(end + bar @ rng.uniform(-0.05, 0.05, 3))
    hinges = {frozenset((names[k], names[(k + 1) % 4])) for k in range(4)}
    return take_of(names, R, p), hinges


def common_point(rng: np.random.Generator, n: int = 600) -> Take:
    """Three bodies (hub, left, right) that turn about one and the same point, and a tip that hangs on right."""
    R_hub, p_hub = carried(rng, n)
    centre = p_hub + R_hub @ rng.uniform(-0.2, 0.2, 3)
    R, p = [R_hub], [p_hub]
    for _ in range(2):
        R.append(R_hub @ rotation.from_vector(0.5 * wander(rng, n, 3)) @ rotation.random(rng))
        p.append(centre - R[-1] @ rng.uniform(-0.2, 0.2, 3))
    elbow = p[2] + R[2] @ np.array([0.15, 0.1, -0.2])
    R.append(R[2] @ rotation.from_vector(0.5 * wander(rng, n, 3)) @ rotation.random(rng))
    p.append(elbow - R[-1] @ rng.uniform(-0.2, 0.2, 3))
    return take_of(("hub", "left", "right", "tip"), R, p)


def squat(rng: np.random.Generator, n: int = 900, roll: float = 0.0) -> tuple[Take, set[frozenset[str]]]:
    """Legs, pelvis and chest in knee bends on planted feet; ball joints throughout, and the true edges.

    The feet roll on their soles by `roll` [rad] rms per axis, each for itself; at 0 they are still.
    """
    thigh, shank = 0.42, 0.40
    p_pelvis = np.array([0, 0, 0.72]) + wander(rng, n, 3) * [0.05, 0.05, 0.05]
    R_pelvis = rotation.from_vector(wander(rng, n, 3) * [0.12, 0.2, 0.2])
    poses = {"pelvis": (R_pelvis, p_pelvis)}
    p_waist = p_pelvis + R_pelvis @ [0, 0, 0.1]
    R_chest = R_pelvis @ rotation.from_vector(wander(rng, n, 3) * [0.2, 0.3, 0.3])
    poses["chest"] = (R_chest, p_waist + R_chest @ [0, 0, 0.2])
    edges = {frozenset(("pelvis", "chest"))}
    for side, y in (("l_", 0.1), ("r_", -0.1)):
        hip = p_pelvis + R_pelvis @ [0, y, -0.05]
        R_foot = rotation.from_vector(roll * wander(rng, n, 3))
        sole = np.array([0.05, 1.3 * y, 0.0])
        ankle = sole + R_foot @ [-0.05, 0, 0.08]
        knee = _knee(hip, ankle, thigh, shank, 0.25 * wander(rng, n))
        poses[side + "thigh"] = _bar(rng, hip, knee, R_pelvis[:, :, 1], twist=0.2)
        poses[side + "shank"] = _bar(rng, knee, ankle, R_pelvis[:, :, 1], twist=0.2)
        poses[side + "foot"] = (R_foot @ rotation.random(rng), sole + R_foot @ [0.03, 0, 0.04])
        chain = ["pelvis", side + "thigh", side + "shank", side + "foot"]
        edges |= {frozenset(pair) for pair in pairwise(chain)}
    return take_of(poses, [R for R, _ in poses.values()], [p for _, p in poses.values()]), edges


def _apex(left: float, right: float, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where two sides [m] on a base meet: along the base from the left end, and above it."""
    along = (left**2 - right**2 + base**2) / (2 * base)
    return along, np.sqrt(left**2 - along**2)


def _knee(hip: np.ndarray, ankle: np.ndarray, thigh: float, shank: float, swivel: np.ndarray) -> np.ndarray:
    """The knee (n, 3) [m] of a leg between hip and ankle, forward and turned by `swivel` [rad] about the leg's line."""
    line = ankle - hip
    reach = np.linalg.norm(line, axis=1)
    line = line / reach[:, None]
    along, high = _apex(thigh, shank, reach)
    forward = np.array([1.0, 0, 0]) - line[:, :1] * line
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    out = np.cos(swivel)[:, None] * forward + np.sin(swivel)[:, None] * np.cross(line, forward)
    return hip + along[:, None] * line + high[:, None] * out


def _bar(rng, start, end, side, twist: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a sensor on a bar between two moving points, turned about the bar by `twist` [rad] rms."""
    n = len(start)
    x = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
    y = side - np.sum(side * x, axis=1, keepdims=True) * x
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    R_bar = np.stack([x, y, np.cross(x, y)], axis=2)
    spin = np.zeros((n, 3))
    spin[:, 0] = twist * wander(rng, n)
    R_bar = R_bar @ rotation.from_vector(spin)
    offset = np.append(rng.uniform(0.05, 0.2), 0.06 * rng.standard_normal(2))
    return R_bar @ rotation.random(rng), start + R_bar @ offset
