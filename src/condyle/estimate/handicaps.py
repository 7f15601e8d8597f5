"""What speaks against a pair beside its residual: the room, a joint far from its sensors, segments between by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, distinct
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..model.anatomy import count_between
from ..pairs.fits import PairFits
from ..pairs.forest import RESOLVABLE_TURN_RAD
from .kinds import LEVER_MIN_RATIO, REST_RESIDUAL_RATIO, PairMotion

# The ratios to the room were chosen on recordings of people (data/more and others).
REST_MAX_DRIFT_SHARE = 0.15  # drift in the room over the usual one, below which a body that does not turn rests
REST_MAX_TURN_SHARE = 0.25  # turn in the room over the usual one of a body at rest, or RESOLVABLE_TURN_RAD if more
RESTING_PAIR_RATIO = 0.5  # the same of two bodies that both rest: feet rock together; recordings of deadlifts, squats
ROOM_RESIDUAL_RATIO = 1.5  # residual over drift in the room: the room explains a pair better, however much it turns
ROOM_HANDICAP_RESIDUALS = 4.0  # usual residuals by which such a pair, and one of two resting bodies, counts as larger
REST_HANDICAP_RESIDUALS = 2.0  # usual residuals by which a pair that only may repeat the room counts as larger
# By which a residual counts as larger for each human segment that names put between two bodies. In 51 trials with two
# names of data/more or data/hard exchanged no wrong edge is sure; with a factor of 3 there are 8.
NAMES_FACTOR = 2.0
NAMES_MOST_BETWEEN = 3  # segments between that count; where two names of data/more are exchanged motion overrules them
# Edges that motion has in spite of names over those that they agree with, above which names are not those of what the
# bodies are on: two legs exchanged have 0.4; of 119 takes of data/more with names exchanged at random 91 have more.
NAMES_MAX_CONTRADICTED = 0.4


def score_names(
    names: Sequence[str], fits: PairFits, unnamed: Floats, held: Sequence[int]
) -> tuple[Floats, Bools, Floats]:
    """(P,) of pairs by the names of their bodies: segments between them that are worn, whether they are strangers, and
    the log handicap; unnamed: that without names, which motion may overrule.
    """
    between, strangers = (table[tuple(fits.pairs.T)] for table in count_between(names))
    named = weigh_names(between)
    edges = spanning_tree(len(names), fits.pairs, fits.residual * np.exp(unnamed + named), names, held)
    if contradict_motion(between[edges]):
        return np.full_like(between, np.nan), np.zeros_like(strangers), np.zeros_like(named)
    return between, strangers, named


def weigh_names(between: Floats) -> Floats:
    """(P,) log handicap of pairs by the human segments `between` them.

    A body whose name is not that of a segment may be on any, or a thing: where it hangs is told by the motion alone,
    but it does not stand between two that are neighbours by their names.
    """
    steps = np.where(np.isnan(between) & ~np.isnan(between).all(), np.inf, between)
    return np.asarray(np.log(NAMES_FACTOR) * np.nan_to_num(np.minimum(steps, NAMES_MOST_BETWEEN)))


def contradict_motion(between: Floats) -> bool:
    """Whether names are not those of what bodies are on: many edges (J,) pass over a segment that is worn, in spite of
    its handicap. An edge over something that is not worn says nothing, since the tree has to go somewhere.
    """
    over = (between > 0) & np.isfinite(between)
    return bool(over.sum() > NAMES_MAX_CONTRADICTED * (between == 0).sum())


def is_half_named(between: Floats, pairs: Ints) -> Bools:
    """(P,) pairs of which one has the name of a human segment and the other has not: it may be any, or a thing."""
    known = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=bool)
    known[pairs[~np.isnan(between)].ravel()] = True
    return np.asarray(np.isnan(between) & (known[pairs[:, 0]] != known[pairs[:, 1]]))


def find_resting(turn: Floats, drift: Floats) -> Bools:
    """(m,) bodies that stay where they are in the room, as feet do that are planted."""
    calm = np.maximum(2 * RESOLVABLE_TURN_RAD, REST_MAX_TURN_SHARE * median(turn))
    return np.asarray((turn < calm) & (drift < REST_MAX_DRIFT_SHARE * median(drift)))


def score_resting(
    fits: PairFits, motion: PairMotion, turn: Floats, drift: Floats, edges: Ints, still_world: int | None
) -> Floats:
    """(P,) log handicap of pairs whose fit says only that bodies stay where they are in the room.

    Feet planted on a floor fit each other perfectly, and whatever turns about one foot fits the other as well: feet and
    floor are one body. Two bodies that rest are no joint, nor are two that each fit the room better than one another,
    and of the resting bodies that one moving body fits, only the nearest is taken at its word. The others count as if
    their residual were some usual ones larger, so that they are used only where nothing else offers itself.
    """
    i, j = fits.pairs.T
    if not len(edges):
        return np.zeros(len(i))
    usual = max(float(median(fits.residual[edges])), 1e-6 * float(median(motion.size[edges])))
    drift = np.where(drift > 1e-5 * drift.max(), drift, 0.0)  # less is rounding
    room = np.hypot(drift[i], drift[j])
    rests = find_resting(turn, drift)
    at_rest = (fits.residual >= REST_RESIDUAL_RATIO * room) & (motion.lever < LEVER_MIN_RATIO)
    at_rest |= _farther_rest(fits, rests)
    explained = (fits.residual >= ROOM_RESIDUAL_RATIO * room) & (fits.residual > 1e-6 * motion.size)
    explained |= rests[i] & rests[j] & (fits.residual >= RESTING_PAIR_RATIO * room)
    larger = np.where(explained, ROOM_HANDICAP_RESIDUALS, np.where(at_rest, REST_HANDICAP_RESIDUALS, 0.0)) * usual
    if still_world is not None:
        larger = np.where((i == still_world) | (j == still_world), 0.0, larger)
    with np.errstate(divide="ignore", invalid="ignore"):
        handicap = 0.5 * np.log1p((larger / np.maximum(fits.residual, 1e-9 * max(usual, 1e-300))) ** 2)
    return np.nan_to_num(handicap)


def log_reach(fits: PairFits) -> Floats:
    """(P,) log of each joint's distance from its two sensors over the usual one: joints are near what they join."""
    usual = fits.usual_reach
    if usual <= 0:
        return np.zeros(len(fits.reach))
    return np.asarray(np.nan_to_num(np.log(np.maximum(fits.reach, 1e-2 * usual) / usual)))


def _farther_rest(fits: PairFits, rests: Bools) -> Bools:
    """(P,) pairs of a moving and a resting body where another resting body fits the moving one alike and is nearer."""
    i, j = fits.pairs.T
    out = np.zeros(len(i), dtype=bool)
    reach = fits.reach
    mixed = np.flatnonzero((rests[i] != rests[j]) & np.isfinite(fits.residual))
    moving = np.where(rests[i], j, i)[mixed]
    for body in distinct(moving):
        rows = mixed[moving == body]
        alike = fits.residual[rows] <= (1.5 * fits.residual[rows] + 1e-6 * reach[rows])[:, None]
        out[rows] = (alike & (reach[rows] < reach[rows, None])).any(axis=1)
    return out
