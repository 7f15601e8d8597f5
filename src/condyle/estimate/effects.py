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
    rho = 0.0
    variance, free, random, likely = maximise_likelihood(y, Q, X, groups, limit)
    for _ in range(WHITENING_ROUNDS):
        closer = _correlation(y - Q @ free - X @ random, fresh)
        if closer < CORRELATION_MIN:
            break
        rho = closer
        table = _whiten(np.column_stack([y, Q, X]), rho, fresh)
        Q_white, X_white = np.split(table[:, 1:], [Q.shape[1]], axis=1)
        variance, free, random, likely = maximise_likelihood(table[:, 0], Q_white, X_white, groups, limit, variance)
    alone, fixed = _noise_alone(y, Q, rho, fresh)
    for _ in range(WHITENING_ROUNDS):
        more, fixed = _noise_alone(y, Q, _correlation(y - Q @ fixed, fresh), fresh)
        alone = max(alone, more)
    return Effects(variance, free, random, 2 * (likely + _log_shrinkage(rho, fresh, len(y)) - alone))


def maximise_likelihood(
    y: Floats, Q: Floats, X: Floats, groups: Ints, limit: float = np.inf, start: Floats | None = None
) -> tuple[Floats, Floats, Floats, float]:
    """Variance of each group of effects, the coefficients of Q and X, and the log of the restricted likelihood."""
    q, r, keep = factor_columns(Q)
    inner = q.T @ np.column_stack([y, X])
    free_y, free_X = y - q @ inner[:, 0], X - q @ inner[:, 1:]
    sums = _Sums(free_X.T @ free_X, free_X.T @ free_y, float(free_y @ free_y), len(y) - q.shape[1], groups, limit)
    fixed = np.zeros(Q.shape[1])
    if sums.yy < 1e-200:  # gaps of exact data have no effects
        return np.zeros(groups.max() + 1), fixed, np.zeros(X.shape[1]), 0.0
    variance, noise = _solve_sizes(sums, start)
    b, likely = sums.likelihood(variance, noise)
    fixed[keep] = np.linalg.lstsq(r, inner[:, 0] - inner[:, 1:] @ b, rcond=None)[0]
    return variance, fixed, b, likely - float(np.log(np.abs(np.diagonal(r))).sum())


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
        return np.append(np.log(variance), at[-1])

    def update(self, at: Floats) -> tuple[Floats, Floats]:
        """One round of MacKay's fixed point in the logarithms (G + 1,), and its slope (G + 1, G + 1)."""
        variance, noise = np.exp(at[:-1]), float(np.exp(at[-1]))
        A = self.XX / noise
        A[np.diag_indices_from(A)] += 1 / variance[self.groups]
        C = np.linalg.inv(A)
        b = C @ self.Xy / noise
        square, told = self.member @ (b * b), self.member @ np.diagonal(C) / variance
        known = np.maximum(self.size - told, 1e-3 * self.size)
        left = max(self.yy - 2 * float(b @ self.Xy) + float(b @ self.XX @ b), 1e-12 * self.yy)
        free = max(self.rows - float(known.sum()), 1.0)
        to = np.append(np.log(np.maximum(square / known, 1e-300)), np.log(left / free))
        # dC = C_h C_h' / v_h and db = C_h b_h / v_h for a step of log v_h; a step of the log noise undoes all of them.
        M = 2 * (self.member * b) @ C @ (self.member * b).T / variance  # (G, H) slope of `square`
        root = np.sqrt(variance[self.groups])
        K = self.member @ np.square(C / root / root[:, None]) @ self.member.T - np.diag(told)  # of `told`
        M, K = (np.column_stack([part, -part.sum(axis=1)]) for part in (M, K))
        K_known = np.where((self.size - told > 1e-3 * self.size)[:, None], -K, 0.0)
        slope = M / np.maximum(square, 1e-300)[:, None] - K_known / known[:, None]
        fall = -noise * (M / variance[:, None]).sum(axis=0) / left + K_known.sum(axis=0) / free
        slope = np.vstack([slope, fall])
        over = np.exp(to[:-1])
        if over.sum() > self.limit:
            share = over / over.sum()
            slope[:-1] -= share @ slope[:-1]
            to[:-1] += np.log(self.limit / over.sum())
        return to, slope

    def likelihood(self, variance: Floats, noise: float) -> tuple[Floats, float]:
        """Coefficients of X, and the log likelihood but for Q's volume."""
        own = variance[self.groups]
        A = self.XX / noise + np.diag(1 / own)
        b = np.asarray(np.linalg.solve(A, self.Xy) / noise, dtype=np.float64)
        fits = (self.yy - float(self.Xy @ b)) / noise
        volume = float(np.linalg.slogdet(A)[1] + np.log(own).sum()) + self.rows * float(np.log(noise))
        return b, -0.5 * (fits + volume)


def _correlation(left: Floats, fresh: Bools) -> float:
    """From block to block, of (r b,); none below zero is looked for."""
    e, follows = left.reshape(len(fresh), -1), ~fresh[1:, None]
    rho = float((e[1:] * e[:-1] * follows).sum() / max((e[:-1] ** 2 * follows).sum(), 1e-300))
    return min(max(rho, 0.0), CORRELATION_MAX)


def _noise_alone(y: Floats, Q: Floats, rho: float, fresh: Bools) -> tuple[float, Floats]:
    """Restricted log likelihood of y without effects, with noise of this correlation, and the coefficients of Q."""
    table = _whiten(np.column_stack([y, Q]), rho, fresh)
    q, r, keep = factor_columns(table[:, 1:])
    inner = q.T @ table[:, 0]
    rows = len(y) - q.shape[1]
    noise = max(float(table[:, 0] @ table[:, 0] - inner @ inner) / rows, 1e-300)
    fixed = np.zeros(Q.shape[1])
    fixed[keep] = np.linalg.lstsq(r, inner, rcond=None)[0]
    volume = float(np.log(np.abs(np.diagonal(r))).sum())
    return -0.5 * rows * (1 + float(np.log(noise))) - volume + _log_shrinkage(rho, fresh, len(y)), fixed


def _log_shrinkage(rho: float, fresh: Bools, rows: int) -> float:
    """Log of what `_whiten` makes of a volume."""
    return 0.5 * rows / len(fresh) * float(fresh.sum()) * float(np.log(1 - rho**2))


def _whiten(table: Floats, rho: float, fresh: Bools) -> Floats:
    """Rows (r b, F) with what the previous block predicts taken away."""
    rows = table.reshape(len(fresh), -1, table.shape[1])
    out = rows.copy()
    out[1:] -= rho * rows[:-1]
    out[fresh] = rows[fresh] * np.sqrt(1 - rho**2)
    return np.asarray(out.reshape(table.shape))
