"""Sensors that came off and move on, in a hand or on their cable: from some moment on, or until then, all their joints
are far apart, and no other body moves with them.

What lies still is told by `detached`. The joints are the sure ones of the part of a take at the other end, in which the
sensor is on. Of 14 sensors of a jump and a run of data/more carried about from halfway on 13 are told, of 7 in
a lift 3, and with each of them left out the tree is as in the sound take. Of 161 fits of data/more and data/hard, sound
or with names exchanged, none had one, before joints had to be sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..estimate.support import measure_support
from ..maths.arrays import Bools, Floats, distinct
from ..maths.robust import median
from ..maths.series import block_medians
from ..model.options import FitOptions
from ..model.skeleton import SURE_SUPPORT, Joint
from ..model.stage import Change, Decision
from ..model.take import Take
from ..pairs.digest import Digest, digest_take
from ..pairs.fits import fit_pairs, measure_distances
from ..pairs.sums import sum_row_pairs
from .detached import (
    JOINT_MIN_SPREAD,
    LYING_BLOCK_S,
    LYING_MIN_S,
    NEAR_MAX_RATIO,
    Detached,
    DetachedRepair,
    JudgingJoints,
    LyingStretch,
    PoseBlocks,
    choose_known,
    find_frames,
    find_times,
    moves,
    name_file,
)

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate

FIGURE_SHARE = 1 / 3  # of a take, LYING_MIN_S at least, at the end at which a sensor is on, whose joints judge it
STRAY_MIN_SHARE = 0.3  # residual over the sensors' distance, from which on a body may be off for a part of the take
PARTED_MIN_SHARE = 0.9  # of the half seconds in which a joint holds on one side of a moment, and is apart on the other


def leave_out_carried(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of it: where a body is loose, or a joint far apart."""
    take = estimate.take
    if not take.timed or not np.isfinite(take.rate) or not _is_stray(estimate):
        return Decision()
    no = {(one.bodies, one.first) for one in refused}
    found = [
        DetachedRepair((one,))
        for at_end in (True, False)
        if (figure := _fit_part(estimate, at_end)) is not None
        for one in find_carried(take, figure, at_end=at_end)
    ]
    found = [one for one in found if (one.bodies, one.first) not in no]
    if options.fixes("detached"):
        return Decision(changes=found)
    return Decision([finding for one in found for finding in one.describe(repaired=False)])


def _is_stray(estimate: Estimate) -> bool:
    """Whether a body has no joint, or one that is far apart."""
    if len(estimate.pairs) < estimate.take.bodies - 1:
        return True
    far = STRAY_MIN_SHARE * measure_distances(estimate.take, estimate.pairs)
    return bool((estimate.fits.residual > far).any())


def _fit_part(estimate: Estimate, at_end: bool) -> JudgingJoints | None:
    """The sure joints of the part of a take that judges sensors that are off at its end, or at its start."""
    take = estimate.take
    count = max(int(FIGURE_SHARE * take.frames), 1 + take.count_frames(LYING_MIN_S))
    if 2 * count > take.frames:
        return None
    part = take.slice(0, count) if at_end else take.slice(take.frames - count, None)
    try:
        fitted = estimate.refit(part)
    except CondyleError:
        return None
    if not len(fitted.pairs):
        return None
    fits = fitted.fits
    joints = JudgingJoints(*fitted.solution.joints, fits.residual, measure_distances(part, fitted.pairs))
    support = measure_support(part, fitted.structure, fitted.solution)
    sure = {
        frozenset(fitted.structure.fits.pairs[k].tolist()) for k, one in support.items() if one.support >= SURE_SUPPORT
    }
    known = fits.spread[:, 1] > JOINT_MIN_SPREAD  # a hinge moves two axes
    known &= np.array([frozenset(pair) in sure for pair in fitted.pairs.tolist()])
    return joints.select(known) if known.any() else None


def find_carried_by_known(take: Take, known: Sequence[Joint]) -> list[DetachedRepair]:
    """Those of a later take, by the joints of its calibration."""
    figure = JudgingJoints.of_figure(known, take)
    if figure is None or not take.timed or not np.isfinite(take.rate) or not take.seen.any():
        return []
    return [DetachedRepair((one,)) for at_end in (True, False) for one in find_carried(take, figure, at_end=at_end)]


def find_carried(take: Take, figure: JudgingJoints, *, at_end: bool) -> list[Detached]:
    """Sensors all of whose joints are apart from some moment on (or until then), while those of their neighbours hold.

    figure  the joints of the part in which they are on
    """
    digest = digest_take(take)
    blocks, size = PoseBlocks.of(take, digest), figure.measure(digest.as_take(take))
    level = block_medians(size, blocks.start)
    stretches = [find_stretch(figure, level, body, at_end=at_end) for body in distinct(figure.pairs).tolist()]
    found = [_prove_carried(take, digest, blocks, one, figure, size) for one in stretches if one is not None]
    return [one for one in found if one is not None]


def find_stretch(figure: JudgingJoints, level: Floats, body: int, *, at_end: bool) -> LyingStretch | None:
    """The half seconds at an end of a take in which all joints of a body are apart, as they are nowhere else.

    level  (b, J) [m] how far the joints are apart in each
    """
    own = (figure.pairs == body).any(axis=1)
    known: Bools = np.asarray(np.isfinite(level[:, own]).any(axis=1))
    off: Bools = known & ~np.asarray((level[:, own] <= figure.limit[own]).any(axis=1))
    count = np.concatenate([[0], np.cumsum(np.where(known, np.where(off, 1, -1), 0))])
    split = int(np.argmin(count) if at_end else np.argmax(count))
    parts = slice(split, None), slice(None, split)
    out, on = parts if at_end else parts[::-1]
    if min(known[out].sum(), known[on].sum()) * LYING_BLOCK_S < LYING_MIN_S:
        return None
    if off[out].sum() < PARTED_MIN_SHARE * known[out].sum() or off[on].sum() > (1 - PARTED_MIN_SHARE) * known[on].sum():
        return None
    first, stop, _ = out.indices(len(level))
    return LyingStretch(body, first, stop, at_start=not at_end, at_end=at_end)


def _prove_carried(
    take: Take, digest: Digest, blocks: PoseBlocks, one: LyingStretch, figure: JudgingJoints, size: Floats
) -> Detached | None:
    """What is told of it, if its joints with bodies that other joints hold are apart, and it moves with no other body.

    size  (N, J) [m] how far the joints of the figure are apart in the rows
    """
    middle = (one.first + one.stop) // 2
    far = slice(one.first, middle) if one.at_start else slice(middle, one.stop)  # from when it came off, or was put on
    if not moves(blocks.pose[far, one.body][:, None])[0]:
        return None
    rows = slice(int(blocks.start[one.first]), int(blocks.stop[one.stop - 1]))
    count = np.bincount(figure.pairs.ravel(), minlength=take.bodies)
    alone = set(np.flatnonzero(count < 2).tolist())  # of two bodies with one joint, either may be off
    joints = choose_known(figure, size[rows], one.body, alone)
    if joints is None or not len(joints.pairs):
        return None
    apart = joints.measure(digest.as_take(take))
    gap = median(apart[rows], np.nan)
    if not (gap > joints.limit).all():
        return None
    best = int(np.argmin(joints.gap))
    if _find_nearest(digest, rows, one.body) <= NEAR_MAX_RATIO * joints.gap[best]:
        return None
    hidden = find_frames(take, digest, rows, apart[:, best] > joints.limit[best], one)
    other = next(int(body) for body in joints.pairs[best] if body != one.body)
    names = take.names[one.body], take.names[other]
    times = find_times(take, hidden, one)
    return Detached(*names, hidden, *times, float(gap[best]), name_file(take, hidden, one), lies=False)


def _find_nearest(digest: Digest, rows: slice, body: int) -> float:
    """[m] by which the best joint that a body may have in some rows comes apart; infinite where it has none."""
    seen = np.zeros_like(digest.seen)
    seen[rows] = digest.seen[rows]
    other = np.delete(np.arange(seen.shape[1]), body)
    pairs = np.stack([np.full_like(other, body), other], axis=1)
    residual = fit_pairs(sum_row_pairs(digest.pose, seen, pairs), pairs).residual
    return float(np.nanmin(residual)) if np.isfinite(residual).any() else np.inf
