"""How badly a take holds together: what a wrong convention makes many times larger, whatever figure is inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..model.take import Take
from .fits import fit_pairs, gaps
from .sums import stack_sums, sum_pairs, sum_products, whole_stack

EXACT_GAP_SHARE = 1e-5  # of the scene's size: gaps below it are rounding
RESOLVABLE_TURN_RAD = np.radians(0.25)  # rms rotation below which a take is still, whatever its noise
FAR_GAP_MEDIANS = 3.0  # usual gaps beyond which a frame is left out of a second fit


class ForestGaps(NamedTuple):
    """How far the joints of a take's own best tree come apart [m]: geometric mean over edges of the usual gap, so that
    one loose thing does not hide what the rest says.

    plain  joints fitted to all frames
    gap    ... and without those that are far off
    """

    plain: float
    gap: float


def measure_forest(take: Take, *, size: float, hopeless: float = np.inf) -> ForestGaps:
    """The gaps of a take in a scene of this size [m]; beyond a plain one of `hopeless` nothing is looked at twice."""
    fits = fit_pairs(sum_pairs(take))
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    if not len(edges):
        return ForestGaps(np.inf, np.inf)
    length = _lengths(take, fits.pairs[edges], fits.p_child_joint[edges], fits.p_parent_joint[edges])
    plain = _mean(median(length, np.inf), EXACT_GAP_SHARE * size)
    if plain > hopeless:
        return ForestGaps(plain, plain)
    return ForestGaps(plain, _mean(_robust(take, fits.pairs[edges], length), EXACT_GAP_SHARE * size))


def _mean(usual: Floats, floor: float) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(usual, max(floor, 1e-300))))))


def _lengths(take: Take, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
    """(n, J) [m] how far each joint comes apart in each frame."""
    gap = gaps(take, pairs, p_child_joint, p_parent_joint)
    return np.asarray(np.sqrt(np.einsum("nji,nji->nj", gap, gap)))


def _robust(take: Take, pairs: Ints, length: Floats) -> Floats:
    """(J,) median gap of each pair [m], its joint fitted without the frames that are far off in `length` (n, J)."""
    for _ in range(2):
        far = length > FAR_GAP_MEDIANS * median(length, np.inf)
        again = np.flatnonzero(far.any(axis=0))
        if not len(again):
            break
        c, l = _refit(take, pairs[again], ~far[:, again] & np.isfinite(length[:, again]))
        length[:, again] = _lengths(take, pairs[again], c, l)
    return median(length, np.inf)


def _refit(take: Take, pairs: Ints, use: Bools) -> tuple[Floats, Floats]:
    """Least-squares joints (P, 3) in child and parent of each pair, from the frames (n, P) that count for it."""
    X = whole_stack(take).reshape(3, take.frames, take.bodies, 4)
    poses = [X[:, own][:, :, pair].reshape(-1, 8) for own, pair in zip(use.T, pairs, strict=True)]
    sums = stack_sums([sum_products(one, np.ones((len(one) // 3, 2), dtype=bool))[0, 1] for one in poses])
    fits = fit_pairs(sums, pairs)
    return fits.p_child_joint, fits.p_parent_joint


def scene_size(take: Take) -> float:
    """Usual distance between two bodies [m]."""
    p = take.p_world_body[evenly(take.frames, 20)][:, evenly(take.bodies, 50)]
    apart = np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)
    known = apart[np.isfinite(apart) & (apart > 0)]
    return float(median(known)) if known.size else 1.0
