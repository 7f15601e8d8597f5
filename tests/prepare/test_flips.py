from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import BodyMarker, Take, join
from condyle.prepare.flips import _count_between, _ways_across, find_flips
from condyle.simulate import Disturbances, human, simulate
from tests.make.disturbed import recentre

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
SPIKES = replace(NOISE, spikes=0.05, bursts=0.05)


def figure(disturbances: Disturbances = NOISE, seed: int = 1) -> Take:
    return simulate(human(), seconds=10.0, rate=60.0, seed=seed, disturbances=disturbances).take


def mirrored(take: Take, mask: np.ndarray) -> Take:
    return replace(take, p_world_body=np.where(mask[..., None], -take.p_world_body, take.p_world_body))


def stretches(take: Take, length: int, share: float, rng) -> np.ndarray:
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    for body in range(take.bodies):
        for _ in range(max(1, round(share * take.frames / length))):
            start = rng.integers(0, take.frames - length)
            mask[start : start + length, body] = True
    return mask


@pytest.mark.parametrize("disturbances", [NOISE, SPIKES, Disturbances()], ids=["noise", "spikes", "exact"])
def test_a_take_on_one_side_has_no_flips(disturbances) -> None:
    assert find_flips(figure(disturbances)) is None


@pytest.mark.parametrize("length", [1, 2, 5, 8, 9, 20, 100])
def test_flipped_stretches_are_found_to_the_sample(length, rng) -> None:
    take = figure()
    mask = stretches(take, length, 0.05, rng)
    turned, unclear = find_flips(mirrored(take, mask))
    assert (turned == mask).all()
    assert not unclear.any()


def test_flips_among_spikes_are_found(rng) -> None:
    take = figure(SPIKES)
    mask = stretches(take, 6, 0.02, rng)
    turned, unclear = find_flips(mirrored(take, mask))
    found = turned | unclear
    assert (found & mask).sum() > 0.9 * mask.sum()
    assert (found & ~mask).sum() < 0.05 * mask.sum()


def test_a_recording_that_begins_opposite_to_where_the_last_one_ended_is_not_flipped() -> None:
    take = figure()
    part = take.slice(0, 200)
    again = mirrored(part, np.ones((part.frames, part.bodies), dtype=bool))
    assert find_flips(join([part, again])) is None
    together = replace(join([part, again]), segment=None, time=np.arange(2 * part.frames) / 60)
    assert find_flips(together) is not None


def test_a_side_that_changes_in_a_pause_within_a_file_is_found() -> None:
    take = figure()
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[400:, 3] = True
    paused = replace(mirrored(take, mask), segment=np.arange(take.frames) >= 400)
    flips = find_flips(paused)
    assert flips is not None
    assert (flips[0] == mask).all()


def test_a_flip_at_the_start_and_one_that_lasts_are_found() -> None:
    take = figure()
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[:50, 3] = True
    mask[-200:, 7] = True
    turned, _ = find_flips(mirrored(take, mask))
    assert (turned == mask).all()


def test_where_both_sides_are_frequent_the_other_sensors_decide() -> None:
    take = figure()
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[: int(0.55 * take.frames), 3] = True
    turned, _ = find_flips(mirrored(take, mask))
    assert (turned == mask).all()


def test_where_the_orientation_jumps_too_the_samples_cannot_be_put_right() -> None:
    take = figure()
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[100:130, 2] = mask[300:301, 5] = True
    spoilt = mirrored(take, mask)
    R = np.where(mask[..., None, None], rotation.from_vector([np.pi, 0, 0]) @ take.R_world_body, take.R_world_body)
    turned, unclear = find_flips(replace(spoilt, R_world_body=R))
    assert (unclear == mask).all()
    assert not turned.any()


def test_a_side_that_changes_while_the_sensor_is_not_seen_is_found() -> None:
    take = figure()
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[95:100, 4] = hidden[120:125, 4] = True
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[100:120, 4] = True
    turned, unclear = find_flips(mirrored(take, mask).mask(hidden))
    assert (turned == mask).all()
    assert not unclear.any()


def test_a_body_that_passes_through_the_origin_is_not_flipped() -> None:
    time = np.arange(600) / 60
    p = np.stack([np.sin(2 * time), 0.001 * np.cos(time), 0 * time], axis=1)[:, None]
    take = Take(("a",), time, np.tile(np.eye(3), (600, 1, 1, 1)), p)
    assert find_flips(take) is None


def test_what_cameras_saw_is_not_flipped() -> None:
    take = figure()
    other = mirrored(take, np.arange(take.frames)[:, None] >= take.frames // 2)  # walked on while out of sight
    assert find_flips(other) is not None
    assert find_flips(replace(other, markers=(BodyMarker(take.names[0], "LASI", np.zeros(3)),))) is None


@pytest.mark.parametrize("frames", [0, 1, 2, 10])
def test_few_frames_have_no_flips(frames) -> None:
    assert find_flips(figure().slice(0, frames)) is None


def test_nothing_seen_has_no_flips() -> None:
    take = figure()
    assert find_flips(take.mask(np.ones((take.frames, take.bodies), dtype=bool))) is None


def test_samples_on_the_way_to_the_other_side_are_masked() -> None:
    take = figure(Disturbances(position_noise=0.001))
    p = take.p_world_body.copy()
    p[100:130, 2] *= -1
    p[100:104, 2] = np.array([0.7, 0.2, -0.01, -0.6])[:, None] * take.p_world_body[100:104, 2]
    p[130, 2] *= -0.3
    turned, unclear = find_flips(replace(take, p_world_body=p))
    assert np.argwhere(unclear).tolist() == [[frame, 2] for frame in (100, 101, 102, 103, 130)]
    assert np.argwhere(turned).tolist() == [[frame, 2] for frame in range(104, 130)]


def test_a_sample_that_stands_in_several_rows_is_one_sample() -> None:
    take = figure(Disturbances(position_noise=0.001))
    rows = np.arange(take.frames) // 3 * 3
    p = take.p_world_body[rows].copy()
    p[99:150, 2] *= -1
    p[99:102, 2] *= -0.01
    turned, unclear = find_flips(replace(take, R_world_body=take.R_world_body[rows], p_world_body=p))
    assert np.flatnonzero((turned | unclear)[:, 2]).tolist() == list(range(99, 150))
    assert np.flatnonzero(unclear[:, 2]).tolist() == [99, 100, 101]


def test_of_two_bodies_the_one_that_is_on_either_side_half_of_the_time_is_told_by_the_other() -> None:
    take = figure().select(("pelvis", "chest"))
    mask = np.zeros((take.frames, 2), dtype=bool)
    mask[: take.frames // 2, 1] = True
    turned, _ = find_flips(mirrored(take, mask))
    assert (turned == mask).all()


def test_an_orientation_may_jump_by_a_fifth_of_a_radian_where_the_side_changes() -> None:
    time = np.arange(200) / 60
    p = np.stack([1 + 0.01 * np.sin(9 * time), 0.3 + 0.01 * np.cos(7 * time), 0 * time], axis=1)[:, None]
    R = np.tile(np.eye(3), (200, 1, 1, 1))
    p[100:140] *= -1
    for turn in (0.18, 0.22):
        R[100:140] = rotation.from_vector([0.0, 0.0, turn])
        turned, unclear = find_flips(Take(("a",), time, R, p))
        assert np.flatnonzero(turned | unclear).tolist() == list(range(100, 140))
        assert (turned.any(), unclear.any()) == (turn < 0.2, turn > 0.2)


def test_a_filter_has_eight_samples_on_its_way_to_the_other_side_at_most() -> None:
    for count in (8, 14):
        way = np.linspace(0.7, -0.7, count)
        path = np.concatenate([np.ones(20), way, -np.ones(20)])[:, None] * [1.0, 0.2, 0.0]
        change = np.zeros(len(path), dtype=bool)
        between = _ways_across(path, 0.02, change)
        assert np.flatnonzero(between).tolist() == (list(range(20, 28)) if count == 8 else [])
        assert np.flatnonzero(change).tolist() == ([28] if count == 8 else [])


def test_a_foot_that_swings_past_the_origin_is_on_no_other_side() -> None:
    """At 15 samples a second it steps from one side to the other, and stands as far off on both."""
    take = figure()
    swing = np.interp(np.arange(take.frames) % 24, range(9, 17), [-1, -0.85, -0.6, -0.2, 0.2, 0.6, 0.85, 1])
    p = take.p_world_body.copy()
    p[:, 0] = 1e-4 * np.random.default_rng(1).standard_normal((take.frames, 3))
    p[:, 0, 0] += 0.4 * np.where(np.arange(take.frames) // 24 % 2, -1, 1) * swing
    assert find_flips(replace(take, p_world_body=p)) is None


@pytest.mark.parametrize("rate", [10.0, 15.0, 20.0, 30.0])
def test_a_hand_that_reaches_past_the_origin_and_rests_is_on_no_other_side(rate: float) -> None:
    """It rests as far off on both sides, and is on its way for a sample or two."""
    for seed, lasts in enumerate((0.3, 0.4, 0.5, 0.6, 0.8)):
        rng = np.random.default_rng(seed)
        time = np.arange(int(30 * rate)) / rate + rng.uniform(0, 1 / rate)
        turn, rest = np.divmod(time, lasts + rng.uniform(0.3, 1.5))
        part = np.clip(rest / lasts, 0, 1)
        way = part**3 * (10 - 15 * part + 6 * part**2)  # without a jerk, as people reach
        p = np.zeros((len(time), 2, 3))
        p[:, 0, 0] = 0.4 * np.where(turn % 2, 1 - 2 * way, 2 * way - 1)
        p[:, 1] = [0.0, 0.6, 0.3]
        p += 1e-3 * rng.standard_normal(p.shape)
        R = np.broadcast_to(np.eye(3), (len(time), 2, 3, 3))
        assert find_flips(Take(["hand", "chest"], time, R, p)) is None, (rate, lasts)


def test_one_sensor_that_is_seen_alone_and_jumps_moves_no_room() -> None:
    take = figure()
    mask, hidden = np.zeros((2, *take.seen.shape), dtype=bool)
    mask[100:120, 0] = True
    hidden[50:200, 1:] = True
    flips = find_flips(mirrored(take, mask).mask(hidden))
    assert flips is not None
    assert (flips[0] == mask).all()


def test_a_room_that_is_moved_has_no_flips_and_a_transmitter_that_changes_sides_has() -> None:
    take = figure()
    middle = take.frames // 2
    turn, p = rotation.from_vector(np.array([0.0, 0.0, 1.0])), take.p_world_body
    shift = -p[middle - 1, 3] - turn @ p[middle, 3]  # one comes to its mirror image
    assert find_flips(recentre(take, {middle: (1.0, tuple(shift))})) is None
    flips = find_flips(mirrored(take, np.tile(np.arange(take.frames)[:, None] >= middle + 50, (1, take.bodies))))
    assert flips is not None
    assert flips[0].any(axis=0).all()


def test_a_way_has_as_many_samples_whenever_its_clock_began() -> None:
    """At 25, 50 and 100 Hz it had one more where the clock began late, by its rounding."""
    for rate, count in ((10, 0), (12.5, 0), (25, 1), (50, 3), (100, 7), (240, 8)):
        for began in (0.0, 1000.0, 1e5):
            assert _count_between(began + np.arange(500) / rate) == count, (rate, began)
