"""How sure the joints are: 95 % intervals that stay honest when the error repeats with the motion.

No resampling inside one recording sees an error that comes back whenever the joint bends or the sensor visits a bent
part of the field. So every joint's gap is modelled as random effects that follow the joint's angle and the sensors'
places, with sizes estimated from the gap itself (REML), and those effects are carried through the estimator.
Where the gap is white and no larger than the sensors' noise, no such effects are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..maths import rotation
from ..maths.least_squares import clear_of, factor_columns, invert_normal
from ..maths.robust import median
from ..maths.spool import blocks_of

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints
    from ..model.take import Take
    from ..pairs.noise import Noise
    from .solve import Solution

BLOCK_RATE_HZ = 6.0  # Hz: motion is slower, white noise is averaged away
BLOCK_MIN_COUNT = 60  # a short take is cut into shorter blocks
REML_ROUNDS = 12
WHITENING_ROUNDS = 2
CORRELATION_LAG_S = 1.0  # s over which what is left after the effects may still be correlated
WHITE_CORRELATION_SE = 2.6  # standard errors of the first autocorrelation that still count as none
NOISE_EXCESS_RATIO = 1.35  # gap variance over what the sensors' noise explains, up to which it is noise
EFFECT_MIN_GAIN = (
    15.0  # twice the gain in log likelihood up to which effects may be noise that happens to follow the motion
)
BEND_MIN_CHI2 = (
    60.0  # the same by the joint's own angle alone, in a gap that else looks white, from which on it is none
)
CAM_EFFECT_RATIO = (
    2.0  # a gap that the joint's angle explains down to the noise: effects that no gap shows over those that it shows
)
INTERVAL_WIDENING = 1.1  # widening of all intervals: real errors are not of the shapes assumed


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariance of the unknowns of a solution.

    covariance  (6J, 6J) [m^2]  joint by joint, child half first; held directions have none
    passing     (6J, 6J) [m^2]  the part of it that shrinks as more of the same motion is recorded
    white       (J,)            joints whose gap is white noise of the sensors' size
    effect      (J, 2) [m]      rms length of the gap that follows the joint's own angle, and the sensors' place; 0
                                where correlated noise explains it as well
    """

    covariance: Floats
    passing: Floats
    white: Bools
    effect: Floats


def estimate_uncertainty(take: Take, solution: Solution, noise: Noise, lag: float = 0.0) -> Uncertainty | None:
    """Random-effect covariance of all joints of a solution; None for a take too short to tell.

    lag  [s] above 0: the solution came from differences of the gaps over so long
    """
    blocks = Blocks(take, solution)
    J = len(solution.pairs)
    if blocks.count < 12:  # too short to see any error but white noise, so nothing is claimed
        return None
    own = 1 / np.diagonal(solution.residual_cov)
    S = np.linalg.inv(solution.residual_cov) if solution.together else np.diag(own)
    Z = blocks.Z * np.sqrt(blocks.weight)[:, None, :, None]  # (b, 3, J, 6)
    flat = Z.reshape(3 * blocks.count, 6 * J)
    rows = flat
    if lag > 0:
        # The solution weighs errors e by D'DZ, where D takes the differences, instead of by Z.
        rows, flat = blocks.differences(flat, lag)
    N = (rows.T @ rows) * np.kron(S, np.ones((6, 6)))
    gain = invert_normal(N, solution.basis)
    white = _is_white(solution, noise, blocks)
    explained = noise.gap_variance(*solution.joints)
    V, faint, gained = np.zeros((6 * J, 6 * J)), np.zeros((6 * J, 6 * J)), np.zeros(J)
    effect = np.zeros((J, 2))
    rest = np.zeros((blocks.count, 3, J))
    stretch = np.ones(J)
    for a in range(J):
        root = np.repeat(np.sqrt(blocks.weight[:, a]), 3)
        y = blocks.gap[:, :, a].reshape(-1) * root
        Q = Z[:, :, a].reshape(-1, 6)
        if white[a] and _bends(y, Q, blocks.features(a, world=False)[0] * root[:, None]) > BEND_MIN_CHI2:
            white[a] = False
        if white[a]:
            left = y - Q @ np.linalg.lstsq(Q, y, rcond=None)[0]
        else:
            X, groups = blocks.features(a)
            X = X * root[:, None]
            variance, b, gained[a] = _coloured_effects(y, Q, X, groups, blocks.fresh)
            left = y - Q @ b[:6] - X @ b[6:]
            if gained[a] > EFFECT_MIN_GAIN:
                effect[a] = [
                    _shown(Q, X[:, own] @ b[6:][own], blocks.weight[:, a]) for own in (groups <= 1, groups > 1)
                ]
                if float(left @ left) <= NOISE_EXCESS_RATIO * left.size * explained[a]:
                    variance[:2] *= CAM_EFFECT_RATIO**2
            T = (flat.T @ X) * np.repeat(S[:, a], 6)[:, None]
            B = gain @ T * np.sqrt(variance[groups])
            V += B @ B.T
            if gained[a] <= EFFECT_MIN_GAIN:
                faint += B @ B.T
            stretch[a] = long_run(left.reshape(-1, 3), blocks.step, blocks.run)
        rest[:, :, a] = left.reshape(-1, 3)
    C = np.einsum("bxi,bxj->ij", rest, rest) / (3 * blocks.count)
    C *= np.sqrt(stretch[:, None] * stretch)
    middle = (flat.T @ flat) * np.kron(S @ C @ S, np.ones((6, 6)))
    passing = gain @ middle @ gain
    V += passing
    if median(gained) < EFFECT_MIN_GAIN:
        # Correlated noise that happens to follow the motion shrinks as well. Where errors repeat at the other joints,
        # one that does not show them yet is not taken for free of them.
        passing += faint
    return Uncertainty(INTERVAL_WIDENING**2 * V, INTERVAL_WIDENING**2 * passing, white, effect)


class Blocks:
    """Gaps and designs averaged over short blocks of frames, block by block within segments."""

    def __init__(self, take: Take, solution: Solution) -> None:
        rate = take.rate if np.isfinite(take.rate) else 1.0
        length = max(1, min(round(rate / BLOCK_RATE_HZ), take.frames // BLOCK_MIN_COUNT))
        self.step = length / rate
        start = np.concatenate([[0], np.flatnonzero(np.diff(take.segment)) + 1, [take.frames]])
        first = np.concatenate([np.arange(a, b, length) for a, b in pairwise(start)])
        self.pairs, self.first = solution.pairs, first
        self._angles: dict[int, Floats] = {}
        i, j = solution.pairs.T
        w = solution.weight
        total = np.maximum(np.add.reduceat(w, first, axis=0), 1e-300)
        self.weight = np.where(total > 1e-200, total, 0.0)  # frames' worth of weight in each block and joint
        self.count = len(first)
        self.fresh = np.isin(first, start)  # first block of a segment
        self.run = np.cumsum(self.fresh.astype(np.int64))

        if (w == 1).all():
            size = np.diff(np.append(first, take.frames)).astype(np.float64)
            R = np.add.reduceat(take.R_world_body, first, axis=0) / size[:, None, None, None]
            p = np.add.reduceat(take.p_world_body, first, axis=0) / size[:, None, None]
            R_child, R_parent, p_child, p_parent = R[:, i], R[:, j], p[:, i], p[:, j]
        else:
            R_child, R_parent, p_child, p_parent = (
                _block_mean(values, bodies, w, first, total)
                for values, bodies in (
                    (take.R_world_body, i),
                    (take.R_world_body, j),
                    (take.p_world_body, i),
                    (take.p_world_body, j),
                )
            )
        d = p_parent - p_child
        self.place = 0.5 * (p_parent + p_child)
        self.R_child, self.R_parent = R_child, R_parent
        self.Z = np.concatenate([R_child, -R_parent], axis=3).transpose(0, 2, 1, 3)  # (b, 3, J, 6)
        self.arm = np.einsum("bjxy,jy->bjx", R_child, solution.p_child_joint) - np.einsum(
            "bjxy,jy->bjx", R_parent, solution.p_parent_joint
        )  # the sensors' distance as the joint has it; the measured one would explain its own noise
        self.gap = (self.arm - d).transpose(0, 2, 1)  # (b, 3, J)

    def differences(self, flat: Floats, lag: float) -> tuple[Floats, Floats]:
        """DZ and D'DZ of rows Z (3 b, F), where D takes differences over `lag` [s] within segments."""
        Z, steps = flat.reshape(self.count, 3, -1), min(max(1, round(lag / self.step)), self.count - 1)
        change = (Z[steps:] - Z[:-steps]) * (self.run[steps:] == self.run[:-steps])[:, None, None]
        back = np.zeros_like(Z)
        back[steps:] += change
        back[:-steps] -= change
        return change.reshape(-1, flat.shape[1]), back.reshape(flat.shape)

    def angle(self, a: int) -> Floats:
        """(b, 3) [rad] rotation vector of joint a from its middle pose."""
        if a in self._angles:
            return self._angles[a]
        relative = np.swapaxes(self.R_child[:, a], 1, 2) @ self.R_parent[:, a]
        known = self.weight[:, a] > 0
        relative = rotation.project(np.where(known[:, None, None], relative, np.eye(3)))
        middle = rotation.project(relative[known].mean(axis=0)) if known.any() else np.eye(3)
        self._angles[a] = rotation.to_vector(middle.T @ relative)
        return self._angles[a]

    def features(self, a: int, world: bool = True) -> tuple[Floats, Ints]:
        """(3 b, F) shapes an error could take at joint a, each of unit size, and the group of each column.

        world   False: only those that follow the joint's own angle, groups 0 and 1
        """
        known = self.weight[:, a] > 0
        angle = self.angle(a)
        place = self.place[:, a] - self.place[known, a].mean(axis=0) if known.any() else self.place[:, a]
        place = place / max(float(np.sqrt((place[known] ** 2).mean())) if known.any() else 1.0, 1e-9)
        arm = self.arm[:, a]
        pairs = [angle[:, s] * angle[:, t] for s in range(3) for t in range(s, 3)]
        local = [(0, angle), (1, np.stack(pairs, axis=1))]
        room = [(2, arm), (3, (arm[:, :, None] * place[:, None, :]).reshape(len(arm), 9))]
        columns, groups = [], []
        for group, values in local:  # displacements that live in a body's own axes
            block = np.einsum("bxr,bs->bxrs", self.R_parent[:, a], _unit(values, known))
            columns.append(block.reshape(3 * len(arm), -1))
            groups += [group] * columns[-1].shape[1]
        for group, values in room if world else []:  # bent fields live in the room
            block = np.einsum("xr,bs->bxrs", np.eye(3), _unit(values, known))
            columns.append(block.reshape(3 * len(arm), -1))
            groups += [group] * columns[-1].shape[1]
        return np.concatenate(columns, axis=1), np.array(groups)


def _block_mean(values: Floats, bodies: Ints, weight: Floats, first: Ints, total: Floats) -> Floats:
    """Weighted means of (n, m, ...) of J bodies over blocks that start at `first`; 0 where nothing has weight."""
    spare = (1,) * (values.ndim - 2)
    w = weight.reshape(*weight.shape, *spare)
    summed = np.empty((len(first), len(bodies), *values.shape[2:]))
    stop = np.append(first[1:], len(values))
    length = int((stop - first).max(initial=1))
    for rows in blocks_of(len(first), length * values.itemsize * values[0].size):
        part = slice(int(first[rows.start]), int(stop[rows.stop - 1]))
        own = w[part]
        known = np.where(own > 0, values[part][:, bodies], 0.0) * own
        summed[rows] = np.add.reduceat(known, first[rows] - part.start, axis=0)
    return np.asarray(summed / total.reshape(*total.shape, *spare))


def _unit(values: Floats, known: Bools) -> Floats:
    """All columns divided by one number, so that their rms size together is one."""
    size = float(np.sqrt((values[known] ** 2).sum(axis=1).mean())) if known.any() else 1.0
    return values / max(size, 1e-12)


def _coloured_effects(y: Floats, Q: Floats, X: Floats, groups: Ints, fresh: Bools) -> tuple[Floats, Floats, float]:
    """`_random_effects` when the rest of y is correlated from block to block: without the whitening, slow noise is
    taken for effects of the slow motion. `fresh` (b,) marks blocks that follow none.

    Variances, coefficients of Q and X, and twice the log likelihood that the effects gain over correlated noise alone.
    """
    K = Q.shape[1]
    rho = 0.0
    variance, b, likely = _random_effects(y, Q, X, groups)
    left = y - Q @ b[:K] - X @ b[K:]
    for _ in range(WHITENING_ROUNDS):
        closer = _correlation(left, fresh)
        if closer < 0.05:
            break
        rho = closer
        table = _whiten(np.column_stack([y, Q, X]), rho, fresh)
        variance, b, likely = _random_effects(table[:, 0], table[:, 1 : 1 + K], table[:, 1 + K :], groups, variance)
        left = y - Q @ b[:K] - X @ b[K:]
    alone, fixed = _noise_alone(y, Q, rho, fresh)
    for _ in range(WHITENING_ROUNDS):
        other = _correlation(y - Q @ fixed, fresh)
        more, fixed = _noise_alone(y, Q, other, fresh)
        alone = max(alone, more)
    return variance, b, 2 * (likely + _shrunk(rho, fresh) - alone)


def _bends(y: Floats, Q: Floats, X: Floats) -> float:
    """Twice the gain in log likelihood, as chi-squared with as many degrees of freedom as X has columns."""
    q, _, _ = factor_columns(Q)
    both, _, _ = factor_columns(np.column_stack([Q, X]))
    before, after = (float(y @ y - np.square(part.T @ y).sum()) for part in (q, both))
    rows = len(y) - q.shape[1] - 0.5 * (X.shape[1] + 1)
    return rows * float(np.log(before / after)) if after > 1e-200 else 0.0


def _shown(Q: Floats, part: Floats, weight: Floats) -> float:
    """[m] rms length of a part (3 b,) of the gap, without what another centre would explain as well."""
    q, _, _ = factor_columns(Q)
    part = clear_of(q, part)
    return float(np.sqrt(part @ part / max(float(weight.sum()), 1e-300)))


def _correlation(left: Floats, fresh: Bools) -> float:
    """From block to block, of (3 b,); none below zero is looked for."""
    e, follows = left.reshape(-1, 3), ~fresh[1:, None]
    rho = float((e[1:] * e[:-1] * follows).sum() / max((e[:-1] ** 2 * follows).sum(), 1e-300))
    return min(max(rho, 0.0), 0.95)


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
    return -0.5 * rows * (1 + float(np.log(noise))) - volume + _shrunk(rho, fresh), fixed


def _shrunk(rho: float, fresh: Bools) -> float:
    """Log of what `_whiten` makes of a volume."""
    return 1.5 * float(fresh.sum()) * float(np.log(1 - rho**2))


def _whiten(table: Floats, rho: float, fresh: Bools) -> Floats:
    """Rows (3 b, F) with what the previous block predicts taken away."""
    rows = table.reshape(len(fresh), 3, -1)
    out = rows.copy()
    out[1:] -= rho * rows[:-1]
    out[fresh] = rows[fresh] * np.sqrt(1 - rho**2)
    return np.asarray(out.reshape(table.shape))


def _random_effects(
    y: Floats, Q: Floats, X: Floats, groups: Ints, start: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Variance of each group of effects by restricted maximum likelihood, the fixed and random coefficients, and the
    logarithm of that likelihood.
    """
    q, r, keep = factor_columns(Q)
    inner = q.T @ np.column_stack([y, X])
    free_y, free_X = y - q @ inner[:, 0], X - q @ inner[:, 1:]
    rows = len(y) - q.shape[1]
    XX, Xy, yy = free_X.T @ free_X, free_X.T @ free_y, float(free_y @ free_y)
    member = np.arange(groups.max() + 1)[:, None] == groups
    size = member.sum(axis=1)
    noise = yy / rows
    variance = np.full(len(member), 0.25 * noise) if start is None else start.copy()
    b = np.zeros(len(Xy))
    for _ in range(REML_ROUNDS if yy > 1e-200 else 0):  # gaps of exact data have no effects
        A = XX / noise
        A[np.diag_indices_from(A)] += 1 / np.maximum(variance[groups], 1e-9 * noise)
        covariance = np.linalg.inv(A)
        b = covariance @ Xy / noise
        # MacKay's fixed point for the variances: many times fewer rounds than expectation-maximisation.
        known = np.maximum(size - (member @ np.diagonal(covariance)) / np.maximum(variance, 1e-9 * noise), 1e-3 * size)
        variance = np.maximum((member @ (b * b)) / known, 1e-9 * noise)
        left = max(yy - 2 * float(b @ Xy) + float(b @ XX @ b), 1e-12 * yy)
        noise = max(left / max(rows - float(known.sum()), 1.0), 1e-300)
    fixed = np.zeros(Q.shape[1])
    fixed[keep] = np.linalg.lstsq(r, inner[:, 0] - inner[:, 1:] @ b, rcond=None)[0]
    likely = 0.0
    if yy > 1e-200:
        own = np.maximum(variance[groups], 1e-9 * noise)
        A = XX / noise + np.diag(1 / own)
        fits = (yy - float(Xy @ np.linalg.solve(A, Xy)) / noise) / noise
        volume = float(np.linalg.slogdet(A)[1] + np.log(own).sum()) + rows * float(np.log(noise))
        likely = -0.5 * (fits + volume) - float(np.log(np.abs(np.diagonal(r))).sum())
    return variance, np.concatenate([fixed, b]), likely


def long_run(left: Floats, step: float, run: Ints) -> float:
    """Factor by which correlation in time makes the mean of a series less sure than its variance says; at least 1.

    run   (b,) number of the segment of each block; segments have nothing to do with each other
    """
    n = len(left)
    lags = min(max(1, round(CORRELATION_LAG_S / step)), n - 2)
    zero = float((left * left).sum())
    if zero <= 0:
        return 1.0
    total = 1.0
    for k in range(1, lags + 1):
        near = (run[k:] == run[:-k])[:, None]
        total += 2 * (1 - k / (lags + 1)) * float((left[k:] * left[:-k] * near).sum()) / zero
    return max(total, 1.0)


def _is_white(solution: Solution, noise: Noise, blocks: Blocks) -> Bools:
    """(J,) whether a gap is as large as the sensors' noise and uncorrelated from block to block."""
    own = np.diagonal(solution.residual_cov) / 1.02
    small = own <= NOISE_EXCESS_RATIO * noise.gap_variance(*solution.joints)
    e = blocks.gap * np.sqrt(blocks.weight)[:, None, :]
    zero = np.maximum((e * e).sum(axis=(0, 1)), 1e-300)
    lag = (e[1:] * e[:-1] * ~blocks.fresh[1:, None, None]).sum(axis=(0, 1)) / zero
    return np.asarray(small & (np.abs(lag) < WHITE_CORRELATION_SE / np.sqrt(3 * blocks.count)))
