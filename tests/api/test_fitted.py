"""A fit is saved, loaded, exported, reported and retargeted; its folder is one thing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.cli import main
from condyle.io.exports.registry import FORMATS

from .test_sources import lengths

SAME = 1e-12  # m, entries of matrices
SINGLE = 1e-6  # of places [m] and entries in single precision
RETARGET = "retarget --scale 2 -o x"


def test_a_saved_fit_comes_back(fit: condyle.Fit, tmp_path: Path) -> None:
    saved = fit.save(tmp_path / "out")
    names = ["manifest.json", "motion.npz", "options.toml", "report.html", "skeleton.json"]
    assert sorted(os.listdir(tmp_path / "out")) == names == sorted(path.name for path in saved.files)
    again = condyle.load(tmp_path / "out")
    assert again.provenance == saved.provenance == fit.provenance
    assert again.findings == saved.findings
    assert any(one.code.startswith("gap-") for one in saved.findings), "what is to be said of the motion"
    assert str(again) == str(saved)
    for name in ("p_world_body", "R_world_body"):
        np.testing.assert_allclose(getattr(again.take, name), getattr(fit.take, name), rtol=SINGLE, atol=SINGLE)
    np.testing.assert_allclose(again.gap, fit.gap, rtol=SINGLE, atol=SINGLE)
    np.testing.assert_allclose(again.weight, fit.weight, rtol=SINGLE)
    poses = [condyle.forward(one.skeleton, one.motion) for one in (fit, again)]
    np.testing.assert_allclose(poses[0].p_world_body, poses[1].p_world_body, atol=SINGLE)


def test_the_same_input_gives_the_same_bytes_in_every_file(recording: Path, tmp_path: Path) -> None:
    formats = ",".join(name for name in FORMATS if name not in ("usd", "urdf", "vrm"))
    made = [tmp_path / "a", tmp_path / "b"]
    for folder in made:
        condyle.fit(recording, intervals=False, up="z").save(folder, export=formats)
    one, other = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in made)
    assert len(one) > 14
    assert one == other


def test_the_id_stands_in_every_file_with_a_place_for_it(fit: condyle.Fit, tmp_path: Path) -> None:
    written = fit.save(tmp_path, export="bvh,glb,mjcf,osim,c3d,csv,json")
    fit_id = str(fit.provenance.fit_id).encode()
    without = {file.name for file in written.files if fit_id not in file.read_bytes()}
    tables = {file.name for file in written.files if file.suffix == ".csv"} - {"figure.csv"}
    assert without == {"figure.bvh", "motion.npz", *tables}
    with np.load(tmp_path / "motion.npz") as arrays:
        assert str(arrays["fit_id"]) == fit_id.decode()
    (played,) = fit.export("npz", tmp_path / "other").files
    with np.load(played) as arrays:
        assert str(arrays["fit_id"]) == fit_id.decode()
    assert condyle.read(played).names == fit.skeleton.bodies


def test_files_of_two_fits_are_refused_by_every_verb(fit: condyle.Fit, recording: Path, tmp_path: Path) -> None:
    fit.save(tmp_path / "a", report=False)
    condyle.fit(recording, "least-squares", intervals=False).save(tmp_path / "b", report=False)
    for name in ("motion.npz", "manifest.json"):
        mixed = tmp_path / f"mixed-{name}"
        mixed.mkdir()
        for file in (tmp_path / "a").iterdir():
            (mixed / file.name).write_bytes((tmp_path / ("b" if file.name == name else "a") / file.name).read_bytes())
        for verb in (
            ["export", "--to", "bvh"],
            ["report"],
            ["view", "--no-open"],
            ["retarget", "--scale", "2", "-o", "x"],
        ):
            assert main([verb[0], str(mixed), *verb[1:]]) == 1
        with pytest.raises(condyle.CondyleError) as error:
            condyle.load(mixed)
        assert error.value.code in ("files-disagree", "damaged-file")
    with pytest.raises(condyle.CondyleError, match="of fit") as error:
        condyle.load(tmp_path / "mixed-motion.npz")
    ids = [condyle.load(tmp_path / name).provenance.fit_id for name in "ab"]
    assert error.value.code == "files-disagree"
    assert all(str(one) in str(error.value) for one in ids)


def test_exports_join_the_folder_and_go_with_it(fit: condyle.Fit, recording: Path, tmp_path: Path) -> None:
    fit.save(tmp_path, report=False)
    condyle.load(tmp_path).export("bvh")
    assert condyle.load(tmp_path).report()[0] == tmp_path / "report.html"
    (tmp_path / "notes.txt").write_text("mine")
    condyle.fit(recording, "least-squares", intervals=False).save(tmp_path, report=False)
    names = ["manifest.json", "motion.npz", "notes.txt", "options.toml", "skeleton.json"]
    assert sorted(os.listdir(tmp_path)) == names, "no page and no export of the older fit"


def test_what_a_fit_was_made_from_and_what_stands_beside_it_is_not_removed(fit: condyle.Fit, tmp_path: Path) -> None:
    fit.save(tmp_path, report=False, export="npz", beside={"take.npz": b"mine"})
    condyle.fit(tmp_path / "figure.npz", intervals=False).save(tmp_path, report=False)
    names = ["figure.npz", "manifest.json", "motion.npz", "options.toml", "skeleton.json", "take.npz"]
    assert sorted(os.listdir(tmp_path)) == names


@pytest.mark.parametrize("name", ["../x", "CON", "a\0b"])
def test_what_stands_beside_a_fit_stays_in_its_folder(fit: condyle.Fit, tmp_path: Path, name: str) -> None:
    with pytest.raises(condyle.UsageError, match="cannot be the name of a file"):
        fit.save(tmp_path / "out", report=False, beside={name: b"x"})
    assert not list(tmp_path.iterdir())


def test_a_fit_in_no_folder_is_reported_and_exported_elsewhere(fit: condyle.Fit, tmp_path: Path) -> None:
    assert fit.report(tmp_path / "page.html") == (tmp_path / "page.html",)
    with pytest.raises(condyle.UsageError, match="in no folder yet"):
        fit.export("bvh")
    with pytest.raises(condyle.UsageError, match="in no folder yet"):
        fit.report()
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_folder_of_version_1_is_read_and_saved_anew(fit: condyle.Fit, tmp_path: Path) -> None:
    fit.save(tmp_path / "new", report=False)
    (tmp_path / "old").mkdir()
    facts = json.loads((tmp_path / "new" / "skeleton.json").read_text())
    del facts["fit_id"], facts["take"]["sha256"]
    (tmp_path / "old" / "skeleton.json").write_text(json.dumps({**facts, "version": 1}))
    with np.load(tmp_path / "new" / "motion.npz") as arrays:
        np.savez(tmp_path / "old" / "motion.npz", **{name: arrays[name] for name in arrays.files if name != "fit_id"})
    old = condyle.load(tmp_path / "old")
    assert (old.provenance.fit_id, old.provenance.input) == (None, None)
    assert condyle.load(old.save(tmp_path / "again", report=False).folder or "").provenance.fit_id is not None


def test_a_retargeted_fit_is_a_fit_of_its_own(fit: condyle.Fit, tmp_path: Path) -> None:
    large = fit.retarget(2.0)
    assert large.provenance.fit_id != fit.provenance.fit_id
    large.save(tmp_path, report=False)
    again = condyle.load(tmp_path)
    np.testing.assert_allclose(lengths(again), 2 * np.array(lengths(fit), dtype=float))
    assert not np.nanmax(np.abs(again.gap))
