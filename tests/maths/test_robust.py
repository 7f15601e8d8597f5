"""Medians without NaN, against numpy's; scales and weights against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.robust import huber_weight, median, quantile, robust_sd, tukey_weight


@pytest.mark.parametrize("rows", [1, 2, 7, 50])
def test_it_equals_numpys_median_without_nan(rows: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal((rows, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[0] = 1.0
    assert median(values) == pytest.approx(np.nanmedian(values, axis=0), abs=0)
    assert float(median(values[:, 0])) == np.nanmedian(values[:, 0])


@pytest.mark.parametrize("rows", [1, 2, 3, 30, 64, 65, 100])
def test_it_equals_numpys_median_where_all_is_known(rows: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal((rows, 4, 3))
    np.testing.assert_array_equal(median(values), np.median(values, axis=0))


def test_a_column_without_numbers_and_an_empty_table_give_zero() -> None:
    assert median(np.full((3, 2), np.nan)).tolist() == [0, 0]
    assert median(np.empty((0, 2))).tolist() == [0, 0]
    assert median(np.full((3, 2), np.nan), np.inf).tolist() == [np.inf, np.inf]
    assert np.isnan(median(np.empty((0, 2)), np.nan)).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [1, 2, 7, 50])
def test_quantiles_are_numpys_to_the_last_digit(rows: int, kind: type, rng: np.random.Generator) -> None:
    values = rng.standard_normal((rows, 3)).astype(kind)
    for share in (0.0, 0.005, 0.3, 0.5, 0.95, 0.98, 1.0):
        assert quantile(values, share).tolist() == np.quantile(values, [share], axis=0)[0].tolist()
    values[0, 1] = np.nan
    assert np.isnan(quantile(values, 0.5)).tolist() == [False, True, False]


def test_the_standard_deviation_is_a_gaussians_whatever_a_tenth_does(rng: np.random.Generator) -> None:
    values = rng.normal(3.0, 0.2, (20_000, 2))
    values[::10, 1] = 1e6
    middle, sd = robust_sd(values)
    np.testing.assert_allclose(middle, 3.0, atol=0.05)
    np.testing.assert_allclose(sd, [0.2, 0.235], rtol=0.05)


def test_weights_end_at_one_and_fall_from_where_they_are_full() -> None:
    assert tukey_weight(np.array([0.0, 0.5, 1.0, 9.0])).tolist() == [1.0, 0.5625, 0.0, 0.0]
    assert huber_weight(np.array([0.0, 2.0, 4.0, 8.0]), 2.0).tolist() == [1.0, 1.0, 0.5, 0.25]
