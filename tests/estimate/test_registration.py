"""Two systems in two worlds: the second is found in the first, with its scale and clock, as its intervals say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from condyle import Take
from condyle.estimate import registration
from condyle.estimate.registration import Registration, find_registration, shift_clock
from condyle.maths import rotation
from condyle.simulate import Disturbances, human, simulate
from tests.make.looked_at import is_about, record_counts

LEGS = ("l_thigh", "l_shank", "l_foot", "r_thigh", "r_shank", "r_foot")
Q = rotation.from_vector([0.4, -1.1, 1.6])
T = np.array([1.2, -0.7, 0.4])


def two_worlds(
    motion: str = "exercise", delay: float = 0.0, scale: float = 1.0, noise: float = 1.0, second: tuple[str, ...] = LEGS
) -> tuple[Take, list[int], list[int]]:
    late = dict.fromkeys(second, delay) if delay else 0.0
    disturbances = Disturbances(
        position_noise=0.001 * noise,
        orientation_noise=np.radians(0.2) * noise,
        latency=late,  # type: ignore[arg-type]
    )
    take = simulate(human(), motion, seconds=20, rate=60, seed=3, disturbances=disturbances).take  # type: ignore[arg-type]
    own = [take.index(name) for name in second]
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    R[:, own], p[:, own] = Q.T @ R[:, own], (p[:, own] - T) @ Q / scale
    return replace(take, R_world_body=R, p_world_body=p), [k for k in range(take.bodies) if k not in own], own


@pytest.mark.costly
@pytest.mark.parametrize(
    ("motion", "delay", "scale"), [("exercise", 0, 1), ("walk", 0.08, 1), ("exercise", -0.4, 1.03)]
)
def test_rotation_place_scale_and_delay_are_found(motion: str, delay: float, scale: float) -> None:
    take, first, second = two_worlds(motion, delay, scale)
    found = find_registration(take, first, second)
    assert found is not None
    assert found.pair[0] == "pelvis"
    assert found.pair[1] in ("l_thigh", "r_thigh")
    off = float(np.linalg.norm(rotation.to_vector(found.R @ Q.T)))
    assert off < max(2 * found.rotation_95, np.radians(0.05))
    assert found.rotation_95 < np.radians(0.3)
    middle = take.p_world_body[:, take.index(found.pair[1])].mean(axis=0)
    away = found.scale * found.R @ middle + found.translation - (scale * Q @ middle + T)
    assert np.linalg.norm(away) < max(2 * found.translation_95, 0.003)
    assert found.scale == pytest.approx(scale, abs=0.002)
    assert found.delay == pytest.approx(delay, abs=0.002)
    assert (found.scale_95 is None) == (scale == 1)
    assert (found.delay_95 is None) == (delay == 0)
    assert found.residual < 0.005
    assert found.before > 0.1


def test_exact_poses_give_it_exactly() -> None:
    take, first, second = two_worlds(noise=0.0)
    found = find_registration(take, first, second)
    assert found is not None
    assert np.abs(found.R - Q).max() < 1e-6
    assert np.abs(found.translation - T).max() < 1e-6


@pytest.mark.parametrize(("every", "delay"), [(2, 0.0), (3, 0.08), (4, 0.0)])
def test_a_second_system_of_a_fraction_of_the_rate_is_found(every: int, delay: float) -> None:
    """It was said that no two of the sensors are seen together in enough frames."""
    take, first, second = two_worlds(delay=delay)
    lost = np.zeros(take.seen.shape, dtype=bool)
    lost[:, second] = (np.arange(take.frames) % every != 1)[:, None]
    found = find_registration(take.mask(lost), first, second)
    assert found is not None
    assert float(np.linalg.norm(rotation.to_vector(found.R @ Q.T))) < max(2 * found.rotation_95, np.radians(0.05))
    middle = take.p_world_body[:, take.index(found.pair[1])].mean(axis=0)
    assert np.linalg.norm(found.R @ middle + found.translation - (Q @ middle + T)) < max(
        2 * found.translation_95, 0.003
    )
    assert found.delay == pytest.approx(delay, abs=0.004)


def test_one_sensor_on_a_body_of_the_first_system_is_enough() -> None:
    take, first, second = two_worlds(second=("l_hand",))
    pelvis = take.index("pelvis")
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    # The only sensor of the second system sits on the pelvis, whose own one is of the first.
    R[:, second[0]] = Q.T @ R[:, pelvis]
    p[:, second[0]] = (np.einsum("nxy,y->nx", R[:, pelvis], [0.1, 0.05, 0.0]) + p[:, pelvis] - T) @ Q
    found = find_registration(replace(take, R_world_body=R, p_world_body=p), first, second)
    assert found is not None
    assert float(np.linalg.norm(rotation.to_vector(found.R @ Q.T))) < np.radians(0.5)


def test_what_does_not_move_is_not_determined() -> None:
    take, first, second = two_worlds("still")
    found = find_registration(take, first, second)
    assert found is None or found.rotation_95 > np.radians(5)


def test_a_clock_is_shifted_by_its_delay() -> None:
    take = simulate(human(), "walk", seconds=4, rate=60, seed=1).take
    R, p = shift_clock(take, [3], 2 / 60)
    np.testing.assert_allclose(p[10:50, 0], take.p_world_body[12:52, 3], atol=1e-9)
    np.testing.assert_allclose(R[10:50, 0], take.R_world_body[12:52, 3], atol=1e-9)
    assert np.isnan(p[-1]).all()
    same = shift_clock(take, [3], 0.0)
    np.testing.assert_array_equal(same[1], take.p_world_body[:, [3]])


def test_bodies_that_are_never_seen_together_tell_nothing() -> None:
    take, first, second = two_worlds()
    p = take.p_world_body.copy()
    p[:600, second], p[600:, first] = np.nan, np.nan
    assert find_registration(replace(take, p_world_body=p), first, second) is None


def test_a_registration_brings_its_bodies_over_and_leaves_the_others() -> None:
    take, first, second = two_worlds(noise=0.0)
    true = simulate(human(), "exercise", seconds=20, rate=60, seed=3).take
    moved = Registration(("a", "b"), Q, T, 1.0, 0.0, 0.0, 0.0).apply(take, second)
    np.testing.assert_allclose(moved.p_world_body, true.p_world_body, atol=1e-12)
    np.testing.assert_allclose(moved.R_world_body, true.R_world_body, atol=1e-12)
    np.testing.assert_array_equal(moved.p_world_body[:, first], take.p_world_body[:, first])


@pytest.mark.costly
def test_a_scale_is_told_from_half_a_percent_on() -> None:
    for scale, told in ((1.003, False), (1.008, True)):
        found = find_registration(*two_worlds(scale=scale, noise=0.1))
        assert found is not None
        assert (found.scale_95 is not None) == told


def test_eight_frames_in_which_both_are_seen_are_enough_and_fewer_tell_nothing() -> None:
    take, first, second = two_worlds(noise=0.0)
    take, pair = take.slice(0, 60), np.array([(first[0], second[0])])
    for count in (7, 8):
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[count:, second[0]] = True
        poses = registration._gather(registration._Tracks.of(take.mask(gone)), pair, np.arange(take.frames), 0.0)
        assert (poses is None) == (count < 8)


def test_its_intervals_leave_out_one_of_eight_stretches_after_the_other_by_students_t() -> None:
    take, first, second = two_worlds(noise=0.0)
    pair = np.array([(first[0], second[0])])
    poses = registration._gather(registration._Tracks.of(take), pair, np.arange(80), 0.0)
    assert len(registration._leave_out(poses, Q, scale=False, clocked=False)) == 8
    assert pytest.approx(special.stdtrit(8 - 1, 0.975), abs=1e-3) == registration.T95_BLOCKS
    values = np.arange(8.0)[:, None]
    assert registration._jackknife(values) == pytest.approx(registration.T95_BLOCKS * np.sqrt(7 / 8 * 42))


def test_clocks_are_compared_in_one_timed_recording_of_more_than_four_seconds() -> None:
    take, _, _ = two_worlds(noise=0.0)
    parted = replace(take, segment=(np.arange(take.frames) > 600).astype(np.int64))
    assert registration._Tracks.of(take).clocked
    for one in (take.slice(0, 230), replace(take, timed=False), parted):
        assert not registration._Tracks.of(one).clocked


def test_bodies_share_a_joint_near_both_and_worlds_are_of_one_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    take, first, second = two_worlds()
    tracks = registration._Tracks.of(take)
    for far, scale, found in ((0.7, 1.0, True), (1.5, 1.0, False), (0.1, 1.3, True), (0.1, 1.8, False)):
        one, zero = np.ones(1), np.zeros((1, 3))
        state = registration._State(
            np.array([[far, 0, 0]]), zero, zero, scale * one, np.eye(3)[None], 0 * one, 0.01 * one
        )
        monkeypatch.setattr(registration, "_solve", lambda *_, state=state, **__: state)
        assert (registration._screen(tracks, first[:1], second[:1]) is not None) == found, (far, scale)


def test_a_first_look_ends_where_nothing_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    take, first, second = two_worlds()
    fine = Registration(("a", "b"), np.eye(3), np.zeros(3), 1.0, 0.0, 0.01, 0.1)
    monkeypatch.setattr(registration, "_refine", lambda *_, **__: fine)
    for residual, found in ((0.04, True), (0.1, False)):  # m
        coarse = registration._Coarse(first[0], second[0], np.eye(3), 0.0, residual)
        monkeypatch.setattr(registration, "_screen", lambda *_, coarse=coarse, **__: coarse)
        assert (find_registration(take, first, second, quick=True) is not None) == found


def test_clocks_that_differ_by_less_than_a_millisecond_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    take, first, second = two_worlds()
    coarse = registration._Coarse(first[0], second[0], np.eye(3), 0.0, 0.01)
    monkeypatch.setattr(registration, "_screen", lambda *_, **__: coarse)
    for delay, two_clocks in ((5e-4, False), (2e-3, True)):  # s

        def refine(tracks: object, coarse: object, *, scale: bool, clocked: bool, delay: float = delay) -> Registration:
            one = Registration(("a", "b"), np.eye(3), np.zeros(3), 1.0, 0.0, 0.01, 0.1)
            return replace(one, delay=delay, delay_95=1e-5) if clocked else one

        monkeypatch.setattr(registration, "_refine", refine)
        found = find_registration(take, first, second)
        assert found is not None
        assert (found.delay_95 is not None) == two_clocks


@pytest.mark.costly
def test_candidates_are_compared_by_few_frames_and_the_best_is_fitted_to_more(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = record_counts(monkeypatch, registration)
    take, first, second = two_worlds()
    for quick, usual in ((True, 120), (False, 240)):
        counts.clear()
        assert find_registration(take, first[:1], second[:1], quick=quick) is not None
        assert is_about(counts[0], usual)
        assert all(is_about(count, 1500) for count in counts[1:])


def test_a_delay_that_is_found_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    take, first, second = two_worlds(delay=0.08)
    tried, gather = list[float](), registration._gather

    def look(tracks: object, pairs: object, rows: object, delay: float) -> object:
        tried.append(delay)
        return gather(tracks, pairs, rows, delay)  # type: ignore[arg-type]

    coarse = registration._screen(registration._Tracks.of(take), first[:1], second[:1])
    assert coarse is not None
    monkeypatch.setattr(registration, "_gather", look)
    found = registration._refine(registration._Tracks.of(take), coarse, scale=False, clocked=True)
    assert found.delay == pytest.approx(0.08, abs=0.002)
    assert len(tried) == len(set(tried))
    assert len(tried) < registration.DELAY_ROUNDS


def test_a_delay_is_followed_over_half_a_second() -> None:
    take, first, second = two_worlds(delay=0.08)
    tracks = registration._Tracks.of(take)
    coarse = registration._screen(tracks, first[:1], second[:1])
    assert coarse is not None
    found = registration._refine(tracks, replace(coarse, delay=0.58), scale=False, clocked=True)
    assert found.delay == pytest.approx(0.08, abs=0.002)
