from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.take import BodyMarker, Take, join
from condyle.prepare import latency
from condyle.prepare.latency import (
    LATENCY_MIN_BODIES,
    LATENCY_MIN_TAKE_S,
    Latency,
    _Delays,
    _errors,
    _settle,
    _spikes,
    _spread,
    find_latency,
    repair_latency,
    without_latency,
)
from condyle.prepare.samples import Neighbours
from condyle.simulate import Disturbances, World, human, linkage, prop, simulate, together
from tests.make.looked_at import is_about

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.15))
EXACT = Disturbances()
DELAY = 5e-4  # s, error of a delay between joined sensors
NOISY_DELAY = 1e-3  # s, with outliers
FAR_DELAY = 6e-3  # s, with skin and field
MOVED = 2e-4  # m, pose of an exact sensor that was moved back in time
TURNED = 1e-3  # rad


def world(disturbances: Disturbances = NOISE, motion: str = "exercise", rate: float = 60.0, seed: int = 1) -> World:
    return simulate(human(), motion, seconds=30.0, rate=rate, seed=seed, disturbances=disturbances)  # type: ignore[arg-type]


def worst(found: Latency, made: World) -> float:
    """Largest error [s] between joined sensors."""
    left = np.where(found.late, found.delay, 0.0) - made.truth.latency
    child = np.flatnonzero(made.truth.parent >= 0)
    return float(np.abs(left[child] - left[made.truth.parent[child]]).max())


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_one_late_sensor_is_found_and_named(motion, rate) -> None:
    made = world(replace(NOISE, latency={"l_shank": 0.033}), motion, rate)
    found = find_latency(made.take)
    late = made.take.index("l_shank")
    assert found.late[late]
    assert found.delay[late] == pytest.approx(0.033, abs=DELAY)
    assert np.abs(np.delete(found.delay, late)).max() < DELAY
    assert found.error[late] < DELAY


@pytest.mark.parametrize("delay", [-0.05, 0.004, 0.1, 0.2])
def test_short_long_and_negative_delays_are_found(delay) -> None:
    made = world(replace(NOISE, latency={"r_hand": delay}))
    found = find_latency(made.take)
    assert found.delay[made.take.index("r_hand")] == pytest.approx(delay, abs=DELAY)


@pytest.mark.costly
def test_delays_of_all_sensors_are_found(rng) -> None:
    made = world(replace(NOISE, latency=rng.uniform(0, 0.01, 15)))
    found = find_latency(made.take)
    assert found.late.sum() >= 10
    assert worst(found, made) < 2 * DELAY


@pytest.mark.parametrize("motion", ["exercise", "walk", "still"])
@pytest.mark.parametrize(
    "disturbances",
    [
        EXACT,
        NOISE,
        replace(NOISE, spikes=0.02, bursts=0.05),
        replace(NOISE, missing=0.2),
        replace(NOISE, soft_tissue=0.005),
        replace(NOISE, soft_tissue=0.005, field_warp=0.0125),
        replace(NOISE, correlation_time=0.5),
        replace(NOISE, quantisation=0.004),
    ],
    ids=["exact", "noise", "spikes", "missing", "skin", "skin and field", "slow noise", "steps"],
)
def test_sensors_of_one_clock_have_no_latency(disturbances, motion) -> None:
    found = find_latency(world(disturbances, motion).take)
    assert not found.late.any()
    assert not found.delay.any()


@pytest.mark.parametrize(
    ("more", "motion", "body", "bar"),
    [
        ({"spikes": 0.02, "bursts": 0.05}, "exercise", "l_shank", DELAY),
        ({"spikes": 0.02, "bursts": 0.05}, "walk", "chest", DELAY),
        ({"missing": 0.2}, "exercise", "l_shank", DELAY),
        ({"soft_tissue": 0.005, "field_warp": 0.0125}, "exercise", "l_shank", FAR_DELAY),
    ],
    ids=["spikes", "spikes at the trunk", "gaps", "skin and field"],
)
def test_late_sensors_are_found_among_other_faults(more, motion, body, bar) -> None:
    made = world(replace(NOISE, latency={body: 0.033}, **more), motion)
    assert find_latency(made.take).delay[made.take.index(body)] == pytest.approx(0.033, abs=bar)


@pytest.mark.costly
def test_a_late_trunk_in_a_walk_among_outliers_is_not_seen_too_small() -> None:
    spiky = Disturbances(
        position_noise=0.003, orientation_noise=np.radians(0.3), spikes=0.02, bursts=0.05, latency={"pelvis": 0.033}
    )
    made = simulate(human(), "walk", seconds=45.0, rate=60.0, seed=60000, disturbances=spiky)
    assert worst(find_latency(made.take), made) < NOISY_DELAY


@pytest.mark.costly
def test_a_late_chest_is_moved_and_not_the_head_and_arms_that_agree_with_each_other() -> None:
    soft = Disturbances(
        position_noise=0.0015,
        orientation_noise=np.radians(0.15),
        soft_tissue=0.005,
        field_warp=0.0125,
        field_length=0.9,
        latency={"chest": 0.033},
    )
    made = simulate(human(), "walk", seconds=45.0, rate=60.0, seed=60001, disturbances=soft)
    found = find_latency(made.take)
    chest = made.take.index("chest")
    assert found.delay[chest] == pytest.approx(0.033, abs=FAR_DELAY)
    assert np.abs(np.delete(found.delay, chest)).max() < FAR_DELAY


@pytest.mark.costly
def test_skin_that_swings_with_a_walk_is_no_delay() -> None:
    skin = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.005)
    made = simulate(human(), "walk", seconds=45.0, rate=60.0, seed=64004, disturbances=skin)
    assert not find_latency(made.take).late.any()
    late = simulate(
        human(), "walk", seconds=45.0, rate=60.0, seed=64004, disturbances=replace(skin, latency={"l_hand": 0.01})
    )
    assert find_latency(late.take).late[late.take.index("l_hand")]


def test_an_exact_take_tells_its_delays() -> None:
    made = world(Disturbances(latency={"head": 0.02}))
    found = find_latency(made.take)
    assert found.delay[made.take.index("head")] == pytest.approx(0.02, abs=DELAY)


@pytest.mark.costly
def test_a_clock_that_ticks_unevenly_tells_them_too(rng) -> None:
    made = world(replace(NOISE, latency={"l_shank": 0.033}), "walk", rate=120.0)
    rows = np.sort(rng.choice(made.take.frames, made.take.frames // 2, replace=False))
    found = find_latency(made.take.at(rows))
    assert found.delay[made.take.index("l_shank")] == pytest.approx(0.033, abs=2 * DELAY)


@pytest.mark.costly
def test_several_recordings_tell_of_one_delay() -> None:
    takes = [world(replace(NOISE, latency={"l_shank": 0.033}), seed=seed).take for seed in (1, 1)]
    both = join([takes[0].slice(0, 900), takes[1].slice(900, None)])
    found = find_latency(both)
    assert found.delay[both.index("l_shank")] == pytest.approx(0.033, abs=DELAY)


@pytest.mark.costly
def test_a_loose_thing_and_another_person_do_not_disturb() -> None:
    late = replace(NOISE, latency={"l_shank": 0.033})
    made = together([world(late), world(seed=2), prop(seconds=30.0, rate=60.0, seed=3, disturbances=NOISE)])
    found = find_latency(made.take)
    assert found.delay[made.take.index("a_l_shank")] == pytest.approx(0.033, abs=DELAY)
    clean = together([world(), world(seed=2), prop(seconds=30.0, rate=60.0, seed=3, disturbances=NOISE)])
    assert not find_latency(clean.take).late.any()
    assert find_latency(clean.take, only_late=True) is None


@pytest.mark.costly
def test_the_order_of_the_sensors_does_not_matter() -> None:
    made = world(replace(NOISE, latency={"l_shank": 0.033}))
    turned = find_latency(made.take.select(made.take.names[::-1]))
    np.testing.assert_allclose(turned.delay[::-1], find_latency(made.take).delay, atol=1e-5)


def test_what_cannot_tell_is_not_asked() -> None:
    take = world().take
    assert find_latency(replace(take, timed=False)) is None
    assert find_latency(take.select(take.names[: LATENCY_MIN_BODIES - 1])) is None
    assert find_latency(take.slice(0, int(0.9 * LATENCY_MIN_TAKE_S * 60))) is None
    assert find_latency(take.slice(0, 1)) is None
    assert find_latency(take.slice(0, 0)) is None
    nobody = find_latency(take.mask(np.ones((take.frames, take.bodies), dtype=bool)))
    assert nobody is None or not nobody.late.any()


def test_a_sensor_that_is_never_seen_is_not_late() -> None:
    made = world(replace(NOISE, latency={"l_shank": 0.033}))
    hidden = np.zeros((made.take.frames, made.take.bodies), dtype=bool)
    hidden[:, made.take.index("head")] = True
    found = find_latency(made.take.mask(hidden))
    assert found.delay[made.take.index("l_shank")] == pytest.approx(0.033, abs=DELAY)
    assert not found.late[made.take.index("head")]


@pytest.mark.costly
def test_a_sensor_that_is_never_seen_is_not_late_where_all_others_are(rng) -> None:
    made = world(replace(NOISE, latency=rng.uniform(0, 0.01, 15)))
    hidden = np.zeros((made.take.frames, made.take.bodies), dtype=bool)
    hidden[:, made.take.index("head")] = True
    found = find_latency(made.take.mask(hidden))
    assert found.late.sum() >= 9
    assert not found.late[made.take.index("head")]


# Moving poses in time


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_moved_poses_are_those_without_latency(rate) -> None:
    made = simulate(linkage(), "walk", seconds=10.0, rate=rate, seed=1, disturbances=Disturbances(latency=0.0))
    delay = np.array([0.0, 0.02, 0.013, -0.03, 0.0, 0.1])
    late = simulate(linkage(), "walk", seconds=10.0, rate=rate, seed=1, disturbances=Disturbances(latency=delay))
    back = without_latency(late.take, delay)
    assert back.seen.mean() > 0.9
    apart = np.linalg.norm(back.p_world_body - made.take.p_world_body, axis=2)
    assert np.nanmax(apart) < MOVED
    turn = np.swapaxes(back.R_world_body, 2, 3) @ made.take.R_world_body
    assert np.degrees(np.nanmax(np.linalg.norm(turn - np.eye(3), axis=(2, 3)))) < np.degrees(TURNED)


def test_sensors_without_delay_keep_their_poses_to_the_last_bit() -> None:
    take = world().take
    back = without_latency(take, 0.02 * (np.arange(15) == 3))
    others = np.arange(15) != 3
    assert np.array_equal(back.p_world_body[:, others], take.p_world_body[:, others])
    assert np.array_equal(back.R_world_body[:, others], take.R_world_body[:, others])
    assert not np.array_equal(back.p_world_body[:, 3], take.p_world_body[:, 3])


def test_moved_poses_are_rotations_and_keep_their_noise() -> None:
    take = world(rate=120.0).take
    back = without_latency(take, np.full(15, 0.0125))  # half a frame more than one
    R = back.R_world_body[back.seen]
    np.testing.assert_allclose(np.swapaxes(R, 1, 2) @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-12)
    bend = [np.nanstd(np.diff(part.p_world_body, n=6, axis=0)) for part in (take, back)]
    assert bend[1] == pytest.approx(bend[0], rel=0.2)


def test_poses_from_beyond_the_ends_of_a_segment_are_not_seen() -> None:
    take = world().take
    both = join([take.slice(0, 300), take.slice(300, 600)])
    back = without_latency(both, 0.5 * (np.arange(15) == 3))
    assert not back.seen[270:300, 3].any()
    assert not back.seen[570:600, 3].any()
    assert back.seen[20:250, 3].all()
    assert back.seen[:, 2].all()


def test_nothing_is_moved_across_a_hole() -> None:
    take = world().take
    holed = take.at(np.r_[0:300, 600:900])
    back = without_latency(holed, 0.05 * (np.arange(15) == 3))
    assert not back.seen[297:300, 3].any()
    assert isinstance(back, Take)


def test_the_stage_tells_the_delay_and_its_repair_takes_it_away_unless_that_is_not_wanted() -> None:
    take = world(replace(NOISE, latency={"l_shank": 0.04}), "walk").take
    (repair,) = repair_latency(take, FitOptions()).changes
    (finding,) = repair.describe()
    assert (finding.code, finding.severity, finding.unit) == ("latency", "warning", "s")
    assert finding.value == pytest.approx(0.04, abs=0.001)
    assert repair.bodies == finding.bodies
    assert "l_shank +40 ms" in finding.text
    assert not repair_latency(repair.apply(take), FitOptions()).changes
    assert not repair_latency(take, FitOptions(no_fix=("latency",))).changes


def test_bodies_that_cameras_saw_at_one_moment_are_never_late() -> None:
    take = world(replace(NOISE, latency={"l_shank": 0.04}), "walk").take
    marker = BodyMarker("a", "l_shank", np.zeros(3))
    assert not repair_latency(replace(take, markers=(marker,)), FitOptions()).changes


def test_of_two_sensors_nothing_tells_which_is_late_and_of_three_it_does() -> None:
    made = world(replace(NOISE, latency={"l_shank": 0.033}))
    names = ["l_thigh", "l_shank", "l_foot"]
    assert find_latency(made.take.select(names[:2])) is None
    found = find_latency(made.take.select(names))
    assert found is not None
    assert found.delay[1] - found.delay[0] == pytest.approx(0.033, abs=DELAY)


def test_a_path_that_bends_five_times_as_much_as_around_has_a_spike() -> None:
    for times, spikes in ((4.0, []), (6.0, [50])):
        bend = 1e-3 * (-1.0) ** np.arange(100)
        bend[50] *= times
        p = np.zeros((100, 1, 3))
        p[1:, 0, 0] = np.cumsum(np.cumsum(bend))[:-1]
        take = Take(("a",), np.arange(100) / 60, np.tile(np.eye(3), (100, 1, 1, 1)), p)
        assert np.flatnonzero(_spikes(take)).tolist() == spikes


def test_a_sensor_that_is_late_by_less_than_30_microseconds_is_left_alone_beside_one_that_is_late() -> None:
    pairs, error, none = np.array([[1, 0], [2, 1], [3, 2]]), np.full(3, 1e-7), np.zeros(3)
    found = _settle(_Delays(pairs, np.array([2e-5, 0.0, 1e-2]), error, none), 4)
    assert found.late.tolist() == [False, False, False, True]
    found = _settle(_Delays(pairs, np.array([0.0, 5e-5, 1e-2]), error, none), 4)
    assert found.late.tolist() == [False, False, True, True]


def test_a_sensor_that_loses_most_of_its_samples_tells_of_those_that_it_has(rng) -> None:
    made = world()
    gone = np.zeros(made.take.seen.shape, dtype=bool)
    gone[:, 3] = rng.random(made.take.frames) < 0.55
    found = find_latency(made.take.mask(gone))
    assert not found.late.any()
    assert np.isfinite(found.delay).all()


def test_of_many_sensors_fewer_frames_are_looked_at() -> None:
    near = Neighbours.of(world().take)
    whole = int(near.whole.sum())
    assert len(_spread(near, 3, 1000)) == min(whole, 1000)
    assert len(_spread(near, 128, 1000)) == 60_000 // 128


def _settled(edges: list[tuple[int, int]], difference: list[float], error: list[float], bodies: int) -> Latency:
    return _settle(_Delays(np.array(edges), np.array(difference), np.array(error), np.zeros(len(edges))), bodies)


def test_the_largest_group_that_agrees_is_not_late_and_the_edges_of_a_late_one_are_weighed() -> None:
    # A chain of six; the third is 10 ms late, and its two edges tell that apart by 10 us, the second twice as surely.
    edges = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
    found = _settled(edges, [1e-6, 0.01, -0.01001, 0.0, 0.0], [1e-4, 2e-4, 1e-4, 1e-4, 1e-4], 6)
    assert found.late.tolist() == [False, False, True, False, False, False]
    np.testing.assert_allclose(found.delay, [0, 0, (0.01 + 4 * 0.01001) / 5, 0, 0, 0], atol=1e-12)
    # Its error is that of the surer of the two edges: the other bodies agree.
    assert found.error[2] == pytest.approx(1e-4)
    assert found.error[0] == pytest.approx(0, abs=1e-12)


def test_of_groups_as_large_as_each_other_the_one_in_the_middle_is_not_late() -> None:
    found = _settled([(1, 0), (2, 1)], [0.004, 0.010], [1e-4, 1e-4], 3)
    np.testing.assert_allclose(found.delay, [-0.004, 0.0, 0.010], atol=1e-12)
    assert found.late.tolist() == [True, False, True]


def test_an_edge_that_could_hide_the_delay_links_nothing() -> None:
    # Bodies 0 and 1 hang together by an edge of 20 ms of error: 1 to 3 are a figure of their own.
    found = _settled([(1, 0), (2, 1), (3, 2)], [0.0, 0.008, 0.0], [0.02, 1e-4, 1e-4], 4)
    assert found.delay[0] == 0
    assert abs(found.delay[2] - found.delay[1]) == pytest.approx(0.008, abs=1e-6)


def test_the_error_of_a_delay_is_what_noise_leaves_of_it_whatever_the_centre_takes(rng: np.random.Generator) -> None:
    n, sd, trials = 400, 0.003, 300
    Z = np.zeros((1, n, 3, 7))
    Z[..., :3] = np.eye(3)
    Z[0, :, 0, 3] = np.sin(np.arange(n) / 7)
    Z[0, :, :, 6] = rng.standard_normal((n, 3)) + 2.0
    X = Z.reshape(3 * n, 7)
    gram, back = (X.T @ X)[None], np.linalg.pinv(X)
    delays, errors = [], []
    for _ in range(trials):
        y = sd * rng.standard_normal(3 * n)
        u = back @ y
        rest = (y - X @ u).reshape(1, n, 3)
        errors.append(_errors(Z, rest, np.ones((1, n)), gram, np.array([sd**2]), np.zeros(1), 0.01)[0][0])
        delays.append(u[6])
    # What eight stretches disagree by is asked too, and the larger counts.
    assert 1.0 < np.mean(errors) / np.std(delays) < 1.25


def test_stretches_that_disagree_widen_the_error(rng: np.random.Generator) -> None:
    n = 800
    Z = np.zeros((1, n, 3, 7))
    Z[..., 6] = rng.choice([-1.0, 1.0], (n, 3))
    gram = (Z.reshape(-1, 7).T @ Z.reshape(-1, 7))[None]
    stretch = np.repeat(0.01 * np.array([1, -1, 1, -1, 1, -1, 1, -1]), n // 8)
    rest = Z[..., 6] * stretch[None, :, None]
    white = np.array([np.square(rest).sum() / (3 * n - 7)])
    (error,), _ = _errors(Z, rest, np.ones((1, n)), gram, white, np.zeros(1), 0.01)
    # Eight values of 0.01 s and their mean: 0.01 / sqrt(7).
    assert error == pytest.approx(0.01 / np.sqrt(7), rel=0.03)


def _told(difference: list[float], error: float) -> _Delays:
    """Of a chain of bodies, each joined to the one before."""
    edges = np.array([(k + 1, k) for k in range(len(difference))])
    return _Delays(edges, np.array(difference), np.full(len(edges), error), np.zeros(len(edges)))


def test_a_second_look_is_taken_and_a_take_is_late_where_a_difference_is_clear_and_large_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Looked(Exception):
        pass

    def look(take: Take) -> None:
        raise Looked

    take = world().take
    monkeypatch.setattr(latency, "_spikes", look)
    for difference, error, again in (
        (0.0025, 0.001, False),
        (0.005, 0.001, True),
        (6e-5, 1e-6, False),
        (2e-4, 1e-6, True),
    ):
        told = _told([difference] + [0.0] * (take.bodies - 2), error)
        monkeypatch.setattr(latency, "_look_at_rows", lambda _, told=told: told)
        if again:
            with pytest.raises(Looked):
                find_latency(take)
        else:
            assert not find_latency(take).late.any()
    for difference, error, sure in (
        (0.004, 0.001, False),
        (0.009, 0.001, True),
        (6e-5, 1e-6, False),
        (2e-4, 1e-6, True),
    ):
        assert latency._is_sure(_told([difference, 0.0, 0.0], error)) == sure


def test_short_takes_and_crowds_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    monkeypatch.setattr(latency, "_look_at_rows", lambda take: looked.append((take.bodies, take.frames)))
    for bodies, frames in ((4, 40), (4, 120), (100, 120), (200, 120)):
        p = np.random.default_rng(2).standard_normal((frames, bodies, 3))
        R = np.tile(np.eye(3), (frames, bodies, 1, 1))
        assert find_latency(Take([f"b{k}" for k in range(bodies)], np.arange(frames) / 30, R, p)) is None
    assert looked == [(4, 120), (100, 120)]


def test_one_more_sensor_is_late_beyond_chance_and_beyond_less_where_most_of_them_are() -> None:
    for error, late in ((0.005, False), (0.002, True)):
        assert _settle(_told([0.0, 0.01, -0.01, 0.0, 0.0], error), 6).late[2] == late
    for errors, late in ((0.6, False), (2.0, True)):  # of the last one, where all before it differ
        delay = _settle(_told([0.01, 0.02, -0.01, 0.02, errors * 1e-3], 1e-3), 6).delay
        assert (abs(delay[5] - delay[4]) > 1e-4) == late


def test_what_is_no_noise_may_follow_the_velocity_by_a_tenth(rng: np.random.Generator) -> None:
    n = 800
    Z = np.zeros((1, n, 3, 7))
    Z[..., 6] = rng.choice([-1.0, 1.0], (n, 3))
    gram = (Z.reshape(-1, 7).T @ Z.reshape(-1, 7))[None]
    rest = 0.01 * rng.standard_normal((1, n, 3))
    (skin,), _ = _errors(Z, rest, np.ones((1, n)), gram, np.zeros(1), np.zeros(1), 0.01)
    assert 0.05 < skin / 0.01 < 0.2
    still = np.zeros_like(Z)
    (unknown,), _ = _errors(still, rest, np.ones((1, n)), np.zeros((1, 7, 7)), np.zeros(1), np.zeros(1), 0.01)
    assert 5 < unknown < 20  # s


def test_courses_are_alike_by_chance_within_a_band_of_frequencies_alone() -> None:
    for step, one, other, alike in [
        (0.01, 1.05, 1.4, True),
        (0.01, 1.1, 0.7, False),
        (0.25, 0.26, 0.36, True),  # of a slow clock sixteen bands at least
        (0.25, 0.26, 0.2, False),
    ]:
        time = np.arange(round(100 / step)) * step
        courses = [np.sin(2 * np.pi * hertz * time)[None, :, None] * np.ones(3) for hertz in (one, other)]
        itself = latency._multiply_bands(courses[0], courses[0], step)[0]
        assert (latency._multiply_bands(*courses, step)[0] > 0.5 * itself) == alike, (step, one, other)


def test_a_delay_that_is_seen_too_small_is_where_what_is_left_changes_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    take = world().take.select(world().take.names[:3])
    step, shift = 1 / take.rate, np.array([0.0, 1.5, 0.0]) / take.rate
    for share, delay in ((0.85, None), (0.5, 1.4), (0.05, 2.0)):  # of a delay that is seen; frames
        rounds = iter((_told([1.2 * step, 0.0], 1e-4), _told([(2.2 - share) * step, -(1 - share) * step], 1e-4)))
        monkeypatch.setattr(latency, "_round", lambda *_, rounds=rounds: next(rounds))
        found = latency._bracket(take, None, None, shift, None)
        assert (found is None) == (delay is None), share
        if found is not None:
            assert found.difference[0] / step == pytest.approx(delay, rel=0.2)


def test_what_skin_adds_by_chance_is_asked_where_any_joint_looks_late(rng: np.random.Generator) -> None:
    n = 400
    Z = np.zeros((2, n, 3, 7))
    Z[..., 6] = rng.standard_normal((2, n, 3))
    Z[..., 3:6] = -np.eye(3)
    X = Z.reshape(2, 3 * n, 7)
    gram = np.swapaxes(X, 1, 2) @ X
    rest = 0.001 * rng.standard_normal((2, n, 3))
    for delay, asked in ((0.0, False), (0.5, True)):
        _, chance = _errors(Z, rest, np.ones((2, n)), gram, np.zeros(2), np.array([delay, 0.0]), 0.01)
        assert chance.any() == asked


def test_of_few_rows_a_variance_counts_what_the_unknowns_took(rng: np.random.Generator) -> None:
    n, found = 5, []
    for _ in range(400):
        Z = rng.standard_normal((1, n, 3, 7))
        X, y = Z.reshape(3 * n, 7), rng.standard_normal(3 * n)
        u = np.linalg.lstsq(X, y, rcond=None)[0]
        rest = (y - X @ u).reshape(1, n, 3)
        error = _errors(Z, rest, np.ones((1, n)), (X.T @ X)[None], np.array([9.0]), np.zeros(1), 0.01)[0][0]
        found.append(u[6] / error)
    assert np.std(found) < 1.6  # an error of 15 numbers less 7, not plus


def test_delay_and_centre_are_the_least_squares_of_all_rows(rng: np.random.Generator) -> None:
    n = 60
    time = np.arange(n) / 30
    turn = np.stack([np.sin(time[:, None] * rng.uniform(1, 4, 3) + rng.uniform(0, 6, 3)) for _ in range(2)], axis=1)
    R, p = rotation.from_vector(turn), rng.standard_normal((n, 2, 3))
    part = Take(("a", "b"), time, R, p)
    c, l = rng.standard_normal((2, 1, 3))
    fits = SimpleNamespace(pairs=np.array([[0, 1]]), p_child_joint=c, p_parent_joint=l)
    velocity = rng.standard_normal((n, 2, 12))
    shifted = np.array([0.2])
    delay, error, _ = latency._differences(part, fits, velocity, np.zeros(1), shifted)  # type: ignore[arg-type]
    V = velocity[..., :9].reshape(n, 2, 3, 3)
    moving = 0.5 * (V[:, 0] @ c[0] + V[:, 1] @ l[0] + velocity[:, 0, 9:] + velocity[:, 1, 9:])
    X = np.concatenate([R[:, 0], -R[:, 1], moving[..., None]], axis=2).reshape(3 * n, 7)
    gap = (R[:, 0] @ c[0] + p[:, 0] - R[:, 1] @ l[0] - p[:, 1]).ravel()
    assert delay == pytest.approx(shifted - np.linalg.lstsq(X, gap, rcond=None)[0][6])
    assert 0 < error[0] < 10
    spoilt = replace(part, p_world_body=np.where(np.arange(n)[:, None, None] == 7, p + [1e3, 0, 0], p))
    worse = latency._differences(spoilt, fits, velocity, np.zeros(1), shifted)[0]  # type: ignore[arg-type]
    near = replace(part, p_world_body=np.where(np.arange(n)[:, None, None] == 7, np.nan, p))
    without = latency._differences(near, fits, velocity, np.zeros(1), shifted)[0]  # type: ignore[arg-type]
    assert worse == pytest.approx(without, rel=0.2)  # an outlier does not count


def rounds_of(monkeypatch: pytest.MonkeyPatch, moves: list[float]) -> list[int]:
    """Rows that each round looks at, where the delay of the first body changes by so much [s] from round to round."""
    take = simulate(human(), "exercise", seconds=60.0, rate=60.0, seed=1).take
    told, looked = _told([0.01] + [0.0] * (take.bodies - 2), 1e-4), list[int]()
    delays = iter(np.cumsum([*moves, *[0.01] * 100]))
    first = np.arange(take.bodies) == 0

    def settle(*_: object) -> Latency:
        return Latency(np.where(first, next(delays), 0.0), np.zeros(take.bodies), first)

    monkeypatch.setattr(latency, "_look_at_rows", lambda _: told)
    monkeypatch.setattr(latency, "_spikes", lambda take: np.zeros(take.seen.shape, dtype=bool))
    monkeypatch.setattr(latency, "estimate_noise", lambda _: None)
    monkeypatch.setattr(latency, "_round", lambda take, near, rows, shift, noise: looked.append(len(rows)) or told)
    monkeypatch.setattr(latency, "_settle", settle)
    monkeypatch.setattr(latency, "_bracket", lambda *_: None)
    assert find_latency(take) is not None
    return looked


def test_poses_are_shifted_until_nothing_moves_by_few_frames_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    wild = rounds_of(monkeypatch, [])
    assert 5 <= len(wild) <= 20
    assert is_about(wild[0], 1000)
    slow = rounds_of(monkeypatch, [0.02, 0.002, 5e-4, 5e-5])
    assert slow[:3] == [wild[0]] * 3  # a delay that still changes by milliseconds is not worth all of them
    assert is_about(slow[3], 2500)
    assert slow[3] > 1.5 * slow[0]
    assert len(slow) == 4


def test_a_first_look_is_at_rows_that_are_means_of_several_frames_where_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[int]()
    monkeypatch.setattr(latency, "_look_at", lambda rows, near, most, *_: asked.append(most))
    for rate in (30.0, 120.0):
        assert latency._look_at_rows(simulate(linkage(), seconds=20.0, rate=rate, seed=1).take) is None
    assert is_about(asked[0], 1000)
    assert asked[1] == asked[0] // 2


def test_of_a_lone_spike_its_own_sample_is_left_out_and_not_those_beside_it(rng: np.random.Generator) -> None:
    p = 1e-3 * rng.standard_normal((100, 1, 3))
    p[50, 0, 0] += 1.0
    take = Take(("a",), np.arange(100) / 60, np.tile(np.eye(3), (100, 1, 1, 1)), p)
    assert np.flatnonzero(_spikes(take)).tolist() == [50]


def test_a_second_look_is_at_so_many_frames_however_long_the_take_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, spread = list[int](), latency._spread
    monkeypatch.setattr(latency, "_spread", lambda near, bodies, most: asked.append(most) or spread(near, bodies, most))
    rounds_of(monkeypatch, [0.02, 5e-4, 5e-5])
    assert is_about(min(asked), 1000)
    assert is_about(max(asked), 2500)


def test_delays_are_told_as_people_write_them() -> None:
    repair = latency.LatencyRepair(np.array([0.1, 0.0, -0.0166]), ("a", "b", "c"))
    assert repair.delays == "a +100 ms, c -17 ms"
