"""Files to recordings, and recordings to takes. A format is found by a file's content, never by its name.

A new format is one file in this folder with a `FORMAT`, and its name in `_MODULES`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import CondyleError, UsageError
from ..recording import Recording, to_take
from ..take import Take, join
from ._format import Format, Options, applied

__all__ = ["Format", "Options", "formats", "identify", "load", "read", "read_recording"]

# Those that name themselves beyond doubt come first: they are tried one by one, and the rest is not even imported.
_MODULES = (
    "npz",
    "csv",
    # the rest leaves room for doubt
)
HEAD = 65536  # bytes that a format is recognised by


def read(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> Take:
    """The take in a file, or in several files of the same sensors: segments of one. Options are those of `Options`.

    Raises CondyleError naming the file when it cannot be read; what was repaired stands in the take's findings.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return load(paths, Options.of(**options))


def load(paths: Sequence[str | os.PathLike[str]], options: Options) -> Take:
    """The take in several files."""
    recordings = [read_recording(path, options) for path in paths]
    takes = []
    for recording in recordings:
        try:
            takes.append(to_take(recording))
        except CondyleError as error:
            raise error.at(recording.source) from None
    return takes[0] if len(takes) == 1 else join(takes)


def read_recording(path: str | os.PathLike[str], options: Options | None = None) -> Recording:
    """The numbers in one file as they stand there, with the convention that the file states or the user gives."""
    options = options or Options()
    file = Path(path)
    found = identify(file, options.format)
    for name in ("columns",):
        if getattr(options, name) is not None and name not in found.options:
            raise UsageError(f"{found.title} has no use for the option '{name}'", code="option-not-used", path=file)
    try:
        recording = applied(found.read(file, options), options, found.title)
    except CondyleError as error:
        raise error.at(file) from None
    except OSError as error:
        raise _unreadable(file, error) from None
    if recording.frames == 0 or not any(
        part.position.size for part in (recording.bodies, recording.markers) if part is not None
    ):
        raise CondyleError(f"{found.title} without a single pose", code="no-data", path=file)
    return recording


def identify(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """The format of a file by its content; raises with what the file seems to be when it is none of them."""
    file = Path(path)
    head = _head(file)
    if name is not None:
        known = {fmt.name: fmt for fmt in formats()}
        if name not in known:
            raise UsageError(f"no format '{name}'; choose from {', '.join(known)}", code="bad-option")
        return known[name]
    found = []
    for module in _MODULES:
        fmt = _format(module)
        if fmt.looks_like(head):
            if fmt.certain:
                return fmt
            found.append(fmt)
    if len(found) == 1:
        return found[0]
    if found:
        titles = " and ".join(fmt.title for fmt in found)
        names = " or ".join(f"--format {fmt.name}" for fmt in found)
        raise CondyleError(f"looks like {titles}; say which with {names}", code="ambiguous-format", path=file)
    from ._sniff import seems_to_be

    titles = ", ".join(fmt.title for fmt in formats())
    raise CondyleError(
        f"this seems to be {seems_to_be(head)}, which is not read; condyle reads {titles}",
        code="unknown-format",
        path=file,
    )


def formats() -> tuple[Format, ...]:
    """Every format that is read."""
    return tuple(_format(name) for name in _MODULES)


@cache
def _format(name: str) -> Format:
    found: Format = import_module(f".{name}", __name__).FORMAT
    return found


def _head(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise CondyleError("is a folder, not a file", code="not-a-file", path=file)
        with open(file, "rb") as stream:
            head = stream.read(HEAD)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(file, error) from None
    if not head:
        raise CondyleError("the file is empty", code="empty-file", path=file)
    return head


def _unreadable(file: Path, error: OSError | ValueError) -> CondyleError:
    if isinstance(error, FileNotFoundError):
        return CondyleError("no such file", code="no-such-file", path=file)
    reason = getattr(error, "strerror", None) or str(error)
    return CondyleError(f"cannot be read: {reason}", code="unreadable-file", path=file)
