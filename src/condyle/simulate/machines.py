"""Machines of known dimensions: robots by their modified Denavit-Hartenberg rows, and two that close a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from ..errors import UsageError
from ..maths import rotation
from ..maths.arrays import Floats, freeze
from ..model.take import Take
from ..model.values import dataclass
from .motions import clock
from .seeds import stream

MachineKind = Literal["hinge", "slider", "screw", "universal"]
SWEEP_RAD, SWEEP_M = 1.0, 0.12  # largest excursion of a turning and of a sliding joint
SCREW_PITCH_M = 0.05  # m that a screw moves along its axis in a whole turn, unless its row says so,
SCREW_SWEEP_RAD = 2 * SWEEP_RAD  # and its largest excursion
MOUNT_REACH_M = 0.08  # m, farthest place of a sensor from the frame of its link, along each axis


@dataclass(frozen=True)
class MachineJoint:
    """A joint by its row of modified DH: Rx(alpha) Dx(a) Rz(theta) Dz(d), and then what its kind lets move.

    A hinge turns about z, a slider slides along z, a screw does both; a universal joint turns about z, then about y.

    pitch, sweep   [m], [rad] of a screw: along its axis in a whole turn, and its largest excursion
    """

    kind: MachineKind
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    pitch: float = SCREW_PITCH_M
    sweep: float = SCREW_SWEEP_RAD


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine in motion as a tracker would record it, and what is true of it.

    take    bodies link0 (the base), link1, ...
    joints  in the order of the chain: joint k moves link k on link k - 1; loop: joints that close it, by their bodies
    q       (n, c) [rad, m]  joint coordinates
    axis, point  (J, 3) [-], [m]  axis and a point on it of every joint, in the frame of its inner sensor
    """

    take: Take
    joints: tuple[MachineJoint, ...]
    loop: tuple[tuple[str, str], ...]
    q: Annotated[Floats, "n c"]
    axis: Annotated[Floats, "j 3"]
    point: Annotated[Floats, "j 3"]

    def __post_init__(self) -> None:
        freeze(self, j=len(self.axis), n=len(self.q))

    @property
    def edges(self) -> set[frozenset[str]]:
        """The pairs that are joined in a row."""
        return {frozenset((f"link{k}", f"link{k + 1}")) for k in range(len(self.joints))}


QUARTER = np.pi / 2
LOOPED = ("four-bar", "slider-crank")
MACHINES: dict[str, tuple[MachineJoint, ...]] = {
    "panda": tuple(  # 7 axes, the published dimensions of a Franka Emika Panda
        MachineJoint("hinge", a, alpha, d)
        for a, alpha, d in (
            (0, 0, 0.333), (0, -QUARTER, 0), (0, QUARTER, 0.316), (0.0825, QUARTER, 0),
            (-0.0825, -QUARTER, 0.384), (0, QUARTER, 0), (0.088, QUARTER, 0),
        )
    ),
    "ur5": tuple(  # 6 axes, three of them parallel: dimensions of a Universal Robots UR5
        MachineJoint("hinge", a, alpha, d)
        for a, alpha, d in (
            (0, 0, 0.089159), (0, QUARTER, 0), (-0.425, 0, 0), (-0.39225, 0, 0.10915), (0, QUARTER, 0.09465),
            (0, -QUARTER, 0.0823),
        )
    ),
    "skewed": tuple(  # 6 axes, none parallel, none meeting
        MachineJoint("hinge", a, alpha, d)
        for a, alpha, d in (
            (0, 0, 0.3), (0.06, 1.2, 0.05), (0.31, -0.9, 0.08), (0.07, 1.5, 0.29), (0.05, -1.3, 0.06),
            (0.06, 1.1, 0.05),
        )
    ),
    "planar": tuple(MachineJoint("hinge", a, 0, 0) for a in (0, 0.3, 0.25, 0.2)),
    "scara": (
        MachineJoint("hinge", 0, 0, 0.2),
        MachineJoint("hinge", 0.3, 0, 0.05),
        MachineJoint("hinge", 0.25, 0, 0),
        MachineJoint("slider", 0, np.pi, 0.1),
    ),
    "universal": (
        MachineJoint("universal", 0, 0, 0.2),
        MachineJoint("universal", 0.25, 0.4, 0),
        MachineJoint("universal", 0.3, -0.7, 0),
    ),
    "screw": (
        MachineJoint("hinge", 0, 0, 0.2),
        MachineJoint("screw", 0.25, 0.8, 0),
        MachineJoint("hinge", 0.2, 1.2, 0),
    ),
    "lead-screw": (  # turns five times each way
        MachineJoint("hinge", 0, 0, 0.2),
        MachineJoint("screw", 0.25, 0.8, 0, pitch=0.005, sweep=10 * np.pi),
        MachineJoint("hinge", 0.2, 1.2, 0),
    ),
}  # fmt: skip


def machine(
    name: str = "panda",
    *,
    seconds: float = 20.0,
    rate: float = 50.0,
    seed: int = 0,
    position_noise: float = 0.0,
    orientation_noise: float = 0.0,
    carried: bool = False,
) -> Machine:
    """A machine in motion with a sensor on every link; all joints move at once.

    name     of MACHINES, or of LOOPED, which close a loop
    position_noise, orientation_noise  [m], [rad] standard deviation per axis of white noise
    carried  the base is moved about, too; else it stands
    """
    if name not in (*LOOPED, *MACHINES):
        raise UsageError(f"no machine named '{name}'; there are {', '.join((*MACHINES, *LOOPED))}", code="bad-call")
    time = clock(seconds, rate)
    rng = stream(seed, "machine")
    if name == "four-bar":
        joints, loop, q, links = _move_four_bar(time, rng)
    elif name == "slider-crank":
        joints, loop, q, links = _move_slider_crank(time, rng)
    else:
        joints, loop = MACHINES[name], ()
        q, links = _move_chain(joints, time, rng)
    base = _carry(time, rng) if carried else _pose(rotation.random(rng), rng.uniform(-1, 1, 3))[None]
    mounts = _pose(
        rotation.random(rng, (links.shape[1],)), rng.uniform(-MOUNT_REACH_M, MOUNT_REACH_M, (links.shape[1], 3))
    )
    poses = base[:, None] @ links @ mounts
    R, p = poses[..., :3, :3], poses[..., :3, 3]
    R = R @ rotation.from_vector(orientation_noise * rng.standard_normal(p.shape))
    p = p + position_noise * rng.standard_normal(p.shape)
    take = Take(tuple(f"link{k}" for k in range(p.shape[1])), time, R, p, sources=("simulated",))
    inner = np.asarray(np.linalg.inv(mounts[: len(joints)]) @ np.stack([_row(joint) for joint in joints]), np.float64)
    return Machine(take, joints, loop, q, inner[:, :3, 2], inner[:, :3, 3])


def _move_chain(joints: Sequence[MachineJoint], time: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Coordinates (n, c), and poses (n, m, 4, 4) of the links' frames, the base's first."""
    T, links, q = np.tile(np.eye(4), (len(time), 1, 1)), [], []
    links.append(T)
    for joint in joints:
        own = [_swing(time, rng) for _ in range(2 if joint.kind == "universal" else 1)]
        T = T @ _row(joint) @ _move_joint(joint, own)
        links.append(T)
        q += own
    return np.stack(q, axis=1), np.stack(links, axis=1)


def _move_joint(joint: MachineJoint, swing: Sequence[Floats]) -> Floats:
    """(n, 4, 4) what a joint does at coordinates between -1 and 1."""
    kind = joint.kind
    along = np.zeros((len(swing[0]), 3))
    turn = np.zeros_like(along)
    if kind == "slider":
        along[:, 2] = SWEEP_M * swing[0]
    else:
        turn[:, 2] = SWEEP_RAD * swing[0]
    if kind == "screw":
        turn[:, 2] = joint.sweep * swing[0]
        along[:, 2] = joint.pitch * turn[:, 2] / (2 * np.pi)
    R = rotation.from_vector(turn)
    if kind == "universal":
        R = R @ rotation.from_vector(SWEEP_RAD * swing[1][:, None] * np.array([0.0, 1.0, 0.0]))
    return _pose(R, along)


def _move_four_bar(
    time: Floats, rng: np.random.Generator
) -> tuple[tuple[MachineJoint, ...], tuple[tuple[str, str], ...], Floats, Floats]:
    """A crank that rocks, its coupler and its rocker: link0 is the ground, and link3 turns on it as well."""
    ground, crank, coupler, rocker = 0.30, 0.12, 0.28, 0.22
    first = QUARTER + 1.2 * SWEEP_RAD * _swing(time, rng)
    end = crank * np.stack([np.cos(first), np.sin(first)], axis=1)
    apart = np.array([ground, 0.0]) - end
    reach = np.linalg.norm(apart, axis=1)
    inside = np.arccos((coupler**2 + reach**2 - rocker**2) / (2 * coupler * reach))
    second = np.arctan2(apart[:, 1], apart[:, 0]) + inside
    tip = end + coupler * np.stack([np.cos(second), np.sin(second)], axis=1)
    third = np.arctan2(-tip[:, 1], ground - tip[:, 0])
    joints = (MachineJoint("hinge"), MachineJoint("hinge", crank), MachineJoint("hinge", coupler))
    return (
        joints,
        (("link0", "link3"),),
        np.stack([first, second, third], axis=1),
        _place((first, second, third), end, tip),
    )


def _move_slider_crank(
    time: Floats, rng: np.random.Generator
) -> tuple[tuple[MachineJoint, ...], tuple[tuple[str, str], ...], Floats, Floats]:
    """A crank that rocks, its rod, and the block that the rod moves along a rail of the ground: link3 on link0."""
    crank, rod = 0.12, 0.30
    first = QUARTER + 1.2 * SWEEP_RAD * _swing(time, rng)
    end = crank * np.stack([np.cos(first), np.sin(first)], axis=1)
    along = end[:, 0] + np.sqrt(rod**2 - end[:, 1] ** 2)
    second = np.arctan2(-end[:, 1], along - end[:, 0])
    block, zero = np.stack([along, np.zeros_like(along)], axis=1), np.zeros_like(first)
    joints = (MachineJoint("hinge"), MachineJoint("hinge", crank), MachineJoint("hinge", rod))
    return (
        joints,
        (("link0", "link3"),),
        np.stack([first, second, along], axis=1),
        _place((first, second, zero), end, block),
    )


def _place(angles: Sequence[Floats], second: Floats, third: Floats) -> Floats:
    """(n, 4, 4, 4) of a ground and three links in its plane: their angles [rad], and where the last two begin [m]."""
    zero, none = np.zeros_like(angles[0]), np.zeros_like(second)
    places = zip((zero, *angles), (none, none, second, third), strict=True)
    return np.stack(
        [_pose(rotation.from_vector(a[:, None] * np.eye(3)[2]), np.pad(p, ((0, 0), (0, 1)))) for a, p in places], axis=1
    )


def _swing(time: Floats, rng: np.random.Generator) -> Floats:
    """(n,) a smooth motion between -1 and 1."""
    frequency, phase = rng.uniform(0.15, 0.6, 2), rng.uniform(0, 2 * np.pi, 2)
    first, second = (np.sin(2 * np.pi * frequency[k] * time + phase[k]) for k in (0, 1))
    return np.asarray(0.65 * first + 0.35 * second)


def _carry(time: Floats, rng: np.random.Generator) -> Floats:
    """(n, 4, 4) a base that is moved about."""
    turn = np.stack([0.5 * _swing(time, rng) for _ in range(3)], axis=1)
    place = np.stack([0.3 * _swing(time, rng) for _ in range(3)], axis=1)
    return _pose(rotation.from_vector(turn), place)


def _row(joint: MachineJoint) -> Floats:
    turn_x, turn_z = (rotation.from_vector(v) for v in ([joint.alpha, 0, 0], [0, 0, joint.theta]))
    return np.asarray(_pose(turn_x, np.array([joint.a, 0, 0])) @ _pose(turn_z, np.array([0, 0, joint.d])))


def _pose(R: Floats, p: Floats) -> Floats:
    """(..., 4, 4)"""
    T = np.zeros((*np.broadcast_shapes(R.shape[:-2], p.shape[:-1]), 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T
