"""Steps on other machines: the cluster of a Dask scheduler (extra `cluster`).

Files are read and folders written where a worker is, so all machines must see them under the same paths. What came of a
take goes back to the scheduler's client, which writes the ledger.
"""

from __future__ import annotations

import secrets
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import CondyleError, UsageError
from ..io.atomic import PREFIX
from .engine import WorkerDied
from .ledger import LedgerRecord
from .plan import TakeStep
from .step import run_step

CONFIGURED = "dask"  # in the place of an address: the scheduler that Dask's own configuration names
LONGEST_WAIT = "10s"  # for a scheduler to answer
COUNT_AGAIN_S = 1.0  # s after which the cluster is asked again how large it is
STEPS_PER_THREAD = 2  # that the scheduler has, so that no worker waits for the next
MOST_STARTS = 3  # of a client whose own thread did not begin, for each of which Dask waits 10 s


class DaskCluster:
    """An engine by Dask."""

    def __init__(self, address: str, out: Path) -> None:
        self._address = find_address(address)
        self._client = _connect(self._address)
        self._pending: set[Any] = set()
        self._threads, self._counted = 0, -COUNT_AGAIN_S
        try:
            self._check(out)
        except BaseException:
            self.close()
            raise

    def room(self) -> int:
        if time.monotonic() > self._counted + COUNT_AGAIN_S:  # workers come and go
            self._threads, self._counted = sum(self._client.nthreads().values()), time.monotonic()
        return max(1, STEPS_PER_THREAD * self._threads)

    def submit(self, step: TakeStep) -> Future[LedgerRecord]:
        outer: Future[LedgerRecord] = Future()
        outer.set_running_or_notify_cancel()
        pending = self._client.submit(run_step, step, pure=False)
        self._pending.add(pending)

        def pass_on(done: Any) -> None:
            self._pending.discard(done)
            if done.status == "finished":
                outer.set_result(done.result())
            elif done.status == "error":
                error = done.exception()
                died = type(error).__name__ == "KilledWorker"
                outer.set_exception(WorkerDied(f" ({error})") if died else error)
            else:
                outer.set_exception(self._describe_loss())

        pending.add_done_callback(pass_on)
        return outer

    def close(self) -> None:
        """Takes back what was not begun; a worker finishes what it is at."""
        with suppress(Exception):  # of a scheduler that is gone, which may be why
            self._client.cancel(list(self._pending))
        self._client.close()

    def _check(self, out: Path) -> None:
        """Raises where there is no worker, one is of another version, or one does not see the study's folder."""
        try:
            self._client.wait_for_workers(1, timeout=LONGEST_WAIT)
        except TimeoutError:
            raise UsageError(f"the cluster at {self._address} has no worker", code="no-cluster") from None
        seen = out / f"{PREFIX}{secrets.token_hex(8)}.seen"
        seen.touch()
        try:
            told = self._client.run(look_around, str(seen), on_error="return")
        finally:
            seen.unlink(missing_ok=True)
        for worker, answer in told.items():
            if not isinstance(answer, tuple):
                raise UsageError(f"the worker {worker} cannot use condyle: {answer}", code="no-cluster")
            version, sees = answer
            if version != __version__:
                raise UsageError(
                    f"the worker {worker} has condyle {version}, and this is {__version__}; install the same on both",
                    code="no-cluster",
                )
            if not sees:
                raise UsageError(
                    f"the worker {worker} does not see {out}; a study needs a disk that all machines see under the "
                    "same path",
                    code="no-shared-disk",
                )

    def _describe_loss(self) -> CondyleError:
        return CondyleError(
            f"the cluster at {self._address} is gone; the same command goes on once it is there again",
            code="no-cluster",
        )


def look_around(seen: str) -> tuple[str, bool]:
    """What a worker has: the version of condyle, and whether it sees a file."""
    return __version__, Path(seen).exists()


def find_address(address: str) -> str:
    """The scheduler's address, that of Dask's configuration where `dask` is asked for."""
    try:
        import dask.config
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError('clusters are driven by Dask: pip install "condyle[cluster]"', code="missing-extra") from None
    found = dask.config.get("scheduler-address", None) if address == CONFIGURED else address
    if not found:
        raise UsageError(
            "Dask's configuration names no scheduler; set DASK_SCHEDULER_ADDRESS, or give --cluster tcp://HOST:8786",
            code="no-cluster",
        )
    return str(found)


def _connect(address: str) -> Any:
    from distributed import Client

    connect: Any = Client
    for _ in range(MOST_STARTS):
        try:
            return connect(address, timeout=LONGEST_WAIT, set_as_default=False, name="condyle")
        except AssertionError:  # by which Dask tells that its event loop did not begin in time: a very busy machine
            continue
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise CondyleError(f"no Dask scheduler answers at {address} ({error})", code="no-cluster") from None
    raise CondyleError(
        f"Dask could not begin here, so {address} was not asked; this machine may be too busy: try again",
        code="no-cluster",
    )
