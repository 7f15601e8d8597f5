"""Sensors that come off, or are put on late, are told with the time, and their joints are fitted where they are on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Finding, Take
from condyle.faults.detached import LYING_MIN_S, find_detached
from condyle.maths.rotation import from_vector
from condyle.simulate import Disturbances, human, linkage, simulate

RATE = 30
NOISE = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.003)
FLOOR = np.array([0.5, 0.3, 0.0])


@pytest.fixture(scope="module")
def walk() -> Take:
    return simulate(human(), "walk", seconds=24, rate=RATE, seed=4, disturbances=NOISE).take


def lay_down(take: Take, body: str, frames: slice, seed: int = 0) -> Take:
    """The take with a body that lies on the floor, with noise, in these frames."""
    rng, k = np.random.default_rng(seed), take.index(body)
    p, R = np.array(take.p_world_body), np.array(take.R_world_body)
    count = len(p[frames])
    p[frames, k] = FLOOR + rng.normal(0, 0.0015, (count, 3))
    R[frames, k] = R[0, k] @ from_vector(rng.normal(0, np.radians(0.15), (count, 3)))
    return replace(take, p_world_body=p, R_world_body=R)


def told(fit: condyle.Fit) -> list[Finding]:
    return [one for one in fit.findings if one.code == "detached-sensor"]


@pytest.mark.parametrize("body", ["head", "l_forearm"])
def test_a_sensor_that_falls_off_keeps_its_joint_and_is_told_with_the_time(walk: Take, body: str) -> None:
    fit = condyle.fit(lay_down(walk, body, slice(14 * RATE, None)))
    (found,) = told(fit)
    assert found.severity == "warning"
    assert found.bodies == (body,)
    assert "lies still from 14.0 s on" in found.text
    assert found.frame == 14 * RATE
    assert found.count == walk.frames - 14 * RATE
    assert not fit.skeleton.loose
    assert not [one for one in fit.findings if one.code == "missing-samples"]
    before = {joint.child: joint for joint in condyle.fit(walk).skeleton.joints}
    for joint in fit.skeleton.joints:
        assert joint.parent == before[joint.child].parent
        assert np.linalg.norm(joint.p_child_joint - before[joint.child].p_child_joint) < 0.03


def test_a_sensor_that_is_put_on_late_is_left_out_until_then(walk: Take) -> None:
    fit = condyle.fit(lay_down(walk, "r_hand", slice(None, 8 * RATE)))
    (found,) = told(fit)
    assert "lies still until 8.0 s" in found.text
    assert not fit.skeleton.loose


@pytest.mark.parametrize("bodies", [("l_forearm", "l_hand"), ("head", "chest")])
def test_neighbours_that_come_off_together_are_both_left_out(walk: Take, bodies: tuple[str, str]) -> None:
    take = walk
    for k, body in enumerate(bodies):
        take = lay_down(take, body, slice(12 * RATE, None), seed=k)
    fit = condyle.fit(take)
    assert {one.bodies[0] for one in told(fit)} == set(bodies)
    assert not fit.skeleton.loose


def test_links_of_a_robot_moved_one_after_the_other_are_on() -> None:
    """The base is not recorded: the first link lies while the second turns about an axis that it did not turn about."""
    turns = np.zeros((24 * RATE, 3))
    for k, start in enumerate((12, 18, 0)):
        turns[start * RATE : (start + 6) * RATE, k] = np.sin(np.arange(6 * RATE) / RATE * 1.5)
    axes = np.array([[0.0, 0, 1], [0, 1, 0], [1, 0, 0]])
    R, p = np.empty((len(turns), 3, 3, 3)), np.zeros((len(turns), 3, 3))
    for k in range(3):
        own = from_vector(turns[:, [k]] * axes[k])
        R[:, k] = own if not k else R[:, k - 1] @ own
        p[:, k] = (p[:, k - 1] + R[:, k - 1] @ [0, 0, 0.2] if k else 0) + R[:, k] @ [0.05, 0.1, 0.2]
    noise = np.random.default_rng(7).normal(0, 0.0005, p.shape)
    take = Take(names=("a", "b", "c"), time=np.arange(len(turns)) / RATE, p_world_body=p + noise, R_world_body=R)
    assert find_detached(take) == []


def test_the_fall_itself_is_left_out(walk: Take) -> None:
    lying, falling = 14 * RATE, 13 * RATE
    take = lay_down(walk, "head", slice(lying, None))
    p = np.array(take.p_world_body)
    share = np.linspace(0.5, 1, lying - falling)[:, None]
    p[falling:lying, take.index("head")] = (1 - share) * p[falling:lying, take.index("head")] + share * FLOOR
    (found,) = told(condyle.fit(replace(take, p_world_body=p)))
    assert found.frame is not None
    assert falling - 2 <= found.frame <= falling + RATE // 2


def test_it_is_told_and_left_in_where_the_repair_is_switched_off(walk: Take) -> None:
    fit = condyle.fit(lay_down(walk, "head", slice(14 * RATE, None)), no_fix=["detached"])
    (found,) = told(fit)
    assert "left out" not in found.text
    assert fit.take.seen.all()


@pytest.mark.parametrize(
    "stretch", [slice(22 * RATE, None), slice(0, 0), slice(0, 23 * RATE), slice(9 * RATE, 14 * RATE)]
)
def test_short_rests_rests_in_the_middle_and_most_of_the_take_are_left_alone(walk: Take, stretch: slice) -> None:
    assert 2 < LYING_MIN_S < 5
    assert find_detached(lay_down(walk, "head", stretch)) == []


def test_a_foot_that_stands_while_the_rest_moves_is_on_its_leg() -> None:
    """The last link is held in the room: all of the linkage moves about it, and its joint holds."""
    take = simulate(linkage(), "exercise", seconds=24, rate=RATE, seed=5, disturbances=NOISE).take
    k, half = 0, take.frames // 2
    R, p = np.array(take.R_world_body), np.array(take.p_world_body)
    back = R[half, k] @ np.swapaxes(R[half:, k], 1, 2)
    p[half:] = np.einsum("nij,nmj->nmi", back, p[half:] - p[half:, [k]]) + p[half, k]
    R[half:] = back[:, None] @ R[half:]
    assert find_detached(replace(take, p_world_body=p, R_world_body=R)) == []


def join(one: Take, other: Take) -> Take:
    """Two recordings as two files."""
    return replace(
        one,
        time=np.concatenate([one.time, other.time + 100]),
        segment=np.repeat([0, 1], [one.frames, other.frames]),
        p_world_body=np.concatenate([one.p_world_body, other.p_world_body]),
        R_world_body=np.concatenate([one.R_world_body, other.R_world_body]),
        sources=("a.csv", "b.csv"),
        of_source=(0, 1),
    )


@pytest.mark.parametrize(
    ("stretch", "when"), [(slice(None), "throughout the recording"), (slice(0, 8 * RATE), "until")]
)
def test_a_sensor_that_is_off_in_a_later_file_is_left_out_there(walk: Take, stretch: slice, when: str) -> None:
    fit = condyle.fit(join(walk, lay_down(walk, "head", stretch, seed=1)))
    (found,) = told(fit)
    assert found.frame == walk.frames
    assert when in found.text
    assert "of b.csv" in found.text
    assert not fit.skeleton.loose


def test_a_sensor_that_lies_before_and_after_is_left_out_in_both(walk: Take) -> None:
    fit = condyle.fit(lay_down(lay_down(walk, "head", slice(0, 5 * RATE)), "head", slice(18 * RATE, None)))
    assert sorted(one.frame or 0 for one in told(fit)) == [0, 18 * RATE]
    assert not fit.skeleton.loose


def test_a_sensor_that_is_lost_does_not_lie(walk: Take) -> None:
    hidden = np.zeros((walk.frames, walk.bodies), dtype=bool)
    hidden[14 * RATE : -2, walk.index("head")] = True
    fit = condyle.fit(lay_down(walk, "head", slice(-2, None)).mask(hidden))
    assert told(fit) == []
    assert "missing-samples" in {one.code for one in fit.findings}


def test_poses_that_are_missing_elsewhere_are_told_as_well(walk: Take) -> None:
    hidden = np.zeros((walk.frames, walk.bodies), dtype=bool)
    hidden[3 * RATE : 6 * RATE, walk.index("head")] = True
    fit = condyle.fit(lay_down(walk, "head", slice(14 * RATE, None)).mask(hidden))
    assert len(told(fit)) == 1
    assert "missing-samples" in {one.code for one in fit.findings}


def test_axes_of_a_gantry_moved_one_by_one_are_on() -> None:
    """x carries y carries z, each moved in its turn: nothing turns, so nothing has a joint that could come apart."""
    rng, time = np.random.default_rng(6), np.arange(30 * RATE) / RATE
    way = np.stack([np.clip(time - start, 0, 9) * 0.1 for start in (0, 10, 20)], axis=1)
    p = np.cumsum(way[:, :, None] * np.eye(3), axis=1) + rng.normal(0, 0.0005, (len(time), 3, 3))
    take = Take(
        names=("x", "y", "z"), time=time, p_world_body=p, R_world_body=np.broadcast_to(np.eye(3), (len(time), 3, 3, 3))
    )
    assert find_detached(take) == []
