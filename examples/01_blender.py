"""From a magnetic log to a Blender armature: the figure inside the log, its motion, and shapes to see it by.

    python examples/01_blender.py [FOLDER]

Writes FOLDER/walk.csv (the log), FOLDER/skeleton.json, FOLDER/figure.glb and FOLDER/figure.bvh, which Blender imports
by its menu. Where bpy is installed (Blender as a Python module), imports the GLB and saves FOLDER/figure.blend.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import condyle
from condyle.simulate import Disturbances, human, simulate


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    # A person walks with fifteen magnetic sensors, mounted anyhow: 2 mm and a third of a degree of noise.
    noise = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.33))
    world = simulate(human(), "walk", seconds=20, rate=60, disturbances=noise)
    condyle.write_take(folder / "walk.csv", world.take)

    # From here on nothing is known but the log.
    fit = condyle.fit(folder / "walk.csv")
    print(fit)
    scene = fit.scene()
    for file in fit.save(folder, report=False, export="glb,bvh").files:
        print("wrote", file)
    import_into_blender(folder / "figure.glb", folder / "figure.blend", scene.figure.rate)


def import_into_blender(glb: Path, blend: Path, rate: float) -> None:
    """The armature as Blender makes it, saved as a file of its own."""
    try:
        import bpy
    except ImportError:
        print("bpy is not installed here (pip install bpy), so import figure.glb by Blender's menu")
        return
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = round(rate)  # before the import: keys are put at time times frame rate
    bpy.ops.import_scene.gltf(filepath=str(glb))
    armature = next(thing for thing in scene.objects if thing.type == "ARMATURE")
    bpy.ops.wm.save_as_mainfile(filepath=str(blend.resolve()))
    print(f"Blender: an armature of {len(armature.data.bones)} bones; wrote {blend}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-01"))
