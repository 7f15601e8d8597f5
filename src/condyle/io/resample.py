"""Sensors that each have a clock of their own, put on one: the only place where poses are interpolated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import CondyleError
from ..findings import Finding, list_some
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.series import SHORTEST_STEP_S, usual_step
from ..maths.spool import empty, one_of_many, take_rows
from ..model.clock import PAUSE, sort_late
from ..model.take import FARTHEST

LONGEST_GAP_PERIODS = 3.0  # sample periods of a stream; nothing is interpolated across a longer one
GUESSED_MIN_S = 0.1  # s from which on nothing is interpolated where a sample is missing: people move at up to 10 Hz
MISSING_MIN_PERIODS = 1.5  # sample periods of a stream, from which on one is
CUBIC_MIN_COSINE = 0.7  # of half the turn, 90 deg, between two samples, beyond which its way is hardly known
SAME_STAMP_PERIODS = 0.01  # of the shortest period: stamps nearer than this are one moment, written with few digits
SAME_RATE_RATIO = 1.25  # streams slower than this many periods of all stamps together do not share one clock
SILENT_PERIODS = 1.5  # periods of the clock without a stamp, from where on a slower stream gives the time
MOST_RESAMPLED_NUMBERS = 3 * 10**8  # on the common clock that any streams may take, 2.4 GB
MOST_EMPTY_SHARE = 20  # times the numbers in the streams: beyond that they have hardly a stamp in common
MOST_SET_BACK = 20  # times that a clock is set back by less than a PAUSE; one that is more often tells no time
RESTART_ROWS = 10  # rows that are all back by a PAUSE from so many before, where a clock begins anew; late ones are few
TOO_LARGE = "holds more poses than are read at once; split the recording"


class BodySamples(NamedTuple):
    """Poses of one body by its own clock.

    time        (k,) [s] in any order; a stamp that repeats counts once
    position    (k, 3) in any unit; NaN where not seen
    quaternion  (k, 4) in any order, the same for all streams
    """

    name: str
    time: Floats
    position: Floats
    quaternion: Floats


def resample_streams(streams: Sequence[BodySamples]) -> tuple[Floats, Floats, Floats, list[Finding]]:
    """Time (n,) [s], positions (n, m, 3), quaternions (n, m, 4) of m streams, and what was done.

    Where all stamps are those of one clock, nothing is interpolated and nothing told; a stream that lacks a stamp has
    NaN there. Otherwise the clock is that of the fastest stream (and of the next fastest where that one is silent):
    positions and orientations are interpolated by cubics. Across a longer gap of a stream there is NaN.
    """
    known = [_clean(stream, len(streams)) for stream in streams]
    if not any(len(stream.time) for stream in known):
        raise CondyleError("no stream has a single pose", code="no-data")
    time, rows = _find_one_clock(known) or (_find_ticks(known), None)
    stamps = sum(len(stream.time) for stream in known)
    if len(time) * len(known) * 7 > max(MOST_RESAMPLED_NUMBERS, MOST_EMPTY_SHARE * 7 * stamps):
        raise CondyleError(TOO_LARGE, code="file-too-large")
    position, quaternion = empty((len(time), len(known), 3)), empty((len(time), len(known), 4))
    position[...] = quaternion[...] = np.nan
    for k, stream in enumerate(known):
        if rows is not None:
            position[rows[k], k], quaternion[rows[k], k] = stream.position, stream.quaternion
        else:
            position[:, k], quaternion[:, k] = interpolate(stream, time)
    if rows is not None:
        return time, position, quaternion, []
    seen = np.asarray(np.isfinite(position[:, :, 0]).any(axis=1))
    return time[seen], take_rows(position, seen), take_rows(quaternion, seen), [_describe(known)]


def resample_rows(
    time: Floats, rows: Sequence[Ints], cut: Callable[[int, Ints], BodySamples]
) -> tuple[Floats, Floats, Floats, list[Finding]]:
    """The same of sensors that have these rows of one table, each take of it by itself: where its clock is set back
    another begins, and its stamps are no moments of the one before.

    time   (n,) [s] of the rows
    cut    gives the samples of a sensor in some rows
    """
    take = number_takes(time, rows)
    parts = [[cut(k, some[take[some] == number]) for k, some in enumerate(rows)] for number in range(int(take[-1]) + 1)]
    if len(parts) == 1:
        return resample_streams(parts[0])
    seen = [part for part in parts if any(len(_clean(one, len(rows)).time) for one in part)]
    found = [resample_streams(part) for part in seen or parts[:1]]
    clock, position, orientation = (np.concatenate([one[k] for one in found]) for k in range(3))
    return clock, position, orientation, next((told for *_, told in found if told), [])


def number_takes(time: Floats, rows: Sequence[Ints]) -> Ints:
    """(n,) how often a clock was set back before each row: far, or by less, where sensors that have these rows then
    report for a time that they had reported already, which late rows do not.
    """
    edge = np.full(RESTART_ROWS - 1, np.inf)
    window = np.lib.stride_tricks.sliding_window_view
    latest = window(np.append(time, -edge), RESTART_ROWS).max(axis=1)  # of the rows from each on
    earliest = window(np.append(edge, time), RESTART_ROWS).min(axis=1)  # of those up to each
    take = np.cumsum(np.append(False, latest[1:] < earliest[:-1] - PAUSE)).astype(np.int64)
    for _ in range(MOST_SET_BACK):
        back = [row for own in rows if (row := _find_row_set_back(time, take, own)) is not None]
        if not back:
            break
        take[min(back) :] += 1
    return take


def _find_row_set_back(time: Floats, take: Ints, own: Ints) -> int | None:
    """The first row from which a clock was set back, by the rows of one sensor; None: it was not.

    A sensor whose clock was set back came to where it was in steps as usual, and does so again; from a late row it
    jumps there, and to stamps that are too far ahead it had jumped.
    """
    stamp, part = time[own], take[own]
    step, inside = np.diff(stamp), np.diff(part) == 0
    if not (inside & (step < 0)).any() or sort_late(stamp, part)[0] is not None:
        return None
    usual = usual_step(step[inside & (step > 0)])
    for k in np.flatnonzero(inside & (step < 0)).tolist():
        again = k + 1 + np.flatnonzero((part[k + 1 :] != part[k]) | (stamp[k + 1 :] > stamp[k]))[:1]
        jumps = len(again) and part[again[0]] == part[k] and step[again[0] - 1] > MISSING_MIN_PERIODS * usual
        before = step[max(k - RESTART_ROWS, 0) : k].max(initial=0.0)
        if jumps or before > max(MISSING_MIN_PERIODS * usual, -0.5 * step[k]):
            continue
        between = slice(int(own[k]) + 1, int(own[k + 1]) + 1)  # of all sensors, the first of which was set back
        return between.start + int(np.argmax(time[between] < 0.5 * (stamp[k] + stamp[k + 1])))
    return None


def interpolate(stream: BodySamples, time: Floats) -> tuple[Floats, Floats]:
    """Positions (n, 3) and quaternions (n, 4) of a stream at other times; NaN outside and across long gaps.

    The stream's stamps increase and every pose in it is known.
    """
    t, p, q = stream.time, stream.position, stream.quaternion
    n, k = len(time), len(stream.time)
    if k < 2:
        met = time == t[0] if k else np.zeros(n, bool)
        return np.where(met[:, None], p[:1] if k else np.nan, np.nan), np.where(
            met[:, None], q[:1] if k else np.nan, np.nan
        )
    left = np.clip(np.searchsorted(t, time, "right") - 1, 0, k - 2)
    step = np.diff(t)
    usual = float(median(step)) * (1 + 1e-9)
    joined = step <= max(MISSING_MIN_PERIODS * usual, min(LONGEST_GAP_PERIODS * usual, GUESSED_MIN_S))
    u = (time - t[left]) / step[left]
    there = (u >= 0) & (u <= 1) & (joined[left] | (u == 0) | (u == 1))
    u = np.where(there, u, 0.0)[:, None]
    whole = np.concatenate([[False], joined[:-1]]) & joined & np.concatenate([joined[1:], [False]])  # four in a row
    p = np.where(np.abs(p) < FARTHEST, p, np.nan)  # beyond, products of slopes would overflow
    position = _interpolate_cubic(t, p, whole, left, u)
    quaternion = _interpolate_turns(t, q, whole, left, u)
    return np.where(there[:, None], position, np.nan), np.where(there[:, None], quaternion, np.nan)


def _interpolate_turns(t: Floats, q: Floats, whole: Bools, left: Ints, u: Floats) -> Floats:
    """Quaternions (n, 4): a cubic where four samples in a row turn less than half round, else the shortest arc.

    A length that is not one stays what it is, for the take to tell.
    """
    length = np.linalg.norm(q, axis=1, keepdims=True)
    unit = q / length
    cosine = (unit[1:] * unit[:-1]).sum(axis=1)
    unit = unit * np.cumprod(np.append(1.0, np.where(cosine < 0, -1.0, 1.0)))[:, None]
    arc = _interpolate_arc(q[left], q[left + 1], u)
    small = np.abs(cosine) > CUBIC_MIN_COSINE
    whole = whole & small & np.append(True, small[:-1]) & np.append(small[1:], True)
    cubic = _interpolate_cubic(t, unit, whole, left, u)
    cubic *= ((1 - u) * length[left] + u * length[left + 1]) / np.linalg.norm(cubic, axis=1, keepdims=True)
    return np.where(whole[left][:, None] & (u > 0) & (u < 1), cubic, arc)


def _interpolate_cubic(t: Floats, p: Floats, whole: Bools, left: Ints, u: Floats) -> Floats:
    """Hermite cubics whose slopes are those of the parabola through three samples; a chord where not `whole`."""
    step = np.diff(t)[:, None]
    chord = np.diff(p, axis=0) / step
    slope = np.empty_like(p)
    slope[0], slope[-1] = chord[0], chord[-1]
    slope[1:-1] = (step[1:] * chord[:-1] + step[:-1] * chord[1:]) / (step[1:] + step[:-1])
    a, b, h, curved = p[left], p[left + 1], step[left], whole[left][:, None]
    start = np.where(curved, slope[left], chord[left]) * h
    end = np.where(curved, slope[left + 1], chord[left]) * h
    v = 1 - u
    cubic = (1 + 2 * u) * v * v * a + u * v * v * start + u * u * (3 - 2 * u) * b - u * u * v * end
    return np.where(u == 0, a, np.where(u == 1, b, cubic))  # a stamp that is met gives back its sample, bit by bit


def _interpolate_arc(a: Floats, b: Floats, u: Floats) -> Floats:
    """Quaternions at the fraction u (n, 1) of the shortest way from a to b (n, 4)."""
    b = np.where((a * b).sum(axis=1, keepdims=True) < 0, -b, b)
    ua, ub = a / np.linalg.norm(a, axis=1, keepdims=True), b / np.linalg.norm(b, axis=1, keepdims=True)
    angle = 2 * np.arctan2(np.linalg.norm(ua - ub, axis=1), np.linalg.norm(ua + ub, axis=1))[:, None]
    near = angle < 1e-6
    sine = np.where(near, 1.0, np.sin(angle))
    wa = np.where(near, 1 - u, np.sin((1 - u) * angle) / sine)
    wb = np.where(near, u, np.sin(u * angle) / sine)
    return np.where(u == 0, a, np.where(u == 1, b, wa * a + wb * b))


def _clean(stream: BodySamples, count: int) -> BodySamples:
    """Known poses only, by increasing time, each stamp once: the first that stands there. One of so many streams."""
    time = np.asarray(stream.time, np.float64)
    p, q = np.asarray(stream.position, np.float64), np.asarray(stream.quaternion, np.float64)
    if time.ndim != 1 or p.shape != (len(time), 3) or q.shape != (len(time), 4):
        raise ValueError(f"stream '{stream.name}': shapes {time.shape}, {p.shape}, {q.shape}")
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        length = np.linalg.norm(q, axis=1)
        known = np.isfinite(time) & np.isfinite(p).all(axis=1) & np.isfinite(length) & (length > 1e-9)
    time, first = np.unique(time[known], return_index=True)
    apart = np.diff(time, prepend=-np.inf) > SHORTEST_STEP_S  # nearer than that no clock counts
    rows = np.flatnonzero(known)[first[apart]]
    return BodySamples(stream.name, time[apart], one_of_many(p[rows], count), one_of_many(q[rows], count))


def _find_period(time: Floats) -> float:
    return float(median(np.diff(time))) if len(time) > 1 else np.inf


def _rank_slowness(stream: BodySamples) -> tuple[float, int]:
    """Fast streams first, whatever the rounding of their stamps, and of equally fast ones the longest."""
    return float(f"{_find_period(stream.time):.4g}"), -len(stream.time)


def _find_one_clock(streams: Sequence[BodySamples]) -> tuple[Floats, list[Ints]] | None:
    """The stamps of all streams and each stream's rows among them, where they are those of one clock."""
    shortest = min(_find_period(stream.time) for stream in streams)
    stamps = np.sort(np.concatenate([stream.time for stream in streams]))
    if len(streams) == 1 or len(stamps) < 2 or not np.isfinite(shortest):
        time = np.unique(stamps)
        return time, [np.searchsorted(time, stream.time) for stream in streams]
    new = np.concatenate([[True], np.diff(stamps) > SAME_STAMP_PERIODS * shortest])
    time = stamps[new]
    period = _find_period(time)
    rows = [np.searchsorted(time, stream.time, "right") - 1 for stream in streams]
    for stream, row in zip(streams, rows, strict=True):
        twice = len(row) > 1 and (np.diff(row) == 0).any()
        if twice or (len(row) > 1 and _find_period(stream.time) > SAME_RATE_RATIO * period):
            return None
    return time, rows


def _find_ticks(streams: Sequence[BodySamples]) -> Floats:
    """Stamps of the fastest stream, and where it is silent those of the next fastest that is not."""
    ordered = [stream.time for stream in sorted(streams, key=_rank_slowness) if len(stream.time)]
    time = ordered[0]
    period = _find_period(time)
    for other in ordered[1:]:
        after = np.searchsorted(time, other)
        ahead = time[np.minimum(after, len(time) - 1)] - other
        behind = other - time[np.maximum(after - 1, 0)]
        lonely = np.minimum(np.abs(ahead), np.abs(behind)) > SILENT_PERIODS * period
        time = np.union1d(time, other[lonely])
    return time


def _describe(streams: Sequence[BodySamples]) -> Finding:
    rates = [1 / _find_period(stream.time) for stream in streams if len(stream.time) > 1]
    fastest = min(streams, key=_rank_slowness).name
    said = list_some([f"{each:.4g}" for each in rates], 6, ", ...")
    text = (
        f"the {len(streams)} streams have clocks of their own ({said} Hz) and were interpolated onto the clock of "
        f"{fastest}; long gaps stay empty"
    )
    return Finding(
        "common-clock", "info", text, tuple(s.name for s in streams), value=max(rates, default=0.0), unit="Hz"
    )
