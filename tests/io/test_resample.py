from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from condyle.errors import CondyleError
from condyle.io import resample
from condyle.io.resample import BodySamples, interpolate, resample_rows, resample_streams

EXACT = 1e-12  # m or quaternion units
CUBIC = 2e-5  # m: error of a cubic through samples of a 1 Hz, 0.1 m motion taken at 60 Hz
ARC = 2e-4  # quaternion units, of an arc between samples of the same motion


def path(time: np.ndarray) -> np.ndarray:
    return 0.1 * np.stack([np.sin(6.0 * time), np.cos(6.0 * time), time], axis=1)


def turn(time: np.ndarray) -> np.ndarray:
    return Rotation.from_rotvec(np.stack([np.sin(3 * time), 0.5 * time, 0 * time], axis=1)).as_quat()


def stream(name: str, time: np.ndarray) -> BodySamples:
    return BodySamples(name, time, path(time), turn(time))


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest distance of quaternions, whatever their sign."""
    return float(np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1)).max())


def test_streams_on_one_clock_are_put_side_by_side_untouched_and_nothing_is_told() -> None:
    time = np.arange(50) / 100
    a, b = stream("a", time), stream("b", time + 1e-7)  # rounding, far below a sample
    clock, p, q, findings = resample_streams([a, b])
    assert findings == []
    assert clock.tolist() == time.tolist()
    np.testing.assert_array_equal(p[:, 0], a.position)
    np.testing.assert_array_equal(p[:, 1], b.position)
    np.testing.assert_array_equal(q[:, 1], b.quaternion)


def test_a_stamp_that_one_stream_lacks_is_not_interpolated() -> None:
    time = np.arange(50) / 100
    clock, p, q, findings = resample_streams([stream("a", time), stream("b", np.delete(time, [7, 8]))])
    assert findings == []
    assert len(clock) == 50
    assert np.flatnonzero(np.isnan(p[:, 1, 0])).tolist() == [7, 8]
    assert np.flatnonzero(np.isnan(q[:, 1, 0])).tolist() == [7, 8]


def test_when_no_stream_has_every_stamp_the_clock_has_all() -> None:
    time = np.arange(50) / 100
    clock, p, _, _ = resample_streams([stream("a", np.delete(time, 3)), stream("b", np.delete(time, 9))])
    assert clock.tolist() == time.tolist()
    assert np.isnan(p[3, 0]).all()
    assert np.isnan(p[9, 1]).all()


@pytest.mark.parametrize(("rate", "phase"), [(60.0, 0.0), (60.0, 0.003), (97.0, 0.0), (100.0, 0.005)])
def test_another_rate_or_phase_is_interpolated_onto_the_fastest_and_told(rate: float, phase: float) -> None:
    fast, slow = np.arange(201) / 100, phase + np.arange(int(2 * rate)) / rate
    clock, p, q, findings = resample_streams([stream("slow", slow), stream("fast", fast)])
    assert [finding.code for finding in findings] == ["common-clock"]
    assert findings[0].severity == "info"
    assert f"{rate:.4g}, 100" in findings[0].text
    np.testing.assert_array_equal(clock, fast)
    np.testing.assert_array_equal(p[:, 1], path(fast))
    inside = (clock >= slow[0]) & (clock <= slow[-1])
    assert np.isnan(p[~inside, 0]).all()
    assert np.abs(p[inside, 0] - path(clock[inside]))[2:-4].max() < CUBIC
    assert apart(q[inside, 0], turn(clock[inside])) < ARC


def test_orientations_are_those_of_another_slerp_whatever_the_signs(rng: np.random.Generator) -> None:
    time = np.sort(rng.uniform(0, 1, 40))
    q = Rotation.random(40, random_state=3).as_quat() * rng.choice([-1.0, 1.0], (40, 1))
    at = rng.uniform(time[0], time[-1], 200)
    gaps = np.diff(time)[np.searchsorted(time, at) - 1] > 3 * np.median(np.diff(time))
    _, ours = interpolate(BodySamples("a", time, np.zeros((40, 3)), q), at)
    theirs = Slerp(time, Rotation.from_quat(q))(at).as_quat()
    assert np.isnan(ours[gaps]).all()
    assert gaps.any()
    assert not gaps.all()
    assert apart(ours[~gaps], theirs[~gaps]) < EXACT


def test_a_cubic_gives_back_a_parabola() -> None:
    time = np.cumsum([0, 0.01, 0.012, 0.01, 0.011, 0.009, 0.01])
    at = np.linspace(time[1], time[-2], 30)
    p, _ = interpolate(
        BodySamples("a", time, np.stack([time**2, 1 - 3 * time, 0 * time], 1), np.tile([0, 0, 0, 1.0], (7, 1))), at
    )
    np.testing.assert_allclose(p, np.stack([at**2, 1 - 3 * at, 0 * at], 1), atol=EXACT)


def test_a_length_that_is_not_one_is_left_for_the_take_to_tell() -> None:
    time = np.arange(10) / 10
    _, q = interpolate(BodySamples("a", time, path(time), 1.02 * turn(time)), time[:-1] + 0.05)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.02, atol=EXACT)


def test_turns_that_begin_and_end_are_interpolated_far_nearer_than_by_arcs() -> None:
    time, at = np.arange(31) / 15, np.arange(100, 350) / 200
    swing = Rotation.from_rotvec(0.8 * np.sin(2 * np.pi * time)[:, None] * [0.6, 0.8, 0.0]).as_quat()
    true = Rotation.from_rotvec(0.8 * np.sin(2 * np.pi * at)[:, None] * [0.6, 0.8, 0.0]).as_quat()
    _, cubic = interpolate(BodySamples("a", time, np.zeros((31, 3)), swing * (-1.0) ** np.arange(31)[:, None]), at)
    arc = Slerp(time, Rotation.from_quat(swing))(at).as_quat()
    assert apart(cubic, true) < 0.25 * apart(arc, true)


def test_a_slow_stream_that_lacks_a_sample_is_not_guessed() -> None:
    fast, slow = np.arange(400) / 100, np.delete(np.arange(32) / 8, 10)
    _, p, _, _ = resample_streams([stream("fast", fast), stream("slow", slow)])
    assert np.isnan(p[(fast > slow[9]) & (fast < slow[10]), 1]).all()
    assert np.isfinite(p[(fast <= slow[9]) | ((fast >= slow[10]) & (fast <= slow[-1])), 1]).all()


def test_nothing_is_interpolated_across_a_gap_of_more_than_three_samples() -> None:
    fast = np.arange(400) / 200
    slow = np.delete(np.arange(100) / 50 + 0.001, np.arange(20, 23))  # 4 periods
    kept = np.delete(np.arange(100) / 50 + 0.001, np.arange(20, 22))  # 3 periods
    _, p, q, _ = resample_streams([stream("fast", fast), stream("slow", slow), stream("kept", kept)])
    gap = (fast > slow[19]) & (fast < slow[20])
    assert np.isnan(p[gap, 1]).all()
    assert np.isnan(q[gap, 1]).all()
    assert np.isfinite(p[gap, 2]).all()


def test_where_the_fastest_is_silent_the_next_fastest_ticks() -> None:
    fast = np.concatenate([np.arange(100) / 100, 5 + np.arange(100) / 100])
    slow = 0.003 + np.arange(300) / 50
    clock, p, _, findings = resample_streams([stream("fast", fast), stream("slow", slow)])
    assert len(findings) == 1
    assert (np.diff(clock) > 0).all()
    silent = (clock > 1.1) & (clock < 4.9)
    assert silent.sum() == ((slow > 1.1) & (slow < 4.9)).sum()
    assert np.isnan(p[silent, 0]).all()
    np.testing.assert_allclose(p[silent, 1], path(clock[silent]), atol=EXACT)


def test_stamps_may_come_in_any_order_and_twice_and_poses_may_be_missing() -> None:
    time = np.array([0.2, 0.0, 0.1, 0.1, np.nan, 0.3])
    p = path(np.nan_to_num(time))
    p[3], p[5] = 9.0, np.nan
    clock, position, _, _ = resample_streams([BodySamples("a", time, p, turn(np.nan_to_num(time)))])
    assert clock.tolist() == [0.0, 0.1, 0.2]
    np.testing.assert_array_equal(position[:, 0], path(clock))


def test_a_stream_without_a_pose_is_a_body_never_seen() -> None:
    time = np.arange(5) / 10
    empty = BodySamples("b", np.empty(0), np.empty((0, 3)), np.empty((0, 4)))
    single = BodySamples("c", time[2:3], path(time[2:3]), turn(time[2:3]))
    clock, p, _, _ = resample_streams([stream("a", time), empty, single])
    assert len(clock) == 5
    assert np.isnan(p[:, 1]).all()
    assert np.isfinite(p[:, 2, 0]).tolist() == [False, False, True, False, False]
    _, q, _, findings = resample_streams([stream("a", time), empty, single, stream("d", np.arange(30) / 31)])
    assert np.isnan(q[:, 1]).all()
    assert len(findings) == 1


def test_streams_without_any_pose_are_an_error() -> None:
    with pytest.raises(CondyleError) as error:
        resample_streams([BodySamples("b", np.empty(0), np.empty((0, 3)), np.empty((0, 4)))])
    assert error.value.code == "no-data"
    with pytest.raises(CondyleError):
        resample_streams([])


def test_a_clock_on_which_poses_would_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [stream("a", np.arange(5) / 10), stream("b", np.arange(30) / 31)]
    assert len(resample_streams(streams)[0])
    monkeypatch.setattr(resample, "MOST_RESAMPLED_NUMBERS", 200)
    monkeypatch.setattr(resample, "MOST_EMPTY_SHARE", 0.5)
    with pytest.raises(CondyleError) as error:
        resample_streams(streams)
    assert error.value.code == "file-too-large"


def test_stamps_nearer_than_any_clock_counts_are_one() -> None:
    tiny = np.array([0.0, 5e-324, 0.01, 0.02, 0.03])
    time, position, _, _ = resample_streams([stream("a", tiny), stream("b", np.arange(0.005, 0.03, 0.01))])
    assert np.isfinite(position[:, 0]).any()
    assert (np.diff(time) > 1e-3).all()


def test_rows_after_a_clock_that_was_set_back_are_another_take_and_a_late_row_is_not() -> None:
    once = np.arange(60) / 30
    time = np.concatenate([once, once, once])  # the last take has no pose
    time[20:23] += 1.5  # alone they are no other take
    p, q = path(time), turn(time)
    p[120:] = np.nan
    rows = [np.arange(k, len(time), 2) for k in range(2)]
    clock, position, _, findings = resample_rows(
        time, rows, lambda k, own: BodySamples("ab"[k], time[own], p[own], q[own])
    )
    assert np.flatnonzero(np.diff(clock) < 0).size == 1
    assert np.nanmax(np.abs(position - path(clock)[:, None])) < 100 * CUBIC
    assert [one.code for one in findings] == ["common-clock"]
