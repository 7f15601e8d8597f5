"""What exchanging two bodies in some stretches of a take does to the residuals of all their pairs, from sums alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.spool import blocks_of
from ..model.take import Take
from .fits import fit_joints, fit_laid_out, lay_out_sums
from .sums import STACK_CHUNK_BYTES, PairSums, stack_sums, sum_products, whole_stack

SUMS_BYTES = 136  # of one pair: frames, M, b_child, b_parent, dd
EXCHANGE_RIDGE_RAD2 = 1e-4  # half mean square rotation [rad^2] below which a direction is not fitted


def sum_stretches(take: Take, bodies: Sequence[int], cuts: Ints) -> PairSums:
    """(K, c, m) sums of c bodies as children and every body as parent, in stretches from cut to cut."""
    X, own = whole_stack(take).reshape(3, take.frames, -1), np.array(bodies)
    stretches = [slice(first, stop) for first, stop in pairwise(cuts)]
    return stack_sums([sum_products(X[:, k].reshape(-1, X.shape[2]), take.seen[k], own) for k in stretches])


def fit_residual(sums: PairSums) -> Floats:
    """(...) [m] least residual of pairs; directions that hardly turn are left at rest; inf without frames."""
    return fit_joints(sums, EXCHANGE_RIDGE_RAD2)[2]


class Exchange:
    """The residuals of one pair of bodies with the others, for any choice of stretches in which it is exchanged.

    The score of a choice is the sum over all bodies of the log of the residual of their best joint.
    """

    def __init__(self, sums: PairSums, pair: tuple[int, int], residual: Floats, floor: float) -> None:
        """sums (K, 2, m) from `sum_stretches`; residual (m, m) [m] of all pairs as recorded; floor [m]: exact."""
        a, b = pair
        self.floor = max(floor, 1e-9)
        others = np.array([k for k in range(len(residual)) if k not in pair], dtype=np.int64)
        self.others = len(others)
        child = np.repeat([0, 1, 0], [len(others), len(others), 1])
        as_is, exchanged = (
            sums[:, child ^ turned, np.concatenate([others, others, [partner]])] for turned, partner in ((0, b), (1, a))
        )
        self.whole, self.change = as_is.map(lambda values: values.sum(axis=0)), exchanged - as_is  # (P,), (K, P)
        best = residual[np.ix_(others, others)]
        self.base = best.min(axis=1) if len(others) > 1 else np.full(len(others), np.inf)

    def scores(self, r: Floats) -> Floats:
        """(H,) score of residuals (H, P) [m]."""
        k = self.others
        first, second, own = r[:, :k], r[:, k : 2 * k], r[:, 2 * k :]
        theirs = np.minimum(np.minimum(first, second), self.base)
        ours = [np.concatenate([one, own], axis=1).min(axis=1, keepdims=True) for one in (first, second)]
        every = np.concatenate([theirs, *ours], axis=1)
        every = np.where(np.isfinite(every), every, 1.0)
        return np.asarray(np.log(np.maximum(every, self.floor)).sum(axis=1))

    def search(self, worth: float) -> tuple[Bools, float]:
        """(K,) stretches to exchange, and by how much that lowers the score.

        Runs of stretches are turned over one after the other, the best first, as long as that pays by `worth`.
        """
        K = len(self.change.frames)
        swapped = np.zeros(K, dtype=bool)
        first, stop = np.triu_indices(K)
        stop = stop + 1
        proper = stop - first < K  # turning all over changes nothing
        first, stop = first[proper], stop[proper]
        start = score = float(self.scores(fit_residual(self.whole[None]))[0])
        for _ in range(K):
            now = self.whole + self.change[swapped].map(lambda values: values.sum(axis=0))
            total = self.change.map(partial(_add_up, np.where(swapped, -1.0, 1.0)))
            before, after = lay_out_sums(total), lay_out_sums(now[None] + total)
            residual = np.empty((len(first), len(now.frames)))
            for some in blocks_of(len(now.frames), SUMS_BYTES * len(first), STACK_CHUNK_BYTES):
                turned = after[..., some].map(partial(np.take, indices=stop, axis=-2))
                turned -= before[..., some].map(partial(np.take, indices=first, axis=-2))
                residual[:, some] = fit_laid_out(turned, EXCHANGE_RIDGE_RAD2)[2]
            tried = self.scores(residual)
            best = int(np.argmin(tried))
            if score - tried[best] < worth:
                break
            swapped[first[best] : stop[best]] ^= True
            score = float(tried[best])
        return swapped, start - score


def _add_up(sign: Floats, values: Floats) -> Floats:
    """(K + 1, ...) sums of the first so many of (K, ...), each with its sign (K,)."""
    return np.cumsum(np.concatenate([0 * values[:1], (sign * values.T).T]), axis=0)
