"""live/performer.py: somebody who is known is played from the first second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.faults import slips
from condyle.live.performer import Performer, find_figure
from condyle.live.session import Session
from condyle.model.options import FitOptions
from condyle.result.profile import make_profile
from condyle.simulate import SensorSlip
from tests.make.sessions import person, records, stream


@pytest.fixture(scope="module")
def calibration() -> condyle.Fit:
    return condyle.fit(person(seconds=25, seed=4))


def test_the_first_second_has_the_tree_of_the_profile(calibration: condyle.Fit) -> None:
    profile = make_profile([calibration.skeleton])[0]
    found = find_figure(person(seconds=1.2, rate=60, seed=9), FitOptions(), Performer(profile=profile))
    assert {(joint.parent, joint.child) for joint in found.skeleton.joints} == set(profile.edges)


def test_later_the_lengths_are_held_to_the_profile(calibration: condyle.Fit) -> None:
    profile = make_profile([calibration.skeleton])[0]
    found = find_figure(person(seconds=12, seed=9), FitOptions(), Performer(profile=profile))
    assert "profile-used" in [one.code for one in found.skeleton.findings]
    assert found.gap.shape == (found.take.frames, len(found.skeleton.joints), 3)


def test_a_known_figure_keeps_its_joints_and_a_session_solves_it(calibration: condyle.Fit) -> None:
    session = Session(performer=Performer(skeleton=calibration.skeleton))
    for record in records(stream(person(seconds=4, seed=4))):
        session.add(record)
    found = session.solve()
    assert found.skeleton is not None, found.problem
    for one, other in zip(found.skeleton.joints, calibration.skeleton.joints, strict=True):
        assert np.array_equal(one.p_child_joint, other.p_child_joint)


@pytest.mark.costly
def test_a_slip_at_the_border_of_two_stretches_is_not_tried_and_one_inside_is(monkeypatch: pytest.MonkeyPatch) -> None:
    take = person(seconds=24, seed=4, slips=(SensorSlip("r_thigh", 12.0, (0.03, 0.0, 0.0)),))
    rounds = list[int]()
    refine = slips.refine_slips
    monkeypatch.setattr(slips, "refine_slips", lambda *given: rounds.append(1) or refine(*given))
    inside = find_figure(take, FitOptions(), Performer())
    assert [one.bodies for one in inside.changes] == [("r_thigh",)]
    assert len(rounds) == 1
    border = replace(take, segment=(take.time >= 12.0).astype(int))
    assert find_figure(border, FitOptions(), Performer()).changes == ()
    assert len(rounds) == 1
