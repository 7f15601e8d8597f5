"""Recordings whose numbers are not what they are said to be, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from condyle.maths import rotation
from condyle.model.recording import Bodies, Convention, Recording
from condyle.model.take import Take


def make_recording(take: Take, kind: str = "wxyz", **convention: Any) -> Recording:
    """The take as a file of quaternions, matrices or Euler angles (ZYX, degrees) would hold it."""
    q = rotation.to_quaternion(take.R_world_body)
    orientation = {"wxyz": q, "xyzw": q[..., [1, 2, 3, 0]]}.get(kind)
    if kind == "matrix":
        orientation = take.R_world_body.reshape(take.frames, take.bodies, 9)
    if kind == "ZYX":
        orientation = np.degrees(euler_zyx(take.R_world_body))
    assert orientation is not None
    bodies = Bodies(take.names, take.p_world_body, orientation)
    return Recording(
        "simulated", "simulated", bodies, time=take.time, convention=Convention(kind, unit="m", **convention)
    )


def euler_zyx(R: np.ndarray) -> np.ndarray:
    """Angles (..., 3) [rad] with R = Rz(a) Ry(b) Rx(c)."""
    b = -np.arcsin(np.clip(R[..., 2, 0], -1, 1))
    return np.stack([np.arctan2(R[..., 1, 0], R[..., 0, 0]), b, np.arctan2(R[..., 2, 1], R[..., 2, 2])], axis=-1)


def _read_as(kind: str, wrong: str) -> Callable[[Take], Recording]:
    return lambda take: make_recording(take, kind).under(Convention(wrong, unit="m"))


def _moved(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Take], Recording]:
    return lambda take: make_recording(replace(take, p_world_body=change(take.p_world_body)))


# What the file is, and the convention that puts it right (up to readings that give the same figure).
FAULTS: dict[str, Callable[[Take], Recording]] = {
    "xyzw read as wxyz": _read_as("xyzw", "wxyz"),
    "transposed": lambda take: make_recording(replace(take, R_world_body=np.swapaxes(take.R_world_body, -1, -2))),
    "y of the positions flipped": _moved(lambda p: p * [1, -1, 1]),
    "y and z of the positions swapped": _moved(lambda p: p[..., [0, 2, 1]]),
    "ZYX read as XYZ": _read_as("ZYX", "XYZ"),
    "ZYX read as ZXY": _read_as("ZYX", "ZXY"),
    "ZYX read as extrinsic": _read_as("ZYX", "ZYX-extrinsic"),
    "radians read as degrees": lambda take: replace(
        make_recording(take, "ZYX"), bodies=Bodies(take.names, take.p_world_body, euler_zyx(take.R_world_body))
    ),
}
RIGHT = {"quaternions": lambda take: make_recording(take), "Euler angles": lambda take: make_recording(take, "ZYX")}
