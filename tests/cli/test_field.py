"""condyle fit --field, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle import read, write_take
from condyle.cli import main
from condyle.io.field_file import read_field
from condyle.simulate import Disturbances, linkage, rod, simulate, together

BENT = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.1), field_warp=0.0125)
TOLD = 3  # exit status with a warning
SAME = 1e-9  # m


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """take.npz, rod.npz, and both.npz in which the rod is beside the linkage; all in one room."""
    folder = tmp_path_factory.mktemp("room")
    worlds = [simulate(linkage(), seconds=20, seed=4, disturbances=BENT), rod(seconds=20, seed=4, disturbances=BENT)]
    write_take(folder / "take.npz", worlds[0].take)
    write_take(folder / "rod.npz", worlds[1].take)
    write_take(folder / "both.npz", together(worlds, ["", ""]).take)
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["fit", *map(str, words), "--no-intervals", "--strict"])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_bent_field_is_told_and_gone_with_field(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, room / "take.npz")
    assert status == TOLD
    assert "[bent-field]" in out
    _, out, _ = run(capsys, room / "take.npz", "--field")
    assert "[bent-field]" not in out
    assert "[field-corrected]" in out


def test_a_rod_is_read_and_the_field_is_kept_for_later(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rodded = ["--field", "--rod", room / "rod.npz", "--distance", 565, "-o", tmp_path]
    _, out, _ = run(capsys, room / "take.npz", *rodded)
    assert "as the rod tells" in out
    field = read_field(tmp_path / "field.json")
    assert field.scale != 1
    skeleton = json.loads((tmp_path / "skeleton.json").read_text())
    assert skeleton["options"]["field"] == "rod"
    assert skeleton["scale"] == field.scale
    np.testing.assert_allclose(
        read(tmp_path / "motion.npz").p_world_body, field.correct(read(room / "take.npz")).p_world_body, atol=SAME
    )
    later = tmp_path / "later"
    run(capsys, room / "take.npz", "--field-file", tmp_path / "field.json", "-o", later)
    again = json.loads((later / "skeleton.json").read_text())
    assert again["options"]["field"] == "given"
    for one, other in zip(skeleton["limbs"], again["limbs"], strict=True):
        assert one["length"] == pytest.approx(other["length"], abs=SAME)


@pytest.mark.costly
def test_the_rods_sensors_are_named_where_there_are_others(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [room / "both.npz", "--field", "--distance", 565, "--rod-pair", "rod_a:rod_b"]
    assert "as the rod tells" in run(capsys, *words)[1]
    words = [room / "take.npz", "--field", "--distance", 565, "--rod", room / "both.npz"]
    status, _, err = run(capsys, *words)
    assert status == 2
    assert "--rod-pair" in err
    assert "as the rod tells" in run(capsys, *words, "--rod-pair", "rod_b:rod_a")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rod", "rod.npz", "--distance", "500"], "--field"),
        (["--field", "--distance", "500"], "--rod FILE"),
        (["--field", "--rod", "rod.npz"], "--distance"),
        (["--field", "--rod", "rod.npz", "--distance", "-1"], "distance"),
        (["--field", "--field-file", "x"], "leave --field"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    room: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    status, _, err = run(capsys, "take.npz", *words)
    assert status == 2
    assert says in err


def test_a_field_file_that_is_none_is_refused(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, room / "take.npz", "--field-file", room / "take.npz")
    assert status == 1
    assert "is no field.json" in err
