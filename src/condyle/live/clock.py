"""The clock of a source on that of this machine: offset and drift, what came twice or late, and when it is lost.

Delays are never negative, so the line below arrival minus device time is the offset of both clocks with its drift, but
for the shortest delay. A jump of the device's time, or a pause, begins a segment: nothing is summed across it.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Literal, NamedTuple

from ..io.formats._log_sources import LATE_MAX_S
from ..maths.envelope import LowerHull, merge_hulls
from ..model.clock import PAUSE, PERIODS

STALE_AFTER_S = 0.5  # s without a new packet
LOST_AFTER_S = 3.0  # s without a new packet
HULL_S = 20.0  # s of packets of one hull
HULLS = 30  # newest hulls that the line is drawn below: ten minutes
RENEW_S = 5.0  # s from one line to the next, where no packet lies below it
DRIFT_FROM_S = 10.0  # s of packets from which a drift is told; before, the line is level
DRIFT_MAX = 2e-3  # s per second: no clock is worse, steeper lines are made by delays
KNOWN_FROM_S = 1.0  # s of packets from which a packet that comes too early tells a jump, not a shorter delay
EARLY_JUMP_S = 0.1  # s by which a packet comes too early for the line: the device's time has jumped ahead
LATE_JUMP_S = 0.25  # s by which every packet comes too late ...
LATE_JUMP_FOR_S = 2.0  # s for so long: the device's time has jumped back
RECENT_PACKETS = 256  # among which one that comes twice is recognised
USUAL_STEPS = 31  # newest steps whose median is the usual one

Kind = Literal["new", "again", "late", "resumed", "jump"]
State = Literal["waiting", "live", "stale", "lost"]


class Stamp(NamedTuple):
    """What is known of a packet's time.

    kind     "new": in its order; "again": it came before; "late": it belongs before the newest; "resumed": after a
             pause; "jump": the device's time jumped. With the last two a segment begins
    time     [s] when it was measured, by the clock of this machine, but for the shortest delay
    delay    [s] beyond the shortest delay
    segment  number of the stretch without pause or jump
    """

    kind: Kind
    time: float
    delay: float
    segment: int


class SourceClock:
    """Follows one source, packet by packet.

    offset   [s] of this machine's clock ahead of the device's, at the newest packet
    drift    [s/s] by which the offset grows
    segment  number of the newest stretch
    """

    def __init__(self) -> None:
        self.segment = 0
        self.offset = self.drift = 0.0
        self._newest = self._seen_at = -math.inf
        self._recent: deque[float] = deque(maxlen=RECENT_PACKETS)
        self._steps: deque[float] = deque(maxlen=USUAL_STEPS)
        self._begin_line(math.nan)

    def _begin_line(self, device: float) -> None:
        """Forgets offset and drift."""
        self._first = self._hull_from = self._renewed = device
        self._hulls = deque([LowerHull()], maxlen=HULLS)
        self._sum, self._count = deque([0.0], maxlen=HULLS), deque([0], maxlen=HULLS)
        self._middle = 0.0
        self._late_since: float | None = None

    def add(self, device_time: float, arrival_time: float) -> Stamp:
        """The stamp of the next packet, given its device's time (NaN where it has none) and its arrival [s]."""
        if math.isnan(device_time):
            return self._add_without_device_time(arrival_time)
        kind = self._find_kind(device_time)
        delay = self._delay(device_time, arrival_time)
        if kind == "jump" or (kind in ("new", "resumed") and self._has_jumped(device_time, arrival_time, delay)):
            kind, delay = "jump", 0.0
            self._begin_line(math.nan)
            self._recent.clear()
            self._steps.clear()
        if kind == "again":
            return Stamp(kind, device_time + self._at(device_time), delay, self.segment)
        self._recent.append(device_time)
        self._follow(device_time, arrival_time - device_time)
        if kind != "late":
            self.segment += kind != "new"
            if kind == "new" and math.isfinite(self._newest):
                self._steps.append(device_time - self._newest)
            self._newest, self._seen_at = device_time, arrival_time
            self.offset = self._at(device_time)
        at = self._at(device_time)
        return Stamp(kind, device_time + at, max(arrival_time - device_time - at, 0.0), self.segment)

    def add_replayed(self, device_time: float, arrival_time: float) -> Stamp:
        """The same for a file that is replayed at any speed: segments by its own time, and nothing is followed."""
        if math.isnan(device_time):
            return self._add_without_device_time(arrival_time)
        kind = self._find_kind(device_time)
        if kind in ("again", "late"):
            kind = "again" if device_time == self._newest else "jump"
        self.segment += kind in ("jump", "resumed")
        if kind == "new" and math.isfinite(self._newest):
            self._steps.append(device_time - self._newest)
        self._newest, self._seen_at = device_time, arrival_time
        return Stamp(kind, arrival_time, 0.0, self.segment)

    def _add_without_device_time(self, arrival: float) -> Stamp:
        step = arrival - self._newest
        resumed = math.isfinite(step) and self._is_pause(step)
        self.segment += resumed
        if math.isfinite(step) and not resumed:
            self._steps.append(step)
        self._newest = self._seen_at = arrival
        return Stamp("resumed" if resumed else "new", arrival, 0.0, self.segment)

    def silent(self, now: float) -> float:
        """[s] since the newest packet that was new; infinite before the first."""
        return now - self._seen_at

    @property
    def followed(self) -> float:
        """[s] of packets by which offset and drift are known."""
        return 0.0 if math.isnan(self._first) else max(self._newest - self._first, 0.0)

    def state(self, now: float) -> State:
        """Whether the source lives, by the time since its newest packet; one that sends the same again is stale too."""
        silent = self.silent(now)
        if math.isinf(silent):
            return "waiting"
        return "live" if silent <= STALE_AFTER_S else "stale" if silent <= LOST_AFTER_S else "lost"

    def _find_kind(self, device: float) -> Kind:
        """What the device's time alone tells of a packet."""
        step = device - self._newest
        if math.isinf(step):
            return "new"
        if step <= 0:
            if step < -LATE_MAX_S:
                return "jump"
            return "again" if device in self._recent else "late"
        return "resumed" if self._is_pause(step) else "new"

    def _is_pause(self, step: float) -> bool:
        """A step that is no gap any more, by the rule of recordings (model.clock)."""
        usual = median(self._steps) if self._steps else math.inf
        return step > PAUSE and (math.isinf(usual) or step > PERIODS * usual)

    def _has_jumped(self, device: float, arrival: float, delay: float) -> bool:
        """Whether the device's time no longer lies where the line has it."""
        if math.isnan(self._first):
            return False
        known = self._newest - self._first >= KNOWN_FROM_S
        if known and delay < -EARLY_JUMP_S - DRIFT_MAX * (device - self._newest):
            return True
        if delay < LATE_JUMP_S:
            self._late_since = None
        elif self._late_since is None:
            self._late_since = arrival
        return self._late_since is not None and arrival - self._late_since > LATE_JUMP_FOR_S

    def _delay(self, device: float, arrival: float) -> float:
        return 0.0 if math.isnan(self._first) else arrival - device - self._at(device)

    def _at(self, device: float) -> float:
        """[s] height of the line."""
        return self._height + self.drift * (device - self._middle)

    _height = 0.0

    def _follow(self, device: float, ahead: float) -> None:
        """Takes in that arrival is so much ahead of device time, and draws the line anew where that is due."""
        if math.isnan(self._first):
            self._begin_line(device)
            self._height, self.drift, self._middle = ahead, 0.0, device
        if device - self._hull_from > HULL_S:
            self._hulls.append(LowerHull())
            self._sum.append(0.0)
            self._count.append(0)
            self._hull_from = device
        self._hulls[-1].add(device, ahead)
        self._sum[-1] += device
        self._count[-1] += 1
        if ahead < self._at(device) or device - self._renewed > RENEW_S:
            self._draw_line(device)

    def _draw_line(self, device: float) -> None:
        self._renewed = device
        hull = merge_hulls(list(self._hulls))
        self._middle = sum(self._sum) / sum(self._count)
        if device - hull.x[0] >= DRIFT_FROM_S:
            self._height, self.drift = hull.line_below(self._middle)
        if device - hull.x[0] < DRIFT_FROM_S or abs(self.drift) > DRIFT_MAX:
            self._height, self.drift = min(hull.y), 0.0
