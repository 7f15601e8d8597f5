"""Whole-skeleton maximum likelihood under white noise of known size: the "accurate" mode, and the Cramer-Rao bound.

Gauss-Helmert: every pose has its own small correction, all joints must close, and the corrections are as small as
the sensors' noise allows. Poses are relinearised at their corrected values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import rotation
from ._shapes import Bools, Floats, Ints
from .noise import Noise
from .solve import Solution
from .take import Take

ROUNDS = 8
_CHUNK = 256  # frames whose (3J x 6m) blocks are held at once
DROPPED = 0.05  # robust weight below which a gap is left out


def fit_likelihood(take: Take, start: Solution, noise: Noise) -> Solution:
    """The joints of `start` that make the recorded poses most likely; its held directions stay held."""
    pairs = start.pairs
    J, m = len(pairs), take.bodies
    use = start.weight > DROPPED
    seen = take.seen
    R_raw = np.where(seen[..., None, None], take.R_world_body, np.eye(3))
    shift = np.where(seen[..., None], take.p_world_body, 0.0)
    origin = shift.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1), 1)[:, None, None]
    p_raw = np.where(seen[..., None], shift - origin, 0.0)
    variance = np.concatenate([np.tile(noise.orientation**2, (3, 1)), np.tile(noise.position**2, (3, 1))]).T  # (m, 6)
    u = start.unknowns
    v = np.zeros((take.frames, m, 6))
    N = start.information
    for _ in range(ROUNDS):
        N, h = np.zeros((6 * J, 6 * J)), np.zeros(6 * J)
        kept = []
        for lo in range(0, take.frames, _CHUNK):
            rows = slice(lo, lo + _CHUNK)
            R = R_raw[rows] @ rotation.from_vector(-v[rows, :, :3])
            p = p_raw[rows] - v[rows, :, 3:]
            A, B, g = _linearise(R, p, pairs, u, use[rows])
            w = g - np.einsum("nas,ns->na", B, v[rows].reshape(len(R), -1))
            weighted = _covariance_inverse(B, variance, use[rows])
            SA = weighted @ A
            N += np.einsum("nax,nay->xy", A, SA, optimize=True)
            h += np.einsum("nax,na->x", SA, w, optimize=True)
            kept.append((rows, A, B, w, weighted))
        du = -start.basis @ np.linalg.solve(start.basis.T @ N @ start.basis, start.basis.T @ h)
        for rows, A, B, w, weighted in kept:
            pull = np.einsum("nab,nb->na", weighted, w + A @ du)
            v[rows] = -np.einsum("nas,na->ns", B, pull).reshape(-1, m, 6) * variance
        u = u + du
        if np.abs(du).max(initial=0.0) < 1e-9 * np.abs(u).max(initial=1.0):
            break
    halves = u.reshape(J, 2, 3)
    return replace(start, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], information=N)


def fisher_information(take: Take, pairs: Ints, unknowns: Floats, noise: Noise) -> Floats:
    """(6J, 6J) information about the joints in exact poses recorded with this white noise; its inverse is the bound."""
    J = len(pairs)
    N = np.zeros((6 * J, 6 * J))
    variance = np.concatenate([np.tile(noise.orientation**2, (3, 1)), np.tile(noise.position**2, (3, 1))]).T
    for lo in range(0, take.frames, _CHUNK):
        rows = slice(lo, lo + _CHUNK)
        seen = take.seen[rows]
        use = seen[:, pairs[:, 0]] & seen[:, pairs[:, 1]]
        R = np.where(seen[..., None, None], take.R_world_body[rows], np.eye(3))
        A, B, _ = _linearise(R, np.zeros((*R.shape[:2], 3)), pairs, unknowns, use)
        N += np.einsum("nax,nay->xy", A, _covariance_inverse(B, variance, use) @ A, optimize=True)
    return N


def _linearise(R: Floats, p: Floats, pairs: Ints, u: Floats, use: Bools) -> tuple[Floats, Floats, Floats]:
    """A = dg/du (n, 3J, 6J), B = dg/dv (n, 3J, 6m), g (n, 3J) of the gaps g = R_i c + p_i - R_j l - p_j."""
    n, m = R.shape[:2]
    J = len(pairs)
    A, B = np.zeros((n, J, 3, J, 6)), np.zeros((n, J, 3, m, 6))
    g = np.zeros((n, J, 3))
    halves = u.reshape(J, 2, 3)
    for a, bodies in enumerate(pairs):
        for half, (body, sign) in enumerate(zip(bodies, (1.0, -1.0), strict=True)):
            x = halves[a, half]
            Rs = sign * R[:, body] * use[:, a, None, None]
            A[:, a, :, a, 3 * half : 3 * half + 3] = Rs
            B[:, a, :, body, :3] = Rs @ rotation.skew(x)
            B[:, a, :, body, 3:] = -sign * np.eye(3) * use[:, a, None, None]
            g[:, a] += Rs @ x + sign * p[:, body] * use[:, a, None]
    return A.reshape(n, 3 * J, 6 * J), B.reshape(n, 3 * J, 6 * m), g.reshape(n, 3 * J)


def _covariance_inverse(B: Floats, variance: Floats, use: Bools) -> Floats:
    """(n, 3J, 3J) inverse covariance of the linearised gaps; unused gaps get a unit block, their rows of B are zero."""
    scaled = B * np.sqrt(variance).ravel()
    S = scaled @ np.swapaxes(scaled, 1, 2)
    k = np.arange(S.shape[1])
    unused = np.repeat(~use, 3, axis=1)
    scale = float(np.einsum("naa->n", S).mean() / max(len(k), 1)) or 1.0
    S[:, k, k] += unused * scale + 1e-9 * scale
    return np.asarray(np.linalg.inv(S))
