"""Whether a repair is worth it: the figure fitted before and after, compared where it was touched.

The squared gap of every touched joint is taken second by second, by its median, so that a spike counts no more than its
second. What a repair changes is judged against how much those seconds differ among themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.series import block_medians, block_starts, correlated_square_sum
from ..maths.spool import hide, over_frames
from ..model.options import FitOptions
from ..model.stage import Change, Decision, Proof, apply_changes, describe_change
from ..model.take import Take
from ..pairs.fits import fit_pairs, gaps, measure_distances
from ..pairs.outliers import find_rest
from .fitting import Estimate

# Chosen so that the true slips, delays, exchanges and part-time joints of tests/goldens/simulated.json are kept and the
# slips that nobody saw in data/more and data/hard are refused; none was tuned further.
PROOF_BLOCK_S = 1.0  # s over which a gap is summed up
PROOF_MIN_BLOCKS = 10  # however short the stretch is that a repair touches
BORDER_MARGIN_S = 0.5  # s around the begin of a repair that must lie in one segment
# Of the take that a joint rests, from which on its rests are judged apart: 0.75 in a run followed by a static trial of
# data/more, where a slip was told that nobody had.
LONG_REST_MIN_SHARE = 0.5
MOTION_MIN_TIMES = 2.0  # gap in motion over that at rest, from which on it is skin that moves; of noise alone 1
# One of two measures of the gaps of all touched joints must fall. What a repair was found by says that it is
# no chance; the gaps hold all that skin and fields do as well. Their ratio falls by 1.1 and more for each of 217 true
# slips of 1 cm in bent fields and under skin (seeds from 20000), for 5 of them the mean by less than 2. Few seconds of
# bursts carry the mean: of 245 takes with bursts and no slip one falls by 1.3, its ratio by 0.6.
PROOF_MIN_GAIN_SD = 2.0  # standard errors by which the mean of the squared gaps must fall
PROOF_MIN_FALL_SD = 1.0  # standard errors by which their ratio, second by second, must fall
LEFT_OUT_MIN_RATIO = 3.0  # gap of poses that are left out over that of the rest, at least
LEFT_OUT_MAX_SHARE = 0.95  # of a body's poses that may be left out
GAP_ROUNDING_SHARE = 1e-6  # of the distance between joined sensors: gaps below it are alike
MOST_REFUSALS = 8  # changes of one stage, after which it is not asked again

FigureStage = Callable[[Estimate, FitOptions, Sequence[Change]], Decision]  # with the changes of its that were refused
BeforeAfter = tuple[Floats, Floats]


def carry_out(
    stage: FigureStage, estimate: Estimate, options: FitOptions
) -> tuple[Estimate, list[Change], list[Change], list[Finding]]:
    """The estimate after a stage, the changes that were kept, those that were refused, and what is to be said. Where
    one of its changes is refused the stage is asked again without it, since the others may look different then.
    """
    refused: list[Change] = []
    reasons: list[Finding] = []
    while True:
        decision = stage(estimate, options, refused)
        after, kept, told = keep_proved(estimate, decision.changes)
        again = [one for one in decision.changes if one not in kept]
        if not again or len(refused) > MOST_REFUSALS:
            return after, kept, [*refused, *again], [*decision.findings, *reasons, *told]
        refused += again
        reasons += [finding for finding in told if finding.code == "repair-not-kept"]


def keep_proved(before: Estimate, changes: Sequence[Change]) -> tuple[Estimate, list[Change], list[Finding]]:
    """The estimate with those of the changes that prove themselves, one after the other; they, and what to say."""
    estimate, kept, told = before, list[Change](), list[tuple[int, Finding]]()
    for change in changes:
        take = apply_changes(before.take, [*kept, change])
        hold = tuple((take.index(a), take.index(b)) for one in (*kept, change) for a, b in one.hold)
        after = estimate if take is estimate.take else before.refit(take, hold)
        free = change.effect == "reading" or after is estimate
        proof = Proof(0.0, 0.0) if free else prove(estimate, after, change)
        told += [(change.first, finding) for finding in describe_change(change, proof)]
        if proof.kept:
            estimate = after
            kept.append(change)
    return estimate, kept, [finding for _, finding in sorted(told, key=lambda one: one[0])]


def prove(before: Estimate, after: Estimate, change: Change) -> Proof:
    """What a change did to the joints of the bodies it touched, by the tree after it."""
    touched = _find_touched(after, change.bodies)
    pairs = after.pairs[touched]
    if not len(pairs):
        return Proof(0.0, 0.0, "" if change.effect == "leaves out" else "none of its bodies has a joint to tell by")
    old, new = _gaps_before(before, pairs), after.gap[:, touched]
    apart = over_frames(lambda *two: ~np.isfinite(sum(np.einsum("nki->nk", gap) for gap in two)), old, new)
    old, new = (hide(gap, apart) for gap in (old, new))
    was, now = (_block_squares(after.take, gap) for gap in (old, new))
    sizes = [float(np.sqrt(_mean(one))) for one in (was, now)]
    own = _too_large(after, change) if change.effect == "moves" else _not_apart(before, after, change, touched)
    bordering = not change.at_border and lies_at_border(after.take, change.first)
    border = "it lies at the border of two recordings" if bordering else ""
    reason = _find_lost_joint(before, after) or border or own
    reason = reason or _find_objection(before, after, change, pairs, (old, new), (was, now))
    if not reason and (rest := _find_long_rest(after.take, pairs, new, change.first)).any():
        hidden = np.broadcast_to(rest[:, None], old.shape[:2])
        old, new = (hide(gap, hidden) for gap in (old, new))
        was, now = (_block_squares(after.take, gap) for gap in (old, new))
        reason = _find_objection(before, after, change, pairs, (old, new), (was, now))
    return Proof(sizes[0], sizes[1], reason)


def _find_objection(
    before: Estimate, after: Estimate, change: Change, pairs: Ints, gap: BeforeAfter, square: BeforeAfter
) -> str:
    """Why gaps (n, k, 3) [m] of the pairs before and after do not speak for a change; "" where they do.

    square   (b, k) [m^2] of the gaps, see `_block_squares`
    """
    gain = _no_gain(before, after, pairs, gap, square) if change.effect == "moves" else ""
    return gain or _worse_joint(after, pairs, *square)


def _find_long_rest(take: Take, pairs: Ints, gap: Floats, first: int) -> Bools:
    """(n,) where all these joints rest, but for the first second of each rest and from a change's first frame on, if
    gaps (n, k, 3) [m] are larger in motion: the seconds of one pose tell one and the same thing of skin, however long
    it is held.
    """
    rest, second = np.asarray(find_rest(take, pairs).all(axis=1)), take.count_frames(PROOF_BLOCK_S)
    if not second or rest.mean() < LONG_REST_MIN_SHARE:
        return np.zeros_like(rest)
    square = over_frames(lambda part: _mean(np.einsum("nki,nki->nk", part, part), axis=1), gap)
    still, moving = (float(median(square[rows])) for rows in (rest, ~rest))
    if moving <= MOTION_MIN_TIMES**2 * still:
        return np.zeros_like(rest)
    long = rest.copy()
    long[:second] = False
    long[second:] &= rest[:-second] & (take.segment[second:] == take.segment[:-second])
    long[first : first + second] = False
    return long


def _find_touched(estimate: Estimate, bodies: tuple[str, ...]) -> Ints:
    """Joints of these bodies, by their number."""
    index = [estimate.take.index(name) for name in bodies if name in estimate.take.names]
    return np.flatnonzero(np.isin(estimate.pairs, index).any(axis=1))


def _gaps_before(before: Estimate, pairs: Ints) -> Floats:
    """(n, k, 3) [m] gaps of the pairs in the take before: at the joints it had, or at their own where it had none."""
    fits = fit_pairs(before.structure.sums, pairs)
    c, l = fits.p_child_joint.copy(), fits.p_parent_joint.copy()
    known = {tuple(pair): k for k, pair in enumerate(before.pairs.tolist())}
    solution = before.solution
    for k, (i, j) in enumerate(pairs.tolist()):
        if (i, j) in known:
            c[k], l[k] = solution.p_child_joint[known[i, j]], solution.p_parent_joint[known[i, j]]
        elif (j, i) in known:
            c[k], l[k] = solution.p_parent_joint[known[j, i]], solution.p_child_joint[known[j, i]]
    return gaps(before.take, pairs, c, l)


def _block_squares(take: Take, gap: Floats) -> Floats:
    """(b, k) [m^2] median squared gap (n, k, 3) of blocks of time: a second, or less where little is known."""
    square = over_frames(lambda part: np.einsum("nki,nki->nk", part, part), gap)
    known = int(np.isfinite(square).any(axis=1).sum())
    size = min(take.count_frames(PROOF_BLOCK_S) or known, known // PROOF_MIN_BLOCKS)
    return block_medians(square, block_starts(take.segment, max(1, size)))


def _mean(values: Floats, axis: int | None = None) -> Floats:
    """Mean of what is known; 0 where nothing is."""
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / np.maximum(known.sum(axis=axis), 1))


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean of what changes slowly over blocks (b,), and its standard error; NaN is left out."""
    values = values[np.isfinite(values)]
    if len(values) < 3:
        return float(values.mean()) if len(values) else 0.0, np.inf
    return float(values.mean()), float(np.sqrt(correlated_square_sum(values)) / len(values))


def _find_lost_joint(before: Estimate, after: Estimate) -> str:
    if len(after.pairs) >= len(before.pairs):
        return ""
    left = {frozenset(pair) for pair in after.pairs.tolist()}
    child, parent = next(pair for pair in before.pairs.tolist() if frozenset(pair) not in left)
    return f"the joint of {before.take.names[child]} and {before.take.names[parent]} would be lost"


def _worse_joint(after: Estimate, pairs: Ints, was: Floats, now: Floats) -> str:
    rounding = (GAP_ROUNDING_SHARE * measure_distances(after.take, pairs)) ** 2
    for k, (i, j) in enumerate(pairs.tolist()):
        change, error = mean_and_error(now[:, k] - was[:, k])[0], mean_and_error(was[:, k])[1]
        if change > error + rounding[k]:
            sizes = (float(np.sqrt(_mean(one[:, k]))) for one in (was, now))
            told = " instead of ".join(f"{1000 * size:.2g} mm" for size in reversed(tuple(sizes)))
            return f"{after.take.names[i]} and {after.take.names[j]} would come apart by {told}"
    return ""


def _no_gain(before: Estimate, after: Estimate, pairs: Ints, gap: BeforeAfter, square: BeforeAfter) -> str:
    """The joints come apart less over the whole take and where poses were moved, or in the rest where that is shorter,
    in one of the two by more than chance: a step in the middle is shared by both halves before, a short stretch on
    either side of one hardly shows in the whole. What makes quiet seconds quieter and the mean larger in both is skin
    that is elsewhere in two postures.
    """
    one, two = before.take, after.take
    moved = over_frames(lambda a, b: (a != b).any(axis=2), one.p_world_body, two.p_world_body)
    moved |= over_frames(lambda a, b: (a != b).any(axis=(2, 3)), one.R_world_body, two.R_world_body)
    both = np.asarray(one.seen[:, pairs].all(axis=2) & two.seen[:, pairs].all(axis=2))
    there: Bools = np.asarray(moved[:, pairs].any(axis=2) & both)
    if 0.5 < there.sum() / max(both.sum(), 1) < 1:
        there = both & ~there
    floor = np.maximum((GAP_ROUNDING_SHARE * measure_distances(after.take, pairs)) ** 2, 1e-200)  # twins are 0 m apart
    sure, worse, less = False, False, False
    inside = tuple(_block_squares(two, hide(one, ~there)) for one in gap)
    for was, now in (square, inside):
        known = np.isfinite(was).any(axis=1)
        usual = _mean(was, axis=0) + floor
        mean, ratio = (now - was) / usual, np.log((now + floor) / (was + floor))
        less |= float(_mean(mean[known])) < 0
        for fall, least in ((mean, PROOF_MIN_GAIN_SD), (ratio, PROOF_MIN_FALL_SD)):
            change, error = mean_and_error(_mean(fall[known], axis=1))
            sure |= change < -least * error
            worse |= change > error
    return "" if sure and less and not worse else "its joints would come apart as much as before"


def _too_large(after: Estimate, change: Change) -> str:
    largest = float(measure_distances(after.take, after.pairs).max(initial=0.0))
    if change.size is None or change.size <= largest:
        return ""
    return f"{change.size:.2g} m is more than the largest distance between joined sensors, {largest:.2g} m"


def lies_at_border(take: Take, first: int) -> bool:
    """Whether a repair from this frame on could not be told from another segment; from the first frame on it can."""
    reach = max(1, take.count_frames(BORDER_MARGIN_S))
    around = take.segment[max(first - reach, 0) : first + reach]
    return first > 0 and bool((around != around[0]).any())


def _not_apart(before: Estimate, after: Estimate, change: Change, touched: Ints) -> str:
    """Poses that are left out, judged by joints fitted without them, are apart by many times what the rest is."""
    take, pairs, solution = before.take, after.pairs[touched], after.solution
    out: Bools = before.take.seen & ~after.take.seen
    gap = gaps(take, pairs, solution.p_child_joint[touched], solution.p_parent_joint[touched])
    size = over_frames(lambda part: np.sqrt(np.einsum("nki,nki->nk", part, part)), gap)
    rest = hide(size, over_frames(lambda part: ~np.isfinite(part[:, touched]).all(axis=2), after.gap))
    left = hide(size, np.logical_not(out[:, pairs].any(axis=2)))
    usual = np.maximum(median(rest), GAP_ROUNDING_SHARE * measure_distances(take, pairs))
    ratio = float((median(left) / np.maximum(usual, 1e-150)).max())  # of sensors that sit on one point
    if ratio < LEFT_OUT_MIN_RATIO:
        return f"its joints are apart there only {ratio:.1f} times as far as elsewhere"
    index = [take.index(name) for name in change.bodies]
    share = float((out[:, index].sum(axis=0) / np.maximum(take.seen[:, index].sum(axis=0), 1)).max())
    return "" if share <= LEFT_OUT_MAX_SHARE else f"{share:.0%} of its poses would be left out"
