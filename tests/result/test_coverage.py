"""Whether there was enough motion, and what more of it would bring."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Skeleton, UsageError
from condyle.cli import main
from condyle.model.limbs import limb_geometry
from condyle.result.coverage import RECORDING_MIN_S, find_coverage
from condyle.result.verdict import verdict_of
from condyle.simulate import Disturbances, chain, linkage, simulate

NAMED = np.radians(2.0)
PREDICTED = 0.3  # of the width that the added seconds were to bring
NOISY = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5))


def fitted(seconds: float = 10.0, motion: str = "walk", seed: int = 3, **more: object) -> Skeleton:
    d = replace(NOISY, **more)  # type: ignore[arg-type]
    world = simulate(linkage(), motion, seconds=seconds, rate=30, seed=seed, disturbances=d)  # type: ignore[arg-type]
    return condyle.fit(world.take).skeleton


def test_the_seconds_that_are_asked_for_bring_the_width_that_is_wanted() -> None:
    short = fitted(10)
    for limb, coverage in zip(short.limbs, find_coverage(short).limbs, strict=True):
        assert limb.low is not None
        assert limb.high is not None
        assert coverage.width == pytest.approx(limb.high - limb.low)
        [asked] = [
            one for one in find_coverage(short, 0.5 * coverage.width).limbs if one.text.startswith(_name(limb) + ":")
        ]
        assert asked.seconds is not None
        assert asked.verdict == "weak"
    usual = float(np.median([one.width for one in find_coverage(short).limbs if one.width]))
    asked_for = [one.seconds for one in find_coverage(short, usual / 2).limbs if one.seconds]
    long = fitted(10 + float(np.median(asked_for)))
    reached = float(np.median([one.width for one in find_coverage(long).limbs if one.width]))
    assert reached == pytest.approx(usual / 2, rel=PREDICTED)


def _name(limb: condyle.Limb) -> str:
    return f"{limb.body}, {limb.from_joint} to {limb.to_joint}"


def test_no_time_is_promised_where_the_error_repeats_with_the_motion() -> None:
    soft = fitted(20, soft_tissue=0.01)
    limbs = find_coverage(soft, 0.001).limbs
    assert all(limb.verdict == "weak" for limb in limbs)
    assert sum(limb.seconds is None for limb in limbs) > len(limbs) / 2
    assert "repeats with the motion" in next(limb.text for limb in limbs if limb.seconds is None)


def test_wide_enough_is_enough_and_needs_no_time() -> None:
    coverage = find_coverage(fitted(20), 0.05)
    assert coverage.verdict == "enough"
    assert {limb.seconds for limb in coverage.limbs} == {0.0}
    assert str(coverage) == "enough motion: every length is known within an interval of 50 mm"


def test_a_hinge_is_known_by_its_axis_and_asks_for_a_second_one() -> None:
    world = simulate(chain(("ball", "hinge", "ball")), seconds=20, rate=30, seed=5, disturbances=NOISY)
    coverage = find_coverage(condyle.fit(world.take).skeleton)
    [hinge] = [joint for joint in coverage.joints if "if it is no hinge" in joint.text]
    assert hinge.axes == 1
    assert hinge.turned[0] > hinge.turned[1]
    k = world.truth.names.index(hinge.joint)
    assert abs(np.dot(hinge.poor, world.truth.axis_child[k])) > np.cos(NAMED)


@pytest.mark.parametrize(("axis", "told"), [((0, 0, 1), "bend it as well"), ((0, 1, 0), "twist it along its limb")])
def test_the_motion_that_is_missing_is_named(axis: tuple[float, float, float], told: str) -> None:
    hinged = replace(chain(("ball", "hinge", "ball")), axis=np.tile(axis, (4, 1)))
    world = simulate(hinged, seconds=20, rate=30, seed=5, disturbances=NOISY)
    [hinge] = [joint for joint in find_coverage(condyle.fit(world.take).skeleton).joints if "no hinge" in joint.text]
    assert told in hinge.text


def test_a_centre_that_one_half_knows_poorly_is_judged_by_that_half() -> None:
    skeleton = fitted(20)
    covariance = np.diag([1e-8] * 3 + [1e-8, 1e-8, 1e-4])
    joints = tuple(replace(joint, covariance=covariance) for joint in skeleton.joints)
    [half] = {joint.half for joint in find_coverage(replace(skeleton, joints=joints)).joints}
    assert half == pytest.approx(1.96 * 0.01, rel=1e-3)


def poorly_known_along(skeleton: Skeleton) -> tuple[Skeleton, float]:
    """A skeleton whose first limb is poorly known because one joint hardly turned but about the limb; and its width."""
    limb = skeleton.limbs[0]
    joint, other = skeleton.joint(limb.to_joint), skeleton.joint(limb.from_joint)
    shape = limb_geometry(other, joint, limb.body)
    assert shape is not None
    covariance = 1e-8 * np.eye(6)
    half = slice(0, 3) if joint.child == limb.body else slice(3, 6)
    covariance[half, half] += 1e-6 * np.outer(shape[1], shape[1])
    poor = replace(joint, covariance=covariance, rotation=np.array([0.6, 0.1, 0.1]))
    good = replace(other, covariance=1e-8 * np.eye(6))
    width = 2 * 1.96 * float(np.sqrt(1e-6 + 2e-8))
    limb = replace(limb, low=limb.length - width / 2, high=limb.length + width / 2, passing=1.0)
    joints = [{joint.child: poor, other.child: good}.get(one.child, one) for one in skeleton.joints]
    return replace(skeleton, joints=tuple(joints), limbs=(limb,)), width


def test_a_turn_about_a_second_axis_counts_by_how_much_farther_it_goes_but_takes_a_while() -> None:
    skeleton, width = poorly_known_along(fitted(20))
    [limb] = find_coverage(skeleton, 0.3 * width).limbs
    assert limb.wider is not None
    gain, share = (0.6**2 + 0.1**2) / (0.1**2 + 0.1**2), 1.01e-6 / 1.02e-6
    left = share * 20 / (20 + gain * limb.wider) + (1 - share) * 20 / (20 + limb.wider)
    assert left == pytest.approx(0.3**2, rel=5e-3)
    assert f"or {limb.wider:.0f} s that turn {limb.of} about a second axis" in limb.text
    [soon] = find_coverage(skeleton, 0.9 * width).limbs
    assert soon.wider == RECORDING_MIN_S


def test_a_take_at_rest_has_nothing_to_judge() -> None:
    still = simulate(linkage(), "still", seconds=5, rate=30, disturbances=NOISY)
    coverage = find_coverage(condyle.fit(still.take).skeleton)
    assert (coverage.joints, coverage.limbs, coverage.verdict) == ((), (), "not determined")
    assert "enough" not in str(coverage)


def test_a_pair_without_an_interval_says_so() -> None:
    bare = condyle.fit(simulate(linkage(), seconds=10, disturbances=NOISY).take, intervals=False).skeleton
    coverage = find_coverage(bare)
    assert coverage.verdict == "not determined"
    assert all("nothing tells" in joint.text for joint in coverage.joints)


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_a_width_that_is_none_is_refused(width: float) -> None:
    with pytest.raises(UsageError, match="not above zero"):
        find_coverage(fitted(5), width)


def test_the_command_tells_the_same_by_text_and_by_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skeleton = fitted(20)
    condyle.write_skeleton(tmp_path / "skeleton.json", skeleton)
    assert main(["coverage", str(tmp_path), "--width", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == verdict_of(skeleton).text
    assert lines[1].startswith("enough motion")
    assert main(["coverage", str(tmp_path / "skeleton.json"), "--width", "0.5", "--json", "--strict"]) == 3
    facts = json.loads(capsys.readouterr().out)
    wanted = find_coverage(skeleton, 0.0005)
    assert facts["verdict"] == wanted.verdict == "weak"
    assert facts["fit"]["text"] == verdict_of(skeleton).text
    assert [limb["text"] for limb in facts["limbs"]] == [limb.text for limb in wanted.limbs]
