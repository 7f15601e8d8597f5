"""Close contests between edges, settled by solving both trees.

The search over edges compares residuals of joints fitted pair by pair. Where sensors wobble together the joints of
a tree fit far better when they are solved together, so a rival that comes close is given that chance too.
"""

from __future__ import annotations

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..model.take import Take
from ..pairs.fits import PairFits, fit_pairs, gaps
from ..pairs.noise import Noise
from ..pairs.sums import PairSums
from .solve import solve_together
from .tree import FLOOR, Tree

CLOSE = 1.6  # margin below which a rival gets its trial
FRAMES = 700
ROUNDS = 6
RIVALS = 24  # trials at most in one round
SOLVE_SWEEPS = 4


def settle(
    take: Take,
    sums: PairSums,
    fits: PairFits,
    tree: Tree,
    rivals: Floats,
    good: Bools,
    held: list[int],
    handicap: Floats,
) -> tuple[Tree, bool]:
    """The tree after every close rival was tried, its margins from those trials, and whether an edge changed.

    rivals   (J, P) log margin of every pair against every edge, inf where it cannot stand in
    """
    close = [(float(rivals[a, b]), int(a), int(b)) for a, b in zip(*np.nonzero(rivals < np.log(CLOSE)), strict=True)]
    close = [entry for entry in sorted(close) if tree.edges[entry[1]] not in held][:RIVALS]
    if not close:
        return tree, False
    part, rows = take.thinned(FRAMES)
    part = part.mask(~good[rows])
    base = _logdet(part, sums, fits, tree.edges) + 6 * handicap[tree.edges].sum()
    edges, margin, runner = tree.edges.copy(), tree.margin.copy(), tree.runner_up.copy()
    best, winner = 0.0, None
    tried = np.full(len(edges), np.inf)
    for _, a, b in close:
        other = edges.copy()
        other[a] = b
        gap = (_logdet(part, sums, fits, other) + 6 * handicap[other].sum() - base) / 6
        if gap < tried[a]:
            tried[a], margin[a], runner[a] = gap, np.exp(gap), b
        if gap < best - 1e-3:
            best, winner = gap, (a, b)
    if winner is not None:
        edges[winner[0]] = winner[1]
        return Tree(edges, margin, runner), True
    return Tree(edges, margin, runner), False


def _logdet(take: Take, sums: PairSums, fits: PairFits, edges: Ints) -> float:
    """Log-determinant of the stacked gaps' covariance with the joints solved together."""
    pairs = fits.pairs[edges]
    start = fit_pairs(sums, pairs)
    solved = solve_together(
        take,
        start,
        Noise.none(take.bodies),
        held=~start.determined,
        robust=False,
        correct=False,
        sweeps=SOLVE_SWEEPS,
    )
    gap = gaps(take, pairs, solved.p_child_joint, solved.p_parent_joint)
    both = np.asarray(np.isfinite(gap).all(axis=2))
    flat = np.where(both[..., None], gap, 0.0).reshape(len(gap), -1)
    count = np.repeat(np.maximum(both.sum(axis=0), 1), 3)
    C = (flat.T @ flat) / np.sqrt(count[:, None] * count)
    size = np.sqrt(median(sums.dd[pairs[:, 0], pairs[:, 1]] / np.maximum(start.frames, 1)))
    value = np.linalg.eigvalsh(C + (FLOOR * size) ** 2 * np.eye(len(C)))
    return float(np.log(np.maximum(value, (FLOOR * size) ** 2)).sum())
