from __future__ import annotations

from pathlib import Path

import pytest

from condyle.io.motion_file import open_motion
from condyle.report.axes import show_chains
from condyle.report.shown import choose_packing
from tests.make import machines, walkers


def test_the_page_has_the_tables_of_a_machine_and_none_of_a_person(tmp_path: Path) -> None:
    fit = machines.fitted("ur5").save(tmp_path / "robot", report=False)
    (shown,) = show_chains(fit.skeleton, choose_packing(open_motion(tmp_path / "robot", fit.skeleton)))
    (chain,) = fit.axes()
    assert shown.still
    assert [fit.skeleton.bodies[row.outer] for row in shown.rows] == [row.outer for row in chain.rows]
    for row, true in zip(shown.rows[1:], chain.rows[1:], strict=True):
        assert true.distance is not None
        assert row.lie == true.lie
        assert row.distance.value == pytest.approx(true.distance.value, abs=1e-4)  # its poses are packed
    person = walkers.fitted(1, "walk", 10.0, True).save(tmp_path / "person", report=False)
    assert show_chains(person.skeleton, choose_packing(open_motion(tmp_path / "person", person.skeleton))) == ()
