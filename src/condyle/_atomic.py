"""Files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import CondyleError


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


def _mode(file: Path) -> int:
    """The mode of the file that is replaced, or what a newly made file would have (mkstemp makes private ones)."""
    with suppress(OSError):
        return file.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
