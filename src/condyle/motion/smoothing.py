"""Motion that is smooth over time: the frames of a segment solved together, accelerations counted among the errors.

The normal equations of all frames hang together through the accelerations only. They are solved by conjugate gradients
whose preconditioner is the elimination of every frame for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths.arrays import Floats
from ..maths.elimination import KinematicRig, cross, dot
from ..model.values import dataclass
from .pose_solver import (
    Equations,
    Errors,
    Problem,
    State,
    find_rotation_vectors,
    measure_errors,
    measure_opening,
    move_state,
)

SMOOTH_MAX_STEPS = 20  # Gauss-Newton steps at most
CONJUGATE_MAX_ROUNDS = 500  # of conjugate gradients in a step at most
GRADIENT_MAX_SHARE = 1e-3  # of the gradient's size: the next step corrects the rest
SMOOTH_MIN_GAIN = 1e-7  # of the cost
SMOOTH_DAMPING = 1e-9  # of the weights


@dataclass(frozen=True, eq=False)
class Accelerations:
    """Accelerations and their weights over the n frames of one segment.

    before, after  (n - 2,) [1/s^2]  coefficients of the neighbours in the second divided difference
    w_turn         [s^4/rad^2], w_place [s^4/m^2] of every body's turn and every free body's place
    free           rows of the free bodies
    """

    before: Floats
    after: Floats
    w_turn: float
    w_place: float
    free: Sequence[int]

    def turns(self, state: State) -> Floats:
        """(m, 3, n - 2) [rad/s^2] angular accelerations in the world."""
        return self._changes(_between(state))

    def _changes(self, between: Floats) -> Floats:
        return self.after * between[..., 1:] - self.before * between[..., :-1]

    def turns_gradient(self, state: State) -> Floats:
        """(m, 3, n) derivative of half the squared accelerations of `turns` by the bodies' turns in the world.

        A turn t of the later of two frames changes the rotation vector b between them by t - b x t / 2 + c b x (b x t),
        one of the earlier by -(t + b x t / 2 + c b x (b x t)).
        """
        b = _between(state)
        a = self._changes(b)
        y = np.zeros_like(b)
        y[..., 1:] += self.after * a
        y[..., :-1] -= self.before * a
        once = cross(b, y)
        square = np.maximum(dot(b, b), 1e-12)
        half = 0.5 * np.sqrt(square)
        even = y + (np.where(square > 1e-6, (1 - half / np.tan(half)) / square, 1 / 12))[:, None] * cross(b, once)
        out = np.zeros((*b.shape[:-1], b.shape[-1] + 1))
        out[..., 1:] += even + 0.5 * once
        out[..., :-1] -= even - 0.5 * once
        return out

    def places(self, state: State) -> Floats:
        """(k, 3, n - 2) [m/s^2] accelerations of the free bodies."""
        return self.along(state.origin[list(self.free)])

    def along(self, v: Floats) -> Floats:
        """Second differences over the last axis."""
        return self.before * v[..., :-2] - (self.before + self.after) * v[..., 1:-1] + self.after * v[..., 2:]

    def back(self, a: Floats) -> Floats:
        """The transpose of `along`."""
        out = np.zeros((*a.shape[:-1], a.shape[-1] + 2))
        out[..., :-2] += self.before * a
        out[..., 1:-1] -= (self.before + self.after) * a
        out[..., 2:] += self.after * a
        return out

    def diagonal(self) -> Floats:
        """(n,) of the transpose times `along`."""
        out = np.zeros(len(self.before) + 2)
        out[:-2] += self.before**2
        out[1:-1] += (self.before + self.after) ** 2
        out[2:] += self.after**2
        return out

    def cost(self, state: State) -> float:
        turn, place = self.turns(state), self.places(state)
        return 0.5 * (self.w_turn * float((turn**2).sum()) + self.w_place * float((place**2).sum()))


def _between(state: State) -> Floats:
    """(m, 3, n - 1) [rad] rotation vectors in the world from each frame to the next."""
    return find_rotation_vectors(state.R[..., 1:], state.R[..., :-1])


def build_accelerations(rig: KinematicRig, time: Floats, sigma_turn: float, sigma_place: float) -> Accelerations:
    """For frames at time (n,) [s], with standard deviations [rad/s^2] and [m/s^2] of the accelerations."""
    step = np.diff(time)
    both = 2 / (step[1:] + step[:-1])
    return Accelerations(
        both / step[:-1], both / step[1:], sigma_turn**-2, sigma_place**-2, np.flatnonzero(rig.parent < 0).tolist()
    )


def solve_smooth(rig: KinematicRig, state: State, aims: Problem, rough: Accelerations) -> tuple[State, int, bool]:
    """The state of least cost over all frames near `state`, the steps taken, and whether they came to rest."""
    damping = SMOOTH_DAMPING
    scale = aims.w_rotation.max(axis=0) + rough.w_turn * rough.diagonal()
    now = measure_errors(rig, state, aims)
    cost = float(now.cost.sum()) + rough.cost(state)
    for count in range(1, SMOOTH_MAX_STEPS + 1):
        x, t, s, gain = _step(rig, state, aims, rough, now, damping * scale)
        trial = move_state(rig, state, x, t, s)
        found = measure_errors(rig, trial, aims)
        total = float(found.cost.sum()) + rough.cost(trial)
        if not total <= cost * (1 + 1e-12):
            damping = max(10 * damping, 1e-3)
            continue
        rest = gain <= SMOOTH_MIN_GAIN * cost
        state, now, cost, damping = trial, found, total, max(0.1 * damping, SMOOTH_DAMPING)
        if rest:
            return state, count, True
    return state, SMOOTH_MAX_STEPS, False


def _step(
    rig: KinematicRig, state: State, aims: Problem, rough: Accelerations, now: Errors, damping: Floats
) -> tuple[Floats, Floats, Floats | None, float]:
    """The Gauss-Newton step of all frames together, and what it gains."""
    free, own = list(rough.free), rough.diagonal()
    w_position, w_rotation = aims.w_position.copy(), aims.w_rotation + rough.w_turn * own
    w_position[free] += rough.w_place * own
    near = replace(aims, w_position=w_position, w_rotation=w_rotation)
    equations = Equations(rig, state, near, damping)
    arm = state.origin - state.inboard
    gx, gt = aims.w_position[:, None] * now.d, aims.w_rotation[:, None] * now.e
    gt = gt + rough.w_turn * rough.turns_gradient(state)
    gx[free] += rough.w_place * rough.back(rough.places(state))
    equations.pull_together(gx, gt, now.c)

    def product(x: Floats, t: Floats) -> tuple[Floats, Floats]:
        """The normal matrix times a step."""
        hx, ht = aims.w_position[:, None] * (x + cross(t, arm)), (aims.w_rotation + damping)[:, None] * t
        ht += rough.w_turn * rough.back(rough.along(t))
        hx[free] += rough.w_place * rough.back(rough.along(x[free]))
        equations.pull_together(hx, ht, np.array([measure_opening(state, loop, x, t) for loop in aims.loops]))
        return hx, ht

    def inner(gx: Floats, gt: Floats, x: Floats, t: Floats) -> float:
        return float((gx * (x + cross(t, arm))).sum() + (gt * t).sum())

    x, t, s, _ = equations.solve(gx, gt)  # the preconditioned gradient, downhill
    rx, rt = gx, gt
    size = first = -inner(rx, rt, x, t)
    total_x, total_t, total_s = np.zeros_like(x), np.zeros_like(t), None if s is None else np.zeros_like(s)
    for _ in range(CONJUGATE_MAX_ROUNDS):
        hx, ht = product(x, t)
        far = size / inner(hx, ht, x, t)
        total_x, total_t = total_x + far * x, total_t + far * t
        if s is not None and total_s is not None:
            total_s = total_s + far * s
        rx, rt = rx + far * hx, rt + far * ht
        zx, zt, zs, _ = equations.solve(rx, rt)
        before, size = size, -inner(rx, rt, zx, zt)
        if size <= GRADIENT_MAX_SHARE**2 * first:
            break
        x, t = zx + size / before * x, zt + size / before * t
        s = None if s is None or zs is None else zs + size / before * s
    return total_x, total_t, total_s, -0.5 * inner(gx, gt, total_x, total_t)
