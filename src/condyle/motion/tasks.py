"""What a figure is drawn to, as values: each task adds its rows to the least squares problem of some frames.

A task of another kind is a value with `add_to`; the solver knows nothing but the problem that all of them add up to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Protocol

import numpy as np

from ..errors import UsageError
from ..maths.arrays import Bools, Floats, Ints, Vector, freeze, freeze_array
from ..maths.elimination import KinematicRig
from ..model.motion import Motion
from ..model.skeleton import Joint, Skeleton
from ..model.take import Take
from ..model.values import dataclass
from .pose_solver import Loop, Problem
from .rig import to_rows
from .smoothing import build_accelerations

FrameRows = Ints | slice
GUESS_SIGMA_RAD = 0.5  # rad, standard deviation of a rotation that is bridged or held


class Task(Protocol):
    """Something that draws a figure."""

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        """The problem of the frames `rows` with what this draws the bodies to in them."""


def add_up(tasks: Iterable[Task], rig: KinematicRig, rows: FrameRows, frames: int) -> Problem:
    """The problem of the frames `rows`, `frames` of them, in which all tasks count, later ones over earlier ones."""
    m = len(rig.bodies)
    zero = np.zeros((m, frames))
    problem = Problem(np.zeros((m, 3, 3, frames)), np.zeros((m, 3, frames)), zero, zero)
    for task in tasks:
        problem = task.add_to(problem, rig, rows)
    return problem


@dataclass(eq=False)
class SensorPoses:
    """Every body is where its sensor was measured.

    sigma_position, sigma_rotation  (m,) [m], [rad]
    R_guess  (n, m, 3, 3)  rotations that stand, vaguely, for those that do not count
    weight   (n, m) [-]    how much each pose counts; changed while a fit goes on
    placed   (n, m)        which sensors have a position
    """

    take: Take
    sigma_position: Floats
    sigma_rotation: Floats
    R_guess: Floats
    weight: Floats
    placed: Bools

    def variance(self, rig: KinematicRig) -> tuple[Floats, Floats]:
        """(m, 1) [m^2], [rad^2] by the rig's rows."""
        return self.sigma_position[rig.bodies, None] ** 2, self.sigma_rotation[rig.bodies, None] ** 2

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        weight = self.weight[rows]
        R, p = self.take.R_world_body[rows], self.take.p_world_body[rows]
        none = weight == 0
        w = weight.T[rig.bodies]
        w_position, w_rotation = (w / variance for variance in self.variance(rig))
        if not self.placed[rows].all():
            w_position = w_position * self.placed[rows].T[rig.bodies]
        if none.any():
            R, p = np.where(none[..., None, None], self.R_guess[rows], R), np.where(none[..., None], 0.0, p)
            w_rotation[none.T[rig.bodies]] = 1 / GUESS_SIGMA_RAD**2
        return replace(problem, R=to_rows(rig, R), p=to_rows(rig, p), w_position=w_position, w_rotation=w_rotation)


@dataclass(frozen=True, eq=False)
class Posture:
    """The figure stays near a motion: its joints within `hold` [rad], its free bodies within that and `hold_place` [m].

    poses  of the motion
    """

    motion: Motion
    poses: Take
    hold: float
    hold_place: float

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        free = rig.parent[:, None] < 0
        shape = problem.w_position.shape
        return replace(
            problem,
            R=to_rows(rig, self.poses.R_world_body[rows]),
            p=to_rows(rig, self.poses.p_world_body[rows]),
            w_position=np.where(free, 1 / self.hold_place**2, np.zeros(shape)),
            w_rotation=np.where(free, 1 / self.hold**2, np.zeros(shape)),
            spring=np.where(free, 0.0, np.full(shape, 1 / self.hold**2)),
            R_rest=to_rows(rig, self.motion.R_parent_body[rows]),
        )


@dataclass(frozen=True, eq=False)
class Target:
    """Where a body is to be, in every frame or frame by frame; NaN: not in this frame.

    p_world         (3,) or (n, 3)        [m]   place of the point; None: anywhere
    R_world         (3, 3) or (n, 3, 3)   [-]   the body's axes; None: any
    p_body_point    (3,)                  [m]   the point in the body's own frame: its origin, or a tip
    sigma_position  [m], sigma_rotation [rad]   how exactly; small against other targets and `hold` wins
    """

    body: str
    p_world: Floats | None = None
    R_world: Floats | None = None
    p_body_point: Vector = field(default_factory=lambda: np.zeros(3))
    sigma_position: float = 1e-3
    sigma_rotation: float = 1e-2

    def __post_init__(self) -> None:
        freeze(self)
        for name, shape in (("p_world", (3,)), ("R_world", (3, 3))):
            value = getattr(self, name)
            if value is not None:
                lead = (None,) * (np.ndim(value) - len(shape))
                if len(lead) > 1:
                    raise UsageError(f"{name} of the target for '{self.body}' has too many axes", code="bad-shape")
                object.__setattr__(self, name, freeze_array(value, (*lead, *shape), name))
        if self.p_world is None and self.R_world is None:
            raise UsageError(f"the target for '{self.body}' has neither place nor axes", code="bad-call")
        if not (self.sigma_position > 0 and self.sigma_rotation > 0):
            raise UsageError(f"a standard deviation of the target for '{self.body}' is not above zero", code="bad-call")

    @property
    def frames(self) -> int | None:
        """How many frames it tells of; None: the same for all."""
        parts = [(self.p_world, 1), (self.R_world, 2)]
        counts = {len(part) for part, axes in parts if part is not None and part.ndim > axes}
        if len(counts) > 1:
            raise UsageError(f"place and axes of the target for '{self.body}' differ in frames", code="bad-shape")
        return counts.pop() if counts else None

    def poses(self, rows: FrameRows, frames: int) -> tuple[Floats, Floats]:
        """p (c, 3) [m] and R (c, 3, 3) in the frames `rows`, `frames` of them; NaN where it tells nothing."""
        found = []
        for part, shape in ((self.p_world, (3,)), (self.R_world, (3, 3))):
            value = np.nan if part is None else part if part.shape == shape else part[rows]
            found.append(np.broadcast_to(value, (frames, *shape)))
        return found[0], found[1]

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        row, (p_aim, R_aim) = rig.names.index(self.body), self.poses(rows, problem.p.shape[-1])
        placed, turned = np.isfinite(p_aim).all(axis=-1), np.isfinite(R_aim).all(axis=(-2, -1))
        R, p, point = problem.R.copy(), problem.p.copy(), problem.point
        w_position, w_rotation = problem.w_position.copy(), problem.w_rotation.copy()
        if self.p_world is not None:
            point = np.zeros((len(rig.names), 3)) if point is None else point.copy()
            point[row] = self.p_body_point
            if rig.parent[row] < 0:  # what holds a free body is at the point as well
                p[row][:, ~placed] += (np.moveaxis(R[row], -1, 0)[~placed] @ self.p_body_point).T
        p[row][:, placed], R[row][..., turned] = p_aim[placed].T, np.moveaxis(R_aim[turned], 0, -1)
        w_position[row, placed], w_rotation[row, turned] = 1 / self.sigma_position**2, 1 / self.sigma_rotation**2
        return replace(problem, R=R, p=p, point=point, w_position=w_position, w_rotation=w_rotation)


@dataclass(frozen=True, eq=False)
class LoopTask:
    """The two sides of a loop joint meet while it holds, to a standard deviation `sigma` [m] of its gap.

    time  (n,) [s]
    """

    joint: Joint
    time: Floats
    sigma: float

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        time, joint = self.time[rows], self.joint
        start, end = (-np.inf, np.inf) if joint.time is None else joint.time
        closed = (time >= start - 1e-9) & (time <= end + 1e-9)
        a, b = (rig.names.index(name) for name in (joint.child, joint.parent))
        loop = Loop(a, b, joint.p_child_joint, joint.p_parent_joint, closed / self.sigma**2)
        return replace(problem, loops=(*problem.loops, loop))


def close_loops(skeleton: Skeleton, time: Floats, sigma: float) -> list[LoopTask]:
    """A task for every loop joint whose point is known."""
    return [LoopTask(joint, time, sigma) for joint in skeleton.loops if joint.kind not in ("undetermined", "slider")]


@dataclass(frozen=True, eq=False)
class Smoothness:
    """Bodies hardly accelerate: standard deviations of their angular accelerations [rad/s^2], and of the free bodies'
    accelerations [m/s^2], over the frames of one segment.

    time  (n,) [s]
    """

    sigma_turn: float
    sigma_place: float
    time: Floats

    def add_to(self, problem: Problem, rig: KinematicRig, rows: FrameRows) -> Problem:
        found = build_accelerations(rig, self.time[rows], self.sigma_turn, self.sigma_place)
        return replace(problem, accelerations=found)
