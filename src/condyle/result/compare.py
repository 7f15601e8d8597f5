"""Fits and performers side by side: differences in units of their intervals, and test-retest numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..errors import CondyleError
from ..estimate.lengths import measure_lengths, profile_lengths
from ..faults.files import differ_places
from ..maths.arrays import Floats
from ..maths.robust import Z95
from ..model.profile import Edge, LengthKey, Profile, name_edge
from ..model.skeleton import Skeleton
from ..model.values import dataclass
from .profile import find_mountings, is_mixed, list_fits, share_frames


@dataclass(frozen=True)
class LengthRow:
    """One length in all of them: [m], None where one does not tell it, with the half-width of its 95 % interval.

    axes   those of its joints that count as an axis, across which it is measured, and not as a centre: a length with
           other axes is another one
    apart  [-] largest difference of two of them over the half-width of its own interval; above 1 they disagree
    """

    body: str
    joints: tuple[Edge, Edge]
    length: tuple[float | None, ...]
    half_width: tuple[float | None, ...]
    apart: float | None
    axes: tuple[Edge, ...] = ()


@dataclass(frozen=True)
class CentreRow:
    """Where a joint is on one of its sensors, in the two fits of one mounting in which it differs most: how far [m],
    and over the half-width of that distance's 95 % interval.
    """

    joint: Edge
    body: str
    fits: tuple[int, int]
    distance: float
    apart: float


@dataclass(frozen=True)
class Agreement:
    """Test-retest numbers over the lengths that all of them tell.

    sem    [m] standard error of measurement: of one fit, from the scatter of a length over fits
    icc    [-] intraclass correlation (2,1), of absolute agreement, with lengths as targets; None for fewer than two
    bias   [m] mean of second less first, over pairs of fits;  limits [m] within which 95 % of differences are
    """

    lengths: int
    sem: float
    icc: float | None
    bias: float
    limits: tuple[float, float]


@dataclass(frozen=True)
class ComparedFigures:
    """Figures side by side.

    same_tree  whether all have the same edges;  edges: those that not all of them have
    mountings  number of the mounting of each
    shared     pairs of them whose lengths come from one fit, one recording, or that others told as well, so that they
               agree by themselves: no test-retest then
    """

    names: tuple[str, ...]
    same_tree: bool
    edges: tuple[Edge, ...]
    mountings: tuple[int, ...]
    lengths: tuple[LengthRow, ...]
    centres: tuple[CentreRow, ...]
    agreement: Agreement | None
    shared: tuple[tuple[int, int], ...] = ()


def compare_figures(figures: Sequence[Skeleton | Profile], names: Sequence[str]) -> ComparedFigures:
    """Two or more fits or profiles side by side."""
    if len(figures) < 2:
        raise CondyleError("one figure alone has nothing to be compared with; name two or more", code="bad-call")
    trees = [{name_edge(joint.child, joint.parent) for joint in one.joints} for one in figures]
    every = {edge for tree in trees for edge in tree}
    differ = {edge for edge in every if not all(edge in tree for tree in trees)}
    rows = _compare_lengths(figures)
    shared = tuple((a, b) for a, b in combinations(range(len(figures)), 2) if _share_lengths(figures[a], figures[b]))
    told = np.array([row.length for row in rows if None not in row.length], dtype=np.float64)
    return ComparedFigures(
        tuple(names),
        not differ,
        tuple(sorted(differ)),
        tuple(find_mountings(figures)),
        rows,
        _compare_centres(figures),
        None if shared else measure_agreement(told),
        shared,
    )


def _share_lengths(a: Skeleton | Profile, b: Skeleton | Profile) -> bool:
    mixed = any(isinstance(one, Skeleton) and is_mixed(one) for one in (a, b))  # with which others is not known
    return mixed or bool(set(list_fits(a)) & set(list_fits(b))) or share_frames(a, b)


def _compare_lengths(figures: Sequence[Skeleton | Profile]) -> tuple[LengthRow, ...]:
    told = [measure_lengths(one) if isinstance(one, Skeleton) else profile_lengths(one) for one in figures]
    keys: dict[LengthKey, None] = dict.fromkeys(key for one in told for key in one.keys)
    found = []
    for key in keys:
        parts = [one.part([key]) if key in one.keys else None for one in told]
        cells = [None if one is None else (float(one.value[0]), float(one.sd[0])) for one in parts]
        pairs = combinations([cell for cell in cells if cell is not None], 2)
        apart = [abs(a[0] - b[0]) / (Z95 * float(np.hypot(a[1], b[1]))) for a, b in pairs]
        length = tuple(None if cell is None else float(cell[0]) for cell in cells)
        width = tuple(None if cell is None else Z95 * float(cell[1]) for cell in cells)
        found.append(LengthRow(key[0], key[1], length, width, float(max(apart)) if apart else None, key[2]))
    return tuple(sorted(found, key=lambda row: -(row.apart or 0.0)))


def _compare_centres(figures: Sequence[Skeleton | Profile]) -> tuple[CentreRow, ...]:
    """Places of joints on sensors that sit where they sat; the farthest apart first."""
    mountings, worst = find_mountings(figures), dict[tuple[Edge, str], CentreRow]()
    for a, b in combinations(range(len(figures)), 2):
        one, other = figures[a], figures[b]
        if isinstance(one, Profile) or isinstance(other, Profile) or mountings[a] != mountings[b]:
            continue
        for edge, body, distance, chi2 in differ_places(one.joints, other.joints):
            row = CentreRow(edge, body, (a, b), distance, float(np.sqrt(chi2)) / Z95)
            if (edge, body) not in worst or worst[edge, body].apart < row.apart:
                worst[edge, body] = row
    return tuple(sorted(worst.values(), key=lambda row: -row.apart))


def measure_agreement(lengths: Floats) -> Agreement | None:
    """Test-retest numbers of lengths (L, fits) [m]; None where no length is in all fits."""
    if lengths.ndim != 2 or not len(lengths):
        return None
    n, k = lengths.shape
    mean = lengths.mean(axis=1, keepdims=True)
    sem = float(np.sqrt(((lengths - mean) ** 2).sum() / (n * (k - 1))))
    icc = None
    if n > 1:
        rows = k * float(((mean - lengths.mean()) ** 2).sum()) / (n - 1)
        columns = n * float(((lengths.mean(axis=0) - lengths.mean()) ** 2).sum()) / (k - 1)
        left = lengths - mean - lengths.mean(axis=0) + lengths.mean()
        rest = float((left**2).sum()) / ((n - 1) * (k - 1))
        whole = rows + (k - 1) * rest + k * (columns - rest) / n
        icc = (rows - rest) / whole if whole > 0 else None
    apart = np.concatenate([lengths[:, b] - lengths[:, a] for a, b in combinations(range(k), 2)])
    bias, spread = float(apart.mean()), float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    return Agreement(n, sem, icc, bias, (bias - Z95 * spread, bias + Z95 * spread))
