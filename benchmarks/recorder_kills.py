"""Is a frame ever lost that the recorder had taken, when its process is killed, and what does taking one cost?

A process records 16 bodies as fast as it can and says after every frame that it was taken. It is killed (KILL) at a
random moment; then the log is read and held against what was said.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from condyle.io.formats import read_recording
from condyle.io.log_records import Layout
from condyle.live.recorder import Recorder
from condyle.live.source import Packet
from condyle.model.recording import Convention

from .harness import Table, arguments, progress, publish

BODIES = 16
TIMED_FRAMES = 20_000
WRITER = """
import os, sys
from benchmarks.recorder_kills import frame
from condyle.live.recorder import Recorder
recorder, k = Recorder(sys.argv[1]), 0
while True:
    recorder.write(frame(k))
    os.write(1, b"%d\\n" % k)
    k += 1
"""
LAYOUT = Layout("simulated", tuple(f"s{k}" for k in range(BODIES)), (), Convention("wxyz", unit="m"))


def frame(number: int) -> Packet:
    """A packet whose numbers tell which one it is."""
    return Packet(LAYOUT, number / 120, number / 120, np.full(LAYOUT.width, float(number)))


def start_writer(log: Path) -> subprocess.Popen[bytes]:
    """A process that records to a log and prints the number of every frame that was taken."""
    return subprocess.Popen([sys.executable, "-c", WRITER, str(log)], stdout=subprocess.PIPE)


def count_lost(log: Path, writer: subprocess.Popen[bytes], after: float) -> tuple[int, int, bool]:
    """Frames that were taken until the writer was killed so many seconds after the first, those of them that the log
    lacks or has otherwise, and whether its end was torn.
    """
    assert writer.stdout is not None
    said = [writer.stdout.readline()]
    time.sleep(after)
    writer.kill()
    said += writer.stdout.readlines()
    writer.wait()
    writer.stdout.close()
    taken = [int(line) for line in said if line.endswith(b"\n")]
    found = read_recording(log)
    assert found.bodies is not None
    kept = found.bodies.position[:, :, 0]
    whole = {int(row[0]) for row in kept if (row == row[0]).all()}
    torn = any("in the middle of a record" in finding.text for finding in found.findings)
    return len(taken), len(set(taken) - whole), torn


def measure_write() -> tuple[float, float]:
    """CPU time [us] of writing a frame: of the recorder, and of the bare call to the system with as many bytes."""
    import os

    packets = [frame(k) for k in range(TIMED_FRAMES)]
    with tempfile.TemporaryDirectory() as folder:
        with Recorder(Path(folder) / "a.log") as recorder:
            begin = time.process_time()
            for packet in packets:
                recorder.write(packet)
            own = time.process_time() - begin
        raw = bytes((Path(folder) / "a.log").stat().st_size // TIMED_FRAMES)
        handle = os.open(Path(folder) / "b", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        begin = time.process_time()
        for _ in packets:
            os.write(handle, raw)
        bare = time.process_time() - begin
        os.close(handle)
    return own / TIMED_FRAMES * 1e6, bare / TIMED_FRAMES * 1e6


def main() -> None:
    given = arguments("Frames lost when a recording process is killed.", 100)
    rng = random.Random(given.seed)
    taken = lost = torn = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(given.trials):
            progress(f"kill {k + 1} of {given.trials}")
            log = Path(folder) / f"{k}.log"
            some = count_lost(log, start_writer(log), rng.uniform(0.0, 0.5))
            taken, lost, torn = taken + some[0], lost + some[1], torn + some[2]
            log.unlink()
    own, bare = np.median([measure_write() for _ in range(5)], axis=0)
    table = Table(
        ["kills", "frames taken", "of them lost", "torn ends", "CPU of a frame, us", "of a bare write, us"],
        [[str(given.trials), str(taken), str(lost), str(torn), f"{own:.1f}", f"{bare:.1f}"]],
    )
    publish(
        "recorder_kills",
        "A recording process that is killed",
        " ".join((__doc__ or "").split()),
        {"Kills": table},
        {"kills": {"taken": taken, "lost": lost, "torn": torn, "write_us": own, "bare_write_us": bare}},
        given,
    )


if __name__ == "__main__":
    main()
