"""tests/fuzz/damage.py: what is looked for in a text is found in it."""

from __future__ import annotations

import pytest

from .damage import check_printed


@pytest.mark.parametrize(
    "text",
    ["the sensors' distance is small\nhip  nan mm\nthe joints' noise", "+inf mm", "-inf", "(nan)", "'a' nan 'b'"],
)
def test_a_number_that_is_none_is_found_between_apostrophes_and_behind_a_sign(text: str) -> None:
    with pytest.raises(AssertionError, match="nan is printed"):
        check_printed(text)


@pytest.mark.parametrize("text", ["no sensor 'nan' or '-inf mm'", "infant, nano, banan", "the sensors' info"])
def test_names_in_quotes_and_words_are_no_numbers(text: str) -> None:
    check_printed(text)
