"""vrpn:NAME@HOST[:PORT]: the sensors of a VRPN tracker, over TCP; vrpn:*@HOST for all trackers of a server."""

from __future__ import annotations

from ...errors import UsageError
from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet, PacketError, now
from ._gathering import FRAME_MAX_S, Gatherer
from ._sockets import parse_address
from ._tcp import Connection
from ._vrpn_messages import (
    COOKIE,
    COOKIE_BYTES,
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


class VrpnSource:
    """The sensors of one tracker, or of all. Sensor 0 bears the tracker's name, others their number behind it."""

    def __init__(self, tracker: str, host: str, port: int = VRPN_PORT) -> None:
        self.word = f"vrpn:{tracker}@{host}" if port == VRPN_PORT else f"vrpn:{tracker}@{host}:{port}"
        self.ended, self.bad_packets = False, 0
        self._fault, self._tracker = "", tracker
        self._frames = Gatherer(Layout(self.word, (), convention=CONVENTION))
        self._connection = Connection(host, port, COOKIE, "VRPN")
        self._begin()

    def _begin(self) -> None:
        """Where a connection is new nothing of the one before counts: numbers are given anew."""
        self._opened = self._connection.opened
        self._buffer = bytearray()
        self._greeted = False
        self._header: VrpnHeader | None = None
        self._senders: dict[int, str] = {}
        self._kinds: dict[int, str] = {}

    @property
    def fault(self) -> str:
        if self._connection.fault or self._fault or self._frames.layout.bodies or not self._senders:
            return self._connection.fault or self._fault
        return f"no poses of '{self._tracker}' yet; the server has {', '.join(list(self._senders.values())[:8])}"

    def read(self, timeout: float) -> list[Packet]:
        packets = self._frames.flush()
        data = self._connection.receive(min(timeout, FRAME_MAX_S))
        if self._connection.opened != self._opened:
            self._begin()
        self._buffer += data
        arrival = now()
        try:
            while (part := self._take_part()) is not None:
                packets += self._take_message(part, arrival)
        except PacketError as error:
            self.bad_packets += 1
            self._fault = error.text
            self._connection.drop(error.text)  # where the next message begins is not known
            self._buffer.clear()
        return packets

    def _take_part(self) -> bytes | None:
        """The next whole part of the stream: the greeting, a header, or a body."""
        need = VRPN_HEADER.size if self._header is None else self._header.padded
        need = need if self._greeted else COOKIE_BYTES
        if len(self._buffer) < need:
            return None
        part = bytes(self._buffer[:need])
        del self._buffer[:need]
        return part

    def _take_message(self, part: bytes, arrival: float) -> list[Packet]:
        if not self._greeted:
            check_cookie(part)
            self._greeted = True
            return []
        if self._header is None:
            self._header = read_header(part)
            return []
        header, self._header = self._header, None
        body = part[: header.size]
        if header.kind in (SENDER_NAME, KIND_NAME):
            names = self._senders if header.kind == SENDER_NAME else self._kinds
            if len(names) >= VRPN_MOST_NAMES:
                raise PacketError(f"gives more than {VRPN_MOST_NAMES} names")
            names[header.sender] = read_name(body)
        elif self._kinds.get(header.kind) == POSE_MESSAGE:
            tracker = self._senders.get(header.sender, str(header.sender))
            if self._tracker in (EVERY, tracker):
                sensor, numbers = read_pose(body)
                body_name = f"{tracker}_{sensor}" if sensor else tracker
                return self._frames.take(body_name, numbers, arrival, header.time)
        return []

    def close(self) -> None:
        self.ended = True
        self._connection.close()


def open_source(address: str) -> VrpnSource:
    """NAME@HOST, or NAME@HOST:PORT."""
    tracker, at, where = address.rpartition("@")
    if not at or not tracker or not where:
        raise UsageError(f"'{address}' is no address such as vrpn:Tracker0@192.168.0.4", code="bad-option")
    host, port = parse_address(where, VRPN_PORT, "vrpn:Tracker0@192.168.0.4:3883")
    return VrpnSource(tracker, host, port)
