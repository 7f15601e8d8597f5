"""The page of findings lists every code there is, and no other."""

from __future__ import annotations

import re
from typing import get_args

from condyle.estimate import describe, kinds
from condyle.findings import CODES, Severity
from condyle.model.skeleton import SURE_SUPPORT

from .pages import DOCS, PROJECT, codes, rows, sections

PAGE = DOCS / "findings.md"
TABLES = ("The recording", "Joints", "A known figure", "Structure", "Motion", "Exports")


def listed() -> dict[str, list[str]]:
    """{code: the other cells of its row}."""
    parts = sections(PAGE)
    cells = [row for table in TABLES for row in rows(parts[table])]
    assert len({row[0] for row in cells}) == len(cells), "a code stands twice"
    return {codes(row[0])[0]: row[1:] for row in cells}


def test_every_finding_code_is_on_the_page_and_no_other() -> None:
    assert set(listed()) == set(CODES)


def test_every_finding_has_a_severity_a_meaning_and_an_advice() -> None:
    for code, (severity, meaning, advice) in listed().items():
        assert re.match(rf"({'|'.join(get_args(Severity))})\b", severity), code
        assert len(meaning) > 20, code
        assert advice, code


def test_the_thresholds_on_the_page_are_those_in_the_code() -> None:
    thresholds = {
        "missing-samples": f"{100 * describe.MISSING_WARNING_SHARE:g} %",
        "outliers": f"{100 * describe.OUTLIER_WARNING_SHARE:g} %",
        "large-residual": f"{100 * kinds.LARGE_RESIDUAL_SHARE:g} %",
        "rivals": f"below {SURE_SUPPORT:g}",
        "given-edge-misfit": f"{describe.GIVEN_EDGE_MAX_RATIO:g} times",
    }
    for code, words in thresholds.items():
        assert words in " ".join(listed()[code]), code
    assert (kinds.LARGE_RESIDUAL_NOISE_RATIO, describe.WIDE_INTERVAL_SHARE) == (3.0, 0.1), (
        "the page says three times, a tenth"
    )


def test_every_error_code_is_on_the_page_and_no_other() -> None:
    raised: set[str] = set()
    for module in (PROJECT / "src").rglob("*.py"):
        source = module.read_text(encoding="utf-8")
        raised |= set(re.findall(r'code="([a-z-]+)"', source))
        raised |= set(re.findall(r'_make_fault\(table, .*, "([a-z-]+)", column', source))  # of a cell of a table
    told = [code for row in rows(sections(PAGE)["Errors"]) for code in codes(row[1])]
    assert sorted(told) == sorted(raised)
