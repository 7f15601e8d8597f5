"""vmc:PORT: trackers, controllers and the headset of the VMC protocol, which is OSC."""

from __future__ import annotations

from .osc import OscSource
from .osc import open_source as open_osc


def open_source(address: str) -> OscSource:
    """A port of this machine that a VMC performer sends to."""
    return open_osc(address, vmc=True)
