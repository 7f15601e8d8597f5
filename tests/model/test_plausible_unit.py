from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.plausible_unit import (
    LEVER_MAX_M,
    LEVER_PAIRS,
    TURNING_MIN_RAD_S,
    check_unit,
    measure_levers,
    nearest_unit,
    pairs_in_time,
    plausible_unit,
)

CLOSE = 1e-9  # m
RATE = 60.0  # Hz
SCALES = [(1.0, "m"), (100.0, "cm"), (1000.0, "mm")]


def levers_of_arm(reach: float, rad_s: float, *, share: float = 1.0, count: int = 600) -> np.ndarray:
    """Levers of a sensor that a straight arm of this reach swings about z, for a share of the time."""
    time = np.arange(count) / RATE
    angle = rad_s * np.minimum(time, share * time[-1])
    R = rotation.from_vector(angle[:, None, None] * [0, 0, 1.0])
    p = R @ [reach, 0, 0]
    first, later, lasted = pairs_in_time(time, RATE, None, count)
    return measure_levers(p[first], p[later], R[first], R[later], lasted)


@pytest.mark.parametrize(("scale", "unit"), SCALES)
def test_things_beside_each_other_tell_the_unit(rng: np.random.Generator, scale: float, unit: str) -> None:
    p = (np.array([[0, 0, 1.0], [0, 0, 0.6], [0.3, 0, 0.6]]) + 0.05 * rng.standard_normal((20, 3, 3))) * scale
    assert plausible_unit(p) == unit


@pytest.mark.parametrize("p", [np.zeros((0, 2, 3)), np.zeros((3, 2, 3)), np.full((3, 2, 3), np.nan)])
def test_a_unit_is_found_even_where_nothing_is_known(p: np.ndarray) -> None:
    assert plausible_unit(p) == "m"
    assert plausible_unit(p, np.full(2, np.nan)) == "m"


@pytest.mark.parametrize(("scale", "unit"), SCALES)
def test_one_thing_tells_the_unit_by_what_it_turns_about(scale: float, unit: str) -> None:
    """A hand that walks through a room of 8 m told cm by its path."""
    path = np.linspace(0, 8.0 * scale, 100)[:, None, None] * [1.0, 0, 0]
    assert plausible_unit(path, scale * levers_of_arm(0.5, 2.0)) == unit


@pytest.mark.parametrize(("scale", "unit"), SCALES)
def test_what_two_things_turn_about_counts_beside_their_distance(scale: float, unit: str) -> None:
    """A head and a foot in cm lie as far apart as sensors in mm."""
    apart = np.tile(scale * np.array([[0.0, 0, 0.1], [0, 0, 1.6]]), (20, 1, 1))
    assert plausible_unit(apart, scale * np.array([0.2, np.nan])) == unit


def test_two_people_far_apart_are_in_metres_where_they_turn_about_what_is_near() -> None:
    apart = np.tile([[0.0, 0, 1], [6.0, 0, 1]], (20, 1, 1))
    assert plausible_unit(apart) == "cm"
    assert plausible_unit(apart, np.array([0.4, 0.3])) == "m"


def test_a_lever_is_how_far_away_what_turns_a_sensor_is() -> None:
    (lever,) = levers_of_arm(0.5, 2.0)
    np.testing.assert_allclose(lever, 0.5, rtol=0.01)


@pytest.mark.parametrize(("rad_s", "share"), [(0.5 * TURNING_MIN_RAD_S, 1.0), (2.0, 0.1)])
def test_what_hardly_turns_tells_no_lever(rad_s: float, share: float) -> None:
    assert np.isnan(levers_of_arm(0.5, rad_s, share=share)).all()


def test_frames_are_paired_over_a_tenth_of_a_second_and_not_over_gaps_and_segments() -> None:
    time = np.arange(100) / 100
    first, later, lasted = pairs_in_time(time, RATE, None, 100)
    assert set(later - first) == {10}
    np.testing.assert_allclose(lasted, 0.1, atol=CLOSE)
    gap = np.where(np.arange(100) < 50, time, time + 3)
    first, later, _ = pairs_in_time(gap, RATE, np.repeat([0, 1], 50), 100)
    assert not ((first < 50) & (later >= 50)).any()
    first, later, lasted = pairs_in_time(None, 20.0, None, 10_000)
    assert (len(first), set(later - first), set(lasted)) == (LEVER_PAIRS, {2}, {0.1})
    for absurd in (
        np.arange(50) * 1e306,
        np.full(50, np.nan),
        np.arange(50) * 1e-320,
        np.where(np.arange(50) % 2, 1e308, -1e308),
    ):
        assert len(pairs_in_time(absurd, RATE, None, 50)[0]) == 0
    for count in (0, 1, 2):
        assert len(pairs_in_time(np.zeros(count), RATE, None, count)[0]) == 0


def test_a_lever_that_no_person_has_is_told_with_the_unit_that_would_do() -> None:
    assert check_unit(np.array([0.9 * LEVER_MAX_M, np.nan]), "m") == []
    assert check_unit(np.full(3, np.nan), "m") == check_unit(np.empty(0), "m") == []
    (finding,) = check_unit(np.array([42.0, 40.0]), "m")
    assert (finding.code, finding.severity) == ("implausible-size", "warning")
    assert "cm would give" in finding.text
    assert "mm would give" in check_unit(np.array([420.0]), "0.0254")[0].text


def test_the_nearest_unit_of_no_size_is_the_first() -> None:
    assert [nearest_unit(size, ("m", "cm")) for size in (np.nan, 0.0, np.inf, 80.0)] == ["m", "m", "m", "cm"]
