"""A VRPN server for tests: it answers over TCP, and over TCP after a datagram, as mainline VRPN does."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Sequence

import numpy as np

from condyle.live.sources._vrpn_messages import (
    COOKIE,
    KIND_NAME,
    MESSAGE_ALIGN_BYTES,
    NAME_LENGTH,
    POSE_MESSAGE,
    SENDER_NAME,
    VRPN_HEADER,
    VRPN_POSE,
)


def pack_message(kind: int, sender: int, body: bytes, time: float = 0.0) -> bytes:
    seconds, rest = divmod(time, 1.0)
    head = VRPN_HEADER.pack(VRPN_HEADER.size + len(body), int(seconds), round(rest * 1e6), sender, kind, 0)
    return head + body + bytes(-len(body) % MESSAGE_ALIGN_BYTES)


def pack_name(kind: int, number: int, name: str) -> bytes:
    """SENDER_NAME or KIND_NAME."""
    text = name.encode() + b"\0"
    return pack_message(kind, number, NAME_LENGTH.pack(len(text)) + text)


def pack_pose(kind: int, sender: int, sensor: int, numbers: np.ndarray, time: float) -> bytes:
    return pack_message(kind, sender, VRPN_POSE.pack(sensor, 0, *numbers), time)


class VrpnServer:
    """Sends the poses of trackers {name: sensors} over and over, `rate` times a second, until it is closed.

    Pose k of sensor s is at (k, s, 0) and turned by the quaternion xyzw `turn`.
    """

    def __init__(self, trackers: dict[str, int], turn: Sequence[float] = (0, 0, 0, 1), rate: float = 100.0) -> None:
        self.trackers, self.turn, self.rate = trackers, turn, rate
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp.bind(("127.0.0.1", self.port))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self.tcp, self.udp], [], [], 0.05)
            for one in ready:
                if one is self.tcp:
                    client, _ = self.tcp.accept()
                else:
                    host, port = self.udp.recv(1000).rstrip(b"\0").decode().split()[:2]
                    client = socket.create_connection((host, int(port)), 2)
                try:
                    with client:
                        self._serve(client)
                except OSError:
                    continue

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(2)
        client.sendall(COOKIE)
        client.recv(len(COOKIE))
        client.sendall(
            pack_name(KIND_NAME, 4, "VRPN_Connection_Got_First_Connection") + pack_name(KIND_NAME, 7, POSE_MESSAGE)
        )
        for number, name in enumerate(self.trackers):
            client.sendall(pack_name(SENDER_NAME, number, name))
        k = 0
        while not self._stop.wait(1 / self.rate):
            raw = b"".join(
                pack_pose(7, number, sensor, np.array([k, sensor, 0, *self.turn], float), time.time())
                for number, sensors in enumerate(self.trackers.values())
                for sensor in range(sensors)
            )
            client.sendall(raw)
            k += 1

    def __enter__(self) -> VrpnServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.tcp.close()
        self.udp.close()
