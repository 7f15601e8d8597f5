"""Simulated people whose true anatomical angles are known, and fits of them with the tree given."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

import condyle
from condyle.model.angle_conventions import CONVENTIONS
from condyle.simulate import Disturbances, World, human, simulate

AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # ISB's in a simulated bone: forward, up, right
MIRROR = np.diag([1.0, 1.0, -1.0])
NOISE = {"position_noise": 0.003, "orientation_noise": np.radians(0.5)}  # of a magnetic tracker
RATE = 60.0  # Hz


@cache
def walker(seed: int = 1, motion: str = "walk", seconds: float = 20.0, noise: bool = False, skin: float = 0.0) -> World:
    """A person with sensors mounted anyhow."""
    disturbances = Disturbances(**(NOISE if noise else {}), soft_tissue=skin)
    return simulate(human(), motion, seconds=seconds, rate=RATE, seed=seed, disturbances=disturbances)  # type: ignore[arg-type]


@cache
def fitted(*words: object) -> condyle.Fit:
    """The fit of `walker` with its tree."""
    world = walker(*words)  # type: ignore[arg-type]
    names, parent = world.truth.names, world.truth.parent
    return condyle.fit(world.take, tree=[(names[up], names[k]) for k, up in enumerate(parent) if up >= 0])


def true_rotations(world: World) -> dict[str, np.ndarray]:
    """{joint and side of ISB's table: (n, 3, 3) distal in proximal axes, mirrored on the left}."""
    truth = world.truth
    R = truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2) @ AXES
    found = {}
    for row in CONVENTIONS["isb"].joints:
        for side in ("l", "r", ""):
            before = f"{side}_" if side else ""
            above = next((name for name in (f"{before}{row.proximal}", row.proximal) if name in truth.names), None)
            if above is None or f"{before}{row.distal}" not in truth.names:
                continue
            turn = np.swapaxes(R[:, truth.names.index(above)], -1, -2) @ R[:, truth.names.index(before + row.distal)]
            found[f"{row.joint}_{side}" if side else row.joint] = MIRROR @ turn @ MIRROR if side == "l" else turn
    return found


def true_angles(world: World, joint: str) -> np.ndarray:
    """(n, 3) [deg] of one joint ("knee_l") as ISB counts it, by another program, unwrapped."""
    row = next(row for row in CONVENTIONS["isb"].joints if row.joint == joint.partition("_")[0])
    angles = Rotation.from_matrix(true_rotations(world)[joint]).as_euler(row.order)
    return np.degrees(np.unwrap(angles, axis=0)) * row.signs
