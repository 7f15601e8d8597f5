"""The order of work, with an engine that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.model.progress import listen
from condyle.study.engine import MOST_TRIES, WorkerDied, run_steps
from condyle.study.ledger import Ledger, LedgerRecord, fail
from condyle.study.plan import Entry, TakeStep, make_steps
from tests.make.studies import make_record


class Instant:
    """An engine that answers at once."""

    def __init__(self, answer: Callable[[TakeStep], LedgerRecord], room: int = 2) -> None:
        self.answer, self._room = answer, room
        self.begun: list[str] = []
        self.closed = False

    def room(self) -> int:
        return self._room

    def submit(self, step: TakeStep) -> Future[LedgerRecord]:
        self.begun.append(step.name)
        future: Future[LedgerRecord] = Future()
        try:
            future.set_result(self.answer(step))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        self.closed = True


def steps(folder: Path) -> tuple[TakeStep, ...]:
    listed = [
        Entry("play", ("play.npz",), "anna", role="performance"),
        Entry("lonely", ("lonely.npz",), "ben", role="performance"),
        Entry("rom", ("rom.npz",), "anna"),
        Entry("other", ("other.npz",)),
    ]
    return make_steps(folder, listed, folder / "out")


def run(folder: Path, answer: Callable[[TakeStep], LedgerRecord]) -> tuple[Instant, dict[str, LedgerRecord], int]:
    engine, told = Instant(answer), dict[str, LedgerRecord]()
    with Ledger(folder) as ledger:
        again = run_steps(
            steps(folder), steps(folder), lambda: engine, ledger, lambda record, *_: told.update({record.take: record})
        )
        for step in steps(folder):
            assert ledger.read(step.name, step.key) == told[step.name]
    return engine, told, again


def test_calibrations_come_first_and_what_cannot_be_done_is_not_begun(tmp_path: Path) -> None:
    engine, told, again = run(tmp_path, make_record)
    assert engine.begun == ["rom", "other", "play"]
    assert {name: record.state for name, record in told.items()} == {
        "lonely": "failed",
        "rom": "done",
        "other": "done",
        "play": "done",
    }
    assert engine.closed
    assert again == 0


def test_whoever_waits_is_told_how_much_is_done(tmp_path: Path) -> None:
    heard: list[tuple[str, float | None]] = []
    with listen(lambda step, share: heard.append((step, share))):
        run(tmp_path, make_record)
    assert heard == [("doing 4 takes", None), *(("", share) for share in (0.25, 0.5, 0.75, 1.0))]


def test_a_performance_fails_with_its_calibration(tmp_path: Path) -> None:
    engine, told, _ = run(
        tmp_path, lambda step: fail(step, "why", code="no-time") if step.name == "rom" else make_record(step)
    )
    assert engine.begun == ["rom", "other"]
    fault = told["play"].fault
    assert fault is not None
    assert fault.text == "play.npz: its calibration 'rom' failed; it is solved once that is done"


def test_a_step_whose_worker_died_is_tried_once_more(tmp_path: Path) -> None:
    died: list[str] = []

    def die_once(step: TakeStep) -> LedgerRecord:
        if step.name == "rom" and not died:
            died.append(step.name)
            raise WorkerDied("")
        return make_record(step)

    engine, told, again = run(tmp_path, die_once)
    assert sorted(engine.begun) == ["other", "play", "rom", "rom"]
    assert (told["rom"].state, told["rom"].tries, again) == ("done", 2, 1)


def test_and_then_it_is_to_blame(tmp_path: Path) -> None:
    def die(step: TakeStep) -> LedgerRecord:
        if step.name == "other":
            raise WorkerDied(" (signal 9)")
        return make_record(step)

    engine, told, _ = run(tmp_path, die)
    assert engine.begun.count("other") == MOST_TRIES
    fault = told["other"].fault
    assert fault is not None
    assert fault.text == (
        "other.npz: the process that was at it ended 2 times, perhaps for want of memory (signal 9); try it alone: "
        "condyle fit other.npz"
    )
    assert told["play"].state == "done"


def test_the_engine_is_closed_whatever_happens(tmp_path: Path) -> None:
    engine = Instant(make_record)

    def stop(record: LedgerRecord, done: int, of: int) -> None:
        if record.take == "rom":
            raise KeyboardInterrupt

    with Ledger(tmp_path) as ledger:
        with pytest.raises(KeyboardInterrupt):
            run_steps(steps(tmp_path), (), lambda: engine, ledger, stop)
        assert ledger.state("rom", steps(tmp_path)[2].key) == "done"
    assert engine.closed


def test_an_engine_that_is_lost_ends_the_run(tmp_path: Path) -> None:
    def lose(step: TakeStep) -> LedgerRecord:
        raise CondyleError("the cluster is gone", code="no-cluster")

    with Ledger(tmp_path) as ledger, pytest.raises(CondyleError, match="the cluster is gone"):
        run_steps(steps(tmp_path), steps(tmp_path), lambda: Instant(lose), ledger, lambda *_: None)


def test_a_calibration_of_an_earlier_run_counts(tmp_path: Path) -> None:
    every = steps(tmp_path)
    with Ledger(tmp_path) as ledger:
        ledger.append(make_record(every[2]))
        engine = Instant(make_record)
        run_steps(every[:1], every, lambda: engine, ledger, lambda *_: None)
        assert engine.begun == ["play"]


def test_without_a_step_no_engine_is_made(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        faulty = replace(steps(tmp_path)[1])
        assert run_steps([faulty], [faulty], lambda: pytest.fail("made"), ledger, lambda *_: None) == 0
