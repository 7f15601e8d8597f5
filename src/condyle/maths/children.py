"""Processes that this one starts, and Ctrl-C and HUP, which a terminal sends to all of them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # of the last two a system has one


@contextmanager
def shield_children() -> Iterator[None]:
    """Processes that are started in the block never hear Ctrl-C or HUP, not while they import either: whoever started
    them ends them. A signal that comes meanwhile is heard after the block, or a process would find nobody there when it
    has started; on Windows Ctrl-C is lost.
    """
    with _defer_signals(), _hide_interrupts():
        yield


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Signals that are handled here wait for the end of the block; a mask of this thread would leave it to others."""
    late: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        late.append(number)

    before = {}
    try:
        for number in (getattr(signal, name) for name in ENDING if hasattr(signal, name)):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread, which alone gets signals
        pass
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        for number in late[:1]:
            signal.raise_signal(number)


@contextmanager
def _hide_interrupts() -> Iterator[None]:
    """What is started in the block inherits that it passes them by."""
    if not hasattr(signal, "pthread_sigmask"):
        import ctypes

        ignore = ctypes.windll.kernel32.SetConsoleCtrlHandler  # type: ignore[attr-defined]
        ignore(None, True)
        try:
            yield
        finally:
            ignore(None, False)
        return
    from multiprocessing import resource_tracker

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        resource_tracker.ensure_running()  # another would know nothing of what it had noted; it hears no INT and TERM
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
