"""The program `condyle`, also as `python -m condyle`. Only what an interrupt at this moment needs is imported first."""

import _signal  # type: ignore[import-not-found]  # signal imports enum first
import os
import sys

GARBAGE_MIN_OBJECTS = 200_000  # objects made between two searches for cycles: more than a short fit makes. They took a
# tenth of it with Python's 700, a twentieth with 10,000: importing makes many objects and no cycles
FREED_FIRST_BYTES = 2**24  # once these were freed, glibc keeps the pages of arrays up to this size for the next ones: a
# fifteenth of a fit. They are never touched, so they cost nothing


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # those of cli.interrupts, which is not imported yet


def _end(number: int, frame: object) -> None:
    os._exit(128 + number)  # while the program is imported, and when it is done, there is nothing to take back


def main() -> int:
    """Runs the command line; a signal ends it without a traceback from the first moment to the last."""
    for name in _NAMES:
        number = getattr(_signal, name, None)
        if number is not None and _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _end)
    import gc
    import warnings

    gc.set_threshold(GARBAGE_MIN_OBJECTS)
    bytes(FREED_FIRST_BYTES)
    from .cli import main as run

    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what there is to say of the data is a finding, not a warning of a library
    status = run()
    gc.freeze()  # nothing is searched for cycles on the way out: that was a twentieth of a short fit
    return status


def start() -> int:
    """The program as it is installed: `main`, and an end without taking every object apart, a twentieth of a short fit.
    What was registered for the end is done. `python -m condyle`, which a profiler can run, ends as Python does.
    """
    status = main()
    import atexit
    import threading

    if threading.active_count() > 1:  # somebody is at work
        return status
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
