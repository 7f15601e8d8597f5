from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.make import machines, walkers


def test_the_export_has_the_tables_of_the_fit(tmp_path: Path) -> None:
    fit = machines.fitted("ur5")
    written = fit.export("dh", tmp_path, name="arm")
    assert [file.name for file in written.files] == ["arm.dh.json", "arm.dh.csv"]
    (chain,) = json.loads(written.files[0].read_text())["chains"]
    np.testing.assert_array_equal(
        [[row[name] for name in ("alpha", "a", "d", "theta0")] for row in chain["modified_dh"]], fit.axes()[0].modified
    )


def test_a_figure_without_axes_has_an_empty_table_and_is_told(tmp_path: Path) -> None:
    written = walkers.fitted(1, "walk", 10.0, True).export("dh", tmp_path)
    assert json.loads(written.files[0].read_text())["chains"] == []
    assert [(told.code, told.severity) for told in written.findings] == [("no-axes", "warning")]
    assert "no joint turns about one axis" in written.findings[0].text


@pytest.mark.costly
def test_all_formats_leave_it_out_where_no_joint_has_an_axis(tmp_path: Path) -> None:
    written = walkers.fitted(1, "walk", 10.0, True).export("all", tmp_path)
    assert not [file.name for file in written.files if ".dh." in file.name]
    assert "no-axes" not in {told.code for told in written.findings}
    assert any(".dh." in file.name for file in machines.fitted("ur5").export("all", tmp_path / "arm").files)
