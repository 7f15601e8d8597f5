"""Arrays over frames that may be larger than the memory.

A large array lies in a temporary file, and is read and written like any other; what is done to all frames is done block
by block, in memory and on disk alike, so that the answer does not depend on where an array lies. The file has no name,
and is gone with its array or with the process, whatever ends it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..errors import CondyleError

Array = NDArray[Any]

ARRAY_BYTES = "CONDYLE_ARRAY_BYTES"  # environment variable: bytes from which an array lies on disk
MEMORY_SHARE = 1 / 16  # of the memory, for one array
ARRAYS_TOGETHER = 2  # times that, for all arrays that are held in memory
COUNTED_SHARE = 1 / 64  # of the largest array, from which on one counts among them
UNKNOWN_MEMORY_BYTES = 2**33  # where the system does not tell
BLOCK_BYTES = 2**23  # of the arrays that are looked at together: at once up to here,
PART_BYTES = 2**21  # and beyond in blocks of frames of this size, which stay in a processor's cache
POSE_BYTES = 96  # of one body in one frame: nine numbers of its rotation, three of its place
ON_DISK = "/var/tmp"  # where /tmp may be memory, this is not


def largest_in_memory() -> int:
    """Bytes up to which an array is held in memory."""
    given = os.environ.get(ARRAY_BYTES)
    if given is None:
        return int(MEMORY_SHARE * _memory_bytes())
    if not given.isdigit():
        from ..errors import UsageError

        raise UsageError(f"the environment variable {ARRAY_BYTES} is a number of bytes, not '{given}'", code="bad-call")
    return int(given)


@cache
def _memory_bytes() -> int:
    """Of the machine, or of the container that this runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = UNKNOWN_MEMORY_BYTES
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        allowed = ""
    return min(total, int(allowed)) if allowed.isdigit() else total


def spool_folder() -> str:
    """Where large arrays lie: what TMPDIR names, else a folder for large temporary files, else that of all of them."""
    named = os.environ.get("TMPDIR")
    if named and os.path.isdir(named):
        return named
    if os.path.isdir(ON_DISK) and os.access(ON_DISK, os.W_OK):
        return ON_DISK
    from tempfile import gettempdir

    return gettempdir()


def empty(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """An array to be filled, in memory or, where it is large, on disk."""
    size, most = prod(shape) * np.dtype(dtype).itemsize, largest_in_memory()
    if not _has_room(size, most):
        return np.frombuffer(_map_file(size), dtype).reshape(shape)
    array = np.empty(shape, dtype)
    if size >= COUNTED_SHARE * most:
        key = object()
        _held[key] = ref(array, lambda _: _held.pop(key, None)), size
    return array


_held: dict[object, tuple[ref[Array], int]] = {}  # the arrays in memory and their bytes: parts of one keep it alive


def _has_room(size: int, most: int) -> bool:
    """Whether an array of so many bytes may be held in memory, by itself, up to `most`, and beside those that are."""
    if size < COUNTED_SHARE * most or size > most:
        return size <= most
    return size + sum(held for _, held in list(_held.values())) <= ARRAYS_TOGETHER * most


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """The same of zeros."""
    array = empty(shape, dtype)
    array[...] = 0
    return array


def copy_array(array: Array) -> Array:
    """The same numbers in an array of their own, that can be written to."""
    return over_frames(np.array, array)


def _map_file(size: int) -> mmap.mmap:
    """So many bytes of a temporary file. The room is taken at once: a disk that is full later would end the process."""
    with _open_file(size) as stream:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(stream.fileno(), 0, size)
        else:  # of a file that was only made longer macOS keeps no room
            for start in range(0, size, BLOCK_BYTES):
                stream.write(bytes(min(BLOCK_BYTES, size - start)))
            stream.flush()
        return mmap.mmap(stream.fileno(), size)


def spool_bytes(blocks: Iterable[bytes]) -> mmap.mmap:
    """Bytes, one block after the other, in a temporary file."""
    with _open_file(0) as stream:
        for block in blocks:
            stream.write(block)
        stream.flush()
        return mmap.mmap(stream.fileno(), 0)


@contextmanager
def _open_file(size: int) -> Iterator[IO[bytes]]:
    """A temporary file that has room for so many bytes; where it has none later, that is told as well."""
    import shutil
    import tempfile

    folder = spool_folder()
    try:
        free = shutil.disk_usage(folder).free
        if free < size:
            raise _describe_full(f"needs {_gigabytes(size)} in {folder}, where {_gigabytes(free)} are free")
        with tempfile.TemporaryFile(prefix="condyle-", dir=folder) as stream:
            yield stream
    except OSError as error:
        raise _describe_full(f"cannot be made in {folder}: {error.strerror or error}") from None


def _describe_full(what: str) -> CondyleError:
    from ..errors import CondyleError

    text = f"a temporary copy of its numbers {what}; set TMPDIR to a folder with that much room"
    return CondyleError(text, code="disk-full")


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def is_spooled(array: Array) -> bool:
    """Whether an array, or what it is a part of, lies on disk."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def one_of_many(array: Array, count: int) -> Array:
    """An array of which there are so many alike: on disk where all of them are too large together."""
    if array.nbytes * count <= largest_in_memory():
        return array
    copy = np.frombuffer(_map_file(array.nbytes), array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class GrowingRows:
    """Rows of numbers that come one after the other, in memory or on disk."""

    def __init__(self) -> None:
        self._rows, self._count = np.empty((0, 0)), 0

    def __len__(self) -> int:
        return self._count

    def add(self, row: Sequence[float]) -> None:
        if self._count == len(self._rows):
            self._grow(self._count + 1, len(row))
        self._rows[self._count] = row
        self._count += 1

    def extend(self, rows: Array) -> None:
        if not len(rows):
            return
        if self._count + len(rows) > len(self._rows):
            self._grow(self._count + len(rows), rows.shape[1])
        self._rows[self._count : self._count + len(rows)] = rows
        self._count += len(rows)

    def _grow(self, least: int, width: int) -> None:
        more = empty((max(2 * self._count, least, 64), width))
        if self._count:
            more[: self._count] = self._rows[: self._count]
        self._rows = more

    def array(self) -> Array:
        """(n, width) all of them, read-only: no row comes after."""
        return seal(self._rows[: self._count])


def blocks_of(frames: int, frame_bytes: int, block_bytes: int = 0, least: int = 1) -> Iterator[slice]:
    """All frames in blocks of a bounded size, given the bytes that are looked at in each frame.

    block_bytes  of a block, at most; 0: PART_BYTES, unless all frames are in BLOCK_BYTES;  least: frames of a block,
                 whatever their size
    """
    whole = frames * frame_bytes <= BLOCK_BYTES
    step = max(least, (block_bytes or (BLOCK_BYTES if whole else min(PART_BYTES, BLOCK_BYTES))) // max(frame_bytes, 1))
    for start in range(0, frames, step):
        yield slice(start, min(start + step, frames))


def blocks(*arrays: Array) -> Iterator[slice]:
    """Frames of arrays (n, ...) that are looked at together, in blocks of a bounded size."""
    return blocks_of(len(arrays[0]), _frame_bytes(*arrays))


def _frame_bytes(*arrays: Array) -> int:
    return sum(array.itemsize * prod(array.shape[1:]) for array in arrays)


def over_frames(change: Callable[..., Array], *arrays: Array) -> Array:
    """What `change` makes of arrays (n, ...), frame by frame: it is given blocks of frames, and gives as many."""
    n = len(arrays[0])
    width = sum(8 * prod(array.shape[1:]) for array in arrays)  # a mark, too, may become a number of eight bytes
    if n * width <= BLOCK_BYTES:
        return change(*arrays)
    out: Array | None = None
    for rows in blocks_of(n, width):
        part = change(*(array[rows] for array in arrays))
        if out is None:
            out = empty((n, *part.shape[1:]), part.dtype)
        out[rows] = part
    assert out is not None
    return out


def take_rows(array: Array, rows: Array | slice) -> Array:
    """These frames of an array (n, ...): a part of it for a slice, an array of its own for numbers or marks (n,)."""
    if isinstance(rows, slice):
        return array[rows]
    chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    width = _frame_bytes(array)
    if len(chosen) * width <= BLOCK_BYTES:
        return array[chosen]
    out = empty((len(chosen), *array.shape[1:]), array.dtype)
    for part in blocks_of(len(chosen), width):
        out[part] = array[chosen[part]]
    return out


def join_arrays(arrays: Sequence[Array]) -> Array:
    """Arrays (n, ...) one after the other."""
    out = empty((sum(map(len, arrays)), *arrays[0].shape[1:]), np.result_type(*arrays))
    start = 0
    for array in arrays:
        for rows in blocks(array):
            out[start + rows.start : start + rows.stop] = array[rows]
        start += len(array)
    return out


def hide(values: Array, hidden: Array) -> Array:
    """Numbers (n, m, ...) of things with NaN for those that are hidden (n, m), read-only."""
    wide = (..., *(None,) * (values.ndim - 2))
    return seal(over_frames(lambda gone, part: np.where(gone[wide], np.nan, part), hidden, values))


def is_any_finite(array: Array) -> bool:
    """Whether an array (n, ...) holds a number at all."""
    return any(bool(np.isfinite(array[rows]).any()) for rows in blocks(array))


def side_by_side(arrays: Sequence[Array]) -> Array:
    """(n, m, ...) m arrays (n, ...), one beside the other."""
    out = empty((len(arrays[0]), len(arrays), *arrays[0].shape[1:]), np.result_type(*arrays))
    for k, array in enumerate(arrays):
        out[:, k] = array
    return out


def seal(array: Array) -> Array:
    """An array that was just made, and is nobody else's, read-only: it need not be copied to be kept."""
    array.flags.writeable = False
    return array
