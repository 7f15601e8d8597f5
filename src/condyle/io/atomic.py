"""One file appears whole or not at all; small ones are read with a bound; locks of the operating system.

A lock dies with the process that holds it, whatever ends that process. Nothing here asks for the number of a process.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import CondyleError, check_path
from . import FIT_FILES, MANIFEST

if sys.platform == "win32":  # not where it is used: a signal in the middle of an import would leave the file behind
    import msvcrt
else:
    import fcntl

PREFIX = ".condyle-"  # of the name of every file and folder that is there while something is written
_READ_AT_ONCE = 2**20  # bytes
_CLOSED = -1  # in the place of a descriptor
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # a file system without locks: there is no other writer


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream that becomes `path` when the block ends well; on any exception `path` stays as it was.

    The bytes go to a hidden file in the same folder, which is flushed to disk and renamed at the end. Its name follows
    from that of `path`, so that the next writing takes over what a killed one left. Raises CondyleError where the
    folder is missing or cannot be written, where another process is writing the same file, and where it is one that a
    fit is read from.
    """
    file = check_path(path, "a file")
    if file.is_dir():
        raise CondyleError("is a folder; give the name of a file", code="unwritable", path=file)
    if file.exists() and not file.is_file():  # a file in its place would take /dev/null from the whole system
        raise CondyleError("is a pipe or a device; give the name of a file", code="unwritable", path=file)
    if file.is_symlink():  # what it names is written: a file in its place would take it away, as /dev/stdout
        file = Path(os.path.realpath(file))
    if file.name in FIT_FILES and file.exists() and (file.parent / MANIFEST).exists():
        raise CondyleError("is a file of the fit in this folder; choose another name", code="unwritable", path=file)
    hidden = file.parent / f"{PREFIX}{hashlib.sha256(file.name.encode(errors='surrogatepass')).hexdigest()[:16]}.tmp"
    handle: int | None = None
    try:
        handle = open_locked(hidden)
        if handle is None:
            raise CondyleError("is being written by another process; try again", code="folder-busy", path=file)
        os.ftruncate(handle, 0)
        with os.fdopen(handle, "wb", closefd=False) as stream:
            yield stream
        flush_file(handle)
        keep_mode(hidden, file)
        if os.name != "posix":  # where an open file cannot be renamed
            os.close(handle)
            handle = _CLOSED
        os.replace(hidden, file)
        if handle != _CLOSED:
            os.close(handle)
        handle = None
        flush_folder(file.parent)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not file.parent.is_dir():
            reason = f"the folder '{file.parent}' does not exist"
        else:
            reason = error.strerror or str(error)
        raise CondyleError(f"cannot be written: {reason}", code="unwritable", path=file) from error
    finally:
        if handle is not None:
            remove_locked(hidden, handle)


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """The bytes as a file, whole or not at all; see `open_atomic`."""
    with open_atomic(path) as stream:
        stream.write(data)


def open_locked(path: Path) -> int | None:
    """A descriptor of the file, made where it is missing and locked by this process; None where another has it."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        handle = os.open(path, flags, 0o666)
        try:
            if not _lock(handle):
                os.close(handle)
                return None
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except OSError:
            pass
        except BaseException:  # a signal
            if _lock(handle):
                remove_locked(path, handle)
            raise
        os.close(handle)  # its holder renamed or removed it after it was opened here


def remove_locked(path: Path, handle: int) -> None:
    """Removes a locked file and lets its lock go; nobody else can have had the lock in between."""
    if os.name != "posix" and handle != _CLOSED:  # where an open file cannot be removed
        os.close(handle)
    with suppress(OSError):
        os.unlink(path)
    if os.name == "posix":
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _UNSUPPORTED
    return True


def flush_folder(folder: Path) -> None:
    """What was renamed in the folder, and its list of names, is on the disk; where a system has no such call, later."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system that cannot
                os.fsync(handle)
        finally:
            os.close(handle)


def flush_file(handle: int) -> None:
    """What was written to a file is on the disk: on macOS fsync leaves it in the memory of the drive."""
    if sys.platform == "darwin":
        with suppress(OSError):  # a file system that cannot
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def keep_mode(new: Path, old: Path) -> None:
    """Gives a new file the mode of the one that it replaces, where there is one. Windows knows one bit only, which
    would keep the new file from being moved or removed.
    """
    if os.name == "posix":
        with suppress(OSError):
            os.chmod(new, old.stat().st_mode & 0o7777)


def read_small(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file, one more than `most` where it is longer; raises CondyleError where it cannot be read."""
    file = Path(path)
    try:
        parts, left = [], most + 1
        with open(file, "rb") as stream:
            while left and (part := stream.read(min(left, _READ_AT_ONCE))):  # no room is asked for before it is needed
                parts.append(part)
                left -= len(part)
        return b"".join(parts)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        code = "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file"
        raise CondyleError(f"cannot be read: {reason}", code=code, path=file) from None
