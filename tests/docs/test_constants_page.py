"""The page of constants is what the code has, and every number on it says what it is."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

import pytest

from .constants import FIXED_BY, PAGE, ROOMS, SOURCE, Number, find_numbers, render, shorten
from .pages import DOCS

LEAST_LETTERS = 15  # of what a row says: "of the frames" has 11


@cache
def numbers() -> dict[str, list[Number]]:
    """{module: its numeric constants}"""
    paths = [(room, path) for room in ROOMS for path in sorted((SOURCE / room).glob("*.py"))]
    return {f"{room}.{path.stem}": find_numbers(path) for room, path in paths}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `uv run python -m tests.docs.constants`"


def test_every_number_says_what_it_is() -> None:
    shown = {(module, one.name): shorten(one.meaning) for module, found in numbers().items() for one in found}
    assert not {place: text for place, text in shown.items() if not says_what_it_is(text)}


def says_what_it_is(text: str) -> bool:
    """Whether a row can be read alone: its text is no unit only, and leans on no row before or after it."""
    leans = re.match(r"\.\.\.|is:|and\b|or\b", text) or re.search(r"([,;:]|\b(and|or))$", text)
    return not leans and sum(letter.isalpha() for letter in text) >= LEAST_LETTERS


@pytest.mark.parametrize(
    "comment",
    [
        "... and at moments that were guessed",
        "is: blocks of a take that are compared",
        "s",
        "of the frames; others are not",
    ]
    + [
        "share of the limit that it changes by, and",
        "m/s of a foot's slowest point, or",
        "both places of a joint, beyond;",
    ],
)
def test_a_row_that_leans_on_another_says_nothing(comment: str) -> None:
    assert not says_what_it_is(shorten(comment))
    assert says_what_it_is(shorten("share of a joint's frames that are far from it; 0.4 in recordings"))


def test_a_name_stands_for_one_number() -> None:
    names = [one.name for found in numbers().values() for one in found]
    assert not {name for name in names if names.count(name) > 1}


def test_what_fixed_a_number_exists() -> None:
    results = {path.stem for path in (DOCS.parent / "benchmarks").rglob("results/*.md")}
    cited = [one.fixed_by for found in numbers().values() for one in found if one.fixed_by]
    words = {word for text in (*cited, *FIXED_BY.values()) for word in re.split(r",\s*", text)}
    assert words <= results | {"recordings"}
    assert set(FIXED_BY) <= set(numbers())


def test_comments_above_beside_and_below_are_found(tmp_path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "# Both were chosen together\nSHORT_S = 0.5  # s of a block [by trees]\nLONG = (\n    2.0  # s at most\n)\n"
        'NAME = "x"\nPAIR_A, PAIR_B = 1, 2  # two\nlower = 3\n'
    )
    assert find_numbers(path) == [
        Number("SHORT_S", "0.5", "s of a block", "trees"),
        Number("LONG", "2.0", "s at most", ""),
        Number("PAIR_A", "1, 2", "two", ""),
        Number("PAIR_B", "1, 2", "two", ""),
    ]


@pytest.mark.parametrize("page", ["methods", "slips", "swaps", "connections", "field", "preparing", "coverage"])
def test_every_constant_that_a_page_names_is_in_the_code(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for module, name in re.findall(r"`((?:[a-z_]+\.)+)([A-Z][A-Z_0-9]+)`", text):
        assert hasattr(import_module(f"condyle.{module.rstrip('.')}"), name), f"{module}{name}"
