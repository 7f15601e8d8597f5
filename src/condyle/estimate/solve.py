"""All joints of a tree solved together: what joints that share a sensor have in common is its noise.

Seemingly unrelated regressions (a generalised least squares over joints), corrected for orientation noise, with
robust weights where the residuals ask for them. The paper's estimator is the first step and the fallback.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, norm_rows
from ..maths.least_squares import invert_normal
from ..maths.series import correlated_square_sum
from ..maths.spool import PART_BYTES, blocks_of, over_frames
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import PairFits, gaps
from ..pairs.noise import Noise
from ..pairs.normal import DESCENT_NEAR, DESCENT_SETTLED, Rows, System, condition_covariance, gap_products, weigh_joints
from ..pairs.outliers import (
    LIVELY_S,
    MEDIAN_FRAMES,
    Steps,
    estimate_scales,
    find_rest,
    lift_scales,
    weigh_outliers,
    weigh_seen,
)

if TYPE_CHECKING:
    from ..pairs.rows import FrameWeights, RowTake

SOLVE_SWEEPS = 3  # over all frames at least, and two more while weights or covariance still change the joints
# Errors that joints of trackers share: chosen on simulated fields, lumps of metal and slow noise, and on 54 recordings
# of people read as if trackers had made them (centres of one person, take against take: 13.0 mm, least squares 12.3).
SHARED_MIN_SD = 2.0  # standard errors over blocks of time from which on two joints share an error
SHARED_BLOCKS = (5, 20)  # of a second each, at least and at most
SHARED_ROOM_SHARE = 0.6  # of the pairs of joints on four sensors that share an error where the room is bent
SHARED_SENSOR_SHARE = 0.8  # of pairs of joints on one sensor that share an error as they do where that sensor is off
# Log likelihood per row by which a joint's gaps must be larger where its sensors' noise is. In noise that grows with
# range to the fourth 443 of 443 joints have 0.115 or more (benchmarks/bound.py), 20 of a linkage in motion (diodem)
# 0.024 at most.
PLACE_MIN_GAIN = 0.1
EXACT_RESIDUAL_SHARE = 1e-8  # residual over lever length below which the data are exact and nothing needs weighing
RESTED_GAP_MAX_SHARE = 0.7  # usual gap of a joint over its rms one, where it may have rested for long: of noise 1
NOISE_CORRECTION_MAX_SHARE = 0.5  # share of the weakest rotation's signal that the noise correction may take away


class SolvedRows(NamedTuple):
    """What a solution was read off: rows in the place of frames, and the per axis covariance (J, J) [m^2] of gaps in
    them.
    """

    rows: RowTake
    residual_cov: Floats


@dataclass(frozen=True, eq=False)
class Solution:
    """Joints of a tree, solved together, with the normal matrix that produced them.

    pairs           (J, 2)          child, parent
    p_child_joint   (J, 3)     [m]
    p_parent_joint  (J, 3)     [m]
    weight          (N, J)     [-]  of the rows that it was read off; 0 where not seen or weighted out
    information     (6J, 6J) [1/m^2]  normal matrix; unknowns joint by joint, child half first
    basis           (6J, F)    [-]  directions that were solved for; the rest are held at minimum norm
    residual_cov    (J, J)   [m^2]  per axis covariance of the joints' gaps
    robust          (J,)            whether outliers made the weights count
    together                        False: every joint for itself, as the paper does
    factor          (6J,)      [-]  what undoes the shrinking of rotations by orientation noise; None: nothing does
    read            the rows that it was read off, by which `information` counts; None: the frames themselves
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    weight: Floats
    information: Floats
    basis: Floats
    residual_cov: Floats
    robust: Bools
    together: bool = True
    factor: Floats | None = None
    read: SolvedRows | None = None

    @property
    def joints(self) -> tuple[Ints, Floats, Floats]:
        """Pairs, and the joint of each in child and in parent."""
        return self.pairs, self.p_child_joint, self.p_parent_joint

    @property
    def unknowns(self) -> Floats:
        """(6J,) joint by joint: child half, parent half."""
        return np.concatenate([self.p_child_joint, self.p_parent_joint], axis=1).ravel()

    @property
    def every(self) -> int:
        """Frames in a row of what it was read off."""
        return 1 if self.read is None else self.read.rows.every

    @property
    def frame_weight(self) -> Floats | FrameWeights:
        """(n, J) [-] its weight in each frame."""
        return self.weight if self.read is None else self.read.rows.to_frames(self.weight, self.pairs)

    def by_rows(self, take: Take) -> tuple[Take, Solution]:
        """The rows that it was read off in the place of its take, and the solution by their gaps."""
        if self.read is None:
            return take, self
        rows, covariance = self.read
        return rows.take, replace(self, residual_cov=covariance, read=None)

    def covariance(self) -> Floats:
        """(6J, 6J) [m^2] of the unknowns if the gaps were white; held directions have none."""
        return invert_normal(self.information, self.basis)


def gap_scale(take: Take, fits: PairFits) -> Floats:
    """(J,) [m] per axis size of each joint's gap that outliers do not raise, from frames spread over the take."""
    part, frames = take.thin(MEDIAN_FRAMES)
    length = norm_rows(gaps(part, *fits.joints))
    seen = np.isfinite(length)
    scale = estimate_scales(length, seen)
    less = np.flatnonzero(scale < RESTED_GAP_MAX_SHARE * fits.residual / np.sqrt(3))
    if len(less):
        lift_scales(scale, length, seen, find_rest(take, fits.pairs[less])[frames], less)
    return scale


def solve_together(
    take: Take,
    start: PairFits,
    noise: Noise,
    held: Bools | None = None,
    relative: Floats | None = None,
    *,
    robust: bool = True,
    correct: bool = True,
    sweeps: int = SOLVE_SWEEPS,
    shared: bool | None = None,
    tukey: Bools | None = None,
    source: RowTake | None = None,
) -> Solution:
    """The default estimator over the joints of `start`, whose pairs are the edges of a tree (child, parent).

    held         (J, 3) directions of `start.axis_child` that the motion leaves open: kept at minimum norm
    relative     (n, m) variance of each pose's white noise over its sensor's usual one, where that changes with place
    robust       weigh out outliers where they are found; correct: remove the bias of orientation noise
    shared       whether errors that joints share beyond the white noise count: all, none, or None: where trackers show
                 that they do
    tukey        (J,) joints whose gaps are weighed by their size, whether they have outliers or not
    source       what the take is, where its frames are rows: single frames tell what is abrupt
    """
    rows = Rows.of(take, start.pairs)
    if shared is None and take.markers:  # cameras are never off by themselves: what joints share there is skin
        shared = False
    if relative is not None:
        noise, relative = level_noise(noise, relative)
    system, u = _set_up(start, noise if correct else None, held)
    inlier, base, noisier, window = weigh_seen(rows.seen), None, None, take.count_frames(LIVELY_S)
    fires, weight = np.zeros(len(start.pairs), dtype=bool) if tukey is None else tukey, None
    find_rests = cache(lambda: find_rest(take, start.pairs))
    for sweep in range(sweeps + 2):
        gap, joints = rows.gap(u), _split_unknowns(start.pairs, u)
        if robust:
            steps = _steps_of(source, noise, joints)
            inlier, now = weigh_outliers(gap, rows.seen, window, fires, base, steps, find_rests)
            fires = fires | now  # once a joint had outliers it keeps its weights
        C, own = gap_covariance(gap, inlier, noise.gap_covariance(*joints), start.pairs, shared, take.seconds)
        if relative is not None:
            base = _precision(noise.gap_shares(*joints), own, relative, start.pairs)
            noisier = find_noisier(gap, inlier, base) if noisier is None else noisier
            base[:, ~noisier] = 1.0
        fresh = inlier if base is None else over_frames(np.multiply, inlier, base)
        if weight is None or not np.array_equal(fresh, weight):
            weight, (G, H) = fresh, rows.sums(fresh)
        # The first sweeps are pair by pair, so that an outlier in one joint cannot leak into the others.
        S = np.asarray(np.diag(1 / np.diagonal(C)) if sweep <= 1 and fires.any() else np.linalg.inv(C))
        old, u = u, system.solve(G, H, S, u, DESCENT_NEAR if sweep < min(2, sweeps + 1) else DESCENT_SETTLED)
        if sweep >= 2 and np.abs(u - old).max(initial=0.0) < 1e-9 * np.abs(u).max(initial=1.0):
            break
    assert weight is not None
    del gap
    gap = rows.gap(u)
    u = system.refine(G, S, u, partial(rows.slope, gap, weight, S))
    joints = _split_unknowns(start.pairs, u)
    C, _ = gap_covariance(gap, inlier, noise.gap_covariance(*joints), start.pairs, shared, take.seconds)
    N, lost = system.normal(G, np.asarray(np.linalg.inv(C))), fires | (rows.seen & (weight == 0)).any(axis=0)
    return Solution(*joints, weight, N, system.basis, C, lost, factor=system.factor)


def _set_up(start: PairFits, noise: Noise | None, held: Bools | None) -> tuple[System, Floats]:
    """The normal equations of all joints, corrected for orientation noise where it is given, and (6J,) [m] `start`."""
    basis = free_basis(start, held)
    factor = np.ones(6 * len(start.pairs)) if noise is None else row_factors(start, noise, held)
    u = np.concatenate([start.p_child_joint, start.p_parent_joint], axis=1).ravel()
    return System(start.pairs, basis, factor), basis @ (basis.T @ u)


def _split_unknowns(pairs: Ints, u: Floats) -> tuple[Ints, Floats, Floats]:
    """Pairs, and the joint (J, 3) [m] of each in child and in parent, from the unknowns (6J,)."""
    halves = u.reshape(len(pairs), 2, 3)
    return pairs, halves[:, 0], halves[:, 1]


def level_noise(noise: Noise, relative: Floats) -> tuple[Noise, Floats]:
    """The sensors' mean noise, and variances (n, m) over that: the usual noise is not the mean one where it changes."""
    usual = relative.mean(axis=0)
    level = Noise(noise.position * np.sqrt(usual), noise.orientation * np.sqrt(usual))
    return level, over_frames(lambda part: part / usual, relative)


def _steps_of(source: RowTake | None, noise: Noise, joints: tuple[Ints, Floats, Floats]) -> Steps | None:
    """By how much gaps of rows change from frame to frame; noise: of the sensors in a row. None: rows are frames."""
    if source is None or source.digest is None:
        return None
    white = source.every * noise.gap_variance(*joints)

    def measure(a: int, scale: float, before: Ints, after: Ints) -> Floats:
        one = joints[0][a], joints[1][a], joints[2][a]
        return source.steps(one, float(white[a]), scale, before, after)

    return measure


def gap_covariance(
    gap: Floats, weight: Floats, white: Floats, pairs: Ints, shared: bool | None, seconds: float
) -> tuple[Floats, Floats]:
    """(J, J) [m^2] per axis covariance of gaps (3, n, J), and (J,) [m^2] the variance of each beyond white noise.

    white   (J, J) [m^2] that the sensors' noise gives; what joints share beyond it counts as `shared` says, or, where
            that is None, as `find_shared` finds
    """
    parts = int(np.clip(seconds, *SHARED_BLOCKS)) if shared is None else 1
    square, count = _multiply_parts(gap, weight, parts)
    every, total = square.sum(axis=0), np.maximum(count.sum(axis=0), 1e-300)
    more = every / (3 * total) - white
    own = np.maximum(np.diagonal(more), 0.0)
    if shared is None:
        without = (every - square) / (3 * np.maximum(total - count, 1e-300))
        error = np.sqrt(correlated_square_sum(without) * (parts - 1) / parts)
        more = np.where(find_shared(more, SHARED_MIN_SD * (1 + 2 / parts) * error, pairs), more, 0.0)
    elif not shared:
        more = np.zeros_like(more)
    C = white + more
    np.fill_diagonal(C, np.diagonal(white) + own)
    return condition_covariance(C), own


def _multiply_parts(gap: Floats, weight: Floats, parts: int) -> tuple[Floats, Floats]:
    """(k, J, J) products [m^2] of gaps (3, n, J) weighted by (n, J) in each of so many parts of the take, and what two
    joints' gaps weigh together.
    """
    edges = np.linspace(0, len(weight), parts + 1).astype(np.int64)
    longest = int(np.diff(edges).max())
    if gap.nbytes > PART_BYTES or parts == 1:
        products = [gap_products(gap[:, lo:hi], weight[lo:hi]) for lo, hi in pairwise(edges)]
        square, count = (np.stack(values) for values in zip(*products, strict=True))
        return square, count
    frames = edges[:-1, None] + np.arange(longest)  # all parts at once, shorter ones filled up with weights of 0
    inside = frames < edges[1:, None]
    frames = np.minimum(frames, max(len(weight) - 1, 0))
    root = np.where(inside[..., None], np.sqrt(weight)[frames], 0.0)  # (k, l, J)
    scaled = gap[:, frames] * root
    square = np.matmul(np.swapaxes(scaled, 2, 3), scaled).sum(axis=0)
    return square, np.matmul(np.swapaxes(root, 1, 2), root)


def find_shared(covariance: Floats, least: Floats, pairs: Ints) -> Bools:
    """(J, J) pairs of joints whose errors are shared, by covariances [m^2] that tell from `least` (J, J) on.

    A bent room spoils most pairs of joints; a sensor that wanders those that it is a part of, with one sign where it is
    the child of both or the parent of both, and the other elsewhere. What is neither is skin, which follows the motion:
    to take out what joints share would take out the motion with it.
    """
    k = np.arange(len(pairs))
    ends = np.zeros((len(pairs), int(pairs.max(initial=0)) + 1))
    ends[k, pairs[:, 0]], ends[k, pairs[:, 1]] = 1.0, -1.0
    sign = ends @ ends.T
    other = ~np.eye(len(pairs), dtype=bool)
    near = other & (sign != 0)
    far = other & ~near
    told = np.abs(covariance) > least
    if told[far].sum() >= SHARED_ROOM_SHARE * max(far.sum(), 1):
        return other
    right = told & (np.sign(covariance) == sign)
    sensors = right[near].sum() >= SHARED_SENSOR_SHARE * max(near.sum(), 1) and not (told & ~right)[near].any()
    return near if sensors else np.zeros_like(near)


def _precision(shares: Floats, own: Floats, relative: Floats, pairs: Ints) -> Floats:
    """(n, J) relative precision of gaps, 1 on average: noise (J, 2) [m^2] of their sensors that is `relative` (n, m)
    times as large at a time, and (J,) [m^2] that does not change.
    """

    def weigh(part: Floats) -> Floats:
        variance = part[:, pairs[:, 0]] * shares[:, 0] + part[:, pairs[:, 1]] * shares[:, 1] + own
        return np.asarray(1 / np.maximum(variance, 1e-300))

    precision = over_frames(weigh, relative)
    usual = precision.mean(axis=0)
    return over_frames(lambda part: part / usual, precision)


def find_noisier(gap: Floats, weight: Floats, precision: Floats) -> Bools:
    """(J,) joints whose gaps (3, n, J) [m], weighted by (n, J), are larger where `precision` (n, J) says.

    In few frames a second fast motion looks like noise, and it is fastest far out: where only the motion differs, gaps
    are as large everywhere, and weights would take out the frames that tell most.
    """
    sums = np.zeros((4, gap.shape[2]))
    for rows in blocks_of(len(weight), 5 * weight[:1].nbytes):
        square, w, known = np.square(gap[:, rows]).sum(axis=0), weight[rows], precision[rows]
        sums += [
            w.sum(axis=0),
            (w * square).sum(axis=0),
            (w * square * known).sum(axis=0),
            (w * np.log(known)).sum(axis=0),
        ]
    plain, weighted, logs = sums[1:] / np.maximum(sums[0], 1e-300)
    gain = 1.5 * (np.log(np.maximum(plain, 1e-300)) - np.log(np.maximum(weighted, 1e-300)) + logs)
    return np.asarray(gain >= PLACE_MIN_GAIN)


def solution_of(take: Take, fits: PairFits) -> Solution:
    """Plain least squares as a Solution: every joint for itself, nothing weighed, no correction."""
    rows = Rows.of(take, fits.pairs)
    weight = weigh_seen(rows.seen)
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    C = rows.covariance(u, weight)
    G, _ = rows.sums(weight)
    N = weigh_joints(G, np.diag(1 / np.diagonal(C)))
    basis = free_basis(fits, ~fits.determined)
    quiet = np.zeros(len(fits.pairs), dtype=bool)
    return Solution(*fits.joints, weight, N, basis, C, quiet, together=False)


def free_basis(fits: PairFits, held: Bools | None) -> Floats:
    """(6J, F) orthonormal directions of the unknowns that are solved for."""
    J = len(fits.pairs)
    if held is None or not held.any():
        return np.eye(6 * J)
    directions = np.concatenate([fits.axis_child, fits.axis_parent], axis=1) / np.sqrt(2)  # (J, 6, 3)
    closed = directions * held[:, None]
    own, size, _ = np.linalg.svd(np.eye(6) - closed @ np.swapaxes(closed, 1, 2))
    joint, column = np.nonzero(size > 0.5)  # 1 or 0
    basis = np.zeros((J, 6, len(joint)))
    basis[joint, :, np.arange(len(joint))] = own[joint, :, column]
    return basis.reshape(6 * J, -1)


def guard_noise(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(m,) orientation noise [rad], scaled down where correcting for it would take away most of a joint's signal."""
    s = noise.orientation.copy()
    weakest = np.where(held, np.inf, fits.spread).min(axis=1) if held is not None else fits.spread[:, 0]
    for a, (i, j) in enumerate(fits.pairs):
        both = s[i] ** 2 + s[j] ** 2
        if both > NOISE_CORRECTION_MAX_SHARE * weakest[a]:
            factor = np.sqrt(NOISE_CORRECTION_MAX_SHARE * weakest[a] / both)
            s[i], s[j] = s[i] * factor, s[j] * factor
    return s


def row_factors(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(6J,) factors that undo E[R] = (1 - s^2) R in what a sensor's rotation is multiplied with."""
    s = guard_noise(fits, noise, held)
    return np.repeat(1 / (1 - s[fits.pairs.ravel()] ** 2), 3)
