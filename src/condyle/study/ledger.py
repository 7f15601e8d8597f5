"""ledger.jsonl: one line a finished take, appended, flushed to the disk, and never changed.

Whatever ends a run, lines that were written stay, so that at most the takes that were running are done again. A last
line without its end was being written: it is cut off. Of several lines of one take the last one holds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal

import msgspec

from ..errors import CondyleError
from ..io.atomic import flush_file
from .plan import TakeStep

LEDGER = "ledger.jsonl"
LONGEST_LINE = 2**24  # bytes; a figure of hundreds of joints takes a hundredth of it
# Faults of the machine, not of the take: the next run tries again.
PASSING_FAULTS = (
    "worker-died", "out-of-memory", "unwritable", "folder-busy", "no-such-file", "unreadable-file",
    "calibration-failed",
)  # fmt: skip


class JointFacts(msgspec.Struct, frozen=True):
    """A joint as the tables have it: lengths [m], angles [rad]; see model.skeleton.Joint."""

    child: str
    parent: str
    kind: str
    point: str
    residual: float
    explained: float | None
    support: float | None
    frames: int
    half_width: float | None
    turned: tuple[float, float, float]
    p_child_joint: tuple[float, float, float]
    p_parent_joint: tuple[float, float, float]


class LimbFacts(msgspec.Struct, frozen=True):
    """A length [m] on `body` between its joints with two neighbours, which are named, whichever root was chosen.

    axes  the neighbours whose joint counts as an axis, across which it is measured, and not as a centre
    """

    body: str
    from_body: str
    to_body: str
    length: float | None
    low: float | None
    high: float | None
    between: str
    axes: tuple[str, ...] = ()


class Worst(msgspec.Struct, frozen=True):
    """The finding that costs most."""

    severity: str
    code: str
    text: str


class Facts(msgspec.Struct, frozen=True):
    """What a study keeps of a fit.

    tone, text  of the verdict; sure: of `count` joints; length_95: see model.skeleton.Verdict
    looks       findings that are warnings or errors
    advice      what to move more, and for how long, where the fit is not good
    """

    fit_id: str
    bodies: int
    frames: int
    seconds: float
    tone: str
    text: str
    sure: int
    count: int
    length_95: float | None
    looks: int
    worst: Worst | None
    advice: tuple[str, ...]
    joints: tuple[JointFacts, ...]
    limbs: tuple[LimbFacts, ...]


class Fault(msgspec.Struct, frozen=True):
    """Why a take failed: its code, its sentence, and the traceback where it is a fault of the program."""

    code: str
    text: str
    trace: str = ""


class LedgerRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a take that is done, or failed.

    key      of the step; see plan.TakeStep
    ended    when, in UTC; wall, cpu [s]: what it took; worker: by whom; tries: how often it was begun in this run
    """

    take: str
    key: str
    state: Literal["done", "failed"]
    facts: Facts | None = None
    fault: Fault | None = None
    ended: str = ""
    wall: float = 0.0
    cpu: float = 0.0
    worker: str = ""
    tries: int = 1


def fail(step: TakeStep, text: str, *, code: str, tries: int = 1) -> LedgerRecord:
    """The record of a take that failed without having been done."""
    ended = datetime.now(UTC).isoformat(timespec="milliseconds")
    return LedgerRecord(step.name, step.key, "failed", fault=Fault(code, text), ended=ended, tries=tries)


@dataclass(frozen=True)
class _Place:
    begin: int
    size: int
    key: str
    state: str
    code: str


class Ledger:
    """The ledger of a study, open for reading and appending.

    told  sentences about lines that were passed over
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER
        self.told: list[str] = []
        self._places: dict[str, _Place] = {}
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._handle = os.open(self.path, flags, 0o666)
            self._end = 0
            self._read()
        except OSError as error:
            raise self._describe(error) from None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._handle)

    def __len__(self) -> int:
        return len(self._places)

    def append(self, record: LedgerRecord) -> None:
        """Adds a line; it is on the disk when this returns. Raises CondyleError, and adds nothing, where it cannot."""
        line = msgspec.json.encode(record) + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            flush_file(self._handle)
        except OSError as error:
            with suppress(OSError):  # the next run cuts the line off
                os.ftruncate(self._handle, self._end)
            raise self._describe(error) from None
        self._keep(record, self._end, len(line))
        self._end += len(line)

    def state(self, take: str, key: str) -> str | None:
        """The state of a take under a key: done, failed, failed-passing where another try may help; None: not there."""
        place = self._places.get(take)
        if place is None or place.key != key:
            return None
        return "failed-passing" if place.code in PASSING_FAULTS else place.state

    def read(self, take: str, key: str) -> LedgerRecord | None:
        """The line of a take under a key."""
        place = self._places.get(take)
        if place is None or place.key != key:
            return None
        os.lseek(self._handle, place.begin, os.SEEK_SET)
        return msgspec.json.decode(os.read(self._handle, place.size), type=LedgerRecord)

    def _read(self) -> None:
        damaged: list[int] = []
        decoder = msgspec.json.Decoder(LedgerRecord)
        with open(self.path, "rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
                if len(line) == LONGEST_LINE:
                    raise CondyleError(
                        "has a line that no study writes; name another folder",
                        code="damaged-file",
                        path=self.path,
                        line=number,
                    )
                if not line.endswith(b"\n"):
                    os.ftruncate(self._handle, self._end)
                    self.told.append(f"{self.path}: its last line was cut off while it was written, and is left out")
                    break
                try:
                    self._keep(decoder.decode(line), self._end, len(line))
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    damaged.append(number)
                self._end += len(line)
        if damaged:
            which = f"line {damaged[0]} is" if len(damaged) == 1 else f"lines {', '.join(map(str, damaged[:8]))} are"
            self.told.append(f"{self.path}: {which} damaged and left out; what stood there is done again")

    def _keep(self, record: LedgerRecord, begin: int, size: int) -> None:
        code = "" if record.fault is None else record.fault.code
        self._places[record.take] = _Place(begin, size, record.key, record.state, code)

    def _describe(self, error: OSError) -> CondyleError:
        text = f"cannot be written: {error.strerror or error}; the same command goes on once it can"
        return CondyleError(text, code="unwritable", path=self.path)
