"""Files whose k-th use fails: every open for writing, write, flush, rename and new folder below a place, in turn."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CALLS = (
    "open", "write", "replace", "rename", "mkdir", "fsync", "fdatasync", "ftruncate", "chmod", "link", "symlink"
)  # fmt: skip


class Failing:
    """Counts the uses, and lets one fail. `failed` names it once it did."""

    def __init__(self, place: Path, at: int, reason: int = errno.ENOSPC) -> None:
        self.place, self.at, self.reason = str(place), at, reason
        self.count, self.failed = 0, ""

    def use(self, what: str) -> None:
        self.count += 1
        if self.count - 1 == self.at:
            self.failed = what
            raise OSError(self.reason, os.strerror(self.reason))

    def concerns(self, path: object) -> bool:
        return isinstance(path, int) or os.fspath(path).startswith(self.place)  # type: ignore[call-overload]


class _File:
    """A file that is open for writing."""

    def __init__(self, file: Any, uses: Failing) -> None:
        self._file, self._uses = file, uses

    def write(self, data: Any) -> Any:
        self._uses.use("write")
        return self._file.write(data)

    def flush(self) -> None:
        self._uses.use("flush")
        self._file.flush()

    def truncate(self, *size: int) -> Any:
        self._uses.use("truncate")
        return self._file.truncate(*size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        self._file.__enter__()
        return self

    def __exit__(self, *what: object) -> None:
        self._file.__exit__(*what)


@contextmanager
def failing(place: Path, at: int) -> Iterator[Failing]:
    """In the block, use number `at` of a file below `place` fails as on a full disk, and no other."""
    uses, real_open = Failing(place, at), io.open
    real = {name: getattr(os, name) for name in CALLS}

    def open_file(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if not set(mode) & set("wax+") or not uses.concerns(file):
            return real_open(file, mode, *args, **more)
        uses.use("open")
        return _File(real_open(file, mode, *args, **more), uses)

    def wrap(name: str) -> Callable[..., Any]:
        def call(first: Any, *args: Any, **more: Any) -> Any:
            if uses.concerns(first) and not (name == "open" and not args[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
                uses.use(name)
            return real[name](first, *args, **more)

        return call

    try:
        io.open = builtins.open = open_file  # type: ignore[assignment]
        for name in CALLS:
            setattr(os, name, wrap(name))
        yield uses
    finally:
        io.open = builtins.open = real_open
        for name, function in real.items():
            setattr(os, name, function)
