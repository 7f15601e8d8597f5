from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.series import (
    block_medians,
    block_starts,
    correlated_square_sum,
    cut_blocks,
    even_places,
    held_frames,
    known_around,
    mean_step,
    segment_slices,
)

EXACT = 1e-12  # s, and shares of a frame


def test_the_last_known_frame_of_a_segment_is_held_and_before_it_the_first() -> None:
    known = np.array([False, True, False, False, True, False, False, False, True], bool)
    segment = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2])
    assert held_frames(known, segment).tolist() == [1, 1, 1, 1, 4, -1, -1, 8, 8]
    assert held_frames(np.zeros(0, bool), np.zeros(0, np.int64)).tolist() == []


def test_the_known_frames_around_each_are_of_its_segment() -> None:
    before, after = known_around(np.array([False, True, False, False, True]), np.array([0, 0, 0, 1, 1]))
    assert before.tolist() == [-1, 1, 1, -1, 4]
    assert after.tolist() == [1, 1, 5, 4, 4]


def test_segments_are_runs_of_frames() -> None:
    assert segment_slices(np.array([0, 0, 2, 1, 1])) == [slice(0, 2), slice(2, 3), slice(3, 5)]
    assert segment_slices(np.zeros(0, np.int64)) == [slice(0, 0)]


def test_an_even_clock_needs_nothing_and_small_jitter_is_even() -> None:
    time = 5 + np.arange(100) / 120
    assert even_places(time) is None
    assert even_places(np.round(time, 3)) is None
    assert even_places(time[:1]) is None
    assert mean_step(time) == pytest.approx(1 / 120)
    assert mean_step(time[:1]) == 0.01


def test_lost_frames_are_found_again_at_the_usual_rate() -> None:
    time = np.delete(np.arange(50) / 10, [20, 21])
    places = even_places(time)
    assert places is not None
    np.testing.assert_allclose(places.clock, np.arange(50) / 10, atol=EXACT)
    np.testing.assert_allclose(places.share[[19, 20, 21, 22]], [0, 1 / 3, 2 / 3, 0], atol=1e-9)
    assert places.before[20] == 19


def test_another_rate_reaches_from_the_first_frame_to_the_last() -> None:
    places = even_places(np.arange(11) / 10, 0.025)
    assert places is not None
    assert len(places.clock) == 41
    np.testing.assert_allclose(places.before + places.share, np.arange(41) / 4, atol=1e-9)
    assert even_places(np.arange(11) / 10, 0.1) is None


def test_blocks_hold_all_values_in_their_order_and_end_with_nan() -> None:
    table = cut_blocks(np.arange(10.0).reshape(5, 2), 3)
    assert table.shape == (3, 2, 2)
    np.testing.assert_array_equal(table[:, 0, 0], [0, 2, 4])
    np.testing.assert_array_equal(table[:, 1, 1], [7, 9, np.nan])
    assert cut_blocks(np.zeros((6, 1)), 3).shape == (3, 2, 1)


def test_neighbours_that_go_along_make_the_sum_of_squares_larger_and_those_that_alternate_do_not() -> None:
    assert correlated_square_sum(np.array([1.0, 1.0, -1.0, -1.0])) == 4.0 + 2 * 1.0
    assert correlated_square_sum(np.array([1.0, -1.0, 1.0, -1.0])) == 4.0


def test_blocks_do_not_cross_segments_and_have_medians_of_what_is_known() -> None:
    first = block_starts(np.array([0, 0, 0, 1, 1]), 2)
    np.testing.assert_array_equal(first, [0, 2, 3])
    values = np.array([[1.0], [3.0], [np.nan], [5.0], [np.nan]])
    np.testing.assert_array_equal(block_medians(values, first), [[2.0], [np.nan], [5.0]])
