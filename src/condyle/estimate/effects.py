"""Random effects by restricted maximum likelihood: how large errors are that go with something that was seen.

y = Q u + X b + e, where u is free, the entries of b have one variance a group of columns, and e is white or correlated
from block to block. The variances of a gap may add up to no more than a limit: without it, many columns that are nearly
alike in a short or slow take have a second solution, in which effects of many times the gap cancel each other.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..maths.least_squares import factor_columns, invert_open, invert_positive, solve_triangle
from ..maths.spool import PART_BYTES, blocks_of
from ..model.values import dataclass

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints

FIXED_POINT_ROUNDS = 2  # before Newton's steps, so that these start in the right valley
NEWTON_ROUNDS = 12  # at most; five are usual
NEWTON_MAX_STEP = 2.0  # up, in the logarithm of a variance
NEWTON_SETTLED = 1e-3  # change of the logarithms of the variances at which the rounds end
# Change of the logarithms of all other variances below which one that falls faster and faster is taken to the least at
# once; while others move by more, one in 200 came back
OTHERS_MAX_STEP = 0.1
EFFECT_MIN_RATIO = 1e-9  # of the noise's variance: what an effect that is not there is given
CLEAR_MAX_RATIO = 1e6  # largest entry of a matrix times that of its inverse, up to which none is
PRICE_ROUNDS = 30  # at most; five are usual
PRICE_SETTLED = 1e-9  # share of the limit that may be asked for beyond it
LEFT_MIN_SHARE = 1e-12  # of the squares of gaps, which effects leave at least: rounding
NOISE_MIN_SHARE = 1e-30  # of the squares, below which no step of Newton's takes the noise on the way
LEAST_NOISE_M2 = 1e-200  # m^2: of gaps that are exactly 0
WHITENING_ROUNDS = 2  # of the correlation that the effects leave
CORRELATION_MIN = 0.05  # from block to block, below which nothing is whitened
CORRELATION_MAX = 0.95  # from block to block, above which noise would be taken for a drift


class Columns(Protocol):
    """Columns (P, r b, F) of which rows are made when they are asked for."""

    shape: tuple[int, ...]

    def __getitem__(self, rows: tuple[slice, slice]) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects that were found in each of several y.

    variance  (..., G)  of every group of columns
    free      (..., K)  coefficients of Q;  random (..., F) those of X
    gain      (...)     twice the log likelihood gained over correlated noise alone
    """

    variance: Floats
    free: Floats
    random: Floats
    gain: Floats


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of poses that are no motion
def fit_effects(
    y: Floats, Q: Floats, X: Floats | Columns, groups: Ints, fresh: Bools, limit: Floats | float = np.inf
) -> Effects:
    """Effects of y (..., r b), r rows a block, when the rest is correlated from block to block: without the whitening,
    slow noise is taken for effects of the slow motion.

    Q       (..., r b, K) columns whose coefficients are free;  X (..., r b, F) those of effects, column k of group
            groups[k]; or what gives rows of (P, r b, F) when they are asked for
    fresh   (b,) blocks that follow none
    limit   (...) most that the variances may add up to
    """
    batch, (rows, K) = y.shape[:-1], Q.shape[-2:]
    q, r, keep = factor_columns(Q.reshape(-1, rows, K))  # columns that are alike would be told apart by rounding
    series = _EffectProducts(
        y.reshape(-1, rows), q, X.reshape(len(q), rows, -1) if isinstance(X, np.ndarray) else X, keep, fresh
    )
    limits = np.broadcast_to(np.asarray(limit, dtype=np.float64), batch).reshape(-1)
    rho = np.zeros(len(q))
    variance, b, likely = maximise_likelihood(series, rho, groups, limits)
    still = np.arange(len(q))
    for _ in range(WHITENING_ROUNDS):
        closer = series.at(still).correlate(rho[still], b[still])
        still, closer = still[closer >= CORRELATION_MIN], closer[closer >= CORRELATION_MIN]
        if not len(still):
            break
        rho[still] = closer
        found = maximise_likelihood(series.at(still), closer, groups, limits[still], variance[still])
        variance[still], b[still], likely[still] = found
    none = np.zeros_like(b)
    at, alone = rho, series.noise_alone(rho)
    for _ in range(WHITENING_ROUNDS):
        at = series.correlate(at, none)
        alone = np.maximum(alone, series.noise_alone(at))
    free = solve_triangle(r, series.free(rho, b), keep)
    facts = (variance, free, b, 2 * (likely - alone))
    return Effects(*(part.reshape((*batch, *part.shape[1:])) for part in facts))


class _EffectProducts:
    """Products of the columns of tables (P, r b, K + 1 + F): columns that are free, y, those of effects. What whitening
    makes of them follows without the tables: with rho times the block before taken away, they are
    now - rho near + rho^2 (earlier - first), where `near` are those with the block before, both ways round.
    """

    def __init__(self, y: Floats, q: Floats, X: Floats | Columns, keep: Bools, fresh: Bools) -> None:
        """y (P, r b), orthonormal columns q (P, r b, K) but for those that are not kept (P, K), and X (P, r b, F)."""
        self.blocks, self.rows, self.columns = len(fresh), y.shape[1], q.shape[2]
        self.first = int(fresh.sum())
        self.known = self.rows - keep.sum(axis=1)  # rows that the free columns leave
        size, width = self.columns + 1 + X.shape[2], self.rows // self.blocks
        self.now, begins, ends, both = np.zeros((4, len(y), size, size))
        for part in blocks_of(self.blocks, 8 * width * X.shape[2], PART_BYTES):
            before = slice(max(part.start - 1, 0), part.stop)  # with the block before the first of the part
            rows = slice(width * before.start, width * before.stop)
            for k, shapes in enumerate(X[:, rows]):
                table = np.concatenate([q[k, rows], y[k, rows, None], shapes], axis=1).reshape(-1, width, size)
                own = table[part.start - before.start :]
                self.now[k] += _multiply(own)
                begins[k] += _multiply(own[fresh[part]])
                ends[k] += _multiply(own[np.append(fresh[1:], True)[part]])
                follows = ~fresh[before.start + 1 : part.stop]
                both[k] += _multiply((table[1:] + table[:-1])[slice(None) if follows.all() else follows])
        self.earlier, later = self.now - ends, self.now - begins
        self.near = both - self.earlier - later  # one product of a matrix with itself
        self.change = self.earlier + later - self.now
        problem, column = np.nonzero(~keep)
        self.now[problem, column, column] = 1.0  # in the place of a column that says nothing

    def at(self, problems: Ints) -> _EffectProducts:
        """Some of them."""
        if len(problems) == len(self.now):
            return self
        part = copy(self)
        for name in ("known", "now", "near", "earlier", "change"):
            setattr(part, name, getattr(self, name)[problems])
        return part

    def whiten(self, rho: Floats, rows: slice = slice(None), columns: slice = slice(None)) -> Floats:
        """The products of whitened columns, or some of them."""
        now, near, change = (part[:, rows, columns] for part in (self.now, self.near, self.change))
        if not rho.any():
            return np.asarray(now)
        rho = rho[:, None, None]
        return np.asarray(now - rho * near + rho**2 * change)

    def clear(self, rho: Floats, count: int | None = None) -> tuple[Floats, Floats]:
        """(P, 1 + F, 1 + F) products of whitened y and effects without the free columns, and (P,) the log of these'
        volume.

        count  of the 1 + F columns, the first, that are asked for; all by default
        """
        K = self.columns
        inner = self.whiten(rho, columns=slice(None if count is None else K + count))
        root = np.linalg.cholesky(inner[:, :K, :K])
        across = np.linalg.solve(root, inner[:, :K, K:])
        left = inner[:, K : inner.shape[2], K:] - _transpose(across) @ across
        return left, np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)

    def free(self, rho: Floats, b: Floats) -> Floats:
        """(P, K) coefficients of the free columns beside those of effects (P, F)."""
        K = self.columns
        inner = self.whiten(rho, slice(K))
        right = inner[..., K : K + 1] - inner[..., K + 1 :] @ b[..., None]
        return np.asarray(np.linalg.solve(inner[..., :K], right)[..., 0])

    def correlate(self, rho: Floats, b: Floats) -> Floats:
        """(P,) correlation from block to block of what coefficients b (P, F), and the free ones beside them, leave of
        y; none below zero is looked for.
        """
        left = np.concatenate([-self.free(rho, b), np.ones((len(b), 1)), -b], axis=1)
        closer, size = 0.5 * _square(left, self.near), _square(left, self.earlier)
        return np.asarray(np.clip(closer / np.maximum(size, 1e-300), 0.0, CORRELATION_MAX))

    def log_shrinkage(self, rho: Floats) -> Floats:
        """(P,) log of what whitening makes of a volume."""
        return np.asarray(0.5 * self.rows / self.blocks * self.first * np.log(1 - rho**2))

    def noise_alone(self, rho: Floats) -> Floats:
        """(P,) restricted log likelihood of y without effects, with noise of this correlation."""
        inner, volume = self.clear(rho, 1)
        noise = np.maximum(inner[:, 0, 0] / self.known, 1e-300)
        return np.asarray(-0.5 * self.known * (1 + np.log(noise)) - volume + self.log_shrinkage(rho))


def _multiply(rows: Floats) -> Floats:
    """(F, F) products of the columns of (b, r, F)."""
    flat = rows.reshape(-1, rows.shape[2])
    return np.asarray(flat.T @ flat)


def _transpose(values: Floats) -> Floats:
    return np.swapaxes(values, 1, 2)


def _square(values: Floats, products: Floats) -> Floats:
    """(P,) v'Av of values (P, F) and products (P, F, F)."""
    return np.asarray((values[:, None] @ products @ values[..., None])[:, 0, 0])


def maximise_likelihood(
    series: _EffectProducts, rho: Floats, groups: Ints, limit: Floats, start: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Variance (P, G) of each group of effects, their coefficients (P, F), and the log of the restricted likelihood
    (P,).
    """
    inner, volume = series.clear(rho)
    yy = inner[:, 0, 0]
    variance, b, likely = np.zeros((len(yy), groups.max() + 1)), np.zeros((len(yy), len(groups))), np.zeros(len(yy))
    some = np.flatnonzero(yy >= 1e-200)  # gaps of exact data have no effects
    if not len(some):
        return variance, b, likely
    inner = inner[some]
    sums = _Sums(inner[:, 1:, 1:], inner[:, 1:, 0], yy[some], series.known[some], groups, limit[some])
    variance[some], noise = _solve_sizes(sums, None if start is None else start[some])
    b[some], inside = sums.likelihood(variance[some], noise)
    likely[some] = inside - volume[some] + series.log_shrinkage(rho)[some]
    return variance, b, likely


def _solve_sizes(sums: _Sums, start: Floats | None) -> tuple[Floats, Floats]:
    """Variances (P, G) and the noise's (P,) at MacKay's fixed point, by Newton's method in their logarithms."""
    noise = (sums.yy / sums.rows)[:, None]
    variance = np.repeat(0.25 * noise, len(sums.member), axis=1) if start is None else start
    at = np.log(np.concatenate([np.maximum(variance, EFFECT_MIN_RATIO * noise), noise], axis=1))
    still, part = np.arange(len(at)), sums
    for turn in range(FIXED_POINT_ROUNDS + NEWTON_ROUNDS):
        now = at[still]
        to, slope = part.update(now)
        step = to - now
        if turn >= FIXED_POINT_ROUNDS:
            step = _step_newton(now, step, slope)
        after = part.within(now + step)
        at[still] = after
        moving = np.abs(after - now).max(axis=1) >= NEWTON_SETTLED
        if not moving.any():
            break
        if not moving.all():
            still, part = still[moving], part.at(moving)
    return np.exp(at[:, :-1]), np.exp(at[:, -1])


def _step_newton(at: Floats, step: Floats, slope: Floats) -> Floats:
    """(P, G + 1) Newton's steps to the fixed point from a round's steps and their slope (P, G + 1, G + 1)."""
    # An effect that is not there falls by a factor each round for ever: Newton takes it to the least at once.
    least = at[:, -1:] + np.log(EFFECT_MIN_RATIO)
    free = np.ones(at.shape, dtype=bool)
    free[:, :-1] = (at[:, :-1] > least + NEWTON_SETTLED) | (step[:, :-1] > 0)
    inner = np.where(free[:, :, None] & free[:, None, :], np.eye(at.shape[1]) - slope, 0.0)
    newton = _solve_open(inner, free, np.where(free, step, 0.0))
    step = np.where(free & (newton * step > 0), np.minimum(newton, NEWTON_MAX_STEP), step)
    # One that falls by more in every round while all others hardly move has nothing to stop it either.
    falls = free & (newton * step <= 0) & (step < 0) & (np.diagonal(slope, axis1=1, axis2=2) >= 1)
    falls[:, -1] = False
    falls &= np.abs(np.where(free & ~falls, step, 0.0)).max(axis=1, keepdims=True) < OTHERS_MAX_STEP
    return np.where(falls, least - at, step)


def _solve_open(A: Floats, free: Bools, right: Floats) -> Floats:
    """(P, F) solutions of A (P, F, F) for sides (P, F), both 0 where not free (P, F); least where open."""
    k = np.arange(A.shape[1])
    whole = A.copy()
    whole[:, k, k] += ~free
    try:
        back = np.linalg.inv(whole)
    except np.linalg.LinAlgError:
        back = np.full(A.shape, np.inf)
    clear = np.abs(back).max(axis=(1, 2)) * np.abs(whole).max(axis=(1, 2)) < CLEAR_MAX_RATIO
    if not clear.all():  # NaN is not
        back = np.where(clear[:, None, None], back, invert_open(A))
    return np.asarray((back @ right[..., None])[..., 0])


class _Sums:
    """What the likelihood needs of y and X once they are cleared of Q: of P of them side by side."""

    def __init__(self, XX: Floats, Xy: Floats, yy: Floats, rows: Ints, groups: Ints, limit: Floats) -> None:
        self.XX, self.Xy, self.yy, self.rows, self.groups, self.limit = XX, Xy, yy, rows, groups, limit
        self.group, self.column = np.arange(groups.max() + 1), np.arange(len(groups))
        self.member = (self.group[:, None] == groups).astype(np.float64)
        self.size = self.member.sum(axis=1)

    def at(self, problems: Bools) -> _Sums:
        """Some of them."""
        part = copy(self)
        for name in ("XX", "Xy", "yy", "rows", "limit"):
            setattr(part, name, getattr(self, name)[problems])
        return part

    def within(self, at: Floats) -> Floats:
        """Logarithms of variances and noise: variances between the least and the limit, noise not at nothing."""
        noise = np.maximum(at[:, -1], np.log(NOISE_MIN_SHARE * self.yy / self.rows))[:, None]
        variance = np.maximum(np.exp(at[:, :-1]), EFFECT_MIN_RATIO * np.exp(noise))
        variance *= np.minimum(1.0, self.limit / variance.sum(axis=1))[:, None]
        return np.concatenate([np.log(np.maximum(variance, 1e-300)), noise], axis=1)

    def update(self, at: Floats) -> tuple[Floats, Floats]:
        """One round of MacKay's fixed point in the logarithms (P, G + 1), and its slope (P, G + 1, G + 1)."""
        variance, noise = np.exp(at[:, :-1]), np.maximum(np.exp(at[:, -1]), LEAST_NOISE_M2)
        C = invert_positive(self._precision(variance, noise))
        b = (C @ self.Xy[..., None])[..., 0] / noise[:, None]
        square = (b * b) @ self.member.T
        told = np.diagonal(C, axis1=1, axis2=2) @ self.member.T / variance
        known = np.maximum(self.size - told, 1e-3 * self.size)
        left = self.yy - 2 * np.einsum("pf,pf->p", b, self.Xy) + _square(b, self.XX)
        left = np.maximum(left, LEFT_MIN_SHARE * self.yy)
        free = np.maximum(self.rows - known.sum(axis=1), 1.0)
        price = self._price(square, known, variance)[:, None]
        whole = known + price * variance
        to = np.log(np.maximum(np.concatenate([square / whole, (left / free)[:, None]], axis=1), 1e-300))
        # dC = C_h C_h' / v_h and db = C_h b_h / v_h for a step of log v_h; a step of the log noise undoes all of them.
        own, G = self.member * b[:, None], len(self.size)
        M, K = np.empty((2, len(at), G, G + 1))  # slopes of `square` and of `told`
        M[..., :G] = 2 * own @ C @ _transpose(own) / variance[:, None]
        K[..., :G] = self.member @ (C * C) @ self.member.T / variance[:, None] / variance[..., None]
        K[:, self.group, self.group] -= told
        for part in (M, K):
            part[..., G] = -part[..., :G].sum(axis=2)
        K_known = np.where((self.size - told > 1e-3 * self.size)[..., None], -K, 0.0)
        slope = np.empty((len(at), G + 1, G + 1))
        slope[:, :G] = M / np.maximum(square, 1e-300)[..., None] - K_known / whole[..., None]
        if price.any():
            dear, share = variance / whole, np.exp(to[:, :-1])
            slope[:, self.group, self.group] -= price * dear
            shared = (share[:, None] @ slope[:, :G])[:, 0] / np.maximum((share * dear).sum(axis=1), 1e-300)[:, None]
            slope[:, :G] -= np.where(price[..., None] > 0, dear[..., None] * shared[:, None], 0.0)
        noisy = (noise / left)[:, None] * (M / variance[..., None]).sum(axis=1)
        slope[:, G] = K_known.sum(axis=1) / free[:, None] - noisy
        return to, slope

    def _precision(self, variance: Floats, noise: Floats) -> Floats:
        """(P, F, F) of the coefficients of X."""
        A = self.XX / noise[:, None, None]
        A[:, self.column, self.column] += 1 / variance[:, self.groups]
        return np.asarray(A)

    def _price(self, square: Floats, known: Floats, variance: Floats) -> Floats:
        """(P,) likelihood per variance at which the groups together ask for no more than the limit; 0 where it is less.

        Groups that share a limit by how fast they grow would leave it to one that hardly shows, and grows for that.
        """
        price = np.zeros(len(square))
        for _ in range(PRICE_ROUNDS):  # one over what is asked is concave in it, so Newton's steps come from below
            whole = known + price[:, None] * variance
            asked = square / whole
            total, slope = asked.sum(axis=1), (asked * variance / whole).sum(axis=1)
            over = total > self.limit * (1 + PRICE_SETTLED)
            if not over.any():
                break
            limit = np.where(over, self.limit, 1.0)
            price = np.where(over, price + (total - limit) * total / limit / np.where(over, slope, 1.0), price)
        return price

    def likelihood(self, variance: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """(P, F) coefficients of X, and (P,) the log likelihood but for Q's volume."""
        noise = np.maximum(noise, LEAST_NOISE_M2)
        A = self._precision(variance, noise)
        try:
            b = np.linalg.solve(A, self.Xy[..., None])[..., 0] / noise[:, None]
        except np.linalg.LinAlgError:  # noise so small that rounding leaves nothing of the variances
            b = (invert_positive(A) @ self.Xy[..., None])[..., 0] / noise[:, None]
        fits = (self.yy - np.einsum("pf,pf->p", self.Xy, b)) / noise
        shrunk = np.linalg.slogdet(A)[1] + np.log(variance[:, self.groups]).sum(axis=1)  # of 1 and what is added to it
        return np.asarray(b), -0.5 * (fits + np.maximum(shrunk, 0.0) + self.rows * np.log(noise))
