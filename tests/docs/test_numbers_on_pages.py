"""A number in a sentence of the pages is measured, defined, or not there."""

from __future__ import annotations

import pytest

from .numbers import LISTED, REASONS, check_source, find_numbers, find_unlisted, find_words, pages, read

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_is_a_result_or_rests_on_what_is_listed(name: str) -> None:
    found = find_unlisted(read(PAGES[name]), LISTED["*"] | LISTED.get(name, {}))
    told = [f"{name}:{one.line}: {one.words}" for one in found]
    assert not told, "take it out, fill it from benchmarks/results (tests/docs/results.py), or list it in numbers.toml"


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_stands_on_the_page_and_is_what_the_code_has(name: str) -> None:
    texts = [read(page) for page in PAGES.values()] if name == "*" else [read(PAGES[name])]
    for words, source in LISTED[name].items():
        assert any(find_words(words, text) for text in texts), f"{words!r} is no longer on {name}"
        assert not check_source(words, source)


@pytest.mark.parametrize(
    "sentence",
    [
        "It is off by 3.5 mm.",
        "Between 12 and 14 deg.",
        "Five of six, or five of 55, are right.",
        "It takes 63\nseconds.",
        "In 17 recorded walks.",
        "All of 12,000 are found.",
        "| hip | 4 % |",
        "Within 30° of it.",
    ],
)
def test_a_number_that_looks_measured_is_found(sentence: str) -> None:
    assert find_numbers(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Right: <!-- cell a b: c | d -->7 of 9<!-- /cell -->.",
        "`--width 10 mm`, version 3.13, section 3.4, in 2007, one of the two.",
        'It says "off by 3 mm".',
        "```text\n3 mm\n```",
    ],
)
def test_what_is_a_result_a_name_or_quoted_is_passed_over(sentence: str) -> None:
    assert not find_numbers(sentence)


def test_a_number_is_only_covered_by_words_that_hold_it() -> None:
    text = "At most 5 mm here, and 7 mm there."
    assert [one.words for one in find_unlisted(text, {"most 5 mm": "definition"})] == ["7 mm"]


def test_a_number_that_the_code_no_longer_has_is_told() -> None:
    assert not check_source("fewer than 0.5 %", "100 * estimate.describe.OUTLIER_WARNING_SHARE")
    assert "is [0.5]" in check_source("fewer than 0.6 %", "100 * estimate.describe.OUTLIER_WARNING_SHARE")
    assert all(not check_source("6 mm", reason) for reason in REASONS)
