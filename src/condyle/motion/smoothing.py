"""Motion that is smooth over time: the frames of a segment solved together, accelerations counted among the errors.

The normal equations of all frames hang together through the accelerations only. They are solved by conjugate gradients,
whose preconditioner solves short windows of time, or, where there are gaps or loops, every frame for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths.arrays import Floats
from ..maths.elimination import Factors, KinematicRig, cross, dot
from ..model.values import dataclass
from .pose_solver import (
    SINGLE_PRECISION_DAMPING,
    Equations,
    Errors,
    Problem,
    State,
    find_geometry,
    find_rotation_vectors,
    measure_errors,
    measure_opening,
    move_state,
    single,
)

SMOOTH_MAX_STEPS = 20  # Gauss-Newton steps at most
CONJUGATE_MAX_ROUNDS = 500  # of conjugate gradients in a step at most
GRADIENT_MAX_SHARE = 1e-3  # of the gradient's size: the next step corrects the rest
SMOOTH_MIN_GAIN = 1e-7  # of the cost, the gain of a step at which the search ends
SMOOTH_DAMPING = 1e-9  # of the weights, the least damping of a step
# Frames by which windows follow each other: long against what accelerations bind together, short against the motion.
# benchmarks/kinematics.py: 4 to 6 rounds a step from 8 frames on, some 80 without windows.
WINDOW_HALF_FRAMES = 20
WINDOW_MIN_BOUND_FRAMES = 1.5  # that accelerations bind together: with fewer, each frame for itself takes fewer rounds
WINDOW_MIN_WEIGHT = 0.1  # of a body's largest: where a pose counts less, as in a gap, a window's mean is far from it


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
    cost, before = float(now.cost.sum()) + rough.cost(state), np.inf
    windows, near, held = _suits_windows(aims, rough), None, 0.0
    for count in range(1, SMOOTH_MAX_STEPS + 1):
        if isinstance(near, _Windows) and held == damping:
            near.follow(state, aims)
        else:
            near = (_Windows if windows else _frame_by_frame)(rig, state, aims, rough, damping * scale)
            held = damping
        x, t, s, gain = _step(near, state, aims, rough, now, damping * scale)
        trial = move_state(rig, state, x, t, s)
        found = measure_errors(rig, trial, aims)
        total = float(found.cost.sum()) + rough.cost(trial)
        if not total <= cost * (1 + 1e-12):
            damping, before = max(10 * damping, 1e-3), np.inf
            continue
        # Each gain is about the same part of the one before, so this is what all further steps would gain.
        part = min(gain / before, 0.9)
        rest = (gain if part <= 0 else gain * part / (1 - part)) <= SMOOTH_MIN_GAIN * cost
        before = gain
        state, now, cost, damping = trial, found, total, max(0.1 * damping, SMOOTH_DAMPING)
        if rest:
            return state, count, True
    return state, SMOOTH_MAX_STEPS, False


def _step(
    near: _Windows | Equations, state: State, aims: Problem, rough: Accelerations, now: Errors, damping: Floats
) -> tuple[Floats, Floats, Floats | None, float]:
    """The Gauss-Newton step of all frames together, found by way of equations that are near to theirs, and what it
    gains.
    """
    free, arm, solve = list(rough.free), state.origin - state.inboard, near.solve
    gx, gt = aims.w_position[:, None] * now.d, aims.w_rotation[:, None] * now.e
    gt = gt + rough.w_turn * rough.turns_gradient(state)
    gx[free] += rough.w_place * rough.back(rough.places(state))
    if isinstance(near, Equations):
        near.pull_together(gx, gt, now.c)

    def product(x: Floats, t: Floats, place: Floats) -> tuple[Floats, Floats]:
        """The normal matrix times a step, which moves the bodies' origins by `place`."""
        hx, ht = aims.w_position[:, None] * place, (aims.w_rotation + damping)[:, None] * t
        ht += rough.w_turn * rough.back(rough.along(t))
        hx[free] += rough.w_place * rough.back(rough.along(x[free]))
        if isinstance(near, Equations):
            near.pull_together(hx, ht, np.array([measure_opening(state, loop, x, t) for loop in aims.loops]))
        return hx, ht

    def inner(gx: Floats, gt: Floats, place: Floats, t: Floats) -> float:
        return float(np.vdot(gx, place) + np.vdot(gt, t))

    x, t, s, _ = solve(gx, gt)  # the preconditioned gradient, downhill
    place = x + cross(t, arm)
    rx, rt = gx, gt
    size = first = -inner(rx, rt, place, t)
    total_x, total_t, total_s = np.zeros_like(x), np.zeros_like(t), None if s is None else np.zeros_like(s)
    for _ in range(CONJUGATE_MAX_ROUNDS):
        hx, ht = product(x, t, place)
        far = size / inner(hx, ht, place, t)
        total_x, total_t = total_x + far * x, total_t + far * t
        if s is not None and total_s is not None:
            total_s = total_s + far * s
        rx, rt = rx + far * hx, rt + far * ht
        zx, zt, zs, _ = solve(rx, rt)
        there = zx + cross(zt, arm)
        before, size = size, -inner(rx, rt, there, zt)
        if size <= GRADIENT_MAX_SHARE**2 * first:
            break
        x, t, place = (new + size / before * old for new, old in ((zx, x), (zt, t), (there, place)))
        s = None if s is None or zs is None else zs + size / before * s
    return total_x, total_t, total_s, -0.5 * inner(gx, gt, total_x + cross(total_t, arm), total_t)


def _suits_windows(aims: Problem, rough: Accelerations) -> bool:
    """Whether every pose counts about alike, and accelerations bind several frames together."""
    if aims.loops:
        return False
    for w in (aims.w_position, aims.w_rotation):
        if (w < WINDOW_MIN_WEIGHT * w.max(axis=1, keepdims=True)).any():
            return False
    bound = rough.w_turn * rough.before * rough.after / max(float(aims.w_rotation.mean()), 1e-300)
    return bool(bound.mean() >= WINDOW_MIN_BOUND_FRAMES**4)


def _frame_by_frame(rig: KinematicRig, state: State, aims: Problem, rough: Accelerations, damping: Floats) -> Equations:
    """The equations of every frame for itself, its neighbours standing still; loops are closed in each."""
    own = rough.diagonal()
    w_position, w_rotation = aims.w_position.copy(), aims.w_rotation + rough.w_turn * own
    w_position[list(rough.free)] += rough.w_place * own
    return Equations(rig, state, replace(aims, w_position=w_position, w_rotation=w_rotation), damping)


class _Windows:
    """About the inverse of the normal equations, by windows of time in which the figure is taken to stand still.

    There, the accelerations fall apart into modes, each of which is one more weight on the turns: as many eliminations
    as frames. Windows overlap by half; what each says counts by where it is in them. All of it in single precision: it
    says only where to look next.
    """

    def __init__(self, rig: KinematicRig, state: State, aims: Problem, rough: Accelerations, damping: Floats) -> None:
        n = state.R.shape[-1]
        self.rig, self.frames, self.half = rig, n, min(WINDOW_HALF_FRAMES, -(-n // 2))
        self.count = max(-(-n // self.half) - 1, 1)
        lever, arm, axis = self.follow(state, aims)
        width = 2 * self.half
        away = np.diff(np.eye(width), 2, axis=0)
        bends, self.modes = np.linalg.eigh(away.T @ away)
        part = np.sin(np.pi * (np.arange(width) + 0.5) / width) ** 2
        total = self._join(np.tile(part, (self.count, 1)))
        total = self._cut(total)
        self.part = np.sqrt(np.divide(part, total, out=np.zeros_like(total), where=total > 0))  # none beyond the end
        middle = np.minimum(self.half * (np.arange(self.count) + 1), n - 1)
        stiff = np.interp(middle, np.arange(1, n - 1), rough.before * rough.after)[:, None] * np.maximum(bends, 0.0)
        w_position, w_rotation = (
            np.repeat(np.einsum("mwl,wl->mw", self._cut(w), self.part**2) / (self.part**2).sum(axis=1), width, axis=1)
            for w in (aims.w_position, aims.w_rotation)
        )
        w_position[list(rough.free)] += rough.w_place * stiff.ravel()
        w_rotation = w_rotation + rough.w_turn * stiff.ravel()

        def still(values: Floats) -> Floats:
            return np.repeat(single(values[..., middle]), width, axis=-1)

        self.scale = float(w_rotation.max())  # by which all is divided, so that squares of it are numbers
        held = still(damping / self.scale + SINGLE_PRECISION_DAMPING)
        self.axis, self.modes = None if axis is None else still(axis), single(self.modes)
        self.part = single(self.part)
        weights = single(w_position / self.scale), single(w_rotation / self.scale)
        self.factors = Factors(rig, still(lever), still(arm), self.axis, *weights, held)

    def follow(self, state: State, aims: Problem) -> tuple[Floats, Floats, Floats | None]:
        """Takes every frame's own levers, arms and axes from another state; the windows stand still as they did."""
        lever, arm, axis = find_geometry(self.rig, state, aims)
        self.geometry = single(lever), single(arm), None if axis is None else single(axis)
        return self.geometry

    def _cut(self, values: Floats) -> Floats:
        """(..., w, 2 h) the windows of (..., n)."""
        whole = np.zeros((*values.shape[:-1], (self.count + 1) * self.half), values.dtype)
        whole[..., : values.shape[-1]] = values
        halves = whole.reshape(*values.shape[:-1], self.count + 1, self.half)
        return np.concatenate([halves[..., :-1, :], halves[..., 1:, :]], axis=-1)

    def _join(self, windows: Floats) -> Floats:
        """(..., n) windows (..., w, 2 h) added up: the transpose of `_cut`."""
        halves = np.zeros((*windows.shape[:-2], self.count + 1, self.half), windows.dtype)
        halves[..., :-1, :] += windows[..., : self.half]
        halves[..., 1:, :] += windows[..., self.half :]
        return halves.reshape(*windows.shape[:-2], -1)[..., : self.frames]

    def _to_modes(self, values: Floats) -> Floats:
        return np.asarray(((self._cut(values) * self.part) @ self.modes).reshape(*values.shape[:-1], -1))

    def _from_modes(self, values: Floats) -> Floats:
        windows = values.reshape(*values.shape[:-1], self.count, -1)
        return self._join((windows @ self.modes.T) * self.part)

    def solve(self, gx: Floats, gt: Floats) -> tuple[Floats, Floats, Floats | None, Floats]:
        """As `Factors.solve`, but for the gain."""
        rig, (lever, arm, axis) = self.rig, self.geometry
        gx, gt = single(gx / self.scale), single(gt / self.scale)
        gt += cross(arm, gx)
        gs = None if axis is None else np.zeros((len(gx), gx.shape[-1]), gx.dtype)
        for group in reversed(rig.groups):  # what each freedom feels, hinges by their angle
            own = group.own
            if group.freedom == "free":
                continue
            couple = cross(lever[own], gx[own])
            if group.freedom in ("hinge", "rigid"):
                couple += gt[own]
                if group.freedom == "hinge" and gs is not None and axis is not None:
                    gs[own] = dot(axis[own], gt[own])
                gt[own] = 0.0
            for row, parent in enumerate(group.parent):
                gx[parent] += gx[own][row]
                gt[parent] += couple[row]
            gx[own] = 0.0
        pulled = None if gs is None or self.axis is None else self._to_modes(gs)[:, None] * self.axis
        x, t, s, gain = self.factors.solve(self._to_modes(gx), self._to_modes(gt), pulled)
        x, t = self._from_modes(x), self._from_modes(t)
        s = None if s is None else self._from_modes(s)
        for group in rig.groups:  # where every frame's own levers and axes bring the bodies
            own = group.own
            if group.freedom == "free":
                continue
            above = t[group.parent]
            x[own] = x[group.parent] + cross(above, lever[own])
            if group.freedom == "hinge" and s is not None and axis is not None:
                t[own] = above + axis[own] * s[own, None]
            elif group.freedom == "rigid":
                t[own] = above
        return x.astype(float), t.astype(float), None if s is None else s.astype(float), gain
