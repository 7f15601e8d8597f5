"""live/solver.py: a process that reads the log as it grows, and is started again where it dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from condyle.live.recorder import Recorder
from condyle.live.session import Session
from condyle.live.solver import CONFIRM_PERIOD_S, RESTARTS_MAX, SOLVE_PERIOD_S, Asked, SolverProcess, solve_forever
from tests.make.sessions import person, stream

PATIENCE_S = 60.0


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def die(asked: Asked, connection: object) -> None:
    """A solver that cannot live."""
    os._exit(1)


@pytest.mark.skipif(os.name == "nt", reason="processes are killed otherwise there")
def test_a_solver_that_is_killed_is_started_again_and_knows_everything(tmp_path: Path) -> None:
    sent = stream(person(seconds=8))
    with Recorder(tmp_path / "session.log") as recorder:
        for packet in sent[:120]:
            recorder.write(packet)
        solver = SolverProcess(Asked(recorder.path, period=0.2))
        try:
            wait_for(lambda: bool(solver.poll()))
            assert solver.skeleton is not None
            os.kill(solver.pid, signal.SIGKILL)
            for packet in sent[120:]:
                recorder.write(packet)
            wait_for(lambda: any(one.until > 7.9 for one in solver.poll()))
            assert solver.restarts == 1
            assert solver.skeleton is not None
            assert solver.skeleton.take["frames"] == len(sent)
        finally:
            solver.close()
    with pytest.raises(ProcessLookupError):
        os.kill(solver.pid, 0)


@pytest.mark.costly
def test_a_solver_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    solver = SolverProcess(Asked(tmp_path / "session.log"), run=die)
    wait_for(lambda: solver.poll() == [] and solver.given_up)
    assert solver.restarts == RESTARTS_MAX + 1
    solver.close()


def sleep(asked: Asked, connection: object) -> None:
    """A solver in the middle of a long solve."""
    time.sleep(PATIENCE_S)


def test_a_session_that_ends_does_not_wait_for_a_solve(tmp_path: Path) -> None:
    solver = SolverProcess(Asked(tmp_path / "session.log"), run=sleep)
    began = time.monotonic()
    solver.close()
    assert time.monotonic() - began < PATIENCE_S / 4
    solver.close()


class Hearing:
    """A connection that keeps how long it was listened to, and is hung up at once."""

    def __init__(self) -> None:
        self.rests: list[float] = []

    def poll(self, rest: float) -> bool:
        self.rests.append(rest)
        return True


@pytest.mark.parametrize(("waiting", "period"), [(False, SOLVE_PERIOD_S), (True, CONFIRM_PERIOD_S)])
def test_the_next_solve_comes_sooner_while_an_alarm_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: bool, period: float
) -> None:
    monkeypatch.setattr(Session, "is_waiting", waiting)
    Recorder(tmp_path / "session.log").close()
    hearing = Hearing()
    solve_forever(Asked(tmp_path / "session.log"), hearing)  # type: ignore[arg-type]
    (rest,) = hearing.rests
    assert period - 0.5 < rest <= period
