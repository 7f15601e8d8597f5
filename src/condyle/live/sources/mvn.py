"""mvn:PORT: segments of Xsens MVN, which sends positions and quaternions (MXTP02) to a port of this machine."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...errors import UsageError
from ...io.formats.mvnx import PROGRAM
from ...io.log_records import Layout
from ...maths.arrays import Floats, Ints
from ...model.recording import Convention
from ..source import Packet, PacketError
from ._cursor import Cursor, widen
from ._gathering import DatagramSource
from ._sockets import Datagram

QUATERNION_MESSAGE = b"MXTP02"
# What it is, count of samples and of datagrams, items, time [ms], character, segments, props, fingers, spare, size
MVN_HEADER = struct.Struct(">6sIBBIBBBBHH")
MOST_ITEMS = 100
MVN_SEGMENTS = (
    *("Pelvis", "L5", "L3", "T12", "T8", "Neck", "Head"),
    *(f"Right{part}" for part in ("Shoulder", "UpperArm", "ForeArm", "Hand")),
    *(f"Left{part}" for part in ("Shoulder", "UpperArm", "ForeArm", "Hand")),
    *(f"Right{part}" for part in ("UpperLeg", "LowerLeg", "Foot", "Toe")),
    *(f"Left{part}" for part in ("UpperLeg", "LowerLeg", "Foot", "Toe")),
)  # as they are numbered from one on, and named in MVNX
CONVENTION = Convention("wxyz", unit="m", up="z", stated=frozenset({"rotation", "unit", "up"}))
_ITEM = np.dtype([("id", ">i4"), ("numbers", ">f4", 7)])


class SegmentPoses(NamedTuple):
    """Segments of one sample, or of a part of it: time [s], character, numbers of the segments (k,), poses (k, 7)."""

    time: float
    character: int
    ids: Ints
    poses: Floats


def read_datagram(data: bytes) -> SegmentPoses | None:
    """The segments in a datagram; None where it holds something else than positions and quaternions."""
    cursor = Cursor(data)
    kind, _, _, items, milliseconds, character, *_ = cursor.unpack(MVN_HEADER)
    if not kind.startswith(b"MXTP"):
        raise PacketError("is no datagram of MVN")
    if kind != QUATERNION_MESSAGE:
        return None
    if items > MOST_ITEMS:
        raise PacketError(f"says that {items} segments follow, which do not")
    found = cursor.array(_ITEM, items)
    return SegmentPoses(milliseconds / 1000, character, found["id"].astype(np.int64), widen(found["numbers"]))


class MvnSource(DatagramSource):
    """The segments of one character or of several; they were solved by MVN on a skeleton of its own."""

    def __init__(self, port: int) -> None:
        super().__init__(Layout(f"mvn:{port}", (), convention=CONVENTION, solved_by=PROGRAM), port)

    def _take(self, datagram: Datagram) -> Iterator[Packet]:
        found = read_datagram(datagram.data)
        if found is None:
            return
        for number, pose in zip(found.ids.tolist(), found.poses, strict=True):
            name = name_segment(found.character, number)
            yield from self._frames.take(name, pose, datagram.arrival, found.time)


def name_segment(character: int, number: int) -> str:
    """Pelvis of the first character, 2/Pelvis of the second; props and fingers by their number."""
    name = MVN_SEGMENTS[number - 1] if 1 <= number <= len(MVN_SEGMENTS) else f"segment {number}"
    return f"{character + 1}/{name}" if character else name


def open_source(address: str) -> MvnSource:
    """A port of this machine."""
    if not address.isdecimal() or not 0 < int(address) < 65_536:
        raise UsageError(f"'{address}' is no port such as mvn:9763", code="bad-option")
    return MvnSource(int(address))
