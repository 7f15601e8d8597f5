"""live/source.py: the clock of arrivals never jumps, and a fault of a packet stays one."""

from __future__ import annotations

import time

import pytest

from condyle.live.source import PacketError, now


def test_arrivals_are_seconds_since_1970_and_never_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(now() - time.time()) < 5
    before = now()
    monkeypatch.setattr(time, "time", lambda: 0.0)  # somebody sets the clock of the machine
    assert 0 <= now() - before < 1


def test_a_fault_of_a_packet_has_its_code() -> None:
    assert PacketError("too short").code == "bad-packet"
