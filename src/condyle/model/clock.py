"""Time as devices write it, with repeated stamps and jumps, and the one clock on which several recordings are shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from ..errors import CondyleError
from ..findings import Finding, many
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.series import SENSOR_RATES_HZ, find_packets, segment_slices, spread_packets, usual_step
from .values import dataclass

PAUSE = 1.0  # s: a longer step may be a pause of the recording
PERIODS = 20.0  # ... if it is also so many times the usual step
SORTED_MIN_STEPS = 0.75  # usual steps between rows that were sorted; of a clock that was set back, or two takes, half
FEWEST_CLOCKED_FRAMES = 10  # frames from which a rate is doubted
USUAL_RATES_HZ = (5.0, 2000.0)  # Hz that the times in another unit must give
FASTEST_USUAL_M_S = 13.0  # m/s of a sensor against the others in half of the frames; the fastest runner's feet have 12
CLOCK_UNITS_S = {
    "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9, "minutes": 60.0, "hours": 3600.0, "days": 86400.0,
}  # fmt: skip
EPOCH_MIN_S = 1e7  # s: a clock that stands later counts from a date, not from the start of a recording or a machine
UNIX_TIMES_S = (9e8, 4e9)  # s: years 1998 to 2096, when a count since 1970 is told as a date
LATEST = 1e30  # s, and as early: no clock, whatever it counts, and differences of such numbers are finite


def in_order(
    time: Floats | None, segment: Ints | None, frames: int, moved: Callable[[], Bools] | None = None
) -> tuple[Ints | slice, Ints | None, Floats | None, list[Finding]]:
    """Rows to keep, their segment and time, and what was repaired.

    time, segment   (frames,) [s], (frames,), or None where a recording has none
    moved           gives (frames - 1,) whether a row differs from the one before in more than its time
    A stamp that repeats keeps its first row. Where time runs backwards, or jumps forward far, a new segment begins:
    nothing in a fit needs one clock throughout, but nothing may differentiate across the jump. Rows that are written
    from the last to the first are turned round. Times that count from a date are given from the start of the take, and
    frames that were stamped in packets are spread between the packets; else time is left as it is. A clock that stands
    still throughout is none.
    """
    if time is None:
        return slice(None), segment, None, []
    known = np.abs(time) < LATEST
    if not known.all():
        frame = int(np.argmin(known))
        raise CondyleError(
            "time is not a number; correct or delete that row, or give --rate to count frames instead",
            code="bad-time",
            frame=frame,
        )
    if frames > 2 and moved is not None and (time == time[0]).all() and 2 * moved().sum() >= frames - 1:
        text = f"all {frames} rows bear one time, {time[0]:.10g} s, though the sensors move; frames are counted instead"
        return slice(None), segment, None, [Finding("repeated-time", "warning", text, frame=1, count=frames - 1)]
    own = np.zeros(frames, np.int64) if segment is None else segment
    turned, findings = _turn_round(time, own)
    rows: Ints | slice = slice(None) if turned is None else turned
    time, findings = _count_from_start(time if turned is None else time[turned], findings)
    inside = np.diff(own) == 0
    time, findings = _spread(time, own, moved, turned, findings)
    late, told = sort_late(time, own)
    if late is not None:
        rows = turned = late if turned is None else turned[late]
        time, findings = time[late], [*findings, *told]
    step = np.diff(time)
    if ((step > 0) | ~inside).all() and not _jumps(step, inside).any():
        return rows, segment, time, findings
    kept, segment, time, told = _repair(time, own)
    return (kept if turned is None else turned[kept]), segment, time, [*findings, *told]


def sort_late(time: Floats, segment: Ints) -> tuple[Ints | None, list[Finding]]:
    """The rows in their order of time where some arrived late, as over a network; None: they are, or none did.

    A clock that is set back, or begins anew, gives rows for a time that has rows already: they do not fit between.
    """
    step, inside = np.diff(time), np.diff(segment) == 0
    back = inside & (step < 0)
    if not back.any() or (step[back] < -PAUSE).all():
        return None, []
    part = np.cumsum(np.append(0, ~inside | (step < -PAUSE)))  # so far back is another take
    rows = np.lexsort((time, part))
    apart = np.diff(time[rows])
    among = (np.diff(part) == 0) & ((rows[1:] != np.arange(1, len(rows))) | (rows[:-1] != np.arange(len(rows) - 1)))
    usual = usual_step(apart[(np.diff(part) == 0) & (apart > 0)])
    # What is missing elsewhere makes no room: a longer step counts as a usual one.
    if not among.any() or not np.minimum(apart[among], usual).mean() >= SORTED_MIN_STEPS * usual:
        return None, []
    count, first = int(back.sum()), int(np.argmax(back)) + 1
    text = (
        f"{many(count, 'row')} arrived after later ones, first that of {time[first]:g} s after that of "
        f"{time[first - 1]:g} s: all rows were put in their order of time; look at what wrote them"
    )
    return rows, [Finding("time-backwards", "warning", text, frame=first, count=count)]


def _turn_round(time: Floats, segment: Ints) -> tuple[Ints | None, list[Finding]]:
    """The rows in their order of time where each segment is written from its end to its beginning; None: they are."""
    step = np.diff(time)[np.diff(segment) == 0]
    if len(step) < 2 or (step > 0).any() or not (step < 0).any():
        return None, []
    rows = np.concatenate([np.arange(part.stop - 1, part.start - 1, -1) for part in segment_slices(segment)])
    text = (
        "time runs backwards throughout: the rows are taken from the last to the first, and the joints do not depend "
        "on it"
    )
    return rows, [Finding("time-backwards", "warning", text, frame=1, count=int((step < 0).sum()))]


def find_origin(time: Floats) -> float:
    """[s] from which times are counted: the first of them where they count from a date, else 0."""
    first = float(time[0]) if len(time) else 0.0
    return first if abs(first) >= EPOCH_MIN_S else 0.0


def _count_from_start(time: Floats, findings: list[Finding]) -> tuple[Floats, list[Finding]]:
    """Times that count from a date, from the first one on."""
    origin = find_origin(time)
    if not origin:
        return time, findings
    date = ""
    if UNIX_TIMES_S[0] < origin < UNIX_TIMES_S[1]:
        date = f" ({datetime.fromtimestamp(origin, UTC):%Y-%m-%d %H:%M:%S} UTC, if they count from 1970)"
    text = f"its times begin at {origin:.6f} s{date}; they are given from the start of the take"
    return time - origin, [*findings, Finding("clock-origin", "info", text, value=origin, unit="s")]


def _spread(
    time: Floats, segment: Ints, moved: Callable[[], Bools] | None, turned: Ints | None, findings: list[Finding]
) -> tuple[Floats, list[Finding]]:
    """Times of frames that were stamped in packets, spread between the packets."""
    step, inside = np.diff(time), np.diff(segment) == 0
    inside &= ~_jumps(step, inside)
    packets = None if (step[inside] < 0).any() else find_packets(step[inside])
    if packets is None:
        return time, findings
    fresh = np.ones(len(time), dtype=bool)
    if moved is not None:
        fresh[1:] = (moved() if turned is None else moved()[::-1]) | ~inside
    if (inside & (step == 0) & (~fresh[1:] | (moved is None))).any():
        return time, findings  # rows that were written twice are no frames of a packet
    part = np.cumsum(np.append(False, ~inside))
    apart = np.diff(time[fresh])[np.diff(part[fresh]) == 0]
    packets = find_packets(apart) or packets
    spread = spread_packets(time, part, packets, fresh)
    text = (
        f"frames are stamped in packets, {1 / packets.step:.4g} frames per second in all; those of a packet are "
        "spread over the time before it"
    )
    told = Finding("clock-packets", "warning", text, value=1 / packets.step, unit="Hz")
    return spread, [*findings, told]


def describe_clock_unit(
    time: Floats | None, segment: Ints | None, speed: Callable[[Floats], float] | None = None
) -> list[Finding]:
    """What to say of times [s] that give a rate which no sensor has, and in which unit they would give a usual one.

    The rate is that of the whole duration: stamps may come in packets. Of two units that nearest to the middle of the
    usual rates is advised. Minutes may give a rate that sensors have: then the motion tells, by its `speed` [m/s]
    at these times. Whole numbers one apart are frames that were counted.
    """
    if time is None or len(time) < FEWEST_CLOCKED_FRAMES:
        return []
    steps = np.diff(time)[slice(None) if segment is None else np.diff(segment) == 0]
    duration = float(steps.sum()) if len(steps) else 0.0
    rate = len(steps) / duration if duration > 0 else 0.0
    if not rate:
        return []
    if counted := _describe_counted(time, steps):
        return counted
    if SENSOR_RATES_HZ[0] <= rate <= SENSOR_RATES_HZ[1]:
        return _describe_minutes(time, rate, speed)
    usual = {unit: rate / seconds for unit, seconds in CLOCK_UNITS_S.items() if _is_usual(rate / seconds)}
    middle = np.sqrt(np.prod(USUAL_RATES_HZ))
    best, *others = sorted(usual, key=lambda unit: abs(np.log(usual[unit] / middle))) or [""]
    told = f"{rate:.3g}" if np.isfinite(rate) else "uncountably many"
    text = f"its times as seconds give {told} frames per second, which no sensor has"
    if best:
        also = "".join(f", as {unit} {usual[unit]:.4g}" for unit in others)
        text += (
            f"; as {best} they give {usual[best]:.4g}{also}: write them in seconds, or give --rate {usual[best]:.4g}"
        )
    else:
        text += "; no other unit gives a usual rate: give --rate"
    return [Finding("clock-unit", "warning", text, value=rate if np.isfinite(rate) else None, unit="Hz")]


def _describe_counted(time: Floats, steps: Floats) -> list[Finding]:
    if usual_step(steps) != 1 or (time % 1).any():
        return []
    text = (
        f"its times are {time[0]:.0f}, {time[1]:.0f} and so on, as if frames were counted; as seconds they give 1 "
        "frame per second: give --rate if that is not so"
    )
    return [Finding("clock-unit", "warning", text, value=1.0, unit="Hz")]


def _describe_minutes(time: Floats, rate: float, speed: Callable[[Floats], float] | None) -> list[Finding]:
    minute = CLOCK_UNITS_S["minutes"]
    if speed is None or not _is_usual(rate / minute):
        return []
    fast = speed(time)
    if not FASTEST_USUAL_M_S < fast < FASTEST_USUAL_M_S * minute:  # faster than that it is no clock alone
        return []
    text = (
        f"its times as seconds give {rate:.4g} frames per second and a sensor that moves at {fast:.3g} m/s against the "
        f"others half of the time, which no figure does; as minutes they give {rate / minute:.4g}: write them in "
        f"seconds, or give --rate {rate / minute:.4g}"
    )
    return [Finding("clock-unit", "warning", text, value=rate, unit="Hz")]


def _is_usual(rate: float) -> bool:
    return USUAL_RATES_HZ[0] <= rate <= USUAL_RATES_HZ[1]


def _jumps(step: Floats, inside: Bools) -> Bools:
    """Steps of time [s] within a segment that are no gap any more: the recording was paused."""
    forward = step[inside & (step > 0)]
    usual = float(median(forward)) if len(forward) else np.inf
    return np.asarray(inside & (step > max(PAUSE, PERIODS * usual)))


def _repair(time: Floats, segment: Ints) -> tuple[Ints, Ints, Floats, list[Finding]]:
    inside = np.diff(segment) == 0
    repeated = np.concatenate([[False], (np.diff(time) == 0) & inside])
    findings = []
    if repeated.any():
        count = int(repeated.sum())
        verb = "repeats" if count == 1 else "repeat"
        text = f"{many(count, 'row')} {verb} the time of the row before; the first of each is kept"
        findings.append(
            Finding("repeated-time", "warning", text, frame=int(np.argmax(repeated)), count=int(repeated.sum()))
        )
    rows = np.flatnonzero(~repeated)
    time, segment = time[rows], segment[rows]
    back = (np.diff(time) < 0) & (np.diff(segment) == 0)
    if back.any():
        first = int(np.argmax(back)) + 1
        text = (
            f"time runs backwards in {many(int(back.sum()), 'place')}, first from {time[first - 1]:g} s to "
            f"{time[first]:g} s; a new segment begins at each, and the joints do not depend on it"
        )
        findings.append(Finding("time-backwards", "warning", text, frame=int(rows[first]), count=int(back.sum())))
    step = np.diff(time)
    jump = _jumps(step, np.diff(segment) == 0)
    if jump.any():
        first = int(np.argmax(jump)) + 1
        longest = float(step[jump].max())
        text = (
            f"time jumps forward in {many(int(jump.sum()), 'place')}, first from {time[first - 1]:g} s to "
            f"{time[first]:g} s; a new segment begins at each; if the recording was not paused, check its clock"
        )
        findings.append(
            Finding(
                "time-jumps",
                "warning",
                text,
                time=(float(time[first - 1]), float(time[first])),
                value=longest,
                unit="s",
                frame=int(rows[first]),
                count=int(jump.sum()),
            )
        )
    starts = np.concatenate([[0], np.cumsum(back | jump | (np.diff(segment) != 0))])
    return rows, starts.astype(np.int64), time, findings


@dataclass(frozen=True, eq=False)
class Clock:
    """The one clock of several recordings on pages and in figures: it increases throughout. A recording keeps its own
    times where they come after those before it; otherwise it begins one frame after the end of the one before.

    first   (s,) frame at which each recording begins
    begin   (s,) [s] its own time there, and end (s,) at its last frame
    offset  (s,) [s] to be added to its own times
    step    [s] between frames, as usual; 0 where it is not known
    """

    first: Ints
    begin: Floats
    end: Floats
    offset: Floats
    step: float

    @classmethod
    def of(cls, time: Floats, segment: Ints) -> Clock:
        """The clock of frames with their own times [s] and the recordings they belong to."""
        parts = segment_slices(segment) if len(time) else []
        first = np.array([part.start for part in parts], np.int64)
        last = np.array([part.stop for part in parts], np.int64) - 1
        steps = np.diff(time)[np.diff(segment) == 0]
        step = float(np.nan_to_num(usual_step(steps)))
        begin, end = time[first], time[last]
        offset = np.zeros(len(first))
        now = -np.inf
        for k in range(len(first)):
            if begin[k] <= now:
                offset[k] = now + step - begin[k]
            now = end[k] + offset[k]
        return cls(first, begin, end, offset, step)

    def times(self, time: Floats, rows: Ints) -> Floats:
        """(n,) [s] running time of frames, given their own times and their numbers."""
        return np.asarray(time + self.offset[self.number_recordings(rows)])

    def number_recordings(self, rows: Ints) -> Ints:
        """Number of the recording that frames belong to."""
        return np.searchsorted(self.first, rows, side="right") - 1

    def moment(self, time: float, frame: int | None = None) -> float:
        """[s] running time of a moment in a recording's own time: that of a frame, else the first that holds it."""
        if not len(self.first):
            return time
        if frame is not None:
            k = max(int(np.searchsorted(self.first, frame, side="right")) - 1, 0)
        else:
            inside = (self.begin <= time) & (time <= self.end)
            k = int(inside.argmax()) if inside.any() else int(np.abs(self.begin - time).argmin())
        return float(time + self.offset[k])
