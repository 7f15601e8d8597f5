"""From a log of magnetic sensors to an OpenSim model with its motion.

    python examples/05_opensim.py [FOLDER]

Writes FOLDER/walk.csv (the log), FOLDER/skeleton.json, FOLDER/figure.osim (the model) and FOLDER/figure.sto (its
motion). Where opensim is installed, opens both and tells how far the knees bend and where the markers are.
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

    # A person walks with fifteen magnetic sensors, mounted anyhow: 1 mm and a quarter of a degree of noise.
    noise = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.25))
    world = simulate(human(), "walk", seconds=20, rate=60, disturbances=noise)
    condyle.write_take(folder / "walk.csv", world.take)

    # From here on nothing is known but the log.
    fit = condyle.fit(folder / "walk.csv")
    print(fit)
    scene = fit.scene()
    for file in fit.save(folder, report=False, export="osim").files:
        print("wrote", file)
    open_in_opensim(folder, scene)


def open_in_opensim(folder: Path, scene: Scene) -> None:
    """The model through its motion: range of the knees, and markers against the log's sensors."""
    try:
        import opensim
    except ImportError:
        print("opensim is not installed here (pip install opensim), so the model is not opened")
        return
    opensim.Logger.setLevelString("warn")
    model = opensim.Model(str(folder / "figure.osim"))
    model.initSystem()
    bodies, coordinates, markers = model.getNumBodies(), model.getNumCoordinates(), model.getNumMarkers()
    print(f"OpenSim: {bodies} bodies, {coordinates} coordinates, {markers} markers")
    for side in ("l", "r"):
        knee = model.getCoordinateSet().get(f"knee_{side}_rx")
        low, high = np.degrees([knee.getRangeMin(), knee.getRangeMax()])
        print(f"knee_{side} bends from {low:.0f} to {high:.0f} degrees")

    storage = opensim.Storage(str(folder / "figure.sto"))
    states = opensim.StatesTrajectory.createFromStatesStorage(model, storage, True, True)
    figure = scene.figure_on_axes
    names = [f"{name}_sensor" for name in figure.names]
    seen = np.empty((states.getSize(), len(names), 3))
    for frame, state in enumerate(states):
        model.realizePosition(state)
        for k, name in enumerate(names):
            place = model.getMarkerSet().get(name).getLocationInGround(state)
            seen[frame, k] = [place[i] for i in range(3)]
    assert scene.take is not None
    x, y, z = np.moveaxis(scene.take.select(figure.bodies).p_world_body, -1, 0)
    off = np.linalg.norm(seen - np.stack([x, z, -y], axis=-1), axis=-1)  # OpenSim has y up, the log z
    print(f"its markers are {1000 * np.sqrt(np.mean(off**2)):.1f} mm rms from the log's sensors")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-05"))
