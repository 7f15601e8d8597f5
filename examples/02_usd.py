"""From a log of magnetic sensors to a USD stage: the figure inside it, its motion, and shapes to see it by.

    python examples/02_usd.py [FOLDER]

Writes FOLDER/walk.csv (the log), FOLDER/skeleton.json and FOLDER/figure.usd, which opens in Blender and usdview. Needs
condyle[usd].
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import condyle
from condyle.simulate import Disturbances, human, simulate


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    # A person walks with fifteen magnetic sensors, mounted anyhow: 1 mm and a quarter of a degree of noise.
    noise = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.25))
    world = simulate(human(), "walk", seconds=20, rate=60, disturbances=noise)
    condyle.write_take(folder / "walk.csv", world.take)

    # From here on nothing is known but the log.
    take = condyle.read(folder / "walk.csv")
    fit = condyle.fit(take)
    print(fit)

    try:
        written = fit.save(folder, report=False).export("usd")
    except condyle.CondyleError as error:
        if error.code != "missing-extra":
            raise
        print(error)
        return
    print("wrote", *written.files)
    look_into(written.files[0])


def look_into(file: Path) -> None:
    """What USD itself says about the stage."""
    from pxr import Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(str(file))
    root = UsdSkel.Root(stage.GetDefaultPrim().GetChildren()[0])
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    (binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(binding.GetSkeleton())
    half = np.array(query.ComputeJointSkelTransforms(stage.GetEndTimeCode() / 2))
    hips = ", ".join(f"{x:.3f}" for x in half[0, 3, :3])
    print(f"{len(query.GetJointOrder())} joints, {stage.GetTimeCodesPerSecond():g} frames a second, ", end="")
    print(f"{UsdGeom.GetStageUpAxis(stage)} up; halfway the hips are at {hips} m")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-02"))
