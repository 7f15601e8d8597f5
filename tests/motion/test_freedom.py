"""What a figure's sensors leave open, against figures whose geometry tells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.model.skeleton import Kind, Skeleton
from condyle.model.take import Take
from condyle.motion.freedom import Absent, count_open_turns, describe_absent, find_absent
from condyle.simulate import chain, human, simulate


@pytest.fixture(scope="module")
def arm() -> tuple[Skeleton, Take]:
    """A chain of four bodies with ball joints, exactly as it moves."""
    world = simulate(chain(), "exercise", seconds=4, seed=3)
    return condyle.fit(world.take, intervals=False).skeleton, world.take


def _ask(skeleton: Skeleton, take: Take, *absent: str) -> dict[str, int]:
    worn = np.tile([name not in absent for name in take.names], (take.frames, 1))
    sigmas = np.full(take.bodies, 0.003), np.full(take.bodies, 0.01)
    counts = count_open_turns(skeleton, take, worn, worn, sigmas)[1]
    return {body: int(found.max()) for body, found in counts.items()}


def test_a_body_between_two_sensors_may_only_turn_about_its_own_line(arm: tuple[Skeleton, Take]) -> None:
    middle = arm[1].names[1]
    assert _ask(*arm, middle) == {middle: 1}


def test_with_all_sensors_nothing_is_open(arm: tuple[Skeleton, Take]) -> None:
    assert _ask(*arm) == {}


def test_a_body_at_the_end_of_a_chain_is_open_all_round(arm: tuple[Skeleton, Take]) -> None:
    last = arm[1].names[-1]
    assert _ask(*arm, last) == {last: 3}


def test_a_trunk_with_limbs_on_all_sides_is_determined_by_them() -> None:
    world = simulate(human(), "exercise", seconds=6, seed=1)
    assert _ask(condyle.fit(world.take, intervals=False).skeleton, world.take, "pelvis") == {"pelvis": 0}


@pytest.mark.parametrize(("kind", "gap"), [("ball", 0.2), ("undetermined", 0.001)])
def test_joints_whose_place_is_hardly_known_determine_no_turn(kind: Kind, gap: float) -> None:
    world = simulate(human(), "exercise", seconds=6, seed=1)
    skeleton = condyle.fit(world.take, intervals=False).skeleton
    loose = replace(skeleton, joints=tuple(replace(joint, kind=kind, residual=gap) for joint in skeleton.joints))
    assert _ask(loose, world.take, "pelvis")["pelvis"] > 0


def test_frames_in_which_a_turn_is_open_are_told(arm: tuple[Skeleton, Take]) -> None:
    absent = Absent(arm[1].names[1], True, 1, 0.25, (1.0, 2.0))
    (finding,) = describe_absent([absent])
    assert "25% of the frames" in finding.text
    assert finding.time == (1.0, 2.0)


def test_a_pose_that_rests_on_a_held_joint_says_so() -> None:
    plain, held = describe_absent([Absent("thigh", True, 0), Absent("shank", True, 0, held=True)])
    assert (plain.severity, held.severity) == ("info", "info")
    assert "if its joints turn as they did" not in plain.text
    assert "if its joints turn as they did" in held.text


def test_absent_bodies_are_told_with_what_is_open(arm: tuple[Skeleton, Take]) -> None:
    skeleton, take = arm
    names = take.names
    worn = np.tile([name != names[1] for name in names], (take.frames, 1))
    sigmas = np.full(take.bodies, 0.003), np.full(take.bodies, 0.01)
    (absent,) = find_absent(skeleton, take, worn, worn, sigmas)
    (finding,) = describe_absent([absent])
    assert (finding.code, finding.severity, finding.bodies) == ("sensor-absent", "warning", (names[1],))
    assert "about one axis" in finding.text
    hidden = take.mask(~worn)
    (absent,) = find_absent(skeleton, hidden, worn, worn, sigmas)
    assert not absent.posed
    assert "no pose" in describe_absent([absent])[0].text
