"""The packets of NatNet 3 and 4 that matter here: who streams, which rigid bodies there are, and their poses.

Read by what the vendor publishes of its protocol. Whatever the bytes, reading is bounded in time and memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...maths.arrays import Bools, Floats, Ints
from ..source import PacketError
from ._cursor import Cursor, widen

CONNECT, SERVER_INFO, REQUEST_MODELS, MODELS, FRAME_MESSAGE, KEEP_ALIVE, DISCOVERY = 0, 1, 4, 5, 7, 10, 14
MOST_RIGID_BODIES = 1000
MOST_SETS = 500  # of markers, skeletons, plates, devices, each with a count of its own
NATNET_MOST_CHANNELS = 500  # of plates and devices together
MOST_MARKERS = 5000
MOST_DESCRIPTIONS = 400  # of bodies, marker sets, cameras, devices
NATNET_MOST_NAMES = 1000  # in one description of what is streamed
_HEAD = struct.Struct("<HH")
_INT = struct.Struct("<i")
_POSE = np.dtype([("id", "<i4"), ("position", "<f4", 3), ("quaternion", "<f4", 4), ("error", "<f4"), ("flags", "<i2")])
_MARKER_BYTES, _LABELLED_BYTES = 12, 26
_SUFFIX = struct.Struct("<IId")  # timecode, its fraction, timestamp [s]
_SERVER = struct.Struct("<256s4B4B")
_DATA_PORT = struct.Struct("<QH?4B")
_RIGID_BODY, _MARKER_SET, _SKELETON = 1, 0, 2
_TRACKED = 1  # flag of a rigid body that is seen


class Server(NamedTuple):
    """Who streams: its program, the version of the protocol (major, minor), where its data go."""

    program: str
    version: tuple[int, int]
    port: int
    multicast: str | None


class NatNetFrame(NamedTuple):
    """The rigid bodies of one frame.

    number      of the frame
    time        [s] since the program was started
    ids         (m,)
    position    (m, 3) [m]; quaternion (m, 4) xyzw
    tracked     (m,) whether it is seen; one that is not keeps its last pose
    """

    number: int
    time: float
    ids: Ints
    position: Floats
    quaternion: Floats
    tracked: Bools


def pack_message(kind: int, payload: bytes = b"") -> bytes:
    """A message to a server."""
    return _HEAD.pack(kind, len(payload)) + payload


def pack_greeting(kind: int) -> bytes:
    """CONNECT or DISCOVERY: who asks, and that NatNet 3 is spoken."""
    return pack_message(kind, struct.pack("<256s4B4B", b"condyle", 1, 0, 0, 0, 3, 0, 0, 0))


def read_head(data: bytes) -> tuple[int, Cursor]:
    """The kind of a message, and its bytes."""
    cursor = Cursor(data)
    kind, size = cursor.unpack(_HEAD)
    if size > cursor.left:
        raise PacketError(f"a message of {size} bytes ends after {cursor.left}")
    return kind, Cursor(memoryview(data)[: _HEAD.size + size], _HEAD.size)


def read_server(cursor: Cursor) -> Server:
    """SERVER_INFO."""
    name, *numbers = cursor.unpack(_SERVER)
    program, _, _ = name.partition(b"\0")
    version = (numbers[4], numbers[5])
    if version[0] not in (3, 4):
        raise PacketError(f"speaks NatNet {version[0]}.{version[1]}; 3 and 4 are read")
    port, multicast = 1511, None
    if cursor.left >= _DATA_PORT.size:
        _, port, shared, *address = cursor.unpack(_DATA_PORT)
        multicast = ".".join(map(str, address)) if shared else None
    return Server(program.decode(errors="replace"), version, port, multicast)


def read_models(cursor: Cursor, version: tuple[int, int]) -> dict[int, str]:
    """MODELS: the names of the rigid bodies by their number; what comes behind one that is not known is not read."""
    found: dict[int, str] = {}
    names = 0
    for _ in range(cursor.count(_INT, MOST_DESCRIPTIONS)):
        (kind,) = cursor.unpack(_INT)
        end = None
        if version >= (4, 1):
            size = cursor.count(_INT, cursor.left, 1)
            end = cursor.at + size
        if kind == _RIGID_BODY:
            name, number, read = _read_rigid_body(cursor, version)
            found[number], names = name, names + read
        elif kind == _MARKER_SET and end is None:
            cursor.name()
            count = cursor.count(_INT, NATNET_MOST_NAMES, 1)
            for _ in range(count):
                cursor.name()
            names += count + 1
        elif kind == _SKELETON and end is None:
            cursor.name()
            cursor.skip(4)
            for _ in range(cursor.count(_INT, MOST_RIGID_BODIES, 25)):
                names += _read_rigid_body(cursor, version)[2]
        elif end is None:
            break
        if names > NATNET_MOST_NAMES:
            raise PacketError(f"describes more than {NATNET_MOST_NAMES} markers")
        if end is not None:
            cursor.at = end
    return found


def _read_rigid_body(cursor: Cursor, version: tuple[int, int]) -> tuple[str, int, int]:
    """Name and number of a rigid body, and how many names were read."""
    name = cursor.name()
    number, _ = cursor.unpack(struct.Struct("<ii"))
    cursor.skip(28 if version >= (4, 2) else 12)
    count = cursor.count(_INT, NATNET_MOST_NAMES, 16)
    cursor.skip(16 * count)
    if version >= (4, 0):
        for _ in range(count):
            cursor.name()
    return name, number, 1 + (count if version >= (4, 0) else 0)


def read_frame(cursor: Cursor, version: tuple[int, int]) -> NatNetFrame:
    """FRAME: sections of markers, bodies, skeletons, plates and devices, of which the bodies and the time are kept."""
    sized = version >= (4, 1)

    def skip(section: Callable[[Cursor], None]) -> None:
        """A section that is not kept; of newer versions it says how long it is."""
        if sized:
            cursor.skip(4)
            cursor.skip(cursor.count(_INT, cursor.left, 1))
        else:
            section(cursor)

    (number,) = cursor.unpack(_INT)
    skip(_skip_marker_sets)
    skip(partial(_skip_items, each=_MARKER_BYTES))
    count = cursor.count(_INT, MOST_RIGID_BODIES, _POSE.itemsize)
    if sized:
        cursor.skip(4)
    poses = cursor.array(_POSE, count)
    skip(_skip_skeletons)
    skip(lambda cursor: None)  # assets, which older versions have not
    skip(partial(_skip_items, each=_LABELLED_BYTES))
    skip(_skip_channels)  # of plates
    skip(_skip_channels)  # of devices
    _, _, time = cursor.unpack(_SUFFIX)
    if not np.isfinite(time):
        raise PacketError("its time is no number")
    return NatNetFrame(
        number,
        time,
        poses["id"].astype(np.int64),
        widen(poses["position"]),
        widen(poses["quaternion"]),
        poses["flags"] & _TRACKED != 0,
    )


def _skip_items(cursor: Cursor, each: int) -> None:
    """Markers, of so many bytes each."""
    cursor.skip(each * cursor.count(_INT, MOST_MARKERS, each))


def _skip_marker_sets(cursor: Cursor) -> None:
    for _ in range(cursor.count(_INT, MOST_SETS, 5)):
        cursor.name()
        _skip_items(cursor, _MARKER_BYTES)


def _skip_skeletons(cursor: Cursor) -> None:
    for _ in range(cursor.count(_INT, MOST_SETS, 8)):
        cursor.skip(4)
        cursor.skip(_POSE.itemsize * cursor.count(_INT, MOST_RIGID_BODIES, _POSE.itemsize))


def _skip_channels(cursor: Cursor) -> None:
    """Plates or devices: each has channels, each of those a number of samples."""
    channels = 0
    for _ in range(cursor.count(_INT, MOST_SETS, 8)):
        cursor.skip(4)
        count = cursor.count(_INT, NATNET_MOST_CHANNELS, 4)
        channels += count
        if channels > NATNET_MOST_CHANNELS:
            raise PacketError(f"has more than {NATNET_MOST_CHANNELS} channels")
        for _ in range(count):
            cursor.skip(4 * cursor.count(_INT, MOST_MARKERS, 4))
