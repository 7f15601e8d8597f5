"""live/sources/polhemus.py: a device emulated on a pseudo-terminal that sends a real recording as binary records."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from condyle.io.formats import read_recording
from condyle.live.sources._serial import SERIAL_CHUNK_BYTES
from condyle.live.sources.polhemus import (
    POLHEMUS_HEADER,
    POLHEMUS_START,
    POLHEMUS_STOP,
    RECORD,
    open_source,
    take_records,
)
from tests.live.hostile import MOST_BYTES, MOST_SECONDS, attack
from tests.make.size import pick

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")


def record(station: int, milliseconds: int, numbers: list[float], tag: bytes = b"LY") -> bytes:
    body = RECORD.pack(milliseconds, milliseconds // 4, 0, *numbers)
    return POLHEMUS_HEADER.pack(tag, station, ord("C"), ord(" "), 0, len(body)) + body


SOUND = b"".join(record(s, 4 * k, [k, s, 0, 1, 0, 0, 0]) for k in range(3) for s in (1, 2))
ANSWER = POLHEMUS_HEADER.pack(b"LY", 1, ord("O"), ord(" "), 0, 5) + b"hello"


def test_records_are_taken_and_other_answers_passed_over() -> None:
    buffer = bytearray(ANSWER + SOUND + record(3, 9, [0] * 7, b"PA") + SOUND[:20])
    found, bad = take_records(buffer)
    assert [(one.number, one.time) for one in found] == [
        *((s, 4 * k / 1000) for k in range(3) for s in (1, 2)),
        (3, 0.009),
    ]
    assert bad == 0
    assert bytes(buffer) == SOUND[:20]
    buffer += SOUND[20:48]
    assert len(take_records(buffer)[0]) == 1


def test_bytes_between_records_are_thrown_away_and_counted() -> None:
    found, bad = take_records(bytearray(SOUND[:30] + SOUND))
    assert len(found) == 6
    assert bad > 0
    assert take_records(bytearray(b"noise" * 100))[0] == []


@pytest.mark.sized
def test_hostile_bytes_are_passed_over_in_bounded_time_and_memory() -> None:
    outcome = attack(
        lambda raw: take_records(bytearray(raw[:SERIAL_CHUNK_BYTES])),
        [SOUND * 8, ANSWER + SOUND],
        pick(2000, 20_000, 20_000),
        "p",
    )
    assert not outcome.failures
    assert outcome.slowest <= MOST_SECONDS
    assert outcome.largest <= MOST_BYTES


class Device:
    """A Liberty on a pseudo-terminal: sends its records when it is told to, until it is told to stop."""

    def __init__(self, frames: list[bytes]) -> None:
        self.own, self.other = pty.openpty()
        self.path = os.ttyname(self.other)
        self.frames, self.told = frames, b""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while POLHEMUS_START not in self.told:
            self.told += os.read(self.own, 1000)
        for raw in self.frames:
            os.write(self.own, raw)
            time.sleep(0.0005)

    def close(self) -> None:
        self.thread.join()
        os.close(self.own)
        os.close(self.other)


def play(frames: list[bytes], count: int) -> tuple[Device, list]:
    device = Device(frames)
    source = open_source(device.path)
    got, end = [], time.monotonic() + 20
    while len(got) < count and time.monotonic() < end:
        got += source.read(0.05)
    source.close()
    device.close()
    assert source.bad_packets == 0
    return device, got


def test_the_device_is_asked_for_binary_quaternions_in_centimetres() -> None:
    device, got = play([SOUND, SOUND[48:144]], 4)
    assert device.told.startswith(POLHEMUS_STOP + POLHEMUS_START)
    assert got[0].layout.bodies == ("s1", "s2")
    assert (got[0].layout.convention.rotation, got[0].layout.convention.unit) == ("wxyz", "cm")
    assert [packet.device_time for packet in got[:3]] == [0.0, 0.004, 0.008]


def test_a_real_recording_comes_through_the_line_as_it_was(shared_data: Path) -> None:
    path = shared_data / "polhemus_liberty" / "hinge_x.csv"
    if not path.is_file():
        pytest.skip("no recording of a Liberty")
    bodies = read_recording(path).bodies
    assert bodies is not None
    position, turn = bodies.position[:500].astype(np.float32), bodies.orientation[:500].astype(np.float32)
    frames = [
        b"".join(record(s + 1, 4 * k, [*position[k, s].tolist(), *turn[k, s].tolist()]) for s in range(2))
        for k in range(500)
    ]
    _, got = play([*frames, frames[-1]], 500)
    values = np.stack([packet.values for packet in got[:500]])
    assert np.array_equal(values[:, :6].reshape(-1, 2, 3), position)
    assert np.array_equal(values[:, 6:].reshape(-1, 2, 4), turn)
