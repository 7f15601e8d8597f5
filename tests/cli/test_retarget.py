"""condyle retarget, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle import forward, load, read_skeleton, write_take
from condyle.cli import main
from condyle.cli.retarget import read_factors
from condyle.errors import UsageError
from condyle.simulate import chain, linkage, simulate
from tests.make.rigs import standing_person, write_bvh_rig


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retarget")
    write_take(folder / "take.npz", simulate(linkage(), seconds=8, seed=3).take)
    assert main(["fit", str(folder / "take.npz"), "--up", "z", "--no-intervals", "-o", str(folder / "out")]) == 0
    return folder / "out"


def test_a_larger_figure_is_written_like_a_fit(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["retarget", str(fitted), "-o", str(tmp_path / "big"), "--scale", "1.5"]) == 0
    text = capsys.readouterr().out
    assert "was mm" in text
    assert "wrote" in text
    small, large = read_skeleton(fitted), read_skeleton(tmp_path / "big")
    for one, other in zip(small.limbs, large.limbs, strict=True):
        assert (other.length or 0) == pytest.approx(1.5 * (one.length or 0))
    poses = np.load(tmp_path / "big" / "motion.npz")
    again = forward(large, load(tmp_path / "big").motion)
    np.testing.assert_allclose(again.p_world_body, poses["p_world_body"], atol=1e-12)


def test_limbs_are_named_one_by_one_or_taken_from_another_folder(fitted: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer"
    assert main(["retarget", str(fitted), "-o", str(longer), "--lengths", "l_upper_arm=1.2, r_upper_arm=0.9"]) == 0
    assert main(["retarget", str(fitted), "-o", str(tmp_path / "same"), "--lengths", str(longer)]) == 0
    for one, other in zip(read_skeleton(longer).limbs, read_skeleton(tmp_path / "same").limbs, strict=True):
        assert one.length == pytest.approx(other.length)


def test_json_is_the_new_skeleton(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retarget", str(fitted / "skeleton.json"), "-o", str(tmp_path), "--scale", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "skeleton.json").read_text())


def test_up_that_is_not_known_is_a_warning(tmp_path: Path) -> None:
    write_take(tmp_path / "take.npz", simulate(chain(), seconds=8, seed=3).take)
    main(["fit", str(tmp_path / "take.npz"), "--no-intervals", "-o", str(tmp_path / "out")])
    assert main(["retarget", str(tmp_path / "out"), "-o", str(tmp_path / "big"), "--scale", "2", "--strict"]) == 3


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["-o", "{new}"], 2, "say the new size with --lengths or --scale, or give a --rig"),
        (["-o", "{new}", "--scale", "0"], 2, "not above zero"),
        (["-o", "{new}", "--lengths", "l_upper_arm"], 2, "'l_upper_arm' is neither body=factor nor a skeleton.json"),
        (["-o", "{new}", "--lengths", "tail=2"], 2, "no body named 'tail'"),
        (["-o", "{new}", "--lengths", "missing.json"], 1, "missing.json: cannot be read"),
        (["-o", "{old}", "--scale", "2"], 2, "is the folder to read from"),
        (["-o", "{old}/skeleton.json", "--scale", "2"], 1, "is a file"),
        (["-o", "{new}", "--rig", "missing.bvh"], 1, "missing.bvh: cannot be read"),
        (["-o", "{new}", "--rig", "{old}/skeleton.json"], 1, "skeleton.json: is neither BVH nor GLB"),
        (["-o", "{new}", "--rig", "a.bvh", "--scale", "2"], 2, "a rig has its own lengths"),
        (["-o", "{new}", "--scale", "2", "--map", "map.toml"], 2, "--map is for --rig"),
        (["-o", "{new}", "--scale", "2", "--name", "x"], 2, "--name is for --rig"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, told: str
) -> None:
    places = {"new": str(tmp_path / "new"), "old": str(fitted)}
    assert main(["retarget", str(fitted), *(word.format(**places) for word in words)]) == status
    shown = capsys.readouterr().err.strip().splitlines()
    assert told in shown[-1]
    assert not (tmp_path / "new").exists()


def test_a_folder_without_motion_is_one_sentence(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "skeleton.json").write_bytes((fitted / "skeleton.json").read_bytes())
    assert main(["retarget", str(tmp_path), "-o", str(tmp_path / "new"), "--scale", "2"]) == 1
    assert "there is no motion.npz beside skeleton.json" in capsys.readouterr().err


def test_factors_are_read() -> None:
    assert read_factors("a=1.5, b c=0.5") == {"a": 1.5, "b c": 0.5}
    for bad in ("a=1,a=2", "a=nan", "=2", ","):
        with pytest.raises(UsageError):
            read_factors(bad)


def test_a_rig_takes_the_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    standing_person().save(tmp_path / "fit", report=False)
    rig = write_bvh_rig(tmp_path / "rig.bvh")
    call = ["retarget", str(tmp_path / "fit"), "--rig", str(rig), "-o", str(tmp_path / "onto")]
    assert main(call) == 0
    text = capsys.readouterr().out
    assert "mixamorig:LeftUpLeg" in text
    assert "[feet-held]" in text
    assert f"wrote {tmp_path / 'onto' / 'rig.bvh'}" in text
    assert main([*call, "--name", "walk", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["files"] == [str(tmp_path / "onto" / "walk.bvh")]
    assert facts["bones"]["mixamorig:Hips"] == "pelvis"
    assert facts["slide_after"] < facts["slide_before"]


def test_a_map_is_read_and_its_faults_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    standing_person().save(tmp_path / "fit", report=False)
    rig = write_bvh_rig(tmp_path / "rig.bvh")
    (tmp_path / "map.toml").write_text('[bones]\n"mixamorig:Hips" = "pelvs"\n')
    call = ["retarget", str(tmp_path / "fit"), "--rig", str(rig), "-o", str(tmp_path / "onto")]
    assert main([*call, "--map", str(tmp_path / "map.toml")]) == 2
    assert "the fit has no body 'pelvs'; did you mean 'pelvis'?" in capsys.readouterr().err
    assert not (tmp_path / "onto").exists()
