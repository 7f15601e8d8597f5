"""How badly a take holds together: what a wrong convention makes many times larger, whatever figure is inside."""

from __future__ import annotations

import numpy as np

from ._median import median
from ._shapes import Floats, Ints
from .joints import PairFits, fit_pairs, gaps
from .sums import sum_pairs
from .take import Take, evenly
from .tree import spanning_tree

EXACT = 1e-5  # of the scene's size: gaps below it are rounding
FAR = 3.0  # usual gaps beyond which a frame is left out of a second fit


def tree_gap(take: Take) -> float:
    """How far the joints of a take's own best tree come apart [m]: geometric mean over edges of the usual gap.

    A geometric mean, so that one loose thing does not hide what the rest says.
    """
    fits = fit_pairs(sum_pairs(take))
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    if not len(edges):
        return np.inf
    usual = robust_gaps(take, fits, edges)
    floor = EXACT * scene_size(take)
    return float(np.exp(np.mean(np.log(np.maximum(usual, max(floor, 1e-300))))))


def robust_gaps(take: Take, fits: PairFits, edges: Ints, rounds: int = 2) -> Floats:
    """(J,) median gap of each edge [m], its joint fitted without the frames that are far off."""
    pairs = fits.pairs[edges]
    c, l = fits.p_child_joint[edges], fits.p_parent_joint[edges]
    length = np.linalg.norm(gaps(take, pairs, c, l), axis=2)
    for _ in range(rounds):
        usual = _columns_median(length)
        far = length > FAR * usual
        if not far.any():
            break
        for a in np.flatnonzero(far.any(axis=0)):
            part = take.select([take.names[k] for k in pairs[a]]).at(
                np.flatnonzero(~far[:, a] & np.isfinite(length[:, a]))
            )
            one = fit_pairs(sum_pairs(part), np.array([[0, 1]]))
            length[:, a] = np.linalg.norm(gaps(take, pairs[a : a + 1], one.p_child_joint, one.p_parent_joint), axis=2)[
                :, 0
            ]
    return _columns_median(length)


def _columns_median(length: Floats) -> Floats:
    return np.array(
        [median(column[np.isfinite(column)]) if np.isfinite(column).any() else np.inf for column in length.T]
    )


def scene_size(take: Take) -> float:
    """Usual distance between two bodies [m]."""
    p = take.p_world_body[evenly(take.frames, 50)][:, evenly(take.bodies, 50)]
    apart = np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)
    known = apart[np.isfinite(apart) & (apart > 0)]
    return float(median(known)) if known.size else 1.0
