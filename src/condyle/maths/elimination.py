"""Normal equations of a figure, eliminated from the leaves to the roots, for all frames at once.

Every array has the frames last and the bodies first, so that one operation runs over all frames of all bodies at one
depth. A body moves by (x, t): x [m] is how far its inboard joint goes (a free body: its origin), t [rad] its turn, both
in the world. The cost of a body and of all that hangs on it is a quadratic in its own (x, t); a joint removes what it
leaves free and hands the rest to the parent:

    ball   t is free: the parent sees only a quadratic in x, 3 by 3
    hinge  t = t_parent + axis s: s is removed, the parent sees (x, t_parent)
    rigid  t = t_parent: nothing is removed

A spring holds a ball or a hinge at its rotation to the parent; then a ball hands on (x, t_parent) as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import Floats, Ints

Freedom = Literal["free", "ball", "hinge", "rigid"]
Removed = tuple[Floats, Floats, Floats]  # what is kept of a group's freedom: see `turn`, `cross`, `along`
Handed = tuple[Floats, Floats | None, Floats | None]  # what it leaves to its parents, for xx, xt and tt
COFACTOR_POWER = 0.3  # of the largest number that there is: the cube of what is smaller is a number
DAMPING_ARM_M = 0.3  # m: damping holds a free body's place as it holds a turn at the end of such an arm


@dataclass(frozen=True, eq=False)
class Group:
    """Bodies of one depth and one freedom: the rows `own` of every table, and their parents' rows."""

    own: slice
    freedom: Freedom
    parent: Ints


@dataclass(frozen=True, eq=False)
class KinematicRig:
    """A forest as tables whose rows are the bodies by depth, parents first.

    bodies          (m,) number in the skeleton of the body in each row
    parent          (m,) row of the parent; -1 for free bodies
    groups          the rows in order
    p_body_inboard  (m, 3) [m]  joint to the parent in the body's own frame; zero for free bodies
    p_parent_joint  (m, 3) [m]  the same joint in the parent's frame
    axis            (m, 3) [-]  of a hinge, in the child
    R_reference     (m, 3, 3)   rotation to the parent of a rigid joint, and of a hinge at angle zero
    names           of the bodies, by rows
    """

    bodies: Ints
    parent: Ints
    groups: tuple[Group, ...]
    p_body_inboard: Floats
    p_parent_joint: Floats
    axis: Floats
    R_reference: Floats
    names: tuple[str, ...] = ()


class Factors:
    """What the elimination keeps of each group of bodies, to solve for any gradient."""

    def __init__(
        self,
        rig: KinematicRig,
        lever: Floats,
        arm: Floats,
        axis: Floats | None,
        w_position: Floats,
        w_rotation: Floats,
        damping: Floats,
        spring: Floats | None = None,
    ) -> None:
        """Eliminates.

        lever, arm  (m, 3, n) [m]  from the parent's inboard joint to the body's, and from there to the point with
                                   the weight w_position, in the world
        axis        (m, 3, n)      of the hinges, in the world; None: there are none
        w_position  (m, n) [1/m^2] and w_rotation [1/rad^2]; damping (n,) [1/rad^2] is added to every joint's freedom
        spring      (m, n) [1/rad^2] or None
        """
        self.rig, self.lever, self.arm, self.axis = rig, lever, arm, axis
        self.damping, self.spring = damping, spring
        self.turn: list[Floats] = []  # per group, from the leaves on: inverse of what is removed,
        self.cross: list[Floats] = []  # how it depends on x,
        self.along: list[Floats] = []  # and, of a hinge, on t_parent; of a free body, the inverse for x
        Hxx, Hxt, Htt = _own(arm, w_position, w_rotation)
        for group in reversed(rig.groups):
            own = group.own
            blocks = Hxx[own], Hxt[own], Htt[own]
            handed: Handed = blocks
            removed = np.empty(0), np.empty(0), np.empty(0)
            if group.freedom in ("free", "ball"):
                removed, handed = self._remove_turns(group, *blocks)
            elif group.freedom == "hinge":
                removed, handed = self._remove_hinges(group, *blocks)
            for kept, one in zip((self.turn, self.cross, self.along), removed, strict=True):
                kept.append(one)
            if group.freedom != "free":
                moved = _move(handed, lever[own])
                for k, parent in enumerate(group.parent):
                    for total, part in zip((Hxx, Hxt, Htt), moved, strict=True):
                        total[parent] += part[k]

    def _remove_turns(self, group: Group, A: Floats, B: Floats, C: Floats) -> tuple[Removed, Handed]:
        """Of free bodies and ball joints: what is kept of their turns, and what is handed to the parents."""
        damping, spring, own = self.damping, self.spring, group.own
        held = damping if spring is None or group.freedom == "free" else damping + spring[own]
        for i in range(3):
            C[:, i, i] += held
        turn = inverse_symmetric(C)
        K = np.einsum("gijn,gkjn->gikn", turn, B)
        A -= product(B, K)
        if group.freedom == "free":
            for i in range(3):
                A[:, i, i] += damping / DAMPING_ARM_M**2
            return (turn, K, inverse_symmetric(A)), (A, None, None)
        if spring is None:
            return (turn, K, np.empty(0)), (A, None, None)
        w = spring[own, None, None]
        rest = -w * w * turn
        for i in range(3):
            rest[:, i, i] += spring[own]
        return (turn, K, np.empty(0)), (A, w * np.swapaxes(K, 1, 2), rest)

    def _remove_hinges(self, group: Group, A: Floats, B: Floats, C: Floats) -> tuple[Removed, Handed]:
        assert self.axis is not None
        a = self.axis[group.own]
        K, along = apply(B, a), apply(C, a)
        h = dot(a, along) + self.damping
        turn = 1 / (h if self.spring is None else h + self.spring[group.own])
        ks, ts = turn[:, None] * K, turn[:, None] * along
        return (turn, K, along), (A - outer(K, ks), B - outer(K, ts), C - outer(along, ts))

    def solve(self, gx: Floats, gt: Floats, gs: Floats | None = None) -> tuple[Floats, Floats, Floats | None, Floats]:
        """The step that minimises ½ u'Hu + g'u, and how much it gains: x, t (m, 3, n), s (m, n), gain (n,).

        gx, gt (m, 3, n): derivative of the cost by the place of a body's weighted point and by its turn about it;
        gs (m, 3, n): derivative of the springs by the turn against the parent, or None.
        """
        gt = gt + cross(self.arm, gx)
        gx = gx.copy()
        x, t = np.empty_like(gx), np.empty_like(gt)
        s = None if self.axis is None else np.zeros((gx.shape[0], gx.shape[-1]), gx.dtype)
        removed: list[Floats] = []
        gain = np.zeros(gx.shape[-1], gx.dtype)
        for group, turn, K, along in zip(reversed(self.rig.groups), self.turn, self.cross, self.along, strict=True):
            own = group.own
            force, couple = gx[own], gt[own]
            back: Floats | None = None
            if group.freedom in ("free", "ball"):
                total = couple if gs is None or group.freedom == "free" else couple + gs[own]
                k = apply(turn, total)
                gain += np.einsum("mkn,mkn->n", total, k)
                force = force - apply_transposed(K, total)
                if group.freedom == "free":
                    y = apply(along, force)
                    gain += np.einsum("mkn,mkn->n", force, y)
                    x[own] = -y
                elif self.spring is not None:
                    back = self.spring[own, None] * k
                    back = back if gs is None else back - gs[own]
            elif group.freedom == "hinge":
                assert self.axis is not None
                a = self.axis[own]
                along_axis = dot(a, couple if gs is None else couple + gs[own])
                k = turn * along_axis
                gain += np.einsum("mn,mn->n", along_axis, k)
                force = force - K * k[:, None]
                back = couple - along * k[:, None]
            else:
                k, back = np.empty(0), couple
            removed.append(k)
            if group.freedom != "free":
                couple = cross(self.lever[own], force)
                if back is not None:
                    couple += back
                for row, parent in enumerate(group.parent):
                    gx[parent] += force[row]
                    gt[parent] += couple[row]
        self._outwards(x, t, s, removed)
        return x, t, s, 0.5 * gain

    def _outwards(self, x: Floats, t: Floats, s: Floats | None, removed: list[Floats]) -> None:
        """From the roots, whose x is known, to the leaves."""
        parts = zip(self.rig.groups, self.turn[::-1], self.cross[::-1], self.along[::-1], removed[::-1], strict=True)
        for group, turn, K, along, k in parts:
            own = group.own
            if group.freedom != "free":
                above = t[group.parent]
                x[own] = x[group.parent] + cross(above, self.lever[own])
            if group.freedom in ("free", "ball"):
                t[own] = -k - apply(K, x[own])
                if self.spring is not None and group.freedom == "ball":
                    t[own] += self.spring[own, None] * apply(turn, above)
            elif group.freedom == "hinge":
                assert self.axis is not None
                assert s is not None
                s[own] = -k - turn * (dot(K, x[own]) + dot(along, above))
                t[own] = above + self.axis[own] * s[own, None]
            else:
                t[own] = above


def _own(r: Floats, wp: Floats, wr: Floats) -> tuple[Floats, Floats, Floats]:
    """Blocks (m, 3, 3, n) of wp |x + t x r|^2 + wr |t|^2."""
    m, _, n = r.shape
    Hxx, s = np.zeros((m, 3, 3, n), r.dtype), -wp[:, None] * r
    Hxt, Htt = skew(s), outer(r, s)
    size = wr - (Htt[:, 0, 0] + Htt[:, 1, 1] + Htt[:, 2, 2])
    for i in range(3):
        Hxx[:, i, i] = wp
        Htt[:, i, i] += size
    return Hxx, Hxt, Htt


def _move(message: Handed, r: Floats) -> tuple[Floats, Floats, Floats]:
    """A child's quadratic in (x, t) of its joint as one in its parent's, r from the parent's joint to the child's."""
    A, B, C = message
    r = r[:, :, None]
    M = np.swapaxes(cross(r, A), 1, 2)  # A is symmetric
    N = cross(r, M)
    if B is None or C is None:
        return A, M, N
    S = cross(r, B)
    return A, B + M, C + N + S + np.swapaxes(S, 1, 2)


def skew(r: Floats) -> Floats:
    """(g, 3, 3, n): the matrices that take v to r x v, for (g, 3, n)."""
    S = np.zeros((r.shape[0], 3, 3, r.shape[-1]), r.dtype)
    S[:, 0, 2], S[:, 1, 0], S[:, 2, 1] = r[:, 1], r[:, 2], r[:, 0]
    r = -r
    S[:, 2, 0], S[:, 0, 1], S[:, 1, 2] = r[:, 1], r[:, 2], r[:, 0]
    return S


def inverse_symmetric(H: Floats) -> Floats:
    """Inverses of symmetric (g, 3, 3, n), by cofactors; zeros where there is none."""
    largest = np.abs(H).max(axis=(1, 2))
    most = float(np.finfo(H.dtype).max) ** COFACTOR_POWER
    if largest.size and not (1 / most < float(largest.min()) and float(largest.max()) < most):
        H = np.where(np.isfinite(largest)[:, None, None], H, H.dtype.type(0))
        power = -np.frexp(largest)[1][:, None, None]  # by powers of two, which no digit notices
        return np.asarray(np.ldexp(_inverse_by_cofactors(np.ldexp(H, power)), power))
    return _inverse_by_cofactors(H)


def _inverse_by_cofactors(H: Floats) -> Floats:
    out = np.empty_like(H)
    a, b, c, d, e, f = H[:, 0, 0], H[:, 0, 1], H[:, 0, 2], H[:, 1, 1], H[:, 1, 2], H[:, 2, 2]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * A + b * B + c * C
    there = np.abs(determinant) > np.finfo(H.dtype).tiny
    scale = np.divide(1, determinant, out=np.zeros_like(determinant), where=there)
    out[:, 0, 0] = A * scale
    out[:, 0, 1] = out[:, 1, 0] = B * scale
    out[:, 0, 2] = out[:, 2, 0] = C * scale
    out[:, 1, 1] = (a * f - c * c) * scale
    out[:, 1, 2] = out[:, 2, 1] = (b * c - a * e) * scale
    out[:, 2, 2] = (a * d - b * b) * scale
    return out


# einsum forms no temporary arrays: three times faster here than sums of products.
def product(A: Floats, B: Floats) -> Floats:
    """A @ B for (g, 3, 3, n)."""
    return np.asarray(np.einsum("gijn,gjkn->gikn", A, B))


def apply(A: Floats, v: Floats) -> Floats:
    """A @ v for (g, 3, 3, n) and (g, 3, n)."""
    return np.asarray(np.einsum("gijn,gjn->gin", A, v))


def apply_transposed(A: Floats, v: Floats) -> Floats:
    """A' @ v for (g, 3, 3, n) and (g, 3, n)."""
    return np.asarray(np.einsum("gjin,gjn->gin", A, v))


def outer(a: Floats, b: Floats) -> Floats:
    """(g, 3, 3, n) of (g, 3, n)."""
    return a[:, :, None] * b[:, None]


def dot(a: Floats, b: Floats) -> Floats:
    """(g, n) of (g, 3, n)."""
    return np.asarray(np.einsum("gkn,gkn->gn", a, b))


def cross(a: Floats, b: Floats) -> Floats:
    """a x b for (g, 3, ..., n)."""
    out = np.empty_like(b)
    np.subtract(a[:, 1] * b[:, 2], a[:, 2] * b[:, 1], out=out[:, 0])
    np.subtract(a[:, 2] * b[:, 0], a[:, 0] * b[:, 2], out=out[:, 1])
    np.subtract(a[:, 0] * b[:, 1], a[:, 1] * b[:, 0], out=out[:, 2])
    return out
