"""Folders of small takes, and steps and records of a study."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from condyle.io.exports import write_take
from condyle.model.take import Take
from condyle.simulate import Disturbances, chain, simulate
from condyle.study.ledger import Facts, JointFacts, LedgerRecord, LimbFacts, Worst
from condyle.study.plan import Entry, TakeStep, make_steps

QUICK: dict[str, Any] = {"intervals": False, "report": False}  # settings of takes whose numbers do not matter
LOOP_STARTS_S = 120.0  # s until an event loop runs, on a machine that is busy with other tests


def write_small_take(path: Path, seed: int = 0, motion: str = "exercise") -> Path:
    """A chain of four sensors, 4 s at 30 Hz."""
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_take(path, simulate(chain(), motion, seconds=4, rate=30, seed=seed, disturbances=noise).take)
    return path


def make_step(root: Path, out: Path, file: str = "a.npz", **entry: Any) -> TakeStep:
    settings = entry.pop("settings", QUICK)
    return make_steps(root, [Entry(Path(file).stem, (file,), settings=settings, **entry)], out)[0]


def make_record(step: TakeStep, tone: str = "good", length: float = 0.4, half: float = 0.002) -> LedgerRecord:
    """The record of a take that is done: a joint and a length."""
    zero = (0.0, 0.0, 0.0)
    joint = JointFacts("b", "a", "ball", "determined", 0.003, None, 0.99, 100, 0.001, zero, zero, zero)
    limb = LimbFacts("b", "a", "c", length, length - half, length + half, "joints")
    worst = None if tone == "good" else Worst("warning", "slip", "<b>: the sensor moved")
    advice = () if tone == "good" else ("b: turn it about a second axis",)
    looks = int(worst is not None)
    facts = Facts("f" * 16, 3, 120, 4.0, tone, "Found.", 2, 2, half / length, looks, worst, advice, (joint,), (limb,))
    return LedgerRecord(step.name, step.key, "done", facts, ended="2026-01-01", wall=1.0, cpu=0.5, worker="me")


def write_performer(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """A calibration and a performance of one person with the sensors in the same places: rom.npz, play.npz."""
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    take = simulate(chain(), "exercise", seconds=8, rate=30, seed=seed, disturbances=noise).take
    folder.mkdir(parents=True, exist_ok=True)
    half = take.frames // 2
    for name, rows in (("rom", slice(0, half)), ("play", slice(half, None))):
        part = Take(take.names, take.time[rows], take.R_world_body[rows], take.p_world_body[rows])
        write_take(folder / f"{name}.npz", part)
    return folder / "rom.npz", folder / "play.npz"


@contextmanager
def start_loop() -> Iterator[Any]:
    """An event loop for Dask's clusters, in a thread. One that Dask begins itself fails where that takes over 10 s."""
    from tornado.ioloop import IOLoop

    found: list[IOLoop] = []
    ready, ended = threading.Event(), asyncio.Event()

    async def run() -> None:
        found.append(IOLoop.current())
        ready.set()
        await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(LOOP_STARTS_S)
    try:
        yield found[0]
    finally:
        found[0].add_callback(ended.set)
        thread.join(LOOP_STARTS_S)
