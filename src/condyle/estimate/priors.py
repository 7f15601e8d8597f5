"""What people are like as a prior on lengths: left and right alike, and human proportions. Its weight is learned.

The spread that is assumed is the one that the lengths at hand tell: people whose sides differ by a centimetre are not
made alike within a millimetre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..maths.arrays import Floats
from ..model.anatomy import Part, Segment, find_segments
from ..model.profile import LengthKey, name_length
from .lengths import Lengths

SIDE_SPREADS_M = np.geomspace(0.002, 0.05, 25)  # m, standard deviations of a difference between sides that are tried
SHARE_SPREADS = np.geomspace(0.04, 0.3, 25)  # of a length, by which it may differ from its share of the stature
# Shares of the stature: Drillis and Contini 1966, as Winter's Biomechanics of Human Movement has them.
STATURE_SHARES: dict[Part, float] = {"thigh": 0.245, "shank": 0.246, "upper_arm": 0.186, "forearm": 0.146}


@dataclass(frozen=True, eq=False)
class Learned:
    """Lengths under a prior, the spread of it that was learned, and how many lengths or pairs it was learned from."""

    lengths: Lengths
    spread: float
    count: int


def find_twins(
    keys: Sequence[LengthKey], bodies: Sequence[str], edges: Sequence[tuple[str, str]]
) -> list[tuple[int, int]]:
    """Numbers of the lengths on the left and right side that mirror each other."""
    segments = find_segments(bodies, edges)
    named = {segment: body for body, segment in segments.items()}

    def turn(body: str) -> str | None:
        segment = segments.get(body)
        if segment is None:
            return None
        return named.get(Segment(segment.part, {"l": "r", "r": "l", "": ""}[segment.side]))  # type: ignore[arg-type]

    found = []
    for k, (body, (one, other)) in enumerate(keys):
        turned = [turn(name) for name in (body, *one, *other)]
        if None in turned:
            continue
        names = [str(name) for name in turned]
        mirrored = name_length(names[0], (names[1], names[2]), (names[3], names[4]))
        if mirrored in keys and k < keys.index(mirrored):
            found.append((k, keys.index(mirrored)))
    return found


def make_sides_alike(lengths: Lengths, twins: Sequence[tuple[int, int]]) -> Learned:
    """The lengths with left and right drawn together as far as their differences say that they are alike."""
    H = np.zeros((len(twins), len(lengths.keys)))
    for row, (left, right) in zip(H, twins, strict=True):
        row[left], row[right] = 1.0, -1.0
    apart, S = H @ lengths.value, H @ lengths.covariance @ H.T
    likely = [_log_density(apart, S + spread**2 * np.eye(len(H))) for spread in SIDE_SPREADS_M]
    spread = _average(SIDE_SPREADS_M, likely)
    return Learned(_condition(lengths, H, -apart, spread**2 * np.eye(len(H))), spread, len(twins))


def find_shares(keys: Sequence[LengthKey], bodies: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[int, float]:
    """{number of a length: its share of the stature} of the limbs that have one length."""
    segments = find_segments(bodies, edges)
    on: dict[str, list[int]] = {}
    for k, (body, _) in enumerate(keys):
        on.setdefault(body, []).append(k)
    return {
        mine[0]: STATURE_SHARES[segments[body].part]
        for body, mine in on.items()
        if len(mine) == 1 and body in segments and segments[body].part in STATURE_SHARES
    }


def make_proportioned(lengths: Lengths, shares: dict[int, float]) -> Learned:
    """The lengths drawn towards their shares of one stature, as far as they keep to them."""
    rows = list(shares)
    q = np.array([shares[k] for k in rows])
    x, V = lengths.value[rows], lengths.covariance[np.ix_(rows, rows)]

    def size(spread: float) -> tuple[float, float, Floats]:
        """The stature [m], its variance, and the covariance of lengths that keep to it within `spread`."""
        S = V + np.diag((spread * x) ** 2)
        weight = np.linalg.solve(S, q)
        return float(weight @ x / (weight @ q)), 1 / float(weight @ q), S

    sizes = [size(float(one)) for one in SHARE_SPREADS]
    spread = _average(SHARE_SPREADS, [_log_density(x - stature * q, S) for stature, _, S in sizes])
    stature, variance, _ = size(spread)
    H = np.zeros((len(rows), len(lengths.keys)))
    H[np.arange(len(rows)), rows] = 1.0
    apart = stature * q - x
    doubt = np.diag((spread * stature * q) ** 2) + variance * np.outer(q, q)
    drawn = _condition(lengths, H, apart, doubt).value
    # People keep to no table: what it moved a length by may be wrong, and no interval gets narrower by it.
    wider = lengths.covariance + np.diag((drawn - lengths.value) ** 2)
    return Learned(Lengths(lengths.keys, drawn, wider), float(spread), len(rows))


def _condition(lengths: Lengths, H: Floats, apart: Floats, doubt: Floats) -> Lengths:
    """Lengths x given that H x is `apart` from what it is, with covariance `doubt`."""
    V = lengths.covariance
    gain = V @ H.T @ np.linalg.inv(H @ V @ H.T + doubt)
    left = V - gain @ H @ V
    return Lengths(lengths.keys, lengths.value + gain @ apart, 0.5 * (left + left.T))


def _average(spreads: Floats, likely: Sequence[float]) -> float:
    """The mean of their logarithms, each weighted by its likelihood: few lengths leave many spreads likely."""
    weight = np.exp(np.asarray(likely) - max(likely))
    return float(np.exp(weight @ np.log(spreads) / weight.sum()))


def _log_density(x: Floats, S: Floats) -> float:
    return -0.5 * float(np.linalg.slogdet(S)[1] + x @ np.linalg.solve(S, x))
