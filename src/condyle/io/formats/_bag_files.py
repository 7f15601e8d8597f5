"""Messages out of the containers that ROS writes: bags of ROS 1, MCAP, and the databases of rosbag2.

Files are read from front to back without their index, so that one cut short gives every message before the cut. Nothing
is unpacked beyond a bound, and no definition of a message type is taken from a file.
"""

from __future__ import annotations

import bz2
import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...errors import CondyleError, import_extra
from ...model.values import dataclass

BAG, MCAP, SQLITE = b"#ROSBAG V", b"\x89MCAP0\r\n", b"SQLite format 3\x00"
ZSTD = b"\x28\xb5\x2f\xfd"
MOST_BAG_RECORD_BYTES = 256 * 2**20  # bytes of one record or chunk, unpacked
BAG_FREE_BYTES = 32 * 2**20  # up to this size any compression ratio is harmless
MOST_BAG_RATIO = 50.0  # unpacked over the size of the file; recordings stay under 20


class BagMessage(NamedTuple):
    """One message. type: "geometry_msgs/PoseStamped" in both versions; log_time [ns]; ros1: how `data` is written."""

    topic: str
    type: str
    log_time: int
    data: bytes
    ros1: bool


@dataclass
class Bag:
    """What is known of a file when its messages have been read. topics {name: type}; cut: it ends early."""

    path: Path
    types: Collection[str]
    topics: dict[str, str] = field(default_factory=dict)
    container: str = ""
    cut: bool = False
    unpacked: int = 0

    def messages(self) -> Iterator[BagMessage]:
        """Messages of the wanted types in the order of the file."""
        with open(self.path, "rb") as stream:
            magic = stream.read(16)
            if magic.startswith(BAG):
                yield from _walk_ros1(self, stream)
            elif magic.startswith(MCAP):
                yield from _walk_mcap(self, stream)
            elif magic.startswith(SQLITE):
                yield from _walk_sqlite(self)
            else:
                raise CondyleError("is no bag of ROS 1, no MCAP and no database of rosbag2", code="damaged-file")

    def unpack(self, data: bytes, compression: str, declared: int | None) -> bytes:
        """Unpacked bytes; those before the damage where the data are cut, which `cut` then says."""
        if compression in ("", "none"):
            return data
        room = min(
            MOST_BAG_RECORD_BYTES, int(max(BAG_FREE_BYTES, MOST_BAG_RATIO * self.path.stat().st_size)) - self.unpacked
        )
        bound = room if declared is None else declared
        try:
            raw = _find_decompressor(compression)(data, bound + 1) if bound <= room else b""
        except (OSError, ValueError, EOFError, RuntimeError, ArithmeticError) as error:
            raise CondyleError(f"a chunk cannot be unpacked ({error})", code="damaged-file") from None
        self.unpacked += len(raw)
        if bound > room or len(raw) > bound:
            raise CondyleError(
                "unpacks to more than it declares, or to much more than recordings do; "
                "if it is real, write it again without compression",
                code="suspicious-size",
            )
        self.cut = self.cut or (declared is not None and len(raw) < declared)
        return raw


def _find_decompressor(compression: str) -> Callable[[bytes, int], bytes]:
    """A function of the packed bytes and the most bytes to unpack."""
    if compression == "bz2":
        return bz2.BZ2Decompressor().decompress
    need = f"this bag is compressed by {compression}"
    if compression == "lz4":
        unpack: Callable[[bytes, int], bytes] = import_extra("lz4.frame", "ros", need).LZ4FrameDecompressor().decompress
        return unpack
    if compression == "zstd":
        return _find_zstd(need)
    raise CondyleError(f"compression '{compression[:40]}' is not known", code="damaged-file")


def _find_zstd(need: str) -> Callable[[bytes, int], bytes]:
    try:
        module = import_module("compression.zstd")  # Python 3.14
    except ImportError:
        module = import_extra("backports.zstd", "ros", need)

    def unpack(data: bytes, bound: int) -> bytes:
        try:
            raw: bytes = module.ZstdDecompressor().decompress(data, bound)
        except module.ZstdError as error:
            raise ValueError(str(error)) from None
        return raw

    return unpack


def _shorten_type(name: str) -> str:
    """ "geometry_msgs/msg/Pose" of ROS 2 as ROS 1 has it."""
    return name.replace("/msg/", "/", 1)


class _Short(Exception):
    """A record that ends behind its container."""


def _take(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise _Short
    return data[at : at + size], at + size


def _read_length(data: bytes, at: int, code: str) -> tuple[int, int]:
    raw, at = _take(data, at, struct.calcsize(code))
    return struct.unpack(code, raw)[0], at


# ROS 1: records of a header of name=value fields and data, each with its length in front


def _walk_ros1(bag: Bag, stream: BinaryIO) -> Iterator[BagMessage]:
    bag.container = "ROS 1 bag"
    stream.seek(0)
    if stream.readline(64).strip() != BAG + b"2.0":
        raise CondyleError("bags of version 2.0 are read, and this is another; convert it", code="bad-header", line=1)
    connections: dict[bytes, tuple[str, str]] = {}
    size = bag.path.stat().st_size
    chunks = index = 0
    try:
        while stream.tell() < size:
            fields = _read_fields(_read_record(stream, size))
            operation = fields.get(b"op")
            if operation == b"\x03":
                index = int.from_bytes(fields.get(b"index_pos", b""), "little")
            if operation == b"\x05":
                chunks += 1
                yield from _walk_ros1_chunk(bag, fields, stream, size, connections)
            elif operation == b"\x02" or (operation == b"\x07" and not chunks):  # behind the chunks they are repeated
                yield from _walk_ros1_record(bag, fields, _read_record(stream, size), connections)
            else:
                (length,) = struct.unpack("<I", stream.read(4))
                stream.seek(length, 1)
                if stream.tell() > size:
                    raise _Short
    except (_Short, struct.error):
        bag.cut = True
    bag.cut = bag.cut or not 0 < index <= size


def _read_record(stream: BinaryIO, size: int) -> bytes:
    (length,) = struct.unpack("<I", stream.read(4))
    if stream.tell() + length > size:
        raise _Short
    _check_record(length)
    return stream.read(length)


def _check_record(length: int) -> None:
    if length > MOST_BAG_RECORD_BYTES:
        most = MOST_BAG_RECORD_BYTES / 2**20
        text = f"one record has {length / 2**20:.0f} MiB, more than the {most:.0f} MiB that are read"
        raise CondyleError(text, code="file-too-large")


def _walk_ros1_chunk(
    bag: Bag, fields: dict[bytes, bytes], stream: BinaryIO, size: int, connections: dict[bytes, tuple[str, str]]
) -> Iterator[BagMessage]:
    (length,) = struct.unpack("<I", stream.read(4))
    short = stream.tell() + length > size
    declared = int.from_bytes(fields.get(b"size", b""), "little")
    _check_record(min(length, size))
    raw = stream.read(min(length, size))
    try:
        raw = bag.unpack(raw, fields.get(b"compression", b"none").decode("latin-1"), declared)
    except CondyleError as error:
        if not short or error.code != "damaged-file":
            raise
        raise _Short from None
    at = 0
    while at < len(raw):
        head, at = _read_sized(raw, at)
        data, at = _read_sized(raw, at)
        yield from _walk_ros1_record(bag, _read_fields(head), data, connections)
    if short:
        raise _Short


def _read_sized(raw: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_length(raw, at, "<I")
    return _take(raw, at, length)


def _walk_ros1_record(
    bag: Bag, fields: dict[bytes, bytes], data: bytes, connections: dict[bytes, tuple[str, str]]
) -> Iterator[BagMessage]:
    operation, number = fields.get(b"op"), fields.get(b"conn", b"")
    if operation == b"\x07":
        kind = _read_fields(data).get(b"type", b"").decode("utf-8", "replace")
        topic = fields.get(b"topic", b"").decode("utf-8", "replace")
        connections[number] = topic, kind
        bag.topics[topic] = kind
    elif operation == b"\x02" and number in connections:
        topic, kind = connections[number]
        if kind in bag.types and len(fields.get(b"time", b"")) == 8:
            seconds, nanoseconds = struct.unpack("<II", fields[b"time"])
            yield BagMessage(topic, kind, seconds * 10**9 + nanoseconds, data, True)


def _read_fields(head: bytes) -> dict[bytes, bytes]:
    found, at = {}, 0
    while at < len(head):
        cell, at = _read_sized(head, at)
        name, _, value = cell.partition(b"=")
        found[name] = value
    return found


# MCAP: records of one byte, the length and the content; a chunk holds records


def _walk_mcap(bag: Bag, stream: BinaryIO) -> Iterator[BagMessage]:
    bag.container = "MCAP"
    size = bag.path.stat().st_size
    stream.seek(max(size - len(MCAP), 0))
    bag.cut = size < 2 * len(MCAP) or stream.read() != MCAP
    stream.seek(len(MCAP))
    known = _Channels()
    try:
        while True:
            head = stream.read(9)
            if len(head) < 9:
                raise _Short
            operation, length = struct.unpack("<BQ", head)
            if operation in (0x02, 0x0F):  # behind the data everything is said again
                return
            if operation not in (0x03, 0x04, 0x05, 0x06):
                if length > size:
                    raise _Short
                stream.seek(length, 1)
                continue
            short = stream.tell() + length > size
            if short and operation != 0x06:
                raise _Short
            _check_record(min(length, size))
            content = stream.read(min(length, size))
            if operation == 0x06:
                yield from _walk_mcap_chunk(bag, content, short, known)
            else:
                yield from _walk_mcap_record(bag, operation, content, known)
            if short:
                raise _Short
    except (_Short, struct.error):
        bag.cut = True


@dataclass
class _Channels:
    schemas: dict[int, str] = field(default_factory=dict)
    channels: dict[int, tuple[str, str, str]] = field(default_factory=dict)


def _walk_mcap_chunk(bag: Bag, content: bytes, short: bool, known: _Channels) -> Iterator[BagMessage]:
    declared, at = _read_length(content, 16, "<Q")
    checksum, at = _read_length(content, at, "<I")
    name, at = _read_sized(content, at)
    packed, at = _read_length(content, at, "<Q")
    compression = name.decode("latin-1")
    try:
        raw = bag.unpack(content[at : at + packed], compression, None if not compression else declared)
    except CondyleError as error:
        if not short or error.code != "damaged-file":
            raise
        raise _Short from None
    if checksum and not short and zlib.crc32(raw) != checksum:
        raise CondyleError(
            "the checksum of a chunk does not match its contents; copy the file again", code="damaged-file"
        )
    at = 0
    while at < len(raw):
        head, at = _take(raw, at, 9)
        operation, length = struct.unpack("<BQ", head)
        record, at = _take(raw, at, length)
        yield from _walk_mcap_record(bag, operation, record, known)


def _walk_mcap_record(bag: Bag, operation: int, content: bytes, known: _Channels) -> Iterator[BagMessage]:
    if operation == 0x03:
        number, at = _read_length(content, 0, "<H")
        name, at = _read_sized(content, at)
        known.schemas[number] = _shorten_type(name.decode("utf-8", "replace"))
    elif operation == 0x04:
        number, at = _read_length(content, 0, "<H")
        schema, at = _read_length(content, at, "<H")
        topic, at = _read_sized(content, at)
        encoding, at = _read_sized(content, at)
        kind = known.schemas.get(schema, "")
        known.channels[number] = topic.decode("utf-8", "replace"), kind, encoding.decode("latin-1")
        bag.topics[known.channels[number][0]] = kind
    elif operation == 0x05:
        number, at = _read_length(content, 0, "<H")
        on, kind, written = known.channels.get(number, ("", "", ""))
        if kind in bag.types and written in ("cdr", "ros1"):
            log_time, _ = _read_length(content, 6, "<Q")
            yield BagMessage(on, kind, log_time, content[22:], written == "ros1")


# rosbag2's own storage


def _walk_sqlite(bag: Bag) -> Iterator[BagMessage]:
    bag.container = "ROS 2 bag"
    waiting = bag.path.with_name(bag.path.name + "-wal")
    mode = "mode=ro" if waiting.is_file() and waiting.stat().st_size else "mode=ro&immutable=1"
    try:
        base = sqlite3.connect(f"{bag.path.absolute().as_uri()}?{mode}", uri=True)
    except sqlite3.Error as error:
        raise CondyleError(f"the database cannot be opened ({error})", code="damaged-file") from None
    met = False
    try:
        base.text_factory = lambda raw: raw.decode("utf-8", "replace")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BAG_RECORD_BYTES)
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("PRAGMA cell_size_check = ON")
        _check_tables(base)
        with open(bag.path, "rb") as stream:
            head = stream.read(100)
        page = int.from_bytes(head[16:18], "big")
        bag.cut = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big") > bag.path.stat().st_size
        wanted: dict[int, tuple[str, str]] = {}
        for number, topic, kind in base.execute("SELECT id, name, type FROM topics"):
            bag.topics[str(topic)] = _shorten_type(str(kind))
            if _shorten_type(str(kind)) in bag.types:
                wanted[number] = str(topic), _shorten_type(str(kind))
        for number, stamp, data in base.execute("SELECT topic_id, timestamp, data FROM messages"):
            if number in wanted and isinstance(data, bytes) and isinstance(stamp, int):
                met = True
                data = bag.unpack(data, "zstd", None) if data[:4] == ZSTD else data
                yield BagMessage(*wanted[number], stamp, data, False)
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        if not met:
            raise CondyleError(f"the database is damaged ({error}); copy it again", code="damaged-file") from None
        bag.cut = True
    finally:
        base.close()


def _check_tables(base: sqlite3.Connection) -> None:
    """Real tables: a view or a virtual table would run what the file says."""
    found = base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    plain = {name for name, sql in found if str(sql).upper().startswith("CREATE TABLE")}
    if missing := {"topics", "messages"} - plain:
        raise CondyleError(f"is a database without rosbag2's table '{sorted(missing)[0]}'", code="bad-header")
