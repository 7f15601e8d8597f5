"""Damaged files: small sound ones with bytes, numbers and lines changed as transfers, editors and attackers do."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence

import numpy as np

NUMBER = re.compile(rb"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
WORD = re.compile(rb"[^\s,;=<>\"]+")
NUMBERS = (
    b"0", b"-1", b"-0", b"1", b"2", b"7", b"255", b"65535", b"65536", b"2147483647", b"2147483648", b"-2147483648",
    b"4294967296", b"9223372036854775807", b"9223372036854775808", b"1e5", b"1e9", b"1e18", b"1e155", b"1e308",
    b"-1e308", b"1e309", b"1e-308", b"5e-324", b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"null", b"", b"-", b"+",
    b".", b"1_0", b"0x10", b"1,5", b"1.5", b"1e", b"++1", b"1.2.3", b"9" * 30, b"9" * 400, b"0." + b"3" * 400,
    b"1" * 5000, b"0x" + b"f" * 5000, "٣".encode(), "²".encode(), "½".encode(), "١٢".encode(),
)  # fmt: skip
ODD = (
    b"\x00", b"\x00" * 16, b"\r", b"\r\n", b"\n", b"\n\n\n", b"\t", b" ", b",", b";", b'"', b"'", b"#", b":", b"=",
    b"/", b"\\", b"<", b">", b"&", b"{", b"}", b"[", b"]", b"(", b")", b"%s", b"\x1b[2J", b"\x7f", b"\x85", b"\xa0",
    b"\xff", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", "ﬁ".encode(), "\u2028".encode(),
    "\u202e".encode(), "\ud7ff\U0001f480".encode(), "İ".encode(), b"<!DOCTYPE a>", b"<![CDATA[", b"&amp;", b"&#0;",
    b"-->", b"__proto__", b"=cmd()", b"../../x", b"A" * 3000, b"," * 3000, b"\n" * 3000, b"(" * 3000, b"{\n" * 3000,
    b"[" * 3000, b"<a>" * 3000,
)  # fmt: skip
RUNS = tuple(bytes([byte]) for byte in b"0159.-+eE_ \t\n,;:\"'#%/axXqw<>([{&=") + (b"1 ", b"a,", b"1,", b"_x", b"# ")
WHOLE = (0, 1, 2, 3, 4, 7, 16, 64, 127, 128, 255, 256, 511, 512, 1024, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1,
         2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-38, 1e38, 3.4e38, 1e308, float("nan"), float("inf"), float("-inf"), 0.5, 1e-320)
LONGEST = 2**17  # bytes: duplications must not let files grow from one mutation to the next


class Mutator:
    """Draws damaged files from sound ones: `next()` takes one of `seeds` and changes it in one to five places."""

    def __init__(self, seeds: Sequence[bytes], rng: np.random.Generator) -> None:
        self._seeds, self._rng = list(seeds), rng
        self._text = [not _is_binary(seed) for seed in self._seeds]
        self._drawn: list[float] = []

    def next(self) -> bytes:
        k = self._below(len(self._seeds))
        raw = self._seeds[k]
        kinds = _TEXT if self._text[k] else _BINARY
        if raw.startswith(b"PK\x03\x04") and self._below(4):
            return self.member(raw)
        for _ in range(1 + min(self._below(5), self._below(5))):
            raw = kinds[self._below(len(kinds))](self, raw)
        return raw[:LONGEST]

    def _below(self, n: int) -> int:
        """A whole number from 0 up to n - 1; 0 where n is 0. Numbers are drawn many at once, which is much faster."""
        if not self._drawn:
            self._drawn = self._rng.random(4096).tolist()
        return int(self._drawn.pop() * n)

    def _span(self, raw: bytes, longest: int = 0) -> tuple[int, int]:
        """Start and end of a part of the bytes: most often short, sometimes anything."""
        start = self._below(len(raw) + 1)
        most = longest or (1, 4, 16, 64, 512, len(raw))[self._below(6)]
        return start, min(len(raw), start + 1 + self._below(most))

    def flip(self, raw: bytes) -> bytes:
        changed = bytearray(raw)
        for _ in range(1 + self._below(4) if raw else 0):
            changed[self._below(len(raw))] ^= 1 << self._below(8)
        return bytes(changed)

    def replace(self, raw: bytes) -> bytes:
        start, end = self._span(raw)
        return raw[:start] + bytes(self._below(256) for _ in range(min(end - start, 64))) + raw[end:]

    def delete(self, raw: bytes) -> bytes:
        start, end = self._span(raw)
        return raw[:start] + raw[end:]

    def insert(self, raw: bytes) -> bytes:
        at = self._below(len(raw) + 1)
        return raw[:at] + ODD[self._below(len(ODD))] + raw[at:]

    def long_run(self, raw: bytes) -> bytes:
        """Tens of thousands of the same character: harmless, unless a pattern tries every way to part them."""
        at = self._below(len(raw) + 1)
        return raw[:at] + RUNS[self._below(len(RUNS))] * (20_000 + self._below(20_000)) + raw[at:]

    def duplicate(self, raw: bytes) -> bytes:
        start, end = self._span(raw)
        at = self._below(len(raw) + 1)
        times = (1, 1, 2, 40)[self._below(4)]
        return raw[:at] + raw[start:end] * times + raw[at:]

    def truncate(self, raw: bytes) -> bytes:
        return raw[: self._below(len(raw) + 1)]

    def splice(self, raw: bytes) -> bytes:
        other = self._seeds[self._below(len(self._seeds))]
        return raw[: self._below(len(raw) + 1)] + other[self._below(len(other) + 1) :]

    def number(self, raw: bytes) -> bytes:
        """One of the numbers in a text, or all that are written alike, replaced by an awkward one."""
        found = list(NUMBER.finditer(raw))
        if not found:
            return self.insert(raw)
        one, new = found[self._below(len(found))], NUMBERS[self._below(len(NUMBERS))]
        if self._below(4) == 0:
            return raw.replace(one[0], new, 100)
        return raw[: one.start()] + new + raw[one.end() :]

    def word(self, raw: bytes) -> bytes:
        """A word takes the place of another, or a part of it."""
        found = list(WORD.finditer(raw))
        if not found:
            return self.insert(raw)
        one, two = found[self._below(len(found))], found[self._below(len(found))]
        return raw[: one.start()] + two[0] + raw[one.end() :]

    def lines(self, raw: bytes) -> bytes:
        """Two lines swapped, one of them doubled, or one left out."""
        lines = raw.split(b"\n")
        a, b, what = self._below(len(lines)), self._below(len(lines)), self._below(3)
        if what == 0:
            lines[a], lines[b] = lines[b], lines[a]
        elif what == 1:
            lines.insert(a, lines[b])
        else:
            del lines[a]
        return b"\n".join(lines)

    def encoding(self, raw: bytes) -> bytes:
        """The same text in another encoding, with other line ends or other separators."""
        what = self._below(7)
        if what == 0:
            return raw.replace(b"\n", b"\r\n")
        if what == 1:
            return raw.replace(b"\n", b"\r")
        if what == 2:
            return raw.replace(b".", b",")
        if what == 3:
            return raw.replace(b",", b";")
        if what == 4:
            return raw.replace(b"\t", b" ")
        return raw.decode("latin-1").encode(("utf-16", "utf-8-sig")[what - 5])

    def whole(self, raw: bytes) -> bytes:
        """A whole number of 1, 2, 4 or 8 bytes, most often near the start, where headers are."""
        size, order = (1, 2, 4, 8)[self._below(4)], ("little", "big")[self._below(2)]
        near = (64, 512, 2048, len(raw))[self._below(4)]
        at = self._below(max(min(near, len(raw)) - size + 1, 0))
        value = WHOLE[self._below(len(WHOLE))] % 256**size
        return raw[:at] + value.to_bytes(size, order) + raw[at + size :]  # type: ignore[arg-type]

    def real(self, raw: bytes) -> bytes:
        """A float of 4 or 8 bytes."""
        kind = ("<f4", ">f4", "<f8", ">f8")[self._below(4)]
        at = self._below(max(len(raw) - 7, 0))
        at -= at % 4 if self._below(2) else 0
        with np.errstate(all="ignore"):
            new = np.array(FLOATS[self._below(len(FLOATS))]).astype(kind).tobytes()
        return raw[:at] + new + raw[at + len(new) :]

    def member(self, raw: bytes) -> bytes:
        """An archive whose checksums are right and one of whose members is damaged."""
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        hit, packed = list(members)[self._below(len(members))], io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED if self._below(2) else zipfile.ZIP_STORED) as archive:
            for name, data in members.items():
                for _ in range(1 + self._below(3) if name == hit else 0):
                    kinds = _TEXT if self._below(2) else _BINARY  # the header of an array is text
                    data = kinds[self._below(len(kinds))](self, data)
                archive.writestr(name, data[:LONGEST])
        return packed.getvalue()

    def add(self, raw: bytes) -> bytes:
        """A byte a little larger or smaller: counts that are off by one."""
        if not raw:
            return raw
        at = self._below(min(len(raw), (64, 2048, len(raw))[self._below(3)]))
        return raw[:at] + bytes([(raw[at] + self._below(9) - 4) % 256]) + raw[at + 1 :]


_ALL: tuple[Callable[[Mutator, bytes], bytes], ...] = (
    Mutator.flip, Mutator.replace, Mutator.delete, Mutator.insert, Mutator.duplicate, Mutator.truncate, Mutator.splice,
)  # fmt: skip
_TEXT = (*_ALL, *(Mutator.number,) * 5, *(Mutator.word,) * 2, *(Mutator.lines,) * 2, Mutator.encoding, Mutator.long_run)
_BINARY = (*_ALL, *(Mutator.whole,) * 4, Mutator.real, Mutator.real, Mutator.add, Mutator.add, Mutator.number)


def _is_binary(raw: bytes) -> bool:
    return raw[:4096].count(0) > 8 and raw[:2] not in (b"\xff\xfe", b"\xfe\xff")
