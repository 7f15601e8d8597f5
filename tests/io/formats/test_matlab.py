"""MATLAB files of poses and markers, versions 5 and 7.3."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io

import condyle
from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import matlab
from condyle.maths import rotation
from condyle.model.recording import Recording, to_take

EXACT = 1e-12
NAMES = ("pelvis", "thigh")
N = 40  # frames


def poses(m: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """R (n, m, 3, 3) and p (n, m, 3)."""
    rng = np.random.default_rng(1)
    return rotation.random(rng, (N, m)), rng.standard_normal((N, m, 3))


def old(values: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, values)
    return stream.getvalue()


def new(values: dict[str, Any]) -> bytes:
    """The same as MATLAB 7.3 writes it: axes reversed, strings as numbers, cells as references, text before all."""
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:

        def write(group: Any, name: str, value: Any) -> None:
            if isinstance(value, dict):
                inner = group.create_group(name)
                for key, one in value.items():
                    write(inner, key, one)
            elif isinstance(value, str):
                text = group.create_dataset(name, data=np.array([[ord(letter)] for letter in value], dtype=np.uint16))
                text.attrs["MATLAB_class"] = np.bytes_("char")
            elif isinstance(value, np.ndarray) and value.dtype == object:
                cells = file.require_group("#refs#")
                first = len(cells)
                for k, one in enumerate(value.ravel()):
                    write(cells, f"c{first + k}", one)
                refs = np.array([[cells[f"c{first + k}"].ref] for k in range(value.size)], dtype=h5py.ref_dtype)
                group.create_dataset(name, data=refs, dtype=h5py.ref_dtype)
            else:
                group.create_dataset(name, data=np.atleast_2d(np.asarray(value, dtype=float)).T)

        for name, value in values.items():
            write(file, name, value)
    raw = bytearray(stream.getvalue())
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 ."
    raw[: len(head)] = head
    return bytes(raw)


def cells(*names: str) -> np.ndarray:
    return np.array(names, dtype=object)


def arrays() -> dict[str, Any]:
    R, p = poses()
    return {"R": np.moveaxis(R, (2, 3), (0, 1)), "position": p, "names": cells(*NAMES), "fs": 120.0, "unit": "mm"}


def structures() -> dict[str, Any]:
    R, p = poses()
    q = rotation.to_quaternion(R)
    return {
        "data": {name: {"position": p[:, k], "quaternion": q[:, k]} for k, name in enumerate(NAMES)},
        "time": np.arange(N) / 50,
    }


def qualisys(m: int = 2) -> dict[str, Any]:
    R, p = poses(m)
    columns = np.swapaxes(R, 2, 3).reshape(N, m, 9)
    return {
        "walk0001": {
            "FrameRate": 100.0,
            "Frames": float(N),
            "RigidBodies": {
                "Bodies": float(m),
                "Name": cells(*NAMES[:m]) if m > 1 else NAMES[0],
                "Positions": np.moveaxis(p, 0, 2),
                "Rotations": np.moveaxis(columns, 0, 2),
            },
            "Trajectories": {
                "Labeled": {"Count": 3.0, "Labels": cells("LASI", "RASI", "SACR"), "Data": np.ones((3, 4, N))}
            },
        }
    }


SMALL: dict[str, bytes] = {"arrays": old(arrays()), "qualisys": old(qualisys()), "new": new(arrays())}


def read(tmp_path: Path, raw: bytes) -> Recording:
    path = tmp_path / "take.mat"
    path.write_bytes(raw)
    assert matlab.looks_like(raw[:65536])
    return matlab.read(path, ReadOptions())


@pytest.mark.parametrize("write", [old, new])
@pytest.mark.parametrize("make", [arrays, structures, qualisys])
def test_poses_are_read_in_either_version(tmp_path, write, make) -> None:
    found = read(tmp_path, write(make()))
    R, p = poses()
    take = to_take(found)
    assert take.names == NAMES
    np.testing.assert_allclose(take.R_world_body, R, atol=EXACT * 100)
    metres = 1.0 if make is structures else 0.001
    assert found.convention.unit == (None if make is structures else "mm")
    if found.convention.unit:
        np.testing.assert_allclose(take.p_world_body, metres * p, atol=EXACT)
    assert take.rate == pytest.approx({arrays: 120, structures: 50, qualisys: 100}[make])


@pytest.mark.parametrize("write", [old, new])
def test_axes_may_stand_in_another_order(tmp_path, write) -> None:
    R, p = poses()
    for turned in (
        {"R": R, "p": p},
        {"Rot": np.moveaxis(R, (2, 3), (0, 1)), "pos": np.moveaxis(p, 2, 0)},
        {"T": np.concatenate([np.concatenate([R, p[..., None]], 3), np.tile([0, 0, 0, 1.0], (N, 2, 1, 1))], 2)},
    ):
        found = read(tmp_path, write(turned)).bodies
        assert found is not None
        np.testing.assert_allclose(found.position, p, atol=EXACT)
        np.testing.assert_allclose(found.orientation.reshape(R.shape), R, atol=EXACT)
        assert found.names == ("body1", "body2")


@pytest.mark.parametrize("write", [old, new])
def test_one_rigid_body_of_qualisys_keeps_its_axes(tmp_path, write) -> None:
    found = read(tmp_path, write(qualisys(1)))
    assert found.bodies is not None
    np.testing.assert_allclose(found.bodies.orientation.reshape(N, 1, 3, 3), poses(1)[0], atol=EXACT)
    assert found.markers is not None
    assert found.markers.names == ("LASI", "RASI", "SACR")


def test_a_fit_takes_a_matlab_file(tmp_path) -> None:
    world = condyle.simulate.simulate(condyle.simulate.chain(), "exercise", seconds=10, rate=30, seed=1)
    take = world.take
    values = {"R": np.moveaxis(take.R_world_body, (2, 3), (0, 1)), "position": take.p_world_body}
    path = tmp_path / "take.mat"
    path.write_bytes(old(values | {"names": cells(*take.names), "fs": take.rate, "unit": "m"}))
    assert len(condyle.fit(str(path)).skeleton.joints) == 3


@pytest.mark.parametrize("write", [old, new])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"emg": np.ones((5, 3))}, "holds emg; expected"),
        (
            {"R": np.ones((3, 3, N, 2)), "position": np.ones((N, 2, 3)), "names": cells("a", "b", "c")},
            "3 names for 2 bodies",
        ),
        (
            {
                "RigidBodies": {
                    "Name": cells("a", "b"),
                    "Positions": np.ones((2, 4, N)),
                    "Rotations": np.ones((2, 9, N)),
                }
            },
            "expected 2 x 3",
        ),
        ({"Trajectories": {"Discarded": {"Count": 0.0}}}, "neither rigid bodies nor labelled"),
    ],
)
def test_what_is_no_recording_is_told_in_a_sentence(tmp_path, write, values, words) -> None:
    with pytest.raises(CondyleError, match=words):
        read(tmp_path, write(values))
