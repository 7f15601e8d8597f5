"""Files to takes. A format is found by a file's content, never by its name.

A new format is one file in this folder with a `FORMAT`, and its name in `_MODULES`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import CondyleError, UsageError
from ..take import Take
from ._format import Format, Options

__all__ = ["Format", "Options", "describe", "formats", "identify", "read"]

_MODULES = ("npz", "csv")
HEAD = 65536  # bytes that a format is recognised by


def read(path: str | os.PathLike[str], **options: Any) -> Take:
    """The take in a file. Options are those of `Options`: rate [Hz], unit.

    Raises CondyleError naming the file when it cannot be read; what was repaired stands in the take's findings.
    """
    chosen = Options.of(**options)
    file = Path(path)
    found = identify(file)
    for name in chosen.given:
        if name not in found.options:
            usable = f"it takes {', '.join(found.options)}" if found.options else "it takes none"
            raise UsageError(
                f"{found.title} has no use for the option '{name}'; {usable}", code="option-not-used", path=file
            )
    try:
        take = found.read(file, chosen)
    except CondyleError as error:
        raise error.at(file) from None
    except OSError as error:
        raise _unreadable(file, error) from None
    if take.frames == 0 or take.bodies == 0:
        raise CondyleError(f"{found.title} without a single pose", code="no-data", path=file)
    return take


def describe(path: str | os.PathLike[str]) -> dict[str, str]:
    """Format, units and conventions of a file as it states them: {"format": ..., "length": ..., ...}."""
    file = Path(path)
    found = identify(file)
    try:
        return {"format": found.title, **found.describe(file)}
    except CondyleError as error:
        raise error.at(file) from None
    except OSError as error:
        raise _unreadable(file, error) from None


def identify(path: str | os.PathLike[str]) -> Format:
    """The format of a file by its content; raises with what the file seems to be when it is none of them."""
    file = Path(path)
    head = _head(file)
    found = [fmt for fmt in formats() if fmt.looks_like(head)]
    if len(found) == 1:
        return found[0]
    if found:
        titles = " and ".join(fmt.title for fmt in found)
        raise CondyleError(f"looks like {titles}; cannot tell which it is", code="ambiguous-format", path=file)
    from ._sniff import seems_to_be

    titles = ", ".join(fmt.title for fmt in formats())
    raise CondyleError(
        f"this seems to be {seems_to_be(head)}, which is not read; condyle reads {titles}",
        code="unknown-format",
        path=file,
    )


@cache
def formats() -> tuple[Format, ...]:
    """Every format that is read."""
    return tuple(import_module(f".{name}", __name__).FORMAT for name in _MODULES)


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
