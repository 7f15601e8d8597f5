"""condyle profile, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle import write_skeleton
from condyle.cli import main
from condyle.io.profile_file import read_profile
from tests.make.performers import fit_chain


@pytest.fixture
def fits(tmp_path: Path) -> list[str]:
    """Folders of two mountings of one performer."""
    folders = []
    for seed in (1, 2):
        folder = tmp_path / f"fit{seed}"
        folder.mkdir()
        write_skeleton(folder / "skeleton.json", fit_chain(seed))
        folders.append(str(folder))
    return folders


def test_fits_become_a_performer(fits: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "performer.json")
    assert main(["profile", fits[0], "-o", out]) == 0
    assert main(["profile", out, fits[1], "-o", out]) == 0  # fits add to it
    text = capsys.readouterr().out
    assert "2 lengths from 2 mountings, 2 fits" in text
    assert "95 % interval" in text
    assert read_profile(out).mountings == 2


def test_json_is_the_file_with_the_findings(
    fits: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "performer.json"
    assert main(["profile", *fits, "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.pop("findings") == []
    assert told == json.loads(out.read_text())


def test_what_is_no_fit_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(tmp_path / "nothing"), "-o", str(tmp_path / "p.json")]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "p.json").exists()
