"""Simulated people whose sensors are disturbed, and by how much each is off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.simulate import Disturbances, World, human, simulate

ROUNDING_M = 1e-12
SHARE = 0.1  # relative tolerance of a sample's standard deviation
INTERPOLATION_M = 1e-6
INTERPOLATION_RAD = 1e-5
NM = {"position_noise": 0.003, "orientation_noise": 0.01}


def world(motion: Any = "exercise", figure: Any = None, seconds: float = 20, **what: Any) -> World:
    return simulate(figure or human(), motion, seconds=seconds, seed=5, disturbances=Disturbances(**what))


def shift_in_body(w: World) -> tuple[np.ndarray, np.ndarray]:
    """Displacement (n, m, 3) [m] and rotation vector [rad] of the measured against the true sensor, in its frame."""
    R = np.swapaxes(w.truth.R_world_body, -1, -2)
    p = w.take.p_world_body - w.truth.p_world_body
    return np.einsum("nmij,nmj->nmi", R, p), rotation.to_vector(R @ w.take.R_world_body)


def recentre(take: Take, moves: dict[int, tuple[float, tuple[float, float, float]]]) -> Take:
    """A take whose room is turned about z [rad] and shifted [m] from frames on, as where a headset is recentred."""
    p, R = take.p_world_body.copy(), take.R_world_body.copy()
    for frame, (angle, shift) in moves.items():
        turn = rotation.from_vector(np.array([0.0, 0.0, angle]))
        p[frame:], R[frame:] = p[frame:] @ turn.T + shift, turn @ R[frame:]
    return replace(take, p_world_body=p, R_world_body=R)
