"""Messages of VRPN over TCP: names of senders and of kinds of messages, and the poses of trackers.

Whatever the bytes, reading is bounded in time and memory.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from ...maths.arrays import Floats
from ..source import PacketError
from ._cursor import Cursor

VRPN_HEADER = struct.Struct(">IIIiiI")  # bytes of header and body, seconds, microseconds, sender, kind, count
COOKIE = b"vrpn: ver. 07.35  0".ljust(VRPN_HEADER.size, b"\0")
MOST_MESSAGE_BYTES = 2**16
SENDER_NAME, KIND_NAME = -1, -2  # kinds of messages that give a name to a number
POSE_MESSAGE = "vrpn_Tracker Pos_Quat"
MESSAGE_ALIGN_BYTES = 8
NAME_LENGTH = struct.Struct(">I")
VRPN_POSE = struct.Struct(">iI7d")  # sensor, nothing, place, quaternion xyzw


class VrpnHeader(NamedTuple):
    """What is known of a message before its body: bytes that follow, and how many of them are used; time [s]."""

    size: int
    used: int
    time: float
    sender: int
    kind: int


def check_cookie(data: bytes) -> None:
    """Raises where the other end does not speak VRPN 7."""
    if not data.startswith(b"vrpn: ver. 07."):
        raise PacketError("does not greet as a server of VRPN 7 does")


def read_header(data: bytes) -> VrpnHeader:
    """The 24 bytes before every message."""
    length, seconds, micros, sender, kind, _ = Cursor(data).unpack(VRPN_HEADER)
    size = length - VRPN_HEADER.size
    if not 0 <= size <= MOST_MESSAGE_BYTES:
        raise PacketError(f"a message of {length} bytes is none of VRPN")
    return VrpnHeader(size + -size % MESSAGE_ALIGN_BYTES, size, seconds + micros / 1e6, sender, kind)


def read_name(body: bytes) -> str:
    """The name in a SENDER_NAME or KIND_NAME."""
    cursor = Cursor(body)
    cursor.unpack(NAME_LENGTH)
    return cursor.name()


def read_pose(body: bytes) -> tuple[int, Floats]:
    """The sensor of a tracker, and its place and quaternion xyzw (7,)."""
    sensor, _, *numbers = Cursor(body).unpack(VRPN_POSE)
    return sensor, np.array(numbers)
