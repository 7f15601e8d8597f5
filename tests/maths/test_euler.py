from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.maths.euler import find_angles, measure_lock

EXACT = 1e-14  # of matrix entries
NEAR_DEG = 6e-5  # of angles that are given to four digits
CARDAN = ["".join(letters) for letters in permutations("XYZ")]
PROPER = ["".join((a, b, a)) for a, b in permutations("XYZ", 2)]
FIRST = np.array([[0.36, -0.8, -0.48], [0.48, 0.6, -0.64], [0.8, 0, 0.6]])
SECOND = np.array([[0, -0.8, -0.6], [0.6, 0.48, -0.64], [0.8, -0.36, 0.48]])


def degrees(R: np.ndarray, order: str) -> np.ndarray:
    return np.degrees(find_angles(np.asarray(R)[None], order)[0])


@pytest.mark.parametrize(
    ("R", "order", "expected"),
    [
        (FIRST, "ZXY", (53.1301, 0, -53.1301)),
        (FIRST, "XZY", (0, 53.1301, -53.1301)),
        (FIRST, "YXZ", (-38.6598, 39.7918, 38.6598)),
        (FIRST, "ZYX", (53.1301, -53.1301, 0)),
        (FIRST, "XYZ", (46.8476, -28.6854, 65.7723)),
        (FIRST, "YXY", (90, -53.1301, -143.1301)),
        (SECOND, "ZXY", (59.0362, -21.1002, -59.0362)),
        (SECOND, "XZY", (-36.8699, 53.1301, -90)),
        (SECOND, "YXZ", (-51.3402, 39.7918, 51.3402)),
        (SECOND, "ZYX", (90, -53.1301, -36.8699)),
        (SECOND, "XYZ", (53.1301, -36.8699, 90)),
        (SECOND, "YXY", (65.7723, -61.3146, -136.8476)),
    ],
)
def test_angles_of_two_rotations_are_those_of_other_programs(
    R: np.ndarray, order: str, expected: tuple[float, float, float]
) -> None:
    np.testing.assert_allclose(degrees(R, order), expected, atol=NEAR_DEG)


def test_the_matrices_of_the_oracle_are_those_of_its_quaternions() -> None:
    for R, q in ((FIRST, (0.8, 0.2, -0.4, 0.4)), (SECOND, (0.7, 0.1, -0.5, 0.5))):
        np.testing.assert_allclose(Rotation.from_quat(q, scalar_first=True).as_matrix(), R, atol=EXACT)


def test_in_gimbal_lock_the_sum_is_known() -> None:
    a, b, c = degrees(Rotation.from_euler("ZXY", [30, 90, 20], degrees=True).as_matrix(), "ZXY")
    assert b == pytest.approx(90, abs=NEAR_DEG)
    assert a + c == pytest.approx(50, abs=NEAR_DEG)
    assert measure_lock(np.radians([[a, b, c]]), "ZXY")[0] == pytest.approx(0, abs=1e-7)
    assert measure_lock(np.radians([[a, b, c]]), "YXY")[0] == pytest.approx(1)


@pytest.mark.parametrize("order", CARDAN + PROPER)
def test_angles_multiply_to_the_rotation_also_in_and_near_gimbal_lock(order: str, rng: np.random.Generator) -> None:
    free = Rotation.random(200, rng).as_matrix()
    angles = rng.uniform(-3, 3, (200, 3))
    lock = np.pi / 2 * np.sign(angles[:, 1]) if order in CARDAN else np.pi * rng.integers(0, 2, 200)
    angles[:, 1] = lock + rng.choice([0, 1e-15, 1e-9, 1e-7, 1e-4], 200)
    locked = Rotation.from_euler(order, angles).as_matrix()
    for R in (free, locked):
        again = Rotation.from_euler(order, find_angles(R, order)).as_matrix()
        np.testing.assert_allclose(again, R, atol=2 * EXACT)


@pytest.mark.parametrize("order", CARDAN)
def test_angles_go_on_through_lock_and_whole_turns_without_a_jump(order: str) -> None:
    turn = np.linspace(0, 6 * np.pi, 500)
    wild = Rotation.from_euler(order, np.stack([turn, 1.4 * np.sin(turn), -2 * turn], axis=1)).as_matrix()
    assert np.abs(np.diff(find_angles(wild, order), axis=0)).max() < 0.2
    over = np.zeros((300, 3))
    over[:, 1] = np.linspace(-4, 4, 300)
    angles = find_angles(Rotation.from_euler(order, over).as_matrix(), order)
    assert np.abs(np.diff(angles, axis=0)).max() < 0.1, "a middle angle through a quarter turn goes on"


@pytest.mark.parametrize("order", PROPER)
def test_proper_angles_go_on_past_a_half_turn_and_begin_with_a_middle_angle_below_zero(order: str) -> None:
    given = np.stack([np.full(200, 0.3), np.linspace(-0.2, -4, 200), np.full(200, -0.5)], axis=1)
    found = find_angles(Rotation.from_euler(order, given).as_matrix(), order)
    np.testing.assert_allclose(found, given, atol=1e-9)


def test_frames_around_a_gap_are_neighbours_and_every_segment_begins_anew() -> None:
    given = np.zeros((60, 3))
    given[:, 1] = np.linspace(0, 2.5, 60)
    R = Rotation.from_euler("ZXY", given).as_matrix()
    R[20:40] = np.nan
    found = find_angles(R, "ZXY")
    assert np.isnan(found[20:40]).all()
    np.testing.assert_allclose(np.delete(found, np.s_[20:40], 0), np.delete(given, np.s_[20:40], 0), atol=1e-9)
    parted = find_angles(R, "ZXY", np.repeat([0, 1], [50, 10]))
    assert (parted[50:, 1] < np.pi / 2).all(), "a segment that begins beyond the lock has the other triple"
    assert not np.isfinite(find_angles(np.full((3, 3, 3), np.nan), "ZXY")).any()


def test_the_median_of_every_angle_is_within_half_a_turn() -> None:
    given = np.zeros((300, 3))
    given[:, 0] = np.linspace(0, 20, 300)
    found = find_angles(Rotation.from_euler("ZXY", given).as_matrix(), "ZXY")
    assert -np.pi < np.median(found[:, 0]) <= np.pi
    np.testing.assert_allclose(np.diff(found[:, 0]), np.diff(given[:, 0]), atol=1e-9)


def test_no_frame_and_one_frame_have_angles() -> None:
    assert find_angles(np.zeros((0, 3, 3)), "XYZ").shape == (0, 3)
    np.testing.assert_array_equal(find_angles(np.eye(3)[None], "ZXY"), np.zeros((1, 3)))
