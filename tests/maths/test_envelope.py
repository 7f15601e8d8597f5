"""maths/envelope.py: the line below points, against a linear programme, and bent where the points bend."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from condyle.maths.envelope import LowerHull, edge_over, lower_line, merge_hulls


def hull_of(x: np.ndarray, y: np.ndarray) -> LowerHull:
    hull = LowerHull()
    for one in zip(x.tolist(), y.tolist(), strict=True):
        hull.add(*one)
    return hull


@pytest.mark.parametrize("count", [2, 5, 300])
def test_the_edge_over_the_mean_is_the_line_of_a_linear_programme(count: int, rng: np.random.Generator) -> None:
    x = np.sort(rng.uniform(0, 100, count))
    y = 3 + 0.01 * x + rng.exponential(0.5, count)
    middle = float(x.mean())
    height, slope = hull_of(x, y).line_below(middle)
    best = linprog([-1.0, 0.0], np.c_[np.ones(count), x - middle], y, bounds=[(None, None)] * 2)
    assert height == pytest.approx(best.x[0], abs=1e-6)
    assert (height + slope * (x - middle) <= y + 1e-9).all()


def test_one_point_gives_a_level_line_and_none_of_a_repeated_x_but_the_lowest_counts() -> None:
    hull = hull_of(np.array([1.0]), np.array([5.0]))
    assert hull.line_below(9.0) == (5.0, 0.0)
    hull.add(1.0, 6.0)
    hull.add(1.0, 4.0)
    hull.add(0.5, 0.0)
    assert (hull.x, hull.y) == ([1.0], [4.0])
    assert edge_over([0.0, 1.0], [0.0, 2.0], 5.0) == (10.0, 2.0)


def test_hulls_one_behind_the_other_merge_to_the_hull_of_all(rng: np.random.Generator) -> None:
    x, y = np.arange(300.0), rng.exponential(1.0, 300)
    parts = [hull_of(x[k : k + 50], y[k : k + 50]) for k in range(0, 300, 50)]
    whole, merged = hull_of(x, y), merge_hulls(parts)
    assert (merged.x, merged.y) == (whole.x, whole.y)


def test_a_bent_drift_is_followed_in_blocks_and_a_straight_one_exactly(rng: np.random.Generator) -> None:
    x = np.arange(0, 3600, 0.05)
    bent = 1e-4 * x + 3e-8 * x**2  # 100 to 316 ppm over an hour
    delay = rng.exponential(0.004, len(x))
    assert np.abs(lower_line(x, bent + delay, 300.0) - bent).max() < 0.001
    assert np.abs(lower_line(x, bent + delay, np.inf) - bent).max() > 0.02
    assert np.abs(lower_line(x[:1000], 7 + 1e-4 * x[:1000], 300.0) - 7 - 1e-4 * x[:1000]).max() < 1e-12
    assert lower_line(np.empty(0), np.empty(0), 1.0).shape == (0,)


def test_there_are_no_more_blocks_than_points_however_far_they_are_apart() -> None:
    x = np.array([0.0, 1.0, 2.0, 1e29])
    np.testing.assert_allclose(lower_line(x, np.ones(4), 1.0), 1.0)


def test_times_that_hardly_differ_have_no_slope() -> None:
    x = np.array([0.0, 1e-320])
    assert edge_over(x.tolist(), [1e9, 1e9 + 1], 0.0) == (1e9, 0.0)
    assert lower_line(x, np.array([1e9, 1e9 + 1]), 60.0).tolist() == [1e9, 1e9]
