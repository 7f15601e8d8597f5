"""A recording far longer than memory should be: time, speed and memory of `condyle fit` against the size of its file.

The file is written first, from pieces of a simulated walk whose joints are known, and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
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
from condyle.simulate import World, simulate

from .bound import noise
from .harness import FIRST_SEED, Table, progress, publish
from .speed import branching

# A process starts with the memory of the one that started it in its record; this one is small.
WATCH = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]), file=sys.stderr)
"""
# The same without the sweeps: what a sample of the file alone gives.
SAMPLE = """
import json, sys
import condyle
from condyle import read
from condyle.io.skeleton_file import to_plain
print(json.dumps(to_plain(condyle.fit(read(sys.argv[1]), intervals=False).skeleton)))
"""
BODIES, RATE, SECONDS, PIECES = 16, 120.0, 120.0, 38  # as much as fills the smallest file once


@dataclass(frozen=True)
class Run:
    """One fit of one file; bytes of it and of its spool, frames of it and of its sample, seconds [s] of wall and
    processor, peak [bytes], error [m] rms of centres from all frames and from the sample alone, and what was told.
    """

    size: int
    spool: int
    frames: int
    used: int
    wall: float
    cpu: float
    peak: int
    error: float
    sample_error: float
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


def fit(path: Path, world: World) -> Run:
    """`condyle fit` in a process of its own."""
    command = [sys.executable, "-c", WATCH, sys.executable, "-m", "condyle", "fit", str(path), "--json"]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - begin
    skeleton = json.loads(done.stdout)
    cpu, peak = json.loads(done.stderr.splitlines()[-1])
    if "error" in skeleton:
        raise SystemExit(str(skeleton["error"]))
    told = next(finding for finding in skeleton["findings"] if finding["code"] == "long-recording")
    alone = subprocess.run([sys.executable, "-c", SAMPLE, str(path)], capture_output=True, text=True, check=True)
    return Run(
        path.stat().st_size,
        8 * (2 + 7 * BODIES) * told["count"],
        told["count"],
        skeleton["take"]["frames"],
        wall,
        cpu,
        peak,
        error(skeleton, world),
        error(json.loads(alone.stdout), world),
        (told["text"].rpartition("; ")[2], *sorted({finding["code"] for finding in skeleton["findings"]})),
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
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1.2, 2.4, 10.0], help="sizes of the files")
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
            runs.append(fit(path, worlds[0]))
            progress(str(runs[-1]))
    heads = ["file", "frames", "in the sample", "spool", "wall", "CPU", "speed", "peak memory", "centres off by"]
    heads += ["from the sample alone"]
    rows: list[Sequence[str]] = [
        [
            f"{run.size / 1e9:.1f} GB",
            f"{run.frames:,}",
            f"{run.used:,}",
            f"{run.spool / 1e9:.2f} GB",
            f"{run.wall:.0f} s",
            f"{run.cpu:.0f} s",
            f"{run.size / 1e6 / run.cpu:.0f} MB per CPU second",
            f"{run.peak / 1e6:.0f} MB",
            f"{run.error * 1e3:.3f} mm",
            f"{run.sample_error * 1e3:.3f} mm",
        ]
        for run in runs
    ]
    how = (
        f"`condyle fit` on condyle CSV files of {BODIES} sensors at {RATE:g} Hz, 3 mm and 0.5 degrees of noise, in a "
        "process of its own: wall and CPU time of the whole command, the most memory it had (maximum resident set), "
        "and the rms error of the joints' places, against that of the sample without the sweeps. A file is made of "
        f"{PIECES} walks of {SECONDS:g} s, over and over: only the smallest is new throughout, and more frames of the "
        "same noise make the larger ones no better."
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
