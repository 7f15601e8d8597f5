"""Two worlds are told, brought into one where asked, and never where there is one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import UsageError, write_take
from condyle.cli import main
from condyle.estimate.registration import Registration
from condyle.faults.worlds import _is_late_only, _match, _speak_against, check_register
from condyle.simulate import Disturbances, human, prop, simulate, together
from tests.estimate.test_registration import two_worlds

NOISE = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.2))


def codes(fit: condyle.Fit) -> set[str]:
    return {told.code for told in fit.findings}


@pytest.mark.costly
def test_two_worlds_are_told_and_registered_as_asked() -> None:
    take, first, second = two_worlds(delay=0.08)
    told = condyle.fit(take, intervals=False)
    (finding,) = (one for one in told.findings if one.code == "two-worlds")
    assert "--register auto" in finding.text
    assert set(finding.bodies) == {take.names[k] for k in second}
    assert len(told.skeleton.roots) == 2
    names = ",".join(take.names[k] for k in first)
    for words in ("auto", f"{names}:*_thigh,*_shank,*_foot"):
        fit = condyle.fit(take, intervals=False, register=words)
        assert len(fit.skeleton.joints) == 14
        assert len(fit.skeleton.roots) == 1
        (one,) = (told for told in fit.findings if told.code == "registered")
        assert "its clock late by" in one.text
        assert "±" in one.text
        assert "two-worlds" not in codes(fit)


@pytest.mark.costly
def test_one_sensor_in_another_world_is_told_as_such_and_not_as_a_loose_thing() -> None:
    take, _, _ = two_worlds(second=("r_hand",))
    told = condyle.fit(take, intervals=False)
    (finding,) = (one for one in told.findings if one.code == "two-worlds")
    assert finding.bodies == ("r_hand",)
    assert "loose-body" not in codes(told)
    fit = condyle.fit(take, intervals=False, register="auto")
    assert ("r_hand", "r_forearm") in {(joint.child, joint.parent) for joint in fit.skeleton.joints}


def test_a_sensor_that_is_only_late_is_in_the_same_world() -> None:
    found = Registration(("a", "b"), np.eye(3), np.full(3, 0.01), 1.0, 0.3, 0.002, 0.1, 0.01, 0.01, None, 0.01)
    assert _is_late_only(found)
    assert not _is_late_only(replace(found, translation=np.array([1.0, 0.0, 0.0])))


@pytest.mark.parametrize("who", ["a person", "a thing", "two people"])
def test_one_world_is_left_as_it_is(who: str) -> None:
    world = simulate(human(), seconds=15, seed=4, disturbances=NOISE)
    if who == "a thing":
        world = together([world, prop("thing", seconds=15, seed=5, disturbances=NOISE)], ["", ""])
    if who == "two people":
        world = together([world, simulate(human(), seconds=15, seed=6, disturbances=NOISE)])
    assert "two-worlds" not in codes(condyle.fit(world.take, intervals=False))
    fit = condyle.fit(world.take, intervals=False, register="auto")
    assert "registered" not in codes(fit)
    assert "registration-open" in codes(fit)


def test_what_the_motion_does_not_determine_is_said() -> None:
    take, first, second = two_worlds("still")
    names = [",".join(take.names[k] for k in side) for side in (first, second)]
    (told,) = (one for one in condyle.fit(take, register=":".join(names)).findings if one.code == "registration-open")
    assert "not registered" in told.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("a:b:c", "give auto, or the sensors of both systems as A:B"),
        ("pelvis", "give auto, or the sensors of both systems as A:B"),
        ("pelvis:", "give auto, or the sensors of both systems as A:B"),
        ("pelvis:tail", "no sensor is called 'tail'; there are pelvis"),
        ("pelvis,chest:*e*", "on both sides; a sensor is of one system"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_right(words: str, said: str) -> None:
    take = simulate(human(), seconds=5, seed=1).take
    with pytest.raises(UsageError, match=said.replace("*", r"\*")):
        condyle.fit(take, intervals=False, register=words)
    check_register("auto")


def test_a_sensor_whose_very_name_is_given_is_meant_alone() -> None:
    assert _match(("mag_*", "mag_1", "opt_1"), "mag_*") == [0]
    assert _match(("mag_1", "mag_2", "opt_1"), "mag_*, opt_1") == [0, 1, 2]


def test_the_command_line_registers(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    take, _, _ = two_worlds()
    write_take(tmp_path / "two.npz", take)
    words = ["fit", str(tmp_path / "two.npz"), "-o", str(tmp_path / "out"), "--register", "auto", "--no-intervals"]
    assert main([*words, "--no-report"]) == 0
    assert "[registered]" in capsys.readouterr().out
    assert 'register = "auto"' in (tmp_path / "out" / "options.toml").read_text()


def test_what_speaks_against_a_registration() -> None:
    usual = SimpleNamespace(  # joints that come apart by 10 mm
        pairs=np.array([[1, 0], [2, 1]]), solution=SimpleNamespace(residual_cov=np.eye(2) * 0.01**2 / 3)
    )
    good = Registration(("a", "b"), np.eye(3), np.zeros(3), 1.0, 0.0, 0.02, 0.5, np.radians(1.0), 0.01)

    def told(**change: object) -> str:
        return _speak_against(usual, replace(good, **change))  # type: ignore[arg-type]

    assert told() == ""
    assert "share a point in any common world" in told(residual=0.035)
    assert "it is one world" in told(before=0.05)
    assert told(before=0.07) == ""
    assert "determine rotation (± 6 deg)" in told(rotation_95=np.radians(6))
    assert told(rotation_95=np.radians(4)) == ""
    assert "determine translation (± 120 mm)" in told(translation_95=0.12)
    assert told(translation_95=0.08) == ""
    assert "determine scale (± 6 %), delay (± 60 ms)" in told(scale_95=0.06, delay_95=0.06)
    assert told(scale_95=0.04, delay_95=0.04) == ""
    assert "in enough frames" in _speak_against(usual, None)  # type: ignore[arg-type]
