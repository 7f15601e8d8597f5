"""Short versions of the measurements of a rod, as claims."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import rigid_pair

SEED = 30_000
RODS = 20
HELD = 0.85  # of 95 % intervals, over few rods
NOISE = 0.05  # of the white noise told
BETTER = 3.0  # times that the rod's scale brings length errors down, at least


@pytest.mark.parametrize("name", ["white 0.3 cm", "field bent over 0.9 m", "5 % zeros", "inches"])
def test_the_interval_of_the_scale_holds_and_the_noise_is_right(name: str) -> None:
    case = next(case for case in rigid_pair.CASES if case.name == name)
    found = rigid_pair.measure(case, range(SEED, SEED + RODS))
    assert found.refused == 0
    assert np.mean(np.abs(found.error) <= found.half) >= HELD
    assert np.mean(found.noise) == pytest.approx(1, abs=NOISE)
    assert found.bent == (RODS if "bent" in name else 0)
    assert found.odd == (RODS if name == "inches" else 0)


@pytest.mark.costly
def test_the_rods_scale_puts_later_lengths_right() -> None:
    found = rigid_pair.measure_later(rigid_pair.LATER[1], range(SEED, SEED + 2))
    recorded, calibrated, _ = (rigid_pair.rms(errors) for errors in found.errors.values())
    assert calibrated < recorded / BETTER


@pytest.mark.costly
def test_a_rod_beside_a_person_is_found_without_being_told_and_none_where_none_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = next(case for case in rigid_pair.FOUND if case.name == "field bent over 0.9 m, walk")
    monkeypatch.setattr(rigid_pair, "CLEAN", 1)
    found = rigid_pair.measure_found(case, range(SEED, SEED + 1))
    assert found.scale == found.fit == [True]
    assert found.false_scale == found.false_fit == 0
