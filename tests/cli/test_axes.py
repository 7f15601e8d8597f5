from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle.cli import main
from tests.make import machines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("axes") / "fit"
    machines.fitted("panda").save(out, report=False)
    return out


def test_tables_are_printed_with_their_intervals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["axes", str(folder)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("7 axes from link0 to link7; the table plays the recording within")
    assert "base link0: it stands still" in said
    for title in ("modified DH (Craig)", "standard DH", "product of exponentials"):
        assert title in said
    row = next(line for line in said.splitlines() if line.startswith("link3  hinge  link2  link3"))
    assert "meet" in row
    assert "(0.0" in row


def test_facts_and_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["axes", str(folder), "--base", "link2", "--tool", "link6", "--zero", "3", "--flip", "link4, link5"]
    assert main([*words, "--to", "csv,json", "-o", str(tmp_path / "out"), "--name", "arm", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [Path(file).name for file in facts["files"]] == ["arm.json", "arm.csv"]
    assert [row["joint"] for row in facts["chains"][0]["axes"]] == ["link3", "link4", "link5", "link6"]
    written = json.loads((tmp_path / "out" / "arm.json").read_text())
    assert written["chains"] == facts["chains"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "xml"], "no format 'xml' for axes"),
        (["-o", "somewhere"], "-o is for files; say which with --to"),
        (["--base", "hand"], "no body named 'hand' for the base"),
        (["--zero", "-1"], "no frame at -1 s"),
        (["--flip", "hand"], "no joint named 'hand'"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["axes", str(folder), *words]) == 2
    assert said in capsys.readouterr().err
