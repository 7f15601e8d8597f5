"""The order of work: which step comes next, what becomes of one whose worker died, and what goes into the ledger.

An engine is where steps are done: `processes` on this machine, `cluster` by Dask. Both give futures of the standard
library, so that there is one loop for both.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from ..errors import CondyleError, join_command
from ..findings import many
from ..io.folder import clear_folder
from ..model.progress import begin_step, tell_share
from .ledger import Ledger, LedgerRecord, fail
from .plan import TakeStep

LOOK_AGAIN_S = 0.5  # s after which a wait is taken up again, since not every system lets Ctrl-C into one
ENDING_MAX_S = 1.0  # s in which processes that were ended are gone
MOST_TRIES = 2  # of a step whose worker died, after which it is to blame

Tell = Callable[[LedgerRecord, int, int], None]  # a record, how many steps of this run are done, of how many


class WorkerDied(Exception):
    """The process that was at a step is gone."""


class Engine(Protocol):
    """Where steps are done."""

    def room(self) -> int:
        """How many steps it takes at once."""

    def submit(self, step: TakeStep) -> Future[LedgerRecord]:
        """Begins a step. The future raises WorkerDied where the process that was at it is gone."""

    def close(self) -> None:
        """Ends what is running, and what was started for it."""


class Queue:
    """Steps that can be begun, calibrations first; a performance once its calibration is done."""

    def __init__(self, steps: Sequence[TakeStep], state: Callable[[str], str | None]) -> None:
        """state: of a step that is none of these, done or failed, by its name"""
        mine = {step.name for step in steps}
        self._ready = deque(step for step in steps if step.needs is None)
        self._blocked: dict[str, list[TakeStep]] = {}
        self.hopeless: list[TakeStep] = []
        for step in steps:
            if step.needs is not None and step.needs in mine:
                self._blocked.setdefault(step.needs, []).append(step)
            elif step.needs is not None:
                (self._ready if state(step.needs) == "done" else self.hopeless).append(step)

    def __bool__(self) -> bool:
        return bool(self._ready)

    def next(self) -> TakeStep:
        return self._ready.popleft()

    def again(self, step: TakeStep) -> None:
        self._ready.appendleft(step)

    def finish(self, name: str, *, done: bool) -> None:
        """A step is over: those that need it can be begun, or never."""
        (self._ready if done else self.hopeless).extend(self._blocked.pop(name, ()))


def run_steps(
    steps: Sequence[TakeStep], known: Iterable[TakeStep], engine: Callable[[], Engine], ledger: Ledger, tell: Tell
) -> int:
    """Does the steps and writes each into the ledger as it ends; returns how many were begun a second time.

    known   all steps of the study
    engine  makes one; it is not asked where no step is left to be begun
    """
    keys = {step.name: step.key for step in known}
    queue = Queue([step for step in steps if step.entry.fault is None], lambda name: ledger.state(name, keys[name]))
    finished = 0

    def finish(step: TakeStep, record: LedgerRecord) -> None:
        nonlocal finished
        ledger.append(record)
        queue.finish(step.name, done=record.state == "done")
        finished += 1
        tell(record, finished, len(steps))
        tell_share(finished / len(steps))

    begin_step(f"doing {many(len(steps), 'take')}")
    for step in steps:
        if step.entry.fault is not None:
            finish(step, fail(step, step.entry.fault[1], code=step.entry.fault[0]))
    _give_up(queue, finish)
    return _run(queue, engine(), finish) if queue else 0


def _run(queue: Queue, engine: Engine, finish: Callable[[TakeStep, LedgerRecord], None]) -> int:
    running: dict[Future[LedgerRecord], tuple[TakeStep, int]] = {}
    begun: dict[str, TakeStep] = {}  # noted before a process has it: an interrupt may come in between
    tries: dict[str, int] = {}
    again = 0
    try:
        while queue or running:
            while queue and len(running) < engine.room():
                step = queue.next()
                begun[step.name] = step
                running[engine.submit(step)] = step, tries.get(step.name, 0) + 1
            done, _ = wait(running, LOOK_AGAIN_S, FIRST_COMPLETED)
            for future in done:
                step, count = running.pop(future)
                try:
                    finish(step, msgspec.structs.replace(future.result(), tries=count))
                except WorkerDied as error:
                    _clear([step])
                    tries[step.name] = count
                    if count < MOST_TRIES:
                        again += 1
                        queue.again(step)
                    else:
                        finish(step, fail(step, _describe_death(step, count, error), code="worker-died", tries=count))
                begun.pop(step.name)
            _give_up(queue, finish)
    finally:
        engine.close()
        _clear(begun.values())
    return again


def _clear(steps: Iterable[TakeStep]) -> None:
    """What processes that were ended left in the folders of their takes goes; a worker of a cluster may be at it still.

    A signal ends the process that starts the others as well, and with it what tells when those have ended.
    """
    until = time.monotonic() + ENDING_MAX_S
    for step in steps:
        with suppress(CondyleError, OSError):
            clear_folder(Path(step.folder), max(until - time.monotonic(), 0.0))


def _give_up(queue: Queue, finish: Callable[[TakeStep, LedgerRecord], None]) -> None:
    """Steps whose calibration failed fail with it."""
    while queue.hopeless:
        step = queue.hopeless.pop()
        text = f"{', '.join(step.entry.files)}: its calibration '{step.needs}' failed; it is solved once that is done"
        finish(step, fail(step, text, code="calibration-failed"))


def _describe_death(step: TakeStep, count: int, error: WorkerDied) -> str:
    return (
        f"{', '.join(step.entry.files)}: the process that was at it ended {count} times, perhaps for want of "
        f"memory{error}; try it alone: condyle fit {join_command(step.entry.files)}"
    )
