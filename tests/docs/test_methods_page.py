"""The page of methods quotes the constants that the program really uses."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from .pages import DOCS, codes, rows, sections

PAGE = DOCS / "methods.md"
CONSTANTS = {codes(row[0])[0]: row[1] for row in rows(sections(PAGE)["Constants"])}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_on_the_page_is_the_one_in_the_code(name: str) -> None:
    module, _, constant = name.rpartition(".")
    assert getattr(import_module(f"condyle.{module}"), constant) == float(CONSTANTS[name])


def test_every_constant_named_in_the_text_is_in_the_table() -> None:
    named = set(re.findall(r"\b(?:[a-z_]+\.)+[A-Z][A-Z_0-9]+\b", PAGE.read_text(encoding="utf-8")))
    assert named == set(CONSTANTS)
