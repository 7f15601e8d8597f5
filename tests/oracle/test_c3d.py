"""Another reader's answer: ezc3d reads the same numbers from every variant it knows and from every real file.

It runs in a process of its own, because a file that it does not like may end the process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
import pytest

from condyle.io.formats import read_recording
from condyle.model.recording import Recording
from tests.make.c3d_files import c3d

SCRIPT = """
import sys, ezc3d, numpy as np
file = ezc3d.c3d(sys.argv[1])
def labels(group):
    return [label.strip() for label in file["parameters"].get(group, {}).get("LABELS", {}).get("value", [])]
np.savez(
    sys.argv[2], rate=file["header"]["points"]["frame_rate"],
    points=file["data"]["points"][:3].transpose(2, 1, 0), point_labels=labels("POINT"),
    rotations=file["data"]["rotations"].transpose(3, 2, 0, 1), rotation_labels=labels("ROTATION"),
)
"""
REAL = [
    "cmu_c3d/02_05.c3d",
    "cmu_c3d/dribble_shoot.c3d",
    "functional_knee_c3d/right_knee.c3d",
    "optitrack_c3d/walk.c3d",
    "optotrak_c3d/Optotrak.c3d",
    "qualisys_c3d/walk.c3d",
    "theia_c3d/rotation.c3d",
    "vicon_functional_c3d/left_hip.c3d",
]


def theirs(path: Path, folder: Path) -> dict[str, Any]:
    """What ezc3d finds: rate, points (n, k, 3), rotations (n, m, 4, 4) and their labels."""
    out = folder / "theirs.npz"
    subprocess.run([sys.executable, "-c", SCRIPT, str(path), str(out)], check=True)
    with np.load(out) as arrays:
        return dict(arrays)


def check(found: Recording, other: dict[str, Any]) -> None:
    """Every label, rate, position and matrix is the same number, and NaN in the same places."""
    assert found.rate == pytest.approx(float(other["rate"]), rel=1e-6)
    if found.markers is not None:
        assert list(found.markers.names) == other["point_labels"].tolist()
        points = other["points"]
        points[(points == 0).all(axis=2)] = np.nan  # a place of three zeros is no place here
        np.testing.assert_array_equal(found.markers.position, points)
    if found.bodies is not None:
        labels = other["rotation_labels"].tolist()
        kept = [k for k, label in enumerate(labels) if label != "worldbody_4X4"]
        assert list(found.bodies.names) == [labels[k].removesuffix("_4X4") for k in kept]
        M = other["rotations"][:, kept]
        np.testing.assert_array_equal(found.bodies.position, M[..., :3, 3])
        np.testing.assert_array_equal(found.bodies.orientation.reshape(*M.shape[:2], 3, 3), M[..., :3, :3])


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_has_the_numbers_that_ezc3d_finds(shared_data: Path, tmp_path: Path, name: str) -> None:
    check(read_recording(shared_data / name), theirs(shared_data / name, tmp_path))


@pytest.mark.parametrize("scale", [-1.0, 0.01], ids=["floats", "integers"])
@pytest.mark.parametrize("processor", ["Intel", "DEC"])  # ezc3d does not read MIPS
@pytest.mark.parametrize("samples", [0, 3])
def test_every_variant_has_the_numbers_that_ezc3d_finds(
    tmp_path: Path, rng: np.random.Generator, processor: str, scale: float, samples: int
) -> None:
    points = rng.uniform(-300, 300, (20, 5, 3))
    analog = rng.uniform(0, 9, (20, samples, 2)) if samples else None
    residual = np.where(rng.random((20, 5)) < 0.2, -1.0, 0.0)
    said: dict[str, Any] = {}
    if samples:  # without any of these ezc3d crashes
        said = {"ANALOG:RATE": 100.0 * samples, "ANALOG:LABELS": ["a", "b"], "ANALOG:GEN_SCALE": 1.0}
        said |= {"ANALOG:SCALE": [1.0, 1.0], "ANALOG:OFFSET": [0, 0], "ANALOG:UNITS": ["V", "V"]}
    path = tmp_path / "a.c3d"
    path.write_bytes(c3d(points, processor=processor, scale=scale, analog=analog, residual=residual, parameters=said))
    found = read_recording(path)
    assert found.markers is not None
    assert np.isnan(found.markers.position).any()
    check(found, theirs(path, tmp_path))


def test_rotations_have_the_numbers_that_ezc3d_finds(tmp_path: Path, rng: np.random.Generator) -> None:
    values = rng.uniform(-1, 1, (20, 3, 17))
    values[..., 3:16:4], values[..., 16] = [0, 0, 0, 1], 0
    said = {"ROTATION:LABELS": ["worldbody_4X4", "a_4X4", "b"], "ROTATION:RATE": 100.0, "ANALOG:RATE": 100.0}
    path = tmp_path / "a.c3d"
    path.write_bytes(c3d(rotations=values, parameters=said))
    check(read_recording(path), theirs(path, tmp_path))


def test_a_file_that_ezc3d_writes_is_read(tmp_path: Path, rng: np.random.Generator) -> None:
    points = rng.uniform(-1, 1, (4, 3, 30))
    points[3] = 1
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [240.0]
    file["parameters"]["POINT"]["UNITS"]["value"] = ["m"]
    file["parameters"]["POINT"]["LABELS"]["value"] = ["A", "B", "C"]
    file["data"]["points"] = points
    path = tmp_path / "a.c3d"
    file.write(str(path))
    found = read_recording(path)
    assert (found.frames, found.rate, found.convention.unit) == (30, 240.0, "m")
    assert found.markers is not None
    np.testing.assert_array_equal(found.markers.position, points[:3].transpose(2, 1, 0).astype(np.float32))
    check(found, theirs(path, tmp_path))


def test_70000_frames_that_ezc3d_writes_are_all_read(tmp_path: Path) -> None:
    points = np.ones((4, 1, 70_000))
    points[0, 0] = np.arange(1, 70_001)
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [100.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = ["A"]
    file["data"]["points"] = points
    path = tmp_path / "a.c3d"
    file.write(str(path))
    found = read_recording(path)
    assert found.markers is not None
    np.testing.assert_array_equal(found.markers.position[:, 0, 0], points[0, 0])
