"""What a session costs: a frame on its way in, a solve at any age, and memory over an hour.

Time is accelerated: an hour's frames are recorded as fast as they can be, and solved at some ages only.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from condyle.io.log_records import Layout
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

from .bound import noise
from .coverage import SOFT
from .harness import Table, arguments, progress, publish
from .live import rows_of

RATES = ((16, 120.0), (64, 240.0))  # sensors, Hz
FED_FRAMES = 50_000
RATE_HZ, LOOP_S = 120.0, 120.0
AGES_S = (60.0, 300.0, 900.0, 1800.0, 2700.0, 3600.0)
SOLVES = 3  # at every age; the least counts
SLIP_AT_S = 60.0
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


def measure_slip(folder: Path) -> float:
    """[s] of CPU for a solve that tells a slip, which fits everything again with the sensor moved back."""
    how = noise(0.15, 0.15, **SOFT, slips=(SensorSlip("r_thigh", SLIP_AT_S, (0.02, 0.0, 0.0)),))
    take = simulate(human(), "exercise", seconds=SLIP_AT_S + 6.0, rate=RATE_HZ, seed=64_000, disturbances=how).take
    layout, path, session = Layout("demo", take.names, convention=CONVENTION), folder / "slip.log", Session()
    with Recorder(path) as recorder:
        for moment, row in zip(take.time.tolist(), rows_of(take), strict=True):
            recorder.write(Packet(layout, moment, moment, row))
    for record in LogTail(path).read():
        session.add(record)
    solves = [session.solve() for _ in range(SOLVES)]
    assert all(solve.slips for solve in solves)
    return min(solve.cpu for solve in solves)


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
        slip = measure_slip(folder)
    rows = [[f"{sensors} x {rate:g} Hz", f"{1e6 * spent:.1f} us"] for sensors, rate, spent in feeds]
    ages = [[f"{age / 60:g} min", f"{spent:.2f} s", f"{memory:.0f} MB"] for age, spent, memory in hour]
    ages.append([f"{SLIP_AT_S / 60:g} min, and a slip is told", f"{slip:.2f} s", "-"])
    tables = {
        "A frame on its way in": Table(["stream", "CPU a frame"], rows),
        "An hour": Table(["age of the session", "CPU of a solve", "memory of the solver"], ages),
    }
    how = (
        f"A frame: recorded, stamped, and handed to who looks on, over {FED_FRAMES} frames. An hour: a simulated "
        f"person of 15 sensors under 5 mm of skin at {RATE_HZ:g} Hz; of {SOLVES} solves at each age the quickest. "
        "Memory is that of the process that solves, numpy and everything included."
    )
    publish("live_cost", "What a session costs", how, tables, {"feed": feeds, "hour": hour, "slip": slip}, given)


if __name__ == "__main__":
    main()
