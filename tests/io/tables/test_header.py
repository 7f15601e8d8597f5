"""io/tables/header.py: counts, rates, units and names as headers state them."""

from __future__ import annotations

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.tables.header import (
    check_different,
    check_unit,
    is_length,
    number_repeats,
    read_count,
    read_positive,
)


@pytest.mark.parametrize(
    ("text", "count", "positive"),
    [
        ("120", 120, 120.0),
        ("0", 0, None),
        ("59.94", None, 59.94),
        ("59,94", None, 59.94),
        ("1" * 13, None, None),
        ("-3", None, None),
        ("1e3", None, None),
        ("EXT", None, None),
        ("\u0663", None, None),
        ("", None, None),
    ],
)
def test_counts_and_rates_are_plain_numbers(text: str, count: int | None, positive: float | None) -> None:
    assert (read_count(text), read_positive(text)) == (count, positive)


def test_a_unit_that_is_none_is_a_fault_of_the_file_and_not_of_the_call() -> None:
    assert check_unit("Millimeters", 3) == "Millimeters"
    assert is_length("in")
    assert not is_length("deg")
    with pytest.raises(CondyleError, match="no unit of length named 'deg'") as error:
        check_unit("deg", 3)
    assert error.value.line == 3
    assert not isinstance(error.value, UsageError)


def test_a_name_twice_or_none_is_an_error_with_its_place() -> None:
    check_different(["a", "b"], "marker")
    with pytest.raises(CondyleError, match="a second marker 'a'") as error:
        check_different(["a", "b", "a"], "marker", 4, [3, 6, 9])
    assert (error.value.code, error.value.line, error.value.column) == ("duplicate-name", 4, 9)
    with pytest.raises(CondyleError, match="a body without a name"):
        check_different(["a", ""], "body")


def test_names_that_come_again_get_the_next_free_number_which_is_told() -> None:
    assert number_repeats(["a", "b"], "joint") == (("a", "b"), [])
    names, (finding,) = number_repeats(["a", "a", "a_2", "a"], "joint")
    assert names == ("a", "a_3", "a_2", "a_4")
    assert (finding.code, finding.bodies) == ("renamed-bodies", ("a_3", "a_4"))
    assert number_repeats(["a", "a"], "marker", "{} ({})")[0] == ("a", "a (2)")
