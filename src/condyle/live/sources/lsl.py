"""lsl:NAME: poses from the Lab Streaming Layer, whose channels say whose they are."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ...errors import CondyleError
from ..source import Packet, now
from . import Stream
from ._channels import Channels, read_channels

RESOLVE_S = 2.0  # s that a stream of a given name is looked for
LISTEN_S = 1.0  # s that any streams are looked for
BUFFER_S = 60  # s of samples that the library holds while this program is busy
SAMPLES_AT_ONCE = 256
LSL_MOST_CHANNELS = 10_000
# Where liblsl looks for its settings beside LSLAPICFG; without any it says on the terminal that it has none.
_SETTINGS = ("lsl_api.cfg", "~/lsl_api/lsl_api.cfg", "/etc/lsl_api/lsl_api.cfg")
_ERRORS_ALONE = "[log]\nlevel = -2\n"
# What the metadata of motion capture call a channel, and how tables would.
_PARTS = {
    **{f"Position{axis}": axis.lower() for axis in "XYZ"},
    **{f"Orientation{axis}": f"q{axis.lower()}" for axis in "WXYZ"},
}


class LslSource:
    """One stream. It is found again by the library where its sender comes back."""

    def __init__(self, name: str) -> None:
        pylsl = import_library()
        self.word = f"lsl:{name}"
        self.ended, self.bad_packets, self.fault = False, 0, ""
        found = pylsl.resolve_byprop("name", name, 1, RESOLVE_S)
        if not found:
            there = ", ".join(stream.word for stream in find_streams()) or "none"
            raise CondyleError(f"no LSL stream is named '{name}'; there are {there}", code="no-answer")
        self._inlet = pylsl.StreamInlet(found[0], max_buflen=BUFFER_S, recover=True)
        try:
            info = self._inlet.info(RESOLVE_S)
            self._inlet.open_stream(RESOLVE_S)
        except Exception as error:  # of the library's own kinds
            raise CondyleError(f"{self.word} does not say what it streams: {error}", code="no-answer") from None
        self._channels = describe_stream(info, self.word)

    def read(self, timeout: float) -> list[Packet]:
        samples, stamps = self._inlet.pull_chunk(timeout=timeout, max_samples=SAMPLES_AT_ONCE)
        if not stamps:
            return []
        arrival = now()
        rows = self._channels.values(np.asarray(samples, np.float64))
        layout = self._channels.layout
        return [Packet(layout, float(stamp), arrival, row) for stamp, row in zip(stamps, rows, strict=True)]

    def close(self) -> None:
        self.ended = True
        self._inlet.close_stream()


def describe_stream(info: Any, word: str) -> Channels:
    """What the channels of a stream mean, by the labels, objects, types and units of its description."""
    count = info.channel_count()
    if not _holds_numbers(info) or not 0 < count <= LSL_MOST_CHANNELS:
        raise CondyleError(f"{word} does not stream numbers", code="missing-column")
    labels, units = [], []
    channel = info.desc().child("channels").child("channel")
    for _ in range(count):
        part = _PARTS.get(channel.child_value("type"))
        owner = channel.child_value("object") or channel.child_value("marker")
        labels.append(f"{owner}_{part}" if part and owner else channel.child_value("label"))
        units.append(channel.child_value("unit"))
        channel = channel.next_sibling("channel")
    return read_channels(word, labels, units)


def _holds_numbers(info: Any) -> bool:
    pylsl = import_library()
    return info.channel_format() not in (pylsl.cf_string, pylsl.cf_undefined)


@cache
def import_library() -> Any:
    """pylsl, which tells errors alone unless its user has settings for it; raises where it is not installed."""
    try:
        import pylsl  # type: ignore[import-untyped]
    except (ImportError, RuntimeError):  # the second where it finds no liblsl
        raise CondyleError('LSL needs pylsl and liblsl: pip install "condyle[lsl]"', code="missing-extra") from None
    if "LSLAPICFG" not in os.environ and not any(os.path.isfile(os.path.expanduser(one)) for one in _SETTINGS):
        with suppress(AttributeError, NotImplementedError):  # liblsl before 1.17.7 cannot be told
            pylsl.set_config_content(_ERRORS_ALONE)
    return pylsl


def open_source(address: str) -> LslSource:
    """The stream of that name."""
    return LslSource(address)


def find_streams() -> list[Stream]:
    """The streams on this network that hold numbers."""
    found = []
    for info in import_library().resolve_streams(LISTEN_S):
        if _holds_numbers(info):
            rate = f" at {info.nominal_srate():g} Hz" if info.nominal_srate() else ""
            about = f"{info.type() or 'no type'}, {info.channel_count()} channels{rate}, from {info.hostname()}"
            found.append(Stream(f"lsl:{info.name()}", about))
    return found
