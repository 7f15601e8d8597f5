from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import Take
from condyle.maths import rotation
from condyle.motion.bridging import bridge_line, bridge_turn, describe_gaps, find_lone_runs, find_nearest_known


def take(frames: int, segment: np.ndarray | None = None, step: float = 0.05) -> Take:
    shape = (frames, 1)
    eye = np.tile(np.eye(3), (*shape, 1, 1))
    return Take(("a",), np.arange(frames) * step, eye, np.zeros((*shape, 3)), segment)


def test_a_gap_is_closed_along_the_shortest_arc_in_the_measure_of_time() -> None:
    uneven = Take(("a",), [0.0, 0.01, 0.09, 0.1], np.tile(np.eye(3), (4, 1, 1, 1)), np.zeros((4, 1, 3)))
    R = rotation.from_vector(np.outer([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5]))
    R[1:3] = np.nan
    closed, filled, left = bridge_turn(uneven, R, 0.1)
    np.testing.assert_allclose(rotation.angle(closed), [0.0, 0.05, 0.45, 0.5], atol=1e-12)
    assert filled.tolist() == [False, True, True, False]
    assert not left.any()
    p = np.array([[0.0, 0, 0], [np.nan] * 3, [np.nan] * 3, [1.0, 2.0, 0]])
    np.testing.assert_allclose(bridge_line(uneven, p, filled)[1:3, 1], [0.2, 1.8])


@pytest.mark.parametrize(("longest", "closed"), [(0.149, False), (0.15, True)])
def test_a_gap_is_as_long_as_its_neighbours_are_apart(longest: float, closed: bool) -> None:
    R = np.tile(np.eye(3), (6, 1, 1))
    R[2:4] = np.nan
    assert np.isfinite(bridge_turn(take(6), R, longest)[0]).all() == closed


def test_runs_are_alone_only_between_others_of_their_segment() -> None:
    bad = np.array([1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1], bool)[:, None]
    assert np.flatnonzero(find_lone_runs(take(11), bad, 0.1)).tolist() == [2]
    assert np.flatnonzero(find_lone_runs(take(11), bad, 0.3)).tolist() == [2, 5, 6, 7, 8]
    parts = np.array([0] * 3 + [1] * 8)
    assert np.flatnonzero(find_lone_runs(take(11, parts), bad, 0.1)).tolist() == []


def test_the_nearest_known_frame_is_before_then_after_then_anywhere() -> None:
    known = np.array([0, 1, 0, 0, 0, 1, 0], bool)
    segment = np.array([0, 0, 0, 1, 1, 1, 2])
    assert find_nearest_known(known, segment).tolist() == [1, 1, 1, 5, 5, 5, 5]
    assert find_nearest_known(np.zeros(3, bool), np.zeros(3, np.int64)).tolist() == [-1, -1, -1]


def test_gaps_are_told_by_body_with_frame_count_and_seconds() -> None:
    frames = np.zeros((10, 1), bool)
    frames[[3, 4, 8]] = True
    (finding,) = describe_gaps(take(10), frames, "gap-left")
    assert (finding.bodies, finding.frame, finding.count, finding.unit) == (("a",), 3, 3, "s")
    assert finding.value == pytest.approx(0.15)
    assert finding.time == pytest.approx((0.15, 0.4))
    assert describe_gaps(take(10), np.zeros((10, 1), bool), "gap-left") == []


def test_a_gap_lasts_no_longer_than_its_segment() -> None:
    frames = np.zeros((10, 1), bool)
    frames[3:6] = True
    parts = replace(
        take(10, np.array([0] * 3 + [1] * 3 + [2] * 4)), time=np.arange(10) * 0.05 + np.arange(10) // 3 * 60
    )
    (finding,) = describe_gaps(parts, frames, "gap-left")
    assert finding.value == pytest.approx(0.1)
