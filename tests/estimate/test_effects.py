"""Random effects: sizes that are there are found, none are found that are not, and none exceed their limit."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.estimate import effects
from condyle.estimate.effects import EFFECT_MIN_RATIO, _EffectProducts, _solve_open, _step_newton, _Sums, fit_effects
from condyle.estimate.intervals import EFFECT_MIN_GAIN
from condyle.maths.least_squares import OPEN_RATIO
from condyle.simulate.device import colour_noise
from tests.make.size import trials

FIXED_POINT = 1e-3  # of the largest size
ROUNDS = 3000


def sizes_by_many_rounds(y, Q, X, groups, limit: float) -> np.ndarray:
    """Standard deviations of the effects and of the noise by MacKay's fixed point alone."""
    base = np.linalg.qr(Q)[0]
    y, X = y - base @ (base.T @ y), X - base @ (base.T @ X)
    sums = sums_of(X, y, len(y) - Q.shape[1], groups, limit)
    at = np.full((1, groups.max() + 2), np.log(sums.yy / sums.rows))
    for _ in range(ROUNDS):
        at = sums.within(sums.update(at)[0])
    return np.exp(at[0] / 2)


def sums_of(X, y, rows: int, groups, limit: float) -> _Sums:
    return _Sums((X.T @ X)[None], (X.T @ y)[None], np.array([y @ y]), np.array([rows]), groups, np.array([limit]))


@pytest.mark.sized
@pytest.mark.parametrize("limit", [np.inf, 1.0])
def test_newton_ends_at_the_fixed_point(rng: np.random.Generator, limit: float) -> None:
    groups, sizes = np.repeat([0, 1, 2], 9), np.array([0.5, 0.0, 2.0])
    for _ in trials(1, 5):
        Q, X = rng.standard_normal((600, 6)), rng.standard_normal((600, 27))
        X[:, 9:18] += X[:, :9]
        y = Q @ rng.standard_normal(6) + X @ (sizes[groups] * rng.standard_normal(27)) + rng.standard_normal(600)
        slow = sizes_by_many_rounds(y, Q, X, groups, limit)
        variance = fit_effects(y, Q, X, groups, np.ones(len(y), dtype=bool), limit).variance
        assert np.sqrt(variance) == pytest.approx(slow[:-1], abs=FIXED_POINT * slow.max())
        assert variance.sum() <= limit * (1 + 1e-9)


def test_the_slope_of_a_round_is_that_of_differences(rng: np.random.Generator) -> None:
    X, groups = rng.standard_normal((80, 8)), np.repeat([0, 1], 4)
    y = X @ rng.standard_normal(8) + rng.standard_normal(80)
    for limit in (np.inf, 0.5):
        sums = sums_of(X, y, 80, groups, limit)
        at = np.log([[0.5, 0.3, 1.2]])
        _, (slope,) = sums.update(at)
        steps = [(sums.update(at + d)[0][0] - sums.update(at - d)[0][0]) / 2e-5 for d in 1e-5 * np.eye(3)]
        assert slope == pytest.approx(np.stack(steps, axis=1), abs=1e-6)


def test_a_size_that_falls_faster_and_faster_is_taken_to_the_least_once_the_others_hardly_move() -> None:
    at, slope = np.array([[-3.0, -5.0, 0.0]]), np.diag([0.5, 1.1, 0.1])[None]
    step = _step_newton(at, np.array([[0.01, -0.02, 0.001]]), slope)
    assert at + step == pytest.approx(np.array([[-2.98, np.log(EFFECT_MIN_RATIO), 0.001 / 0.9]]))
    step = _step_newton(at, np.array([[0.1, -0.02, 0.001]]), slope)
    assert step == pytest.approx(np.array([[0.2, -0.02, 0.001 / 0.9]]))


def test_effects_gain_likelihood_where_there_are_some_and_none_where_noise_is_merely_slow(rng) -> None:
    blocks, fresh = 200, np.arange(200) == 0
    slow = np.cumsum(rng.standard_normal((blocks, 12)), axis=0) / np.sqrt(blocks)
    Q, X = rng.standard_normal((3 * blocks, 6)), np.repeat(slow, 3, axis=0)
    noise = colour_noise(rng.standard_normal((blocks, 3)), np.arange(blocks) / 6, 0.5).ravel()
    groups = np.repeat([0, 1], 6)
    assert fit_effects(noise, Q, X, groups, fresh).gain < EFFECT_MIN_GAIN
    assert fit_effects(noise + 2 * X @ rng.standard_normal(12), Q, X, groups, fresh).gain > 3 * EFFECT_MIN_GAIN


def test_effects_that_cancel_each_other_stay_within_their_limit(rng: np.random.Generator) -> None:
    """Columns that are nearly alike, as those of a slow motion are, hold sums of any size that leave nothing."""
    slow = np.cumsum(rng.standard_normal((60, 1)), axis=0) + 1e-3 * rng.standard_normal((60, 30))
    X, y = np.repeat(slow, 3, axis=0), rng.standard_normal(180)
    found = fit_effects(y, np.ones((180, 1)), X, np.zeros(30, np.int64), np.arange(60) == 0, limit=0.5)
    assert found.variance.sum() <= 0.5 * (1 + 1e-9)


def test_random_effects_of_known_size_are_found(rng: np.random.Generator) -> None:
    rows, sizes = 3000, np.array([0.5, 0.0, 2.0])
    groups = np.repeat([0, 1, 2], 12)
    found = []
    for _ in range(12):
        Q, X = rng.standard_normal((rows, 6)), rng.standard_normal((rows, 36))
        y = Q @ rng.standard_normal(6) + X @ (sizes[groups] * rng.standard_normal(36)) + 0.3 * rng.standard_normal(rows)
        variance = fit_effects(y, Q, X, groups, np.ones(rows, dtype=bool)).variance
        found.append(np.sqrt(variance))
    assert np.mean(found, axis=0) == pytest.approx(sizes, abs=0.15)


def test_gaps_that_are_exactly_zero_have_no_effects(rng) -> None:
    Q, X = rng.standard_normal((60, 3)), rng.standard_normal((60, 4))
    found = fit_effects(np.zeros(60), Q, X, np.array([0, 0, 1, 1]), np.arange(20) == 0)
    assert not np.concatenate([found.variance, found.free, found.random]).any()


def test_whitening_of_products_is_that_of_the_rows(rng) -> None:
    """The products are made once; those of whitened columns follow for any correlation, also across segments."""
    fresh = np.isin(np.arange(40), [0, 13, 14])
    table = rng.standard_normal((120, 9))
    q, y, X = np.split(table[None], [3, 4], axis=2)
    series = _EffectProducts(y[..., 0], q, X, np.ones((1, 3), dtype=bool), fresh)
    for rho in (0.0, 0.4, 0.9):
        rows = table.reshape(40, 3, 9)
        white = rows.copy()
        white[1:] -= rho * rows[:-1]
        white[fresh] = rows[fresh] * np.sqrt(1 - rho**2)
        white = white.reshape(120, 9)
        np.testing.assert_allclose(series.whiten(np.array([rho]))[0], white.T @ white, rtol=0, atol=1e-10)
        left = white[:, 3:] - white[:, :3] @ np.linalg.lstsq(white[:, :3], white[:, 3:], rcond=None)[0]
        np.testing.assert_allclose(series.clear(np.array([rho]))[0][0], left.T @ left, rtol=0, atol=1e-10)
        alone = series.clear(np.array([rho]), 1)[0]
        np.testing.assert_allclose(alone, [[[left[:, 0] @ left[:, 0]]]], rtol=0, atol=1e-10)


@pytest.mark.parametrize("limit", [0.02, 0.2])
def test_a_limit_is_shared_by_what_groups_explain_and_not_by_how_fast_they_grow(limit: float) -> None:
    """A group that hardly shows beside the free columns grows fast: if it took all, the likelihood would fall."""
    rng = np.random.default_rng(0)
    for shows in (0.001, 0.01, 0.03, 0.1):
        Q, X = rng.standard_normal((300, 6)), rng.standard_normal((300, 12))
        y = X[:, :6] @ rng.standard_normal(6) + 0.1 * rng.standard_normal(300)
        X[:, 6:] = Q + shows * (y + 0.5 * rng.standard_normal(300))[:, None]
        groups = np.repeat([0, 1], 6)
        alone, both = (
            fit_effects(y, Q, X[:, own], groups[own], np.ones(300, bool), limit) for own in (slice(6), slice(12))
        )
        assert both.variance.sum() == pytest.approx(limit)
        assert both.gain > alone.gain - 2e-3


def test_products_of_a_long_series_are_added_up_part_by_part(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = np.isin(np.arange(40), [0, 13, 14, 21])
    q, y, X = np.split(rng.standard_normal((2, 120, 9)), [3, 4], axis=2)
    keep, names = np.ones((2, 3), dtype=bool), ("now", "near", "earlier", "change")
    whole = _EffectProducts(y[..., 0], q, X, keep, fresh)
    for blocks in (1, 7, 39):
        monkeypatch.setattr(effects, "PART_BYTES", blocks * 3 * 8 * 5)
        parts = _EffectProducts(y[..., 0], q, X, keep, fresh)
        for name in names:
            np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=0, atol=1e-12)


def test_several_are_fitted_together_as_they_are_one_by_one(rng) -> None:
    fresh, groups = np.arange(50) == 0, np.repeat([0, 1], 4)
    Q, X = rng.standard_normal((4, 150, 6)), rng.standard_normal((4, 150, 8))
    Q[1, :, 5] = Q[1, :, 2]  # says nothing new
    y = (X @ (rng.standard_normal((4, 8, 1)) * [[[0.0]], [[1.0]], [[3.0]], [[0.3]]]))[..., 0]
    y += (
        colour_noise(rng.standard_normal((50, 12)), np.arange(50) / 6, 0.3)
        .reshape(50, 4, 3)
        .swapaxes(0, 1)
        .reshape(4, -1)
    )
    limit = np.array([1.0, np.inf, 0.5, 1.0])
    both = fit_effects(y, Q, X, groups, fresh, limit)
    for k in range(4):
        one = fit_effects(y[k], Q[k], X[k], groups, fresh, limit[k])
        for name in ("variance", "free", "random", "gain"):
            np.testing.assert_allclose(getattr(both, name)[k], getattr(one, name), rtol=1e-6, atol=1e-9)


def test_steps_are_solved_plainly_where_that_is_clear_and_are_least_where_they_are_open(
    rng: np.random.Generator,
) -> None:
    A, right = rng.standard_normal((3, 4, 4)), rng.standard_normal((3, 4))
    A[1, 3] = A[1, 2]  # open
    free = np.ones((3, 4), dtype=bool)
    free[2, 1] = False
    A[2, 1] = A[2, :, 1] = right[2, 1] = 0.0
    least = (np.linalg.pinv(A, rcond=OPEN_RATIO) @ right[..., None])[..., 0]
    np.testing.assert_allclose(_solve_open(A, free, right), least, atol=1e-9)
    A[0, 1, 1] = np.nan  # of sums that are no numbers nothing is known: no step
    np.testing.assert_array_equal(_solve_open(A, free, right)[0], 0.0)


def test_the_likelihood_counts_what_whitening_shrinks_in_every_recording(rng: np.random.Generator) -> None:
    fresh = np.isin(np.arange(40), [0, 13, 14])
    q, y, X = np.split(rng.standard_normal((1, 120, 9)), [3, 4], axis=2)
    series = _EffectProducts(y[..., 0], q, X, np.ones((1, 3), dtype=bool), fresh)
    for rho in (0.0, 0.4, 0.9):
        white = np.eye(40) - rho * np.eye(40, k=-1)
        white[fresh] = np.sqrt(1 - rho**2) * np.eye(40)[fresh]
        _, volume = np.linalg.slogdet(white)
        np.testing.assert_allclose(series.log_shrinkage(np.array([rho])), [3 * volume], atol=1e-12)
