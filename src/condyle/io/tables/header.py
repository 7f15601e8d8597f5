"""What the headers of files state, each kind of statement checked once: counts, rates, units of length, names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import CondyleError, UsageError
from ...findings import Finding, list_some
from ...model.units import metres_per


def read_count(text: str) -> int | None:
    """A whole number of at most twelve digits; None where the text is something else."""
    return int(text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else None


def read_positive(text: str) -> float | None:
    """A positive number in plain decimals, with a point or a comma; None where the text is something else."""
    plain = text.strip().replace(",", ".")
    number = float(plain) if re.fullmatch(r"\d{1,9}(\.\d*)?", plain, re.ASCII) else 0.0
    return number if number > 0 else None


def is_length(unit: str) -> bool:
    """Whether this is a unit of length, or a number of metres."""
    try:
        return metres_per(unit) > 0
    except UsageError:
        return False


def check_unit(unit: str, line: int | None = None) -> str:
    """The unit of length that a file states; raises, as a fault of the file, where it is none."""
    try:
        metres_per(unit)
    except UsageError as error:
        raise CondyleError(error.text, code=error.code, line=line) from None
    return unit


def check_different(names: Sequence[str], word: str, line: int | None = None, columns: Sequence[int] = ()) -> None:
    """Raise where one of the names is empty or stands there twice; columns: 1-based, for the message."""
    known: set[str] = set()
    for k, name in enumerate(names):
        column = columns[k] if columns else None
        if not name:
            raise CondyleError(f"a {word} without a name", code="bad-name", line=line, column=column)
        if name in known:
            raise CondyleError(f"a second {word} '{name[:80]}'", code="duplicate-name", line=line, column=column)
        known.add(name)


def number_repeats(names: Sequence[str], word: str, pattern: str = "{}_{}") -> tuple[tuple[str, ...], list[Finding]]:
    """The names, with a number after each that was there before, and what to say of it; `word` is what they name."""
    taken, found, renamed = set(names), [], []
    seen: set[str] = set()
    next_number: dict[str, int] = {}
    for name in names:
        new = name
        if name in seen:
            number = next_number.get(name, 2)
            while pattern.format(name, number) in taken:
                number += 1
            new, next_number[name] = pattern.format(name, number), number + 1
            renamed.append(new)
        seen.add(name)
        taken.add(new)
        found.append(new)
    if not renamed:
        return tuple(found), []
    text = f"several {word}s have the same name; from the second on they are called {list_some(renamed)}"
    return tuple(found), [Finding("renamed-bodies", "info", text, tuple(renamed), count=len(renamed))]
