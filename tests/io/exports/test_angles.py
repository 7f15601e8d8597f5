from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.io.exports._angles import BENDS_FIRST, HEADING_FIRST, find_angles, split_rotation

EXACT = 1e-14  # of matrix entries
ORDERS = ["".join(letters) for letters in permutations("XYZ")]


@pytest.mark.parametrize("order", ORDERS)
def test_angles_multiply_to_the_rotation_also_in_and_near_gimbal_lock(order: str, rng: np.random.Generator) -> None:
    free = Rotation.random(200, rng).as_matrix()
    angles = rng.uniform(-3, 3, (200, 3))
    angles[:, 1] = np.pi / 2 * np.sign(angles[:, 1]) + rng.choice([0, 1e-15, 1e-9, 1e-7, 1e-4], 200)
    locked = Rotation.from_euler(order, angles).as_matrix()
    for R in (free, locked):
        again = Rotation.from_euler(order, find_angles(R, order)).as_matrix()
        np.testing.assert_allclose(again, R, atol=EXACT)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_go_on_through_lock_and_whole_turns_without_a_jump(order: str) -> None:
    turn = np.linspace(0, 6 * np.pi, 500)
    wild = Rotation.from_euler(order, np.stack([turn, 1.4 * np.sin(turn), -2 * turn], axis=1)).as_matrix()
    assert np.abs(np.diff(find_angles(wild, order), axis=0)).max() < 0.2
    over = np.zeros((300, 3))
    over[:, 1] = np.linspace(-4, 4, 300)
    angles = find_angles(Rotation.from_euler(order, over).as_matrix(), order)
    assert np.abs(np.diff(angles, axis=0)).max() < 0.1, "a middle angle through a quarter turn goes on"


def test_no_frame_and_one_frame_have_angles() -> None:
    assert find_angles(np.zeros((0, 3, 3)), "XYZ").shape == (0, 3)
    np.testing.assert_array_equal(find_angles(np.eye(3)[None], "ZXY"), np.zeros((1, 3)))


def test_the_first_order_that_keeps_clear_of_lock_is_taken() -> None:
    swing = np.linspace(-1, 1, 50)
    bend = Rotation.from_euler("X", 1.5 * swing[:, None]).as_matrix()
    assert split_rotation(np.eye(3), bend).order == "XZY"
    down = Rotation.from_euler(
        "Z", 1.5 + 0.1 * swing[:, None]
    ).as_matrix()  # an arm that hangs, from arms stretched out
    found = split_rotation(np.eye(3), down)
    assert found.order == "ZXY"
    np.testing.assert_allclose(found.angles[:, 0], 1.5 + 0.1 * swing, atol=EXACT)
    round_ = Rotation.from_euler("Y", 9 * swing[:, None]).as_matrix()
    assert split_rotation(np.eye(3), round_, HEADING_FIRST).order == "YZX"
    assert sorted(BENDS_FIRST) == sorted(HEADING_FIRST) == sorted(ORDERS)


def test_where_every_order_locks_the_mean_pose_is_the_zero_and_the_rest_pose_has_angles() -> None:
    angle = np.radians(np.linspace(100, 260, 80))  # about the diagonal: meets lock in all six orders
    R = Rotation.from_rotvec(angle[:, None] * np.ones(3) / np.sqrt(3)).as_matrix()
    rest = np.eye(3)
    found = split_rotation(rest, R)
    assert np.abs(found.angles[:, 1]).max() < np.radians(61)
    again = found.zero @ Rotation.from_euler(found.order, found.angles).as_matrix()
    np.testing.assert_allclose(again, R, atol=EXACT)
    np.testing.assert_allclose(found.zero @ Rotation.from_euler(found.order, found.rest).as_matrix(), rest, atol=EXACT)
