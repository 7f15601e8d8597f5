"""A figure that firms up while frames come in: the plan of `fit` on what the session remembers, and what is new in it.

No estimator of its own: each solve is a fit of the newest seconds and of stretches of everything before them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..faults.slips import Slip, SlipRepair, moved_back
from ..findings import Finding
from ..io.format import ReadOptions
from ..io.log_records import Record
from ..maths.threads import limit_threads
from ..model.options import FitOptions
from ..model.recording import Convention
from ..model.skeleton import Skeleton
from ..model.stage import Change
from ..model.take import Take
from ..prepare.read import Loaded, bodies_in, understand
from .coach import Coach, Progress, Prompt, is_finished
from .excerpt import Excerpt

if TYPE_CHECKING:
    from ..io.exports.figure import Figure
    from .show import LivePage

# Findings that somebody has to act upon while the person still wears the sensors.
ALARM_CODES = ("slip", "swap", "dropout", "frozen-samples", "hemisphere-flip", "bent-field", "latency", "device-error")
TIMED_CODES = ("slip", "swap")  # the same one again is told by its moment
SAME_MOMENT_S = 1.5  # s between which two solves tell the same event
CONFIRMING_SOLVES = 2  # successive solves that must tell an alarm before it is raised (benchmarks/live.py)
SLIP_SETTLED_S = 15.0  # s after which a slip that was told is taken as known and moved back before each solve
SHORTEST_S = 1.0  # s below which nothing is solved


@dataclass(frozen=True)
class Alarm:
    """Something that went wrong: its finding, told by so many solves in turn, and when it was raised [s]."""

    finding: Finding
    solves: int = 1
    raised: float | None = None


@dataclass(frozen=True, eq=False)
class Solve:
    """What a session knows at a moment.

    until     [s] time of the newest frame
    skeleton  None where nothing can be told yet, with the reason in `problem`
    raised    alarms that are new with this solve; alarms: all that stand
    page      what a page shows of it
    prompt    what to move next; progress: how far every joint is; finished: more of this motion brings little
    figure    its bones as other programs understand them
    newest    [s] arrival of the newest frame
    conventions  by source: how numbers are read, where the motion told it
    slips     sensors that slipped: their poses are to be moved back
    cpu       [s] that it took
    """

    until: float
    skeleton: Skeleton | None
    raised: tuple[Alarm, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    problem: str = ""
    page: LivePage | None = None
    prompt: Prompt | None = None
    progress: tuple[Progress, ...] = ()
    finished: bool = False
    figure: Figure | None = None
    newest: float = -np.inf
    conventions: dict[str, Convention] = field(default_factory=dict)
    slips: tuple[Slip, ...] = ()
    cpu: float = 0.0


@dataclass(eq=False)
class Session:
    """Frames in, solves out. It belongs to one process and one thread."""

    options: FitOptions = field(default_factory=FitOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    excerpt: Excerpt = field(default_factory=Excerpt)
    coach: Coach = field(default_factory=Coach)
    _slips: list[Slip] = field(default_factory=list)
    _alarms: list[Alarm] = field(default_factory=list)
    _until: float = -np.inf

    def add(self, record: Record) -> None:
        """Takes in the next record of the log."""
        self.excerpt.add(record)

    def solve(self) -> Solve:
        """The figure as of the newest frame."""
        from ..pipeline import run
        from .show import find_bones, show_calibration

        started = _cpu()
        try:
            with limit_threads():
                loaded = understand(bodies_in([self.excerpt.recording()], self.reading), self.reading)
            take = loaded.take
            self._until = float(take.time[-1])
            take = self._settle(take)
            if take.seconds < SHORTEST_S:
                raise CondyleError(f"{take.seconds:.1f} s so far", code="few-frames")
            with limit_threads():
                found = run(take, self.options)
        except CondyleError as error:
            return Solve(self._until, None, (), self._standing(), str(error), cpu=_cpu() - started)
        self._remember(found.changes)
        raised = self._raise(found.skeleton.findings)
        figure = find_bones(found)
        prompt, progress = self.coach.advise(found.skeleton, self._until)
        return Solve(
            self._until,
            found.skeleton,
            raised,
            self._standing(),
            page=show_calibration(found, figure),
            figure=figure,
            prompt=prompt,
            progress=progress,
            finished=is_finished(found.skeleton, progress),
            newest=self.excerpt.newest,
            conventions=self._conventions(loaded),
            slips=(*self._slips, *(slip for one in found.changes if isinstance(one, SlipRepair) for slip in one.slips)),
            cpu=_cpu() - started,
        )

    def _conventions(self, loaded: Loaded) -> dict[str, Convention]:
        """How the numbers of the only source are read; several are read as they say themselves."""
        words = self.excerpt.sources
        return {words[0]: loaded.recordings[0].convention} if len(words) == 1 else {}

    def _standing(self) -> tuple[Alarm, ...]:
        return tuple(one for one in self._alarms if one.raised is not None)

    def _settle(self, take: Take) -> Take:
        """The take with sensors moved back that are known to have slipped."""
        here = [replace(slip, frame=int(np.searchsorted(take.time, slip.time))) for slip in self._slips]
        return moved_back(take, here)

    def _remember(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            if isinstance(change, SlipRepair) and self._until - change.slips[-1].time >= SLIP_SETTLED_S:
                self._slips += change.slips

    def _raise(self, findings: tuple[Finding, ...]) -> tuple[Alarm, ...]:
        """What these findings make of the alarms that stand, and those that are new."""
        told = [one for one in findings if one.code in ALARM_CODES and one.severity != "info"]
        standing, raised = [], []
        for alarm in self._alarms:
            again = next((one for one in told if _is_same(alarm.finding, one)), None)
            if again is not None:
                told.remove(again)
                alarm = replace(
                    alarm, solves=alarm.solves + 1, finding=again if alarm.raised is None else alarm.finding
                )
            if again is not None or alarm.raised is not None:  # one that was not told again was none
                standing.append(alarm)
        standing += [Alarm(finding) for finding in told]
        for k, alarm in enumerate(standing):
            if alarm.raised is None and alarm.solves >= CONFIRMING_SOLVES:
                standing[k] = replace(alarm, raised=self._until)
                raised.append(standing[k])
        self._alarms = standing
        return tuple(raised)


def _is_same(one: Finding, other: Finding) -> bool:
    if one.code != other.code or set(one.bodies) != set(other.bodies):
        return False
    if one.code not in TIMED_CODES or one.time is None or other.time is None:
        return True
    return abs(one.time[0] - other.time[0]) <= SAME_MOMENT_S


def _cpu() -> float:
    return time.process_time()
