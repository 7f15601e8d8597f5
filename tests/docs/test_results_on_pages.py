"""Numbers of accuracy on the pages are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pages import DOCS
from .results import RESULTS, cut_table, find_cell, pages, read, render


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_tables_of_a_page_are_those_of_the_results(page: Path) -> None:
    assert read(page) == render(page), "run `uv run python -m tests.docs.results`"


def test_pages_with_results_are_found() -> None:
    found = {page.name for page in pages()}
    assert {"README.md", "accuracy.md", "slips.md", "scale.md"} <= found
    assert {"report.md", "performers.md", "long-recordings.md"} <= found


def test_every_table_of_results_is_listed() -> None:
    listed = read(DOCS / "accuracy.md")
    assert all(f"({'../benchmarks/results/'}{path.name})" in listed for path in RESULTS.glob("*.md"))


def test_a_number_in_a_sentence_is_that_of_its_cell(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Right: <!-- cell people Support: 0.95 | default: right -->7<!-- /cell --> edges.")
    told = find_cell("people", "Support", "0.95", "default: right")
    assert render(page) == f"Right: <!-- cell people Support: 0.95 | default: right -->{told}<!-- /cell --> edges."
    assert " of " in told


def test_columns_are_chosen_by_how_their_names_begin() -> None:
    table = cut_table("slips", "Detection", "world | false alarms").splitlines()
    assert table[0] == "| world | false alarms |"
    assert all(line.count("|") == 3 for line in table if line.startswith("|"))


def test_rows_are_chosen_by_how_their_names_begin() -> None:
    table = cut_table("slips", "Detection", "world | false alarms", "white | metal").splitlines()
    assert table[0] == "| world | false alarms |"
    assert {line.split(",")[0] for line in table[2:]} == {"| white", "| metal spots"}


def test_a_row_or_column_that_is_no_longer_there_is_named() -> None:
    for columns, rows in (("world | no such", None), (None, "no such")):
        with pytest.raises(AssertionError, match="'no such' begins none of"):
            cut_table("slips", "Detection", columns, rows)


def test_a_heading_may_be_given_as_far_as_its_colon() -> None:
    assert cut_table("moving_joints", "Drift", "world | none").startswith("| world | none |")
