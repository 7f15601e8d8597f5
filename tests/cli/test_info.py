from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle.cli import main
from condyle.cli.info import describe_take
from condyle.io.exports import write_take
from condyle.maths import rotation
from condyle.model.take import Take

DEGREES = 1e-9  # rad


def swinging(gap: bool = False) -> Take:
    """One body that swings by 0.2 rad rms about z and moves 3 m along x; another that stays."""
    time = np.arange(200) / 100
    angle = 0.2 * np.sqrt(2) * np.sin(2 * np.pi * time)
    R = np.tile(np.eye(3), (200, 2, 1, 1))
    R[:, 0] = rotation.from_vector(angle[:, None] * np.array([0, 0, 1.0]))
    p = np.zeros((200, 2, 3))
    p[:, 0, 0] = np.linspace(0, 3, 200)
    if gap:
        p[50:100, 1] = np.nan
    return Take.from_poses(p, R_world_body=R, names=["arm", "[red]box\x1b[31m"], time=time)


def test_movement_extent_and_gaps_are_measured_per_body() -> None:
    facts = describe_take(swinging(gap=True))
    arm, box = facts["bodies"]
    assert arm["rotation_rms"] == pytest.approx(0.2, abs=DEGREES)
    assert arm["position_extent"] == [3, 0, 0]
    assert (arm["missing"], box["missing"]) == (0, 0.25)
    assert box["rotation_rms"] == pytest.approx(0, abs=DEGREES)
    assert facts["extent"] == [3, 0, 0]


def test_a_body_that_is_never_seen_has_no_movement() -> None:
    take = swinging().mask(np.tile([False, True], (200, 1)))
    assert describe_take(take)["bodies"][1] == {
        "name": "[red]box\x1b[31m",
        "missing": 1.0,
        "rotation_rms": None,
        "position_extent": None,
    }
    assert describe_take(take.mask(np.ones((200, 2))))["extent"] is None


def test_one_frame_is_enough() -> None:
    assert describe_take(swinging().slice(0, 1))["bodies"][0]["position_extent"] == [0, 0, 0]


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_info_prints_what_is_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_take(path, swinging())
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"{path}: condyle {suffix[1:].upper()}, 2 bodies, 200 frames, 2.0 s at 100 Hz" in text
    assert "length m" in text
    assert "11.5" in text
    assert "[red]box\\x1b[31m" in text
    assert "\x1b" not in text


def test_info_of_several_files_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("a.npz", "b.csv")]
    for path in paths:
        write_take(path, swinging(gap=True))
    assert main(["info", "--json", *paths]) == 0
    first, second = json.loads(capsys.readouterr().out)["files"]
    assert (first["path"], second["path"]) == tuple(paths)
    assert first["bodies"][1]["missing"] == second["bodies"][1]["missing"] == 0.25
    assert second["conventions"]["quaternion"] == "wxyz"


def test_info_has_status_3_and_tells_when_a_file_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    write_take(path, swinging())
    path.write_bytes(path.read_bytes()[:-50])
    assert main(["info", str(path), "--strict"]) == 3
    assert "warning: header says 200 frames, 19" in capsys.readouterr().out


def test_rate_and_unit_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.npz"
    write_take(path, swinging())
    assert main(["info", str(path), "--rate", "50", "--unit", "mm", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["files"]
    assert facts["rate"] == pytest.approx(50)
    assert facts["extent"][0] == pytest.approx(0.003)


def test_a_missing_file_and_an_unknown_unit_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"condyle: error: {tmp_path / 'none'}: no such file\n"
    assert main(["info", str(tmp_path / "none"), "--unit", "ell"]) == 2


def test_a_proposal_that_cannot_be_made_fails_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "angles.txt").write_text("0.25\n0.5\n" * 40)
    assert main(["info", str(tmp_path / "angles.txt")]) == 0
    assert main(["info", str(tmp_path / "angles.txt"), "--propose", str(tmp_path / "map.toml")]) == 1
    assert "nothing in it can be proposed as a body" in capsys.readouterr().err
    assert not (tmp_path / "map.toml").exists()
    poses = str(tmp_path / "poses.npz")
    assert main(["simulate", poses, "--figure", "linkage", "--seconds", "1"]) == 0
    assert main(["info", poses, "--propose", str(tmp_path / "bodies.toml")]) == 1
    assert "has bodies and no markers" in capsys.readouterr().err
    assert not (tmp_path / "bodies.toml").exists()


def test_commands_to_go_on_with_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder := tmp_path / "day [1] a").mkdir()
    assert main(["info", str(folder)]) == 1
    assert f'condyle batch "{folder}" -o STUDY' in capsys.readouterr().err
