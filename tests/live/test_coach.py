"""live/coach.py: one thing at a time, until more of it brings little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.live.coach import PATIENCE_S, Coach, is_finished, name_joint
from condyle.simulate import Disturbances, human, simulate
from tests.make.sessions import person


def skeleton_of(seconds: float, motion: str = "exercise", **noise: float) -> condyle.Skeleton:
    how = Disturbances(**{"position_noise": 0.001, "orientation_noise": 0.002, **noise})  # type: ignore[arg-type]
    take = simulate(human(), motion, seconds=seconds, rate=30, seed=3, disturbances=how).take  # type: ignore[arg-type]
    return condyle.fit(take).skeleton


def test_a_joint_is_asked_for_until_it_gains_nothing_then_another() -> None:
    skeleton = condyle.fit(person(seconds=6)).skeleton
    coach = Coach()
    first, progress = coach.advise(skeleton, 0.0)
    assert first.joint is not None
    assert first.text.startswith(name_joint(first.joint, skeleton))
    assert "%" in first.text
    assert min(one.share for one in progress if not one.done) == next(
        p.share for p in progress if p.joint == first.joint
    )
    assert coach.advise(skeleton, PATIENCE_S - 1)[0] == first
    second, progress = coach.advise(skeleton, PATIENCE_S + 1)
    assert second.joint != first.joint
    aside = next(one for one in progress if one.joint == first.joint)
    assert aside.set_aside
    assert not aside.done  # nothing more is known of it than before


def test_a_joint_that_gained_nothing_ends_the_coaching_and_is_named_and_not_called_skin() -> None:
    skeleton = condyle.fit(person(seconds=6)).skeleton
    coach, moment = Coach(), 0.0
    prompt, progress = coach.advise(skeleton, moment)
    asked = []
    while prompt.joint is not None:
        asked.append(name_joint(prompt.joint, skeleton))
        moment += PATIENCE_S + 1
        prompt, progress = coach.advise(skeleton, moment)
    assert asked
    assert not any(one.is_open for one in progress)
    left = [one.name for one in progress if one.set_aside]
    assert set(left) == set(asked)
    assert prompt.text.endswith(f"asked for and not gained: {', '.join(left)}")


def test_a_session_whose_joints_are_known_is_finished_and_says_so() -> None:
    skeleton = skeleton_of(60)
    coach = Coach(width=0.03)
    prompt, progress = coach.advise(skeleton, 0.0)
    assert [one.joint for one in progress if not one.done] == []
    assert prompt.joint is None
    assert "that is enough" in prompt.text
    assert is_finished(skeleton, progress)
    assert not is_finished(replace(skeleton, loose=("l_foot",)), progress)


@pytest.mark.costly
def test_a_joint_that_hardly_turned_is_asked_for_whatever_its_skin_does() -> None:
    skeleton = condyle.fit(person(seconds=40, seed=6)).skeleton
    _, progress = Coach().advise(skeleton, 0.0)
    limited = next(one for one in progress if one.limit == "skin" and one.axes)
    assert limited.done
    still = tuple(
        replace(joint, rotation=np.full(3, 0.05)) if joint.child == limited.joint else joint
        for joint in skeleton.joints
    )
    prompt, progress = Coach().advise(replace(skeleton, joints=still), 0.0)
    assert prompt.joint == limited.joint
    assert "turn it farther" in prompt.text
    asked = next(one for one in progress if one.joint == limited.joint)
    assert (asked.limit, asked.done, asked.axes) == ("motion", False, 0)
    coach = Coach()
    coach.advise(skeleton, 0.0)
    _, progress = coach.advise(replace(skeleton, joints=still), 600.0)  # it turned long ago
    assert next(one for one in progress if one.joint == limited.joint).done


def test_joints_bear_the_names_of_people_where_bodies_do() -> None:
    skeleton = skeleton_of(12)
    names = {joint.child: name_joint(joint.child, skeleton) for joint in skeleton.joints}
    assert names.get("r_thigh", "right hip") == "right hip"
    assert names.get("l_forearm", "left elbow") == "left elbow"
    assert name_joint("box", skeleton) == "box"
