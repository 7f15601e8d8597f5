"""live/sources/_vrpn_messages.py: messages by the published layout, and hostile ones."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.live.source import PacketError
from condyle.live.sources._vrpn_messages import (
    COOKIE,
    POSE_MESSAGE,
    SENDER_NAME,
    VRPN_HEADER,
    VrpnHeader,
    check_cookie,
    read_header,
    read_name,
    read_pose,
)
from tests.live.hostile import check
from tests.make.vrpn import pack_message, pack_name, pack_pose

NUMBERS = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.4])


def decode(raw: bytes) -> None:
    if raw[:4] == b"vrpn":
        check_cookie(raw)
        return
    header = read_header(raw[: VRPN_HEADER.size])
    body = raw[VRPN_HEADER.size :][: header.size]
    read_name(body) if header.kind == SENDER_NAME else read_pose(body)


def test_a_pose_is_a_sensor_a_place_and_a_quaternion_with_its_time() -> None:
    raw = pack_pose(7, 3, 2, NUMBERS, 1234.25)
    assert len(raw) == 24 + 64
    assert read_header(raw[:24]) == VrpnHeader(64, 64, 1234.25, 3, 7)
    sensor, numbers = read_pose(raw[24:])
    assert (sensor, numbers.tolist()) == (2, NUMBERS.tolist())


def test_names_are_filled_up_to_eight_bytes() -> None:
    raw = pack_name(SENDER_NAME, 5, POSE_MESSAGE)
    header = read_header(raw[:24])
    assert (header.used, header.size, len(raw)) == (26, 32, 56)
    assert read_name(raw[24:]) == POSE_MESSAGE


def test_a_server_of_another_version_or_kind_is_told() -> None:
    check_cookie(COOKIE)
    for greeting in (b"vrpn: ver. 06.10  0     ", b"HTTP/1.0 400 Bad Request"):
        with pytest.raises(PacketError, match="does not greet"):
            check_cookie(greeting)


@pytest.mark.parametrize(
    "raw", [b"", bytes(24), b"\xff" * 24, pack_message(7, 0, bytes(50)), pack_name(-1, 0, "x")[:28]]
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(PacketError):
        decode(raw)


@pytest.mark.sized
def test_hostile_messages_are_read_or_refused_in_bounded_time_and_memory() -> None:
    check(decode, [COOKIE, pack_pose(7, 3, 2, NUMBERS, 1.5), pack_name(SENDER_NAME, 5, POSE_MESSAGE)], "vrpn")
