"""live/sources/igtl.py: the servers of the protocol's own examples, and a server that goes away and comes back."""

from __future__ import annotations

import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.live.source import Packet
from condyle.live.sources._igtl_messages import IGTL_HEADER, pack_message, read_header
from condyle.live.sources.igtl import IgtlSource, open_source
from tests.live.sources.test_igtl_messages import MATRIX, MESSAGES, POSITION, P, R
from tests.make.clients import client


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def collect(source: IgtlSource, count: int, seconds: float = 5.0) -> list[Packet]:
    got, end = [], time.monotonic() + seconds
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.05)
    return got


def connect(port: int) -> IgtlSource:
    """The source at a port of this machine, once something listens there."""
    for _ in range(100):
        try:
            return open_source(f"127.0.0.1:{port}")
        except CondyleError:
            time.sleep(0.05)
    raise AssertionError("nobody listens")


@pytest.mark.parametrize(("program", "bodies"), [("TrackerServer", 1), ("TrackingDataServer", 3)])
def test_servers_of_the_protocol_s_own_library_are_recorded(program: str, bodies: int) -> None:
    port = free_port()
    words = [str(client("igtl") / program), str(port), *(["50"] if program == "TrackerServer" else [])]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        source = connect(port)
        got = collect(source, 30, 10)
        source.close()
        process.kill()
    assert len(got) >= 30
    assert source.bad_packets == 0
    packet = got[-1]
    assert len(packet.layout.bodies) == bodies
    assert packet.layout.convention.unit == "mm"
    turn = packet.values[3 * bodies :].reshape(bodies, 3, 3)
    assert turn @ np.swapaxes(turn, 1, 2) == pytest.approx(np.tile(np.eye(3), (bodies, 1, 1)), abs=1e-5)
    assert np.linalg.det(turn) == pytest.approx(np.ones(bodies), abs=1e-5)


class Server:
    """Accepts one client at a time on a port of this machine."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.client: socket.socket | None = None
        self.asked = b""

    def accept(self) -> None:
        self.listener.settimeout(5)
        self.client, _ = self.listener.accept()
        self.client.settimeout(5)
        self.asked = self.client.recv(1000)

    def send(self, data: bytes) -> None:
        assert self.client is not None
        self.client.sendall(data)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.client is not None:
            self.client.close()
        self.listener.close()


def open_with(server: Server) -> IgtlSource:
    thread = threading.Thread(target=server.accept)
    thread.start()
    source = open_source(f"127.0.0.1:{server.port}")
    thread.join()
    return source


def tdata(time: float) -> bytes:
    raw = MESSAGES["TDATA"]
    return pack_message("TDATA", "all", raw[IGTL_HEADER.size :], time=time)


def test_frames_come_whole_however_the_bytes_are_cut_and_other_messages_are_passed_over() -> None:
    image = pack_message("IMAGE", "x", b"")[:42] + (300_000).to_bytes(8, "big") + bytes(8)
    stream = tdata(1.0) + image + bytes(300_000) + tdata(2.0) + tdata(3.5)
    with Server() as server:
        source = open_with(server)
        sender = threading.Thread(target=lambda: [server.send(stream[k : k + 997]) for k in range(0, len(stream), 997)])
        sender.start()
        got = collect(source, 3)
        sender.join()
        source.close()
    assert read_header(server.asked[: IGTL_HEADER.size]).kind == "STT_TDATA"
    assert [packet.device_time for packet in got] == [1.0, 2.0, 3.5]
    assert got[0].layout.bodies == ("a", "b")
    assert got[0].values.tolist() == [*P, *P, *R.ravel(), *R.ravel()]
    assert source.bad_packets == 0


def test_a_server_that_goes_away_is_found_again() -> None:
    with Server() as server:
        source = open_with(server)
        server.send(tdata(1.0))
        assert len(collect(source, 1)) == 1
        assert server.client is not None
        server.client.close()
        thread = threading.Thread(target=server.accept)
        thread.start()
        begin = time.monotonic()
        while thread.is_alive() and time.monotonic() < begin + 5:
            source.read(0.05)
        took = time.monotonic() - begin
        thread.join()
        server.send(tdata(2.0))
        assert [packet.device_time for packet in collect(source, 1)] == [2.0]
        source.close()
    assert took < 2  # half a second, on a machine that has time


def test_bytes_that_are_no_message_end_the_connection_and_are_told() -> None:
    with Server() as server:
        source = open_with(server)
        server.send(b"GET / HTTP/1.0\r\n\r\n" * 10)
        collect(source, 1, 0.3)
        assert source.bad_packets == 1
        assert source.fault == "is no OpenIGTLink message"
        source.close()


def test_quaternions_are_recorded_and_a_mixture_is_told() -> None:
    with Server() as server:
        source = open_with(server)
        for _ in range(2):
            server.send(pack_message("POSITION", "probe", POSITION))
        server.send(pack_message("TRANSFORM", "probe", MATRIX))
        got = collect(source, 3, 1.0)
        source.close()
    assert got[0].layout.convention.rotation == "xyzw"
    assert got[0].layout.clock == "arrival"
    assert source.bad_packets == 1
    assert "both matrices and quaternions" in source.fault


def test_where_nobody_listens_it_is_told() -> None:
    with pytest.raises(CondyleError, match="no OpenIGTLink server answers at") as error:
        open_source(f"127.0.0.1:{free_port()}")
    assert error.value.code == "no-answer"
