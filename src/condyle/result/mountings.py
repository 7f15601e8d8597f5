"""Fits of one person in several mountings: limb lengths are shared, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import CondyleError
from ..estimate.lengths import Lengths, hold_lengths, measure_lengths, share_lengths
from ..estimate.priors import find_shares, find_twins, make_proportioned, make_sides_alike
from ..findings import Finding, many, mm, sort_findings
from ..maths.robust import Z95
from ..model.profile import Profile
from ..model.skeleton import Skeleton
from ..model.values import dataclass
from .profile import build_profile, check_figures, describe_shared, find_mountings, kinds_of
from .verdict import add_verdict

TREND_MIN_SHARES = 3  # limbs of known shares from which proportions can be learned


@dataclass(frozen=True, eq=False)
class SharedFigures:
    """Skeletons with shared lengths, the performer that they are of, and what is to be said of all of them.

    without  the performer without what sides and proportions told; None where neither was asked for
    """

    skeletons: tuple[Skeleton, ...]
    profile: Profile
    without: Profile | None
    findings: tuple[Finding, ...]


def share_figures(skeletons: Sequence[Skeleton], *, sides: bool = False, proportions: bool = False) -> SharedFigures:
    """The skeletons of one person in several mountings with one set of limb lengths.

    sides        left and right lengths are drawn together, as far as the lengths say that they are alike
    proportions  lengths are drawn towards human proportions, as far as they keep to them
    """
    check_figures(skeletons)
    parts, mountings = [measure_lengths(one) for one in skeletons], find_mountings(skeletons)
    plain = share_lengths(parts, mountings)
    lengths, findings = plain.lengths, describe_shared(parts)
    figure = skeletons[0]
    if sides:
        twins = find_twins(lengths.keys, figure.bodies, figure.edges)
        if not twins:
            raise CondyleError("the bodies' names tell no two sides; leave the option out", code="no-sides")
        learned = make_sides_alike(lengths, twins)
        what = f"left and right were taken as alike within {mm(learned.spread)} mm in {many(learned.count, 'pair')}"
        findings.append(describe_prior(what, lengths, learned.lengths))
        lengths = learned.lengths
    if proportions:
        shares = find_shares(lengths.keys, figure.bodies, figure.edges)
        if len(shares) < TREND_MIN_SHARES:
            text = "the bodies' names tell fewer than three limbs of known proportions; leave the option out"
            raise CondyleError(text, code="no-sides")
        learned = make_proportioned(lengths, shares)
        what = f"{many(learned.count, 'limb')} were drawn to human proportions within {100 * learned.spread:.0f} %"
        findings.append(describe_prior(what, lengths, learned.lengths))
        lengths = learned.lengths
    fits = [one.fit_id for one in skeletons if one.fit_id]
    count = len(set(mountings))
    kinds = kinds_of(skeletons)
    profile = build_profile(skeletons, kinds, lengths, count, fits)
    without = build_profile(skeletons, kinds, plain.lengths, count, fits) if sides or proportions else None
    told = [_describe_sharing(own, lengths, count) for own in parts]
    held = tuple(
        add_verdict(replace(hold_lengths(one, lengths), findings=sort_findings([*one.findings, *findings, finding])))
        for one, finding in zip(skeletons, told, strict=True)
    )
    return SharedFigures(held, profile, without, tuple(findings))


def describe_prior(what: str, before: Lengths, after: Lengths) -> Finding:
    """What a prior changed, with the answer without it beside it."""
    change = np.abs(after.value - before.value)
    most = int(change.argmax())
    text = (
        f"{what}, which the lengths themselves tell; most changed {before.keys[most][0]}: {mm(after.value[most])} mm, "
        f"without it {mm(before.value[most])} ± {mm(Z95 * float(before.sd[most]))} mm"
    )
    return Finding("prior-learned", "info", text, (before.keys[most][0],), value=float(change[most]), unit="m")


def _describe_sharing(own: Lengths, shared: Lengths, mountings: int) -> Finding:
    both = shared.part(own.keys)
    change = np.abs(both.value - own.value)
    most = int(change.argmax())
    before, after = (1000 * Z95 * float(np.median(one.sd)) for one in (own, both))
    text = (
        f"lengths are shared by {many(mountings, 'mounting')}: {own.keys[most][0]} changed by {mm(change[most])} mm, "
        f"and the usual half-width of an interval from {before:.1f} to {after:.1f} mm"
    )
    return Finding("lengths-shared", "info", text, (own.keys[most][0],), value=float(change[most]), unit="m")
