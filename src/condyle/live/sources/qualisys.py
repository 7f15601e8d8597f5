"""qualisys:HOST[:PORT]: rigid bodies of Qualisys Track Manager, by its real-time protocol."""

from __future__ import annotations

import numpy as np

from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet, PacketError, now
from ._qualisys_packets import (
    DATA,
    ERROR,
    QUALISYS_HEADER,
    XML,
    QualisysHeader,
    pack_command,
    read_frame,
    read_header,
    read_names,
    read_text,
)
from ._sockets import parse_address
from ._tcp import Connection

QUALISYS_PORT = 22223  # of the little-endian protocol
QUALISYS_VERSION = "1.20"
GREETING = b"".join(
    pack_command(text) for text in (f"Version {QUALISYS_VERSION}", "GetParameters 6D", "StreamFrames AllFrames 6D")
)
CONVENTION = Convention("matrix", unit="mm", stated=frozenset({"rotation", "unit"}))


class QualisysSource:
    """The rigid bodies that a server streams while it measures. Single markers are not read."""

    def __init__(self, host: str, port: int = QUALISYS_PORT) -> None:
        self.word = f"qualisys:{host}" if port == QUALISYS_PORT else f"qualisys:{host}:{port}"
        self.ended, self.bad_packets = False, 0
        self._fault = ""
        self._layout: Layout | None = None
        self._connection = Connection(host, port, GREETING, "Qualisys")
        self._begin()

    def _begin(self) -> None:
        """Where a connection is new nothing of the one before counts."""
        self._opened = self._connection.opened
        self._buffer = bytearray()
        self._header: QualisysHeader | None = None
        self._names: list[str] = []

    @property
    def fault(self) -> str:
        return self._connection.fault or self._fault

    def read(self, timeout: float) -> list[Packet]:
        data = self._connection.receive(timeout)
        if self._connection.opened != self._opened:
            self._begin()
        return self._take_bytes(data, now())

    def _take_bytes(self, data: bytes, arrival: float) -> list[Packet]:
        """The frames that bytes of the stream end."""
        packets: list[Packet] = []
        self._buffer += data
        while True:
            need = QUALISYS_HEADER.size if self._header is None else self._header.size
            if len(self._buffer) < need:
                return packets
            part = bytes(self._buffer[:need])
            del self._buffer[:need]
            header, self._header = self._header, None
            try:
                if header is None:
                    self._header = read_header(part)
                else:
                    packets += self._take_packet(header.kind, part, arrival)
            except PacketError as error:
                self.bad_packets += 1
                self._fault = error.text
                if header is None:  # where the next packet begins is not known
                    self._connection.drop(error.text)
                    self._buffer.clear()
                    return packets

    def _take_packet(self, kind: int, body: bytes, arrival: float) -> list[Packet]:
        if kind == ERROR:
            self._fault = f"the server says: {read_text(body)}"
        elif kind == XML:
            self._names = read_names(body)
        elif kind == DATA and (frame := read_frame(body)) is not None:
            self._fault = ""
            layout = self._find_layout(len(frame.place))
            values = np.concatenate([frame.place.ravel(), frame.turn.ravel()])
            return [Packet(layout, frame.time, arrival, values)]
        return []

    def _find_layout(self, count: int) -> Layout:
        """The layout of frames with so many bodies; those that the server did not name bear their number."""
        names = (*self._names[:count], *(f"body {k + 1}" for k in range(len(self._names), count)))
        if self._layout is None or self._layout.bodies != names:
            self._layout = Layout(self.word, names, convention=CONVENTION)
        return self._layout

    def close(self) -> None:
        self.ended = True
        self._connection.close()


def open_source(address: str) -> QualisysSource:
    """The server at HOST, or HOST:PORT."""
    return QualisysSource(*parse_address(address, QUALISYS_PORT, "qualisys:192.168.0.4 or qualisys:192.168.0.4:22223"))
