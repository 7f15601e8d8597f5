"""live/sources/_tcp.py: bytes come, and a connection that is lost is opened again."""

from __future__ import annotations

import socket
import time

import pytest

from condyle.errors import CondyleError
from condyle.live.sources._tcp import Connection


def wait_for(connection: Connection, done) -> bytes:
    data, end = b"", time.monotonic() + 5
    while not done(data) and time.monotonic() < end:
        data += connection.receive(0.05)
    return data


def test_a_server_is_greeted_and_again_when_it_comes_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = Connection("127.0.0.1", listener.getsockname()[1], b"hello", "test")
        first, _ = listener.accept()
        with first:
            assert first.recv(10) == b"hello"
            first.sendall(b"abc")
            assert wait_for(connection, lambda data: data == b"abc") == b"abc"
        wait_for(connection, lambda _: connection.fault)
        assert connection.fault == "the server closed the connection"
        wait_for(connection, lambda _: connection.opened == 2)
        second, _ = listener.accept()
        with second:
            assert second.recv(10) == b"hello"
        assert connection.fault == ""
        connection.close()


def test_where_nobody_listens_it_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(CondyleError, match=f"no test server answers at 127\\.0\\.0\\.1:{port}: cannot be reached"):
        Connection("127.0.0.1", port, b"", "test")
