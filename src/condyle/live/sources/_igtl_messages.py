"""Messages of OpenIGTLink that hold poses: TRANSFORM, TDATA, POSITION and QTDATA, of versions 1 to 3.

Whatever the bytes, reading is bounded in time and memory. The checksum of a body is not looked at: TCP has its own, and
the protocol's library does not look at it either unless it is told to.
"""

from __future__ import annotations

import struct
from typing import Literal, NamedTuple

import numpy as np

from ...maths.arrays import Floats
from ..source import PacketError
from ._cursor import Cursor, widen

IGTL_HEADER = struct.Struct(
    ">H12s20sIIQQ"
)  # version, type, device, seconds, their fraction, bytes that follow, checksum
MOST_ELEMENTS = 250  # of a message
IGTL_MOST_BODY_BYTES = 70 * MOST_ELEMENTS + 4096  # of a message that is read; longer ones are passed over
NEWEST_VERSION = 3
_EXTENDED = struct.Struct(
    ">HHII"
)  # bytes of this header, of the index of the metadata, of those; number of the message
_TRANSFORM = np.dtype(">f4")
_TDATA = np.dtype([("name", "S20"), ("kind", "u1"), ("spare", "u1"), ("numbers", ">f4", 12)])
_QTDATA = np.dtype([("name", "S20"), ("kind", "u1"), ("spare", "u1"), ("numbers", ">f4", 7)])
# Numbers of a matrix are sent column by column, then the place: here the place, then row by row.
_ORDER = [9, 10, 11, 0, 3, 6, 1, 4, 7, 2, 5, 8]
_START_TDATA = struct.Struct(">i32s")
CRC_POLYNOMIAL = 0x42F0E1EBA9EA3693  # ECMA-182


class IgtlHeader(NamedTuple):
    """What is known of a message before its body. time [s], 0 where it is not set."""

    version: int
    kind: str
    device: str
    time: float
    size: int


class IgtlPose(NamedTuple):
    """A body and its numbers: place and matrix row by row (12,), or place and quaternion xyzw (7,)."""

    body: str
    numbers: Floats
    rotation: Literal["matrix", "xyzw"]


def read_header(data: bytes) -> IgtlHeader:
    """The 58 bytes before every message."""
    version, kind, device, seconds, fraction, size, _ = Cursor(data).unpack(IGTL_HEADER)
    word = _text(kind)
    if not 1 <= version <= NEWEST_VERSION or not word or not all(letter.isalnum() or letter in "_-" for letter in word):
        raise PacketError("is no OpenIGTLink message")
    return IgtlHeader(version, word, _text(device), seconds + fraction / 2**32, size)


def holds_poses(header: IgtlHeader) -> bool:
    """Whether a message is one of those that are read, and not too long."""
    return header.kind in _READERS and header.size <= IGTL_MOST_BODY_BYTES


def read_body(header: IgtlHeader, body: bytes) -> list[IgtlPose]:
    """The poses of a message."""
    cursor = Cursor(body)
    if header.version >= 2:
        own, index, metadata, _ = cursor.unpack(_EXTENDED)
        end = len(body) - index - metadata
        if own < _EXTENDED.size or own > end:
            raise PacketError("its extended header is longer than the message")
        cursor = Cursor(memoryview(body)[:end], own)
    return _READERS[header.kind](cursor, header.device)


def _read_transform(cursor: Cursor, device: str) -> list[IgtlPose]:
    return [IgtlPose(device, widen(cursor.array(_TRANSFORM, 12))[_ORDER], "matrix")]


def _read_position(cursor: Cursor, device: str) -> list[IgtlPose]:
    if cursor.left < 28:
        raise PacketError(f"the position of '{device}' comes without its rotation")
    return [IgtlPose(device, widen(cursor.array(_TRANSFORM, 7)), "xyzw")]


def _read_elements(cursor: Cursor, kind: np.dtype[np.void]) -> tuple[list[str], Floats]:
    count, rest = divmod(cursor.left, kind.itemsize)
    if rest or count > MOST_ELEMENTS:
        raise PacketError(f"has {cursor.left} bytes of elements, which are {kind.itemsize} each")
    items = cursor.array(kind, count)
    return [_text(name) for name in items["name"].tolist()], widen(items["numbers"])


def _read_tdata(cursor: Cursor, device: str) -> list[IgtlPose]:
    names, numbers = _read_elements(cursor, _TDATA)
    return [IgtlPose(name, row, "matrix") for name, row in zip(names, numbers[:, _ORDER], strict=True)]


def _read_qtdata(cursor: Cursor, device: str) -> list[IgtlPose]:
    names, numbers = _read_elements(cursor, _QTDATA)
    return [IgtlPose(name, row, "xyzw") for name, row in zip(names, numbers, strict=True)]


_READERS = {
    "TRANSFORM": _read_transform,
    "POSITION": _read_position,
    "QTRANS": _read_position,
    "TDATA": _read_tdata,
    "QTDATA": _read_qtdata,
}


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace").strip()


def pack_message(kind: str, device: str, body: bytes, *, version: int = 1, time: float = 0.0) -> bytes:
    """A message with its checksum."""
    seconds, fraction = divmod(time, 1.0)
    head = (version, kind.encode(), device.encode(), int(seconds), int(fraction * 2**32), len(body), compute_crc(body))
    return IGTL_HEADER.pack(*head) + body


def pack_start(period_ms: int) -> bytes:
    """The question for TDATA, so often."""
    return pack_message("STT_TDATA", "condyle", _START_TDATA.pack(period_ms, b""))


def compute_crc(data: bytes) -> int:
    """The checksum of a body: CRC-64 of ECMA-182."""
    crc = 0
    for byte in data:
        crc ^= byte << 56
        for _ in range(8):
            crc = (crc << 1) ^ CRC_POLYNOMIAL if crc >> 63 else crc << 1
            crc &= 2**64 - 1
    return crc
