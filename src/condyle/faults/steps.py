"""Steps in the gaps of joints: a body whose joints all move at one moment, by one vector in its axes, and stay there.

Each joint's gap is cleared of the joint's own constants and of all that follows angles and places, and every body and
moment is tried for a step in what is left, by its likelihood ratio. A quiet stretch counts for more than a lively one:
skin moves while its joint does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..estimate.edge_blocks import GROUP_COLUMNS, Blocks, long_run, pull_skin
from ..maths import rotation
from ..maths.arrays import Bools, Floats
from ..maths.least_squares import (
    SPAN_LOADING,
    SYMMETRIC_ENTRIES,
    clear_of,
    clear_of_columns,
    solve_symmetric,
    span_columns,
)
from ..maths.series import sum_from_end
from ..maths.spool import PART_BYTES, blocks_of, empty, one_of_many
from ..model.values import dataclass

if TYPE_CHECKING:
    from ..estimate.solve import Solution

TURN_MIN_RATIO = 60.0  # likelihood ratio from which a slip counts as a rotation as well
LIVELY_REACH_S = 2.0  # s around a block in which its noise is judged
QUIET_MIN_SHARE = 0.5  # of the overall noise: a quieter stretch counts no more than this
ROUNDING_SHARE = 1e-5  # of the distance between joined sensors: gaps below it are rounding
MOST_TWICE_TRIED = 3  # sensors, the most suspect ones, that are tried for two slips at once
TWICE_MIN_SHARE = 0.25  # of the threshold that a single slip must have for two to be tried
# Rows beyond the columns that clear them, from which on what is left tells the noise: chance then makes a ratio of 150
# at one of 2 million moments by the distribution of F, and with 9 at one of 160,000.
NOISE_MIN_ROWS = 12
OWN_COLUMNS = 6  # of a joint's constants: its centre in either body
# Standard errors above what noise explains, up to which a gap does not have the shapes of skin and field: two slips in
# white noise leave 0.3 and 1.1, noise correlated over 0.5 s leaves 7 to 12 at the joints of one body
SHAPES_MAX_SE = 3.0
# Of the noise of a block with that of the next, a sixth of a second later: 0.97 where it wanders over 5 s
WANDER_CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97, 0.985, 0.995)
# Likelihood ratio of a slip in noise that wanders as much as what is left beside it. Of 55 steps with SLIP_MIN_RATIO in
# 48 simulated takes of 16 to 25 s without a slip, in noise of 5 and 10 mm that wanders over 2 to 10 s, one has 55, the
# others at most 38; of 170 true ones of 1 and 2 cm in fields, under skin and in bursts none has less than 82.
WANDER_MIN_RATIO = 60.0


class GapStep(NamedTuple):
    """A step of a body from a block on, its likelihood ratio, and the frame where that was seen."""

    body: int
    block: int
    ratio: float
    frame: int | None = None


@dataclass(frozen=True, eq=False)
class GapSeries:
    """What is left of one joint's gap over b blocks, all rows weighted, and what it was cleared of.

    bodies    child and parent
    child, parent  (b, 3, 3)  how a step in the axes of either would show in the gap
    gap       (b, 3)
    own       (3 b, <=6)  orthonormal columns that span what the joint's own constants may do to the gap
    base      (3 b, F)  those that span what may move the gap without a slip
    left      (b, 3)    the gap without that
    variance            of `left` per axis, times what its correlation in time costs
    floor               least variance that is believed
    known     {body: its scores}, each worked out once
    """

    bodies: tuple[int, int]
    child: Floats
    parent: Floats
    gap: Floats
    own: Floats
    base: Floats
    left: Floats
    variance: float
    floor: float
    blocks: Blocks
    known: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def of_joints(cls, blocks: Blocks, joints: Sequence[int]) -> list[GapSeries]:
        """Those of some joints."""
        found = []
        for part in blocks_of(len(joints), 3 * 8 * blocks.count * sum(GROUP_COLUMNS)):
            units, in_body = blocks.find_shapes(np.array(joints[part]), pulled=False, world=True)
            for k, a in enumerate(joints[part]):
                found.append(cls._of(blocks, a, [unit[k : k + 1] for unit in units], in_body))
        return found

    @classmethod
    def _of(cls, blocks: Blocks, a: int, units: list[Floats], in_body: int) -> GapSeries:
        """That of joint a, given what the shapes follow that its gap may take without a slip: see `find_shapes`."""

        bodies = (int(blocks.pairs[a, 0]), int(blocks.pairs[a, 1]))
        pulls = 9 * sum(len(blocks.find_neighbours(a, blocks.pairs[a, side])) for side in range(2))
        design = empty((3 * blocks.count, OWN_COLUMNS + 3 * sum(unit.shape[2] for unit in units) + pulls))
        for rows in blocks_of(blocks.count, 3 * design[:1].nbytes, PART_BYTES):
            X = blocks.shape_rows(np.array([a]), units, in_body, rows)[0]
            own = blocks.lay_out(np.array([a]), rows).reshape(-1, OWN_COLUMNS)
            np.concatenate([own, X, *pull_skin(blocks, a, rows)], axis=1, out=design[3 * rows.start : 3 * rows.stop])
        gap = blocks.gap[:, :, a]
        sides = blocks.R_child[:, a], -blocks.R_parent[:, a]
        root = np.sqrt(blocks.weight[:, a])
        design *= np.repeat(root, 3)[:, None]
        rough = clear_of_columns(design, (gap * root[:, None]).ravel()).reshape(-1, 3)
        local = _local_size(rough, blocks.count_blocks(LIVELY_REACH_S))
        design /= np.repeat(local, 3)[:, None]
        return cls._clear(blocks, bodies, sides, gap, design, root / local)

    @classmethod
    def _clear(
        cls,
        blocks: Blocks,
        bodies: tuple[int, int],
        sides: tuple[Floats, Floats],
        gap: Floats,
        design: Floats,
        root: Floats,
    ) -> GapSeries:
        """The joint with its rows weighted by `root` (b,), as those of the design are already."""
        child, parent = (np.multiply(side, root[:, None, None], out=empty(side.shape)) for side in sides)
        gap = np.multiply(gap, root[:, None], out=empty(gap.shape))
        own_columns = int(design[:, :OWN_COLUMNS].any(axis=0).sum())
        base = one_of_many(span_columns(design, out=design), len(blocks.pairs))
        own = base[:, :own_columns]  # the first span the first
        left = clear_of(base, gap.ravel()).reshape(-1, 3)
        floor = float((root**2).mean()) * (ROUNDING_SHARE * float(np.sqrt((blocks.arm**2).sum(axis=2).mean()))) ** 2
        variance = _long_run_variance(gap, left, base.shape[1], blocks, floor)
        return cls(bodies, child, parent, gap, own, base, left, variance, floor, blocks)

    def side(self, body: int) -> Floats:
        return self.child if body == self.bodies[0] else self.parent

    def with_step(self, step: GapStep) -> GapSeries:
        """The same joint with a step of a body allowed for, which may take three blocks of time."""
        if step.body not in self.bodies:
            return self
        steps = np.zeros((len(self.left), 3, 9))
        for k in range(3):
            first = step.block - 1 + k
            steps[first:, :, 3 * k : 3 * k + 3] = self.side(step.body)[first:]
        flat = clear_of(self.base, steps.reshape(-1, 9))
        u, size, _ = np.linalg.svd(flat, full_matrices=False)
        more, count = size > 1e-9 * size.max(initial=1e-300), self.base.shape[1]
        base = empty((len(u), count + int(more.sum())))
        base[:, :count], base[:, count:] = self.base, u[:, more]
        return self._on(base)

    def without_shapes(self, step: GapStep) -> GapSeries | None:
        """The same joint cleared of its own constants alone, if noise explains all else that is left beside a step."""
        plain = self._on(self.own)
        after, all_after = plain.with_step(step), self.with_step(step)
        columns = all_after.base.shape[1] - after.base.shape[1]
        gain = float(np.square(after.left).sum() - np.square(all_after.left).sum()) / all_after.variance
        return plain if gain <= columns + SHAPES_MAX_SE * np.sqrt(2 * columns) else None

    def _on(self, base: Floats) -> GapSeries:
        """The same joint cleared of other columns."""
        left = clear_of(base, self.gap.ravel()).reshape(-1, 3)
        variance = _long_run_variance(self.gap, left, base.shape[1], self.blocks, self.floor)
        return replace(self, base=base, left=left, variance=variance, known={})

    def scores(self, body: int) -> tuple[Floats, Floats]:
        """For a step of the body from each block on: gradient (b, 3) and information (b, 3, 3)."""
        if not self.known:
            self.known.update(zip(self.bodies, self._score_sides(), strict=True))
        return self.known[body]

    def _score_sides(self) -> Iterator[tuple[Floats, Floats]]:
        """The same of the child and of the parent, which the sums over the blocks are made for together."""
        sides, base = np.concatenate([self.child, self.parent], axis=2), self.base.reshape(len(self.left), 3, -1)
        gradient, information = empty((len(sides), 2, 3)), empty((len(sides), 2, 3, 3))
        count = base.shape[2]
        after: Floats | None = None  # what the blocks behind add up to
        for rows in reversed(list(blocks_of(len(sides), 2 * base[:1].nbytes, PART_BYTES))):
            axes = np.swapaxes(sides[rows], 1, 2)
            sums = np.empty((len(axes), 6, count + 4))  # products with the base, with the gap, with the side itself
            np.matmul(axes, base[rows], out=sums[..., :count])
            np.matmul(axes, self.left[rows][..., None], out=sums[..., count : count + 1])
            for side in (slice(0, 3), slice(3, 6)):
                np.matmul(axes[:, side], np.swapaxes(axes[:, side], 1, 2), out=sums[:, side, count + 1 :])
            if after is not None:
                sums[-1] += after
            sum_from_end(sums.reshape(len(sums), -1))
            after = sums[0].copy()
            both = sums.reshape(len(sums), 2, 3, -1)
            gradient[rows], information[rows] = both[..., count], both[..., count + 1 :]
            meet = both[..., :count]
            for r, k in SYMMETRIC_ENTRIES:
                part = np.einsum("bsf,bsf->bs", meet[:, :, r], meet[:, :, k])
                information[rows, :, r, k] -= part
                if r != k:
                    information[rows, :, k, r] -= part
        gradient /= self.variance
        information /= self.variance
        for k in range(2):
            yield gradient[:, k], information[:, k]

    def score_in_wander(self, step: GapStep) -> tuple[Floats, Floats]:
        """Gradient (3,) and information (3, 3) of a step, each block's noise being the one before times a correlation,
        and white noise: the correlation that is likeliest when the step and all that clears the gap are allowed for.
        What is left alone would tell too little, since much of what wanders is cleared away.
        """
        same, next_to, ends, rows, runs = self._sum_neighbours(step)
        count = len(same) - 1  # columns, without the gap
        rho = np.array(WANDER_CORRELATIONS)[:, None, None]
        sums = (1 + rho**2) * same - rho * (next_to + next_to.T) - rho**2 * ends
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", sums[:, :-1, :-1]), 1e-300))
        # Where a joint is not seen before the step, that is one of the columns that clear its gap, but for rounding.
        unit = sums[:, :-1, :-1] / scale[:, :, None] / scale[:, None, :] + SPAN_LOADING * np.eye(count)
        root = np.linalg.cholesky(unit)
        found = np.linalg.solve(root, (sums[:, :-1, -1] / scale)[..., None])[..., 0]
        free = max(rows - count, 1)
        variance = np.maximum((sums[:, -1, -1] - np.square(found).sum(axis=1)) / free, self.floor)
        spread = np.log(np.einsum("kii->ki", root) * scale).sum(axis=1)
        spread -= 1.5 * runs * np.log(1 - rho[:, 0, 0] ** 2)
        best = int(np.argmin(free / 2 * np.log(np.maximum(variance, 1e-300)) + spread))
        own = root[best, -3:, -3:] * scale[best, -3:, None]
        return own @ found[best, -3:] / variance[best], own @ own.T / variance[best]

    def _sum_neighbours(self, step: GapStep) -> tuple[Floats, Floats, Floats, int, int]:
        """Products, summed over the blocks that are seen, of what clears the gap, a step and the gap: of a block with
        itself, with the one before, and of the first and last of each run with themselves; rows, and number of runs.
        """
        seen: Bools = np.asarray(self.gap.any(axis=1))
        run = self.blocks.run
        follows = np.concatenate([[False], seen[1:] & seen[:-1] & (run[1:] == run[:-1])])
        first, last = seen & ~follows, seen & ~np.append(follows[1:], False)
        width = self.base.shape[1] + 4
        same, next_to, ends = np.zeros((3, width, width))
        for part in blocks_of(len(seen), 2 * 3 * 8 * width, PART_BYTES):
            near = slice(max(part.start - 1, 0), part.stop)  # with the block before
            values = np.empty((near.stop - near.start, 3, width))
            values[..., :-4] = self.base[3 * near.start : 3 * near.stop].reshape(len(values), 3, -1)
            values[..., -4:-1] = self.side(step.body)[near]
            values[: max(step.block - near.start, 0), :, -4:-1] = 0.0
            values[..., -1] = self.gap[near]
            here = values[part.start - near.start :]
            known = here[seen[part]].reshape(-1, width)
            same += known.T @ known
            for chosen in (first, last):
                end = here[chosen[part]].reshape(-1, width)
                ends += end.T @ end
            rows = part.start - near.start + np.flatnonzero(follows[part])
            next_to += values[rows].reshape(-1, width).T @ values[rows - 1].reshape(-1, width)
        return same, next_to, ends, 3 * int(seen.sum()), int(first.sum())


def _local_size(left: Floats, reach: int) -> Floats:
    """(b,) rms of what is left (b, 3) around each block, over the overall one, and at least QUIET_MIN_SHARE."""
    square = np.concatenate([[0.0], np.cumsum((left * left).sum(axis=1))])
    k = np.arange(len(left))
    low, high = np.maximum(k - reach, 0), np.minimum(k + reach + 1, len(left))
    local = (square[high] - square[low]) / (high - low)
    return np.asarray(np.sqrt(np.maximum(local / max(float(local.mean()), 1e-300), QUIET_MIN_SHARE**2)))


def _long_run_variance(gap: Floats, left: Floats, used: int, blocks: Blocks, floor: float) -> float:
    """Variance per axis of what is left (b, 3) of a gap, 0 where not seen, times what its correlation in time makes a
    sum of it less sure. Where too little can be left to tell, all of the gap is noise.
    """
    rows = 3 * int(gap.any(axis=1).sum())
    if rows - used >= NOISE_MIN_ROWS:
        size = float((left * left).sum()) / (rows - used)
    else:
        size = float((gap * gap).sum()) / max(rows, 1)
    return max(size * long_run(left, blocks.step, blocks.run), floor, 1e-300)


def find_step(joints: Sequence[GapSeries], bodies: Sequence[int], edge: int, threshold: float) -> GapStep | None:
    """The clearest step, if one is clear enough."""
    best = _clearest_steps(joints, bodies, edge)
    for step in best[:1]:
        ratio = max(step.ratio, _ratio_after(joints, step))  # a large step inflates the noise it is judged by
        if ratio >= threshold and _ratio_in_wander(joints, step) >= WANDER_MIN_RATIO:
            return step._replace(ratio=ratio)
    suspects = [step for step in best[:MOST_TWICE_TRIED] if step.ratio > TWICE_MIN_SHARE * threshold]
    for step in suspects[:1]:  # shapes that the gaps do not have hide a step where a joint begins to move
        plain = _without_shapes(joints, step)
        ratio = _ratio_after(plain, step) if plain else 0.0
        if ratio >= threshold and _ratio_in_wander(plain, step) >= WANDER_MIN_RATIO:
            return step._replace(ratio=ratio)
    for step in suspects:  # and so does a second one of the same sensor
        first = [joint.with_step(step) for joint in joints]
        [other] = _clearest_steps(first, [step.body], edge)
        second = [joint.with_step(other) for joint in joints]
        ratio = _ratio_after(second, step)
        least = min(ratio, _ratio_after(first, other))
        if least >= threshold and _ratio_in_wander(second, step) >= WANDER_MIN_RATIO:
            return step._replace(ratio=ratio)
    return None


def _clearest_steps(joints: Sequence[GapSeries], bodies: Sequence[int], edge: int) -> list[GapStep]:
    """For each body its clearest step, the clearest first."""
    found = []
    for body in bodies:
        own = [joint.scores(body) for joint in joints if body in joint.bodies]
        if not own:
            continue
        ratio = likelihood_ratio(*(np.sum([one[k] for one in own], axis=0) for k in range(2)))
        block = edge + int(np.argmax(ratio[edge : len(ratio) - edge]))
        found.append(GapStep(body, block, float(ratio[block])))
    return sorted(found, key=lambda one: -one.ratio)


def likelihood_ratio(gradient: Floats, information: Floats) -> Floats:
    """(...) of steps with these gradients (..., 3) and informations (..., 3, 3)."""
    size = np.maximum(np.abs(np.trace(information, axis1=-2, axis2=-1)), 1e-300)
    unit, pull = information / size[..., None, None], gradient / np.sqrt(size)[..., None]
    return np.asarray(np.einsum("...i,...i->...", pull, solve_symmetric(unit + 1e-6 * np.eye(3), pull)))


def _after(joints: Sequence[GapSeries], step: GapStep) -> tuple[Floats, Floats]:
    """Gradient (3,) and information (3, 3) of a step by the noise that it leaves."""
    gradient, information = np.zeros(3), np.zeros((3, 3))
    for joint in joints:
        if step.body in joint.bodies:
            pull, own = joint.scores(step.body)
            factor = joint.variance / joint.with_step(step).variance
            gradient += factor * pull[step.block]
            information += factor * own[step.block]
    return gradient, information + (1e-9 * np.trace(information) + 1e-300) * np.eye(3)


def _ratio_after(joints: Sequence[GapSeries], step: GapStep) -> float:
    gradient, information = _after(joints, step)
    return float(gradient @ np.linalg.solve(information, gradient))


def _ratio_in_wander(joints: Sequence[GapSeries], step: GapStep) -> float:
    """That of a step in noise that wanders as much as the gaps of its body do beside it."""
    own = [joint.score_in_wander(step) for joint in joints if step.body in joint.bodies]
    return float(likelihood_ratio(*(np.sum([one[k] for one in own], axis=0) for k in range(2))))


def _without_shapes(joints: Sequence[GapSeries], step: GapStep) -> list[GapSeries]:
    """The joints of a step's body cleared of their own constants alone, where none has the shapes of skin and field."""
    plain = [joint.without_shapes(step) for joint in joints if step.body in joint.bodies]
    known = [joint for joint in plain if joint is not None]
    return known if len(known) == len(plain) else []


def measure_step(joints: Sequence[GapSeries], step: GapStep) -> Floats:
    """(3,) [m] by which the joints of a body seem to move in its axes."""
    gradient, information = _after(joints, step)
    return np.asarray(np.linalg.solve(information, gradient))


def measure_rigid_steps(
    joints: Mapping[int, GapSeries], steps: Sequence[GapStep], solution: Solution
) -> list[tuple[Floats, Floats]]:
    """Displacement [m] and rotation [rad] of sensors that step at given blocks, from all their joints together, by the
    number of each in the solution.

    A sensor that moves by s and turns by r carries what was fitted as a point c of its body to c + s + r x c. One joint
    shows three of these six numbers: a rotation is told only where two or more joints ask for it.
    """
    size = 6 * len(steps)
    information, gradient = np.zeros((size, size)), np.zeros(size)
    for a, joint in joints.items():
        own = [k for k, step in enumerate(steps) if step.body in joint.bodies]
        if not own:
            continue
        columns = np.zeros((len(joint.left), 3, size))
        for k in own:
            body, block = steps[k][:2]
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
