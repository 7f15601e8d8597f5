"""From all pairs to a figure: which edges are joints, what is loose or not determined, which pairs close loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.graph import components, is_between, sides, spanning_tree
from ..maths.robust import median
from ..maths.spool import POSE_BYTES, blocks_of
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import PairFits, gaps
from ..pairs.forest import RESOLVABLE_TURN_RAD
from ..pairs.noise import Noise
from ..pairs.rows import RowTake
from ..pairs.sums import PairSums
from .apart import Reason, above_noise, find_apart, find_on_room, is_determined, measure_error_turn, moves_enough
from .candidates import cap_noise, drop_rounding, read_trusted, whole_rows
from .handicaps import log_reach, score_names, score_resting
from .kinds import LEVER_MIN_RATIO, RIGID_NOISE_RATIO, PairMotion, find_rigid, measure_motion, measure_world_motion
from .machines import Slide, find_sliders, find_thread
from .tree import SEARCH_FRAMES, TRIAL_ROUNDS, ResidualRows, Tree, Trials, spanning_margins, swap_edges, try_rivals

COVARIANCE_MAX_BODIES = (
    128  # bodies beyond which the residuals' covariance is no longer formed and the spanning tree stands
)
NEARNESS_POWER = 0.5  # of a joint's distance from its two sensors, which its residual is weighted with
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
    rows, fits, edges, held = read_trusted(take, fixed, paper)
    all_given = 0 < len(held) == take.bodies - 1
    sums, good, of_frames = rows.sums, rows.good, cap_noise(rows, fits, edges)
    noise = of_frames.of_rows(rows.every)
    turn, drift = measure_world_motion(take, of_frames, good)
    motion = measure_motion(rows.take, sums, fits, noise)
    resting = score_resting(fits, motion, turn, drift, edges, still_world)
    nearness = NEARNESS_POWER * log_reach(fits)
    between, strangers, named = score_names(take.names, fits, resting + nearness, held)
    handicap = resting + nearness + named
    trials, search, sliders, screws = Trials(), None, dict[int, Slide](), tuple[int, ...]()
    plain = np.zeros(len(fits.pairs), dtype=bool)
    if paper:
        tree = spanning_margins(take.bodies, drop_rounding(fits), edges)
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
    moved = is_determined(motion, tree, fits, turn) and moves_enough(motion, tree, fits, turn, measure_error_turn(take))
    determined = all_given or moved
    apart: dict[int, Reason] = {}
    if not determined:
        apart = dict.fromkeys(tree.edges[~np.isin(tree.edges, held)].tolist(), "loose")
    elif not paper:
        free = find_on_room(sums, fits, motion, tree.edges, noise, turn, drift, still_world)
        apart = find_apart(sums, fits, motion, tree, noise, free, between, strangers)
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
    """Whether two pairs' joints are one point of space throughout, as far as the motion tells; not where their bodies
    are never seen together.
    """
    seen = np.flatnonzero(take.seen[:, fits.pairs[[a, b]].ravel()].all(axis=1))
    if not len(seen):
        return False
    rows = seen[np.linspace(0, len(seen) - 1, min(200, len(seen))).astype(np.int64)]
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
