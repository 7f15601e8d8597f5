"""Left and right alike, on request only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import UsageError
from condyle.estimate.intervals import Uncertainty
from condyle.result.symmetry import mirror_lengths
from condyle.simulate import MALE_LENGTHS, Disturbances, SimulatedFigure, chain, human, simulate

EQUAL = {name: MALE_LENGTHS[f"l_{name[2:]}"] for name in MALE_LENGTHS}
WHITE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.2))
SOFT = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.005)


def fit(
    figure: SimulatedFigure, symmetric: float | None, seed: int = 300, seconds: float = 30, **options: object
) -> tuple[condyle.Fit, dict]:
    world = simulate(figure, "exercise", seconds=seconds, rate=30, seed=seed, disturbances=SOFT)
    found = condyle.fit(world.take, symmetric=symmetric, **options)  # type: ignore[arg-type]
    return found, {(body, frozenset(ends)): length for (body, *ends), length in world.truth.limbs.items()}


def errors(found: condyle.Fit, true: dict) -> np.ndarray:
    limbs = [limb for limb in found.skeleton.limbs if limb.length is not None]
    return np.array([limb.length - true[limb.body, frozenset((limb.from_joint, limb.to_joint))] for limb in limbs])


@pytest.mark.costly
def test_limbs_that_are_equal_are_known_better_and_stay_in_their_intervals() -> None:
    """Of the 17 lengths of a fit, right intervals miss two or more in one fit of five, so that both are counted."""
    plain, alike = ([fit(human(EQUAL), tolerance, seed) for seed in (300, 301)] for tolerance in (None, 0.003))
    before, after = (np.concatenate([errors(*one) for one in fits]) for fits in (plain, alike))
    assert np.square(after).mean() < 0.8 * np.square(before).mean()
    left, right = (alike[0][0].skeleton.limb(f"{side}_thigh").length for side in "lr")
    assert left == pytest.approx(right, abs=0.006)
    held = [
        limb.low <= true[limb.body, frozenset((limb.from_joint, limb.to_joint))] <= limb.high
        for found, true in alike
        for limb in found.skeleton.limbs
    ]
    assert np.mean(held) > 0.9


def test_the_assumption_is_told_with_what_it_changed() -> None:
    found, _ = fit(human(EQUAL), 0.003)
    [finding] = [finding for finding in found.findings if finding.code == "symmetry-assumed"]
    assert finding.severity == "info"
    assert "equal within 3 mm in 7 pairs, as was asked" in finding.text.replace("3.0 mm", "3 mm")
    assert found.skeleton.options["symmetric"] == 0.003


def test_sides_that_really_differ_are_told_with_a_warning_that_names_them() -> None:
    longer = human({**EQUAL, "l_thigh": EQUAL["l_thigh"] + 0.015})
    for figure, severity in ((human(EQUAL), "info"), (longer, "warning")):
        world = simulate(figure, "exercise", seconds=20, rate=30, seed=300, disturbances=WHITE)
        found = condyle.fit(world.take, symmetric=0.003)
        [finding] = [finding for finding in found.findings if finding.code == "symmetry-assumed"]
        assert finding.severity == severity
    assert "but l_thigh and r_thigh differ by 15 mm" in finding.text


@pytest.mark.costly
def test_nothing_is_assumed_where_nobody_asks() -> None:
    found, _ = fit(human(EQUAL), None)
    assert not [finding for finding in found.findings if finding.code == "symmetry-assumed"]


@pytest.mark.costly
def test_a_loose_tolerance_changes_nothing_and_a_figure_without_sides_says_so() -> None:
    plain, true = fit(human(EQUAL), None)
    loose, _ = fit(human(EQUAL), 100.0)
    np.testing.assert_allclose(errors(loose, true), errors(plain, true), atol=1e-6)
    links = simulate(chain(), seconds=15, rate=30, disturbances=SOFT)
    found = condyle.fit(links.take, symmetric=0.005)
    assert [f.severity for f in found.findings if f.code == "symmetry-assumed"] == ["warning"]


def test_where_along_the_axis_of_a_knee_its_point_is_given_does_not_matter() -> None:
    world = simulate(human(EQUAL), "exercise", seconds=20, rate=30, seed=300, disturbances=WHITE)
    joints = {joint.child: joint for joint in condyle.fit(world.take, intervals=False).skeleton.joints}
    for side in "lr":
        knee, hip = joints[f"{side}_shank"], joints[f"{side}_thigh"]
        axis = np.cross(knee.p_parent_joint - hip.p_child_joint, [1.0, 0.0, 0.0])
        axis /= np.linalg.norm(axis)
        joints[knee.child] = replace(knee, kind="hinge", point="arbitrary", axis_child=axis, axis_parent=axis)
    knee = joints["l_shank"]
    moved = {**joints, "l_shank": replace(knee, p_parent_joint=knee.p_parent_joint + 0.06 * knee.axis_parent)}
    told = []
    for figure in (joints, moved):
        V = 1e-5 * np.eye(6 * len(figure))
        sure = Uncertainty(V, 0 * V, np.zeros(len(figure), bool), np.zeros((len(figure), 2)))
        told += mirror_lengths(list(figure.values()), sure, 0.003).findings
    assert told[0].value == pytest.approx(told[1].value)
    assert told[0].severity == told[1].severity == "info"


@pytest.mark.parametrize("tolerance", [0.0, -0.001, np.inf, np.nan])
def test_a_tolerance_that_is_none_is_refused(tolerance: float) -> None:
    with pytest.raises(UsageError, match="not above zero"):
        fit(human(EQUAL), tolerance, seconds=5)


def test_without_intervals_there_is_nothing_to_weigh_by() -> None:
    with pytest.raises(UsageError, match="intervals"):
        fit(human(EQUAL), 0.005, seconds=5, intervals=False)
