"""io/formats/_kinematics.py: poses of chains of bones, and bones that are one body."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._kinematics import BoneChain, is_forest, order_parents_first, place_bones, turn
from condyle.maths import rotation

EXACT = 1e-12  # [-], m

CHAIN = BoneChain(("hip", "joint", "thigh"), (-1, 0, 1), np.array([[0.0, 0, 0], [0, 0, 0], [0, -1, 0]]))


def test_turns_come_one_after_the_other_each_in_the_frame_that_the_ones_before_made() -> None:
    angles = np.array([[0.3, -0.4, 0.5], [1.0, 0.2, -2.0]])
    np.testing.assert_allclose(turn(angles, "ZXY"), rotation.from_euler(angles, "ZXY"), atol=EXACT)
    np.testing.assert_array_equal(turn(np.empty((2, 0)), ""), np.tile(np.eye(3), (2, 1, 1)))


def test_bones_are_placed_by_their_parents_wherever_these_stand_in_the_list() -> None:
    quarter = turn(np.full((1, 1), np.pi / 2), "Z")
    up = [np.array([[0.0, 1, 0]]), np.array([[2.0, 0, 0]])]
    R, p = place_bones([1, -1], 1, lambda rows: ([quarter, quarter], up))
    np.testing.assert_allclose(p[0], [[1, 0, 0], [2, 0, 0]], atol=EXACT)
    np.testing.assert_allclose(R[0, 0], np.diag([-1, -1, 1]), atol=EXACT)
    unknown = place_bones([1, -1], 1, lambda rows: ([quarter, quarter], [up[0], up[1] * np.nan]))[1]
    assert np.isnan(unknown).all(), "what hangs on an unknown bone is unknown"


def test_parents_come_first_and_a_circle_is_an_error() -> None:
    assert order_parents_first([2, -1, 1]) == [1, 2, 0]
    with pytest.raises(CondyleError, match="among its own ancestors"):
        order_parents_first([-1, 2, 1])


@pytest.mark.parametrize(("parent", "forest"), [([-1], True), ([-1, 0, 1, -1], True), ([1, 0], False), ([0], False)])
def test_a_forest_has_no_circle(parent: list[int], forest: bool) -> None:
    assert is_forest(np.array(parent)) == forest


def test_a_still_bone_at_its_parents_joint_is_no_body_and_its_child_hangs_on_the_parent() -> None:
    R, p = np.tile(np.eye(3), (2, 3, 1, 1)), np.zeros((2, 3, 3))
    bodies, own, (finding,) = CHAIN.bodies(R, p, np.array([False, True, False]))
    assert bodies.names == own.names == ("hip", "thigh")
    assert own.parent.tolist() == [-1, 0]
    assert (finding.code, finding.bodies) == ("same-body", ("joint",))
    bodies, own, findings = CHAIN.bodies(R, p, np.array([False, False, False]))
    assert (len(bodies.names), findings) == (3, [])


def test_a_small_file_cannot_ask_for_a_huge_array() -> None:
    many = BoneChain(("x",) * 1000, (-1,) * 1000, np.zeros((1000, 3)))
    many.check_size(100, 6)
    with pytest.raises(CondyleError, match="1000 joints of which most never move"):
        many.check_size(10_000, 6)
    many.check_size(10_000, 3000)
