from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.model.clock import PAUSE, Clock, describe_clock_unit, in_order


def kept(rows, frames: int) -> list[int]:
    return np.arange(frames)[rows].tolist()


def test_time_in_order_is_taken_as_it_is() -> None:
    time = np.arange(100) / 50
    rows, segment, out, findings = in_order(time, None, 100)
    assert rows == slice(None)
    assert segment is None
    assert out is time
    assert findings == []


@pytest.mark.parametrize("jitter", [0.0, 0.2])
def test_rows_that_arrived_late_are_put_in_their_order(rng, jitter) -> None:
    true = (np.arange(600) + jitter * rng.uniform(-1, 1, 600)) / 60
    order = np.argsort(np.arange(600) + 3 * rng.normal(size=600))
    rows, segment, time, (finding,) = in_order(true[order], None, 600)
    assert segment is None
    assert time.tolist() == true.tolist()
    assert order[rows].tolist() == list(range(600))
    assert (finding.code, finding.severity) == ("time-backwards", "warning")
    assert finding.count == int((np.diff(order) < 0).sum())


def test_one_row_that_arrived_late_moves_and_no_other() -> None:
    order = np.array([*range(20), *range(21, 30), 20, *range(30, 60)])
    rows, _, time, (finding,) = in_order(order / 60, None, 60)
    assert order[rows].tolist() == list(range(60))
    assert time.tolist() == (np.arange(60) / 60).tolist()
    assert (finding.frame, finding.count) == (29, 1)


@pytest.mark.parametrize("offset", [0.0, 0.004])
@pytest.mark.parametrize("back", [0.3, 3.0])
def test_a_clock_that_was_set_back_gives_no_late_rows(offset, back) -> None:
    true = np.arange(600) / 60
    time = np.where(true < 5, true, true - back + offset)
    rows, segment, out, (finding,) = in_order(time, None, 600)
    assert kept(rows, 600) == list(range(600))
    assert out.tolist() == time.tolist()
    assert segment.tolist() == [0] * 300 + [1] * 300
    assert (finding.code, finding.severity) == ("time-backwards", "warning")


def test_rows_that_are_missing_make_no_room_for_a_clock_that_was_set_back() -> None:
    time = np.delete(np.concatenate([np.arange(1000), np.arange(950, 1950)]) / 100, np.r_[960:980, 1005:1030])
    _, segment, out, (finding,) = in_order(time, None, len(time))
    assert out.tolist() == time.tolist()
    assert segment.tolist() == [0] * 980 + [1] * 975
    assert "a new segment begins" in finding.text


def test_rows_are_late_within_each_of_two_takes_in_one_file(rng) -> None:
    take = np.arange(300)
    order = [np.argsort(take + 2 * rng.normal(size=300)) for _ in range(2)]
    rows, segment, time, findings = in_order(np.concatenate(order) / 60, None, 600)
    assert np.concatenate([order[0], 300 + order[1]])[rows].tolist() == list(range(600))
    assert time.tolist() == [*(take / 60), *(take / 60)]
    assert segment.tolist() == [0] * 300 + [1] * 300
    late, begun = findings
    assert "put in their order" in late.text
    assert "a new segment begins" in begun.text


def test_no_time_is_no_fault() -> None:
    assert in_order(None, None, 3) == (slice(None), None, None, [])


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_few_frames_are_in_order(frames) -> None:
    assert in_order(np.arange(frames) / 10, None, frames)[3] == []


def test_a_repeated_stamp_keeps_its_first_row() -> None:
    rows, segment, time, (finding,) = in_order(np.array([0, 0.1, 0.1, 0.1, 0.2]), None, 5)
    assert kept(rows, 5) == [0, 1, 4]
    assert time.tolist() == [0, 0.1, 0.2]
    assert segment.tolist() == [0, 0, 0]
    assert (finding.code, finding.frame, finding.count) == ("repeated-time", 2, 2)


def test_time_that_runs_backwards_begins_a_segment() -> None:
    rows, segment, _, (finding,) = in_order(np.array([5.0, 5.1, 0.0, 0.1, 0.2]), None, 5)
    assert kept(rows, 5) == [0, 1, 2, 3, 4]
    assert segment.tolist() == [0, 0, 1, 1, 1]
    assert (finding.code, finding.frame, finding.count) == ("time-backwards", 2, 1)


def test_a_jump_forward_begins_a_segment_and_is_told() -> None:
    time = np.concatenate([np.arange(50) / 50, 30 + np.arange(50) / 50, 90 + np.arange(50) / 50])
    rows, segment, out, (finding,) = in_order(time, None, 150)
    assert kept(rows, 150) == list(range(150))
    assert out.tolist() == time.tolist()
    assert segment.tolist() == np.repeat([0, 1, 2], 50).tolist()
    assert (finding.code, finding.severity, finding.frame, finding.count) == ("time-jumps", "warning", 50, 2)
    assert finding.value == pytest.approx(90 - 30.98)
    assert finding.time == pytest.approx((0.98, 30.0))
    assert "2 places" in finding.text


def test_a_gap_shorter_than_a_pause_is_left_to_the_fit() -> None:
    time = np.concatenate([np.arange(50) / 50, 1 + 0.9 * PAUSE + np.arange(50) / 50])
    assert in_order(time, None, 100)[3] == []


def test_a_slow_clock_does_not_jump() -> None:
    assert in_order(3.0 * np.arange(20), None, 20)[3] == []


def test_jumps_and_repeats_and_steps_back_are_told_together() -> None:
    time = np.array([0, 0.1, 0.1, 0.2, 9.0, 9.1, 9.2, 3.0, 3.1, 3.2])
    rows, segment, _, findings = in_order(time, None, 10)
    assert kept(rows, 10) == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    assert segment.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [(f.code, f.frame) for f in findings] == [("repeated-time", 2), ("time-backwards", 7), ("time-jumps", 4)]


def test_between_given_segments_anything_goes() -> None:
    time, segment = np.array([0, 0.1, 500.0, 500.1, 3.0, 3.1]), np.array([0, 0, 4, 4, 5, 5])
    rows, out, _, findings = in_order(time, segment, 6)
    assert rows == slice(None)
    assert out is segment
    assert findings == []


def test_given_segments_stay_apart_where_time_is_repaired() -> None:
    time, segment = np.array([0, 0.1, 0.1, 0.2, 0.2, 0.3]), np.array([0, 0, 0, 0, 1, 1])
    _, out, _, (finding,) = in_order(time, segment, 6)
    assert out.tolist() == [0, 0, 0, 1, 1]
    assert finding.count == 1


def test_rows_from_the_last_to_the_first_are_turned_round() -> None:
    rows, segment, time, (finding,) = in_order(np.array([0.3, 0.2, 0.1, 0.0]), None, 4)
    assert kept(rows, 4) == [3, 2, 1, 0]
    assert segment is None
    assert time.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert (finding.code, finding.severity, finding.count) == ("time-backwards", "warning", 3)
    assert finding.text == (
        "time runs backwards throughout: the rows are taken from the last to the first, and the joints do not depend "
        "on it"
    )


def test_rows_turned_round_keep_their_segments_and_lose_their_repeats() -> None:
    time, parts = np.array([0.3, 0.2, 0.2, 0.1, 5.2, 5.1]), np.array([0, 0, 0, 0, 1, 1])
    rows, segment, out, findings = in_order(time, parts, 6)
    assert kept(rows, 6) == [3, 2, 0, 5, 4]
    assert segment.tolist() == [0, 0, 0, 1, 1]
    assert out.tolist() == [0.1, 0.2, 0.3, 5.1, 5.2]
    assert [finding.code for finding in findings] == ["time-backwards", "repeated-time"]


def test_times_that_count_from_a_date_are_given_from_the_start() -> None:
    _, _, time, (finding,) = in_order(1686000000.25 + np.arange(50) / 64, None, 50)
    assert time.tolist() == (np.arange(50) / 64).tolist()
    assert (finding.code, finding.severity, finding.value) == ("clock-origin", "info", 1686000000.25)
    assert finding.text == (
        "its times begin at 1686000000.250000 s (2023-06-05 21:20:00 UTC, if they count from 1970); "
        "they are given from the start of the take"
    )


def test_a_clock_since_midnight_or_since_a_machine_began_is_left() -> None:
    time = 86399.0 + np.arange(50) / 64
    assert in_order(time, None, 50)[2] is time


def packets(frames: int = 360, size: int = 18, within: float = 5e-5) -> np.ndarray:
    k = np.arange(frames)
    return (k - k % size) / 360 + (k % size) * within


def test_frames_stamped_in_packets_are_spread() -> None:
    rows, _, time, (finding,) = in_order(packets(), None, 360)
    assert rows == slice(None)
    assert np.diff(time) == pytest.approx(np.full(359, 1 / 360), rel=1e-3)
    assert (finding.code, finding.severity) == ("clock-packets", "warning")
    assert finding.value == pytest.approx(360, rel=1e-3)
    assert finding.text == (
        "frames are stamped in packets, 360 frames per second in all; "
        "those of a packet are spread over the time before it"
    )


def test_packets_of_one_stamp_are_frames_where_they_differ_and_repeats_where_not() -> None:
    time = packets(within=0.0)
    *_, out, (finding,) = in_order(time, None, 360, lambda: np.ones(359, dtype=bool))
    assert finding.code == "clock-packets"
    assert len(out) == 360
    for moved in (None, lambda: np.diff(time) > 0):
        *_, out, (finding,) = in_order(time, None, 360, moved)
        assert finding.code == "repeated-time"
        assert len(out) == 20


def test_rows_that_a_program_read_twice_are_no_frames_of_a_packet() -> None:
    fresh = np.arange(360) % 3 != 2  # a device of 240 Hz that is read at 360
    _, _, time, (finding,) = in_order(packets(), None, 360, lambda: fresh[1:])
    assert finding.value == pytest.approx(240, rel=1e-2)
    assert np.diff(time[fresh]) == pytest.approx(np.full(239, 1 / 240), rel=1e-2)
    assert (np.diff(time) > 0).all()


def test_packets_are_spread_within_their_recordings() -> None:
    time = np.concatenate([packets(), 40 + packets()])
    _, segment, out, findings = in_order(time, None, 720)
    assert [finding.code for finding in findings] == ["clock-packets", "time-jumps"]
    assert segment.tolist() == np.repeat([0, 1], 360).tolist()
    assert np.diff(out)[np.diff(segment) == 0] == pytest.approx(np.full(718, 1 / 360), rel=1e-3)


def test_short_recordings_with_equal_pauses_are_no_packets() -> None:
    time = (np.arange(50) / 50 + 30.0 * np.arange(8)[:, None]).ravel()
    *_, findings = in_order(time, None, 400)
    assert [finding.code for finding in findings] == ["time-jumps"]


def test_a_clock_that_stands_still_is_none_where_the_sensors_move() -> None:
    time = np.full(5, 1.7e9)
    rows, segment, clock, findings = in_order(time, None, 5, lambda: np.array([True, True, False, True]))
    assert (rows, segment, clock) == (slice(None), None, None)
    text = "all 5 rows bear one time, 1700000000 s, though the sensors move; frames are counted instead"
    assert [(one.code, one.text, one.count) for one in findings] == [("repeated-time", text, 4)]
    rows, _, clock, _ = in_order(time, None, 5, lambda: np.array([True, False, False, False]))  # rows written again
    assert np.arange(5)[rows].tolist() == [0]
    assert clock is not None


def test_time_that_is_no_number_is_refused_with_its_frame() -> None:
    with pytest.raises(CondyleError) as caught:
        in_order(np.array([0, np.nan, 1]), None, 3)
    assert (caught.value.code, caught.value.frame) == ("bad-time", 1)


def test_one_recording_keeps_its_times() -> None:
    clock = Clock.of(np.array([5.0, 5.1, 5.2]), np.zeros(3, np.int64))
    assert clock.times(np.array([5.0, 5.2]), np.array([0, 2])).tolist() == [5.0, 5.2]
    assert (clock.moment(5.1), clock.moment(99.0)) == (5.1, 99.0)
    assert clock.step == pytest.approx(0.1)


def test_recordings_that_follow_on_each_other_keep_their_times() -> None:
    clock = Clock.of(np.array([0.0, 0.1, 7.0, 7.1]), np.array([0, 0, 1, 1]))
    assert clock.offset.tolist() == [0, 0]


def test_recordings_that_all_begin_at_zero_stand_one_after_the_other() -> None:
    time, segment = np.array([0.0, 0.1, 0.2, 0.0, 0.1, 0.0, 0.1]), np.array([0, 0, 0, 4, 4, 9, 9])
    clock = Clock.of(time, segment)
    assert clock.first.tolist() == [0, 3, 5]
    np.testing.assert_allclose(clock.times(time, np.arange(7)), np.arange(7) / 10, atol=1e-12)
    assert clock.moment(0.1) == pytest.approx(0.1)
    assert clock.moment(0.1, frame=6) == pytest.approx(0.6)


def test_a_moment_is_in_the_recording_that_holds_it() -> None:
    clock = Clock.of(np.array([50.0, 60.0, 0.0, 10.0]), np.array([0, 0, 1, 1]))
    assert clock.moment(55.0) == 55.0
    assert clock.moment(5.0) == 75.0


def test_one_frame_and_none_have_a_clock() -> None:
    assert Clock.of(np.array([3.0]), np.zeros(1, np.int64)).step == 0
    assert Clock.of(np.zeros(0), np.zeros(0, np.int64)).moment(4.0) == 4.0


@pytest.mark.parametrize(
    ("tick", "unit"),
    [(1000.0, "milliseconds"), (1e6, "microseconds"), (1 / 60, "minutes"), (1 / 3600, "hours"), (1 / 86400, "days")],
)
def test_times_in_another_unit_are_told_with_the_unit_that_makes_sense(tick: float, unit: str) -> None:
    (finding,) = describe_clock_unit(np.arange(200) / 120 * tick, None)
    assert finding.code == "clock-unit"
    assert f"as {unit} they give 120: write them in seconds, or give --rate 120" in finding.text


@pytest.mark.parametrize(
    ("tick", "units"),
    [(1 / 3600, "hours they give 30, as minutes 1800"), (1 / 86400, "days they give 30, as hours 720")],
)
def test_of_two_units_that_make_sense_the_likelier_is_advised_and_the_other_told(tick: float, units: str) -> None:
    (finding,) = describe_clock_unit(np.arange(200) / 30 * tick, None)
    assert finding.text.endswith(f"; as {units}: write them in seconds, or give --rate 30")


@pytest.mark.parametrize(("step", "rate"), [(1e-14, "1e+14"), (5e-324, "uncountably many"), (1e14, "1e-14")])
def test_a_clock_that_makes_sense_in_no_unit_is_told(step: float, rate: str) -> None:
    (finding,) = describe_clock_unit(np.arange(200) * step, None)
    assert finding.text == (
        f"its times as seconds give {rate} frames per second, which no sensor has; no other unit gives a usual rate: "
        "give --rate"
    )


def test_minutes_that_give_a_rate_which_sensors_have_are_told_by_the_motion() -> None:
    time = np.arange(200) / 60 / 60
    (finding,) = describe_clock_unit(time, None, lambda _: 50.0)
    assert finding.text.startswith("its times as seconds give 3600 frames per second and a sensor that moves at 50 m/s")
    assert finding.text.endswith("as minutes they give 60: write them in seconds, or give --rate 60")
    for speed in (0.0, 10.0, 1e4, np.inf):  # as sensors move, or in a wrong unit of length besides
        assert describe_clock_unit(time, None, lambda _, speed=speed: speed) == []
    assert describe_clock_unit(np.arange(200) / 240, None, lambda _: 50.0) == []  # 4 Hz would be no better


def test_frames_that_were_counted_are_told() -> None:
    (finding,) = describe_clock_unit(np.arange(5.0, 205.0), None)
    assert finding.text.startswith("its times are 5, 6 and so on, as if frames were counted")
    lost = np.delete(np.arange(200.0), [40, 41, 90])
    assert describe_clock_unit(lost, None) != []
    assert describe_clock_unit(np.arange(200) + 0.5, None) == []


def test_usual_clocks_and_stamps_in_packets_are_believed() -> None:
    steady = np.arange(200) / 120
    packets = np.repeat(np.arange(50) / 10, 4) + np.tile([0.0, 1e-5, 2e-5, 3e-5], 50)
    for time in (None, steady, packets, np.arange(200) * 0.9, np.arange(5) * 1000.0, np.zeros(200)):
        assert describe_clock_unit(time, None) == []
    two = np.concatenate([steady, steady + 1e7])  # a pause of months
    assert describe_clock_unit(two, np.repeat([0, 1], 200)) == []
