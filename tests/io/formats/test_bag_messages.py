"""io/formats/_bag_messages.py: poses out of messages as ROS 1 and ROS 2 lay them out."""

from __future__ import annotations

import struct

import pytest

from condyle.errors import CondyleError
from condyle.io.formats._bag_files import BagMessage
from condyle.io.formats._bag_messages import PoseSample, read_samples

POSE = (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)


def ros1(stamp: tuple[int, int] = (7, 8), frame: bytes = b"/world", child: bytes | None = None) -> bytes:
    data = struct.pack("<III", 0, *stamp) + struct.pack("<I", len(frame)) + frame
    if child is not None:
        data += struct.pack("<I", len(child)) + child
    return data + struct.pack("<7d", *POSE)


def cdr(order: str = "<", frame: bytes = b"world\x00") -> bytes:
    data = struct.pack(order + "III", 7, 8, len(frame)) + frame
    data += b"\x00" * (-len(data) % 8)
    return (b"\x00\x01\x00\x00" if order == "<" else b"\x00\x00\x00\x00") + data + struct.pack(order + "7d", *POSE)


WANTED = PoseSample("world", "/hand", None, 7 * 10**9 + 8, POSE)


@pytest.mark.parametrize(("data", "old"), [(ros1(), True), (cdr(), False), (cdr(">"), False)])
def test_a_pose_is_the_same_in_every_serialisation(data: bytes, old: bool) -> None:
    assert list(read_samples(BagMessage("/hand", "geometry_msgs/PoseStamped", 99, data, old))) == [WANTED]


def test_a_transform_names_its_child_and_a_stamp_of_zero_is_the_time_of_recording() -> None:
    data = ros1((0, 0), child=b"/hand")
    (sample,) = read_samples(BagMessage("/t", "geometry_msgs/TransformStamped", 99, data, True))
    assert (sample.parent, sample.name, sample.frame, sample.stamp) == ("world", "/t", "hand", 99)
    listed = struct.pack("<I", 1) + data
    (sample,) = read_samples(BagMessage("/tf", "tf2_msgs/TFMessage", 99, listed, True))
    assert (sample.name, sample.frame) == ("hand", "hand")


@pytest.mark.parametrize("data", [b"", ros1()[:-1], b"\x00\x07" + bytes(60), struct.pack("<I", 2**31) + ros1()])
def test_what_is_no_such_message_is_an_error_with_its_topic(data: bytes) -> None:
    kind = "tf2_msgs/TFMessage" if len(data) > 78 else "geometry_msgs/PoseStamped"
    with pytest.raises(CondyleError, match=f"a message on /hand is no {kind}"):
        list(read_samples(BagMessage("/hand", kind, 1, data, data[:2] != b"\x00\x07")))
