from __future__ import annotations

import re

import pytest

from condyle.findings import CODES, Finding, count_causes, list_some, merge_findings, sort_findings, worst_severity

INFO, WARNING, ERROR = (Finding("hinge", severity, severity) for severity in ("info", "warning", "error"))  # type: ignore[arg-type]


def test_findings_are_sorted_worst_first_and_stay_in_order_otherwise() -> None:
    other = Finding("no-time", "info", "other")
    assert sort_findings([INFO, other, WARNING, ERROR]) == (ERROR, WARNING, INFO, other)


def test_the_worst_severity_of_nothing_is_none() -> None:
    assert worst_severity([]) is None
    assert worst_severity([INFO]) == "info"
    assert worst_severity([INFO, ERROR, WARNING]) == "error"


def test_an_unlisted_code_is_refused() -> None:
    with pytest.raises(ValueError, match="'nonsense' is not listed"):
        Finding("nonsense", "info", "text")


def test_codes_are_kebab_case_and_explained() -> None:
    for code, words in CODES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert len(words) > 10


def test_a_finding_prints_severity_text_and_code() -> None:
    assert str(WARNING) == "warning: warning [hinge]"


def test_findings_that_many_share_become_one_and_others_stay() -> None:
    gaps = [
        Finding("missing-samples", "info", f"{name} is missing", (name,), count=k) for k, name in enumerate("abc", 1)
    ]
    slip = Finding("slip", "warning", "it slipped", ("a",))
    one, other = merge_findings([slip, *gaps])
    assert one is slip
    assert (other.bodies, other.count) == (("a", "b", "c"), 6)
    assert other.text.endswith("a 1, b 2, c 3")


def test_rounded_quaternions_of_many_sensors_are_one_line() -> None:
    one = [Finding("quaternion-normalised", "info", f"{name}: 3 quaternions", (name,), count=3) for name in "abc"]
    assert [finding.text for finding in merge_findings(one)] == [
        "quaternions were scaled to unit length: a 3, b 3, c 3"
    ]


def test_two_are_not_many() -> None:
    two = [Finding("hinge", "info", f"{name} is a hinge", (name,)) for name in "ab"]
    assert merge_findings(two) == two


def test_another_severity_is_told_apart() -> None:
    kinds = ("info", "info", "warning")
    mixed = [Finding("outliers", kind, "text", (name,), count=1) for name, kind in zip("abc", kinds, strict=True)]
    assert merge_findings(mixed) == [mixed[2], *mixed[:2]]


def test_a_slip_stands_before_the_length_of_the_unit_that_was_taken() -> None:
    slip = Finding("slip", "warning", "", ("b",), value=0.01, unit="m")
    unit = Finding("unit-assumed", "warning", "", value=1.0, unit="m")
    assert merge_findings([unit, slip]) == [slip, unit]


def test_findings_of_one_cause_stand_together_and_count_once_the_most_harmful_first() -> None:
    small, large = (Finding("large-residual", "warning", "", ("a",), value=size, unit="m") for size in (0.002, 0.02))
    slip = Finding("slip", "warning", "", ("b",), value=0.01, unit="m")
    vague = Finding("wide-interval", "warning", "", ("c",), value=0.015, unit="m")
    share = Finding("missing-samples", "warning", "", ("d",), value=0.9, unit="1")
    assert merge_findings([share, small, vague, slip, large]) == [large, slip, small, vague, share]
    edge = Finding("rivals", "warning", "", ("a", "b"), value=0.5, unit="1")
    assert merge_findings([large, edge])[0] == edge
    assert count_causes([small, slip, large, INFO]) == 1
    assert count_causes([share, small, vague, slip, large]) == 3


def test_gaps_that_follow_their_angles_and_wide_intervals_are_one_line_each() -> None:
    follows = [
        Finding("follows-angle", "info", "", (name, "z"), value=size, unit="m")
        for name, size in zip("abc", (0.0012, 0.012, 0.003), strict=True)
    ]
    (one,) = merge_findings(follows)
    assert one.text.startswith("gaps that follow the joint's own angle, mm rms: b 12, c 3, a 1.2; skin")
    wide = [Finding("wide-interval", "warning", "", (name,), value=0.04, unit="m") for name in "abc"]
    (one,) = merge_findings(wide)
    assert one.text == "centres known poorly, move these joints more: a ± 40 mm, b ± 40 mm, c ± 40 mm"


def test_of_many_names_the_first_are_listed() -> None:
    assert list_some(["a", "b"]) == "a, b"
    assert list_some(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert list_some(["a", "b", "c"], 2, ", ...") == "a, b, ..."
