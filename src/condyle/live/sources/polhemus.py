"""polhemus:TTY[@BAUD]: stations of a Polhemus Liberty or Patriot, in their binary records."""

from __future__ import annotations

import struct
import time
from typing import NamedTuple

import numpy as np

from ...io.log_records import Layout
from ...io.tables.sensors import MOST_STATIONS
from ...maths.arrays import Floats
from ...model.recording import Convention
from ..source import Packet, now
from ._gathering import FRAME_MAX_S, Gatherer
from ._serial import SerialLine, parse_line

# Stop; binary; centimetres; time, count, distortion, place, quaternion of every station; on and on.
POLHEMUS_STOP, POLHEMUS_START = b"P\r", b"F1\rU1\rO*,8,9,11,3,7\rC\r"
SETTLE_S = 0.2  # s after the command to stop that bytes still come, which are thrown away
TAGS = (b"LY", b"PA")  # Liberty, Patriot
POLHEMUS_HEADER = struct.Struct("<2sBBBBH")  # tag, station, command that is answered, error, nothing, bytes that follow
RECORD = struct.Struct("<IIi7f")  # time [ms], count, distortion, place, quaternion wxyz
CONTINUOUS = b"Cc"
POLHEMUS_MOST_BODY_BYTES = 1024  # of an answer; a longer one is no answer
CONVENTION = Convention("wxyz", unit="cm", stated=frozenset({"rotation", "unit"}))


class Station(NamedTuple):
    """One record: the station's number, time [s] since it began to send, place and quaternion (7,)."""

    number: int
    time: float
    numbers: Floats


def take_records(buffer: bytearray) -> tuple[list[Station], int]:
    """The records at the front of a buffer, which they are taken from, and how many bytes were none.

    Other answers of the device are passed over; bytes up to the next tag are thrown away.
    """
    found: list[Station] = []
    at = bad = 0
    while len(buffer) - at >= POLHEMUS_HEADER.size:
        tag, station, command, _, _, size = POLHEMUS_HEADER.unpack_from(buffer, at)
        if tag not in TAGS or not 0 < station <= MOST_STATIONS or size > POLHEMUS_MOST_BODY_BYTES:
            after = min((k for mark in TAGS if (k := buffer.find(mark, at + 1)) >= 0), default=len(buffer) - 1)
            bad += after - at
            at = after
            continue
        if len(buffer) - at < POLHEMUS_HEADER.size + size:
            break
        if command in CONTINUOUS and size == RECORD.size:
            milliseconds, _, _, *numbers = RECORD.unpack_from(buffer, at + POLHEMUS_HEADER.size)
            found.append(Station(station, milliseconds / 1000, np.array(numbers)))
        at += POLHEMUS_HEADER.size + size
    del buffer[:at]
    return found, bad


class PolhemusSource:
    """The stations of a tracker, named s1, s2, ... as in its logs."""

    def __init__(self, path: str, baud: int) -> None:
        self.word = f"polhemus:{path}"
        self.ended, self.bad_packets = False, 0
        self._frames = Gatherer(Layout(self.word, (), convention=CONVENTION, facts={"device": "Polhemus"}))
        self._buffer = bytearray()
        self._line = SerialLine(path, baud)
        self._line.write(POLHEMUS_STOP)
        end = time.monotonic() + SETTLE_S
        while time.monotonic() < end:
            self._line.read(end - time.monotonic())
        self._line.write(POLHEMUS_START)

    @property
    def fault(self) -> str:
        return self._line.fault

    def read(self, timeout: float) -> list[Packet]:
        packets = self._frames.flush()
        self._buffer += self._line.read(min(timeout, FRAME_MAX_S))
        arrival = now()
        stations, bad = take_records(self._buffer)
        self.bad_packets += bad > 0
        for one in stations:
            packets += self._frames.take(f"s{one.number}", one.numbers, arrival, one.time)
        return packets

    def close(self) -> None:
        self.ended = True
        self._line.write(POLHEMUS_STOP)
        self._line.close()


def open_source(address: str) -> PolhemusSource:
    """The tracker at TTY, or TTY@BAUD."""
    return PolhemusSource(*parse_line(address, "polhemus:/dev/ttyUSB0@115200"))
