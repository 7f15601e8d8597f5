"""What a live page is told, over its websocket: texts are JSON with a `type`, poses are bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.skeleton import Skeleton
from .newest import Poses


def encode(kind: str, **values: Any) -> str:
    """A message as text."""
    return msgspec.json.encode({"type": kind, **values}, enc_hook=_plain).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError


def encode_poses(time: float, p: Floats, q_wxyz: Floats, markers: Floats | None = None) -> bytes:
    """A frame as little-endian bytes: time as float64 [s], then as float32 place [m] and quaternion w x y z of each
    body, and behind them the place [m] of each marker; NaN where it is not seen.
    """
    points = b"" if markers is None else markers.astype("<f4").tobytes()
    return np.float64(time).tobytes() + np.concatenate([p, q_wxyz], axis=1).astype("<f4").tobytes() + points


def encode_figure(figure: Poses, skeleton: Skeleton) -> str:
    """A frame of the figure as a line of JSON: poses of its bodies and the places of its joints, by name [m]."""
    quaternion = rotation.to_quaternion(figure.R)
    bodies = {
        name: {"p": p, "q": q}
        for name, p, q in zip(figure.names, figure.p.tolist(), quaternion.tolist(), strict=True)
        if np.isfinite(p).all()
    }
    joints = {}
    for joint in skeleton.joints:
        k = figure.names.index(joint.child)
        joints[joint.child] = (figure.R[k] @ joint.p_child_joint + figure.p[k]).tolist()
    line = {"time": figure.time, "bodies": bodies, "joints": joints}
    return msgspec.json.encode(line).decode() + "\n"
