"""The records of a session log, which the recorder appends and the format session-log reads; docs/live.md.

A file is a first line and records: two marking bytes, a kind, the length of what follows, its checksum, and that. So
everything before a torn end is whole, and reading finds the next whole record behind damage.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from typing import Any, Literal, NamedTuple, get_type_hints
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..errors import CondyleError
from ..findings import CODES, Finding
from ..model.clock import LATEST
from ..model.recording import Convention, width_of
from ..model.take import OwnSkeleton
from ..model.values import dataclass

LOG_MAGIC = b"condyle session log 1\n"
LAYOUT, FRAME_RECORD, LOST, MARK, END = b"L", b"F", b"X", b"M", b"E"  # kinds of records
RECORD_HEAD = struct.Struct("<2scxII")  # marking bytes, kind, a zero, bytes that follow, their checksum
FRAME_RECORD_HEAD = struct.Struct("<Iidd")  # layout, segment, device time [s], arrival time [s]; then float64 numbers
LAYOUT_NUMBER = struct.Struct("<I")  # by which frames name it; then its JSON
LOST_COUNT = struct.Struct("<Q")  # frames that could not be written before this place
MARK_HEAD = struct.Struct("<d?")  # arrival time [s], whether the session begins anew there; then its text
MOST_RECORD_BYTES = 2**24  # of one record: a frame of 200,000 poses
MOST_SEARCHED_SHARE = 4  # times the length of a log that may be looked at in search of whole records behind damage
RECORD_MARK = b"\xc7\x1a"
_PLAIN = ("source", "bodies", "markers", "clock", "rate", "facts", "solved_by")  # of a layout, as they stand in JSON

ClockKind = Literal["device", "arrival", "file", "frames"]


@dataclass(frozen=True, eq=False)
class Layout:
    """What the numbers of a source's packets mean; a source whose bodies change gives another one.

    source      word that the source was opened by: natnet:192.168.0.4
    bodies      names of the m bodies, and markers of the k markers
    convention  how the numbers become poses, as for a file
    clock       "device": packets bear the device's own time; "arrival": they bear none; "file": time as a file has it,
                replayed; "frames": a file without time, of `rate` [Hz] where it says so
    facts, findings, solved_by, own   what a file that is replayed says of itself
    """

    source: str
    bodies: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    convention: Convention = field(default_factory=Convention)
    clock: ClockKind = "device"
    rate: float | None = None
    facts: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    solved_by: str | None = None
    own: OwnSkeleton | None = None

    @property
    def width(self) -> int:
        """Numbers of a packet: positions of the bodies, their orientations, positions of the markers."""
        return (3 + width_of(self.convention.rotation)) * len(self.bodies) + 3 * len(self.markers)

    def split(self, numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Views of positions (..., m, 3), orientations (..., m, 3 | 4 | 9) and places of markers (..., k, 3) in the
        numbers (..., width) of packets.
        """
        m, turn, rest = len(self.bodies), width_of(self.convention.rotation), numbers.shape[:-1]
        place, turned, points = np.split(numbers, [3 * m, (3 + turn) * m], axis=-1)
        return place.reshape(*rest, m, 3), turned.reshape(*rest, m, turn), points.reshape(*rest, len(self.markers), 3)


class LogRecord(NamedTuple):
    """One whole record: its kind and what it holds."""

    kind: bytes
    payload: memoryview


class Mark(NamedTuple):
    """A moment that an operator marked: arrival time [s], and whether everything before it is left out."""

    arrival: float
    anew: bool
    text: str


def encode_mark(mark: Mark) -> bytes:
    """What the record of a mark holds."""
    return MARK_HEAD.pack(mark.arrival, mark.anew) + mark.text.encode()


def decode_mark(payload: bytes | memoryview) -> Mark | None:
    """The mark that was encoded; None where it is none."""
    if len(payload) < MARK_HEAD.size:
        return None
    arrival, anew = MARK_HEAD.unpack_from(payload)
    if not abs(arrival) < LATEST:
        return None
    return Mark(arrival, anew, bytes(payload[MARK_HEAD.size :]).decode(errors="replace"))


@dataclass
class Damage:
    """What was not whole in a log, known when all its records were walked.

    torn     bytes at the end that are no whole record
    skipped  bytes before whole records that are none
    closed   the log was ended by whoever wrote it
    """

    torn: int = 0
    skipped: int = 0
    closed: bool = False


def pack_record(kind: bytes, payload: bytes) -> bytes:
    """The bytes of a record."""
    return RECORD_HEAD.pack(RECORD_MARK, kind, len(payload), crc32(payload, crc32(kind))) + payload


def walk_records(log: memoryview, damage: Damage) -> Iterator[LogRecord]:
    """The whole records of a log after its first line; what is not whole is added to the damage."""
    at, raw = len(LOG_MAGIC), log.obj
    budget = MOST_SEARCHED_SHARE * len(log)
    while at < len(log):
        record = _read_record(log, at)
        if record is not None:
            yield record
            damage.closed = record.kind == END
            at += RECORD_HEAD.size + len(record.payload)
            continue
        start = at
        while record is None and budget > 0:
            at = raw.find(RECORD_MARK, at + 1)  # type: ignore[attr-defined]
            if at < 0:
                break
            record = _read_record(log, at)
            budget -= RECORD_HEAD.size + _count_declared_bytes(log, at)
        if record is None:
            damage.torn, damage.closed = len(log) - start, False
            return
        damage.skipped += at - start


def _count_declared_bytes(log: memoryview, at: int) -> int:
    """Bytes that a record would have by its head, within the log and the bound."""
    room = len(log) - at - RECORD_HEAD.size
    return 0 if room < 0 else min(RECORD_HEAD.unpack_from(log, at)[2], room, MOST_RECORD_BYTES)


def _read_record(log: memoryview, at: int) -> LogRecord | None:
    """The record that begins at a byte; None where none does, or it is not whole."""
    begin = at + RECORD_HEAD.size
    if begin > len(log):
        return None
    mark, kind, length, checksum = RECORD_HEAD.unpack_from(log, at)
    if mark != RECORD_MARK or length > MOST_RECORD_BYTES or begin + length > len(log):
        return None
    payload = log[begin : begin + length]
    return LogRecord(kind, payload) if crc32(payload, crc32(kind)) == checksum else None


def encode_frame(number: int, segment: int, device: float, arrival: float, values: NDArray[np.float64]) -> bytes:
    """What the record of a frame holds: the numbers of the layout `number`, and when [s] they were made and came."""
    return FRAME_RECORD_HEAD.pack(number, segment, device, arrival) + values.tobytes()


def encode_layout(number: int, layout: Layout) -> bytes:
    """What the record of a layout holds: its number and its JSON, from which every number comes back bit by bit."""
    import msgspec

    convention, own = layout.convention, layout.own
    said = {
        "stated": sorted(convention.stated),
        "given": sorted(convention.given),
        "guessed": sorted(convention.guessed),
    }
    plain: dict[str, Any] = {name: getattr(layout, name) for name in _PLAIN}
    plain["convention"] = {
        **{name: getattr(convention, name) for name in Convention.__dataclass_fields__ if name not in said},
        **said,
    }
    plain["findings"] = [{name: getattr(one, name) for name in Finding.__dataclass_fields__} for one in layout.findings]
    if own is not None:
        plain["own"] = {"names": own.names, "parent": own.parent.tolist(), "place": own.p_parent_joint.tolist()}
    return LAYOUT_NUMBER.pack(number) + msgspec.json.encode(plain)


def decode_layout(payload: bytes | memoryview) -> tuple[int, Layout]:
    """The layout that was encoded and its number; raises CondyleError where it is none."""
    import msgspec

    if len(payload) < LAYOUT_NUMBER.size:
        raise CondyleError("a layout without its number", code="damaged-file")
    try:
        found = msgspec.json.decode(payload[LAYOUT_NUMBER.size :], type=_wire())
        convention = msgspec.convert(found.convention, Convention)
        findings = [msgspec.convert(one, Finding) for one in found.findings if one.get("code") in CODES]
        own = None if found.own is None else OwnSkeleton(found.own.names, found.own.parent, found.own.place)
    except (msgspec.MsgspecError, CondyleError, UnicodeDecodeError, TypeError, ValueError, RecursionError) as error:
        raise CondyleError(f"what its numbers mean cannot be read ({error})", code="damaged-file") from None
    if own is not None:
        _check_tree(own)
    plain = {name: getattr(found, name) for name in _PLAIN}
    layout = Layout(convention=convention, findings=tuple(findings), own=own, **plain)
    return LAYOUT_NUMBER.unpack_from(payload)[0], layout


def _check_tree(own: OwnSkeleton) -> None:
    """Raises where bones hang on none, or in a circle: nothing that walks up the bones would end."""
    parent = own.parent.tolist()
    if any(not -1 <= up < len(parent) for up in parent):
        raise CondyleError("a bone of its skeleton hangs on none", code="damaged-file")
    whole = {-1}
    for bone in range(len(parent)):
        way: dict[int, None] = {}
        while bone not in whole and bone not in way:
            way[bone] = None
            bone = parent[bone]
        if bone in way:
            raise CondyleError("the bones of its skeleton hang in a circle", code="damaged-file")
        whole.update(way)


@cache
def _wire() -> Any:
    """The type by which the JSON of a layout is read."""
    import msgspec

    hints = get_type_hints(Layout)
    own = msgspec.defstruct(
        "Own", [("names", list[str]), ("parent", list[int]), ("place", list[tuple[float, float, float]])]
    )
    others: list[Any] = [("convention", dict[str, Any]), ("findings", list[dict[str, Any]]), ("own", own | None, None)]
    return msgspec.defstruct("Layout", [*((name, hints[name]) for name in _PLAIN), *others])
