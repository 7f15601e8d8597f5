"""What people are like as a prior on lengths: left and right alike, and human proportions. Its weight is learned.

The spread that is assumed is the one that the lengths at hand tell: people whose sides differ by a centimetre are not
made alike within a millimetre.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maths.arrays import Floats
from ..model.anatomy import Part, find_segments, mirror_segments
from ..model.profile import LengthKey, name_length
from ..model.values import dataclass
from .lengths import Lengths

SIDE_SPREADS_M = np.geomspace(0.002, 0.05, 25)  # m, standard deviations of a difference between sides that are tried
SHARE_SPREADS = np.geomspace(0.04, 0.3, 25)  # of a length, by which it may differ from its share of the stature
LEARNED_WIDENING = 1.15  # of intervals that a prior made narrower, at most to what they were: people keep to no law
USUAL_STATURE_M = 1.7  # m, of a person of whom nothing is known
STATURE_SD_M = 1.0  # m, of the same: so wide that the lengths alone tell it
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
    twins, found = mirror_segments(find_segments(bodies, edges)), []
    for k, (body, (one, other), axes) in enumerate(keys):
        twin = {name: twins.get(name) for name in (body, *one, *other)}
        if None in twin.values():
            continue
        other_side = {edge: (str(twin[edge[0]]), str(twin[edge[1]])) for edge in (one, other)}
        ends = [other_side[edge] for edge in axes]
        mirrored = name_length(str(twin[body]), other_side[one], other_side[other], ends)
        if mirrored in keys and k < keys.index(mirrored):
            found.append((k, keys.index(mirrored)))
    return found


def make_sides_alike(lengths: Lengths, twins: Sequence[tuple[int, int]]) -> Learned:
    """The lengths with left and right drawn together as far as their differences say that they are alike."""
    H = np.zeros((len(twins), len(lengths.keys)))
    for row, (left, right) in zip(H, twins, strict=True):
        row[left], row[right] = 1.0, -1.0
    doubts = [spread**2 * np.eye(len(H)) for spread in SIDE_SPREADS_M]
    return _learn(lengths, H, np.zeros(len(H)), doubts, SIDE_SPREADS_M)


def find_shares(keys: Sequence[LengthKey], bodies: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[int, float]:
    """{number of a length: its share of the stature} of the limbs between two joints, between centres if known."""
    segments = find_segments(bodies, edges)
    on: dict[str, list[int]] = {}
    for k, (body, *_) in enumerate(keys):
        on.setdefault(body, []).append(k)
    return {
        min(mine, key=lambda k: len(keys[k][2])): STATURE_SHARES[segments[body].part]
        for body, mine in on.items()
        if len({keys[k][1] for k in mine}) == 1 and body in segments and segments[body].part in STATURE_SHARES
    }


def make_proportioned(lengths: Lengths, shares: dict[int, float]) -> Learned:
    """The lengths drawn towards their shares of one stature, as far as they keep to them."""
    H = np.zeros((len(shares), len(lengths.keys)))
    H[np.arange(len(shares)), list(shares)] = 1.0
    q = np.array(list(shares.values()))
    usual = USUAL_STATURE_M * q
    doubts = [STATURE_SD_M**2 * np.outer(q, q) + np.diag((spread * usual) ** 2) for spread in SHARE_SPREADS]
    return _learn(lengths, H, usual, doubts, SHARE_SPREADS)


def _learn(lengths: Lengths, H: Floats, mean: Floats, doubts: Sequence[Floats], spreads: Floats) -> Learned:
    """The lengths x, of which H x is taken to be `mean` with one of the covariances `doubts`.

    Each counts by how likely it makes the lengths. Few lengths leave many of them likely, and that the answers under
    them differ is a part of its covariance.
    """
    V = lengths.covariance
    apart = mean - H @ lengths.value
    sums = [H @ V @ H.T + doubt for doubt in doubts]
    likely = np.array([-0.5 * (np.linalg.slogdet(S)[1] + apart @ np.linalg.solve(S, apart)) for S in sums])
    weight = np.exp(likely - likely.max())
    weight /= weight.sum()
    gains = [V @ H.T @ np.linalg.inv(S) for S in sums]
    steps = np.array([gain @ apart for gain in gains])
    step = weight @ steps
    left = sum(w * (V - gain @ H @ V) for w, gain in zip(weight, gains, strict=True))
    left = left + np.einsum("s,si,sj->ij", weight, steps - step, steps - step)
    wider = np.clip(lengths.sd / np.sqrt(np.diagonal(left)), 1.0, LEARNED_WIDENING)
    drawn = Lengths(lengths.keys, lengths.value + step, 0.5 * (left + left.T) * np.outer(wider, wider))
    return Learned(drawn, float(np.exp(weight @ np.log(spreads))), len(H))
