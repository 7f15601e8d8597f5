"""live/sources/vrpn.py: a server on this machine, which the real library's client understands as well."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.live.source import Packet
from condyle.live.sources.vrpn import VrpnSource, open_source
from tests.live.sources.test_igtl import Server, free_port
from tests.make.clients import ask
from tests.make.vrpn import VrpnServer

TURN = (0.1, 0.2, 0.3, 0.9273618495495704)


def collect(source: VrpnSource, count: int, seconds: float = 5.0) -> list[Packet]:
    got, end = [], time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.05)
    return got


def test_all_sensors_of_a_tracker_come_in_one_frame() -> None:
    with VrpnServer({"suit": 3, "wand": 1}, TURN) as server:
        source = open_source(f"suit@127.0.0.1:{server.port}")
        got = collect(source, 20)
        source.close()
    assert got[-1].layout.bodies == ("suit", "suit_1", "suit_2")
    steps = np.diff([packet.values[0] for packet in got[1:]])
    assert (steps == 1).all()
    assert got[-1].values[3:9].reshape(2, 3)[:, 1].tolist() == [1, 2]
    assert got[-1].values[9:].reshape(3, 4).tolist() == [list(TURN)] * 3
    assert abs(got[-1].device_time - time.time()) < 60
    assert source.bad_packets == 0


def test_a_star_takes_every_tracker() -> None:
    with VrpnServer({"hip": 1, "leg": 1}) as server:
        source = open_source(f"*@127.0.0.1:{server.port}")
        got = collect(source, 5)
        source.close()
    assert got[-1].layout.bodies == ("hip", "leg")


def test_a_tracker_that_is_not_there_is_told_with_those_that_are() -> None:
    with VrpnServer({"hip": 1, "leg": 1}) as server:
        source = open_source(f"arm@127.0.0.1:{server.port}")
        assert collect(source, 1, 0.3) == []
        assert source.fault == "no poses of 'arm' yet; the server has hip, leg"
        source.close()


def test_the_real_library_s_client_understands_the_server_of_these_tests() -> None:
    """So what is emulated here is VRPN: order of the quaternion, names, framing, greeting."""
    script = """
import motioncapture
capture = motioncapture.connect("vrpn", {"hostname": facts})
for _ in range(200):
    capture.waitForNextFrame()
    if len(capture.rigidBodies) == 2:
        break
turn = capture.rigidBodies["hip"].rotation
answer([sorted(capture.rigidBodies), [turn.x, turn.y, turn.z, turn.w]])
"""
    with VrpnServer({"hip": 1, "leg": 1}, TURN) as server:
        names, turn = ask("motioncapture", script, f"127.0.0.1:{server.port}")
    assert names == ["hip", "leg"]
    assert turn == pytest.approx(TURN, abs=1e-6)


def test_a_server_of_something_else_is_told() -> None:
    with Server() as server:
        thread = threading.Thread(target=server.accept)
        thread.start()
        source = open_source(f"a@127.0.0.1:{server.port}")
        thread.join()
        server.send(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        collect(source, 1, 0.3)
        assert source.bad_packets == 1
        assert "does not greet as a server of VRPN 7 does" in source.fault
        source.close()


def test_addresses_need_a_tracker_and_a_host_that_answers() -> None:
    for wrong in ("room", "@room", "a@"):
        with pytest.raises(UsageError, match="is no address such as vrpn:Tracker0@"):
            open_source(wrong)
    with pytest.raises(CondyleError, match="no VRPN server answers at"):
        open_source(f"a@127.0.0.1:{free_port()}")
