"""The inverse of the joints' normal equations: of all joints at once, or of each with those it has most to do with.

A joint's error comes from the sensors around it, so that in a figure of hundreds of bodies those far away say nothing:
what grows with the cube of the joints grows with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..maths.least_squares import WELL_CONDITIONED_MIN, invert_normal
from ..maths.spool import blocks_of

if TYPE_CHECKING:
    from ..maths.arrays import Floats, Ints

# In a simulated figure of 500 bodies half-widths of joints are off by 0.9 % at most with 24 joints, by 0.6 % with 48;
# those of limbs by 2.4 % with either.
NEAR_JOINTS = 24  # joints that one is inverted with
WHOLE_MAX_JOINTS = 150  # joints up to which all are inverted at once


class WholeInverse:
    """The inverse (6J, 6J) of all joints."""

    def __init__(self, N: Floats, basis: Floats) -> None:
        self.gain = invert_normal(N, basis)

    def reach(self, a: int) -> Ints:
        """(r,) the unknowns that an error at joint a changes."""
        return np.arange(len(self.gain))

    def apply(self, values: Floats, a: int) -> Floats:
        """(r, F) by how much values (r, F) of the right side do, which are those of an error at joint a."""
        return np.asarray(self.gain @ values)

    def carry(self, M: Floats) -> Floats:
        """(6J, 6J) covariance of the unknowns from that of the normal equations' right side."""
        return np.asarray(self.gain @ M @ self.gain)


class NearInverse:
    """The same of every joint with those NEAR_JOINTS it has most to do with; others are taken as independent."""

    def __init__(self, N: Floats, basis: Floats) -> None:
        self.N, J = _lay_out(N), len(N) // 6
        size = np.sqrt(np.einsum("abxy,abxy->ab", self.N, self.N))
        own = np.sqrt(np.maximum(np.diagonal(size), 1e-300))
        size /= own * own[:, None]
        np.fill_diagonal(size, np.inf)
        self.near = np.argsort(-size, axis=1, kind="stable")[:, : min(NEAR_JOINTS, J)]  # (J, K), each itself first
        wide = basis.reshape(J, 6, -1)
        self.whole = basis.shape[0] == basis.shape[1]
        self.free = np.tile(np.eye(6), (J, 1, 1)) if self.whole else wide @ np.swapaxes(wide, 1, 2)

    def unknowns(self, joints: Ints) -> Ints:
        """(P, 6K) of the joints near to each of some."""
        return np.asarray((6 * self.near[joints][..., None] + np.arange(6)).reshape(len(joints), -1))

    def equations(self, joints: Ints) -> tuple[Floats, Floats]:
        """(P, 6K, 6K) the equations around joints (P,) in unknowns of unit size, and these sizes (P, 6K, 1)."""
        N = self._project(joints, self._around(joints, self.N))
        if not self.whole:
            N = np.swapaxes(self._project(joints, np.swapaxes(N, 1, 2)), 1, 2)
        k = np.arange(N.shape[1])
        size = np.maximum(N[:, k, k], 0.0)
        scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
        N *= scale[:, None] * scale[..., None]
        P, K = self.near[joints].shape
        if not self.whole:
            blocks, own = N.reshape(P, K, 6, K, 6), np.arange(K)
            blocks[:, own, :, own] += (np.eye(6) - self.free[self.near[joints]]).transpose(1, 0, 2, 3)
        N[:, k, k] += WELL_CONDITIONED_MIN
        return N, scale[..., None]

    def _around(self, joints: Ints, values: Floats) -> Floats:
        """(P, 6K, 6K) of values (J, J, 6, 6) those of the joints near to each of some."""
        near = self.near[joints]
        size = 6 * near.shape[1]
        return np.swapaxes(values[near[:, :, None], near[:, None]], 2, 3).reshape(len(joints), size, size)

    def solve(self, joints: Ints, equations: tuple[Floats, Floats], values: Floats) -> Floats:
        """(P, 6K, F) solutions of the equations around joints (P,) for values (P, 6K, F)."""
        N, scale = equations
        return self._project(joints, np.linalg.solve(N, self._project(joints, values) * scale) * scale)

    def _project(self, joints: Ints, values: Floats) -> Floats:
        """Values (P, 6K, F) without what lies outside the directions that are solved for."""
        if self.whole:
            return values
        P, K = self.near[joints].shape
        return np.asarray((self.free[self.near[joints]] @ values.reshape(P, K, 6, -1)).reshape(values.shape))

    def reach(self, a: int) -> Ints:
        return np.asarray(self.unknowns(np.array([a]))[0])

    def apply(self, values: Floats, a: int) -> Floats:
        joints = np.array([a])
        return np.asarray(self.solve(joints, self.equations(joints), values[None])[0])

    def carry(self, M: Floats) -> Floats:
        J = len(self.near)
        V, told, laid_out = np.zeros_like(M), np.zeros((J, J)), _lay_out(M)
        np.put_along_axis(told, self.near, 1.0, axis=1)
        for part in blocks_of(J, 4 * 8 * (6 * self.near.shape[1]) ** 2):
            joints = np.arange(part.start, part.stop)
            at = self.unknowns(joints)
            one = np.zeros((*at.shape, 6))
            one[:, :6] = np.eye(6)
            around = self.equations(joints)
            onto = self._around(joints, laid_out) @ self.solve(joints, around, one)
            own = 6 * joints[:, None] + np.arange(6)
            V[at[:, :, None], own[:, None]] = self.solve(joints, around, onto)
        V += V.T.copy()
        V.reshape(J, 6, 6 * J)[...] /= np.repeat(np.maximum(told + told.T, 1.0), 6, axis=1)[:, None]
        return V


def _lay_out(N: Floats) -> Floats:
    """(J, J, 6, 6) the blocks of (6J, 6J): those of a few joints are picked out four times as fast from them."""
    J = len(N) // 6
    return np.ascontiguousarray(N.reshape(J, 6, J, 6).swapaxes(1, 2))


def invert_joints(N: Floats, basis: Floats) -> WholeInverse | NearInverse:
    """The inverse of normal equations (6J, 6J) in the span of orthonormal columns (6J, F), joint by joint."""
    return (WholeInverse if len(N) <= 6 * WHOLE_MAX_JOINTS else NearInverse)(N, basis)
