"""What a file format tells the registry, and what the caller may tell a format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..take import Take
from ..units import metres_per


@dataclass(frozen=True)
class Options:
    """What the caller says about the numbers in a file. None: as the file says. What is given wins over the file.

    rate   frames per second [Hz]
    unit   unit of length of the positions: "m", "mm", "inches", ...
    """

    rate: float | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise UsageError(f"rate {self.rate} Hz is not a positive number", code="bad-option")
        if self.unit is not None:
            metres_per(self.unit)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that were given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is not None)

    @classmethod
    def of(cls, **values: Any) -> Options:
        """Options by name; raises with the choices."""
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                raise UsageError(f"no reading option '{name}'; choose from {', '.join(known)}", code="bad-option")
        return cls(**values)


@dataclass(frozen=True)
class Format:
    """One file format. `looks_like` sees the first bytes only and never raises.

    options    names of the `Options` this format can use; others are refused, not ignored
    describe   facts told by the file's head: unit, conventions; a few words each
    """

    name: str
    title: str
    looks_like: Callable[[bytes], bool]
    read: Callable[[Path, Options], Take]
    describe: Callable[[Path], dict[str, str]]
    options: tuple[str, ...] = ()
