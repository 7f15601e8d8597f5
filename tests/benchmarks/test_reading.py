"""The short form of benchmarks/reading.py: a table of numbers is read faster than by pandas, as much as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.reading import RATE, measure, recorded_read
from benchmarks.speed import recording

import condyle
from condyle.io.formats import read_recording


def test_csv_is_not_read_a_third_slower_against_pandas_than_it_was(tmp_path: Path) -> None:
    """CPU time in turn, the least of some rounds: what else the machine does counts little."""
    pandas = pytest.importorskip("pandas")
    path, take = tmp_path / "take.csv", recording(16, 20, RATE, 1).take
    condyle.write_take(path, take)
    parts = {"pandas": lambda: pandas.read_csv(path, comment="#"), "read": lambda: read_recording(path)}
    most = 1.5 * recorded_read("condyle CSV", "pandas")
    spent = (measure(parts, 3) for _ in range(3))
    assert any(one["read"] < most * one["pandas"] for one in spent)
    bodies = read_recording(path).bodies
    assert bodies is not None
    np.testing.assert_array_equal(bodies.position, take.p_world_body)
