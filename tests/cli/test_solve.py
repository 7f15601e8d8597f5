"""condyle solve, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from condyle import load, read_skeleton, write_take
from condyle.cli import main
from condyle.simulate import Disturbances, chain, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=0.009)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A calibration in `performer`, and later takes of the same sensors: one whole, one without its second sensor."""
    folder = tmp_path_factory.mktemp("day")
    first = simulate(chain(), seconds=12, seed=1, disturbances=NOISE)
    later = simulate(chain(), seconds=4, seed=2, disturbances=NOISE, mounts=first.truth.mounts).take
    write_take(folder / "first.npz", first.take)
    write_take(folder / "later.npz", later)
    write_take(folder / "fewer.npz", later.select([name for name in later.names if name != later.names[1]]))
    assert main(["fit", str(folder / "first.npz"), "--up", "z", "--no-report", "-o", str(folder / "performer")]) == 0
    return folder


def test_a_later_take_is_written_like_a_fit(day: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", str(day / "later.npz"), "--skeleton", str(day / "performer"), "-o", str(tmp_path / "out")]
    assert main([*words, "--export", "bvh"]) == 0
    assert "Played on a known figure of 3 joints with 4 of 4 sensors." in capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"skeleton.json", "motion.npz", "figure.bvh"} <= names
    figure, solved = read_skeleton(day / "performer"), load(tmp_path / "out")
    assert [one.length for one in solved.skeleton.limbs] == [one.length for one in figure.limbs]
    assert solved.skeleton.take["calibration"]["fit_id"] == figure.fit_id
    assert solved.skeleton.conventions["up"] == "z"  # said at the calibration, and read so again
    assert solved.motion.frames == solved.take.frames == solved.skeleton.take["frames"]


def test_several_files_with_different_sensors_are_one_solve(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(day / name) for name in ("later.npz", "fewer.npz")]
    assert main(["solve", *files, "--skeleton", str(day / "performer"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["take"]["sources"] == files
    assert "sensor-absent" not in {finding["code"] for finding in told["findings"]}  # the other file has it


def test_what_is_missing_is_a_warning_under_strict(day: Path) -> None:
    words = ["solve", str(day / "fewer.npz"), "--skeleton", str(day / "performer"), "--strict"]
    assert main(words) == 3


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nothing.npz", "--skeleton", "performer"], "nothing.npz"),
        (["later.npz", "--skeleton", "nowhere"], "nowhere"),
        (["later.npz", "--skeleton", "performer", "--export", "bvh"], "-o"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    day: Path, words: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(day)
    assert main(["solve", *words]) in (1, 2)
    told = capsys.readouterr().err.strip()
    assert text in told
    assert len(told.splitlines()) == 1


def test_sensors_put_on_anew_are_solved_with_a_profile(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anew = str(day / "anew.npz")
    write_take(anew, simulate(chain(), seconds=8, seed=5, disturbances=NOISE).take)
    assert main(["profile", str(day / "performer"), "-o", str(day / "p.json")]) == 0
    for known in (["--profile", str(day / "p.json")], ["--skeleton", str(day / "performer"), "--remounted"]):
        capsys.readouterr()
        assert main(["solve", anew, *known, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert "profile-used" in {finding["code"] for finding in told["findings"]}
    assert main(["fit", anew, "--profile", str(day / "p.json"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [limb["length"] for limb in again["limbs"]] == pytest.approx([limb["length"] for limb in told["limbs"]])
    assert main(["solve", anew]) == 2
    assert main(["solve", anew, "--profile", str(day / "nothing.json")]) == 1


@pytest.mark.parametrize("words", ["--send lsl:x", "--seconds 4", "--guide", "--no-page", "--port 8000"])
def test_options_of_a_session_need_one(words: str, day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", str(day / "later.npz"), "--skeleton", str(day / "performer"), *words.split()]) == 2
    assert f"{words.split()[0]} goes with --live" in capsys.readouterr().err


def test_the_calibration_is_not_replaced_by_a_take(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (day / "performer" / "skeleton.json").read_bytes()
    for known in (day / "performer", day / "performer" / "skeleton.json"):
        assert main(["solve", str(day / "later.npz"), "--skeleton", str(known), "-o", str(day / "performer")]) == 2
        assert "would replace the calibration" in capsys.readouterr().err
    assert (day / "performer" / "skeleton.json").read_bytes() == before
