"""Ctrl-C, and the signals by which systems end a program (TERM) and its terminal (HUP; BREAK), as one exception."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # of the last two a system has one


class Interrupted(KeyboardInterrupt):
    """A signal to end; `status` is what a shell reports for a program that it ended."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


class Signals:
    """What has come so far: the first signal, or None."""

    received: Interrupted | None = None


@contextmanager
def raise_signals() -> Iterator[Signals]:
    """Signals raise Interrupted in the block, so that what was begun is taken back; a second one ends at once.

    A signal that is ignored, as HUP under nohup, stays so. In a thread nothing is changed.
    """
    state = Signals()

    def handle(number: int, frame: FrameType | None) -> None:
        if state.received is not None:
            os._exit(state.received.status)
        state.received = Interrupted(number)
        raise state.received

    def swallow(info: Any) -> None:  # it was raised where Python lets no exception through, as in a finalizer
        if isinstance(info.exc_value, Interrupted):
            os._exit(info.exc_value.status)
        hook(info)

    before, hook = {}, sys.unraisablehook
    try:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handle)
        sys.unraisablehook = swallow
    except ValueError:  # not in the main thread, which alone gets signals
        pass
    try:
        yield state
    finally:
        sys.unraisablehook = hook
        for number, old in before.items():
            signal.signal(number, old)
