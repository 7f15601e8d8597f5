"""condyle's NPZ: names, time, R_world_body, p_world_body and optionally segment. Nothing in it is ever unpickled."""

from __future__ import annotations

import errno
import math
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...errors import CondyleError
from ...maths.spool import empty, seal
from ...model.recording import Bodies, Convention, Recording
from ..format import Format, ReadOptions
from ..tables.text import decode

NPZ_READ_BYTES = 2**20  # unpacked at once
NPZ_FREE_BYTES = 64 * 2**20  # up to this size any compression ratio is harmless
LAST_UNICODE_LETTER = 0x10FFFF  # of Unicode
MOST_NPZ_RATIO = 200.0  # unpacked over packed; recordings of real sensors stay under 20

_NUMBERS, _TEXT, _WHOLE = "fiu", "US", "iu"
_SHAPES: dict[str, tuple[str, tuple[str | int, ...], str]] = {
    "p_world_body": (_NUMBERS, ("frames", "bodies", 3), "numbers [m]"),
    "R_world_body": (_NUMBERS, ("frames", "bodies", 3, 3), "numbers"),
    "names": (_TEXT, ("bodies",), "text"),
    "time": (_NUMBERS, ("frames",), "numbers [s]"),
    "segment": (_WHOLE, ("frames",), "whole numbers"),
}
_OPTIONAL = ("time", "segment")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)


def looks_like(head: bytes) -> bool:
    """A ZIP archive whose first member is a NumPy array."""
    if not head.startswith(b"PK\x03\x04") or len(head) < 30:
        return False
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].endswith(b".npy")


def read(path: Path, options: ReadOptions) -> Recording:
    """Names, time, matrices and positions as they stand in the arrays."""
    arrays = _read_arrays(path)
    R = arrays["R_world_body"]
    return Recording(
        bodies=Bodies(
            _read_names(arrays["names"]),
            arrays["p_world_body"],
            R.reshape(*R.shape[:2], 9),
        ),
        time=arrays.get("time"),
        segment=arrays.get("segment"),
        convention=Convention("matrix", unit="m", stated=frozenset({"rotation", "transposed", "unit", "handed"})),
        facts={
            "length": "m",
            "orientation": "matrices",
            "conventions": "body axes and origins in a right-handed world",
        },
    )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of the contract, every size and type checked before the first of them is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _find_members(archive)
            _check_sizes(members, path.stat().st_size)
            headers = {name: _read_header(archive, member, name) for name, member in members.items()}
            _check_shapes(headers)
            return {name: _unpack(archive, members[name], headers[name], name) for name in headers}
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before the start of the file
            raise
        raise CondyleError(
            f"the archive is cut short or damaged ({error}); copy it again", code="damaged-file"
        ) from None


def _find_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    for name in _SHAPES:
        if name not in there and name not in _OPTIONAL:
            some = sorted(there)[:10]
            listed = ", ".join([*some, "..."] if len(there) > len(some) else some) or "nothing"
            way = "give its poses to condyle.Take.from_poses and save them with condyle.write_take"
            raise CondyleError(f"no array '{name}'; the file holds {listed}; {way}", code="missing-array")
    return {name: there[name] for name in _SHAPES if name in there}


def _check_sizes(members: dict[str, zipfile.ZipInfo], on_disk: int) -> None:
    unpacked = sum(info.file_size for info in members.values())
    packed = sum(info.compress_size for info in members.values())
    if packed > on_disk or any(
        info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size for info in members.values()
    ):
        raise zipfile.BadZipFile("its directory declares more bytes than the file has")
    if unpacked > NPZ_FREE_BYTES and unpacked > MOST_NPZ_RATIO * packed:
        raise CondyleError(
            f"{packed / 2**20:.1f} MiB claim to unpack to {unpacked / 2**20:.0f} MiB, as no recording does; "
            "if it is real, save it with np.savez instead of np.savez_compressed",
            code="suspicious-size",
        )


def _open(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    if member.flag_bits & 1:
        raise CondyleError("the archive is encrypted; save it without a password", code="damaged-file")
    return archive.open(member)


def _read_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order, type and where the numbers start, from the array's own header."""
    with _open(archive, member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers of Python 2 warn and are read all the same
        try:
            version = npy.read_magic(stream)
            reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            shape, fortran, dtype = reader(stream)
        except (*_DAMAGE, OSError):
            raise
        except Exception:  # numpy reads it as Python: SyntaxError, TokenError, ValueError, MemoryError, ...
            raise CondyleError(f"the header of '{name}' is no NumPy header", code="damaged-file") from None
        start = stream.tell()
    if dtype.hasobject:
        text = f"'{name}' holds Python objects, which are never loaded; save plain {_SHAPES[name][2]}"
        raise CondyleError(text, code="pickled-array")
    if any(length < 0 for length in shape) or start + math.prod(shape) * dtype.itemsize != member.file_size:
        raise CondyleError(
            f"'{name}' declares shape {shape} but holds {max(member.file_size - start, 0)} bytes", code="damaged-file"
        )
    return shape, fortran, dtype, start


def _check_shapes(headers: dict[str, tuple[tuple[int, ...], bool, np.dtype[Any], int]]) -> None:
    """Types, and shapes that agree with the positions; the message names what is there and what is expected."""
    sizes: dict[str, int] = {}
    for name, (shape, _, dtype, _) in headers.items():
        kinds, wanted, words = _SHAPES[name]
        if dtype.kind not in kinds or not dtype.itemsize:
            raise CondyleError(f"'{name}' has type {dtype}, expected {words}", code="bad-type")
        expected = tuple(sizes.get(length, length) if isinstance(length, str) else length for length in wanted)
        if len(shape) != len(wanted) or any(
            isinstance(want, int) and have != want for have, want in zip(shape, expected, strict=True)
        ):
            listed = ", ".join(str(length) for length in expected) + ("," if len(expected) == 1 else "")
            raise CondyleError(f"'{name}' has shape {shape}, expected ({listed})", code="bad-shape")
        sizes.update({want: have for want, have in zip(wanted, shape, strict=True) if isinstance(want, str)})
    if not sizes["frames"] or not sizes["bodies"]:
        raise CondyleError(f"{sizes['frames']} frames of {sizes['bodies']} bodies: no pose at all", code="no-data")


def _unpack(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    header: tuple[tuple[int, ...], bool, np.dtype[Any], int],
    name: str,
) -> NDArray[Any]:
    shape, fortran, dtype, start = header
    array = empty((math.prod(shape),), dtype)
    left = array.view(np.uint8)
    with _open(archive, member) as stream:
        stream.read(start)
        while len(left):
            raw = stream.read(min(len(left), NPZ_READ_BYTES))
            if not raw:
                raise EOFError(f"'{name}' ends early")
            left[: len(raw)] = np.frombuffer(raw, np.uint8)
            left = left[len(raw) :]
    return seal(array.reshape(shape, order="F" if fortran else "C"))


def _read_names(names: NDArray[Any]) -> tuple[str, ...]:
    """Texts of an array of text or bytes (m,)."""
    if names.dtype.kind == "U":
        letters = np.ascontiguousarray(names).view(f"{names.dtype.byteorder}u4")
        if (letters > LAST_UNICODE_LETTER).any():
            raise CondyleError("'names' holds numbers that are no letters", code="damaged-file")
        # half a surrogate pair is no letter, and no file could take it
        return tuple(name.encode("utf-8", "replace").decode("utf-8") for name in names.tolist())
    return tuple(decode(name) for name in names.tolist())


FORMAT = Format("npz", "condyle NPZ", looks_like, read)
