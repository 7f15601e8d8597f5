"""From a log of magnetic sensors to a MuJoCo model: joints with their ranges, and the motion as MuJoCo's qpos.

    python examples/03_mujoco.py [FOLDER]

Writes FOLDER/exercise.csv (the log), FOLDER/skeleton.json, FOLDER/figure.xml (the model) and FOLDER/figure-qpos.csv
(the motion). Where mujoco is installed, plays the motion through the model and lets the figure fall.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import condyle
from condyle.io.exports.scene import Scene
from condyle.simulate import Disturbances, human, simulate


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    # A person exercises with fifteen magnetic sensors, mounted anyhow: 2 mm and a third of a degree of noise.
    noise = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.33))
    world = simulate(human(), "exercise", seconds=20, rate=60, disturbances=noise)
    condyle.write_take(folder / "exercise.csv", world.take)

    # From here on nothing is known but the log.
    fit = condyle.fit(folder / "exercise.csv")
    print(fit)
    scene = fit.scene()
    for file in fit.save(folder, report=False, export="mjcf").files:
        print("wrote", file)
    play(folder, scene)


def play(folder: Path, scene: Scene) -> None:
    """The motion in MuJoCo: how far its sensors are from where the log has them, and what gravity does."""
    try:
        import mujoco
    except ImportError:
        print("mujoco is not installed here (pip install mujoco), so the model is not opened")
        return
    model = mujoco.MjModel.from_xml_path(str(folder / "figure.xml"))
    data = mujoco.MjData(model)
    qpos = np.loadtxt(folder / "figure-qpos.csv", delimiter=",", skiprows=1, encoding="utf-8")[:, 1:]
    print(f"MuJoCo: {model.nbody - 1} bodies, {model.njnt} joints, {model.nv} degrees of freedom")

    figure, log = scene.figure_on_axes, scene.take
    assert log is not None
    sites = [model.site(f"{name}_sensor").id for name in figure.names]
    seen = np.empty((len(qpos), len(sites), 3))
    for frame, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        seen[frame] = data.site_xpos[sites]
    off = np.linalg.norm(seen - log.select(figure.bodies).p_world_body, axis=-1)
    print(f"its sensors are {1000 * np.sqrt(np.mean(off**2)):.1f} mm rms from the log's")

    mujoco.mj_resetDataKeyframe(model, data, 0)
    height = data.qpos[2]
    while data.time < 3:
        mujoco.mj_step(model, data)
    print(f"after 3 s of gravity the hips have come down from {height:.2f} m to {data.qpos[2]:.2f} m")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-03"))
