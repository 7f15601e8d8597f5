"""live/sources/_cursor.py: nothing is read beyond the end, and no count is believed."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from condyle.live.source import PacketError
from condyle.live.sources._cursor import LONGEST_NAME_BYTES, Cursor, widen

INT = struct.Struct("<i")


def test_values_arrays_and_names_come_in_their_order() -> None:
    cursor = Cursor(INT.pack(7) + INT.pack(2) + np.arange(2, dtype="<f4").tobytes() + "å\0".encode() + b"\xff\0")
    assert cursor.unpack(INT) == (7,)
    assert cursor.array(np.dtype("<f4"), cursor.count(INT, 5, 4)).tolist() == [0, 1]
    assert (cursor.name(), cursor.name(), cursor.left) == ("å", "\ufffd", 0)


@pytest.mark.parametrize(
    "read",
    [
        lambda cursor: cursor.unpack(struct.Struct("<q")),
        lambda cursor: cursor.skip(-1),
        lambda cursor: cursor.skip(5),
        lambda cursor: cursor.array(np.dtype("<f8"), 1),
        lambda cursor: cursor.name(),
        lambda cursor: cursor.count(INT, 2),
    ],
)
def test_what_is_not_there_is_refused(read) -> None:
    with pytest.raises(PacketError):
        read(Cursor(INT.pack(0x7F7F7F7F)))


def test_more_things_than_fit_are_refused_before_they_are_made() -> None:
    with pytest.raises(PacketError, match="says that 1000 things follow"):
        Cursor(INT.pack(1000) + bytes(100)).count(INT, 10**6, 1)
    with pytest.raises(PacketError, match="says that -1 things follow"):
        Cursor(INT.pack(-1)).count(INT, 10**6)


def test_a_name_that_does_not_end_is_refused() -> None:
    with pytest.raises(PacketError, match="does not end"):
        Cursor(b"a" * (LONGEST_NAME_BYTES + 1) + b"\0").name()


def test_single_numbers_are_widened_exactly_whatever_they_are() -> None:
    quiet = widen(np.frombuffer(struct.pack("<fI", 0.1, 0x7F800001), "<f4"))
    assert quiet[0] == np.float32(0.1)
    assert np.isnan(quiet[1])
