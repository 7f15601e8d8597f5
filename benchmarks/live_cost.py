"""What a session costs: a frame on its way in, a solve at any age, and memory over an hour.

Time is accelerated: an hour's frames are recorded as fast as they can be, and solved at some ages only.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from condyle.io.log_records import FRAME_RECORD, LAYOUT, Layout, LogRecord, encode_frame, encode_layout
from condyle.live.clock import SourceClock
from condyle.live.excerpt import LogTail
from condyle.live.newest import NewestPoses
from condyle.live.recorder import Recorder
from condyle.live.session import Session
from condyle.live.source import Packet
from condyle.live.watch import Watch
from condyle.maths.arrays import Floats
from condyle.model.recording import Convention
from condyle.simulate import SensorSlip, human, simulate
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import SOFT
from .harness import Table, arguments, progress, publish
from .live import rows_of

RATES = ((16, 120.0), (64, 240.0))  # sensors, Hz
FED_FRAMES = 50_000
RATE_HZ, LOOP_S = 120.0, 120.0
AGES_S = (60.0, 300.0, 900.0, 1800.0, 2700.0, 3600.0)
SOLVES = 3  # at every age; the least counts
SLIP_AT_S, SLIP_SEED, SLIP_SESSIONS = 60.0, 64_000, 10
SLIP_RATES_HZ = (90.0, 120.0)  # the one is solved whole, of the other every second frame (live.excerpt.SOLVED_MOST_HZ)
CONVENTION = Convention("wxyz", unit="m", stated=frozenset({"rotation", "unit"}))


def measure_feed(sensors: int, rate: float, folder: Path) -> float:
    """[s] of CPU for a packet: written, stamped, and handed to who looks on."""
    rng = np.random.default_rng(7)
    layout = Layout("lsl:room", tuple(f"sensor {k}" for k in range(sensors)), convention=CONVENTION)
    rows = rng.normal(size=(1000, layout.width))
    newest, watch, clock = NewestPoses(), Watch(), SourceClock()
    with Recorder(folder / f"{sensors}.log") as recorder:
        begin = time.process_time()
        for k in range(FED_FRAMES):
            moment = k / rate
            packet = Packet(layout, moment, 1000.0 + moment, rows[k % 1000])
            recorder.write(packet)
            stamp = clock.add(packet.device_time, packet.arrival_time)
            newest.listen(packet, stamp)
            watch.listen(packet, stamp)
        return (time.process_time() - begin) / FED_FRAMES


def measure_hour(folder: Path) -> list[tuple[float, float, float]]:
    """(age [s], CPU of a solve [s], memory of the process [MB]) of a session of one hour."""
    how = noise(0.15, 0.15, **SOFT)
    take = simulate(human(), "exercise", seconds=LOOP_S, rate=RATE_HZ, seed=64_000, disturbances=how).take
    rows: Floats = rows_of(take)
    layout = Layout("demo", take.names, convention=CONVENTION)
    session, found = Session(), []
    path = folder / "hour.log"
    recorder, tail = Recorder(path), LogTail(path)
    frame, there = 0, len(rows) - 1
    for age in AGES_S:
        while frame < age * RATE_HZ:
            k = frame % (2 * there)
            moment = frame / RATE_HZ
            recorder.write(Packet(layout, moment, moment, rows[min(k, 2 * there - k)]))  # to and fro: no jump
            frame += 1
            if frame % 1000 == 0:
                for record in tail.read():
                    session.add(record)
        spent = min(session.solve().cpu for _ in range(SOLVES))
        found.append((age, spent, read_memory()))
        progress(f"{age:.0f} s: {spent:.2f} s, {found[-1][2]:.0f} MB")
    recorder.close()
    return found


def measure_slips(rate: float) -> list[tuple[float, float]]:
    """([s] of CPU for a solve that tells a slip, that of a solve of the same session without it), in turn."""
    found = []
    for motion in ("exercise", "walk"):
        for seed in range(SLIP_SEED, SLIP_SEED + SLIP_SESSIONS // 2):
            slip, clean = (_begin_session(motion, seed, size, rate) for size in (0.02, 0.0))
            solves = [(slip.solve(), clean.solve()) for _ in range(SOLVES)]
            if not solves[0][0].slips:  # some are told later: benchmarks/live.py
                continue
            found.append((min(one.cpu for one, _ in solves), min(other.cpu for _, other in solves)))
            progress(f"a slip in {motion} {seed} at {rate:g} Hz: {found[-1][0]:.2f} s, {found[-1][1]:.2f} s without")
    return found


def _begin_session(motion: str, seed: int, size: float, rate: float) -> Session:
    """A session that is some seconds beyond the slip of a sensor by so many metres."""
    figure, rng = human(), stream(seed, "slip")
    body, way = figure.names[rng.integers(len(figure.names))], rng.standard_normal(3)
    slips = (SensorSlip(body, SLIP_AT_S, tuple(size * way / np.linalg.norm(way))),) if size else ()
    how = noise(0.15, 0.15, **SOFT, slips=slips)
    take = simulate(figure, motion, seconds=SLIP_AT_S + 6.0, rate=rate, seed=seed, disturbances=how).take  # type: ignore[arg-type]
    layout, session = Layout("demo", take.names, convention=CONVENTION), Session()
    session.add(LogRecord(LAYOUT, memoryview(encode_layout(0, layout))))
    for moment, row in zip(take.time.tolist(), rows_of(take), strict=True):
        session.add(LogRecord(FRAME_RECORD, memoryview(encode_frame(0, 0, moment, moment, row))))
    return session


def read_memory() -> float:
    """[MB] that this process holds now."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    given = arguments(__doc__, trials=1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        feeds = [(sensors, rate, measure_feed(sensors, rate, folder)) for sensors, rate in RATES]
        hour = measure_hour(folder)
        slips = {rate: measure_slips(rate) for rate in SLIP_RATES_HZ}
    rows = [[f"{sensors} x {rate:g} Hz", f"{1e6 * spent:.1f} us"] for sensors, rate, spent in feeds]
    ages = [[f"{age / 60:g} min", f"{spent:.2f} s", f"{memory:.0f} MB"] for age, spent, memory in hour]
    rows_of_slips = [
        [
            f"{rate:g} Hz",
            f"{len(found)} of {SLIP_SESSIONS}",
            f"{np.median([slip for slip, _ in found]):.2f} s",
            f"{max(slip for slip, _ in found):.2f} s ({max(slip / clean for slip, clean in found):.1f} times)",
            f"{max(clean for _, clean in found):.2f} s",
        ]
        for rate, found in slips.items()
    ]
    slip_heads = ["stream", "told in", "CPU of a solve, median", "most (over one without it)", "most without it"]
    tables = {
        "A frame on its way in": Table(["stream", "CPU a frame"], rows),
        "An hour": Table(["age of the session", "CPU of a solve", "memory of the solver"], ages),
        "A slip is told": Table(slip_heads, rows_of_slips),
    }
    how = (
        f"A frame: recorded, stamped, and handed to who looks on, over {FED_FRAMES} frames. An hour: a simulated "
        f"person of 15 sensors under 5 mm of skin at {RATE_HZ:g} Hz; of {SOLVES} solves at each age the quickest. "
        "Memory is that of the process that solves, numpy and everything included. A slip: of 2 cm, of a sensor chosen "
        f"by chance, told {SLIP_AT_S + 6:g} s into a session of exercises or a walk; the same session without it is "
        "solved in turn."
    )
    publish("live_cost", "What a session costs", how, tables, {"feed": feeds, "hour": hour, "slips": slips}, given)


if __name__ == "__main__":
    main()
