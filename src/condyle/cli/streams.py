"""Standard output that is closed, full, or read by nobody any more: one sentence and the right status."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import suppress

FAILED, BROKEN_PIPE = 1, 141  # the second is what a shell reports for a program ended by SIGPIPE


_SPELLED = {"±": "+-", "°": " deg", "–": "-", "…": "...", "×": "x", "µ": "u", "σ": "sd"}


def spell_out_symbols() -> None:
    """Lets a terminal without Unicode show symbols in letters, and whatever else it lacks as an escape: a name must not
    fail.
    """
    codecs.register_error("condyle", _spell)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="condyle")


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] in _SPELLED:
        return _SPELLED[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)


def replace_closed() -> bool:
    """Puts nothing in the place of streams that whoever started the program has closed; whether output is among them.

    Else the next file that is opened would have the number of standard output.
    """
    for number in (0, 1, 2):
        with suppress(OSError):  # none is left
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    closed = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    return closed


def end_output(error: OSError | None, status: int, *, closed: bool) -> int:
    """The exit status where output could not be written as `error` says, or was closed from the start; said once."""
    if isinstance(error, BrokenPipeError):
        _silence()
        return BROKEN_PIPE
    if error is None and (not closed or status in (FAILED, 2)):
        return status
    reason = "it is closed" if error is None else error.strerror or str(error)
    what = "the standard output cannot be written" if error is None or error.filename is None else str(error.filename)
    _silence()
    with suppress(OSError):
        print(f"condyle: error: {what}: {reason}", file=sys.stderr)
    return FAILED


def _silence() -> None:
    """What is still to be written goes nowhere: Python would complain once more when it flushes at the end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
