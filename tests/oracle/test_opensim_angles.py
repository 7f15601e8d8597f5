"""Angles against OpenSim: legs with the joints of its gait models, turned by OpenSim, fitted and counted here."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.io.exports.mechanism import add, to_xml
from condyle.maths import rotation
from tests.make.clients import ask

COORDINATES = ("flexion", "adduction", "rotation")
NEAR_DEG = 0.01  # where the frames of both are the same
FRAMES_DEG = 1.0  # where condyle finds them in the motion

MODEL = """
import opensim
opensim.Logger.setLevelString("error")
model = opensim.Model(facts["model"])
state = model.initSystem()
coordinates = {one.getName(): one for one in model.getCoordinateSet()}
bodies = {one.getName(): one for one in model.getBodyList()}
found = {name: [] for name in bodies}
for row in facts["rows"]:
    for name, value in zip(facts["names"], row):
        coordinates[name].setValue(state, value, False)
    model.realizePosition(state)
    for name, one in bodies.items():
        pose = one.getTransformInGround(state)
        R, p = pose.R().asMat33(), pose.p()
        found[name].append([R.get(i, j) for i in range(3) for j in range(3)] + [p[i] for i in range(3)])
answer(found)
"""


def write_model(path: Path) -> None:
    """Pelvis, thighs, shanks and feet. Every joint has three coordinates about Z, X and Y as the hips of OpenSim's gait
    models do, those of the left side about -X and -Y, knees about -Z.
    """
    root = ET.Element("OpenSimDocument", Version="40000")
    model = add(root, "Model", name="legs")
    bodies = add(add(model, "BodySet", name="bodyset"), "objects")
    joints = add(add(model, "JointSet", name="jointset"), "objects")
    for name in ("pelvis", *(f"{part}_{side}" for side in "lr" for part in ("thigh", "shank", "foot"))):
        body = add(bodies, "Body", name=name)
        add(body, "mass", "1")
        add(body, "inertia", "1 1 1 0 0 0")
    weld = add(joints, "WeldJoint", name="ground_pelvis")
    _frames(weld, "/ground", "/bodyset/pelvis", [0.0, 0.95, 0.0])
    for side, sign in (("l", -1.0), ("r", 1.0)):
        above, place = "pelvis", [0.0, -0.05, 0.09 * sign]
        for joint, part, bend in (("hip", "thigh", 1.0), ("knee", "shank", -1.0), ("ankle", "foot", 1.0)):
            one = add(joints, "CustomJoint", name=f"{joint}_{side}")
            _frames(one, f"/bodyset/{above}", f"/bodyset/{part}_{side}", place)
            named = [f"{joint}_{word}_{side}" for word in COORDINATES]
            coordinates = add(one, "coordinates")
            for name in named:
                add(add(coordinates, "Coordinate", name=name), "range", "-10 10")
            transform = add(one, "SpatialTransform")
            for k, axis in enumerate(([0, 0, bend], [sign, 0, 0], [0, sign, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])):
                slot = add(transform, "TransformAxis", name=f"{'rotation' if k < 3 else 'translation'}{k % 3 + 1}")
                add(slot, "coordinates", named[k] if k < 3 else None)
                add(slot, "axis", [float(value) for value in axis])
                if k < 3:
                    add(add(slot, "LinearFunction", name="function"), "coefficients", "1 0")
                else:
                    add(add(slot, "Constant", name="function"), "value", "0")
            above, place = f"{part}_{side}", [0.0, -0.42, 0.0]
    path.write_bytes(to_xml(root, None))


def _frames(joint: ET.Element, above: str, below: str, place: list[float]) -> None:
    add(joint, "socket_parent_frame", "above_offset")
    add(joint, "socket_child_frame", "below_offset")
    frames = add(joint, "frames")
    for name, body, p in (("above_offset", above, place), ("below_offset", below, [0.0, 0.0, 0.0])):
        frame = add(frames, "PhysicalOffsetFrame", name=name)
        add(frame, "socket_parent", body)
        add(frame, "translation", p)
        add(frame, "orientation", [0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """{coordinate: (n,) [deg]}, {body: (n, 12) rotation and place} of a person whom OpenSim moved."""
    rng = np.random.default_rng(7)
    time = np.arange(300) / 50
    joints = [f"{joint}_{word}_{side}" for side in "lr" for joint in ("hip", "knee", "ankle") for word in COORDINATES]
    size = {"flexion": 30.0, "adduction": 5.0, "rotation": 6.0}
    degrees = {}
    for name in joints:
        phase, rate = rng.uniform(0, 2 * np.pi, 2), rng.uniform(0.3, 0.9, 2)
        wave = sum(np.sin(2 * np.pi * r * time + f) for r, f in zip(rate, phase, strict=True)) / 2
        degrees[name] = (25.0 if name.startswith("knee_flexion") else 0.0) + size[name.split("_")[1]] * wave
    model = tmp_path_factory.mktemp("legs") / "legs.osim"
    write_model(model)
    rows = np.radians(np.stack(list(degrees.values()), axis=1)).tolist()
    facts = {"model": str(model), "names": joints, "rows": rows}
    return degrees, {name: np.array(rows) for name, rows in ask("opensim", MODEL, facts).items()}


def test_the_rotations_of_opensim_are_counted_as_its_coordinates(walked: tuple[dict, dict]) -> None:
    from condyle.maths.euler import find_angles
    from condyle.model.angle_conventions import CONVENTIONS

    degrees, poses = walked
    R = {name: rows[:, :9].reshape(-1, 3, 3) for name, rows in poses.items()}
    mirror = np.diag([1.0, 1.0, -1.0])
    for row in [row for row in CONVENTIONS["isb"].joints if row.joint in ("hip", "knee", "ankle")]:
        for side in "lr":
            above = row.proximal if row.proximal == "pelvis" else f"{row.proximal}_{side}"
            turn = np.swapaxes(R[str(above)], -1, -2) @ R[f"{row.distal}_{side}"]
            found = np.degrees(find_angles(mirror @ turn @ mirror if side == "l" else turn, row.order)) * row.signs
            expected = np.stack([degrees[f"{row.joint}_{word}_{side}"] for word in COORDINATES], axis=1)
            np.testing.assert_allclose(found, expected, atol=NEAR_DEG)


def test_a_fit_of_sensors_on_opensims_bodies_has_its_coordinates(
    walked: tuple[dict, dict], rng: np.random.Generator
) -> None:
    degrees, poses = walked
    names = list(poses)
    mounts, places = rotation.random(rng, (len(names),)), rng.normal(scale=0.05, size=(len(names), 3))
    R = np.stack([poses[name][:, :9].reshape(-1, 3, 3) for name in names], axis=1)
    p = np.stack([poses[name][:, 9:] for name in names], axis=1) + np.einsum("nmij,mj->nmi", R, places)
    take = condyle.Take(names, np.arange(300) / 50, R @ mounts, p, up="y")  # type: ignore[arg-type]
    tree = [(above, f"{below}_{side}") for side in "lr" for above, below in (
        ("pelvis", "thigh"), (f"thigh_{side}", "shank"), (f"shank_{side}", "foot"))]  # fmt: skip
    angles = condyle.fit(take, tree=tree, intervals=False).angles("opensim")
    for coordinate, name in (
        ("hip_flexion", "hip_flexion"),
        ("hip_adduction", "hip_adduction"),
        ("knee_angle", "knee_flexion"),
    ):
        for side in "lr":
            off = angles[f"{coordinate}_{side}"] - degrees[f"{name}_{side}"]
            assert np.abs(off).max() < FRAMES_DEG, coordinate
    for side in "lr":  # the zero of a foot without a neutral pose is its mean
        off = angles[f"ankle_angle_{side}"] - degrees[f"ankle_flexion_{side}"]
        assert off.std() < FRAMES_DEG


def test_opensim_opens_the_coordinates_that_are_written(tmp_path: Path) -> None:
    from tests.make import walkers

    angles, written = walkers.fitted(1, "walk", 10.0, True).write_angles("mot", tmp_path)
    (file,) = [file for file in written.files if file.suffix == ".mot"]
    script = """
import opensim
opensim.Logger.setLevelString("error")
table = opensim.TimeSeriesTable(facts["file"])
answer({"names": list(table.getColumnLabels()), "rows": table.getNumRows(),
        "degrees": opensim.Storage(facts["file"]).isInDegrees(),
        "knee": list(table.getDependentColumn("knee_angle_l").to_numpy())})
"""
    told = ask("opensim", script, {"file": str(file)})
    assert told["degrees"]
    assert told["rows"] == len(angles.time)
    assert {"pelvis_tilt", "pelvis_ty", "hip_flexion_r", "arm_flex_l", "pro_sup_r"} <= set(told["names"])
    np.testing.assert_allclose(told["knee"], angles["knee_flexion_l"], atol=1e-6)
