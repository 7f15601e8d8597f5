"""Sensors that moved on their limb during a take: which, when, and how far (paper, section 5).

The size of a gap jumps too little to be seen under cloth and skin. But a slip is a step that stands still in the
sensor's own axes, and it shows at every joint of its body. So each joint's gap is cleared of the joint's own constants
and of all that follows angles and places, and every sensor and moment is tried for a step in what is left, by its
likelihood ratio. A quiet stretch counts for more than a lively one: skin moves while its joint does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..estimate.edge_blocks import CORRELATION_LAG_S, Blocks
from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, distinct
from ..maths.robust import median
from ..maths.spool import copy_array, over_frames, seal
from ..model.skeleton import Slip
from ..model.stage import Change, Decision, Effect
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..pairs.digest import digest_take
from ..pairs.fits import gaps
from ..pairs.outliers import find_steady
from ..prepare.flips import describe_left_flips
from .jumps import find_abrupt_step
from .steps import GapSeries, GapStep, find_step, measure_rigid_steps, measure_step

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate
    from ..estimate.solve import Solution
    from ..model.options import FitOptions

SLIP_MIN_RATIO = 150.0  # likelihood ratio from which a step is a slip
SLIP_MIN_SHARE = 0.01  # of the usual distance between the joined sensors: a lesser step does no harm
# m that a body formed from markers steps by, below which it may be skin between two postures. Takes of data/more with a
# pause before and after them, or two as one, had steps of 1 to 5 mm that passed every other test.
SKIN_MIN_STEP_M = 0.01
# Gaps of its joints (rms, without the step) that such a body steps by at least.
SKIN_MIN_GAPS = 1.5
SLIP_MIN_S = 1.5  # s on either side of a slip, below which it is not told from a pause
JUMP_MIN_SHARE = 0.5  # of how far a gap is away that it goes from one frame to the next, where a tracker errs
MOST_SLIPS = 8  # slips that are told in one take
CREEP_MAX_PAUSE_S = 10.0  # s between steps of one creep: up to 8.4 s where a sensor crept 15 mm in 15 s
CREEP_MIN_COSINE = 0.7  # between their directions
# A step with SLIP_MIN_RATIO makes the gaps of a body with four joints alike by 6 standard errors, however long the take
LOOK_BLOCKS = 40  # blocks of a take for each later one that a block is compared with, those of a second at least
LOOK_MIN_SE = 3.0  # standard errors above which a body is searched
REFINE_ROUNDS = 3  # of fitting the joints and the slips in turn, at most
REFINED_SHARE = 1e-3  # of a slip's size by which a round changes one that is known; the second changes it by 1e-4


def find_slips(
    take: Take, solution: Solution, still: int | None = None, threshold: float = SLIP_MIN_RATIO, most: int = MOST_SLIPS
) -> list[Slip]:
    """Slips of a take's sensors, the clearest first; `solution` are its joints, fitted as if nothing had slipped.

    still  index of a body that is the room itself, which cannot slip
    """
    if not take.timed or not len(solution.pairs):
        return []
    rows = _GapRows.of(take, solution)
    blocks, edge = rows.blocks, max(2, rows.blocks.count_blocks(SLIP_MIN_S))
    if blocks.count < 4 * edge:
        return []
    bodies = [body for body in find_suspects(blocks) if body != still]
    touched = np.flatnonzero(np.isin(blocks.pairs, bodies).any(axis=1)).tolist()
    joints = GapSeries.of_joints(blocks, touched)
    found: list[Slip] = []
    for _ in range(2 * most):
        step = find_step(joints, bodies, edge, threshold)
        step = step or find_abrupt_step(take, solution, rows.first, joints, bodies, edge)
        if step is None or len(found) == most:
            break
        shift = measure_step(joints, step)
        if np.linalg.norm(shift) >= _least_size(take, blocks, step.body):
            frame = step.frame or _moment(take, solution, step.body, rows, step.block, shift)
            name, within = take.names[step.body], rows.first[edge - 1] <= frame <= rows.first[-edge]
            if within and (name, frame) not in [(one.body, one.frame) for one in found]:
                found.append(Slip(name, frame, float(take.time[frame]), shift, np.zeros(3), step.ratio))
        elif not take.markers:
            break
        joints = [joint.with_step(step) for joint in joints]
    return found


def move_back(take: Take, slips: Sequence[Slip]) -> Take:
    """The take as if the sensors had stayed where they were before their slips."""
    if not slips:
        return take
    R, p = copy_array(take.R_world_body), copy_array(take.p_world_body)
    for slip in sorted(slips, key=lambda one: one.frame, reverse=True):  # the last slip is on top of the others
        k, rows = take.index(slip.body), slice(slip.frame, None)
        back = rotation.from_vector(slip.turn).T
        R[rows, k] = over_frames(lambda part, back=back: part @ back, R[rows, k])
        p[rows, k] -= over_frames(lambda part, shift=slip.shift: part @ shift, R[rows, k])
    return replace(take, R_world_body=seal(R), p_world_body=seal(p))


def refine_slips(take: Take, solution: Solution, slips: Sequence[Slip]) -> list[Slip]:
    """The slips with what is left of their steps, displacement and rotation, in joints fitted to the take moved back.

    take   moved back by `slips` already; solution: its joints
    """
    rows = _GapRows.of(take, solution)
    steps = [GapStep(take.index(slip.body), int(np.searchsorted(rows.first, slip.frame)), slip.ratio) for slip in slips]
    touched = np.flatnonzero(np.isin(solution.pairs, [step.body for step in steps]).any(axis=1)).tolist()
    joints = dict(zip(touched, GapSeries.of_joints(rows.blocks, touched), strict=True))
    left = measure_rigid_steps(joints, steps, solution)
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
    moved_back = "its poses from then on were moved back, so that both parts are of one figure"
    done = moved_back if repaired else "its poses are as they were recorded"
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


@dataclass(frozen=True, eq=False)
class _GapRows:
    """The gaps of a take's joints over blocks of its rows, with the first frame of each block (b,)."""

    blocks: Blocks
    first: Ints

    @classmethod
    def of(cls, take: Take, solution: Solution) -> _GapRows:
        """From rows whose gap is not far off its own course."""
        digest = digest_take(take)
        rows = digest.as_take(take)
        steady = _find_course(rows, gaps(rows, *solution.joints))
        blocks = Blocks(rows, replace(solution, weight=steady.astype(np.float64)))
        return cls(blocks, digest.first[blocks.first])


def _find_course(take: Take, gap: Floats) -> Bools:
    """(n, J) where gaps (n, J, 3) are not far off the course of the second around, nor in a stretch of half a second or
    more in which the tracker errs: it jumps there and back within SLIP_MIN_S. Its course is that of an error.
    """
    window = max(take.count_frames(CORRELATION_LAG_S), 5)
    steady, lasting = find_steady(gap, window), _find_lasting(take, gap)
    for k, joint in enumerate(np.swapaxes(gap, 0, 1)):
        edges = np.flatnonzero(np.diff(lasting[:, k])) + 1
        for first, stop in pairwise(edges.tolist()):
            if stop - first >= window // 2 and not lasting[first, k] and _jumps(joint, first, stop):
                steady[first:stop, k] = False
    return steady


def _jumps(gap: Floats, first: int, stop: int) -> bool:
    """Whether a gap (n, 3) goes to where it is for some frames from one frame to the next, and back likewise."""
    before, after = gap[first - 1], gap[stop]
    ends = (gap[first] - before, before), (gap[stop - 1] - after, after)
    away = (np.linalg.norm(gap[first:stop] - level, axis=1) for _, level in ends)
    return all(
        np.linalg.norm(jump) >= JUMP_MIN_SHARE * median(size) for (jump, _), size in zip(ends, away, strict=True)
    )


def _find_lasting(take: Take, gap: Floats) -> Bools:
    """(n, J) where gaps (n, J, 3) are not away for less than SLIP_MIN_S.

    What comes back within that time is the smaller part of every window twice as long, while a step is the larger part
    of one of two that overlap by half, before it as after it.
    """
    half = max(take.count_frames(SLIP_MIN_S), 5)
    lasting = find_steady(gap, 2 * half)
    lasting[half:] |= find_steady(gap[half:], 2 * half)
    return lasting


def find_suspects(blocks: Blocks) -> list[int]:
    """Bodies whose joints' gaps are not white: alike from block to block, or for long, as they are after a step."""
    block, end = np.arange(blocks.count), np.searchsorted(blocks.run, blocks.run, side="right")
    reaches = 1, max(blocks.count_blocks(CORRELATION_LAG_S), blocks.count // LOOK_BLOCKS)
    stops = [np.minimum(block + reach + 1, end) for reach in reaches]
    alike = np.array([_sum_alike(blocks, a, stops) for a in range(len(blocks.pairs))]).T
    bodies = distinct(blocks.pairs)
    own = (blocks.pairs == bodies[:, None, None]).any(axis=2)  # (k, J)
    suspect = np.zeros(len(bodies), dtype=bool)
    for stop, one in zip(stops, alike, strict=True):
        suspect |= np.abs(own @ one) > LOOK_MIN_SE * np.sqrt(3 * (stop - block - 1).sum() * own.sum(axis=1))
    return [int(body) for body in bodies[suspect]]


def _sum_alike(blocks: Blocks, joint: int, stops: Sequence[Ints]) -> list[float]:
    """Products of a joint's gap in each block with those in the blocks behind, up to stops (b,), of as many products of
    unit variance.
    """
    gap = blocks.gap[:, :, joint] * np.sqrt(blocks.weight[:, joint])[:, None]
    gap /= max(float(np.sqrt(np.square(gap).sum() / (3 * blocks.count))), 1e-300)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(gap, axis=0)])
    return [float((gap * (total[stop] - total[1:])).sum()) for stop in stops]


def _least_size(take: Take, blocks: Blocks, body: int) -> float:
    """Size [m] below which a step of a body is no slip that matters, or none that can be told from skin."""
    least = SLIP_MIN_SHARE * _distance(blocks, body)
    return max(least, SKIN_MIN_STEP_M) if _has_markers(take, body) else least


def _has_markers(take: Take, body: int) -> bool:
    return any(marker.body == take.names[body] for marker in take.markers)


def _measure_gap(blocks: Blocks, body: int) -> float:
    """Rms gap [m] of the joints of a body."""
    own = (blocks.pairs == body).any(axis=1)
    weight = blocks.weight[:, own]
    square = (np.square(blocks.gap[:, :, own]).sum(axis=1) * weight).sum() / max(float(weight.sum()), 1e-300)
    return float(np.sqrt(square))


def _distance(blocks: Blocks, body: int) -> float:
    """Usual distance [m] between the sensor and those it is joined to."""
    own = (blocks.pairs == body).any(axis=1)
    return float(median(np.linalg.norm(blocks.arm[:, own], axis=2).ravel()))


def _moment(take: Take, solution: Solution, body: int, blocks: _GapRows, block: int, shift: Floats) -> int:
    """The frame around a step's block before which the gaps fit without it, and from which on with it."""
    near, reach = int(blocks.first[block]), 2 * max(1, take.count_frames(blocks.blocks.step))
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
    at_border: bool = False

    @property
    def bodies(self) -> tuple[str, ...]:
        return (self.slips[0].body,)

    @property
    def first(self) -> int:
        return self.slips[0].frame

    @property
    def size(self) -> float:
        return float(np.linalg.norm(np.sum([slip.shift for slip in self.slips], axis=0)))

    @property
    def suspicion(self) -> str:
        slip = self.slips[0]
        return f"{slip.body}: perhaps moved {1000 * self.size:.3g} mm on its body at {slip.time:.1f} s"

    def apply(self, take: Take) -> Take:
        return move_back(take, self.slips)

    def describe(self) -> list[Finding]:
        return describe_slips(self.slips, repaired=True)


def repair_slips(
    estimate: Estimate, options: FitOptions, refused: Sequence[Change] = (), rounds: int = REFINE_ROUNDS
) -> Decision:
    """The stage of it; slips that were refused are not proposed again, and the others are found without them.

    rounds  of fitting the joints and the slips in turn, at most
    """
    take = estimate.take
    mirrored = [] if options.puts_flips_right else describe_left_flips(take)
    if mirrored:
        return Decision(mirrored)
    slips = search_once(take, estimate.solution, take.names.index(WORLD) if options.world else None)
    no = {(one.body, one.frame) for change in refused if isinstance(change, SlipRepair) for one in change.slips}
    slips = [one for one in slips if (one.body, one.frame) not in no]
    if not options.fixes("slips"):
        return Decision(describe_slips(slips, repaired=False))
    for _ in range(rounds):
        before = slips
        if slips:
            back = estimate.refit(move_back(take, slips))
            slips = _above_share(back.take, back.solution, refine_slips(back.take, back.solution, slips))
        if _are_known(before, slips):
            break
    return Decision(changes=[SlipRepair(group) for group in group_creeping(slips)])


_searched: WeakKeyDictionary[Solution, list[Slip]] = WeakKeyDictionary()


def search_once(take: Take, solution: Solution, still: int | None) -> list[Slip]:
    """The slips of a solution, searched for once: it is the same after a repair that was refused."""
    if solution not in _searched:
        _searched[solution] = find_slips(take, solution, still)
    return _searched[solution]


def _are_known(before: Sequence[Slip], slips: Sequence[Slip]) -> bool:
    """Whether a round changed next to nothing."""
    if [one.body for one in before] != [one.body for one in slips]:
        return False
    moves = [(one.shift, other.shift) for one, other in zip(before, slips, strict=True)]
    moves += [(one.turn, other.turn) for one, other in zip(before, slips, strict=True)]
    return all(np.linalg.norm(one - other) <= REFINED_SHARE * np.linalg.norm(other) for one, other in moves)


def _above_share(take: Take, solution: Solution, slips: Sequence[Slip]) -> list[Slip]:
    """The slips without those of which little is left when the joints are fitted anew: it was the joint, not the sensor
    that was elsewhere; and without those of bodies of markers that step by little more than their joints come apart.

    take   moved back by the slips as they were known before; solution: its joints
    """
    blocks, kept = _GapRows.of(take, solution).blocks, list[Slip]()
    for change in (SlipRepair(group) for group in group_creeping(slips)):
        body = take.index(change.bodies[0])
        least = _least_size(take, blocks, body)
        if _has_markers(take, body):
            least = max(least, SKIN_MIN_GAPS * _measure_gap(blocks, body))
        if change.size >= least:
            kept += change.slips
    return [slip for slip in slips if slip in kept]
