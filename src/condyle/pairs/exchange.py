"""What exchanging two bodies in some stretches of a take does to the residuals of all their pairs, from sums alone."""

from __future__ import annotations

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..model.take import Take
from .sums import whole_stack

RIDGE = 1e-4  # half mean square rotation [rad^2] below which a direction is not fitted
NUMBERS = 17  # of one pair in one stretch: frames, M (9), the child's half (3), the parent's (3), d.d


class PoseProducts:
    """Products of the poses of a take's bodies, frame by frame, made for those bodies that are asked for."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._X = whole_stack(take).reshape(3, take.frames, take.bodies, 4)
        self._tables: dict[int, Floats] = {}

    def sums(self, pair: tuple[int, int], cuts: Ints) -> Floats:
        """(K, 2, m, 17) of the two bodies as children and every body as parent, in stretches from cut to cut."""
        return np.stack([np.add.reduceat(self._table(body), cuts[:-1], axis=0) for body in pair], axis=1)

    def _table(self, body: int) -> Floats:
        """(n, m, 17)"""
        if body not in self._tables:
            n, m = self._take.seen.shape
            R, p = self._X[..., :3], self._X[..., 3]
            own = R[:, :, body]
            both = (self._take.seen[:, [body]] & self._take.seen).astype(np.float64)
            d = (p - p[:, :, [body]]) * both
            table = np.empty((n, m, NUMBERS))
            table[..., 0] = both
            table[..., 1:10] = np.einsum("xnr,xnms->nmrs", own, R).reshape(n, m, 9)
            table[..., 10:13] = np.einsum("xnr,xnm->nmr", own, d)
            table[..., 13:16] = -np.einsum("xnmr,xnm->nmr", R, d)
            table[..., 16] = np.einsum("xnm,xnm->nm", d, d)
            self._tables[body] = table
        return self._tables[body]


def residual_of(frames: Floats, M: Floats, b_child: Floats, b_parent: Floats, dd: Floats) -> Floats:
    """[m] least residual of pairs from their sums; directions that hardly turn are left at rest; inf without frames."""
    n = np.maximum(frames, 1.0)
    A = M / n[..., None, None]
    bc, bl, square = b_child / n[..., None], b_parent / n[..., None], dd / n
    # With the parent's half solved for, what is left of [[I, -A], [-A', I]] [c; l] = [bc; bl] is 3 x 3.
    inner = (1 + RIDGE) * np.eye(3) - A @ np.swapaxes(A, -1, -2)
    c = np.linalg.solve(inner, (bc + np.einsum("...rs,...s->...r", A, bl))[..., None])[..., 0]
    l = bl + np.einsum("...rs,...r->...s", A, c)
    value = square - 2 * (bc * c).sum(axis=-1) + (c * c).sum(axis=-1) - (l * l).sum(axis=-1)
    return np.where(frames > 0, np.sqrt(np.maximum(value, 0.0)), np.inf)


class Exchange:
    """The residuals of one pair of bodies with the others, for any choice of stretches in which it is exchanged.

    The score of a choice is the sum over all bodies of the log of the residual of their best joint.
    """

    def __init__(self, sums: Floats, pair: tuple[int, int], residual: Floats, floor: float) -> None:
        """sums from `PoseProducts`; residual (m, m) [m] of all pairs as recorded; floor [m]: exact."""
        a, b = pair
        self.floor = max(floor, 1e-9)
        others = np.array([k for k in range(len(residual)) if k not in pair], dtype=np.int64)
        as_is = np.concatenate([sums[:, 0][:, others], sums[:, 1][:, others], sums[:, :1, b]], axis=1)
        turned = np.concatenate([sums[:, 1][:, others], sums[:, 0][:, others], sums[:, 1:, a]], axis=1)
        self.whole, self.change = as_is.sum(axis=0), turned - as_is  # (P, 17), (K, P, 17)
        self.others = len(others)
        best = residual[np.ix_(others, others)]
        self.base = best.min(axis=1) if len(others) > 1 else np.full(len(others), np.inf)

    def scores(self, tables: Floats) -> Floats:
        """(H,) score of sums (H, P, 17)."""
        r = residual_of(
            tables[..., 0],
            tables[..., 1:10].reshape(*tables.shape[:-1], 3, 3),
            tables[..., 10:13],
            tables[..., 13:16],
            tables[..., 16],
        )
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
        K = len(self.change)
        swapped = np.zeros(K, dtype=bool)
        first, stop = np.triu_indices(K)
        stop = stop + 1
        proper = stop - first < K  # turning all over changes nothing
        first, stop = first[proper], stop[proper]
        start = score = float(self.scores(self.whole[None])[0])
        for _ in range(K):
            sign = np.where(swapped, -1.0, 1.0)[:, None, None]
            now = self.whole + (self.change * swapped[:, None, None]).sum(axis=0)
            total = np.concatenate([np.zeros((1, *now.shape)), np.cumsum(sign * self.change, axis=0)])
            tried = self.scores(now + total[stop] - total[first])
            best = int(np.argmin(tried))
            if score - tried[best] < worth:
                break
            swapped[first[best] : stop[best]] ^= True
            score = float(tried[best])
        return swapped, start - score
