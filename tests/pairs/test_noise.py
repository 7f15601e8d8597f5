"""Noise read off high differences: right on white noise, blind to motion, borders and what is masked."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import Take, join
from condyle.pairs.digest import digest_take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.noise import (
    DIFFERENCE_ORDER,
    NOISE_MIN_WINDOWS,
    Noise,
    PlaceNoise,
    estimate_noise,
    fit_place_noise,
    windows,
)
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, human, linkage, simulate
from tests.oracle.worlds import ball, moved, noisy

WITHIN = 0.10  # relative error of a standard deviation that is told
POSITION_M = 0.003
ORIENTATION_RAD = np.radians(0.5)
QUARTER_TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
EXACT_M = 1e-4  # m, motion of the simulated figures that is left in sixth differences at 60 Hz
EXACT_RAD = 1e-3  # rad, the same of their rotations


def shaken(seconds: float = 30.0, rate: float = 60.0, motion: str = "exercise", **noise: float) -> Take:
    return simulate(linkage(), motion, seconds=seconds, rate=rate, seed=5, disturbances=Disturbances(**noise)).take


def _place_noise(take: Take) -> PlaceNoise | None:
    digest = digest_take(take)
    return fit_place_noise(digest.d6[..., 0], digest.place)


def assert_told(noise: Noise, position: float = POSITION_M, orientation: float = ORIENTATION_RAD) -> None:
    np.testing.assert_allclose(noise.position, position, rtol=WITHIN)
    np.testing.assert_allclose(noise.orientation, orientation, rtol=WITHIN)


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("rate", [30.0, 120.0])
@pytest.mark.parametrize(
    ("position", "orientation"), [(0.001, np.radians(0.2)), (0.004, np.radians(1))], ids=["quiet", "loud"]
)
def test_white_noise_is_told_to_a_tenth(rate, motion, position, orientation) -> None:
    take = shaken(45, rate, motion, position_noise=position, orientation_noise=orientation)
    noise = estimate_noise(take)
    np.testing.assert_allclose(np.sqrt(np.mean(noise.position**2)), position, rtol=WITHIN)
    np.testing.assert_allclose(np.sqrt(np.mean(noise.orientation**2)), orientation, rtol=WITHIN)


def test_every_sensor_has_its_own_noise() -> None:
    sizes = np.array([0.0005, 0.001, 0.002, 0.003, 0.005, 0.008])
    take = shaken(45, position_noise=sizes, orientation_noise=sizes * 3)
    noise = estimate_noise(take)
    np.testing.assert_allclose(noise.position, sizes, rtol=WITHIN)
    np.testing.assert_allclose(noise.orientation, sizes * 3, rtol=WITHIN)


def test_motion_without_noise_is_hardly_taken_for_noise() -> None:
    noise = estimate_noise(shaken())
    assert noise.position.max() < EXACT_M
    assert noise.orientation.max() < EXACT_RAD


def test_poses_that_are_not_good_do_not_count(rng) -> None:
    take = shaken(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
    bad = np.zeros((take.frames, take.bodies), bool)
    bad[np.arange(take.frames) // 60 % 5 < 3] = True  # three seconds in five
    wild = noisy(take, rng, 0.05, 0.2)
    spoilt = Take(
        take.names,
        take.time,
        np.where(bad[..., None, None], wild.R_world_body, take.R_world_body),
        np.where(bad[..., None], wild.p_world_body, take.p_world_body),
    )
    assert_told(estimate_noise(spoilt, ~bad))
    assert_told(estimate_noise(spoilt.mask(bad)))
    assert estimate_noise(spoilt).position.min() > 2 * POSITION_M


def test_jumps_between_segments_are_no_noise() -> None:
    whole = shaken(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
    parts = [whole.slice(k, k + DIFFERENCE_ORDER + 4) for k in range(0, whole.frames, DIFFERENCE_ORDER + 4)]
    parts[1::2] = [moved(part, QUARTER_TURN, np.ones(3)) for part in parts[1::2]]
    one = join(parts)
    assert_told(estimate_noise(one))
    glued = Take(one.names, np.arange(one.frames) / 60, one.R_world_body, one.p_world_body)
    assert estimate_noise(glued).position.min() > 10 * POSITION_M
    assert estimate_noise(glued).orientation.min() > 2 * ORIENTATION_RAD


def test_jumps_in_time_are_no_noise() -> None:
    whole = shaken(75, position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
    kept = np.arange(whole.frames) % 30 < DIFFERENCE_ORDER + 4
    gappy = Take(whole.names, whole.time[kept], whole.R_world_body[kept], whole.p_world_body[kept])
    assert_told(estimate_noise(gappy))
    closed = Take(whole.names, np.arange(kept.sum()) / 60, gappy.R_world_body, gappy.p_world_body)
    assert estimate_noise(closed).position.min() > 1.3 * POSITION_M


def test_missing_poses_of_one_sensor_leave_the_others_alone() -> None:
    take = shaken(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[::5, 0] = True
    noise = estimate_noise(take.mask(hidden))
    assert noise.position[0] == 0  # no seven frames in a row are left of it
    assert noise.orientation[0] == 0
    np.testing.assert_allclose(noise.position[1:], POSITION_M, rtol=WITHIN)


@pytest.mark.parametrize(
    "frames", [0, 1, DIFFERENCE_ORDER, DIFFERENCE_ORDER + 1, DIFFERENCE_ORDER + NOISE_MIN_WINDOWS - 1]
)
def test_too_short_a_take_tells_no_noise(frames) -> None:
    noise = estimate_noise(shaken(position_noise=POSITION_M).slice(0, frames))
    assert not noise.position.any()
    assert not noise.orientation.any()
    assert noise.position.shape == (6,)


def test_a_take_just_long_enough_tells_some_noise() -> None:
    noise = estimate_noise(shaken(position_noise=POSITION_M).slice(0, DIFFERENCE_ORDER + NOISE_MIN_WINDOWS))
    assert (noise.position > 0.2 * POSITION_M).all()


def test_made_up_time_tells_no_noise(rng) -> None:
    take = noisy(ball(rng).take, rng, 0.003, 0.01)
    untimed = Take.from_poses(take.p_world_body, R_world_body=take.R_world_body)
    assert not untimed.timed
    assert not estimate_noise(untimed).position.any()


def test_a_take_in_which_nothing_is_seen_tells_no_noise(rng) -> None:
    take = ball(rng).take
    assert not estimate_noise(take.mask(np.ones((take.frames, 2), bool))).position.any()


def test_one_body_has_its_noise(rng) -> None:
    take = noisy(ball(rng, 1500).take.select(["child"]), rng, POSITION_M, ORIENTATION_RAD)
    assert_told(estimate_noise(take))


def test_windows_stay_inside_segments_and_hold_seen_poses_only(rng) -> None:
    take = join([ball(rng, 20).take, ball(rng, 5).take, ball(rng, 9).take])
    hidden = np.zeros((take.frames, 2), bool)
    hidden[10, 1] = True
    starts, whole = windows(take.mask(hidden), length=7)
    assert starts.tolist() == [*range(14), 25, 26, 27]
    assert whole[:, 0].all()
    assert np.flatnonzero(~whole[:, 1]).tolist() == list(range(4, 11))


def test_even_noise_asks_for_no_weights_by_place() -> None:
    take = simulate(
        human(), "walk", seconds=20, seed=2, disturbances=Disturbances(position_noise=0.003, orientation_noise=0.005)
    ).take
    assert _place_noise(take) is None


def test_noise_that_grows_with_range_is_told_by_place() -> None:
    far = Disturbances(position_noise=0.001, orientation_noise=0.002, range_power=4, range_scale=1.0)
    take = simulate(human(), "walk", seconds=30, seed=2, disturbances=far).take
    rule = _place_noise(take)
    assert rule is not None
    variance = rule.variance(take)
    assert variance.shape == take.seen.shape
    assert (variance > 0).all()
    distance = np.linalg.norm(take.p_world_body, axis=-1)
    true = 2 * np.log(1 + distance**4)
    inside = np.corrcoef((true - true.mean(axis=0)).ravel(), np.log(variance).ravel())[0, 1]
    assert inside > 0.9


def test_the_rule_by_place_is_summed_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Disturbances(position_noise=0.001, orientation_noise=0.002, range_power=4, range_scale=1.0)
    digest = digest_take(simulate(human(), "walk", seconds=30, seed=2, disturbances=far).take)
    square = digest.d6[..., 0].copy()
    square[::7, 3] = np.nan
    rules = [fit_place_noise(square, digest.place)]
    monkeypatch.setattr("condyle.maths.spool.BLOCK_BYTES", 50_000)
    rules.append(fit_place_noise(square, digest.place))
    whole, parts = ([one.centre, one.size, one.beta, one.level] for one in rules if one is not None)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_rule_by_place_is_the_same_for_frames_it_was_not_fitted_to() -> None:
    far = Disturbances(position_noise=0.001, orientation_noise=0.002, range_power=4, range_scale=1.0)
    take = simulate(human(), "walk", seconds=30, seed=2, disturbances=far).take
    rule = _place_noise(take)
    assert rule is not None
    variance = rule.variance(take)
    rows = np.arange(100, 200)
    hidden = np.zeros((len(rows), take.bodies), dtype=bool)
    hidden[:, 3] = True
    part = rule.variance(take.at(rows).mask(hidden))
    np.testing.assert_array_equal(part[:, 3], 1)
    np.testing.assert_allclose(np.delete(part, 3, axis=1), np.delete(variance[rows], 3, axis=1), rtol=1e-12)


def test_joints_share_the_noise_of_the_sensor_they_share(rng) -> None:
    noise = Noise(np.array([0.002, 0.004, 0.003]), np.array([0.01, 0.02, 0.015]))
    pairs = np.array([[1, 0], [2, 1]])
    c, l = rng.normal(0, 0.2, (2, 2, 3))
    R = rotation.random(rng, (40000, 3))
    turned = R @ rotation.from_vector(noise.orientation[:, None] * rng.standard_normal((40000, 3, 3)))
    shift = noise.position[:, None] * rng.standard_normal((40000, 3, 3))
    i, j = pairs.T
    off = turned - R
    gap = np.einsum("njxy,jy->njx", off[:, i], c) - np.einsum("njxy,jy->njx", off[:, j], l) + shift[:, i] - shift[:, j]
    found = np.einsum("nax,nbx->ab", gap, gap) / (3 * len(gap))
    want = noise.gap_covariance(pairs, c, l)
    np.testing.assert_allclose(found, want, atol=0.03 * want.max())
    np.testing.assert_allclose(np.diagonal(want), noise.gap_variance(pairs, c, l))


def test_orientation_noise_is_no_more_than_the_residuals_of_the_joints_allow() -> None:
    noise = Noise(np.full(4, 0.001), np.array([0.01, 0.02, 0.0, 0.01]))
    pairs, child, parent = np.array([[0, 1], [2, 3]]), np.full((2, 3), [0.1, 0, 0]), np.full((2, 3), [0, 0.2, 0])
    capped = noise.cap(pairs, child, parent, np.array([0.003, 1.0]))
    np.testing.assert_array_equal(capped.position, noise.position)
    np.testing.assert_array_equal(capped.orientation[2:], noise.orientation[2:])
    ratio = capped.orientation[:2] / noise.orientation[:2]
    assert ratio[0] == pytest.approx(ratio[1])
    assert 2 * (capped.orientation[:2] ** 2 @ [0.1**2, 0.2**2]) == pytest.approx(0.003**2)
    assert noise.cap(pairs, child, parent, np.array([0.0, np.nan])).orientation.tolist() == [0.0, 0.0, 0.0, 0.01]


def test_the_cap_leaves_white_noise_as_it_is() -> None:
    take = shaken(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
    noise, fits = estimate_noise(take), fit_pairs(sum_pairs(take))
    tree = fits.residual < 3 * np.sort(fits.residual)[take.bodies - 2]
    joints = (part[tree] for part in fits.joints)
    capped = noise.cap(*joints, fits.residual[tree])  # type: ignore[arg-type]
    np.testing.assert_array_equal(capped.orientation, noise.orientation)
