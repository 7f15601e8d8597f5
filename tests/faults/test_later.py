"""Sensors of a later take that came off or slipped are told as in a fit, on simulated people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Finding, Take
from condyle.faults.detached import find_detached
from condyle.faults.later import repair_later
from condyle.model.options import FitOptions
from condyle.model.take import join
from condyle.simulate import Disturbances, human, simulate
from tests.faults.test_carried import carry

RATE = 30
NOISE = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.003)
TOLD = {"detached-sensor", "slip", "sensors-exchanged", "sensor-moved", "large-residual", "repair-not-kept"}
SLIP_S, SLIP = 8.0, np.array([0.012, 0.0, 0.016])  # s, m


@pytest.fixture(scope="module")
def performer() -> tuple[condyle.Fit, Take]:
    """A calibration, and a later walk with the sensors where they were."""
    first = simulate(human(), "exercise", seconds=20, rate=RATE, seed=1, disturbances=NOISE)
    later = simulate(human(), "walk", seconds=16, rate=RATE, seed=2, disturbances=NOISE, mounts=first.truth.mounts)
    return condyle.fit(first.take), later.take


def lay_down(take: Take, body: str, frames: slice) -> Take:
    """The take with a body that lies on the floor, with noise, in these frames."""
    rng, k = np.random.default_rng(0), take.index(body)
    p, R = np.array(take.p_world_body), np.array(take.R_world_body)
    p[frames, k] = np.array([0.5, 0.3, 0.0]) + rng.normal(0, 0.0015, p[frames, k].shape)
    R[frames, k] = R[0, k]
    return replace(take, p_world_body=p, R_world_body=R)


def slip(take: Take, body: str) -> Take:
    p, first, k = np.array(take.p_world_body), int(SLIP_S * RATE), take.index(body)
    p[first:, k] += take.R_world_body[first:, k] @ SLIP
    return replace(take, p_world_body=p)


def told(fit: condyle.Fit) -> list[Finding]:
    return [one for one in fit.findings if one.code in TOLD]


def test_nothing_is_told_of_a_take_in_which_nothing_happened(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    found = repair_later(later, fit.skeleton.joints, FitOptions())
    assert found.take is later
    assert not found.findings
    assert not told(condyle.solve(later, fit))


@pytest.mark.parametrize(
    ("frames", "when"),
    [(slice(14 * RATE, None), "from 14.0 s on"), (slice(3 * RATE), "until 3.0 s"), (slice(None), "throughout")],
)
def test_a_sensor_that_lies_is_told_with_the_time_and_left_out(
    performer: tuple[condyle.Fit, Take], frames: slice, when: str
) -> None:
    fit, later = performer
    solved = condyle.solve(lay_down(later, "l_shank", frames), fit)
    (found,) = told(solved)
    assert (found.code, found.bodies) == ("detached-sensor", ("l_shank",))
    assert f"lies still {when}" in found.text
    assert "left out there; fasten the sensor" in found.text
    assert not solved.take.seen[frames, solved.take.index("l_shank")].any()
    assert solved.take.seen.sum() == later.seen.sum() - len(later.time[frames])


def test_a_slip_is_told_with_its_time_and_size_and_moved_back(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    solved = condyle.solve(slip(later, "r_thigh"), fit)
    (found,) = told(solved)
    assert (found.code, found.bodies) == ("slip", ("r_thigh",))
    assert found.time is not None
    assert found.time[0] == pytest.approx(SLIP_S, abs=0.5)
    assert found.value == pytest.approx(0.02, rel=0.2)
    (kept,) = solved.skeleton.slips
    assert kept.frame == found.frame
    k = later.index("r_thigh")
    back = solved.take.p_world_body[kept.frame :, k] - later.p_world_body[kept.frame :, k]
    assert np.linalg.norm(back, axis=1).max() < 0.006


def test_repairs_that_are_switched_off_are_told_and_change_nothing(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    spoilt = lay_down(slip(later, "r_thigh"), "head", slice(12 * RATE, None))
    found = repair_later(spoilt, fit.skeleton.joints, FitOptions(no_fix=("slips", "detached")))
    assert found.take is spoilt
    assert {one.code for one in found.findings} == {"detached-sensor", "slip"}
    assert not found.slips


def test_what_is_off_its_body_and_left_in_has_not_slipped(performer: tuple[condyle.Fit, Take]) -> None:
    """The foot beside it was told to have moved by 46 cm."""
    fit, later = performer
    spoilt = lay_down(later, "l_shank", slice(10 * RATE, None))
    for no_fix in (("slips", "detached"), ("detached",)):
        found = repair_later(spoilt, fit.skeleton.joints, FitOptions(no_fix=no_fix))
        assert [one.code for one in found.findings] == ["detached-sensor"]
        assert "left out" not in found.findings[0].text
        assert found.take is spoilt


def test_a_foot_that_stands_by_a_shank_that_is_off_is_on(performer: tuple[condyle.Fit, Take]) -> None:
    """The joint of both is apart, and no other joint of the shank says that it is where it was."""
    fit, later = performer
    p, still = np.array(later.p_world_body), slice(12 * RATE, None)
    p[still, later.index("l_shank")] += [0.0, 0.0, 1.0]
    carried = lay_down(replace(later, p_world_body=p), "l_foot", still)
    assert not find_detached(carried, fit.skeleton.joints)


def test_exchanged_names_are_told_alone(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    crossed = {"l_foot": "head", "head": "l_foot"}
    names = tuple(crossed.get(name, name) for name in later.names)
    (found,) = told(condyle.solve(replace(later, names=names), fit))
    assert (found.code, set(found.bodies)) == ("sensors-exchanged", {"l_foot", "head"})


def test_each_file_is_looked_at_by_itself_and_slips_are_those_of_the_whole(
    performer: tuple[condyle.Fit, Take],
) -> None:
    fit, later = performer
    solved = condyle.solve(join([later, slip(later, "r_thigh")]), fit)
    (found,) = told(solved)
    assert found.text.startswith("file 2: r_thigh")
    (kept,) = solved.skeleton.slips
    assert kept.frame == found.frame
    assert kept.frame == pytest.approx(later.frames + SLIP_S * RATE, abs=RATE / 2)


def test_a_short_take_and_one_of_which_hardly_anything_is_seen_are_played(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    assert not repair_later(later.slice(0, 2), fit.skeleton.joints, FitOptions()).findings
    hidden = np.ones((later.frames, later.bodies), dtype=bool)
    hidden[:2] = False
    assert not repair_later(later.mask(hidden), fit.skeleton.joints, FitOptions()).findings
    assert not repair_later(later, (), FitOptions()).findings


def test_a_sensor_that_is_carried_away_is_told_with_the_time(performer: tuple[condyle.Fit, Take]) -> None:
    fit, later = performer
    solved = condyle.solve(carry(later, "l_shank", slice(9 * RATE, None)), fit)
    (found,) = told(solved)
    assert (found.code, found.bodies) == ("detached-sensor", ("l_shank",))
    assert "moves with no other body from 9.0 s on" in found.text
    assert not solved.take.seen[9 * RATE :, solved.take.index("l_shank")].any()
