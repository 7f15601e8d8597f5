"""The poses and pairs that a tree is looked for in: without gross outliers, pairs seen too rarely, and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly_seen
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..maths.spool import POSE_BYTES, blocks_of, copy_array, empty, over_frames, zeros
from ..model.take import Take
from ..pairs.digest import Digest, measure_cadence
from ..pairs.fits import RESIDUAL_FLOOR_SHARE, PairFits, gap_blocks, gaps
from ..pairs.noise import Noise
from ..pairs.outliers import GROSS_SD, ROUNDING_M, drop_gross, estimate_bars, find_inliers
from ..pairs.rows import RowTake, read_rows
from .kinds import GLANCE_FRAMES, measure_world_motion

ROUNDING_DECIMALS = 9  # of a joint's distance from its sensors in m: what is as near but for rounding is as near
RARE_PAIR_SHARE = 0.2  # of the usual pair's frames, below which a pair is no candidate for an edge
SEEN_MOSTLY_SHARE = 0.95  # of the rows of the body that is seen most, from which on it is not asked when one was seen
# Turn over the usual one, of a body in the room, of two against each other, and of the others meanwhile, below which it
# was seen at rest: 0.01 to 0.1 in static trials of data/more beside their walks and runs.
SEEN_AT_REST_TURN_SHARE = 0.2
# Standard deviations of the white noise of a row's gap that it is off at least where one of its frames is looked for:
# what GROSS_SD of one frame are in rows of four. Where rows have more, noise alone sets most of them off by as much.
ALONE_MIN_SD = 4.3
MANY_ROWS_SHARE = 0.4  # of the rows of joints, from which on one product of all frames takes less than to pick them out
WHOLE_ROWS_PER_DIMENSION = 6  # whole rows per dimension of the joints' covariance
SHARED_NOISE_MAX_SHARE = 1e-3  # residual over the usual one below which one sensor is worked out from another


def read_trusted(
    take: Take, fixed: Sequence[tuple[int, int]], paper: bool
) -> tuple[RowTake, PairFits, Ints, list[int]]:
    """Rows without gross outliers, their candidates, the plain tree of these (J,), and which of them are `fixed`."""
    rows = read_rows(take, frames=paper)
    fits = find_candidates(rows)
    held = [_row(fits.pairs, pair) for pair in fixed]
    weight = drop_rounding(fits).residual if paper else fits.residual
    edges = spanning_tree(take.bodies, fits.pairs, weight, take.names, held)
    for _ in range(0 if paper else 3):
        fresh = _without_gross(rows, fits, edges)
        if (fresh == rows.good).all():
            break
        rows = read_rows(take, fresh)
        fits = find_candidates(rows)
        edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names, held)
    return rows, fits, edges, held


def cap_noise(rows: RowTake, fits: PairFits, edges: Ints) -> Noise:
    """Noise in a frame, no more of it than the edges (J,) of the plain tree leave: in few frames a second fast motion
    looks like noise, and under that any two bodies turn about one axis alone, and about one point.
    """
    residual = fits.residual[edges]
    edges = edges[residual >= SHARED_NOISE_MAX_SHARE * median(residual)] if len(edges) else edges
    joints = fits.pairs[edges], fits.p_child_joint[edges], fits.p_parent_joint[edges]
    return rows.noise.cap(*joints, np.sqrt(rows.every) * fits.residual[edges])


def find_candidates(rows: RowTake) -> PairFits:
    """The fits of all pairs; those seen together too rarely to stand for an edge, or only at rest, have NaN for
    residual.

    In a few frames anything fits, and so it does while nobody moves. A slower sensor is seen throughout.
    """
    fits = rows.fits
    step = measure_cadence(rows.good) if rows.digest is None else np.ones(rows.good.shape[1], np.int64)
    rare = fits.frames * step[fits.pairs].max(axis=1) < RARE_PAIR_SHARE * median(fits.frames)
    rare |= _find_seen_at_rest(rows)
    return replace(fits, residual=np.where(rare, np.nan, fits.residual))


def drop_rounding(fits: PairFits) -> PairFits:
    """The fits with no residual below rounding: of poses that a program computed many pairs come apart by no more, and
    of them the nearest joint is the first. Without names and handicaps rounding chose the tree.
    """
    least = RESIDUAL_FLOOR_SHARE * np.round(fits.reach + fits.usual_reach, ROUNDING_DECIMALS)
    return replace(fits, residual=np.maximum(fits.residual, least))


def _find_seen_at_rest(rows: RowTake) -> Bools:
    """(P,) pairs of a body that was seen for a part of the take in which neither it turned nor the others, as far as
    they were seen with it: markers that only the static trial has, a sensor that was lost when the motion began.
    """
    fits, seen = rows.fits, rows.good.sum(axis=0)
    part = seen < SEEN_MOSTLY_SHARE * seen.max(initial=0)
    if not part.any():
        return np.zeros(len(fits.pairs), dtype=bool)
    some = evenly_seen(rows.source.seen, GLANCE_FRAMES)
    take, good = rows.source.at(some), rows.good[some]
    whole = measure_world_motion(take, rows.noise, good)[0]
    calm = part & (whole < SEEN_AT_REST_TURN_SHARE * median(whole))
    for body in np.flatnonzero(calm).tolist():
        beside = good & good[:, [body]]
        others = np.flatnonzero((whole > 0) & beside.any(axis=0) & (np.arange(len(seen)) != body))
        there = measure_world_motion(take, rows.noise, beside)[0]
        share = median(there[others] / whole[others], empty=1.0)
        calm[body] = share < SEEN_AT_REST_TURN_SHARE
    against = np.sqrt(fits.spread.sum(axis=1))
    still = against < SEEN_AT_REST_TURN_SHARE * median(against[fits.frames > 0])
    return np.asarray(calm[fits.pairs].any(axis=1) & still)


def whole_rows(take: Take) -> Take:
    """The rows in which every body is seen, if they are enough for a covariance of all joints; else all rows."""
    rows = np.flatnonzero(take.seen.all(axis=1))
    if len(rows) == take.frames or len(rows) < WHOLE_ROWS_PER_DIMENSION * 3 * (take.bodies - 1):
        return take
    return take.at(rows)


def _row(pairs: Ints, pair: tuple[int, int]) -> int:
    low, high = min(pair), max(pair)
    return int(np.flatnonzero((pairs[:, 0] == low) & (pairs[:, 1] == high))[0])


def _without_gross(rows: RowTake, fits: PairFits, edges: Ints) -> Bools:
    """(n, m) poses left when those far off at every joint of the tree are gone.

    A frame that is far off sets its row off from the rows around it, by as many times less as that has frames: only
    such rows of a joint are looked at frame by frame, with those around them, and rows that were bridged. Where rows
    have so many frames that their own noise sets them off by as much, one frame that stays within it spoils nothing.
    """
    take, digest = rows.source, rows.digest
    joints = fits.pairs[edges], fits.p_child_joint[edges], fits.p_parent_joint[edges]
    gap = gaps(rows.take, *joints)
    length, seen = _gap_lengths(gap)
    if digest is None:
        return drop_gross(take, joints[0], length, seen, estimate_bars(rows.take, joints[0], length, seen))
    bar = estimate_bars(rows.take, joints[0], length, seen, GROSS_SD / 2)
    white = rows.noise.gap_variance(*joints)
    frame_bar = over_frames(lambda part: np.sqrt(np.square(part) + (1 - 1 / digest.every) * white), bar)
    least = ALONE_MIN_SD * np.sqrt(white / digest.every)
    beyond = over_frames(
        lambda length, alone, bar, frame_bar: (
            (length > GROSS_SD / 2 * bar)
            | (alone > np.maximum(GROSS_SD / digest.every * frame_bar, least) + ROUNDING_M)
        ),
        *(length, _measure_alone(gap), bar, frame_bar),
    )
    near = beyond.copy()
    near[1:] |= beyond[:-1]
    near[:-1] |= beyond[1:]
    lost = over_frames(lambda seen, good: seen & ~good, take.seen, rows.good)
    off = np.logical_or.reduceat(lost, digest.first, axis=0)
    off[np.searchsorted(digest.first, digest.spike[:, 0], "right") - 1, digest.spike[:, 1]] = True
    ends = np.zeros((len(edges), take.bodies))
    ends[np.arange(len(edges))[:, None], joints[0]] = 1.0
    # A pose is gone where all joints of its body are far off.
    off = over_frames(lambda part, near: part | (near.astype(np.float64) @ ends > 0), off, near)
    near = over_frames(lambda part: part[:, joints[0]].any(axis=2), off)
    far = _find_far(take, digest, joints, near, over_frames(lambda part: GROSS_SD * part + ROUNDING_M, frame_bar))
    good = copy_array(take.seen)
    if far.any():
        odd = np.flatnonzero(far.any(axis=1))
        both = take.seen[odd][:, joints[0]].all(axis=2)
        good[odd] = find_inliers(take.seen[odd], joints[0], both & ~far[odd])
    return good


def _measure_alone(gap: Floats) -> Floats:
    """(N, J) [m] how far gaps (N, J, 3) are from the middle of those before and after, where these are seen."""
    out = empty(gap.shape[:2])
    for rows in blocks_of(len(gap), 3 * gap[:1].nbytes):
        alone, first, stop = gap[rows].copy(), max(rows.start, 1), min(rows.stop, len(gap) - 1)
        if first < stop:
            around = gap[first:stop] - 0.5 * (gap[first + 1 : stop + 1] + gap[first - 1 : stop - 1])
            inner = slice(first - rows.start, stop - rows.start)
            alone[inner] = np.where(np.isfinite(around), around, alone[inner])
        out[rows] = _gap_lengths(alone)[0]
    return out


def _find_far(take: Take, digest: Digest, joints: tuple[Ints, Floats, Floats], near: Bools, bar: Floats) -> Bools:
    """(n, J) frames in which a joint's gap is longer than the bar (N, J) [m] of their row, of rows `near` (N, J)."""
    far = zeros((take.frames, near.shape[1]), np.bool_)
    if near.mean() > MANY_ROWS_SHARE:  # then all frames are looked at, which is one product
        row_of = np.repeat(np.arange(digest.rows), digest.count)
        most = over_frames(lambda near, bar: np.where(near, np.square(bar), np.inf), near, bar)
        for rows, gap in gap_blocks(take, *joints):
            with np.errstate(invalid="ignore"):
                far[rows] = np.einsum("xnj,xnj->nj", gap, gap) > most[row_of[rows]]
        return far
    row, joint = np.nonzero(near)
    longest = int(digest.count.max())
    for some in blocks_of(len(row), longest * POSE_BYTES):
        frames = digest.first[row[some], None] + np.minimum(np.arange(longest), digest.count[row[some], None] - 1)
        with np.errstate(invalid="ignore"):
            square = np.square(_gap_of(take, joints, joint[some], frames)).sum(axis=2)
            gross = square > np.square(bar[row[some], joint[some]])[:, None]
        far[frames[gross], np.broadcast_to(joint[some, None], frames.shape)[gross]] = True
    return far


def _gap_of(take: Take, joints: tuple[Ints, Floats, Floats], joint: Ints, frames: Ints) -> Floats:
    """(q, k, 3) [m] gaps of some joints (q,) in frames (q, k)."""
    sides = []
    for bodies, p in zip(joints[0].T, joints[1:], strict=True):
        there = frames, bodies[joint][:, None]
        sides.append(np.einsum("qkxy,qy->qkx", take.R_world_body[there], p[joint]) + take.p_world_body[there])
    return np.asarray(sides[0] - sides[1])


def _gap_lengths(gap: Floats) -> tuple[Floats, Bools]:
    """(n, J) [m] lengths of gaps (n, J, 3), 0 where they are not seen, and where they are."""
    size = over_frames(lambda part: np.sqrt(np.einsum("nji,nji->nj", part, part)), gap)
    seen = over_frames(np.isfinite, size)
    return over_frames(lambda known, part: np.where(known, part, 0.0), seen, size), seen
