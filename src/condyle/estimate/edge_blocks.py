"""The one input of intervals, slips and fields: gaps, angles and places of joints, averaged over blocks of time."""

from __future__ import annotations

from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..maths import rotation
from ..maths.arrays import dot_rows, evenly
from ..maths.series import average_runs, block_starts, count_frames, segment_slices
from ..maths.spool import blocks as spool_blocks
from ..maths.spool import blocks_of, empty, over_frames

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats, Ints
    from ..model.take import Take
    from .solve import Solution

BLOCK_RATE_HZ = 6.0  # Hz: motion is slower, white noise is averaged away
OWN_GROUPS, LOCAL_GROUPS, EFFECT_GROUPS = 2, 3, 5  # of effects: of the joint's own angle, of any, and of the place too
# Shapes in each, along three axes: by the joint's angles, their products, other joints' angles; by arm, arm and place.
GROUP_COLUMNS = (9, 18, 9, 9, 27)
BLOCK_MIN_COUNT = 60  # a short take is cut into shorter blocks
CORRELATION_LAG_S = 1.0  # s over which what is left after the effects may still be correlated
WHITE_CORRELATION_SE = 2.6  # standard errors of the first autocorrelation that still count as none
# Power of the range about an axis with which the errors grow that go with it: 1 is so much for every radian, 0 is the
# same for every axis. Takes of one person in different activities (FAILT01 of data/more) have the size along the axis
# of most rotation and across it right at 0 to 0.5, simulated skin at 1; see docs/methods.md.
ANGLE_POWER = 0.5
# Square of an angle that counts as noise over that of the sensors, which is known to some per cent. Simulated
# four-bars, 12 takes: effects are found in the angles that their hinges do not have at 1, next to none at 1.5.
ANGLE_NOISE_SHARE = 1.5
MOVED_MIN_SHARE = 1e-3  # of an angle that noise explains whole, so that its columns are none of zeros
ALONG_MAX_TURN_RAD = 0.1  # rad rms, above which it falls with the square of the turn: legs that swing show none


class Blocks:
    """Gaps and designs averaged over short blocks of frames, block by block within segments."""

    def __init__(self, take: Take, solution: Solution) -> None:
        self.angle_noise: Floats = np.zeros(len(solution.pairs))  # rad, of the angles about each axis
        rate = take.rate if np.isfinite(take.rate) else 1.0
        length = max(1, count_frames(rate / BLOCK_RATE_HZ, take.frames // BLOCK_MIN_COUNT))
        self.length, self.step = length, length / rate
        first = block_starts(take.segment, length)
        self.pairs, self.first = solution.pairs, first
        i, j = solution.pairs.T
        w = solution.weight
        total = np.maximum(np.add.reduceat(w, first, axis=0), 1e-300)
        self.weight = np.where(total > 1e-200, total, 0.0)  # frames' worth of weight in each block and joint
        self.count = len(first)
        starts = [one.start for one in segment_slices(take.segment)]
        self.fresh = np.isin(first, starts)  # first block of a segment
        self.run = np.cumsum(self.fresh.astype(np.int64))

        R_child, R_parent = _block_means(take.R_world_body, (i, j), w, first, total)
        p_child, p_parent = _block_means(take.p_world_body, (i, j), w, first, total)
        self.halves = solution.p_child_joint, solution.p_parent_joint
        self.place = over_frames(lambda parent, child: 0.5 * (parent + child), p_parent, p_child)
        self.R_child, self.R_parent = R_child, R_parent
        self.arm = over_frames(  # the sensors' distance as the joint has it; the measured one would explain its noise
            lambda child, parent: dot_rows(child, self.halves[0][:, None]) - dot_rows(parent, self.halves[1][:, None]),
            *(R_child, R_parent),
        )
        self.gap = over_frames(  # (b, 3, J)
            lambda arm, parent, child: (arm - (parent - child)).transpose(0, 2, 1), self.arm, p_parent, p_child
        )

    def lay_out(self, joints: Ints | slice = slice(None), rows: slice = slice(None)) -> Floats:
        """(b, 3, P, 6) the columns of the unknowns of joints (P,), or of all, in all blocks or in some."""
        child, parent = self.R_child[rows][:, joints], self.R_parent[rows][:, joints]
        return np.concatenate([child, -parent], axis=3).transpose(0, 2, 1, 3)

    def thin(self, most: int) -> Blocks:
        """So many of the blocks at most, evenly spread, with the angles that they have among all."""
        if self.count <= most:
            return self
        part, chosen = copy(self), evenly(self.count, most)
        part.count, part.step = most, self.step * self.count / most
        for name in ("first", "weight", "fresh", "run", "place", "R_child", "R_parent", "arm", "gap"):
            setattr(part, name, getattr(self, name)[chosen])
        part.__dict__["_turns"] = self._angles[chosen], self._turns[1]
        return part

    def count_blocks(self, seconds: float) -> int:
        """Blocks in so many seconds, at most those there are."""
        return count_frames(seconds / self.step, self.count)

    def differences(self, flat: Floats, lag: float) -> tuple[Floats, Floats]:
        """DZ and D'DZ of rows Z (3 b, F), where D takes differences over `lag` [s] within segments."""
        Z, steps = flat.reshape(self.count, 3, -1), min(max(1, self.count_blocks(lag)), self.count - 1)
        change = (Z[steps:] - Z[:-steps]) * (self.run[steps:] == self.run[:-steps])[:, None, None]
        back = np.zeros_like(Z)
        back[steps:] += change
        back[:-steps] -= change
        return change.reshape(-1, flat.shape[1]), back.reshape(flat.shape)

    def move_along(self, joints: Ints) -> Floats:
        """(P, 3 b, 2) gaps of joints (P,), weighted, when their centres move along the direction to either of their
        sensors; of unit size, less where a joint turns more than ALONG_MAX_TURN_RAD.
        """
        w = self.weight[:, joints].T
        total, root = np.maximum(w.sum(axis=1), 1e-300), np.sqrt(w)[..., None]
        R_child, R_parent = self.R_child[:, joints], self.R_parent[:, joints]  # (b, P, 3, 3)
        out = np.zeros((len(joints), self.count, 3, 2))
        for side, (R, R_other) in enumerate(((R_child, R_parent), (R_parent, R_child))):
            half = self.halves[side][joints]
            unit = half / np.maximum(np.linalg.norm(half, axis=1), 1e-12)[:, None]
            arm = np.einsum("bpxy,py->pbx", R, unit)
            mean = np.einsum("bpxy,pbx,pb->py", R_other, arm, w / total[:, None], optimize=True)
            moved = arm - np.einsum("bpxy,py->pbx", R_other, mean)
            turn = np.maximum(np.sqrt((np.square(moved) * w[..., None]).sum(axis=(1, 2)) / total), 1e-12)
            out[..., side] = moved * root * (np.minimum(1.0, (ALONG_MAX_TURN_RAD / turn) ** 2) / turn)[:, None, None]
        return out.reshape(len(joints), 3 * self.count, 2)

    def angle(self, a: int) -> Floats:
        """(b, 3) [rad] rotation vector of joint a from its middle pose."""
        return self._angles[:, a]

    @cached_property
    def _turns(self) -> tuple[Floats, Floats]:
        """(b, J, 3) [rad] the same of all joints, and (J, 3, 3) their middle poses, parents as children see them."""
        known = (self.weight > 0)[..., None, None]

        def relate(child: Floats, parent: Floats, known: Bools) -> Floats:
            relative = np.swapaxes(child, 2, 3) @ parent
            return rotation.project(relative if known.all() else np.where(known, relative, np.eye(3)))

        relative = over_frames(relate, self.R_child, self.R_parent, known)
        mean = np.asarray(sum((relative[rows] * known[rows]).sum(axis=0) for rows in spool_blocks(relative)))
        middle = rotation.project(np.where(known.any(axis=0), mean, np.eye(3)))
        return over_frames(lambda part: rotation.between(np.broadcast_to(middle, part.shape), part), relative), middle

    @property
    def _angles(self) -> Floats:
        return self._turns[0]

    def _turn_axes(self, joints: Ints) -> tuple[Floats, Floats, Floats]:
        """(P, 3, 3) axes of the angles of joints (P,), (P, 3) [rad] the range about each, and the share of it that is
        motion: what noise turns is none.
        """
        known = self.weight[:, joints].T > 0
        angle = self._angles[:, joints].transpose(1, 0, 2)
        there = angle if known.all() else angle * known[..., None]
        count = np.maximum(known.sum(axis=1), 1)[:, None, None]
        value, axes = np.linalg.eigh(np.swapaxes(there, 1, 2) @ there / count)
        range_ = np.sqrt(np.maximum(value, 1e-6 * value[:, -1:] + 1e-24))
        noise = ANGLE_NOISE_SHARE * np.square(self.angle_noise[joints])[:, None]
        return axes, range_, np.maximum(1 - noise / range_**2, MOVED_MIN_SHARE)

    def _scale_angles(self, joints: Ints) -> Floats:
        """(P, b, 3) the angles of joints (P,) about their own axes, each over its range to the power of
        1 - ANGLE_POWER.

        What is seen to turn little about an axis is turned as much by the skin as by the bones. What noise turns is
        in the gap as well, by the sensors' levers, so that a gap of noise would follow it.
        """
        axes, range_, moved = self._turn_axes(joints)
        angle = self._angles[:, joints].transpose(1, 0, 2)
        return np.asarray(angle @ axes * (moved / range_ ** (1 - ANGLE_POWER))[:, None])

    def strip_turn_noise(self, joints: Ints) -> Floats:
        """(b, 3, P, 6) the columns of the unknowns of joints (P,), without turns about axes about which noise alone
        turns them.

        Beside shapes that follow the angle, which explain the motion in these columns, nothing would be left of them
        but noise, that of the gap: hinges in white noise had errors of 20 to 50 mm by it.
        """
        axes, _, moved = self._turn_axes(joints)
        noisy = np.flatnonzero((moved <= MOVED_MIN_SHARE).any(axis=1))
        Z = self.lay_out(joints)
        if len(noisy):
            own = axes[noisy] * (moved[noisy] > MOVED_MIN_SHARE)[:, None]  # (p, 3, 3)
            kept = np.einsum("bpx,pxk,pyk->bpy", self._angles[:, joints[noisy]], own, axes[noisy])
            turned = self._turns[1][joints[noisy]] @ rotation.from_vector(kept)
            Z[:, :, noisy, :3] = (self.R_parent[:, joints[noisy]] @ np.swapaxes(turned, 2, 3)).transpose(0, 2, 1, 3)
        return Z

    def weigh_unknowns(self, joints: Ints) -> Floats:
        """(P, 3 b, 6) the same, joint by joint, weighted as the gaps are."""
        root = np.sqrt(self.weight[:, joints].T)
        Z = self.strip_turn_noise(joints).transpose(2, 0, 1, 3) * root[..., None, None]
        return np.asarray(Z.reshape(len(joints), -1, 6))

    def find_neighbours(self, joint: int, bodies: Ints) -> Ints:
        """The other joints that these bodies of a joint have."""
        near = (self.pairs[..., None] == bodies).any(axis=(1, 2))
        near[joint] = False
        return np.flatnonzero(near)

    def _find_pulling_angles(self, joint: int) -> Floats:
        """(b, 3) [rad] what the other joints of a joint's two bodies turn by, in the three directions of most motion.

        They pull at the skin under its sensors, and most at a joint that hardly turns itself.
        """
        near = self.find_neighbours(joint, self.pairs[joint])
        if not len(near):
            return np.zeros((self.count, 3))
        angle = (self._angles[:, near] * (self.weight[:, near] > 0)[..., None]).reshape(self.count, -1)
        return np.asarray(angle @ np.linalg.eigh(angle.T @ angle)[1][:, -3:])

    def features(self, joints: Ints) -> Floats:
        """(P, 3 b, F) shapes an error could take at joints (P,) that follow a joint's own angle and its square, of unit
        size, group by group.
        """
        return self.shape_rows(joints, *self.find_shapes(joints, False, False), slice(0, self.count))

    def find_shapes(self, joints: Ints, pulled: bool, world: bool) -> tuple[list[Floats], int]:
        """(P, b, k) of each group what its shapes follow, of unit size, and how many of them move in a body's axes."""
        known = self.weight[:, joints].T > 0
        count = np.maximum(known.sum(axis=1), 1)[:, None]
        angle = self._scale_angles(joints)
        s, t = np.triu_indices(3)
        values = [angle, angle[..., s] * angle[..., t]]
        if pulled:
            values.append(np.stack([self._find_pulling_angles(int(a)) for a in joints]))
        in_body = len(values)
        if world:
            place, arm = (part[:, joints].transpose(1, 0, 2) for part in (self.place, self.arm))
            place = place - ((place * known[..., None]).sum(axis=1) / count)[:, None]
            square = (np.square(place).sum(axis=2) * known).sum(axis=1) / (3 * count[:, 0])
            place = place / np.maximum(np.sqrt(np.where(known.any(axis=1), square, 1.0)), 1e-9)[:, None, None]
            values += [arm, (arm[..., None] * place[:, :, None]).reshape(*arm.shape[:2], 9)]
        return [_unit(part, known) for part in values], in_body

    def shape_rows(self, joints: Ints, units: list[Floats], in_body: int, rows: slice) -> Floats:
        """(P, 3 r, F) the shapes of joints (P,) in some of the blocks, from what they follow: see `find_shapes`."""
        R, start = self.R_parent[rows][:, joints].transpose(1, 0, 2, 3), 0
        out = np.zeros((len(joints), R.shape[1], 3, 3 * sum(unit.shape[2] for unit in units)))
        for group, whole in enumerate(units):
            unit, wide = whole[:, rows], 3 * whole.shape[2]
            columns = out[..., start : start + wide].reshape(*out.shape[:3], 3, -1)
            if group < in_body:  # displacements live in a body's own axes,
                np.multiply(R[..., None], unit[:, :, None, None], out=columns)
            else:  # bent fields in the room
                for x in range(3):
                    columns[:, :, x, x] = unit
            start += wide
        return out.reshape(len(joints), 3 * R.shape[1], -1)


class EffectShapes:
    """Shapes (P, 3 b, F) that errors could take at joints (P,), weighted as their gaps are. Those of a long take are
    made anew whenever rows of them are asked for, since all of them are many times its gaps.
    """

    def __init__(self, blocks: Blocks, joints: Ints, pulled: bool = False, world: bool = True) -> None:
        self._blocks, self._joints, self._facts = blocks, joints, blocks.find_shapes(joints, pulled, world)
        self.shape: tuple[int, ...] = len(joints), 3 * blocks.count, 3 * sum(unit.shape[2] for unit in self._facts[0])
        self._size: Floats | None = None
        self._whole: Floats | None = None
        parts = blocks_of(blocks.count, 3 * 8 * self.shape[0] * self.shape[2])
        self.rows = [slice(3 * part.start, 3 * part.stop) for part in parts]
        if len(self.rows) == 1:
            self._whole = self._make(self.rows[0])

    def _make(self, rows: slice) -> Floats:
        part = slice(rows.start // 3, rows.stop // 3)
        X = self._blocks.shape_rows(self._joints, *self._facts, part)
        X *= np.repeat(np.sqrt(self._blocks.weight[part, self._joints].T), 3, axis=1)[..., None]
        return X if self._size is None else np.divide(X, self._size[:, None], out=X)

    def __getitem__(self, key: tuple[slice, slice]) -> Floats:
        """Rows of the shapes of all joints, from the first of a block to the last of one."""
        return self._make(key[1]) if self._whole is None else self._whole[key]

    def divide(self, size: Floats) -> None:
        """Makes every column smaller by a factor (P, F)."""
        self._size = size
        if self._whole is not None:
            self._whole /= size[:, None]

    def multiply(self, left: Floats) -> Floats:
        """(P, K, F) the products with columns (P, 3 b, K)."""
        return np.asarray(sum(np.swapaxes(left[:, rows], 1, 2) @ self[:, rows] for rows in self.rows))

    def gram(self) -> Floats:
        """(P, F, F) the products with each other."""
        parts = (self[:, rows] for rows in self.rows)
        return np.asarray(sum(np.swapaxes(X, 1, 2) @ X for X in parts))

    def square(self) -> Floats:
        """(P, F) the sum of the squares of each column."""
        parts = (self[:, rows] for rows in self.rows)
        return np.asarray(sum(np.einsum("pnf,pnf->pf", X, X) for X in parts))

    def apply(self, k: int, coefficient: Floats, use: Bools | slice = slice(None)) -> Floats:
        """(3 b,) the shapes of the k-th joint that are in use (F,), times their coefficients (F,), added up."""
        return np.concatenate([self[:, rows][k][:, use] @ coefficient[use] for rows in self.rows])


def pull_skin(blocks: Blocks, a: int, rows: slice = slice(None)) -> list[Floats]:
    """(3 b, 9) each: skin that the other joints of the bodies of joint a pull along, which moves in the body's axes; in
    all blocks, or in some.
    """
    columns = []
    for body, axes in zip(blocks.pairs[a], (blocks.R_child[rows, a], blocks.R_parent[rows, a]), strict=True):
        for other in blocks.find_neighbours(a, body):
            columns.append((axes[..., None] * blocks.angle(int(other))[rows, None, None]).reshape(3 * len(axes), -1))
    return columns


_averaged: WeakKeyDictionary[Solution, Blocks] = WeakKeyDictionary()


def average_blocks(take: Take, solution: Solution) -> Blocks:
    """The blocks of a solution's rows, made once for all that reads them."""
    if solution not in _averaged:
        _averaged[solution] = Blocks(*solution.by_rows(take))
    return _averaged[solution]


def forget_blocks(solution: Solution) -> None:
    """Drops the blocks that were made of a solution: nothing reads them any more."""
    _averaged.pop(solution, None)


def _block_means(
    values: Floats, sides: tuple[Ints, Ints], weight: Floats, first: Ints, total: Floats
) -> tuple[Floats, ...]:
    """Weighted means of (n, m, ...) of J bodies on either side over blocks that start at `first`; 0 where nothing has
    weight.

    Where all frames of a block count alike, as most do, that is the mean of the body, whichever joint it has.
    """
    stop, of = np.append(first[1:], len(values)), values.shape[2:]
    longest, plain = int((stop - first).max(initial=1)), empty((len(first), *values.shape[1:]))
    for some in blocks_of(len(first), longest * values[:1].nbytes):
        begin, end = int(first[some.start]), int(stop[some.stop - 1])
        part, count = values[begin:end].reshape(end - begin, -1), (stop - first)[some]
        plain[some] = average_runs(part, first[some] - begin, count).reshape(-1, *values.shape[1:])
    least, most = (reach(weight, first, axis=0) for reach in (np.minimum.reduceat, np.maximum.reduceat))
    block, joint = np.nonzero((least != most) | (least <= 0))
    found = tuple(over_frames(partial(np.take, indices=bodies, axis=1), plain) for bodies in sides)
    for odd in blocks_of(len(block), longest * values[0, :1].nbytes):
        b, a = block[odd], joint[odd]
        frames = first[b, None] + np.arange(longest)
        inside = frames < stop[b, None]
        frames = np.where(inside, frames, first[b, None])
        share = np.where(inside, weight[frames, a[:, None]], 0.0) / total[b, a][:, None]
        for bodies, means in zip(sides, found, strict=True):
            part = np.where((share > 0)[(..., *(None,) * len(of))], values[frames, bodies[a][:, None]], 0.0)
            means[b, a] = (share[:, None] @ part.reshape(*share.shape, -1)).reshape(-1, *of)
    return found


def _unit(values: Floats, known: Bools) -> Floats:
    """(P, b, F) all columns of each joint divided by one number, so that their rms size together is one where known."""
    square = (np.einsum("pbf,pbf->pb", values, values) * known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return values / np.maximum(np.sqrt(np.where(known.any(axis=1), square, 1.0)), 1e-12)[:, None, None]


def long_run(left: Floats, step: float, run: Ints) -> float:
    """Factor by which correlation in time makes the mean of a series less sure than its variance says; at least 1.

    run   (b,) number of the segment of each block; segments have nothing to do with each other
    """
    n = len(left)
    lags = min(max(1, count_frames(CORRELATION_LAG_S / step, n)), n - 2)
    zero = float((left * left).sum())
    if zero <= 0:
        return 1.0
    total = 1.0
    for k in range(1, lags + 1):
        near = (run[k:] == run[:-k])[:, None]
        total += 2 * (1 - k / (lags + 1)) * float((left[k:] * left[:-k] * near).sum()) / zero
    return max(total, 1.0)


def is_correlated(blocks: Blocks) -> Bools:
    """(J,) whether a gap is correlated from block to block."""
    square, lag = np.zeros((2, len(blocks.pairs)))
    for rows in spool_blocks(blocks.gap):
        near = slice(max(rows.start - 1, 0), rows.stop)  # with the block before
        e = blocks.gap[near] * np.sqrt(blocks.weight[near])[:, None, :]
        own = e[rows.start - near.start :]
        square += (own * own).sum(axis=(0, 1))
        lag += (e[1:] * e[:-1] * ~blocks.fresh[near][1:, None, None]).sum(axis=(0, 1))
    share = np.abs(lag / np.maximum(square, 1e-300))
    return np.asarray(share >= WHITE_CORRELATION_SE / np.sqrt(3 * blocks.count))
