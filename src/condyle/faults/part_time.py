"""Joints of the tree that hold for a part of a take only: a prop that is put down, a hand that lets go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..estimate.solve import solve_together
from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import distinct
from ..maths.robust import median
from ..maths.series import block_medians, block_starts, find_runs, segment_slices
from ..maths.spool import over_frames
from ..model.stage import Change, Decision, Effect
from ..model.values import dataclass
from ..pairs.digest import digest_take
from ..pairs.fits import fit_pairs, gaps, measure_distances
from ..pairs.sums import sum_pairs
from .connections import find_connections, find_lasting

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate
    from ..estimate.solve import Solution
    from ..maths.arrays import Bools, Floats, Ints
    from ..model.options import FitOptions
    from ..model.take import Take

GAP_BLOCK_S = 0.5  # s over which the usual gap is taken
APART_MIN_S = 1.0  # s for which a joint comes apart at least; less is an outlier
APART_MIN_GAPS = 6.0  # usual gaps of the joint, from which it has come apart
APART_MIN_SHARE = 0.3  # gap over the distance between the sensors, or the usual one, from which it has come apart
TRUSTED_MIN_WEIGHT = 0.3  # weight from which the fit trusts a block
# Gap over the sensors' distance up to which it may be skin that moves as its joint turns: 3 cm rms of it in simulated
# exercise leave 0.8; what was put down or let go is soon farther off.
SKIN_MAX_SHARE = 1.0
# Growth of such a gap over that of the turn, from the usual ones: there 0.9 to 1.6.
SKIN_MAX_GROWTH = 3.0
# A joint that turns less as a rule is a grip, and has no skin that follows its turn; noise of sensors is 0.5 deg.
GRIP_MAX_TURN_RAD = np.radians(2.0)


@dataclass(frozen=True, eq=False)
class PartTime:
    """A joint, named by child and parent, that holds for a part of the take.

    holds       (n,) frames in which it does
    times       [s]  (start, end) of the stretches in which it does
    gap, usual  [m]  how far it is apart elsewhere, and there
    leaf        name of the one of the two that has no other joint, if one has none
    """

    child: str
    parent: str
    holds: Bools
    times: tuple[tuple[float, float], ...]
    gap: float
    usual: float
    leaf: str | None

    @property
    def longest(self) -> tuple[float, float]:
        """(start, end) [s] of the longest stretch in which it holds."""
        return max(self.times, key=lambda time: time[1] - time[0])


def find_part_time(take: Take, solution: Solution, gap: Floats, good: Bools) -> list[PartTime]:
    """Joints that come apart for a second or more; gap (n, J, 3) [m] is what the solution leaves.

    A sensor whose joints all come apart at once is off by itself, and a joint that holds at another place has slipped:
    both are left to others to tell. A sensor with one joint only cannot be told from a joint that comes apart.

    good   (n, m) poses to trust
    """
    if not take.timed or not np.isfinite(take.rate) or not len(solution.pairs):
        return []
    first = _cut_blocks(take)
    size, level = _block_gaps(take, gap)
    weight = np.add.reduceat(np.asarray(solution.frame_weight), first, axis=0)
    trusted = weight > TRUSTED_MIN_WEIGHT * np.diff([*first, take.frames])[:, None]
    usual = median(np.where(trusted, level, np.nan))
    far = APART_MIN_SHARE * _usual_distances(take, solution.pairs)
    with np.errstate(invalid="ignore"):
        apart = level > np.maximum(APART_MIN_GAPS * usual, far)
        never = usual > far  # a joint that holds for the lesser part has not been fitted where it does
    apart &= ~_sensors_off(apart, np.isfinite(level), solution.pairs)
    found: list[PartTime] = []
    for a in np.flatnonzero(apart.any(axis=0) | never):
        pair = solution.pairs[a]
        flags = apart[:, a] | never[a]
        runs = [_frames(take, first, run) for run in _runs(flags, take.segment[first])]
        runs = [run for run in runs if take.time[run[1] - 1] - take.time[run[0]] >= APART_MIN_S]
        if not never[a]:
            distance = far[a] / APART_MIN_SHARE
            runs = [run for run in runs if _comes_apart(take, pair, run, size[:, a], usual[a], distance)]
        if runs:
            holds = ~np.repeat(flags, np.diff([*first, take.frames])) & np.isfinite(size[:, a])
            one = _part_time(take, solution, int(a), runs, size[:, a], holds, good)
            found += [one] if one.holds.any() else []
    return found


def describe_part_time(joints: Sequence[PartTime], repaired: bool = True) -> list[Finding]:
    """What to say of them."""
    found = []
    fitted = ", and was fitted there" if repaired else ""
    for one in joints:
        times = " and ".join(f"from {start:.1f} to {end:.1f} s" for start, end in one.times)
        text = (
            f"{one.child}: its joint with {one.parent} holds {times} only{fitted}; else they are apart, "
            f"by {1000 * one.gap:.0f} mm where {1000 * one.usual:.2g} mm are usual: put down, let go, or a sensor that "
            "came off?"
        )
        first, count = int(np.argmax(one.holds)), int(one.holds.sum())
        ends = (one.child, one.parent)
        found.append(
            Finding("part-time-joint", "warning", text, ends, one.longest, one.gap, "m", frame=first, count=count)
        )
    return found


def find_hidden(take: Take, joints: Sequence[PartTime]) -> Bools:
    """(n, m) poses of sensors with one joint only, while it does not hold: nothing can be fitted to them."""
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    for one in joints:
        if one.leaf is not None:
            out[~one.holds, take.index(one.leaf)] = True
    return out


def _part_time(
    take: Take, solution: Solution, a: int, runs: Sequence[tuple[int, int]], size: Floats, holds: Bools, good: Bools
) -> PartTime:
    """One joint; `holds` (n,) as the blocks tell it, where nothing tells better."""
    pair = solution.pairs[a]
    count = [int((solution.pairs == body).sum()) for body in pair]
    others = np.delete(solution.pairs, a, axis=0)
    contacts = find_connections(take, others, good=good, only=(int(pair[0]), int(pair[1])))
    if contacts:
        holds = np.zeros(take.frames, dtype=bool)
        for contact in contacts:
            holds[contact.first : contact.stop] = True
    stretches = _runs(holds, take.segment)
    times = tuple((float(take.time[first]), float(take.time[stop - 1])) for first, stop in stretches)
    far = np.concatenate([size[first:stop] for first, stop in runs])
    leaf = next((take.names[body] for body, joints in zip(pair, count, strict=True) if joints == 1), None)
    near = size[holds & np.isfinite(size)]
    if contacts:
        far, usual = size[~holds & np.isfinite(size)], float(max(contact.gap for contact in contacts))
    else:
        usual = float(median(near)) if len(near) else 0.0
    names = take.names[pair[0]], take.names[pair[1]]
    return PartTime(*names, holds, times, float(median(far[np.isfinite(far)])), usual, leaf)


def _find_far(estimate: Estimate) -> Bools:
    """(J,) joints that are far apart for a while: no other can hold for a part of the take only."""
    take = estimate.take
    if not take.timed or not np.isfinite(take.rate):
        return np.zeros(len(estimate.pairs), dtype=bool)
    take = digest_take(take).as_take(take)  # medians of half a second are the same in rows
    gap = gaps(take, *estimate.solution.joints)
    with np.errstate(invalid="ignore"):
        apart = _block_gaps(take, gap)[1] > APART_MIN_SHARE * _usual_distances(take, estimate.pairs)
    return np.asarray(apart.any(axis=0))


def _weigh_by_size(estimate: Estimate, far: Bools) -> tuple[Solution, Floats]:
    """The joints and their gaps (n, J, 3) [m], those that are `far` apart (J,) weighed by the size of their gaps.

    What comes apart slowly is no outlier to the estimator, and draws the joint away from where it holds.
    """
    if not estimate.solution.together:
        return estimate.solution, estimate.gap
    take, fits, noise = estimate.take, estimate.fits, estimate.structure.noise
    solution = solve_together(take, fits, noise, held=~fits.determined, tukey=far)
    return solution, gaps(take, *solution.joints)


def _block_gaps(take: Take, gap: Floats) -> tuple[Floats, Floats]:
    """(n, J) [m] lengths of gaps (n, J, 3), and (b, J) [m] their medians in blocks of time."""
    size = over_frames(lambda part: np.sqrt(np.einsum("nji,nji->nj", part, part)), gap)
    return size, block_medians(size, _cut_blocks(take))


def _cut_blocks(take: Take) -> Ints:
    """First frames of the blocks over which the usual gap is taken."""
    return block_starts(take.segment, max(1, take.count_frames(GAP_BLOCK_S)))


def _usual_distances(take: Take, pairs: Ints) -> Floats:
    """(J,) [m] between the sensors of each joint, the usual one of all joints at least."""
    apart = measure_distances(take, pairs)
    return np.asarray(np.maximum(apart, median(apart)))


def _comes_apart(take: Take, pair: Ints, run: tuple[int, int], size: Floats, usual: float, distance: float) -> bool:
    """Whether a pair with gaps `size` (n,) [m] has no joint in a stretch; where one only moved to another place, or the
    gap grows as skin's does that moves when its joint turns, it has.
    """
    names, inside = [take.names[body] for body in pair], slice(*run)
    own = float(np.nan_to_num(fit_pairs(sum_pairs(take.slice(*run).select(names))).residual[0]))
    if own <= APART_MIN_GAPS / 2 * usual:
        return False
    if np.nanmax(size[inside]) > SKIN_MAX_SHARE * distance:
        return True
    turn = np.swapaxes(take.R_world_body[:, pair[0]], 1, 2) @ take.R_world_body[:, pair[1]]
    outside = np.ones(take.frames, dtype=bool)
    outside[inside] = False
    before = _measure_spread(turn[outside])
    return before < GRIP_MAX_TURN_RAD or own * before > SKIN_MAX_GROWTH * usual * _measure_spread(turn[inside])


def _measure_spread(turn: Floats) -> float:
    """[rad] usual angle of rotations (n, 3, 3) from the mean of them."""
    known = turn[np.isfinite(turn).all(axis=(1, 2))]
    if not len(known):
        return 0.0
    return float(median(rotation.angle(rotation.mean(known).T @ known)))


def _frames(take: Take, first: Ints, run: tuple[int, int]) -> tuple[int, int]:
    """Frames of a run of blocks."""
    return int(first[run[0]]), int(first[run[1]]) if run[1] < len(first) else take.frames


def _sensors_off(apart: Bools, known: Bools, pairs: Ints) -> Bools:
    """(b, J) joints of a body that has several, all of which are apart."""
    off = np.zeros_like(apart)
    for body in distinct(pairs):
        own = (pairs == body).any(axis=1)
        if own.sum() > 1:
            all_apart = (apart[:, own] | ~known[:, own]).all(axis=1) & (apart[:, own].sum(axis=1) > 1)
            off[np.ix_(all_apart, own)] = True
    return off


def _runs(flags: Bools, segment: Ints) -> list[tuple[int, int]]:
    """(first, stop) of the runs of True within segments."""
    return [
        (start + part.start, start + part.stop)
        for start, stop in find_runs(flags)
        for part in segment_slices(segment[start:stop])
    ]


@dataclass(frozen=True, eq=False)
class PartTimeRepair:
    """A sensor whose only joint holds for a part of the take, left out elsewhere."""

    joint: PartTime
    repair: str = "part-time"
    effect: Effect = "leaves out"
    size: float | None = None
    at_border: bool = False

    @property
    def bodies(self) -> tuple[str, ...]:
        return () if self.joint.leaf is None else (self.joint.leaf,)

    @property
    def first(self) -> int:
        return int(np.argmin(self.joint.holds))

    @property
    def hold(self) -> tuple[tuple[str, str], ...]:
        return ((self.joint.parent, self.joint.child),)

    @property
    def suspicion(self) -> str:
        return f"{self.joint.child}: its joint with {self.joint.parent} may hold for a part of the take only"

    def apply(self, take: Take) -> Take:
        left_out = find_hidden(take, [self.joint])
        return take.mask(left_out) if left_out.any() else take

    def describe(self) -> list[Finding]:
        return describe_part_time([self.joint])


def leave_out_part_time(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of it."""
    if not len(estimate.pairs):
        return Decision()
    far = _find_far(estimate)
    if not far.any():
        return Decision()
    no = {one.hold for one in refused}
    good = find_lasting(estimate.take, estimate.structure.good)
    found = find_part_time(estimate.take, *_weigh_by_size(estimate, far), good)
    if not options.fixes("part-time"):
        return Decision(describe_part_time(found, repaired=False))
    changes = [PartTimeRepair(one) for one in found]
    return Decision(changes=[one for one in changes if one.hold not in no])
