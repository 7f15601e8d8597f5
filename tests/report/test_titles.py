"""Titles of findings say what to do, and what that would bring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from condyle import read_skeleton
from condyle.findings import CODES, Finding
from condyle.report.titles import entitle, name_cause
from condyle.result.coverage import foresee_half
from tests.make.fitted import fitted, take


@pytest.fixture(scope="module")
def skeleton(tmp_path_factory: pytest.TempPathFactory):
    return read_skeleton(fitted(tmp_path_factory.mktemp("fit"), take()))


def wide(name: str) -> Finding:
    return Finding("wide-interval", "warning", f"{name}: its centre is known poorly; move it more", (name,))


def test_a_joint_that_is_known_poorly_is_told_with_the_motion_and_what_it_brings(skeleton) -> None:
    joint = skeleton.joints[0]
    turned = joint.rotation * [1.0, 0.1, 0.1]
    poor = replace(joint, covariance=joint.covariance * 1e4, rotation=turned, passing=0.99)
    found = foresee_half(poor, 20.0)
    assert found is not None
    seconds, half = found
    assert half <= poor.half_width / 2
    told = entitle(wide(poor.child), replace(skeleton, joints=(poor, *skeleton.joints[1:]), take={"seconds": 20.0}))[0]
    assert f" {seconds:.0f} s: {1000 * poor.half_width:.0f} to " in told
    assert told[0].isupper()


def test_an_error_that_repeats_with_the_motion_promises_nothing(skeleton) -> None:
    poor = replace(skeleton.joints[0], passing=0.1)
    assert foresee_half(poor, 20.0) is None
    told = entitle(wide(poor.child), replace(skeleton, joints=(poor,)))[0]
    assert "in other ways" in told


def test_what_the_text_ends_with_is_the_title(skeleton) -> None:
    finding = Finding("latency", "warning", "a: reports late by 20 ms; give it a clock of its own", ("a",))
    assert entitle(finding, skeleton) == ("a: give it a clock of its own", "a: reports late by 20 ms")


def test_an_assumed_unit_is_titled_by_what_to_do(skeleton) -> None:
    text = (
        "the file does not say its unit of length; m gives sizes that a person or a machine has. A wrong unit: --unit"
    )
    finding = Finding("unit-assumed", "warning", text, value=1.0, unit="m")
    assert entitle(finding, skeleton) == ("Give the unit with --unit", text)


def test_an_edge_that_names_speak_against_is_not_moved_but_looked_at(skeleton) -> None:
    names = (
        "a - b or not joined: their names say that they are no neighbours; look whether sensors or names are exchanged"
    )
    move = "a - b or b - c: the motion does not tell which; move these joints more; give the edge with --tree"
    told = [entitle(Finding("rivals", "warning", text, ("a", "b")), skeleton)[0] for text in (names, move)]
    assert told == ["Look whether sensors or names are exchanged", "Move a and b against each other"]


@pytest.mark.parametrize("code", sorted(CODES))
def test_no_title_is_a_raw_code(skeleton, code: str) -> None:
    for severity in ("info", "warning", "error"):
        title, _ = entitle(
            Finding(code, severity, "what was seen; what to do", ("a", "b"), value=0.01, unit="m"), skeleton
        )
        assert title
        assert code not in title or "-" not in code
    assert name_cause(Finding(code, "info", "")) == name_cause(Finding(code, "info", "other"))
