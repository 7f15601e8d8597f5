"""Outliers among gaps: how large a joint's gap usually is, which gaps lie beyond, and whose poses those are.

Every rule is a number of robust standard deviations: of the take, of a lively stretch, or of the gap's own course.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly_seen, hardly_seen, norm_rows
from ..maths.robust import CHI3_MEDIAN, median, tukey_weight
from ..maths.series import cut_blocks, find_runs
from ..maths.spool import POSE_BYTES, blocks_of, empty, over_frames

if TYPE_CHECKING:
    from ..model.take import Take
    from .rows import FrameWeights

Steps = Callable[[int, float, Ints, Ints], Floats]  # joint, its scale [m], rows before and after: see `RowTake.steps`
ROUNDING_M = 1e-12  # gaps of exact data, which are no outliers of each other
FAINT_GAP_SHARE = 1e-4  # of the largest gap: smaller ones count as this
TUKEY_SD = 5.0  # robust standard deviations at which a gap stops counting
GROSS_SD = 10.0  # robust standard deviations beyond which a pose is left out of the search for the tree
STEADY_SD = 5.0  # robust standard deviations from the gap's own course beyond which a frame is no part of it
LIVELY_S = 1.0  # a stretch, judged with its neighbours, that may have a scale of its own
LIVELY_MAX_LIFT = 3.0  # times the overall scale up to which a lively stretch may raise its own
MEDIAN_FRAMES = 2000  # that a median is taken over
# Rms turn of a joint about its mean within LIVELY_S, over that in the whole take, below which it rests. People who
# stand (15 takes of data/more) sway by 0.1 to 0.8 deg, where the same joints have 5 to 20 deg in motion.
RESTING_TURN_MAX_SHARE = 0.1
# Of the rows, from which on the median of all is below the lower third of those in motion; chosen by that, and tried on
# the takes of tests/real/test_rest.py.
REST_MIN_SHARE = 0.25
OUTLIER_SHARE = 1e-3  # of the frames beyond TUKEY_SD: a Gaussian leaves 1.5e-5 there
ABRUPT_STEP_SHARE = 0.5  # of the bar: a change from one frame to the next by which an outlier comes and goes
ABRUPT_SHARE = 0.5  # of a joint's gaps beyond the bar that are abrupt where it has outliers
OUTLIER_MIN_COUNT = 2.0  # frames beyond TUKEY_SD that tell nothing, however few there are


def measure_gaps(gap: Floats, base_weight: Floats | None = None) -> Floats:
    """(n, J) [m] lengths of gaps (3, n, J), as long as they would be where the noise is the usual one."""

    def measure(part: Floats, weight: Floats | None = None) -> Floats:
        length = np.sqrt(np.square(part.transpose(1, 0, 2)).sum(axis=0))
        length[length < ROUNDING_M] = 0.0
        return np.asarray(length if weight is None else length * np.sqrt(weight))

    frames = gap.transpose(1, 0, 2)
    return over_frames(measure, frames) if base_weight is None else over_frames(measure, frames, base_weight)


def estimate_scales(length: Floats, seen: Bools) -> Floats:
    """(J,) [m] robust per axis size of each joint's gap lengths (n, J) over the take."""
    part = _spread_frames(seen)
    return _robust_size(np.where(seen[part], length[part], np.nan))


def lift_scales(scale: Floats, length: Floats, seen: Bools, rest: Bools, joints: Ints) -> None:
    """Lifts the scales (J,) [m] of those of some joints (P,) that rest (n, P) for long to those of their motion."""
    part = _spread_frames(seen)
    seen, still = seen[part][:, joints], rest[part]
    long = (still & seen).sum(axis=0) >= REST_MIN_SHARE * np.maximum(seen.sum(axis=0), 1)
    if long.any():
        own, moving = joints[long], (seen & ~still)[:, long]
        scale[own] = np.maximum(scale[own], _robust_size(np.where(moving, length[part][:, own], np.nan)))


def _spread_frames(seen: Bools) -> slice | Ints:
    """Frames spread over a take in which joints are seen (n, J); a slice copies nothing."""
    part = slice(None, None, max(1, len(seen) // MEDIAN_FRAMES))
    return evenly_seen(seen, MEDIAN_FRAMES) if hardly_seen(seen, part) else part


def _robust_size(length: Floats) -> Floats:
    """(J,) [m] per axis size of gap lengths (n, J), those that are no numbers left out."""
    return np.maximum(median(length) / CHI3_MEDIAN, 1e-300)


def find_rest(take: Take, pairs: Ints) -> Bools:
    """(n, J) where the joint of a pair (J, 2) hardly turns for a second.

    What its gap is then tells nothing of the gap in motion, which skin and a wandering centre make: of a person who
    stood for most of a take all motion would be an outlier.
    """
    window, n, (i, j) = take.count_frames(LIVELY_S), take.frames, pairs.T
    out = np.zeros((n, len(pairs)), dtype=bool)
    if not 0 < 2 * window <= n:
        return out
    first = np.arange(0, n, window)
    total, count = np.empty((len(first), len(pairs), 9)), np.empty((len(first), len(pairs)), dtype=np.int64)
    for some in blocks_of(len(first), 3 * POSE_BYTES * window * len(pairs)):
        rows = slice(int(first[some.start]), min(int(first[some.stop - 1]) + window, n))
        R, known = take.R_world_body[rows], take.seen[rows][:, i] & take.seen[rows][:, j]
        turn = np.swapaxes(R[:, i], 2, 3) @ R[:, j]
        turn = (turn if known.all() else np.where(known[..., None, None], turn, 0.0)).reshape(len(R), -1, 9)
        total[some] = np.add.reduceat(turn, first[some] - rows.start, axis=0)
        count[some] = np.add.reduceat(known, first[some] - rows.start, axis=0, dtype=np.int64)
    spread, whole = _measure_spread(total, count), _measure_spread(total.sum(axis=0), count.sum(axis=0))
    still = (spread < RESTING_TURN_MAX_SHARE**2 * whole) & (2 * count >= window)
    out[:] = np.repeat(still, np.diff(np.append(first, n)), axis=0)
    return out


def _measure_spread(total: Floats, count: Ints) -> Floats:
    """(...) [rad^2] about twice the mean square turn of rotations about their mean, from sums of them (..., 9)."""
    return np.asarray(3 - np.square(total).sum(axis=-1) / np.maximum(count, 1) ** 2)


def estimate_bar(length: Floats, seen: Bools, window: int, scale: Floats | float, asked: Bools | None = None) -> Floats:
    """(n, ...) [m] robust per axis size of gap lengths (n, ...) around each frame: overall, or of a livelier stretch.

    Where a joint rests for long, motion itself would else look like outliers; so the scale (...) may rise to the median
    of the `window` frames around and their neighbours on either side, but not far.

    asked   (n, ...) frames of which it is asked for, all by default: stretches without one have the overall scale
    """
    n, blocks = len(length), len(length) // window if window else 0
    if blocks < 3:
        return np.broadcast_to(scale, length.shape).copy()
    known = np.where(seen, length, np.nan).reshape(n, -1)
    local = np.zeros((blocks, known.shape[1]))
    asked = np.ones(known.shape, dtype=bool) if asked is None else asked.reshape(n, -1)
    block, joint = np.nonzero(np.logical_or.reduceat(asked, window * np.arange(blocks), axis=0))
    near = np.clip(block + np.array([[-1], [0], [1]]), 0, blocks - 1)
    around = (window * near[:, None] + np.arange(window)[:, None]).reshape(3 * window, len(block))
    local[block, joint] = median(known[around, joint]) / CHI3_MEDIAN
    local = local.reshape(blocks, *length.shape[1:])[np.minimum(np.arange(n) // window, blocks - 1)]
    return np.clip(local, scale, LIVELY_MAX_LIFT * scale)


def weigh_seen(seen: Bools) -> Floats:
    """(n, J) weights where nothing is known of outliers: 1 where a joint is seen."""
    return over_frames(lambda part: part.astype(np.float64), seen)


def weigh_outliers(
    gap: Floats,
    seen: Bools,
    window: int = 0,
    always: Bools | None = None,
    base_weight: Floats | None = None,
    steps: Steps | None = None,
    find_rests: Callable[[], Bools] | None = None,
) -> tuple[Floats, Bools]:
    """Weights (n, J) of gaps (3, n, J) [m], 0 where not seen, and whether a joint's gaps have outliers.

    An outlier comes and goes from one frame to the next; a gap that grows and falls over many frames is how skin and a
    wandering centre follow a fast motion, which tells most about the joint. So a joint has outliers where most gaps
    beyond the bar are abrupt: it gets Tukey's weights, as do joints in `always` (J,). The others lose abrupt gaps only.

    base_weight  (n, J) relative precision of the gaps, 1 on average
    steps        where the gaps are those of rows: by how much they change from one frame to the next
    find_rests   where joints rest (n, J), asked for where gaps are far off
    """
    length = measure_gaps(gap, base_weight)
    scale = estimate_scales(length, seen)
    weight = weigh_seen(seen)
    limit = limit_outliers(seen.sum(axis=0))
    fires = np.zeros(len(scale), dtype=bool)
    tukey = fires if always is None else always
    least = _least(scale)
    some = np.flatnonzero(tukey | (length > TUKEY_SD * np.maximum(scale, least)).any(axis=0))
    if find_rests is not None and len(some):
        lift_scales(scale, length, seen, find_rests()[:, some], some)

    def find_bars(joints: Ints | int, asked: Bools | None = None) -> Floats:
        bars = estimate_bar(length[:, joints], seen[:, joints], window, scale[joints], asked)
        return np.asarray(TUKEY_SD * np.maximum(bars, least))

    for part in blocks_of(len(some), 4 * length.itemsize * len(length)):
        joints = some[part]
        far = length[:, joints] > TUKEY_SD * np.maximum(scale[joints], least)  # no bar is lower
        for a, bar in zip(joints.tolist(), find_bars(joints, far).T, strict=True):
            beyond = length[:, a] > bar
            by_frames = None if steps is None else partial(steps, a, float(scale[a]))
            out = find_abrupt(gap[:, :, a], bar, beyond, seen[:, a], by_frames)
            out |= length[:, a] > GROSS_SD / TUKEY_SD * bar
            fires[a] = beyond.sum() > limit[a] and out.sum() >= ABRUPT_SHARE * beyond.sum()
            weight[:, a] *= tukey_weight(length[:, a] / find_bars(a)) if fires[a] or tukey[a] else ~out
    return weight, fires


def find_abrupt(
    gap: Floats, bar: Floats, beyond: Bools, seen: Bools, steps: Callable[[Ints, Ints], Floats] | None = None
) -> Bools:
    """(n,) frames of those `beyond` the bar (n,) [m] in whose run a gap (3, n) [m] both comes and goes by a step; of
    rows, `steps` tells the largest one between frames of one and of the next.
    """
    known = np.flatnonzero(seen)
    out, there = np.zeros(len(seen), dtype=bool), beyond[known]
    edges = np.array(find_runs(there), np.int64).ravel()
    first, stop = edges[::2], edges[1::2]
    step = np.full(len(known) + 1, np.inf)  # to the frame before; nothing is known beyond the ends
    ends = edges[(edges > 0) & (edges < len(known))]
    if steps is not None:
        step[ends] = steps(known[ends - 1], known[ends])
    else:
        change = gap[:, known[ends]] - gap[:, known[ends - 1]]
        step[ends] = np.sqrt(np.square(change).sum(axis=0))
    enough = ABRUPT_STEP_SHARE * bar[known]
    abrupt = (step[first] >= enough[first]) & (step[stop] >= enough[stop - 1])
    out[known[there]] = np.repeat(abrupt, stop - first)
    return out


def limit_outliers(frames: Ints) -> Floats:
    """How many outliers so many frames may have before their weights count."""
    return np.asarray(np.maximum(OUTLIER_SHARE * frames, OUTLIER_MIN_COUNT))


def _least(scale: Floats) -> float:
    """[m] of joints that are exact beside the others."""
    return max(ROUNDING_M, FAINT_GAP_SHARE * float(scale.max(initial=0.0)))


def estimate_bars(take: Take, pairs: Ints, length: Floats, seen: Bools, least: float = GROSS_SD) -> Floats:
    """(n, J) [m] robust per axis size of gap lengths (n, J) of pairs (J, 2) around each frame, see `estimate_bar`; the
    overall one of joints none of whose gaps is `least` times as long.
    """
    scale, window = estimate_scales(length, seen), take.count_frames(3 * LIVELY_S)
    some = np.flatnonzero((length > least * scale + ROUNDING_M).any(axis=0))
    if len(some):
        lift_scales(scale, length, seen, find_rest(take, pairs[some]), some)
    bars = empty(length.shape)
    bars[...] = scale
    for part in blocks_of(len(some), 4 * length.itemsize * len(length)):
        joints = some[part]
        bars[:, joints] = estimate_bar(length[:, joints], seen[:, joints], window, scale[joints])
    return bars


def drop_gross(take: Take, pairs: Ints, length: Floats, seen: Bools, bar: Floats) -> Bools:
    """(n, m) poses left when those whose gaps (n, J) are far off at every joint of their body, by bars (n, J) [m], are
    gone.
    """
    weight = seen & (length <= GROSS_SD * bar + ROUNDING_M)
    return find_inliers(take.seen, pairs, weight) if not (weight == seen).all() else take.seen


def find_inliers(seen: Bools, pairs: Ints, weight: Floats | Bools | FrameWeights) -> Bools:
    """(n, m) poses, of those seen, that agree with at least one joint of their body; bodies without one are trusted."""
    ends = np.zeros((len(pairs), seen.shape[1]), dtype=np.float32)
    ends[np.arange(len(pairs))[:, None], pairs] = 1.0

    def compare(part: Bools, w: Floats | Bools) -> Bools:
        both, kept = part[:, pairs].all(axis=2), np.greater(w, 1e-9)
        asked, agree = (one.astype(np.float32) @ ends > 0 for one in (both, kept))  # at any joint of the body
        return np.asarray(part & (~asked | agree))

    return over_frames(compare, seen, weight)  # type: ignore[arg-type]


def blame_partners(pairs: Ints, lost: Bools) -> Bools:
    """(n, m) poses of a body with one joint that only look wrong because its partner is; of a lone pair, the child."""
    out = np.zeros_like(lost)
    count = np.bincount(pairs.ravel(), minlength=lost.shape[1])
    for child, parent in pairs:
        for end, other in ((child, parent), (parent, child)):
            if count[end] == 1 and (count[other] > 1 or end == parent):
                out[:, end] |= lost[:, other]
    return out


def find_steady(gap: Floats, window: int) -> Bools:
    """(n, J) where gaps (n, J, 3) are not far off their own course, the median of each `window` frames.

    The fit's own weights do not serve after a slip: they take a sensor's whole time after it for outliers.
    """
    out = np.zeros(gap.shape[:2], dtype=bool)
    for some in blocks_of(gap.shape[1], gap[:, :1].nbytes):
        table = cut_blocks(gap[:, some], window)  # (window, windows, J, 3)
        away = table - median(table)
        off = norm_rows(away)
        usual = median(off)
        scale = np.maximum(usual, 0.5 * median(usual)) / CHI3_MEDIAN
        with np.errstate(invalid="ignore"):
            near = off <= STEADY_SD * np.maximum(scale, ROUNDING_M)
        out[:, some] = np.swapaxes(near, 0, 1).reshape(-1, near.shape[2])[: len(gap)]
    return out
