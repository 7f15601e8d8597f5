"""Tables in the paper's layout, and what is summed up from them."""

from __future__ import annotations

import pytest
from benchmarks.paper import tables
from benchmarks.paper.published import Row

ROWS = (Row("Arm", 30.0, (30.5, 29.0), (-0.5, 1.0)), Row("Leg", 40.0, (40.0, 42.0), (0.0, -2.0)))
OURS = [[0.1, -0.2], [None, 0.04]]  # cm


def test_a_length_has_the_papers_line_and_ours_below_it() -> None:
    lines = tables.paper_table(ROWS, {"default": OURS}, ["Set 1", "Set 2"]).splitlines()
    assert lines[0] == "|  |  | Meas. | Set 1 | Set 2 |"
    assert lines[2] == "| **Arm** | paper | 30.0 | 30.5 | 29.0 |"
    assert lines[3] == "|  | default |  | 30.1 | 29.8 |"
    assert lines[5] == "|  | default |  | - | 40.0 |"


def test_the_summary_has_means_of_absolute_differences_and_the_largest() -> None:
    lines = tables.summary(ROWS, {"default": [OURS, [[0.3, 0.0], [0.0, 0.0]]]}).splitlines()
    assert lines[2] == "| paper | 0.75 | 1.00 | 1.15 | 2.0 |"
    assert lines[3].startswith("| default | 0.15 | 0.01 | ")
    assert lines[3].endswith("| 0.25 |")  # the mean of 0.2 and 0.3


def test_rms_and_largest_leave_out_what_was_not_told() -> None:
    assert tables.rms_of([OURS]) == pytest.approx(((0.01 + 0.04 + 0.0016) / 3) ** 0.5)
    assert tables.largest_of([OURS]) == pytest.approx(0.2)
    assert tables.published_rms(ROWS) == pytest.approx((5.25 / 4) ** 0.5)
    assert tables.published_largest(ROWS) == 2.0
