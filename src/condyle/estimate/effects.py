"""Random effects by restricted maximum likelihood: how large errors are that go with something that was seen.

y = Q u + X b + e, where u is free, the entries of b have one variance a group of columns, and e is white or correlated
from block to block. The variances of a gap may add up to no more than a limit: without it, many columns that are nearly
alike in a short or slow take have a second solution, in which effects of many times the gap cancel each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..maths.least_squares import factor_columns

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints

FIXED_POINT_ROUNDS = 2  # before Newton's steps, so that these start in the right valley
NEWTON_ROUNDS = 12  # at most; five are usual
NEWTON_MAX_STEP = 2.0  # up, in the logarithm of a variance
NEWTON_SETTLED = 1e-3  # change of the logarithms of the variances at which the rounds end
EFFECT_MIN_RATIO = 1e-9  # of the noise's variance: what an effect that is not there is given
PRICE_ROUNDS = 30  # at most; five are usual
PRICE_SETTLED = 1e-9  # share of the limit that may be asked for beyond it
LEAST_NOISE_M2 = 1e-200  # m^2: of gaps that are exactly 0
WHITENING_ROUNDS = 2  # of the correlation that the effects leave
CORRELATION_MIN = 0.05  # from block to block, below which nothing is whitened
CORRELATION_MAX = 0.95  # from block to block, above which noise would be taken for a drift


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects that were found in y.

    variance  (G,)  of every group of columns
    free      (K,)  coefficients of Q;  random (F,) those of X
    gain            twice the log likelihood gained over correlated noise alone
    """

    variance: Floats
    free: Floats
    random: Floats
    gain: float


def fit_effects(y: Floats, Q: Floats, X: Floats, groups: Ints, fresh: Bools, limit: float = np.inf) -> Effects:
    """Effects of y (r b,), r rows a block, when the rest is correlated from block to block: without the whitening, slow
    noise is taken for effects of the slow motion.

    Q       (r b, K) columns whose coefficients are free;  X (r b, F) those of effects, column k of group groups[k]
    fresh   (b,) blocks that follow none
    limit   most that the variances may add up to
    """
    q, r, keep = factor_columns(Q)  # columns that are alike would be told apart by rounding
    series = _Products(np.column_stack([y, q, X]), fresh, q.shape[1])
    rho = 0.0
    variance, b, likely = maximise_likelihood(series, rho, groups, limit)
    for _ in range(WHITENING_ROUNDS):
        closer = series.correlate(rho, b)
        if closer < CORRELATION_MIN:
            break
        rho = closer
        variance, b, likely = maximise_likelihood(series, rho, groups, limit, variance)
    none = np.zeros(len(groups))
    at, alone = rho, series.noise_alone(rho)
    for _ in range(WHITENING_ROUNDS):
        at = series.correlate(at, none)
        alone = max(alone, series.noise_alone(at))
    free = np.zeros(Q.shape[1])
    free[keep] = np.linalg.lstsq(r, series.free(rho, b), rcond=None)[0]
    return Effects(variance, free, b, 2 * (likely - alone))


class _Products:
    """Products of the columns of a table (r b, 1 + K + F): y, columns that are free, those of effects. What whitening
    makes of them follows without the table: with rho times the block before taken away, they are
    now - rho (before + its transpose) + rho^2 (earlier - first).
    """

    def __init__(self, table: Floats, fresh: Bools, free: int) -> None:
        self.blocks, self.rows, self.columns = len(fresh), len(table), 1 + free
        self.first = int(fresh.sum())
        rows = table.reshape(self.blocks, -1, table.shape[1])
        last = np.append(fresh[1:], True)

        def multiply(one: Floats, two: Floats) -> Floats:
            return np.asarray(one.reshape(-1, table.shape[1]).T @ two.reshape(-1, table.shape[1]))

        self.now = table.T @ table
        self.before = multiply(rows[:-1][~fresh[1:]], rows[1:][~fresh[1:]])
        self.earlier = self.now - multiply(rows[last], rows[last])
        self.change = self.earlier - multiply(rows[fresh], rows[fresh])

    def whiten(self, rho: float) -> Floats:
        """The products of whitened columns."""
        if rho == 0:
            return self.now
        return np.asarray(self.now - rho * (self.before + self.before.T) + rho**2 * self.change)

    def clear(self, rho: float) -> tuple[Floats, float]:
        """(1 + F, 1 + F) products of whitened y and effects without the free columns, and the log of these' volume."""
        inner = self.whiten(rho)
        k = slice(1, self.columns)
        rest = np.r_[0, self.columns : len(inner)]
        root = np.linalg.cholesky(inner[k, k])
        across = np.linalg.solve(root, inner[k][:, rest])
        return inner[np.ix_(rest, rest)] - across.T @ across, float(np.log(np.diagonal(root)).sum())

    def free(self, rho: float, b: Floats) -> Floats:
        """(K,) coefficients of the free columns beside those of effects (F,)."""
        inner, k = self.whiten(rho), slice(1, self.columns)
        right = inner[k, 0] - inner[k, self.columns :] @ b
        return np.asarray(np.linalg.solve(inner[k, k], right))

    def correlate(self, rho: float, b: Floats) -> float:
        """Correlation from block to block of what coefficients b (F,), and the free ones beside them, leave of y; none
        below zero is looked for.
        """
        left = np.concatenate([[1.0], -self.free(rho, b), -b])
        closer = float(left @ self.before @ left) / max(float(left @ self.earlier @ left), 1e-300)
        return min(max(closer, 0.0), CORRELATION_MAX)

    def log_shrinkage(self, rho: float) -> float:
        """Log of what whitening makes of a volume."""
        return 0.5 * self.rows / self.blocks * self.first * float(np.log(1 - rho**2))

    def noise_alone(self, rho: float) -> float:
        """Restricted log likelihood of y without effects, with noise of this correlation."""
        inner, volume = self.clear(rho)
        rows = self.rows - self.columns + 1
        noise = max(float(inner[0, 0]) / rows, 1e-300)
        return -0.5 * rows * (1 + float(np.log(noise))) - volume + self.log_shrinkage(rho)


def maximise_likelihood(
    series: _Products, rho: float, groups: Ints, limit: float = np.inf, start: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Variance of each group of effects, their coefficients, and the log of the restricted likelihood."""
    inner, volume = series.clear(rho)
    yy = float(inner[0, 0])
    if yy < 1e-200:  # gaps of exact data have no effects
        return np.zeros(groups.max() + 1), np.zeros(len(groups)), 0.0
    sums = _Sums(inner[1:, 1:], inner[1:, 0], yy, series.rows - series.columns + 1, groups, limit)
    variance, noise = _solve_sizes(sums, start)
    b, likely = sums.likelihood(variance, noise)
    return variance, b, likely - volume + series.log_shrinkage(rho)


def _solve_sizes(sums: _Sums, start: Floats | None) -> tuple[Floats, float]:
    """Variances (G,) and the noise's at MacKay's fixed point, by Newton's method in their logarithms."""
    noise = sums.yy / sums.rows
    variance = np.full(len(sums.member), 0.25 * noise) if start is None else start
    at = np.log(np.append(np.maximum(variance, EFFECT_MIN_RATIO * noise), noise))
    for turn in range(FIXED_POINT_ROUNDS + NEWTON_ROUNDS):
        to, slope = sums.update(at)
        step = to - at
        if turn >= FIXED_POINT_ROUNDS:
            # An effect that is not there falls by a factor each round for ever: Newton takes it to the least at once.
            least = at[-1] + np.log(EFFECT_MIN_RATIO)
            free = np.append((at[:-1] > least + NEWTON_SETTLED) | (step[:-1] > 0), True)
            newton = np.linalg.lstsq((np.eye(len(at)) - slope)[np.ix_(free, free)], step[free], rcond=1e-9)[0]
            step[free] = np.where(newton * step[free] > 0, np.minimum(newton, NEWTON_MAX_STEP), step[free])
        after = sums.within(at + step)
        moved = float(np.abs(after - at).max())
        at = after
        if moved < NEWTON_SETTLED:
            break
    return np.exp(at[:-1]), float(np.exp(at[-1]))


class _Sums:
    """What the likelihood needs of y and X once they are cleared of Q."""

    def __init__(self, XX: Floats, Xy: Floats, yy: float, rows: int, groups: Ints, limit: float) -> None:
        self.XX, self.Xy, self.yy, self.rows, self.groups, self.limit = XX, Xy, yy, rows, groups, limit
        self.member = (np.arange(groups.max() + 1)[:, None] == groups).astype(np.float64)
        self.size = self.member.sum(axis=1)

    def within(self, at: Floats) -> Floats:
        """Logarithms of variances and noise, with the variances between the least and the limit."""
        variance = np.maximum(np.exp(at[:-1]), EFFECT_MIN_RATIO * np.exp(at[-1]))
        variance *= min(1.0, self.limit / float(variance.sum()))
        return np.append(np.log(np.maximum(variance, 1e-300)), at[-1])

    def update(self, at: Floats) -> tuple[Floats, Floats]:
        """One round of MacKay's fixed point in the logarithms (G + 1,), and its slope (G + 1, G + 1)."""
        variance, noise = np.exp(at[:-1]), max(float(np.exp(at[-1])), LEAST_NOISE_M2)
        A = self.XX / noise
        A[np.diag_indices_from(A)] += 1 / variance[self.groups]
        C = np.linalg.inv(A)
        b = C @ self.Xy / noise
        square, told = self.member @ (b * b), self.member @ np.diagonal(C) / variance
        known = np.maximum(self.size - told, 1e-3 * self.size)
        left = max(self.yy - 2 * float(b @ self.Xy) + float(b @ self.XX @ b), 1e-12 * self.yy)
        free = max(self.rows - float(known.sum()), 1.0)
        price = self._price(square, known, variance)
        whole = known + price * variance
        to = np.append(np.log(np.maximum(square / whole, 1e-300)), np.log(left / free))
        # dC = C_h C_h' / v_h and db = C_h b_h / v_h for a step of log v_h; a step of the log noise undoes all of them.
        M = 2 * (self.member * b) @ C @ (self.member * b).T / variance  # (G, H) slope of `square`
        root = np.sqrt(variance[self.groups])
        K = self.member @ np.square(C / root / root[:, None]) @ self.member.T - np.diag(told)  # of `told`
        M, K = (np.column_stack([part, -part.sum(axis=1)]) for part in (M, K))
        K_known = np.where((self.size - told > 1e-3 * self.size)[:, None], -K, 0.0)
        K_whole = K_known + np.eye(len(variance), len(at)) * (price * variance)[:, None]
        slope = M / np.maximum(square, 1e-300)[:, None] - K_whole / whole[:, None]
        if price > 0:
            share, dear = np.exp(to[:-1]), variance / whole
            slope -= np.outer(dear, share @ slope / (share @ dear))
        fall = -noise * (M / variance[:, None]).sum(axis=0) / left + K_known.sum(axis=0) / free
        return to, np.vstack([slope, fall])

    def _price(self, square: Floats, known: Floats, variance: Floats) -> float:
        """Likelihood per variance at which the groups together ask for no more than the limit; 0 where they do not.

        Groups that share a limit by how fast they grow would leave it to one that hardly shows, and grows for that.
        """
        price = 0.0
        for _ in range(PRICE_ROUNDS):  # one over what is asked is concave in it, so Newton's steps come from below
            whole = known + price * variance
            asked = square / whole
            if asked.sum() <= self.limit * (1 + PRICE_SETTLED):
                break
            price += float((asked.sum() - self.limit) * asked.sum() / self.limit / (asked * variance / whole).sum())
        return price

    def likelihood(self, variance: Floats, noise: float) -> tuple[Floats, float]:
        """Coefficients of X, and the log likelihood but for Q's volume."""
        own, noise = variance[self.groups], max(noise, LEAST_NOISE_M2)
        A = self.XX / noise + np.diag(1 / own)
        b = np.asarray(np.linalg.solve(A, self.Xy) / noise, dtype=np.float64)
        fits = (self.yy - float(self.Xy @ b)) / noise
        volume = float(np.linalg.slogdet(A)[1] + np.log(own).sum()) + self.rows * float(np.log(noise))
        return b, -0.5 * (fits + volume)
