"""Frames from poses that come one by one: of protocols that send a message for every body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...io.log_records import Layout
from ...maths.arrays import Floats
from ..source import Packet, PacketError, now
from ._sockets import Datagram, open_udp, receive

MOST_BODIES = 500  # that may come in one session
FRAME_MAX_S = 0.05  # s after its first pose that a frame waits for the rest of its bodies

SAME_FRAME_MAX_S = 0.002  # s between the device's times of two poses of one frame: some servers stamp each message


class Gatherer:
    """Puts poses together. A frame ends when all bodies that ever came have come, when one comes again, when the
    device's time goes on, or when the rest is late.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._columns: dict[str, int] = {}
        self._frame: dict[str, Floats] = {}
        self._device = math.nan
        self._begun = 0.0

    def take(self, body: str, numbers: Floats, arrival: float, device: float = math.nan) -> list[Packet]:
        """The frames that a pose ends: place and rotation (3 + 3 | 4 | 9,), times [s]."""
        later = self._frame and abs(device - self._device) > SAME_FRAME_MAX_S
        packets = [self._end()] if body in self._frame or later else []
        if body not in self._columns:
            if len(self._columns) >= MOST_BODIES:
                raise PacketError(f"more than {MOST_BODIES} bodies came in this session")
            self._columns[body] = len(self._columns)
        if not self._frame:
            self._begun, self._device = arrival, device
        self._frame[body] = numbers
        if len(self._frame) == len(self._columns) == len(self.layout.bodies):
            packets.append(self._end())
        return packets

    def flush(self) -> list[Packet]:
        """The frame whose rest is late, if one is."""
        return [self._end()] if self._frame and now() - self._begun > FRAME_MAX_S else []

    def _end(self) -> Packet:
        if len(self._columns) != len(self.layout.bodies):
            self.layout = replace(self.layout, bodies=tuple(self._columns))
        values = np.full(self.layout.width, np.nan)
        position, orientation, _ = self.layout.split(values)
        for body, numbers in self._frame.items():
            position[self._columns[body]], orientation[self._columns[body]] = numbers[:3], numbers[3:]
        self._frame = {}
        return Packet(self.layout, self._device, self._begun, values)


class DatagramSource:
    """Poses in datagrams to a port of this machine, gathered into frames; a protocol says what is in one."""

    def __init__(self, layout: Layout, port: int) -> None:
        self.word = layout.source
        self.ended, self.bad_packets, self.fault = False, 0, ""
        self._frames = Gatherer(layout)
        self._socket = open_udp(port)

    def _take(self, datagram: Datagram) -> Iterator[Packet]:
        """The packets that a datagram completes; raises PacketError where it is none of the protocol's."""
        raise NotImplementedError

    def read(self, timeout: float) -> list[Packet]:
        packets: list[Packet] = []
        for datagram in receive([self._socket], min(timeout, FRAME_MAX_S)):
            try:
                packets.extend(self._take(datagram))
            except PacketError as error:
                self.bad_packets += 1
                self.fault = error.text
                continue
            self.fault = ""
        return packets + self._frames.flush()

    def close(self) -> None:
        self.ended = True
        self._socket.close()
