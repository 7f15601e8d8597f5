from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from condyle.estimate.edge_blocks import Blocks, long_run


def test_correlation_in_time_makes_a_mean_less_sure_whatever_the_unit(rng) -> None:
    white = rng.normal(size=(600, 3))
    slow = np.apply_along_axis(np.convolve, 0, white, np.ones(12) / 12, "same")
    run = np.zeros(600, np.int64)
    assert long_run(white, 1 / 6, run) == pytest.approx(1.0, abs=0.5)
    assert long_run(slow, 1 / 6, run) > 4
    assert long_run(1e-4 * slow, 1 / 6, run) == pytest.approx(long_run(slow, 1 / 6, run))
    assert long_run(slow, 1 / 6, np.arange(600)) == 1.0  # every block a segment of its own
    assert long_run(np.zeros((600, 3)), 1 / 6, run) == 1.0


def test_differences_are_within_segments_over_the_lag_or_all_there_is() -> None:
    Z = np.arange(15.0)[:, None] ** 2
    for lag, steps in ((2, 2), (9, 4), (0, 1)):
        few = SimpleNamespace(count=5, run=np.zeros(5), count_blocks=lambda seconds: round(seconds))
        D = np.kron(np.eye(5)[steps:] - np.eye(5)[: 5 - steps], np.eye(3))
        change, back = Blocks.differences(few, Z, lag)
        np.testing.assert_allclose(change, D @ Z)
        np.testing.assert_allclose(back, D.T @ D @ Z)


def test_what_is_correlated_in_time_counts_by_its_neighbours_within_a_second(rng: np.random.Generator) -> None:
    left = np.cumsum(rng.standard_normal((60, 2)), axis=0)
    left -= left.mean(axis=0)
    run = np.repeat([0, 1], 30)
    total = 1.0
    for k in (1, 2, 3, 4):  # blocks of a quarter of a second
        pairs = [left[t] @ left[t + k] for t in range(60 - k) if run[t] == run[t + k]]
        total += 2 * (1 - k / 5) * sum(pairs) / np.square(left).sum()
    assert long_run(left, 0.25, run) == pytest.approx(total)
    assert long_run(np.tile([[1.0], [-1.0]], (30, 1)), 0.25, run) == 1.0
