from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from condyle.io.exports.take_csv import escape_name, write_take_csv
from condyle.prepare.read import read
from tests.make import moving


def test_poses_time_and_segments_come_back(tmp_path: Path) -> None:
    take = moving.links(seconds=1).take
    segment = np.repeat([0, 1], [10, take.frames - 10])
    take = replace(take, segment=segment).mask(np.arange(take.frames * take.bodies).reshape(take.frames, -1) == 7)
    write_take_csv(tmp_path / "take.csv", take)
    back = read(tmp_path / "take.csv", doctor=False)
    np.testing.assert_array_equal(back.seen, take.seen)
    np.testing.assert_array_equal(back.time, take.time)
    np.testing.assert_array_equal(back.segment, segment)
    np.testing.assert_array_equal(back.p_world_body, take.p_world_body)
    np.testing.assert_allclose(back.R_world_body, take.R_world_body, atol=1e-15)


def test_time_that_was_counted_and_a_single_segment_are_not_written(tmp_path: Path) -> None:
    write_take_csv(tmp_path / "take.csv", replace(moving.links(seconds=1).take, timed=False))
    header = next(line for line in (tmp_path / "take.csv").read_text().splitlines() if not line.startswith("#"))
    assert header.startswith("link0.")


def test_no_name_stands_as_a_formula() -> None:
    assert escape_name("=SUM(A1)") == "'=SUM(A1)"
    assert escape_name("hip") == "hip"
