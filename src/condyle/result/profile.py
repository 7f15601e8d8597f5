"""A performer from fits: lengths shared by mountings, kinds of joints, sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import CondyleError
from ..estimate.lengths import Lengths, hold_lengths, measure_lengths, profile_lengths, share_lengths
from ..faults.files import find_moved
from ..findings import Finding, many, mm, sort_findings
from ..maths.robust import Z95
from ..model.anatomy import find_segments
from ..model.profile import Edge, FileWindow, LengthKey, Profile, ProfileJoint, ProfileLength, name_edge
from ..model.skeleton import Kind, Skeleton
from .verdict import add_verdict

MIXED_CODES = ("lengths-shared", "profile-used")  # of fits whose lengths are not their own
OTHER_PERSON_MIN_SIGMAS = 4.0  # standard errors by which a length differs from the others' from which it is doubted


def make_profile(sources: Sequence[Skeleton | Profile]) -> tuple[Profile, list[Finding]]:
    """The performer that fits, and profiles made before, are of; and what is to be said of them.

    Fits whose sensors sit where they sat in another are of one mounting, and share its errors.
    """
    if not sources:
        raise CondyleError("no fit to make a profile from", code="bad-profile")
    check_figures(sources)
    for one in sources:
        if isinstance(one, Skeleton) and is_mixed(one):
            text = f"fit {one.fit_id} has lengths that other fits told as well; take its profile.json, or fit it alone"
            raise CondyleError(text, code="bad-profile")
    fits = [name for one in sources for name in list_fits(one)]
    twice = [name for name, count in Counter(fits).items() if count > 1]
    if twice:
        raise CondyleError(
            f"fit {twice[0]} is in it twice, by itself, in a profile, or by a take that was solved on it; name it once",
            code="bad-profile",
        )
    for k, one in enumerate(sources):
        if any(share_frames(one, other) for other in sources[:k]):
            files = ", ".join(one.take.get("sources", ())) if isinstance(one, Skeleton) else "a profile"
            text = f"the recording of {files or 'a fit'}, or a part of it, is in it twice, by two fits of it; "
            raise CondyleError(f"{text}name one of them, or fit parts that do not overlap", code="bad-profile")
    parts = [measure_lengths(one) if isinstance(one, Skeleton) else profile_lengths(one) for one in sources]
    mountings = find_mountings(sources)
    shared = share_lengths(parts, mountings)
    sizes = [one.mountings if isinstance(one, Profile) else 1 for one in sources]
    count = sum(max(size for size, own in zip(sizes, mountings, strict=True) if own == k) for k in set(mountings))
    return build_profile(sources, kinds_of(sources), shared.lengths, count, fits), describe_shared(parts)


def build_profile(
    sources: Sequence[Skeleton | Profile],
    kinds: dict[Edge, Kind],
    lengths: Lengths,
    mountings: int,
    fits: Sequence[str],
) -> Profile:
    """A performer with the bodies and the tree of the first of its figures."""
    figure = sources[0]
    edges, segments = figure.edges, find_segments(figure.bodies, figure.edges)
    sd = lengths.sd
    return Profile(
        figure.bodies,
        tuple(segments[body].side if body in segments else "" for body in figure.bodies),
        tuple(ProfileJoint(child, parent, kinds[name_edge(child, parent)]) for parent, child in edges),
        tuple(
            ProfileLength(body, ends, value, max(value - Z95 * one, 0.0), value + Z95 * one, axes)
            for (body, ends, axes), value, one in zip(
                lengths.keys, np.maximum(lengths.value, 0.0).tolist(), sd.tolist(), strict=True
            )
        ),
        tuple(tuple(map(float, row)) for row in 0.5 * (lengths.covariance + lengths.covariance.T)),
        mountings,
        tuple(fits),
        tuple(dict.fromkeys(name for one in sources for name in list_recordings(one))),
        tuple(dict.fromkeys(window for one in sources for window in find_windows(one))),
    )


def find_mountings(sources: Sequence[Skeleton | Profile]) -> list[int]:
    """The number of the mounting of each: fits in which every joint is in the same places have one."""
    found: list[int] = []
    for k, one in enumerate(sources):
        same = [
            found[j]
            for j, other in enumerate(sources[:k])
            if isinstance(one, Skeleton) and isinstance(other, Skeleton) and _sit_alike(other, one)
        ]
        found.append(same[0] if same else max(found, default=-1) + 1)
    return found


def kinds_of(sources: Sequence[Skeleton | Profile]) -> dict[Edge, Kind]:
    """{edge: kind}: what most of them say that can tell."""
    said: dict[Edge, list[Kind]] = {}
    for one in sources:
        for joint in one.joints:
            said.setdefault(name_edge(joint.child, joint.parent), []).append(joint.kind)
    return {
        edge: Counter([kind for kind in kinds if kind != "undetermined"] or kinds).most_common(1)[0][0]
        for edge, kinds in said.items()
    }


def describe_shared(parts: Sequence[Lengths]) -> list[Finding]:
    """Lengths of one part that differ from the rest's by more than both may be off: perhaps another person's."""
    findings = []
    for k, part in enumerate(parts if len(parts) > 1 else ()):
        rest = share_lengths([one for j, one in enumerate(parts) if j != k]).lengths
        off = compare_lengths(rest, part)
        if off and abs(off[0][2]) > OTHER_PERSON_MIN_SIGMAS:
            (body, *_), apart, sigmas = off[0]
            text = (
                f"in fit {k + 1} the length on {body} differs by {mm(abs(apart))} mm from the others', "
                f"{abs(sigmas):.1f} standard errors; is it another person?"
            )
            findings.append(Finding("another-person", "warning", text, (body,), value=abs(apart), unit="m"))
    return findings


def compare_lengths(a: Lengths, b: Lengths) -> list[tuple[LengthKey, float, float]]:
    """(length, how much longer in b [m], the same in standard errors) of the lengths that both have; largest first."""
    found = []
    for key in a.keys:
        if key in b.keys:
            i, j = a.keys.index(key), b.keys.index(key)
            apart = float(b.value[j] - a.value[i])
            found.append((key, apart, apart / float(np.hypot(a.sd[i], b.sd[j]))))
    return sorted(found, key=lambda one: -abs(one[2]))


def cut_profile(profile: Profile, bodies: Collection[str]) -> Profile:
    """What is known of the performer of these bodies, where others bear no sensor."""
    joints = tuple(one for one in profile.joints if {one.child, one.parent} <= set(bodies))
    if not joints:
        names = ", ".join(profile.bodies)
        raise CondyleError(f"no two sensors of the performer that are joined: it has {names}", code="bodies-differ")
    edges = {name_edge(one.child, one.parent) for one in joints}
    rows = [k for k, one in enumerate(profile.lengths) if set(one.key[1]) <= edges]
    kept = [k for k, body in enumerate(profile.bodies) if body in bodies]
    return replace(
        profile,
        bodies=tuple(profile.bodies[k] for k in kept),
        sides=tuple(profile.sides[k] for k in kept),
        joints=joints,
        lengths=tuple(profile.lengths[k] for k in rows),
        covariance=tuple(tuple(profile.covariance[a][b] for b in rows) for a in rows),
    )


def find_known_kinds(kinds: Mapping[Edge, Kind]) -> tuple[tuple[str, str, str], ...]:
    """The kinds of joints that a later fit is to keep."""
    return tuple((*edge, kind) for edge, kind in kinds.items() if kind in ("ball", "hinge"))


def describe_bare(profile: Profile, bodies: Collection[str]) -> list[Finding]:
    """What to say of bodies of a performer that bear no sensor, where the others were put on anew."""
    return [
        Finding(
            "sensor-absent",
            "warning",
            f"{body} has no sensor here, and sensors that were put on anew do not tell its pose; solve with --skeleton "
            "where they sit as they did",
            (body,),
        )
        for body in profile.bodies
        if body not in bodies
    ]


def apply_profile(skeleton: Skeleton, profile: Profile) -> Skeleton:
    """The skeleton with what is known of the performer as a prior on its lengths; how much that mattered is told."""
    check_figures([skeleton, profile], ", or solve with --profile, which takes the performer's tree")
    own, known = measure_lengths(skeleton), profile_lengths(profile)
    keys = [key for key in own.keys if key in known.keys]
    if not keys:
        finding = Finding("profile-not-used", "warning", f"the profile changed no length: {_describe_none(own, known)}")
        return add_verdict(replace(skeleton, findings=sort_findings([*skeleton.findings, finding])))
    before, prior = own.part(keys), known.part(keys)
    again = skeleton.fit_id in profile.fits or share_frames(skeleton, profile)
    shared = prior if again else share_lengths([before, prior]).lengths.part(keys)
    held = hold_lengths(skeleton, shared)
    moved = shared.value - before.value
    most, share = int(np.abs(moved).argmax()), 1 - float(np.median(np.diagonal(shared.covariance) / before.sd**2))
    off = compare_lengths(prior, before)
    body = keys[most][0]
    known_by = (
        "its lengths stand as they are, since this recording, or a part of it, is among those it was made of"
        if again
        else f"{100 * max(share, 0):.0f} % of what is known of lengths is from it"
    )
    text = (
        f"the profile of {many(len(profile.fits), 'fit')} was used: {body} changed by "
        f"{mm(abs(float(moved[most])))} mm, and {known_by}{_describe_unlike(own, known)}"
    )
    findings = [*skeleton.findings, Finding("profile-used", "info", text, (body,), value=abs(moved[most]), unit="m")]
    if abs(off[0][2]) > OTHER_PERSON_MIN_SIGMAS:
        (body, *_), apart, sigmas = off[0]
        doubt = f"the length on {body} differs by {mm(abs(apart))} mm from the profile's, {abs(sigmas):.1f} standard "
        doubt += "errors; is it another person?"
        findings.append(Finding("another-person", "warning", doubt, (body,), value=abs(apart), unit="m"))
    return add_verdict(replace(held, findings=sort_findings(findings)))


def _describe_none(own: Lengths, known: Lengths) -> str:
    """Why no length of a take is one of the profile's, and the way out."""
    if not own.keys:
        return "this take tells none with an interval; fit with intervals, on a longer take"
    if _describe_unlike(own, known):
        return (
            "those of this take end at a joint's centre where the profile's end at its axis, or the other way round; "
            "turn every joint about all its axes, here and in the takes of the profile"
        )
    return "those of this take are others than the profile's; move the joints that it has"


def _describe_unlike(own: Lengths, known: Lengths) -> str:
    """The end of a sentence: lengths that end at a centre in one and at an axis in the other, and stay as they are."""
    ends = [{key[:2] for key in one.keys} for one in (own, known)]
    both = {key[:2] for key in own.keys if key in known.keys}
    bodies = dict.fromkeys(key[0] for key in own.keys if key[:2] in ends[1] - both)
    if not bodies:
        return ""
    return (
        f". On {', '.join(bodies)} a length ends at a joint's centre in one and at its axis in the other: it stays as "
        "it is"
    )


def _sit_alike(a: Skeleton, b: Skeleton) -> bool:
    common = {name_edge(j.child, j.parent) for j in a.joints if j.covariance is not None}
    common &= {name_edge(j.child, j.parent) for j in b.joints if j.covariance is not None}
    return bool(common) and not find_moved(a.joints, b.joints)


def list_fits(source: Skeleton | Profile) -> tuple[str, ...]:
    """Identities of the fits that told the lengths: of a take played on a known figure, that of the figure."""
    if isinstance(source, Profile):
        return source.fits
    known = source.take.get("calibration", {}).get("fit_id", source.fit_id)
    return (known,) if known else ()


def list_recordings(source: Skeleton | Profile) -> tuple[str, ...]:
    """SHA-256 of the poses that told the lengths; none of a take played on a known figure."""
    if isinstance(source, Profile):
        return source.recordings
    own = None if "calibration" in source.take else source.take.get("sha256")
    return (own,) if own else ()


def find_windows(source: Skeleton | Profile) -> tuple[FileWindow, ...]:
    """The parts of files that told the lengths; none of a take played on a known figure, or of poses in memory."""
    if isinstance(source, Profile):
        return source.windows
    known = [] if "calibration" in source.take else source.take.get("windows", ())
    return tuple(FileWindow(one["sha256"], one["start"], one["stop"], tuple(one["bodies"])) for one in known)


def share_frames(a: Skeleton | Profile, b: Skeleton | Profile) -> bool:
    """Whether one recording, or overlapping parts of one file, told the lengths of both."""
    if not set(list_recordings(a)).isdisjoint(list_recordings(b)):
        return True
    return any(one.overlaps(other) for one in find_windows(a) for other in find_windows(b))


def is_mixed(skeleton: Skeleton) -> bool:
    """Whether a fit has lengths that other fits told as well."""
    return any(finding.code in MIXED_CODES for finding in skeleton.findings)


def check_figures(sources: Sequence[Skeleton | Profile], way_out: str = "") -> None:
    """Raises where the figures have other bodies or other edges; with one more way out of the latter."""
    first = sources[0]
    for one in sources[1:]:
        other = sorted(set(first.bodies) ^ set(one.bodies))
        if other:
            text = f"the figures have other bodies: '{other[0]}' is not in all of them; rename it, or drop it"
            raise CondyleError(text, code="bodies-differ", body=other[0])
        edges = [{name_edge(joint.child, joint.parent) for joint in figure.joints} for figure in (first, one)]
        apart = sorted(edges[0] ^ edges[1])
        if apart:
            text = f"the figures have other trees: {' - '.join(apart[0])} is not joined in all of them; fit with --tree"
            raise CondyleError(text + way_out, code="trees-differ")
