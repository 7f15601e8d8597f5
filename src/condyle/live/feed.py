"""Sources, each read by a thread of its own: every packet goes to the recorder first, then to its clock, then on."""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..errors import CondyleError, UsageError
from .clock import SourceClock, Stamp, State
from .recorder import Recorder
from .source import Packet, Source, now

READ_TIMEOUT_S = 0.1  # s that a source is waited for before it is asked again whether to stop
RATE_PACKETS = 200  # newest packets whose rate is shown
Listener = Callable[[Packet, Stamp], None]


@dataclass(frozen=True)
class SourceStatus:
    """How a source is at a moment.

    bodies     of its newest packet, and seen, how many of them have a pose; markers are counted with them
    rate       [Hz] of its newest packets; None before there are any
    delay      [s] of the newest packet beyond the shortest
    packets    that came; again, late, jumps and resumed of them (clock.Stamp); bad ones are not counted among them
    fault      what is wrong with it, or ""
    silent     [s] since its newest packet
    replayed   it is a file: where it is silent, this machine is busy
    drift      [s/s] of this machine's clock against its own, known by `followed` [s] of packets
    """

    word: str
    state: State
    ended: bool
    bodies: int
    seen: int
    rate: float | None
    delay: float
    packets: int
    again: int
    late: int
    jumps: int
    resumed: int
    bad_packets: int
    fault: str
    silent: float = math.inf
    replayed: bool = False
    drift: float = 0.0
    followed: float = 0.0


def check_distinct(sources: Sequence[Source]) -> None:
    """Raises where two sources have one name: a log could not tell their packets apart."""
    for word, count in Counter(source.word for source in sources).items():
        if count > 1:
            raise UsageError(f"the source {word} is named twice", code="bad-call")


def is_replayed(packet: Packet) -> bool:
    """Whether a packet comes from a file."""
    return packet.layout.clock in ("file", "frames")


class _Reader:
    """One source and the thread that reads it."""

    def __init__(self, source: Source, recorder: Recorder, listener: Listener | None, stop: threading.Event) -> None:
        self.source, self.clock = source, SourceClock()
        self.failed = ""
        self._recorder, self._listener, self._stop = recorder, listener, stop
        self._kinds: Counter[str] = Counter()
        self._arrivals: deque[float] = deque(maxlen=RATE_PACKETS)
        self._newest: tuple[Packet, Stamp] | None = None
        self.thread = threading.Thread(target=self._run, name=f"condyle-{source.word}", daemon=True)
        self.done = threading.Event()  # a join that a signal interrupts takes a running thread for ended

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and not self.source.ended:
                for packet in self.source.read(READ_TIMEOUT_S):
                    self._take(packet)
        except Exception as error:  # whatever a source does wrong, the others go on, and it is told
            self.failed = str(error) if isinstance(error, (CondyleError, OSError)) else repr(error)
        finally:
            self.done.set()

    def _take(self, packet: Packet) -> None:
        with suppress(CondyleError):  # the recorder keeps and tells the fault; who looks on still sees the packet
            self._recorder.write(packet)
        add = self.clock.add_replayed if is_replayed(packet) else self.clock.add
        stamp = add(packet.device_time, packet.arrival_time)
        self._kinds[stamp.kind] += 1
        self._arrivals.append(packet.arrival_time)
        self._newest = packet, stamp
        if self._listener is not None:
            self._listener(packet, stamp)

    def status(self, moment: float) -> SourceStatus:
        newest, kinds, arrivals = self._newest, self._kinds, list(self._arrivals)
        span = arrivals[-1] - arrivals[0] if arrivals else 0.0
        bodies = seen = 0
        if newest is not None:
            position, _, points = newest[0].layout.split(newest[0].values)
            bodies = len(position) + len(points)
            seen = int(np.isfinite(np.concatenate([position, points])).all(axis=1).sum())
        return SourceStatus(
            word=self.source.word,
            state=self.clock.state(moment),
            ended=self.source.ended or bool(self.failed),
            bodies=bodies,
            seen=seen,
            rate=(len(arrivals) - 1) / span if span > 0 else None,
            delay=newest[1].delay if newest is not None else math.nan,
            packets=kinds.total(),
            again=kinds["again"],
            late=kinds["late"],
            jumps=kinds["jump"],
            resumed=kinds["resumed"],
            bad_packets=self.source.bad_packets,
            fault=self.failed or self.source.fault,
            silent=self.clock.silent(moment),
            replayed=newest is not None and is_replayed(newest[0]),
            drift=self.clock.drift,
            followed=self.clock.followed,
        )


class Feed:
    """Sources that are recorded. listener: called with every packet and its stamp, by the threads of the sources."""

    def __init__(self, sources: Sequence[Source], recorder: Recorder, listener: Listener | None = None) -> None:
        check_distinct(sources)
        self.recorder = recorder
        self._stop = threading.Event()
        self._readers = [_Reader(source, recorder, listener, self._stop) for source in sources]

    @property
    def sources(self) -> list[Source]:
        return [reader.source for reader in self._readers]

    def start(self) -> None:
        for reader in self._readers:
            reader.thread.start()

    @property
    def ended(self) -> bool:
        """Nothing more will come from any source."""
        return all(reader.done.is_set() for reader in self._readers)

    def status(self) -> list[SourceStatus]:
        """How every source is now."""
        moment = now()
        return [reader.status(moment) for reader in self._readers]

    def wait(self, timeout: float) -> bool:
        """Whether all sources ended within so many seconds."""
        end = now() + timeout
        for reader in self._readers:
            reader.done.wait(max(end - now(), 0.0))
        return self.ended

    def close(self) -> None:
        """Stops reading, closes the sources and ends the log."""
        self._stop.set()
        for reader in self._readers:
            if reader.thread.ident is not None:
                reader.done.wait()
            reader.source.close()
        self.recorder.close()
