from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports.export import write_figure
from condyle.io.exports.proportions import NOT_JOINTS, NOT_MEASURED, NOT_WORN, SLIMEVR_LENGTHS, SLIMEVR_WIDTHS
from condyle.io.exports.scene import Scene
from condyle.model.skeleton import Limb
from condyle.simulate import Disturbances, human, simulate, together
from tests.make import moving

TRUE_M = {"l_thigh": 0.45, "r_thigh": 0.43, "l_shank": 0.40, "r_shank": 0.40}
ROUNDING_M = 1e-9  # of sums over a take without noise


@cache
def _fit(noise_mm: float = 0.0) -> condyle.Fit:
    rough = Disturbances(position_noise=noise_mm / 1000)
    return condyle.fit(simulate(human(TRUE_M), "exercise", seconds=20, rate=30, disturbances=rough).take)


def _write(scene: Scene, folder: Path) -> dict[str, Any]:
    (file,) = write_figure(scene, "proportions", folder).files
    assert file.name == "figure.proportions.json"
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_lengths_stand_under_the_names_of_both_programs(tmp_path: Path) -> None:
    found = _write(_fit().scene(), tmp_path)
    assert (found["format"], found["version"], found["units"]) == ("condyle.proportions", 1, "m")
    assert found["fit_id"] == _fit().skeleton.fit_id
    slime, vrm = found["slimevr"]["lengths"], found["vrm"]["lengths"]
    assert slime["upperLegLength"]["length"] == pytest.approx(0.44, abs=ROUNDING_M)  # the mean of both
    assert slime["upperLegLength"]["left"]["length"] == pytest.approx(0.45, abs=ROUNDING_M)
    assert slime["hipsWidth"]["length"] == pytest.approx(0.18, abs=ROUNDING_M)
    assert slime["shouldersWidth"]["length"] == pytest.approx(0.38, abs=ROUNDING_M)
    assert vrm["leftUpperLeg"]["length"] == pytest.approx(0.45, abs=ROUNDING_M)
    assert vrm["rightUpperLeg"]["length"] == pytest.approx(0.43, abs=ROUNDING_M)
    assert vrm["rightUpperLeg"]["between"] == "joints"


def test_every_length_of_slimevr_is_there_or_says_why_not(tmp_path: Path) -> None:
    found = _write(_fit().scene(), tmp_path)["slimevr"]
    assert set(found["lengths"]) | set(found["missing"]) == set(SLIMEVR_LENGTHS) | set(SLIMEVR_WIDTHS)
    assert found["missing"] == {
        "neckLength": NOT_WORN,
        "upperChestLength": NOT_WORN,
        "chestLength": NOT_JOINTS,  # the one bone of the trunk reaches to the neck
        "waistLength": NOT_WORN,
        "hipLength": NOT_JOINTS,
        "footLength": NOT_WORN,
    }
    (told,) = write_figure(_fit().scene(), "proportions", tmp_path).findings
    assert told.code == "proportions-missing"
    assert told.count == 6


def test_intervals_are_those_of_the_limbs_and_hold_the_truth(tmp_path: Path) -> None:
    fit = _fit(1.0)
    found = _write(fit.scene(), tmp_path)
    limb = next(limb for limb in fit.skeleton.limbs if limb.body == "l_thigh")
    left = found["vrm"]["lengths"]["leftUpperLeg"]
    assert (left["length"], left["low"], left["high"]) == (limb.length, limb.low, limb.high)
    both = found["slimevr"]["lengths"]["upperLegLength"]
    assert both["low"] < 0.44 < both["high"]
    halves = [both[side]["high"] - both[side]["low"] for side in ("left", "right")]
    assert both["high"] - both["low"] == pytest.approx(np.mean(halves))


def test_what_the_motion_leaves_open_is_not_told(tmp_path: Path) -> None:
    scene = _fit().scene()

    def open_up(limb: Limb) -> Limb:
        gone = limb.body in ("l_thigh", "l_forearm", "r_forearm")
        return replace(limb, length=None, low=None, high=None) if gone else limb

    limbs = tuple(open_up(limb) for limb in scene.skeleton.limbs)
    found = _write(replace(scene, skeleton=replace(scene.skeleton, limbs=limbs)), tmp_path)
    legs = found["slimevr"]["lengths"]["upperLegLength"]
    assert "left" not in legs
    assert legs["length"] == legs["right"]["length"]
    assert found["slimevr"]["missing"]["lowerArmLength"] == NOT_MEASURED
    assert found["vrm"]["missing"]["leftUpperLeg"] == NOT_MEASURED
    bare = replace(scene, skeleton=replace(scene.skeleton, limbs=()))
    (told,) = write_figure(bare, "proportions", tmp_path).findings
    assert (told.code, told.severity) == ("proportions-missing", "warning")


def test_a_fit_without_intervals_has_lengths_alone(tmp_path: Path) -> None:
    found = _write(condyle.fit(_fit().take, intervals=False).scene(), tmp_path)
    legs = found["slimevr"]["lengths"]["upperLegLength"]
    assert legs["length"] == pytest.approx(0.44, abs=ROUNDING_M)
    assert legs["low"] is legs["high"] is legs["left"]["low"] is None


@pytest.mark.parametrize("bones", [3, 4])
def test_lengths_of_the_trunk_are_told_where_it_is_divided_as_slimevrs_is(bones: int, tmp_path: Path) -> None:
    trunk = ["L5", "L3", "T12", "T8"][-bones:]
    ups = {"pelvis": "", trunk[0]: "pelvis", **dict(zip(trunk[1:], trunk, strict=False)), "neck": trunk[-1]}
    one = moving.tree(ups)
    above = [*trunk[1:], "neck"]
    limbs = tuple(
        Limb(body, body, to, round(0.1 + k / 100, 2), None, None)
        for k, (body, to) in enumerate(zip(trunk, above, strict=True))
    )
    found = _write(Scene(replace(one.skeleton, limbs=limbs), one.motion), tmp_path)["slimevr"]
    if bones == 4:
        assert {found["missing"][f"{name}Length"] for name in ("waist", "chest", "upperChest")} == {NOT_JOINTS}
        return
    lengths = found["lengths"]
    assert [lengths[f"{name}Length"]["length"] for name in ("waist", "chest", "upperChest")] == [0.1, 0.11, 0.12]


def test_names_of_a_rig_change_nothing(tmp_path: Path) -> None:
    plain = _write(_fit().scene(), tmp_path / "a")
    assert _write(_fit().scene(names="unreal"), tmp_path / "b") == plain


def test_the_root_of_the_fit_changes_nothing(tmp_path: Path) -> None:
    tree = [(joint.parent, joint.child) for joint in _fit().skeleton.joints]
    turned = condyle.fit(_fit().take, tree=tree, root="l_foot")
    assert turned.skeleton.roots == ("l_foot",)
    one, other = (_write(fit.scene(), tmp_path / str(k))["vrm"]["lengths"] for k, fit in enumerate((_fit(), turned)))
    assert one.keys() == other.keys()
    for name in one:
        assert one[name]["length"] == pytest.approx(other[name]["length"], abs=ROUNDING_M)


@pytest.mark.parametrize("who", ["a chain", "two people"])
def test_only_one_person_has_proportions_and_nothing_is_written_otherwise(who: str, tmp_path: Path) -> None:
    one = moving.links()
    if who == "two people":
        people = [simulate(human(), "walk", seconds=1, rate=30, seed=seed) for seed in (1, 2)]
        one = moving.moving(together(people))
    with pytest.raises(CondyleError, match=r"proportions are of one person, and the figure has (none|2 people)"):
        write_figure(Scene(one.skeleton, one.motion, one.take), "proportions", tmp_path)
    assert not list(tmp_path.iterdir())
