"""Packets of the real-time protocol of Qualisys Track Manager, little-endian: commands, parameters as XML, and frames.

Every packet begins with its size and its type. A frame holds components; that of rigid bodies (6D) has for each body
its place in millimetres and nine numbers of its rotation, column by column, NaN where it is not seen.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from html import unescape
from itertools import islice
from typing import NamedTuple

import numpy as np

from ...maths.arrays import Floats
from ..source import PacketError
from ._cursor import Cursor, widen
from ._gathering import MOST_BODIES

QUALISYS_HEADER = struct.Struct("<II")  # bytes of the whole packet, its type
ERROR, COMMAND, XML, DATA = 0, 1, 2, 3  # types
QUALISYS_FRAME_HEAD = struct.Struct("<QII")  # time [us], number of the frame, components
COMPONENT_HEAD = struct.Struct("<II")  # bytes of the component, its type
BODIES = 5  # type of the component of rigid bodies as matrices
COUNT = struct.Struct("<I")
QUALISYS_PACKET_MOST_BYTES = 2**20  # of a packet
MOST_COMPONENTS = 64
BODY = np.dtype([("place", "<f4", 3), ("turn", "<f4", 9)])
BY_ROWS = [0, 3, 6, 1, 4, 7, 2, 5, 8]  # numbers of a matrix that is sent column by column
_NAME = re.compile(rb"<Name>([^<]{0,256})</Name>")


class QualisysHeader(NamedTuple):
    """Bytes that follow, and what they are."""

    size: int
    kind: int


class QualisysFrame(NamedTuple):
    """A frame: its time [s], places (m, 3) [mm] and rotation matrices (m, 9) by rows; NaN where not seen."""

    time: float
    place: Floats
    turn: Floats


def pack_command(text: str) -> bytes:
    """A command to the server."""
    data = text.encode() + b"\0"
    return QUALISYS_HEADER.pack(QUALISYS_HEADER.size + len(data), COMMAND) + data


def read_header(data: bytes) -> QualisysHeader:
    """What comes next; raises PacketError where it is no packet."""
    size, kind = QUALISYS_HEADER.unpack(data)
    if not QUALISYS_HEADER.size <= size <= QUALISYS_PACKET_MOST_BYTES or kind > 16:
        raise PacketError(f"a packet of {size} bytes and type {kind} is none of the protocol")
    return QualisysHeader(size - QUALISYS_HEADER.size, kind)


def read_text(body: bytes) -> str:
    """The words of a command or an error."""
    return body.split(b"\0")[0][:256].decode(errors="replace")


def read_names(body: bytes) -> list[str]:
    """The names of the rigid bodies in the server's parameters."""
    begin, end = body.find(b"<The_6D>"), body.find(b"</The_6D>")
    if not 0 <= begin < end:
        raise PacketError("its parameters name no rigid bodies")
    found = islice(_NAME.finditer(body, begin, end), MOST_BODIES + 1)
    names = [unescape(one[1].decode(errors="replace")) for one in found]
    if len(names) > MOST_BODIES:
        raise PacketError(f"names more than {MOST_BODIES} rigid bodies")
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} {k}" for k, name in enumerate(names, 1)]


def read_frame(body: bytes) -> QualisysFrame | None:
    """The rigid bodies of a frame; None where it holds none."""
    cursor = Cursor(body)
    time, _, components = cursor.unpack(QUALISYS_FRAME_HEAD)
    if components > MOST_COMPONENTS:
        raise PacketError(f"says that {components} components follow, which do not")
    found = None
    for _ in range(components):
        size, kind = cursor.unpack(COMPONENT_HEAD)
        begin = cursor.at
        if size < COMPONENT_HEAD.size:
            raise PacketError(f"a component of {size} bytes at byte {begin}")
        cursor.skip(size - COMPONENT_HEAD.size)
        if kind == BODIES:
            found = _read_bodies(Cursor(body[begin : cursor.at]), time / 1e6)
    return found


def _read_bodies(cursor: Cursor, time: float) -> QualisysFrame:
    count = cursor.count(COUNT, MOST_BODIES, BODY.itemsize)
    cursor.skip(4)  # how many frames the cameras dropped, and were out of step
    bodies = cursor.array(BODY, count)
    return QualisysFrame(time, widen(bodies["place"]), widen(bodies["turn"])[:, BY_ROWS])
