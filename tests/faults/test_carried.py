"""Sensors that come off and move on are told with the time, and their joints are fitted where they are on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Finding, Take
from condyle.faults.carried import PARTED_MIN_SHARE, find_stretch
from condyle.faults.detached import JudgingJoints
from condyle.maths.rotation import from_vector
from condyle.model.take import join
from condyle.simulate import Disturbances, human, simulate

RATE = 30
NOISE = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.003)


@pytest.fixture(scope="module")
def walk() -> Take:
    return simulate(human(), "walk", seconds=24, rate=RATE, seed=4, disturbances=NOISE).take


def carry(take: Take, body: str, frames: slice) -> Take:
    """The take with a body that is carried about beside the figure, and turned, in these frames."""
    k, p, R = take.index(body), np.array(take.p_world_body), np.array(take.R_world_body)
    phase = take.time[frames, None] * [1.7, 2.3, 1.1] + [0.0, 1.0, 2.0]
    p[frames, k] = p[frames].mean(axis=1) + [0.4, 0.4, 0.0] + 0.2 * np.sin(phase)
    R[frames, k] = from_vector(1.2 * np.sin(1.3 * phase))
    return replace(take, p_world_body=p, R_world_body=R)


def told(fit: condyle.Fit) -> list[Finding]:
    return [one for one in fit.findings if one.code == "detached-sensor"]


@pytest.mark.parametrize("body", ["head", "l_shank"])
@pytest.mark.parametrize(("frames", "when"), [(slice(14 * RATE, None), "from 14.0"), (slice(9 * RATE), "until 9.0")])
def test_a_sensor_that_is_carried_keeps_its_joint_and_is_told_with_the_time(
    walk: Take, body: str, frames: slice, when: str
) -> None:
    fit = condyle.fit(carry(walk, body, frames), intervals=False)
    (found,) = told(fit)
    assert (found.severity, found.bodies) == ("warning", (body,))
    assert f"moves with no other body {when}" in found.text
    assert "left out there; fasten the sensor" in found.text
    assert found.count == pytest.approx(len(walk.time[frames]), abs=RATE / 2)
    sound = condyle.fit(walk, intervals=False)
    edges = [{frozenset((one.child, one.parent)) for one in each.skeleton.joints} for each in (fit, sound)]
    assert edges[0] == edges[1]


def test_of_several_files_the_one_is_named_that_the_time_is_of(walk: Take) -> None:
    carried, cut = carry(walk, "head", slice(14 * RATE)), 8 * RATE
    names = ("early.csv", "late.csv")
    parts = [
        replace(part, time=part.time - part.time[0], sources=(name,))
        for part, name in zip((carried.slice(0, cut), carried.slice(cut, None)), names, strict=True)
    ]
    (found,) = told(condyle.fit(join(parts), intervals=False))
    assert "until 6.0 s of late.csv" in found.text


def test_it_is_told_and_left_in_where_the_repair_is_switched_off(walk: Take) -> None:
    fit = condyle.fit(carry(walk, "head", slice(14 * RATE, None)), intervals=False, no_fix="detached")
    (found,) = told(fit)
    assert "left out" not in found.text
    assert fit.take.seen.all()


@pytest.mark.parametrize("frames", [slice(8 * RATE, 14 * RATE), slice(23 * RATE, None), slice(RATE, None)])
def test_what_comes_back_what_is_short_and_what_was_never_on_are_left_alone(walk: Take, frames: slice) -> None:
    assert not told(condyle.fit(carry(walk, "head", frames), intervals=False))


def test_two_that_stand_for_each_other_later_are_no_sensors_that_came_off(walk: Take) -> None:
    p, R, pair = np.array(walk.p_world_body), np.array(walk.R_world_body), [walk.index("l_hand"), walk.index("head")]
    for values in (p, R):
        values[14 * RATE :, pair] = values[14 * RATE :, pair[::-1]]
    assert not told(condyle.fit(replace(walk, p_world_body=p, R_world_body=R), intervals=False))


def test_a_moment_parts_what_holds_from_what_does_not() -> None:
    figure = JudgingJoints(np.array([[0, 1]]), np.zeros((1, 3)), np.zeros((1, 3)), np.array([0.01]), np.array([0.3]))
    level = np.full((40, 1), 0.01)
    assert find_stretch(figure, level, 0, at_end=True) is None
    level[25:] = 0.4
    found = find_stretch(figure, level, 0, at_end=True)
    assert found is not None
    assert (found.first, found.stop, found.at_end) == (25, 40, True)
    assert find_stretch(figure, level, 0, at_end=False) is None
    found = find_stretch(figure, level[::-1], 0, at_end=False)
    assert found is not None
    assert (found.first, found.stop, found.at_start) == (0, 15, True)
    level[30 : 31 + int((1 - PARTED_MIN_SHARE) * 15)] = 0.01
    assert find_stretch(figure, level, 0, at_end=True) is None
    assert find_stretch(figure, np.full((40, 1), np.nan), 0, at_end=True) is None
