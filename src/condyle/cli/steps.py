"""What is being done, for whoever waits: the step's name and its time, on standard error, once it takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

from ..model.progress import listen
from .terminal import escape_text, hush, quiet_before_print, redraw

SHOWN_AFTER_S = 2.0  # s of waiting before anything is shown in a terminal
PLAIN_AFTER_S = 10.0  # s of one step after which a line about it goes into a log or a pipe
REDRAWN_EVERY_S = 0.25


class StepLine:
    """The line of the step that is being done; a thread draws it, so that no step has to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._begin = self._since = time.monotonic()
        self._step, self._share = "", cast(float | None, None)
        self._told = self._shown = False
        self._terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hear(self, step: str, share: float | None) -> None:
        """A step begins, or, where it has no name, goes on."""
        if not step:
            self._share = share
            return
        with self._lock:
            self._step, self._share, self._since, self._told = step, None, time.monotonic(), False

    def hide(self) -> None:
        """Takes the line away, until the next step, because something else is printed."""
        with self._lock:
            self._clear()
            self._step = ""

    def end(self) -> None:
        self._over.set()
        self.hide()
        self._thread.join()

    def describe(self, now: float) -> str:
        """The step with how much of it is done and since when it goes on."""
        share = "" if self._share is None else f" {100 * self._share:.0f} %"
        return f"{self._step}{share}, {now - self._since:.0f} s"

    def _run(self) -> None:
        while not self._over.wait(REDRAWN_EVERY_S):
            with self._lock, suppress(OSError, ValueError):
                self._draw(time.monotonic())

    def _draw(self, now: float) -> None:
        if not self._step:
            return
        if self._terminal and now - self._begin >= SHOWN_AFTER_S:
            redraw(escape_text(self.describe(now)))
            self._shown = True
        elif not self._terminal and not self._told and now - self._since >= PLAIN_AFTER_S:
            print(f"condyle: {escape_text(self._step)} ...", file=sys.stderr, flush=True)
            self._told = True

    def _clear(self) -> None:
        if self._shown:
            with suppress(OSError, ValueError):
                redraw("")
            self._shown = False


@contextmanager
def show_steps() -> Iterator[None]:
    """Shows the steps that are done in the block, if they take long."""
    line = StepLine()
    line.start()
    try:
        with listen(line.hear), quiet_before_print(line.hide):
            yield
    finally:
        hush()
        line.end()
