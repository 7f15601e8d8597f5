"""ascension:BIRDS@TTY: an Ascension Flock of Birds on a serial line, in its binary records of position and angles."""

from __future__ import annotations

import struct
import time
from typing import NamedTuple

import numpy as np

from ...errors import UsageError
from ...findings import Finding
from ...io.log_records import Layout
from ...maths.arrays import Floats
from ...model.recording import Convention
from ..source import Packet, now
from ._gathering import FRAME_MAX_S, Gatherer
from ._serial import SerialLine

MOST_BIRDS = 126
CONFIGURE_S = 0.7  # s that the birds take to find each other
ANSWER_S = 0.3  # s that a bird may take to say its range
ASK_RANGE = b"O\x03"
RANGES_IN = {0: 36.0, 1: 72.0, 2: 144.0}  # inches of a full position, by what the bird answers
ASCENSION_START = b"P\x23\x01Y@"  # the number of the bird behind each record; position and angles; on and on
RECORD_BYTES = 13  # six numbers of two bytes, and the number of the bird
FULL_ANGLE_DEG = 180.0  # degrees of a full angle
CONVENTION = Convention("ZYX", degrees=True, unit="in", stated=frozenset({"rotation", "degrees"}))


class Bird(NamedTuple):
    """One record: the bird's number, position in parts of the range, and azimuth, elevation, roll [deg] (6,)."""

    number: int
    numbers: Floats


def take_records(buffer: bytearray, birds: int) -> tuple[list[Bird], int]:
    """The records at the front of a buffer, which they are taken from, and how many bytes were none.

    The first byte of a record alone has its highest bit set; so it is found again wherever bytes were lost.
    """
    found: list[Bird] = []
    at = bad = 0
    while len(buffer) - at >= RECORD_BYTES:
        part = buffer[at : at + RECORD_BYTES]
        whole = part[0] & 0x80 and not any(byte & 0x80 for byte in part[1:]) and 0 < part[12] <= birds
        if not whole:
            at, bad = at + 1, bad + 1
            continue
        low, high = np.frombuffer(part, np.uint8, 12).reshape(6, 2).T.astype(np.int64)
        words = ((high << 9) | ((low & 0x7F) << 2)).astype(np.uint16).view(np.int16) / 32768
        found.append(Bird(part[12], np.concatenate([words[:3], FULL_ANGLE_DEG * words[3:]])))
        at += RECORD_BYTES
    del buffer[:at]
    return found, bad


class AscensionSource:
    """The birds of a flock, named s1, s2, ... as in its logs. They send no time."""

    def __init__(self, birds: int, path: str) -> None:
        self.word = f"ascension:{birds}@{path}"
        self.ended, self.bad_packets = False, 0
        self._birds, self._buffer = birds, bytearray()
        self._line = SerialLine(path)
        self._line.write(b"P\x32" + bytes([birds]))
        time.sleep(CONFIGURE_S)
        self._range, findings = self._ask_range()
        layout = Layout(
            self.word,
            (),
            convention=CONVENTION,
            clock="arrival",
            facts={"device": "Ascension", "range": f"{self._range:g} inches"},
            findings=findings,
        )
        self._frames = Gatherer(layout)
        self._line.write(ASCENSION_START)

    def _ask_range(self) -> tuple[float, tuple[Finding, ...]]:
        """Inches of a full position, and what is said where the birds do not tell."""
        self._line.read(0.0)
        self._line.write(ASK_RANGE)
        answer = b""
        end = time.monotonic() + ANSWER_S
        while len(answer) < 2 and time.monotonic() < end:
            answer += self._line.read(end - time.monotonic())
        if len(answer) >= 2 and (code := struct.unpack("<H", answer[:2])[0]) in RANGES_IN:
            return RANGES_IN[code], ()
        text = "the birds did not say their range; 36 inches are taken: if it is 72, give --unit 0.0508 to the fit"
        return RANGES_IN[0], (Finding("unit-assumed", "warning", text, value=0.0254, unit="m"),)

    @property
    def fault(self) -> str:
        return self._line.fault

    def read(self, timeout: float) -> list[Packet]:
        packets = self._frames.flush()
        self._buffer += self._line.read(min(timeout, FRAME_MAX_S))
        arrival = now()
        birds, bad = take_records(self._buffer, self._birds)
        self.bad_packets += bad > 0
        for one in birds:
            numbers = np.concatenate([self._range * one.numbers[:3], one.numbers[3:]])
            packets += self._frames.take(f"s{one.number}", numbers, arrival)
        return packets

    def close(self) -> None:
        self.ended = True
        self._line.write(b"?")  # ends the stream
        self._line.close()


def open_source(address: str) -> AscensionSource:
    """BIRDS@TTY."""
    birds, at, path = address.partition("@")
    if not at or not path or not birds.isdecimal() or not 0 < int(birds) <= MOST_BIRDS:
        text = f"'{address}' is no flock such as ascension:4@/dev/ttyUSB0, for four birds"
        raise UsageError(text, code="bad-option")
    return AscensionSource(int(birds), path)
