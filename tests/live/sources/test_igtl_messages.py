"""live/sources/_igtl_messages.py: messages by the published layout, and hostile ones."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from condyle.live.source import PacketError
from condyle.live.sources._igtl_messages import (
    IGTL_HEADER,
    IgtlHeader,
    compute_crc,
    holds_poses,
    pack_message,
    pack_start,
    read_body,
    read_header,
)
from tests.live.hostile import check

R = np.arange(1.0, 10).reshape(3, 3)
P = [10.0, 20.0, 30.0]
MATRIX = struct.pack(">12f", *R.T.ravel(), *P)
POSITION = struct.pack(">7f", *P, 0.0, 0.6, 0.0, 0.8)


def element(name: str, numbers: bytes) -> bytes:
    return struct.pack(">20sBB", name.encode(), 1, 0) + numbers


def extended(content: bytes) -> bytes:
    """As version 3 of the protocol has it, with metadata behind."""
    metadata = b"key=value"
    index = struct.pack(">HHHI", 1, 3, 3, 6)
    return struct.pack(">HHII", 12, len(index), len(metadata), 7) + content + index + metadata


MESSAGES = {
    "TRANSFORM": pack_message("TRANSFORM", "probe", MATRIX, time=1234.5),
    "extended": pack_message("TRANSFORM", "probe", extended(MATRIX), version=2),
    "TDATA": pack_message("TDATA", "all", element("a", MATRIX) + element("b", MATRIX)),
    "POSITION": pack_message("POSITION", "probe", POSITION),
    "QTDATA": pack_message("QTDATA", "all", element("a", POSITION)),
}


def decode(raw: bytes) -> list:
    header = read_header(raw[: IGTL_HEADER.size])
    return read_body(header, raw[IGTL_HEADER.size :]) if holds_poses(header) else []


@pytest.mark.parametrize("name", MESSAGES)
def test_poses_of_every_kind_of_message(name: str) -> None:
    found = decode(MESSAGES[name])
    assert [one.body for one in found] == {"TDATA": ["a", "b"], "QTDATA": ["a"]}.get(name, ["probe"])
    for one in found:
        assert one.numbers[:3].tolist() == P
        if one.rotation == "matrix":
            assert one.numbers[3:].tolist() == R.ravel().tolist()
        else:
            assert one.numbers[3:] == pytest.approx([0, 0.6, 0, 0.8])


def test_a_header_tells_kind_device_time_and_length() -> None:
    found = read_header(MESSAGES["TRANSFORM"][: IGTL_HEADER.size])
    assert found == IgtlHeader(1, "TRANSFORM", "probe", 1234.5, 48)
    assert read_header(MESSAGES["POSITION"][: IGTL_HEADER.size]).time == 0


def test_the_checksum_is_that_of_the_standard() -> None:
    assert compute_crc(b"123456789") == 0x6C40DF5F0B497347  # the check value of CRC-64/ECMA-182
    assert len(pack_start(10)) == 58 + 36


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"x" * 58,
        struct.pack(">H", 9) + MESSAGES["TRANSFORM"][2:],
        MESSAGES["TRANSFORM"][:-1],
        MESSAGES["TDATA"][:-1],
        MESSAGES["POSITION"][:-16],
        pack_message("TRANSFORM", "probe", b"\xff" * 48, version=2),
    ],
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    with pytest.raises(PacketError):
        decode(raw)


def test_other_messages_and_very_long_ones_are_passed_over() -> None:
    assert decode(pack_message("IMAGE", "ultrasound", bytes(100))) == []
    assert not holds_poses(IgtlHeader(1, "TDATA", "all", 0.0, 10**9))


@pytest.mark.sized
def test_hostile_messages_are_read_or_refused_in_bounded_time_and_memory() -> None:
    many = pack_message("TDATA", "all", b"".join(element(f"s{k}", MATRIX) for k in range(100)))
    check(decode, [*MESSAGES.values(), many], "igtl")
