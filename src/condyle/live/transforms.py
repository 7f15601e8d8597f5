"""mcap:FILE: the figure in motion as transforms of ROS 2 (tf2_msgs/TFMessage) in an MCAP file.

Every body hangs on its parent in the tree, a root on `world`. Messages are not gathered in chunks, so that what was
written is there when the program is killed.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import CondyleError
from ..io.exports.figure import Figure
from ..maths import rotation
from ..maths.arrays import Bools, Floats
from ..model.skeleton import Skeleton
from .newest import Poses

TOPIC, ROOT_FRAME = "/tf", "world"
CDR_HEAD = b"\x00\x01\x00\x00"  # little-endian
SCHEMA = """geometry_msgs/TransformStamped[] transforms
================================================================================
MSG: geometry_msgs/TransformStamped
std_msgs/Header header
string child_frame_id
Transform transform
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
================================================================================
MSG: geometry_msgs/Transform
Vector3 translation
Quaternion rotation
================================================================================
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
"""


class McapOutlet:
    """An MCAP file that grows; raises CondyleError where it is there already or cannot be written."""

    def __init__(self, path: str) -> None:
        try:
            from mcap.writer import CompressionType, Writer
        except ImportError:
            raise CondyleError("MCAP is written with mcap; install condyle[mcap]", code="missing-extra") from None
        self.word = f"mcap:{path}"
        try:
            self._stream: IO[bytes] = open(Path(path), "xb")  # noqa: SIM115
        except FileExistsError:
            raise CondyleError("is there already; choose another name", code="unwritable", path=path) from None
        except OSError as error:
            raise CondyleError(f"cannot be written: {error.strerror}", code="unwritable", path=path) from None
        self._writer: Any = Writer(self._stream, compression=CompressionType.NONE, use_chunking=False)
        self._writer.start(profile="ros2", library="condyle")
        schema = self._writer.register_schema("tf2_msgs/msg/TFMessage", "ros2msg", SCHEMA.encode())
        self._channel = self._writer.register_channel(TOPIC, "cdr", schema)
        self._count = 0

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        time = int(max(figure.time, 0.0) * 1e9)
        message = encode_transforms(figure, skeleton, time)
        self._writer.add_message(self._channel, time, message, time, self._count)
        self._stream.flush()
        self._count += 1

    def close(self) -> None:
        if not self._stream.closed:
            self._writer.finish()
            self._stream.close()


def encode_transforms(figure: Poses, skeleton: Skeleton, time: int) -> bytes:
    """A TFMessage as CDR: each known body relative to its parent; time: [ns]."""
    parents = {joint.child: joint.parent for joint in skeleton.joints}
    known: Bools = np.asarray(np.isfinite(figure.p).all(axis=1) & np.isfinite(figure.R).all(axis=(1, 2)))
    place = {name: k for k, name in enumerate(figure.names) if known[k]}
    message = bytearray(CDR_HEAD + struct.pack("<I", len(place)))
    for name, k in place.items():
        parent = parents.get(name)
        R, p, frame = figure.R[k], figure.p[k], ROOT_FRAME
        if parent in place:
            up, frame = place[parent], parent
            R, p = figure.R[up].T @ R, figure.R[up].T @ (p - figure.p[up])
        _pad(message, 4)
        message += struct.pack("<iI", *divmod(time, 10**9))
        _add_text(message, frame)
        _add_text(message, name)
        _pad(message, 8)
        message += _pack_transform(R, p)
    return bytes(message)


def _pack_transform(R: Floats, p: Floats) -> bytes:
    w, x, y, z = rotation.to_quaternion(R)
    return struct.pack("<7d", *p, x, y, z, w)


def _add_text(message: bytearray, text: str) -> None:
    _pad(message, 4)
    data = text.encode() + b"\x00"
    message += struct.pack("<I", len(data)) + data


def _pad(message: bytearray, width: int) -> None:
    """CDR aligns numbers to their own width, counted behind its head."""
    message += bytes(-(len(message) - len(CDR_HEAD)) % width)
