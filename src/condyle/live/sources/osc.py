"""osc:PORT and vmc:PORT: poses in OSC messages, any address with seven numbers, or trackers of the VMC protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...errors import UsageError
from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet
from ._gathering import DatagramSource
from ._osc_messages import OscMessage, read_messages
from ._sockets import Datagram

VMC_PREFIX, VMC_SUFFIX = "/VMC/Ext/", "/Pos"
VMC_DEVICES = ("Tra", "Con", "Hmd")  # trackers, controllers, headset: in the room's own frame
# Of any sender nothing is known but the order; VMC is Unity's left-handed world with y up, in metres.
OSC = Convention("xyzw", guessed=frozenset({"rotation", "handed"}))
VMC = Convention("xyzw", unit="m", handed="left", up="y", stated=frozenset({"rotation", "unit", "handed", "up"}))


class OscPose(NamedTuple):
    """A body's name and its seven numbers."""

    body: str
    numbers: tuple[float, ...]


class OscSource(DatagramSource):
    """Poses that are sent to a port of this machine; messages become frames as a Gatherer has it."""

    def __init__(self, port: int, *, vmc: bool = False) -> None:
        word = f"{'vmc' if vmc else 'osc'}:{port}"
        super().__init__(Layout(word, (), convention=VMC if vmc else OSC, clock="arrival"), port)
        self._read = read_vmc if vmc else read_pose

    def _take(self, datagram: Datagram) -> Iterator[Packet]:
        for message in read_messages(datagram.data):
            pose = self._read(message)
            if pose is not None:
                yield from self._frames.take(pose.body, np.array(pose.numbers), datagram.arrival)


def read_pose(message: OscMessage) -> OscPose | None:
    """A message whose arguments are x y z qx qy qz qw, perhaps with a name before them; else None."""
    words, numbers = _part(message)
    if len(numbers) != 7 or len(words) > 1:
        return None
    return OscPose("/".join([message.address.strip("/"), *words]), numbers)


def read_vmc(message: OscMessage) -> OscPose | None:
    """A tracker, controller or headset of the VMC protocol; bones are relative to their parents and are not read."""
    address = message.address
    device = address.removeprefix(VMC_PREFIX).removesuffix(VMC_SUFFIX)
    words, numbers = _part(message)
    if address != f"{VMC_PREFIX}{device}{VMC_SUFFIX}" or device not in VMC_DEVICES:
        return None
    return OscPose(words[0], numbers) if len(words) == 1 and len(numbers) == 7 else None


def _part(message: OscMessage) -> tuple[list[str], tuple[float, ...]]:
    """The words and the numbers among the arguments."""
    words = [one for one in message.arguments if isinstance(one, str)]
    return words, tuple(float(one) for one in message.arguments if isinstance(one, (int, float)))


def open_source(address: str, *, vmc: bool = False) -> OscSource:
    """A port of this machine."""
    if not address.isdecimal() or not 0 < int(address) < 65_536:
        raise UsageError(f"'{address}' is no port such as osc:9000 or vmc:39539", code="bad-option")
    return OscSource(int(address), vmc=vmc)
