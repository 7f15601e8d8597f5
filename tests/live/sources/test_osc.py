"""live/sources/osc.py and vmc.py: python-osc sends, and messages become frames."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.live.source import Packet
from condyle.live.sources import open_source
from condyle.live.sources._osc_messages import OscMessage
from condyle.live.sources.osc import OscSource, read_pose, read_vmc
from tests.live.sources.test_osc_messages import bundle, message

udp_client = pytest.importorskip("pythonosc.udp_client", reason="python-osc is not installed")
TURN = (0.0, 0.0, 0.0, 1.0)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def collect(source: OscSource, count: int, seconds: float = 3.0) -> list[Packet]:
    got, end = [], time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.02)
    return got


@pytest.fixture
def pair(request: pytest.FixtureRequest):
    port = free_port()
    source = open_source(f"{getattr(request, 'param', 'osc')}:{port}")
    client = udp_client.UDPClient("127.0.0.1", port)
    yield source, client
    source.close()
    client._sock.close()


@pytest.mark.parametrize("pair", ["vmc"], indirect=True)
@pytest.mark.parametrize("together", [True, False])
def test_trackers_of_vmc_become_frames_whether_they_come_in_one_datagram_or_each_alone(pair, together: bool) -> None:
    source, client = pair
    for k in range(5):
        sent = [message("/VMC/Ext/Tra/Pos", name, float(k), 1.0, 2.0, *TURN) for name in ("hip", "foot")]
        sent.append(message("/VMC/Ext/Bone/Pos", "Hips", 9.0, 9.0, 9.0, *TURN))
        for one in [bundle(*sent)] if together else sent:
            client.send(one)
    got = collect(source, 5)
    assert [packet.values[0] for packet in got] == [0, 1, 2, 3, 4]
    assert all(np.isfinite(packet.values).all() for packet in got)
    assert {packet.layout.bodies for packet in got} == {("hip", "foot")}
    convention = got[0].layout.convention
    assert (convention.handed, convention.up, convention.unit, got[0].layout.clock) == ("left", "y", "m", "arrival")


def test_any_address_with_seven_numbers_is_a_body(pair) -> None:
    source, client = pair
    client.send(message("/room/hip", 1.0, 2.0, 3.0, *TURN))
    client.send(message("/room", "leg", 4.0, 5.0, 6.0, *TURN))
    client.send(message("/volume", 1.0))
    (packet,) = collect(source, 1)
    assert packet.layout.bodies == ("room/hip", "room/leg")
    assert packet.values.tolist() == [1, 2, 3, 4, 5, 6, *TURN, *TURN]
    assert packet.layout.convention.unit is None


def test_a_body_that_stays_away_holds_nothing_up(pair) -> None:
    source, client = pair
    for name in ("a", "b"):
        client.send(message(f"/{name}", 1.0, 2.0, 3.0, *TURN))
    assert len(collect(source, 1)) == 1
    client.send(message("/b", 7.0, 8.0, 9.0, *TURN))
    (packet,) = collect(source, 1)
    assert np.isnan(packet.values).tolist() == [True] * 3 + [False] * 3 + [True] * 4 + [False] * 4
    client.send(message("/b", 7.0, 8.0, 9.0, *TURN))
    client.send(message("/b", 8.0, 8.0, 9.0, *TURN))
    assert len(collect(source, 2)) == 2


def test_damaged_datagrams_are_counted(pair) -> None:
    source, client = pair
    client._sock.sendto(b"nonsense", (client._address, client._port))
    collect(source, 1, 0.2)
    assert source.bad_packets == 1
    assert "does not end" in source.fault


def test_what_is_no_pose_is_left_alone() -> None:
    assert read_pose(OscMessage("/a", (1.0,) * 6)) is None
    assert read_pose(OscMessage("/a", ("x", "y", *(1.0,) * 7))) is None
    assert read_vmc(OscMessage("/VMC/Ext/Bone/Pos", ("Hips", *(1.0,) * 7))) is None
    assert read_vmc(OscMessage("/VMC/Ext/Tra/Pos/Local", ("t", *(1.0,) * 7))) is None
    assert read_vmc(OscMessage("/VMC/Ext/Hmd/Pos", ("h", *(1.0,) * 7))) is not None


@pytest.mark.parametrize("port", ["x", "0", "70000", "-1"])
def test_a_port_that_is_none_is_told(port: str) -> None:
    with pytest.raises(UsageError, match="is no port such as osc:9000"):
        open_source(f"osc:{port}")
