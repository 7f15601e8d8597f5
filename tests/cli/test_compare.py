"""condyle compare, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle import write_skeleton
from condyle.cli import main
from tests.make.performers import fit_chain


@pytest.fixture
def fits(tmp_path: Path) -> list[str]:
    """Folders: two takes of one mounting, and another person."""
    folders = []
    for name, skeleton in (("a", fit_chain(1)), ("b", fit_chain(1, 1)), ("c", fit_chain(2, longer=1.1))):
        (tmp_path / name).mkdir()
        write_skeleton(tmp_path / name / "skeleton.json", skeleton)
        folders.append(str(tmp_path / name))
    return folders


def test_two_fits_side_by_side(fits: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *fits[:2]]) == 0
    text = capsys.readouterr().out
    assert "The same tree in all 2." in text
    assert "standard error of measurement" in text
    assert "apart / interval" in text


def test_lengths_that_disagree_count_under_strict(fits: list[str], tmp_path: Path) -> None:
    assert main(["compare", fits[0], fits[2], "--strict", "-o", str(tmp_path / "page.html")]) == 3
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "http" not in page


def test_json_has_the_same_facts(fits: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *fits, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["mountings"] == [0, 0, 1]
    assert set(told["agreement"]) == {"lengths", "sem", "icc", "bias", "limits"}


def test_one_alone_is_one_sentence(fits: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", fits[0]]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
