"""live/sources/_qualisys_packets.py: frames by the published layout, and packets that are none."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from condyle.live.source import PacketError
from condyle.live.sources._qualisys_packets import (
    BODIES,
    DATA,
    QUALISYS_HEADER,
    XML,
    pack_command,
    read_frame,
    read_header,
    read_names,
    read_text,
)
from condyle.maths import rotation
from tests.live.hostile import check

R = rotation.from_vector(np.array([[0.3, -0.4, 0.5], [1.0, 0.2, -0.7]]))
P = np.array([[100.5, -20.25, 900.0], [5.0, 6.0, 7.0]])


def pack_packet(kind: int, body: bytes) -> bytes:
    return QUALISYS_HEADER.pack(QUALISYS_HEADER.size + len(body), kind) + body


def pack_frame(microseconds: int, places: np.ndarray, turns: np.ndarray, number: int = 1) -> bytes:
    """A frame with the component of rigid bodies behind one of another type."""
    other = struct.pack("<II", 12, 1) + b"\0\0\0\0"
    rows = b"".join(struct.pack("<12f", *place, *turn.T.ravel()) for place, turn in zip(places, turns, strict=True))
    bodies = struct.pack("<IIIHH", 16 + len(rows), BODIES, len(places), 0, 0) + rows
    return pack_packet(DATA, struct.pack("<QII", microseconds, number, 2) + other + bodies)


def pack_names(*names: str) -> bytes:
    bodies = "".join(f"<Body><Name>{name}</Name><Color R='1'/></Body>" for name in names)
    text = f"<QTM_Parameters_Ver_1.20><The_6D><Bodies>{len(names)}</Bodies>{bodies}</The_6D></QTM_Parameters_Ver_1.20>"
    return pack_packet(XML, text.encode() + b"\0")


def decode(raw: bytes) -> object:
    """What a source does with the bytes of one packet."""
    if len(raw) < QUALISYS_HEADER.size:
        raise PacketError("too short")
    header = read_header(raw[: QUALISYS_HEADER.size])
    body = raw[QUALISYS_HEADER.size :]
    return read_names(body) if header.kind == XML else read_frame(body) if header.kind == DATA else read_text(body)


SOUND = [pack_frame(12_500_000, np.tile(P, (10, 1)), np.tile(R, (10, 1, 1))), pack_names("hip", "l &amp; r", "head")]


def test_a_frame_is_read_with_its_matrices_by_rows() -> None:
    frame = read_frame(pack_frame(12_500_000, P, R)[QUALISYS_HEADER.size :])
    assert frame is not None
    assert frame.time == 12.5
    assert frame.place == pytest.approx(P)
    assert frame.turn.reshape(-1, 3, 3) == pytest.approx(R, abs=1e-7)


def test_a_frame_without_rigid_bodies_is_none() -> None:
    assert read_frame(struct.pack("<QII", 5, 1, 0)) is None


def test_names_are_read_and_those_that_stand_twice_are_numbered() -> None:
    assert read_names(pack_names("hip", "l &amp; r")[QUALISYS_HEADER.size :]) == ["hip", "l & r"]
    assert read_names(pack_names("a", "a")[QUALISYS_HEADER.size :]) == ["a 1", "a 2"]


def test_a_command_ends_with_a_zero() -> None:
    assert pack_command("Version 1.20") == b"\x15\0\0\0\x01\0\0\0Version 1.20\0"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "ends"),
        (struct.pack("<QII", 5, 1, 70), "70 components"),
        (struct.pack("<QIIII", 5, 1, 1, 3, BODIES), "a component of 3 bytes"),
        (struct.pack("<QIIIIIHH", 5, 1, 1, 16, BODIES, 9, 0, 0), "9 things"),
    ],
)
def test_a_frame_that_is_none_is_refused(body: bytes, told: str) -> None:
    with pytest.raises(PacketError, match=told):
        read_frame(body)


def test_hostile_packets_are_read_or_refused() -> None:
    check(decode, SOUND, "qualisys")
