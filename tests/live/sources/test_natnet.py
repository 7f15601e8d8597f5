"""live/sources/natnet.py: a server on this machine that answers as Motive does, and captured traffic through it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.live.source import Packet
from condyle.live.sources import Stream, natnet
from condyle.live.sources._natnet_packets import CONNECT, FRAME_MESSAGE, KEEP_ALIVE, read_head
from condyle.live.sources.natnet import NatnetSource, find_streams, open_source
from tests.make.natnet import Server, frame, models, read_capture, server_info

HIP = (1, (0.5, 1.25, -2.0), (0.0, 0.0, 0.0, 1.0), True)
THIGH = (2, (0.5, 0.75, -2.0), (0.0, 0.0, 1.0, 0.0), True)


def collect(source: NatnetSource, count: int, seconds: float = 5.0) -> list[Packet]:
    got, end = [], time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.05)
    return got


@pytest.mark.parametrize("version", [(3, 0), (4, 1)])
def test_bodies_come_by_name_with_the_server_s_time(version: tuple[int, int]) -> None:
    with Server(version) as server:
        source = open_source(f"127.0.0.1:{server.port}")
        for k in range(5):
            server.send(frame(version, k, 10 + k / 100, [THIGH, HIP]))
        got = collect(source, 5)
        source.close()
    assert source.word == f"natnet:127.0.0.1:{server.port}"
    assert [packet.device_time for packet in got] == [10 + k / 100 for k in range(5)]
    assert {packet.layout for packet in got} == {got[0].layout}
    assert got[0].layout.bodies == ("hip", "thigh")
    assert got[0].values.tolist() == [0.5, 1.25, -2, 0.5, 0.75, -2, 0, 0, 0, 1, 0, 0, 1, 0]
    assert (got[0].layout.convention.rotation, got[0].layout.convention.unit) == ("xyzw", "m")


def test_bodies_that_are_not_tracked_have_no_pose_and_new_ones_join() -> None:
    with Server() as server:
        source = open_source(f"127.0.0.1:{server.port}")
        server.send(frame((3, 0), 1, 1.0, [(*HIP[:3], False), THIGH]))
        server.send(frame((3, 0), 2, 2.0, [HIP, THIGH, (9, *HIP[1:])]))
        server.send(frame((3, 0), 3, 3.0, [THIGH]))
        one, two, three = collect(source, 3)
        source.close()
    assert np.isnan(one.values).tolist() == [True] * 3 + [False] * 3 + [True] * 4 + [False] * 4
    assert two.layout.bodies == three.layout.bodies == ("hip", "thigh", "body 9")
    assert np.isfinite(three.values).sum() == 7


def test_two_bodies_of_one_name_are_told_apart() -> None:
    with Server(describe=models((3, 0), {1: "hip", 2: "hip"})) as server:
        source = open_source(f"127.0.0.1:{server.port}")
        server.send(frame((3, 0), 1, 1.0, [HIP, THIGH]))
        (packet,) = collect(source, 1)
        source.close()
    assert packet.layout.bodies == ("hip", "hip 2")


def test_captured_traffic_comes_through_the_socket(shared_data: Path) -> None:
    path = shared_data / "natnet_v3" / "traffic.pcapng"
    if not path.is_file():
        pytest.skip("no captured NatNet traffic")
    sent = [data for port, data in read_capture(path) if port in (1510, 1511)]
    description = next(data for data in sent if read_head(data)[0] == 5)
    frames = [data for data in sent if read_head(data)[0] == FRAME_MESSAGE]
    with Server(describe=description) as server:
        source = open_source(f"127.0.0.1:{server.port}")
        got = []
        for data in frames:
            server.send(data)
            got += source.read(0.5)
        got += collect(source, len(frames) - len(got))
        source.close()
    assert len(got) == 518
    assert got[0].layout.bodies == ("RaceQuad",)
    assert source.bad_packets == 0


def test_damaged_packets_are_counted_and_the_next_is_read() -> None:
    with Server() as server:
        source = open_source(f"127.0.0.1:{server.port}")
        whole = frame((3, 0), 1, 1.0, [HIP])
        server.send(whole[:40])
        server.send(b"\x07")
        assert collect(source, 1, 0.5) == []
        assert source.bad_packets == 2
        assert "ends" in source.fault
        server.send(whole)
        assert len(collect(source, 1)) == 1
        assert source.fault == ""
        source.close()


def test_the_server_is_told_that_somebody_still_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(natnet, "ASK_PERIOD_S", 0.05)
    with Server() as server:
        source = open_source(f"127.0.0.1:{server.port}")
        collect(source, 1, 0.4)
        source.close()
    assert server.asked.count(KEEP_ALIVE) > 2


def test_a_server_that_was_started_anew_is_greeted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(natnet, "ASK_PERIOD_S", 0.05)
    monkeypatch.setattr(natnet, "FORGOTTEN_AFTER_S", 0.1)
    with Server() as server:
        source = open_source(f"127.0.0.1:{server.port}")
        server.client, greeted = None, server.asked.count(CONNECT)
        answers, server.answers = server.answers, {}  # it is gone
        collect(source, 1, 0.3)
        server.answers = answers
        collect(source, 1, 0.3)
        assert server.asked.count(CONNECT) > greeted
        server.send(frame((3, 0), 1, 1.0, [HIP]))
        assert len(collect(source, 1)) == 1
        source.close()


def test_a_host_where_nothing_answers_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(natnet, "ANSWER_TIMEOUT_S", 0.3)
    with pytest.raises(CondyleError, match=r"no NatNet server answers at 127\.0\.0\.1:9; switch streaming on") as error:
        open_source("127.0.0.1:9")
    assert error.value.code == "no-answer"
    with Server(info=server_info((2, 9))) as server, pytest.raises(CondyleError, match=r"speaks NatNet 2\.9"):
        open_source(f"127.0.0.1:{server.port}")
    with pytest.raises(UsageError):
        open_source("127.0.0.1:port")


def test_servers_are_found_by_a_question_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server((4, 1)) as server:
        monkeypatch.setattr(natnet, "EVERYBODY", "127.0.0.1")  # on this machine, not on the network
        monkeypatch.setattr(natnet, "COMMAND_PORT", server.port)
        monkeypatch.setattr(natnet, "DISCOVERY_S", 0.3)
        assert find_streams() == [Stream("natnet:127.0.0.1", "Motive, NatNet 4.1")]
