"""Medians without NaN, against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.robust import median


@pytest.mark.parametrize("rows", [1, 2, 7, 50])
def test_it_equals_numpys_median_without_nan(rows: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal((rows, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[0] = 1.0
    assert median(values) == pytest.approx(np.nanmedian(values, axis=0), abs=0)
    assert float(median(values[:, 0])) == np.nanmedian(values[:, 0])


def test_a_column_without_numbers_and_an_empty_table_give_zero() -> None:
    assert median(np.full((3, 2), np.nan)).tolist() == [0, 0]
    assert median(np.empty((0, 2))).tolist() == [0, 0]
