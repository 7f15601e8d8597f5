"""The paper's capture space: one room with a bent field, sensors of 4 mm resolution, a unit that is no metre.

A room is one for several recordings: the field comes from the room's seed, noise and skin from the recording's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from condyle.model.take import Take
from condyle.pairs.rigid_pair import measure_pair
from condyle.simulate import Disturbances, Mounts, SimulatedFigure, Truth, disturb, motions, mount, rod
from condyle.simulate.device import warp
from condyle.simulate.seeds import stream

from ..bound import CM, DEG
from . import published

SECONDS, RATE = 45.0, 30.0
LENGTH = 90 * CM  # of the field
WHITE = 0.15 * CM  # position noise of a sensor, per axis; at rest "the data is much less noisy"
TILT = 0.1 * DEG
WARP = 1.20 * CM  # rms of the field per axis: what `fit_warp` finds for the paper's rod
ROOMS = 24  # from which the warp is found
STEPS = 4


@dataclass(frozen=True)
class Room:
    """A field by its seed; `warp` [m] rms per axis."""

    seed: int
    warp: float = WARP

    def record(self, truth: Truth, seed: int, body: Disturbances | None = None) -> Take:
        """What the tracker makes of exact poses: skin and joints of `body`, field, noise, unit, steps of 4 mm."""
        if body is not None:
            moved, truth = disturb(truth, body, seed)
            truth = replace(truth, R_world_body=moved.R_world_body, p_world_body=moved.p_world_body)
        field = stream(self.seed, "field")
        R, p = warp(truth.R_world_body, truth.p_world_body, self.warp, LENGTH, field)
        truth = replace(truth, R_world_body=R, p_world_body=p)
        device = Disturbances(
            position_noise=WHITE,
            orientation_noise=TILT,
            scale=1 / published.SCALE,
            quantisation=published.RESOLUTION * CM,
        )
        return disturb(truth, device, seed)[0]

    def rod(self) -> Take:
        """Two sensors at the paper's distance, carried through the room."""
        return self.record(rod(published.ROD * CM, seed=self.seed, seconds=SECONDS, rate=RATE).truth, self.seed)


def moved(figure: SimulatedFigure, motion: str, seed: int, mounts: Mounts) -> Truth:
    """A figure in motion with sensors as mounted."""
    rng = stream(seed, "motion")
    act = motions.exercise if motion == "exercise" else motions.walk
    bones = act(figure, SECONDS, RATE, rng)
    time = motions.clock(SECONDS, RATE)
    return mount(
        figure.names,
        figure.parent,
        *bones,
        figure.p_parent_joint,
        None,
        time,
        kind=figure.kind,
        axis=figure.axis,
        mounts=mounts,
    )


def spread(warp: float, seed: int, rooms: int = ROOMS) -> float:
    """Mean over rooms of the standard deviation [m] of the rod's length, in true units."""
    pairs = [measure_pair(Room(seed + k, warp).rod(), "rod_a", "rod_b") for k in range(rooms)]
    return float(np.mean([pair.sd for pair in pairs]) * published.SCALE)


def fit_warp(seed: int, rooms: int = ROOMS) -> float:
    """The field [m] in which the rod's length varies as the paper's did: secant steps from the usual one."""
    wanted = published.ROD_SD * CM
    a, b = 0.8 * WARP, 1.2 * WARP
    found = [spread(a, seed, rooms), spread(b, seed, rooms)]
    for _ in range(STEPS):
        a, b = b, b + (wanted - found[1]) * (b - a) / (found[1] - found[0])
        found = [found[1], spread(b, seed, rooms)]
        if abs(found[1] - wanted) < 1e-5:
            break
    return b
