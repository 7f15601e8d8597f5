"""Formats that other packages bring along by the entry point group `condyle.formats`; docs/formats/own-format.md.

They are looked for where no format of condyle's own is certain of a file, or where one is asked for by its name. One
that cannot be used is described in a sentence, and the others are used all the same.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from ...errors import CondyleError
from ...model.recording import Recording
from ..format import Format, ReadOptions

GROUP = "condyle.formats"


def find_plugins() -> dict[str, EntryPoint]:
    """{name: entry point} of all formats that installed packages bring along, by name."""
    return _search_path(tuple(sys.path))


@cache
def _search_path(path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The same, looked for once for each search path: it takes milliseconds, and files come by the hundred."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


@cache
def load_plugin(point: EntryPoint) -> Format:
    """The format of an entry point, whose faults raise CondyleError; raises where there is none."""
    try:
        found = point.load()
    except Exception as error:  # whatever the package's own code raises
        raise _make_fault(point, f"cannot be loaded: {_describe_reason(error)}") from None
    if not isinstance(found, Format):
        raise _make_fault(point, f"is no condyle.io.format.Format but {type(found).__name__}")
    if found.name != point.name:
        raise _make_fault(point, f"calls itself '{found.name[:40]}'; give both the same name")

    def looks_like(head: bytes) -> bool:
        try:
            return bool(found.looks_like(head))
        except Exception as error:
            raise _make_fault(point, f"fails to look at a file: {_describe_reason(error)}") from None

    def read(path: Path, options: ReadOptions) -> Recording:
        try:
            recording = found.read(path, options)
        except (CondyleError, OSError):
            raise
        except Exception as error:
            raise _make_fault(point, f"fails to read it: {_describe_reason(error)}") from None
        if not isinstance(recording, Recording):
            raise _make_fault(point, f"gives {type(recording).__name__} instead of a Recording")
        return recording

    return replace(found, looks_like=looks_like, read=read)


def _make_fault(point: EntryPoint, why: str) -> CondyleError:
    package = point.dist.name if point.dist is not None else point.value
    text = f"the format '{point.name}' of the package {package} {why}; mend or uninstall that package"
    return CondyleError(text, code="broken-plugin")


def _describe_reason(error: Exception) -> str:
    words = " ".join(str(error).split())[:120]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
