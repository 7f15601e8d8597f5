"""From markers on the skin to joint centres that fit into any marker set: tables in mm, and a C3D file.

    python examples/06_biomechanics.py [FOLDER]

Writes FOLDER/markers.csv (what cameras saw), FOLDER/skeleton.json, FOLDER/figure.c3d and the tables
FOLDER/figure-*.csv; then takes the left hip from a table and puts it back into the marker set.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import condyle
from condyle.simulate import World, human, simulate

NOISE = 0.0005  # m per axis, of every marker
PLATE = 0.05  # m: usual distance of a marker from the middle of its cluster, per axis


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    world = simulate(human(), "walk", seconds=20, rate=100)
    plates = write_markers(folder / "markers.csv", world)

    # From here on nothing is known but the markers, and which of them belong together.
    groups = {body: list(plate) for body, plate in plates.items()}
    fit = condyle.fit(folder / "markers.csv", bodies=groups)
    print(fit)
    for file in fit.save(folder, report=False, export="c3d,csv").files:
        print("wrote", file)

    with (folder / "figure-limbs.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["body"] == "l_thigh":
                low, high = float(row["low_95_mm"]), float(row["high_95_mm"])
                print(f"left thigh {float(row['length_mm']):.1f} mm, 95 % interval {low:.1f} to {high:.1f}")
    hip_from_table(folder / "figure-joints-by-markers.csv", plates, world)
    hip_from_c3d(folder / "figure.c3d", world)


def write_markers(path: Path, world: World) -> dict[str, dict[str, np.ndarray]]:
    """Four markers on every body, seen by cameras; returns where they are on the body's sensor [m]."""
    rng = np.random.default_rng(0)
    take = world.take
    plates = {body: {f"{body}_{k}": PLATE * rng.standard_normal(3) for k in range(1, 5)} for body in take.names}
    columns, names = [], []
    for k, plate in enumerate(plates.values()):
        for name, place in plate.items():
            p = take.p_world_body[:, k] + take.R_world_body[:, k] @ place
            columns.append(1000 * (p + NOISE * rng.standard_normal(p.shape)))
            names += [f"{name}.{axis}" for axis in "xyz"]
    head = f"# rate: 100\n# units: mm\n{','.join(names)}"
    np.savetxt(path, np.concatenate(columns, axis=1), fmt="%.4f", delimiter=",", header=head, comments="")
    return plates


def hip_from_table(path: Path, plates: dict[str, dict[str, np.ndarray]], world: World) -> None:
    """The hip centre from three markers of the pelvis: the frame that the table tells, built from the markers."""
    with path.open(newline="", encoding="utf-8") as stream:
        row = next(row for row in csv.DictReader(stream) if (row["joint"], row["body"]) == ("hip_l", "pelvis"))
    a, b, c = (1000 * plates["pelvis"][row[key]] for key in ("origin_marker", "x_marker", "plane_marker"))
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    hip = a + np.stack([x, np.cross(z, x), z], axis=1) @ [float(row[f"{axis}_mm"]) for axis in "xyz"]
    truth = world.truth
    true = 1000 * truth.p_parent_joint[truth.names.index("l_thigh")]
    half = ", ".join(f"{float(row[f'half_95_{axis}_mm']):.1f}" for axis in "xyz")
    print(f"left hip from the table: {np.linalg.norm(hip - true):.1f} mm from the truth; told within {half} mm")


def hip_from_c3d(path: Path, world: World) -> None:
    """The same joint as a point of the C3D file, frame by frame in the room."""
    from condyle.io.formats import read_recording

    points = read_recording(path).markers
    assert points is not None
    hip = points.position[:, points.names.index("hip_l")] / 1000
    truth, thigh = world.truth, world.take.names.index("l_thigh")
    R, p = world.take.R_world_body[:, thigh], world.take.p_world_body[:, thigh]
    off = np.linalg.norm(hip - p - R @ truth.p_child_joint[truth.names.index("l_thigh")], axis=1)
    print(f"left hip in {path.name}: {1000 * np.sqrt((off**2).mean()):.1f} mm rms from the truth in {len(off)} frames")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-06"))
