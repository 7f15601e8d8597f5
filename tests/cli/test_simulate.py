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


@pytest.mark.costly
def test_what_happens_in_a_recording_is_found_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "a.npz")
    noise = ["--seconds", "30", "--position-noise", "1", "--orientation-noise", "0.3", "--seed", "3"]
    events = ["--slip", "l_thigh:20@15", "--clasp", "l_hand:r_hand@5:14", "--prop", "r_hand@16:28"]
    assert main(["simulate", out, *noise, *events]) == 0
    capsys.readouterr()
    assert main(["fit", out, "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    (slip,) = [one for one in findings if one["code"] == "slip"]
    assert slip["bodies"] == ["l_thigh"]
    assert slip["value"] == pytest.approx(0.02, abs=0.003)
    together = [set(one["bodies"]) for one in findings if one["code"] == "connection"]
    assert {"l_hand", "r_hand"} in together
    assert any("prop" in pair for pair in together)


def test_swapped_sensors_have_each_others_poses_in_that_stretch(tmp_path: Path) -> None:
    main(["simulate", str(tmp_path / "a.npz"), *SHORT, "--seed", "3"])
    names = read(tmp_path / "a.npz").names
    main(["simulate", str(tmp_path / "b.npz"), *SHORT, "--seed", "3", "--swap", f"{names[0]}:{names[2]}@0.5:1"])
    a, b = read(tmp_path / "a.npz"), read(tmp_path / "b.npz")
    inside = (a.time >= 0.5) & (a.time < 1)
    np.testing.assert_array_equal(b.p_world_body[inside][:, [2, 0]], a.p_world_body[inside][:, [0, 2]])
    np.testing.assert_array_equal(b.p_world_body[~inside], a.p_world_body[~inside])
    facts = json.loads((tmp_path / "b.truth.json").read_text())["simulation"]
    assert facts["swap"] == [[[names[0], names[2]], [0.5, 1.0]]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--slip", "l_tigh:20@1"], "no body named 'l_tigh'; did you mean 'l_thigh'"),
        (["--slip", "l_thigh:20"], "'l_thigh:20' is not BODY:MM@S"),
        (["--swap", "l_hand:r_hand@1:90"], "90 s is after the end of the recording at 45 s"),
        (["--swap", "l_hand@1:2"], "'l_hand' is not A:B"),
        (["--prop", "l_hand@2:1"], "'2:1' is not S1:S2"),
        (["--clasp", "l_hand:head@1:2"], "--clasp brings together l_hand:r_hand"),
    ],
)
def test_an_event_that_cannot_be_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(tmp_path / "a.npz"), *words]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
