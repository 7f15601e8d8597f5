"""live/sources/vmc.py: OSC with the addresses and the world of the VMC protocol."""

from __future__ import annotations

from condyle.live.sources.vmc import open_source
from tests.live.sources.test_osc import free_port


def test_a_vmc_source_has_unity_s_world() -> None:
    port = free_port()
    source = open_source(str(port))
    assert source.word == f"vmc:{port}"
    assert source._frames.layout.convention.handed == "left"
    source.close()
