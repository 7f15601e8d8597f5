"""Two sensors on one rod: distance, spread, noise, a bent field, and pairs that are not rigid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Take
from condyle.maths import rotation
from condyle.pairs.rigid_pair import PERCENTILES, describe_loose_pairs, describe_pair, find_rigid_pairs, measure_pair
from condyle.simulate import Disturbances, human, rod, simulate, together

DISTANCE = 0.565  # m
EXACT = 1e-12  # m
SHARE = 0.1  # relative error of a standard deviation
PAPER_SD = (0.004, 0.009)  # m: 0.7 cm in the paper
NOISE = 0.003
ROOMS = range(1, 21)
HELD = 0.85  # of the 95 % intervals of so few rods
WIDE = 3.0  # standard error over the rms error, at most
LENGTHENED = 0.01**2 * 2 / DISTANCE  # m: what noise of 1 cm adds to the mean distance
WHITE = {"position_noise": NOISE, "orientation_noise": np.radians(0.3)}
PAPER = {"position_noise": 0.0015, "orientation_noise": np.radians(0.15), "field_warp": 0.0125, "scale": 1 / 0.94}


def carried(seed: int = 1, **disturbances: float) -> Take:
    return rod(DISTANCE, seconds=30, seed=seed, disturbances=Disturbances(**disturbances)).take  # type: ignore[arg-type]


def test_an_exact_rod_has_its_distance_and_no_spread() -> None:
    found = measure_pair(carried(), "rod_a", "rod_b")
    assert found.mean == pytest.approx(DISTANCE, abs=EXACT)
    assert found.sd < EXACT
    assert found.loose is None
    np.testing.assert_allclose(found.distance, DISTANCE, atol=EXACT)
    np.testing.assert_allclose(found.percentiles, DISTANCE, atol=EXACT)
    assert describe_pair(found) == []


def test_white_noise_explains_the_spread_of_a_rod_in_a_straight_field() -> None:
    found = measure_pair(carried(**WHITE), "rod_a", "rod_b")
    assert found.sd == pytest.approx(np.sqrt(2) * NOISE, rel=SHARE)
    assert found.white == pytest.approx(np.sqrt(2) * NOISE, rel=SHARE)
    for sensor in found.noise:
        assert sensor.position == pytest.approx(NOISE, rel=SHARE)
        assert sensor.orientation == pytest.approx(np.radians(0.3), rel=SHARE)
    assert describe_pair(found) == []


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_papers_rod_tells_scale_spread_and_a_field_that_is_bent_by_place(seed: int) -> None:
    found = measure_pair(carried(seed, **PAPER), "rod_a", "rod_b")
    assert DISTANCE / found.mean == pytest.approx(0.94, rel=0.015)
    assert PAPER_SD[0] < found.sd < PAPER_SD[1]
    assert found.loose is None
    [finding] = describe_pair(found)
    assert finding.code == "bent-field"
    assert finding.value == found.sd
    assert len(found.places) == 9
    means = [place.mean for place in found.places]
    assert f"{1000 * max(means):.0f} mm for" in finding.text


@pytest.mark.parametrize("time", [0.5, 2.0])
def test_noise_that_lasts_is_no_bent_field(time: float) -> None:
    told = [
        describe_pair(measure_pair(carried(seed, **WHITE, correlation_time=time), "rod_a", "rod_b")) for seed in ROOMS
    ]
    assert sum(bool(found) for found in told) <= 1


@pytest.mark.parametrize(
    "world",
    [WHITE, {**WHITE, "correlation_time": 0.5}, PAPER, {**WHITE, "spikes": 0.02, "missing": 0.1}],
    ids=["white", "correlated", "bent", "spikes"],
)
def test_the_interval_holds_the_true_distance_and_is_no_wider_than_it_must(world: dict[str, float]) -> None:
    pairs = [measure_pair(carried(seed, **world), "rod_a", "rod_b") for seed in ROOMS]
    true = DISTANCE * world.get("scale", 1.0)
    held = [low <= true <= high for low, high in (pair.interval for pair in pairs)]
    assert np.mean(held) >= HELD
    off = np.sqrt(np.mean([(pair.length - true) ** 2 for pair in pairs]))
    assert np.median([pair.error for pair in pairs]) < WIDE * off


def test_noise_across_the_rod_does_not_lengthen_it() -> None:
    pairs = [measure_pair(carried(seed, position_noise=0.01), "rod_a", "rod_b") for seed in ROOMS]
    off = np.mean([pair.length for pair in pairs]) - DISTANCE
    assert abs(off) < LENGTHENED / 3
    assert np.mean([pair.mean for pair in pairs]) - DISTANCE > LENGTHENED / 2


@pytest.mark.parametrize("unit", [0.01, 0.0254, 0.94])
def test_the_unit_changes_nothing_but_the_unit(unit: float) -> None:
    take = carried(**PAPER)
    found = measure_pair(take, "rod_a", "rod_b")
    other = measure_pair(replace(take, p_world_body=take.p_world_body / unit), "rod_a", "rod_b")
    for name in ("mean", "sd", "error", "white", "length"):
        assert getattr(other, name) * unit == pytest.approx(getattr(found, name), rel=1e-6), name
    assert other.follows == pytest.approx(found.follows, rel=1e-6)


def test_percentiles_are_those_of_the_distances() -> None:
    found = measure_pair(carried(**WHITE), "rod_a", "rod_b")
    np.testing.assert_allclose(found.percentiles, np.percentile(found.distance, PERCENTILES))


def test_spikes_and_lost_samples_do_not_count() -> None:
    clean = measure_pair(carried(**WHITE), "rod_a", "rod_b")
    found = measure_pair(carried(**WHITE, spikes=0.02, bursts=0.03, missing=0.1), "rod_a", "rod_b")
    assert found.mean == pytest.approx(clean.mean, abs=5e-4)
    assert found.sd == pytest.approx(clean.sd, rel=0.3)
    assert found.loose is None
    assert found.frames < clean.frames


def test_a_rod_that_stays_in_one_place_is_told() -> None:
    take = carried(**WHITE)
    middle = take.p_world_body.mean(axis=1, keepdims=True)
    held = replace(take, p_world_body=take.p_world_body - 0.9 * (middle - middle[:1]))
    [finding] = describe_pair(measure_pair(held, "rod_a", "rod_b"))
    assert finding.code == "pair-not-carried"


def spoilt(how: str) -> Take:
    take = carried(**WHITE)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    share = np.linspace(0, 1, take.frames)[:, None]
    along = R[:, 0] @ [1.0, 0.0, 0.0]
    if how == "turns":
        R[:, 1] = R[:, 1] @ rotation.from_vector(0.2 * np.sin(20 * share) * [0.0, 0.0, 1.0])
    elif how == "drifts":
        p[:, 1] += 0.04 * share * along
    else:
        p[:, 1] += 0.06 * np.sin(60 * share) * along
    return replace(take, R_world_body=R, p_world_body=p)


@pytest.mark.parametrize(
    ("how", "words"), [("turns", "turn against each other by"), ("drifts", "drifts by +"), ("varies", "varies by")]
)
def test_a_pair_that_is_not_rigid_gets_one_sentence(how: str, words: str) -> None:
    loose = measure_pair(spoilt(how), "rod_a", "rod_b").loose
    assert loose is not None
    assert words in loose
    assert "\n" not in loose


def test_the_rod_is_found_among_the_sensors_of_a_person() -> None:
    d = Disturbances(**PAPER)  # type: ignore[arg-type]
    person = simulate(human(), "exercise", seconds=30, seed=1, disturbances=d)
    both = together([person, rod(DISTANCE, seconds=30, seed=1, disturbances=d)], ["", ""])
    assert find_rigid_pairs(both.take) == [("rod_a", "rod_b")]
    assert find_rigid_pairs(person.take) == []


def test_a_fit_tells_the_distance_of_a_rigid_pair_and_how_to_use_it() -> None:
    [finding] = [one for one in condyle.fit(carried(**WHITE)).findings if one.code == "rigid-pair"]
    assert finding.value == pytest.approx(DISTANCE, abs=1e-3)
    assert finding.unit == "m"
    assert finding.text.endswith(
        "mm apart (standard deviation 4.3 mm); if you know their distance, `condyle scale --distance` gives the scale"
    )


def test_a_rod_that_a_bent_field_hides_from_the_fit_is_told_and_what_to_do() -> None:
    d = Disturbances(**PAPER)  # type: ignore[arg-type]
    person = simulate(human(), "walk", seconds=30, seed=1, disturbances=d)
    take = together([person, rod(DISTANCE, seconds=30, seed=1, disturbances=d)], ["", ""]).take
    [finding] = describe_loose_pairs(take, ["pelvis", "rod_a", "head", "rod_b"])
    assert (finding.code, finding.severity, finding.bodies) == ("rigid-pair", "info", ("rod_a", "rod_b"))
    assert finding.value == pytest.approx(DISTANCE / 0.94, rel=0.03)
    assert finding.text.startswith("rod_a and rod_b keep their distance wherever they are carried, as on one rod, ")
    assert finding.text.endswith("if you know their distance, `condyle scale --distance` gives the scale")
    assert describe_loose_pairs(take, ["pelvis", "rod_a", "head"]) == []
    assert describe_loose_pairs(take, ["rod_a"]) == []


def test_two_bodies_at_rest_are_no_rod() -> None:
    take = simulate(human(), "still", seconds=5, seed=1, disturbances=Disturbances(**WHITE)).take  # type: ignore[arg-type]
    assert find_rigid_pairs(take) == []
    assert describe_loose_pairs(take, take.names[:5]) == []


def test_sensors_hardly_seen_together_or_at_one_place_are_refused() -> None:
    take = carried(**WHITE)
    lost = np.zeros(take.seen.shape, dtype=bool)
    lost[5:, 0] = True
    with pytest.raises(CondyleError, match="seen together in"):
        measure_pair(take.mask(lost), "rod_a", "rod_b")
    with pytest.raises(CondyleError, match="at the same place"):
        measure_pair(replace(take, p_world_body=take.p_world_body[:, [0, 0]]), "rod_a", "rod_b")
    with pytest.raises(CondyleError, match="no body named 'rod_c'"):
        measure_pair(take, "rod_a", "rod_c")
