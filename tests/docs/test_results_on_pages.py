"""Numbers of accuracy on the pages are those that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pages import DOCS
from .results import RESULTS, cut_table, pages, read, render


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_tables_of_a_page_are_those_of_the_results(page: Path) -> None:
    assert read(page) == render(page), "run `uv run python -m tests.docs.results`"


def test_pages_with_results_are_found() -> None:
    assert {"accuracy.md", "slips.md"} <= {page.name for page in pages()}


def test_every_table_of_results_is_listed() -> None:
    listed = read(DOCS / "accuracy.md")
    assert all(f"({'../benchmarks/results/'}{path.name})" in listed for path in RESULTS.glob("*.md"))


def test_columns_are_chosen_by_how_their_names_begin() -> None:
    table = cut_table("slips", "Detection", "world | false alarms").splitlines()
    assert table[0] == "| world | false alarms |"
    assert all(line.count("|") == 3 for line in table if line.startswith("|"))
