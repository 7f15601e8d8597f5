"""Tracks that change places, to the frame; spikes, holes and fast motion are none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from condyle import Take
from condyle.maths import rotation
from condyle.prepare import tracks
from condyle.prepare.swaps import Swap, exchange_back
from condyle.prepare.tracks import _Before, find_crossings, find_moves, measure_nearness
from condyle.simulate import Disturbances, linkage, simulate
from tests.make.looked_at import is_about, record_counts, record_thinned

NOISY = {"position_noise": 0.003, "orientation_noise": np.radians(0.3)}


@cache
def take_of(motion: str = "exercise", **more: float) -> Take:
    d = Disturbances(**{**NOISY, **more})  # type: ignore[arg-type]
    return simulate(linkage(), motion, seconds=30, rate=30, seed=3, disturbances=d).take  # type: ignore[arg-type]


def swapped(take: Take, *bodies: str) -> Take:
    return exchange_back(take, [Swap(bodies, 250, 260, 0.0, 0.0, 0.0, 0.0)])


def crossings(take: Take) -> dict[tuple[int, int], list[int]]:
    return {pair: frames.tolist() for pair, frames in find_crossings(find_moves(take)).items()}


def test_tracks_that_change_places_are_seen_to_the_frame_and_spikes_are_none() -> None:
    assert crossings(take_of(spikes=0.02, bursts=0.05)) == {}
    assert list(crossings(swapped(take_of(), "head", "l_forearm")).values()) == [[250, 260]]


def test_they_are_seen_across_lost_samples_but_not_across_a_long_hole_or_into_another_recording() -> None:
    take = swapped(take_of(), "head", "l_forearm")
    pair = [take.index("head"), take.index("l_forearm")]
    for lost, seen in ((4, [254, 260]), (12, [])):
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[250 : 250 + lost, pair] = True
        assert [frames for frames in crossings(take.mask(gone)).values() if frames] == ([seen] if seen else [])
    parted = replace(take, segment=(np.arange(take.frames) >= 250).astype(np.int64))
    assert list(crossings(parted).values()) == [[260]]


def test_three_that_go_round_are_no_pair_but_three_moves() -> None:
    take = swapped(take_of(), "head", "l_forearm", "r_forearm")
    moves = find_moves(take)
    assert sorted(moves) == [250, 260]
    assert all(len(goes) == 3 for goes in moves.values())
    assert find_crossings(moves) == {}


def test_fast_motion_and_bodies_that_are_not_seen_are_no_moves() -> None:
    assert find_moves(take_of("walk")) == {}
    take = take_of()
    assert find_moves(take.mask(np.ones_like(take.seen))) == {}


def test_nearness_is_the_usual_distance_to_the_nearest_body() -> None:
    p = np.zeros((20, 3, 3))
    p[:, 1, 0], p[:, 2, 0] = 0.2, 1.0
    take = Take.from_poses(p, R_world_body=np.broadcast_to(np.eye(3), (20, 3, 3, 3)), names=("a", "b", "c"))
    np.testing.assert_allclose(measure_nearness(take), 0.2)


def test_the_sample_before_is_the_last_that_was_seen_of_that_body() -> None:
    take = take_of()
    p = take.p_world_body.copy()
    p[5:8, 1] = np.nan
    before = _Before(replace(take, p_world_body=p))
    assert before._last(np.array([8, 8, 5]), np.array([1, 0, 1])).tolist() == [4, 7, 4]


def test_the_longest_step_counts_way_and_a_turn_at_half_the_size() -> None:
    size, angle, way = 0.6, 0.02, 0.003
    R = np.broadcast_to(np.eye(3), (4, 1, 3, 3)).copy()
    p = np.zeros((4, 1, 3))
    R[2:, 0] = rotation.from_vector(np.array([0.0, 0.0, angle]))
    p[3:, 0, 1] = way
    steps = _Before(Take.from_poses(p, R_world_body=R, rate=30)).longest_steps(size)
    assert np.isnan(steps[0, 0])
    np.testing.assert_allclose(steps[1:, 0], [0.0, size / 2 * angle, way], rtol=1e-3)


def test_a_step_is_from_where_the_track_was_going_and_a_turn_counts_at_half_the_size() -> None:
    size, angle = 0.6, 0.02
    p = np.zeros((5, 1, 3))
    p[:, 0, 0] = [0.0, 0.1, 0.2, 0.2, 0.2]  # goes on, then stops
    R = np.broadcast_to(np.eye(3), (5, 1, 3, 3)).copy()
    R[4, 0] = rotation.from_vector(np.array([0.0, angle, 0.0]))
    before = _Before(Take.from_poses(p, R_world_body=R, rate=30))
    none = np.zeros(4, dtype=np.int64)
    steps = before.step(size, np.arange(1, 5), none, none)
    np.testing.assert_allclose(steps, [0.1, 0.0, 0.0, size / 2 * angle], rtol=1e-3, atol=1e-9)


def test_nearness_is_that_of_some_frames_and_some_of_very_many_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, thinned = record_counts(monkeypatch, tracks), record_thinned(monkeypatch)
    p = np.random.default_rng(2).standard_normal((400, 200, 3))
    measure_nearness(Take([f"b{k}" for k in range(200)], np.arange(400) / 30, np.tile(np.eye(3), (400, 200, 1, 1)), p))
    assert is_about(counts[0], 64)
    assert is_about(thinned[0], 50)


def zigzag(distance: float, off: float = 0.0) -> Take:
    """Two bodies that go to and fro by a centimetre, so far apart [m], and change places, off by so much [m]."""
    p = np.zeros((60, 2, 3))
    p[:, :, 1] = 0.01 * (np.arange(60) % 2)[:, None]
    p[30:, :, 1] = p[29:-1, :, 1]  # not while they change places
    p[:, 1, 0] = distance
    p[30:] = p[30:, ::-1]
    p[30:, :, 2] = off
    return Take.from_poses(p, R_world_body=np.broadcast_to(np.eye(3), (60, 2, 3, 3)), names=("a", "b"), rate=30)


def test_tracks_change_places_by_more_than_a_few_usual_steps_and_go_on_where_the_other_was() -> None:
    for distance, off, seen in [
        (0.025, 0.0, False),  # no farther than they move anyhow
        (0.08, 0.0, True),
        (0.2, 0.05, True),
        (0.2, 0.15, False),  # elsewhere
    ]:
        assert crossings(zigzag(distance, off)) == ({(0, 1): [30]} if seen else {}), (distance, off)


def test_a_step_of_time_that_no_clock_counts_gives_no_direction() -> None:
    take = take_of().slice(0, 20)
    time = take.time - take.time[10]
    time[9] = -5e-324
    spoilt = replace(take, time=time)
    step = _Before(spoilt).step(0.3, np.array([11]), np.array([0]), np.array([0]))
    assert np.isfinite(step).all()
