"""How figures move: exercise, walk, still. Smooth sums of sines, mostly below 1 Hz, drawn anew from each generator.

The draws do not depend on the rate: one generator gives the same motion at 30 and at 120 Hz.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from .figures import SimulatedFigure

Degrees = tuple[float, float, float]

IDLE_RAD = np.radians(3.0)  # amplitude of joints that are not being exercised
SPACE_MIDDLE_M = (1.2, 0.0)  # m, middle of the capture space on the floor; the transmitter stands at the world's origin

# Middle and amplitude of exercise [deg] about x (sideways), y (flexion; forward is negative for what hangs) and z
# (twist), for the left side; the right side mirrors x and z.
_RANGES_DEG: dict[str, tuple[Degrees, Degrees]] = {
    "chest": ((0, 15, 0), (28, 34, 42)),
    "head": ((0, 0, 0), (30, 40, 50)),
    "upper_arm": ((30, -30, 0), (50, 65, 50)),
    "forearm": ((0, -65, 0), (12, 60, 60)),
    "hand": ((0, 0, 0), (22, 50, 18)),
    "thigh": ((10, -35, 0), (28, 42, 28)),
    "shank": ((0, 50, 0), (8, 50, 20)),
    "foot": ((0, 0, 0), (20, 35, 20)),
}
_ANY_RANGE_DEG: tuple[Degrees, Degrees] = ((0, 0, 0), (40, 50, 40))

# Gait: middle, amplitude and phase (in turns) of flexion [deg].
_GAIT_DEG: dict[str, Degrees] = {
    "chest": (8, 10, 0.1),
    "upper_arm": (0, 40, 0.5),
    "forearm": (-45, 30, 0.45),
    "hand": (0, 15, 0.3),
    "thigh": (-25, 40, 0.0),
    "shank": (50, 42, 0.30),
    "foot": (0, 22, 0.55),
}
_EXTRA_SHARE = 0.47  # share of the exercise range that walking adds on every axis


class BoneMotion(NamedTuple):
    """R_world_bone (n, m, 3, 3) and p_world_bone (n, m, 3) [m], frames first."""

    R_world_bone: Floats
    p_world_bone: Floats


def clock(seconds: float, rate: float) -> Floats:
    """Times (n,) [s] of the frames."""
    return np.arange(round(seconds * rate)) / rate


def forward(figure: SimulatedFigure, R_parent_bone: Floats, R_world_root: Floats, p_world_root: Floats) -> BoneMotion:
    """Bone poses from the rotations (n, m, 3, 3) of joints and the poses (n, m, ...) of roots."""
    R, p = R_world_root.copy(), p_world_root.copy()
    for k, up in enumerate(figure.parent):
        if up >= 0:
            R[:, k] = R[:, up] @ R_parent_bone[:, k]
            p[:, k] = p[:, up] + R[:, up] @ figure.p_parent_joint[k]
    return BoneMotion(R, p)


def still(figure: SimulatedFigure, seconds: float, rate: float, rng: np.random.Generator | None = None) -> BoneMotion:
    """The rest pose in the middle of the capture space; nothing moves."""
    time = clock(seconds, rate)
    shape = (len(time), len(figure.names))
    p = np.zeros((*shape, 3)) + _station(figure)
    eye = np.broadcast_to(np.eye(3), (*shape, 3, 3))
    return forward(figure, eye, eye, p)


def exercise(figure: SimulatedFigure, seconds: float, rate: float, rng: np.random.Generator) -> BoneMotion:
    """One chain of joints at a time through its range, everything else idling, the root shuffling about."""
    time, m = clock(seconds, rate), len(figure.names)
    middle, amplitude = _ranges(figure)
    fast, idle = _sines(rng, (m, 3), time, 0.3, 0.8), _sines(rng, (m, 3), time, 0.1, 0.5)
    groups = _chains(figure)
    window = np.zeros((len(time), m, 1))
    for number, group in enumerate(groups):
        start, stop = seconds * number / len(groups), seconds * (number + 1) / len(groups)
        window[:, group, 0] = _rise(time - start)[:, None] * _rise(stop - time)[:, None]
    angles = window * (middle + amplitude * fast) + IDLE_RAD * idle
    return forward(figure, _joint_rotations(figure, angles), *_shuffle(figure, time, rng))


def walk(
    figure: SimulatedFigure, seconds: float, rate: float, rng: np.random.Generator, *, range: float = 1.0
) -> BoneMotion:
    """An exaggerated gait of everything at once, left and right in antiphase, round the capture space.

    `range` scales every joint angle: 0.5 is a gait of half the range.
    """
    time, m = clock(seconds, rate), len(figure.names)
    _, amplitude = _ranges(figure)
    extra = _EXTRA_SHARE * amplitude * _sines(rng, (m, 3), time, 0.1, 0.6)
    gait, start = rng.uniform(0.85, 0.95), rng.uniform()
    flexion = np.zeros((len(time), m))
    for k, name in enumerate(figure.names):
        mean, swing, lead = _GAIT_DEG.get(_part(name), (0.0, 0.0, 0.0))
        side = 0.5 if name.startswith("r_") else 0.0
        turn = gait * time + start + side + lead
        flexion[:, k] = np.radians(mean + swing * np.sin(2 * np.pi * turn))
    angles = extra + flexion[..., None] * [0.0, 1.0, 0.0]
    return forward(figure, _joint_rotations(figure, range * angles), *_travel(figure, time, rng))


def drift_about(seconds: float, rate: float, rng: np.random.Generator) -> BoneMotion:
    """One free rigid body (n, 1, ...) carried through the whole space and turned about every axis."""
    time = clock(seconds, rate)
    p = np.array([*SPACE_MIDDLE_M, 1.1]) + np.array([0.7, 0.7, 0.5]) * _sines(rng, (1, 3), time, 0.05, 0.3)
    return BoneMotion(rotation.from_vector(1.5 * _sines(rng, (1, 3), time, 0.05, 0.3)), p)


def _shuffle(figure: SimulatedFigure, time: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Poses of roots that step about calmly: half a metre each way, turning, hardly tilting."""
    m = len(figure.names)
    tilt = [0.08, 0.08, 1.2] * _sines(rng, (m, 3), time, 0.05, 0.2)
    p = _station(figure) + [0.5, 0.5, 0.05] * _sines(rng, (m, 3), time, 0.05, 0.2)
    return rotation.from_vector(tilt), p


def _travel(figure: SimulatedFigure, time: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Poses of roots that walk a loop of changing radius, facing where they go, with a little bobbing."""
    m = len(figure.names)
    lap, start = rng.uniform(0.08, 0.12, m), rng.uniform(0, 2 * np.pi, m)
    way = rng.choice([-1.0, 1.0], m)
    turn = way * 2 * np.pi * lap * time[:, None] + start
    radius = 0.6 + 0.25 * _sines(rng, (m,), time, 0.02, 0.06)
    wander = _sines(rng, (m, 3), time, 0.1, 0.9)
    p = _station(figure) + np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.03 * wander[..., 2]], axis=-1)
    heading = np.zeros((len(time), m, 3))
    heading[..., 2] = turn + way * np.pi / 2
    return rotation.from_vector(heading) @ rotation.from_vector([0.06, 0.06, 0.15] * wander), p


def _station(figure: SimulatedFigure) -> Floats:
    """Where roots stand (3,) [m]: the lowest joint 8 cm above the floor, or at 1.1 m for what is carried by hand."""
    z = np.zeros(len(figure.names))
    for k, up in enumerate(figure.parent):
        if up >= 0:
            z[k] = z[up] + figure.p_parent_joint[k, 2]
    lowest = float(z.min(initial=0.0))
    return np.array([*SPACE_MIDDLE_M, 0.08 - lowest if lowest < -0.7 else 1.1])


def _joint_rotations(figure: SimulatedFigure, angles: Floats) -> Floats:
    """Rotations (n, m, 3, 3) of joints from three angles (n, m, 3) [rad]; a hinge takes the second, rigid none."""
    hinge = np.array([[kind == "hinge"] for kind in figure.kind])
    rigid = np.array([[kind == "rigid"] for kind in figure.kind])
    turned = angles[..., 1:2] * np.where(hinge, figure.axis, 0.0)
    return rotation.from_vector(np.where(rigid, 0.0, np.where(hinge, turned, angles)))


def _ranges(figure: SimulatedFigure) -> tuple[Floats, Floats]:
    """Middle and amplitude (m, 3) [rad] of every joint's exercise."""
    rows = np.radians([_RANGES_DEG.get(_part(name), _ANY_RANGE_DEG) for name in figure.names])
    mirror = np.array([(-1, 1, -1) if name.startswith("r_") else (1, 1, 1) for name in figure.names])
    return rows[:, 0] * mirror, rows[:, 1]


def _chains(figure: SimulatedFigure) -> list[list[int]]:
    """Joints in groups that are exercised together: unbranched runs of bones, roots left out."""
    children = np.bincount(figure.parent[figure.parent >= 0], minlength=len(figure.names))
    groups: dict[int, list[int]] = {}
    head = list(range(len(figure.names)))
    for k, up in enumerate(figure.parent):
        if up >= 0:
            if figure.parent[up] >= 0 and children[up] == 1:
                head[k] = head[up]
            groups.setdefault(head[k], []).append(k)
    return list(groups.values())


def _part(name: str) -> str:
    return name[2:] if name.startswith(("l_", "r_")) else name


def _rise(time: Floats) -> Floats:
    """0 before zero, 1 after 0.6 s, smooth between."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.clip(time / 0.6, 0, 1)))


def _sines(rng: np.random.Generator, shape: tuple[int, ...], time: Floats, low: float, high: float) -> Floats:
    """(n, *shape) sums of two sines between `low` and `high` [Hz], never beyond 1 and of rms 0.52."""
    frequency, phase = rng.uniform(low, high, (2, *shape)), rng.uniform(0, 2 * np.pi, (2, *shape))
    t = time.reshape(-1, *(1 for _ in shape))
    return np.asarray(
        0.65 * np.sin(2 * np.pi * frequency[0] * t + phase[0]) + 0.35 * np.sin(2 * np.pi * frequency[1] * t + phase[1])
    )
