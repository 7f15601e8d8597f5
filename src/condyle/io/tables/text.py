"""Bytes of text files, whatever program wrote them, as UTF-8."""

from __future__ import annotations

import codecs
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeVar, overload
from weakref import finalize

from ...errors import CondyleError
from ...maths.spool import largest_in_memory, spool_bytes

TEXT_BLOCK_BYTES = 2**23  # of a long text that are looked at or changed at once
READ_AHEAD_BYTES = 2**18  # of a long text that are read at once where less is asked for: they stay in the cache
LONG_TEXT_MIN_BYTES = 2**20  # of a text that stays on disk: copying it takes longer than the parts one by one


class FileBytes:
    """The bytes of a file that stays on disk, read when they are asked for. Where somebody cuts the file meanwhile that
    is an error: a mapped one would end the process.
    """

    def __init__(self, path: Path) -> None:
        self._stream = open(path, "rb", buffering=0)  # noqa: SIM115
        self._size = os.fstat(self._stream.fileno()).st_size
        self._first, self._near = 0, b""  # what was read last, and where it begins
        finalize(self, self._stream.close)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> bytes: ...
    def __getitem__(self, at: int | slice) -> int | bytes:
        if isinstance(at, int):
            return self._look(at, 1)[at - self._first]
        start, stop, _ = at.indices(self._size)
        if stop - start > READ_AHEAD_BYTES:
            return self._load(start, stop)
        near = self._look(start, max(stop - start, 0))
        return near[start - self._first : max(start, stop) - self._first]

    def find(self, part: bytes, start: int, stop: int) -> int:
        while start + len(part) <= stop:
            near = self._look(start, len(part))
            found = near.find(part, start - self._first, stop - self._first)
            if found >= 0:
                return self._first + found
            start = self._first + len(near) - len(part) + 1
        return -1

    def rfind(self, part: bytes, start: int, stop: int) -> int:
        while start + len(part) <= stop:
            begin = max(start, stop - READ_AHEAD_BYTES)
            found = self[begin:stop].rfind(part)
            if found >= 0:
                return begin + found
            if begin == start:
                break
            stop = begin + len(part) - 1
        return -1

    def whole(self) -> bytes | mmap.mmap:
        """All bytes at once, in memory or in a temporary file that nobody else has."""
        if self._size <= largest_in_memory():
            return self._load(0, self._size)
        step = TEXT_BLOCK_BYTES
        return spool_bytes(self._load(k, min(k + step, self._size)) for k in range(0, self._size, step))

    def _look(self, start: int, count: int) -> bytes:
        """A stretch of the file with these bytes in it, and more after them; it begins at `_first`."""
        if not self._first <= start <= start + count <= self._first + len(self._near):
            self._near = self._load(start, min(start + max(count, READ_AHEAD_BYTES), self._size))
            self._first = start
        return self._near

    def _load(self, start: int, stop: int) -> bytes:
        self._stream.seek(start)
        parts, left = list[bytes](), stop - start
        while left > 0:
            part = self._stream.read(left)
            if not part:
                text = "was cut while it was read; read it again when whatever writes it is done"
                raise CondyleError(text, code="damaged-file")
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class LongText:
    """The text of a long file, which stays on disk; of the methods of bytes it has those that readers need. A part is
    bytes where it is short, and a long text beyond.
    """

    def __init__(self, data: FileBytes | mmap.mmap, start: int = 0, stop: int | None = None) -> None:
        self._data, self._start, self._stop = data, start, len(data) if stop is None else stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Text: ...
    def __getitem__(self, at: int | slice) -> int | Text:
        if isinstance(at, int):
            return self._data[self._start + range(len(self))[at]]
        start, stop, _ = at.indices(len(self))
        start, stop = self._start + start, self._start + max(start, stop)
        return self._data[start:stop] if stop - start <= LONG_TEXT_MIN_BYTES else LongText(self._data, start, stop)

    def __bytes__(self) -> bytes:
        return self._data[self._start : self._stop]

    def _bounds(self, start: int, stop: int | None) -> tuple[int, int]:
        first, last, _ = slice(start, stop).indices(len(self))
        return self._start + first, self._start + last

    def find(self, part: bytes, start: int = 0, stop: int | None = None) -> int:
        found = self._data.find(part, *self._bounds(start, stop))
        return found - self._start if found >= 0 else -1

    def rfind(self, part: bytes, start: int = 0, stop: int | None = None) -> int:
        found = self._data.rfind(part, *self._bounds(start, stop))
        return found - self._start if found >= 0 else -1

    def __contains__(self, part: bytes) -> bool:
        return self.find(part) >= 0

    def count(self, part: bytes, start: int = 0, stop: int | None = None) -> int:
        """Of one letter, which no border between blocks tears apart."""
        first, last = self._bounds(start, stop)
        step = TEXT_BLOCK_BYTES
        return sum(self._data[k : min(k + step, last)].count(part) for k in range(first, last, step))

    def find_all(self, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
        """In the whole text of a file: places are counted from its beginning."""
        assert self._start == 0
        data = self._data.whole() if isinstance(self._data, FileBytes) else self._data
        return pattern.finditer(data, 0, self._stop)

    def split(self, mark: bytes, most: int) -> list[Text]:
        parts: list[Text] = []
        start = 0
        while len(parts) < most and (end := self.find(mark, start)) >= 0:
            parts.append(self[start:end])
            start = end + len(mark)
        return [*parts, self[start:]]


Text = bytes | LongText
AnyText = TypeVar("AnyText", bytes, Text)


def walk_blocks(text: Text) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, each with the number of lines before it; a text in memory is one block."""
    if isinstance(text, bytes):
        yield 0, text
        return
    start = lines = 0
    while start < len(text):
        end = text.find(b"\n", start + TEXT_BLOCK_BYTES // 2) + 1 or len(text)
        block = as_bytes(text[start:end])
        yield lines, block
        start, lines = end, lines + block.count(b"\n")


def first_block(text: Text, most: int | None = None, start: int = 0) -> bytes:
    """The first bytes of a text, in which its head is, from a place on; at most so many."""
    return as_bytes(text[start : start + min(most or TEXT_BLOCK_BYTES, TEXT_BLOCK_BYTES)])


def find_all(pattern: re.Pattern[bytes], text: Text) -> Iterator[re.Match[bytes]]:
    """All places of a pattern in the whole text of a file."""
    return pattern.finditer(text) if isinstance(text, bytes) else text.find_all(pattern)


def change_lines(text: Text, change: Callable[[bytes], bytes]) -> Text:
    """The text with a change made to its lines, which must not reach from one line to the next."""
    if isinstance(text, bytes):
        return change(text)
    return _keep((change(block) for _, block in walk_blocks(text)), len(text))


def _keep(blocks: Iterable[bytes], size: int) -> Text:
    """A text of about so many bytes that is made block by block, in memory or in a temporary file."""
    return b"".join(blocks) if size <= largest_in_memory() else LongText(spool_bytes(blocks))[:]


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
    if b"\r" not in raw:  # told many times sooner than they are counted
        return raw
    if 8 * raw.count(b"\r") > len(raw):  # hardly any lines between them
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


def walk_lines(text: Text, start: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Lines from a byte on as `split` has them: number from 1, the line without its end, and where the next begins.

    The last one, empty where the text ends with a line feed, has the end of the text instead.
    """
    number, end = 1, text.find(b"\n", start)
    while end >= 0:
        yield number, as_bytes(text[start:end]), end + 1
        number, start, end = number + 1, end + 1, text.find(b"\n", end + 1)
    yield number, as_bytes(text[start:]), len(text)


def as_bytes(line: Text) -> bytes:
    """A line, or another short part of a text; raises where it is no line that anybody wrote."""
    if isinstance(line, bytes) or len(line) <= TEXT_BLOCK_BYTES:
        return bytes(line)
    raise CondyleError(f"a line of more than {TEXT_BLOCK_BYTES} bytes", code="ragged-row")


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


def read_short_text(path: Path) -> bytes:
    """The same of a file that describes and does not record."""
    return _check_text(unify_line_ends(to_utf8(path.read_bytes())))


def read_text(path: Path) -> Text:
    """The whole file as UTF-8 with line feeds; raises where it is no text."""
    return _check_text(with_line_feeds(read_utf8(path)))


def _check_text(text: AnyText) -> AnyText:
    if b"\x00" in text[:65536]:
        raise CondyleError("is no text: it has zero bytes", code="damaged-file")
    return text


def read_utf8(path: Path) -> Text:
    """The whole file as UTF-8, with its line ends as they are. A long one stays where it is."""
    if path.stat().st_size <= TEXT_BLOCK_BYTES:
        return to_utf8(path.read_bytes())
    data = FileBytes(path)
    mark, encoding = data[:3] == codecs.BOM_UTF8, _find_wide_encoding(data[:64])
    if not mark and encoding is None:
        return LongText(data)
    parts = (data[k : k + TEXT_BLOCK_BYTES] for k in range(3 * mark, len(data), TEXT_BLOCK_BYTES))
    if encoding is not None:
        wide = codecs.iterdecode(parts, encoding, "ignore")
        first = next(wide, "").removeprefix("\ufeff")
        parts = (part.encode("utf-8", "replace") for part in chain([first], wide))
    return _keep(parts, len(data))


def with_line_feeds(text: Text) -> Text:
    """The same lines ended by a line feed each."""
    if isinstance(text, bytes):
        return unify_line_ends(text)
    return _keep(_unify_blocks(text), len(text)) if b"\r" in text else text


def _unify_blocks(text: LongText) -> Iterator[bytes]:
    held = b""  # a CR whose LF may follow in the next block
    for start in range(0, len(text), TEXT_BLOCK_BYTES):
        block = held + as_bytes(text[start : start + TEXT_BLOCK_BYTES])
        held = b"\r" if block.endswith(b"\r") and start + TEXT_BLOCK_BYTES < len(text) else b""
        yield unify_line_ends(block.removesuffix(held) if held else block)
