"""What a bent field does to joints, as rows of equations: averaged poses of joined pairs, and of a rod.

The gap of joint a in a field of displacement w and rotation psi, both linear in the weights of the bells at the places
where the two sensors report to be:

    e = exp(-[psi(p_i)]) R_i c + p_i - w(p_i) - exp(-[psi(p_j)]) R_j l - p_j + w(p_j)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..estimate.edge_blocks import GROUP_COLUMNS, LOCAL_GROUPS, Blocks, average_blocks, long_run, pull_skin
from ..estimate.solve import Solution
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.least_squares import clear_of_columns
from ..maths.robust import median
from ..maths.spool import blocks_of
from ..model.field import Rod, bells, spread_centres
from ..model.values import dataclass
from ..pairs.outliers import weigh_outliers

if TYPE_CHECKING:
    from ..model.take import Take

MOST_BLOCKS = 600  # of joints, and of the rod: more would sharpen nothing
MOST_PLACES = 1500  # among which centres are chosen
FIELD_MOST_CENTRES = 90  # centres of a field at most
STIFFNESS_SHARE = 1e-3  # against weights that swing far outside to fit a straight line inside
OPEN_VARIANCE_SHARE = 2e-3  # of the field's variance that the centres may leave open at a visited place


@dataclass(frozen=True, eq=False)
class FieldRows:
    """Poses of J joined pairs averaged over b blocks, as reported, with the joints as known so far.

    R_child, R_parent  (b, J, 3, 3);  p_child, p_parent  (b, J, 3) [m]
    weight    (b, J)  frames' worth
    c, l      (J, 3)  [m] the joint in child and parent;  free: J of (6, F) directions that are solved for
    skin      J of (b, 3, G)  what may move a gap with the angles of its own joint and the next ones
    variance  (J,)    [m^2] of one frame's gap, per axis, times what its correlation in time costs
    run       (b,)    number of the stretch that a block belongs to;  step [s]
    """

    R_child: Floats
    R_parent: Floats
    p_child: Floats
    p_parent: Floats
    weight: Floats
    c: Floats
    l: Floats
    free: tuple[Floats, ...]
    skin: tuple[Floats, ...]
    variance: Floats
    stretch: Floats
    run: Ints
    step: float

    @classmethod
    def of_joints(cls, take: Take, solution: Solution, still: int | None = None, most: int = MOST_BLOCKS) -> FieldRows:
        """Those of a take's joints, in so many blocks at most."""
        hidden = np.zeros(len(solution.pairs), dtype=bool)
        if still is not None:
            hidden = (solution.pairs == still).any(axis=1)
        free = tuple(_own_directions(solution.basis[6 * a : 6 * a + 6]) for a in range(len(solution.pairs)))
        if hidden.any():
            rows, read = solution.by_rows(take)
            blocks = Blocks(rows, replace(read, weight=np.where(hidden, 0.0, read.weight)))
        else:
            blocks = average_blocks(take, solution)
        blocks = blocks.thin(most)
        return cls._of(blocks, solution.p_child_joint, solution.p_parent_joint, free, tuple(_skins(blocks)))

    @classmethod
    def of_rod(cls, take: Take, rod: Rod) -> FieldRows:
        """Either sensor at a constant place in the axes of the other: two joints at the origin of their parent."""
        pairs = np.array([[take.index(rod.pair[0]), take.index(rod.pair[1])]])
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
        i, j = pairs.T
        R, p = take.R_world_body, take.p_world_body
        seen = take.seen[:, i] & take.seen[:, j]
        if seen.sum() < 2 * 3:
            raise UsageError(
                f"the rod's sensors '{rod.pair[0]}' and '{rod.pair[1]}' are not seen together", code="bad-call"
            )
        away = np.einsum("njyx,njy->njx", R[:, i], p[:, j] - p[:, i])
        c = median(away)
        weight, _ = weigh_outliers(np.where(seen[..., None], away - c, 0.0).transpose(2, 0, 1), seen)
        J = len(pairs)
        eye, zero = np.eye(6), np.zeros((J, 3))
        none = np.zeros(J, dtype=bool)
        plain = Solution(pairs, c, zero, weight, np.zeros((6 * J,) * 2), np.eye(6 * J), np.eye(J), none)
        blocks = Blocks(take, plain).thin(MOST_BLOCKS)
        return cls._of(blocks, c, zero, (eye[:, :3],) * J, (np.zeros((blocks.count, 3, 0)),) * J)

    @classmethod
    def _of(cls, blocks: Blocks, c: Floats, l: Floats, free: tuple[Floats, ...], skin: tuple[Floats, ...]) -> FieldRows:
        """Those of blocks."""
        apart = blocks.arm - blocks.gap.transpose(0, 2, 1)  # from child to parent, as reported
        made = cls(
            blocks.R_child,
            blocks.R_parent,
            blocks.place - 0.5 * apart,
            blocks.place + 0.5 * apart,
            blocks.weight,
            c,
            l,
            free,
            skin,
            np.ones(len(c)),
            np.ones(len(c)),
            blocks.run,
            blocks.step,
        )
        return made.weigh(made.straighten(None)[2])

    def straighten(self, field: tuple[Basis, Floats, Floats] | None) -> tuple[Floats, Floats, Floats]:
        """Arms (b, J, 3) of child and parent to the joint, and gaps, with the field (w, psi) taken away."""
        R_child, R_parent, d = self.R_child, self.R_parent, self.p_child - self.p_parent
        if field is not None:
            basis, w, psi = field
            at_child, at_parent = basis(self.p_child), basis(self.p_parent)
            R_child = rotation.from_vector(-(at_child @ psi)) @ R_child
            R_parent = rotation.from_vector(-(at_parent @ psi)) @ R_parent
            d = d - (at_child - at_parent) @ w
        child = np.einsum("bjxy,jy->bjx", R_child, self.c)
        parent = np.einsum("bjxy,jy->bjx", R_parent, self.l)
        return child, parent, child - parent + d

    def weigh(self, gap: Floats) -> FieldRows:
        """With variances of the gaps (b, J, 3) that are left."""
        scaled = gap * np.sqrt(self.weight)[..., None]
        for a, columns in enumerate(self.skin):
            columns = columns.reshape(3 * len(self.weight), columns.shape[2])
            weighted = columns * np.sqrt(np.repeat(self.weight[:, a], 3))[:, None]
            scaled[:, a] = clear_of_columns(weighted, scaled[:, a].ravel()).reshape(-1, 3)
        count = np.maximum((self.weight > 0).sum(axis=0), 1)
        variance = (scaled * scaled).sum(axis=(0, 2)) / (3 * count)
        stretch = np.array([long_run(scaled[:, a], self.step, self.run) for a in range(len(count))])
        floor = max(1e-6 * float(variance.max(initial=0.0)), 1e-24)  # rounding must not rule
        return replace(self, variance=np.maximum(variance, floor), stretch=stretch)

    def move(self, step: Floats, field: tuple[Basis, Floats, Floats]) -> FieldRows:
        """With the joints (6J,) further, in the field, and the noise that is left; skin is allowed for no longer."""
        further = step.reshape(-1, 2, 3)
        skin = tuple(columns[:, :, :0] for columns in self.skin)
        made = replace(self, c=self.c + further[:, 0], l=self.l + further[:, 1], skin=skin)
        return made.weigh(made.straighten(field)[2])


class Basis:
    """Gaussian bells mixed so that equal and independent weights make a field of equal size everywhere."""

    def __init__(
        self, places: Floats, length: float, most: int = FIELD_MOST_CENTRES, known: float = OPEN_VARIANCE_SHARE
    ) -> None:
        self.length = length
        self.centres = spread_centres(places, length, most, known)
        gram = bells(self.centres, self.centres, length) + 1e-9 * np.eye(len(self.centres))
        self.mix = np.linalg.inv(np.linalg.cholesky(gram)).T

    def __call__(self, p: Floats) -> Floats:
        """(..., K) at places (..., 3)."""
        return np.asarray(bells(p, self.centres, self.length) @ self.mix)


def choose_places(rows: Sequence[FieldRows]) -> Floats:
    """(P, 3) [m] places spread over those where the sensors were."""
    used = [p[part.weight > 0] for part in rows for p in (part.p_child, part.p_parent)]
    places = np.concatenate(used)
    return places[evenly(len(places), MOST_PLACES)]


def fit_scaling(places: Floats, basis: Basis) -> Floats:
    """(3K,) weights, axis by axis, of the field that makes all that was visited larger, one metre for each metre."""
    phi, away = basis(places), places - places.mean(axis=0)
    own = phi.T @ phi / len(places)
    weights = np.linalg.solve(own + STIFFNESS_SHARE * np.eye(len(own)), phi.T @ away / len(places))
    return np.asarray(weights.T.ravel())


def extent(places: Floats) -> float:
    """Rms distance [m] of places from their middle."""
    return float(np.sqrt(places.var(axis=0).sum()))


def joint_rows(
    part: FieldRows, a: int, basis: Basis, turn: float, start: tuple[Floats, Floats]
) -> tuple[Floats, int, int]:
    """Weighted rows (3b, F + G + 6K + 1) of one joint: its F unknowns, its skin, the field, axis by axis its
    displacement and its rotation, and what they explain; with F, and F + G.
    """
    one = replace(
        part,
        **{name: getattr(part, name)[:, a : a + 1] for name in ("R_child", "R_parent", "p_child", "p_parent")},
        c=part.c[a : a + 1],
        l=part.l[a : a + 1],
    )
    w, psi = start
    bent = bool(w.any() or psi.any())
    child, parent, gap = (values[:, 0] for values in one.straighten((basis, w, psi) if bent else None))
    at_child, at_parent = basis(one.p_child[:, 0]), basis(one.p_parent[:, 0])
    R_child, R_parent = one.R_child[:, 0], one.R_parent[:, 0]
    if bent:
        R_child = rotation.from_vector(-(at_child @ psi)) @ R_child
        R_parent = rotation.from_vector(-(at_parent @ psi)) @ R_parent
    root = np.sqrt(part.weight[:, a] / (part.variance[a] * part.stretch[a]))[:, None]
    (b, K), free = at_child.shape, part.free[a].shape[1]
    own = free + part.skin[a].shape[2]
    table = np.zeros((b, 3, own + 6 * K + 1))
    np.matmul(np.concatenate([R_child, -R_parent], axis=2) * root[..., None], part.free[a], out=table[..., :free])
    np.multiply(part.skin[a], root[..., None], out=table[..., free:own])
    field = table[..., own:-1].reshape(b, 3, 2, 3, K)
    away = (at_parent - at_child) * root
    turned = turn * (child[:, :, None] * (at_child * root)[:, None] - parent[:, :, None] * (at_parent * root)[:, None])
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # the matrix of a product with a vector has two of it in a row
        field[:, x, 0, x] = away
        field[:, x, 1, z], field[:, x, 1, y] = turned[:, y], -turned[:, z]
    table[..., -1] = -gap * root
    if bent:
        table[..., -1] += table[..., own:-1] @ np.concatenate([w.T.ravel(), psi.T.ravel() / turn])
    return table.reshape(3 * b, -1), free, own


def _skins(blocks: Blocks) -> Iterator[Floats]:
    """(b, 3, G) of each joint, displacements in its bodies' own axes: its angles, their squares, the next joints'."""
    for part in blocks_of(len(blocks.pairs), 3 * 8 * blocks.count * sum(GROUP_COLUMNS[:LOCAL_GROUPS])):
        joints = np.arange(part.start, part.stop)
        for a, own in zip(joints.tolist(), blocks.features(joints), strict=True):
            columns = [one.reshape(blocks.count, 3, -1) for one in (own, *pull_skin(blocks, a))]
            yield np.concatenate(columns, axis=2)


def _own_directions(basis: Floats) -> Floats:
    """(6, F) the columns that have to do with one joint."""
    used: Bools = np.abs(basis).max(axis=0, initial=0.0) > 0
    return basis[:, used]
