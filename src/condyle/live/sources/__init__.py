"""Where packets come from: one file a protocol, opened by a word such as `natnet:192.168.0.4`.

A protocol is a module with `open_source(address)`, and its line in `PROTOCOLS`; one that replays files has
`open_source(address, reading, alone=...)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from ...errors import CondyleError, UsageError
from ...io.format import ReadOptions
from ..reading import SourceWithOptions, changes_packets, check_streamed
from ..source import Source


class Protocol(NamedTuple):
    """A word before the colon.

    module   that speaks it
    address  what stands behind the colon
    about    what it connects
    needs    extra that has to be installed for it, or ""
    finds    the module's `find_streams` tells what streams here
    replays  it is a file, which is read as any file is
    """

    module: str
    address: str
    about: str
    needs: str = ""
    finds: bool = False
    replays: bool = False


class Stream(NamedTuple):
    """Something that streams here now: the word to open it by, and what it is."""

    word: str
    about: str


PROTOCOLS: dict[str, Protocol] = {
    "demo": Protocol("demo", "", "a simulated performer whose sensor slips"),
    "igtl": Protocol("igtl", "HOST[:PORT]", "poses of an OpenIGTLink server: PLUS, 3D Slicer, surgical trackers"),
    "lsl": Protocol("lsl", "NAME", "a stream of the Lab Streaming Layer", needs="condyle[lsl]", finds=True),
    "mvn": Protocol("mvn", "PORT", "segments of Xsens MVN, sent to this machine as positions and quaternions"),
    "natnet": Protocol("natnet", "HOST[:PORT]", "rigid bodies of OptiTrack Motive", finds=True),
    "qualisys": Protocol(
        "qualisys", "HOST[:PORT]", "rigid bodies of Qualisys Track Manager, by its real-time protocol"
    ),
    "osc": Protocol("osc", "PORT", "OSC messages to this machine: any address with x y z qx qy qz qw"),
    "vmc": Protocol("vmc", "PORT", "trackers, controllers and headset of the VMC protocol, sent to this machine"),
    "vrpn": Protocol("vrpn", "NAME@HOST[:PORT]", "the sensors of a VRPN tracker; * in the place of NAME: of all"),
    "polhemus": Protocol("polhemus", "TTY[@BAUD]", "a Polhemus Liberty or Patriot on a serial line"),
    "ascension": Protocol("ascension", "BIRDS@TTY", "an Ascension Flock of Birds on a serial line"),
    "replay": Protocol(
        "replay", "FILE[@FACTOR|@max]", "any recording that condyle reads, as if it came now", replays=True
    ),
    "ros": Protocol("replay", "BAG[@FACTOR|@max]", "a bag of ROS 1, ROS 2 or MCAP, as if it came now", replays=True),
}


def open_source(word: str, reading: ReadOptions | None = None, *, alone: bool = True) -> Source:
    """The source that a word names; raises UsageError with what can be connected.

    reading  what the user says of its numbers and its bodies
    alone    it is the only source; else bodies that are named may be at another (`reading.share_names`)
    """
    reading = reading or ReadOptions()
    name, colon, address = word.partition(":")
    if name not in PROTOCOLS or bool(colon) != bool(PROTOCOLS[name].address):
        words = ", ".join(name_protocol(known) for known in PROTOCOLS)
        raise UsageError(f"no source '{word}'; what can be connected is {words}", code="bad-option")
    if PROTOCOLS[name].address and not address:
        text = f"'{word}' does not say what to connect; it is {name}:{PROTOCOLS[name].address}"
        raise UsageError(text, code="bad-option")
    module = import_module(f".{PROTOCOLS[name].module}", __name__)
    if PROTOCOLS[name].replays:
        replayed: Source = module.open_source(address, reading, alone=alone)
        return replayed
    check_streamed(word, reading)
    source: Source = module.open_source(address)
    return SourceWithOptions(source, reading) if changes_packets(reading) else source


def name_protocol(name: str) -> str:
    """How a protocol is asked for: natnet:HOST[:PORT], demo."""
    address = PROTOCOLS[name].address
    return f"{name}:{address}" if address else name


def find_streams() -> list[Stream]:
    """What streams here and can be found by asking; a protocol whose extra is not installed is not asked."""
    found: list[Stream] = []
    for protocol in PROTOCOLS.values():
        if protocol.finds:
            try:
                found += import_module(f".{protocol.module}", __name__).find_streams()
            except CondyleError:
                continue
    return found
