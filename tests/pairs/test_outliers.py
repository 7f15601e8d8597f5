"""Which gaps are outliers, by the scale of the take, of a lively stretch or of the gap's own course."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.outliers import (
    GROSS_SD,
    LIVELY_MAX_LIFT,
    STEADY_SD,
    TUKEY_SD,
    blame_partners,
    drop_gross,
    estimate_bar,
    estimate_scales,
    find_abrupt,
    find_inliers,
    find_rest,
    find_steady,
    lift_scales,
    limit_outliers,
    measure_gaps,
    weigh_outliers,
)

NEAR = 0.05  # relative: a scale from a thousand frames


def lengths(rng: np.random.Generator, n: int = 5000, joints: int = 2) -> np.ndarray:
    """(n, joints) of unit Gaussian vectors in space."""
    return np.linalg.norm(rng.standard_normal((n, joints, 3)), axis=2)


def take_of(rng: np.random.Generator, n: int = 600, bodies: int = 3) -> Take:
    R, p = rotation.random(rng, (n, bodies)), rng.standard_normal((n, bodies, 3))
    return Take(tuple("abcdef"[:bodies]), np.arange(n) / 60, R, p)


def test_weights_are_tukeys_where_outliers_are_and_one_elsewhere(rng) -> None:
    gap = rng.standard_normal((3, 5000, 2))
    gap[:, ::50, 1] *= 30 / np.linalg.norm(gap[:, ::50, 1], axis=0)
    length = np.linalg.norm(gap, axis=0)
    seen = np.ones((5000, 2), bool)
    seen[7] = False
    weight, fires = weigh_outliers(gap, seen)
    assert fires.tolist() == [False, True]
    assert (weight[seen[:, 0] & (length[:, 0] < TUKEY_SD * (1 - NEAR)), 0] == 1).all()
    assert (weight[::50, 1] == 0).all()
    assert (weight[~seen] == 0).all()
    inner = (length[:, 1] < 1) & seen[:, 1]
    np.testing.assert_allclose(weight[inner, 1], (1 - (length[inner, 1] / 5) ** 2) ** 2, atol=0.01)


def swell(rng: np.random.Generator, n: int = 3000) -> np.ndarray:
    """(3, n, 1) a slow gap of unit size that a fast motion makes eight times as large, over most of a second."""
    white = rng.standard_normal((3, n + 14))
    gap = np.stack([np.convolve(one, np.ones(15), "valid") for one in white])[..., None] / np.sqrt(15)
    for middle in range(300, n, 600):
        k = np.arange(middle - 40, middle + 40)
        gap[0, k, 0] += 8 * np.cos(np.pi * (k - middle) / 80) ** 2
    return gap


def test_a_gap_that_swells_with_the_motion_is_no_outlier(rng) -> None:
    gap, seen = swell(rng), np.ones((3000, 1), bool)
    weight, fires = weigh_outliers(gap, seen)
    assert (np.linalg.norm(gap, axis=0) > TUKEY_SD).sum() > 100
    assert not fires[0]
    assert weight.mean() > 0.99
    always, _ = weigh_outliers(gap, seen, always=np.array([True]))
    assert always.mean() < 0.9


def test_a_spike_on_a_gap_that_swells_is_taken_out_alone(rng) -> None:
    gap, seen = swell(rng), np.ones((3000, 1), bool)
    gap[1, 1000] = 30.0
    gap[1, 2000:2020] = 30.0  # a burst comes and goes as fast
    weight, fires = weigh_outliers(gap, seen)
    assert not fires[0]
    assert weight[1000] == 0
    assert (weight[2000:2020] == 0).all()
    assert weight.sum() > 3000 - 21 - 30


def test_what_is_abrupt_is_seen_across_holes_and_at_the_ends() -> None:
    gap, seen, bar = np.zeros((3, 12)), np.ones(12, bool), np.full(12, 5.0)
    gap[0] = [9, 9, 0, 3.5, 5.5, 7, 5.5, 3.5, 0, 9, 9, 9]
    beyond = gap[0] > bar
    assert find_abrupt(gap, bar, beyond, seen).tolist() == [True] * 2 + [False] * 7 + [True] * 3
    gap[0, 3], seen[3], beyond[3] = 99, False, False  # from 0 to 5.5 at once, and back by small steps
    assert not find_abrupt(gap, bar, beyond, seen)[4]
    gap[0, 7], seen[7], beyond[7] = 99, False, False
    assert find_abrupt(gap, bar, beyond, seen)[4:7].all()


def test_the_scale_is_that_of_one_axis_whatever_is_not_seen(rng) -> None:
    length, seen = lengths(rng), np.ones((5000, 2), bool)
    length[::3, 0], seen[::3, 0], seen[:, 1] = 100.0, False, False
    scale = estimate_scales(length, seen)
    assert scale[0] == pytest.approx(1, rel=NEAR)
    assert 0 < scale[1] < 1e-200


def standing_take(rng: np.random.Generator, rest: int, n: int = 1800) -> Take:
    """Two bodies that sway by 0.2 deg for so many frames and then turn against each other by 20 deg."""
    angle = np.radians(20) * np.sin(np.arange(n) / 10) * (np.arange(n) >= rest)
    vector = angle[:, None] * [1.0, 0.5, 0.0] + np.radians(0.2) * rng.standard_normal((n, 3))
    R = np.stack([rotation.from_vector(vector), np.broadcast_to(np.eye(3), (n, 3, 3))], axis=1)
    return Take(("a", "b"), np.arange(n) / 60, R, np.zeros((n, 2, 3)))


def test_a_joint_rests_in_the_seconds_in_which_it_hardly_turns(rng) -> None:
    pairs = np.array([[0, 1]])
    rest = find_rest(standing_take(rng, 1200), pairs)[:, 0]
    assert rest[:1200].all()
    assert not rest[1200:].any()
    assert not find_rest(standing_take(rng, 0), pairs).any()
    assert find_rest(standing_take(rng, 1200).slice(0, 80), pairs).shape == (80, 1)  # too short to tell
    assert not find_rest(replace(standing_take(rng, 1200), timed=False), pairs).any()


def test_the_rest_of_a_slower_sensor_does_not_make_its_motion_an_outlier(rng, monkeypatch) -> None:
    monkeypatch.setattr("condyle.pairs.outliers.MEDIAN_FRAMES", 500)
    still = np.arange(2000) < 1400
    length = (np.abs(rng.standard_normal(2000)) * np.where(still, 0.001, 0.01))[:, None]
    every, slower = np.ones((2000, 1), dtype=bool), (np.arange(2000) % 4 == 2)[:, None]
    lifted = []
    for seen in (every, slower):
        scale = estimate_scales(length, seen)
        lift_scales(scale, length, seen, still[:, None], np.array([0]))
        lifted.append(float(scale[0]))
    assert lifted[1] == pytest.approx(lifted[0], rel=0.3)


def test_motion_after_a_long_rest_is_no_outlier(rng) -> None:
    take = standing_take(rng, 1500)
    gap = swell(rng, 1800)
    gap[:, :1500] /= 100  # skin lies still while nobody moves
    seen = np.ones((1800, 1), bool)
    weight, _ = weigh_outliers(gap, seen, 60)
    assert weight[1500:].mean() < 0.1
    weight, fires = weigh_outliers(gap, seen, 60, find_rests=lambda: find_rest(take, np.array([[0, 1]])))
    assert weight[1500:].mean() > 0.95
    assert not fires.any()


def test_a_lively_stretch_raises_its_own_bar_but_not_far(rng) -> None:
    length = lengths(rng, 3000, 1)[:, 0]
    length[1000:1400] *= 2
    length[2000:2400] *= 50
    seen = np.ones(3000, bool)
    bar = estimate_bar(length, seen, 100, 1.0)
    assert (bar[:800] < 1.5).all()
    assert bar[1150:1250] == pytest.approx(2, rel=0.2)
    assert (bar[2150:2250] == LIVELY_MAX_LIFT).all()
    asked = np.isin(np.arange(3000), [1170, 2999])
    some = estimate_bar(length, seen, 100, 1.0, asked)
    assert (some[asked] == bar[asked]).all()
    assert (some[:1100] == 1).all()  # which nobody asked for
    assert (estimate_bar(length, seen, 0, 1.0) == 1).all()
    assert (estimate_bar(length[:250], seen[:250], 100, 1.0) == 1).all()


def test_the_more_frames_the_more_outliers_tell_nothing() -> None:
    assert limit_outliers(np.array([100, 5000])).tolist() == [2, 5]


def test_gaps_are_measured_in_units_of_the_usual_noise_and_rounding_is_none() -> None:
    gap = np.zeros((3, 2, 1))
    gap[:, 0, 0] = 2, 3, 6
    gap[0, 1] = 1e-13
    assert measure_gaps(gap)[:, 0].tolist() == [7, 0]
    assert measure_gaps(gap, np.full((2, 1), 0.25))[:, 0].tolist() == [3.5, 0]


def test_a_pose_is_dropped_where_it_is_far_off_at_every_joint_of_its_body(rng) -> None:
    take, pairs = take_of(rng), np.array([[1, 0], [2, 1]])
    length, seen = np.minimum(lengths(rng, 600), 4.0), np.ones((600, 2), bool)
    length[100] = 2 * GROSS_SD * LIVELY_MAX_LIFT  # both joints: of the body in the middle, and of the ends
    length[200, 0] = 2 * GROSS_SD * LIVELY_MAX_LIFT  # one joint: the body in the middle agrees with the other
    good = drop_gross(take, pairs, length, seen, np.ones(2))
    assert good[100].tolist() == [False, False, False]
    assert good[200].tolist() == [False, True, True]
    assert good.sum() == good.size - 4
    assert drop_gross(take, pairs, np.minimum(length, 4.0), seen, np.ones(2)) is take.seen


def test_bodies_without_a_joint_and_poses_without_a_partner_are_trusted(rng) -> None:
    hidden = np.zeros((600, 3), bool)
    hidden[5, 0] = True
    take = take_of(rng).mask(hidden)
    good = find_inliers(take.seen, np.array([[1, 0]]), np.zeros((600, 1)))
    assert good[5].tolist() == [False, True, True]
    assert good[6].tolist() == [False, False, True]


def test_the_end_of_a_chain_is_not_blamed_for_its_partner() -> None:
    lost = np.zeros((2, 3), bool)
    lost[0] = True, True, False
    assert blame_partners(np.array([[1, 0], [2, 1]]), lost)[0].tolist() == [True, False, True]
    assert blame_partners(np.array([[1, 0]]), lost)[0].tolist() == [True, False, False]


def test_a_gap_that_steps_stays_steady_and_a_spike_is_not(rng) -> None:
    gap = 0.01 * rng.standard_normal((900, 2, 3))
    gap[450:, 0] += 1.0  # a sensor that slipped
    gap[77, 1] += 0.02 * STEADY_SD
    gap[300, 0] = np.nan
    steady = find_steady(gap, 50)
    assert not steady[77, 1]
    assert not steady[300, 0]
    assert steady[450:, 0].mean() > 0.99
