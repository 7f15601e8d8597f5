"""igtl:HOST[:PORT]: poses of an OpenIGTLink server: trackers in the operating theatre, PLUS, 3D Slicer."""

from __future__ import annotations

from dataclasses import replace

from ...io.log_records import ClockKind, Layout
from ...model.recording import Convention
from ..source import Packet, PacketError, now
from ._gathering import FRAME_MAX_S, Gatherer
from ._igtl_messages import IGTL_HEADER, IgtlHeader, holds_poses, pack_start, read_body, read_header
from ._sockets import parse_address
from ._tcp import Connection

IGTL_PORT = 18944
PERIOD_MS = 10  # asked of servers that send TDATA on demand
CONVENTION = Convention("matrix", unit="mm", stated=frozenset({"rotation", "unit"}))


class IgtlSource:
    """One server. Millimetres, as the protocol says."""

    def __init__(self, host: str, port: int = IGTL_PORT) -> None:
        self.word = f"igtl:{host}" if port == IGTL_PORT else f"igtl:{host}:{port}"
        self.ended, self.bad_packets = False, 0
        self._fault = ""
        self._frames: Gatherer | None = None
        self._connection = Connection(host, port, pack_start(PERIOD_MS), "OpenIGTLink")
        self._begin()

    def _begin(self) -> None:
        """Where a connection is new nothing of the one before counts."""
        self._opened = self._connection.opened
        self._buffer = bytearray()
        self._header: IgtlHeader | None = None
        self._passed = 0  # bytes of a message that is not read, still to come

    @property
    def fault(self) -> str:
        return self._connection.fault or self._fault

    def read(self, timeout: float) -> list[Packet]:
        packets = [] if self._frames is None else self._frames.flush()
        data = self._connection.receive(min(timeout, FRAME_MAX_S))
        if self._connection.opened != self._opened:
            self._begin()
        return packets + self._take_bytes(data, now())

    def _take_bytes(self, data: bytes, arrival: float) -> list[Packet]:
        """The frames that bytes of the stream end."""
        packets: list[Packet] = []
        self._buffer += data
        while True:
            if self._passed:
                skipped = min(self._passed, len(self._buffer))
                del self._buffer[:skipped]
                self._passed -= skipped
            need = IGTL_HEADER.size if self._header is None else self._header.size
            if self._passed or len(self._buffer) < need:
                return packets
            part = bytes(self._buffer[:need])
            del self._buffer[:need]
            header, self._header = self._header, None
            try:
                if header is None:
                    self._begin_message(read_header(part))
                else:
                    packets += self._take_body(header, part, arrival)
                    self._fault = ""
            except PacketError as error:
                self.bad_packets += 1
                self._fault = error.text
                if header is None:  # where the next message begins is not known
                    self._connection.drop(error.text)
                    self._buffer.clear()
                    return packets

    def _begin_message(self, header: IgtlHeader) -> None:
        if holds_poses(header):
            self._header = header
        else:
            self._passed = header.size

    def _take_body(self, header: IgtlHeader, body: bytes, arrival: float) -> list[Packet]:
        packets: list[Packet] = []
        for pose in read_body(header, body):
            if self._frames is None:
                convention = replace(CONVENTION, rotation=pose.rotation)
                clock: ClockKind = "device" if header.time else "arrival"
                self._frames = Gatherer(Layout(self.word, (), convention=convention, clock=clock))
            layout = self._frames.layout
            if pose.rotation != layout.convention.rotation:
                raise PacketError("sends both matrices and quaternions; only those that came first are recorded")
            device = header.time if layout.clock == "device" else float("nan")
            packets += self._frames.take(pose.body, pose.numbers, arrival, device)
        return packets

    def close(self) -> None:
        self.ended = True
        self._connection.close()


def open_source(address: str) -> IgtlSource:
    """The server at HOST, or HOST:PORT."""
    return IgtlSource(*parse_address(address, IGTL_PORT, "igtl:192.168.0.4 or igtl:192.168.0.4:18944"))
