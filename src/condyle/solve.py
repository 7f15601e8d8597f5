"""All joints of a tree solved together: what joints that share a sensor have in common is its noise.

Seemingly unrelated regressions (a generalised least squares over joints), corrected for orientation noise, with
robust weights where the residuals ask for them. The paper's estimator is the first step and the fallback.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._median import median
from ._shapes import Bools, Floats, Ints
from .joints import PairFits, gap_columns, gaps
from .noise import Noise
from .sums import whole_gram, whole_stack
from .take import Take

SWEEPS = 3
LOADING = 0.02  # of the diagonal, added to the joints' covariance before it is inverted
TUKEY = 5.0  # robust standard deviations at which a residual stops counting
CHI3_MEDIAN = 1.5381722544550522  # median length of a unit Gaussian vector in space
LIVELY = 1.0  # s: a stretch, judged with its neighbours, that may have a scale of its own
LIFT = 3.0  # times the overall scale up to which a lively stretch may raise its own
MEDIAN_ROWS = 2000  # rows a median is taken over
OUTLIER_SHARE = 1e-3  # of the frames beyond TUKEY: a Gaussian leaves 1.5e-5 there
ROUNDING = 1e-12  # m: gaps of exact data, which are no outliers of each other
FAINT = 1e-4  # of the largest gap: smaller ones count as this
EXACT = 1e-8  # residual over lever length below which the data are exact and nothing needs weighing
GUARD = 0.5  # share of the weakest rotation's signal that the noise correction may take away


@dataclass(frozen=True, eq=False)
class Solution:
    """Joints of a tree, solved together, with the normal matrix that produced them.

    pairs           (J, 2)          child, parent
    p_child_joint   (J, 3)     [m]
    p_parent_joint  (J, 3)     [m]
    weight          (n, J)     [-]  0 where not seen or weighted out
    information     (6J, 6J) [1/m^2]  normal matrix; unknowns joint by joint, child half first
    basis           (6J, F)    [-]  directions that were solved for; the rest are held at minimum norm
    residual_cov    (J, J)   [m^2]  per axis covariance of the joints' gaps
    robust          (J,)            whether outliers made the weights count
    together                        False: every joint for itself, as the paper does
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    weight: Floats
    information: Floats
    basis: Floats
    residual_cov: Floats
    robust: Bools
    together: bool = True

    @property
    def unknowns(self) -> Floats:
        """(6J,) joint by joint: child half, parent half."""
        return np.concatenate([self.p_child_joint, self.p_parent_joint], axis=1).ravel()

    def covariance(self) -> Floats:
        """(6J, 6J) [m^2] of the unknowns if the gaps were white; held directions have none."""
        N = self.basis.T @ self.information @ self.basis
        return np.asarray(self.basis @ np.linalg.pinv(N, hermitian=True) @ self.basis.T)


def tukey_weights(length: Floats, seen: Bools, window: int = 0, always: Bools | None = None) -> tuple[Floats, Bools]:
    """Tukey's weights (n, J) of gap lengths [m], 0 where not seen, and whether a joint's gaps have outliers.

    The scale is the median over the take. Where a joint rests for long, motion itself would then look like outliers;
    so the scale may rise to the median of the `window` frames around, but not far. Joints without outliers get
    weight 1 throughout, except those in `always` (J,).
    """
    weight = seen.astype(np.float64)
    fires = np.zeros(length.shape[1], dtype=bool)
    scale = np.array([overall_scale(length[:, a], seen[:, a]) for a in range(length.shape[1])])
    least = max(ROUNDING, FAINT * float(scale.max(initial=0.0)))  # of joints that are exact beside the others
    for a in range(length.shape[1]):
        kept = always is not None and always[a]
        limit = max(OUTLIER_SHARE * seen[:, a].sum(), 2)
        if not kept and (length[:, a] > TUKEY * max(scale[a], least)).sum() <= limit:
            continue
        x = length[:, a] / (TUKEY * np.maximum(gap_bar(length[:, a], seen[:, a], window), least))
        fires[a] = (x > 1).sum() > limit
        if fires[a] or kept:
            weight[:, a] *= np.where(x < 1, (1 - x**2) ** 2, 0.0)
    return weight, fires


def gap_bar(length: Floats, seen: Bools, window: int) -> Floats:
    """(n,) [m] robust per axis size of a gap's length around each frame: overall, or of a livelier stretch."""
    scale = overall_scale(length, seen)
    local = _local_median(np.where(seen, length, np.nan), window) / CHI3_MEDIAN
    return np.clip(local, scale, LIFT * scale)


def frames_in(take: Take, seconds: float) -> int:
    """Frames in so many seconds; 0 for a take without time."""
    return round(seconds * take.rate) if take.timed and np.isfinite(take.rate) else 0


def overall_scale(length: Floats, seen: Bools) -> float:
    """[m] robust per axis size of a gap's length over the take."""
    every = max(1, len(length) // MEDIAN_ROWS)
    values = length[::every][seen[::every]]
    return max(float(median(values)) / CHI3_MEDIAN, 1e-300) if len(values) else 1e-300


def _local_median(values: Floats, window: int) -> Floats:
    """(n,) median of the block of `window` values around and its two neighbours, NaN left out; 0 without a window."""
    n = len(values)
    blocks = n // window if window else 0
    if blocks < 3:
        return np.zeros(n)
    table = values[: blocks * window].reshape(blocks, window)
    padded = np.concatenate([table[:1], table, table[-1:]])
    three = np.concatenate([padded[:-2], padded[1:-1], padded[2:]], axis=1)
    middle = median(three.T)
    return np.asarray(middle[np.minimum(np.arange(n) // window, blocks - 1)])


def gap_scale(take: Take, fits: PairFits) -> Floats:
    """(J,) [m] per axis size of each joint's gap that outliers do not raise, from frames spread over the take."""
    part, _ = take.thinned(MEDIAN_ROWS)
    gap = gaps(part, fits.pairs, fits.p_child_joint, fits.p_parent_joint)
    return median(np.sqrt(np.square(gap).sum(axis=2))) / CHI3_MEDIAN


def inliers(take: Take, pairs: Ints, weight: Floats, threshold: float = 1e-9) -> Bools:
    """(n, m) poses that agree with at least one joint of their body; bodies without a joint are trusted."""
    good = take.seen.copy()
    for body in range(take.bodies):
        own = (pairs == body).any(axis=1)
        if own.any():
            judged = take.seen[:, pairs[own].ravel()].reshape(take.frames, -1, 2).all(axis=2)
            agrees = np.asarray(weight[:, own] > threshold).any(axis=1)
            bad = np.asarray(judged).any(axis=1) & ~agrees
            good[:, body] &= ~bad
    return good


def solve_together(
    take: Take,
    start: PairFits,
    noise: Noise,
    held: Bools | None = None,
    base_weight: Floats | None = None,
    robust: bool = True,
    correct: bool = True,
    sweeps: int = SWEEPS,
    suspect: Bools | None = None,
) -> Solution:
    """The default estimator over the joints of `start`, whose pairs are the edges of a tree (child, parent).

    held         (J, 3) directions of `start.axis_child` that the motion leaves open: kept at minimum norm
    base_weight  (n, J) relative precision of each joint's gap, 1 on average, where the noise changes with place
    robust       weigh out outliers where they are found; correct: remove the bias of orientation noise
    suspect      (J,) joints known to have outliers, weighed whatever their gaps look like
    """
    rows = _Rows(take, start.pairs)
    J = len(start.pairs)
    basis = free_basis(start, held)
    u = basis @ (basis.T @ np.concatenate([start.p_child_joint, start.p_parent_joint], axis=1).ravel())
    half = row_factors(start, noise, held) if correct else np.ones(6 * J)
    both = _pair_factors(start.pairs, half)
    weight = rows.seen.astype(np.float64) if base_weight is None else np.where(rows.seen, base_weight, 0.0)
    fires = np.zeros(J, dtype=bool) if suspect is None else suspect
    window = frames_in(take, LIVELY)
    G, H = rows.sums(weight)
    for sweep in range(sweeps + 2):
        gap = rows.gap(u)
        if robust:
            fresh, fires = _robust_weights(gap, rows.seen, base_weight, fires, window)
            if not np.array_equal(fresh, weight):
                weight = fresh
                G, H = rows.sums(weight)
        C = residual_covariance(gap, weight)
        # The first sweeps are pair by pair, so that an outlier in one joint cannot leak into the others.
        S = np.linalg.inv(C) if sweep > 1 or not fires.any() else np.diag(1 / np.diagonal(C))
        N = G * both * np.kron(S, np.ones((6, 6)))
        rhs = (H.reshape(J, 6, J) * S[:, None, :]).sum(axis=2).ravel() * half
        inner = basis.T @ N @ basis
        inner[np.diag_indices_from(inner)] += np.diagonal(inner) == 0  # a joint without frames stays where it is
        old, u = u, basis @ np.linalg.solve(inner, basis.T @ rhs)
        if sweep >= 2 and np.abs(u - old).max(initial=0.0) < 1e-9 * np.abs(u).max(initial=1.0):
            break
    C = residual_covariance(rows.gap(u), weight)
    N = G * both * np.kron(np.linalg.inv(C), np.ones((6, 6)))
    halves = u.reshape(J, 2, 3)
    return Solution(start.pairs, halves[:, 0], halves[:, 1], weight, N, basis, C, fires)


def solution_of(take: Take, fits: PairFits) -> Solution:
    """Plain least squares as a Solution: every joint for itself, nothing weighed, no correction."""
    rows = _Rows(take, fits.pairs)
    weight = rows.seen.astype(np.float64)
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    C = residual_covariance(rows.gap(u), weight)
    G, _ = rows.sums(weight)
    N = G * np.kron(np.diag(1 / np.diagonal(C)), np.ones((6, 6)))
    basis = free_basis(fits, ~fits.determined)
    quiet = np.zeros(len(fits.pairs), dtype=bool)
    return Solution(fits.pairs, fits.p_child_joint, fits.p_parent_joint, weight, N, basis, C, quiet, together=False)


def _robust_weights(
    gap: Floats, seen: Bools, base_weight: Floats | None, fires: Bools, window: int
) -> tuple[Floats, Bools]:
    """(n, J) weights of gaps (3, n, J), and which joints have outliers; once a joint had some it keeps its weights."""
    length = np.sqrt(np.square(gap).sum(axis=0))
    length[length < ROUNDING] = 0.0
    if base_weight is not None:
        length = length * np.sqrt(base_weight)
    weight, now = tukey_weights(length, seen, window, fires)
    return weight if base_weight is None else weight * base_weight, fires | now


def free_basis(fits: PairFits, held: Bools | None) -> Floats:
    """(6J, F) orthonormal directions of the unknowns that are solved for."""
    J = len(fits.pairs)
    if held is None or not held.any():
        return np.eye(6 * J)
    columns = []
    for a in range(J):
        directions = np.concatenate([fits.axis_child[a], fits.axis_parent[a]]) / np.sqrt(2)  # (6, 3)
        closed = directions[:, held[a]]
        u, _, _ = np.linalg.svd(np.eye(6) - closed @ closed.T)
        block = np.zeros((6 * J, 6 - closed.shape[1]))
        block[6 * a : 6 * a + 6] = u[:, : 6 - closed.shape[1]]
        columns.append(block)
    return np.concatenate(columns, axis=1)


def guarded_noise(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(m,) orientation noise [rad], scaled down where correcting for it would take away most of a joint's signal."""
    s = noise.orientation.copy()
    weakest = np.where(held, np.inf, fits.spread).min(axis=1) if held is not None else fits.spread[:, 0]
    for a, (i, j) in enumerate(fits.pairs):
        both = s[i] ** 2 + s[j] ** 2
        if both > GUARD * weakest[a]:
            factor = np.sqrt(GUARD * weakest[a] / both)
            s[i], s[j] = s[i] * factor, s[j] * factor
    return s


def row_factors(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(6J,) factors that undo E[R] = (1 - s^2) R in what a sensor's rotation is multiplied with."""
    s = guarded_noise(fits, noise, held)
    return np.repeat(1 / (1 - s[fits.pairs.ravel()] ** 2), 3)


def _pair_factors(pairs: Ints, half: Floats) -> Floats:
    """(6J, 6J) the same for products of two sensors' rotations; a sensor with itself is exact."""
    sensor = np.repeat(pairs.ravel(), 3)
    return np.where(sensor[:, None] == sensor[None], 1.0, half[:, None] * half[None])


class _Rows:
    """The rows of J joints: gaps at given unknowns, and the weighted sums of the normal equations."""

    def __init__(self, take: Take, pairs: Ints) -> None:
        self.take, self.bodies, self.pairs = take, take.bodies, pairs
        i, j = pairs.T
        self.seen = take.seen[:, i] & take.seen[:, j]
        self.whole = bool(self.seen.all())
        self.X = whole_stack(take)

    def gap(self, u: Floats) -> Floats:
        """(3, n, J) gaps, world axis first, 0 where not seen."""
        halves = u.reshape(-1, 2, 3)
        W = gap_columns(self.bodies, self.pairs, halves[:, 0], halves[:, 1])
        gap = (self.X @ W).reshape(3, *self.seen.shape)
        return gap if self.whole else gap * self.seen

    def sums(self, weight: Floats) -> tuple[Floats, Floats]:
        """Z'Z (6J, 6J) and Z'd (6J, J) with rows weighted by the root of each joint's weight."""
        J = len(self.pairs)
        if self.whole and (weight == 1).all():
            # Without weights every product is already in the Gram matrix of the stacked poses.
            columns = 4 * self.pairs.ravel()[:, None] + np.arange(3)
            sign = np.tile(np.repeat([1.0, -1.0], 3), J)
            used = columns.ravel()
            gram = whole_gram(self.take, self.X)
            places = 4 * self.pairs + 3
            G = gram[np.ix_(used, used)] * sign * sign[:, None]
            H = (gram[np.ix_(used, places[:, 1])] - gram[np.ix_(used, places[:, 0])]) * sign[:, None]
            return G, H
        i, j = self.pairs.T
        poses = self.X.reshape(3, len(weight), self.bodies, 4)
        G, H = np.zeros((6 * J, 6 * J)), np.zeros((6 * J, J))
        step = max(64, 400_000 // (6 * J))
        for start in range(0, len(weight), step):
            part = slice(start, start + step)
            root = np.sqrt(weight[part])
            child, parent = poses[:, part, i], poses[:, part, j]
            Z = np.empty((3, len(root), J, 6))
            Z[..., :3] = child[..., :3] * root[..., None]
            Z[..., 3:] = -parent[..., :3] * root[..., None]
            flat = Z.reshape(-1, 6 * J)
            G += flat.T @ flat
            H += flat.T @ ((parent[..., 3] - child[..., 3]) * root).reshape(-1, J)
        return G, H


def residual_covariance(gap: Floats, weight: Floats) -> Floats:
    """(J, J) per axis covariance of gaps (3, n, J) over frames weighted for both joints, loaded and lifted to be
    positive.
    """
    _, n, J = gap.shape
    root = np.sqrt(weight)
    scaled = (gap * root).reshape(3 * n, J)
    count = np.maximum(root.T @ root, 1e-300)
    C = (scaled.T @ scaled) / (3 * count)
    # Else rounding would tell how exact joints correlate, and weigh them beyond all precision against the others.
    floor = max(ROUNDING, FAINT * float(np.sqrt(np.diagonal(C).max(initial=0.0))))
    size = np.sqrt(np.maximum(np.diagonal(C), floor**2))
    value, vector = np.linalg.eigh(C / size / size[:, None])
    C = (vector * np.maximum(value, 1e-6)) @ vector.T
    np.fill_diagonal(C, np.diagonal(C) + LOADING)
    return np.asarray(C * size * size[:, None])
