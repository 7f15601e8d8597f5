"""Fits of simulated machines, made once."""

from __future__ import annotations

from functools import cache

import numpy as np

import condyle
from condyle.simulate import Machine, machine

POSITION_NOISE_M, ORIENTATION_NOISE_RAD = 0.0005, np.radians(0.1)


@cache
def made(name: str, noise: float = 1.0, seed: int = 1, carried: bool = False) -> Machine:
    """A machine; noise as a factor on that of a good optical tracker."""
    return machine(
        name,
        seed=seed,
        position_noise=noise * POSITION_NOISE_M,
        orientation_noise=noise * ORIENTATION_NOISE_RAD,
        carried=carried,
    )


@cache
def fitted(name: str, noise: float = 1.0, seed: int = 1, root: str | None = "link0") -> condyle.Fit:
    """Its fit; the tree is given."""
    one = made(name, noise, seed)
    return condyle.fit(one.take, root=root, tree=[tuple(sorted(edge)) for edge in one.edges])  # type: ignore[misc]
