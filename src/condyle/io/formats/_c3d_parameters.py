"""The parameter section of a C3D file: a chain of records, each telling where the next one begins.

Every record is located first and decoded only when it is asked for, so that a broken parameter which nobody needs does
not keep a file from being read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...model.values import dataclass
from ..tables.text import decode

C3D_BLOCK_BYTES = 512  # bytes; C3D counts places in blocks, from 1
MOST_C3D_PARAMETERS = 50_000  # of one section: real ones have some hundreds
_PROCESSORS = {84: "Intel", 85: "DEC", 86: "MIPS"}
_TEXT, _BYTE, _INTEGER, _FLOAT = -1, 1, 2, 4


@dataclass(frozen=True)
class Numbers:
    """How the processor that wrote the file stores numbers: "Intel", "DEC" (VAX floats) or "MIPS" (high byte first)."""

    processor: str

    @property
    def order(self) -> str:
        return ">" if self.processor == "MIPS" else "<"

    def floats(self, raw: NDArray[Any]) -> NDArray[Any]:
        """(..., k) from (..., k) 32-bit words as `float_type` has them."""
        return convert_vax(raw) if self.processor == "DEC" else raw

    @property
    def float_type(self) -> np.dtype[Any]:
        return np.dtype("<u4") if self.processor == "DEC" else np.dtype(f"{self.order}f4")

    @property
    def integer_type(self) -> np.dtype[Any]:
        return np.dtype(f"{self.order}i2")

    def float_at(self, raw: bytes, at: int) -> float:
        with np.errstate(all="ignore"):
            return float(self.floats(np.frombuffer(raw, self.float_type, 1, at))[0])

    def count_at(self, raw: bytes, at: int) -> int:
        """The unsigned 16-bit number at a byte."""
        return int.from_bytes(raw[at : at + 2], "big" if self.processor == "MIPS" else "little")


def convert_vax(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Floats of a VAX: the two halves of each word change places, and the exponent's bias is 2 higher.

    Exponent zero is the number zero, or, with the sign set, no number at all (NaN).
    """
    swapped = (words >> np.uint32(16)) | (words << np.uint32(16))
    values = np.ascontiguousarray(swapped, np.uint32).view(np.float32) * np.float32(0.25)
    tiny = (swapped & np.uint32(0x7F800000)) == 0
    if tiny.any():
        values[tiny] = np.where(swapped[tiny] >> np.uint32(31), np.float32(np.nan), np.float32(0))
    return values


@dataclass(frozen=True)
class Parameter:
    """One record: `raw` holds its data, `needed` bytes unless the record is broken; `at`: its byte in the file."""

    name: str
    kind: int
    shape: tuple[int, ...]
    at: int
    needed: int
    raw: bytes


class Parameters:
    """Parameters by "GROUP:NAME" in capitals; what is not there is None or empty, what is broken raises."""

    def __init__(self, numbers: Numbers, records: dict[str, Parameter]) -> None:
        self._numbers = numbers
        self._records = records

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def __len__(self) -> int:
        return len(self._records)

    def values(self, name: str, *, unsigned: bool = False) -> Floats:
        """All numbers of a parameter in the file's order (k,); empty where it does not exist."""
        found = self._whole(name)
        if found is None or not found.needed:
            return np.empty(0)
        if found.kind == _FLOAT:
            raw: NDArray[Any] = np.frombuffer(found.raw, self._numbers.float_type)
            with np.errstate(all="ignore"):
                return self._numbers.floats(raw).astype(np.float64)
        if found.kind in (_INTEGER, _BYTE):
            sign = "u" if unsigned else "i"
            return np.frombuffer(found.raw, f"{self._numbers.order}{sign}{found.kind}").astype(np.float64)
        raise CondyleError(f"parameter {name} at byte {found.at} is text where a number belongs", code="damaged-file")

    def number(self, name: str) -> float | None:
        """The first number of a parameter, or None."""
        values = self.values(name)
        return float(values[0]) if len(values) else None

    def count(self, name: str) -> int | None:
        """A count: 16 bits are read as unsigned, floats as they are; None where there is none or it is below zero."""
        values = self.values(name, unsigned=True)
        if not len(values) or not 0 <= values[0] < 2**31:
            return None
        return round(float(values[0]))

    def texts(self, name: str) -> list[str]:
        """The texts of a parameter without blanks around them; a text of one dimension is one text."""
        found = self._whole(name)
        if found is None or not found.needed:
            return []
        if found.kind != _TEXT:
            raise CondyleError(
                f"parameter {name} at byte {found.at} holds numbers where text belongs", code="damaged-file"
            )
        width = found.shape[0] if found.shape else 1
        parts = (found.raw[k : k + width] for k in range(0, len(found.raw), width))
        return [decode(part.partition(b"\x00")[0]).strip() for part in parts]

    def text(self, name: str) -> str:
        """The first text, or "" where there is none."""
        return next(iter(self.texts(name)), "")

    def read_continued(self, name: str) -> list[str]:
        """Texts of NAME, NAME2, NAME3, ...: one parameter holds at most 255."""
        texts, k = self.texts(name), 2
        while f"{name}{k}" in self._records:
            texts += self.texts(f"{name}{k}")
            k += 1
        return texts

    def _whole(self, name: str) -> Parameter | None:
        found = self._records.get(name)
        if found is None:
            return None
        if found.kind not in (_TEXT, _BYTE, _INTEGER, _FLOAT):
            text = f"parameter {name} at byte {found.at} has type {found.kind}, which C3D does not know"
            raise CondyleError(text, code="damaged-file")
        if len(found.raw) < found.needed:
            there = f"its record holds {len(found.raw)}"
            text = f"parameter {name} at byte {found.at} declares {found.needed} bytes, but {there}"
            raise CondyleError(text, code="damaged-file")
        return found


def find_processor(section: bytes, start: int) -> Numbers:
    """How numbers are stored, from the fourth byte of the parameter section, which begins at byte `start`."""
    if len(section) < 4:
        text = f"the file ends before its parameter section, which should begin at byte {start}; copy it again"
        raise CondyleError(text, code="damaged-file")
    processor = _PROCESSORS.get(section[3])
    if processor is None:
        text = f"byte {start + 3} names processor {section[3]}, expected 84 (Intel), 85 (DEC) or 86 (MIPS)"
        raise CondyleError(text, code="damaged-file")
    return Numbers(processor)


class _Record(NamedTuple):
    """Where a record stands in the section: its first byte, the byte after its link, and its end.

    group   below zero: the record is that group itself
    """

    group: int
    name: str
    at: int
    body: int
    end: int


def parse_parameters(section: bytes, numbers: Numbers, start: int, *, cut: bool) -> Parameters:
    """The parameters in the bytes of a section that begins at byte `start`; `cut`: the file ends with these bytes."""
    groups: dict[int, str] = {}
    found: list[tuple[int, Parameter]] = []
    for k, record in enumerate(_walk_records(section, numbers, start, cut)):
        if k >= MOST_C3D_PARAMETERS:
            text = f"more than {MOST_C3D_PARAMETERS} parameters up to byte {start + record.at}"
            raise CondyleError(text, code="damaged-file")
        if record.group < 0:
            groups.setdefault(-record.group, record.name)
        else:
            found.append((record.group, _read_parameter(section, record, start)))
    records: dict[str, Parameter] = {}
    for group, parameter in found:
        name = f"{groups.get(group, f'#{group}')}:{parameter.name}".upper()
        records.setdefault(name, parameter)
    return Parameters(numbers, records)


def _walk_records(section: bytes, numbers: Numbers, start: int, cut: bool) -> Iterator[_Record]:
    """The chain, up to a name without length, a link to nowhere (0) or the end of the section."""
    at = 4
    what = "file" if cut else "parameter section"
    while at < len(section):
        length = abs(_read_signed(section, at))
        if length == 0:
            return
        link = at + 2 + length
        if link + 2 > len(section):
            text = (
                f"the {what} ends at byte {start + len(section)}, inside the parameter that begins at byte {start + at}"
            )
            raise CondyleError(text, code="damaged-file")
        name, group = section[at + 2 : link], _read_signed(section, at + 1)
        if group == 0 or any(byte < 32 for byte in name):
            text = f"no parameter begins at byte {start + at}, where the one before it points: the chain is broken"
            raise CondyleError(text, code="damaged-file")
        offset = numbers.count_at(section, link)
        end = link + offset if offset else len(section)
        if end > len(section):
            text = (
                f"parameter {decode(name)!r} at byte {start + at} points to byte {start + end} for the next one, "
                f"past the end of the {what}"
            )
            raise CondyleError(text, code="damaged-file")
        yield _Record(group, decode(name).strip(), at, link + 2, end)
        if not offset:
            return
        at = end
    if cut:  # a section that ends without its closing zero, together with the file
        raise CondyleError(f"the file ends at byte {start + len(section)}, inside its parameters", code="damaged-file")


def _read_parameter(section: bytes, record: _Record, start: int) -> Parameter:
    kind = _read_signed(section, record.body)
    dimensions = section[record.body + 1] if record.body + 1 < record.end else 0
    data = record.body + 2 + dimensions
    shape = tuple(section[record.body + 2 : min(data, record.end)])
    needed = math.prod(shape) * abs(kind)
    raw = section[data : min(data + needed, record.end)]
    if len(shape) < dimensions:
        needed = max(needed, dimensions)  # not even the sizes are whole
    return Parameter(record.name, kind, shape, start + record.at, needed, raw)


def _read_signed(section: bytes, at: int) -> int:
    return int.from_bytes(section[at : at + 1], signed=True)
