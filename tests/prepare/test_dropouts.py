from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.findings import Finding
from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.take import BodyMarker, Take, join, with_world
from condyle.prepare.dropouts import (
    _run_lengths,
    _with_partners,
    find_dropouts,
    find_far,
    find_frozen,
    mask_unmeasured,
    prepare,
)
from condyle.prepare.repeats import find_repeats
from condyle.simulate import Disturbances, human, simulate
from tests.make import recordings

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
EXACT = Disturbances()
BODY = 4


def figure(disturbances: Disturbances = NOISE, motion: str = "exercise", seconds: float = 10.0, seed: int = 1) -> Take:
    return simulate(human(), motion, seconds=seconds, rate=60.0, seed=seed, disturbances=disturbances).take  # type: ignore[arg-type]


def marks(take: Take, *runs: tuple[int, int, int]) -> np.ndarray:
    """(n, m) frames start:stop of a body, for each (start, stop, body)."""
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    for start, stop, body in runs:
        mask[start:stop, body] = True
    return mask


def written(take: Take, mask: np.ndarray, place=(0.0, 0.0, 0.0), turn=None) -> Take:
    R = take.R_world_body if turn is None else np.where(mask[..., None, None], turn, take.R_world_body)
    return replace(take, p_world_body=np.where(mask[..., None], place, take.p_world_body), R_world_body=R)


def frozen(take: Take, mask: np.ndarray) -> Take:
    row = np.maximum.accumulate(np.where(mask, 0, np.arange(take.frames)[:, None]), axis=0)
    body = np.arange(take.bodies)
    return replace(take, p_world_body=take.p_world_body[row, body], R_world_body=take.R_world_body[row, body])


def only(take: Take, code: str) -> list[Finding]:
    return [finding for finding in take.findings if finding.code == code]


def dropouts(take: Take) -> np.ndarray:
    return find_dropouts(take, find_repeats(take)[0])


def same_poses(a: Take, b: Take) -> bool:
    return np.array_equal(a.p_world_body, b.p_world_body, equal_nan=True) and np.array_equal(
        a.R_world_body, b.R_world_body, equal_nan=True
    )


# Takes that are left alone


@pytest.mark.parametrize("motion", ["exercise", "walk", "still"])
@pytest.mark.parametrize("disturbances", [EXACT, NOISE], ids=["exact", "noise"])
def test_a_good_take_is_the_same_object(disturbances, motion) -> None:
    take = figure(disturbances, motion)
    assert prepare(take) is take


def test_spikes_and_missing_samples_are_left_to_the_fit() -> None:
    take = figure(replace(NOISE, spikes=0.05, bursts=0.05, missing=0.1))
    assert prepare(take) is take


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 7])
def test_few_frames_are_left_alone(frames) -> None:
    take = figure().slice(0, frames)
    assert prepare(take) is take


def test_one_body_and_nothing_seen_are_left_alone() -> None:
    take = figure()
    one = take.select([take.names[0]])
    assert prepare(one) is one
    none = take.mask(np.ones((take.frames, take.bodies), dtype=bool))
    assert prepare(none) is none


def test_the_world_is_no_frozen_sensor() -> None:
    take = with_world(figure())
    ready = prepare(take)
    assert same_poses(ready, take)
    (finding,) = ready.findings
    assert (finding.code, finding.severity, finding.bodies) == ("frozen-samples", "info", ("world",))


def test_exact_bodies_that_come_to_rest_and_leave_it_smoothly_keep_their_poses() -> None:
    time = np.arange(1200) / 120
    angle = np.where((time > 3) & (time < 6), 0.0, 1 - np.cos(2 * np.pi * time / 3))  # rests from 3 to 6 s
    swing = np.sin(2 * np.pi * time / 1.3)
    R = rotation.from_vector(np.stack([np.stack([a, 0.3 * a, 0 * a], 1) for a in (angle, swing, angle + swing)], 1))
    p = R @ np.array([0.0, 0.2, 0.1])
    take = Take(("a", "b", "c"), time, R, p)
    same = find_repeats(take)[0]
    assert same[:, 0].sum() > 300
    assert prepare(take) is take


def test_an_exact_body_may_come_to_rest_in_one_step_that_is_short() -> None:
    step = np.concatenate([np.full(200, 1e-7), np.full(200, 0.01), [0.002], np.zeros(50), [0.002], np.full(200, 0.01)])
    time = np.arange(len(step)) / 60
    p = np.stack([np.cumsum(step), np.zeros(len(step)), np.ones(len(step))], axis=1)[:, None]
    other = p + np.sin(3 * time)[:, None, None]
    R = np.tile(np.eye(3), (len(step), 2, 1, 1))
    take = Take(("a", "b"), time, R, np.concatenate([p, other], axis=1))
    assert find_repeats(take)[0][:, 0].sum() == 50
    assert prepare(take) is take


def test_few_decimals_at_rest_are_no_frozen_sensor(rng) -> None:
    time = np.arange(2400) / 240
    active = np.clip(np.sin(2 * np.pi * time / 5), 0, None) ** 2  # rests every other 2.5 s
    degrees = np.round(40 * active[:, None] * [1, 0.5, 0.2] + 0.02 * rng.standard_normal((2400, 3)), 1)
    p = np.round(0.3 * active[:, None] * [1, 0.4, 0.2] + 2e-4 * rng.standard_normal((2400, 3)), 3)
    other = figure(seconds=10.0).p_world_body[:1, :1] + rng.standard_normal((2400, 1, 3))
    R = rotation.from_euler(np.radians(degrees), "ZYX")[:, None]
    take = Take(("a", "b"), time, np.concatenate([R, R], axis=1), np.concatenate([p[:, None], other], axis=1))
    same = find_repeats(take)[0]
    assert same[:, 0].mean() > 0.2
    assert find_frozen(take, same)[:, 0].mean() < 0.01


def test_a_body_of_rounded_markers_is_not_frozen_where_it_is_slow_but_where_it_is_held(rng) -> None:
    time = np.arange(2400) / 240
    x = 0.2 * np.sin(2 * np.pi * time / 10)  # half a millimetre a frame at most
    places = {"LTOE": [0.1, 0, 0], "LHEE": [-0.1, 0, 0], "LANK": [0, 0.05, 0]}
    clouds = np.array(list(places.values())) + x[:, None, None] * [1.0, 0.3, 0.1]
    clouds = np.round(clouds + 2e-4 * rng.standard_normal(clouds.shape), 3)
    p = clouds.mean(axis=1)
    R = rotation.from_vector(0.5 * (clouds[:, 2] - p - [0, 0.05, 0]))  # turns with its markers' rounding
    other = np.tile(np.eye(3), (2400, 1, 1)), rng.standard_normal((2400, 3))
    take = Take(("l_foot", "b"), time, np.stack([R, other[0]], axis=1), np.stack([p, other[1]], axis=1))
    markers = tuple(BodyMarker("l_foot", name, np.array(place)) for name, place in places.items())
    assert find_frozen(take, find_repeats(take)[0])[:, 0].mean() > 0.1
    assert not prepare(replace(take, markers=markers)).findings
    mask = marks(take, (600, 700, 0), (900, 1000, 0))
    held = replace(frozen(take, mask), markers=markers)
    assert not prepare(held).seen[mask].any()


# Dropouts


@pytest.mark.parametrize(
    ("place", "turn"),
    [((0, 0, 0), None), ((0, 0, 0), np.eye(3)), ((1.0, 0.2, 0.3), np.eye(3)), ((0.5, 0.5, 2.0), np.eye(3)[[1, 2, 0]])],
    ids=["zeros", "zeros and identity", "identity at a place", "a pose of its own"],
)
def test_stand_ins_are_masked_and_nothing_else(place, turn) -> None:
    take = figure()
    mask = marks(take, (50, 60, BODY), (200, 203, BODY), (400, 401, BODY), (300, 340, 7), (500, 510, 7))
    ready = prepare(written(take, mask, place, turn))
    assert (~ready.seen == mask).all()
    assert same_poses(ready, take.mask(mask))
    first, second = only(ready, "dropout")
    assert (first.bodies, first.frame, first.count, first.severity) == ((take.names[BODY],), 50, 14, "warning")
    assert (second.bodies, second.frame, second.count) == ((take.names[7],), 300, 50)
    assert "14 poses" in first.text


def test_zeros_at_the_start_and_at_the_end_are_dropouts() -> None:
    take = figure()
    mask = marks(take, (0, 30, BODY), (570, 600, 7))
    assert (~prepare(written(take, mask)).seen == mask).all()


def test_the_pose_of_rest_in_the_first_frame_of_a_clip_is_none() -> None:
    take = figure(EXACT)
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[0] = True
    clip = written(take, mask, turn=np.eye(3))
    assert not dropouts(clip).any()


def test_a_figure_that_is_put_into_its_pose_of_rest_for_a_while_is_none() -> None:
    take = figure(EXACT)
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[[0, *range(200, 215), *range(400, 410)]] = True
    places = take.p_world_body[:1] - take.p_world_body[:1, :1]  # the root at the origin, the others about it
    clip = written(take, mask, places, np.eye(3))
    assert not dropouts(clip).any()


def test_frames_that_every_sensor_lost_are_dropouts() -> None:
    take = figure()
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    mask[200:215] = mask[400:401] = True
    assert (dropouts(written(take, mask)) == mask).all()


def test_a_body_that_is_always_at_the_origin_is_no_dropout() -> None:
    take = figure()
    mask = marks(take, (0, take.frames, BODY))
    centred = written(take, mask)
    assert not dropouts(centred).any()


def test_most_samples_may_be_dropouts() -> None:
    take = figure()
    mask = marks(take, *((start, start + 35, BODY) for start in range(10, 590, 50)))
    assert (dropouts(written(take, mask)) == mask).all()


# Repeats


@pytest.mark.parametrize("disturbances", [EXACT, NOISE], ids=["exact", "noise"])
def test_repeats_of_a_frozen_sensor_are_masked_and_the_first_sample_stays(disturbances) -> None:
    take = figure(disturbances, "walk")
    mask = marks(take, (50, 80, BODY), (200, 260, BODY), (590, 600, 7))
    ready = prepare(frozen(take, mask))
    assert (~ready.seen == mask).all()
    first, _ = only(ready, "frozen-samples")
    assert (first.bodies, first.frame, first.count, first.severity) == ((take.names[BODY],), 50, 90, "warning")
    assert "60 in a row" in first.text


@pytest.mark.parametrize("every", [3, 5, 8])
def test_a_sensor_read_faster_than_it_measures_keeps_its_fresh_samples(every: int) -> None:
    take = figure()
    mask = marks(take)
    mask[:, BODY] = np.arange(take.frames) % every > 0
    ready = prepare(frozen(take, mask))
    assert (~ready.seen == mask).all()
    (finding,) = ready.findings
    assert (finding.code, finding.severity, finding.count) == ("frozen-samples", "info", mask.sum())
    assert "it is read faster than it measures, there is nothing to do" in finding.text


def test_sensors_that_are_read_in_turn_still_meet() -> None:
    take = figure()
    frame = np.arange(take.frames)[:, None]
    mask = frame % take.bodies != np.arange(take.bodies)  # one fresh sensor in each row
    mask[0] = False
    seen = prepare(frozen(take, mask)).seen
    assert (seen.T.astype(int) @ seen).min() > 0.5 * take.frames


def test_two_sensors_read_one_after_the_other_keep_all_rows() -> None:
    take = figure().select(["pelvis", "chest"])
    mask = np.stack([np.arange(take.frames) % 2 == 1, np.arange(take.frames) % 2 == 0], axis=1)
    mask[0] = False
    spoilt = frozen(take, mask)
    assert prepare(spoilt) is spoilt


def test_rows_that_repeat_whole_are_dropped() -> None:
    take = figure()
    rows = np.repeat(np.arange(300), 2)
    spoilt = replace(take, p_world_body=take.p_world_body[rows], R_world_body=take.R_world_body[rows])
    ready = prepare(spoilt)
    assert same_poses(ready, take.slice(0, 300))
    assert ready.time.tolist() == take.time[::2].tolist()
    (finding,) = ready.findings
    assert (finding.code, finding.frame, finding.count) == ("repeated-rows", 1, 300)


def test_the_first_frame_of_a_segment_repeats_nothing() -> None:
    take = figure(seconds=3.0)
    both = join([take, take.slice(take.frames - 1, None), take])
    assert same_poses(prepare(both), both)


# Hemispheres, holes


def test_positions_on_the_wrong_side_are_put_right() -> None:
    take = figure()
    mask = marks(take, (50, 60, BODY), (200, 201, BODY), (300, 450, 7))
    ready = prepare(replace(take, p_world_body=np.where(mask[..., None], -take.p_world_body, take.p_world_body)))
    assert same_poses(ready, take)
    first, second = only(ready, "hemisphere-flip")
    assert (first.bodies, first.frame, first.count) == ((take.names[BODY],), 50, 11)
    assert (second.frame, second.count) == (300, 150)
    assert "150 put right" in second.text


def test_positions_and_turns_on_the_wrong_side_are_masked() -> None:
    take = figure()
    mask = marks(take, (50, 60, BODY))
    spoilt = replace(
        take,
        p_world_body=np.where(mask[..., None], -take.p_world_body, take.p_world_body),
        R_world_body=np.where(mask[..., None, None], take.R_world_body @ np.diag([1, -1, -1]), take.R_world_body),
    )
    ready = prepare(spoilt)
    assert (~ready.seen == mask).all()
    assert "10 masked" in only(ready, "hemisphere-flip")[0].text


def test_holes_in_time_are_told_and_change_nothing() -> None:
    take = figure()
    rows = np.r_[0:100, 105:300, 400:600]
    holed = take.at(rows)
    ready = prepare(holed)
    assert same_poses(ready, holed)
    (finding,) = ready.findings
    assert (finding.code, finding.severity, finding.frame, finding.count) == ("time-gaps", "info", 100, 2)
    assert finding.value == pytest.approx(101 / 60)
    assert finding.time == pytest.approx((299 / 60, 400 / 60))


def test_a_clock_that_trembles_has_no_holes(rng) -> None:
    take = figure()
    uneven = replace(take, time=take.time + rng.uniform(-0.4, 0.4, take.frames) / 60)
    assert not only(prepare(uneven), "time-gaps")


# All together


def test_frames_are_counted_in_the_given_take_and_earlier_findings_stay() -> None:
    take = replace(figure(), findings=(Finding("no-time", "warning", "before"),))
    rows = np.concatenate([np.repeat(np.arange(100), 2), np.arange(100, 500)])
    spoilt = replace(take, p_world_body=take.p_world_body[rows], R_world_body=take.R_world_body[rows])
    mask = marks(spoilt, (450, 460, BODY), (300, 320, BODY))
    ready = prepare(written(spoilt, mask))
    assert ready.findings[0].text == "before"
    assert {f.code: f.frame for f in ready.findings[1:]} == {"dropout": 300, "repeated-rows": 1}


def test_preparing_twice_changes_nothing_more() -> None:
    take = figure(NOISE, "walk", seconds=20.0)
    mask = marks(take, (50, 60, BODY), (300, 340, BODY))
    once = prepare(written(take, mask))
    assert {f.code for f in once.findings} == {"dropout"}
    twice = prepare(once)
    assert same_poses(once, twice)


def test_a_take_without_time_is_prepared_as_far_as_it_goes() -> None:
    take = replace(figure(replace(NOISE, latency={"l_shank": 0.04})), timed=False)
    assert prepare(take) is take
    mask = marks(take, (50, 60, BODY), (300, 340, BODY))
    (finding,) = prepare(written(take, mask)).findings
    assert finding.code == "dropout"
    assert finding.time is None


@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)
def test_a_magnetic_tracker_read_too_fast_loses_its_repeated_rows_only() -> None:
    table = np.genfromtxt(recordings.DATA / "polhemus_liberty/hinge_x.csv", delimiter=",", skip_header=1)
    q, p = table[:, 1:9].reshape(-1, 2, 4), table[:, 9:].reshape(-1, 2, 3) * 0.01
    take = Take.from_poses(p, q, names=("s1", "s2"), time=table[:, 0] - table[0, 0])
    ready = prepare(take)
    fresh = np.append(True, (np.diff(table[:, 1:], axis=0) != 0).any(axis=1))
    assert ready.frames == fresh.sum()
    assert ready.seen.all()


@pytest.mark.parametrize("name", ["dropouts", "flips", "repeats"])
def test_each_repair_is_left_out_by_its_name(name: str) -> None:
    take = figure()
    mask = marks(take, (50, 60, BODY), (300, 340, BODY))
    spoilt = {
        "dropouts": written(take, mask),
        "flips": replace(take, p_world_body=np.where(mask[..., None], -take.p_world_body, take.p_world_body)),
        "repeats": frozen(take, marks(take, (100, 160, BODY))),
    }[name]
    assert prepare(spoilt) is not spoilt
    assert prepare(spoilt, [name]) is spoilt
    assert mask_unmeasured(spoilt, FitOptions(no_fix=(name,))).take is spoilt


def test_few_repeats_are_not_worth_a_warning() -> None:
    for seconds, severity in ((10.0, "warning"), (30.0, "info")):
        take = figure(NOISE, "walk", seconds)
        ready = prepare(frozen(take, marks(take, (100, 105, BODY))))  # of 600 poses 0.8 %, of 1800 0.3 %
        (finding,) = only(ready, "frozen-samples")
        assert (finding.severity, finding.count) == (severity, 5)


@pytest.mark.parametrize("place", [1e8, -3.697314e11])
def test_numbers_that_are_no_places_are_masked_and_told(place: float) -> None:
    clean = figure(seconds=3.0)
    far = marks(clean, (20, 21, BODY), (50, 90, BODY), (100, 101, 2))
    spoilt = written(clean, far, (place, place, 0.1))
    ready = prepare(spoilt)
    np.testing.assert_array_equal(ready.seen, clean.seen & ~far)
    told = {finding.bodies: finding for finding in ready.findings}
    assert {bodies[0] for bodies in told} == {clean.names[2], clean.names[BODY]}
    assert "41 poses at places where nothing is" in told[(clean.names[BODY],)].text


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_take_in_other_units_or_far_from_the_origin_is_no_number_that_means_lost(scale: float) -> None:
    clean = figure(seconds=1.0)
    assert not find_far(replace(clean, p_world_body=clean.p_world_body * scale)).any()
    assert not find_far(replace(clean, p_world_body=clean.p_world_body + 1e5 * scale)).any()


def walker(frames: int, step: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Poses of one body that steps to and fro, every step of one length, and never comes back to the last bit."""
    p = np.zeros((frames, 1, 3))
    p[:, 0, 0] = step * (np.arange(frames) % 2) + 1e-7 * np.arange(frames)
    return np.tile(rotation.from_vector([0.1, 0.2, 0.3]), (frames, 1, 1, 1)), p


def test_a_place_that_comes_back_is_a_stand_in_from_eight_usual_steps_off_the_path() -> None:
    R, p = walker(80)
    back = [20, 21, 22, 50, 51, 52]
    for steps, lost in ((6, []), (10, back)):
        p[back, 0] = 0.0, 0.01 * steps, 0.0
        assert np.flatnonzero(dropouts(Take(("a",), np.arange(80) / 60, R, p))).tolist() == lost


def test_a_sensor_that_can_make_small_steps_comes_to_rest_in_six_of_them() -> None:
    R, p = walker(80)
    for last, repeats in ((0.005, []), (0.007, list(range(31, 45)))):
        steps = np.full(80, 0.01)
        steps[10], steps[31:45], steps[[30, 45]] = 0.001, 0.0, last
        p[:, 0, 0] = np.cumsum(steps)
        take = Take(("a",), np.arange(80) / 60, R, p)
        assert np.flatnonzero(find_frozen(take, find_repeats(take)[0])).tolist() == repeats


def test_numbers_that_mean_lost_are_found_beside_bodies_that_are_never_seen() -> None:
    clean = figure(seconds=1.0)
    far = marks(clean, (20, 21, BODY))
    hidden = np.zeros_like(far)
    hidden[:, [k for k in range(clean.bodies) if k != BODY]] = True
    np.testing.assert_array_equal(find_far(written(clean, far, (1e9, 0.0, 0.0)).mask(hidden)), far)


def test_zeros_of_one_sensor_at_an_end_are_a_pose_of_rest_for_two_frames_at_most() -> None:
    take = figure()
    for frames, lost in ((2, False), (4, True)):
        mask = marks(take, (0, frames, BODY))
        assert (dropouts(written(take, mask, turn=np.eye(3))) == (mask if lost else False)).all(), frames


def test_repeats_are_a_warning_where_more_than_three_follow_each_other_often() -> None:
    take = figure()
    for runs, length, severity, words in [
        (40, 3, "info", "it is read faster than it measures"),
        (40, 6, "warning", "check the sensor's connection"),
        (1, 2, "info", "it is read faster than it measures"),
    ]:
        mask = marks(take, *((10 * k + 5, 10 * k + 5 + length, BODY) for k in range(runs)))
        (finding,) = only(prepare(frozen(take, mask)), "frozen-samples")
        assert finding.severity == severity, (runs, length)
        assert words in finding.text
    (one,) = only(prepare(frozen(take, marks(take, (50, 51, BODY)))), "frozen-samples")
    assert "1 pose repeats the one before" in one.text
    (two,) = only(prepare(frozen(take, marks(take, (50, 52, BODY)))), "frozen-samples")
    assert "2 poses repeat the one before" in two.text


def test_runs_of_marks_have_their_lengths() -> None:
    marked = np.array([[1, 0], [1, 1], [0, 1], [1, 1]], dtype=bool)
    np.testing.assert_array_equal(_run_lengths(marked), [[2, 0], [2, 3], [0, 3], [1, 3]])


def test_a_number_is_no_place_ten_kilometres_off_and_a_million_times_farther_than_the_rest() -> None:
    take = figure()
    size = float(np.median(np.abs(take.p_world_body - np.median(take.p_world_body, axis=0)).max(axis=2)))
    for away, lost in ((5e3, False), (4e5 * size, False), (1.3e6 * size, True)):
        p = take.p_world_body.copy()
        p[50:60, BODY] = away
        assert find_far(replace(take, p_world_body=p))[50:60, BODY].all() == lost, away


def test_a_sensor_that_measures_at_a_sixth_of_the_rate_still_meets_those_that_are_always_fresh() -> None:
    take = figure(seconds=4.0)
    repeats = np.zeros(take.seen.shape, dtype=bool)
    repeats[:, BODY] = np.arange(take.frames) % 6 > 0
    np.testing.assert_array_equal(_with_partners(take, repeats), repeats)


def test_a_noisy_sensor_at_rest_that_is_read_twice_as_fast_as_it_measures_keeps_its_poses(rng) -> None:
    take = figure()
    half = (take.frames + 1) // 2
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    p[:, BODY] = np.repeat(0.5 + 5e-4 * rng.standard_normal((half, 3)), 2, axis=0)[: take.frames]
    R[:, BODY] = np.repeat(rotation.from_vector(5e-4 * rng.standard_normal((half, 3))), 2, axis=0)[: take.frames]
    still = replace(take, R_world_body=R, p_world_body=p)
    same = find_repeats(still)[0]
    assert same[:, BODY].sum() == take.frames // 2
    assert not find_frozen(still, same).any()
