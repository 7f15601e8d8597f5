"""Priors on lengths whose weight is learned, against lengths that keep to them and lengths that do not."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.estimate.lengths import Lengths
from condyle.estimate.priors import (
    STATURE_SHARES,
    _learn,
    find_shares,
    find_twins,
    make_proportioned,
    make_sides_alike,
)
from condyle.model.profile import name_length

BODIES = ("pelvis", "l_thigh", "l_shank", "l_foot", "r_thigh", "r_shank", "r_foot")
EDGES = [(side + a, side + b) for side in ("l_", "r_") for a, b in (("thigh", "shank"), ("shank", "foot"))]
EDGES += [("pelvis", "l_thigh"), ("pelvis", "r_thigh")]
KEYS = tuple(
    name_length(side + body, (up if up == "pelvis" else side + up, side + body), (side + body, side + down))
    for side in ("l_", "r_")
    for up, body, down in (("pelvis", "thigh", "shank"), ("thigh", "shank", "foot"))
)
SD = 0.01


def _lengths(*value: float) -> Lengths:
    return Lengths(KEYS, np.array(value), SD**2 * np.eye(4))


def test_lengths_that_mirror_each_other_are_found() -> None:
    assert find_twins(KEYS, BODIES, EDGES) == [(0, 2), (1, 3)]
    assert find_twins(KEYS[:2], BODIES, EDGES) == []
    assert find_shares(KEYS, BODIES, EDGES) == dict(enumerate([0.245, 0.246] * 2))


def test_sides_that_are_alike_are_drawn_together() -> None:
    learned = make_sides_alike(_lengths(0.43, 0.40, 0.432, 0.401), [(0, 2), (1, 3)])
    assert learned.spread < SD
    assert abs(learned.lengths.value[0] - learned.lengths.value[2]) < 1e-3
    assert SD / np.sqrt(2) < learned.lengths.sd[0] < 0.95 * SD


def test_sides_that_differ_are_left_apart() -> None:
    learned = make_sides_alike(_lengths(0.43, 0.40, 0.49, 0.46), [(0, 2), (1, 3)])
    assert learned.spread > 0.025
    assert abs(learned.lengths.value[0] - learned.lengths.value[2]) > 0.04
    assert learned.lengths.sd[0] > 0.9 * SD


def test_proportions_count_as_far_as_the_lengths_keep_to_them() -> None:
    shares = find_shares(KEYS, BODIES, EDGES)
    thigh, shank = 1.7 * STATURE_SHARES["thigh"], 1.7 * STATURE_SHARES["shank"]
    kept = make_proportioned(_lengths(thigh + 0.01, shank, thigh - 0.01, shank), shares)
    assert kept.spread < 0.12
    assert abs(kept.lengths.value[0] - thigh) < 0.0099
    assert (kept.lengths.sd <= SD * (1 + 1e-9)).all()
    odd = make_proportioned(_lengths(0.3, 0.5, 0.3, 0.5), shares)
    assert odd.spread > kept.spread
    np.testing.assert_allclose(odd.lengths.value, [0.3, 0.5, 0.3, 0.5], atol=0.01)


def test_spreads_count_by_how_likely_they_make_the_lengths() -> None:
    """Against the posterior of one length on a grid, mixed over the spreads."""
    keys, value, sd, mean = KEYS[:1], 0.46, 0.01, 0.43
    spreads = np.array([0.005, 0.02, 0.08])
    learned = _learn(
        Lengths(keys, np.array([value]), np.array([[sd**2]])),
        np.eye(1),
        np.array([mean]),
        [np.array([[spread**2]]) for spread in spreads],
        spreads,
    )
    x = np.linspace(0.3, 0.6, 30_001)
    each = [np.exp(-0.5 * ((x - value) / sd) ** 2 - 0.5 * ((x - mean) / s) ** 2) / s for s in spreads]
    posterior = np.sum(each, axis=0)
    posterior /= posterior.sum()
    assert learned.lengths.value[0] == pytest.approx(float(posterior @ x), abs=1e-6)
    weight = np.array([one.sum() for one in each])
    assert learned.spread == pytest.approx(float(np.exp(weight @ np.log(spreads) / weight.sum())), rel=1e-4)
    exact = float(np.sqrt(posterior @ np.square(x - posterior @ x)))
    assert learned.lengths.sd[0] == pytest.approx(exact, rel=1e-4)  # more than before: it is not widened again


def test_nobody_is_taken_to_be_alike_within_a_millimetre_nor_to_keep_to_no_law_at_all() -> None:
    twins, shares = [(0, 2), (1, 3)], find_shares(KEYS, BODIES, EDGES)
    sure = np.full((4, 4), 0.0) + 1e-8 * np.eye(4)  # lengths known to a tenth of a millimetre
    alike, apart = (Lengths(KEYS, np.array(value), sure) for value in ((0.42, 0.42, 0.42, 0.42), (0.3, 0.5, 0.5, 0.3)))
    assert 1e-3 < make_sides_alike(alike, twins).spread < 4e-3  # m
    assert 0.025 < make_sides_alike(apart, twins).spread < 0.1
    assert 0.02 < make_proportioned(alike, shares).spread < 0.08  # of the length
    odd = Lengths(KEYS, np.array([0.1, 0.9, 0.1, 0.9]), sure)
    assert 0.15 < make_proportioned(odd, shares).spread < 0.6


def test_children_and_giants_are_not_drawn_to_the_usual_stature() -> None:
    shares = find_shares(KEYS, BODIES, EDGES)
    for stature in (1.0, 2.2):  # m
        value = stature * np.array([0.245, 0.246] * 2)
        drawn = make_proportioned(Lengths(KEYS, value, 0.05**2 * np.eye(4)), shares).lengths.value
        np.testing.assert_allclose(drawn, value, atol=0.003)  # m


def test_limbs_are_in_proportion_to_each_other() -> None:
    share = STATURE_SHARES
    assert 0.9 < share["shank"] / share["thigh"] < 1.1
    assert 0.65 < share["upper_arm"] / share["thigh"] < 0.9
    assert 0.65 < share["forearm"] / share["upper_arm"] < 0.9
