"""A figure that firms up while frames come in: the plan of `fit` on what the session remembers, and what is new in it.

No estimator of its own: each solve is a fit of the newest seconds and of stretches of everything before them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..faults.slips import SlipRepair, move_back
from ..io.format import ReadOptions
from ..io.log_records import MARK, LogRecord, decode_mark
from ..maths.threads import limit_threads
from ..model.options import FitOptions
from ..model.recording import Convention, Recording, length_of
from ..model.skeleton import Skeleton, Slip
from ..model.stage import Change
from ..model.take import Take
from ..prepare.cutting import choose_bodies
from ..prepare.read import Loaded, bodies_in, understand
from .alarms import Alarm, choose_alarming, confirm, describe_suspicions, is_waiting
from .coach import Coach, Progress, Prompt, is_finished
from .excerpt import Excerpt
from .performer import Performer, find_figure

if TYPE_CHECKING:
    from ..io.exports.figure import Figure
    from .show import LivePage

# s after which a slip that was told is taken as known and moved back before each solve: longer than the slowest of
# benchmarks/live.py took to be told (13 s), and half of what is kept whole (excerpt.NEWEST_S)
SLIP_SETTLED_S = 15.0
SHORTEST_S = 1.0  # s below which nothing is solved


@dataclass(frozen=True, eq=False)
class Solve:
    """What a session knows at a moment.

    until     [s] time of the newest frame; begin: of the first
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
    begin: float = 0.0
    conventions: dict[str, Convention] = field(default_factory=dict)
    slips: tuple[Slip, ...] = ()
    cpu: float = 0.0


@dataclass(eq=False)
class Session:
    """Frames in, solves out. It belongs to one process and one thread.

    performer  what is known of the person from before
    """

    options: FitOptions = field(default_factory=FitOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    excerpt: Excerpt = field(default_factory=Excerpt)
    coach: Coach = field(default_factory=Coach)
    performer: Performer = field(default_factory=Performer)
    _slips: list[Slip] = field(default_factory=list)
    _alarms: list[Alarm] = field(default_factory=list)
    _until: float = -np.inf

    def add(self, record: LogRecord) -> None:
        """Takes in the next record of the log."""
        if record.kind == MARK:
            mark = decode_mark(record.payload)
            if mark is not None and mark.anew:
                self._begin_anew()
        else:
            self.excerpt.add(record)

    def _begin_anew(self) -> None:
        """Forgets what came so far."""
        self.excerpt.restart()
        self.coach, self._slips, self._alarms = Coach(self.coach.width), [], []

    @property
    def is_waiting(self) -> bool:
        """Whether something was told that another solve has to confirm."""
        return is_waiting(self._alarms)

    def solve(self) -> Solve:
        """The figure as of the newest frame."""
        from .show import find_bones, show_calibration

        started = _cpu()
        try:
            with limit_threads():
                loaded = understand(self._form_bodies(), self.reading)
            take = loaded.take
            self._until = float(take.time[-1])
            take = self._settle(take)
            if take.seconds < SHORTEST_S:
                raise CondyleError(f"{take.seconds:.1f} s so far", code="few-frames")
            with limit_threads():
                found = find_figure(take, self.options, self.performer)
        except CondyleError as error:
            return Solve(
                self._until,
                None,
                (),
                self._list_standing(),
                str(error),
                newest=self.excerpt.newest,
                begin=self.excerpt.begin or 0.0,
                cpu=_cpu() - started,
            )
        self._remember(found.changes)
        told, suspicions = choose_alarming(found.skeleton.findings), describe_suspicions(found.refused)
        moment = self._until - (self.excerpt.begin or 0.0)
        self._alarms, raised = confirm(self._alarms, told, moment, suspicions)
        figure = find_bones(found)
        prompt, progress = self.coach.advise(found.skeleton, self._until)
        return Solve(
            self._until,
            found.skeleton,
            tuple(raised),
            self._list_standing(),
            page=show_calibration(found, figure),
            figure=figure,
            prompt=prompt,
            progress=progress,
            finished=is_finished(found.skeleton, progress),
            newest=self.excerpt.newest,
            begin=self.excerpt.begin or 0.0,
            conventions=self._conventions(loaded),
            slips=(*self._slips, *(slip for one in found.changes if isinstance(one, SlipRepair) for slip in one.slips)),
            cpu=_cpu() - started,
        )

    def _form_bodies(self) -> list[Recording]:
        reading = self.reading
        formed = bodies_in([self.excerpt.make_recording()], reading)
        return [choose_bodies(one, reading) for one in formed]

    def _conventions(self, loaded: Loaded) -> dict[str, Convention]:
        """How the numbers of the only source are read, a unit that was guessed from all of them with it; several are
        read as they say themselves.
        """
        words, recording = self.excerpt.sources, loaded.recordings[0]
        if len(words) != 1:
            return {}
        return {words[0]: recording.convention.but(unit=f"{length_of(recording)[0]:.9g}")}

    def _list_standing(self) -> tuple[Alarm, ...]:
        return tuple(one for one in self._alarms if one.raised is not None)

    def _settle(self, take: Take) -> Take:
        """The take with sensors moved back that are known to have slipped."""
        here = [replace(slip, frame=int(np.searchsorted(take.time, slip.time))) for slip in self._slips]
        return move_back(take, here)

    def _remember(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            if isinstance(change, SlipRepair) and self._until - change.slips[-1].time >= SLIP_SETTLED_S:
                self._slips += change.slips


def _cpu() -> float:
    return time.process_time()
