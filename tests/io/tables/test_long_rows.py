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


def rows_of(stamps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sensor and time of each row, of sensors that report at these times [s]."""
    sensor = np.repeat(np.arange(len(stamps)), [len(one) for one in stamps])
    time = np.concatenate(stamps)
    order = np.argsort(time, kind="stable")
    return sensor[order], time[order]


def gather_all(sensor: np.ndarray, time: np.ndarray) -> SensorFrames:
    names = [f"s{k}" for k in range(int(sensor.max()) + 1)]
    position, orientation = np.tile(time[:, None], (1, 3)), np.tile([1.0, 0, 0, 0], (len(time), 1))
    return gather_frames(sensor, names, position, orientation, time=time, rotation="wxyz")


def test_sensors_that_are_hardly_ever_in_one_round_were_not_asked_in_turn(rng: np.random.Generator) -> None:
    """Most rounds had one row and so no length, and all had the stamps of rounds that are quick."""
    for _ in range(20):
        starts = rng.uniform(0, 0.01, 4)
        frames = gather_all(*rows_of([np.arange(s, 10, 1 / r) for s, r in zip(starts, (100, 97, 31, 60), strict=True)]))
        assert [finding.code for finding in frames.findings] == ["common-clock"]


def test_a_round_in_which_the_clock_is_set_back_is_two() -> None:
    """Its frame had the mean of both times, which is none of either."""
    sensor, time = rows_of([np.arange(400) / 90 + 0.0005 * k for k in range(4)])
    for first in range(801, 804):
        back = np.where(np.arange(len(time)) >= first, time - 0.1, time)
        frames = gather_all(sensor, back)
        assert frames.time is not None
        assert (np.diff(frames.time) < 0).sum() == 1
