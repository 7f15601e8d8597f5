"""Do recordings belong together: joints tell where sensors sit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.faults.files import describe_moved, find_moved, locate_places
from condyle.model.skeleton import Joint
from condyle.model.take import Take
from condyle.simulate import Disturbances, Mounts, chain, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=0.009)
EDGES = [(a, b) for a, b in zip(chain().names, chain().names[1:], strict=False)]


def _record(seed: int, mounts: Mounts | None = None, seconds: float = 15.0) -> tuple[Take, Mounts]:
    world = simulate(chain(), "exercise", seconds=seconds, seed=seed, disturbances=NOISE, mounts=mounts)
    return world.take, world.truth.mounts


@pytest.fixture(scope="module")
def before() -> tuple[list[Joint], Mounts]:
    take, mounts = _record(1)
    return locate_places(take, EDGES), mounts


def test_every_edge_is_located_with_its_covariance(before: tuple[list[Joint], Mounts]) -> None:
    assert {(joint.parent, joint.child) for joint in before[0]} == set(EDGES)
    assert all(joint.covariance is not None for joint in before[0])


def test_edges_of_several_parts_get_no_joint_between_the_parts() -> None:
    take, _ = _record(1)
    some = [EDGES[0], EDGES[2]]
    assert {frozenset((one.parent, one.child)) for one in locate_places(take, some)} == set(map(frozenset, some))


@pytest.mark.parametrize("seed", range(2, 6))
def test_sensors_that_stay_are_not_told(before: tuple[list[Joint], Mounts], seed: int) -> None:
    take, _ = _record(seed, before[1])
    assert find_moved(before[0], locate_places(take, EDGES)) == []


@pytest.mark.parametrize("body", [0, 1, 3])
def test_a_sensor_that_moved_is_named_with_its_distance(before: tuple[list[Joint], Mounts], body: int) -> None:
    joints, mounts = before
    away = np.array(mounts.p_bone_body)
    away[body] += [0.0, 0.03, 0.0]
    take, _ = _record(7, Mounts(mounts.R_bone_body, away))
    (moved,) = find_moved(joints, locate_places(take, EDGES))
    assert moved.body == take.names[body]
    assert moved.distance == pytest.approx(0.03, abs=0.005)
    (finding,) = describe_moved([moved])
    assert (finding.code, finding.bodies, finding.unit) == ("sensor-moved", (moved.body,), "m")


def test_a_take_that_tells_nothing_has_no_places() -> None:
    take, _ = _record(1, seconds=0.2)
    assert locate_places(take, EDGES) == []
    assert locate_places(take.select(take.names[:1]), EDGES) == []
    assert locate_places(take.slice(0, 1), EDGES) == []
    untimed = Take.from_poses(take.p_world_body, R_world_body=take.R_world_body, names=take.names)
    assert locate_places(untimed, EDGES) == []
    assert locate_places(take.mask(np.ones((take.frames, take.bodies), bool)), EDGES) == []


def test_a_sensor_that_moved_alone_parts_the_places_of_a_joint_that_is_known_poorly(
    before: tuple[list[Joint], Mounts],
) -> None:
    common, own = 0.015, 0.002  # m: errors of the centre, which both places have alike, and of each place
    V = common**2 * np.tile(np.eye(3), (2, 2)) + own**2 * np.eye(6)
    was = replace(before[0][0], covariance=V)
    shift = np.array([0.1, 0, 0])  # 22 squared standard errors of one place
    both = replace(was, p_child_joint=was.p_child_joint + shift, p_parent_joint=was.p_parent_joint + shift)
    assert find_moved([was], [both]) == []
    one = replace(was, p_child_joint=was.p_child_joint + shift)
    assert [moved.body for moved in find_moved([was], [one])] == [was.child]


def moved_by(joint: Joint, common: float, own: float, child: float, parent: float) -> list[str]:
    """Bodies told where places of a joint on its two sensors are elsewhere by so much [m].

    common, own  [m] standard deviations of what both places have alike, and of each
    """
    V = common**2 * np.tile(np.eye(3), (2, 2)) + own**2 * np.eye(6)
    was, way = replace(joint, covariance=V), np.array([1.0, 0, 0])
    now = replace(was, p_child_joint=was.p_child_joint + child * way, p_parent_joint=was.p_parent_joint + parent * way)
    return [moved.body for moved in find_moved([was], [now])]


def test_a_sensor_moved_where_its_joint_is_elsewhere_by_more_than_skin_and_chance(
    before: tuple[list[Joint], Mounts],
) -> None:
    joint = before[0][0]
    assert moved_by(joint, 0.001, 0.0002, 0.006, 0.006) == []  # skin changes it by as much
    assert set(moved_by(joint, 0.001, 0.0002, 0.02, 0.02)) == {joint.child, joint.parent}
    for chi2, told in ((20, 0), (45, 2)):  # squared standard errors, of both places alike
        sd = 0.1 / np.sqrt(2 * chi2)
        assert len(moved_by(joint, 0.99 * sd, 0.14 * sd, 0.1, 0.1)) == told


def test_a_joint_tells_which_of_its_sensors_moved_where_its_places_part_beyond_chance(
    before: tuple[list[Joint], Mounts],
) -> None:
    joint = before[0][0]
    for place, both, told in ((22, 60, []), (22, 200, [joint.child]), (10, 200, [])):
        variance = 0.1**2 / (2 * place)  # of one place, so that 0.1 m are so many squared standard errors of it,
        alike = np.sqrt(1 - place / both)  # of which so much both have, so that they are so many of both
        assert moved_by(joint, np.sqrt(alike * variance), np.sqrt((1 - alike) * variance), 0.1, 0.0) == told


def test_sensors_that_are_hardly_seen_together_tell_no_place(before: tuple[list[Joint], Mounts]) -> None:
    take, _ = _record(2, before[1])
    ends = take.names[:2]
    for first, located in ((0, True), (take.frames - round(0.5 * take.rate), False), (take.frames, False)):
        hidden = np.zeros((take.frames, take.bodies), dtype=bool)
        hidden[:first, 0] = True  # the second is seen all the time
        found = {frozenset((joint.child, joint.parent)) for joint in locate_places(take.mask(hidden), EDGES)}
        assert (frozenset(ends) in found) == located, first
