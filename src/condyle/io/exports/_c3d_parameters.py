"""The parameter section of a C3D file: groups and what stands in them, as bytes for an Intel processor."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import CondyleError
from ..formats._c3d_parameters import C3D_BLOCK_BYTES

INTEL_PROCESSOR = 84
SECTION_MAX_BLOCKS = 255  # of the section: its length is one byte
LIST_MAX_ITEMS = 255  # of a list: its dimensions are bytes
RECORD_MAX_BYTES = 32_000  # of a record's data: its length is 16 bits with a sign

ParameterValue = str | int | float | Sequence[str] | Sequence[int] | Sequence[float]


def write_parameters(groups: Mapping[str, Mapping[str, ParameterValue]]) -> bytes:
    """Whole blocks of {group: {name: value}}. A list of texts that is too long goes on in NAME2, NAME3, ..."""
    raw = b"".join(_record(name, -number, b"\x00") for number, name in enumerate(groups, start=1))
    for number, (group, values) in enumerate(groups.items(), start=1):
        for name, value in values.items():
            for own, part in _parts(name, value):
                raw += _record(own, number, _data(part, f"{group}:{own}") + b"\x00")
    raw = fill_block(struct.pack("<BBBB", 1, 0x50, 0, INTEL_PROCESSOR) + raw + b"\x00\x00")
    if len(raw) > SECTION_MAX_BLOCKS * C3D_BLOCK_BYTES:
        raise CondyleError(
            f"the names need {len(raw)} bytes, and a C3D file holds {SECTION_MAX_BLOCKS * C3D_BLOCK_BYTES} bytes of "
            "parameters; export fewer bodies or give them shorter names",
            code="file-too-large",
        )
    return raw[:2] + bytes([len(raw) // C3D_BLOCK_BYTES]) + raw[3:]


def fill_block(raw: bytes) -> bytes:
    """Zeros behind it up to a whole block."""
    return raw + bytes(-len(raw) % C3D_BLOCK_BYTES)


def _parts(name: str, value: ParameterValue) -> list[tuple[str, ParameterValue]]:
    if isinstance(value, (str, int, float)) or not value or not isinstance(value[0], str):
        return [(name, value)]
    width = max(len(text) for text in value)  # type: ignore[arg-type]
    most = max(min(LIST_MAX_ITEMS, RECORD_MAX_BYTES // max(width, 1)), 1)
    starts = range(0, len(value), most)
    return [(name if k == 0 else f"{name}{k + 1}", value[at : at + most]) for k, at in enumerate(starts)]


def _record(name: str, group: int, body: bytes) -> bytes:
    """A group where the number is below zero, else a parameter of that group."""
    label = name.encode("ascii")
    return struct.pack("<bb", len(label), group) + label + struct.pack("<H", len(body) + 2) + body


def _data(value: ParameterValue, name: str) -> bytes:
    """Type, dimensions and data: text (-1), 16-bit integers (2), or floats (4)."""
    alone = isinstance(value, (str, int, float))
    items: list[Any] = [value] if alone else list(value)  # type: ignore[arg-type]
    shape = [] if alone else [len(items)]
    if items and isinstance(items[0], float):
        return _head(4, shape) + np.asarray(items, "<f4").tobytes()
    if items and isinstance(items[0], int):
        return _head(2, shape) + np.asarray(items, "<u2").tobytes()
    texts = [str(item).encode("ascii", "replace") for item in items]
    width = max((len(text) for text in texts), default=0)
    if width > LIST_MAX_ITEMS:
        longest = max(texts, key=len).decode()
        raise CondyleError(
            f"'{longest[:40]}...' is longer than the {LIST_MAX_ITEMS} letters that C3D holds in {name}; shorten it",
            code="bad-name",
        )
    return _head(-1, [width, *shape]) + b"".join(text.ljust(width) for text in texts)


def _head(kind: int, shape: Sequence[int]) -> bytes:
    return struct.pack("<bB", kind, len(shape)) + bytes(shape)
