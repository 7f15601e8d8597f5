"""The Cramer-Rao bound of joint centres: how much poses recorded with white noise of known size tell about them.

Every pose has its own small error; it is eliminated, so that what is left is about the joints alone.
"""

from __future__ import annotations

import numpy as np

from condyle.maths.arrays import Bools, Floats, Ints
from condyle.model.take import Take
from condyle.pairs.noise import Noise

CHUNK_FRAMES = 256  # frames whose (3J x 3J) blocks are formed at once


def fisher_information(take: Take, pairs: Ints, unknowns: Floats, noise: Noise) -> Floats:
    """(6J, 6J) information about the joints in exact poses recorded with this white noise; its inverse is the bound."""
    model = _Model(take.bodies, pairs, noise)
    N = np.zeros((6 * len(pairs), 6 * len(pairs)))
    for lo in range(0, take.frames, CHUNK_FRAMES):
        rows = slice(lo, lo + CHUNK_FRAMES)
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
