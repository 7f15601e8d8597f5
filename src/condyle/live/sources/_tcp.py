"""A connection that is opened again when it is lost, for protocols that stream over TCP."""

from __future__ import annotations

import select
import socket
import time

from ...errors import CondyleError
from ._sockets import find_host

CONNECT_TIMEOUT_S = 3.0
RECONNECT_PERIOD_S = 0.5  # s between two tries to reach a server that went away
TCP_CHUNK_BYTES = 2**16


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
