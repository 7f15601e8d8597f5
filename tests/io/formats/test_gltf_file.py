"""io/formats/_gltf_file.py: the chunks of a GLB file and the numbers in them."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._gltf_file import read_chunks, read_values

DATA = np.arange(6, dtype="<f4").tobytes()


def glb(data: bytes = DATA, version: int = 2, **accessor: Any) -> bytes:
    numbers = {"componentType": 5126, "count": 2, "type": "VEC3", "bufferView": 0} | accessor
    content = {"asset": {}, "accessors": [numbers], "bufferViews": [{"byteLength": len(data)}]}
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I", len(text)) + b"JSON" + text + struct.pack("<I", len(data)) + b"BIN\x00" + data
    return b"glTF" + struct.pack("<II", version, 12 + len(body)) + body


def test_numbers_come_out_of_the_binary_chunk() -> None:
    document, data = read_chunks(glb())
    np.testing.assert_array_equal(read_values(0, "VEC3", document, data), np.arange(6.0).reshape(2, 3))


def test_whole_numbers_that_stand_for_fractions_become_them() -> None:
    raw = np.array([127, -127, -128, 0, 0, 0], "<i1").tobytes()
    document, data = read_chunks(glb(raw, componentType=5120, normalized=True))
    np.testing.assert_array_equal(read_values(0, "VEC3", document, data)[0], [1, -1, -1])


@pytest.mark.parametrize(
    ("accessor", "words"),
    [
        ({"count": 3}, "lie outside the file"),
        ({"byteOffset": -4}, "lie outside the file"),
        ({"componentType": 1}, "no type of number 1"),
        ({"type": "VEC4"}, "not plain arrays"),
        ({"bufferView": 7}, "not plain arrays"),
        ({"sparse": {}}, "not plain arrays"),
    ],
)
def test_numbers_that_are_not_there_are_an_error(accessor: dict[str, Any], words: str) -> None:
    document, data = read_chunks(glb(**accessor))
    with pytest.raises(CondyleError, match=words):
        read_values(0, "VEC3", document, data)
    with pytest.raises(CondyleError, match="an accessor that is not there"):
        read_values(1, "VEC3", document, data)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (glb()[:15], "cut within its header"),
        (glb()[:-1], "bytes are there; copy it again"),
        (glb(version=3), "glTF version 3; version 2 is read"),
        (glb().replace(b"JSON", b"TEXT"), "first chunk is not JSON"),
        (glb().replace(b'"asset"', b'"essat"'), "its JSON is not that of a glTF file"),
    ],
)
def test_another_or_a_cut_file_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(CondyleError, match=words):
        read_chunks(raw)
