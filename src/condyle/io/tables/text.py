"""Bytes of text files, whatever program wrote them, as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ...errors import CondyleError


def to_utf8(raw: bytes) -> bytes:
    """The same text as UTF-8 without a byte order mark: from UTF-8, UTF-16 or UTF-32; other bytes stay as they are.

    Text in UTF-16 that was cut inside a character loses that character.
    """
    if raw.startswith(codecs.BOM_UTF8):
        return raw[3:]
    encoding = _find_wide_encoding(raw)
    if encoding is None:
        return raw
    return raw.decode(encoding, "ignore").removeprefix("\ufeff").encode("utf-8", "replace")


def decode(raw: bytes) -> str:
    """Text of UTF-8 bytes, or of Latin-1 where they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def unify_line_ends(raw: bytes) -> bytes:
    """The same lines ended by a line feed each, from CR or CRLF."""
    ends = raw.count(b"\r")
    if not ends:
        return raw
    if 8 * ends > len(raw):  # hardly any lines between them
        return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    first, *rest = raw.split(b"\r")  # four times as fast
    return b"".join([first, *(line if line[:1] == b"\n" else b"\n" + line for line in rest)])


def _find_wide_encoding(raw: bytes) -> str | None:
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32-le" if raw.startswith(codecs.BOM_UTF32_LE) else "utf-32-be"
    if raw.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if raw.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    start = raw[:64]  # without a mark: ASCII in two bytes has a NUL in every second place
    if len(start) >= 8 and not any(start[1::2]) and all(start[0::2]):
        return "utf-16-le"
    if len(start) >= 8 and not any(start[0::2]) and all(start[1::2]):
        return "utf-16-be"
    return None


def walk_lines(text: bytes, start: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Lines from a byte on as `split` has them: number from 1, the line without its end, and where the next begins.

    The last one, empty where the text ends with a line feed, has the end of the text instead.
    """
    number, end = 1, text.find(b"\n", start)
    while end >= 0:
        yield number, text[start:end], end + 1
        number, start, end = number + 1, end + 1, text.find(b"\n", end + 1)
    yield number, text[start:], len(text)


@lru_cache(maxsize=4)
def read_head_lines(head: bytes) -> tuple[str, ...]:
    """The first lines of a file as text, without line ends; the last one, which may be cut, only if it stands alone.

    Empty where the bytes are no text.
    """
    text = unify_line_ends(to_utf8(head))
    if b"\x00" in text:
        return ()
    lines = decode(text).split("\n")
    return tuple(lines[:-1] if len(lines) > 1 else lines)


def read_text(path: Path) -> bytes:
    """The whole file as UTF-8 with line feeds; raises where it is no text."""
    text = unify_line_ends(to_utf8(path.read_bytes()))
    if b"\x00" in text[:65536]:
        raise CondyleError("is no text: it has zero bytes", code="damaged-file")
    return text
