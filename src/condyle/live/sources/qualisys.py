"""qualisys:HOST[:PORT]: rigid bodies of Qualisys Track Manager, by its real-time protocol."""

from __future__ import annotations

import numpy as np

from ...io.log_records import Layout
from ...model.recording import Convention
from ..source import Packet
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
from ._tcp import Connection, StreamSource

QUALISYS_PORT = 22223  # of the little-endian protocol
QUALISYS_VERSION = "1.20"
GREETING = b"".join(
    pack_command(text) for text in (f"Version {QUALISYS_VERSION}", "GetParameters 6D", "StreamFrames AllFrames 6D")
)
CONVENTION = Convention("matrix", unit="mm", stated=frozenset({"rotation", "unit"}))


class QualisysSource(StreamSource[QualisysHeader]):
    """The rigid bodies that a server streams while it measures. Single markers are not read."""

    head_bytes = QUALISYS_HEADER.size

    def __init__(self, host: str, port: int = QUALISYS_PORT) -> None:
        word = f"qualisys:{host}" if port == QUALISYS_PORT else f"qualisys:{host}:{port}"
        self._layout: Layout | None = None
        super().__init__(word, Connection(host, port, GREETING, "Qualisys"))

    def _begin(self) -> None:
        super()._begin()
        self._names: list[str] = []

    def _read_head(self, part: bytes) -> QualisysHeader:
        return read_header(part)

    def _take(self, header: QualisysHeader, body: bytes, arrival: float) -> list[Packet]:
        if header.kind == ERROR:
            self._fault = f"the server says: {read_text(body)}"
        elif header.kind == XML:
            self._names = read_names(body)
        elif header.kind == DATA and (frame := read_frame(body)) is not None:
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


def open_source(address: str) -> QualisysSource:
    """The server at HOST, or HOST:PORT."""
    return QualisysSource(*parse_address(address, QUALISYS_PORT, "qualisys:192.168.0.4 or qualisys:192.168.0.4:22223"))
