from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.tables.long_rows import SensorFrames, gather_frames

EXACT = 1e-12


def frames(sensor: list[int], time: list[float] | None = None, frame: list[float] | None = None) -> SensorFrames:
    """Rows whose x is their number."""
    n = len(sensor)
    position = np.arange(n)[:, None] * np.array([1.0, 0, 0])
    return gather_frames(
        np.array(sensor),
        [f"s{k}" for k in range(max(sensor) + 1)],
        position,
        np.tile([1.0, 0, 0, 0], (n, 1)),
        time=None if time is None else np.array(time, float),
        frame=None if frame is None else np.array(frame, float),
        rotation="wxyz",
    )


def test_without_time_a_round_of_sensors_is_a_frame_and_one_may_be_missing() -> None:
    found = frames([0, 1, 2, 0, 2, 0, 1, 2])
    np.testing.assert_array_equal(found.position[:, :, 0], [[0, 1, 2], [3, np.nan, 4], [5, 6, 7]])
    assert found.time is None


def test_equal_stamps_are_a_frame_in_any_order() -> None:
    found = frames([1, 0, 0, 1, 0], [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(found.position[:, :, 0], [[1, 0], [2, 3], [4, np.nan]])
    assert found.time is not None
    assert found.time.tolist() == [0, 1, 2]


def test_a_clock_that_starts_again_keeps_its_frames_apart() -> None:
    found = frames([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0])
    assert found.time is not None
    assert found.time.tolist() == [0, 1, 0]


def test_frame_numbers_win_and_keep_the_order_of_the_file() -> None:
    found = frames([0, 1, 0, 1], [0.0, 0.3, 0.5, 0.8], [9, 9, 4, 4])
    np.testing.assert_array_equal(found.position[:, :, 0], [[0, 1], [2, 3]])
    assert found.time is not None
    np.testing.assert_allclose(found.time, [0.15, 0.65], atol=EXACT)


def test_a_row_that_repeats_counts_once() -> None:
    found = frames([0, 1, 1, 0, 1], [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(found.position[:, :, 0], [[0, 1], [np.nan, 2], [3, 4]])


def test_of_two_rows_of_a_sensor_in_one_frame_the_first_counts() -> None:
    found = frames([0, 1, 0], None, [9, 9, 9])
    np.testing.assert_array_equal(found.position[:, :, 0], [[0, 1]])


def test_absurd_numbers_do_not_break_the_common_clock() -> None:
    n = 24
    position = np.where(np.arange(n)[:, None] == 7, 1e308, np.arange(n)[:, None] * np.array([1.0, 0, 0]))
    time = np.linspace(0.0, 0.115, n)
    turn = np.tile([1.0, 0, 0, 0], (n, 1))
    found = gather_frames(np.arange(n) % 2, ["a", "b"], position, turn, time=time, rotation="wxyz")
    assert [finding.code for finding in found.findings] == ["common-clock"]


def test_a_frame_number_that_is_missing_is_an_error() -> None:
    with pytest.raises(CondyleError) as error:
        frames([0, 1, 0], None, [1, np.nan, 2])
    assert (error.value.code, error.value.frame) == ("bad-time", 1)
