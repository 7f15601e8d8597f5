"""Residuals from sums over stretches are those of the rows, however the two bodies are exchanged."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.take import Take
from condyle.pairs.exchange import Exchange, fit_residual, sum_stretches
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.prepare.swaps import Swap, exchange_back
from condyle.simulate import Disturbances, linkage, simulate

NEAR = 2e-3  # relative: directions that hardly turn are left at rest
CUTS = np.array([0, 100, 160, 300])


@pytest.fixture(scope="module")
def take() -> Take:
    d = Disturbances(position_noise=0.003, orientation_noise=0.005, missing=0.05)
    return simulate(linkage(), "walk", seconds=10, rate=30, seed=4, disturbances=d).take


def residuals(take: Take) -> np.ndarray:
    m = take.bodies
    fits = fit_pairs(sum_pairs(take))
    out = np.full((m, m), np.inf)
    out[fits.pairs[:, 0], fits.pairs[:, 1]] = out[fits.pairs[:, 1], fits.pairs[:, 0]] = fits.residual
    return out


def test_sums_of_stretches_add_to_those_of_the_take(take: Take) -> None:
    pair = (1, 3)
    sums = sum_stretches(take, pair, CUTS)
    whole = sum_pairs(take)
    for name in ("frames", "M", "b_child", "b_parent", "dd"):
        np.testing.assert_allclose(getattr(sums, name).sum(axis=0), getattr(whole, name)[list(pair)], atol=1e-9)


def test_the_residual_is_that_of_least_squares(take: Take) -> None:
    sums = sum_pairs(take)
    np.testing.assert_allclose(fit_residual(sums[np.triu_indices(take.bodies, 1)]), fit_pairs(sums).residual, rtol=NEAR)


def test_a_pair_without_frames_has_no_residual() -> None:
    sums = sum_pairs(Take(("a", "b"), np.empty(0), np.empty((0, 2, 3, 3)), np.empty((0, 2, 3))))
    assert fit_residual(sums[[0], [1]]).tolist() == [np.inf]


@pytest.mark.parametrize("stretch", [0, 1, 2])
def test_the_stretch_that_was_exchanged_is_the_one_to_exchange(take: Take, stretch: int) -> None:
    pair = (1, 3)
    first, stop = CUTS[stretch : stretch + 2].tolist()
    names = (take.names[1], take.names[3])
    mixed = exchange_back(take, [Swap(names, first, stop, 0.0, 0.0, 0.0, 0.0)])
    trial = Exchange(sum_stretches(mixed, pair, CUTS), pair, residuals(mixed), 1e-6)
    found, fall = trial.search(0.1)
    right = np.arange(3) == stretch
    assert found.tolist() in (right.tolist(), (~right).tolist())  # turning all over is the same
    best = residuals(take).min(axis=1)
    spoilt = residuals(mixed).min(axis=1)
    assert fall == pytest.approx(np.log(spoilt / best).sum(), abs=0.05)


def test_nothing_is_exchanged_where_that_does_not_pay(take: Take) -> None:
    found, fall = Exchange(sum_stretches(take, (1, 3), CUTS), (1, 3), residuals(take), 1e-6).search(0.1)
    assert not found.any()
    assert fall == 0
