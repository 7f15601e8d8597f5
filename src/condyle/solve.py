"""All joints of a tree solved together: what joints that share a sensor have in common is its noise.

Seemingly unrelated regressions (a generalised least squares over joints), corrected for orientation noise, with
robust weights where the residuals ask for them. The paper's estimator is the first step and the fallback.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ._shapes import Bools, Floats, Ints
from .joints import PairFits, gaps
from .noise import Noise
from .take import Take

SWEEPS = 3
LOADING = 0.02  # of the diagonal, added to the joints' covariance before it is inverted
TUKEY = 5.0  # robust standard deviations at which a residual stops counting
_CHI3_MEDIAN = 1.5381722544550522  # median length of a unit Gaussian vector in space
OUTLIER_SHARE = 1e-3  # of the frames beyond TUKEY: a Gaussian leaves 1.5e-5 there
EXACT = 1e-8  # residual over lever length below which the data are exact and nothing needs weighing
GUARD = 0.5  # share of the weakest rotation's signal that the noise correction may take away


@dataclass(frozen=True, eq=False)
class Solution:
    """Joints of a tree with the sums that produced them.

    pairs           (J, 2)          child, parent
    p_child_joint   (J, 3)     [m]
    p_parent_joint  (J, 3)     [m]
    weight          (n, J)     [-]  0 where not seen or weighted out
    covariance      (J, 3, 6J) ...  see `information`
    information     (6J, 6J)        normal matrix; unknowns joint by joint, child half first
    basis           (6J, F)         directions that were solved for; the rest are held at minimum norm
    residual_cov    (J, J)   [m^2]  per axis covariance of the joints' gaps
    robust          (J,)            whether outliers made the weights count
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    weight: Floats
    information: Floats
    basis: Floats
    residual_cov: Floats
    robust: Bools

    @property
    def unknowns(self) -> Floats:
        """(6J,) joint by joint: child half, parent half."""
        return np.concatenate([self.p_child_joint, self.p_parent_joint], axis=1).ravel()

    def covariance(self) -> Floats:
        """(6J, 6J) [m^2] of the unknowns if the gaps were white; held directions have none."""
        N = self.basis.T @ self.information @ self.basis
        return np.asarray(self.basis @ np.linalg.pinv(N, hermitian=True) @ self.basis.T)


def tukey_weights(length: Floats, seen: Bools) -> tuple[Floats, Bools]:
    """Tukey's weights (n, J) of gap lengths [m], 0 where not seen, and whether a joint's gaps have outliers."""
    masked = np.where(seen, length, np.nan)
    with np.errstate(invalid="ignore"):
        scale = _nanmedian(masked) / _CHI3_MEDIAN
        x = length / np.maximum(scale, 1e-300)
        far = (x > TUKEY) & seen
        fires = far.sum(axis=0) > np.maximum(OUTLIER_SHARE * seen.sum(axis=0), 2)
        w = np.where(seen & (x < TUKEY), (1 - (x / TUKEY) ** 2) ** 2, 0.0)
    return np.where(fires, w, seen.astype(np.float64)), fires


def _nanmedian(values: Floats) -> Floats:
    """Median over axis 0 without NaN; 0 for a column of NaN. Faster than numpy's for whole columns."""
    if np.isfinite(values).all():
        return np.asarray(np.median(values, axis=0))
    known = np.isfinite(values).any(axis=0)
    out = np.zeros(values.shape[1])
    out[known] = np.nanmedian(values[:, known], axis=0)
    return out


def inliers(take: Take, pairs: Ints, weight: Floats, threshold: float = 1e-9) -> Bools:
    """(n, m) poses that agree with at least one joint of their body; bodies without a joint are trusted."""
    good = take.seen.copy()
    for body in range(take.bodies):
        own = (pairs == body).any(axis=1)
        if own.any():
            judged = take.seen[:, pairs[own].ravel()].reshape(take.frames, -1, 2).all(axis=2)
            bad = judged.any(axis=1) & ~(weight[:, own] > threshold).any(axis=1)
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
) -> Solution:
    """The default estimator over the joints of `start`, whose pairs are the edges of a tree (child, parent).

    held         (J, 3) directions of `start.axis_child` that the motion leaves open: kept at minimum norm
    base_weight  (n, J) relative precision of each joint's gap, 1 on average, where the noise changes with place
    robust       weigh out outliers where they are found; correct: remove the bias of orientation noise
    """
    J = len(start.pairs)
    i, j = start.pairs.T
    seen = take.seen[:, i] & take.seen[:, j]
    basis = free_basis(start, held)
    R = _zeroed(take)
    d = np.where(seen[..., None], take.p_world_body[:, j] - take.p_world_body[:, i], 0.0)
    u = np.concatenate([start.p_child_joint, start.p_parent_joint], axis=1).ravel()
    if held is not None:
        u = basis @ (basis.T @ u)
    shrink = _shrink(start, noise, held) if correct else np.ones((6 * J, 6 * J))
    own = np.sqrt(np.diagonal(shrink, 0)) if correct else np.ones(6 * J)
    row_shrink = _row_shrink(start, noise, held) if correct else own
    weight = seen.astype(np.float64) if base_weight is None else np.where(seen, base_weight, 0.0)
    fires = np.zeros(J, dtype=bool)
    G = H = None
    S = np.eye(J)
    C = np.eye(J)
    for sweep in range(sweeps + 2):
        gap = _gap(R, d, start.pairs, u, seen)
        if robust and sweep <= sweeps:
            length = np.linalg.norm(gap, axis=2)
            if base_weight is not None:
                length = length * np.sqrt(base_weight)
            w, now = tukey_weights(length, seen)
            if sweep == 0:
                fires = now
            fires = fires | now
            w = np.where(fires, w, seen)
            fresh = w if base_weight is None else w * base_weight
            if not np.array_equal(fresh, weight):
                weight, G = fresh, None
        C = _residual_covariance(gap, weight)
        # The first sweeps are pair by pair, so that an outlier in one joint cannot leak into the others.
        S = np.linalg.inv(C) if sweep > 1 or not fires.any() else np.diag(1 / np.diagonal(C))
        if G is None:
            G, H = _sums(R, d, start.pairs, weight)
        N = G * shrink * np.kron(S, np.ones((6, 6)))
        rhs = (H.reshape(J, 6, J) * S[:, None, :]).sum(axis=2).ravel() * row_shrink  # type: ignore[union-attr]
        new = basis @ np.linalg.solve(basis.T @ N @ basis, basis.T @ rhs)
        moved = np.abs(new - u).max(initial=0.0)
        u = new
        if sweep >= 2 and moved < 1e-9 * np.abs(u).max(initial=1.0):
            break
    gap = _gap(R, d, start.pairs, u, seen)
    C = _residual_covariance(gap, weight)
    N = G * shrink * np.kron(np.linalg.inv(C), np.ones((6, 6)))
    halves = u.reshape(J, 2, 3)
    return Solution(start.pairs, halves[:, 0], halves[:, 1], weight, N, basis, C, fires)


def solution_of(take: Take, fits: PairFits) -> Solution:
    """Plain least squares as a Solution: every joint for itself, nothing weighed, no correction."""
    J = len(fits.pairs)
    i, j = fits.pairs.T
    seen = take.seen[:, i] & take.seen[:, j]
    basis = free_basis(fits, ~fits.determined)
    R = _zeroed(take)
    d = np.where(seen[..., None], take.p_world_body[:, j] - take.p_world_body[:, i], 0.0)
    weight = seen.astype(np.float64)
    u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
    C = _residual_covariance(_gap(R, d, fits.pairs, u, seen), weight)
    G, _ = _sums(R, d, fits.pairs, weight)
    N = G * np.kron(np.diag(1 / np.diagonal(C)), np.ones((6, 6)))
    return Solution(
        fits.pairs, fits.p_child_joint, fits.p_parent_joint, weight, N, basis, C, np.zeros(J, dtype=bool)
    )


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


def _row_shrink(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    s = guarded_noise(fits, noise, held)
    return np.repeat(1 / (1 - s[fits.pairs.ravel()] ** 2), 3)


def _shrink(fits: PairFits, noise: Noise, held: Bools | None) -> Floats:
    """(6J, 6J) factors that undo E[R] = (1 - s^2) R in products of two different sensors' rotations."""
    rows = _row_shrink(fits, noise, held)
    sensor = np.repeat(fits.pairs.ravel(), 3)
    return np.where(sensor[:, None] == sensor[None], 1.0, rows[:, None] * rows[None])


def _zeroed(take: Take) -> Floats:
    return take.R_world_body if take.seen.all() else np.where(take.seen[..., None, None], take.R_world_body, 0.0)


def _gap(R: Floats, d: Floats, pairs: Ints, u: Floats, seen: Bools) -> Floats:
    """(n, J, 3) gaps R_i c - R_j l - d, 0 where not seen."""
    i, j = pairs.T
    halves = u.reshape(-1, 2, 3)
    gap = np.einsum("njxy,jy->njx", R[:, i], halves[:, 0])
    gap -= np.einsum("njxy,jy->njx", R[:, j], halves[:, 1])
    gap -= d
    return gap if seen.all() else np.where(seen[..., None], gap, 0.0)


def _residual_covariance(gap: Floats, weight: Floats) -> Floats:
    """(J, J) per axis, over frames weighted for both joints, loaded and lifted to be positive."""
    n, J, _ = gap.shape
    root = np.sqrt(weight)
    scaled = (gap * root[..., None]).transpose(0, 2, 1).reshape(3 * n, J)
    count = np.maximum(root.T @ root, 1e-300)
    C = (scaled.T @ scaled) / (3 * count)
    size = np.sqrt(np.maximum(np.diagonal(C), 1e-300))
    value, vector = np.linalg.eigh(C / size / size[:, None])
    C = (vector * np.maximum(value, 1e-6)) @ vector.T
    np.fill_diagonal(C, np.diagonal(C) + LOADING)
    return np.asarray(C * size * size[:, None])


def _sums(R: Floats, d: Floats, pairs: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """Z'Z (6J, 6J) and Z'd (6J, J) with rows weighted by the root of each joint's weight, chunk by chunk."""
    n, J = weight.shape
    G, H = np.zeros((6 * J, 6 * J)), np.zeros((6 * J, J))
    i, j = pairs.T
    step = max(64, 400_000 // (6 * J))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        root = np.sqrt(weight[rows])[..., None, None]
        Z = np.empty((len(root), 3, J, 6))
        Z[..., :3] = (R[rows, i] * root).transpose(0, 2, 1, 3)
        Z[..., 3:] = -(R[rows, j] * root).transpose(0, 2, 1, 3)
        flat = Z.reshape(-1, 6 * J)
        G += flat.T @ flat
        H += flat.T @ (d[rows] * root[..., 0]).transpose(0, 2, 1).reshape(-1, J)
    return G, H
