"""live/sources/ascension.py: a flock emulated on a pseudo-terminal."""

from __future__ import annotations

import os
import struct
import threading
import time

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.live.sources import ascension
from condyle.live.sources._serial import SERIAL_CHUNK_BYTES
from condyle.live.sources.ascension import ASCENSION_START, open_source, take_records
from tests.live.hostile import MOST_BYTES, MOST_SECONDS, attack
from tests.make.size import pick

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
STEP = 4 / 32768  # of the full range: words have 14 bits


def record(bird: int, numbers: list[float]) -> bytes:
    """Position in parts of the range and angles [deg], as a bird sends them."""
    words = [round(one * 32768) for one in numbers[:3]] + [round(one / 180 * 32768) for one in numbers[3:]]
    out = bytearray()
    for word in words:
        bits = word & 0xFFFF
        out += bytes([bits >> 2 & 0x7F, bits >> 9 & 0x7F])
    out[0] |= 0x80
    return bytes(out) + bytes([bird])


POSES = {1: [0.5, -0.25, 0.125, 90.0, -45.0, 170.0], 2: [-0.5, 0.0, 0.75, -135.0, 10.0, -5.0]}
SOUND = b"".join(record(bird, numbers) for bird, numbers in POSES.items())


def test_records_become_parts_of_the_range_and_degrees() -> None:
    buffer = bytearray(SOUND + SOUND[:5])
    found, bad = take_records(buffer, 2)
    assert (bad, bytes(buffer)) == (0, SOUND[:5])
    for one in found:
        assert one.numbers[:3] == pytest.approx(POSES[one.number][:3], abs=STEP)
        assert one.numbers[3:] == pytest.approx(POSES[one.number][3:], abs=180 * STEP)


def test_a_record_is_found_again_where_bytes_were_lost() -> None:
    found, bad = take_records(bytearray(SOUND[3:] + SOUND), 2)
    assert [one.number for one in found] == [2, 1, 2]
    assert bad == 10
    assert take_records(bytearray(SOUND), 1)[0][0].number == 1  # a bird that is not there is none


@pytest.mark.sized
def test_hostile_bytes_are_passed_over_in_bounded_time_and_memory() -> None:
    count = pick(2000, 20_000, 20_000)
    outcome = attack(
        lambda raw: take_records(bytearray(raw[:SERIAL_CHUNK_BYTES]), 2), [SOUND * 4, SOUND], count, "ascension"
    )
    assert not outcome.failures
    assert outcome.slowest <= MOST_SECONDS
    assert outcome.largest <= MOST_BYTES


class Flock:
    """Answers its range where it is asked, and streams when it is told to."""

    def __init__(self, answer: bytes) -> None:
        self.own, self.other = pty.openpty()
        self.path, self.told, self.answer = os.ttyname(self.other), b"", answer
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while ASCENSION_START not in self.told:
            self.told += os.read(self.own, 1000)
            if self.told.endswith(b"O\x03"):
                os.write(self.own, self.answer)
        for _ in range(50):
            os.write(self.own, SOUND)
            time.sleep(0.002)

    def close(self) -> None:
        self.thread.join()
        os.close(self.own)
        os.close(self.other)


@pytest.mark.parametrize(("answer", "inches", "told"), [(struct.pack("<H", 1), 72.0, 0), (b"", 36.0, 1)])
def test_a_flock_is_configured_asked_for_its_range_and_recorded(
    answer: bytes, inches: float, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ascension, "CONFIGURE_S", 0.05)
    flock = Flock(answer)
    source = open_source(f"2@{flock.path}")
    got, end = [], time.monotonic() + 10
    while len(got) < 40 and time.monotonic() < end:
        got += source.read(0.05)
    source.close()
    flock.close()
    assert flock.told.startswith(b"P\x32\x02O\x03")
    packet = got[-1]
    assert packet.layout.bodies == ("s1", "s2")
    assert packet.values[:3] == pytest.approx(inches * np.array(POSES[1][:3]), abs=inches * STEP)
    assert packet.values[6:9] == pytest.approx(POSES[1][3:], abs=180 * STEP)
    assert np.isnan(packet.device_time)
    assert len(packet.layout.findings) == told


@pytest.mark.parametrize("address", ["/dev/ttyS0", "x@/dev/ttyS0", "0@/dev/ttyS0", "500@/dev/ttyS0", "2@"])
def test_an_address_needs_the_number_of_birds(address: str) -> None:
    with pytest.raises(UsageError, match="is no flock such as ascension:4@"):
        open_source(address)
