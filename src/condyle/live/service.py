"""A session from its first packet to its folder: recorded, solved, watched, shown, sent on, and fitted at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..io.format import ReadOptions
from ..io.log_records import Mark
from ..maths import rotation
from ..model.motion import forward
from ..model.options import FitOptions
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..motion.play import play
from .alarms import Alarm, merge_alarms
from .feed import Feed
from .guide import Guide
from .messages import encode, encode_figure, encode_poses
from .newest import NewestPoses, Poses
from .performer import Performer
from .solver import Asked, SolverProcess
from .source import now
from .watch import LOOK_PERIOD_S, SESSION_CLOCK_CODES, Watch

if TYPE_CHECKING:
    from ..api import Fit
    from .outlets import Outlet
    from .server import LiveServer
    from .session import Solve

FRAME_PERIOD_S = 1 / 30  # s from one frame for viewers and outlets to the next
PAGE_STATUS_PERIOD_S = 0.5  # s from one word on the sources to the next
FINISHED_SOLVES = 3  # successive solves that must say that more brings little
FINISHED_MIN_S = 20.0  # s of a session before it ends by itself
MARK_MOST_CHARACTERS = 200  # of the text of a mark


@dataclass(eq=False)
class LiveSession:
    """Sources that are recorded by `feed` become a figure while they stream.

    until_enough  end by itself when more of the motion brings little
    performer     what is known of the person before
    guide         a routine for a visitor in the place of the coach
    ending        why it ends, once it does
    fault         what last went wrong with showing or marking it
    sent          frames that the outlets were sent
    """

    feed: Feed
    newest: NewestPoses
    watch: Watch
    options: FitOptions = field(default_factory=FitOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    server: LiveServer | None = None
    outlets: Sequence[Outlet] = ()
    until_enough: bool = False
    performer: Performer = field(default_factory=Performer)
    guide: Guide | None = None
    ending: str = ""
    fault: str = ""
    sent: int = 0
    marks: list[tuple[float, str]] = field(default_factory=list)
    _names: tuple[str, ...] | None = None
    _finished: int = 0
    _begin: float = field(default_factory=now)
    _next: dict[str, float] = field(default_factory=dict)
    _on_solve: list[Callable[[Solve], None]] = field(default_factory=list)
    _on_alarm: list[Callable[[Alarm], None]] = field(default_factory=list)
    _on_trouble: list[Callable[[str], None]] = field(default_factory=list)
    _troubles: dict[str, str] = field(default_factory=dict)

    def obey(self, said: str) -> None:
        """What the page of the operator says: stop, restart, or mark and a text."""
        word, _, text = said.partition(" ")
        if word == "stop":
            self.ending = "stopped by the operator"
        elif word == "mark":
            self.mark(text)
        elif word == "restart":
            self.mark("", anew=True)
        elif word == "next" and self.guide is not None:
            self.guide.skip()

    def mark(self, text: str = "", *, anew: bool = False) -> None:
        """Marks this moment in the log; anew: what came before it is left out from now on, here and in the result."""
        moment, text = now(), " ".join(text.split())[:MARK_MOST_CHARACTERS]
        try:
            self.feed.recorder.mark(Mark(moment, anew, text))
        except CondyleError as error:
            self.fault = error.text
            return
        if anew:
            self.marks, self._finished = [], 0
            if self.guide is not None:
                self.guide.begin()
        self.marks.append((moment - self._begin, text or ("begun anew" if anew else f"mark {len(self.marks) + 1}")))

    def on_solve(self, run: Callable[[Solve], None]) -> None:
        """Runs `run` with every solve, in the thread of `run`."""
        self._on_solve.append(run)

    def on_alarm(self, run: Callable[[Alarm], None]) -> None:
        """Runs `run` with every alarm when it is raised, in the thread of `run`."""
        self._on_alarm.append(run)

    def on_trouble(self, run: Callable[[str], None]) -> None:
        """Runs `run` with a sentence whenever something is wrong with the session itself, in the thread of `run`."""
        self._on_trouble.append(run)

    @property
    def alarms(self) -> list[Alarm]:
        """All that were raised; their times count from the begin of the session."""
        newest = self._solver.newest
        return merge_alarms(self.watch.alarms, () if newest is None else newest.alarms)

    def run(self, seconds: float | None = None) -> None:
        """Until every source ended, the time is over, an operator said so, or enough is known."""
        self._solver = SolverProcess(Asked(self.feed.recorder.path, self.options, self.reading, self.performer))
        if self.performer.skeleton is not None:
            self.newest.shapes = self.performer.skeleton.markers
        self.feed.start()
        try:
            while not self.ending:
                began = time.monotonic()
                try:
                    self._pass_on_solves()
                    self._pass_on_frame()
                    if self._is_due("look", LOOK_PERIOD_S):
                        self._look()
                    if self._is_due("status", PAGE_STATUS_PERIOD_S):
                        self._pass_on_trouble()
                        self._pass_on_status()
                except Exception as error:  # whatever goes wrong with showing, the recording goes on, and it is told
                    self.fault = str(error) if isinstance(error, (CondyleError, OSError)) else repr(error)
                if self.feed.ended:
                    self.ending = "every source ended"
                elif seconds is not None and now() - self._begin >= seconds:
                    self.ending = "the time is over"
                self.feed.wait(max(FRAME_PERIOD_S - (time.monotonic() - began), 0.0))
        finally:
            self.feed.close()
            self._solver.close()
            for outlet in self.outlets:
                outlet.close()

    def fit(self) -> Fit:
        """The figure of the whole recording: what `condyle fit` makes of the log, or `condyle solve` of a performer."""
        from ..api import fit_with, solve

        log, known = self.feed.recorder.path, self.performer
        if known.skeleton is not None or known.profile is not None:
            reading = {name: getattr(self.reading, name) for name in self.reading.given if name != "fix"}
            return solve(log, known.skeleton, profile=known.profile, **reading)
        return fit_with(log, self.options, self.reading)

    def _is_due(self, what: str, period: float) -> bool:
        moment = time.monotonic()
        if moment < self._next.get(what, -np.inf):
            return False
        self._next[what] = moment + period
        return True

    def _look(self) -> None:
        for alarm in self.watch.look(self.feed.status(), now() - self._begin):
            self._tell(alarm)
        if self.guide is not None:
            newest = self._solver.newest
            self.guide.advance(now() - self._begin, () if newest is None else newest.progress)
            if self.guide.over and not self.ending:
                self.ending = "the routine is over"

    def _tell(self, alarm: Alarm) -> None:
        for run in self._on_alarm:
            run(alarm)

    def _pass_on_solves(self) -> None:
        for found in self._solver.poll():
            self.newest.conventions, self.newest.slips = found.conventions, found.slips
            self.watch.conventions = found.conventions
            if found.skeleton is not None:
                self.newest.shapes = found.skeleton.markers
            self._finished = self._finished + 1 if found.finished else 0
            if self.until_enough and self._finished >= FINISHED_SOLVES and now() - self._begin >= FINISHED_MIN_S:
                self.ending = found.prompt.text if found.prompt is not None else "enough is known"
            for run in self._on_solve:
                run(found)
            known = merge_alarms(self.watch.alarms)
            for alarm in found.raised:
                if len(merge_alarms(known, [alarm])) > len(known):
                    self._tell(alarm)
            if self.server is not None:
                self._read_poses()  # another set of bodies makes a page begin anew, so it is told before what is known
                self.server.send("solve", describe_solve(found))

    @property
    def _skeleton(self) -> Skeleton | None:
        """The figure that is played: that of the newest solve, or the one that is known from before."""
        newest = self._solver.newest
        return self.performer.skeleton if newest is None or newest.skeleton is None else newest.skeleton

    def _read_poses(self) -> Poses | None:
        """The newest poses; a page is told of their bodies where these are others than before."""
        try:
            poses = self.newest.poses(now())
        except CondyleError:  # numbers that are no poses: the solve says what is wrong with them
            return None
        if poses is not None and self.server is not None and poses.names != self._names:
            self._names = poses.names
            self.server.send("bodies", encode("bodies", names=poses.names))
        return poses

    def _pass_on_frame(self) -> None:
        poses = self._read_poses()
        if poses is None:
            return
        if self.server is not None:
            turns = rotation.to_quaternion(poses.R)
            self.server.send_frame(encode_poses(poses.time, poses.p, turns, poses.markers))
        skeleton, solve = self._skeleton, self._solver.newest
        if skeleton is None or not set(skeleton.bodies) & set(poses.names):
            return
        if self.outlets or self.server is not None:
            figure = play_figure(skeleton, poses)
            for outlet in self.outlets:
                outlet.send(figure, skeleton, None if solve is None else solve.figure)
            self.sent += 1
            if self.server is not None:
                self.server.send_line(encode_figure(figure, skeleton))

    def _pass_on_trouble(self) -> None:
        """Tells what is wrong with the recording or the solver, once."""
        solver, fault = self._solver, self.feed.recorder.fault
        troubles: dict[str, str] = {}
        if fault is not None:
            troubles[fault.code] = f"not recorded: {fault.text}"
        if solver.given_up:
            troubles["given up"] = "nothing is solved any more: the solver died too often; the recording goes on"
        elif solver.restarts:
            troubles[f"{solver.restarts} restarts"] = "the solver died and was started again; the recording goes on"
        before, self._troubles = self._troubles, troubles
        for trouble, text in troubles.items():
            if trouble not in before:
                for run in self._on_trouble:
                    run(text)

    def _pass_on_status(self) -> None:
        if self.server is None:
            return
        newest, recorder = self._solver.newest, self.feed.recorder
        self.server.send(
            "status",
            encode(
                "status",
                seconds=now() - self._begin,
                sources=[asdict(one) for one in self.feed.status()],
                frames=recorder.frames,
                lost=recorder.lost,
                fault="" if recorder.fault is None else recorder.fault.text,
                trouble=self.fault,
                behind=None if newest is None else max(now() - newest.newest, 0.0),
                restarts=self._solver.restarts,
                given_up=self._solver.given_up,
                viewers=self.server.viewers,
                marks=[{"seconds": seconds, "text": text} for seconds, text in self.marks],
                alarms=[_describe_alarm(one, 0.0 if newest is None else newest.begin) for one in self.alarms],
                guide=None if self.guide is None else self.guide.describe(now() - self._begin),
            ),
        )


def play_figure(skeleton: Skeleton, poses: Poses) -> Poses:
    """The figure with its joints together, turned as its sensors are; NaN where a sensor is not there."""
    R, p = np.full((1, len(skeleton.bodies), 3, 3), np.nan), np.full((1, len(skeleton.bodies), 3), np.nan)
    for k, name in enumerate(skeleton.bodies):
        if name in poses.names:
            R[0, k], p[0, k] = poses.R[poses.names.index(name)], poses.p[poses.names.index(name)]
    played = forward(skeleton, play(skeleton, Take(skeleton.bodies, np.zeros(1), R, p)))
    return Poses(poses.time, skeleton.bodies, played.p_world_body[0], played.R_world_body[0])


def describe_solve(found: Solve) -> str:
    """A solve as a page is told of it."""
    page = found.page
    shown = None if page is None else {"page": page.page, "up": page.up, "low": page.low, "high": page.high}
    return encode(
        "solve",
        until=found.until,
        problem=found.problem,
        shown=shown,
        prompt=None if found.prompt is None else asdict(found.prompt),
        progress=[asdict(one) for one in found.progress],
        finished=found.finished,
        cpu=found.cpu,
    )


def _describe_alarm(alarm: Alarm, begin: float) -> dict[str, object]:
    """An alarm as a page is told of it, its moment in the session's time; begin: [s] that by the recording's."""
    time = alarm.finding.time
    if time is not None and alarm.finding.code not in SESSION_CLOCK_CODES:
        time = time[0] - begin, time[1] - begin
    return {**asdict(alarm.finding), "time": time, "raised": alarm.raised, "over": alarm.over}
