"""Whether anything moved enough to tell a tree, and which edges of one are no joints.

A low residual proves nothing without motion, and a spanning tree always spans: both are put right here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..model.take import Take
from ..pairs.fits import PairFits
from ..pairs.forest import RESOLVABLE_TURN_RAD
from ..pairs.noise import Noise
from ..pairs.sums import PairSums
from .kinds import REST_RESIDUAL_RATIO, RIGID_RATIO, PairMotion

if TYPE_CHECKING:
    from .tree import Tree

SWAY_TURN_RAD = np.radians(1.0)  # rms relative rotation that people have who stand still
# At most 3 deg in still takes, 15 in functional trials.
MOVED_TURN_RAD = np.radians(4.0)  # rms relative rotation of the joint that moved most, up to which people stand still
# Of a marker's place, by rounding in files and by what cameras disagree on: a body turns by it about the line that its
# markers are nearest to, and that is no motion.
MARKER_ERROR_M = 0.0005  # m
SHARP_LEVER_RATIO = 50.0  # lever motion over residual from which less rotation tells as much
FREE_MAX_LEVER_RATIO = 12.0  # lever motion over residual up to which a body at rest may be no partner at all
# Residual of a joint with the room over the usual one of the others, from which on it is none: thighs of people who run
# on a treadmill have 4.3 and more, planted feet and what is fastened to a table 1 at most.
ROOM_UNLIKE_RATIO = 3.0
SURE_LEVER_RATIO = 5.0  # lever motion over residual from which an edge is told even though another one ties with it
THIN_MARGIN = 1.1  # margin below which an edge tells nothing
APART_RESIDUAL_RATIO = 8.0  # residual over the median of the tree's: another figure or a loose thing
APART_SHARE = 0.22  # residual over the figure's usual distance between joined sensors of such a thing, at least
UNRELATED_SHARE = 0.33  # that share when it alone tells, however few bodies there are
SLIDING_RESIDUAL_SHARE = 0.05  # residual over the sensors' distance of a pair that moves without turning
SLIDING_MAX_LEVER_RATIO = (
    0.5  # lever motion over residual of such a pair; joints with a fifth of stale samples have 0.9
)
SLIDING_SPREAD_SHARE = (
    0.65  # residual of such a pair over what a joint has to explain; people's leave at most 0.6 of it
)
NOT_WORN_SPREAD_SHARE = 0.03  # the same of two bodies between which, by their names, something is not worn
NOISE_MIN_RATIO = 4.0  # residual over what the sensors' noise explains, from which on it is no noise
Reason = Literal["loose", "not-rotary", "not-worn", "two-persons", "slider"]


def is_determined(motion: PairMotion, tree: Tree, fits: PairFits, turn: Floats) -> bool:
    """Whether anything turns that a sensor could resolve, and at least half of the edges beat their rivals."""
    edges = tree.edges
    if not len(edges):
        return False
    exact = np.isinf(motion.lever[edges])
    told = (tree.margin >= THIN_MARGIN) & (
        (motion.main[edges] > RESOLVABLE_TURN_RAD) & (motion.lever[edges] > 1) | exact
    )
    # Bodies that share a point tie, and so do all edges of a ring: that is no lack of motion.
    told |= (motion.main[edges] > RESOLVABLE_TURN_RAD) & (motion.lever[edges] > SURE_LEVER_RATIO)
    one_body = _one_body(motion, fits, edges, turn)
    told |= one_body & (tree.margin >= THIN_MARGIN)
    moves = exact.any() or one_body.any() or (motion.main[edges] > RESOLVABLE_TURN_RAD).any()
    if not one_body.any() and motion.open[edges, 1].all():  # not one joint is located even to a line
        return False
    return bool(moves and 2 * told.sum() >= len(edges))


def moves_enough(motion: PairMotion, tree: Tree, fits: PairFits, turn: Floats, error: Floats) -> bool:
    """Whether a third of the edges turn by more than people who stand still do and one by much more, or a third of them
    far above what is left over; what the error of their markers turns two bodies by (m,) [rad] counts as nothing.
    """
    main = motion.main[tree.edges]
    turns = main > np.hypot(*error[fits.pairs[tree.edges]].T)
    sharp = turns & (motion.lever[tree.edges] > SHARP_LEVER_RATIO) | _one_body(motion, fits, tree.edges, turn)
    lively, moved = sharp | turns & (main > SWAY_TURN_RAD), main[turns].max(initial=0.0) > MOVED_TURN_RAD
    return bool(3 * (lively if moved else sharp).sum() >= len(main))


def measure_error_turn(take: Take) -> Floats:
    """(m,) [rad] by which MARKER_ERROR_M turns a body about its markers' line; 0 of bodies that have no markers."""
    places: dict[str, list[Floats]] = {}
    for marker in take.markers:
        places.setdefault(marker.body, []).append(marker.p_body_marker)
    turned = np.zeros(take.bodies)
    for body, own in places.items():
        if body in take.names and len(own) > 1:
            off_line = np.linalg.svd(np.array(own) - np.mean(own, axis=0), compute_uv=False)[1]
            turned[take.index(body)] = MARKER_ERROR_M / max(float(off_line), MARKER_ERROR_M)
    return turned


def _one_body(motion: PairMotion, fits: PairFits, edges: Ints, turn: Floats) -> Bools:
    """(J,) two sensors on one body: they turn in the room but not against each other."""
    carried = np.minimum(turn[fits.pairs[edges, 0]], turn[fits.pairs[edges, 1]])
    still = np.sqrt(motion.spread[edges].sum(axis=1)) <= RIGID_RATIO * carried
    return np.asarray(still & (carried > 10 * RESOLVABLE_TURN_RAD))


def measure_unexplained_share(sums: PairSums, fits: PairFits, edges: Ints) -> Floats:
    """(J,) [-] residual over what a joint has to explain."""
    return np.asarray(fits.residual[edges] / np.maximum(_spread(sums, fits, edges), 1e-300))


def _spread(sums: PairSums, fits: PairFits, edges: Ints) -> Floats:
    """(J,) [m] spread of the other body's origin as seen from each: what a joint has to explain."""
    n = np.maximum(fits.frames[edges], 1.0)
    own = sums[fits.pairs[edges, 0], fits.pairs[edges, 1]]
    centre = np.minimum(*(np.sum((half.T / n) ** 2, axis=0) for half in (own.b_child, own.b_parent)))
    return np.asarray(np.sqrt(np.maximum(own.dd / n - centre, 0.0)))


def find_on_room(
    sums: PairSums,
    fits: PairFits,
    motion: PairMotion,
    edges: Ints,
    noise: Noise,
    turn: Floats,
    drift: Floats,
    still_world: int | None,
) -> Bools:
    """(J,) edges between a moving body and one at rest, or the room, about no point of which the first turns, and those
    with the room itself that come apart as no other joint does.
    """
    i, j = fits.pairs[edges].T
    residual = fits.residual[edges]
    room = (i == still_world) | (j == still_world)
    unlike = room & above_noise(fits, edges, noise)
    unlike &= residual > ROOM_UNLIKE_RATIO * median(residual[~room], empty=np.inf)
    still = [(drift[x] < 0.1 * residual) & (turn[x] < SWAY_TURN_RAD) | (x == still_world) for x in (i, j)]
    none = (residual >= REST_RESIDUAL_RATIO * np.hypot(drift[i], drift[j])) & above_noise(fits, edges, noise)
    none &= residual > 0.2 * _spread(sums, fits, edges)
    return np.asarray(unlike | (still[0] != still[1]) & none & (motion.lever[edges] < FREE_MAX_LEVER_RATIO))


def above_noise(fits: PairFits, edges: Ints, noise: Noise, ratio: float = NOISE_MIN_RATIO) -> Bools:
    """(J,) whether an edge leaves more than `ratio` times what the noise of its two sensors explains."""
    return np.asarray(fits.residual[edges] > ratio * explain_by_noise(fits, edges, noise))


def explain_by_noise(fits: PairFits, edges: Ints, noise: Noise) -> Floats:
    """(J,) [m] residual that the noise of the two sensors of an edge explains."""
    i, j = fits.pairs[edges].T
    turned = 2 * (np.maximum(noise.orientation[i], noise.orientation[j]) * fits.reach[edges]) ** 2
    return np.asarray(np.sqrt(3 * (noise.position[i] ** 2 + noise.position[j] ** 2) + turned))


def find_apart(
    sums: PairSums,
    fits: PairFits,
    motion: PairMotion,
    tree: Tree,
    noise: Noise,
    free: Bools,
    between: Floats,
    strangers: Bools,
) -> dict[int, Reason]:
    """Edges of the tree that are no joints: a pair that only slides, bodies between which something is not worn, two
    persons, a loose thing, and `free` ones.
    """
    edges = tree.edges
    residual, left = fits.residual[edges], measure_unexplained_share(sums, fits, edges)
    share = residual / max(float(median(motion.size[edges])), 1e-150)
    far = (residual > APART_RESIDUAL_RATIO * median(residual)) & (share > APART_SHARE)
    unrelated = (share > UNRELATED_SHARE) & (left > 0.4)
    slides = (left > SLIDING_SPREAD_SHARE) & (residual > SLIDING_RESIDUAL_SHARE * motion.size[edges])
    slides &= (motion.lever[edges] < SLIDING_MAX_LEVER_RATIO) & above_noise(fits, edges, noise)
    not_worn = np.isinf(between[edges]) & (left > NOT_WORN_SPREAD_SHARE)
    reasons: dict[Reason, Bools] = {
        "loose": far | unrelated | free,
        "not-rotary": slides,
        "not-worn": not_worn,
        "two-persons": strangers[edges],
    }
    return {int(edge): reason for reason, chosen in reasons.items() for edge in edges[chosen]}
