from __future__ import annotations

import numpy as np
import pytest

from condyle import play, simulate
from condyle.io.exports.build_figure import build_figure
from condyle.maths import rotation
from condyle.model.anatomy import Segment
from condyle.motion.person import Body, find_bodies
from tests.make import walkers

SAME = 1e-9  # of matrix entries and m


@pytest.fixture(scope="module")
def body() -> Body:
    fit = walkers.fitted(1, "walk", 10.0)
    return find_bodies(fit.skeleton, build_figure(fit.skeleton, play(fit.skeleton, fit.take)))[0]


def test_a_person_has_segments_by_name_whatever_the_root_of_the_fit_is(body: Body) -> None:
    assert body.human
    assert body.body(body.root) == "pelvis"
    assert {body.name(k) for k in body.bones} >= {"pelvis", "thorax", "head", "thigh_l", "hand_r"}
    assert body.body(body.place[Segment("shank", "r")]) == "r_shank"


def test_rotations_between_bones_are_those_of_their_sensors(body: Body) -> None:
    take = walkers.walker(1, "walk", 10.0).take
    R = take.R_world_body
    chest, hand = body.place[Segment("chest")], body.place[Segment("hand", "l")]
    np.testing.assert_allclose(body.world(hand), R[:, take.index("l_hand")], atol=SAME)
    expected = np.swapaxes(R[:, take.index("chest")], -1, -2) @ R[:, take.index("l_hand")]
    np.testing.assert_allclose(body.between(chest, hand), expected, atol=SAME)
    assert body.is_above(chest, hand)
    assert not body.is_above(hand, chest)
    np.testing.assert_allclose(
        body.mean_turn(hand), rotation.mean(body.between(body.place[Segment("forearm", "l")], hand)), atol=SAME
    )


def test_both_bodies_see_a_joint_in_their_own_frame(body: Body) -> None:
    truth = walkers.walker(1, "walk", 10.0).truth
    shank, thigh = body.place[Segment("shank", "l")], body.place[Segment("thigh", "l")]
    at = truth.names.index("l_shank")
    np.testing.assert_allclose(body.end(shank, shank).p, truth.p_child_joint[at], atol=1e-6)
    np.testing.assert_allclose(body.end(shank, thigh).p, truth.p_parent_joint[at], atol=1e-6)
    assert body.end(shank, thigh).open is None


def test_all_bones_at_once_are_turned_in_the_world_as_each_alone(body: Body) -> None:
    rows = np.array([3, 0, 11])
    found = body.worlds(rows)
    assert set(found) == set(body.bones)
    for k in body.bones:
        np.testing.assert_allclose(found[k], body.world(k, rows), atol=1e-14)


def test_a_chain_is_no_person() -> None:
    world = simulate.simulate(simulate.chain(), "exercise", seconds=5, seed=1)
    from condyle import fit

    found = fit(world.take, intervals=False)
    bodies = find_bodies(found.skeleton, build_figure(found.skeleton, play(found.skeleton, found.take)))
    assert [one.human for one in bodies] == [False]
    assert bodies[0].name(0) == bodies[0].figure.names[0]
