"""Whole-body inverse kinematics: the motion of the figure that lies nearest to all sensors, or that reaches targets.

Least squares over the poses of all bodies at once. Every frame is solved by Gauss-Newton steps whose equations are
eliminated from the leaves of the figure to its roots, all frames together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UsageError
from ..findings import Finding, Severity, many
from ..maths.arrays import Bools, Floats, Ints, freeze
from ..maths.elimination import Rig, dot
from ..model.motion import Motion, free_bodies, matched, reference_of
from ..model.skeleton import Skeleton
from ..model.take import Take
from .bridging import lone_runs, tell_gaps
from .play import LONGEST_GAP, bridge, motion_of
from .pose_solver import Aims, State, errors, solve
from .rig import centre, held, last, loops_of, rig_of, state_from, state_of, store

Rows = Ints | slice
CHUNK = 1024  # frames solved together: their numbers stay in the processor's cache
SMALLEST_POSITION = 1e-4  # m: no sensor is trusted more than this
SMALLEST_ROTATION = 1e-3  # rad
LOOP = 1e-3  # standard deviation of a loop's gap as a part of the smallest of the positions'
# Quantiles of the misfit of a sensor in its standard deviations: half of its six numbers go into the pose.
USUAL = ((0.5, 1.54), (0.9, 2.5))
SMALLEST_SPREAD = 0.05  # of the misfit, in standard deviations of the noise: exact data has none
SUSPECT, HUBER = 5.0, 2.5  # in spreads of each sensor's misfit
ROUNDS = 3  # of new weights
GUESS = 0.5  # rad, standard deviation of a rotation that is bridged or held
MANY = 0.005  # share of a sensor's poses left out that is a warning
LEAVE = 0.06  # of a chunk's frames are left for later


@dataclass(frozen=True, eq=False)
class MotionFit:
    """A fitted motion with its evidence.

    weight   (n, m)  [-]  how much each sensor's pose counted: 1, less where it disagrees, 0 where it was not seen
    misfit   (n, m)  [-]  distance from each sensor in standard deviations, position and rotation together
    steps    (n,)         Gauss-Newton steps each frame took
    settled  (n,)         False where the steps ended before the cost came to rest
    """

    motion: Motion
    weight: Annotated[Floats, "n m"]
    misfit: Annotated[Floats, "n m"]
    steps: Annotated[Ints, "n"]
    settled: Annotated[Bools, "n"]

    def __post_init__(self) -> None:
        freeze(self, n=self.motion.frames, m=len(self.motion.bodies))

    @property
    def cost(self) -> Floats:
        """(n,) [-] half the weighted sum of squares that is left."""
        return np.asarray(0.5 * (self.weight * self.misfit**2).sum(axis=1))


def fit_motion(
    skeleton: Skeleton,
    take: Take,
    *,
    sigma_position: ArrayLike | None = None,
    sigma_rotation: ArrayLike | None = None,
    robust: bool = True,
    keep_axes: bool = True,
    loops: bool | None = None,
    smooth: tuple[float, float] | None = None,
    longest_gap: float = LONGEST_GAP,
) -> MotionFit:
    """The motion whose poses are nearest to all sensors.

    sigma_position [m], sigma_rotation [rad]: standard deviations, one or one per body; the skeleton's noise if None.
    robust     sensors that disagree with the rest of the figure in a frame lose their weight there
    keep_axes  hinges turn about their axis only, and rigid joints do not turn; else every joint is a ball
    loops      whether loop joints stay closed; None: those that were named when the skeleton was fitted
    smooth     standard deviations of the bodies' angular accelerations [rad/s^2] and of the free bodies' accelerations
               [m/s^2], which then count among the errors; None: every frame is fitted for itself

    A body whose joint holds for part of the take only, and what hangs on it, has no pose outside that part. A pose that
    was not seen does not count. The body's own is then found from the bodies beyond it; where none is seen
    there, it keeps its bridged rotation to its parent over gaps up to `longest_gap` [s], and is NaN over longer ones.
    """
    take = _while_joined(skeleton, matched(skeleton, take))
    sigmas = noise_of(skeleton, sigma_position, sigma_rotation)
    if loops is None:
        skeleton = replace(skeleton, loops=skeleton.named_loops)
    work = _Work(skeleton, take, sigmas, keep_axes=keep_axes, loops=loops is not False)
    for rows in _chunks(np.arange(take.frames)):
        aims = work.aims(rows)
        work.solve(rows, work.start(rows, aims), aims, leave=LEAVE)
    for rows in _chunks(np.flatnonzero(~work.settled)):  # stragglers, together
        work.solve(rows, work.state(rows), work.aims(rows))
    if robust:
        _reweigh(work, longest_gap)
    if smooth is not None:
        if not take.timed or not min(smooth) > 0:
            raise UsageError("smoothness needs recorded time and two standard deviations above zero", code="bad-call")
        work.smooth(*smooth)
    return MotionFit(work.motion(longest_gap), work.weight, work.misfit, work.steps, work.settled)


def _while_joined(skeleton: Skeleton, take: Take) -> Take:
    """The take without the poses of bodies that are not joined to the figure at the time."""
    apart = np.zeros((take.frames, take.bodies), bool)
    for joint in skeleton.joints:  # parents before children
        child, parent = (skeleton.bodies.index(name) for name in (joint.child, joint.parent))
        apart[:, child] |= apart[:, parent]
        if joint.time is not None:
            apart[:, child] |= (take.time < joint.time[0]) | (take.time > joint.time[1])
    return take.mask(apart) if apart.any() else take


class _Work:
    """A fit under way: what is given, and frame by frame where it stands."""

    def __init__(
        self, skeleton: Skeleton, take: Take, sigmas: tuple[Floats, Floats], *, keep_axes: bool, loops: bool
    ) -> None:
        n, m = take.frames, take.bodies
        self.skeleton, self.take = skeleton, take
        balls = not keep_axes or all(joint.kind not in ("hinge", "rigid") for joint in skeleton.joints)
        if balls and take.seen.all():  # then nothing else is needed to start with
            self.R, reference = np.empty((n, m, 3, 3)), np.tile(np.eye(3), (m, 1, 1))
        else:
            self.R = bridge(skeleton, take, np.inf)[0]
            reference = reference_of(skeleton, self.R)
        self.rig = rig_of(skeleton, reference, keep_axes=keep_axes)
        self.R_start = _start(self.rig, take, self.R)
        self.p = np.empty((n, m, 3))
        self.variance = [sigma[self.rig.bodies, None] ** 2 for sigma in sigmas]
        self.loops = loops_of(skeleton, self.rig, take.time, LOOP * float(sigmas[0].min(initial=1.0))) if loops else []
        self.weight, self.misfit = take.seen.astype(np.float64), np.zeros((n, m))
        self.steps, self.settled = np.zeros(n, np.int64), np.zeros(n, bool)
        self.out = np.zeros((n, m), bool)  # poses left out

    def aims(self, rows: Rows) -> Aims:
        """The poses of these frames; a pose without weight is replaced by a vague guess of its rotation."""
        weight = self.weight[rows]
        R, p = self.take.R_world_body[rows], self.take.p_world_body[rows]
        none = weight == 0
        w = weight.T[self.rig.bodies]
        w_position, w_rotation = w / self.variance[0], w / self.variance[1]
        if none.any():
            R, p = np.where(none[..., None, None], self.R_start[rows], R), np.where(none[..., None], 0.0, p)
            w_rotation[none.T[self.rig.bodies]] = 1 / GUESS**2
        return Aims(last(self.rig, R), last(self.rig, p), w_position, w_rotation)

    def start(self, rows: Rows, aims: Aims) -> State:
        """Rotations as measured, each figure where its sensors want it on the whole."""
        R = self.R_start[rows]
        as_aimed = aims.R if self.R_start is self.take.R_world_body else None
        return centre(self.rig, state_of(self.rig, R, np.zeros(R.shape[:-1]), as_aimed), aims)

    def state(self, rows: Rows) -> State:
        """Where these frames stand."""
        return state_from(self.rig, self.R[rows], self.p[rows])

    def solve(self, rows: Rows, state: State, aims: Aims, **how: Any) -> None:
        state, steps, self.settled[rows] = solve(self.rig, state, aims, [loop.at(rows) for loop in self.loops], **how)
        self.steps[rows] += steps
        self.R[rows], self.p[rows] = store(self.rig, state)
        self.misfit[rows] = self._misfit(rows, state, aims)

    def _misfit(self, rows: Rows, state: State, aims: Aims) -> Floats:
        """(c, m) distance from the measured poses in standard deviations, 0 where there are none."""
        seen = self.take.seen[rows]
        if (self.out[rows] & seen).any():
            R, p = (last(self.rig, np.nan_to_num(a[rows])) for a in (self.take.R_world_body, self.take.p_world_body))
            aims = Aims(R, p, aims.w_position, aims.w_rotation)
        found = errors(self.rig, state, aims, ())
        square = dot(found.d, found.d) / self.variance[0] + dot(found.e, found.e) / self.variance[1]
        misfit = np.empty(seen.shape)
        misfit[:, self.rig.bodies] = np.sqrt(square).T
        return misfit * seen

    def smooth(self, sigma_turn: float, sigma_place: float) -> None:
        """Every segment again, its frames together, with the weights as they are."""
        from .smoothing import jerkiness, solve_smooth

        for number in np.unique(self.take.segment):
            rows = np.flatnonzero(self.take.segment == number)
            if len(rows) < 3:  # no acceleration
                continue
            aims = self.aims(rows)
            rough = jerkiness(self.rig, self.take.time[rows], sigma_turn, sigma_place)
            loops = [loop.at(rows) for loop in self.loops]
            state, steps, self.settled[rows] = solve_smooth(self.rig, self.state(rows), aims, loops, rough)
            self.steps[rows] += steps
            self.R[rows], self.p[rows] = store(self.rig, state)
            self.misfit[rows] = self._misfit(rows, state, aims)

    def motion(self, longest_gap: float) -> Motion:
        """What is known of the motion, and findings on what is not."""
        take, rig = self.take, self.rig
        columns = [self.skeleton.bodies.index(name) for name in free_bodies(self.skeleton)]
        R, p = self.R, self.p[:, columns]
        told: list[Finding] = []
        if not take.seen.all():
            short, beyond = bridge(self.skeleton, take, longest_gap)[2], take.seen.copy()
            for row in reversed(range(take.bodies)):
                if rig.parent[row] >= 0:
                    beyond[:, rig.bodies[rig.parent[row]]] |= beyond[:, rig.bodies[row]]
            lost = ~beyond & ~short
            R[lost] = np.nan
            p[lost[:, columns]] = np.nan
            told += tell_gaps(take, ~take.seen & beyond, "gap-inferred")
            told += tell_gaps(take, short & ~beyond, "gap-bridged")
            told += tell_gaps(take, lost, "gap-left")
        told += _tell_outliers(take, self.out)
        R.flags.writeable = False  # handed on without a copy
        return motion_of(self.skeleton, take, R, p, tuple(told))


def _reweigh(work: _Work, longest_gap: float) -> None:
    """Sensors that are far from the figure lose weight, in frames where any is.

    First all in the measure of their distance (Huber), so that the others tell where the figure is. What then is far
    for no longer than can be bridged is left out; what is far for longer keeps its little weight, since nothing else
    may tell where that body is.
    """
    spread = _spreads(work.misfit, USUAL[:1])
    suspect = np.flatnonzero((work.misfit > SUSPECT * spread).any(axis=1))
    if not len(suspect):
        return
    _settle_weights(work, suspect, spread)
    spread = _spreads(work.misfit, USUAL)  # now free of what bad sensors did to their neighbours
    far = work.misfit > SUSPECT * spread
    work.out = lone_runs(work.take, far, longest_gap)
    again = np.flatnonzero(work.out.any(axis=1))
    if len(again):
        trusted = work.take.mask(work.out)
        work.R_start = _start(work.rig, trusted, bridge(work.skeleton, trusted, np.inf)[0])
    for rows in _chunks(again):
        work.weight[rows] *= ~work.out[rows]
        aims = work.aims(rows)
        work.solve(rows, work.start(rows, aims), aims)
    _settle_weights(work, suspect, spread)


def _settle_weights(work: _Work, which: Ints, spread: Floats) -> None:
    for rows in _chunks(which):
        for left in reversed(range(ROUNDS)):
            far = np.maximum(work.misfit[rows] / spread, HUBER)
            work.weight[rows] = HUBER / far * (work.take.seen[rows] & ~work.out[rows])
            work.solve(rows, work.state(rows), work.aims(rows), **({"most": 1} if left else {}))


def _spreads(misfit: Floats, usual: Sequence[tuple[float, float]]) -> Floats:
    """(m,) what each sensor's misfit is measured by: its quantiles over the take, where it is seen."""
    spread = np.full(misfit.shape[1], SMALLEST_SPREAD)
    for body, column in enumerate(misfit.T):
        there = np.sort(column[column > 0])
        for share, size in usual if len(there) else ():
            spread[body] = max(spread[body], float(there[int(share * len(there))]) / size)
    return spread


def _tell_outliers(take: Take, out: Bools) -> list[Finding]:
    findings = []
    for k, name in enumerate(take.names):
        rows = np.flatnonzero(out[:, k])
        if len(rows):
            share = len(rows) / max(int(take.seen[:, k].sum()), 1)
            text = (
                f"{many(len(rows), 'pose')} of {name} from frame {rows[0]} on disagree with the figure and are left out"
            )
            severity: Severity = "warning" if share > MANY else "info"
            findings.append(Finding("outliers", severity, text, (name,), None, share, "", int(rows[0]), len(rows)))
    return findings


def noise_of(
    skeleton: Skeleton, sigma_position: ArrayLike | None = None, sigma_rotation: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """(m,) standard deviation of each sensor's position [m] and rotation [rad], the skeleton's where none is given."""
    table = {noise.body: noise for noise in skeleton.noise}
    m = len(skeleton.bodies)
    answer = []
    for given, name, least in (
        (sigma_position, "position", SMALLEST_POSITION),
        (sigma_rotation, "orientation", SMALLEST_ROTATION),
    ):
        if given is None:
            values = np.array([getattr(table[body], name) if body in table else 0.0 for body in skeleton.bodies])
            answer.append(np.maximum(np.nan_to_num(values.reshape(m)), least))
            continue
        values = np.asarray(given, dtype=np.float64)
        if values.shape not in ((), (m,)) or not (values > 0).all():
            raise UsageError(f"the {name} needs one standard deviation above zero, or {m} of them", code="bad-call")
        answer.append(np.broadcast_to(values, (m,)).copy())
    return answer[0], answer[1]


def _chunks(rows: Ints) -> list[Rows]:
    """The rows by `CHUNK`, as slices where they follow each other: these need no copy."""
    parts = [rows[first : first + CHUNK] for first in range(0, len(rows), CHUNK)]
    return [slice(part[0], part[-1] + 1) if part[-1] - part[0] + 1 == len(part) else part for part in parts]


def _start(rig: Rig, take: Take, relative: Floats) -> Floats:
    """(n, m, 3, 3) rotations in the world to start from: the measured ones, bridged or held where there are none."""
    if take.seen.all():
        return take.R_world_body
    guess, R = held(relative, take.segment), take.R_world_body.copy()
    for row, body in enumerate(rig.bodies):
        gone, parent = ~take.seen[:, body], rig.parent[row]
        R[gone, body] = guess[gone, body] if parent < 0 else R[gone, rig.bodies[parent]] @ guess[gone, body]
    return R
