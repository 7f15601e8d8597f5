"""PairSums: everything a pair of bodies needs for its joint, as sums over frames that add.

Files, chunks, windows, stretches and several takes are sums of sums. One pass serves every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, first_seen
from ..maths.spool import POSE_BYTES, blocks_of, empty
from ..model.values import dataclass

if TYPE_CHECKING:
    from ..model.take import Take

STACK_CHUNK_BYTES = 1_000_000  # of one block of frames laid out for the matrix product
STACK_KEPT_BYTES = 9_000_000  # of the matrix that is kept with a small take
# Of the poses that are laid out column by column, which stay in a processor's cache meanwhile: a third of the time that
# three numbers after three take
STACK_COPY_BYTES = 400_000
STACK_CHUNK_MIN_FRAMES = 256  # in a block, however many bodies there are


class Additive:
    """A dataclass of arrays that are sums over frames: those of two sets of frames are added array by array."""

    def map(self, change: Callable[..., Any], *others: Self) -> Self:
        """The same sums with `change` made to each array, given those of the others with it."""
        fields = (vars(one).values() for one in (self, *others))
        return type(self)(*(change(*values) for values in zip(*fields, strict=True)))

    def __add__(self, other: Self) -> Self:
        return self.map(np.add, other)

    def __sub__(self, other: Self) -> Self:
        return self.map(np.subtract, other)

    def __getitem__(self, index: Any) -> Self:
        return self.map(lambda values: values[index])


@dataclass(frozen=True, eq=False)
class PairSums(Additive):
    """Sums over the frames in which both bodies of a pair are seen; axes stand for windows, children and parents.

    With d = p_j - p_i for child i and parent j, the normal equations of the paper's eq. 9 to 12 are
        [[n I, -M], [-M', n I]] [c; l] = [b_child; b_parent]
    Of all pairs of m bodies the last axes are [i, j]; `sums[i, j]` with arrays of bodies are the sums of those pairs.
    frames    (..., m, m)        [-]    n: how many frames
    M         (..., m, m, 3, 3)  [-]    sum R_i' R_j
    b_child   (..., m, m, 3)     [m]    sum R_i' d
    b_parent  (..., m, m, 3)     [m]    sum -R_j' d; of all pairs it is b_child[j, i], since d changes sign
    dd        (..., m, m)        [m^2]  sum d.d
    """

    frames: Floats
    M: Floats
    b_child: Floats
    b_parent: Floats
    dd: Floats


@dataclass(frozen=True, eq=False)
class RowSums(PairSums):
    """The same over rows of mean poses, which are no rotations: n I in the normal equations is their own products.

    own_child, own_parent  (..., m, m, 3, 3)  [-]  sums of R_i' R_i and of R_j' R_j
    """

    own_child: Floats
    own_parent: Floats


def sum_rows(pose: Floats, seen: Bools, gram: Floats | None = None) -> RowSums:
    """The sums of all pairs of m bodies over rows of mean poses (3, N, m, 4), 0 where not seen (N, m).

    gram   (4m, 4m) products of the poses' columns, where they are known
    """
    _, n, m, _ = pose.shape
    whole = bool(seen.all())
    products = PoseProducts.of(pose.reshape(3 * n, 4 * m), m, None if whole else seen, gram=gram)
    sums = products.pairs()
    if whole:  # then the products of all columns have them
        k = np.arange(m)
        child = np.broadcast_to(products.gram.reshape(m, 4, m, 4)[k, :3, k, :3][:, None], (m, m, 3, 3))
    else:
        r, s = np.triu_indices(3)
        upper = np.zeros((m, m, 6))
        for rows in blocks_of(n, m * POSE_BYTES):
            part = pose[:, rows]
            own = np.empty((part.shape[1], m, 6))  # the entries of R'R in each row
            for e in range(6):
                np.einsum("xnm,xnm->nm", part[..., r[e]], part[..., s[e]], out=own[..., e])
            upper += (seen[rows].T.astype(np.float64) @ own.reshape(len(own), 6 * m)).reshape(m, m, 6).swapaxes(0, 1)
        child = np.empty((m, m, 3, 3))
        child[..., r, s] = child[..., s, r] = upper
    return RowSums(sums.frames, sums.M, sums.b_child, sums.b_parent, sums.dd, child, child.swapaxes(0, 1))


def sum_row_pairs(pose: Floats, seen: Bools, pairs: Ints) -> RowSums:
    """The same of some pairs (P, 2) of bodies, side by side: of few, many times faster than those of all."""
    both = np.asarray(seen[:, pairs].all(axis=2))
    whole, products = bool(both.all()), np.zeros((3, len(pairs), 4, 4))
    for rows in blocks_of(len(seen), 2 * len(pairs) * POSE_BYTES):
        shape = len(pairs), 3 * (rows.stop - rows.start), 4
        sides = [pose[:, rows, own].transpose(2, 0, 1, 3).reshape(shape) for own in pairs.T]
        mask = None if whole else np.tile(both[rows].T, (1, 3))[..., None]
        child, parent = sides if mask is None else (side * mask for side in sides)
        for total, (one, other) in zip(products, ((child, child), (parent, parent), (child, parent)), strict=True):
            total += np.swapaxes(one, 1, 2) @ other
    own_child, own_parent, across = products
    dd = np.maximum(own_child[:, 3, 3] + own_parent[:, 3, 3] - 2 * across[:, 3, 3], 0.0)
    b_child, b_parent = across[:, :3, 3] - own_child[:, :3, 3], across[:, 3, :3] - own_parent[:, :3, 3]
    frames = both.sum(axis=0).astype(np.float64)
    return RowSums(frames, across[:, :3, :3], b_child, b_parent, dd, own_child[:, :3, :3], own_parent[:, :3, :3])


def stack_sums(parts: Sequence[PairSums]) -> PairSums:
    """The sums of several windows or pairs side by side, along a new first axis."""
    return parts[0].map(lambda *values: np.stack(values), *parts[1:])


def sum_pairs(take: Take) -> PairSums:
    """The sums of all pairs of a take, chunk by chunk in memory that does not grow with the take."""
    seen = None if take.seen.all() else take.seen
    if take.frames * take.bodies * POSE_BYTES <= STACK_KEPT_BYTES:
        X = whole_stack(take)
        return PoseProducts.of(X, take.bodies, seen, gram=whole_gram(take, X)).pairs()
    parts = (PoseProducts.of(X, take.bodies, seen if seen is None else seen[rows]) for rows, X in blocks(take))
    total = next(parts).map(np.array)  # those of children and of parents are views of the same numbers
    for part in parts:
        total.map(lambda values, more: np.add(values, more, out=values), part)
    return total.pairs()


def sum_products(X: Floats, seen: Bools, children: Ints | None = None) -> PairSums:
    """The sums of all pairs of bodies over stacked poses X, see `multiply_poses`."""
    return multiply_poses(X, seen, children).pairs()


def multiply_poses(X: Floats, seen: Bools, children: Ints | None = None) -> PoseProducts:
    """The products of all pairs of bodies over stacked poses X (..., 3 n, 4 m), in which (..., n, m) are seen.

    children   (c,) those bodies that are wanted as children, with all m as parents; all by default
    """
    return PoseProducts.of(X, seen.shape[-1], None if seen.all() and children is None else seen, children)


@dataclass(frozen=True, eq=False)
class PoseProducts(Additive):
    """Products of poses summed over frames: what is added before it becomes sums of pairs.

    gram           (..., 4 c, 4 m)  of the columns of c children and m parents
    frames         (..., c, m)      in which both are seen
    child, parent  (..., c, m, 3)   R'p that either adds alone, and square (..., c, m) p.p of both, over those frames;
                                    empty where all bodies are seen, since the Gram matrix has them then
    """

    gram: Floats
    frames: Floats
    child: Floats
    parent: Floats
    square: Floats

    @classmethod
    def of(
        cls, X: Floats, m: int, seen: Bools | None, children: Ints | None = None, gram: Floats | None = None
    ) -> PoseProducts:
        """Those of frames X (..., 3 n, 4 m); seen None: all of it."""
        *batch, n, _ = X.shape
        poses = X.reshape(*batch, 3, n // 3, m, 4)
        who: Ints | slice = slice(None) if children is None else children
        if gram is None:
            left = X if children is None else poses[..., who, :].reshape(*batch, n, -1)
            gram = np.empty((*batch, left.shape[-1], 4 * m))
            for k in np.ndindex(*batch):  # a matrix by itself takes half the time of a stack of them
                np.matmul(left[k].T, X[k], out=gram[k])
        if seen is None:
            return cls(gram, np.full((*batch, m, m), n / 3), *np.empty((3, *batch, 0)))
        own, square, frames = np.zeros((*batch, m, 3 * m)), np.zeros((*batch, m, m)), np.zeros((*batch, m, m))
        # A stack of windows is small, and is not cut.
        for rows in [slice(None)] if batch else blocks_of(n // 3, 2 * POSE_BYTES * m):
            p, w = poses[..., rows, :, 3], seen[..., rows, :].astype(np.float64)
            met = np.swapaxes(w, -1, -2)
            part = np.einsum("...xnmr,...xnm->...nmr", poses[..., rows, :, :3], p)
            own += met @ part.reshape(*batch, -1, 3 * m)
            square += met @ np.einsum("...xnm,...xnm->...nm", p, p)
            frames += met @ w
        own = own.reshape(*batch, m, m, 3)  # [..., partner, body]
        square = square + np.swapaxes(square, -1, -2)
        own_child = np.swapaxes(own, -3, -2)[..., who, :, :]
        return cls(gram, frames[..., who, :], own_child, own[..., who, :, :], square[..., who, :])

    def lay_out(self, i: Ints, j: Ints) -> PairSums:
        """The sums of pairs (i, j) with the axes of bodies first, M (3, 3, ...), b_child and b_parent (3, ...): numbers
        of one kind side by side, as thousands of joints are solved fastest.
        """
        *batch, rows, columns = self.gram.shape
        grid = self.gram.reshape(*batch, rows // 4, 4, columns // 4, 4)

        def read(r: int, k: int) -> Floats:
            return np.asarray(grid[..., i, r, j, k])

        M = np.stack([np.stack([read(r, k) for k in range(3)]) for r in range(3)])
        child, parent = (np.stack(part) for part in zip(*((read(r, 3), read(3, r)) for r in range(3)), strict=True))
        frames = self.frames[..., i, j]
        if self.square.size:
            child -= np.moveaxis(self.child[..., i, j, :], -1, 0)
            parent -= np.moveaxis(self.parent[..., i, j, :], -1, 0)
            return PairSums(frames, M, child, parent, np.maximum(self.square[..., i, j] - 2 * read(3, 3), 0.0))
        child -= np.stack([grid[..., i, r, i, 3] for r in range(3)])
        parent -= np.stack([grid[..., j, r, j, 3] for r in range(3)])
        square = grid[..., i, 3, i, 3] + grid[..., j, 3, j, 3]
        return PairSums(frames, M, child, parent, np.maximum(square - 2 * read(3, 3), 0.0))

    def pairs(self) -> PairSums:
        *batch, _, columns = self.gram.shape
        grid = np.swapaxes(self.gram.reshape(*batch, -1, 4, columns // 4, 4), -3, -2)  # (..., c, m, 4, 4)
        child, parent, square = self.child, self.parent, self.square
        if not square.size:
            alone = np.diagonal(grid, axis1=-4, axis2=-3)  # (..., 4, 4, m)
            parent = np.swapaxes(alone[..., :3, 3, :], -1, -2)[..., None, :, :]
            child = np.swapaxes(parent, -3, -2)
            square = alone[..., 3, 3, :][..., None] + alone[..., 3, 3, :][..., None, :]
        M, dd = np.ascontiguousarray(grid[..., :3, :3]), np.maximum(square - 2 * grid[..., 3, 3], 0.0)
        return PairSums(self.frames, M, grid[..., :3, 3] - child, grid[..., 3, :3] - parent, dd)


def stack_poses(R_world_body: Floats, p_world_body: Floats, seen: Bools, room: Floats | None = None) -> Floats:
    """(..., 3 n, 4 m) poses (..., n, m) as one matrix; 0 where not seen.

    Rows are (world axis, frame), columns (body, [its three axes, its centred position]): products of its columns are
    what every pair of bodies needs, and a column vector of joint centres turns it into gaps.

    room   (3,) [m] a point of the room near by, which then is one more body, the last
    """
    *batch, n, m = seen.shape
    X = empty((*batch, 3, n, m + (room is not None), 4))
    for rows in blocks_of(n, POSE_BYTES * m * prod(batch)):
        part = seen[..., rows, :]
        R, p = R_world_body[..., rows, :, :, :], p_world_body[..., rows, :, :]
        first = first_seen(p, part)
        if not part.all():
            R, p = np.where(part[..., None, None], R, 0.0), np.where(part[..., None], p, first)
        out = X[..., rows, :, :]
        for few in blocks_of(part.shape[-2], POSE_BYTES * m * prod(batch), STACK_COPY_BYTES):
            for axis in range(3):
                for k in range(3):
                    out[..., axis, few, :m, k] = R[..., few, :, axis, k]
                np.subtract(p[..., few, :, axis], first[..., few, :, axis], out=out[..., axis, few, :m, 3])
        if room is not None:
            for axis in range(3):
                out[..., axis, :, m, :3] = np.eye(3)[axis]
                out[..., axis, :, m, 3] = room[axis] - first[..., 0, axis]
    return X.reshape(*batch, 3 * n, 4 * X.shape[-2])


_kept: WeakKeyDictionary[Take, Floats] = WeakKeyDictionary()
_grams: WeakKeyDictionary[Take, Floats] = WeakKeyDictionary()


def forget_stacks() -> None:
    """Drops the kept matrices; for measurements that must not find them made."""
    _kept.clear()
    _grams.clear()


def keep_stack(take: Take, X: Floats, gram: Floats) -> None:
    """Keeps a stacked matrix and its products that there are already beside their take."""
    _kept[take], _grams[take] = X, gram


def whole_stack(take: Take) -> Floats:
    """The stacked matrix of all frames. That of a small take is made once and kept beside it."""
    if take in _kept:
        return _kept[take]
    X = stack_poses(take.R_world_body, take.p_world_body, take.seen)
    if take.frames * take.bodies * POSE_BYTES <= STACK_KEPT_BYTES:
        _kept[take] = X
    return X


def whole_gram(take: Take, X: Floats) -> Floats:
    """(4 m, 4 m) Gram matrix of the stacked poses X of a take. That of a small take is made once and kept beside it."""
    if take not in _kept:
        return np.asarray(X.T @ X)
    if take not in _grams:
        _grams[take] = X.T @ X
    return _grams[take]


def blocks(take: Take) -> Iterator[tuple[slice, Floats]]:
    """All frames in blocks, each with its stacked matrix; a small take is one block."""
    if take.frames * take.bodies * POSE_BYTES <= STACK_KEPT_BYTES:
        yield slice(0, take.frames), whole_stack(take)
        return
    for rows in chunks(take):
        yield rows, stack_poses(take.R_world_body[rows], take.p_world_body[rows], take.seen[rows])


def chunks(take: Take) -> Iterator[slice]:
    """Frames in blocks whose stacked matrix fits a processor's cache, and is tall enough for its product to pay."""
    return blocks_of(take.frames, POSE_BYTES * take.bodies, STACK_CHUNK_BYTES, STACK_CHUNK_MIN_FRAMES)
