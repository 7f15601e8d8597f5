from __future__ import annotations

import pytest

from condyle.errors import UsageError
from condyle.model.units import METRES, metres_per


@pytest.mark.parametrize(
    ("unit", "metres"),
    [("m", 1.0), ("Millimetres", 0.001), (" cm ", 0.01), ("inches", 0.0254), ("feet", 0.3048), ("um", 1e-6)],
)
def test_a_unit_is_known_by_its_spellings(unit: str, metres: float) -> None:
    assert metres_per(unit) == metres


@pytest.mark.parametrize(("unit", "metres"), [("0.056444", 0.056444), (" 1e-3 ", 0.001), ("2", 2.0)])
def test_a_unit_may_be_a_number_of_metres(unit: str, metres: float) -> None:
    assert metres_per(unit) == metres


@pytest.mark.parametrize("unit", ["", "furlong", "mmm", "0", "-0.01", "nan", "inf", "1_0", "1e-30", "1e30", "0,01"])
def test_an_unknown_unit_is_refused_with_the_choices(unit: str) -> None:
    with pytest.raises(UsageError) as error:
        metres_per(unit)
    assert all(choice in str(error.value) for choice in METRES)
