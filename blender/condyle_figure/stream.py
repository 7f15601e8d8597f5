"""The motion of a live session, over its websocket: lines of JSON, the newest of which counts. No library is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import struct
import threading
from urllib.parse import urlsplit

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LONGEST_BYTES = 2**24  # of a message: a frame of thousands of bodies


class StreamError(Exception):
    """Why a session cannot be followed, in one sentence."""


class MotionStream:
    """Reads in a thread of its own until it is closed; `take` has what came since it was asked last."""

    def __init__(self, address: str, patience: float = 5.0) -> None:
        url = urlsplit(address)
        if url.scheme != "http" or url.hostname not in LOOPBACK or not url.port:
            raise StreamError("give the address that condyle live printed, such as http://127.0.0.1:40233/WORD/")
        self._rest = b""
        try:
            self._socket = socket.create_connection((url.hostname, url.port), patience)
            self._greet(url.netloc, url.path.rstrip("/") + "/motion")
        except OSError as error:
            raise StreamError(f"no session answers at {address}: {error}") from None
        self._socket.settimeout(None)
        self._newest: dict | None = None
        self._lock = threading.Lock()
        self.ended = False
        threading.Thread(target=self._read, name="condyle-motion", daemon=True).start()

    def take(self) -> dict | None:
        """The newest frame: {"time", "bodies": {name: {"p", "q"}}, "joints": {name: p}}; None where none came since."""
        with self._lock:
            newest, self._newest = self._newest, None
        return newest

    def close(self) -> None:
        self.ended = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _greet(self, host: str, path: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        head = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        self._socket.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self._rest:
            part = self._socket.recv(4096)
            if not part or len(self._rest) > 2**16:
                raise OSError("it is no session of condyle live")
            self._rest += part
        answer, _, self._rest = self._rest.partition(b"\r\n\r\n")
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise OSError(answer.split(b"\r\n")[0].decode("latin-1"))

    def _read(self) -> None:
        try:
            message = b""
            while not self.ended:
                last, kind, data = self._frame()
                if kind == CLOSE:
                    break
                if kind == PING:
                    self._send(PONG, data)
                if kind > 2:
                    continue
                message += data
                if len(message) > LONGEST_BYTES:
                    break
                if last:
                    found = json.loads(message)
                    message = b""
                    with self._lock:
                        self._newest = found
        except (OSError, ValueError):
            pass
        self.ended = True

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._bytes(2)
        size = second & 127
        if size > 125:
            size = struct.unpack(">H", self._bytes(2))[0] if size == 126 else struct.unpack(">Q", self._bytes(8))[0]
        if size > LONGEST_BYTES:
            raise OSError("a frame is too long")
        return bool(first & 128), first & 15, self._bytes(size)

    def _bytes(self, count: int) -> bytes:
        while len(self._rest) < count:
            part = self._socket.recv(65536)
            if not part:
                raise OSError("closed")
            self._rest += part
        found, self._rest = self._rest[:count], self._rest[count:]
        return found

    def _send(self, kind: int, data: bytes) -> None:
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[k % 4] for k, byte in enumerate(data[:125]))
        self._socket.sendall(bytes([128 | kind, 128 | len(masked)]) + mask + masked)
