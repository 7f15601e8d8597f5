"""How sure the axes of hinges are: the algebra of the intervals on a gap of directions instead of places.

The axis is the direction that both bodies have in common: u = (axis in the child, axis in the parent) that makes
R_child u_1 - R_parent u_2 smallest. Off-axis turns that are proportional to the angle look like another axis, all of
them, so they are taken to be as large as those that go with its square, which show. Those that go with the off-axis
angle itself are the gap, and are no shapes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..maths.least_squares import clear_of, factor_columns
from ..maths.robust import median
from .edge_blocks import Blocks, average_blocks, long_run
from .effects import fit_effects
from .intervals import EFFECT_MIN_GAIN, INTERVAL_WIDENING, share_effects

if TYPE_CHECKING:
    from ..maths.arrays import Floats, Ints
    from ..model.take import Take
    from ..pairs.noise import Noise
    from .intervals import Uncertainty
    from .solve import Solution

# Of the gap of directions beyond white noise, what turns the axis from take to take: hinges of diodem lie within their
# intervals in 41 of 46 at 0.02 and 0.04, in 44 at 0.06; above 0.02 intervals in simulated slow noise are too wide,
# which alone fixes it: either set-up held back (35 of 38 and 6 of 8), the choice is the same.
AXIS_PLAY_SHARE = 0.02
AXIS_EFFECT_MIN_SHARE = 0.25  # of the gap of directions: what effects are that slow noise does not explain, at least


class _AxisEffects(NamedTuple):
    """Of one axis: what unit effects make of it (6, F), their variance [rad^2] and its limit, and the rest (6, 6)."""

    onto: Floats
    variance: float
    limit: float
    rest: Floats


def estimate_axes(
    take: Take,
    solution: Solution,
    sure: Uncertainty,
    noise: Noise,
    hinges: Ints,
    axis_child: Floats,
    axis_parent: Floats,
) -> Floats:
    """(H, 6, 6) [rad^2] covariance of the axes of joints `hinges` (H,), child half first; each half across itself.

    noise                    of the sensors in a row of the solution
    axis_child, axis_parent  (H, 3) their unit axes
    """
    blocks = average_blocks(take, solution)
    each = zip(hinges.tolist(), axis_child, axis_parent, strict=True)
    white = np.square(noise.orientation)[solution.pairs].sum(axis=1)  # (J,) [rad^2]
    found = [_find_effects(blocks, *one, float(white[one[0]]), shown=bool(sure.effect[one[0]].any())) for one in each]
    usual = median(np.array([[one.variance] for one in found]))
    covariance = []
    for one in found:
        variance = share_effects(np.array([one.variance]), usual, one.limit)
        covariance.append(variance * one.onto @ one.onto.T + one.rest)
    return INTERVAL_WIDENING**2 * np.stack(covariance)


def _find_effects(blocks: Blocks, a: int, child: Floats, parent: Floats, white: float, *, shown: bool) -> _AxisEffects:
    """`white`: variance [rad^2] of the gap of directions by the sensors' noise in a frame; `shown`: whether the joint's
    gap has effects that slow noise does not explain.
    """
    across_child, across = (np.linalg.svd(axis[None])[2][1:].T for axis in (child, parent))  # (3, 2)
    free = np.zeros((6, 4))
    free[:3, :2], free[3:, 2:] = across_child, across
    root = np.sqrt(blocks.weight[:, a])[:, None, None]
    # What lies along the axis is no error of it.
    rows = (
        across.T @ np.swapaxes(blocks.R_parent[:, a], 1, 2) @ blocks.lay_out(np.array([a]))[:, :, 0] * root
    )  # (b, 2, 6)
    y, Q = (rows @ np.concatenate([child, parent])).ravel(), (rows @ free).reshape(-1, 4)
    angle = blocks.angle(a) @ parent
    shapes = np.stack([angle, angle**2], axis=1)
    known = blocks.weight[:, a] > 0
    shapes /= np.maximum(np.sqrt(np.square(shapes[known]).mean(axis=0)), 1e-12)
    X = np.einsum("xr,bs->bxrs", np.eye(2), shapes * root[:, 0]).reshape(-1, 4)
    q, _, _ = factor_columns(Q)
    clear = clear_of(q, y)
    limit = float(clear @ clear) / max(float(blocks.weight[:, a].sum()), 1e-300)
    found = fit_effects(y, Q, X, np.zeros(4, np.int64), blocks.fresh, limit)
    left = (y - Q @ found.free - X @ found.random).reshape(-1, 2)
    # Two numbers tell that size: where slow noise does not explain the gap, it is no less than a part of it. A gap
    # beyond the noise of single frames is slow noise, or the play of a real hinge, which turns its axis a little.
    least = AXIS_EFFECT_MIN_SHARE * limit
    if not shown and found.gain <= EFFECT_MIN_GAIN:
        count = 2 * float(known.sum())
        by_noise = white * (count + 2 * np.sqrt(2 * count)) / max(float(blocks.weight[:, a].sum()), 1e-300)
        least = AXIS_PLAY_SHARE * max(limit - by_noise, 0.0)
    variance = max(float(found.variance[0]), least)
    inner = Q.T @ Q
    gain = free @ np.linalg.pinv(inner, rcond=1e-12, hermitian=True)
    noise = float(np.square(left).sum()) / left.size * long_run(left, blocks.step, blocks.run)
    return _AxisEffects(gain @ (Q.T @ X), variance, limit, noise * gain @ inner @ gain.T)
