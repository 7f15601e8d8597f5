"""Does a process that works for long grow? Fits, live sessions and the takes of a batch, one after the other in one
process: its memory, open files, threads, child processes and temporary files after a few, at half time and at the end.

A live session is a minute of six sensors at 30 Hz, replayed twenty times as fast with the page served, solved meanwhile
and fitted at the end. The batch's takes are done in this process, not by workers.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import io
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.fuzz.behind import InThisProcess
from tests.fuzz.worker import measure_memory
from tests.make.fitted import take
from tests.make.studies import QUICK, write_small_take

import condyle
from condyle.cli import main as run_command
from condyle.simulate import Disturbances, linkage, simulate
from condyle.study import batch

from .harness import Table, progress, publish

WARM_RUNS = 5
REPLAY_FACTOR = 20
LIVE_SECONDS = 60.0


@dataclass(frozen=True)
class Held:
    """What the process holds: memory [bytes], open files, threads, children, files in the folder for temporary ones."""

    memory: int
    files: int
    threads: int
    children: int
    temporary: int


def count_held(scratch: Path) -> Held:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the C library keeps for later is not held: threads leave much of it
    with open(f"/proc/self/task/{os.getpid()}/children") as stream:
        children = len(stream.read().split())
    files = len(os.listdir("/proc/self/fd"))
    return Held(measure_memory("VmRSS"), files, threading.active_count(), children, sum(1 for _ in scratch.rglob("*")))


def soak(once: Callable[[int], None], runs: int, scratch: Path) -> list[Held]:
    """What is held after WARM_RUNS, at half time and at the end of so many runs."""
    held = []
    for k in range(WARM_RUNS + runs):
        once(k)
        if k + 1 in (WARM_RUNS, WARM_RUNS + runs // 2, WARM_RUNS + runs):
            held.append(count_held(scratch))
            progress(f"{k + 1} of {WARM_RUNS + runs}: {held[-1]}")
    return held


def do_fits(home: Path, runs: int) -> list[Held]:
    one = take(1.5, missing=0.02)

    def once(_: int) -> None:
        condyle.fit(one, intervals=False).save(home / "fit", export="bvh")
        condyle.load(home / "fit").motion.known.any()

    return soak(once, runs, home / "scratch")


def do_sessions(home: Path, runs: int) -> list[Held]:
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    condyle.write_take(
        home / "minute.npz", simulate(linkage(), seconds=LIVE_SECONDS, rate=30, seed=1, disturbances=noise).take
    )

    def once(k: int) -> None:
        words = ["live", f"replay:{home / 'minute.npz'}@{REPLAY_FACTOR}", "-o", str(home / f"live{k}"), "--no-open"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = run_command(words)
        assert status == 0, out.getvalue()

    return soak(once, runs, home / "scratch")


def do_batch(home: Path, runs: int) -> list[Held]:
    """The takes of one batch; what is held is counted as each is begun."""
    takes, held = home / "takes", list[Held]()
    for k in range(WARM_RUNS + runs):
        write_small_take(takes / f"t{k:03}.npz", seed=k)

    class Counting(InThisProcess):
        done = 0

        def submit(self, step):  # type: ignore[no-untyped-def]
            outcome = super().submit(step)
            self.done += 1
            if self.done in (WARM_RUNS, WARM_RUNS + runs // 2, WARM_RUNS + runs):
                held.append(count_held(home / "scratch"))
                progress(f"{self.done} of {WARM_RUNS + runs}: {held[-1]}")
            return outcome

    real, engine = batch._make_engine, Counting()
    batch._make_engine = lambda *_: engine  # type: ignore[assignment]
    try:
        study = batch.batch(takes, home / "study", settings=QUICK)
    finally:
        batch._make_engine = real
    assert study.counts["done"] == WARM_RUNS + runs, study
    return held


def row(name: str, runs: int, held: list[Held]) -> list[str]:
    first, middle, last = (astuple(one) for one in held)
    memory = " / ".join(f"{one[0] / 2**20:.1f}" for one in (first, middle, last))
    counts = [f"{a} / {b} / {c}" for a, b, c in zip(first[1:], middle[1:], last[1:], strict=True)]
    return [name, str(runs), memory, *counts]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--takes", type=int, default=200, help="of the batch")
    parser.add_argument("--only", default="", help="fits, sessions or batch; nothing is written")
    given = parser.parse_args()
    kinds = {"fits": (do_fits, given.fits), "sessions": (do_sessions, given.sessions), "batch": (do_batch, given.takes)}
    rows, data = [], {}
    for name, (kind, runs) in kinds.items():
        if given.only and given.only != name:
            continue
        with tempfile.TemporaryDirectory() as place:
            scratch = Path(place) / "scratch"
            scratch.mkdir()
            tempfile.tempdir = str(scratch)
            held = kind(Path(place), runs)
            tempfile.tempdir = None
        rows.append(row(name, runs, held))
        data[name] = {"runs": runs, "held": [vars(one) for one in held]}
    heads = ["what", "runs", "memory MB", "open files", "threads", "children", "temporary files"]
    publish("soak", "Working for long", " ".join((__doc__ or "").split()), {"Held": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
