"""condyle scale: from a rod in a file to the scale of every later fit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from condyle.cli import main
from condyle.io.exports import write_take
from condyle.io.scale_file import read_scale
from condyle.model.take import Take
from condyle.simulate import Disturbances, human, linkage, rod, simulate, together

NEAR = 0.01  # m: a limb length after the scale was put right
PAPER = Disturbances(position_noise=0.0015, orientation_noise=0.0026, scale=1 / 0.94)
BENT = Disturbances(position_noise=0.0015, orientation_noise=0.0026, scale=1 / 0.94, field_warp=0.0125)


def recorded(path: Path, take: Take) -> str:
    write_take(path, take)
    return str(path)


@pytest.fixture
def rod_file(tmp_path: Path) -> str:
    return recorded(tmp_path / "rod.csv", rod(seconds=30, seed=3, disturbances=PAPER).take)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_b16_the_scale_of_a_rod_puts_later_fits_right_and_is_kept(
    tmp_path: Path, rod_file: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / f"calibration.{ending}")
    assert main(["scale", rod_file, "--distance", "0.565m", "--pair", "rod_a:rod_b", "-o", out]) == 0
    assert re.match(r"scale 0\.939\d+ \(0\.939\d to 0\.940\d\): 0\.601\d m recorded", capsys.readouterr().out)
    kept = read_scale(out)
    assert kept.scale == pytest.approx(0.94, rel=1e-3)
    assert kept.low is not None
    assert kept.high is not None
    assert kept.low < 0.94 < kept.high
    assert (kept.pair, kept.distance, kept.sources) == (("rod_a", "rod_b"), 0.565, (rod_file,))
    assert kept.sd == pytest.approx(np.sqrt(2) * 0.0015 / 0.94, rel=0.1)
    world = simulate(linkage(), seconds=30, seed=4, disturbances=PAPER)
    take = recorded(tmp_path / "take.npz", world.take)
    assert main(["fit", take, "--scale", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["scale"] == kept.scale
    [finding] = [one for one in facts["findings"] if one["code"] == "scaled"]
    assert finding["severity"] == "info"
    true = {(body, frozenset(ends)): length for (body, *ends), length in world.truth.limbs.items()}
    assert len(facts["limbs"]) == 5
    for limb in facts["limbs"]:
        length = true[limb["body"], frozenset((limb["from"], limb["to"]))]
        assert limb["length"] == pytest.approx(length, abs=NEAR)
        assert abs(limb["length"] / kept.scale - length) > NEAR  # it would be wrong without


def test_a_number_will_do_for_a_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take = recorded(tmp_path / "take.npz", simulate(linkage(), seconds=10, seed=4, disturbances=PAPER).take)
    main(["fit", take, "--scale", "0.94", "--no-intervals", "--json"])
    assert json.loads(capsys.readouterr().out)["scale"] == 0.94
    assert main(["fit", take, "--scale", "-1"]) == 2
    assert main(["fit", take, "--scale", str(tmp_path / "none.toml")]) == 1


def test_json_has_distance_spread_noise_places_and_series(rod_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", rod_file, "--distance", "565", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == "condyle.scale"
    assert facts["rigid"] is True
    assert facts["measured"] == pytest.approx(0.565 / 0.94, rel=1e-3)
    assert list(facts["percentiles"]) == ["1", "5", "25", "50", "75", "95", "99"]
    assert [one["body"] for one in facts["noise"]] == ["rod_a", "rod_b"]
    assert len(facts["time"]) == len(facts["distance_over_time"]) == facts["frames"]
    assert {one["axis"] for one in facts["places"]} == {"x", "y", "z"}


def test_without_a_distance_only_the_noise_is_told(rod_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale", rod_file]) == 0
    said = capsys.readouterr().out
    assert said.startswith("rod_a to rod_b: 601.")
    assert "scale" not in said
    assert main(["scale", rod_file, "-o", "calibration.toml"]) == 2
    assert "--distance" in capsys.readouterr().err


def test_a_bent_field_is_a_warning_with_the_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path / "rod.npz", rod(seconds=30, seed=3, disturbances=BENT).take)
    assert main(["scale", path, "--distance", "565", "--strict"]) == 3
    assert "the field is bent" in capsys.readouterr().out


def test_the_rod_is_found_among_other_sensors_and_else_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = simulate(human(), "exercise", seconds=20, seed=1, disturbances=PAPER)
    carried = rod(seconds=20, seed=1, disturbances=PAPER)
    path = recorded(tmp_path / "both.npz", together([person, carried], ["", ""]).take)
    assert main(["scale", path, "--distance", "565", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pair"] == ["rod_a", "rod_b"]
    path = recorded(tmp_path / "person.npz", person.take)
    assert main(["scale", path, "--distance", "565"]) == 1
    assert (
        "no two sensors keep their distance; name the pair with --pair A:B; there are pelvis" in capsys.readouterr().err
    )


def test_a_pair_that_is_not_rigid_writes_nothing_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path / "a.npz", simulate(human(), "walk", seconds=10, seed=1, disturbances=PAPER).take)
    out = tmp_path / "calibration.toml"
    assert main(["scale", path, "--distance", "300", "--pair", "l_thigh:l_shank", "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "l_thigh and l_shank turn against each other by" in said
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--distance", "0"],
        ["--distance", "-1"],
        ["--distance", "nan"],
        ["--pair", "rod_a"],
        ["--pair", "rod_a:rod_c"],
        ["--distance", "1000", "-o", "scale.txt"],
        ["--distance", "0.565"],
        ["--pair", "rod_a:rod_b:c"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_wrong_usage(rod_file: str, words: list[str]) -> None:
    assert main(["scale", rod_file, *words]) == 2
