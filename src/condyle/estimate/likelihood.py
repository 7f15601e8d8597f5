"""Whole-skeleton maximum likelihood under white noise of known size: the "accurate" mode, and the Cramer-Rao bound.

Gauss-Helmert: every pose has its own small correction, all joints must close, and the corrections are as small as
the sensors' noise allows. Poses are relinearised at their corrected values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, centre_positions
from ..maths.least_squares import solve_normal
from ..model.take import Take
from ..pairs.noise import Noise
from .solve import Solution

LIKELIHOOD_ROUNDS = 8
LIKELIHOOD_CHUNK_FRAMES = 256  # frames whose (3J x 3J) blocks are formed at once
LIKELIHOOD_KEPT_BYTES = 1_000_000_000  # of blocks kept within a round; above, they are formed twice
LIKELIHOOD_SETTLED_SE = 0.01  # standard errors by which the joints may still move when the rounds end
LIKELIHOOD_MIN_WEIGHT = 0.05  # robust weight below which a gap is left out


def fit_likelihood(take: Take, start: Solution, noise: Noise, relative: Floats | None = None) -> Solution:
    """The joints of `start` that make the recorded poses most likely; its held directions stay held.

    relative  (n, m) variance of each pose over its sensor's usual one, where the noise depends on place
    """
    model = _Model(take.bodies, start.pairs, noise)
    spread = np.ones((take.frames, take.bodies)) if relative is None else relative
    use = start.weight > LIKELIHOOD_MIN_WEIGHT
    R_raw = np.where(take.seen[..., None, None], take.R_world_body, np.eye(3))
    p_raw = centre_positions(take.p_world_body, take.seen)
    u, N = start.unknowns, start.information
    turn, shift = np.zeros(p_raw.shape), np.zeros(p_raw.shape)  # the poses' corrections
    blocks = [slice(lo, lo + LIKELIHOOD_CHUNK_FRAMES) for lo in range(0, take.frames, LIKELIHOOD_CHUNK_FRAMES)]
    keep = take.frames * (3 * len(start.pairs)) ** 2 * 24 < LIKELIHOOD_KEPT_BYTES

    def linearised(rows: slice) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        R = R_raw[rows] @ rotation.from_vector(-turn[rows])
        arms = model.arms(R, u, use[rows])
        # The gap at the corrected poses, moved back to where no correction was made.
        w = model.gap(p_raw[rows] - shift[rows], arms, use[rows])
        w -= model.push(arms, turn[rows], shift[rows], R, use[rows])
        return R, arms, w, model.slope(R, use[rows]), model.inverse_covariance(arms, use[rows], spread[rows])

    for _ in range(LIKELIHOOD_ROUNDS):
        N, h = np.zeros(N.shape), np.zeros(len(u))
        kept = []
        for rows in blocks:
            parts = linearised(rows)
            _, _, w, A, weighted = parts
            SA = weighted @ A
            N += np.einsum("nax,nay->xy", A, SA, optimize=True)
            h += np.einsum("nax,na->x", SA, w, optimize=True)
            if keep:
                kept.append(parts)
        du = -solve_normal(N, h, start.basis)
        for k, rows in enumerate(blocks):
            R, arms, w, A, weighted = kept[k] if keep else linearised(rows)
            pull = np.einsum("nab,nb->na", weighted, w + A @ du).reshape(len(R), -1, 3)
            turn[rows], shift[rows] = model.correction(arms, pull, R, spread[rows], use[rows])
        u = u + du
        if float(du @ N @ du) < LIKELIHOOD_SETTLED_SE**2 * len(u):
            break
    halves = u.reshape(-1, 2, 3)
    return replace(start, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], information=N)


def fisher_information(take: Take, pairs: Ints, unknowns: Floats, noise: Noise) -> Floats:
    """(6J, 6J) information about the joints in exact poses recorded with this white noise; its inverse is the bound."""
    model = _Model(take.bodies, pairs, noise)
    N = np.zeros((6 * len(pairs), 6 * len(pairs)))
    for lo in range(0, take.frames, LIKELIHOOD_CHUNK_FRAMES):
        rows = slice(lo, lo + LIKELIHOOD_CHUNK_FRAMES)
        use = take.seen[rows, pairs[:, 0]] & take.seen[rows, pairs[:, 1]]
        R = np.where(take.seen[rows][..., None, None], take.R_world_body[rows], np.eye(3))
        A = model.slope(R, use)
        weighted = model.inverse_covariance(model.arms(R, unknowns, use), use, np.ones(R.shape[:2]))
        N += np.einsum("nax,nay->xy", A, weighted @ A, optimize=True)
    return N


class _Model:
    """The linearised gaps g = R_i c + p_i - R_j l - p_j of J joints over m bodies.

    With R = R~ exp(-[turn]) and p = p~ - shift, half h of joint a hangs on body s by the arm y = +-R_s x (world
    axes, + for the child), and moves by dg = R_s [x] turn -+ shift.
    """

    def __init__(self, bodies: int, pairs: Ints, noise: Noise) -> None:
        self.bodies, self.pairs = bodies, pairs
        self.turn_variance, self.shift_variance = noise.orientation**2, noise.position**2
        self.sign = np.tile([1.0, -1.0], (len(pairs), 1))
        # Every two halves that hang on one body share its noise.
        flat = pairs.ravel()
        self.shared = [(a, b) for a in range(len(flat)) for b in range(len(flat)) if flat[a] == flat[b]]

    def arms(self, R: Floats, u: Floats, use: Bools) -> Floats:
        """(n, 2J, 3) [m] the lever of each half in the world, signed; 0 where a gap is not used."""
        x = u.reshape(-1, 3)
        y = np.einsum("nhxy,hy->nhx", R[:, self.pairs.ravel()], x) * self.sign.ravel()[:, None]
        return np.asarray(y * np.repeat(use, 2, axis=1)[..., None])

    def gap(self, p: Floats, arms: Floats, use: Bools) -> Floats:
        i, j = self.pairs.T
        g = arms[:, 0::2] + arms[:, 1::2] + (p[:, i] - p[:, j]) * use[..., None]
        return g.reshape(len(p), -1)

    def slope(self, R: Floats, use: Bools) -> Floats:
        """(n, 3J, 6J) dg/du."""
        n, J = use.shape
        A = np.zeros((n, J, 3, J, 6))
        k = np.arange(J)
        i, j = self.pairs.T
        used = use.T[..., None, None]
        A[:, k, :, k, :3] = R[:, i].transpose(1, 0, 2, 3) * used
        A[:, k, :, k, 3:] = -R[:, j].transpose(1, 0, 2, 3) * used
        return A.reshape(n, 3 * J, 6 * J)

    def push(self, arms: Floats, turn: Floats, shift: Floats, R: Floats, use: Bools) -> Floats:
        """(n, 3J) B v: how the corrections move the gaps. R [x] t = (R x) x (R t)."""
        bodies = self.pairs.ravel()
        turned = np.einsum("nhxy,nhy->nhx", R[:, bodies], turn[:, bodies])
        active = np.repeat(use, 2, axis=1)[..., None]
        halves = np.cross(arms, turned) - self.sign.ravel()[:, None] * shift[:, bodies] * active
        return np.asarray((halves[:, 0::2] + halves[:, 1::2]).reshape(len(arms), -1))

    def correction(self, arms: Floats, pull: Floats, R: Floats, spread: Floats, use: Bools) -> tuple[Floats, Floats]:
        """-W B' pull for every body: rotation (n, m, 3) [rad] in its own axes and shift (n, m, 3) [m]."""
        bodies = self.pairs.ravel()
        each = np.repeat(pull, 2, axis=1)
        active = np.repeat(use, 2, axis=1)[..., None]
        # B' of dg = y x (R t): R' (pull x y) with the sign of the cross product.
        turned = np.einsum("nhyx,nhy->nhx", R[:, bodies], np.cross(each, arms))
        moved = -self.sign.ravel()[:, None] * each * active
        turn, shift = np.zeros((len(R), self.bodies, 3)), np.zeros((len(R), self.bodies, 3))
        for h, body in enumerate(bodies):
            turn[:, body] -= self.turn_variance[body] * spread[:, body, None] * turned[:, h]
            shift[:, body] -= self.shift_variance[body] * spread[:, body, None] * moved[:, h]
        return turn, shift

    def inverse_covariance(self, arms: Floats, use: Bools, spread: Floats) -> Floats:
        """(n, 3J, 3J) inverse covariance of the linearised gaps; a gap that is not used gets a block of its own."""
        n, J = use.shape
        bodies, sign = self.pairs.ravel(), self.sign.ravel()
        S = np.zeros((n, J, 3, J, 3))
        eye = np.eye(3)
        for a, b in self.shared:
            s = bodies[a]
            y, z = arms[:, a], arms[:, b]
            # [y][z]' = (y.z) I - z y'
            block = np.einsum("nx,nx->n", y, z)[:, None, None] * eye - z[:, :, None] * y[:, None, :]
            both = (use[:, a // 2] & use[:, b // 2])[:, None, None]
            block = self.turn_variance[s] * block + self.shift_variance[s] * sign[a] * sign[b] * both * eye
            S[:, a // 2, :, b // 2, :] += block * spread[:, s, None, None]
        square = S.reshape(n, 3 * J, 3 * J)
        k = np.arange(3 * J)
        scale = float(np.einsum("naa->n", square).mean() / max(3 * J, 1)) or 1.0
        square[:, k, k] += np.repeat(~use, 3, axis=1) * scale + 1e-9 * scale
        return np.asarray(np.linalg.inv(square))
