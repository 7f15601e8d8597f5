"""Hostile packets: a decoder reads them, or refuses them with the declared error, in bounded time and memory."""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from condyle.live.source import PacketError
from tests.fuzz.mutate import Mutator
from tests.make.size import pick

YARDSTICK_S = 0.25e-3  # s of CPU time that 2000 small numbers take to unpack on a machine that does nothing else
MOST_SECONDS = 1e-3  # s of CPU time for one packet
MOST_BYTES = 2**20  # of memory for one packet
MUTANTS = pick(2_000, 20_000, 20_000)
LONGEST_PACKET = 65_507  # bytes of a datagram
TRACED_STEP = 20  # mutants from one whose memory is traced to the next: that takes ten times as long
REPEATS = 20  # of a packet that took long: this process may have been interrupted


@dataclass
class Outcome:
    """How a decoder stood hostile packets; slowest [s] and largest [bytes] are those of single packets."""

    read: int = 0
    refused: int = 0
    slowest: float = 0.0
    largest: int = 0
    failures: list[str] = field(default_factory=list)


def attack(decode: Callable[[bytes], object], seeds: Sequence[bytes], count: int, name: str) -> Outcome:
    """So many mutants of sound packets, given to a decoder; the name seeds the damage."""
    mutator = Mutator(seeds, np.random.default_rng(zlib.crc32(name.encode())))
    outcome = Outcome()
    for raw in seeds:
        decode(raw)
    for k in range(count):
        raw = mutator.next()[:LONGEST_PACKET]
        seconds = _run(decode, raw, outcome)
        if seconds > MOST_SECONDS:
            seconds = min(_run(decode, raw, None) / _slowdown() for _ in range(REPEATS))
        outcome.slowest = max(outcome.slowest, seconds)
        if k % TRACED_STEP == 0:
            outcome.largest = max(outcome.largest, _trace(decode, raw))
        if len(outcome.failures) > 3:
            break
    return outcome


def _slowdown() -> float:
    """How many times slower than alone the machine is just now, at least 1."""
    begin = time.thread_time()
    for k in range(2000):
        struct.unpack_from("<ii", b"condyle 0.1.0", k % 5)
    return max(1.0, (time.thread_time() - begin) / YARDSTICK_S)


def _run(decode: Callable[[bytes], object], raw: bytes, outcome: Outcome | None) -> float:
    begin = time.thread_time()
    try:
        decode(raw)
        refused = False
    except PacketError:
        refused = True
    except Exception as error:
        if outcome is not None:
            outcome.failures.append(f"{error!r} for {raw[:500]!r}")
        return 0.0
    seconds = time.thread_time() - begin
    if outcome is not None:
        outcome.refused += refused
        outcome.read += not refused
    return seconds


def _trace(decode: Callable[[bytes], object], raw: bytes) -> int:
    tracemalloc.start()
    try:
        decode(raw)
    except Exception:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def check(decode: Callable[[bytes], object], seeds: Sequence[bytes], name: str) -> None:
    """Fails unless a decoder stands the mutants of sound packets."""
    outcome = attack(decode, seeds, MUTANTS, name)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.read, "no mutant was read: the damage is too coarse"
    assert outcome.refused, "no mutant was refused"
    assert outcome.slowest <= MOST_SECONDS
    assert outcome.largest <= MOST_BYTES
