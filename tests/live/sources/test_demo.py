"""live/sources/demo.py: the simulated performer."""

from __future__ import annotations

import math

import pytest

from condyle.errors import UsageError
from condyle.live.sources import open_source
from condyle.live.sources.demo import DEMO_RATE_HZ, DEMO_S


def test_the_performer_streams_poses_by_the_clock() -> None:
    source = open_source("demo")
    packets = source.read(0.2)
    while not packets:
        packets = source.read(0.2)
    assert len(packets[0].layout.bodies) == 15
    assert all(map(math.isfinite, packets[0].values.tolist()))
    assert not source.ended
    source.close()
    assert DEMO_S * DEMO_RATE_HZ > 1000


def test_it_has_no_address() -> None:
    with pytest.raises(UsageError, match="no source 'demo:1'"):
        open_source("demo:1")
