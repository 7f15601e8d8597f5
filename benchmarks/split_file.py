"""Would one giant recording be done sooner by several processes that share its file?

CPU time of the parts of a fit, and of reading the file in two halves, each by a process of its own that leaves its
poses in a file for the one that fits. What counts then is the start of a process, its half, and putting both together.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import condyle
from condyle.simulate import Disturbances, human, simulate

from .harness import FIRST_SEED, Table, publish

RATE = 120.0  # Hz
HALF = """
import sys, time
import numpy as np, condyle
begun = time.process_time()
take = condyle.read(sys.argv[1])
read = time.process_time()
np.save(sys.argv[1] + ".R.npy", take.R_world_body)
np.save(sys.argv[1] + ".p.npy", take.p_world_body)
print(begun, read - begun, time.process_time() - read)
"""


def write_files(home: Path, seconds: float, seed: int) -> Path:
    """A CSV file of a person, and its two halves."""
    noise = Disturbances(position_noise=0.003, orientation_noise=math.radians(0.5))
    take = simulate(human(), "exercise", seconds=seconds, rate=RATE, seed=seed, disturbances=noise).take
    halves = np.array_split(np.arange(take.frames), 2)
    for name, rows in (("whole", slice(None)), ("first", halves[0]), ("second", halves[1])):
        part = condyle.Take(take.names, take.time[rows], take.R_world_body[rows], take.p_world_body[rows])
        condyle.write_take(home / f"{name}.csv", part)
    return home / "whole.csv"


def read_half(file: Path) -> list[float]:
    """CPU time [s] to start, to read, and to leave the poses."""
    words = [sys.executable, "-c", HALF, str(file)]
    return [float(word) for word in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()]


def measure(home: Path, seconds: float, seed: int, repeats: int) -> dict[str, float]:
    """CPU time [s] of each part, the least of several."""
    file = write_files(home, seconds, seed)
    found: dict[str, list[float]] = {}

    def note(name: str, begin: float) -> None:
        found.setdefault(name, []).append(time.process_time() - begin)

    for _ in range(repeats):
        begin = time.process_time()
        take = condyle.read(file)
        note("reading", begin)
        halves = [read_half(home / f"{name}.csv") for name in ("first", "second")]
        begin = time.process_time()
        for kind in "Rp":
            np.concatenate([np.load(home / f"{name}.csv.{kind}.npy") for name in ("first", "second")])
        joined = time.process_time() - begin
        found.setdefault("reading by two processes", []).append(max(map(sum, halves)) + joined)
        begin = time.process_time()
        fit = condyle.fit(take)
        note("the figure", begin)
        begin = time.process_time()
        assert fit.motion is not None
        note("its motion", begin)
        begin = time.process_time()
        fit.save(home / "out")
        note("folder and page", begin)
    least = {name: min(times) for name, times in found.items()}
    return {"MB": file.stat().st_size / 1e6, "frames": float(take.frames), **least}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3, help="repeats, of which the least counts (3)")
    parser.add_argument("--seconds", type=float, default=900.0, help="of the recording (900)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--only", default="", help="anything: nothing is written")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        found = measure(Path(home), given.seconds, given.seed, given.trials)
    rows = [[name, f"{value:.3g}"] for name, value in found.items()]
    tables = {"CPU time, s": Table(["part", "measured"], rows)}
    publish("split_file", "One giant recording", " ".join((__doc__ or "").split()), tables, found, given)


if __name__ == "__main__":
    main()
