"""The solver of a session: a process of its own that reads the log as it grows, so it is never in anybody's way.

It may die: another one reads the log again, and nothing that was recorded is lost.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.format import ReadOptions
from ..maths.children import shield_children
from ..model.options import FitOptions
from ..model.skeleton import Skeleton
from .excerpt import LogTail
from .performer import Performer

if TYPE_CHECKING:
    from .session import Solve

SOLVE_PERIOD_S = 2.0  # s from the begin of one solve to that of the next: a third of a core (benchmarks/live_cost.py)
# s of the same, while an alarm waits to be confirmed: slips of 2 cm are told a second sooner than with SOLVE_PERIOD_S,
# after 3 s instead of 4 by the median, and nothing else changes (benchmarks/live.py)
CONFIRM_PERIOD_S = 1.0
LEAST_IDLE_SHARE = 0.5  # of a solve's time that the solver rests after it, so that a core is never all its own
RESTARTS_MAX = 5  # times that a solver may die before the session goes on without one


@dataclass(frozen=True, eq=False)
class Asked:
    """What a solver is to do: the log it reads, and how its numbers are read and fitted."""

    log: Path
    options: FitOptions = field(default_factory=FitOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    performer: Performer = field(default_factory=Performer)
    period: float = SOLVE_PERIOD_S


def solve_forever(asked: Asked, connection: Connection) -> None:
    """Sends a Solve whenever there is something new, until the other side hangs up."""
    from .session import Session

    tail, session = LogTail(asked.log), Session(asked.options, asked.reading, performer=asked.performer)
    newest = None
    while True:
        began, spent = time.monotonic(), time.process_time()
        for record in tail.read():
            session.add(record)
        if session.excerpt.frames and session.excerpt.newest != newest:
            newest = session.excerpt.newest
            found = session.solve()
            try:
                connection.send(found)
            except OSError:
                return
        period = min(asked.period, CONFIRM_PERIOD_S) if session.is_waiting else asked.period
        rest = max(period - (time.monotonic() - began), LEAST_IDLE_SHARE * (time.process_time() - spent))
        try:
            if connection.poll(rest):  # nothing is ever said: it hung up
                return
        except OSError:
            return


class SolverProcess:
    """A solver that is started again where it dies.

    newest    the newest solve; None before the first
    restarts  how often it died
    """

    def __init__(self, asked: Asked, run: Callable[[Asked, Connection], None] = solve_forever) -> None:
        self.asked, self.newest, self.restarts = asked, None, 0
        self._run = run
        self._context: Any = multiprocessing.get_context("spawn")  # threads of this process must not be copied
        self._start()

    newest: Solve | None

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=self._run, args=(self.asked, theirs), daemon=True)
        with shield_children():
            self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def given_up(self) -> bool:
        return self.restarts > RESTARTS_MAX

    def poll(self) -> list[Solve]:
        """Solves that came since the last call; a solver that died is started again."""
        fresh: list[Solve] = []
        while not self.given_up:
            try:
                if not self._connection.poll():
                    break
                fresh.append(self._connection.recv())
            except (EOFError, OSError):
                self._revive()
        if fresh:
            self.newest = fresh[-1]
        return fresh

    def _revive(self) -> None:
        self.close()
        self.restarts += 1
        if not self.given_up:
            self._start()

    @property
    def skeleton(self) -> Skeleton | None:
        return None if self.newest is None else self.newest.skeleton

    def close(self) -> None:
        """Ends the solver, in the middle of a solve too: it has nothing that is not in the log."""
        self._connection.close()
        self._process.kill()
        self._process.join()
