from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from condyle.io.axes_file import CSV_COLUMNS, to_csv, to_facts, write_axes
from tests.make import machines


def test_the_json_holds_every_table_in_metres_and_radians() -> None:
    (chain,) = machines.fitted("ur5").axes()
    facts = json.loads(json.dumps(to_facts([chain], "abc"), allow_nan=False))
    assert facts["format"] == "condyle.axes"
    assert facts["fit_id"] == "abc"
    (one,) = facts["chains"]
    rows = [[row[name] for name in ("alpha", "a", "d", "theta0")] for row in one["modified_dh"]]
    np.testing.assert_array_equal(rows, chain.modified)
    rows = [[row[name] for name in ("theta0", "d", "a", "alpha")] for row in one["standard_dh"]]
    np.testing.assert_array_equal(rows, chain.standard)
    np.testing.assert_array_equal(one["product_of_exponentials"]["screws"], chain.screws)
    meets = one["axes"][1]["distance"]
    assert meets["value"] == 0
    assert meets["low"] < meets["free"] < meets["high"]


def test_the_csv_has_a_row_for_every_joint_in_mm_and_degrees() -> None:
    (chain,) = machines.fitted("ur5").axes()
    lines = to_csv([chain, chain], None).decode().splitlines()
    assert sum(line.startswith("#") for line in lines) == 3
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row["chain"] for row in rows] == ["1"] * 6 + ["2"] * 6
    assert rows[0]["distance_mm"] == ""
    assert float(rows[2]["mdh_a_mm"]) == pytest.approx(425, abs=0.3)
    assert float(rows[1]["dh_a_mm"]) == float(rows[2]["mdh_a_mm"])


def test_names_cannot_break_the_lines_of_a_csv() -> None:
    fit = machines.fitted("planar")
    (chain,) = fit.axes()
    chain = chain.__class__(**{**vars(chain), "base": "a\nb"})
    assert to_csv([chain], None).decode().splitlines()[1].startswith("# chain 1: a b to link4")


def test_only_the_formats_that_are_asked_for_are_written(tmp_path: Path) -> None:
    chains = machines.fitted("planar").axes()
    assert [file.name for file in write_axes(tmp_path, "axes", chains, ("csv",), None)] == ["axes.csv"]
