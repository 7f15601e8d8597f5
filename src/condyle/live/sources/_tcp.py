"""Protocols that stream over TCP: a connection that is opened again when it is lost, and messages out of its bytes."""

from __future__ import annotations

import select
import socket
import time
from typing import Generic, Protocol, TypeVar

from ...errors import CondyleError
from ..source import Packet, PacketError, now
from ._gathering import FRAME_MAX_S, Gatherer
from ._sockets import find_host

CONNECT_TIMEOUT_S = 3.0
RECONNECT_PERIOD_S = 0.5  # s between two tries to reach a server that went away
TCP_CHUNK_BYTES = 2**16


class StreamHeader(Protocol):
    """What is known of a message before its body: how many bytes of it follow."""

    @property
    def size(self) -> int: ...


Header = TypeVar("Header", bound=StreamHeader)


class Connection:
    """Bytes from a server. fault: why there is no connection, or ""."""

    def __init__(self, host: str, port: int, greeting: bytes, about: str) -> None:
        self._address, self._greeting = (find_host(host), port), greeting
        self._socket: socket.socket | None = None
        self.fault = ""
        self.opened = 0  # times that it was
        self._connect(CONNECT_TIMEOUT_S)
        if self._socket is None:
            raise CondyleError(f"no {about} server answers at {host}:{port}: {self.fault}", code="no-answer")

    def _connect(self, timeout: float) -> None:
        self._tried = time.monotonic()
        try:
            self._socket = socket.create_connection(self._address, timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(self._greeting)
            self._socket.setblocking(False)
        except OSError as error:
            self.drop(f"cannot be reached: {error.strerror or error}")
        else:
            self.fault = ""
            self.opened += 1

    def receive(self, timeout: float) -> bytes:
        """The bytes that have come, or come within `timeout` [s]; none where none did. `opened` grows where they begin
        anew.
        """
        if self._socket is None:
            if time.monotonic() - self._tried < RECONNECT_PERIOD_S:
                time.sleep(min(timeout, RECONNECT_PERIOD_S))
            else:
                self._connect(timeout)
            return b""
        ready, _, _ = select.select([self._socket], [], [], timeout)
        if not ready:
            return b""
        try:
            data = self._socket.recv(TCP_CHUNK_BYTES)
        except OSError as error:
            self.drop(f"the connection is lost: {error.strerror or error}")
            return b""
        if not data:
            self.drop("the server closed the connection")
        return data

    def drop(self, why: str) -> None:
        """Closes it; it is opened again."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self.fault = None, why

    def close(self) -> None:
        self.drop(self.fault)


class StreamSource(Generic[Header]):
    """Messages of a server: headers that say how long the bodies are, and these. A protocol says what is in both; poses
    that come one by one are gathered by `frames`.
    """

    head_bytes: int

    def __init__(self, word: str, connection: Connection, frames: Gatherer | None = None) -> None:
        self.word = word
        self.ended, self.bad_packets = False, 0
        self._fault, self._frames, self._connection = "", frames, connection
        self._begin()

    def _begin(self) -> None:
        """Where a connection is new nothing of the one before counts."""
        self._opened = self._connection.opened
        self._buffer = bytearray()
        self._header: Header | None = None
        self._passed = 0  # bytes of a message that is not read, still to come

    def _read_head(self, part: bytes) -> Header | None:
        """The header, or None where no body is read behind it; raises PacketError where it is none."""
        raise NotImplementedError

    def _take(self, header: Header, body: bytes, arrival: float) -> list[Packet]:
        """The packets that a message ends; raises PacketError where it is none of the protocol's."""
        raise NotImplementedError

    @property
    def fault(self) -> str:
        return self._connection.fault or self._fault

    def read(self, timeout: float) -> list[Packet]:
        packets = [] if self._frames is None else self._frames.flush()
        data = self._connection.receive(min(timeout, FRAME_MAX_S))
        if self._connection.opened != self._opened:
            self._begin()
        self._buffer += data
        arrival = now()
        while (part := self._cut_part()) is not None:
            header, self._header = self._header, None
            try:
                if header is None:
                    self._header = self._read_head(part)
                else:
                    packets += self._take(header, part, arrival)
            except PacketError as error:
                self.bad_packets += 1
                self._fault = error.text
                if header is None:  # where the next message begins is not known
                    self._connection.drop(error.text)
                    self._buffer.clear()
        return packets

    def _cut_part(self) -> bytes | None:
        """The next whole header or body at the front of the bytes."""
        skipped = min(self._passed, len(self._buffer))
        del self._buffer[:skipped]
        self._passed -= skipped
        need = self.head_bytes if self._header is None else self._header.size
        if self._passed or len(self._buffer) < need:
            return None
        part = bytes(self._buffer[:need])
        del self._buffer[:need]
        return part

    def close(self) -> None:
        self.ended = True
        self._connection.close()
