"""Files appear whole or not at all; small ones are read with a bound."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import CondyleError


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream that becomes `path` when the block ends well; on any exception `path` stays as it was.

    The bytes go to a temporary file in the same folder, which is renamed at the end. Raises CondyleError where the
    folder is missing or cannot be written.
    """
    file = Path(path)
    if file.is_dir():
        raise CondyleError("is a folder; give the name of a file", code="unwritable", path=file)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=".condyle-", suffix=".tmp", dir=file.parent)
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, _mode(file))
        os.replace(temporary, file)
        temporary = None
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not file.parent.is_dir():
            reason = f"the folder '{file.parent}' does not exist"
        else:
            reason = error.strerror or str(error)
        raise CondyleError(f"cannot be written: {reason}", code="unwritable", path=file) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def made_folder(folder: Path) -> None:
    """Makes a folder where it is missing; raises CondyleError where that cannot be."""
    if folder.is_file():
        raise CondyleError("is a file; give the name of a folder", code="unwritable", path=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CondyleError(f"cannot be made: {error.strerror}", code="unwritable", path=folder) from None


def read_small(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file, one more than `most` where it is longer; raises CondyleError where it cannot be read."""
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            return stream.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        code = "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file"
        raise CondyleError(f"cannot be read: {reason}", code=code, path=file) from None


def _mode(file: Path) -> int:
    """The mode of the file that is replaced, or what a newly made file would have (mkstemp makes private ones)."""
    with suppress(OSError):
        return file.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
