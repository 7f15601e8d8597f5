"""Inverse kinematics for targets: some bodies are told where to be, the rest of the figure follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import UsageError
from ..maths.arrays import Floats, frozen
from ..maths.elimination import Rig, dot
from ..model.motion import Motion, check_motion, forward, free_bodies, reference_of
from ..model.skeleton import Skeleton
from ..model.take import UNTIMED_RATE, Take
from .ik import LOOP, MotionFit
from .pose_solver import Aims, errors, solve
from .rig import last, loops_of, rig_of, state_from, store


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
    p_body_point: Floats = field(default_factory=lambda: np.zeros(3))
    sigma_position: float = 1e-3
    sigma_rotation: float = 1e-2

    def __post_init__(self) -> None:
        for name, shape in (("p_world", (3,)), ("R_world", (3, 3))):
            value = getattr(self, name)
            if value is not None:
                lead = (None,) * (np.ndim(value) - len(shape))
                if len(lead) > 1:
                    raise UsageError(f"{name} of the target for '{self.body}' has too many axes", code="bad-shape")
                object.__setattr__(self, name, frozen(value, (*lead, *shape), name))
        object.__setattr__(self, "p_body_point", frozen(self.p_body_point, (3,), "p_body_point"))
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


def reach_targets(
    skeleton: Skeleton,
    start: Motion,
    targets: Sequence[Target],
    *,
    hold: float = 0.5,
    hold_place: float = 0.3,
    keep_axes: bool = True,
    loops: bool = True,
) -> MotionFit:
    """The motion near `start` whose bodies reach their targets.

    What the targets leave free stays near the start: joints within about `hold` [rad], free bodies within `hold` and
    `hold_place` [m]. These pull a little against the targets as well: a target's sigma over `hold`, squared, is the
    part by which it is missed. A start of one frame serves for targets of any number of frames. `misfit` is in the
    targets' sigmas, `weight` 1 where there is a target.
    """
    check_motion(skeleton, start)
    if not (hold > 0 and hold_place > 0):
        raise UsageError("hold and hold_place must be above zero", code="bad-call")
    start = _as_long(start, targets)
    if not start.known.all():
        frame, body = np.argwhere(~start.known)[0]
        raise UsageError(
            "the start is not known there; play or fit it without gaps",
            code="bad-call",
            frame=int(frame),
            body=start.bodies[body],
        )
    rig = rig_of(skeleton, reference_of(skeleton, start.R_parent_body), keep_axes=keep_axes)
    begun = forward(skeleton, start)
    aims, weight = _aims(rig, skeleton, start, begun, targets, hold, hold_place)
    least = min((target.sigma_position for target in targets), default=hold_place)
    ties = loops_of(skeleton, rig, start.time, LOOP * least) if loops else []
    state = state_from(rig, start.R_parent_body, begun.p_world_body)
    state, steps, settled = solve(rig, state, aims, ties)
    R, p = store(rig, state)
    found = errors(rig, state, aims, ())
    square = aims.w_position * dot(found.d, found.d) + aims.w_rotation * dot(found.e, found.e)
    misfit = np.empty(weight.shape)
    misfit[:, rig.bodies] = np.sqrt(square).T
    columns = [skeleton.bodies.index(name) for name in free_bodies(skeleton)]
    motion = replace(start, R_parent_body=R, p_world_free=p[:, columns])
    return MotionFit(motion, weight, misfit * (weight > 0), steps, settled)


def _as_long(start: Motion, targets: Sequence[Target]) -> Motion:
    """The start with as many frames as the targets have."""
    counts = {target.frames for target in targets} - {None}
    if len(counts | ({start.frames} if start.frames != 1 else set())) > 1:
        told = ", ".join(f"{target.body} {target.frames or 'any'}" for target in targets)
        raise UsageError(f"the start has {start.frames} frames, the targets {told}; make them agree", code="bad-shape")
    n = counts.pop() if counts else start.frames
    if n == start.frames or n is None:
        return start
    return replace(
        start,
        time=np.arange(n) / UNTIMED_RATE,
        timed=False,
        segment=np.zeros(n, np.int64),
        R_parent_body=np.repeat(start.R_parent_body, n, axis=0),
        p_world_free=np.repeat(start.p_world_free, n, axis=0),
    )


def _aims(
    rig: Rig,
    skeleton: Skeleton,
    start: Motion,
    begun: Take,
    targets: Sequence[Target],
    hold: float,
    hold_place: float,
) -> tuple[Aims, Floats]:
    """Targets and holds as aims, and (n, m) 1 where a body has a target."""
    n, m = start.frames, len(skeleton.bodies)
    R, p, point = begun.R_world_body.copy(), begun.p_world_body.copy(), np.zeros((m, 3))
    w_position, w_rotation = np.zeros((m, n)), np.zeros((m, n))
    free = [skeleton.bodies.index(name) for name in free_bodies(skeleton)]
    w_position[free], w_rotation[free] = 1 / hold_place**2, 1 / hold**2
    weight = np.zeros((n, m))
    named: set[str] = set()
    for target in targets:
        body = begun.index(target.body)
        if target.body in named:
            raise UsageError(f"'{target.body}' has two targets; give one with place and axes", code="bad-call")
        named.add(target.body)
        if target.p_world is not None:
            there = np.isfinite(np.broadcast_to(target.p_world, (n, 3))).all(axis=-1)
            p[there, body] = np.broadcast_to(target.p_world, (n, 3))[there]
            w_position[body] = np.where(there, 1 / target.sigma_position**2, w_position[body])
            point[body] = target.p_body_point
            if body in free and target.p_body_point.any():  # the hold is at the point as well
                p[~there, body] += begun.R_world_body[~there, body] @ target.p_body_point
            weight[there, body] = 1.0
        if target.R_world is not None:
            there = np.isfinite(np.broadcast_to(target.R_world, (n, 3, 3))).all(axis=(-2, -1))
            R[there, body] = np.broadcast_to(target.R_world, (n, 3, 3))[there]
            w_rotation[body] = np.where(there, 1 / target.sigma_rotation**2, w_rotation[body])
            weight[there, body] = 1.0
    spring = np.full((m, n), 1 / hold**2)
    spring[free] = 0.0
    rest = last(rig, start.R_parent_body)
    rows = rig.bodies
    return Aims(last(rig, R), last(rig, p), w_position[rows], w_rotation[rows], spring[rows], rest, point[rows]), weight
