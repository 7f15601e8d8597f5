"""io/tables/guess.py: what columns without names hold, by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.io.tables.guess import are_rotations, are_unit, find_clock, find_time_unit, guess
from condyle.maths import rotation

N = 50


def quaternions(rng: np.random.Generator, m: int) -> np.ndarray:
    q = np.cumsum(rng.normal(0, 0.05, (N, m, 4)), axis=0) + [1, 0, 0, 0]
    return q / np.linalg.norm(q, axis=2, keepdims=True)


def places(rng: np.random.Generator, m: int) -> np.ndarray:
    return np.cumsum(rng.normal(0, 0.01, (N, m, 3)), axis=0) + rng.normal(0, 1, (m, 3))


def test_unit_quaternions_and_the_places_beside_them_are_found(rng: np.random.Generator) -> None:
    poses = np.concatenate([places(rng, 2), quaternions(rng, 2)], axis=2).reshape(N, 14)
    found = guess(np.column_stack([np.arange(N) / 100, poses]))
    assert not isinstance(found, str)
    assert (found.kind, found.time) == ("quaternion", 0)
    assert [(pose.position, pose.rotation) for pose in found.poses] == [
        ((1, 2, 3), (4, 5, 6, 7)),
        ((8, 9, 10), (11, 12, 13, 14)),
    ]


def test_matrices_of_sixteen_numbers_hold_their_places_themselves(rng: np.random.Generator) -> None:
    T = np.tile(np.eye(4), (N, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = rotation.from_quaternion(quaternions(rng, 1)[:, 0]), places(rng, 1)[:, 0]
    found = guess(T.reshape(N, 16))
    assert not isinstance(found, str)
    assert (found.kind, found.poses[0].position) == ("matrix", (3, 7, 11))


def test_nothing_is_guessed_from_few_rows_or_from_noise(rng: np.random.Generator) -> None:
    assert guess(np.zeros((5, 7))) == "only 5 rows: too few to tell from numbers what the columns are"
    assert "joint angles need a kinematic model" in str(guess(rng.normal(0, 100, (N, 5))))


def test_a_clock_increases_steadily_and_does_not_count_rows() -> None:
    rows = np.arange(N, dtype=float)
    assert find_clock(np.column_stack([rows, rows / 120])) == 1
    assert find_clock(rows[:, None]) is None


@pytest.mark.parametrize(("step", "unit"), [(0.01, "s"), (10, "ms"), (1e4, "us"), (1e7, "ns"), (1e12, None)])
def test_the_unit_of_time_is_the_one_that_gives_a_likely_rate(step: float, unit: str | None) -> None:
    assert find_time_unit(np.arange(N) * step) == unit
    assert find_time_unit(np.zeros(N)) is None
    assert find_time_unit(np.arange(N) * 5e-324) is None


def test_quaternions_and_rotations_are_told_from_other_numbers() -> None:
    assert are_unit(np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0.5, -0.51], [1, 1, 0, 0], [1e300] * 4])).tolist() == [
        True, True, False, False,
    ]  # fmt: skip
    assert are_rotations(np.stack([np.eye(3), 2 * np.eye(3), np.full((3, 3), np.nan)])).tolist() == [True, False, False]
