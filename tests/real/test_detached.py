"""Recorded people one of whose sensors comes off halfway and lies on the floor, or is carried, from then on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Take
from condyle.maths.rotation import from_vector
from condyle.prepare.odd_sensors import find_odd_sensors
from tests.faults.test_carried import carry
from tests.make import recordings

pytestmark = pytest.mark.skipif(not (recordings.DATA / "more").is_dir(), reason=recordings.ABSENT)

LIFT = "deadlift/athlete_0_sumo_dl_0_markers_experimental.trc"


@pytest.fixture(scope="module")
def lift() -> Take:
    name = f"more/{LIFT}"
    take = condyle.read(recordings.DATA / name, bodies=recordings.truth(name)["bodies_from_markers"])
    return Take(take.names, take.time, take.R_world_body, take.p_world_body)


def lay_down(take: Take, body: str) -> Take:
    """The take with a body that lies 0.4 m from the middle of the others, as low as any marker, in the later part."""
    rng, k, first = np.random.default_rng(0), take.index(body), int(0.55 * take.frames)
    p, R = np.array(take.p_world_body), np.array(take.R_world_body)
    place, low, high = (how(p.reshape(-1, 3), axis=0) for how in (np.nanmedian, np.nanmin, np.nanmax))
    up = int(np.argmax(high - low))
    place[up], place[(up + 1) % 3] = low[up], place[(up + 1) % 3] + 0.4
    p[first:, k] = place + rng.normal(0, 0.0003, (take.frames - first, 3))
    R[first:, k] = from_vector(rng.normal(0, 0.002, (take.frames - first, 3)))
    return replace(take, p_world_body=p, R_world_body=R)


@pytest.mark.parametrize("body", ["l_thigh", "head", "r_foot"])
def test_a_sensor_that_is_carried_away_keeps_its_joint(lift: Take, body: str) -> None:
    fit = condyle.fit(carry(lift, body, slice(lift.frames // 2, None)), intervals=False)
    (found,) = [one for one in fit.findings if one.code == "detached-sensor"]
    assert found.bodies == (body,)
    assert found.frame == pytest.approx(lift.frames // 2, abs=lift.rate / 2)
    true = recordings.edges(f"more/{LIFT}")
    assert {frozenset((joint.parent, joint.child)) for joint in fit.skeleton.joints} == true


def test_a_sensor_that_came_off_is_in_no_other_unit(lift: Take) -> None:
    for body in ("r_foot", "l_foot", "l_shank", "pelvis"):
        assert all(one.scale == 1.0 for one in find_odd_sensors(lay_down(lift, body))), body


def test_no_joint_is_sure_and_wrong_whichever_comes_off(lift: Take) -> None:
    for body in ("r_foot", "l_thigh", "head"):
        fit = condyle.fit(lay_down(lift, body), intervals=False)
        wrong = [
            (joint.parent, joint.child)
            for joint in fit.skeleton.joints
            if frozenset((joint.parent, joint.child)) not in recordings.edges(f"more/{LIFT}")
        ]
        asked = {question.edge for question in fit.skeleton.verdict.in_question} if fit.skeleton.verdict else set()
        assert set(wrong) <= asked
        assert fit.skeleton.verdict is not None
        assert fit.skeleton.verdict.tone == "look"
