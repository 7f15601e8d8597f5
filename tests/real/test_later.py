"""Later takes of a recorded person in which a sensor came off or slipped, on the figure of another take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Take
from condyle.maths.rotation import from_vector
from tests.make import recordings

pytestmark = pytest.mark.skipif(not (recordings.DATA / "more").is_dir(), reason=recordings.ABSENT)

CALIBRATION, LATER = "lasem/FAILT01_SLDJ05.c3d", "lasem/FAILT01_SLDJ01.c3d"
TOLD = {"detached-sensor", "slip", "sensors-exchanged"}


def read(name: str) -> Take:
    return condyle.read(recordings.DATA / "more" / name, bodies=recordings.truth(f"more/{name}")["bodies_from_markers"])


@pytest.fixture(scope="module")
def jumps() -> tuple[condyle.Fit, Take]:
    return condyle.fit(read(CALIBRATION)), read(LATER)


def lay_down(take: Take, body: str) -> Take:
    """The take with a body that lies on the floor in its later half."""
    k, first = take.index(body), take.frames // 2
    rng, p, R = np.random.default_rng(0), np.array(take.p_world_body), np.array(take.R_world_body)
    place = np.nanmedian(p[:first, k], axis=0)
    place[2] = np.nanmin(p[..., 2])
    p[first:, k] = place + rng.normal(0, 0.0003, (take.frames - first, 3))
    R[first:, k] = from_vector(np.array([1.0, 0.5, 0.0])) @ from_vector(rng.normal(0, 0.002, (take.frames - first, 3)))
    return replace(take, p_world_body=p, R_world_body=R)


def test_nothing_is_told_of_the_recording_itself(jumps: tuple[condyle.Fit, Take]) -> None:
    fit, later = jumps
    assert not TOLD & {one.code for one in condyle.solve(later, fit).findings}


@pytest.mark.parametrize("body", ["pelvis", "l_thigh", "r_foot"])
def test_a_sensor_that_came_off_is_told_with_its_time(jumps: tuple[condyle.Fit, Take], body: str) -> None:
    fit, later = jumps
    (found,) = [one for one in condyle.solve(lay_down(later, body), fit).findings if one.code in TOLD]
    assert (found.code, found.bodies) == ("detached-sensor", (body,))
    assert found.frame == pytest.approx(later.frames // 2, abs=0.5 * later.rate)


@pytest.mark.parametrize("body", ["pelvis", "r_shank"])
def test_a_slip_is_told_with_its_time_and_size(jumps: tuple[condyle.Fit, Take], body: str) -> None:
    fit, later = jumps
    k, first, p = later.index(body), later.frames // 2, np.array(later.p_world_body)
    p[first:, k] += later.R_world_body[first:, k] @ [0.012, 0.0, 0.016]
    (found,) = [one for one in condyle.solve(replace(later, p_world_body=p), fit).findings if one.code in TOLD]
    assert (found.code, found.bodies) == ("slip", (body,))
    assert found.frame == pytest.approx(first, abs=0.5 * later.rate)
    assert found.value == pytest.approx(0.02, rel=0.3)


@pytest.mark.parametrize("pair", [("l_thigh", "r_thigh"), ("l_shank", "r_foot")])
def test_two_names_exchanged_are_told_alone(jumps: tuple[condyle.Fit, Take], pair: tuple[str, str]) -> None:
    fit, later = jumps
    crossed = dict([pair, pair[::-1]])
    names = tuple(crossed.get(name, name) for name in later.names)
    (found,) = [one for one in condyle.solve(replace(later, names=names), fit).findings if one.code in TOLD]
    assert (found.code, set(found.bodies)) == ("sensors-exchanged", set(pair))
