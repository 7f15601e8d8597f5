"""live/watch.py: sources that die and return, sensors that are lost, frozen or exchanged, and clocks that drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.live.alarms import Alarm
from condyle.live.clock import SourceClock, Stamp
from condyle.live.feed import SourceStatus
from condyle.live.source import Packet
from condyle.live.watch import DRIFT_APART_MIN, LOOK_PERIOD_S, Watch
from condyle.model.take import Take
from tests.make.sessions import person, stream

STATUS = SourceStatus("lsl:room", "live", False, 15, 15, 60.0, 0.0, 600, 0, 0, 0, 0, 0, "", silent=0.01)
EXCHANGED_AT_S, TOLD_WITHIN_S = 6.03, 1.5


def watch_take(sent: list[Packet], watch: Watch | None = None) -> list[tuple[float, Alarm]]:
    """The alarms that looks at a stream raise, with the times at which they do."""
    watch = watch or Watch()
    raised, due = [], LOOK_PERIOD_S
    for packet in sent:
        if packet.device_time >= due:
            raised += [(due, alarm) for alarm in watch.look([], due)]
            due += LOOK_PERIOD_S
        watch.listen(packet, Stamp("new", packet.device_time, 0.0, 0))
    return raised


@pytest.fixture(scope="module")
def take() -> Take:
    return person(seconds=9, rate=60, seed=11)


def changed(take: Take, start: float, change) -> list[Packet]:  # type: ignore[no-untyped-def]
    """The take as packets whose places and rotations are changed from a time on."""
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    change(R, p, take.time >= start)
    return stream(replace(take, R_world_body=R, p_world_body=p))


def test_nothing_is_told_of_a_person_who_moves(take: Take) -> None:
    assert watch_take(stream(take)) == []


@pytest.mark.parametrize("names", [("l_hand", "r_hand"), ("head", "r_foot"), ("pelvis", "chest")])
def test_two_sensors_that_are_exchanged_are_told_within_a_second_and_a_half(take: Take, names: tuple[str, str]) -> None:
    a, b = (take.index(name) for name in names)

    def exchange(R: np.ndarray, p: np.ndarray, rows: np.ndarray) -> None:
        for values in (R, p):
            values[rows, a], values[rows, b] = values[rows, b].copy(), values[rows, a].copy()

    ((when, alarm),) = watch_take(changed(take, EXCHANGED_AT_S, exchange))
    assert EXCHANGED_AT_S < when <= EXCHANGED_AT_S + TOLD_WITHIN_S
    assert alarm.finding.code == "swap"
    assert set(alarm.finding.bodies) == set(names)
    assert "check cables and labels" in alarm.finding.text


def test_a_frozen_sensor_is_told_in_the_words_of_fit(take: Take) -> None:
    k = take.index("r_shank")

    def freeze(R: np.ndarray, p: np.ndarray, rows: np.ndarray) -> None:
        first = int(np.argmax(rows))
        R[rows, k], p[rows, k] = R[first, k], p[first, k]

    ((when, alarm),) = watch_take(changed(take, 5.0, freeze))
    assert when <= 6.5
    assert (alarm.finding.code, alarm.finding.bodies) == ("frozen-samples", ("r_shank",))
    assert "check the sensor's connection" in alarm.finding.text


def test_a_sensor_that_is_lost_is_told_and_told_to_be_back(take: Take) -> None:
    k = take.index("l_foot")

    def lose(R: np.ndarray, p: np.ndarray, rows: np.ndarray) -> None:
        p[(take.time >= 5.0) & (take.time < 7.0), k] = np.nan

    watch = Watch()
    ((when, alarm),) = watch_take(changed(take, 5.0, lose), watch)
    assert when <= 6.1
    assert (alarm.finding.code, alarm.finding.bodies) == ("missing-samples", ("l_foot",))
    (over,) = watch.alarms
    assert over.over == pytest.approx(7.2, abs=LOOK_PERIOD_S)
    assert "l_foot: not seen for" in over.finding.text
    assert "back after" in over.finding.text


def test_a_source_is_stale_then_lost_and_back() -> None:
    watch = Watch()
    assert watch.look([STATUS], 10.0) == []
    (stale,) = watch.look([replace(STATUS, state="stale", silent=0.6)], 10.6)
    assert stale.finding.text == "lsl:room sends nothing for 0.6 s"
    assert watch.look([replace(STATUS, state="stale", silent=1.6)], 11.6) == []
    (lost,) = watch.look([replace(STATUS, state="lost", silent=3.1)], 13.1)
    assert lost.finding.text.startswith("lsl:room is lost: nothing came for 3 s; check that it runs")
    assert lost.finding.severity == "error"
    assert lost.raised == 10.6
    assert watch.look([STATUS], 14.0) == []
    (back,) = watch.alarms
    assert back.over == 14.0
    assert back.finding.text.endswith("back after 4.0 s")


def test_a_source_that_ended_or_is_a_file_is_no_alarm() -> None:
    watch = Watch()
    assert watch.look([replace(STATUS, state="lost", silent=9.0, ended=True)], 10.0) == []
    assert watch.look([replace(STATUS, state="lost", silent=9.0, replayed=True)], 10.0) == []


def test_a_clock_that_jumps_is_told_once() -> None:
    watch = Watch()
    watch.look([STATUS], 1.0)
    (alarm,) = watch.look([replace(STATUS, jumps=1)], 2.0)
    assert "its clock jumped" in alarm.finding.text
    assert watch.look([replace(STATUS, jumps=1)], 3.0) == []


@pytest.mark.parametrize(("apart", "told"), [(100e-6, False), (500e-6, True)])
def test_two_clocks_that_drift_apart_are_told(apart: float, told: bool) -> None:
    clocks, rng = (SourceClock(), SourceClock()), np.random.default_rng(4)
    for k in range(9000):  # 90 s
        for clock, drift in zip(clocks, (0.0, apart), strict=True):
            clock.add(k / 100, 1e9 + k / 100 * (1 + drift) + 0.001 + rng.exponential(0.002))
    status = [
        replace(STATUS, word=word, drift=clock.drift, followed=clock.followed)
        for word, clock in zip(("natnet:a", "lsl:b"), clocks, strict=True)
    ]
    raised = Watch().look(status, 90.0)
    assert [one.finding.code for one in raised] == ["clock-drift"] * told
    assert (apart > DRIFT_APART_MIN) == told
    if told:
        assert "drift apart by" in raised[0].finding.text
        assert raised[0].finding.value == pytest.approx(apart, rel=0.2)
