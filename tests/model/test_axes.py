"""Tables of axes: known machines give their known tables back, and each of the three plays the same motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.axes import Axis, find_lies, invert, solve_table
from tests.make import machines

EXACT_M, EXACT_RAD = 1e-9, 1e-9
SAME_POSE = 1e-12


def axis(p_in, z_in, p_out, z_out, covariance=None) -> Axis:  # type: ignore[no-untyped-def]
    z_in, z_out = (np.array(z, float) / np.linalg.norm(z) for z in (z_in, z_out))
    turn = rotation.find_shortest_arc(z_out, z_in)
    return Axis("j", "a", "b", np.array(p_in, float), z_in, np.array(p_out, float), z_out, turn, covariance)


X, Y, Z, O = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


def test_the_table_of_a_robot_without_noise_is_its_own() -> None:
    one = machines.made("skewed", 0.0)
    chain = machines.fitted("skewed", 0.0).axes()[0]
    assert [row.lie for row in chain.rows[1:]] == ["skew"] * 5
    for row, joint, before in zip(chain.rows[1:], one.joints[1:], one.joints[:-1], strict=True):
        assert row.distance is not None
        assert row.angle is not None
        assert row.distance.value == pytest.approx(abs(joint.a), abs=EXACT_M)
        # Signs of axes are those of the first turn: an angle is known up to its supplement.
        sine, cosine = abs(np.sin(row.angle.value)), abs(np.cos(row.angle.value))
        assert (sine, cosine) == pytest.approx((abs(np.sin(joint.alpha)), abs(np.cos(joint.alpha))), abs=EXACT_RAD)
        if before is not one.joints[0]:
            assert chain.rows[one.joints.index(before)].offset.value == pytest.approx(
                before.d, abs=EXACT_M
            ) or chain.rows[one.joints.index(before)].offset.value == pytest.approx(-before.d, abs=EXACT_M)


@pytest.mark.parametrize("name", ["panda", "ur5", "planar", "skewed"])
def test_both_tables_and_the_product_of_exponentials_play_the_recording(name: str) -> None:
    chain = machines.fitted(name, 0.0).axes()[0]
    played = chain.play_modified(chain.angle)
    np.testing.assert_allclose(chain.play_standard(chain.angle), played, atol=SAME_POSE)
    np.testing.assert_allclose(chain.play_screws(chain.angle), played, atol=SAME_POSE)
    assert chain.played_m is not None
    assert chain.played_m < EXACT_M
    np.testing.assert_allclose(chain.play_modified(np.zeros(len(chain.rows))), chain.T_base_tool, atol=SAME_POSE)


def test_axes_that_meet_and_axes_that_are_parallel_are_told_with_what_the_motion_says() -> None:
    chain = machines.fitted("ur5").axes()[0]
    assert [row.lie for row in chain.rows] == [None, "meet", "parallel", "parallel", "meet", "meet"]
    for row in chain.rows[1:]:
        assert row.distance is not None
        assert row.angle is not None
        if row.lie == "meet":
            assert row.distance.value == 0
            assert row.distance.free is not None
            assert 0 <= row.distance.free < 0.0005
        else:
            assert row.distance.free is None
            assert row.angle.value in (0.0, np.pi)
            assert row.angle.free is not None


@pytest.mark.costly
def test_intervals_hold_the_truth() -> None:
    held = []
    for seed in range(4):
        one, chain = machines.made("skewed", 1.0, seed), machines.fitted("skewed", 1.0, seed).axes()[0]
        for k, (row, joint) in enumerate(zip(chain.rows, one.joints, strict=True)):
            if k:
                assert row.distance is not None
                assert row.distance.half_width is not None
                held.append(abs(row.distance.value - abs(joint.a)) < row.distance.half_width)
            if 0 < k < len(chain.rows) - 1:
                assert row.offset.half_width is not None
                held.append(abs(abs(row.offset.value) - abs(joint.d)) < row.offset.half_width)
    assert np.mean(held) > 0.85
    assert row.offset.half_width is None  # that of the last axis is a definition


def test_one_line_twice_is_the_same_line() -> None:
    axes = axis(O, Z, O, Z), axis([0, 0, 0.2], Z, O, X), axis([0.1, 0, 0], Y, O, Z)
    lies, _, _ = find_lies(axes)
    assert lies[0] == "same line"
    table = solve_table(axes, lies)
    assert table.a[1] == 0
    assert np.isfinite([table.alpha, table.d, table.theta]).all()


def test_what_noise_cannot_tell_from_parallel_is_parallel() -> None:
    sure = np.diag(np.full(12, np.radians(0.1) ** 2))
    for degrees, lie in ((0.2, "parallel"), (3.0, "skew")):
        tilted = [0, np.sin(np.radians(degrees)), np.cos(np.radians(degrees))]
        lies, free, sds = find_lies([axis(O, Z, O, Z, sure), axis([0.3, 0, 0], tilted, O, Z, sure)])
        assert lies == [lie]
        assert abs(free.alpha[1]) == pytest.approx(np.radians(degrees), rel=1e-6)
        assert sds[1, 0] == pytest.approx(np.radians(0.1) * np.sqrt(2), rel=1e-3)


def test_the_inverse_of_a_pose_takes_it_back() -> None:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation.from_vector([0.3, -1.0, 0.4]), [1, 2, 3]
    np.testing.assert_allclose(invert(T) @ T, np.eye(4), atol=SAME_POSE)


def test_angles_turn_on_where_they_pass_half_a_turn() -> None:
    chain = machines.fitted("screw", 0.0).axes()[0]
    assert np.abs(np.diff(chain.angle, axis=0)).max() < 0.5
    assert all(row.low < row.high for row in chain.rows)
    assert all(a.outer == b.inner for a, b in pairwise(chain.rows))
