"""igtl:HOST[:PORT]: poses of an OpenIGTLink server: trackers in the operating theatre, PLUS, 3D Slicer."""

from __future__ import annotations

from dataclasses import replace

from ...io.log_records import ClockKind, Layout
from ...model.recording import Convention
from ..source import Packet, PacketError
from ._gathering import Gatherer
from ._igtl_messages import IGTL_HEADER, IgtlHeader, holds_poses, pack_start, read_body, read_header
from ._sockets import parse_address
from ._tcp import Connection, StreamSource

IGTL_PORT = 18944
PERIOD_MS = 10  # asked of servers that send TDATA on demand
CONVENTION = Convention("matrix", unit="mm", stated=frozenset({"rotation", "unit"}))


class IgtlSource(StreamSource[IgtlHeader]):
    """One server. Millimetres, as the protocol says."""

    head_bytes = IGTL_HEADER.size

    def __init__(self, host: str, port: int = IGTL_PORT) -> None:
        word = f"igtl:{host}" if port == IGTL_PORT else f"igtl:{host}:{port}"
        super().__init__(word, Connection(host, port, pack_start(PERIOD_MS), "OpenIGTLink"))

    def _read_head(self, part: bytes) -> IgtlHeader | None:
        header = read_header(part)
        if holds_poses(header):
            return header
        self._passed = header.size
        return None

    def _take(self, header: IgtlHeader, body: bytes, arrival: float) -> list[Packet]:
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
        self._fault = ""
        return packets


def open_source(address: str) -> IgtlSource:
    """The server at HOST, or HOST:PORT."""
    return IgtlSource(*parse_address(address, IGTL_PORT, "igtl:192.168.0.4 or igtl:192.168.0.4:18944"))
