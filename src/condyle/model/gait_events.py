"""GaitEvent: the moment in which a foot comes to rest on the room, or leaves it."""

from __future__ import annotations

from typing import Literal

from .values import dataclass


@dataclass(frozen=True)
class GaitEvent:
    """time [s] in its recording, the number of which is `segment`; side "l", "r" or ""; body: that of the foot."""

    time: float
    segment: int
    side: str
    kind: Literal["strike", "off"]
    body: str
