"""Gait events: when a foot comes to rest on the room and when it leaves it, from the motion of the foot alone.

A foot that stands has a point at rest, though not always the same one: it rolls over the heel, lies flat, and rolls
over the toes. So the slowest point within its reach is looked at, which the axis tells that the foot turns about at the
moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats
from ..maths.robust import MAD_SD, median, quantile
from ..maths.series import SHORTEST_STEP_S, count_frames, find_runs, segment_slices
from ..model.anatomy import Segment, find_segments
from ..model.angles import Stride
from ..model.gait_events import GaitEvent
from ..model.skeleton import Skeleton
from ..model.take import Take

FOOT_REACH_M = 0.15  # m from the sensor of a foot, or the middle of its markers, to the ends of the foot
RATE_HALF_WINDOW_S = 0.02  # s before and after a frame from which its velocities are taken
STANDING_MAX_SHARE = 0.1  # of the foot's high speed that its slowest point may have when it stands
HIGH_SPEED_PERCENT = 98  # percentile of a foot's speed that stands for its swing
SWING_MIN_SPEED_M_S = 0.5  # m/s below which a foot makes no steps
STILL_MAX_SPEED_M_S = 0.05  # m/s of a foot's slowest point up to which it may be held, be that on the floor or not
STILL_MAX_SHARE = 0.02  # of the foot's high speed, the same where that is more
STAND_MAX_TRAVEL_M = 2 * FOOT_REACH_M  # m its sensor travels at most: feet roll over their length; 71 of 9 walks stay
# Of a standing foot's slowest point, as a rule: 0.029 m/s at most in 151 stands of 32 recorded takes, 0.035 to 0.062 in
# three of feet that are held in the air.
REST_MAX_SPEED_M_S = 0.03  # m/s
REST_MAX_SHARE = 0.01  # of the foot's high speed, where that is more
# Of all of a foot in the quietest moment of a stand: 0.101 m/s or 3.2 % of its high speed at most in these stands but
# one that the recording cuts, 0.12 m/s and 5 % at least in 19 of 20 stretches in the air of simulated exercise.
LYING_MAX_SPEED_M_S = 0.11  # m/s
LYING_MAX_SHARE = 0.035  # of the foot's high speed, where that is more
# Speed of a place at rest whose coordinates have white noise, times the time between two of them over that noise:
NOISE_SPEED = np.sqrt(6.0)  # root mean square of a resting place's speed, in noise over the time between coordinates
NOISE_HIGH_SPEED = np.sqrt(2 * 9.837)  # the same of its 98th percentile, chi squared with three degrees of freedom
REST_NOISE_SHARE = 0.8  # of the speed of a rest that noise may have in it; 0.95: 3 % of steps in 6 mm are lost
REST_MAX_WINDOW_S = 0.3  # s, and no more, over which noise is averaged when a foot is asked whether it rests
STRIDE_MAX_S = 2.5  # s from a strike to the next of the same foot; longer, the person stood or a strike was not seen
STAND_MIN_S = 0.2  # s of a stand: shorter ones are none
SWING_MIN_S = 0.1  # s of a swing: shorter ones are joined with what is around them


def find_gait_events(skeleton: Skeleton, take: Take) -> tuple[tuple[GaitEvent, ...], tuple[Finding, ...]]:
    """Strikes and offs of every foot in the order of time, and what there is to say; nothing where no foot was worn."""
    segments = find_segments(skeleton.bodies, skeleton.edges)
    feet = _find_feet([name for name in take.names if name in segments], segments)
    if not feet or not take.timed:
        return (), ()
    events: list[GaitEvent] = []
    for side, names in feet:
        events += _find_events(take, side, names)
    if not events:
        text = "no foot comes to rest on the room between two swings: no gait events; on a treadmill none does"
        return (), (Finding("gait-events", "info", text),)
    strikes = sum(event.kind == "strike" for event in events)
    text = f"{many(strikes, 'foot strike')} and {many(len(events) - strikes, 'foot off')} from the motion of the feet"
    return tuple(sorted(events, key=lambda one: (one.segment, one.time))), (
        Finding("gait-events", "info", text, tuple(name for _, names in feet for name in names), count=len(events)),
    )


def list_strides(events: Sequence[GaitEvent]) -> tuple[Stride, ...]:
    """From each strike of a foot to its next, where that follows as soon as people step."""
    found = []
    for side in ("l", "r"):
        strikes = [event for event in events if event.side == side and event.kind == "strike"]
        for one, after in pairwise(strikes):
            if one.segment == after.segment and one.body == after.body and after.time - one.time < STRIDE_MAX_S:
                found.append(Stride(side, one.segment, one.time, after.time))
    return tuple(found)


def _find_feet(names: Sequence[str], segments: Mapping[str, Segment]) -> list[tuple[str, tuple[str, ...]]]:
    """Side and bodies of every foot: one, or hindfoot and forefoot, of one person."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if segments[name].part in ("foot", "toe"):
            found.setdefault((name.rpartition(":")[0], segments[name].side), []).append(name)
    return [(side, tuple(own)) for (_, side), own in found.items()]


def _find_events(take: Take, side: str, names: Sequence[str]) -> list[GaitEvent]:
    """Events of one foot; where a stretch begins or ends with the recording, or with a gap, there is none."""
    events = []
    for part in segment_slices(take.segment):
        noise = _estimate_noise(take.p_world_body[part][:, take.index(names[0])])
        high = _measure_foot(take, names, part).high
        _, span = _count_frames(take.time[part], RATE_HALF_WINDOW_S)
        high = float(np.sqrt(max(high**2 - (NOISE_HIGH_SPEED * noise / span) ** 2, 0.0)))
        if high < SWING_MIN_SPEED_M_S:
            continue
        slowest = _measure_foot(take, names, part, _choose_window(noise, STANDING_MAX_SHARE * high / 2)).slowest
        time, known = take.time[part], np.isfinite(slowest)
        still = np.where(known, slowest, np.inf) < STANDING_MAX_SHARE * high
        for first, stop in _keep_at_rest(take, names, part, high, _find_stands(still, time), lying=True):
            if first > 0 and known[first - 1]:
                events.append(GaitEvent(float(time[first]), int(take.segment[part.start]), side, "strike", names[0]))
            if stop < len(time) and known[stop]:
                events.append(GaitEvent(float(time[stop - 1]), int(take.segment[part.start]), side, "off", names[-1]))
    return events


def find_standing(take: Take, names: Sequence[str]) -> list[tuple[int, int]]:
    """Stretches (first, stop) of frames in which a foot, of these bodies, stands; one that makes no steps may stand
    throughout. The first and the last frames of a segment, which have no speed, are like their neighbours.
    """
    found = []
    for part in segment_slices(take.segment):
        slowest, _, high = _measure_foot(take, names, part)
        there = np.flatnonzero(np.isfinite(slowest))
        if not len(there):
            continue
        slowest[: there[0]], slowest[there[-1] + 1 :] = slowest[there[0]], slowest[there[-1]]
        limit = max(STANDING_MAX_SHARE * high, STILL_MAX_SPEED_M_S)
        still = np.where(np.isfinite(slowest), slowest, np.inf) < limit
        stands = _keep_at_rest(take, names, part, high, _find_stands(still, take.time[part]), lying=False)
        found += [(part.start + first, part.start + stop) for first, stop in stands]
    return found


def _keep_at_rest(
    take: Take, names: Sequence[str], part: slice, high: float, stands: Sequence[tuple[int, int]], *, lying: bool
) -> list[tuple[int, int]]:
    """The stands in which the foot stays where it is: one that turns in the air has a slow point, ever another. That
    point rests as a rule, on the floor: of a foot that turns about in the air it is slow for a moment only.

    lying  whether it must be the floor: then that point hardly moves, and all of the foot lies still for a moment, as
           it does not while it goes on turning in the air, or on its toes
    """
    p = take.p_world_body[part][:, take.index(names[0])]
    kept = []
    noise, rest = _estimate_noise(p), max(REST_MAX_SPEED_M_S, REST_MAX_SHARE * high)
    window = _choose_window(noise, rest)
    _, span = _count_frames(take.time[part], window)
    slack = max(NOISE_SPEED * noise / span - REST_NOISE_SHARE * rest, 0.0)  # m/s of noise that is left
    moving = _measure_foot(take, names, part, window)
    for first, stop in stands:
        own, slow, fast = (values[first:stop] for values in (p, moving.slowest, moving.fastest))
        own, slow, fast = own[np.isfinite(own).all(axis=1)], slow[np.isfinite(slow)], fast[np.isfinite(fast)]
        rests = median(slow) < max(STILL_MAX_SPEED_M_S, STILL_MAX_SHARE * high)
        if lying:
            rests &= median(slow) < rest + slack
            rests &= fast.min(initial=np.inf) < max(LYING_MAX_SPEED_M_S, LYING_MAX_SHARE * high) + slack
        if rests and (not len(own) or np.linalg.norm(np.ptp(own, axis=0)) <= STAND_MAX_TRAVEL_M):
            kept.append((first, stop))
    return kept


def _estimate_noise(p: Floats) -> float:
    """[m] of white noise in each coordinate of places (n, 3); 0 where there are too few."""
    known = np.abs(np.diff(p, n=3, axis=0))  # with the weights 1, 3, 3, 1
    known = known[np.isfinite(known)]
    return MAD_SD * float(median(known)) / float(np.sqrt(20.0)) if len(known) else 0.0


def _choose_window(noise: float, speed: float) -> float:
    """[s] before and after a frame, so long that noise [m] looks like this speed [m/s] at most, as far as it may be."""
    return float(np.clip(NOISE_SPEED * noise / speed, 2 * RATE_HALF_WINDOW_S, REST_MAX_WINDOW_S)) / 2


def _count_frames(time: Floats, window: float) -> tuple[int, float]:
    """Frames before and after a frame that come nearest to a window [s], one at least and none beyond the longest, nor
    more than there are; and the time [s] that these together span."""
    step = float(median(np.diff(time))) if len(time) > 1 else 0.0
    if step <= SHORTEST_STEP_S:
        return max(1, len(time)), 2 * window
    most = count_frames(
        REST_MAX_WINDOW_S / 2 / step + 1e-6, len(time), whole=True
    )  # a whole number is not lost to rounding
    half = max(1, count_frames(window / step, most))
    return half, 2 * half * step


class _FootSpeed(NamedTuple):
    """(n,) [m/s] of the slowest and of the fastest point within reach of a foot, NaN where not known, of hindfoot or
    forefoot, whichever is slower; and the foot's high speed [m/s]."""

    slowest: Floats
    fastest: Floats
    high: float


def _measure_foot(take: Take, names: Sequence[str], part: slice, window: float = RATE_HALF_WINDOW_S) -> _FootSpeed:
    """How fast a foot of these bodies moves; `window` [s] as in `_measure_speeds`."""
    slow, speed, fast = zip(*(_measure_speeds(take, take.index(name), part, window) for name in names), strict=True)
    known = np.concatenate(speed)
    known = known[np.isfinite(known)]
    high = float(quantile(known, HIGH_SPEED_PERCENT / 100)) if len(known) else 0.0
    return _FootSpeed(np.fmin.reduce(slow), np.fmin.reduce(fast), high)


def _find_stands(still: Bools, time: Floats) -> list[tuple[int, int]]:
    """Stretches (first, stop) in which a foot stands: gaps shorter than a swing are closed, shorter stands dropped."""
    joined: list[tuple[int, int]] = []
    for first, stop in find_runs(still):
        if joined and time[first] - time[joined[-1][1] - 1] < SWING_MIN_S:
            first = joined.pop()[0]
        joined.append((first, stop))
    return [(first, stop) for first, stop in joined if time[stop - 1] - time[first] >= STAND_MIN_S]


def _measure_speeds(take: Take, body: int, part: slice, window: float) -> tuple[Floats, Floats, Floats]:
    """(n,) [m/s] of the slowest point within reach of a body's sensor, of the sensor, and of no point within reach
    exceeded; NaN at ends and in gaps.

    window  [s] before and after a frame from which its velocities are taken

    A point x from the sensor moves with v + w x x. Of v, the share along w is that of every point; across it, points on
    the axis of the turn are at rest, and the axis is |v| / |w| away.
    """
    time = take.time[part]
    n, (half, _) = len(time), _count_frames(time, window)
    slow, speed, fast = (np.full(n, np.nan) for _ in range(3))
    if n <= 2 * half:
        return slow, speed, fast
    p, R = take.p_world_body[part][:, body], take.R_world_body[part][:, body]
    span = (time[2 * half :] - time[: -2 * half])[:, None]
    span = np.where(span > SHORTEST_STEP_S, span, np.nan)
    v = (p[2 * half :] - p[: -2 * half]) / span
    w = rotation.to_vector(R[2 * half :] @ np.swapaxes(R[: -2 * half], 1, 2)) / span
    turn = np.linalg.norm(w, axis=1)
    along = np.abs((v * w).sum(axis=1)) / np.maximum(turn, np.finfo(float).tiny)
    across = np.sqrt(np.maximum((v**2).sum(axis=1) - along**2, 0.0))
    slow[half:-half] = np.hypot(along, np.maximum(across - FOOT_REACH_M * turn, 0.0))
    speed[half:-half] = np.linalg.norm(v, axis=1)
    fast[half:-half] = speed[half:-half] + FOOT_REACH_M * turn
    return slow, speed, fast
