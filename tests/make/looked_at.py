"""How many frames, bodies or places of a long take are looked at: what tells is spread over all of it, and bounded."""

from __future__ import annotations

from types import ModuleType

import pytest

from condyle.maths.arrays import evenly, evenly_seen
from condyle.model.take import Take


def record_counts(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[int]:
    """How many of all a module asks to be spread evenly, call by call."""
    asked = list[int]()
    for name, spread in (("evenly", evenly), ("evenly_seen", evenly_seen)):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, lambda of, most, spread=spread: asked.append(most) or spread(of, most))
    return asked


def record_thinned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """To how many frames takes are thinned, call by call."""
    asked, thin = list[int](), Take.thin
    monkeypatch.setattr(Take, "thin", lambda take, most: asked.append(most) or thin(take, most))
    return asked


def is_about(count: int, usual: int) -> bool:
    """Whether a count is of the size that it should be: twice as many would cost, half as many tell less."""
    return usual / 2 <= count <= 2 * usual
