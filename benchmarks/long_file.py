"""A recording far longer than memory should be: time, speed and memory of `condyle fit` against the size of its file.

The file is written first, from pieces of a simulated walk whose joints are known, and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condyle.io.formats.csv import PARTS
from condyle.maths.rotation import to_quaternion
from condyle.maths.spool import ARRAY_BYTES
from condyle.simulate import World, simulate

from .bound import noise
from .harness import FIRST_SEED, Table, progress, publish
from .speed import branching

# Memory without the pages of files, which the system takes back when it needs them; looked at ten times a second.
WATCH = """
import json, pathlib, re, resource, subprocess, sys, time
child, peak, waited = subprocess.Popen(sys.argv[1:]), 0, 0
while child.poll() is None:
    found = re.search(r"RssAnon:\\s+(\\d+)", pathlib.Path(f"/proc/{child.pid}/status").read_text())
    peak = max(peak, int(found[1]) if found else 0)
    waited = max(waited, int(pathlib.Path(f"/proc/{child.pid}/schedstat").read_text().split()[1]))
    time.sleep(0.1)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, peak * 1024, waited / 1e9]), file=sys.stderr)
"""
BODIES, RATE, SECONDS, PIECES = 16, 120.0, 120.0, 38  # new throughout up to 1.2 GB


@dataclass(frozen=True)
class Run:
    """One fit of one file; its bytes and frames, seconds [s] of wall, of processor and of waiting for one, peak [bytes]
    of anonymous memory, error [m] rms of centres, and what was told.
    """

    size: int
    frames: int
    wall: float
    cpu: float
    waited: float
    peak: int
    error: float
    findings: tuple[str, ...]


def pieces(seed: int) -> list[World]:
    """Walks of one figure with the same sensors on it."""
    figure = branching(BODIES)
    worlds: list[World] = []
    for k in range(PIECES):
        mounts = worlds[0].truth.mounts if worlds else None
        worlds.append(
            simulate(
                figure, "walk", seconds=SECONDS, rate=RATE, seed=seed + k, disturbances=noise(0.3, 0.5), mounts=mounts
            )
        )
    return worlds


def pose_lines(world: World) -> list[bytes]:
    """The poses of every frame as they stand in a file, behind the time."""
    take = world.take
    poses = np.concatenate([take.p_world_body, to_quaternion(take.R_world_body)], axis=-1).reshape(take.frames, -1)
    return [("," + ",".join(map(repr, row)) + "\n").encode() for row in poses.tolist()]


def blocks(lines: list[list[bytes]]) -> Iterator[bytes]:
    """The same walks over and over, under a clock that goes on."""
    frame = 0
    while True:
        for piece in lines:
            yield b"".join(b"%.6f" % ((frame + k) / RATE) + line for k, line in enumerate(piece))
            frame += len(piece)


def write(path: Path, worlds: list[World], size: int) -> None:
    """A file of at least so many bytes."""
    names = worlds[0].take.names
    columns = ",".join(["time", *(f"{name}.{part}" for name in names for part in PARTS)])
    lines = [pose_lines(world) for world in worlds]
    with open(path, "wb") as stream:
        stream.write(f"# condyle take 1\n# length: m\n# quaternion: wxyz\n{columns}\n".encode())
        for block in blocks(lines):
            stream.write(block)
            if stream.tell() >= size:
                return


def fit(path: Path, world: World, array_bytes: int) -> Run:
    """`condyle fit` in a process of its own."""
    command = [sys.executable, "-c", WATCH, sys.executable, "-m", "condyle", "fit", str(path), "--json"]
    begin = time.perf_counter()
    here = {**os.environ, ARRAY_BYTES: str(array_bytes)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=here)
    wall = time.perf_counter() - begin
    skeleton = json.loads(done.stdout)
    cpu, peak, waited = json.loads(done.stderr.splitlines()[-1])
    if "error" in skeleton:
        raise SystemExit(str(skeleton["error"]))
    return Run(
        path.stat().st_size,
        skeleton["take"]["frames"],
        wall,
        cpu,
        waited,
        peak,
        error(skeleton, world),
        tuple(sorted({finding["code"] for finding in skeleton["findings"]})),
    )


def error(skeleton: dict[str, Any], world: World) -> float:
    """Rms error of the joints' places in both of their bodies [m]; NaN where an edge is wrong."""
    truth = world.truth
    row = {truth.names[k]: k for k in np.flatnonzero(truth.parent >= 0)}
    parent = {name: truth.names[truth.parent[k]] for name, k in row.items()}
    off = []
    for joint in skeleton["joints"]:
        a, b, c, l = joint["child"], joint["parent"], joint["p_child_joint"], joint["p_parent_joint"]
        if parent.get(a) != b:  # the other way round, or not at all
            a, b, c, l = b, a, l, c
        if parent.get(a) != b:
            return float("nan")
        off += [c - truth.p_child_joint[row[a]], l - truth.p_parent_joint[row[a]]]
    return float(np.sqrt(np.square(off).sum(axis=1).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.3, 1.2, 2.4], help="sizes of the files")
    parser.add_argument("--array-bytes", type=int, default=10**8, help="bytes from which an array lies on disk")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files are written")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the first walk ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="anything: the results are printed and not written")
    given = parser.parse_args()
    given.trials = 1
    worlds = pieces(given.seed)
    runs = []
    for size in given.gigabytes:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / "long.csv"
            write(path, worlds, int(size * 1e9))
            progress(f"{size:g} GB written")
            runs.append(fit(path, worlds[0], given.array_bytes))
            progress(str(runs[-1]))
    heads = ["file", "frames", "wall", "CPU", "waited for a core", "speed", "peak memory", "centres off by"]
    rows: list[Sequence[str]] = [
        [
            f"{run.size / 1e9:.1f} GB",
            f"{run.frames:,}",
            f"{run.wall:.0f} s",
            f"{run.cpu:.0f} s",
            f"{run.waited:.0f} s",
            f"{run.size / 1e6 / run.cpu:.0f} MB per CPU second",
            f"{run.peak / 1e6:.0f} MB",
            f"{run.error * 1e3:.3f} mm",
        ]
        for run in runs
    ]
    how = (
        f"`condyle fit` on condyle CSV files of {BODIES} sensors at {RATE:g} Hz, 3 mm and 0.5 degrees of noise, in a "
        f"process of its own with {ARRAY_BYTES}={given.array_bytes}: wall and CPU time of the whole command, how long "
        "other programs had the cores that it could have used, the most anonymous memory it had, and the rms error of "
        f"the joints' places. A file is made of {PIECES} walks of {SECONDS:g} s, over and over: more than {PIECES} of "
        "them repeat, noise and all."
    )
    publish(
        "long_file",
        "Very long files",
        how,
        {"Time and memory against size": Table(heads, rows)},
        {f"{size:g} GB": vars(run) for size, run in zip(given.gigabytes, runs, strict=True)},
        given,
    )


if __name__ == "__main__":
    main()
