"""live/session.py: the figure of part of a recording, and what is new in it."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.live.session import Session, Solve
from condyle.simulate import SensorSlip
from tests.make.sessions import layout, packets, person, records, stream

SLIP = SensorSlip("r_thigh", 20.0, (0.012, -0.012, 0.01))


def play(take: condyle.Take, every: float = 2.0, first: float = 0.0) -> list[Solve]:
    """The solves of a session that streams a take, every so many seconds after the first [s]."""
    session, solves = Session(), []
    head, *frames = records(stream(take))
    session.add(head)
    due = first + every
    for time, record in zip(take.time, frames, strict=True):
        if time >= due:
            solves.append(session.solve())
            due += every
        session.add(record)
    return [*solves, session.solve()]


def test_a_short_session_is_the_fit_of_its_recording() -> None:
    take = person(seconds=12)
    last = play(take, every=6.0)[-1].skeleton
    whole = condyle.fit(take).skeleton
    assert last is not None
    assert [(j.parent, j.child, j.kind) for j in last.joints] == [(j.parent, j.child, j.kind) for j in whole.joints]
    for one, other in zip(last.joints, whole.joints, strict=True):
        assert np.allclose(one.p_child_joint, other.p_child_joint, atol=1e-9)
    assert [one.code for one in last.findings] == [one.code for one in whole.findings]


@pytest.mark.costly
def test_a_slip_is_raised_once_within_seconds_and_settles() -> None:
    solves = play(person(seconds=38, seed=7, slips=(SLIP,)), first=14.0)
    raised = [(solve.until, alarm) for solve in solves for alarm in solve.raised if alarm.finding.code == "slip"]
    ((when, alarm),) = raised
    assert alarm.finding.bodies == ("r_thigh",)
    assert 20.0 < when < 28.0
    assert alarm.finding.value == pytest.approx(0.0197, abs=0.003)
    assert [one.finding.code for one in solves[-1].alarms] == ["slip"]
    assert solves[-1].slips[0].body == "r_thigh"
    assert solves[-1].slips[0].size == pytest.approx(0.0197, abs=0.003)


@pytest.mark.costly
def test_a_clean_session_raises_nothing_and_knows_its_tree_early() -> None:
    take = person(seconds=24, seed=8)
    solves = play(take, every=4.0)
    assert not any(solve.raised for solve in solves)
    tree = {frozenset((j.parent, j.child)) for j in condyle.fit(take).skeleton.joints}
    for solve in solves[2:]:  # from 12 s on
        assert solve.skeleton is not None
        assert {frozenset((j.parent, j.child)) for j in solve.skeleton.joints} == tree


def test_too_little_is_said_and_nothing_breaks() -> None:
    session = Session()
    for record in records(packets(layout("a", "b"), 20)):
        session.add(record)
    found = session.solve()
    assert found.skeleton is None
    assert "0.2 s so far" in found.problem


def test_frames_of_which_none_can_be_understood_are_said_and_nothing_breaks() -> None:
    session = Session()
    told, *frames = records(packets(layout("a", "b"), 20))
    for record in (told, *(one._replace(payload=one.payload[:-8]) for one in frames)):
        session.add(record)
    assert session.solve().problem == "a session log without a single frame"
