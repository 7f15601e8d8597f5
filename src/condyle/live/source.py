"""What a source of poses is, whatever protocol it speaks: bytes become names, device time, arrival time and poses."""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple, Protocol

from ..errors import CondyleError
from ..io.log_records import Layout
from ..maths.arrays import Floats


class Packet(NamedTuple):
    """What one packet of a source says.

    layout        what its numbers mean; the same object as long as nothing changes
    device_time   [s] by the device's own clock; NaN where it sends none
    arrival_time  [s] by the clock of this machine (`now`)
    values        (layout.width,) positions of all bodies, their orientations, positions of the markers, as they were
                  sent; NaN where a body is not seen
    segment       of a file that is replayed
    """

    layout: Layout
    device_time: float
    arrival_time: float
    values: Floats
    segment: int = 0


class Source(Protocol):
    """A stream of packets, read by one thread.

    word         by which it was opened: natnet:192.168.0.4
    ended        nothing will come any more: the end of a replay
    bad_packets  number of packets that were not what the protocol says; they are left out
    fault        what was wrong with the newest of them, or with the connection; "" while all is well
    """

    @property
    def word(self) -> str: ...
    @property
    def ended(self) -> bool: ...
    @property
    def bad_packets(self) -> int: ...
    @property
    def fault(self) -> str: ...

    def read(self, timeout: float) -> list[Packet]:
        """The packets that have come, or come within `timeout` [s]; none where none did."""

    def close(self) -> None: ...


class PacketError(CondyleError):
    """A packet that is not what its protocol says."""

    def __init__(self, text: str) -> None:
        super().__init__(text, code="bad-packet")


def now() -> float:
    """[s] since 1970 as this machine's clock said when it was first asked; it never jumps."""
    return _find_origin() + time.perf_counter()


@cache
def _find_origin() -> float:
    return time.time() - time.perf_counter()
