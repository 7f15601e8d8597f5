from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from condyle.cli import main
from tests.make.studies import write_small_take


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


def test_where_nothing_moved_it_is_told_what_turned_by_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_small_take(tmp_path / "still.npz", 0, "still")
    assert main(["fit", str(tmp_path / "still.npz"), "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["coverage", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert "a joint is located where two bodies turn by 5 deg rms or more, about two axes\n" in text
    assert len(re.findall(r"^\w+ +\w+ +[0-4]\.\d$", text, re.M)) == 4
    (tmp_path / "out" / "motion.npz").unlink()
    assert main(["coverage", str(tmp_path / "out")]) == 0
    assert "turned most against" not in capsys.readouterr().out


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
