"""vrpn:NAME@HOST[:PORT]: the sensors of a VRPN tracker, over TCP; vrpn:*@HOST for all trackers of a server."""

from __future__ import annotations

from ...errors import UsageError
from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet, PacketError
from ._gathering import Gatherer
from ._sockets import parse_address
from ._tcp import Connection, StreamSource
from ._vrpn_messages import (
    COOKIE,
    KIND_NAME,
    POSE_MESSAGE,
    SENDER_NAME,
    VRPN_HEADER,
    VrpnHeader,
    check_cookie,
    read_header,
    read_name,
    read_pose,
)

VRPN_PORT = 3883
EVERY = "*"
VRPN_MOST_NAMES = 5000  # of senders and of kinds of messages, in one connection
CONVENTION = Convention("xyzw", unit="m", stated=frozenset({"rotation"}))


class VrpnSource(StreamSource[VrpnHeader]):
    """The sensors of one tracker, or of all. Sensor 0 bears the tracker's name, others their number behind it."""

    head_bytes = VRPN_HEADER.size  # and of the greeting before them all

    def __init__(self, tracker: str, host: str, port: int = VRPN_PORT) -> None:
        word = f"vrpn:{tracker}@{host}" if port == VRPN_PORT else f"vrpn:{tracker}@{host}:{port}"
        self._tracker, self._poses = tracker, Gatherer(Layout(word, (), convention=CONVENTION))
        super().__init__(word, Connection(host, port, COOKIE, "VRPN"), self._poses)

    def _begin(self) -> None:
        """Numbers are given anew."""
        super()._begin()
        self._greeted = False
        self._senders: dict[int, str] = {}
        self._kinds: dict[int, str] = {}

    @property
    def fault(self) -> str:
        if super().fault or self._poses.layout.bodies or not self._senders:
            return super().fault
        return f"no poses of '{self._tracker}' yet; the server has {', '.join(list(self._senders.values())[:8])}"

    def _read_head(self, part: bytes) -> VrpnHeader | None:
        if self._greeted:
            return read_header(part)
        check_cookie(part)
        self._greeted = True
        return None

    def _take(self, header: VrpnHeader, body: bytes, arrival: float) -> list[Packet]:
        body = body[: header.used]
        if header.kind in (SENDER_NAME, KIND_NAME):
            names = self._senders if header.kind == SENDER_NAME else self._kinds
            if len(names) >= VRPN_MOST_NAMES:
                raise PacketError(f"gives more than {VRPN_MOST_NAMES} names")
            names[header.sender] = read_name(body)
        elif self._kinds.get(header.kind) == POSE_MESSAGE:
            tracker = self._senders.get(header.sender, str(header.sender))
            if self._tracker in (EVERY, tracker):
                sensor, numbers = read_pose(body)
                self._fault = ""
                body_name = f"{tracker}_{sensor}" if sensor else tracker
                return self._poses.take(body_name, numbers, arrival, header.time)
        return []


def open_source(address: str) -> VrpnSource:
    """NAME@HOST, or NAME@HOST:PORT."""
    tracker, at, where = address.rpartition("@")
    if not at or not tracker or not where:
        raise UsageError(f"'{address}' is no address such as vrpn:Tracker0@192.168.0.4", code="bad-option")
    host, port = parse_address(where, VRPN_PORT, "vrpn:Tracker0@192.168.0.4:3883")
    return VrpnSource(tracker, host, port)
