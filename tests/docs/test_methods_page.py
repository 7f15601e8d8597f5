"""The page of methods names constants that the program really has."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from .pages import DOCS

PAGE = DOCS / "methods.md"
NAMED = sorted(set(re.findall(r"\b(?:[a-z_]+\.)+[A-Z][A-Z_0-9]+\b", PAGE.read_text(encoding="utf-8"))))


def test_constants_are_named() -> None:
    assert len(NAMED) > 50


@pytest.mark.parametrize("name", NAMED)
def test_a_constant_on_the_page_is_one_of_the_code(name: str) -> None:
    module, _, constant = name.rpartition(".")
    assert hasattr(import_module(f"condyle.{module}"), constant)
