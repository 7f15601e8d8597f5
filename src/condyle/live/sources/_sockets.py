"""Datagrams as they come, with the time of their arrival."""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...errors import CondyleError, UsageError
from ..source import now

LONGEST_DATAGRAM_BYTES = 65_536
DATAGRAMS_AT_ONCE = 256  # read before they are handed on
RECEIVE_BUFFER_BYTES = 2**22  # that the system is asked to hold while this program is busy


class Datagram(NamedTuple):
    """What came, when [s], from where, and to which socket."""

    data: bytes
    arrival: float
    sender: tuple[str, int]
    socket: socket.socket


def open_udp(port: int = 0, *, shared: bool = False) -> socket.socket:
    """A socket that receives datagrams to a port, any that is free by default; shared with others that listen."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        one.setblocking(False)
        with suppress(OSError):  # macOS refuses what others cut down
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        if shared:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if sys.platform == "darwin":  # where that does not let two programs hear the same
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("", port))
    except (OSError, OverflowError) as error:
        one.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise CondyleError(f"port {port} cannot be listened to: {reason}", code="port-in-use") from None
    return one


def receive(sockets: Sequence[socket.socket], timeout: float) -> Iterator[Datagram]:
    """The datagrams that have come, or come within `timeout` [s]; not more than so many at once."""
    ready, _, _ = select.select(sockets, [], [], timeout)
    for one in ready:
        for _ in range(DATAGRAMS_AT_ONCE):
            try:
                data, sender = one.recvfrom(LONGEST_DATAGRAM_BYTES)
            except (BlockingIOError, ConnectionError):  # nothing more; or an answer that nobody listens there
                break
            yield Datagram(data, now(), sender, one)


def parse_address(address: str, port: int, example: str) -> tuple[str, int]:
    """HOST or HOST:PORT."""
    host, colon, given = address.rpartition(":")
    if not colon:
        return address, port
    if not host or not given.isdecimal() or not 0 < int(given) < 65_536:
        raise UsageError(f"'{address}' is no address such as {example}", code="bad-option")
    return host, int(given)


def find_host(host: str) -> str:
    """The number of a host; raises where its name is not known."""
    try:
        return socket.gethostbyname(host)
    except (OSError, UnicodeError) as error:
        raise CondyleError(f"the host '{host}' is not known: {error}", code="no-answer") from None
