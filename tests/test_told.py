"""What many bodies share is told in one line."""

from __future__ import annotations

from condyle.findings import Finding, merge_findings


def test_findings_that_many_share_become_one_and_others_stay() -> None:
    gaps = [
        Finding("missing-samples", "info", f"{name} is missing", (name,), count=k) for k, name in enumerate("abc", 1)
    ]
    slip = Finding("slip", "warning", "it slipped", ("a",))
    one, other = merge_findings([slip, *gaps])
    assert one is slip
    assert (other.bodies, other.count) == (("a", "b", "c"), 6)
    assert other.text.endswith("a 1, b 2, c 3")


def test_two_are_not_many() -> None:
    two = [Finding("hinge", "info", f"{name} is a hinge", (name,)) for name in "ab"]
    assert merge_findings(two) == two


def test_another_severity_is_told_apart() -> None:
    kinds = ("info", "info", "warning")
    mixed = [Finding("outliers", kind, "text", (name,), count=1) for name, kind in zip("abc", kinds, strict=True)]
    assert merge_findings(mixed) == mixed
