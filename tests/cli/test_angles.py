from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import write_take
from condyle.cli import main
from condyle.findings import Finding
from condyle.simulate import human, simulate
from tests.make import walkers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("angles") / "fit"
    walkers.fitted(1, "walk", 10.0, True).save(out, report=False)
    return out


def table(file: Path) -> dict[str, np.ndarray]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = np.array([[float(cell) if cell else np.nan for cell in line.split(",")] for line in lines[1:]])
    return {name: rows[:, k] for k, name in enumerate(lines[0].split(","))}


def test_angles_are_printed_with_their_ranges_and_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["angles", str(folder), "--to", "csv,mot,sto", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "knee_flexion_l" in said
    assert "± level" in said
    assert "do not compare with laboratories" in said
    assert {file.name for file in (tmp_path / "out").iterdir()} >= {"angles.csv", "angles.json", "angles.mot"}
    assert (tmp_path / "out" / "angles.sto").read_bytes() == (tmp_path / "out" / "angles.mot").read_bytes()
    found = table(tmp_path / "out" / "angles.csv")
    fit = walkers.fitted(1, "walk", 10.0, True)
    np.testing.assert_allclose(found["knee_flexion_l"], fit.angles()["knee_flexion_l"], atol=1e-5)


def test_facts_are_printed_as_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["angles", str(folder), "--json", "--convention", "opensim", "-o", str(tmp_path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["convention"] == "opensim"
    assert "knee_angle_l" in {column["name"] for column in facts["columns"]}
    assert [Path(file).name for file in facts["files"]] == ["angles.json", "angles.csv"]


def test_what_the_fit_warned_of_is_a_remark_beside_the_angles(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "fit"))
    skeleton = json.loads((own / "skeleton.json").read_text(encoding="utf-8"))
    narrow = Finding("cluster-collinear", "warning", "l_shank: nearly on a line", ("l_shank",))
    skeleton["findings"].append(asdict(narrow))
    (own / "skeleton.json").write_text(json.dumps(skeleton), encoding="utf-8")
    (own / "manifest.json").unlink()
    assert main(["angles", str(own), "--strict", "--json"]) == 0
    told = {one["code"]: one["severity"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert told["cluster-collinear"] == "info"


@pytest.mark.costly
def test_what_many_sensors_share_is_told_once(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take = walkers.walker(1, "exercise", 10.0).take
    p = take.p_world_body.copy()
    p[100:400, :4] = np.nan
    write_take(tmp_path / "other.npz", replace(take, p_world_body=p))
    main(["angles", str(folder), str(tmp_path / "other.npz"), "--json", "-o", str(tmp_path / "out")])
    facts = json.loads(capsys.readouterr().out)["findings"]
    (left,) = [one["text"] for one in facts if one["code"] == "gap-left"]
    assert [left.count(f"{name} 300") for name in take.names[:4]] == [1, 1, 1, 1]


def test_another_recording_is_counted_on_the_same_figure_with_a_neutral_one(folder: Path, tmp_path: Path) -> None:
    write_take(tmp_path / "other.npz", walkers.walker(1, "exercise", 10.0).take)
    write_take(tmp_path / "stand.npz", walkers.walker(1, "still", 2.0).take)
    words = ["angles", str(folder), str(tmp_path / "other.npz"), "--neutral-file", str(tmp_path / "stand.npz")]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    found = table(tmp_path / "out" / "angles.csv")
    true = walkers.true_angles(walkers.walker(1, "exercise", 10.0), "ankle_l")
    assert len(found["time"]) == len(true)
    assert np.abs(found["ankle_dorsiflexion_l"] - true[:, 0]).max() < 3
    assert "stand.npz" in (tmp_path / "out" / "angles.csv").read_text(encoding="utf-8")
    assert main([*words, "--zero", "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--convention", "isp"], "no convention 'isp' for angles; choose from isb"),
        (["--to", "xls"], "no format 'xls' for angles"),
        (["--neutral", "soon"], "not 'soon'"),
        (["--neutral", "1", "--neutral-file", "x"], "give one of --neutral and --neutral-file"),
        (["--heading", "north"], "not 'north'"),
        (["--neutral", "none", "--zero"], "no neutral pose to be zero in"),
        (["--landmarks", "nowhere.toml"], "nowhere.toml"),
        (["--up", "w"], "up is one of"),
        (["nowhere.npz"], "nowhere.npz"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_nothing_is_written(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(file.name for file in folder.iterdir())
    assert main(["angles", str(folder), *words]) in (1, 2)
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(file.name for file in folder.iterdir()) == before


def test_a_neutral_file_without_the_sensors_and_a_fit_without_joints_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = walkers.fitted(1, "walk", 10.0, True).take
    write_take(tmp_path / "legs.npz", take.select([name for name in take.names if name != "head"]))
    out = str(tmp_path / "out")
    assert main(["angles", str(folder), "--neutral-file", str(tmp_path / "legs.npz"), "-o", out]) == 1
    assert "legs.npz: has no sensor head; a neutral pose needs all" in capsys.readouterr().err
    still = simulate(human(), "still", seconds=2, seed=1).take
    condyle.fit(still).save(tmp_path / "still", report=False)
    assert main(["angles", str(tmp_path / "still"), "-o", out]) == 1
    assert "the fit has no joint" in capsys.readouterr().err
    assert not Path(out).exists()


def test_a_recording_of_one_sensor_has_no_angles_and_no_warning_of_numpy(folder: Path, tmp_path: Path) -> None:
    write_take(tmp_path / "one.npz", walkers.walker(1, "walk", 2.0).take.select(["pelvis"]))
    assert main(["angles", str(folder), str(tmp_path / "one.npz"), "-o", str(tmp_path / "out")]) == 0
    assert np.isnan(table(tmp_path / "out" / "angles.csv")["knee_flexion_l"]).all()
