"""One verdict on a fit: sure joints, joints in question, lengths, and what colour it has."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import condyle
from condyle.findings import Finding
from condyle.io.skeleton_file import from_json, to_json
from condyle.model.skeleton import SURE_SUPPORT, Joint, Limb, Question, Skeleton, Verdict
from condyle.result.verdict import WIDE_LENGTH_SHARE, add_verdict, verdict_of
from condyle.simulate import Disturbances, human, simulate
from tests.make import jointed

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.3))


def joint(child: str, parent: str, kind: str = "ball", **facts: object) -> Joint:
    return replace(jointed.joint(np.random.default_rng(1), child, parent, kind), **facts)  # type: ignore[arg-type]


def limb(half: float = 0.01, length: float | None = 0.4) -> Limb:
    if length is None:
        return Limb("b", "b", "c", None, None, None)
    return Limb("b", "b", "c", length, length - half, length + half)


def sure(**change: object) -> Skeleton:
    joints = (joint("b", "a", support=1.0), joint("c", "b", support=SURE_SUPPORT))
    given = {"bodies": ("a", "b", "c"), "roots": ("a",), "loose": (), "joints": joints, "limbs": (limb(),)}
    return Skeleton(**{**given, **change})  # type: ignore[arg-type]


def judged(**change: object) -> Verdict:
    verdict = add_verdict(sure(**change)).verdict
    assert verdict is not None
    return verdict


def doubtful(*rivals: tuple[str, str]) -> tuple[Joint, Joint]:
    return joint("b", "a", support=1.0), joint("c", "b", support=0.999 * SURE_SUPPORT, rivals=rivals)


def test_a_fit_of_sure_joints_and_narrow_lengths_is_good() -> None:
    found = judged()
    assert (found.sure, found.joints, found.in_question, found.tone) == (2, 2, (), "good")
    assert found.length_95 == pytest.approx(0.025)
    assert found.text == "Found: 2 of 2 joints sure. Lengths known within 2.5 %. Nothing to look at."


def test_a_joint_in_question_is_named_with_its_rival() -> None:
    found = judged(joints=doubtful(("a", "c"), ("b", "d")))
    assert (found.sure, found.joints, found.tone) == (1, 2, "look")
    assert found.in_question == (Question(("b", "c"), (("a", "c"), ("b", "d"))),)
    assert found.text.startswith("Found: 1 of 2 joints sure; in question: b - c or a - c. ")
    assert "in question: b - c or not joined. " in judged(joints=doubtful()).text


def test_a_wide_length_is_never_green() -> None:
    for share, tone in ((0.999, "good"), (1.001, "look")):
        found = judged(limbs=(limb(half=share * WIDE_LENGTH_SHARE * 0.4),))
        assert found.tone == tone
        assert ("known poorly, that of b within 20 %" in found.text) == (tone == "look")
    assert "that of b not at all" in judged(limbs=(limb(half=0.5),)).text
    usual = (limb(),) * 3
    assert judged(limbs=(*usual, limb(half=0.001, length=0.0))).length_95 == pytest.approx(0.025)
    assert judged(limbs=(*usual, limb(half=0.008, length=0.0))).length_95 == pytest.approx(0.2)


def test_a_take_played_on_a_known_figure_is_good_where_nothing_is_to_be_looked_at() -> None:
    played = {"limbs": (limb(length=None),), "take": {"calibration": {"fit_id": "a"}, "sensors": ["a", "b", "c"]}}
    assert (judged(**played).tone, judged(**played).text[-19:]) == ("good", "Nothing to look at.")
    assert judged(**played, findings=(Finding("sensor-moved", "warning", "x"),)).tone == "look"


def test_lengths_without_noise_are_told_in_plain_numbers() -> None:
    assert "Lengths known within 0.01 %." in judged(limbs=(limb(1e-15),)).text


def test_a_length_that_is_not_known_is_never_green_unless_there_is_none() -> None:
    found = judged(limbs=(limb(), limb(length=None)))
    assert (found.tone, found.length_95) == ("look", pytest.approx(0.025))
    assert "1 of 2 lengths not determined" in found.text
    stiff = (joint("b", "a", support=1.0), joint("c", "b", support=1.0, kind="rigid"))
    assert judged(joints=stiff, limbs=(limb(length=None),)).tone == "good"


def test_lengths_that_nobody_asked_intervals_of_are_told_as_such() -> None:
    found = judged(limbs=(Limb("b", "b", "c", 0.4, None, None),))
    assert (found.tone, found.length_95) == ("good", None)
    assert "Lengths without intervals. " in found.text


def test_findings_count_by_cause_and_change_the_tone() -> None:
    two = (Finding("slip", "warning", "b slipped"), Finding("large-residual", "warning", "b comes apart"))
    assert judged(findings=two).text.endswith("1 thing to look at.")
    assert judged(findings=two).tone == "look"
    assert judged(findings=(Finding("loose-body", "error", "most are loose"),)).tone == "bad"
    assert judged(findings=(Finding("hinge", "info", "a hinge"),)).tone == "good"


def test_figures_and_loose_bodies_are_told() -> None:
    text = judged(roots=("a", "d"), loose=("e", "world")).text
    assert text.startswith("Found: 2 of 2 joints sure in 2 figures, 1 loose. ")


def test_without_a_joint_nothing_is_found() -> None:
    found = judged(joints=(), limbs=())
    assert (found.sure, found.joints, found.tone) == (0, 0, "bad")
    assert found.text.startswith("No joint can be told from this motion. ")
    played = judged(joints=(), limbs=(), take={"calibration": {}})
    assert played.tone == "bad"
    assert played.text.startswith("The calibration told no joint to play this take on; record it again")


def test_files_of_older_versions_are_judged_when_they_are_read() -> None:
    old = replace(sure(), joints=tuple(replace(one, support=None) for one in sure().joints))
    assert verdict_of(old).text.startswith("Found: 2 joints. ")
    assert verdict_of(add_verdict(sure())) == add_verdict(sure()).verdict


def test_the_sentence_of_a_fit_and_its_file_are_the_verdicts() -> None:
    fit = condyle.fit(simulate(human(), "walk", seconds=8, seed=2, disturbances=NOISE).take)
    verdict = fit.skeleton.verdict
    assert verdict is not None
    assert str(fit).endswith(verdict.text)
    assert verdict.text.startswith("Found: 14 of 14 joints sure. ")
    assert from_json(to_json(fit.skeleton)).verdict == verdict


def test_three_joints_in_question_are_named_and_the_rest_is_counted() -> None:
    names = "abcdef"
    joints = tuple(joint(b, a, support=0.5) for a, b in pairwise(names))
    found = judged(bodies=tuple(names), joints=joints)
    assert len(found.in_question) == 5
    assert "in question: a - b or not joined, b - c or not joined, c - d or not joined and 2 more." in found.text


def test_joints_whose_support_nobody_measured_are_not_called_sure() -> None:
    some = (joint("b", "a", support=1.0), joint("c", "b", support=None))
    assert "of 2 joints sure" in judged(joints=some).text
    none = (joint("b", "a", support=None), joint("c", "b", support=None))
    assert judged(joints=none).text.startswith("Found: 2 joints.")


def test_a_length_of_nearly_nothing_counts_against_the_usual_one_and_not_against_the_shorter() -> None:
    lengths = (limb(half=0.001, length=0.1), *(limb(half=0.001),) * 3)
    assert judged(limbs=(*lengths, limb(half=0.004, length=0.0))).length_95 == pytest.approx(0.1)
