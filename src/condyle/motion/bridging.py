"""Gaps in a take: which are short, what stands around them, and how they are closed."""

from __future__ import annotations

import numpy as np

from ..findings import Finding, Severity, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from ..maths.series import find_held_frames, find_known_around, segment_slices
from ..maths.spool import copy_array, over_frames, zeros
from ..model.take import Take

GAPS_MIN_SHARE = 0.05  # share of the frames from which on lost poses are worth a warning
_GAP_WORDS: dict[str, tuple[str, Severity]] = {
    "gap-bridged": ("its rotation there is interpolated", "info"),
    "gap-inferred": ("its place there follows from the bodies beyond it, and its turn as far as these tell", "info"),
    "gap-left": ("too long to interpolate, so it and what hangs on it have no pose there", "warning"),
}


def bridge_turn(take: Take, R: Floats, longest: float) -> tuple[Floats, Bools, Bools]:
    """R (n, 3, 3) with short gaps closed along the shortest arc, which frames were, and which are still unknown."""
    known: Bools = over_frames(lambda part: np.isfinite(part).all(axis=(-2, -1)), R)
    short = _find_short(take, known, longest)
    if not short.any():
        return R, short, ~known
    before, after = find_known_around(known, take.segment)
    a, b = R[before[short]], R[after[short]]
    share = _share(take, before, after, short)
    closed = copy_array(R)
    closed[short] = a @ rotation.from_vector(share[:, None] * rotation.between(a, b))
    return closed, short, ~known & ~short


def bridge_line(take: Take, p: Floats, short: Bools) -> Floats:
    """p (n, 3) with the frames in `short` on the line between the known ones around them."""
    if not short.any():
        return p
    before, after = find_known_around(np.asarray(np.isfinite(p).all(axis=-1)), take.segment)
    share = _share(take, before, after, short)[:, None]
    closed = p.copy()
    closed[short] = (1 - share) * p[before[short]] + share * p[after[short]]
    return closed


def _share(take: Take, before: Ints, after: Ints, rows: Bools) -> Floats:
    start, end = take.time[before[rows]], take.time[after[rows]]
    return np.asarray((take.time[rows] - start) / (end - start))


def describe_gaps(take: Take, frames: Bools, code: str) -> list[Finding]:
    """One finding per body with any of these `frames` (n, m)."""
    findings: list[Finding] = []
    if not frames.any():
        return findings
    for k, name in enumerate(take.names):
        rows = frames[:, k]
        count = int(rows.sum())
        if not count:
            continue
        seconds = _measure_longest(take, rows)
        first = int(np.argmax(rows))
        lost = f"{name} was not seen in {many(count, 'frame')} from frame {first} on, for up to {seconds:.2g} s"
        way, severity = _GAP_WORDS[code]
        if count < GAPS_MIN_SHARE * take.frames:
            severity = "info"
        text = f"{lost}: {way}"
        time = (float(take.time[rows][0]), float(take.time[rows][-1])) if take.timed else None
        findings.append(Finding(code, severity, text, (name,), time, seconds, "s", first, count))
    return findings


def _measure_longest(take: Take, rows: Bools) -> float:
    """How long the longest run of `rows` (n,) lasts [s]: from the frame before it to the one after it, as far as its
    segment has such frames.
    """
    before, after = find_known_around(~rows, take.segment)
    longest = 0.0
    for part in segment_slices(take.segment):
        time, lost = take.time[part], rows[part]
        first, last = np.clip(np.stack([before[part], after[part]]) - part.start, 0, len(time) - 1)
        longest = max(longest, float((time[last] - time[first])[lost].max(initial=0.0)))
    return longest


def find_lone_runs(take: Take, frames: Bools, longest: float) -> Bools:
    """Those of `frames` (n, m) that lie between two others of their body and segment at most `longest` [s] apart."""
    short = zeros(frames.shape, np.bool_)
    for body in np.flatnonzero(frames.any(axis=0)):
        short[:, body] = _find_short(take, ~frames[:, body] & take.seen[:, body], longest) & frames[:, body]
    return short


def _find_short(take: Take, known: Bools, longest: float) -> Bools:
    """(n,) the unknown frames in gaps that are short enough."""
    before, after = find_known_around(known, take.segment)
    inside = ~known & (before >= 0) & (after < take.frames)
    short = inside.copy()
    short[inside] = take.time[after[inside]] - take.time[before[inside]] <= longest * (1 + 1e-9)
    return short


def find_nearest_known(known: Bools, segment: Ints) -> Ints:
    """(n,) the known frame before each in its segment, else the one after, else any; -1 where none is known at all."""
    within = find_held_frames(known, segment)
    return np.where(within >= 0, within, find_held_frames(known, np.zeros_like(segment)))
