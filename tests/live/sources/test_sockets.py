"""live/sources/_sockets.py: datagrams come with their time, and addresses are checked."""

from __future__ import annotations

import socket
import sys

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.live.source import now
from condyle.live.sources._sockets import find_host, open_udp, parse_address, receive


def test_datagrams_come_in_order_with_the_time_of_their_arrival() -> None:
    with open_udp() as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        assert list(receive([one], 0.01)) == []
        before = now()
        for k in range(5):
            other.sendto(bytes([k]), ("127.0.0.1", one.getsockname()[1]))
        got = list(receive([one], 1.0))
        assert [datagram.data for datagram in got] == [bytes([k]) for k in range(5)]
        assert all(before < datagram.arrival < now() for datagram in got)
        assert got[0].sender == ("127.0.0.1", other.getsockname()[1])


def test_a_port_that_is_taken_is_told() -> None:
    with open_udp() as one, pytest.raises(CondyleError, match="cannot be listened to") as error:
        open_udp(one.getsockname()[1])
    assert error.value.code == "port-in-use"


def test_addresses_have_a_host_and_perhaps_a_port() -> None:
    assert parse_address("room", 1510, "x") == ("room", 1510)
    assert parse_address("10.0.0.1:99", 1510, "x") == ("10.0.0.1", 99)
    for wrong in (":99", "room:", "room:x", "room:0", "room:70000"):
        with pytest.raises(UsageError, match="is no address such as natnet:1"):
            parse_address(wrong, 1510, "natnet:1")


def test_a_host_that_is_not_known_is_told() -> None:
    assert find_host("127.0.0.1") == "127.0.0.1"
    with pytest.raises(CondyleError, match="is not known"):
        find_host("no host .invalid")


def test_on_macos_two_programs_hear_the_same_port_and_a_buffer_that_is_refused_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    class MacSocket(socket.socket):
        def setsockopt(self, level: int, option: int, value: int) -> None:  # type: ignore[override]
            asked.append(option)
            if option == socket.SO_RCVBUF:
                raise OSError(55, "No buffer space available")
            super().setsockopt(level, option, value)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(socket, "socket", MacSocket)
    with open_udp(shared=True) as first, open_udp(first.getsockname()[1], shared=True):
        assert asked.count(socket.SO_REUSEPORT) == 2
