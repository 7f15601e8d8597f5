"""live/sources/qualisys.py: an emulated server, one that goes away and comes back, and one that sends nonsense."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.live.source import Packet
from condyle.live.sources._qualisys_packets import COMMAND, ERROR
from condyle.live.sources.qualisys import QualisysSource, open_source
from condyle.model.recording import Bodies, Recording, to_take
from tests.live.sources.test_qualisys_packets import P, R, pack_frame, pack_names, pack_packet


class Server:
    """Says who it is, answers the three commands, and then sends what it is told to."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.heard = b""
        self._accept()

    def _accept(self) -> None:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self.connection, _ = self._listening.accept()
        self.connection.sendall(pack_packet(COMMAND, b"QTM RT Interface connected\0"))
        while self.heard.count(b"StreamFrames") == 0:
            self.heard += self.connection.recv(4096)
        self.connection.sendall(pack_packet(COMMAND, b"Version set to 1.20\0") + pack_names("hip", "thigh"))

    def ready(self) -> socket.socket:
        self._thread.join(5)
        return self.connection

    def hang_up(self) -> None:
        self.connection.close()
        self.heard = b""
        self._accept()

    def close(self) -> None:
        self.connection.close()
        self._listening.close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def collect(source: QualisysSource, count: int, seconds: float = 5.0) -> list[Packet]:
    got, end = list[Packet](), time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.05)
    return got


def test_bodies_arrive_with_their_names_and_the_server_s_time(server: Server) -> None:
    source = open_source(f"127.0.0.1:{server.port}")
    connection = server.ready()
    assert b"Version 1.20\0" in server.heard
    assert b"GetParameters 6D\0" in server.heard
    data = b"".join(pack_frame(10_000 * k, P, R) for k in range(5))
    for k in range(0, len(data), 37):  # in pieces that end anywhere
        connection.sendall(data[k : k + 37])
    got = collect(source, 5)
    source.close()
    assert [packet.device_time for packet in got] == pytest.approx([0.01 * k for k in range(5)])
    layout = got[0].layout
    assert layout.bodies == ("hip", "thigh")
    position = np.stack([packet.values[:6] for packet in got]).reshape(5, 2, 3)
    turn = np.stack([packet.values[6:] for packet in got]).reshape(5, 2, 9)
    take = to_take(Recording(bodies=Bodies(layout.bodies, position, turn), rate=100.0, convention=layout.convention))
    assert take.p_world_body[0] == pytest.approx(P / 1000)
    assert take.R_world_body[0] == pytest.approx(R, abs=1e-6)


def test_a_server_that_goes_away_is_taken_up_again(server: Server) -> None:
    source = open_source(f"127.0.0.1:{server.port}")
    server.ready().sendall(pack_frame(0, P, R))
    assert len(collect(source, 1)) == 1
    server.hang_up()
    end = time.monotonic() + 10
    while not source.fault and time.monotonic() < end:
        source.read(0.05)
    assert "closed the connection" in source.fault
    while b"StreamFrames" not in server.heard and time.monotonic() < end:
        source.read(0.05)
    server.ready().sendall(pack_frame(9_000_000, P, R))
    (packet,) = collect(source, 1)
    source.close()
    assert packet.device_time == 9.0
    assert source.fault == ""


def test_nonsense_is_counted_and_the_connection_begins_anew(server: Server) -> None:
    source = open_source(f"127.0.0.1:{server.port}")
    server.ready().sendall(b"\xff" * 64)
    end = time.monotonic() + 5
    while not source.bad_packets and time.monotonic() < end:
        source.read(0.05)
    source.close()
    assert source.bad_packets == 1
    assert "none of the protocol" in source.fault


def test_what_the_server_complains_of_is_told(server: Server) -> None:
    source = open_source(f"127.0.0.1:{server.port}")
    server.ready().sendall(pack_packet(ERROR, b"No data available\0"))
    end = time.monotonic() + 5
    while not source.fault and time.monotonic() < end:
        source.read(0.05)
    source.close()
    assert source.fault == "the server says: No data available"


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with pytest.raises(CondyleError, match="no Qualisys server answers"):
        open_source(f"127.0.0.1:{port}")
