"""What is wrong this second: the checks of `fit` that need no figure, on a ring of the newest seconds, and the sources.

A solve takes a second or two; a source that dies, a sensor that is lost and two that change places are told here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ..errors import CondyleError
from ..findings import Finding
from ..model.clock import find_origin
from ..model.recording import Bodies, Convention, Recording, to_take
from ..model.take import Take
from ..prepare.dropouts import prepare
from ..prepare.swaps import describe_swaps, find_swaps
from .alarms import TIMED_CODES, Alarm, choose_alarming, confirm
from .clock import Stamp
from .feed import SourceStatus
from .source import Packet

RING_S = 4.0  # s of the newest frames that are looked at: every swap of benchmarks/live.py is told, and nothing else
LOOK_PERIOD_S = 0.4  # s from one look to the next: a swap is told by the second, after 0.7 s (benchmarks/live.py)
RING_MIN_FRAMES = 40
RING_MOST_PACKETS = 4096  # of one source, at whatever rate it sends
UNSEEN_AFTER_S = 0.5  # s without a pose, from which a sensor that had one is told
DRIFT_APART_MIN = 200e-6  # s per second: crystals differ by at most half of that
SESSION_CLOCK_CODES = ("source-stale", "missing-samples", "clock-drift", "time-jumps")  # others: the recording's clock
DRIFT_KNOWN_S = 60.0  # s of packets from which a drift is believed to that


@dataclass(eq=False)
class Watch:
    """Looks at what comes in. `listen` is called by the threads of the sources, the rest by one other.

    conventions  by the words of sources: how their numbers are read, where the motion has told it
    """

    conventions: dict[str, Convention] = field(default_factory=dict)
    _rings: dict[str, deque[tuple[Packet, Stamp]]] = field(default_factory=dict)
    _origins: dict[str, float] = field(default_factory=dict)
    _events: list[Alarm] = field(default_factory=list)
    _told_at: dict[tuple[str, frozenset[str]], float] = field(default_factory=dict)
    _states: dict[str, Alarm] = field(default_factory=dict)
    _past: list[Alarm] = field(default_factory=list)
    _seen_once: dict[str, set[str]] = field(default_factory=dict)
    _jumps: dict[str, int] = field(default_factory=dict)

    def listen(self, packet: Packet, stamp: Stamp) -> None:
        ring = self._rings.get(packet.layout.source)
        if ring is None:
            ring = self._rings.setdefault(packet.layout.source, deque(maxlen=RING_MOST_PACKETS))
        if stamp.kind not in ("late", "again"):
            ring.append((packet, stamp))

    @property
    def alarms(self) -> list[Alarm]:
        """All that were raised; those that are over say when."""
        return [*(one for one in self._events if one.raised is not None), *self._past, *self._states.values()]

    def look(self, sources: Sequence[SourceStatus], moment: float) -> list[Alarm]:
        """Alarms that are new at a moment [s] of the session."""
        raised = [one for status in sources for one in self._look_at_source(status, moment)]
        raised += self._look_at_clocks(sources, moment)
        told: list[Finding] = []
        for word in list(self._rings):
            try:
                take = self._newest(word)
            except CondyleError:  # numbers that are no poses: the solve says what is wrong with them
                continue
            if take is None:
                continue
            raised += self._look_for_lost(word, take, moment)
            told += self._look_at_take(take, moment)
        self._events, fresh = confirm(self._events, told, moment)
        return [*raised, *fresh]

    def _look_at_source(self, status: SourceStatus, moment: float) -> list[Alarm]:
        """Whether a source is silent, and whether its clock jumped."""
        raised = []
        if status.jumps > self._jumps.get(status.word, 0):
            text = f"{status.word}: its clock jumped; a segment begins, and nothing is computed across it"
            jumped = Finding("time-jumps", "warning", text, time=(moment, moment))
            self._past.append(Alarm(jumped, raised=moment, over=moment))
            raised.append(self._past[-1])
        self._jumps[status.word] = status.jumps
        finding: Finding | None = None
        if status.state in ("stale", "lost") and not status.ended and not status.replayed:
            silent = status.silent
            text = f"{status.word} sends nothing for {silent:.1f} s"
            if status.state == "lost":
                text = f"{status.word} is lost: nothing came for {silent:.0f} s; check that it runs, and the network"
            severity = "error" if status.state == "lost" else "warning"
            since = moment - silent
            finding = Finding("source-stale", severity, text, time=(since, since), value=silent, unit="s")  # type: ignore[arg-type]
        return [*raised, *self._set_state(status.word, finding, moment)]

    def _look_at_clocks(self, sources: Sequence[SourceStatus], moment: float) -> list[Alarm]:
        known = [one for one in sources if one.followed >= DRIFT_KNOWN_S]
        raised = []
        for one, other in combinations(known, 2):
            apart = abs(one.drift - other.drift)
            finding = None
            if apart >= DRIFT_APART_MIN:
                text = (
                    f"the clocks of {one.word} and {other.word} drift apart by {1e6 * apart:.0f} ppm, "
                    f"{60e3 * apart:.0f} ms a minute; it is followed here, and not by other programs"
                )
                finding = Finding("clock-drift", "warning", text, time=(moment, moment), value=apart, unit="1")
            raised += self._set_state(f"{one.word} {other.word}", finding, moment)
        return raised

    def _look_for_lost(self, word: str, take: Take, moment: float) -> list[Alarm]:
        """Sensors that had a pose and have none for a while."""
        known = self._seen_once.setdefault(word, set())
        raised = []
        newest = take.time[-1]
        for k, name in enumerate(take.names):
            rows = np.flatnonzero(take.seen[:, k])
            if len(rows):
                known.add(name)
            silent = float(newest - (take.time[rows[-1]] if len(rows) else take.time[0]))
            finding = None
            if name in known and silent >= UNSEEN_AFTER_S:
                since = moment - silent
                text = f"{name}: not seen for {silent:.1f} s; check the sensor, its cable, and what hides it"
                finding = Finding(
                    "missing-samples", "warning", text, (name,), time=(since, since), value=silent, unit="s"
                )
            raised += self._set_state(f"{word}/{name}", finding, moment)
        return raised

    def _set_state(self, key: str, finding: Finding | None, moment: float) -> list[Alarm]:
        """Something lasts, or not any more; what is new or worse than before is raised."""
        before = self._states.get(key)
        if finding is None:
            if before is not None:
                assert before.raised is not None
                length = moment - (before.finding.time or (before.raised,))[0]
                text = f"{before.finding.text}; back after {length:.1f} s"
                self._past.append(replace(before, finding=replace(before.finding, text=text), over=moment))
                del self._states[key]
            return []
        worse = before is None or before.finding.severity != finding.severity
        raised = moment if before is None or before.raised is None else before.raised
        self._states[key] = Alarm(finding, raised=raised)
        return [self._states[key]] if worse else []

    def _look_at_take(self, take: Take, moment: float) -> list[Finding]:
        """What the checks of `fit` tell of the newest seconds, but what they told just before."""
        if take.frames < RING_MIN_FRAMES:
            return []
        ready = prepare(take)
        told = choose_alarming([*ready.findings, *describe_swaps(find_swaps(ready), repaired=False)])
        standing = {(one.finding.code, frozenset(one.finding.bodies)) for one in self._events if one.raised is not None}
        fresh = []
        for finding in told:
            key = finding.code, frozenset(finding.bodies)
            again = key in self._told_at and moment - self._told_at[key] <= RING_S
            if finding.code in TIMED_CODES and again and key in standing:
                self._told_at[key] = moment  # the same one; as the ring goes on, another part of it is the longer one
                continue
            self._told_at[key] = moment
            fresh.append(finding)
        return fresh

    def _newest(self, word: str) -> Take | None:
        """The newest seconds of a source on the clock of the session's recording."""
        ring = list(self._rings[word])
        if not ring:
            return None
        layout = ring[-1][0].layout
        device = layout.clock in ("device", "file")
        rows = [packet for packet, _ in ring if packet.layout is layout]
        time = np.array([one.device_time if device else one.arrival_time for one in rows])
        if not layout.bodies or not np.isfinite(time).all():
            return None
        origin = self._origins.setdefault(word, find_origin(time))
        before = np.append(-math.inf, np.maximum.accumulate(time)[:-1])
        kept = np.flatnonzero((time > before) & (time >= time[-1] - RING_S))
        if len(kept) < 2:
            return None
        position, orientation, _ = layout.split(np.stack([rows[k].values for k in kept]))
        bodies = Bodies(layout.bodies, position, orientation)
        convention = self.conventions.get(word, layout.convention)
        return to_take(Recording(bodies=bodies, time=time[kept] - origin, convention=convention))
