"""Sensors that stand for each other in one recording against another: they bear each other's names, or were put on each
other's bodies.

Joints that are known tell the first: they come apart, and close once the names are exchanged. Where the two were put on
anew as well, the bodies beside them tell it: their joints are where they were only once the names are exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

import numpy as np

from ..estimate.kinds import LARGE_RESIDUAL_NOISE_RATIO
from ..estimate.locate import gap_residual
from ..maths.arrays import Floats
from ..model.anatomy import find_segments, mirror_segments
from ..model.skeleton import Joint
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import gaps

EXCHANGED_MIN_M = 0.01  # m by which a joint comes apart at least: skin alone does as much (MOVED_MIN_M)
EXCHANGED_FRAMES = 500  # of a take, in which known joints are tried
EXCHANGED_MOST_SUSPECTS = 40  # bodies any two of which are tried; of more, left and right alone
EXCHANGED_MOST_TRIALS = 20  # pairs of sensors whose joints are located anew

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ExchangedSensors:
    """Pairs of sensors that stand for each other.

    anew  whether they were put on anew besides, and do not just bear each other's names
    """

    pairs: Pairs
    anew: bool

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(name for pair in self.pairs for name in pair)


def find_exchange(
    before: Sequence[Joint],
    part: Take,
    moved: Collection[str],
    closes_anew: Callable[[Sequence[Joint], Take, Pairs], bool],
) -> ExchangedSensors | None:
    """The sensors of a take that stand for each other against joints that are known; None where none do.

    moved        the bodies whose sensors seem to sit elsewhere
    closes_anew  whether the joints beside two sensors are where they were once the two are exchanged
    """
    joints = [one for one in before if one.covariance is not None and {one.child, one.parent} <= set(part.names)]
    if len(joints) < 2:
        return None
    thin, _ = part.thin(EXCHANGED_FRAMES)
    apart = _measure_apart(joints, thin, {})
    bounds = np.array([bound_gap(one) for one in joints])
    suspects = set(moved) | {
        name
        for joint, size, bound in zip(joints, apart, bounds, strict=True)
        if size > bound
        for name in (joint.child, joint.parent)
    }
    trials = _list_trials(part.names, joints, suspects)
    wide = {name for k in np.flatnonzero(apart > bounds) for name in (joints[k].child, joints[k].parent)}
    for pairs in trials:
        twin = make_twins(pairs)
        if not set(twin) <= wide:
            continue
        touched = [one for one in joints if not {one.child, one.parent}.isdisjoint(twin)]
        if (_measure_apart(touched, thin, twin) <= [bound_gap(one) for one in touched]).all():
            return ExchangedSensors(pairs, anew=False)
    beside = [one for one in trials if len(one) == 1][:EXCHANGED_MOST_TRIALS]
    return next((ExchangedSensors(pairs, anew=True) for pairs in beside if closes_anew(joints, part, pairs)), None)


def _list_trials(names: Sequence[str], joints: Sequence[Joint], suspects: Collection[str]) -> list[Pairs]:
    """The pairs that may be exchanged: all of one side with their twins, twins, any two unless they are too many."""
    segments = find_segments(names, [(one.parent, one.child) for one in joints])
    sided = [(body, other) for body, other in mirror_segments(segments).items() if other and segments[body].side == "l"]
    twins = [pair for pair in sided if set(pair) <= set(suspects)]
    ordered = [name for name in names if name in suspects]
    some = ordered if len(ordered) <= EXCHANGED_MOST_SUSPECTS else []
    others = [pair for pair in combinations(some, 2) if pair not in twins and pair[::-1] not in twins]
    return [*([tuple(twins)] if len(twins) > 1 else []), *((pair,) for pair in (*twins, *others))]


def make_twins(pairs: Pairs) -> dict[str, str]:
    """{body: the one that it is exchanged with}"""
    return {name: other for a, b in pairs for name, other in ((a, b), (b, a))}


def _measure_apart(joints: Sequence[Joint], take: Take, twin: Mapping[str, str]) -> Floats:
    """(J,) [m] rms gaps of joints in a take whose bodies have other names; 0 where its bodies are never seen."""
    number = {name: take.index(twin.get(name, name)) for joint in joints for name in (joint.child, joint.parent)}
    pairs = np.array([[number[one.child], number[one.parent]] for one in joints])
    gap = gaps(
        take, pairs, *(np.stack([getattr(one, f"p_{half}_joint") for one in joints]) for half in ("child", "parent"))
    )
    return gap_residual(gap, np.asarray(np.isfinite(gap).all(axis=-1), dtype=np.float64))


def bound_gap(joint: Joint) -> float:
    """[m] rms gap above which a joint comes apart by more than it did, and than skin moves."""
    return max(LARGE_RESIDUAL_NOISE_RATIO * max(joint.residual, joint.explained or 0.0), EXCHANGED_MIN_M)
