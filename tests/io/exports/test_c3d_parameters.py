from __future__ import annotations

import struct

import pytest

from condyle.errors import CondyleError
from condyle.io.exports._c3d_parameters import C3D_BLOCK_BYTES, LIST_MAX_ITEMS, fill_block, write_parameters


def test_a_section_is_whole_blocks_and_counts_them() -> None:
    raw = write_parameters({"POINT": {"USED": 3, "RATE": 60.0, "LABELS": ["hip", "knee"]}})
    assert len(raw) % C3D_BLOCK_BYTES == 0
    assert raw[:4] == bytes([1, 0x50, len(raw) // C3D_BLOCK_BYTES, 84])
    assert b"LABELS" in raw
    assert b"hip knee" in raw, "texts of one list are as wide as the widest"


def test_numbers_are_small_integers_or_floats() -> None:
    raw = write_parameters({"G": {"A": 40_000, "B": [0.5, -2.0]}})
    assert struct.pack("<bBH", 2, 0, 40_000) in raw
    assert struct.pack("<bBBff", 4, 1, 2, 0.5, -2.0) in raw


def test_a_list_too_long_for_one_parameter_goes_on_in_the_next() -> None:
    raw = write_parameters({"POINT": {"LABELS": [f"m{k}" for k in range(LIST_MAX_ITEMS + 1)]}})
    assert b"LABELS2" in raw
    assert b"LABELS3" not in raw


@pytest.mark.parametrize(
    ("labels", "code"), [(["x" * (LIST_MAX_ITEMS + 1)], "bad-name"), (["x" * 200] * 2000, "file-too-large")]
)
def test_what_the_format_cannot_hold_is_refused(labels: list[str], code: str) -> None:
    with pytest.raises(CondyleError) as caught:
        write_parameters({"POINT": {"LABELS": labels}})
    assert caught.value.code == code


def test_blocks_are_filled_with_zeros() -> None:
    assert fill_block(b"") == b""
    assert fill_block(b"abc") == b"abc" + bytes(C3D_BLOCK_BYTES - 3)
    assert fill_block(bytes(C3D_BLOCK_BYTES)) == bytes(C3D_BLOCK_BYTES)
