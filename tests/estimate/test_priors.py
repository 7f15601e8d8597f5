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
