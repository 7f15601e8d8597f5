"""Steps that are seen twice: what a body's joints show for seconds before and after, and the jump at the very moment.

Noise that wanders slowly hides a step in the level of the gaps, since few of its values are independent. But from one
frame to the next it hardly changes, and the body's joints all jump at once, by one vector in its axes. Neither alone is
proof: skin and posture change the level for long, impacts and spikes make jumps. So both must show the same step, and
each is judged by what the rest of the take does: the level by what bodies usually have, the jump by the next largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..maths.arrays import Floats, Ints
from ..maths.robust import median
from ..model.values import dataclass
from ..pairs.fits import gaps
from .steps import GapSeries, GapStep, likelihood_ratio

if TYPE_CHECKING:
    from ..estimate.solve import Solution
    from ..model.take import Take

JUMP_S = 1 / 30  # s before and after a moment that are compared
JUMP_REACH_S = 0.5  # s around a jump in which the others are judged with it, and of two the larger counts
JUMPS_TRIED = 3  # jumps of a body that are looked at, the largest
NEXT_JUMP = 3  # number, by size, of the other jump that says how large they get without a step
GROSS_JUMPS = 4.0  # usual jumps from which one says nothing of how joints share them
CHANCE_RATIO = 16.0  # likelihood ratio that the largest of a take has by chance
WITNESS_MIN_RATIO = 18.0  # likelihood ratio of either alone
# Likelihood ratio of both together. Noise correlated over 0.2 to 1 s leaves 45 at most where nothing slipped, and the
# recordings of data, data/more and data/hard 55; of slips of 1 cm in noise correlated over 0.5 s, 31 of 32 have more.
BOTH_MIN_RATIO = 64.0


def find_abrupt_step(
    take: Take, solution: Solution, first: Ints, joints: Sequence[GapSeries], bodies: Sequence[int], edge: int
) -> GapStep | None:
    """The clearest step that level and jump both show.

    first    (b,) first frame of each block of the joints
    bodies   that may have stepped; what is not among them counts as usual
    """
    levels = {body: _level(joints, body) for body in bodies if any(body in joint.bodies for joint in joints)}
    most = [one.ratio[edge : len(one.ratio) - edge].max() for one in levels.values()]
    missing = take.bodies - len(levels)
    floor = max(1.0, float(median(np.array([*most, *[CHANCE_RATIO] * missing]))) / CHANCE_RATIO)
    found = [GapStep(-1, 0, 0.0)]
    for (body, level), ratio in zip(levels.items(), most, strict=True):
        if ratio >= floor * WITNESS_MIN_RATIO:
            found += _match(body, _find_jumps(take, solution, body), level.over(floor), first, edge)
    best = max(found, key=lambda step: step.ratio)
    return best if best.ratio >= BOTH_MIN_RATIO else None


@dataclass(frozen=True, eq=False)
class _Level:
    """Gradient (b, 3), information (b, 3, 3) and likelihood ratio (b,) of a body's step from each block on."""

    gradient: Floats
    information: Floats
    ratio: Floats

    def over(self, floor: float) -> _Level:
        return _Level(self.gradient / floor, self.information / floor, self.ratio / floor)


def _level(joints: Sequence[GapSeries], body: int) -> _Level:
    """All joints of a body together, which share the noise of its sensor and its skin."""
    own = [joint for joint in joints if body in joint.bodies]
    scores = [joint.scores(body) for joint in own]
    gradient, information = (np.sum([one[k] for one in scores], axis=0) for k in range(2))
    left = np.stack([np.einsum("bxr,bx->br", joint.side(body), joint.left).ravel() for joint in own])
    left = left / np.maximum(np.linalg.norm(left, axis=1), 1e-300)[:, None]
    size = np.sqrt(np.maximum([np.trace(one[1], axis1=1, axis2=2) for one in scores], 0.0))  # (J, b)
    shared = np.einsum("jb,jk,kb->b", size, left @ left.T, size) / np.maximum(np.square(size).sum(axis=0), 1e-300)
    shared = np.maximum(shared, 1.0)
    gradient, information = gradient / shared[:, None], information / shared[:, None, None]
    return _Level(gradient, information, likelihood_ratio(gradient, information))


@dataclass(frozen=True, eq=False)
class _Jumps:
    """The largest jumps of a body: frame (k,), step (k, 3) [m] in its axes, information (k,) [1/m^2]."""

    frame: Ints
    step: Floats
    information: Floats


def _find_jumps(take: Take, solution: Solution, body: int) -> _Jumps:
    own = (solution.pairs == body).any(axis=1)
    sign = np.where(solution.pairs[own, 0] == body, 1.0, -1.0)[:, None]  # from the other body's side to its own
    gap = sign * gaps(take, solution.pairs[own], solution.p_child_joint[own], solution.p_parent_joint[own])
    near, reach = max(1, take.count_frames(JUMP_S)), max(2, take.count_frames(JUMP_REACH_S))
    frames, jump = _change(take, body, gap, near)
    known = np.flatnonzero(np.isfinite(jump).all(axis=(1, 2)))
    if len(known) < 2 * reach:
        return _Jumps(np.empty(0, np.int64), np.empty((0, 3)), np.empty(0))
    step, information = _combine(jump[known])
    ratio = np.zeros(take.frames)
    ratio[frames[known]] = information * np.square(step).sum(axis=1)
    ratio = ratio / np.maximum(_usual_around(ratio, near, reach) / 3, 1.0)
    left, peaks = ratio.copy(), []
    for _ in range(JUMPS_TRIED + NEXT_JUMP):
        peaks.append(int(np.argmax(left)))
        left[max(peaks[-1] - reach, 0) : peaks[-1] + reach + 1] = 0.0
    tried = [frame for frame in peaks[:JUMPS_TRIED] if ratio[frame] > 0]
    others = [ratio[[one for one in peaks if one != frame][NEXT_JUMP - 1]] for frame in tried]
    row = np.searchsorted(frames[known], tried)
    worth = ratio[tried] / np.maximum(others, CHANCE_RATIO) * CHANCE_RATIO
    return _Jumps(np.array(tried, dtype=np.int64), step[row], worth / np.square(step[row]).sum(axis=1))


def _change(take: Take, body: int, gap: Floats, near: int) -> tuple[Ints, Floats]:
    """Frames, and (k, J, 3) [m] by how much the mean gap changes there, in the axes of the body; NaN where one of so
    many frames before and after is not seen, or of another recording.
    """
    total = np.concatenate([np.zeros((1, *gap.shape[1:])), np.cumsum(np.where(np.isfinite(gap), gap, 0.0), axis=0)])
    lost = np.concatenate([[0], np.cumsum(~np.isfinite(gap).all(axis=(1, 2)))])
    frames = np.arange(near, take.frames - near)
    change = (total[frames + near] - 2 * total[frames] + total[frames - near]) / near
    whole = lost[frames + near] == lost[frames - near]
    whole &= take.segment[frames + near - 1] == take.segment[frames - near]
    change = np.einsum("nyx,njy->njx", take.R_world_body[frames, body], change)
    return frames, np.where(whole[:, None, None], change, np.nan)


def _combine(jump: Floats) -> tuple[Floats, float]:
    """(k, 3) [m] the step that jumps (k, J, 3) of all joints show together, and its information [1/m^2]."""
    size = np.linalg.norm(jump, axis=2)
    usual = jump[(size <= GROSS_JUMPS * median(size)).all(axis=1)]
    covariance = np.einsum("kax,kbx->ab", usual, usual) / max(3 * len(usual), 1)
    covariance += (1e-6 * np.trace(covariance) + 1e-300) * np.eye(len(covariance))
    weight = np.linalg.solve(covariance, np.ones(len(covariance)))
    return np.einsum("kax,a->kx", jump, weight) / weight.sum(), float(weight.sum())


def _usual_around(ratio: Floats, near: int, reach: int) -> Floats:
    """(n,) mean of the ratios (n,) of the frames around each, before it or after it, whichever is more.

    Those next to it share its frames.
    """
    total, count = (np.concatenate([[0.0], np.cumsum(values)]) for values in (ratio, ratio > 0))
    frame, n = np.arange(len(ratio)), len(ratio)

    def mean(first: Ints, stop: Ints) -> Floats:
        first, stop = np.clip(first, 0, n), np.clip(stop, 0, n)
        return np.asarray((total[stop] - total[first]) / np.maximum(count[stop] - count[first], 1))

    return np.maximum(mean(frame - reach, frame - 2 * near + 1), mean(frame + 2 * near, frame + reach + 1))


def _match(body: int, jumps: _Jumps, level: _Level, first: Ints, edge: int) -> list[GapStep]:
    """The jumps whose step the level shows as well, each by the step that suits both best."""
    found = []
    for frame, step, information in zip(jumps.frame, jumps.step, jumps.information, strict=True):
        inside = int(np.searchsorted(first, frame, side="right")) - 1
        for block in (inside, inside + 1):  # one that the frame begins belongs to the step, one that it divides may
            alone = float(information * step @ step)
            if not edge <= block < len(level.ratio) - edge or min(alone, level.ratio[block]) < WITNESS_MIN_RATIO:
                continue
            both = level.gradient[block] + information * step, level.information[block] + information * np.eye(3)
            found.append(GapStep(body, block, float(likelihood_ratio(*both)), int(frame)))
    return found
