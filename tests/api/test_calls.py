"""The library does what the command line does: fits, solves, and takes the same options."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.cli import main
from condyle.model.options import FitOptions
from condyle.model.take import OwnSkeleton
from condyle.result.profile import make_profile
from condyle.simulate import Disturbances, chain, human, linkage, simulate
from tests.make.performers import fit_chain, mount_chain

from .conftest import NOISE


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


def test_one_sensor_read_twice_is_refused_in_a_later_take_too() -> None:
    later = mount_chain(1, 1).take
    twice = later.p_world_body.copy(), later.R_world_body.copy()
    for values in twice:
        values[:, 2] = values[:, 0]
    later = replace(later, p_world_body=twice[0], R_world_body=twice[1])
    with pytest.raises(condyle.CondyleError, match="report the same pose in all") as caught:
        condyle.solve(later, fit_chain(1))
    assert caught.value.code == "identical-sensors"


def test_what_preparing_finds_in_a_later_take_is_told() -> None:
    later = mount_chain(1, 1).take
    still = later.p_world_body.copy(), later.R_world_body.copy()
    for values in still:
        values[100:200, 2] = values[100, 2]
    later = replace(later, p_world_body=still[0], R_world_body=still[1])
    solved = condyle.solve(later, fit_chain(1), scale=1.02)
    assert {"frozen-samples", "scaled"} <= {finding.code for finding in solved.findings}


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


def test_a_caller_for_whom_faults_of_arithmetic_are_errors_gets_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Disturbances(position_noise=0.002, orientation_noise=0.01, missing=0.05)
    world = simulate(human(), "exercise", seconds=6, seed=1, disturbances=noise)

    def work(folder: Path) -> dict[str, bytes]:
        folder.mkdir()
        monkeypatch.chdir(folder)
        condyle.write_take("take.csv", world.take)
        fit = condyle.fit(condyle.read("take.csv"))
        fit.save("out", report=False, export="bvh,glb,osim")
        again = condyle.load("out")
        again.export("mjcf,csv", "more")
        again.write_angles("csv", "angles")
        condyle.solve(world.take.slice(0, 60), again)
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    usual = work(tmp_path / "usual")
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert work(tmp_path / "strict") == usual
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        np.float64(1e-300) * np.float64(1e-300)  # as the caller wants it, elsewhere
