"""Whole-body inverse kinematics: the motion of the figure that lies nearest to all sensors, or that reaches targets.

Least squares over the poses of all bodies at once. Every frame is solved by Gauss-Newton steps whose equations are
eliminated from the leaves of the figure to its roots, all frames together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UsageError
from ..findings import Finding, Severity, many
from ..maths.arrays import Bools, Floats, Ints, freeze
from ..maths.elimination import KinematicRig, dot
from ..maths.robust import huber_weight
from ..maths.series import segment_slices
from ..maths.spool import copy_array, empty, over_frames, seal, zeros
from ..maths.threads import keep_arithmetic
from ..model.motion import (
    Motion,
    check_motion,
    find_reference,
    forward,
    free_bodies,
    match_bodies,
    measure_slide,
    time_motion,
)
from ..model.progress import begin_step, tell_share
from ..model.skeleton import ONE_AXIS, Skeleton
from ..model.take import UNTIMED_RATE, Take
from ..model.values import dataclass
from .bridging import bridge_line, bridge_turn, describe_gaps, find_lone_runs
from .play import BRIDGED_GAP_MAX_S, bridge
from .pose_solver import Problem, State, measure_errors, solve
from .rails import follow_threads, keep_on_rails, remove_threads, turn_threads
from .rig import build_rig, build_state, centre, hold_unknown, restore_state, store, to_bodies, to_rows
from .smoothing import solve_smooth
from .tasks import FrameRows, Posture, SensorPoses, Smoothness, Target, Task, add_up, close_loops

# 16 bodies take 9.0 us a frame, 10.1 by 1000, 9.1 by 2800; 64 are alike.
SOLVE_CHUNK_FRAMES = 2000  # frames that are solved together
SIGMA_MIN_M = 1e-4  # m: no sensor is trusted more than this
SIGMA_MIN_RAD = 1e-3  # rad: no orientation is trusted more than this
LOOP_SIGMA_SHARE = 1e-3  # standard deviation of a loop's gap as a part of the smallest of the positions'
# Quantiles of the residual of a sensor in its standard deviations: half of its six numbers go into the pose.
RESIDUAL_QUANTILES = ((0.5, 1.54), (0.9, 2.5))
# The same of a sensor beside which none is worn: one number alone, a distance over bodies without one, is left of it.
LONE_QUANTILES = ((0.5, 0.674), (0.9, 1.645))
SPREAD_MIN_SIGMAS = 0.05  # of the residual, in standard deviations of the noise: exact data has none
SPREAD_MAX_MEDIANS = 10.0  # spreads by the median: a sensor that is lost in a tenth of the take is not trusted for it
SUSPECT_MIN_SPREADS, HUBER_SPREADS = 5.0, 2.5  # in spreads of each sensor's residual
REWEIGH_ROUNDS = 3  # rounds of solving with new weights
OUTLIERS_MIN_SHARE = 0.005  # share of a sensor's poses left out that is a warning
# What is beyond a screw is solved for with the screw where it was, again and again: each round leaves about the pitch
# over the length of the limb of what was left, some hundredths.
THREAD_ROUNDS = 20
THREAD_SIGMA_SHARE = 1e-3  # of the smallest standard deviation of a place, by which the screws may still move on
STRAGGLER_SHARE = 0.06  # of a chunk's frames are left for later


@dataclass(frozen=True, eq=False)
class MotionFit:
    """A fitted motion with its evidence.

    weight   (n, m)  [-]  how much each sensor's pose counted: 1, less where it disagrees, 0 where it was not seen
    residual (n, m)  [-]  distance from each sensor in standard deviations, position and rotation together
    steps    (n,)         Gauss-Newton steps each frame took
    settled  (n,)         False where the steps ended before the cost came to rest
    """

    motion: Motion
    weight: Annotated[Floats, "n m"]
    residual: Annotated[Floats, "n m"]
    steps: Annotated[Ints, "n"]
    settled: Annotated[Bools, "n"]

    def __post_init__(self) -> None:
        freeze(self, n=self.motion.frames, m=len(self.motion.bodies))

    @property
    def cost(self) -> Floats:
        """(n,) [-] half the weighted sum of squares that is left."""
        return np.asarray(0.5 * (self.weight * self.residual**2).sum(axis=1))


@keep_arithmetic()
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
    longest_gap: float = BRIDGED_GAP_MAX_S,
    reference: Floats | None = None,
    turns: Floats | None = None,
) -> MotionFit:
    """The motion whose poses are nearest to all sensors.

    sigma_position [m], sigma_rotation [rad]: standard deviations, one or one per body; the skeleton's noise if None.
    robust     sensors that disagree with the rest of the figure in a frame lose their weight there
    keep_axes  hinges turn about their axis only, rigid joints do not turn, and sliders stay on their rails; else every
               joint is a ball, and a screw one that moves along its thread
    loops      whether loop joints stay closed; None: those that were named when the skeleton was fitted
    smooth     standard deviations of the bodies' angular accelerations [rad/s^2] and of the free bodies' accelerations
               [m/s^2], which then count among the errors; None: every frame is fitted for itself
    reference  (m, 3, 3) R_parent_body that each joint has as a rule, known from elsewhere: rigid joints keep it, and a
               body without a sensor is near it; NaN: not known. None: as the take has it
    turns      (n, m, 3, 3) rotations of sensors that report no position, NaN where they report none either. A figure
               has a pose in frames in which one of its sensors at least has a position

    A body whose joint holds for part of the take only, and what hangs on it, has no pose outside that part. A pose that
    was not seen does not count. The body's own is then found from the bodies beyond it; where none is seen
    there, it keeps its bridged rotation to its parent over gaps up to `longest_gap` [s], and is NaN over longer ones.
    """
    take = _mask_unjoined(skeleton, match_bodies(skeleton, take))
    slide = measure_slide(skeleton, take)
    placed, take = take.seen, take if turns is None else add_turns(take, turns)
    if smooth is not None and not (take.timed and min(smooth) > 0):
        raise UsageError("smoothness needs recorded time and two standard deviations above zero", code="bad-call")
    kept = skeleton.loops if loops else () if loops is False else skeleton.named_loops
    sigmas = choose_sigmas(skeleton, sigma_position, sigma_rotation)
    figure = replace(skeleton, loops=kept)
    plain = remove_threads(skeleton, take, slide)
    run = _SensorRun(figure, plain, sigmas, keep_axes=keep_axes, reference=reference, placed=placed)
    begin_step("solving the motion")
    chunks = _cut_chunks(np.arange(take.frames))
    for k, rows in enumerate(chunks):
        tell_share(k / len(chunks))
        problem = run.problem(rows)
        run.solve(rows, run.start(rows, problem), problem, leave=STRAGGLER_SHARE)
    for rows in _cut_chunks(np.flatnonzero(~run.settled)):  # stragglers, together
        run.solve(rows, run.state(rows), run.problem(rows))
    if slide is not None:
        _settle_threads(run, take, slide)
    if robust:
        _reweigh(run, longest_gap)
    if smooth is not None:
        _smooth(run, take, smooth)
    motion = run.motion(longest_gap)
    motion = replace(motion, slide=follow_threads(skeleton, slide, motion.R_parent_body, take.segment))
    motion = keep_on_rails(skeleton, motion) if keep_axes else motion
    return MotionFit(motion, run.sensors.weight, run.residual, run.steps, run.settled)


@keep_arithmetic()
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
    part by which it is missed. A start of one frame serves for targets of any number of frames. `residual` is in the
    targets' sigmas, `weight` 1 where there is a target. Screws go along their threads as they turn on from the start,
    by less than half a turn; loops that a screw is part of are closed as if it only turned.
    """
    check_motion(skeleton, start)
    if not (hold > 0 and hold_place > 0):
        raise UsageError("hold and hold_place must be above zero", code="bad-call")
    start = _repeat_start(start, targets)
    if not start.known.all():
        frame, body = np.argwhere(~start.known)[0]
        raise UsageError(
            "the start is not known there; play or fit it without gaps",
            code="bad-call",
            frame=int(frame),
            body=start.bodies[body],
        )
    poses, weight = forward(skeleton, replace(start, slide=None)), np.zeros((start.frames, len(skeleton.bodies)))
    for target in targets:
        body = poses.index(target.body)
        if weight[:, body].any():
            raise UsageError(f"'{target.body}' has two targets; give one with place and axes", code="bad-call")
        for part in target.poses(slice(None), start.frames):
            weight[np.isfinite(part).reshape(start.frames, -1).all(axis=1), body] = 1.0
    least = min((target.sigma_position for target in targets), default=hold_place)
    ties = close_loops(skeleton, start.time, LOOP_SIGMA_SHARE * least) if loops else []
    rig = build_rig(skeleton, find_reference(skeleton, start.R_parent_body), keep_axes=keep_axes)
    posture, every = Posture(start, poses, hold, hold_place), slice(None)
    run = _Run(rig, [], start.R_parent_body.copy())
    run.p[:] = poses.p_world_body
    columns = [skeleton.bodies.index(name) for name in free_bodies(skeleton)]
    motion, slid = start, _measure_slid(skeleton, start)
    for _ in range(THREAD_ROUNDS):
        run.tasks = [posture, *(_move_back(target, slid[:, poses.index(target.body)]) for target in targets), *ties]
        run.solve(every, run.state(every), run.problem(every))
        motion = replace(start, R_parent_body=run.R, p_world_free=run.p[:, columns])
        if start.slide is None:
            break
        motion = replace(motion, slide=turn_threads(skeleton, start.slide, start.R_parent_body, run.R))
        before, slid = slid, _measure_slid(skeleton, motion)
        near = np.linalg.norm(slid - before, axis=-1).max(axis=1, initial=0.0) <= THREAD_SIGMA_SHARE * least
        if near.all():
            break
        run.settled &= near
    return MotionFit(motion, weight, run.residual * (weight > 0), run.steps, run.settled)


def _measure_slid(skeleton: Skeleton, motion: Motion) -> Floats:
    """(n, m, 3) [m] in the world by which the screws of a motion move each body."""
    if motion.slide is None:
        return np.zeros((motion.frames, len(motion.bodies), 3))
    return forward(skeleton, motion).p_world_body - forward(skeleton, replace(motion, slide=None)).p_world_body


def _move_back(target: Target, way: Floats) -> Target:
    """The target without the way (n, 3) [m] that screws move its body."""
    return target if target.p_world is None or not way.any() else replace(target, p_world=target.p_world - way)


def _repeat_start(start: Motion, targets: Sequence[Target]) -> Motion:
    """The start with as many frames as the targets have."""
    counts = {target.frames for target in targets} - {None}
    if len(counts | ({start.frames} if start.frames != 1 else set())) > 1:
        given = ", ".join(f"{target.body} {target.frames or 'any'}" for target in targets)
        raise UsageError(f"the start has {start.frames} frames, the targets {given}; make them agree", code="bad-shape")
    n = counts.pop() if counts else start.frames
    if n == start.frames or n is None:
        return start
    return replace(
        start.at(np.zeros(n, np.int64)), time=np.arange(n) / UNTIMED_RATE, timed=False, segment=np.zeros(n, np.int64)
    )


def add_turns(take: Take, turns: Floats) -> Take:
    """The take with rotations of sensors that report no position, which lie at the origin."""
    if turns.shape != take.R_world_body.shape:
        raise UsageError(f"turns has shape {turns.shape}, expected {take.R_world_body.shape}", code="bad-shape")
    alone = ~take.seen & np.isfinite(turns).all(axis=(-2, -1))

    def fill(part: Floats, more: Floats, rows: Bools) -> Floats:
        return np.where(rows[..., None, None], more, part)

    R = over_frames(fill, take.R_world_body, turns, alone)
    p = over_frames(lambda part, rows: np.where(rows[..., None], np.zeros(3), part), take.p_world_body, alone)
    return replace(take, R_world_body=seal(R), p_world_body=seal(p))


def _mask_unjoined(skeleton: Skeleton, take: Take) -> Take:
    """The take without the poses of bodies that are not joined to the figure at the time."""
    apart = np.zeros((take.frames, take.bodies), bool)
    for joint in skeleton.joints:  # parents before children
        child, parent = (skeleton.bodies.index(name) for name in (joint.child, joint.parent))
        apart[:, child] |= apart[:, parent]
        if joint.time is not None:
            apart[:, child] |= (take.time < joint.time[0]) | (take.time > joint.time[1])
    return take.mask(apart) if apart.any() else take


class _Run:
    """A figure drawn to tasks: what is given, and frame by frame where it stands.

    R, p      (n, m, 3, 3), (n, m, 3) [m]  joint rotations and origins
    residual  (n, m) [-] see `MotionFit`
    """

    def __init__(self, rig: KinematicRig, tasks: Sequence[Task], R: Floats) -> None:
        n, m = R.shape[:2]
        self.rig, self.tasks, self.R, self.p = rig, list(tasks), R, empty((n, m, 3))
        self.residual, self.steps, self.settled = zeros((n, m)), np.zeros(n, np.int64), np.zeros(n, bool)

    def problem(self, rows: FrameRows, *more: Task) -> Problem:
        return add_up([*self.tasks, *more], self.rig, rows, len(self.steps[rows]))

    def state(self, rows: FrameRows) -> State:
        """Where these frames stand."""
        return restore_state(self.rig, self.R[rows], self.p[rows])

    def solve(self, rows: FrameRows, state: State, problem: Problem, **how: Any) -> None:
        if problem.accelerations is not None:
            state, steps, self.settled[rows] = solve_smooth(self.rig, state, problem, problem.accelerations)
        else:
            state, steps, self.settled[rows] = solve(self.rig, state, problem, **how)  # type: ignore[assignment]
        self.steps[rows] += steps
        self.R[rows], self.p[rows] = store(self.rig, state)
        self.residual[rows] = self.measure(rows, state, problem)

    def measure(self, rows: FrameRows, state: State, problem: Problem) -> Floats:
        """(c, m) distance from what the bodies are drawn to, in its standard deviations."""
        found = measure_errors(self.rig, state, replace(problem, loops=(), spring=None))
        square = problem.w_position * dot(found.d, found.d) + problem.w_rotation * dot(found.e, found.e)
        return self._by_body(np.sqrt(square))

    def _by_body(self, values: Floats) -> Floats:
        """(c, m) by the skeleton's bodies of what is (m, c) by the rig's rows."""
        found = np.empty(values.T.shape)
        found[:, self.rig.bodies] = values.T
        return found


class _SensorRun(_Run):
    """A figure drawn to its sensors, of which some may be left out (n, m), and only those `placed` have a position."""

    def __init__(
        self,
        skeleton: Skeleton,
        take: Take,
        sigmas: tuple[Floats, Floats],
        *,
        keep_axes: bool,
        reference: Floats | None,
        placed: Bools,
    ) -> None:
        n, m = take.frames, take.bodies
        self.skeleton, self.take, self.out, self.placed = skeleton, take, zeros((n, m), np.bool_), placed
        balls = not keep_axes or all(joint.kind not in (*ONE_AXIS, "rigid") for joint in skeleton.joints)
        usual = np.tile(np.eye(3), (m, 1, 1))
        if balls and take.seen.all():  # then nothing else is needed to start with
            R = empty((n, m, 3, 3))
        else:
            R = bridge(skeleton, take, np.inf)[0]
            usual = find_reference(skeleton, R)
        if reference is not None:
            usual = np.where(np.isfinite(reference).all(axis=(-2, -1), keepdims=True), reference, usual)
        rig = build_rig(skeleton, usual, keep_axes=keep_axes)
        weight = over_frames(lambda seen: seen.astype(np.float64), take.seen)
        self.sensors = SensorPoses(take, *sigmas, _guess_rotations(rig, take, R), weight, placed)
        loops = close_loops(skeleton, take.time, LOOP_SIGMA_SHARE * float(sigmas[0].min(initial=1.0)))
        super().__init__(rig, [self.sensors, *loops], R)

    def start(self, rows: FrameRows, problem: Problem) -> State:
        """Rotations as measured, each figure where its sensors want it on the whole."""
        R = self.sensors.R_guess[rows]
        as_aimed = problem.R if self.sensors.R_guess is self.take.R_world_body else None
        return centre(self.rig, build_state(self.rig, R, np.zeros(R.shape[:-1]), as_aimed), problem)

    def measure(self, rows: FrameRows, state: State, problem: Problem) -> Floats:
        """(c, m) distance from the measured poses, left out or not, 0 where there are none."""
        seen = self.take.seen[rows]
        if (self.out[rows] & seen).any():
            R, p = (to_rows(self.rig, np.nan_to_num(a[rows])) for a in (self.take.R_world_body, self.take.p_world_body))
            problem = replace(problem, R=R, p=p)
        found, (place, turn) = (
            measure_errors(self.rig, state, replace(problem, loops=())),
            self.sensors.variance(self.rig),
        )
        apart = dot(found.d, found.d) * self.placed[rows].T[self.rig.bodies]
        return self._by_body(np.sqrt(apart / place + dot(found.e, found.e) / turn)) * seen

    def _find_unplaced(self) -> Bools:
        """(n, m) the free bodies of figures of which no sensor has a position."""
        above, free = self.placed.copy(), np.zeros(self.placed.shape[1], bool)
        for row in reversed(range(len(free))):
            body, parent = self.rig.bodies[row], self.rig.parent[row]
            free[body] = parent < 0
            if parent >= 0:
                above[:, self.rig.bodies[parent]] |= above[:, body]
        return np.asarray(free & ~above)

    def motion(self, longest_gap: float) -> Motion:
        """What is known of the motion, and findings on what is not."""
        take, rig = self.take, self.rig
        columns = [self.skeleton.bodies.index(name) for name in free_bodies(self.skeleton)]
        R, p = self.R, over_frames(lambda part: part[:, columns], self.p)
        findings: list[Finding] = []
        if not self.placed.all():
            short, beyond = bridge(self.skeleton, take, longest_gap)[2], take.seen.copy()
            for row in reversed(range(take.bodies)):
                if rig.parent[row] >= 0:
                    beyond[:, rig.bodies[rig.parent[row]]] |= beyond[:, rig.bodies[row]]
            lost = (~beyond & ~short) | self._find_unplaced()
            R[lost] = np.nan
            p[lost[:, columns]] = np.nan
            closed = _bridge_free(take, R, p, columns, longest_gap)
            findings += describe_gaps(take, ~take.seen & beyond, "gap-inferred")
            findings += describe_gaps(take, (short & ~beyond & ~lost) | closed, "gap-bridged")
            findings += describe_gaps(take, lost & ~closed, "gap-left")
        findings += _describe_outliers(take, self.out)
        return time_motion(self.skeleton, take, seal(R), seal(p), tuple(findings))


def _bridge_free(take: Take, R: Floats, p: Floats, columns: Sequence[int], longest_gap: float) -> Bools:
    """(n, m) the poses of free bodies that are lost for a short time; R (n, m, 3, 3) and p (n, k, 3) are filled there.

    Nothing else of its figure tells where such a body is, so it goes straight from where it was solved to where it is
    solved again.
    """
    closed = zeros((take.frames, take.bodies), np.bool_)
    for k, body in enumerate(columns):
        if np.isnan(p[:, k]).any():
            R[:, body], closed[:, body], _ = bridge_turn(take, R[:, body], longest_gap)
            p[:, k] = bridge_line(take, p[:, k], closed[:, body])
    return closed


def _settle_threads(run: _SensorRun, take: Take, slide: Floats) -> None:
    """Frames in which a screw was not seen are solved again with it where it is along its thread by its solved angle.

    take, slide  as recorded, see `remove_threads`
    """
    chunks = _cut_chunks(np.flatnonzero(np.isnan(slide).any(axis=1)))
    for _ in range(THREAD_ROUNDS if chunks else 0):
        after = remove_threads(run.skeleton, take, slide, run.R)
        step = np.abs(np.nan_to_num(after.p_world_body - run.take.p_world_body)).max()
        if step <= THREAD_SIGMA_SHARE * run.sensors.sigma_position.min():
            break
        run.take = run.sensors.take = after
        for rows in chunks:
            run.solve(rows, run.state(rows), run.problem(rows))


def _smooth(run: _SensorRun, take: Take, smooth: tuple[float, float]) -> None:
    """Solves every segment as a whole, its accelerations among the errors."""
    begin_step("smoothing the motion")
    for part in segment_slices(take.segment):
        if part.stop - part.start > 2:  # fewer frames have no acceleration
            run.solve(part, run.state(part), run.problem(part, Smoothness(*smooth, take.time)))


def _reweigh(run: _SensorRun, longest_gap: float) -> None:
    """Sensors that are far from the figure lose weight, in frames where any is.

    First all in the measure of their distance (Huber), so that the others tell where the figure is. What then is far
    for no longer than can be bridged is left out; what is far for longer keeps its little weight, since nothing else
    may tell where that body is.
    """
    begin_step("solving the motion again where sensors are far off")
    spread = _measure_spreads(run, 1)
    far = over_frames(lambda part: part > SUSPECT_MIN_SPREADS * spread, run.residual)
    suspect = np.flatnonzero(far.any(axis=1))
    if not len(suspect):
        return
    _settle_weights(run, suspect, spread)
    spread = _measure_spreads(run, 2)  # now free of what bad sensors did to their neighbours
    far = over_frames(lambda part: part > SUSPECT_MIN_SPREADS * spread, run.residual)
    run.out = _require_neighbours(run, find_lone_runs(run.take, far, longest_gap))
    again = np.flatnonzero(run.out.any(axis=1))
    if len(again):
        trusted = run.take.mask(run.out)
        run.sensors.R_guess = _guess_rotations(run.rig, trusted, bridge(run.skeleton, trusted, np.inf)[0])
    for rows in _cut_chunks(again):
        run.sensors.weight[rows] *= ~run.out[rows]
        problem = run.problem(rows)
        run.solve(rows, run.start(rows, problem), problem)
    _settle_weights(run, suspect, spread)


def _require_neighbours(run: _SensorRun, out: Bools) -> Bools:
    """Those of `out` (n, m) that hang, over bodies with a sensor, on one whose place is measured and stays: nothing
    else tells where they are.
    """
    held, worn, rig = over_frames(lambda placed, out: placed & ~out, run.placed, out), run.take.seen, run.rig
    joints = [(rig.bodies[row], rig.bodies[up]) for row, up in enumerate(rig.parent) if up >= 0]
    for to, over in (*((up, body) for body, up in reversed(joints)), *joints):  # to the roots, and back
        held[:, to] |= held[:, over] & worn[:, to]
    return over_frames(np.logical_and, out, held)


def _settle_weights(run: _SensorRun, which: Ints, spread: Floats) -> None:
    for rows in _cut_chunks(which):
        for left in reversed(range(REWEIGH_ROUNDS)):
            counts = run.take.seen[rows] & ~run.out[rows]
            run.sensors.weight[rows] = counts * huber_weight(run.residual[rows] / spread, HUBER_SPREADS)
            run.solve(rows, run.state(rows), run.problem(rows), **({"most": 1} if left else {}))


def _measure_spreads(run: _SensorRun, count: int) -> Floats:
    """(m,) what each sensor's residual is measured by: so many of its quantiles over the take, where it is seen."""
    spread = np.full(run.residual.shape[1], SPREAD_MIN_SIGMAS)
    lone = _find_lone(run.skeleton, run.take)
    for body, column in enumerate(run.residual.T):
        there = np.sort(column[column > 0])
        usual = (LONE_QUANTILES if lone[body] else RESIDUAL_QUANTILES)[:count]
        sizes = [float(there[int(share * len(there))]) / size for share, size in usual] if len(there) else [0.0]
        least = max(spread[body], sizes[0])
        spread[body] = min(max(least, *sizes), SPREAD_MAX_MEDIANS * least)
    return spread


def _find_lone(skeleton: Skeleton, take: Take) -> Bools:
    """(m,) bodies of which no neighbour is ever seen."""
    worn: Bools = np.asarray(take.seen.any(axis=0))
    lone = np.ones(take.bodies, bool)
    for joint in skeleton.joints:
        a, b = (skeleton.bodies.index(name) for name in (joint.child, joint.parent))
        lone[a] &= not worn[b]
        lone[b] &= not worn[a]
    return lone


def _describe_outliers(take: Take, out: Bools) -> list[Finding]:
    findings = []
    for k, name in enumerate(take.names):
        rows = np.flatnonzero(out[:, k])
        if len(rows):
            share = len(rows) / max(int(take.seen[:, k].sum()), 1)
            text = (
                f"{many(len(rows), 'pose')} of {name} from frame {rows[0]} on disagree with the figure and are left out"
            )
            severity: Severity = "warning" if share > OUTLIERS_MIN_SHARE else "info"
            findings.append(Finding("outliers", severity, text, (name,), None, share, "", int(rows[0]), len(rows)))
    return findings


def choose_sigmas(
    skeleton: Skeleton, sigma_position: ArrayLike | None = None, sigma_rotation: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """(m,) standard deviation of each sensor's position [m] and rotation [rad], the skeleton's where none is given."""
    table = {noise.body: noise for noise in skeleton.noise}
    m = len(skeleton.bodies)
    answer = []
    for given, name, least in (
        (sigma_position, "position", SIGMA_MIN_M),
        (sigma_rotation, "orientation", SIGMA_MIN_RAD),
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


def _cut_chunks(rows: Ints) -> list[FrameRows]:
    """The rows by `SOLVE_CHUNK_FRAMES`, as slices where they follow each other: these need no copy."""
    parts = [rows[first : first + SOLVE_CHUNK_FRAMES] for first in range(0, len(rows), SOLVE_CHUNK_FRAMES)]
    return [slice(part[0], part[-1] + 1) if part[-1] - part[0] + 1 == len(part) else part for part in parts]


def _guess_rotations(rig: KinematicRig, take: Take, relative: Floats) -> Floats:
    """(n, m, 3, 3) rotations in the world to start from: the measured ones, bridged or held where there are none."""
    if take.seen.all():
        return take.R_world_body
    guess, R = hold_unknown(relative, take.segment, to_bodies(rig, rig.R_reference)), copy_array(take.R_world_body)
    there = take.seen.copy()
    for row, body in enumerate(rig.bodies):  # beside a parent without a sensor, gaps are closed in the world
        if rig.parent[row] >= 0 and not take.seen[:, rig.bodies[rig.parent[row]]].any():
            R[:, body], bridged, _ = bridge_turn(take, R[:, body], np.inf)
            there[:, body] |= bridged
    for row in reversed(range(len(rig.bodies))):  # a figure whose root has no sensor stands as its other bodies say
        body, parent = rig.bodies[row], rig.parent[row]
        if parent >= 0 and not take.seen[:, rig.bodies[parent]].any():
            above, known = rig.bodies[parent], np.isfinite(R[:, body, 0, 0])
            R[known, above] = R[known, body] @ np.swapaxes(guess[known, body], -1, -2)
    for row, body in enumerate(rig.bodies):
        gone, parent = ~there[:, body], rig.parent[row]
        if parent >= 0:
            R[gone, body] = R[gone, rig.bodies[parent]] @ guess[gone, body]
        elif take.seen[:, body].any():
            R[gone, body] = guess[gone, body]
        else:
            R[np.isnan(R[:, body, 0, 0]), body] = rig.R_reference[row]
    return R
