"""From all pairs to a figure: which edges are joints, what is loose, what is not determined, which pairs close loops.

A low residual proves nothing without motion, and a spanning tree always spans: both are put right here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, distinct, evenly
from ..maths.graph import components, is_between, sides, spanning_tree
from ..maths.robust import median
from ..maths.spool import POSE_BYTES, blocks_of, copy_array, empty, over_frames, zeros
from ..model.anatomy import count_between
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.digest import Digest, measure_cadence
from ..pairs.fits import PairFits, gap_blocks, gaps
from ..pairs.forest import RESOLVABLE_TURN_RAD
from ..pairs.noise import Noise
from ..pairs.outliers import GROSS_SD, ROUNDING_M, drop_gross, estimate_bars, find_inliers
from ..pairs.rows import RowTake, read_rows
from ..pairs.sums import PairSums
from .kinds import (
    GLANCE_FRAMES,
    LEVER_MIN_RATIO,
    RIGID_NOISE_RATIO,
    RIGID_RATIO,
    PairMotion,
    find_rigid,
    measure_motion,
    measure_world_motion,
)
from .machines import Slide, find_sliders, find_thread
from .tree import SEARCH_FRAMES, TRIAL_ROUNDS, ResidualRows, Tree, Trials, spanning_margins, swap_edges, try_rivals

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
COVARIANCE_MAX_BODIES = (
    128  # bodies beyond which the residuals' covariance is no longer formed and the spanning tree stands
)
REST_MAX_DRIFT_SHARE = 0.15  # drift in the room over the usual one, below which a body that does not turn rests
REST_MAX_TURN_SHARE = 0.25  # turn in the room over the usual one of a body at rest, or RESOLVABLE_TURN_RAD if more
# The ratios to the room and the powers below were chosen on recordings of people (REAL rules: data/more and others).
REST_RESIDUAL_RATIO = 0.9  # residual over drift in the room: a pair that fits no better than two bodies at rest
RESTING_PAIR_RATIO = 0.5  # the same of two bodies that both rest: feet rock together; recordings of deadlifts, squats
ROOM_RESIDUAL_RATIO = 1.5  # residual over drift in the room: the room explains a pair better, however much it turns
ROOM_HANDICAP_RESIDUALS = 4.0  # usual residuals by which such a pair, and one of two resting bodies, counts as larger
REST_HANDICAP_RESIDUALS = 2.0  # usual residuals by which a pair that only may repeat the room counts as larger
SHARED_NOISE_MAX_SHARE = 1e-3  # residual over the usual one below which one sensor is worked out from another
# By which a residual counts as larger for each human segment that names put between two bodies. In 51 trials with two
# names of data/more or data/hard exchanged no wrong edge is sure; with a factor of 3 there are 8.
NAMES_FACTOR = 2.0
NAMES_MOST_BETWEEN = 3  # segments between that count; where two names of data/more are exchanged motion overrules them
# Edges that motion has in spite of names over those that they agree with, above which names are not those of what the
# bodies are on: two legs exchanged have 0.4; of 119 takes of data/more with names exchanged at random 91 have more.
NAMES_MAX_CONTRADICTED = 0.4
NEARNESS_POWER = 0.5  # of a joint's distance from its two sensors, which its residual is weighted with
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
PLAIN_HINGE_RATIO = 0.03  # turn off the axis over that about it, noise removed; hinges of people have 0.06 and more
# Time from which on one axis alone is a hinge: any two bodies turn about one for a moment. In simulated walks of 0.3 to
# 1 s thighs, heads and arms do so against each other, in those of 1.5 s none.
PLAIN_HINGE_MIN_S = 1.5
# Share of the time of a steady swing in which nine tenths of its squared speed are. A rest before and after a single
# step adds time and no turn, and between two poses that are held any two bodies turn about one axis.
SWING_LIVELY_SHARE = 0.6
LIVELY_LAG_S = 0.1  # s over which that speed is measured, so that noise from frame to frame has none
# Sensors' distances that an axis is away: what slides turns about one that is far away. Chosen, not measured; it leaves
# all of tests/goldens as they were.
PLAIN_HINGE_MAX_REACH = 5.0
LOOP_NOISE_RATIO = 1.3  # residual over what noise explains, up to which a machine's hinge may close a loop
NOISE_MIN_RATIO = 4.0  # residual over what the sensors' noise explains, from which on it is no noise


Reason = Literal["loose", "not-rotary", "not-worn", "two-persons", "slider"]


@dataclass(frozen=True, eq=False)
class Structure:
    """The forest of a take.

    rows        what it was read off; sums, fits, motion: of all pairs of its bodies, by rows
    fits        edges, margin, runner_up index into them
    tree        the edges that are joints, with margins
    apart       pairs the spanning tree would need that are no joints, with the reason for each
    determined  False: nothing moved enough to tell; then the tree has given edges only
    loops       pairs outside the tree that fit like joints
    handicap    (P,) log factor by which a pair's residual counts as larger than it is; nearness: the part of it that
                comes from the joint's distance to its sensors; trials: see `try_rivals`; search: the residuals that
                trees were compared by, None of a long take
    between     (P,) human segments between two bodies by their names, see `count_between`
    tied        (edge, other) pairs whose joint is the same point, so that the motion cannot choose between them
    good        (n, m) poses that are no gross outliers
    noise       white noise of the sensors in a frame; turn, drift: motion of each body in the room
    sliders     pairs whose bodies slide along a line, and how: those of `apart`, and those that close a loop of joints
    screws      pairs of the tree that come apart along a thread
    """

    rows: RowTake
    sums: PairSums
    fits: PairFits
    motion: PairMotion
    tree: Tree
    apart: dict[int, Reason]
    determined: bool
    loops: Ints
    tied: list[tuple[int, int]]
    handicap: Floats
    nearness: Floats
    between: Floats
    trials: Trials
    search: ResidualRows | None
    good: Bools
    noise: Noise
    turn: Floats
    drift: Floats
    sliders: dict[int, Slide] = field(default_factory=dict)
    screws: tuple[int, ...] = ()

    @property
    def edges(self) -> Ints:
        """(J, 2) the pairs that are joined."""
        return self.fits.pairs[self.tree.edges]

    @property
    def figures(self) -> list[list[int]]:
        """The bodies of each tree, single bodies among them, largest first."""
        return components(self.good.shape[1], self.edges)

    @property
    def loose(self) -> list[int]:
        """Bodies that no edge reaches."""
        return [group[0] for group in self.figures if len(group) == 1]


def infer_structure(
    take: Take,
    *,
    fixed: Sequence[tuple[int, int]] = (),
    paper: bool = False,
    still_world: int | None = None,
) -> Structure:
    """The tree of a take, or its forest.

    fixed        pairs of bodies known to be joined; they are kept whatever they fit like
    paper        the minimum spanning tree of the residuals as it is, without robustness, swaps or cuts
    still_world  index of a body that is the room itself, which is still by right
    """
    rows, fits, edges, held = _read_trusted(take, fixed, paper)
    all_given = 0 < len(held) == take.bodies - 1
    sums, good, of_frames = rows.sums, rows.good, _cap_noise(rows, fits, edges)
    noise = of_frames.of_rows(rows.every)
    turn, drift = measure_world_motion(take, of_frames, good)
    motion = measure_motion(rows.take, sums, fits, noise)
    resting = _score_resting(fits, motion, turn, drift, edges, still_world)
    nearness = NEARNESS_POWER * _log_reach(fits)
    between, strangers, named = _score_names(take.names, fits, resting + nearness, held)
    handicap = resting + nearness + named
    trials, search, sliders, screws = Trials(), None, dict[int, Slide](), tuple[int, ...]()
    plain = np.zeros(len(fits.pairs), dtype=bool)
    if paper:
        tree = spanning_margins(take.bodies, fits, edges)
    else:
        edges = spanning_tree(take.bodies, fits.pairs, fits.residual * np.exp(handicap), take.names, held)
        tree, trials, search = _search(rows.take, sums, fits, edges, held, handicap)
        tree = _take_from_margins(tree, nearness + named)
        plain = find_plain_hinges(rows.take, fits, motion, noise, between)
        tree = _prefer_hinges(rows.take, fits, motion, tree, held, plain)
        sliders = find_sliders(take, fits, motion.spread, noise, turn)
        rigid = find_rigid(fits, motion, noise, turn) & ~(between > 0)
        rigid[list(sliders)] = False
        tree = _prefer_rigid(take.bodies, fits, tree, held, rigid, handicap)
        tree = _prefer_sliders(take.bodies, fits, noise, tree, held, sliders, plain)
    moved = _is_determined(motion, tree, fits, turn) and _moves_enough(motion, tree, fits, turn, _turn_by_error(take))
    determined = all_given or moved
    apart: dict[int, Reason] = {}
    if not determined:
        apart = dict.fromkeys(tree.edges[~np.isin(tree.edges, held)].tolist(), "loose")
    elif not paper:
        free = _on_room(sums, fits, motion, tree.edges, noise, turn, drift, still_world)
        apart = _apart(sums, fits, motion, tree, noise, free, between, strangers)
        screws = _find_screws(take, fits, motion, noise, of_frames, tree.edges)
        apart = {edge: reason for edge, reason in apart.items() if edge not in screws}
        apart |= {int(edge): "slider" for edge in tree.edges if int(edge) in sliders}
        apart = {edge: reason for edge, reason in apart.items() if edge not in held or reason == "slider"}
    tree = tree.at(~np.isin(tree.edges, list(apart)))
    loops, tied = np.empty(0, np.int64), list[tuple[int, int]]()
    if determined and not paper:
        quiet = plain & ~above_noise(fits, np.arange(len(fits.pairs)), noise, LOOP_NOISE_RATIO)
        loops, tied = _loops(rows.take, fits, motion, tree, resting, quiet)
    sliders = {k: slide for k, slide in sliders.items() if apart.get(k) == "slider" or _closes(take, fits, tree, k)}
    facts = (rows, sums, fits, motion, tree, apart, determined, loops, tied)
    scores = (handicap, nearness, between)
    return Structure(*facts, *scores, trials, search, good, of_frames, turn, drift, sliders, screws)


def _read_trusted(
    take: Take, fixed: Sequence[tuple[int, int]], paper: bool
) -> tuple[RowTake, PairFits, Ints, list[int]]:
    """Rows without gross outliers, their candidates, the plain tree of these (J,), and which of them are `fixed`."""
    rows = read_rows(take, frames=paper)
    fits = _candidates(rows)
    held = [_row(fits.pairs, pair) for pair in fixed]
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names, held)
    for _ in range(0 if paper else 3):
        fresh = _without_gross(rows, fits, edges)
        if (fresh == rows.good).all():
            break
        rows = read_rows(take, fresh)
        fits = _candidates(rows)
        edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names, held)
    return rows, fits, edges, held


def _cap_noise(rows: RowTake, fits: PairFits, edges: Ints) -> Noise:
    """Noise in a frame, no more of it than the edges (J,) of the plain tree leave: in few frames a second fast motion
    looks like noise, and under that any two bodies turn about one axis alone, and about one point.
    """
    residual = fits.residual[edges]
    edges = edges[residual >= SHARED_NOISE_MAX_SHARE * median(residual)] if len(edges) else edges
    joints = fits.pairs[edges], fits.p_child_joint[edges], fits.p_parent_joint[edges]
    return rows.noise.cap(*joints, np.sqrt(rows.every) * fits.residual[edges])


def _score_names(
    names: Sequence[str], fits: PairFits, unnamed: Floats, held: Sequence[int]
) -> tuple[Floats, Bools, Floats]:
    """(P,) of pairs by the names of their bodies: segments between them that are worn, whether they are strangers, and
    the log handicap; unnamed: that without names, which motion may overrule.
    """
    between, strangers = (table[tuple(fits.pairs.T)] for table in count_between(names))
    named = weigh_names(between)
    edges = spanning_tree(len(names), fits.pairs, fits.residual * np.exp(unnamed + named), names, held)
    if _contradict_motion(between[edges]):
        return np.full_like(between, np.nan), np.zeros_like(strangers), np.zeros_like(named)
    return between, strangers, named


def weigh_names(between: Floats) -> Floats:
    """(P,) log handicap of pairs by the human segments `between` them.

    A body whose name is not that of a segment may be on any, or a thing: where it hangs is told by the motion alone,
    but it does not stand between two that are neighbours by their names.
    """
    steps = np.where(np.isnan(between) & ~np.isnan(between).all(), np.inf, between)
    return np.asarray(np.log(NAMES_FACTOR) * np.nan_to_num(np.minimum(steps, NAMES_MOST_BETWEEN)))


def _contradict_motion(between: Floats) -> bool:
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


def _search(
    take: Take, sums: PairSums, fits: PairFits, edges: Ints, held: Sequence[int], handicap: Floats
) -> tuple[Tree, Trials, ResidualRows | None]:
    """The tree after swaps that prove themselves, the trials of the rivals that it beat, and what compared them: of a
    long take that is made anew for those who ask, since it is as large as a quarter of the rows.
    """
    tree, trials, changed = spanning_margins(take.bodies, fits, edges), Trials(), False
    if take.bodies > COVARIANCE_MAX_BODIES or not len(edges):
        return tree, trials, None
    part = whole_rows(take)
    rows = ResidualRows(part, fits, edges)
    for _ in range(TRIAL_ROUNDS):
        tree, rivals = swap_edges(rows, edges, held, handicap, search=not changed)
        tree, changed, trials = try_rivals(part, sums, fits, tree, rivals, held, handicap)
        if not changed:
            break
        edges = tree.edges
    return tree, trials, rows if part.frames <= SEARCH_FRAMES else None


def _take_from_margins(tree: Tree, told: Floats) -> Tree:
    """The tree without `told` (P,) in its margins: that a joint is near its sensors, and what bodies are called,
    decides between rivals; it is no evidence that anything moved, and does not make a gap larger.
    """
    unaided = np.where(tree.runner_up >= 0, told[tree.runner_up] - told[tree.edges], 0.0)
    return replace(tree, margin=tree.margin / np.exp(unaided))


def find_plain_hinges(rows: Take, fits: PairFits, motion: PairMotion, noise: Noise, between: Floats) -> Bools:
    """(P,) pairs that turn about one axis alone, and keep together as far as the noise tells: machines' hinges.

    Bodies that are not neighbours have three freedoms about a point that they share, or no such point. Where a segment
    of a person is `between` them they are none: in a few steps after a rest legs turn about one axis too.
    """
    reach = np.maximum(*(np.linalg.norm(half, axis=1) for half in (fits.p_child_joint, fits.p_parent_joint)))
    near = (reach <= PLAIN_HINGE_MAX_REACH * motion.apart) & (motion.seconds >= PLAIN_HINGE_MIN_S)
    together = ~above_noise(fits, np.arange(len(fits.pairs)), noise) | (fits.residual < 1e-6 * motion.size)
    plain = turn_about_one_axis(fits, motion, noise) & together & near & ~(between > 0)
    if plain.any() and rows.timed and _measure_lively_s(rows) < PLAIN_HINGE_MIN_S:
        plain[:] = False
    return np.asarray(plain)


def _measure_lively_s(rows: Take) -> float:
    """[s] that a steady swing would last with as much time as bodies turn in, whichever."""
    R, lag = rows.R_world_body, max(1, rows.count_frames(LIVELY_LAG_S))
    square = np.zeros(max(rows.frames - lag, 0))
    for some in blocks_of(len(square), 3 * POSE_BYTES * rows.bodies):
        change = R[some.start + lag : some.stop + lag] - R[some]
        square[some] = np.nan_to_num(np.einsum("nmij,nmij->nm", change, change)).sum(axis=1)
    square = np.sort(np.where(rows.segment[lag:] == rows.segment[: len(square)], square, 0.0))[::-1]
    lively = int(np.searchsorted(np.cumsum(square), 0.9 * square.sum())) + 1
    return lively * rows.seconds / max(rows.frames, 1) / SWING_LIVELY_SHARE


def turn_about_one_axis(fits: PairFits, motion: PairMotion, noise: Noise) -> Bools:
    """(P,) pairs that turn about one axis alone, which they may move along as well."""
    i, j = fits.pairs.T
    loud = np.hypot(noise.orientation[i], noise.orientation[j])
    across = np.sqrt(2 * motion.spread[:, 0])
    turns = motion.turns & (motion.main > RESOLVABLE_TURN_RAD) & (motion.main > RIGID_NOISE_RATIO * loud)
    return np.asarray(turns & (across < PLAIN_HINGE_RATIO * motion.main))


def _prefer_hinges(
    take: Take, fits: PairFits, motion: PairMotion, tree: Tree, held: Sequence[int], plain: Bools
) -> Tree:
    """The tree with plain hinges (P,) in the place of edges that only repeat their point.

    Where axes meet, the bodies on both sides of two hinges share a point as well as neighbours do; but they turn about
    more than one axis, and that two bodies turn about one alone would be a chance if they were not neighbours.
    """
    edges, changed = tree.edges.copy(), False
    for k in np.flatnonzero(plain & ~np.isin(np.arange(len(plain)), edges)):
        side = sides(take.bodies, fits.pairs[edges])
        i, j = fits.pairs[k]
        path = np.flatnonzero(is_between(side, i, j))
        repeats = [
            e
            for e in path
            if not plain[edges[e]] and edges[e] not in held and _same_point(take, fits, motion, int(k), int(edges[e]))
        ]
        if repeats:
            edges[max(repeats, key=lambda e: motion.spread[edges[e], 0])] = k
            changed = True
    return spanning_margins(take.bodies, fits, edges) if changed else tree


def _prefer_rigid(bodies: int, fits: PairFits, tree: Tree, held: Sequence[int], rigid: Bools, handicap: Floats) -> Tree:
    """The tree with pairs on one body (P,) in the place of the worst edge between them that turns.

    What one sensor of a body is hinged to, the other is hinged to as well, about the same axis.
    """
    edges, changed = tree.edges.copy(), False
    worse = np.log(np.maximum(fits.residual, 1e-300)) + handicap
    for k in np.flatnonzero(rigid & ~np.isin(np.arange(len(rigid)), edges)):
        path = np.flatnonzero(is_between(sides(bodies, fits.pairs[edges]), *fits.pairs[k]))
        turning = [e for e in path if not rigid[edges[e]] and edges[e] not in held]
        if turning:
            edges[max(turning, key=lambda e: worse[edges[e]])] = k
            changed = True
    return spanning_margins(bodies, fits, edges) if changed else tree


def _prefer_sliders(
    bodies: int,
    fits: PairFits,
    noise: Noise,
    tree: Tree,
    held: Sequence[int],
    sliders: dict[int, Slide],
    plain: Bools,
) -> Tree:
    """The tree with sliders in the place of edges that come apart by more than the noise."""
    edges, changed = tree.edges.copy(), False
    for k in sliders:
        side = sides(bodies, fits.pairs[edges])
        i, j = fits.pairs[k]
        path = np.flatnonzero(is_between(side, i, j))
        loud = above_noise(fits, edges[path], noise)
        loose = [e for e, apart in zip(path, loud, strict=True) if apart and edges[e] not in held]
        loose = [e for e in loose if not plain[edges[e]] and int(edges[e]) not in sliders]
        if k not in edges and loose:
            edges[max(loose, key=lambda e: fits.residual[edges[e]])] = k
            changed = True
    return spanning_margins(bodies, fits, edges) if changed else tree


def _find_screws(
    take: Take, fits: PairFits, motion: PairMotion, noise: Noise, of_frames: Noise, edges: Ints
) -> tuple[int, ...]:
    """Edges (J,) whose bodies turn about one axis and come apart along it as a thread has it, however far.

    noise  of the rows that the pairs were fitted to; of_frames: that of frames, in which the thread is followed
    """
    found = []
    for edge in edges[turn_about_one_axis(fits, motion, noise)[edges] & above_noise(fits, edges, noise)].tolist():
        joint = fits.pairs[[edge]], fits.p_child_joint[[edge]], fits.p_parent_joint[[edge]]
        explained = float(np.sqrt(3 * of_frames.gap_variance(*joint)[0]))
        axes, (child, parent) = (fits.axis_child[edge, :, 0], fits.axis_parent[edge, :, 0]), fits.pairs[edge].tolist()
        if find_thread(take, (child, parent), axes, gaps(take, *joint)[:, 0], explained) is not None:
            found.append(edge)
    return tuple(found)


def _closes(take: Take, fits: PairFits, tree: Tree, pair: int) -> bool:
    """Whether the bodies of a pair that is no joint of the tree are joined by others."""
    side = sides(take.bodies, fits.pairs[tree.edges])
    i, j = fits.pairs[pair]
    return pair not in tree.edges and bool(is_between(side, i, j).any())


def _candidates(rows: RowTake) -> PairFits:
    """The fits of all pairs; those seen together too rarely to stand for an edge, or only at rest, have NaN for
    residual.

    In a few frames anything fits, and so it does while nobody moves. A slower sensor is seen throughout.
    """
    fits = rows.fits
    step = measure_cadence(rows.good) if rows.digest is None else np.ones(rows.good.shape[1], np.int64)
    rare = fits.frames * step[fits.pairs].max(axis=1) < RARE_PAIR_SHARE * median(fits.frames)
    rare |= _find_seen_at_rest(rows)
    return replace(fits, residual=np.where(rare, np.nan, fits.residual))


def _find_seen_at_rest(rows: RowTake) -> Bools:
    """(P,) pairs of a body that was seen for a part of the take in which neither it turned nor the others, as far as
    they were seen with it: markers that only the static trial has, a sensor that was lost when the motion began.
    """
    fits, seen = rows.fits, rows.good.sum(axis=0)
    part = seen < SEEN_MOSTLY_SHARE * seen.max(initial=0)
    if not part.any():
        return np.zeros(len(fits.pairs), dtype=bool)
    some = evenly(rows.source.frames, GLANCE_FRAMES)
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


def find_resting(turn: Floats, drift: Floats) -> Bools:
    """(m,) bodies that stay where they are in the room, as feet do that are planted."""
    calm = np.maximum(2 * RESOLVABLE_TURN_RAD, REST_MAX_TURN_SHARE * median(turn))
    return np.asarray((turn < calm) & (drift < REST_MAX_DRIFT_SHARE * median(drift)))


def _score_resting(
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


def _log_reach(fits: PairFits) -> Floats:
    """(P,) log of each joint's distance from its two sensors over the usual one: joints are near what they join."""
    reach = fits.reach
    known = reach[np.isfinite(reach)]
    usual = float(median(known)) if len(known) else 0.0
    if usual <= 0:
        return np.zeros(len(reach))
    return np.asarray(np.nan_to_num(np.log(np.maximum(reach, 1e-2 * usual) / usual)))


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


def _is_determined(motion: PairMotion, tree: Tree, fits: PairFits, turn: Floats) -> bool:
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


def _moves_enough(motion: PairMotion, tree: Tree, fits: PairFits, turn: Floats, error: Floats) -> bool:
    """Whether a third of the edges turn by more than people who stand still do and one by much more, or a third of them
    far above what is left over; what the error of their markers turns two bodies by (m,) [rad] counts as nothing.
    """
    main = motion.main[tree.edges]
    turns = main > np.hypot(*error[fits.pairs[tree.edges]].T)
    sharp = turns & (motion.lever[tree.edges] > SHARP_LEVER_RATIO) | _one_body(motion, fits, tree.edges, turn)
    lively, moved = sharp | turns & (main > SWAY_TURN_RAD), main[turns].max(initial=0.0) > MOVED_TURN_RAD
    return bool(3 * (lively if moved else sharp).sum() >= len(main))


def _turn_by_error(take: Take) -> Floats:
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


def _on_room(
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


def _apart(
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


def _loops(
    take: Take, fits: PairFits, motion: PairMotion, tree: Tree, handicap: Floats, quiet: Bools
) -> tuple[Ints, list[tuple[int, int]]]:
    """Pairs outside the tree that are located and fit like its joints, and pairs that only repeat a joint of it.

    quiet  (P,) hinges that come apart by no more than their own noise, which levers of other lengths make larger
    """
    edges = tree.edges
    if not len(edges):
        return np.empty(0, np.int64), []
    usual = float(median(fits.residual[edges]))
    size = median(motion.size)
    bar = np.maximum(1.5 * usual, 1e-6 * size)
    fits_well = ((fits.residual <= bar) | quiet) & (motion.lever >= LEVER_MIN_RATIO) & (handicap == 0)
    fits_well &= motion.open.sum(axis=1) <= 1
    fits_well[edges] = False
    side = sides(take.bodies, fits.pairs[edges])
    loops, tied = [], []
    for k in np.flatnonzero(fits_well):
        i, j = fits.pairs[k]
        path = edges[is_between(side, i, j)]
        same = [int(e) for e in path if _same_point(take, fits, motion, int(k), int(e))]
        if same:
            tied += [(edge, int(k)) for edge in same]
        elif len(path) and fits.residual[k] <= max(1.5 * float(fits.residual[path].max()), 1e-6 * float(size)):
            loops.append(int(k))
    return np.array(loops, dtype=np.int64), tied


def _same_point(take: Take, fits: PairFits, motion: PairMotion, a: int, b: int) -> bool:
    """Whether two pairs' joints are one point of space throughout, as far as the motion tells."""
    rows = np.linspace(0, take.frames - 1, min(200, take.frames)).astype(np.int64)
    places = []
    for k in (a, b):
        i, j = fits.pairs[k]
        R, p = take.R_world_body, take.p_world_body
        child = R[rows, i] @ fits.p_child_joint[k] + p[rows, i]
        parent = R[rows, j] @ fits.p_parent_joint[k] + p[rows, j]
        places.append(0.5 * (child + parent))
    apart = places[0] - places[1]
    for k in (a, b):  # along an axis on which the point is open, being elsewhere means nothing
        if motion.open[k, 0]:
            axis = take.R_world_body[rows, fits.pairs[k, 0]] @ fits.axis_child[k, :, 0]
            apart = apart - axis * np.sum(apart * axis, axis=1, keepdims=True)
    away = np.linalg.norm(apart, axis=1)
    error = np.where(motion.open[[a, b]], 0.0, motion.error[[a, b]])
    reach = 0.1 * min(motion.size[a], motion.size[b]) + 2 * error.max()
    return bool(median(away) < reach)
