"""natnet:HOST[:PORT]: rigid bodies of OptiTrack Motive, by NatNet 3 and 4."""

from __future__ import annotations

import socket
import time

import numpy as np

from ...errors import CondyleError
from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet, PacketError
from . import Stream
from ._natnet_packets import (
    CONNECT,
    DISCOVERY,
    FRAME_MESSAGE,
    KEEP_ALIVE,
    MODELS,
    MOST_RIGID_BODIES,
    REQUEST_MODELS,
    SERVER_INFO,
    NatNetFrame,
    Server,
    pack_greeting,
    pack_message,
    read_frame,
    read_head,
    read_models,
    read_server,
)
from ._sockets import Datagram, find_host, open_udp, parse_address, receive

COMMAND_PORT = 1510
ANSWER_TIMEOUT_S = 3.0  # s that a server may take to answer, and to say which bodies it streams
FORGOTTEN_AFTER_S = 1.0  # s without a packet after which the server is greeted again
ASK_PERIOD_S = 0.5  # s between two questions that were not answered, and between two signs of life
DISCOVERY_S = 1.0  # s that answers to a question to everybody are waited for
EVERYBODY = "255.255.255.255"
CONVENTION = Convention("xyzw", unit="m", up="y", stated=frozenset({"rotation", "unit"}))


class NatnetSource:
    """The rigid bodies that a server streams. The bones of its own skeletons and single markers are not read."""

    def __init__(self, host: str, port: int = COMMAND_PORT) -> None:
        self.word = f"natnet:{host}" if port == COMMAND_PORT else f"natnet:{host}:{port}"
        self.ended, self.bad_packets, self.fault = False, 0, ""
        self._server: Server | None = None
        self._names: dict[int, str] | None = None
        self._columns: dict[int, int] = {}
        self._layout: Layout | None = None
        self._host = (find_host(host), port)
        self._sockets = [open_udp()]
        self._asked = self._heard = -np.inf
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        """Waits until the server has said who it is and what it streams."""
        end = time.monotonic() + ANSWER_TIMEOUT_S
        while time.monotonic() < end and self._names is None:
            self._handle(ASK_PERIOD_S / 2)
        if self._server is None:
            host, port = self._host
            why = f" ({self.fault})" if self.fault else ""
            text = (
                f"no NatNet server answers at {host}:{port}{why}; switch streaming on in Motive, and let its network "
                "interface be the one that this machine is on"
            )
            raise CondyleError(text, code="no-answer")
        self._names = self._names or {}

    def _ask(self) -> None:
        """What is not known yet, and a sign of life, not too often."""
        if time.monotonic() - self._asked < ASK_PERIOD_S:
            return
        self._asked = time.monotonic()
        if self._server is None or time.monotonic() - self._heard > FORGOTTEN_AFTER_S:
            message = pack_greeting(CONNECT)  # a server that was started anew does not know who listens
        else:
            message = pack_message(REQUEST_MODELS if self._names is None else KEEP_ALIVE)
        try:
            self._sockets[0].sendto(message, self._host)
        except OSError as error:
            self.fault = f"cannot be reached: {error.strerror or error}"

    def read(self, timeout: float) -> list[Packet]:
        return self._handle(timeout)

    def _handle(self, timeout: float) -> list[Packet]:
        self._ask()
        packets = []
        for datagram in receive(self._sockets, timeout):
            if datagram.sender[0] != self._host[0]:
                continue  # somebody else's
            try:
                packet = self._decode(datagram)
            except PacketError as error:
                self.bad_packets += 1
                self.fault = error.text
                continue
            self._heard, self.fault = time.monotonic(), ""
            if packet is not None:
                packets.append(packet)
        return packets

    def _decode(self, datagram: Datagram) -> Packet | None:
        kind, cursor = read_head(datagram.data)
        if kind == SERVER_INFO:
            server = read_server(cursor)
            if self._server is None and server.multicast is not None:
                self._join(server.port, server.multicast)
            if self._server is None:
                self._asked = -np.inf
            self._server = server
        elif self._server is None:
            return None
        elif kind == MODELS:
            self._names = read_models(cursor, self._server.version)
            self._layout = None
        elif kind == FRAME_MESSAGE and self._names is not None:
            return self._make_packet(read_frame(cursor, self._server.version), datagram.arrival)
        return None

    def _join(self, port: int, group: str) -> None:
        """Listens to a group, on the network that the server is reached by."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect(self._host)  # sends nothing
            own = one.getsockname()[0]
        shared = open_udp(port, shared=True)
        self._sockets.append(shared)
        try:
            member = socket.inet_aton(group) + socket.inet_aton(own)
            shared.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError as error:
            text = f"the group {group} cannot be joined: {error.strerror or error}; let Motive stream by unicast"
            raise CondyleError(text, code="no-answer") from None

    def _make_packet(self, frame: NatNetFrame, arrival: float) -> Packet:
        ids = frame.ids.tolist()
        if self._layout is None or not all(number in self._columns for number in ids):
            self._name_bodies(ids)
        assert self._layout is not None
        values = np.full(self._layout.width, np.nan)
        position, quaternion, _ = self._layout.split(values)
        columns = np.array([self._columns[number] for number in ids], np.int64)[frame.tracked]
        position[columns], quaternion[columns] = frame.position[frame.tracked], frame.quaternion[frame.tracked]
        return Packet(self._layout, frame.time, arrival, values)

    def _name_bodies(self, ids: list[int]) -> None:
        """A column for every body that is described or came; one without a name is called by its number."""
        names = dict(self._names or {})
        known = dict.fromkeys([*names, *self._columns, *ids])
        if len(known) > MOST_RIGID_BODIES:
            raise PacketError(f"more than {MOST_RIGID_BODIES} rigid bodies came in this session")
        self._columns = {number: k for k, number in enumerate(known)}
        bodies: list[str] = []
        for number in known:
            name = names.get(number) or f"body {number}"
            bodies.append(name if name not in bodies else f"{name} {number}")
        program = self._server.program if self._server is not None else ""
        self._layout = Layout(self.word, tuple(bodies), convention=CONVENTION, facts={"program": program})

    def close(self) -> None:
        self.ended = True
        for one in self._sockets:
            one.close()


def open_source(address: str) -> NatnetSource:
    """The server at HOST, or HOST:PORT."""
    return NatnetSource(*parse_address(address, COMMAND_PORT, "natnet:192.168.0.4 or natnet:192.168.0.4:1510"))


def find_streams() -> list[Stream]:
    """The servers that answer a question to everybody on this network."""
    found: dict[str, Stream] = {}
    with open_udp() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try:
            one.sendto(pack_greeting(DISCOVERY), (EVERYBODY, COMMAND_PORT))
        except OSError:  # no network
            return []
        end = time.monotonic() + DISCOVERY_S
        while (left := end - time.monotonic()) > 0:
            for datagram in receive([one], left):
                try:
                    kind, cursor = read_head(datagram.data)
                    if kind == SERVER_INFO:
                        server = read_server(cursor)
                        version = ".".join(map(str, server.version))
                        about = f"{server.program}, NatNet {version}"
                        found[datagram.sender[0]] = Stream(f"natnet:{datagram.sender[0]}", about)
                except PacketError:
                    continue
    return list(found.values())
