"""Names that a file gives twice."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings import Finding


def unique(names: Sequence[str], word: str) -> tuple[tuple[str, ...], list[Finding]]:
    """The names, with a number after each that was there before, and what to say of it; `word` is what they name."""
    taken, found, renamed = set(names), [], []
    seen: set[str] = set()
    next_number: dict[str, int] = {}
    for name in names:
        new = name
        if name in seen:
            number = next_number.get(name, 2)
            while f"{name}_{number}" in taken:
                number += 1
            new, next_number[name] = f"{name}_{number}", number + 1
            renamed.append(new)
        seen.add(name)
        taken.add(new)
        found.append(new)
    if not renamed:
        return tuple(found), []
    text = f"several {word}s have the same name; from the second on they are called {some(renamed)}"
    return tuple(found), [Finding("renamed-bodies", "info", text, tuple(renamed), count=len(renamed))]


def some(names: Sequence[str]) -> str:
    """The first five of many names, and how many more there are."""
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
