"""The variables of a MATLAB file as plain values: structures as mappings, cell arrays as lists, numbers as arrays.

Files of version 5 to 7 are read here: scipy's reader ends the process on some that are damaged. Those of version 7.3
are HDF5, and read by h5py.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError, import_extra

MATLAB_5 = b"MATLAB 5.0 MAT-file"
MATLAB_73 = b"MATLAB 7.3 MAT-file"
HEADER_BYTES = 128  # bytes before the first variable of a file of version 5
DEEPEST_STRUCTURE = 8  # structures inside each other
MOST_MATLAB_VALUES = 20_000  # variables, fields and cells
MATLAB_FREE_BYTES = 64 * 2**20  # up to this size any compression ratio is harmless
MOST_MATLAB_RATIO = 200.0  # unpacked over packed
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {1: "latin-1", 2: "utf-8", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _PACKED = 14, 15
_CELL, _STRUCT, _CHAR, _NUMERIC = 1, 2, 4, range(6, 16)  # classes of arrays


def read_variables(path: Path) -> dict[str, Any]:
    """{name: value} in MATLAB's order of axes; raises where the file is damaged, or its library is not installed."""
    with path.open("rb") as stream:
        new = stream.read(len(MATLAB_73)) == MATLAB_73
    try:
        return _read_73(path) if new else _File5(path.read_bytes()).read()
    except (CondyleError, MemoryError):
        raise
    except Exception as error:  # what a damaged file raises is not documented
        raise CondyleError(f"is cut short or damaged ({error}); save it again", code="damaged-file") from None


class _File5:
    """A file of version 5: elements of a type, a length and data, some of them packed, some of them of elements."""

    def __init__(self, raw: bytes) -> None:
        mark = raw[HEADER_BYTES - 2 : HEADER_BYTES]
        if mark not in (b"IM", b"MI"):
            raise ValueError("its header has no mark of the byte order")
        self.raw, self.order = raw, "<" if mark == b"IM" else ">"
        self.values, self.room = MOST_MATLAB_VALUES, max(MATLAB_FREE_BYTES, int(MOST_MATLAB_RATIO * len(raw)))

    def read(self) -> dict[str, Any]:
        found = {}
        for kind, data in self._elements(self.raw[HEADER_BYTES:]):
            for inner, own in self._elements(self._unpack(data)) if kind == _PACKED else [(kind, data)]:
                if inner == _MATRIX:
                    name, value = self._array(own)
                    found[name] = value
        return found

    def _unpack(self, data: bytes) -> bytes:
        stream = zlib.decompressobj()
        out = stream.decompress(data, self.room)
        if stream.unconsumed_tail:
            raise CondyleError(
                "claims to unpack to more than any recording does; save it with -v7.3", code="suspicious-size"
            )
        if not stream.eof:
            raise ValueError("a variable ends too early")
        self.room -= len(out)
        return out

    def _elements(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        at = 0
        while at < len(data):
            kind, size = struct.unpack_from(f"{self.order}II", data, at)
            start = at + 8
            if kind >> 16:  # type, length and up to four bytes of data in eight
                kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
            if start + size > len(data) or (start == at + 4 and size > 4):
                raise ValueError(f"an element of {size} bytes where {len(data) - start} are left")
            yield kind, data[start : start + size]
            at = at + 8 if start == at + 4 else start + size + (0 if kind == _PACKED else -size % 8)

    def _array(self, data: bytes, depth: int = 0) -> tuple[str, Any]:
        """Name and value; None of what holds no numbers, words or fields."""
        self.values -= 1
        if self.values < 0 or depth > DEEPEST_STRUCTURE:
            raise CondyleError("holds more, or deeper, structures than are read", code="file-too-large")
        parts = self._elements(data)
        try:
            flags, sizes, (_, name) = next(parts)[1], next(parts)[1], next(parts)
        except StopIteration:
            return "", np.empty(0)  # an empty cell has no parts
        kind = struct.unpack_from(f"{self.order}I", flags)[0] & 0xFF
        shape = tuple(np.frombuffer(sizes, f"{self.order}i4").tolist())
        if not shape or min(shape) < 0:
            raise ValueError("an array without a size")
        return name.decode("latin-1"), self._content(kind, shape, parts, depth)

    def _content(self, kind: int, shape: tuple[int, ...], parts: Iterator[tuple[int, bytes]], depth: int) -> Any:
        if kind == _CELL:
            return [self._array(data, depth + 1)[1] for _, data in parts]
        if kind == _STRUCT:
            (length,) = struct.unpack_from(f"{self.order}i", next(parts)[1])
            names = next(parts)[1]
            if length <= 0:
                raise ValueError("a structure without names")
            fields = [names[k : k + length].split(b"\x00")[0].decode("latin-1") for k in range(0, len(names), length)]
            values = [self._array(data, depth + 1)[1] for _, data in parts]
            rows = [dict(zip(fields, values[k:], strict=False)) for k in range(0, len(values), max(len(fields), 1))]
            return rows[0] if len(rows) == 1 else rows
        if kind == _CHAR:
            form, data = next(parts, (2, b""))
            text = _TEXTS[form] + ({"<": "-le", ">": "-be"}[self.order] if _TEXTS[form][-2:] in ("16", "32") else "")
            return data.decode(text)
        if kind not in _NUMERIC:
            return None
        form, data = next(parts)
        array = np.frombuffer(data, self.order + _NUMBERS[form]).astype(np.float64)
        return array.reshape(shape, order="F").squeeze()


def _read_73(path: Path) -> dict[str, Any]:
    h5py = import_extra("h5py", "matlab", "MATLAB 7.3 files need h5py")
    left, room = [MOST_MATLAB_VALUES], [max(MATLAB_FREE_BYTES, int(MOST_MATLAB_RATIO * path.stat().st_size))]

    def convert(item: Any, depth: int = 0) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > DEEPEST_STRUCTURE:
            raise CondyleError("holds more, or deeper, structures than are read", code="file-too-large")
        if isinstance(item, h5py.Group):
            return {name: convert(item[name], depth + 1) for name in item if not name.startswith("#")}
        room[0] -= item.nbytes
        if room[0] < 0:
            raise CondyleError("claims to unpack to more than any recording does", code="suspicious-size")
        if item.dtype == h5py.ref_dtype:
            return [convert(file[one], depth + 1) for one in np.asarray(item[()]).T.ravel()]
        kind = item.attrs.get("MATLAB_class", b"")
        array = np.asarray(item[()]).T
        if kind == b"char":
            return "".join(map(chr, array.ravel().tolist())) if "MATLAB_empty" not in item.attrs else ""
        return array.squeeze()

    with h5py.File(path, "r") as file:
        return {name: convert(file[name]) for name in file if not name.startswith("#")}
