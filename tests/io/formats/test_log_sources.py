"""io/formats/_log_sources.py: late packets, devices that start anew, and several sources on one clock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.io.formats import read_recording
from condyle.io.formats._log_frames import SourceFrames, read_frames
from condyle.io.formats._log_sources import find_times, put_in_order
from condyle.io.log_records import Layout
from condyle.live.source import Packet
from condyle.model.recording import Convention, to_take
from tests.make.sessions import layout, packets, write_log


def test_late_packets_are_put_in_their_place_and_counted(tmp_path: Path) -> None:
    sent = packets(layout("a", "b"), 20)
    mixed = [*sent[:5], *sent[6:9], sent[5], sent[10], sent[9], *sent[11:]]
    found = read_recording(write_log(tmp_path / "a.log", mixed))
    assert found.time is not None
    assert found.time.tolist() == [packet.device_time for packet in sent]
    assert found.bodies is not None
    assert found.bodies.position[:, 0, 0].tolist() == list(range(20))
    assert [(one.code, one.count) for one in found.findings] == [("frames-reordered", 2)]


def test_a_device_that_starts_anew_begins_a_segment_even_where_packets_come_late(tmp_path: Path) -> None:
    first, second = packets(layout("a"), 300), packets(layout("a"), 300)
    sent = [*first, second[1], second[0], *second[2:]]
    take = to_take(read_recording(write_log(tmp_path / "a.log", [Packet(sent[0].layout, *p[1:]) for p in sent])))
    assert take.segment.tolist() == [0] * 300 + [1] * 300
    assert take.time[300:].tolist() == take.time[:300].tolist()


def test_a_replayed_file_is_left_as_it_is(tmp_path: Path) -> None:
    sent = packets(layout("a", clock="file"), 6)[::-1]
    (source,), _, _ = read_frames(write_log(tmp_path / "a.log", sent))
    assert put_in_order(source) == (source, [])


def frames_of(device: np.ndarray, arrival: np.ndarray, clock: str = "device") -> SourceFrames:
    n = len(device)
    one = layout("a", clock=clock)
    return SourceFrames(
        one, np.zeros(n, np.int64), device, arrival, np.zeros((n, 1, 3)), np.zeros((n, 1, 4)), np.zeros((n, 0, 3))
    )


def test_times_that_are_none_come_first_and_nothing_warns() -> None:
    for none in (np.inf, np.nan, -np.inf, 1e300):
        same = frames_of(np.array([none, 1.0, 2.0]), np.arange(3.0))
        assert put_in_order(same) == (same, [])
        late, told = put_in_order(frames_of(np.array([none, 2.0, 1.5]), np.arange(3.0)))
        assert late.device[1:].tolist() == [1.5, 2.0]
        assert [one.code for one in told] == ["frames-reordered"]


def test_times_of_a_device_that_drifts_are_found_to_half_a_millisecond(rng: np.random.Generator) -> None:
    true = np.arange(0, 600, 0.01)
    device = 500 + true * (1 - 1e-4)
    source = frames_of(device, true + rng.exponential(0.003, len(true)))
    assert np.abs(find_times(source) - true).max() < 0.0005
    assert find_times(frames_of(device, true, "arrival")) is not None
    counted = find_times(frames_of(device * np.nan, 7 + true, "frames"))
    assert np.abs(counted - 7 - true).max() < 1e-9


def test_two_sources_become_one_recording_on_one_clock(tmp_path: Path) -> None:
    one = packets(layout("a", "both"), 200)
    two = packets(layout("b", "both", source="osc:9000"), 100, rate=50)
    two = [p._replace(device_time=p.device_time + 77) for p in two]
    found = read_recording(write_log(tmp_path / "a.log", sorted([*one, *two], key=lambda p: p.arrival_time)))
    assert found.bodies is not None
    assert found.bodies.names == ("a", "lsl:room/both", "b", "osc:9000/both")
    assert found.bodies.position[100, 0, 0] == pytest.approx(100)  # source one counts frames at 100 Hz
    assert found.bodies.position[100, 2, 0] == pytest.approx(50, abs=0.01)  # source two at 50 Hz
    assert {finding.code for finding in found.findings} == {"common-clock"}


def test_sources_of_other_conventions_and_units_are_brought_to_metres(tmp_path: Path) -> None:
    angles = Layout("polhemus:tty", ("s1",), ("m",), Convention("ZYX", unit="cm", up="z"))
    values = np.array([100.0, 0, 0, 90.0, 0, 0, 50.0, 0, 0])
    one = [Packet(angles, k / 100, 5 + k / 100, values) for k in range(50)]
    two = packets(layout("b"), 50, offset=5.0)
    found = read_recording(write_log(tmp_path / "a.log", [*one, *two]))
    assert found.convention.unit == "m"
    assert found.bodies is not None
    assert found.markers is not None
    assert found.bodies.position[10, 0] == pytest.approx([1, 0, 0])
    assert np.abs(found.bodies.orientation[10, 0]) == pytest.approx([0.5**0.5, 0, 0, 0.5**0.5])
    assert found.markers.position[10, 0] == pytest.approx([0.5, 0, 0])
    assert replace(found).bodies is not None
