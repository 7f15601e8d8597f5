from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import load
from condyle.cli import main
from condyle.io.exports import write_take
from condyle.prepare.read import read
from condyle.simulate import human, simulate
from tests.make import moving


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as condyle fit leaves it."""
    folder = tmp_path_factory.mktemp("fit")
    take = simulate(human(), "walk", seconds=6, rate=30).take
    condyle.fit(take, intervals=False).save(folder, report=False)
    return folder


@pytest.mark.parametrize("where", ["folder", "skeleton.json"])
def test_a_folder_of_a_fit_is_exported_beside_it_or_elsewhere(where: str, fitted: Path, tmp_path: Path) -> None:
    source = fitted if where == "folder" else fitted / where
    assert main(["export", str(source), "--to", "bvh,glb", "-o", str(tmp_path / "out")]) == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["figure.bvh", "figure.glb"]
    assert "thigh_l" in read(tmp_path / "out" / "figure.glb").names
    copy = tmp_path / "copy"
    shutil.copytree(fitted, copy)
    assert main(["export", str(copy), "--to", "bvh", "--name", "walk"]) == 0
    assert "walk.bvh" in os.listdir(copy)


def test_inverse_kinematics_and_names_of_bodies_are_choices(fitted: Path, tmp_path: Path) -> None:
    words = ["export", str(fitted), "--to", "glb", "-o", str(tmp_path)]
    assert main([*words, "--names", "bodies", "--name", "ik"]) == 0
    assert main([*words, "--motion", "play", "--names", "bodies", "--name", "play"]) == 0
    ik, played = read(tmp_path / "ik.glb"), read(tmp_path / "play.glb")
    assert set(ik.names) == set(read(fitted / "motion.npz", doctor=False).names)
    assert np.abs(ik.p_world_body - played.p_world_body).max() < 1e-3, "without noise both are the truth"


def test_names_of_a_rig_are_a_choice_and_others_are_refused(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(fitted), "--to", "bvh", "-o", str(tmp_path), "--names"]
    assert main([*words, "unity"]) == 0
    assert "JOINT LeftUpperLeg" in (tmp_path / "figure.bvh").read_text()
    assert main([*words, "maya"]) == 2
    assert "no choice 'maya'; choose from anatomy, bodies, mixamo" in capsys.readouterr().err


def test_the_json_tells_files_bones_and_findings(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(fitted), "--to", "bvh", "-o", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["files"] == [str(tmp_path / "figure.bvh")]
    assert facts["rate"] == pytest.approx(30)
    thigh = next(bone for bone in facts["bones"] if bone["name"] == "thigh_l")
    assert thigh == {"name": "thigh_l", "body": "l_thigh", "joint": "hip_l", "kind": "ball", "parent": "hips"}
    assert [finding["code"] for finding in facts["findings"]] == ["up-assumed"]


def test_a_warning_makes_the_status_3_and_the_up_axis_can_be_given(tmp_path: Path) -> None:
    world = simulate(human(), "walk", seconds=6, rate=30)
    one = moving.moving(world, {name: f"s{k}" for k, name in enumerate(world.take.names)})
    condyle.fit(one.take, intervals=False).save(tmp_path, report=False)
    assert main(["export", str(tmp_path), "--to", "bvh", "--strict"]) == 3
    assert main(["export", str(tmp_path), "--to", "bvh", "--up", "z"]) == 0


BAD = {
    "no motion": (["FIT-WITHOUT-MOTION", "--to", "bvh"], 1, "there is no motion.npz beside skeleton.json"),
    "no folder": (["nowhere", "--to", "bvh"], 1, "cannot be read: No such file"),
    "another format": (["FIT", "--to", "fbx"], 2, "no export format 'fbx'; choose from"),
    "no such axis": (["FIT", "--to", "bvh", "--up", "w"], 2, "up is one of x, y, z"),
    "a file as folder": (["FIT", "--to", "bvh", "-o", "FIT/skeleton.json"], 1, "is a file; give the name of a folder"),
    "a bad name": (["FIT", "--to", "bvh", "--name", "a/b"], 2, "cannot be the name of a file"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    fault: str, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(fitted, "FIT")
    shutil.copytree(fitted, "FIT-WITHOUT-MOTION")
    os.unlink("FIT-WITHOUT-MOTION/motion.npz")
    before = sorted(tmp_path.rglob("*"))
    words, status, told = BAD[fault]
    assert main(["export", *words]) == status
    said = capsys.readouterr().err.strip()
    assert told in said
    assert len(said.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_motion_of_other_bodies_is_told(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(fitted / "skeleton.json", tmp_path)
    condyle.fit(moving.links(("ball", "ball"), 9).take, intervals=False).save(tmp_path / "other", report=False)
    shutil.copy(tmp_path / "other" / "motion.npz", tmp_path)
    assert main(["export", str(tmp_path), "--to", "bvh"]) == 1
    told = capsys.readouterr().err
    ids = [load(folder).provenance.fit_id for folder in (tmp_path / "other", fitted)]
    assert f"motion.npz: is of fit {ids[0]}, but skeleton.json is of fit {ids[1]}" in told


def test_fit_exports_the_same_files(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take = tmp_path / "take.npz"

    write_take(take, simulate(human(), "walk", seconds=6, rate=30).take)
    out = tmp_path / "out"
    assert main(["fit", str(take), "-o", str(out), "--export", "bvh,glb", "--no-intervals", "--no-report"]) == 0
    assert sorted(os.listdir(out)) == [
        "figure.bvh", "figure.glb", "manifest.json", "motion.npz", "options.toml", "skeleton.json",
    ]  # fmt: skip
    assert f"wrote {out / 'figure.glb'}" in capsys.readouterr().out
    main(["export", str(out), "--to", "bvh,glb", "-o", str(tmp_path / "again")])
    for name in ("figure.bvh", "figure.glb"):
        assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert "up-assumed" in (out / "skeleton.json").read_text()


def test_fit_refuses_an_export_without_a_folder_or_a_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "take.npz", "--export", "bvh"]) == 2
    assert "--export needs a folder" in capsys.readouterr().err
    assert main(["fit", "take.npz", "--export", "fbx", "-o", str(tmp_path)]) == 2
    assert "no export format 'fbx'" in capsys.readouterr().err


def test_all_writes_every_format_that_can_be_written_and_names_the_others(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from condyle.io.exports import usd
    from condyle.io.exports.export import find_format
    from condyle.io.exports.registry import FORMATS

    monkeypatch.setattr(usd, "find_spec", lambda name: None)
    for words in ("all", "ALL", "bvh,all"):
        assert main(["export", str(fitted), "--to", words, "-o", str(tmp_path / words)]) == 0
        files = set(os.listdir(tmp_path / words))
        assert files >= {f"figure{find_format(name).suffix}" for name in FORMATS if name not in ("usd", "dh")}
        assert "left out, not to be written here or empty: usd, dh; --to usd says why" in capsys.readouterr().out
    assert main(["export", str(fitted), "--to", "bhv"]) == 2
    assert "no export format 'bhv'; did you mean 'bvh'?" in capsys.readouterr().err
