"""Sensors that moved on their limb during a take: which, when, and how far (paper, section 5).

The size of a gap jumps too little to be seen under cloth and skin. But a slip is a step that stands still in the
sensor's own axes, and it shows at every joint of its body. So each joint's gap is cleared of the joint's own constants
and of all that follows angles and places, and every sensor and moment is tried for a step in what is left, by its
likelihood ratio. A quiet stretch counts for more than a lively one: skin moves while its joint does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..estimate.intervals import CORRELATION_LAG_S, Blocks, long_run
from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import Bools, Floats, frozen
from ..maths.least_squares import clear_of, span_columns
from ..maths.robust import median
from ..maths.spool import blocks_of, copied, one_of_many, over_frames, sealed
from ..model.stage import Change, Decision, Effect, Proof, describe_refusal
from ..model.take import WORLD, Take
from ..pairs.fits import gaps
from ..pairs.outliers import find_steady
from ..prepare.flips import describe_left_flips

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate
    from ..estimate.solve import Solution
    from ..model.options import FitOptions

SLIP_MIN_RATIO = 150.0  # likelihood ratio from which a step is a slip
SLIP_MIN_SHARE = 0.01  # of the usual distance between the joined sensors: a lesser step does no harm
TURN_MIN_RATIO = 60.0  # likelihood ratio from which a slip counts as a rotation as well
SLIP_MIN_S = 1.5  # s on either side of a slip, below which it is not told from a pause
LIVELY_REACH_S = 2.0  # s around a block in which its noise is judged
QUIET_MIN_SHARE = 0.5  # of the overall noise: a quieter stretch counts no more than this
ROUNDING_SHARE = 1e-5  # of the distance between joined sensors: gaps below it are rounding
MOST_SLIPS = 8  # slips in one take
MOST_TWICE_TRIED = 3  # sensors, the most suspect ones, that are tried for two slips at once,
TWICE_MIN_SHARE = 0.25  # if a single one is so far on the way to the threshold
CREEP_MAX_PAUSE_S = 10.0  # s between steps of one creep: up to 8.4 s where a sensor crept 15 mm in 15 s
CREEP_MIN_COSINE = 0.7  # between their directions
REFINE_ROUNDS = 3  # of fitting the joints and the slips in turn


@dataclass(frozen=True, eq=False)
class Slip:
    """A sensor that sits elsewhere on its body from a moment on.

    body         name of the sensor
    frame, time  first frame after the slip, and its time [s]
    shift  (3,)  [m]    way of the sensor over its body, in its own axes of before
    turn   (3,)  [rad]  rotation vector of the sensor on its body, in the same axes; as far as the joints show it
    ratio        [-]    likelihood ratio of the step
    """

    body: str
    frame: int
    time: float
    shift: Floats
    turn: Floats
    ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", frozen(self.shift, (3,), "shift"))
        object.__setattr__(self, "turn", frozen(self.turn, (3,), "turn"))

    @property
    def size(self) -> float:
        """Distance [m] by which the sensor moved."""
        return float(np.linalg.norm(self.shift))


def find_slips(
    take: Take, solution: Solution, still: int | None = None, threshold: float = SLIP_MIN_RATIO, most: int = MOST_SLIPS
) -> list[Slip]:
    """Slips of a take's sensors, the clearest first; `solution` are its joints, fitted as if nothing had slipped.

    still  index of a body that is the room itself, which cannot slip
    """
    if not take.timed or not len(solution.pairs):
        return []
    blocks = Blocks(take, replace(solution, weight=steady(take, solution)))
    edge = max(2, round(SLIP_MIN_S / blocks.step))
    if blocks.count < 4 * edge:
        return []
    joints = [_GapSeries.of(blocks, a) for a in range(len(solution.pairs))]
    found: list[Slip] = []
    while len(found) < most:
        step = _next_step(joints, [body for body in range(take.bodies) if body != still], edge, threshold)
        if step is None:
            break
        body, block, ratio = step
        shift = _step(joints, body, block)
        if np.linalg.norm(shift) < SLIP_MIN_SHARE * _distance(blocks, body):
            break
        frame = _moment(take, solution, body, int(blocks.first[block]), shift, blocks)
        found.append(Slip(take.names[body], frame, float(take.time[frame]), shift, np.zeros(3), ratio))
        joints = [joint.with_step(body, block) for joint in joints]
    return found


def moved_back(take: Take, slips: Sequence[Slip]) -> Take:
    """The take as if the sensors had stayed where they were before their slips."""
    if not slips:
        return take
    R, p = copied(take.R_world_body), copied(take.p_world_body)
    for slip in sorted(slips, key=lambda one: one.frame, reverse=True):  # the last slip is on top of the others
        k, rows = take.index(slip.body), slice(slip.frame, None)
        back = rotation.from_vector(slip.turn).T
        R[rows, k] = over_frames(lambda part, back=back: part @ back, R[rows, k])
        p[rows, k] -= over_frames(lambda part, shift=slip.shift: part @ shift, R[rows, k])
    return replace(take, R_world_body=sealed(R), p_world_body=sealed(p))


def refine_slips(take: Take, solution: Solution, slips: Sequence[Slip]) -> list[Slip]:
    """The slips with what is left of their steps, displacement and rotation, in joints fitted to the take moved back.

    take   moved back by `slips` already; solution: its joints
    """
    blocks = Blocks(take, replace(solution, weight=steady(take, solution)))
    steps = [(take.index(slip.body), int(np.searchsorted(blocks.first, slip.frame))) for slip in slips]
    left = _rigid_steps([_GapSeries.of(blocks, a) for a in range(len(solution.pairs))], steps, solution)
    out = []
    for slip, (shift, turn) in zip(slips, left, strict=True):
        # What is left was seen in the axes of before: it comes after the slip as known so far.
        further = rotation.from_vector(turn)
        out.append(
            replace(
                slip,
                shift=shift + further @ slip.shift,
                turn=rotation.to_vector(further @ rotation.from_vector(slip.turn)),
            )
        )
    return out


def group_creeping(slips: Sequence[Slip]) -> list[tuple[Slip, ...]]:
    """The slips of each sensor in the order of time, those together that follow each other the same way: it creeps."""
    groups: list[list[Slip]] = []
    for slip in sorted(slips, key=lambda one: (one.body, one.frame)):
        last = groups[-1][-1] if groups and groups[-1][-1].body == slip.body else None
        alike = last is not None and slip.shift @ last.shift > CREEP_MIN_COSINE * slip.size * last.size
        if last is not None and alike and slip.time - last.time <= CREEP_MAX_PAUSE_S:
            groups[-1].append(slip)
        else:
            groups.append([slip])
    return [tuple(group) for group in sorted(groups, key=lambda group: group[0].frame)]


def describe_slips(slips: Sequence[Slip], repaired: bool) -> list[Finding]:
    """What to say of them; a sensor that creeps is one that slips."""
    done = (
        "its poses from then on were moved back, so that limb lengths are shared by both parts"
        if repaired
        else "the take was fitted as it is"
    )
    found = []
    for group in group_creeping(slips):
        first, last = group[0], group[-1]
        size = float(np.linalg.norm(np.sum([slip.shift for slip in group], axis=0)))
        did, when = ("crept", f"from {first.time:.1f} to {last.time:.1f} s") if len(group) > 1 else ("moved", "")
        text = f"{first.body}: the sensor {did} {1000 * size:.0f} mm on its body {when or f'at {first.time:.1f} s'}"
        text = f"{text}; {done}; fasten it better, and record again if that matters"
        span = (first.time, last.time)
        found.append(Finding("slip", "warning", text, (first.body,), span, size, "m", frame=first.frame))
    return found


def steady(take: Take, solution: Solution) -> Floats:
    """(n, J) 1 where both bodies are seen and the gap is not far off its own course of the second around."""
    gap = gaps(take, *solution.joints)
    return find_steady(gap, max(take.count_frames(CORRELATION_LAG_S), 5)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _GapSeries:
    """What is left of one joint's gap over b blocks, all rows weighted, and what it was cleared of.

    bodies    child and parent
    child, parent  (b, 3, 3)  how a step in the axes of either would show in the gap
    gap       (b, 3)
    base      (3 b, F)  orthonormal columns that span what may move the gap without a slip
    left      (b, 3)    the gap without that
    variance            of `left` per axis, times what its correlation in time costs
    floor               least variance that is believed
    """

    bodies: tuple[int, int]
    child: Floats
    parent: Floats
    gap: Floats
    base: Floats
    left: Floats
    variance: float
    floor: float
    blocks: Blocks

    @classmethod
    def of(cls, blocks: Blocks, a: int) -> _GapSeries:
        X, _ = blocks.features(a)
        design = np.concatenate([blocks.Z[:, :, a].reshape(-1, 6), X, *_pulled_skin(blocks, a)], axis=1)
        bodies = (int(blocks.pairs[a, 0]), int(blocks.pairs[a, 1]))
        gap = blocks.gap[:, :, a]
        sides = blocks.R_child[:, a], -blocks.R_parent[:, a]
        root = np.sqrt(blocks.weight[:, a])
        weighted = over_frames(lambda part, own: part * own[:, None], design, np.repeat(root, 3))
        rough = clear_of(span_columns(weighted), (gap * root[:, None]).ravel()).reshape(-1, 3)
        root = root / _local_size(rough, round(LIVELY_REACH_S / blocks.step))
        return cls._cleared(blocks, bodies, sides, gap, design, root)

    @classmethod
    def _cleared(
        cls,
        blocks: Blocks,
        bodies: tuple[int, int],
        sides: tuple[Floats, Floats],
        gap: Floats,
        design: Floats,
        root: Floats,
    ) -> _GapSeries:
        """The joint with its rows weighted by `root` (b,)."""
        child, parent = (side * root[:, None, None] for side in sides)
        gap = gap * root[:, None]
        design = over_frames(lambda part, own: part * own[:, None], design, np.repeat(root, 3))
        base = one_of_many(span_columns(design), len(blocks.pairs))
        left = clear_of(base, gap.ravel()).reshape(-1, 3)
        floor = float((root**2).mean()) * (ROUNDING_SHARE * float(np.sqrt((blocks.arm**2).sum(axis=2).mean()))) ** 2
        variance = _long_run_variance(left, base.shape[1], blocks, floor)
        return cls(bodies, child, parent, gap, base, left, variance, floor, blocks)

    def side(self, body: int) -> Floats:
        return self.child if body == self.bodies[0] else self.parent

    def with_step(self, body: int, block: int) -> _GapSeries:
        """The same joint with a step of a body allowed for, which may take three blocks of time."""
        if body not in self.bodies:
            return self
        steps = np.zeros((len(self.left), 3, 9))
        for k in range(3):
            steps[block - 1 + k :, :, 3 * k : 3 * k + 3] = self.side(body)[block - 1 + k :]
        flat = clear_of(self.base, steps.reshape(-1, 9))
        u, size, _ = np.linalg.svd(flat, full_matrices=False)
        base = np.concatenate([self.base, u[:, size > 1e-9 * size.max(initial=1e-300)]], axis=1)
        base = one_of_many(base, len(self.blocks.pairs))
        left = clear_of(base, self.gap.ravel()).reshape(-1, 3)
        variance = _long_run_variance(left, base.shape[1], self.blocks, self.floor)
        return replace(self, base=base, left=left, variance=variance)

    def scores(self, body: int) -> tuple[Floats, Floats]:
        """For a step of the body from each block on: gradient (b, 3) and information (b, 3, 3)."""
        side, base = self.side(body), self.base.reshape(len(self.left), 3, -1)
        gradient, information = np.empty((len(side), 3)), np.empty((len(side), 3, 3))
        after: list[Floats] = []  # what the blocks behind add up to
        for rows in reversed(list(blocks_of(len(side), base[:1].nbytes))):
            axes = np.swapaxes(side[rows], 1, 2)
            sums = [np.einsum("bxr,bx->br", side[rows], self.left[rows]), axes @ base[rows], axes @ side[rows]]
            for values, behind in zip(sums, after, strict=False):
                values[-1] += behind
            pull, meet, own = (np.cumsum(values[::-1], axis=0)[::-1] for values in sums)
            after = [values[0].copy() for values in (pull, meet, own)]
            gradient[rows], information[rows] = pull, own - meet @ np.swapaxes(meet, 1, 2)
        return gradient / self.variance, information / self.variance


def _pulled_skin(blocks: Blocks, a: int) -> list[Floats]:
    """(3 b, 9) each: skin that the other joints of the two bodies pull along, which moves in the body's axes."""
    columns = []
    for body, axes in zip(blocks.pairs[a], (blocks.R_child[:, a], blocks.R_parent[:, a]), strict=True):
        for other in np.flatnonzero((blocks.pairs == body).any(axis=1)):
            if other != a:
                block = np.einsum("bxr,bs->bxrs", axes, blocks.angle(int(other)))
                columns.append(block.reshape(3 * len(axes), -1))
    return columns


def _local_size(left: Floats, reach: int) -> Floats:
    """(b,) rms of what is left (b, 3) around each block, over the overall one, and at least QUIET_MIN_SHARE."""
    square = np.concatenate([[0.0], np.cumsum((left * left).sum(axis=1))])
    k = np.arange(len(left))
    low, high = np.maximum(k - reach, 0), np.minimum(k + reach + 1, len(left))
    local = (square[high] - square[low]) / (high - low)
    return np.asarray(np.sqrt(np.maximum(local / max(float(local.mean()), 1e-300), QUIET_MIN_SHARE**2)))


def _long_run_variance(left: Floats, used: int, blocks: Blocks, floor: float) -> float:
    """Variance per axis of (b, 3), times what its correlation in time makes a sum of it less sure."""
    size = float((left * left).sum()) / max(3 * len(left) - used, 1)
    return max(size * long_run(left, blocks.step, blocks.run), floor, 1e-300)


def _next_step(
    joints: Sequence[_GapSeries], bodies: Sequence[int], edge: int, threshold: float
) -> tuple[int, int, float] | None:
    """Body, first block and likelihood ratio of the clearest step, if one is clear enough."""
    best = _clearest_steps(joints, bodies, edge)
    for body, block, ratio in best[:1]:
        ratio = max(ratio, _ratio_after(joints, body, block))  # a large step inflates the noise it is judged by
        if ratio >= threshold:
            return body, block, ratio
    suspects = [step for step in best[:MOST_TWICE_TRIED] if step[2] > TWICE_MIN_SHARE * threshold]
    for body, block, _ in suspects:  # and so does a second one of the same sensor
        first = [joint.with_step(body, block) for joint in joints]
        [(_, other, _)] = _clearest_steps(first, [body], edge)
        ratio = _ratio_after([joint.with_step(body, other) for joint in joints], body, block)
        if ratio >= threshold and _ratio_after(first, body, other) >= threshold:
            return body, block, ratio
    return None


def _clearest_steps(joints: Sequence[_GapSeries], bodies: Sequence[int], edge: int) -> list[tuple[int, int, float]]:
    """For each body the first block of its clearest step and the likelihood ratio of that, the clearest first."""
    found = []
    for body in bodies:
        own = [joint.scores(body) for joint in joints if body in joint.bodies]
        if not own:
            continue
        gradient, information = (np.sum([one[k] for one in own], axis=0) for k in range(2))
        size = np.trace(information, axis1=1, axis2=2)
        loaded = information + (1e-6 * size + 1e-300)[:, None, None] * np.eye(3)
        ratio = np.einsum("bi,bi->b", gradient, np.linalg.solve(loaded, gradient[..., None])[..., 0])
        block = edge + int(np.argmax(ratio[edge : len(ratio) - edge]))
        found.append((body, block, float(ratio[block])))
    return sorted(found, key=lambda one: -one[2])


def _at(joints: Sequence[_GapSeries], body: int, block: int, after: bool = False) -> tuple[Floats, Floats]:
    """Gradient (3,) and information (3, 3) of one step; `after`: by the noise that the step leaves."""
    gradient, information = np.zeros(3), np.zeros((3, 3))
    for joint in joints:
        if body in joint.bodies:
            pull, own = joint.scores(body)
            factor = joint.variance / joint.with_step(body, block).variance if after else 1.0
            gradient += factor * pull[block]
            information += factor * own[block]
    return gradient, information + (1e-9 * np.trace(information) + 1e-300) * np.eye(3)


def _ratio_after(joints: Sequence[_GapSeries], body: int, block: int) -> float:
    gradient, information = _at(joints, body, block, after=True)
    return float(gradient @ np.linalg.solve(information, gradient))


def _step(joints: Sequence[_GapSeries], body: int, block: int) -> Floats:
    """(3,) [m] by which the joints of a body seem to move in its axes."""
    gradient, information = _at(joints, body, block, after=True)
    return np.asarray(np.linalg.solve(information, gradient))


def _rigid_steps(
    joints: Sequence[_GapSeries], steps: Sequence[tuple[int, int]], solution: Solution
) -> list[tuple[Floats, Floats]]:
    """Displacement [m] and rotation [rad] of sensors that step at given blocks, from all joints together.

    A sensor that moves by s and turns by r carries what was fitted as a point c of its body to c + s + r x c. One joint
    shows three of these six numbers: a rotation is told only where two or more joints ask for it.
    """
    size = 6 * len(steps)
    information, gradient = np.zeros((size, size)), np.zeros(size)
    for a, joint in enumerate(joints):
        own = [k for k, (body, _) in enumerate(steps) if body in joint.bodies]
        if not own:
            continue
        columns = np.zeros((len(joint.left), 3, size))
        for k in own:
            body, block = steps[k]
            c = solution.p_child_joint[a] if body == joint.bodies[0] else solution.p_parent_joint[a]
            moves = np.concatenate([np.eye(3), -rotation.skew(c)], axis=1)
            columns[block:, :, 6 * k : 6 * k + 6] = joint.side(body)[block:] @ moves
        flat = clear_of(joint.base, columns.reshape(-1, size))
        information += flat.T @ flat / joint.variance
        gradient += flat.T @ joint.gap.ravel() / joint.variance
    used = (np.arange(size) % 6) < 3
    for k in range(len(steps)):
        turn = np.arange(size) // 6 == k
        if _gain(information, gradient, used | turn) - _gain(information, gradient, used) > TURN_MIN_RATIO:
            used = used | turn
    found = np.zeros(size)
    found[used] = _least(information, gradient, used)
    return [(found[6 * k : 6 * k + 3], found[6 * k + 3 : 6 * k + 6]) for k in range(len(steps))]


def _least(information: Floats, gradient: Floats, used: Bools) -> Floats:
    """The solution for the unknowns in use, least where they are open."""
    own = information[np.ix_(used, used)]
    size = np.sqrt(np.maximum(np.diagonal(own), 1e-300))
    return np.asarray(
        np.linalg.pinv(own / size / size[:, None], rcond=1e-3, hermitian=True) @ (gradient[used] / size) / size
    )


def _gain(information: Floats, gradient: Floats, used: Bools) -> float:
    return float(gradient[used] @ _least(information, gradient, used))


def _distance(blocks: Blocks, body: int) -> float:
    """Usual distance [m] between the sensor and those it is joined to."""
    own = (blocks.pairs == body).any(axis=1)
    return float(median(np.linalg.norm(blocks.arm[:, own], axis=2).ravel()))


def _moment(take: Take, solution: Solution, body: int, near: int, shift: Floats, blocks: Blocks) -> int:
    """The frame around `near` before which the gaps fit without the step, and from which on with it."""
    reach = 2 * max(1, take.count_frames(blocks.step))
    rows = np.arange(max(near - reach, 1), min(near + reach, take.frames - 1))
    own = (solution.pairs == body).any(axis=1)
    part = take.at(np.arange(max(rows[0] - 2 * reach, 0), min(rows[-1] + 2 * reach, take.frames)))
    first = max(rows[0] - 2 * reach, 0)
    gap = gaps(part, solution.pairs[own], solution.p_child_joint[own], solution.p_parent_joint[own])
    sign = np.where(solution.pairs[own, 0] == body, 1.0, -1.0)
    along = np.einsum("nax,nx->na", gap, part.R_world_body[:, body] @ shift) * sign / max(float(shift @ shift), 1e-300)
    known = np.isfinite(along)
    along = np.where(known, along, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    inside = rows - first
    before, total = np.cumsum(along), along.sum()
    n = len(along)
    # Two levels that part at k: the split with the largest difference between them.
    k = inside.astype(np.float64)
    split = (total - before[inside - 1]) / (n - k) - before[inside - 1] / k
    return int(rows[np.argmax(split**2 * k * (n - k))])


@dataclass(frozen=True, eq=False)
class SlipRepair:
    """A sensor moved back to where it was before it slipped, or crept in several steps."""

    slips: tuple[Slip, ...]
    repair: str = "slips"
    effect: Effect = "moves"
    hold: tuple[tuple[str, str], ...] = ()

    @property
    def bodies(self) -> tuple[str, ...]:
        return (self.slips[0].body,)

    @property
    def first(self) -> int:
        return self.slips[0].frame

    @property
    def size(self) -> float:
        return float(np.linalg.norm(np.sum([slip.shift for slip in self.slips], axis=0)))

    def apply(self, take: Take) -> Take:
        return moved_back(take, self.slips)

    def describe(self, proof: Proof | None) -> list[Finding]:
        if proof is not None and not proof.kept:
            when = f"{self.slips[0].time:.1f} s"
            what = f"{self.bodies[0]}: perhaps moved {1000 * self.size:.3g} mm on its body at {when}"
            return describe_refusal(self, what, proof)
        return describe_slips(self.slips, repaired=proof is not None)


def repair_slips(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of it; slips that were refused are not proposed again, and the others are found without them."""
    take = estimate.take
    mirrored = [] if options.puts_flips_right else describe_left_flips(take)
    if mirrored:
        return Decision(mirrored)
    slips = find_slips(take, estimate.solution, take.names.index(WORLD) if options.world else None)
    no = {(one.body, one.frame) for change in refused if isinstance(change, SlipRepair) for one in change.slips}
    slips = [one for one in slips if (one.body, one.frame) not in no]
    if not options.fixes("slips"):
        return Decision(describe_slips(slips, repaired=False))
    for _ in range(REFINE_ROUNDS if slips else 0):
        back = estimate.refit(moved_back(take, slips))
        slips = refine_slips(back.take, back.solution, slips)
    return Decision(changes=[SlipRepair(group) for group in group_creeping(slips)])
