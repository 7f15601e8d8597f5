"""Packets of NatNet: a server for tests, and messages written by the layout that the vendor publishes."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path

from condyle.live.sources._natnet_packets import FRAME_MESSAGE, MODELS, SERVER_INFO, pack_message

Pose = tuple[int, tuple[float, ...], tuple[float, ...], bool]  # number, position, quaternion xyzw, tracked


def text(word: str) -> bytes:
    return word.encode() + b"\0"


def server_info(version: tuple[int, int]) -> bytes:
    where = struct.pack("<QH?4B", 10**7, 1511, False, 239, 255, 42, 99)
    return pack_message(SERVER_INFO, struct.pack("<256s4B4B", b"Motive", 3, 1, 0, 0, *version, 0, 0) + where)


def models(version: tuple[int, int], bodies: dict[int, str]) -> bytes:
    """A marker set, the rigid bodies, and a camera behind them."""
    parts = [(0, text("all") + struct.pack("<i", 2) + text("m1") + text("m2"))]
    for number, name in bodies.items():
        one = text(name) + struct.pack("<ii3f", number, -1, 0, 0, 0)
        one += struct.pack("<4f", 0, 0, 0, 1) if version >= (4, 2) else b""
        one += struct.pack("<i", 2) + bytes(2 * 16) + (text("a") + text("b") if version >= (4, 0) else b"")
        parts.append((1, one))
    parts.append((5, text("camera") + bytes(28)))
    sized = version >= (4, 1)
    written = [struct.pack("<i", k) + (struct.pack("<i", len(one)) if sized else b"") + one for k, one in parts]
    return pack_message(MODELS, struct.pack("<i", len(parts)) + b"".join(written))


def frame(version: tuple[int, int], number: int, time: float, poses: Sequence[Pose]) -> bytes:
    """A frame with all its sections: two markers in a set, one alone, the bodies, a skeleton, a plate with channels."""

    def section(count: int, body: bytes) -> bytes:
        size = struct.pack("<i", len(body)) if version >= (4, 1) else b""
        return struct.pack("<i", count) + size + body

    def pose(one: Pose) -> bytes:
        return struct.pack("<i3f4ffh", one[0], *one[1], *one[2], 0.001, one[3])

    bone = (1 << 16 | 1, (0, 0, 0), (0, 0, 0, 1), True)
    channel = struct.pack("<i2f", 2, 1.0, 2.0)
    body = struct.pack("<i", number)
    body += section(1, text("all") + struct.pack("<i6f", 2, *range(6)))
    body += section(1, bytes(12))
    body += section(len(poses), b"".join(map(pose, poses)))
    body += section(1, struct.pack("<ii", 1, 1) + pose(bone))
    if version >= (4, 1):
        body += section(1, struct.pack("<iii", 1, 0, 0))
    body += section(1, bytes(26))
    body += section(1, struct.pack("<ii", 1, 2) + 2 * channel)
    body += section(0, b"")
    body += struct.pack("<IIdQQQ", 0, 0, time, 1, 2, 3) + (bytes(8) if version >= (4, 1) else b"")
    return pack_message(FRAME_MESSAGE, body + struct.pack("<hi", 0, 0))


class Server:
    """Answers on this machine as Motive does, by unicast, and sends what it is told to whoever connected."""

    def __init__(
        self, version: tuple[int, int] = (3, 0), describe: bytes | None = None, info: bytes | None = None
    ) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self.client: tuple[str, int] | None = None
        self.asked: list[int] = []
        self.answers = {0: info or server_info(version), 4: describe or models(version, {1: "hip", 2: "thigh"})}
        self.answers[14] = self.answers[0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                data, self.client = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            kind = int.from_bytes(data[:2], "little")
            self.asked.append(kind)
            if kind in self.answers:
                self.socket.sendto(self.answers[kind], self.client)

    def send(self, data: bytes) -> None:
        assert self.client is not None
        self.socket.sendto(data, self.client)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.socket.close()


def read_capture(path: Path) -> list[tuple[int, bytes]]:
    """(port it came from, bytes) of every UDP datagram of a pcapng file."""
    raw, at, found = path.read_bytes(), 0, []
    while at < len(raw):
        kind, size = struct.unpack_from("<II", raw, at)
        if kind == 6:  # a packet
            packet = raw[at + 28 : at + 28 + struct.unpack_from("<I", raw, at + 20)[0]]
            udp = 14 + 4 * (packet[14] & 15)
            if packet[12:14] == b"\x08\x00" and packet[23] == 17:
                port, _, length = struct.unpack_from(">HHH", packet, udp)
                found.append((port, packet[udp + 8 : udp + length]))
        at += size
    return found
