"""Gauss-Newton over the poses of a figure, damped frame by frame where a step does not help.

Every array has the frames last. The cost of a frame is half the sum over bodies of w_position |position error|^2 and
w_rotation |rotation vector of the error|^2, of springs towards given rotations at the joints, and of loops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, T, select
from ..maths.elimination import DAMPING_ARM_M, Factors, KinematicRig, cross, dot, outer, product
from ..maths.least_squares import invert_open
from ..model.values import dataclass

SOLVE_MAX_STEPS = 60  # of damped Gauss-Newton for one pose
STEP_MIN_GAIN = 1e-8  # of the cost: a frame whose further steps would gain less is done
COST_ROUNDING = 1e-18  # of the weights: a cost below is rounding
DAMPING_START = 1e-9  # of the weights, at first: keeps what nothing holds where it is
SINGLE_MAX_M = 1e4  # m: errors and arms up to which squares of squares are numbers in single precision
STEP_MAX = 1e9  # m or rad: a step beyond is none, and is tried again with more damping
SINGLE_PRECISION_DAMPING = 1e-7  # of the weights: damping that single precision can tell from none
SINGLE_MIN_WEIGHT = 1e-4  # of the largest: a smaller one drowns in the rounding of single precision
DAMPING_FIRST_HELP = 1e-3  # of the weights, where a step did not lower the cost
DAMPING_MAX = 1e8  # of the weights: no step lowers the cost by more than rounding
HALF_TURN_MIN_RAD = 3.0  # rad: beyond, the sine no longer tells the axis


@dataclass(frozen=True, eq=False)
class Loop:
    """Two bodies that share a point: p_a, p_b (3,) [m] in their own frames; weight (n,) [1/m^2], 0 where it is open."""

    a: int
    b: int
    p_a: Floats
    p_b: Floats
    weight: Annotated[Floats, "n"]


@dataclass(frozen=True, eq=False)
class Problem:
    """What the bodies of a figure are drawn to in n frames, all tasks added up. Weights of zero count nothing; no NaN.

    R, p                 (m, 3, 3, n), (m, 3, n) [m] aimed poses
    w_position, w_rotation (m, n) [1/m^2], [1/rad^2]
    spring               (m, n) [1/rad^2] towards R_rest (m, 3, 3, n), rotation to the parent; None: no springs
    point                (m, 3) [m] the point of each body that goes to p, in its own frame; None: the origins
    loops                points that bodies share
    accelerations        of `smoothing`, which count among the errors of n frames of one segment; None: each for itself
    """

    R: Annotated[Floats, "m 3 3 n"]
    p: Annotated[Floats, "m 3 n"]
    w_position: Annotated[Floats, "m n"]
    w_rotation: Annotated[Floats, "m n"]
    spring: Annotated[Floats, "m n"] | None = None
    R_rest: Annotated[Floats, "m 3 3 n"] | None = None
    point: Floats | None = None
    loops: tuple[Loop, ...] = ()
    accelerations: Any = None

    def at(self, rows: Ints) -> Problem:
        """Some of the frames."""
        return replace(select(self, "n", rows), loops=tuple(select(loop, "n", rows) for loop in self.loops))


@dataclass(eq=False)
class State:
    """Where a figure is: R (m, 3, 3, n), origin and inboard joint (m, 3, n) [m], angle (m, n) [rad] of the hinges."""

    R: Annotated[Floats, "m 3 3 n"]
    origin: Annotated[Floats, "m 3 n"]
    inboard: Annotated[Floats, "m 3 n"]
    angle: Annotated[Floats, "m n"] | None


def _put(value: T, rows: Ints, other: T) -> None:
    """Puts the frames of another state, or of other errors, in the place of these."""
    for name in value.__dataclass_fields__:  # type: ignore[attr-defined]
        if getattr(value, name) is not None:
            getattr(value, name)[..., rows] = getattr(other, name)


def settle(rig: KinematicRig, state: State) -> State:
    """The state itself, made to fit: rotations of hinges and rigid joints, and all places but the free bodies'."""
    R, origin, inboard = state.R, state.origin, state.inboard
    for group in rig.groups:
        own = group.own
        if group.freedom == "free":
            inboard[own] = origin[own]
            continue
        above = R[group.parent]
        if group.freedom in ("hinge", "rigid"):
            R[own] = product(above, np.broadcast_to(rig.R_reference[own, :, :, None], above.shape))
        if group.freedom == "hinge" and state.angle is not None:
            R[own] = product(R[own], _turn_hinges(rig.axis[own], state.angle[own]))
        inboard[own] = origin[group.parent] + rotate_points(above, rig.p_parent_joint[own])
        origin[own] = inboard[own] - rotate_points(R[own], rig.p_body_inboard[own])
    return state


@dataclass(eq=False)
class Errors:
    """d, e (m, 3, n): position [m] and rotation [rad] minus aim, in the world; j: the springs'; c: the loops' [m]."""

    d: Annotated[Floats, "m 3 n"]
    e: Annotated[Floats, "m 3 n"]
    j: Annotated[Floats, "m 3 n"] | None
    c: Annotated[Floats, "l 3 n"]
    cost: Annotated[Floats, "n"]


def measure_errors(rig: KinematicRig, state: State, aims: Problem) -> Errors:
    """How far a state is from its aims, and its cost (n,)."""
    d = _place_points(state, aims) - aims.p
    e = np.zeros_like(d) if state.R is aims.R else find_rotation_vectors(state.R, aims.R)
    cost = np.einsum("mn,mkn,mkn->n", aims.w_position, d, d) + np.einsum("mn,mkn,mkn->n", aims.w_rotation, e, e)
    j = None
    if aims.spring is not None and aims.R_rest is not None:
        joined = rig.parent >= 0
        rest = state.R.copy()
        rest[joined] = product(state.R[rig.parent[joined]], aims.R_rest[joined])
        j = find_rotation_vectors(state.R, rest)
        cost += np.einsum("mn,mkn,mkn->n", aims.spring, j, j)
    c = np.empty((len(aims.loops), 3, d.shape[-1]))
    for loop, gap in zip(aims.loops, c, strict=True):
        ends = ((loop.a, loop.p_a), (loop.b, loop.p_b))
        one, other = (state.origin[body] + _reach_point(state, body, p)[0] for body, p in ends)
        np.subtract(one, other, out=gap)
        cost += loop.weight * (gap * gap).sum(axis=0)
    return Errors(d, e, j, c, 0.5 * cost)


def solve(
    rig: KinematicRig, start: State, aims: Problem, *, leave: float = 0.0, most: int = SOLVE_MAX_STEPS
) -> tuple[State, Ints, Bools]:
    """The state of least cost near `start`, which must be settled, the steps each frame took, and which frames settled.

    Frames that are done are dropped; a step that raises a frame's cost is taken back and tried again with more damping.
    The last `leave` of the frames are given back before they have settled, since few at a time are slow; no frame
    takes more than `most` steps.
    """
    n = start.R.shape[-1]
    best = state = start
    steps, settled = np.zeros(n, np.int64), np.zeros(n, bool)
    rows, before = np.arange(n), np.full(n, np.inf)
    scale, damping = _measure_scale(aims), np.full(n, DAMPING_START)
    now = measure_errors(rig, state, aims)
    for _ in range(most):
        x, t, s, gain = step(rig, state, aims, now, damping * scale, scale)
        wild = _stop_wild(x, t, s, gain)
        trial = move_state(rig, state, x, t, s)
        steps[rows] += 1
        # Each gain is about the same part of the one before, so this is what all further steps would gain.
        part = np.minimum(gain / before, 0.9)
        further = np.where(before < np.inf, gain * part / (1 - part), gain)
        # A gain below zero is no small one: the step is worth nothing, and is tried against the cost.
        small = (np.abs(further) <= STEP_MIN_GAIN * now.cost + COST_ROUNDING * scale) & ~wild
        hopeless = ~small & (damping > DAMPING_MAX)
        done = small | hopeless
        settled[rows] = small
        if hopeless.any():
            back = np.flatnonzero(hopeless)
            _put(trial, back, select(state, "n", back))
        best = _keep_best(best, rows, trial)
        if done.all() or (~done).sum() < leave * n:
            break
        if done.any():  # the others go on alone
            keep = np.flatnonzero(~done)
            rows, damping, scale, gain, wild = rows[keep], damping[keep], scale[keep], gain[keep], wild[keep]
            state, trial, now = (select(one, "n", keep) for one in (state, trial, now))  # type: ignore[assignment]
            aims = aims.at(keep)
        found = measure_errors(rig, trial, aims)
        worse = wild | ~(found.cost <= now.cost * (1 + 1e-12) + COST_ROUNDING * scale)
        if worse.any():
            back = np.flatnonzero(worse)
            _put(trial, back, select(state, "n", back))
            _put(found, back, select(now, "n", back))
        damping = np.where(
            worse, np.maximum(damping * 10, DAMPING_FIRST_HELP), np.maximum(damping * 0.1, DAMPING_START)
        )
        state, now, before = trial, found, np.where(worse, np.inf, gain)
    else:
        best = _keep_best(best, rows, state)
    return best, steps, settled


def _stop_wild(x: Floats, t: Floats, s: Floats | None, gain: Floats) -> Bools:
    """(n,) frames whose step is beyond all numbers, or its gain, which are made none, in place."""
    parts = [part for part in (x, t, s) if part is not None]
    size = np.max([np.abs(part).max(axis=tuple(range(part.ndim - 1)), initial=0.0) for part in parts], axis=0)
    wild = np.asarray(~((size < STEP_MAX) & np.isfinite(gain)))
    if wild.any():
        for part in (*parts, gain):
            part[..., wild] = 0.0
    return wild


def _measure_scale(aims: Problem) -> Floats:
    """(n,) [1/rad^2] size of the weights, which damping is measured by."""
    turn, place = aims.w_rotation.max(axis=0), aims.w_position.max(axis=0) * DAMPING_ARM_M**2
    return np.asarray(np.maximum(np.maximum(turn, place), 1e-12))


def _keep_best(best: State, rows: Ints, state: State) -> State:
    """`best` with these rows as in `state`."""
    if len(rows) == best.R.shape[-1]:
        return state
    _put(best, rows, state)
    return best


def step(
    rig: KinematicRig, state: State, aims: Problem, now: Errors, damping: Floats, scale: Floats
) -> tuple[Floats, Floats, Floats | None, Floats]:
    """The Gauss-Newton step and what it gains, see `Factors.solve`."""
    gx, gt = aims.w_position[:, None] * now.d, aims.w_rotation[:, None] * now.e
    gs = None if now.j is None or aims.spring is None else aims.spring[:, None] * now.j
    if (
        not aims.loops
        and gs is None
        and bool((aims.w_rotation > SINGLE_MIN_WEIGHT * scale).all())
        and bool((damping < SINGLE_PRECISION_DAMPING * scale).all())
        and max(np.abs(part).max(initial=0.0) for part in (now.d, state.inboard - state.origin)) < SINGLE_MAX_M
    ):
        return _single_step(rig, state, aims, gx, gt, scale)
    return Equations(rig, state, aims, damping).solve(gx, gt, gs, now.c)


def _single_step(
    rig: KinematicRig, state: State, aims: Problem, gx: Floats, gt: Floats, scale: Floats
) -> tuple[Floats, Floats, Floats | None, Floats]:
    """`step` in single precision: twice as fast, and enough, since errors are in double and the next step corrects."""
    lever, arm, axis = find_geometry(rig, state, aims)
    with np.errstate(over="ignore", invalid="ignore"):  # a step beyond all numbers is taken back, with more damping
        factors = Factors(
            rig,
            single(lever),
            single(arm),
            None if axis is None else single(axis),
            single(aims.w_position / scale),
            single(aims.w_rotation / scale),
            single(np.full_like(scale, SINGLE_PRECISION_DAMPING)),
        )
        x, t, s, gain = factors.solve(single(gx / scale), single(gt / scale))
    return x.astype(float), t.astype(float), None if s is None else s.astype(float), gain * scale


def single(part: Floats) -> Floats:
    """In single precision."""
    return part.astype(np.float32)


class Equations:
    """The normal equations of every frame at a state, loops included, ready to be solved for any gradient.

    Forces f hold the loops: gap + J u = f / w and H u + g + J' f = 0, so (J H^-1 J' + 1/w) f = gap - J H^-1 g, a small
    system that stays well conditioned however stiff the loops are.
    """

    def __init__(self, rig: KinematicRig, state: State, aims: Problem, damping: Floats) -> None:
        self.state, self.loops = state, aims.loops
        self.factors = Factors(
            rig, *find_geometry(rig, state, aims), aims.w_position, aims.w_rotation, damping, aims.spring
        )
        self.pulls = [_pull(state, loop, aims, axis) for loop in self.loops for axis in range(3)]
        size = len(self.pulls)
        self.matrix = np.zeros((state.R.shape[-1], size, size))
        for k, (px, pt) in enumerate(self.pulls):
            ax, at, _, _ = self.factors.solve(px, pt)
            for i, loop in enumerate(self.loops):
                self.matrix[:, 3 * i : 3 * i + 3, k] = -measure_opening(state, loop, ax, at).T
        for i, loop in enumerate(self.loops):
            rows, closed = slice(3 * i, 3 * i + 3), loop.weight > 0
            self.matrix[~closed, rows, :] = self.matrix[~closed, :, rows] = 0.0
            soft = np.where(closed, 1 / np.where(closed, loop.weight, 1.0), 1.0)
            self.matrix[:, range(3 * i, 3 * i + 3), range(3 * i, 3 * i + 3)] += soft[:, None]

    def pull_together(self, gx: Floats, gt: Floats, gaps: Floats) -> None:
        """Adds, in place, the derivative of the loops' cost with these gaps (3, n) [m]."""
        for i, (loop, gap) in enumerate(zip(self.loops, gaps, strict=True)):
            for axis in range(3):
                px, pt = self.pulls[3 * i + axis]
                gx += loop.weight * gap[axis] * px
                gt += loop.weight * gap[axis] * pt

    def solve(
        self, gx: Floats, gt: Floats, gs: Floats | None = None, gaps: Floats | None = None
    ) -> tuple[Floats, Floats, Floats | None, Floats]:
        """See `Factors.solve`; gaps (3, n) [m] of the loops as they stand, None: closed."""
        x, t, s, gain = self.factors.solve(gx, gt, gs)
        if not self.loops:
            return x, t, s, gain
        right = np.zeros(self.matrix.shape[:2])
        for i, loop in enumerate(self.loops):
            opened = measure_opening(self.state, loop, x, t) + (0.0 if gaps is None else gaps[i])
            right[:, 3 * i : 3 * i + 3] = np.where(loop.weight > 0, opened, 0.0).T
        try:
            force = np.linalg.solve(self.matrix, right[..., None])[..., 0]
        except np.linalg.LinAlgError:  # loops that hold each other, in a frame of numbers that no figure has
            force = (invert_open(self.matrix) @ right[..., None])[..., 0]
        for k, (px, pt) in enumerate(self.pulls):
            gx, gt = gx + force[:, k] * px, gt + force[:, k] * pt
        x, t, s, gain = self.factors.solve(gx, gt, gs)
        for loop in self.loops:
            opened = measure_opening(self.state, loop, x, t)
            gain = gain + 0.5 * loop.weight * (opened * opened).sum(axis=0)
        return x, t, s, gain


def find_geometry(rig: KinematicRig, state: State, aims: Problem) -> tuple[Floats, Floats, Floats | None]:
    """Levers, arms and axes as `Factors` wants them."""
    lever = state.inboard - state.inboard[np.maximum(rig.parent, 0)]
    return (
        lever,
        _place_points(state, aims) - state.inboard,
        None if state.angle is None else rotate_points(state.R, rig.axis),
    )


def move_state(rig: KinematicRig, state: State, x: Floats, t: Floats, s: Floats | None) -> State:
    """The state moved along a step; the joints meet again exactly."""
    angle = None if state.angle is None or s is None else state.angle + s
    return settle(rig, State(_roll(t, state.R), state.origin + x, np.empty_like(x), angle))


def _roll(t: Floats, R: Floats) -> Floats:
    """R (m, 3, 3, n) turned by about t (m, 3, n) [rad]: by the quaternion (1, t / 2), which needs no sine."""
    h = 0.5 * t
    square = dot(h, h)
    scale = 2 / (1 + square)
    turn = outer(scale[:, None] * h, h)
    h *= scale[:, None]
    whole = 1 - scale * square
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        turn[:, i, i] += whole
        turn[:, j, i] += h[:, k]
        turn[:, i, j] -= h[:, k]
    return product(turn, R)


def find_rotation_vectors(R: Floats, R_aim: Floats) -> Floats:
    """(m, 3, n) [rad] in the world: the rotation that carries the aimed axes (m, 3, 3, n) onto R."""
    m, _, _, n = R.shape
    e = np.empty((m, 3, n))
    cosine = np.einsum("mijn,mijn->mn", R, R_aim) - 1  # twice
    for i, (k, l) in enumerate(((2, 1), (0, 2), (1, 0))):
        e[:, i] = np.einsum("mjn,mjn->mn", R[:, k], R_aim[:, l]) - np.einsum("mjn,mjn->mn", R[:, l], R_aim[:, k])
    with np.errstate(invalid="ignore"):
        e *= rotation.divide_by_sine(dot(e, e), cosine)[:, None]
    far = cosine < 2 * np.cos(HALF_TURN_MIN_RAD)
    if far.any():
        body, frame = np.nonzero(far)
        relative = R[body, :, :, frame] @ np.swapaxes(R_aim[body, :, :, frame], -1, -2)
        e[body, :, frame] = rotation.to_vector(relative)
    return e


def _turn_hinges(axis: Floats, angle: Floats) -> Floats:
    """(g, 3, 3, n) rotations about constant axes (g, 3) by angle (g, n)."""
    turn = rotation.from_vector(angle[..., None] * axis[:, None])
    return np.ascontiguousarray(np.moveaxis(turn, 1, -1))


def rotate_points(R: Floats, v: Floats) -> Floats:
    """(g, 3, n): R (g, 3, 3, n) @ v (g, 3)."""
    return np.asarray(np.einsum("gijn,gj->gin", R, v))


def _place_points(state: State, aims: Problem) -> Floats:
    """(m, 3, n) the points that are drawn to aims.p."""
    if aims.point is None:
        return state.origin
    return state.origin + rotate_points(state.R, aims.point)


def _reach_point(state: State, body: int, p: Floats) -> Floats:
    """(1, 3, n) [m] from a body's origin to a point of it."""
    return rotate_points(state.R[body : body + 1], p[None])


def _pull(state: State, loop: Loop, aims: Problem, axis: int) -> tuple[Floats, Floats]:
    """Unit forces along a world axis at the two ends of a loop, opposite to each other, as gradients."""
    gx, gt = np.zeros_like(state.origin), np.zeros_like(state.origin)
    unit = np.zeros_like(state.origin[:1])
    unit[:, axis] = 1.0
    for body, p, sign in ((loop.a, loop.p_a, 1.0), (loop.b, loop.p_b, -1.0)):
        from_point = p if aims.point is None else p - aims.point[body]
        gx[body] += sign * unit[0]
        gt[body] += sign * cross(_reach_point(state, body, from_point), unit)[0]
    return gx, gt


def measure_opening(state: State, loop: Loop, x: Floats, t: Floats) -> Floats:
    """(3, n) [m] by how much a step opens the loop, to first order."""
    ends = []
    for body, p in ((loop.a, loop.p_a), (loop.b, loop.p_b)):
        one = slice(body, body + 1)
        reach = state.origin[one] - state.inboard[one] + _reach_point(state, body, p)
        ends.append((x[one] + cross(t[one], reach))[0])
    return np.asarray(ends[0] - ends[1])
