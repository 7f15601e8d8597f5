"""How sure each edge of a tree is: its support.

Every pair that could stand in an edge's place is a rival, and three scores compare the two: the log-determinant of the
whole tree, the residual of the pair alone, and the trial of both trees with all joints solved together. Each difference
is taken in standard errors over blocks of time. What repeats in every block (skin, a planted foot) shows in no such
error, so a constant is added to it, and edges of which the motion says little are held down.
"""

from __future__ import annotations

from math import erf, sqrt
from typing import NamedTuple

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, distinct
from ..maths.graph import sides
from ..maths.robust import median, quantile
from ..model.take import Take
from ..pairs.digest import digest_take
from ..pairs.fits import PairFits
from ..pairs.noise import Noise
from ..pairs.outliers import MEDIAN_FRAMES
from .apart import NOISE_MIN_RATIO, explain_by_noise, measure_unexplained_share
from .candidates import whole_rows
from .handicaps import is_half_named, weigh_names
from .kinds import find_rigid
from .solve import Solution, level_noise
from .structure import COVARIANCE_MAX_BODIES, Structure, find_plain_hinges, turn_about_one_axis
from .tree import SEARCH_FRAMES, ResidualRows

SURE_SD = 1.645  # standard errors that SURE_SUPPORT is
SCORE_SD = 0.1  # log residual by which two scores differ for reasons that repeat in every block of time
RIVAL_MAX_LOG = 4.0  # log residual by which a pair is so much worse than every edge that no error makes it a rival
RIVAL_MAX_SE = 15.0  # standard errors of both residuals by which it is so much worse; those of whole trees are as large
UNLIKE_MEDIANS = 20.0  # residual over the usual one; right edges of tests/goldens have 9 at most, wrong ones 29
UNLIKE_SIZE_SHARE = 0.01  # residual of an unlike edge over the distance of its sensors, below which it may be rounding
MOST_RIVALS = 3  # that are named for an edge
CALM_DRIFT_SHARE, CALM_TURN_SHARE = 0.25, 0.5  # drift and turn in the room over the usual ones of a body that is calm
ALIKE_RESIDUAL_RATIO = 1.5  # residual over the edge's, up to which another calm body fits the same partner
CALM_PAIR_SUPPORT = 0.5  # at most, of an edge of two calm bodies
DOUBTED_SUPPORT = 0.9  # at most, of an edge that another calm body could have, or that is hardly a joint
# Standard errors that DOUBTED_SUPPORT is: by so many a rival beats, by the motion alone, an edge that names have. With
# two names of data/more exchanged 5 of 8 sure wrong edges have more, 3 of 965 sure right ones, and none of 306 of sound
# takes.
DOUBTED_SD = 1.28
# Residual over what the joint has to explain, from which on it may be several joints. What noise explains is none of
# it; but where most joints leave noise alone, one that leaves more already may from a smaller share on.
UNEXPLAINED_MAX_SHARE = 0.25
QUIET_NOISE_RATIO = 1.3  # residual over what noise explains, and over the usual such ratio, up to which it is noise
# Unexplained share of an edge that leaves more than noise where most do not. Simulated people with segments left out,
# no names (benchmarks.bound's noise, seeds 71000 to 71002): 11 of 11 sure wrong edges caught, none of 1154 right ones.
QUIET_MAX_SHARE = 0.1
UNEXPLAINED_ALWAYS_SHARE = 0.5  # the same however much others leave: it explains less than three quarters of the square
# Residual over the usual one from which on an edge may be several joints as well: 4 of 264 right edges of data/more,
# none of 859 sure ones of 13 recorded clips with sensors added, and 5 of 20 across a trunk that nobody wore.
LOOSE_MEDIANS = 3.0
LOOSE_NOISE_RATIO = 2.0  # residual of such an edge over what noise explains; right ones in white noise have 1.1
NEIGHBOUR_QUANTILE = 0.25  # of the distances between joined sensors: that of neighbours, whatever else is not worn
MOST_TIMES_LONGER = 1e6  # an edge than neighbours; beyond it is no figure
LENGTH_POWER = 2.0  # of an edge's length over that of neighbours, which the share counts as larger with: segments of
# data/more and data/hard left out at random, 32 of 35 edges across them caught for 4 % of the right ones
LONG_REACH_M = 0.5  # m from a joint to both its sensors: half of a tall person's thigh and half of the shank
# Unexplained share of such an edge, from which on a segment may be in between. Segments of data/more and data/hard left
# out, no names: on the sources it was chosen on (docs/real-recordings.md) 19 of 20 sure wrong edges are caught for 2 %
# of the right ones, on those kept back 11 of 11 for 6 %.
LONG_MAX_SHARE = 0.11
LONG_POWER = 3.0  # of an edge's reach over that of people, which its share counts as larger with
LONG_MOST_TIMES = 1.3  # that reach, beyond which it counts no more: joints of large machines leave less than 0.05
THING_MAX_SHARE = 0.1  # the same of a person and a thing: what is held or sat on turns about no joint
FIGURE_MIN_BODIES = 5  # of each of two figures that may hold on to each other by their ends


class EdgeSupport(NamedTuple):
    """Lower bound of the chance that an edge is right, and the pairs that may stand in its place, likeliest first.

    by_motion  the pair that the motion alone puts in its place, against the names; None where it does not
    """

    support: float
    rivals: tuple[int, ...]
    by_motion: int | None = None


def measure_support(take: Take, structure: Structure, solution: Solution | None = None) -> dict[int, EdgeSupport]:
    """The support of each edge of the tree; `solution`: its joints solved, which knows of outliers."""
    edges = structure.tree.edges
    if not len(edges):
        return {}
    spanning = np.concatenate([edges, np.array(list(structure.apart), dtype=np.int64)])
    pairs, z, by_motion = _standard_errors(take, structure, spanning)
    z, by_motion = z[: len(edges)], by_motion[: len(edges)]
    noise = structure.noise.of_rows(structure.rows.every)
    plain = find_plain_hinges(structure.rows.take, structure.fits, structure.motion, noise, structure.between)
    plain[list(structure.screws)] = True
    contradicted = _contradict_own(take, structure, pairs, z)
    z, by_motion = (_rule_out(structure, plain, pairs, one) for one in (z, by_motion))
    left_over = _measure_left_over(take, structure, solution)
    most, alike = _most_support(take.bodies, structure, plain, _find_mean_noise(take, structure), left_over)
    for k, others in contradicted.items():
        most[k], alike[k] = min(most[k], DOUBTED_SUPPORT), [*others, *alike[k]]
    beaten = _find_named_against_motion(take, structure, pairs, by_motion)
    for k, rival in beaten.items():
        most[k], alike[k] = min(most[k], DOUBTED_SUPPORT), [rival, *alike[k]]
    support = np.array([0.5 * (1 + erf(least / sqrt(2))) for least in z.min(axis=1)])
    found = {}
    for k, edge in enumerate(edges):
        close = np.flatnonzero(z[k] < SURE_SD)
        near = pairs[close[np.argsort(z[k, close], kind="stable")][:MOST_RIVALS]].tolist()
        rivals = tuple(dict.fromkeys([*near, *alike[k]]))[:MOST_RIVALS]
        found[int(edge)] = EdgeSupport(float(min(support[k], most[k])), rivals, beaten.get(k))
    return found


def _standard_errors(take: Take, structure: Structure, edges: Ints) -> tuple[Ints, Floats, Floats]:
    """(C,) pairs that may stand in the place of another, and (J, C) by how many standard errors each edge beats each of
    them, by the score that says least; inf: no rival. Last the same (J, C) without names, and without trials.
    """
    fits, handicap = structure.fits, structure.handicap
    many = take.bodies > COVARIANCE_MAX_BODIES
    rows = structure.search
    if rows is None or not np.isin(edges, rows.candidates).all():
        rows = ResidualRows(whole_rows(structure.rows.take), fits, edges, SEARCH_FRAMES // 4 if many else SEARCH_FRAMES)
    tree, pairs = rows.places(edges), rows.candidates
    # Each pair could stand for the edges on the way between its bodies only: few of all edges.
    edge, pair = np.nonzero(rows.find_crossing(tree))
    own = np.array(tree)[edge]
    extra, near = (part[pairs[pair]] - part[edges[edge]] for part in (handicap, structure.nearness))
    square = rows.mean_squares()
    exact = square[0] < 2 * rows.floor
    # Of joints that are one point, and of poses that are exact, nearness tells only where the sensors sit.
    tied = exact[own] & exact[pair]
    if structure.tied:
        each, known = edges[edge] * len(fits.pairs) + pairs[pair], np.array(structure.tied)
        tied |= np.isin(each, known[:, 0] * len(fits.pairs) + known[:, 1])
    extra = np.where(tied, extra - near, extra)
    names = weigh_names(structure.between)
    unnamed = extra - (names[pairs[pair]] - names[edges[edge]])
    score = 0.5 * np.log(square)
    larger = score[:, pair] - score[:, own]
    alone = np.hypot(rows.blocks.error(larger[1:]), SCORE_SD)
    least, by_motion = (larger[0] + extra) / alone, (larger[0] + unnamed) / alone
    if not many:
        gain = rows.gains(tree)[edge, pair] / 6
        rival = distinct(pair[gain + extra < np.minimum(RIVAL_MAX_LOG, RIVAL_MAX_SE * alone)])
        error, some, place = np.zeros(len(pair)), np.isin(pair, rival), np.zeros(len(pairs), dtype=np.int64)
        place[rival] = np.arange(len(rival))
        if len(rival):
            without = rows.gains_without_blocks(tree, rival)[:, edge[some], place[pair[some]]]
            error[some] = rows.blocks.error(without) / 6
        least = np.fmin(least, (gain + extra) / np.hypot(error, SCORE_SD))
        by_motion = np.where(some, np.fmin(by_motion, (gain + unnamed) / np.hypot(error, SCORE_SD)), by_motion)
    z, unaided = np.full((2, len(edges), len(pairs)), np.inf)
    z[edge, pair], unaided[edge, pair] = least, by_motion
    return _add_trials(structure, edges, pairs, z, unaided)


def _add_trials(
    structure: Structure, edges: Ints, pairs: Ints, z: Floats, unaided: Floats
) -> tuple[Ints, Floats, Floats]:
    """The same with the trials of pairs in the place of edges in z."""
    row = {int(edge): k for k, edge in enumerate(edges)}
    trials = {one: value for one, value in structure.trials.items() if one[0] in row}
    more = sorted({pair for _, pair in trials} - set(pairs.tolist()))
    pairs = np.concatenate([pairs, np.array(more, dtype=np.int64)])
    z, unaided = (np.concatenate([one, np.full((len(z), len(more)), np.inf)], axis=1) for one in (z, unaided))
    column = {int(pair): k for k, pair in enumerate(pairs)}
    for (edge, pair), (worse, chance) in trials.items():
        here = row[edge], column[pair]
        z[here] = min(z[here], worse / np.hypot(chance, SCORE_SD))
    return pairs, z, unaided


def _rule_out(structure: Structure, plain: Bools, pairs: Ints, z: Floats) -> Floats:
    """The same with inf for pairs that cannot stand in the place of a plain hinge: those that turn about more than one
    axis, and those that are joints beside it, in the tree or closing a loop. Two sensors on one body turn about none.
    """
    edges = structure.tree.edges
    beside = np.isin(pairs, np.concatenate([structure.loops, edges]))
    noise = structure.noise.of_rows(structure.rows.every)
    several = ~plain & ~find_rigid(structure.fits, structure.motion, noise, structure.turn)
    return np.where(plain[edges][:, None] & (several[pairs] | beside), np.inf, z)


class LeftOver(NamedTuple):
    """(J,) [m] residual of each edge, and (J,) its share of what a joint has to explain there."""

    residual: Floats
    share: Floats


def _measure_left_over(take: Take, structure: Structure, solution: Solution | None) -> LeftOver:
    """What edges leave. A burst of bad poses is no segment in between: of a solution that weighs outliers out its own
    gaps count, where they are the smaller ones.
    """
    edges = structure.tree.edges
    residual = structure.fits.residual[edges]
    share = measure_unexplained_share(structure.sums, structure.fits, edges)
    if solution is None or not len(solution.pairs):
        return LeftOver(residual, share)
    place = {frozenset(pair): k for k, pair in enumerate(solution.pairs.tolist())}
    order = [place[frozenset(pair)] for pair in structure.edges.tolist()]
    weighted = np.sqrt(3 * np.diagonal(solution.by_rows(take)[1].residual_cov)[order])
    kept = np.minimum(weighted, residual) / np.maximum(residual, 1e-300)
    return LeftOver(residual * kept, share * kept)


def _most_support(
    bodies: int, structure: Structure, plain: Bools, noise: Noise, left_over: LeftOver
) -> tuple[Floats, list[list[int]]]:
    """(J,) support that an edge has at most, whatever the scores, and pairs of another calm body that fit alike.

    Of two calm bodies the room tells as much as a joint. An edge that leaves much of what it has to explain may be
    several joints, the more so the farther apart its sensors are: between them a segment may be that nobody wore. So
    may one whose names say that it is none, or that it is between a person and a thing. Names that say that it is one
    overrule this, and so does that it turns about one axis alone (`plain`), which the room does not make.
    """
    fits, edges = structure.fits, structure.tree.edges
    calm = structure.drift < CALM_DRIFT_SHARE * median(structure.drift)
    calm &= structure.turn < CALM_TURN_SHARE * median(structure.turn)
    neighbours = (structure.between == 0) | plain
    residual, left = left_over
    over_noise = residual / np.maximum(explain_by_noise(fits, edges, noise), 1e-150)
    beyond = left * np.sqrt(1 - np.maximum(over_noise, 1.0) ** -2)
    much = (left >= median(left)) | (left > UNEXPLAINED_ALWAYS_SHARE)  # where skin moves, all joints leave some
    doubted = (beyond > UNEXPLAINED_MAX_SHARE) & much
    if median(over_noise) < QUIET_NOISE_RATIO:
        doubted |= (over_noise > QUIET_NOISE_RATIO * median(over_noise)) & (beyond > QUIET_MAX_SHARE)
    apart = structure.motion.size[edges]
    longer = np.clip(apart / max(float(quantile(apart, NEIGHBOUR_QUANTILE)), 1e-100), 1.0, MOST_TIMES_LONGER)
    longer_share = np.where(longer > 1, left * longer**LENGTH_POWER, 0.0)
    doubted |= (longer_share > UNEXPLAINED_MAX_SHARE) & (over_noise > NOISE_MIN_RATIO)
    loud = over_noise > LOOSE_NOISE_RATIO
    times = np.minimum(fits.reach[edges] / LONG_REACH_M, LONG_MOST_TIMES)
    doubted |= (left * times**LONG_POWER > LONG_MAX_SHARE) & loud
    doubted |= is_half_named(structure.between, fits.pairs)[edges] & (left > THING_MAX_SHARE)
    doubted |= (structure.between[edges] > 0) | _links_figures(bodies, fits.pairs[edges])
    # Where poses were solved on a skeleton its joints hold to rounding, and what does not is none of them.
    no_rounding = residual > UNLIKE_SIZE_SHARE * apart
    unlike = (residual > UNLIKE_MEDIANS * median(residual)) & no_rounding
    unlike &= ~turn_about_one_axis(fits, structure.motion, noise)[edges]  # the threads of machines
    loose = (residual > LOOSE_MEDIANS * median(residual)) & no_rounding
    doubted |= unlike | loose & loud
    most, alike = np.where(doubted, DOUBTED_SUPPORT, 1.0), []
    for k, edge in enumerate(edges):
        other = [] if neighbours[edge] else _alike(fits, calm, int(edge))
        if other:
            most[k] = min(most[k], DOUBTED_SUPPORT)
        if calm[fits.pairs[edge]].all():
            most[k] = CALM_PAIR_SUPPORT
        alike.append(other)
    return np.where(neighbours[edges] & ~unlike, 1.0, most), alike


def _find_mean_noise(take: Take, structure: Structure) -> Noise:
    """Noise in a row, by its mean square: where it grows with place, that is more than the usual one, and a joint that
    came near to where it is loud would leave what looks like motion.
    """
    noise = structure.noise.of_rows(structure.rows.every)
    place = digest_take(take, structure.good).place_noise
    return noise if place is None else level_noise(noise, place.variance(take.thin(MEDIAN_FRAMES)[0]))[0]


def _contradict_own(take: Take, structure: Structure, pairs: Ints, z: Floats) -> dict[int, list[int]]:
    """By the number of an edge that the recording's own hierarchy does not have, its edges in that one's place.

    Nothing is estimated from a file's hierarchy, but who wrote it had reasons: against it no edge is sure.
    """
    theirs = take.find_own_edges(structure.fits.pairs)
    rivals = np.isfinite(z) & theirs[pairs]
    found = {int(k): sorted(set(pairs[rivals[k]].tolist())) for k in np.flatnonzero(~theirs[structure.tree.edges])}
    return {k: others for k, others in found.items() if others}


def _find_named_against_motion(take: Take, structure: Structure, pairs: Ints, by_motion: Floats) -> dict[int, int]:
    """By the number of an edge that names have against the motion, the pair that beats it; `by_motion` (J, C) standard
    errors without names. A pair that closes a loop is a joint beside the edge, and what the recording's own hierarchy
    has as well bears no exchanged names.
    """
    names = weigh_names(structure.between)
    against = names[pairs] > names[structure.tree.edges][:, None]
    beats = np.where(against & ~np.isin(pairs, structure.loops), by_motion, np.inf)
    theirs = take.find_own_edges(structure.fits.pairs[structure.tree.edges])
    found = np.flatnonzero(beats.min(axis=1, initial=np.inf) < -DOUBTED_SD).tolist()
    return {k: int(pairs[np.argmin(beats[k])]) for k in found if not theirs[k]}


def _alike(fits: PairFits, calm: Bools, edge: int) -> list[int]:
    """Pairs of the moving body of an edge with another calm body than the edge's that fit like it."""
    a, b = fits.pairs[edge]
    if calm[a] == calm[b]:
        return []
    rest, mover = (a, b) if calm[a] else (b, a)
    i, j = fits.pairs.T
    other = ((i == mover) & calm[j] & (j != rest)) | ((j == mover) & calm[i] & (i != rest))
    return [int(k) for k in np.flatnonzero(other & (fits.residual < ALIKE_RESIDUAL_RATIO * fits.residual[edge]))]


def _links_figures(bodies: int, pairs: Ints) -> Bools:
    """(J,) edges between the ends of two figures, each with limbs of its own: two people who hold hands look so."""
    degree = np.bincount(pairs.ravel(), minlength=bodies)
    ends = (degree[pairs] == 2).all(axis=1)
    linked = []
    for end, side in zip(ends, sides(bodies, pairs), strict=True):
        halves = [np.flatnonzero(side == k) for k in (0, 1)]
        branched = [len(half) >= FIGURE_MIN_BODIES and degree[half].max() >= 3 for half in halves]
        linked.append(bool(end) and all(branched))
    return np.array(linked)
