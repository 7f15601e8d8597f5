"""live/show.py: the page of a solve."""

from __future__ import annotations

from condyle.live.show import find_bones, show_calibration
from condyle.model.options import FitOptions
from condyle.pipeline import run
from tests.make.sessions import person


def test_a_solve_is_shown_as_a_report_is_but_for_its_motion() -> None:
    found = run(person(seconds=8), FitOptions())
    shown = show_calibration(found, find_bones(found))
    assert shown.up == "z"
    assert all(low < high for low, high in zip(shown.low, shown.high, strict=True))
    assert len(shown.page.joints) == len(found.skeleton.joints)
    assert shown.page.motion is None
    assert all(0 < joint.p50 <= joint.p95 <= joint.largest for joint in shown.page.joints)
