from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle.cli import main
from condyle.prepare.read import read

EXACT = 1e-12  # m, joints of an exact recording
SHORT = ["--seconds", "2", "--figure", "linkage"]


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.parametrize("motion", ["exercise", "walk", "still"])
def test_the_truth_beside_a_recording_joins_its_bodies(tmp_path: Path, suffix: str, motion: str) -> None:
    path = tmp_path / f"a{suffix}"
    words = ["simulate", str(path), "--motion", motion, "--seconds", "2", "--figure", "human"]
    assert main(words) == 0
    take, truth = read(path), json.loads((tmp_path / "a.truth.json").read_text())
    assert list(take.names) == truth["bodies"]
    assert len(truth["joints"]) == len(truth["bodies"]) - len(truth["roots"])
    for joint in truth["joints"]:
        i, j = take.index(joint["child"]), take.index(joint["parent"])
        child = take.R_world_body[:, i] @ joint["p_child_joint"] + take.p_world_body[:, i]
        parent = take.R_world_body[:, j] @ joint["p_parent_joint"] + take.p_world_body[:, j]
        np.testing.assert_allclose(child, parent, atol=EXACT)
    lengths = {limb["body"]: limb["length"] for limb in truth["limbs"]}
    assert lengths["l_thigh"] == pytest.approx(0.432)


def test_the_same_seed_gives_the_same_recording_and_another_seed_another(tmp_path: Path) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert main(["simulate", str(tmp_path / f"{name}.npz"), *SHORT, "--seed", seed, "--position-noise", "1"]) == 0
    a, b, c = (read(tmp_path / f"{name}.npz").p_world_body for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_noise_is_given_in_millimetres_and_degrees(tmp_path: Path) -> None:
    main(["simulate", str(tmp_path / "a.npz"), *SHORT])
    main(["simulate", str(tmp_path / "b.npz"), *SHORT, "--position-noise", "3"])
    error = read(tmp_path / "b.npz").p_world_body - read(tmp_path / "a.npz").p_world_body
    assert error.std() == pytest.approx(0.003, rel=0.1)
    main(["simulate", str(tmp_path / "b.npz"), *SHORT, "--orientation-noise", "2", "--missing", "10"])
    take = read(tmp_path / "b.npz")
    assert 0 < 1 - take.seen.mean() < 0.4
    facts = json.loads((tmp_path / "b.truth.json").read_text())["simulation"]["disturbances"]
    assert facts["orientation_noise"] == pytest.approx(np.radians(2))


def test_json_tells_the_files_and_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.npz"
    assert main(["simulate", str(path), *SHORT, "--json", "--latency", "head=12.5"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["take"] == str(path)
    assert facts["truth"] == str(tmp_path / "a.truth.json")
    assert facts["simulation"]["disturbances"]["latency"] == {"head": 0.0125}


@pytest.mark.parametrize(
    "words",
    [
        ["a.txt"],
        ["a.npz", "--seconds", "0"],
        ["a.npz", "--rate", "inf"],
        ["a.npz", "--missing", "150"],
        ["a.npz", "--latency", "head"],
        ["a.npz", "--position-noise", "-1"],
        ["a.npz", "--figure", "horse"],
    ],
)
def test_wrong_usage_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *words]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(tmp_path / "none" / "a.npz"), *SHORT]) == 1
    assert "does not exist" in capsys.readouterr().err
