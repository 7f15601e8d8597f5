"""How far a long file is read and swept: bars on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from .terminal import escape_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBar:
    """To be called with what is done, the bytes so far and the bytes in all; it is drawn from the first call to the end
    of the `with`, a line for each thing that is done, and leaves nothing behind."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, what: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if self._progress is None:
            self._progress = _start_bar()
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(escape_text(what), total=total)
        self._progress.update(self._tasks[what], completed=done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()


def _start_bar() -> Progress:
    from rich import progress
    from rich.console import Console

    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False),
        transient=True,
    )
    bar.start()
    return bar
