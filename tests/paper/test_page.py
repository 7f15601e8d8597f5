"""The page and the README hold what is stored, and nothing else."""

from __future__ import annotations

import json
import re

import pytest
from benchmarks.paper import accuracy, page, store


def test_the_page_is_what_the_stored_results_say() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(), "run python -m benchmarks.paper --page"


def test_the_readme_has_the_table_that_the_stored_results_give() -> None:
    shown = accuracy.between(accuracy.README.read_text(encoding="utf-8"))
    assert shown == accuracy.render(), "run python -m benchmarks.paper --page"


@pytest.mark.parametrize("name", list(page.EXPERIMENTS))
def test_every_experiment_is_stored_small_with_its_date_and_versions(name) -> None:
    record = store.load(name)
    assert record is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    assert {"condyle", "python", "numpy"} <= set(record["versions"])
    assert (store.RESULTS / f"{name}.json").stat().st_size < 40_000


def test_figures_of_the_page_are_there_and_small() -> None:
    shown = re.findall(r"\]\(paper/([\w.-]+)\)", page.PAGE.read_text(encoding="utf-8"))
    assert shown
    assert sorted(shown) == sorted(file.name for file in store.FIGURES.iterdir())
    assert max(file.stat().st_size for file in store.FIGURES.iterdir()) < 100_000


def test_what_is_worse_is_said_with_its_reason() -> None:
    worse = store.Rival("length", 2.0, 1.0, "cm", "somebody", "the reason")
    better = store.Rival("angle", 1.0, 2.0, "deg", "somebody", "no reason")
    silent = store.Rival("axis", None, 1.0, "deg", "somebody", "not told")
    said = page.worse([worse, better, silent])
    assert "the reason" in said
    assert "not told" in said
    assert "no reason" not in said
    assert "3 comparisons" in said


def test_nothing_is_worse_without_a_reason() -> None:
    for name, module in page.EXPERIMENTS.items():
        record = store.load(name)
        for rival in module.rivals(record["results"]) if record else ():
            assert rival.why or rival.theirs is None or page.times(rival) <= 1, rival


def test_results_are_stored_rounded_and_come_back(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    store.save("it", {"a": 1.23456789, "b": [float("nan"), 3], "c": {"d" * 60: 1, "e" * 60: 2}}, seed=7)
    text = (tmp_path / "it.json").read_text()
    assert json.loads(text)["results"] == {"a": 1.235, "b": [None, 3], "c": {"d" * 60: 1, "e" * 60: 2}}
    record = store.load("it")
    assert record is not None
    assert "seed 7" in store.made(record)
    assert store.load("other") is None


def test_the_table_of_a_readme_is_put_between_its_marks(tmp_path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{accuracy.BEGIN}\nold\n{accuracy.END}\nafter\n")
    assert accuracy.update(readme)
    text = readme.read_text()
    assert accuracy.between(text) == accuracy.render()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    readme.write_text("no marks\n")
    assert not accuracy.update(readme)
    with pytest.raises(ValueError, match="accuracy"):
        accuracy.between("no marks")
