"""Messages of ROS 2 as CDR bytes, with their definitions: transforms, joint states, text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from ..maths import rotation
from ..maths.arrays import Floats

CDR_HEAD = b"\x00\x01\x00\x00"  # little-endian
_HEADER = """================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
SCHEMAS = {
    "tf2_msgs/msg/TFMessage": """geometry_msgs/TransformStamped[] transforms
================================================================================
MSG: geometry_msgs/TransformStamped
std_msgs/Header header
string child_frame_id
Transform transform
"""
    + _HEADER
    + """================================================================================
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
""",
    "sensor_msgs/msg/JointState": """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
"""
    + _HEADER,
    "std_msgs/msg/String": "string data\n",
}


class Transform(NamedTuple):
    """Where a frame is in another: R (3, 3), p (3,) [m]."""

    frame: str
    child: str
    R: Floats
    p: Floats


def encode_transforms(transforms: Sequence[Transform], time: int) -> bytes:
    """A TFMessage; time: [ns]."""
    message = bytearray(CDR_HEAD + struct.pack("<I", len(transforms)))
    for one in transforms:
        _add_header(message, time, one.frame)
        _add_text(message, one.child)
        w, x, y, z = rotation.to_quaternion(one.R)
        _pad(message, 8)
        message += struct.pack("<7d", *one.p, x, y, z, w)
    return bytes(message)


def encode_joint_state(names: Sequence[str], position: Floats, time: int) -> bytes:
    """A JointState: names, angles [rad], and neither velocity nor effort; time: [ns]."""
    message = bytearray(CDR_HEAD)
    _add_header(message, time, "")
    message += bytes(-(len(message) - len(CDR_HEAD)) % 4) + struct.pack("<I", len(names))
    for name in names:
        _add_text(message, name)
    _pad(message, 4)
    message += struct.pack("<I", len(position))
    if len(position):
        _pad(message, 8)
        message += struct.pack(f"<{len(position)}d", *position)
    message += struct.pack("<II", 0, 0)
    return bytes(message)


def encode_string(text: str) -> bytes:
    """A String."""
    message = bytearray(CDR_HEAD)
    _add_text(message, text)
    return bytes(message)


def _add_header(message: bytearray, time: int, frame: str) -> None:
    _pad(message, 4)
    message += struct.pack("<iI", *divmod(time, 10**9))
    _add_text(message, frame)


def _add_text(message: bytearray, text: str) -> None:
    _pad(message, 4)
    data = text.encode() + b"\x00"
    message += struct.pack("<I", len(data)) + data


def _pad(message: bytearray, width: int) -> None:
    """CDR aligns numbers to their own width, counted behind its head."""
    message += bytes(-(len(message) - len(CDR_HEAD)) % width)
