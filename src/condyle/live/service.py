"""A session from its first packet to its folder: recorded, solved, shown, sent on, and fitted at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..io.format import ReadOptions
from ..maths import rotation
from ..model.motion import forward
from ..model.options import FitOptions
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..motion.play import play
from .feed import Feed
from .messages import encode, encode_figure, encode_poses
from .newest import NewestPoses, Poses
from .solver import Asked, SolverProcess
from .source import now

if TYPE_CHECKING:
    from ..api import Fit
    from .outlets import Outlet
    from .server import LiveServer
    from .session import Solve

FRAME_PERIOD_S = 1 / 30  # s from one frame for viewers and outlets to the next
PAGE_STATUS_PERIOD_S = 0.5  # s from one word on the sources to the next
FINISHED_SOLVES = 3  # successive solves that must say that more brings little
FINISHED_MIN_S = 20.0  # s of a session before it ends by itself


@dataclass(eq=False)
class LiveSession:
    """Sources that are recorded by `feed` become a figure while they stream.

    until_enough  end by itself when more of the motion brings little
    """

    feed: Feed
    newest: NewestPoses
    options: FitOptions = field(default_factory=FitOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    server: LiveServer | None = None
    outlets: Sequence[Outlet] = ()
    until_enough: bool = False
    ending: str = ""  # why it ends, once it does
    fault: str = ""  # what last went wrong with showing it
    _finished: int = 0
    _begin: float = field(default_factory=now)
    _told: list[Callable[[Solve], None]] = field(default_factory=list)

    def obey(self, said: str) -> None:
        """What an operator's page says."""
        if said == "stop":
            self.ending = "stopped from the page"
        elif said == "restart":
            self._solver.restart()

    def on_solve(self, run: Callable[[Solve], None]) -> None:
        """Runs `run` with every solve, in the thread of `run`."""
        self._told.append(run)

    def run(self, seconds: float | None = None) -> None:
        """Until every source ended, the time is over, an operator said so, or enough is known."""
        self._solver = SolverProcess(Asked(self.feed.recorder.path, self.options, self.reading))
        self.feed.start()
        told = -np.inf
        try:
            while not self.ending:
                began = time.monotonic()
                try:
                    self._pass_on_solves()
                    self._pass_on_frame()
                    if began - told >= PAGE_STATUS_PERIOD_S:
                        told = began
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
        """The figure of the whole recording: what `condyle fit` makes of the log."""
        from ..api import fit_with

        return fit_with(self.feed.recorder.path, self.options, self.reading)

    def _pass_on_solves(self) -> None:
        for found in self._solver.poll():
            self.newest.conventions, self.newest.slips = found.conventions, found.slips
            self._finished = self._finished + 1 if found.finished else 0
            if self.until_enough and self._finished >= FINISHED_SOLVES and now() - self._begin >= FINISHED_MIN_S:
                self.ending = found.prompt.text if found.prompt is not None else "enough is known"
            for run in self._told:
                run(found)
            if self.server is not None:
                self.server.send("solve", describe_solve(found))

    def _pass_on_frame(self) -> None:
        try:
            poses = self.newest.poses(now())
        except CondyleError:  # numbers that are no poses: the solve says what is wrong with them
            return
        if poses is None:
            return
        if self.server is not None:
            if poses.names != self._names:
                self._names = poses.names
                self.server.send("bodies", encode("bodies", names=poses.names))
            self.server.send_frame(encode_poses(poses.time, poses.p, rotation.to_quaternion(poses.R)))
        solve = self._solver.newest
        if solve is None or solve.skeleton is None or not set(solve.skeleton.bodies) <= set(poses.names):
            return
        if self.outlets or self.server is not None:
            figure = play_figure(solve.skeleton, poses)
            for outlet in self.outlets:
                outlet.send(figure, solve)
            if self.server is not None:
                self.server.send_line(encode_figure(figure, solve.skeleton))

    _names: tuple[str, ...] = ()

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
                fault=self.fault if recorder.fault is None else recorder.fault.text,
                behind=None if newest is None else max(now() - newest.newest, 0.0),
                restarts=self._solver.restarts,
                given_up=self._solver.given_up,
                viewers=self.server.viewers,
            ),
        )


def play_figure(skeleton: Skeleton, poses: Poses) -> Poses:
    """The figure with its joints together, turned as its sensors are."""
    columns = [poses.names.index(name) for name in skeleton.bodies]
    take = Take(skeleton.bodies, np.zeros(1), poses.R[None, columns], poses.p[None, columns])
    played = forward(skeleton, play(skeleton, take))
    return Poses(poses.time, skeleton.bodies, played.p_world_body[0], played.R_world_body[0])


def describe_solve(found: Solve) -> str:
    """A solve as a page is told of it."""
    page, alarms = found.page, [_describe_alarm(one.finding, one.raised) for one in found.alarms]
    shown = None if page is None else {"page": page.page, "up": page.up, "low": page.low, "high": page.high}
    return encode(
        "solve",
        until=found.until,
        problem=found.problem,
        shown=shown,
        alarms=alarms,
        prompt=None if found.prompt is None else asdict(found.prompt),
        progress=[asdict(one) for one in found.progress],
        finished=found.finished,
        cpu=found.cpu,
    )


def _describe_alarm(finding: object, raised: float | None) -> dict[str, object]:
    return {"raised": raised, **asdict(finding)}  # type: ignore[call-overload]
