"""Which bodies are connected: the paper's spanning tree (section 3.3), then edge swaps that raise the likelihood.

The paper's tree is the null hypothesis: a swap is made only where its gain exceeds what chance does to it, as told by
leaving out one block of time after the other. In short takes the log-determinant is noise, and people differ from
simulation by what repeats in every block, not by what is white.

For any tree the map from independent relative positions to its residuals has unit Jacobian, so two trees compare by
the log-determinant of the covariance of their stacked residuals alone. A wobble that two joints share (a sensor pack
that moves with both thighs) is one small direction of that covariance, where a sum of residuals counts it twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, centre_positions, distinct, norm_rows
from ..maths.graph import sides
from ..maths.least_squares import SYMMETRIC_ENTRIES, WELL_CONDITIONED_MIN, is_well_conditioned
from ..maths.robust import median
from ..maths.series import correlated_square_sum, count_frames
from ..maths.spool import blocks_of
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import RESIDUAL_FLOOR_SHARE, PairFits, fit_pairs, gap_blocks, gaps
from ..pairs.noise import Noise
from ..pairs.sums import PairSums
from .solve import solve_together

SEARCH_FRAMES = 2000  # frames the search looks at, evenly spread over the take
NEAREST_PARTNERS = 12  # candidate partners per body above ALL_PAIRS_MAX_BODIES bodies
ALL_PAIRS_MAX_BODIES = 32  # bodies up to which every pair is a candidate
MARGIN_MAX_LOG = 700.0  # the exponential of more is no number
LEAST_FLOOR_M2 = 1e-100  # m^2, where all bodies are at one place: the inverse of it is a number
EXCHANGE_MIN_GAIN = 0.01  # fall of the log-determinant that makes a swap worth it: 0.2 % of one residual
EXCHANGE_MAX_COUNT = 200  # swaps at most in one search
# Standard errors by which a swap must beat the tree it leaves, of JACKKNIFE_FEWEST blocks; the more blocks, the fewer.
# With data/more and data/hard varied, no names: at 2.2 and 5 blocks swaps that lose edges of takes cut in three are
# refused, at 1.4 and 13 one that squats need is not.
EXCHANGE_PROOF_SD = 2.2
JACKKNIFE_BLOCK_S = 1.0  # s of a block of frames that is left out
JACKKNIFE_FEWEST, JACKKNIFE_MOST = 5, 20  # blocks at least and at most
TRIANGLE_MIN_RATIO = 1e-4  # of the diagonal entries of a triangle that is inverted as it is; rounding is 1e-8 of them
LEFT_OUT_BYTES = 500_000  # of products that are looked at together: more would leave a processor's cache
RIVAL_MAX_MARGIN = 1.6  # margin below which a rival gets its trial
TRIAL_FRAMES = 700  # frames that a trial looks at, evenly spread over the take
TRIAL_ROUNDS = 6  # rounds of search and trials at most
TRIALS_PER_ROUND = 24  # trials at most in one round
TRIAL_SWEEPS = 4  # sweeps of solving all joints together in a trial
# {(edge, pair): log factor by which the gap of all joints solved together grows with the pair in the edge's place, its
# standard error}
Trials = dict[tuple[int, int], tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Tree:
    """Edges as rows of a table of pairs, with how much worse the best alternative to each would be.

    edges      (J,)  index into the pairs
    margin     (J,)  factor by which the residual would grow with the best other edge in its place; inf if none
    runner_up  (J,)  index of that pair, -1 if none
    """

    edges: Ints
    margin: Floats
    runner_up: Ints

    def at(self, chosen: Bools) -> Tree:
        """The edges where `chosen` (J,) is True."""
        return Tree(self.edges[chosen], self.margin[chosen], self.runner_up[chosen])


def no_tree() -> Tree:
    return Tree(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


def nearest_pairs(fits: PairFits, bodies: int, keep: Ints) -> Ints:
    """Indices of candidate pairs: all for few bodies, else each body's best partners and the pairs in `keep`."""
    usable = np.isfinite(fits.residual)
    if bodies <= ALL_PAIRS_MAX_BODIES:
        usable[keep] = True
        return np.flatnonzero(usable)
    weight = np.full((bodies, bodies), np.inf)
    i, j = fits.pairs.T
    weight[i, j] = weight[j, i] = np.where(np.isfinite(fits.residual), fits.residual, np.inf)
    bar = np.partition(weight, NEAREST_PARTNERS, axis=1)[:, NEAREST_PARTNERS]
    near = (weight[i, j] <= bar[i]) | (weight[i, j] <= bar[j])
    near &= usable
    near[keep] = True
    return np.flatnonzero(near)


def swap_edges(
    rows: ResidualRows,
    start: Ints,
    fixed: Sequence[int] = (),
    handicap: Floats | None = None,
    search: bool = True,
) -> tuple[Tree, Floats]:
    """The tree after exchanging edges of `start` while the log-determinant of the residuals' covariance falls.

    With it (J, P) the log margin of every pair over every edge, inf where a pair cannot stand in for the edge.

    fixed     pairs that stay
    handicap  (P,) log of the factor by which a pair's residual counts as larger than it is
    search    False: keep the tree, tell the margins only
    """
    if not len(start):
        return no_tree(), np.full((0, rows.all_pairs), np.inf)
    candidates = rows.candidates
    tree = rows.places(start)
    held = np.isin(start, list(fixed))
    extra = np.zeros(len(candidates)) if handicap is None else 6 * handicap[candidates]

    def gains() -> Floats:
        gain = rows.gains(tree) + extra - extra[tree][:, None]
        gain[~rows.find_crossing(tree)] = np.inf
        return gain

    gain = gains()
    refused = np.zeros(gain.shape, dtype=bool)
    for _ in range(EXCHANGE_MAX_COUNT if search else 0):
        free = np.where(held[:, None] | refused, np.inf, gain)
        a, b = np.unravel_index(np.argmin(free), free.shape)
        if not free[a, b] < -EXCHANGE_MIN_GAIN:
            break
        if -free[a, b] < rows.blocks.least_gain(rows.leave_out(tree, int(a), int(b))):
            refused[a, b] = True
            continue
        tree[a] = int(b)
        refused[:] = False
        gain = gains()
    rivals = np.full((len(tree), rows.all_pairs), np.inf)
    rivals[:, candidates] = gain / 6
    return _with_margin(candidates[tree], gain / 6, candidates), rivals


def spanning_margins(bodies: int, fits: PairFits, edges: Ints) -> Tree:
    """The paper's tree with the factor to the best edge that could replace each of its edges."""
    i, j = fits.pairs.T
    weight = np.full((bodies, bodies), np.inf)
    row = np.full((bodies, bodies), -1, dtype=np.int64)
    usable = np.isfinite(fits.residual)
    usable[edges] = False
    weight[i[usable], j[usable]] = np.log(np.maximum(fits.residual[usable], 1e-300))
    row[i, j] = np.arange(len(fits.pairs))
    weight, row = np.minimum(weight, weight.T), np.maximum(row, row.T)
    margin, runner = np.full(len(edges), np.inf), np.full(len(edges), -1, dtype=np.int64)
    for k, side in enumerate(sides(bodies, fits.pairs[edges])):
        there, here = np.flatnonzero(side == 1), np.flatnonzero(side == 0)
        block = weight[np.ix_(there, here)]
        if block.size and np.isfinite(block.min()):
            a, b = np.unravel_index(np.argmin(block), block.shape)
            own = np.log(max(float(fits.residual[edges[k]]), 1e-300))
            margin[k], runner[k] = np.exp(min(block[a, b] - own, MARGIN_MAX_LOG)), row[there[a], here[b]]
    return Tree(edges, margin, runner)


def _with_margin(edges: Ints, log_factor: Floats, candidates: Ints) -> Tree:
    if not log_factor.size:
        return Tree(edges, np.full(len(edges), np.inf), np.full(len(edges), -1))
    best = np.argmin(log_factor, axis=1)
    least = log_factor[np.arange(len(edges)), best]
    margin = np.exp(np.minimum(least, MARGIN_MAX_LOG))
    return Tree(edges, np.where(np.isinf(least), np.inf, margin), np.where(np.isinf(least), -1, candidates[best]))


@dataclass(frozen=True, eq=False)
class TimeBlocks:
    """Stretches of time that are left out one after the other: (n,) the number of the block of each frame."""

    number: Ints
    count: int

    @classmethod
    def of(cls, frames: int, seconds: float) -> TimeBlocks:
        count = max(count_frames(seconds / JACKKNIFE_BLOCK_S, JACKKNIFE_MOST), JACKKNIFE_FEWEST)
        return cls(np.arange(frames) * count // max(frames, 1), count)

    def rows(self) -> list[slice]:
        """The frames of each block."""
        return [slice(*np.searchsorted(self.number, (k, k + 1))) for k in range(self.count)]

    def logdets(self, gap: Floats, both: Bools, floor: float) -> tuple[float, Floats]:
        """Log-determinant of the covariance of gaps (n, J, 3), 0 where not `both` (n, J) are seen: of all frames, and
        (B,) without each block.
        """
        flat = gap.reshape(len(gap), -1)
        rows = self.rows()
        grams = np.stack([flat[one].T @ flat[one] for one in rows])
        seen = np.stack([both[one].sum(axis=0) for one in rows]).astype(np.float64)
        every, left = grams.sum(axis=0), seen.sum(axis=0)
        gram, count = np.concatenate([every[None], every - grams]), np.concatenate([left[None], left - seen])
        scale = np.repeat(1 / np.sqrt(np.maximum(count, 1)), 3, axis=1)
        floor = max(floor, LEAST_FLOOR_M2)
        C = gram * scale[:, None] * scale[..., None] + floor * np.eye(flat.shape[1])
        try:
            value = 2 * np.log(np.diagonal(np.linalg.cholesky(C), axis1=1, axis2=2)).sum(axis=1)
        except np.linalg.LinAlgError:
            value = np.log(np.maximum(np.linalg.eigvalsh(C), floor)).sum(axis=1)
        return float(value[0]), value[1:]

    def least_gain(self, without: Floats) -> float:
        """What a difference must exceed to be more than chance, from its values (B,) without each block: neighbours may
        go along, and in few blocks people make one movement or two, which tells its own error badly.
        """
        return EXCHANGE_PROOF_SD * float(np.sqrt(JACKKNIFE_FEWEST / self.count) * self.error(without))

    def error(self, without: Floats) -> Floats:
        """Jackknife standard error of values (...) that are (B, ...) without each block; inf where one is no number."""
        known = np.isfinite(without).all(axis=0)
        square = correlated_square_sum(np.where(known, without, 0.0)) * (self.count - 1) / self.count
        return np.asarray(np.where(known, np.sqrt(square), np.inf))


class ResidualRows:
    """Residual rows of candidate pairs, and what exchanging one edge for another does to the log-determinant.

    candidates  (C,) indices of the pairs whose rows these are; `pairs` (C, 2) their bodies, of all_pairs and bodies
    gap         (3, n, C) [m] 0 where one of the two is not seen: both (n, C)
    """

    def __init__(self, take: Take, fits: PairFits, keep: Ints, frames: int = SEARCH_FRAMES) -> None:
        part, _ = take.thin(frames)
        self.bodies, self.all_pairs = take.bodies, len(fits.pairs)
        self.candidates = nearest_pairs(fits, take.bodies, keep)
        self.pairs = fits.pairs[self.candidates]
        joints = fits.p_child_joint[self.candidates], fits.p_parent_joint[self.candidates]
        self.both = part.seen[:, self.pairs[:, 0]] & part.seen[:, self.pairs[:, 1]]
        self._flat = np.empty((part.frames, 3 * len(self.pairs)))  # (n, 3 C) the gaps, axis by axis
        self.gap = np.swapaxes(self._flat.reshape(part.frames, 3, -1), 0, 1)
        for rows, gap in gap_blocks(part, self.pairs, *joints):
            self.gap[:, rows] = gap
        if not self.both.all():
            self.gap[:, ~self.both] = 0.0
        apart = norm_rows(centre_positions(part.p_world_body, part.seen))[part.seen]
        # most may be at one place, or none be seen in these frames
        size = float(median(apart)) or float(np.sqrt(np.mean(apart**2))) if len(apart) else 0.0
        self.floor = max((RESIDUAL_FLOOR_SHARE * size) ** 2, LEAST_FLOOR_M2)
        self.blocks = TimeBlocks.of(len(self.both), take.seconds)
        self._last: tuple[list[int], Floats, Floats] | None = None  # a tree, products of its gaps with all, and gains

    def places(self, edges: Ints) -> list[int]:
        """Where among the candidates these pairs are."""
        return [int(np.flatnonzero(self.candidates == k)[0]) for k in edges]

    def find_crossing(self, tree: Sequence[int]) -> Bools:
        """(J, C) whether a pair would join the two parts that the tree falls into without its edge."""
        side = sides(self.bodies, self.pairs[list(tree)])
        one, other = side[:, self.pairs[:, 0]], side[:, self.pairs[:, 1]]
        across = (one != other) & (one >= 0) & (other >= 0)  # pairs between trees of a forest replace nothing
        across[np.arange(len(tree)), list(tree)] = False
        return np.asarray(across)

    def leave_out(self, tree: list[int], a: int, b: int) -> Floats:
        """(B,) change of the log-determinant when edge a gives way to pair b, without each block of time."""
        new = [*tree[:a], b, *tree[a + 1 :]]
        return self._without_blocks(new) - self._without_blocks(tree)

    def _without_blocks(self, tree: list[int]) -> Floats:
        gap = np.moveaxis(self.gap[..., tree], 0, -1)
        return self.blocks.logdets(gap, self.both[:, tree], self.floor)[1]

    def gains(self, tree: list[int]) -> Floats:
        """(J, C) change of the log-determinant when edge a gives way to pair b; blind to whether that is a tree. Those
        of the tree asked for last are kept: what tells how sure it is asks again.
        """
        if self._last is None or self._last[0] != tree:
            own, count = self._own
            cross = self._flat[:, self._columns(tree)].T @ self._flat
            self._last = list(tree), cross, self._gains(tree, cross, own.sum(axis=0), count.sum(axis=0))
        return self._last[2].copy()

    def gains_without_blocks(self, tree: list[int], columns: Ints) -> Floats:
        """(B, J, K) the same of some of the pairs (K,), without each block of time."""
        used = distinct(np.append(columns, tree))
        part, place = self._part(used), np.searchsorted(used, tree).tolist()
        wanted, (own, count) = np.searchsorted(used, columns), part._own
        flat, near = part._flat, part._flat[:, part._columns(place)]
        whole = self._last[1][:, self._columns(used)] if self._last and self._last[0] == tree else near.T @ flat
        every, seen = own.sum(axis=0), count.sum(axis=0)
        found, rows = [], self.blocks.rows()
        for some in blocks_of(len(rows), whole.nbytes, LEFT_OUT_BYTES):
            cross = np.stack([whole - near[one].T @ flat[one] for one in rows[some]])
            found.append(part._gains(place, cross, every - own[some], seen - count[some])[..., wanted])
        return np.concatenate(found)

    def _part(self, used: Ints) -> ResidualRows:
        """The rows of some of the candidates."""
        if len(used) == len(self.candidates):
            return self
        part = copy(self)
        part.candidates, part.pairs, part.both = self.candidates[used], self.pairs[used], self.both[:, used]
        own, count = self._own
        part._flat = self._flat[:, self._columns(used)]
        part.__dict__["_own"] = own[:, used], count[:, used]
        part.gap = np.swapaxes(part._flat.reshape(len(part._flat), 3, -1), 0, 1)
        return part

    def mean_squares(self) -> Floats:
        """(1 + B, C) [m^2] mean square gap of each pair, over all frames and without each block of time."""
        own, count = self._own
        square = own[..., _SQUARES].sum(axis=2)
        total, seen = (np.concatenate([[0 * one[0]], one]) for one in (square, count))
        return np.asarray((total.sum(axis=0) - total) / np.maximum(seen.sum(axis=0) - seen, 1) + self.floor)

    @cached_property
    def _own(self) -> tuple[Floats, Ints]:
        """(B, C, 6) products of each pair's gap with itself in each block of time, and (B, C) its frames: they add."""
        rows = self.blocks.rows()
        own = np.empty((len(rows), self.gap.shape[2], 6))
        for one, out in zip(rows, own, strict=True):
            for k, (a, b) in enumerate(SYMMETRIC_ENTRIES):
                np.einsum("nc,nc->c", self.gap[a, one], self.gap[b, one], out=out[:, k])
        return own, np.stack([self.both[one].sum(axis=0) for one in rows])

    def _columns(self, tree: Sequence[int] | Ints) -> Ints:
        """(3 J,) where the tree's gaps are among them."""
        return np.asarray((np.array(tree) + len(self.candidates) * np.arange(3)[:, None]).ravel())

    def _gains(self, tree: list[int], cross: Floats, own: Floats, count: Ints) -> Floats:
        """(..., J, C) from products (..., 3 J, 3 C), (..., C, 6) and frames (..., C)."""
        J, C, batch = len(tree), count.shape[-1], count.shape[:-1]
        # Counts of single pairs, not of pairs of pairs: those would make the covariance indefinite.
        share = 1 / np.sqrt(np.maximum(count, 1))
        wide = np.tile(share, 3)
        columns = self._columns(tree)
        flat = cross * wide[..., columns, None] * wide[..., None, :]
        K = _inverse(flat[..., columns] + self.floor * np.eye(3 * J))
        W = K @ flat
        F, V = flat.reshape(*batch, 3 * J, 3, C), W.reshape(*batch, 3 * J, 3, C)
        left = np.swapaxes(own * (share**2)[..., None], -1, -2)  # (..., 6, C)
        for k, (a, b) in enumerate(SYMMETRIC_ENTRIES):
            left[..., k, :] -= np.einsum("...jc,...jc->...c", F[..., a, :], V[..., b, :])
        left[..., _SQUARES, :] += self.floor
        # Each edge's own rows of W are its three axes, J apart.
        inner = np.moveaxis(np.diagonal(K.reshape(*batch, 3, J, 3, J), axis1=-3, axis2=-1), -1, -3)
        root, volume = _root_of_inverse(0.5 * (inner + np.swapaxes(inner, -1, -2)))
        rows = np.moveaxis(W.reshape(*batch, 3, J, 3 * C), -3, -2)
        back = (root @ rows).reshape(*batch, J, 3, 3, C)
        schur = [
            left[..., None, k, :] + np.einsum("...rc,...rc->...c", back[..., a, :], back[..., b, :])
            for k, (a, b) in enumerate(SYMMETRIC_ENTRIES)
        ]
        return np.asarray(_logdet(schur) - volume[..., None])


_SQUARES = [0, 3, 5]  # of the entries of a symmetric matrix that are kept, those on the diagonal


def _inverse(C: Floats) -> Floats:
    """Inverses of covariances (..., F, F); eigenvalues that pairwise counts made negative are lifted to rounding."""
    # Residuals of micrometres and of decimetres stand side by side.
    scale = 1 / np.sqrt(np.maximum(np.diagonal(C, axis1=-2, axis2=-1), 1e-300))
    both = scale[..., None] * scale[..., None, :]
    unit = 0.5 * (C + np.swapaxes(C, -1, -2)) * both
    if is_well_conditioned(unit):
        return np.asarray(np.linalg.inv(unit) * both)
    if C.ndim > 2:
        return np.stack([_inverse(one) for one in C])
    value, vector = np.linalg.eigh(unit)
    value = np.maximum(value, WELL_CONDITIONED_MIN * value[-1])
    return np.asarray((vector / value) @ vector.T * both)


def _root_of_inverse(S: Floats) -> tuple[Floats, Floats]:
    """(..., 3, 3) r with r'r the inverse of symmetric S (..., 3, 3), and (...) the log-determinant of that; none of its
    eigenvalues below rounding.
    """
    try:
        lower = np.linalg.cholesky(S)
        size = np.diagonal(lower, axis1=-2, axis2=-1)
        if (size.min(axis=-1) > TRIANGLE_MIN_RATIO * size.max(axis=-1)).all():
            return np.linalg.inv(lower), -2 * np.log(size).sum(axis=-1)
    except np.linalg.LinAlgError:
        pass
    value, axes = np.linalg.eigh(S)
    value = 1 / np.maximum(value, 1e-300)
    value = np.maximum(value, 1e-14 * value[..., :1] + 1e-300)
    return np.sqrt(value)[..., None] * np.swapaxes(axes, -1, -2), np.log(value).sum(axis=-1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # near singular sums of poses that are no motion
def _logdet(entries: Sequence[Floats]) -> Floats:
    """(...) log-determinants of symmetric 3 x 3 matrices, given as six entries; none below rounding."""
    a, b, c, d, e, f = entries
    value = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c)
    flat = ~(value > 1e-9 * (a + d + f) ** 3)  # nearly singular: what is left of it is rounding
    out = np.log(np.where(flat, 1.0, value))
    if flat.any():
        one = [part[flat] for part in entries]
        S = np.stack([one[0], one[1], one[2], one[1], one[3], one[4], one[2], one[4], one[5]], axis=-1)
        S = np.nan_to_num(S, posinf=1e150, neginf=-1e150)  # of a joint that nothing at all holds
        values = np.linalg.eigvalsh(S.reshape(-1, 3, 3))
        out[flat] = np.log(np.maximum(values, 1e-14 * np.abs(values[:, -1:]) + 1e-300)).sum(axis=-1)
    return out


def try_rivals(
    take: Take,
    sums: PairSums,
    fits: PairFits,
    tree: Tree,
    rivals: Floats,
    held: Sequence[int],
    handicap: Floats,
) -> tuple[Tree, bool, Trials]:
    """The tree after every close rival was tried, its margins from the trials, whether an edge changed, and the trials.

    The search compares residuals of joints fitted pair by pair. Where sensors wobble together the joints of a tree fit
    far better when they are solved together, so a rival that comes close is given that chance too.

    rivals   (J, P) log margin of every pair against every edge, inf where it cannot stand in
    """
    close = [
        (float(rivals[a, b]), int(a), int(b))
        for a, b in zip(*np.nonzero(rivals < np.log(RIVAL_MAX_MARGIN)), strict=True)
    ]
    close = [entry for entry in sorted(close) if tree.edges[entry[1]] not in held][:TRIALS_PER_ROUND]
    trials: Trials = {}
    if not close:
        return tree, False, trials
    part, _ = take.thin(TRIAL_FRAMES)
    blocks = TimeBlocks.of(part.frames, take.seconds)
    base, base_without = _solve_logdet(part, sums, fits, tree.edges, blocks)
    base += 6 * handicap[tree.edges].sum()
    edges, margin, runner = tree.edges.copy(), tree.margin.copy(), tree.runner_up.copy()
    best, winner = 0.0, None
    tried = np.full(len(edges), np.inf)
    for _, a, b in close:
        other = edges.copy()
        other[a] = b
        value, without = _solve_logdet(part, sums, fits, other, blocks)
        gap = (value + 6 * handicap[other].sum() - base) / 6
        trials[int(edges[a]), b] = gap, float(blocks.error(without - base_without)) / 6
        if gap < tried[a]:
            tried[a], margin[a], runner[a] = gap, np.exp(min(gap, MARGIN_MAX_LOG)), b
        if gap < best - 1e-3 and -6 * gap > blocks.least_gain(without - base_without):
            best, winner = gap, (a, b)
    if winner is not None:
        edges[winner[0]] = winner[1]
        return Tree(edges, margin, runner), True, {}
    return Tree(edges, margin, runner), False, trials


def _solve_logdet(take: Take, sums: PairSums, fits: PairFits, edges: Ints, blocks: TimeBlocks) -> tuple[float, Floats]:
    """Log-determinant of the stacked gaps' covariance with the joints solved together, and without each block."""
    pairs = fits.pairs[edges]
    start = fit_pairs(sums, pairs)
    solved = solve_together(
        take,
        start,
        Noise.none(take.bodies),
        held=~start.determined,
        robust=False,
        correct=False,
        sweeps=TRIAL_SWEEPS,
        shared=True,
    )
    gap = gaps(take, pairs, solved.p_child_joint, solved.p_parent_joint)
    both = np.asarray(np.isfinite(gap).all(axis=2))
    size = np.sqrt(median(sums.dd[pairs[:, 0], pairs[:, 1]] / np.maximum(start.frames, 1)))
    return blocks.logdets(np.where(both[..., None], gap, 0.0), both, float(RESIDUAL_FLOOR_SHARE * size) ** 2)
