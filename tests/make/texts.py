"""Contents of files, written and read: as a recording or a take, or as the error that they are refused with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from condyle import CondyleError, Take, read
from condyle.io.format import ReadOptions
from condyle.io.formats import read_recording
from condyle.model.recording import Recording

from .size import cut_lengths

T = TypeVar("T", Recording, Take)


def write_content(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def recording_of(path: Path, content: str | bytes, **options: Any) -> Recording:
    return read_recording(write_content(path, content), ReadOptions.of(**options))


def take_of(path: Path, content: str | bytes, **options: Any) -> Take:
    return read(write_content(path, content), **options)


def fault(path: Path, content: str | bytes, **options: Any) -> CondyleError:
    """What `recording_of` raises; it names the file."""
    return _error(recording_of, path, content, options)


def take_fault(path: Path, content: str | bytes, **options: Any) -> CondyleError:
    """What `take_of` raises; it names the file."""
    return _error(take_of, path, content, options)


def _error(read: Callable[..., object], path: Path, content: str | bytes, options: dict[str, Any]) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(path, content, **options)
    assert error.value.path == str(path)
    return error.value


def codes(found: Recording | Take) -> list[str]:
    return [finding.code for finding in found.findings]


def read_cuts(whole: bytes, read: Callable[[bytes], T]) -> Iterator[tuple[bytes, T]]:
    """Beginnings of a file that are not refused, and what was read of them."""
    for size in cut_lengths(whole, 1):
        try:
            yield whole[:size], read(whole[:size])
        except CondyleError:
            continue
