"""io/formats/_bag_files.py: messages out of containers, and what is refused before it is unpacked."""

from __future__ import annotations

import bz2
import struct
from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io.formats import _bag_files
from condyle.io.formats._bag_files import BAG, Bag, BagMessage

KIND = "geometry_msgs/PoseStamped"


def field(name: str, value: bytes) -> bytes:
    cell = name.encode() + b"=" + value
    return struct.pack("<I", len(cell)) + cell


def record(data: bytes, **fields: bytes) -> bytes:
    head = b"".join(field(name, value) for name, value in fields.items())
    return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data


CONNECTION = record(field("type", KIND.encode()), op=b"\x07", conn=b"\x00\x00\x00\x00", topic=b"/hand")
MESSAGE = record(b"poses", op=b"\x02", conn=b"\x00\x00\x00\x00", time=struct.pack("<II", 3, 5))


def bag(path: Path, chunk: bytes, compression: bytes = b"none", declared: int | None = None) -> Bag:
    raw = CONNECTION + MESSAGE
    size = struct.pack("<I", len(raw) if declared is None else declared)
    head = record(b"", op=b"\x03", index_pos=struct.pack("<Q", 13))
    path.write_bytes(BAG + b"2.0\n" + head + record(chunk, op=b"\x05", compression=compression, size=size))
    return Bag(path, [KIND])


@pytest.mark.parametrize("compression", ["none", "bz2"])
def test_messages_of_the_wanted_types_come_out_of_chunks(tmp_path: Path, compression: str) -> None:
    raw = CONNECTION + MESSAGE
    file = bag(tmp_path / "a.bag", bz2.compress(raw) if compression == "bz2" else raw, compression.encode())
    assert list(file.messages()) == [BagMessage("/hand", KIND, 3 * 10**9 + 5, b"poses", True)]
    assert (file.topics, file.container, file.cut) == ({"/hand": KIND}, "ROS 1 bag", False)


def test_a_bag_that_ends_early_gives_what_comes_before(tmp_path: Path) -> None:
    path = tmp_path / "a.bag"
    bag(path, CONNECTION + MESSAGE + MESSAGE)
    path.write_bytes(path.read_bytes()[:-3])
    file = Bag(path, [KIND])
    assert len(list(file.messages())) == 1
    assert file.cut


def test_a_chunk_that_unpacks_to_more_than_it_declares_is_refused(tmp_path: Path) -> None:
    file = bag(tmp_path / "a.bag", bz2.compress(CONNECTION + MESSAGE), b"bz2", declared=10)
    with pytest.raises(CondyleError, match="unpacks to more than it declares") as error:
        list(file.messages())
    assert error.value.code == "suspicious-size"


def test_a_record_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bag(tmp_path / "a.bag", CONNECTION + MESSAGE)
    monkeypatch.setattr(_bag_files, "MOST_BAG_RECORD_BYTES", 50)
    with pytest.raises(CondyleError, match="one record has") as error:
        list(file.messages())
    assert error.value.code == "file-too-large"


def test_an_unknown_compression_and_another_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="compression 'xy' is not known"):
        list(bag(tmp_path / "a.bag", b"123", b"xy").messages())
    (tmp_path / "b.bag").write_bytes(b"words")
    with pytest.raises(CondyleError, match="is no bag of ROS 1"):
        list(Bag(tmp_path / "b.bag", [KIND]).messages())
