"""The page of the paper names places of the code that are there."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from .pages import DOCS, codes, rows, sections

ROWS = rows(sections(DOCS / "paper.md")["Sections and equations"])
NAMED = sorted({code for row in ROWS for code in codes(row[2]) if re.fullmatch(r"[a-z_]+(\.[a-z_]+)*\.\w+", code)})


def test_places_are_named() -> None:
    assert len(NAMED) > 12


@pytest.mark.parametrize("place", NAMED)
def test_a_place_on_the_page_is_one_of_the_code(place: str) -> None:
    room, _, name = f"condyle.{place}".rpartition(".")
    try:
        assert hasattr(import_module(room), name) or import_module(f"condyle.{place}")
    except ModuleNotFoundError:
        pytest.fail(f"{place} is not there")
