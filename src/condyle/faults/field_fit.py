"""A bent field from the joints of a take: what all of them ask for together is the room's, not the figure's.

A point that two bodies share is reported twice, at two places of a bent field, and comes apart by the difference. One
smooth displacement and rotation by place, shared by all sensors, is fitted together with all joints; how large and how
smooth it is, the data tell (marginal likelihood), so that a straight field stays straight. Joints say nothing about the
scale of the room, and a fit would shrink it to make all gaps smaller: the one field that makes everything larger or
smaller is kept out, and of all fields that differ by it the likeliest, the one of the least weights, is left. A rod of
known length carried through the same room tells the scale, and more of the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..estimate.edge_blocks import average_blocks
from ..maths.least_squares import clear_of, eliminate, solve_normal, span_columns
from ..model.field import FieldModel, Rod, bells
from ..model.values import dataclass
from .field_rows import MOST_BLOCKS, Basis, FieldRows, choose_places, extent, fit_scaling, joint_rows

if TYPE_CHECKING:
    from ..estimate.solve import Solution
    from ..maths.arrays import Floats, Ints
    from ..model.take import Take

Equations = tuple["Floats", "Floats", "Floats"]  # a joint's own columns, those of the field, and what they explain
GAUSS_NEWTON_ROUNDS = 3  # of Gauss and Newton
TRIED_LENGTHS = (0.6, 0.85, 1.2, 1.7, 2.4)  # of the field, over the extent of the places visited; tried from the middle
TRIED_TURNS = (0.4, 1.0, 2.5)  # rotation of the field over displacement / length
FIELD_MIN_LOG_RATIO = 10.0  # log likelihood that a field must be worth; below it there is none
AGREED_MIN_SHARE = 0.05  # of a joint's gaps that the field of the others must explain, where no rod vouches for it
BEND_LOOK_BLOCKS = 60  # blocks of the take at least, looked at first: where there is no bend, a part of them tells
BEND_LOOK_SHARE = 0.2  # of all blocks that would be measured, looked at first
# Of the gain wanted, below which that is all. In 111 simulated takes of 15 and 45 s (worlds of benchmarks/field.py) the
# look has 0.31 to 0.89 of the gain of all where there is a bend, and a gain of 8.5 at most where there is none.
BEND_LOOK_MIN_SHARE = 0.1
COARSE_LENGTH, COARSE = 1.2, (24, 0.02)  # length, most centres and what they may leave open, to see if there is a bend
HELD_BACK_PARTS = 4  # of the room, each told by the field of the others
HELD_BACK_MIN_SHARE = 0.4  # of their gaps: below it lengths got worse as often as better, on fields of five families
OPEN_FIELD_FACTOR = 1.5  # of what the field leaves open: real fields are not of the shapes assumed
TRIED_VARIANCES = np.geomspace(
    1e-6, 1e6, 121
)  # of the field's variance over that of the noise, times what tells of it most


@dataclass(frozen=True, eq=False)
class FieldFit:
    """A field, and how much the take asks for it.

    model
    size        [m]    rms displacement per axis that the data expect of such a field
    gain        [-]    log likelihood over that of a straight field
    share       [-]    of the gaps' variance that the field takes away
    pairs       (J, 2)          the joints (child, parent) that it was fitted to
    covariance  (6J, 6J) [m^2]  what not knowing the field and the scale better leaves open of them
    """

    model: FieldModel
    size: float
    gain: float
    share: float
    pairs: Ints
    covariance: Floats

    def reorder_covariance(self, solution: Solution) -> Floats:
        """(6J, 6J) [m^2] the covariance for the joints of another solution, in its order; 0 for joints that are new."""
        size = 6 * len(solution.pairs)
        rows, known = np.zeros(size, np.int64), np.zeros(size, dtype=bool)
        place = {(int(i), int(j)): a for a, (i, j) in enumerate(self.pairs)}
        for a, (i, j) in enumerate(solution.pairs.tolist()):
            for half, pair in ((0, (i, j)), (3, (j, i))):  # a joint may have changed its child for its parent
                if pair in place:
                    order = np.roll(np.arange(6), half)
                    rows[6 * a : 6 * a + 6], known[6 * a : 6 * a + 6] = 6 * place[pair] + order, True
        moved = self.covariance[np.ix_(rows, rows)] * known * known[:, None]
        free = solution.basis @ solution.basis.T  # directions that the motion leaves open have no interval
        return np.asarray(free @ moved @ free)


@dataclass(frozen=True)
class Bend:
    """A bent field at a first look.

    gain    [-]  log likelihood over that of a straight field
    shared  [-]  share of a joint's gap, beyond what follows angles, that the field of all the other joints explains:
                 1 all of it; 0 and below nothing. Skin and loose joints are no two alike, a room is one
    size    [m]  rms displacement per axis
    """

    gain: float
    shared: float
    size: float


def fit_field(take: Take, solution: Solution, rod: Rod | None = None, still: int | None = None) -> FieldFit:
    """The field in which the joints of a take, as fitted in `solution`, come apart least.

    rod    tells the scale; without it, it is that of the smallest field
    still  body that no sensor reports (the room): its joints are left out
    """
    rows = [FieldRows.of_joints(take, solution, still)]
    if rod is not None:
        rows.append(FieldRows.of_rod(rod.take or take, rod))
    places = choose_places(rows)
    if not len(places):
        return FieldFit(FieldModel.none(), 0.0, 0.0, 0.0, solution.pairs, np.zeros((6 * len(solution.pairs),) * 2))
    found = _search(rows, places)
    if found.gain < FIELD_MIN_LOG_RATIO or (
        rod is None
        and (
            measure_bend(take, solution, still).shared < AGREED_MIN_SHARE
            or measure_held_back(rows, found) < HELD_BACK_MIN_SHARE
        )
    ):
        found = _Found.none(found)
    first = found
    for _ in range(GAUSS_NEWTON_ROUNDS - 1 if found.size else 0):
        rows = found.apply(rows)
        found = _solve(rows, found.basis, found.turn_ratio, found.weights)
    rows = found.apply(rows)
    scale, doubt = 1.0, found.scale_doubt
    if rod is not None:
        length = np.linalg.norm(rows[1].c, axis=1)
        scale = float(rod.distance / length.mean())
        doubt = float(np.sqrt(rows[1].variance.max() / max(3 * rows[1].weight[:, 0].sum(), 1)) / length.mean())
    else:  # a field that stretches here and shrinks there may do one of them everywhere
        doubt = max(doubt, float(np.sqrt(np.mean(_local_scale(found, places) ** 2))))
    w, psi = found.weights
    model = FieldModel(found.basis.centres, found.basis.length, found.basis.mix @ w, found.basis.mix @ psi, scale)
    if not found.size:
        model = FieldModel.none(scale)
    covariance = (OPEN_FIELD_FACTOR * scale) ** 2 * (
        found.covariance + doubt**2 * np.outer(solution.unknowns, solution.unknowns)
    )
    return FieldFit(model, found.size, first.gain, first.share, solution.pairs, covariance)


def _local_scale(found: _Found, places: Floats) -> Floats:
    """(P,) by which share the field makes lengths larger around each place."""
    basis, shift = found.basis, found.basis.mix @ found.weights[0]
    height = bells(places, basis.centres, basis.length)
    along = places @ shift.T - (basis.centres * shift).sum(axis=1)
    return np.asarray(-(height * along).sum(axis=1) / (3 * basis.length**2))


def measure_held_back(rows: Sequence[FieldRows], found: _Found) -> float:
    """Share of the gaps in parts of the room, beyond what follows angles, that the field of the other parts explains.

    The room is cut along the way in which the places spread most. 0 and below: what was found there is not the room's.
    """
    places = choose_places(rows)
    middle = places.mean(axis=0)
    way = np.linalg.svd(places - middle, full_matrices=False)[2][0]
    cuts = np.quantile((places - middle) @ way, np.arange(1, HELD_BACK_PARTS) / HELD_BACK_PARTS)
    zero = np.zeros_like(found.weights[0])
    turn = found.turn_ratio / found.basis.length
    equations = []
    for part in rows:
        for a in np.flatnonzero((part.weight > 0).any(axis=0)).tolist():
            table, _, own = joint_rows(part, a, found.basis, turn, (zero, zero))
            where = np.searchsorted(cuts, (0.5 * (part.p_child + part.p_parent)[:, a] - middle) @ way)
            equations.append((table[:, :own], table[:, own:-1], table[:, -1], np.repeat(where, 3)))
    inside = _without(fit_scaling(places, found.basis), equations[0][1].shape[1])
    left, without = 0.0, 0.0
    for k in range(HELD_BACK_PARTS):
        kept, held = (
            [
                (own[rows], X[rows] @ inside, y[rows])
                for own, X, y, where in equations
                for rows in [(where != k) == known]
            ]
            for known in (True, False)
        )
        bases = [span_columns(own) for own, _, _ in kept]
        cleared = [(clear_of(base, X), clear_of(base, y)) for base, (_, X, y) in zip(bases, kept, strict=True)]
        M, h = np.sum([X.T @ X for X, _ in cleared], axis=0), np.sum([X.T @ y for X, y in cleared], axis=0)
        x = likeliest(M, h, sum(float(y @ y) for _, y in cleared), float(sum(len(y) for _, y in cleared)))[4]
        for one, other in zip(kept, held, strict=True):
            left += _square_error(one, other, x)
            without += _square_error(one, other, np.zeros_like(x))
    return 1 - left / max(without, 1e-300)


def _square_error(kept: Equations, held: Equations, x: Floats) -> float:
    """Of equations that were held back, with the weights x of a field and a joint's own unknowns from those kept."""
    own, X, y = kept
    solved = np.linalg.lstsq(own, y - X @ x, rcond=1e-6)[0]
    own, X, y = held
    error = y - X @ x - own @ solved
    return float(error @ error)


def measure_bend(take: Take, solution: Solution, still: int | None = None, least: float = -np.inf) -> Bend:
    """How much gaps follow the place in the room beyond what follows angles, by a coarse field.

    least   gain below which it is not asked what the joints share, and one that a part of the blocks rules out is not
            measured by all of them
    """
    if least > 0:
        count = min(average_blocks(take, solution).count, MOST_BLOCKS)
        some = max(BEND_LOOK_BLOCKS, round(BEND_LOOK_SHARE * count))
        look = _measure_rows(FieldRows.of_joints(take, solution, still, some), np.inf)
        if look.gain < BEND_LOOK_MIN_SHARE * least:
            return look
    return _measure_rows(FieldRows.of_joints(take, solution, still), least)


def _measure_rows(part: FieldRows, least: float) -> Bend:
    """The same of rows."""
    places = choose_places([part])
    if not len(places):
        return Bend(0.0, 0.0, 0.0)
    basis = Basis(places, COARSE_LENGTH * max(extent(places), 1e-9), *COARSE)
    zero = np.zeros((len(basis.centres), 3))
    used = np.flatnonzero((part.weight > 0).any(axis=0)).tolist()
    joints = [_Normal.of(part, a, basis, 1 / basis.length, (zero, zero), own=False) for a in used]
    inside = _without(fit_scaling(places, basis), 6 * len(zero))
    M = inside.T @ np.sum([one.M for one in joints], axis=0) @ inside
    h = inside.T @ np.sum([one.h for one in joints], axis=0)
    square = sum(joint.square for joint in joints)
    ratio, noise, gain, *_ = likeliest(M, h, square, sum(joint.count for joint in joints))
    if ratio <= 0 or gain < least:
        return Bend(gain, 0.0, float(np.sqrt(ratio * noise)))
    left = 0.0
    for joint in joints:
        M_own, h_own = inside.T @ joint.M @ inside, inside.T @ joint.h
        x = solve_normal(M - M_own, h - h_own, loading=1 / ratio)
        left += joint.square - 2 * float(x @ h_own) + float(x @ M_own @ x)
    return Bend(gain, 1 - left / square, float(np.sqrt(ratio * noise)))


@dataclass(frozen=True, eq=False)
class _Found:
    """One round's answer: weights (K, 3) of displacement [m] and rotation [rad]; steps of the unknowns of each set."""

    basis: Basis
    turn_ratio: float
    weights: tuple[Floats, Floats]
    steps: tuple[Floats, ...]
    size: float
    gain: float
    share: float
    covariance: Floats
    scale_doubt: float

    def apply(self, rows: Sequence[FieldRows]) -> list[FieldRows]:
        """The rows with their joints where this fit has them, and the noise that it leaves."""
        field = (self.basis, *self.weights)
        return [part.move(step, field) for part, step in zip(rows, self.steps, strict=True)]

    @classmethod
    def none(cls, other: _Found) -> _Found:
        """The straight field."""
        w = np.zeros_like(other.weights[0])
        steps = tuple(np.zeros_like(step) for step in other.steps)
        return replace(
            other,
            weights=(w, w),
            steps=steps,
            size=0.0,
            share=0.0,
            covariance=np.zeros_like(other.covariance),
            scale_doubt=0.0,
        )


def _search(rows: Sequence[FieldRows], places: Floats) -> _Found:
    """The likeliest length, from the middle outwards as long as it gets better, then the likeliest rotation."""
    reach = max(extent(places), 1e-9)
    tried: dict[int, _Found] = {}

    def at(k: int) -> _Found:
        if k not in tried:
            basis = Basis(places, TRIED_LENGTHS[k] * reach)
            zero = np.zeros((len(basis.centres), 3))
            tried[k] = _solve(rows, basis, 1.0, (zero, zero))
        return tried[k]

    best = len(TRIED_LENGTHS) // 2
    for way in (-1, 1):
        while 0 <= best + way < len(TRIED_LENGTHS) and at(best + way).gain > at(best).gain:
            best += way
    found = at(best)
    if found.gain < FIELD_MIN_LOG_RATIO:
        return found
    zero = np.zeros_like(found.weights[0])
    others = [_solve(rows, found.basis, ratio, (zero, zero)) for ratio in TRIED_TURNS if ratio != found.turn_ratio]
    return max([found, *others], key=lambda one: one.gain)


def _solve(rows: Sequence[FieldRows], basis: Basis, turn_ratio: float, start: tuple[Floats, Floats]) -> _Found:
    """Field and joints from one linearisation at `start`, the field's size by marginal likelihood."""
    K = len(basis.centres)
    turn = turn_ratio / basis.length  # a rotation of this size [rad] for a displacement of one metre
    parts = [[_Normal.of(part, a, basis, turn, start) for a in range(len(part.c))] for part in rows]
    M, h = np.zeros((6 * K, 6 * K)), np.zeros(6 * K)
    for joint in (joint for own in parts for joint in own):
        M += joint.M
        h += joint.h
    square, count = (sum(getattr(joint, name) for own in parts for joint in own) for name in ("square", "count"))
    gauge = fit_scaling(choose_places(rows), basis)
    inside = _without(gauge, 6 * K)
    ratio, noise, gain, share, x, spread = likeliest(inside.T @ M @ inside, inside.T @ h, square, count)
    x, spread = inside @ x, inside @ spread
    size = float(np.sqrt(ratio * noise))
    steps = [
        np.concatenate([free @ (joint.known - joint.D @ x) for free, joint in zip(part.free, own, strict=True)])
        for part, own in zip(rows, parts, strict=True)
    ]
    carried = np.concatenate([free @ joint.D @ spread for free, joint in zip(rows[0].free, parts[0], strict=True)])
    w, psi = x[: 3 * K].reshape(3, K).T, turn * x[3 * K :].reshape(3, K).T
    doubt = size / max(float(np.linalg.norm(gauge)), 1e-300)
    return _Found(basis, turn_ratio, (w, psi), tuple(steps), size, gain, share, carried @ carried.T, doubt)


@dataclass(frozen=True, eq=False)
class _Normal:
    """One joint's part of the normal equations of the field, its own unknowns and its skin eliminated.

    M (6K, 6K), h (6K,), square  of rows that are white noise of unit size but for the field;  count of such rows
    D (F, 6K), known (F,)        the joint's own unknowns: known - D x in a field of weights x
    """

    M: Floats
    h: Floats
    square: float
    count: float
    D: Floats
    known: Floats

    @classmethod
    def of(
        cls, part: FieldRows, a: int, basis: Basis, turn: float, start: tuple[Floats, Floats], own: bool = True
    ) -> _Normal:
        """own   False: the joint's own unknowns are not asked for"""
        table, free, nuisance = joint_rows(part, a, basis, turn, start)
        products = table.T @ table  # all that is needed of them, in one product of a matrix with itself
        solved = np.zeros((free, 1))
        if own:
            ZZ = products[:free, :free]
            loading = 1e-10 * float(np.trace(ZZ)) / max(len(ZZ), 1) + 1e-300
            solved = solve_normal(ZZ, products[:free, nuisance:], loading=loading)
        left, used = eliminate(products, nuisance)
        count = max(3 * int((part.weight[:, a] > 0).sum()) - used, 0) / float(part.stretch[a])
        return cls(left[:-1, :-1], left[:-1, -1], float(left[-1, -1]), count, solved[:, :-1], solved[:, -1])


def likeliest(M: Floats, h: Floats, square: float, count: float) -> tuple[float, float, float, float, Floats, Floats]:
    """Random effects x ~ N(0, s^2 I) in white noise v, from X'X, X'y and y'y: s and v by marginal likelihood.

    Returns s^2 / v, v, the log likelihood over that of no effects, the share of y'y beyond noise that they take away,
    x (F,), and a factor (F, F) of the covariance that x is left with.
    """
    values, vectors = np.linalg.eigh(M)
    values, along = np.maximum(values, 0.0), vectors.T @ h
    top = float(values.max(initial=0.0))
    if top <= 0 or square <= 0 or count <= 1:
        return 0.0, 0.0, 0.0, 0.0, np.zeros(len(h)), np.zeros((len(h), len(h)))
    ratios = TRIED_VARIANCES / top
    left = square - ((along**2) * ratios[:, None] / (1 + ratios[:, None] * values)).sum(axis=1)
    left = np.maximum(left, 1e-12 * square)
    gain = -0.5 * (count * np.log(left / square) + np.log1p(ratios[:, None] * values).sum(axis=1))
    k = int(np.argmax(gain))
    noise, ratio = float(left[k] / count), float(ratios[k])
    shrunk = ratio / (1 + ratio * values)
    x = vectors @ (shrunk * along)
    after = square - 2 * float(x @ h) + float(x @ M @ x)
    return ratio, noise, float(gain[k]), 1 - after / square, x, vectors * np.sqrt(noise * shrunk)


def _without(gauge: Floats, size: int) -> Floats:
    """(size, size - 1) orthonormal directions that leave the scale alone; all of them where nothing tells of it."""
    length = float(np.linalg.norm(gauge))
    if length == 0:
        return np.eye(size)
    first = np.zeros((size, 1))
    first[: len(gauge), 0] = gauge / length
    full, _ = np.linalg.qr(np.concatenate([first, np.eye(size)], axis=1))
    return np.asarray(full[:, 1:size])
