"""Whole simulated worlds: a figure, its motion, sensors on it, and what the tracker reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import UsageError
from ..maths.arrays import concatenate, select
from ..model.take import Take
from ..model.values import dataclass
from . import motions
from .disturb import Disturbances, disturb
from .figures import SimulatedFigure
from .motions import BoneMotion
from .mounting import Mounts, Truth, mount
from .seeds import stream

MotionName = Literal["exercise", "walk", "still"]
CLEAN = Disturbances()


@dataclass(frozen=True, eq=False)
class World:
    """A take as a tracker would record it, the truth behind it, and the figure that moved."""

    take: Take
    truth: Truth
    figure: SimulatedFigure


def simulate(
    figure: SimulatedFigure,
    motion: MotionName = "exercise",
    *,
    seconds: float = 45.0,
    rate: float = 30.0,
    seed: int = 0,
    disturbances: Disturbances = CLEAN,
    mounts: Mounts | None = None,
    range: float = 1.0,
) -> World:
    """A figure in motion with a sensor on every bone. The same seed gives the same world, bit for bit.

    `range` scales the joint angles of a walk. Without disturbances the take is exact.
    """
    rng = stream(seed, "motion")
    if motion == "exercise":
        bones = motions.exercise(figure, seconds, rate, rng)
    elif motion == "walk":
        bones = motions.walk(figure, seconds, rate, rng, range=range)
    elif motion == "still":
        bones = motions.still(figure, seconds, rate, rng)
    else:
        raise UsageError(f"no motion named '{motion}'; there are exercise, walk, still", code="bad-call")
    return _record(figure, bones, seconds, rate, seed, disturbances, mounts)


def rod(
    distance: float = 0.565,
    *,
    seconds: float = 45.0,
    rate: float = 30.0,
    seed: int = 0,
    disturbances: Disturbances = CLEAN,
) -> World:
    """Two sensors, rod_a and rod_b, fixed `distance` [m] apart and carried through the space.

    In the truth their joint is "rigid" and lies at the origin of rod_b. The same seed is the same room.
    """
    p_parent_joint = np.array([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]])
    figure = SimulatedFigure(
        ("rod_a", "rod_b"), np.array([-1, 0]), p_parent_joint, ("rigid", "rigid"), np.full((2, 3), np.nan)
    )
    carried = motions.drift_about(seconds, rate, stream(seed, "rod"))
    R, p = np.repeat(carried.R_world_bone, 2, axis=1), np.repeat(carried.p_world_bone, 2, axis=1)
    p = p + R @ [distance, 0.0, 0.0] * np.array([-0.5, 0.5])[:, None]
    mounts = Mounts(np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)))
    return _record(figure, BoneMotion(R, p), seconds, rate, seed, disturbances, mounts)


def prop(
    name: str = "prop", *, seconds: float = 45.0, rate: float = 30.0, seed: int = 0, disturbances: Disturbances = CLEAN
) -> World:
    """One loose rigid body moving smoothly about the space, joined to nothing."""
    figure = SimulatedFigure((name,), np.array([-1]), np.zeros((1, 3)), ("ball",), np.full((1, 3), np.nan))
    bones = motions.drift_about(seconds, rate, stream(seed, "prop"))
    mounts = Mounts(np.eye(3)[None], np.zeros((1, 3)))
    return _record(figure, bones, seconds, rate, seed, disturbances, mounts)


def together(worlds: Sequence[World], prefixes: Sequence[str] | None = None) -> World:
    """Several worlds recorded at the same rate as one take, cut to the shortest.

    Names get a prefix and an underscore: a, b, c, ... or those given; an empty prefix leaves names alone.
    """
    if not worlds:
        raise UsageError("no world to bring together", code="bad-call")
    labels = [chr(ord("a") + k) for k in range(len(worlds))] if prefixes is None else list(prefixes)
    if len(labels) != len(worlds):
        raise UsageError(f"{len(labels)} prefixes for {len(worlds)} worlds", code="bad-call")
    n = min(world.take.frames for world in worlds)
    time = worlds[0].take.time[:n]
    for world in worlds[1:]:
        if not np.allclose(world.take.time[:n], time, rtol=0, atol=1e-9):
            raise UsageError("the worlds were recorded at different rates", code="bad-call")
    truth = _merge_truths([world.truth for world in worlds], labels, n)
    figures, takes = [world.figure for world in worlds], [world.take for world in worlds]
    figure = SimulatedFigure(
        truth.names,
        truth.parent,
        np.concatenate([figure.p_parent_joint for figure in figures]),
        truth.kind,
        np.concatenate([figure.axis for figure in figures]),
    )
    R = np.concatenate([take.R_world_body[:n] for take in takes], axis=1)
    p = np.concatenate([take.p_world_body[:n] for take in takes], axis=1)
    return World(Take(truth.names, time, R, p, sources=("simulated",)), truth, figure)


def _merge_truths(truths: Sequence[Truth], labels: Sequence[str], n: int) -> Truth:
    """One truth of the first n frames; a scale that differs between the worlds is NaN."""

    def add_label(label: str, name: str) -> str:
        return f"{label}_{name}" if label else name

    pairs = list(zip(labels, truths, strict=True))
    first = np.cumsum([0, *(len(truth.names) for truth in truths[:-1])])
    scales = {truth.scale for truth in truths}
    arrays = concatenate([select(truth, "n", slice(n)) for truth in truths], "m")
    own = zip(truths, first, strict=True)
    arrays["parent"] = np.concatenate([np.where(truth.parent < 0, -1, truth.parent + k) for truth, k in own])
    return Truth(
        names=tuple(add_label(label, name) for label, truth in pairs for name in truth.names),
        time=truths[0].time[:n],
        kind=tuple(kind for truth in truths for kind in truth.kind),
        mounts=Mounts(**concatenate([truth.mounts for truth in truths], "m")),
        slips=tuple(replace(slip, body=add_label(label, slip.body)) for label, truth in pairs for slip in truth.slips),
        scale=scales.pop() if len(scales) == 1 else float("nan"),
        **arrays,
    )


def _record(
    figure: SimulatedFigure,
    bones: BoneMotion,
    seconds: float,
    rate: float,
    seed: int,
    disturbances: Disturbances,
    mounts: Mounts | None,
) -> World:
    truth = mount(
        figure.names,
        figure.parent,
        *bones,
        figure.p_parent_joint,
        stream(seed, "mounts"),
        motions.clock(seconds, rate),
        kind=figure.kind,
        axis=figure.axis,
        mounts=mounts,
    )
    return World(*disturb(truth, disturbances, seed), figure)
