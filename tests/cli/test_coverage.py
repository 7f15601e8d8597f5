from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle.cli import main


def test_the_verdict_is_the_status_and_the_rows_tell_why(noisy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide, narrow = (main(["coverage", str(noisy), "--strict", "--width", width]) for width in ("100", "0.01"))
    text = capsys.readouterr().out
    assert (wide, narrow) == (0, 3)
    assert text.count("Joints\n") == text.count("Lengths\n") == 2


def test_the_json_has_verdict_joints_and_lengths(noisy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(noisy / "skeleton.json"), "--width", "100", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"] == "enough"
    assert len(facts["joints"]) == 3
    assert {row["verdict"] for row in facts["limbs"]} == {"enough"}


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
