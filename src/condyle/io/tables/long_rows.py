"""Tables with one row per sensor and moment: which rows belong to one frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Floats, Ints
from ...maths.robust import median
from ...maths.spool import empty
from ...model.recording import QUATERNIONS
from ...model.values import dataclass
from ..resample import BodySamples, number_takes, resample_rows

MOST_STAMPS_PER_ROW = 0.75  # distinct stamps per row up to which stamps are those of whole frames
MOST_ROUND_SHARE = 0.25  # of the time between rounds: a round of stamps shorter than that is one frame


@dataclass(frozen=True)
class SensorFrames:
    """Frames by sensors; NaN where a frame lacks a sensor.

    time (n,) [s] or None; position (n, m, 3); orientation (n, m, k), k = 0 for markers
    """

    time: Floats | None
    position: Floats
    orientation: Floats
    findings: tuple[Finding, ...] = ()


def number_sensors(words: Sequence[str]) -> tuple[list[str], Ints]:
    """The different words of a column in the order of their first rows, and for each row which of them it holds."""
    cells, first, place = np.unique(np.array(words, dtype=np.str_), return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [str(cells[k]).strip('"') for k in order], np.argsort(order)[place].astype(np.int64)


def gather_frames(
    sensor: Ints,
    names: Sequence[str],
    position: Floats,
    orientation: Floats,
    *,
    time: Floats | None,
    frame: Floats | None = None,
    rotation: str,
) -> SensorFrames:
    """Frames from r rows: sensor (r,) index into names, position (r, 3), orientation (r, k), time (r,) [s], frame (r,).

    Rows of one frame are those with the same number, else the same stamp, else one round of the sensors. Sensors with
    stamps of their own are interpolated onto one clock (quaternions only), and that is told.
    """
    if frame is not None:
        return _gather(_group_by_key(frame, sensor), sensor, names, position, orientation, time)
    if time is not None and len(np.unique(time)) <= MOST_STAMPS_PER_ROW * len(time):
        return _gather(_group_by_key(time, sensor), sensor, names, position, orientation, time)
    rows = [np.flatnonzero(sensor == k) for k in range(len(names))]
    new = np.diff(sensor) <= 0
    if time is not None and np.isfinite(time).all() and len(time):  # no round has rows of before a clock was set back
        new |= np.diff(number_takes(time, rows)) != 0
    rounds = np.concatenate([[0], np.cumsum(new)])[: len(sensor)].astype(np.int64)
    if time is None or len(names) < 2 or rotation not in QUATERNIONS or _is_polled(rounds, sensor, time):
        return _gather(rounds, sensor, names, position, orientation, time)
    with np.errstate(over="ignore", invalid="ignore"):  # of absurd numbers, which the take leaves out
        clock, p, q, findings = resample_rows(
            time, rows, lambda k, own: BodySamples(names[k], time[own], position[own], orientation[own])
        )
    return SensorFrames(clock, p, q, tuple(findings))


def _group_by_key(key: Floats, sensor: Ints) -> Ints:
    """Frame (r,) of each row: that of its key; where a sensor would be in one twice, that of its run of equal keys."""
    if not np.isfinite(key).all():
        row = int(np.argmin(np.isfinite(key)))
        raise CondyleError(f"row {row + 1} of the table has no frame number or time", code="bad-time", frame=row)
    values, place = np.unique(key, return_inverse=True)
    pairs = place.astype(np.int64) * (int(sensor.max(initial=0)) + 1) + sensor
    if len(np.unique(pairs)) == len(pairs):
        first = np.full(len(values), len(key))
        np.minimum.at(first, place, np.arange(len(key)))
        if (np.diff(first) > 0).all():  # frames stay in the order of the file
            return place.astype(np.int64)
        return np.argsort(np.argsort(first))[place].astype(np.int64)
    new = (np.diff(key) != 0) | (np.diff(sensor) == 0)
    return np.concatenate([[0], np.cumsum(new)])[: len(key)].astype(np.int64)


def _is_polled(rounds: Ints, sensor: Ints, time: Floats) -> bool:
    """Whether the sensors were asked one after the other, quickly, once per frame."""
    most = int(np.bincount(sensor).max())
    count = int(rounds[-1]) + 1
    if count > 1.5 * most or count < 2 or not np.isfinite(time).all():
        return count < 2
    first = np.flatnonzero(np.diff(rounds, prepend=-1))
    last = np.append(first[1:], len(rounds)) - 1
    between = median(np.diff(time[first]))
    several = last > first  # one alone lasts for no time, whoever asked for it
    return bool(
        between > 0 and several.any() and median((time[last] - time[first])[several]) < MOST_ROUND_SHARE * between
    )


def gather_rows(
    frame: Ints, sensor: Ints, sensors: int, position: Floats, orientation: Floats
) -> tuple[Floats, Floats]:
    """(n, m, 3) and (n, m, k) from rows (r, 3), (r, k); NaN for a sensor a frame lacks. Of two the first counts."""
    n = int(frame.max(initial=-1)) + 1
    p, q = empty((n, sensors, 3)), empty((n, sensors, orientation.shape[1]))
    p[...] = q[...] = np.nan
    p[frame[::-1], sensor[::-1]] = position[::-1]
    q[frame[::-1], sensor[::-1]] = orientation[::-1]
    return p, q


def _gather(
    frame: Ints, sensor: Ints, names: Sequence[str], position: Floats, orientation: Floats, time: Floats | None
) -> SensorFrames:
    p, q = gather_rows(frame, sensor, len(names), position, orientation)
    if time is None:
        return SensorFrames(None, p, q)
    n = len(p)
    count = np.maximum(np.bincount(frame, minlength=n), 1)
    start = np.full(n, np.nan)
    start[frame[::-1]] = time[::-1]
    mean = start + np.bincount(frame, weights=time - start[frame], minlength=n) / count
    return SensorFrames(mean, p, q)
