"""Recordings of one room at one time, with bodies of the same names: two people in one scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..findings import Finding
from ..io.resample import BodySamples, resample_streams
from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.spool import seal
from ..model.take import OwnSkeleton, Take
from .read import SIDE_BY_SIDE_MIN_SHARE


def place_together(takes: Mapping[str, Take]) -> Take:
    """The takes {label: take} as one, of bodies called label:name, on one clock.

    Clocks that have hardly a moment in common count from each recording's own start: they are then taken to begin
    together, which is told.
    """
    for label in takes:
        if not label.strip() or ":" in label:
            raise UsageError(f"'{label}' is no name for a recording of a scene", code="bad-option")
    parts = [_label(take, label) for label, take in takes.items()]
    if len(parts) < 2:
        raise UsageError("a scene of several recordings needs two of them at least", code="bad-call")
    ups = {take.up for take in parts if take.up is not None}
    if len(ups) > 1:
        text = f"the recordings of a scene have other axes that point up: {', '.join(sorted(ups))}; say it with --up"
        raise UsageError(text, code="bad-option")
    parts, findings = _set_clocks(parts)
    time, segment, R, p, told = _put_on_one_clock(parts)
    return Take(
        tuple(name for take in parts for name in take.names),
        time,
        seal(R),
        seal(p),
        segment,
        all(take.timed for take in parts),
        tuple(source for take in parts for source in take.sources),
        tuple(finding for take in parts for finding in take.findings) + (*findings, *told),
        next(iter(ups), None),
        _join_skeletons(parts),
        "; ".join(dict.fromkeys(take.read_as for take in parts if take.read_as)),
        tuple(marker for take in parts for marker in take.markers),
    )


def _put_on_one_clock(parts: Sequence[Take]) -> tuple[Floats, Ints, Floats, Floats, list[Finding]]:
    """Time, segment, rotations and positions of the bodies of all takes, and what was done."""
    first = parts[0]
    if all(np.array_equal(take.time, first.time) and np.array_equal(take.segment, first.segment) for take in parts):
        R, p = (
            np.concatenate([getattr(take, half) for take in parts], axis=1) for half in ("R_world_body", "p_world_body")
        )
        return first.time, first.segment, R, p, []
    for take in parts:
        if take.segment[0] != take.segment[-1]:
            raise UsageError(
                "has breaks in its time, and the other recordings of the scene have others; "
                "choose a part with --from and --to",
                code="bad-option",
                path=", ".join(take.sources) or None,
            )
    streams = [
        BodySamples(name, take.time, take.p_world_body[:, k], rotation.to_quaternion(take.R_world_body[:, k]))
        for take in parts
        for k, name in enumerate(take.names)
    ]
    time, p, q, told = resample_streams(streams)
    return time, np.zeros(len(time), np.int64), rotation.from_quaternion(q), p, told


def _label(take: Take, label: str) -> Take:
    """The take with its bodies called label:name."""
    own = take.own
    if own is not None:
        own = replace(own, names=tuple(f"{label}:{name}" for name in own.names))
    findings = tuple(
        replace(one, text=f"{label}: {one.text}", bodies=tuple(f"{label}:{name}" for name in one.bodies))
        for one in take.findings
    )
    markers = tuple(
        replace(
            one,
            body=f"{label}:{one.body}",
            carried=None if one.carried is None else replace(one.carried, body=f"{label}:{one.carried.body}"),
        )
        for one in take.markers
    )
    names = tuple(f"{label}:{name}" for name in take.names)
    return replace(take, names=names, findings=findings, own=own, markers=markers)


def _set_clocks(parts: list[Take]) -> tuple[list[Take], list[Finding]]:
    """The takes on one clock, and what is to be said of it."""
    spans = [(float(take.time[0]), float(take.time[-1])) for take in parts if take.frames]
    shared = min(end for _, end in spans) - max(start for start, _ in spans)
    if shared >= SIDE_BY_SIDE_MIN_SHARE * min(end - start for start, end in spans):
        return parts, []
    text = "the recordings' clocks have no time in common, so they are taken to begin at the same moment"
    return [replace(take, time=take.time - take.time[0]) for take in parts], [Finding("begun-together", "info", text)]


def _join_skeletons(parts: list[Take]) -> OwnSkeleton | None:
    """The skeletons that all recordings bring along as one forest; None where one brings none."""
    own = [take.own for take in parts]
    known = [one for one in own if one is not None]
    if len(known) < len(own):
        return None
    starts = np.cumsum([0, *(len(one.names) for one in known[:-1])]).tolist()
    parent: Ints = np.concatenate(
        [np.where(one.parent < 0, -1, one.parent + start) for one, start in zip(known, starts, strict=True)]
    )
    names = tuple(name for one in known for name in one.names)
    return OwnSkeleton(names, parent, np.concatenate([one.p_parent_joint for one in known]))
