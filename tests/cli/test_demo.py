"""condyle demo, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle import read_skeleton
from condyle.cli import main


def test_demo_recovers_what_it_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "-o", str(out), "--no-report"]) == 0
    text = capsys.readouterr().out
    assert "true mm" in text
    assert "intervals hold the true length" in text
    assert {path.name for path in out.iterdir()} == {
        "take.npz", "truth.json", "skeleton.json", "motion.npz", "manifest.json", "options.toml",
    }  # fmt: skip
    truth = json.loads((out / "truth.json").read_text())
    skeleton = read_skeleton(out)
    assert {frozenset((j["child"], j["parent"])) for j in truth["joints"]} == {
        frozenset((j.child, j.parent)) for j in skeleton.joints
    }


@pytest.mark.costly
def test_demo_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "-o", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert set(facts) == {"skeleton", "truth"}


@pytest.mark.costly
def test_a_fit_into_the_same_folder_leaves_the_recording(tmp_path: Path) -> None:
    assert main(["demo", "-o", str(tmp_path), "--no-report"]) == 0
    assert main(["fit", str(tmp_path / "take.npz"), "-o", str(tmp_path), "--no-report", "--no-intervals"]) == 0
    assert {"take.npz", "truth.json"} <= {path.name for path in tmp_path.iterdir()}
