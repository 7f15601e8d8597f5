"""From a log of magnetic sensors to a robot description (URDF), and its kinematics and Jacobians in pinocchio.

    python examples/04_pinocchio.py [FOLDER]

Writes walk.csv (the log), skeleton.json, figure.urdf and figure-joint-states.csv (the motion) to FOLDER.
Where pinocchio is installed (the package pin), asks it how fast the left hand moves.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import condyle
from condyle.simulate import Disturbances, human, simulate

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")  # a free flyer's part of pinocchio's q


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    # A person walks with fifteen magnetic sensors, mounted anyhow: 1 mm and a quarter of a degree of noise.
    noise = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.25))
    world = simulate(human(), "walk", seconds=20, rate=60, disturbances=noise)
    condyle.write_take(folder / "walk.csv", world.take)

    # From here on nothing is known but the log.
    fit = condyle.fit(folder / "walk.csv")
    print(fit)
    for file in fit.save(folder, report=False, export="urdf").files:
        print("wrote", file)
    hand_speed(folder)


def hand_speed(folder: Path) -> None:
    """Speed of the left hand from its Jacobian, and from its places in two frames."""
    try:
        import pinocchio
    except ImportError:
        print("pinocchio is not installed here (pip install pin), so the description is not opened")
        return
    model = pinocchio.buildModelFromUrdf(str(folder / "figure.urdf"))
    data = model.createData()
    print(f"pinocchio: {model.njoints - 1} joints, {model.nv} degrees of freedom")
    with (folder / "figure-joint-states.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    states = np.array([state(pinocchio, model, row) for row in rows])
    hand, frame = model.getFrameId("hand_l"), len(rows) // 2
    step = float(rows[frame + 1]["time"]) - float(rows[frame]["time"])

    middle = pinocchio.interpolate(model, states[frame], states[frame + 1], 0.5)
    rates = pinocchio.difference(model, states[frame], states[frame + 1]) / step
    along = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobian = pinocchio.computeFrameJacobian(model, data, middle, hand, along)
    places = []
    for q in states[frame : frame + 2]:
        pinocchio.framesForwardKinematics(model, data, q)
        places.append(data.oMf[hand].translation.copy())
    told, seen = np.linalg.norm(jacobian[:3] @ rates), np.linalg.norm(places[1] - places[0]) / step
    print(f"halfway the left wrist moves at {told:.3f} m/s by its Jacobian, {seen:.3f} m/s from frame to frame")


def state(pinocchio, model, row):  # type: ignore[no-untyped-def]
    """pinocchio's q of one row of the table: it has an order of joints of its own, and quaternions xyzw."""
    q = pinocchio.neutral(model)
    for k in range(1, model.njoints):
        name, start = model.names[k], model.idx_qs[k]
        cells = [f"{name}_{part}" for part in POSE] if model.nqs[k] == 7 else [name]
        q[start : start + len(cells)] = [float(row[cell]) for cell in cells]
    return q


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-04"))
