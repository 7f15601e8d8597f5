"""Short files that count as long, read in small blocks."""

from __future__ import annotations

import pytest

from condyle.source import long_file


def count_as_long(monkeypatch: pytest.MonkeyPatch, block: int = 2**16, frames: int = 10**6, head: int = 2**12) -> None:
    """Lets every condyle CSV count as long, in blocks of so many bytes, with samples of so many frames."""
    for name, value in (("LONG_BYTES", -1), ("BLOCK", block), ("HEAD", head), ("MOST_FRAMES", frames)):
        monkeypatch.setattr(long_file, name, value)
