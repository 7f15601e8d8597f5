"""One clock for a page, whatever clocks its recordings have."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.report.clock import PageClock


def test_one_recording_keeps_its_times() -> None:
    clock = PageClock.of(np.array([5.0, 5.1, 5.2]), np.zeros(3, np.int64))
    assert clock.times(np.array([5.0, 5.2]), np.array([0, 2])).tolist() == [5.0, 5.2]
    assert (clock.moment(5.1), clock.moment(99.0)) == (5.1, 99.0)
    assert clock.step == pytest.approx(0.1)


def test_recordings_that_follow_on_each_other_keep_their_times() -> None:
    clock = PageClock.of(np.array([0.0, 0.1, 7.0, 7.1]), np.array([0, 0, 1, 1]))
    assert clock.offset.tolist() == [0, 0]


def test_recordings_that_all_begin_at_zero_stand_one_after_the_other() -> None:
    time, segment = np.array([0.0, 0.1, 0.2, 0.0, 0.1, 0.0, 0.1]), np.array([0, 0, 0, 4, 4, 9, 9])
    clock = PageClock.of(time, segment)
    assert clock.first.tolist() == [0, 3, 5]
    np.testing.assert_allclose(clock.times(time, np.arange(7)), np.arange(7) / 10, atol=1e-12)
    assert clock.moment(0.1) == pytest.approx(0.1)
    assert clock.moment(0.1, frame=6) == pytest.approx(0.6)


def test_a_moment_is_in_the_recording_that_holds_it() -> None:
    clock = PageClock.of(np.array([50.0, 60.0, 0.0, 10.0]), np.array([0, 0, 1, 1]))
    assert clock.moment(55.0) == 55.0
    assert clock.moment(5.0) == 75.0


def test_one_frame_and_none_have_a_clock() -> None:
    assert PageClock.of(np.array([3.0]), np.zeros(1, np.int64)).step == 0
    assert PageClock.of(np.zeros(0), np.zeros(0, np.int64)).moment(4.0) == 4.0
