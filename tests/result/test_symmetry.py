"""Left and right alike, on request only."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import UsageError
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


def test_nothing_is_assumed_where_nobody_asks() -> None:
    found, _ = fit(human(EQUAL), None)
    assert not [finding for finding in found.findings if finding.code == "symmetry-assumed"]


def test_a_loose_tolerance_changes_nothing_and_a_figure_without_sides_says_so() -> None:
    plain, true = fit(human(EQUAL), None)
    loose, _ = fit(human(EQUAL), 100.0)
    np.testing.assert_allclose(errors(loose, true), errors(plain, true), atol=1e-6)
    links = simulate(chain(), seconds=15, rate=30, disturbances=SOFT)
    found = condyle.fit(links.take, symmetric=0.005)
    assert [f.severity for f in found.findings if f.code == "symmetry-assumed"] == ["warning"]


@pytest.mark.parametrize("tolerance", [0.0, -0.001, np.inf, np.nan])
def test_a_tolerance_that_is_none_is_refused(tolerance: float) -> None:
    with pytest.raises(UsageError, match="not above zero"):
        fit(human(EQUAL), tolerance, seconds=5)


def test_without_intervals_there_is_nothing_to_weigh_by() -> None:
    with pytest.raises(UsageError, match="intervals"):
        fit(human(EQUAL), 0.005, seconds=5, intervals=False)
