"""Short versions of the measurements of preparing, as claims."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import preparing
from tests.make.size import pick

SEED = 30_000
WITHIN = 0.0002  # m, joint error beyond that of a take without the fault
DELAY = 0.0005  # s rms between joined sensors
FEW = 0.001  # of the samples that may be lost where the last digit is larger than the noise
SYNCHRONOUS = 1.1  # joint error over that of sensors on one clock


def case(cases, name):
    return next(case for case in cases if case.name == name)


def error(which) -> float:
    return float(np.sqrt(np.mean(which["default"])))


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    ["5 % written as zeros", "5 % parked at one place", "1 % flipped, runs of 50 ms", "10 % frozen, runs of 0.3 s"],
)
def test_faults_are_told_and_do_no_harm(name) -> None:
    found = preparing.measure_fault(case(preparing.FAULTS, name), range(SEED, SEED + 1))
    assert found.told == found.asked
    assert found.hit == found.wrong
    assert found.harmed == 0
    assert error(found.ready) <= error(found.clean) + WITHIN
    assert float(np.sqrt(np.mean(found.plain["least-squares"]))) > 50 * WITHIN
    assert float(np.sqrt(np.mean(found.ready["least-squares"]))) < 15 * WITHIN
    assert not found.other


@pytest.mark.costly
@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_a_late_sensor_costs_nothing_once_it_is_moved(motion) -> None:
    late = case(preparing.LATE, f"{motion}: 0.2 cm, 0.15 deg, one sensor 33 ms")
    found = preparing.measure_late(late, range(SEED, SEED + pick(1, 2, 2)))
    assert found.told == found.asked
    assert preparing.rms(found.delay) < DELAY
    assert error(found.ready) <= SYNCHRONOUS * error(found.clean)
    assert np.mean(found.plain["least-squares"]) > 10 * np.mean(found.clean["least-squares"])
    assert found.late == found.asked


@pytest.mark.parametrize("take", preparing.GOOD, ids=lambda take: take.name)
def test_good_takes_are_left_as_they_are(take) -> None:
    found = preparing.measure_good(take, range(SEED, SEED + 1))
    assert found["changed"] <= (FEW if take.name == "three decimals" else 0) * found["samples"]
