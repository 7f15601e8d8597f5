"""From a file to a skeleton, against merely reading the file with the fastest general libraries.

45 s of 16 bodies at 120 Hz as condyle CSV, as Motive CSV, and as C3D with matrices and with markers. CPU time of one
thread in one process, the least of several rounds in which everything is measured in turn. pandas, polars and ezc3d
are not among condyle's dependencies: `uv sync --group bench`, or `uv pip install pandas polars ezc3d`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np

import condyle
from condyle.io.formats import ReadOptions, read_recording
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.prepare.read import load

from .harness import FIRST_SEED, RESULTS, Table, progress, publish
from .speed import recording

SECONDS, BODIES, RATE = 45, 16, 120.0
MARKERS = 4  # on each body
DECIMALS = 6  # of a Motive export
Step = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=5, help="rounds, of which the least time counts (5)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the recording ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="only the files whose name contains this; nothing is written")
    given = parser.parse_args()
    take = recording(BODIES, SECONDS, RATE, given.seed).take
    rows, data = [], {}
    with TemporaryDirectory() as folder:
        for name, (path, libraries, options) in write_files(Path(folder), take).items():
            if given.only not in name:
                continue
            spent = measure(steps(path, libraries, options), given.trials)
            fastest = min(libraries, key=lambda library: spent[library])
            rows.append(row(name, path, libraries, fastest, spent))
            data[name] = spent
            progress(" | ".join(rows[-1]))
    heads = ["file", *(f"{step}" for step in ("libraries", "read", "+ doctor", "skeleton, quick", "skeleton, default"))]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pandas", "polars", "ezc3d"))
    how = (
        f"{BODIES} bodies, {SECONDS} s at {RATE:g} Hz, 3 mm and 0.5 deg of noise. CPU time of one thread, the least of "
        f"{given.trials} rounds in one process, with the ratio to the fastest of the general libraries ({libraries}). "
        "Read: the numbers as they stand in the file. Doctor: poses, after other conventions were tried. Quick: from "
        "the file to the skeleton by `--method least-squares --no-intervals`. Default: all joints together, with "
        "intervals."
    )
    publish("reading", "From a file to a skeleton", how, {"CPU times": Table(heads, rows)}, data, given)


def row(name: str, path: Path, libraries: dict[str, Step], fastest: str, spent: dict[str, float]) -> list[str]:
    others = ", ".join(f"{library} {1e3 * spent[library]:.0f} ms" for library in libraries)
    times = [
        f"{1e3 * spent[step]:.0f} ms, {spent[step] / spent[fastest]:.2f} times"
        for step in ("read", "doctor", "quick", "default")
    ]
    return [f"{name}, {path.stat().st_size / 1e6:.1f} MB", others, *times]


def steps(path: Path, libraries: dict[str, Step], options: ReadOptions) -> dict[str, Step]:
    def fit(**how: object) -> object:
        return condyle.fit(load([path], options).take, **how)  # type: ignore[arg-type]

    return {
        **libraries,
        "read": lambda: read_recording(path, options if options.bodies is None else None),
        "doctor": lambda: load([path], options),
        "quick": lambda: fit(plan="least-squares", intervals=False),
        "default": fit,
    }


def measure(parts: dict[str, Step], rounds: int) -> dict[str, float]:
    """CPU time [s] of each step, the least over rounds in which all are run in turn."""
    spent = dict.fromkeys(parts, float("inf"))
    for k in range(rounds + 1):
        for name, part in parts.items():
            begin = time.process_time()
            part()
            if k:  # the first round only warms up
                spent[name] = min(spent[name], time.process_time() - begin)
    return spent


def recorded_read(name: str, library: str) -> float:
    """Time to read a file over that of a library, as it stands in the results."""
    spent = json.loads((RESULTS / "reading.json").read_text())["results"][name]
    return float(spent["read"] / spent[library])


def write_files(folder: Path, take: Take) -> dict[str, tuple[Path, dict[str, Step], ReadOptions]]:
    """{name: (path, how the general libraries read it, options that condyle needs)}."""
    import ezc3d
    import pandas
    import polars

    plain, motive = folder / "take.csv", folder / "motive.csv"
    matrices, markers = folder / "matrices.c3d", folder / "markers.c3d"
    condyle.write_take(plain, take)
    head = write_motive(motive, take)
    groups = write_c3d(matrices, markers, take)
    return {
        "condyle CSV": (
            plain,
            {
                "pandas": lambda: pandas.read_csv(plain, comment="#"),
                "polars": lambda: polars.read_csv(plain, comment_prefix="#"),
            },
            ReadOptions(),
        ),
        "Motive CSV": (
            motive,
            {
                "pandas": lambda: pandas.read_csv(motive, skiprows=head, header=None),
                "polars": lambda: polars.read_csv(motive, skip_rows=head, has_header=False),
            },
            ReadOptions(),
        ),
        "C3D, matrices": (matrices, {"ezc3d": lambda: ezc3d.c3d(str(matrices))}, ReadOptions()),
        "C3D, markers": (markers, {"ezc3d": lambda: ezc3d.c3d(str(markers))}, ReadOptions(bodies=groups)),
    }


def write_motive(path: Path, take: Take) -> int:
    """The take as Motive exports rigid bodies, and the number of lines above the numbers."""
    q = rotation.to_quaternion(take.R_world_body)[..., [1, 2, 3, 0]]
    poses = np.concatenate([q, take.p_world_body], axis=2).reshape(take.frames, -1)
    parts = [("Rotation", axis) for axis in "XYZW"] + [("Position", axis) for axis in "XYZ"]
    cells = [(name, *part) for name in take.names for part in parts]
    head = [
        "Format Version,1.23,Take Name,walk,Capture Frame Rate,120.000000,Export Frame Rate,120.000000,"
        f"Total Exported Frames,{take.frames},Rotation Type,Quaternion,Length Units,Meters,Coordinate Space,Global",
        "",
        ",".join(["", "Type", *("Rigid Body" for _ in cells)]),
        ",".join(["", "Name", *(name for name, _, _ in cells)]),
        ",".join(["", "ID", *(f"{k // 7:032X}" for k in range(len(cells)))]),
        ",".join(["", "", *(part for _, part, _ in cells)]),
        ",".join(["Frame", "Time (Seconds)", *(axis for _, _, axis in cells)]),
    ]
    lines = [
        f"{k},{time:.6f}," + ",".join(f"{number:.{DECIMALS}f}" for number in pose)
        for k, (time, pose) in enumerate(zip(take.time, poses.tolist(), strict=True))
    ]
    path.write_text("\n".join([*head, *lines]) + "\n")
    return len(head)


def write_c3d(matrices: Path, markers: Path, take: Take) -> dict[str, list[str]]:
    """The take as matrices, and as markers of which the returned groups are the bodies; millimetres."""
    from tests.make.c3d_files import c3d

    n, m = take.frames, take.bodies
    T = np.zeros((n, m, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = take.R_world_body, 1000 * take.p_world_body, 1
    words = np.concatenate([np.swapaxes(T, 2, 3).reshape(n, m, 16), np.zeros((n, m, 1))], axis=2)
    labels = [f"{name}_4X4" for name in take.names]
    matrices.write_bytes(c3d(rotations=words, rate=RATE, parameters={"ROTATION:LABELS": labels, "ROTATION:RATE": RATE}))
    shape = 60 * np.array([[1.0, 0, 0], [-1, 0.3, 0], [0, 1, 0.2], [0.2, -0.5, 1]])[:MARKERS]
    places = 1000 * take.p_world_body[:, :, None] + np.einsum("nmij,kj->nmki", take.R_world_body, shape)
    groups = {name: [f"{name}{k}" for k in range(MARKERS)] for name in take.names}
    names = [name for group in groups.values() for name in group]
    markers.write_bytes(c3d(places.reshape(n, -1, 3), names, rate=RATE))
    return groups


if __name__ == "__main__":
    main()
