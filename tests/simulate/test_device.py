"""Every disturbance has the size it claims and leaves the others alone."""

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.simulate import Disturbances, human, linkage, rod, simulate
from tests.make.disturbed import INTERPOLATION_M, INTERPOLATION_RAD, NM, ROUNDING_M, SHARE, world


def test_correlated_noise_has_its_size_and_its_memory() -> None:
    w = world(seconds=300, figure=linkage(), position_noise=0.01, correlation_time=0.5)
    noise = (w.take.p_world_body - w.truth.p_world_body).reshape(w.take.frames, -1)
    assert noise.std() == pytest.approx(0.01, rel=SHARE)
    after = np.mean(noise[15:] * noise[:-15]) / np.mean(noise**2)
    assert after == pytest.approx(np.exp(-1), abs=0.08)


def test_noise_grows_with_the_range() -> None:
    w = world(seconds=60, position_noise=0.001, range_power=4, range_scale=1.5)
    r = np.linalg.norm(w.truth.p_world_body, axis=-1)
    noise = (w.take.p_world_body - w.truth.p_world_body) / (1 + (r / 1.5) ** 4)[..., None]
    assert noise.std() == pytest.approx(0.001, rel=0.02)


def test_quantised_positions_are_whole_steps_and_scaled_ones_are_scaled() -> None:
    p = world(quantisation=0.004, scale=1 / 0.94).take.p_world_body / 0.004
    assert np.abs(p - np.round(p)).max() < 1e-9
    w = world(scale=1 / 0.94)
    assert np.allclose(w.take.p_world_body * 0.94, w.truth.p_world_body, atol=ROUNDING_M)
    assert w.truth.scale == 1 / 0.94


def test_the_field_has_its_size_over_many_rooms_and_depends_on_place_only() -> None:
    rooms = [
        simulate(linkage(), "walk", seconds=6, rate=5, seed=s, disturbances=Disturbances(field_warp=0.0125))
        for s in range(40)
    ]
    warp = np.concatenate([(w.take.p_world_body - w.truth.p_world_body).reshape(-1, 3) for w in rooms])
    turn = [rotation.to_vector(w.take.R_world_body @ np.swapaxes(w.truth.R_world_body, -1, -2)) for w in rooms]
    assert warp.std() == pytest.approx(0.0125, rel=0.15)
    assert np.std(turn) == pytest.approx(0.0125 / 0.9, rel=0.15)
    w = world("still", field_warp=0.0125)
    assert np.ptp(w.take.p_world_body, axis=0).max() == 0


def test_the_same_seed_is_the_same_room_for_another_figure() -> None:
    warped = Disturbances(field_warp=0.0125)
    person, bar = (make(disturbances=warped, seed=3, seconds=30) for make in (lambda **k: simulate(human(), **k), rod))
    where = np.concatenate([w.truth.p_world_body.reshape(-1, 3) for w in (person, bar)])
    warp = np.concatenate([(w.take.p_world_body - w.truth.p_world_body).reshape(-1, 3) for w in (person, bar)])
    split = person.take.frames * person.take.bodies
    near = np.linalg.norm(where[split:, None] - where[None, :split:7], axis=-1)
    i, j = np.nonzero(near < 0.04)
    assert len(i) > 10
    assert np.abs(warp[split:][i] - warp[:split:7][j]).max() < 0.004  # against 0.0125 rms between rooms


def test_metal_bends_the_floor_and_hardly_the_air() -> None:
    w = world("walk", metal_spots=5)
    warp = np.linalg.norm(w.take.p_world_body - w.truth.p_world_body, axis=-1).mean(axis=0)
    assert warp[w.take.index("l_foot")] > 3 * warp[w.take.index("head")] > 0


def test_a_late_sensor_shows_the_exact_pose_of_a_moment_ago() -> None:
    late, fast = world("walk", latency={"l_hand": 1 / 120}), simulate(human(), "walk", seconds=20, rate=120, seed=5)
    k = late.take.index("l_hand")
    before = np.arange(8, late.take.frames - 8) * 4 - 1
    p, R = late.take.p_world_body[8:-8, k], late.take.R_world_body[8:-8, k]
    assert np.abs(p - fast.truth.p_world_body[before, k]).max() < INTERPOLATION_M
    assert rotation.angle(np.swapaxes(R, -1, -2) @ fast.truth.R_world_body[before, k]).max() < INTERPOLATION_RAD
    others = [j for j in range(15) if j != k]
    assert np.array_equal(late.take.p_world_body[:, others], late.truth.p_world_body[:, others])
    assert late.truth.latency[k] == 1 / 120


def test_stale_samples_repeat_the_last_good_one_noise_and_all() -> None:
    w = world(stale=0.2, stale_run=0.5, **NM)
    held = w.truth.stale
    assert not held[0].any()
    same = (np.diff(w.take.p_world_body, axis=0) == 0).all(axis=-1)
    assert np.array_equal(same, held[1:])


def test_missing_samples_come_in_runs_and_are_not_seen() -> None:
    w = world(missing=0.1, missing_run=0.3)
    assert np.array_equal(w.take.seen, ~w.truth.missing)
    starts = (np.diff(w.truth.missing.astype(int), axis=0) == 1).sum()
    assert w.truth.missing.sum() / starts > 6
