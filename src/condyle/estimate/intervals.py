"""How sure the joints are: 95 % intervals that stay honest when the error repeats with the motion.

No resampling inside one recording sees an error that comes back whenever the joint bends or the sensor visits a bent
part of the field. So every joint's gap is modelled as random effects that follow the joint's angle and the sensors'
places, with sizes estimated from the gap itself (REML), and those effects are carried through the estimator.
Where the gap is white and no larger than the sensors' noise, only the joint's own angle is looked for in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..maths.least_squares import INDEPENDENT_RATIO, clear_of, factor_columns, invert_normal, is_well_conditioned
from ..maths.robust import median
from ..maths.series import segment_slices
from ..maths.spool import blocks as spool_blocks
from ..maths.spool import blocks_of, empty
from ..model.values import dataclass
from ..pairs.inverse import NearInverse, WholeInverse, invert_joints
from ..pairs.normal import COVARIANCE_LOADING, weigh_joints
from .edge_blocks import (
    EFFECT_GROUPS,
    GROUP_COLUMNS,
    LOCAL_GROUPS,
    OWN_GROUPS,
    Blocks,
    EffectShapes,
    average_blocks,
    is_correlated,
    long_run,
)
from .effects import fit_effects

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints
    from ..model.take import Take
    from ..pairs.noise import Noise
    from .solve import Solution

NOISE_EXCESS_RATIO = 1.35  # gap variance over what the sensors' noise explains, up to which it is noise
EFFECT_MIN_GAIN = (
    15.0  # twice the gain in log likelihood up to which effects may be noise that happens to follow the motion
)
# The same as chi-squared by the 27 shapes of the joint's own angle, in a gap that looks white: noise gives 27, and one
# standard deviation more. Below it the likelihood finds next to no effect, so that intervals grow from there without a
# step.
BEND_MIN_CHI2 = 34.0
OWN_MIN_SHARE = 1e-4  # of a column's square that others leave, from which on products tell it to ten digits
# A gap that no skin makes, but the joint itself: effects that no gap shows over those that it shows, where they are
# sure. Simulated knees and shoulders in walks of 12 and 30 s hold 83 and 87 % at 2, 98 and 99 % at 2.8.
CAM_EFFECT_RATIO = 2.8
# An error that goes with the bend of a joint that turns little looks like a centre nearer to the sensors along the
# segment, with no gap at all: its size over that of the gap's effects. Without it hips of data/hard (six takes, legs
# that stand turn 3 to 10 deg) have a median d2 of 3.35 and 13 % over 7.81, with it 2.33 and none; other activities of
# data/more 0.91 and 0.89.
ALONG_EFFECT_RATIO = 0.35
USUAL_EFFECT_SHARE = 0.5  # weight of the take's usual joint in the effects of a joint that shows less of them
FAINT_EFFECT_SHARE = 0.5  # of the variance of effects that slow noise explains as well
INTERVAL_WIDENING = 1.1  # widening of all intervals: real errors are not of the shapes assumed
SEGMENTS_MAX_COUNT = 12  # segments up to which a take is no less sure than they are one by one
# Of a gap's variance, what may follow angles or the place. Joints that move under skin, walk, of benchmarks/coverage.py
# hold 92 % at 0.75 and 93 % at 0.80. Takes of one person in different activities (data/more) have a median d2 of 0.97
# at 0.75, of 0.91 at 0.80 and of 0.86 at 0.85 (2.37 is right), hips of data/hard 3.57, 3.35 and 3.15.
FOLLOWING_MAX_SHARE = 0.80
SHOWN_MIN_SHARE = 1 / 3  # of an error that follows something: of the angle, motion about one axis shows as much


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariance of the unknowns of a solution.

    covariance  (6J, 6J) [m^2]  joint by joint, child half first; held directions have none
    passing     (6J, 6J) [m^2]  the part of it that comes from noise which changes from frame to frame
    white       (J,)            joints whose gap is white noise of the sensors' size
    effect      (J, 2) [m]      rms length of the gap that follows the joint's own angle, and the sensors' place; 0
                                where correlated noise explains it as well
    """

    covariance: Floats
    passing: Floats
    white: Bools
    effect: Floats


def estimate_uncertainty(take: Take, solution: Solution, noise: Noise, lag: float = 0.0) -> Uncertainty | None:
    """Random-effect covariance of all joints of a solution; None for a take too short to tell.

    noise  of the sensors in a frame
    lag    [s] above 0: the solution came from differences of the gaps over so long
    """
    every, noise, blocks = solution.every, noise.of_rows(solution.every), average_blocks(take, solution)
    take, solution = solution.by_rows(take)
    sure = _carry_errors(take, solution, noise, lag, every, blocks)
    segments = segment_slices(take.segment)
    if sure is None or not 1 < len(segments) <= SEGMENTS_MAX_COUNT:
        return sure
    parts = []
    for one in segments:
        own = replace(solution, weight=solution.weight[one])
        part = take.slice(one.start, one.stop)
        parts.append((_own_normals(Blocks(part, own)), _carry_errors(part, own, noise, lag, every)))
    if any(one is None for _, one in parts):
        return sure
    return _bound_by_parts(sure, solution, [(N, one.covariance) for N, one in parts if one is not None])


def _own_normals(blocks: Blocks) -> Floats:
    """(J, 6, 6) normal matrix of every joint for itself."""
    Z = blocks.lay_out() * np.sqrt(blocks.weight)[:, None, :, None]
    return np.asarray(np.einsum("bxjs,bxjt->jst", Z, Z, optimize=True))


def _bound_by_parts(sure: Uncertainty, solution: Solution, parts: list[tuple[Floats, Floats]]) -> Uncertainty:
    """No wider than its parts, given with their normal matrices (J, 6, 6) and covariances (6J, 6J) [m^2].

    A centre from several takes is the mean of theirs, weighted by what they know, so its error is at most the mean of
    their errors. Where the takes contradict each other the gaps are larger, and would say otherwise.
    """
    J = len(solution.pairs)
    N = np.sum([own for own, _ in parts], axis=0)
    scale = np.ones(J)
    for a in range(J):
        own = slice(6 * a, 6 * a + 6)
        basis = solution.basis[own][:, np.abs(solution.basis[own]).any(axis=0)]
        gain = invert_normal(N[a], basis)
        shares = [(gain @ normal[a], V[own, own]) for normal, V in parts]
        most = sum(float(np.sqrt(max(np.trace(share @ V @ share.T), 0.0))) for share, V in shares)
        whole = float(np.sqrt(max(np.trace(sure.covariance[own, own]), 1e-300)))
        scale[a] = min(1.0, most / whole)
    both = np.repeat(scale, 6) * np.repeat(scale, 6)[:, None]
    return replace(sure, covariance=sure.covariance * both, passing=sure.passing * both)


def _carry_errors(
    take: Take, solution: Solution, noise: Noise, lag: float, every: int, blocks: Blocks | None = None
) -> Uncertainty | None:
    """The same of rows, means of `every` frames, with one size of every effect for the whole take."""
    blocks = Blocks(take, solution) if blocks is None else blocks
    blocks.angle_noise = np.sqrt(np.square(noise.orientation[solution.pairs]).sum(axis=1) / blocks.length)
    J = len(solution.pairs)
    if blocks.count < 12:  # too short to see any error but white noise, so nothing is claimed
        return None
    covariance = solution.residual_cov if solution.together else np.diag(np.diagonal(solution.residual_cov))
    S: Floats = np.asarray(np.linalg.inv(covariance))
    rows = flat = _weigh_rows(blocks)
    if lag > 0:
        # The solution weighs errors e by D'DZ, where D takes the differences, instead of by Z.
        rows, flat = blocks.differences(flat, lag)
    products = rows.T @ rows
    inverse = invert_joints(weigh_joints(products, S), solution.basis)
    products = flat.T @ flat if lag > 0 else products
    explained = noise.gap_variance(*solution.joints)
    # Of a frame, where white noise is larger: `every` times as large as in a row.
    own = np.diagonal(solution.residual_cov) / (1 + COVARIANCE_LOADING)
    small = own <= (1 + (NOISE_EXCESS_RATIO - 1) * every) * explained
    white = small & ~is_correlated(blocks)
    # Where most joints come apart by noise alone no skin moves and no field is bent: what another one shows is its own.
    clean, world = bool(2 * small.sum() > J), not take.markers  # bodies that cameras see are in no bent field

    pull = partial(_pull, blocks, flat, inverse)
    found, stretch, rest = list[_GapEffects](), np.ones(J), empty((blocks.count, 3, J))
    for a, (one, left) in enumerate(_find_effects(blocks, explained, white, clean, world, pull)):
        rest[..., a] = left
        stretch[a] = 1.0 if one.white else long_run(left, blocks.step, blocks.run)
        found.append(one)
    white = np.array([one.white for one in found])
    V, faint, hidden = _carry_effects(blocks, found, pull, inverse, S, world)
    left_products = np.asarray(sum(np.einsum("bxi,bxj->ij", rest[k], rest[k]) for k in spool_blocks(rest)))
    C = left_products / (3 * blocks.count) * np.sqrt(stretch[:, None] * stretch)

    def carry(covariance: Floats) -> Floats:
        return inverse.carry(weigh_joints(products, S @ covariance @ S))

    passing = carry(C)
    V += passing
    gains = np.array([one.gain for one in found if not one.white])
    if not len(gains) or median(gains) < EFFECT_MIN_GAIN:
        # Where the other joints show none, what follows the motion in gaps that look white may be noise: it passes.
        passing += hidden
        # Slow noise that happens to follow the motion is in the rest's long-run factor already. Where errors repeat at
        # the other joints, one that does not show them yet is not taken for free of them.
        V -= (1 - FAINT_EFFECT_SHARE) * faint
        passing += FAINT_EFFECT_SHARE * faint
    else:
        # Errors that repeat are of more shapes than these: what they leave is noise as far as the sensors' is.
        whole = np.maximum(np.diagonal(C), 1e-300)
        noisy = np.sqrt(np.minimum(explained, whole) / whole)
        passing = carry(C * noisy * noisy[:, None])
    effect = np.array([one.shown for one in found])
    V *= INTERVAL_WIDENING**2
    passing *= INTERVAL_WIDENING**2
    return Uncertainty(V, passing, white, effect)


def _weigh_rows(blocks: Blocks) -> Floats:
    """(3b, 6J) the rows of the joints' regressions in blocks, each by the root of its weight."""
    weighted = empty((blocks.count, 3, len(blocks.pairs), 6))
    for part in blocks_of(blocks.count, 2 * weighted[:1].nbytes):
        np.multiply(blocks.lay_out(rows=part), np.sqrt(blocks.weight[part])[:, None, :, None], out=weighted[part])
    return weighted.reshape(3 * blocks.count, -1)


def _pull(
    blocks: Blocks, rows: Floats, inverse: WholeInverse | NearInverse, joints: Ints, shapes: EffectShapes
) -> Iterator[Floats]:
    """What shapes (P, 3 b, F) of errors at joints (P,), and their centres moving along, do to the right side of the
    unknowns that each reaches; rows: (3 b, 6J) of all joints, weighted.
    """
    for k, (a, along) in enumerate(zip(joints.tolist(), blocks.move_along(joints), strict=True)):
        at = inverse.reach(a)
        pulled = np.zeros((len(at), shapes.shape[2] + along.shape[1]))
        for part in shapes.rows:
            near = rows[part] if len(at) == rows.shape[1] else rows[part][:, at]
            pulled += np.concatenate([near.T @ shapes[:, part][k], near.T @ along[part]], axis=1)
        yield pulled


@dataclass(frozen=True, eq=False)
class _GapEffects:
    """Effects in the gap of one joint.

    variance  (G,) [m^2] of each group, and the most [m^2] that they may add up to
    gain      twice the log likelihood that they gain over correlated noise
    shown     [m] rms length of the gap that follows the angle, and the place
    pulled    (r, F + 2) what its shapes do to the unknowns' right side; None where they were not asked for
    """

    variance: Floats
    limit: float
    gain: float
    shown: tuple[float, float]
    white: bool
    pulled: Floats | None = None


Pull = Callable[["Ints", "EffectShapes"], Iterator["Floats"]]


def _find_effects(
    blocks: Blocks, explained: Floats, white: Bools, clean: bool, world: bool, pull: Pull
) -> Iterator[tuple[_GapEffects, Floats]]:
    """The effects at each joint, and (b, 3) [m] what they leave of its gap.

    explained   (J,) [m^2] per axis variance of the gap that the sensors' noise makes
    white       (J,) joints whose gap looks like noise alone
    clean       whether the usual joint has no more than that
    pull        what shapes (P, 3 b, F) of errors at joints (P,) do to the right side: see `_pull`
    """
    for part in blocks_of(len(blocks.pairs), 3 * 8 * blocks.count * sum(GROUP_COLUMNS)):
        joints = np.arange(part.start, part.stop)
        yield from _find_some_effects(blocks, joints, explained[joints], white[joints], clean, world, pull)


def _find_some_effects(
    blocks: Blocks, joints: Ints, explained: Floats, white: Bools, clean: bool, world: bool, pull: Pull
) -> list[tuple[_GapEffects, Floats]]:
    """The same at some joints (P,); nothing that they were found by is kept."""
    root, total = np.sqrt(blocks.weight[:, joints].T), np.maximum(blocks.weight[:, joints].sum(axis=0), 1e-300)
    y = (blocks.gap[:, :, joints].transpose(2, 0, 1) * root[..., None]).reshape(len(joints), -1)
    Q = blocks.weigh_unknowns(joints)
    q, _, keep = factor_columns(Q)
    clear = clear_of(q, y[..., None])[..., 0]
    # Of an error that follows the joint's angle a part looks like another centre and leaves no gap: a third in
    # motion about all axes, two thirds in motion about one; of one that stretches the room, more. Each kind of
    # effect is given in the size that shows, and all that shows together is no more than the gap that is seen.
    limit = FOLLOWING_MAX_SHARE * np.einsum("jn,jn->j", clear, clear) / total / 3
    none = white.copy()
    if none.any():
        free = keep[none].sum(axis=1)
        none[none] = (
            _chi2_of_bend(clear[none], q[none], free, EffectShapes(blocks, joints[none], world=False)) <= BEND_MIN_CHI2
        )
    effects: Iterator[tuple[_GapEffects, Floats]] = iter(())
    if not none.all():
        some = np.flatnonzero(~none) if none.any() else slice(None)  # no copies of all
        facts = y[some], Q[some], q[some], limit[some], total[some], explained[some]
        effects = _fit_gaps(blocks, joints[some], *facts, white[some], clean, world, pull)
    quiet = np.zeros(len(GROUP_COLUMNS) if world else LOCAL_GROUPS)
    return [
        (_GapEffects(quiet, float(limit[k]), 0.0, (0.0, 0.0), True), clear[k].reshape(-1, 3))
        if none[k]
        else next(effects)
        for k in range(len(joints))
    ]


def _fit_gaps(
    blocks: Blocks,
    joints: Ints,
    y: Floats,
    Q: Floats,
    q: Floats,
    limit: Floats,
    total: Floats,
    explained: Floats,
    white: Bools,
    clean: bool,
    world: bool,
    pull: Pull,
) -> Iterator[tuple[_GapEffects, Floats]]:
    """The effects at joints (P,) with gaps y (P, 3 b), the unknowns' columns Q and orthonormal ones q (P, 3 b, 6) for
    them, the most that effects may add up to (P,) [m^2], and the weight of all blocks (P,).
    """
    X = _scale_shapes(blocks, joints, q, world)
    count = EFFECT_GROUPS if world else LOCAL_GROUPS
    groups = np.repeat(np.arange(count), GROUP_COLUMNS[:count])
    found = fit_effects(y, Q, X, groups, blocks.fresh, limit)
    for k, (gain, pulled) in enumerate(zip(found.gain, pull(joints, X), strict=True)):
        rest = (y[k] - Q[k] @ found.free[k] - X.apply(k, found.random[k])).reshape(-1, 3)
        shown = (0.0, 0.0)
        if gain > EFFECT_MIN_GAIN:  # without what another centre would explain as well
            shared = groups < OWN_GROUPS, groups >= LOCAL_GROUPS
            parts = (clear_of(q[k], X.apply(k, found.random[k], own)) for own in shared)
            angle_part, place_part = (float(np.sqrt(part @ part / total[k])) for part in parts)
            shown = angle_part, place_part
        variance, most = found.variance[k], float(limit[k])
        if clean or float(np.square(rest).mean()) <= NOISE_EXCESS_RATIO * explained[k]:
            # Then nothing but the joint itself moves, as a cam does, and most of that looks like another centre. The
            # less sure it is, the less it counts: no joint is free of it by a threshold.
            sure = float(np.clip(gain / EFFECT_MIN_GAIN, 0.0, 1.0))
            ratio = 1 + (CAM_EFFECT_RATIO - 1) * sure
            variance = variance * np.where(np.arange(len(variance)) < LOCAL_GROUPS, ratio**2, 1.0)
            most *= ratio**2
            if white[k]:
                variance[OWN_GROUPS:] *= sure
                variance *= gain > 0
        noise = bool(white[k]) and gain <= EFFECT_MIN_GAIN
        yield _GapEffects(variance, most, float(gain), shown, noise, pulled), rest


def _scale_shapes(blocks: Blocks, joints: Ints, q: Floats, world: bool) -> EffectShapes:
    """(P, 3 b, F) shapes an error could take at joints (P,) in the size that shows beside their centres' columns q,
    weighted as their gaps are.
    """
    X = EffectShapes(blocks, joints, pulled=True, world=world)
    share = _measure_shown_shares(q, X)
    X.divide(np.sqrt(np.repeat(share, GROUP_COLUMNS[: share.shape[1]], axis=1)))
    return X


def _pull_shapes(
    blocks: Blocks, joints: Ints, found: Sequence[_GapEffects], pull: Pull, world: bool
) -> Iterator[tuple[int, Floats]]:
    """Each of the joints (P,) with what its shapes do to the right side, as it was made when they were fitted."""
    left, made = [a for a in joints.tolist() if found[a].pulled is None], dict[int, "Floats"]()
    for part in blocks_of(len(left), 3 * 8 * blocks.count * sum(GROUP_COLUMNS)):
        own = np.array(left[part])
        shapes = _scale_shapes(blocks, own, factor_columns(blocks.weigh_unknowns(own))[0], world)
        made |= dict(zip(own.tolist(), pull(own, shapes), strict=True))
    for a in joints.tolist():
        pulled = found[a].pulled
        yield a, made[a] if pulled is None else pulled


def _measure_shown_shares(q: Floats, X: EffectShapes) -> Floats:
    """(P, G) of the squared columns of each group, the share that lies outside the orthonormal columns q."""
    onto = X.multiply(q)
    hidden, whole = np.einsum("pkf,pkf->pf", onto, onto), X.square()
    begin = np.concatenate([[0], np.cumsum(GROUP_COLUMNS)])
    begin = begin[begin < X.shape[2]]
    hidden, whole = (np.add.reduceat(part, begin, axis=1) for part in (hidden, whole))
    return np.asarray(np.maximum(1 - hidden / np.maximum(whole, 1e-300), SHOWN_MIN_SHARE))


def _carry_effects(
    blocks: Blocks,
    found: list[_GapEffects],
    pull: Pull,
    inverse: WholeInverse | NearInverse,
    S: Floats,
    world: bool,
) -> tuple[Floats, Floats, Floats]:
    """(6J, 6J) [m^2] what the effects of all joints make of the unknowns, that of effects that slow noise explains, and
    that of effects in gaps that look white.

    Every joint's angle is its own, but the room is one: what bends it at one joint bends it at the others.
    """
    usual = median(np.stack([one.variance for one in found]))
    V, faint, hidden = np.zeros((3, 6 * len(found), 6 * len(found)))
    common = np.zeros((len(V), sum(GROUP_COLUMNS[LOCAL_GROUPS : len(usual)])))
    shared = [share_effects(one.variance, usual, one.limit) for one in found]
    some = np.array([a for a, variance in enumerate(shared) if variance.any()], dtype=np.int64)
    for a, pulled in _pull_shapes(blocks, some, found, pull, world):
        one, variance = found[a], shared[a]
        groups = np.repeat(np.arange(len(variance)), GROUP_COLUMNS[: len(variance)])
        at = inverse.reach(a)
        B = inverse.apply(pulled * np.repeat(S[:, a], 6)[at, None], a)
        along = B[:, len(groups) :] * ALONG_EFFECT_RATIO * np.sqrt(3 * (not one.white) * variance[:LOCAL_GROUPS].sum())
        here: Any = ... if len(at) == len(V) else np.ix_(at, at)  # all of it is added to without being picked out
        B, room = B[:, : len(groups)] * np.sqrt(variance[groups]), groups >= LOCAL_GROUPS
        V[here] += B[:, ~room] @ B[:, ~room].T + along @ along.T
        if one.gain > EFFECT_MIN_GAIN or one.white:
            common[at] += B[:, room]
        else:
            V[here] += B[:, room] @ B[:, room].T
        if one.gain <= EFFECT_MIN_GAIN:
            (hidden if one.white else faint)[here] += B @ B.T
    V += common @ common.T
    return V, faint, hidden


def share_effects(variance: Floats, usual: Floats, limit: float) -> Floats:
    """(G,) [m^2] variances of a joint's effects, which add up to `limit` at most, raised towards those of the `usual`
    joint (G,): one that shows no effect while most others do is not free of it.
    """
    raised = np.maximum(variance, (1 - USUAL_EFFECT_SHARE) * variance + USUAL_EFFECT_SHARE * usual)
    return np.asarray(raised * min(1.0, limit / max(float(raised.sum()), 1e-300)))


def _chi2_of_bend(y: Floats, q: Floats, free: Ints, X: EffectShapes) -> Floats:
    """(P,) twice the log likelihood that columns X (P, n, F) gain over `free` (P,) orthonormal ones q (P, n, K) in y
    (P, n) that is clear of these, as chi-squared.
    """
    before = np.einsum("pn,pn->p", y, y)
    columns, k = np.full(len(y), X.shape[2]), np.arange(X.shape[2])
    across, gram = X.multiply(q), X.gram()
    whole = gram[:, k, k]
    gram -= np.swapaxes(across, 1, 2) @ across
    if (gram[:, k, k] > OWN_MIN_SHARE * whole).all():  # then products of the columns tell as much as the cleared ones
        size = np.sqrt(gram[:, k, k])
        right = X.multiply(y[..., None])[:, 0] / size
        gram /= size[:, None] * size[..., None]
        if is_well_conditioned(gram):
            told = (right * np.linalg.solve(gram, right[..., None])[..., 0]).sum(axis=1)
            return _chi2(before, told, y.shape[1] - free - 0.5 * (columns + 1))
    return _chi2_of_poor_bend(y, q, free, X[:, slice(0, X.shape[1])])


def _chi2(before: Floats, told: Floats, rows: Floats) -> Floats:
    """(P,) of squares before, what is told of them, and the rows that count."""
    left = before - told
    return np.where(left > 1e-200, rows * np.log(np.maximum(before, 1e-200) / np.maximum(left, 1e-200)), 0.0)


def _chi2_of_poor_bend(y: Floats, q: Floats, free: Ints, X: Floats) -> Floats:
    """The same where columns hardly differ from each other or from those of q."""
    X = clear_of(q, X)
    size = np.sqrt(np.einsum("pnf,pnf->pf", X, X))
    apart = size > INDEPENDENT_RATIO * size.max(axis=1, keepdims=True, initial=0.0)
    X = np.where(apart, 1 / np.where(apart, size, 1.0), 0.0)[:, None] * X
    gram, right = np.swapaxes(X, 1, 2) @ X, (np.swapaxes(X, 1, 2) @ y[..., None])[..., 0]
    before, told, columns = np.einsum("pn,pn->p", y, y), np.zeros(len(y)), apart.sum(axis=1)
    k = np.arange(X.shape[2])
    gram[:, k, k] += ~apart  # in the place of columns that say nothing
    good = np.array([is_well_conditioned(one) for one in gram])
    told[good] = (right[good] * np.linalg.solve(gram[good], right[good][..., None])[..., 0]).sum(axis=1)
    for a in np.flatnonzero(~good):
        wider, _, keep = factor_columns(X[a][:, apart[a]])
        told[a], columns[a] = float(np.square(wider.T @ y[a]).sum()), keep.sum()
    return _chi2(before, told, y.shape[1] - free - 0.5 * (columns + 1))
