"""A temporary binary copy of the numbers in a long file, for passes that would else read its text again.

Numbers are float64, as they were read: a frame that comes out of the spool is the frame that went in. The file has no
name where the system allows that, and is gone with the process whatever ends it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from types import TracebackType

import numpy as np

from ..errors import CondyleError
from ..maths.arrays import Floats, Ints

ON_DISK = "/var/tmp"  # where /tmp may be memory, this is not


def spool_folder() -> str:
    """Where a spool lies: what TMPDIR names, else a folder for large temporary files, else that of all of them."""
    named = os.environ.get("TMPDIR")
    if named and os.path.isdir(named):
        return named
    return ON_DISK if os.path.isdir(ON_DISK) and os.access(ON_DISK, os.W_OK) else tempfile.gettempdir()


class Spool:
    """Rows of numbers in a temporary file.

    width     numbers in a row
    expected  rows that will be written, as far as that is known; there must be room for them
    rows      rows so far
    """

    def __init__(self, width: int, expected: int) -> None:
        self.width, self.rows = width, 0
        self.folder = spool_folder()
        self._needed = 8 * width * expected
        try:
            free = shutil.disk_usage(self.folder).free
            self._stream = tempfile.TemporaryFile(prefix="condyle-", dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._full(f"cannot be made in {self.folder}: {error.strerror or error}") from None
        if free < self._needed:
            self.close()
            raise self._full(f"needs {_gigabytes(self._needed)} in {self.folder}, where {_gigabytes(free)} are free")

    @property
    def bytes(self) -> int:
        return 8 * self.width * self.rows

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def append(self, *columns: Floats | Ints) -> None:
        """Rows (n, ...), in parts that stand side by side: `width` numbers in all."""
        n = len(columns[0])
        if n == 0:
            return
        table = np.concatenate([np.asarray(part, dtype=np.float64).reshape(n, -1) for part in columns], axis=1)
        if table.shape[1] != self.width:
            raise ValueError(f"{table.shape[1]} numbers in a row of {self.width}")
        left = table.data.cast("B")
        try:
            self._stream.seek(self.bytes)
            while left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            self.close()
            raise self._full(
                f"needs {_gigabytes(max(self._needed, self.bytes))} and cannot be written to {self.folder}: "
                f"{error.strerror or error}"
            ) from None
        self.rows += n

    def read(self, start: int, stop: int) -> Floats:
        """(n, width) the rows from `start` to before `stop`, as far as there are any."""
        start, stop = max(start, 0), min(stop, self.rows)
        table = np.empty((max(stop - start, 0), self.width))
        left = table.data.cast("B") if len(table) else memoryview(b"")
        self._stream.seek(8 * self.width * start)
        while left:
            got = self._stream.readinto(left)
            if not got:
                raise CondyleError(f"a temporary file in {self.folder} was cut short; try again", code="disk-full")
            left = left[got:]
        return table

    def close(self) -> None:
        """The file is gone."""
        self._stream.close()

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _full(self, what: str) -> CondyleError:
        text = f"a temporary copy of its numbers {what}; set TMPDIR to a folder with that much room"
        return CondyleError(text, code="disk-full")


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"
