"""Messages of OSC 1.0 in datagrams and bundles. Whatever the bytes, reading is bounded in time and memory.

python-osc is the counterpart in the tests; it is not used here because damaged datagrams make it raise errors of many
kinds, and bundles in bundles let it recurse without end.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..source import PacketError
from ._cursor import Cursor

MOST_MESSAGES = 250  # of one datagram
MOST_ARGUMENTS = 64  # of one message
MOST_DEPTH = 4  # bundles in bundles
TEXT_FILL_BYTES = 4  # bytes of a multiple of which texts have so many
_BUNDLE = b"#bundle\0"
_SIZE = struct.Struct(">i")
_KINDS = {"i": struct.Struct(">i"), "f": struct.Struct(">f"), "d": struct.Struct(">d"), "h": struct.Struct(">q")}
_WORDS = {"T": True, "F": False, "N": None, "I": None}
_FIXED = {"t": 8, "r": 4, "m": 4, "c": 4}  # bytes of arguments that are not needed


class OscMessage(NamedTuple):
    """An address and its arguments: numbers and words; what is neither is left out."""

    address: str
    arguments: tuple[float | str | bool | None, ...]


def read_messages(data: bytes) -> list[OscMessage]:
    """The messages of a datagram, those in bundles among them."""
    found: list[OscMessage] = []
    _read_element(memoryview(data), found, 0)
    return found


def _read_element(data: memoryview, found: list[OscMessage], depth: int) -> None:
    if data[:8] != _BUNDLE:
        if len(found) >= MOST_MESSAGES:
            raise PacketError(f"holds more than {MOST_MESSAGES} messages")
        found.append(_read_message(Cursor(data)))
        return
    if depth >= MOST_DEPTH:
        raise PacketError(f"has bundles in bundles, {depth} deep")
    cursor = Cursor(data)
    cursor.skip(16)  # the word and a time, which senders leave at once
    while cursor.left:
        size = cursor.count(_SIZE, cursor.left, 1)
        if size == 0:
            raise PacketError("has an empty part")
        part = data[cursor.at : cursor.at + size]
        cursor.skip(size)
        _read_element(part, found, depth + 1)


def _read_message(cursor: Cursor) -> OscMessage:
    address = cursor.name(TEXT_FILL_BYTES)
    if not address.startswith("/"):
        raise PacketError("is no OSC message: its address does not begin with a slash")
    tags = cursor.name(TEXT_FILL_BYTES) if cursor.left else ","
    if not tags.startswith(",") or len(tags) > MOST_ARGUMENTS:
        raise PacketError(f"'{address[:80]}' has no list of its arguments, or a very long one")
    arguments: list[float | str | bool | None] = []
    for tag in tags[1:]:
        if tag in _KINDS:
            arguments.append(cursor.unpack(_KINDS[tag])[0])
        elif tag in "sS":
            arguments.append(cursor.name(TEXT_FILL_BYTES))
        elif tag in _WORDS:
            arguments.append(_WORDS[tag])
        elif tag == "b":
            size = cursor.count(_SIZE, cursor.left, 1)
            cursor.skip(min(size + -size % 4, cursor.left))
        elif tag in _FIXED:
            cursor.skip(_FIXED[tag])
        elif tag not in "[]":
            raise PacketError(f"'{address[:80]}' has an argument of the kind '{tag}', which is not OSC 1.0")
    return OscMessage(address, tuple(arguments))
