from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle import UsageError
from tests.make import machines, walkers


def test_the_export_has_the_tables_of_the_fit(tmp_path: Path) -> None:
    fit = machines.fitted("ur5")
    written = fit.export("dh", tmp_path, name="arm")
    assert [file.name for file in written.files] == ["arm-dh.json", "arm-dh.csv"]
    (chain,) = json.loads(written.files[0].read_text())["chains"]
    np.testing.assert_array_equal(
        [[row[name] for name in ("alpha", "a", "d", "theta0")] for row in chain["modified_dh"]], fit.axes()[0].modified
    )


def test_a_figure_without_axes_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    fit = walkers.fitted(1, "walk", 10.0, True)
    with pytest.raises(UsageError, match="no joint turns about one axis"):
        fit.export("bvh,dh", tmp_path / "out")
    assert not (tmp_path / "out").exists()
