"""Lengths by the body and its two neighbours, so that they compare whichever root was chosen."""

from __future__ import annotations

from condyle import Limb, Skeleton
from condyle.simulate import Truth

Key = tuple[str, frozenset[str]]


def true_lengths(truth: Truth) -> dict[Key, float]:
    """[m] of all limbs."""
    up = dict(truth.edges)
    return {
        (body, frozenset(up[joint] if joint == body else joint for joint in joints)): length
        for (body, *joints), length in truth.limbs.items()
    }


def told_limbs(skeleton: Skeleton) -> dict[Key, Limb]:
    """All limbs for which a length is told."""
    up = {joint.child: joint.parent for joint in skeleton.joints}
    return {
        (
            limb.body,
            frozenset(up[joint] if joint == limb.body else joint for joint in (limb.from_joint, limb.to_joint)),
        ): limb
        for limb in skeleton.limbs
        if limb.length is not None
    }


def length_errors(skeleton: Skeleton, truth: Truth) -> dict[Key, float]:
    """Told less true length [m] of the limbs that are told and true."""
    true = true_lengths(truth)
    return {key: limb.length - true[key] for key, limb in told_limbs(skeleton).items() if key in true and limb.length}


def held(skeleton: Skeleton, truth: Truth) -> dict[Key, bool]:
    """Whether the interval of a length holds the true one, where there is an interval."""
    true = true_lengths(truth)
    return {
        key: limb.low <= true[key] <= limb.high
        for key, limb in told_limbs(skeleton).items()
        if key in true and limb.low is not None and limb.high is not None
    }
