"""live/clock.py: drift is followed, jumps and pauses begin segments, and what comes twice or late is told."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.live.clock import SourceClock, Stamp

FOLLOWED_S = 0.002  # s that a drift of 100 ppm is followed to
SHORTEST_DELAY_S = 0.001


def run(device: np.ndarray, arrival: np.ndarray) -> tuple[SourceClock, list[Stamp]]:
    clock = SourceClock()
    return clock, [clock.add(d, a) for d, a in zip(device.tolist(), arrival.tolist(), strict=True)]


def delays(rng: np.random.Generator, n: int, rate: float) -> np.ndarray:
    """Of a network: the shortest, a spread of milliseconds, and now and then a stall that a burst ends."""
    true = np.arange(n) / rate
    delay = SHORTEST_DELAY_S + rng.exponential(0.003, n)
    for start in rng.uniform(2, n / rate, int(n / rate / 20)):
        delay = np.where((true >= start) & (true < start + 0.3), start + 0.3 - true + delay, delay)
    return delay


@pytest.mark.parametrize("drift", [-100e-6, 0.0, 100e-6])
@pytest.mark.parametrize("rate", [30.0, 240.0])
def test_a_drift_of_100_ppm_is_followed_to_2_ms_over_10_minutes(
    drift: float, rate: float, rng: np.random.Generator
) -> None:
    true = np.arange(int(600 * rate)) / rate
    arrival = 1e9 + true + delays(rng, len(true), rate)
    clock, stamps = run(5000 + true * (1 - drift), arrival)
    error = np.array([stamp.time for stamp in stamps]) - (1e9 + true + SHORTEST_DELAY_S)
    assert np.abs(error[true > 2]).max() < FOLLOWED_S
    assert {stamp.kind for stamp in stamps} == {"new"}
    assert clock.drift == pytest.approx(drift / (1 - drift), abs=3e-6)


@pytest.mark.costly
def test_a_drift_that_changes_is_followed_too(rng: np.random.Generator) -> None:
    true = np.arange(100 * 1800) / 100
    device = true - (5e-5 * true + 2e-8 * true**2)  # 50 to 122 ppm over half an hour
    _, stamps = run(device, true + delays(rng, len(true), 100))
    error = np.array([stamp.time for stamp in stamps]) - true - SHORTEST_DELAY_S
    assert np.abs(error[true > 2]).max() < 2 * FOLLOWED_S


@pytest.mark.parametrize("jump", [-3600.0, -0.5, 0.3, 10.0, 1e9])
def test_a_jump_of_the_device_s_time_begins_one_segment(jump: float, rng: np.random.Generator) -> None:
    true = np.arange(3000) / 100
    device = 100 + true + np.where(true >= 15, jump, 0)
    _, stamps = run(device, true + delays(rng, len(true), 100))
    begun = [k for k, stamp in enumerate(stamps) if stamp.kind in ("jump", "resumed")]
    assert len(begun) == 1
    assert 15 <= true[begun[0]] <= 18  # a jump back by half a second looks like late packets at first
    assert stamps[-1].segment == 1
    error = np.array([stamp.time for stamp in stamps]) - true
    assert np.abs(error[true > 19]).max() < 0.01


def test_a_stall_of_the_network_is_no_jump() -> None:
    true = np.arange(2000) / 100
    arrival = np.where((true > 10) & (true < 14), 14 + 0.001 * (true - 10), true) + 0.001
    _, stamps = run(true, arrival)
    assert {stamp.kind for stamp in stamps} == {"new"}
    assert max(stamp.delay for stamp in stamps) == pytest.approx(4.0, abs=0.05)


def test_packets_that_come_twice_or_late_are_told_apart() -> None:
    order = [0, 1, 2, 2, 4, 3, 3, 5, 4]
    device = np.array(order) / 100
    _, stamps = run(device, 5 + np.arange(len(order)) / 100)
    kinds = ["new", "new", "new", "again", "new", "late", "again", "new", "again"]
    assert [stamp.kind for stamp in stamps] == kinds
    assert {stamp.segment for stamp in stamps} == {0}


def test_a_pause_begins_a_segment_and_keeps_the_clock() -> None:
    true = np.concatenate([np.arange(1000) / 100, 60 + np.arange(1000) / 100])
    clock, stamps = run(50 + true, true + 0.002)
    assert [stamp.segment for stamp in stamps] == [0] * 1000 + [1] * 1000
    assert stamps[1000].kind == "resumed"
    assert clock.offset == pytest.approx(-49.998)


def test_a_source_is_stale_then_lost_and_back_with_its_next_packet() -> None:
    clock = SourceClock()
    assert clock.state(1.0) == "waiting"
    clock.add(0.0, 10.0)
    found = [clock.state(10.0 + after) for after in (0.0, 0.5, 0.51, 3.0, 3.01, 1e6)]
    assert found == ["live", "live", "stale", "stale", "lost", "lost"]
    clock.add(5.0, 15.0)
    assert clock.state(15.1) == "live"


def test_a_source_that_repeats_one_packet_is_lost() -> None:
    clock = SourceClock()
    for k in range(100):
        clock.add(1.0, 10 + k / 10)
    assert clock.state(20.0) == "lost"


def test_a_source_without_device_time_has_that_of_arrival() -> None:
    arrival = np.concatenate([np.arange(100) / 50, 10 + np.arange(100) / 50])
    clock, stamps = run(np.full(200, np.nan), arrival)
    assert [stamp.time for stamp in stamps] == arrival.tolist()
    assert [stamp.segment for stamp in stamps] == [0] * 100 + [1] * 100
    assert clock.state(arrival[-1] + 4) == "lost"


def test_a_file_that_is_replayed_at_any_speed_has_the_segments_of_its_own_time() -> None:
    clock = SourceClock()
    device = [0.0, 0.01, 0.02, 0.02, 0.03, 9.0, 9.01, 8.99, 9.0]
    stamps = [clock.add_replayed(time, 5 + 7 * time) for time in device]
    kinds = ["new", "new", "new", "again", "new", "resumed", "new", "jump", "new"]
    assert [stamp.kind for stamp in stamps] == kinds
    assert [stamp.segment for stamp in stamps] == [0, 0, 0, 0, 0, 1, 1, 2, 2]
