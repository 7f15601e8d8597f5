"""Short versions of the measurements of bent fields, as claims."""

from __future__ import annotations

import pytest

from benchmarks import field
from tests.make.size import pick

SEED = 30_000
SETS = pick(1, 3, 3)
BY_MOTION = 0.0063  # m: largest length error
BY_ROD = 0.0014  # m
ADDED, ADDED_BY_ROD = 0.0005, 0.0002  # m that clean data may lose


def case(name: str) -> field.Case:
    return next(case for case in field.CASES if case.name == name)


@pytest.mark.costly
@pytest.mark.sized
def test_a_smooth_field_is_told_and_taken_away() -> None:
    found = field.measure(case("linkage, exercise, field of 90 cm"), range(SEED, SEED + SETS))
    assert found.told == found.sets
    assert found.ways["field"].largest < BY_MOTION
    assert found.ways["field and rod"].largest < BY_ROD
    assert found.ways["field"].largest < found.ways["default"].largest


@pytest.mark.costly
@pytest.mark.sized
def test_no_field_is_none() -> None:
    found = field.measure(case("linkage, exercise, no field"), range(SEED, SEED + SETS))
    assert not found.told
    assert found.ways["field"].largest <= found.ways["default"].largest + ADDED
    assert found.ways["field and rod"].largest <= found.ways["default"].largest + ADDED_BY_ROD
