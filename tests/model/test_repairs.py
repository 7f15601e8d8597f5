from __future__ import annotations

import pytest

from condyle.errors import UsageError
from condyle.model.options import FitOptions
from condyle.model.repairs import REPAIRS, check_repairs


def test_repairs_are_named_once_and_others_are_refused_with_the_choices() -> None:
    assert check_repairs("slips") == ("slips",)
    assert check_repairs(["slips", "latency", "slips"]) == ("slips", "latency")
    with pytest.raises(UsageError, match="no repair named 'slip'; choose from dropouts, flips, repeats"):
        check_repairs(["slip"])


def test_a_repair_is_done_by_default_or_when_asked_and_not_when_switched_off() -> None:
    assert {name: FitOptions().fixes(name) for name in REPAIRS} == REPAIRS
    asked = FitOptions(fix=("swaps",), no_fix=("slips",))
    assert asked.fixes("swaps")
    assert not asked.fixes("slips")
    assert asked.fixes("latency")
    with pytest.raises(UsageError, match="the repair 'slips' is asked for and switched off"):
        FitOptions(fix=("slips",), no_fix=("slips",))
