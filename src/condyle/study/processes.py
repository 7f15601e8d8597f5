"""Steps on this machine: as many processes as cores, each with one thread for linear algebra.

Each is a pool of one process (concurrent.futures). When a process dies its pool is broken, and only the step that it
was at: in a pool of many all steps that run would be lost, and which of them did it would not be known.

Processes end with this one, however it ends: each watches a pipe of which this process holds the other end, and on
Linux the system kills them when their parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Literal

from ..errors import CondyleError
from ..maths.children import shield_children
from ..maths.spool import ARRAY_BYTES, largest_in_memory
from ..maths.threads import THREAD_VARIABLES
from .engine import WorkerDied
from .ledger import LedgerRecord
from .plan import TakeStep
from .step import run_step

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl
# What a fit imports on its way: loaded once, and shared by the processes that are forked from there.
_PRELOADED = [
    "condyle.study.step",
    "condyle.api",
    "condyle.pipeline",
    "condyle.motion.ik",
    "condyle.motion.known",
    "condyle.motion.play",
    "condyle.report.page",
]


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def choose_start() -> Literal["forkserver", "spawn"]:
    """How processes are started. A fork of what has called Accelerate, as numpy does on macOS when it is imported, may
    die in its first product.
    """
    can = "forkserver" in multiprocessing.get_all_start_methods()
    return "forkserver" if can and sys.platform != "darwin" else "spawn"


class Processes:
    """An engine of so many processes."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        kind = choose_start()
        self._context = multiprocessing.get_context(kind)
        if kind == "forkserver":
            self._context.set_forkserver_preload(_PRELOADED)
        self._watched, self._held = self._context.Pipe(duplex=False)
        self._idle: list[ProcessPoolExecutor] = []
        self._pools: set[ProcessPoolExecutor] = set()
        with _one_thread():
            self._check()

    def room(self) -> int:
        return self._workers

    def submit(self, step: TakeStep) -> Future[LedgerRecord]:
        with shield_children():  # what a pool is made of is noted by a process that must not end before this one
            pool = self._idle.pop() if self._idle else self._make_pool()
        outer: Future[LedgerRecord] = Future()
        outer.set_running_or_notify_cancel()

        def pass_on(inner: Future[LedgerRecord]) -> None:
            error = CancelledError() if inner.cancelled() else inner.exception()
            if isinstance(error, BrokenProcessPool | CancelledError):
                self._drop(pool)
                outer.set_exception(WorkerDied(""))
                return
            self._idle.append(pool)
            if error is None:
                outer.set_result(inner.result())
            else:
                outer.set_exception(error)

        try:
            with shield_children():
                inner = pool.submit(run_step, step)
            inner.add_done_callback(pass_on)
        except BrokenProcessPool:  # it died while it had nothing to do
            self._drop(pool)
            return self.submit(step)
        return outer

    def close(self) -> None:
        """Ends all processes at once: what they have written so far appears in no folder."""
        self._held.close()
        self._watched.close()
        for pool in list(self._pools):
            pool.shutdown(wait=True, cancel_futures=True)

    def _make_pool(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, self._context, _begin, (self._watched, self._workers))
        self._pools.add(pool)
        return pool

    def _drop(self, pool: ProcessPoolExecutor) -> None:
        self._pools.discard(pool)
        pool.shutdown(wait=False)

    def _check(self) -> None:
        """Raises where no process can be started at all."""
        try:
            with shield_children():
                pool = self._make_pool()
                begun = pool.submit(os.getpid)
            begun.result()
        except (BrokenProcessPool, OSError) as error:
            self.close()
            raise CondyleError(
                "no process can be started for the takes; in a script, call condyle.batch below "
                f'if __name__ == "__main__": ({error})',
                code="no-worker",
            ) from None
        except BaseException:  # an interrupt: the process would find nobody there, and say so at length
            self.close()
            raise
        self._idle.append(pool)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for linear algebra in processes that are started meanwhile; the environment is then as before."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin(watched: Connection, workers: int) -> None:
    """What a process does before its first step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends this one
    if any(os.environ.get(name) != "1" for name in THREAD_VARIABLES):  # numpy is loaded by now
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        threadpool_limits(1, user_api="blas")
    os.environ[ARRAY_BYTES] = str(largest_in_memory() // workers)  # they share the memory
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_watch, args=(watched,), daemon=True).start()


def _watch(watched: Connection) -> None:
    """Ends this process when the other end of the pipe is closed, which it is when the parent is gone."""
    with suppress(EOFError, OSError):
        watched.recv_bytes()
    os._exit(1)
