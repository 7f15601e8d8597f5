"""Poses out of serialised ROS messages: the few types that hold poses, laid out as ROS 1 and ROS 2 (CDR) write them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import CondyleError
from ._bag_files import BagMessage

TF = ("tf2_msgs/TFMessage", "tf/tfMessage")
TRANSFORM_TYPE = "geometry_msgs/TransformStamped"
ODOMETRY_TYPE = "nav_msgs/Odometry"
POSE_TYPES = ("geometry_msgs/PoseStamped", "geometry_msgs/PoseWithCovarianceStamped")
POSE_ARRAY_TYPE = "geometry_msgs/PoseArray"
TYPES = frozenset((*TF, TRANSFORM_TYPE, ODOMETRY_TYPE, *POSE_TYPES, POSE_ARRAY_TYPE))


class PoseSample(NamedTuple):
    """One pose: parent frame and name of what moves in it, stamp [ns], px py pz qx qy qz qw [m].

    frame  child frame that the message names, or None
    """

    parent: str
    name: str
    frame: str | None
    stamp: int
    values: tuple[float, ...]


def read_samples(message: BagMessage) -> Iterator[PoseSample]:
    """The poses in a message; a stamp of zero is replaced by the time at which the message was recorded."""
    try:
        cursor = _Cursor(message.data, message.ros1)
        if message.type in TF:
            for _ in range(cursor.count(64)):
                stamp, parent = cursor.header()
                child = cursor.frame()
                yield PoseSample(parent, child, child, stamp or message.log_time, cursor.doubles())
            return
        stamp, parent = cursor.header()
        stamp = stamp or message.log_time
        if message.type == POSE_ARRAY_TYPE:
            for k in range(cursor.count(56)):
                yield PoseSample(parent, f"{message.topic}[{k}]", None, stamp, cursor.doubles())
            return
        frame = cursor.frame() if message.type in (TRANSFORM_TYPE, ODOMETRY_TYPE) else None
        yield PoseSample(parent, message.topic, frame, stamp, cursor.doubles())
    except (struct.error, IndexError):
        text = f"a message on {message.topic[:80]} is no {message.type}; the bag is damaged or the type was changed"
        raise CondyleError(text, code="damaged-file") from None


class _Cursor:
    """A place in serialised data. CDR aligns numbers to their size, counted from behind its four bytes of header."""

    def __init__(self, data: bytes, ros1: bool) -> None:
        self.data, self.ros1 = data, ros1
        self.at = 0 if ros1 else 4
        self.order = "<"
        if not ros1:
            if data[:1] != b"\x00" or data[1] > 1:  # XCDR2 and parameter lists, which ROS does not record
                raise struct.error("encapsulation")
            self.order = "<" if data[1] else ">"

    def align(self, size: int) -> None:
        if not self.ros1:
            self.at += -(self.at - 4) % size

    def whole(self) -> int:
        self.align(4)
        (value,) = struct.unpack_from(self.order + "I", self.data, self.at)
        self.at += 4
        return int(value)

    def count(self, least: int) -> int:
        """Length of a sequence whose elements have at least so many bytes."""
        number = self.whole()
        if number * least > len(self.data):
            raise struct.error("sequence")
        return number

    def text(self) -> str:
        length = self.whole()
        if self.at + length > len(self.data):
            raise struct.error("string")
        raw = self.data[self.at : self.at + length]
        self.at += length
        return raw.rstrip(b"\x00").decode("utf-8", "replace").strip()

    def frame(self) -> str:
        """A frame's name; the slash in front is a habit of old versions and means nothing."""
        return self.text().lstrip("/")

    def header(self) -> tuple[int, str]:
        """Stamp [ns] and frame."""
        if self.ros1:
            self.whole()  # a count
        seconds, nanoseconds = self.whole(), self.whole()
        return seconds * 10**9 + nanoseconds, self.frame()

    def doubles(self) -> tuple[float, ...]:
        self.align(8)
        values = struct.unpack_from(self.order + "7d", self.data, self.at)
        self.at += 56
        return values
