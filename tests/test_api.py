"""The library does what the command line does: fit, save, load, export, report, retarget."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import api
from condyle.cli import main
from condyle.io.exports.registry import FORMATS
from condyle.model.options import FitOptions
from condyle.model.take import OwnSkeleton
from condyle.report import page as pages
from condyle.result.profile import make_profile
from condyle.simulate import Disturbances, chain, linkage, simulate
from tests.make.performers import fit_chain, mount_chain

SAME = 1e-12  # m, entries of matrices
SINGLE = 1e-6  # of places [m] and entries in single precision
NOISE = Disturbances(position_noise=0.002, orientation_noise=0.005, missing=0.05)
RETARGET = "retarget --scale 2 -o x"
TEMPLATE = b"<!doctype html><head></head>" + pages.DATA_PLACE


@pytest.fixture(autouse=True)
def _template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "take.npz"
    condyle.write_take(path, simulate(linkage(), seconds=8, seed=3, disturbances=NOISE).take)
    return path


@pytest.fixture(scope="module")
def fit(recording: Path) -> condyle.Fit:
    return condyle.fit(recording, intervals=False, up="z")


def lengths(fit: condyle.Fit) -> list[float | None]:
    return [limb.length for limb in fit.skeleton.limbs]


def test_a_path_several_paths_a_take_and_matrices_are_fitted_alike(fit: condyle.Fit, recording: Path) -> None:
    take = condyle.read(recording, up="z")
    T = np.tile(np.eye(4), (take.frames, take.bodies, 1, 1))
    T[..., :3, :3], T[..., :3, 3] = take.R_world_body, take.p_world_body
    assert condyle.fit(take, intervals=False).provenance.input == fit.provenance.input, "what was read is hashed"
    assert lengths(condyle.fit([recording], intervals=False)) == lengths(fit)
    np.testing.assert_allclose(lengths(condyle.fit(T, rate=30, intervals=False)), lengths(fit), atol=1e-6)
    with pytest.raises(condyle.UsageError, match="is named twice"):
        condyle.fit([recording, str(recording)])
    copy = recording.with_name(f"copy{recording.suffix}")
    copy.write_bytes(recording.read_bytes())
    with pytest.raises(condyle.UsageError, match="has the same content as"):
        condyle.fit([recording, copy])
    with pytest.raises(condyle.UsageError, match="has the same content as"):
        condyle.fit_remounted([recording, copy])
    with pytest.raises(condyle.UsageError, match="'unit' is for files"):
        condyle.fit(take, unit="mm")
    with pytest.raises(condyle.UsageError, match="'rate' is for files"):
        condyle.fit(take, rate=30)


@pytest.mark.parametrize("source", [None, 5, [None]])
def test_what_is_no_recording_is_one_sentence(source: object) -> None:
    with pytest.raises(condyle.UsageError, match="a recording is"):
        condyle.fit(source)  # type: ignore[arg-type]


def test_the_id_is_of_input_options_and_nothing_else(fit: condyle.Fit, recording: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.npz"
    copy.write_bytes(recording.read_bytes())
    assert condyle.fit(copy, intervals=False, up="z").provenance.fit_id == fit.provenance.fit_id
    others = [
        condyle.fit(recording, intervals=False, up="z", no_fix="slips"),
        condyle.fit(recording, intervals=False),
        condyle.fit(condyle.read(recording, up="z").slice(1, None), intervals=False),
    ]
    assert len({one.provenance.fit_id for one in [fit, *others]}) == 4


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


def test_options_are_taken_again_and_those_given_win(recording: Path, tmp_path: Path) -> None:
    words = [
        "--no-fix",
        "slips,latency",
        "--root",
        "head",
        "--symmetric",
        "5",
        "--up",
        "z",
        "--no-report",
        "--tree-score",
        "residual",
    ]
    main(["fit", str(recording), "-o", str(tmp_path / "a"), *words])
    config = ["--config", str(tmp_path / "a" / "options.toml"), "--no-report"]
    main(["fit", str(recording), "-o", str(tmp_path / "b"), *config])
    assert (tmp_path / "a" / "skeleton.json").read_bytes() == (tmp_path / "b" / "skeleton.json").read_bytes()
    main(["fit", str(recording), "-o", str(tmp_path / "c"), *config, "--root", "chest", "--no-fix", "", "--world"])
    asked = condyle.load(tmp_path / "c").provenance.options
    assert (asked["root"], asked["no_fix"], asked["world"], asked["symmetric"]) == ("chest", [], True, 0.005)


def test_every_option_of_a_fit_is_a_keyword_of_it() -> None:
    import inspect

    keywords = set(inspect.signature(condyle.fit).parameters) - {"source", "reading"}
    assert keywords - {"plan"} | {"method"} == set(FitOptions.__dataclass_fields__)


def test_the_tree_can_be_the_one_that_the_recording_brings_along(tmp_path: Path) -> None:
    world = simulate(linkage(), "exercise", seconds=6, seed=3, disturbances=NOISE)
    names, parent = world.take.names, world.truth.parent
    own = OwnSkeleton((*names, "a bone between"), [*parent, -1], np.zeros((len(names) + 1, 3)))
    take = replace(world.take, own=own)
    fit = condyle.fit(take, tree="file", intervals=False)
    edges = {(joint.parent, joint.child) for joint in fit.skeleton.joints}
    assert edges == {(parent, child) for child, parent in world.truth.edges} == set(fit.skeleton.own_tree)
    assert {joint.support for joint in fit.skeleton.joints} == {1.0}
    hand, elbow = names.index("l_forearm"), names.index("l_upper_arm")
    skipping = OwnSkeleton(names, [k if at != hand else parent[elbow] for at, k in enumerate(parent)], np.zeros((6, 3)))
    found = condyle.fit(replace(take, own=skipping), intervals=False)
    [told] = [finding for finding in found.findings if finding.code == "own-tree"]
    assert told.bodies == ("l_forearm",)
    with pytest.raises(condyle.UsageError, match="brings no hierarchy along"):
        condyle.fit(world.take, tree="file")


def test_a_later_file_with_orientation_alone_is_solved_on_one_position(tmp_path: Path) -> None:
    first = simulate(chain(), seconds=10, seed=1)
    condyle.write_take(tmp_path / "first.npz", first.take)
    calibration = condyle.fit(tmp_path / "first.npz", intervals=False)
    later = simulate(chain(), seconds=3, seed=2, mounts=first.truth.mounts).take
    place = later.p_world_body.copy()
    place[:, 1:] = 0.0  # as programs write where there is no position
    condyle.write_take(tmp_path / "later.npz", replace(later, p_world_body=place))
    solved = condyle.solve(tmp_path / "later.npz", calibration)
    assert {finding.code for finding in solved.findings} >= {"orientation-only"}
    np.testing.assert_allclose(
        condyle.forward(solved.skeleton, solved.motion).p_world_body, later.p_world_body, atol=1e-6
    )
    again = condyle.solve(tmp_path / "later.npz", calibration)
    assert solved.provenance.fit_id == again.provenance.fit_id != calibration.provenance.fit_id
    back = condyle.load(solved.save(tmp_path / "out", report=False).folder or "")
    np.testing.assert_allclose(back.motion.p_world_free, solved.motion.p_world_free, atol=1e-6)


def test_a_skeleton_alone_serves_as_the_calibration() -> None:
    first = simulate(chain(), seconds=10, seed=1)
    skeleton = condyle.fit(first.take, intervals=False).skeleton
    later = simulate(chain(), seconds=3, seed=2, mounts=first.truth.mounts).take
    solved = condyle.solve(later, skeleton)
    np.testing.assert_allclose(
        condyle.forward(solved.skeleton, solved.motion).p_world_body, later.p_world_body, atol=1e-6
    )
    with pytest.raises(condyle.UsageError, match="for files"):
        condyle.solve(later, skeleton, unit="mm")


def test_a_performer_whose_sensors_were_put_on_anew_may_wear_fewer_or_more() -> None:
    take = mount_chain(2).take
    performer = make_profile([fit_chain(1)])[0]
    fewer = condyle.solve(take.select(take.names[:-1]), profile=performer)
    assert fewer.skeleton.bodies == take.names[:-1]
    assert {"sensor-absent", "profile-used"} <= {one.code for one in fewer.findings}
    more = replace(take, names=(*take.names[:-1], "spare"))
    codes = {one.code for one in condyle.solve(more, profile=performer).findings}
    assert {"sensor-absent", "extra-sensors"} <= codes


def test_several_mountings_are_fits_with_one_set_of_lengths(tmp_path: Path) -> None:
    files = []
    for seed in (1, 2):
        files.append(tmp_path / f"m{seed}.npz")
        condyle.write_take(files[-1], mount_chain(seed).take)
    several = condyle.fit_remounted(files)
    saved = several.save(tmp_path / "out", report=False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"m1", "m2", "profile.json"}
    lengths = [[limb.length for limb in condyle.load(one.folder or "").skeleton.limbs] for one in saved.fits]
    np.testing.assert_allclose(sorted(lengths[0]), sorted(lengths[1]), atol=3e-4)
    ids = [one.provenance.fit_id for one in saved.fits]
    assert several.profile.fits == tuple(ids)
    assert len(set(ids)) == 2
    for wrong in (files[:1], str(files[0])):
        with pytest.raises(condyle.UsageError, match="two or more"):
            condyle.fit_remounted(wrong)
    with pytest.raises(condyle.UsageError, match="intervals"):
        condyle.fit_remounted(files, options=FitOptions(intervals=False))


def test_folders_of_files_with_one_name_are_numbered() -> None:
    assert api._name_folders(["a", "b", "a"]) == ["a-1", "b", "a-2"]


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        (condyle.fit, {"method": "drift"}, "fit has no option 'method'; did you mean 'plan'?"),
        (condyle.fit, {"intervalls": False}, "fit has no option 'intervalls'; did you mean 'intervals'?"),
        (condyle.fit, {"unitt": "mm"}, "fit has no option 'unitt'; did you mean 'unit'"),
        (condyle.fit, {"zzzz": 1}, "fit has no option 'zzzz'; choose from plan, tree, root"),
        (
            condyle.solve,
            {"skeleton": "itself", "no_fixes": "slips"},
            "solve has no option 'no_fixes'; did you mean 'no_fix'",
        ),
        (
            condyle.solve,
            {"skeleton": "itself", "method": "drift"},
            "solve has no option 'method'; choose from skeleton",
        ),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest_of_the_call(call, options, words, recording: Path) -> None:
    if "skeleton" in options:
        options = {**options, "skeleton": condyle.fit(recording, intervals=False)}
    with pytest.raises(condyle.UsageError) as caught:
        call(recording, **options)
    assert caught.value.code == "bad-option"
    assert str(caught.value).startswith(words)
