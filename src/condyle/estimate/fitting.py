"""The tree of a take and its joints by the chosen method, before kinds and findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import NamedTuple, Protocol

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.graph import choose_root, orient
from ..model.options import FitOptions, TreeScore
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..pairs.digest import digest_take, measure_speeds
from ..pairs.fits import PairFits, fit_pairs, gaps, orientation_bias, orientation_pulls, refine_pairs
from ..pairs.noise import Noise
from ..pairs.outliers import find_inliers
from ..pairs.rows import RowTake, read_rows
from ..pairs.sums import PairSums, sum_pairs
from .drift import DRIFT_LAG_S, solve_differences
from .intervals import Uncertainty, estimate_uncertainty
from .kinds import classify, measure_motion
from .solve import EXACT_RESIDUAL_SHARE, Solution, SolvedRows, gap_scale, solution_of, solve_together
from .structure import Structure, infer_structure

Finish = Callable[[Take, PairFits, Solution, Noise, Bools], Solution]
ROUGH_RESIDUAL_FRAMES = 500  # spread over the take, by which it is told roughly how far joints come apart
NEARLY_EXACT_SHARE = 1e-4  # residual over lever length below which the usual joint is solved to the last digit
NOISE_VARIANCE_DOUBT = 0.05  # relative error of a sensor's noise variance in a long take


class Solved(NamedTuple):
    """Joints of given edges, and the plain fits with their sums, of all pairs or of these: rank and axes."""

    solution: Solution
    fits: PairFits
    sums: PairSums


@dataclass(frozen=True)
class Estimator:
    """How a plan finds a tree and its joints.

    score    how unknown edges are chosen, unless that is asked for
    solve    joints of given edges (J, 2)
    lag      [s] over which differences are taken before the joints are solved; 0: from the poses themselves
    doubled  whether two sensors on one segment count as two mountings of it
    """

    score: TreeScore
    solve: Callable[[Take, Structure, Ints], Solved]
    lag: float = 0.0
    doubled: bool = False


@dataclass(frozen=True, eq=False)
class Estimate:
    """The running figure of a take: a tree and its joints, before kinds, intervals and findings.

    roots, parent  (m,) -1 at the roots;  pairs (J, 2) child, parent, parents before children
    refit          the estimate of another take, asked for in the same way; pairs of bodies given to it stay joined
    """

    take: Take
    structure: Structure
    roots: list[int]
    parent: Ints
    pairs: Ints
    solution: Solution
    fits: PairFits
    sums: PairSums
    refit: Refit

    @cached_property
    def gap(self) -> Floats:
        """(n, J, 3) [m] world vector from the parent's to the child's side of each joint; NaN where not seen."""
        return gaps(self.take, self.pairs, self.solution.p_child_joint, self.solution.p_parent_joint)


class Refit(Protocol):
    def __call__(self, take: Take, hold: Sequence[tuple[int, int]] = ()) -> Estimate: ...


def fit_tree(take: Take, fixed: Sequence[tuple[int, int]], options: FitOptions, estimator: Estimator) -> Estimate:
    """The figure of a take; pairs (parent, child) in `fixed` are joined whatever they fit like."""
    room = take.names.index(WORLD) if options.world else None
    paper = (options.tree_score or estimator.score) == "residual"
    structure = infer_structure(take, fixed=fixed, paper=paper, still_world=room)
    fits, joined = structure.fits, structure.tree.edges
    ends = fits.p_child_joint[joined], fits.p_parent_joint[joined]
    noise = structure.noise.cap(structure.edges, *ends, _frame_residuals(structure, *ends))
    structure = replace(structure, noise=noise)
    roots, parent = _roots(take, structure, options)
    pairs = _order(parent, roots)
    solve = estimator.solve if len(pairs) else solve_plain  # of nothing

    @lru_cache(maxsize=1)  # a stage may have fitted the very take that the engine is about to prove
    def fit_again(take: Take, hold: tuple[tuple[int, int], ...]) -> Estimate:
        return fit_tree(take, [*fixed, *hold], options, estimator)

    def refit(take: Take, hold: Sequence[tuple[int, int]] = ()) -> Estimate:
        return fit_again(take, tuple(hold))

    return Estimate(take, structure, roots, parent, pairs, *solve(take, structure, pairs), refit)


def estimate_early(take: Take, options: FitOptions, estimator: Estimator) -> Estimate:
    """The figure of a take that is still being prepared, to prove changes by."""
    known = [(take.index(a), take.index(b)) for a, b in options.tree if a in take.names and b in take.names]
    return fit_tree(take, known, replace(options, world=False, root=None), estimator)


def _frame_residuals(structure: Structure, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
    """(J,) [m] root mean square gap of the tree's joints in frames, noise and all, from some of them."""
    if structure.rows.digest is None:
        return structure.fits.residual[structure.tree.edges]
    part, frames = structure.rows.source.thin(ROUGH_RESIDUAL_FRAMES)
    trusted: Bools = np.asarray(structure.good[frames][:, structure.edges].all(axis=2))
    gap = np.where(trusted[..., None], gaps(part, structure.edges, p_child_joint, p_parent_joint), 0.0)
    return np.asarray(np.sqrt(np.square(gap).sum(axis=(0, 2)) / np.maximum(trusted.sum(axis=0), 1)))


def solve_plain(take: Take, structure: Structure, pairs: Ints) -> Solved:
    """The paper's estimator: every joint for itself, from all poses that were seen."""
    rows = structure.rows
    same = rows.source is take and rows.digest is None and bool((rows.good == take.seen).all())
    sums = rows.sums if same else sum_pairs(take)
    fits = refine_pairs(take, fit_pairs(sums, pairs))
    return Solved(solution_of(take, fits), fits, sums)


def solve_robust(take: Take, structure: Structure, pairs: Ints, finish: Finish | None = None) -> Solved:
    """All joints together, corrected for orientation noise and robust; `finish` solves once more from there."""
    rows = structure.rows if structure.rows.source is take else read_rows(take, structure.good)
    fits = fit_pairs(rows.sums, pairs)
    size = measure_motion(rows.take, rows.sums, fits, rows.noise).size
    exact = 2 * (fits.residual <= NEARLY_EXACT_SHARE * size).sum() > len(pairs)
    if rows.digest is not None and (exact or finish is not None):  # to the last digit, or differences of single poses
        rows = read_rows(take, structure.good, frames=True)
        fits = fit_pairs(rows.sums, pairs)
    if rows.digest is None:
        fits = refine_pairs(rows.take, fits)
    sums, noise = rows.sums, structure.noise.of_rows(rows.every)
    scale = np.minimum(gap_scale(rows.take, fits), fits.residual / np.sqrt(3))
    motion = measure_motion(rows.take, sums, fits, noise, scale)
    if (fits.residual <= EXACT_RESIDUAL_SHARE * motion.size).all():
        return Solved(solution_of(take, fits), fits, sums)
    held = classify(fits, motion, noise, structure.turn)[2] | ~fits.determined
    place = digest_take(take, structure.good).place_noise
    relative = None if place is None else place.variance(rows.take)
    solution = solve_together(rows.take, fits, noise, held, relative, source=rows)
    if solution.robust.any():  # ranks, axes and kinds are read off the poses that the weights kept
        good = find_inliers(rows.take.seen, pairs, solution.weight)
        sums = rows.sum_masked(good, pairs)
        fits = fit_pairs(sums, pairs)
        if rows.digest is None:
            fits = refine_pairs(rows.take.mask(~good), fits)
        motion = measure_motion(rows.take, sums, fits, noise, np.sqrt(np.diagonal(solution.residual_cov)))
        again = classify(fits, motion, noise, structure.turn)[2] | ~fits.determined
        if (again != held).any():
            solution = solve_together(rows.take, fits, noise, again, relative, source=rows)
    if finish is not None:
        solution = finish(rows.take, fits, solution, noise, held)
    return Solved(_by_frames(rows, solution, structure.noise), fits, sums)


def _by_frames(rows: RowTake, solution: Solution, noise: Noise) -> Solution:
    """A solution by rows with the gaps' covariance of frames, where white noise is larger."""
    if rows.digest is None:
        return solution
    white = (1 - 1 / rows.every) * noise.gap_covariance(*solution.joints)
    read = SolvedRows(rows, solution.residual_cov)
    return replace(solution, residual_cov=solution.residual_cov + white, read=read)


PLAIN = Estimator("residual", solve_plain)
ROBUST = Estimator("likelihood", solve_robust, doubled=True)
DRIFT = Estimator("likelihood", partial(solve_robust, finish=solve_differences), DRIFT_LAG_S)


def uncertainty_of(
    take: Take, solution: Solution, fits: PairFits, structure: Structure, lag: float
) -> Uncertainty | None:
    """How far the joints may be off; `lag` [s] as in `Estimator`."""
    # Without time nothing tells noise from errors that repeat with the motion.
    sure = estimate_uncertainty(take, solution, structure.noise, lag) if take.timed else None
    if sure is None:
        return None
    noise = structure.noise.of_rows(solution.every)
    if solution.together:
        # The pull of orientation noise was taken away as far as the noise is known, which is better in longer takes.
        doubt = min(0.5, max(NOISE_VARIANCE_DOUBT, 2.5 / np.sqrt(take.frames)))
        pulled = _multiply_pulls(doubt * orientation_pulls(fits, noise.orientation), solution)
        sure = replace(sure, passing=sure.passing + (1 - (NOISE_VARIANCE_DOUBT / doubt) ** 2) * pulled)
    else:
        # Plain least squares is pulled towards the sensors by their orientation noise; its interval must reach back.
        pulls = orientation_bias(fits, noise.orientation).reshape(1, -1)
        pulled = pulls.T @ pulls
    return replace(sure, covariance=sure.covariance + pulled)


def _multiply_pulls(pulls: Floats, solution: Solution) -> Floats:
    """(6J, 6J) [m^2] products of what each sensor pulls the joints by, given joint by joint for its child's and its
    parent's (J, 2, 6) [m]: a sensor pulls at its own joints alone.
    """
    pairs = solution.pairs
    J, sensor = len(pairs), pairs.ravel()
    if solution.basis.shape[0] != solution.basis.shape[1]:
        wide = solution.basis.reshape(J, 6, -1)
        pulls = pulls @ (wide @ np.swapaxes(wide, 1, 2))
    ends = pulls.reshape(2 * J, 6)
    one, other = np.nonzero(sensor[:, None] == sensor)
    out = np.zeros((J, J, 6, 6))
    np.add.at(out, (one // 2, other // 2), ends[one, :, None] * ends[other, None])
    return out.transpose(0, 2, 1, 3).reshape(6 * J, 6 * J)


def _roots(take: Take, structure: Structure, options: FitOptions) -> tuple[list[int], Ints]:
    """One root per tree of the forest, and the parent of every body."""
    edges, speed, given = structure.edges, measure_speeds(take), find_asked_root(take, options)
    roots = [
        given if given is not None and given in group else choose_root(group, edges, speed, take.names)
        for group in structure.figures
    ]
    return roots, orient(take.bodies, edges, roots)


def find_asked_root(take: Take, options: FitOptions) -> int | None:
    """The root that was asked for, by name, by the room, or by a whole hierarchy."""
    if options.root is not None:
        return take.index(options.root)
    if options.world:
        return take.names.index(WORLD)
    if len(options.tree) != take.bodies - 1:
        return None
    children = {child for _, child in options.tree}
    return next((k for k, name in enumerate(take.names) if name not in children), None)


def _order(parent: Ints, roots: Sequence[int]) -> Ints:
    """(J, 2) child, parent with parents before children."""
    order = []
    for root in roots:
        front = [root]
        for body in front:
            children = np.flatnonzero(parent == body).tolist()
            order += [(child, body) for child in children]
            front += children
    return np.array(order, dtype=np.int64).reshape(-1, 2)
