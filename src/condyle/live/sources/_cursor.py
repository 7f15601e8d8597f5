"""Reading bytes that nobody vouches for: every step is checked against the end, and every count against a bound."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...maths.arrays import Floats
from ..source import PacketError

LONGEST_NAME_BYTES = 256  # of a name in a packet


def widen(values: NDArray[Any]) -> Floats:
    """Single or whole numbers as float64, exactly; signalling NaN, which a packet may hold, becomes quiet."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


class Cursor:
    """A place in the bytes of a packet, which moves as they are read. Raises PacketError, and nothing else."""

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self.data, self.at = data, at

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def skip(self, count: int) -> None:
        """Goes on by so many bytes."""
        if not 0 <= count <= self.left:
            raise PacketError(f"ends {count - self.left} bytes early, at byte {len(self.data)}")
        self.at += count

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        """The values of a struct."""
        begin = self.at
        self.skip(form.size)
        return form.unpack_from(self.data, begin)

    def count(self, form: struct.Struct, most: int, each: int = 0) -> int:
        """A number of things of at least `each` bytes; raises where there are more than `most`, or than fit."""
        (value,) = self.unpack(form)
        if not 0 <= value <= most or value * each > self.left:
            raise PacketError(f"says that {value} things follow at byte {self.at}, which do not")
        return int(value)

    def array(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """So many items of a type."""
        begin = self.at
        self.skip(count * kind.itemsize)
        return np.frombuffer(self.data, kind, count, begin)

    def name(self, fill: int = 1) -> str:
        """Text that ends with zero bytes, up to a multiple of `fill`; letters that are none become marks."""
        rest = bytes(self.data[self.at : self.at + LONGEST_NAME_BYTES + 1])
        length = rest.find(b"\0")
        if length < 0:
            raise PacketError(f"the text at byte {self.at} does not end")
        self.skip(min(length + fill - length % fill, self.left))
        return rest[:length].decode(errors="replace")
