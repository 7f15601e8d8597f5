"""Folders as a fit leaves them, made once and kept small."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

import condyle
from condyle.model.take import Take, join
from condyle.simulate import Disturbances, chain, simulate

NOISE, TURN = 0.003, math.radians(0.5)  # m, rad
RATE = 60.0  # Hz


def take(seconds: float = 20.0, seed: int = 0, names: Iterable[str] | None = None, **disturbances: object) -> Take:
    """A chain of four sensors that moves freely, measured with noise."""
    noise = {"position_noise": NOISE, "orientation_noise": TURN, **disturbances}
    world = simulate(chain(), "exercise", seconds=seconds, rate=RATE, seed=seed, disturbances=Disturbances(**noise))  # type: ignore[arg-type]
    return world.take if names is None else replace(world.take, names=tuple(names))


def fitted(folder: Path, *takes: Take, **options: object) -> Path:
    """The folder with skeleton.json and motion.npz of these takes."""
    condyle.fit(join(takes), **options).save(folder, report=False)  # type: ignore[arg-type]
    return folder


def rewritten(folder: Path, out: Path, **changed: np.ndarray | None) -> Path:
    """The same folder with some arrays of motion.npz changed, or left out where None."""
    out.mkdir(exist_ok=True)
    (out / "skeleton.json").write_bytes((folder / "skeleton.json").read_bytes())
    with np.load(folder / "motion.npz") as archive:
        arrays = {name: archive[name] for name in archive.files} | changed
    np.savez(out / "motion.npz", **{name: array for name, array in arrays.items() if array is not None})
    return out
