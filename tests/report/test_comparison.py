"""A comparison in words and as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from condyle.report.comparison import describe_comparison, list_lengths, write_comparison
from condyle.result.compare import compare_figures
from tests.make.performers import fit_chain, open_last


def test_the_sentences_say_what_differs(tmp_path: Path) -> None:
    cut = replace(fit_chain(1), joints=fit_chain(1).joints[:1], limbs=())
    found = compare_figures([fit_chain(1), cut], ["<a>", "b"])
    told = describe_comparison(found)
    assert told[0].startswith("The trees differ")
    assert told[1] == "No length is told by two of them."
    heads, rows = list_lengths(found)
    assert heads[2:4] == ["<a> mm", "b mm"]
    assert all(row[3] is None for row in rows)
    write_comparison(tmp_path / "page.html", found)
    page = (tmp_path / "page.html").read_text()
    assert "<a>" not in page  # names cannot act on the page
    assert "&lt;a&gt;" in page
    assert "<svg" not in page


def test_a_length_to_an_axis_is_not_compared_with_one_to_a_centre() -> None:
    found = compare_figures([fit_chain(1), open_last(fit_chain(2))], ["rom", "walk"])
    last = fit_chain(1).joints[-1]
    (told,) = [one for one in describe_comparison(found) if "at its axis" in one]
    assert told.startswith(f"On {last.parent} a length")
    _, rows = list_lengths(found)
    of_last = [row for row in rows if row[0] == last.parent]
    assert sorted("(axis)" in str(row[1]) for row in of_last) == [False, True]
    assert all(row[-1] is None for row in of_last)


def test_lengths_of_one_fit_are_said_to_prove_nothing() -> None:
    fit = replace(fit_chain(1), fit_id="a")
    told = describe_comparison(compare_figures([fit, fit], ["walk", "rom"]))
    assert any("walk and rom may have lengths in common" in sentence for sentence in told)
    assert not any("Test-retest" in sentence for sentence in told)
