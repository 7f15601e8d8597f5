"""Processes that are started never hear Ctrl-C; whoever started them does."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from condyle.maths.children import shield_children

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
ASKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


@POSIX
@pytest.mark.parametrize("shielded", [True, False])
def test_a_child_that_is_started_in_the_block_hears_no_interrupt(shielded: bool) -> None:
    if shielded:
        with shield_children():
            child = subprocess.Popen([sys.executable, "-c", ASKED], stdout=subprocess.PIPE)
    else:
        child = subprocess.Popen([sys.executable, "-c", ASKED], stdout=subprocess.PIPE)
    assert child.communicate()[0].split() == [str(shielded).encode()]


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_block_is_heard_after_it_whichever_thread_gets_it(number: signal.Signals) -> None:
    done: list[str] = []

    def interrupt() -> None:
        with shield_children():
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            done.append("all of the block")

    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    finally:
        signal.signal(number, before)
        over.set()
        other.join()
    assert done
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@POSIX
def test_in_a_thread_children_are_shielded_as_well() -> None:
    found: list[bytes] = []

    def start() -> None:
        with shield_children():
            found.append(subprocess.run([sys.executable, "-c", ASKED], stdout=subprocess.PIPE, check=True).stdout)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert found[0].split() == [b"True"]


def test_on_windows_the_console_is_asked_to_pass_children_by(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, bool]] = []
    kernel = SimpleNamespace(SetConsoleCtrlHandler=lambda handler, on: asked.append((handler, on)))
    monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    with shield_children():
        assert asked == [(None, True)]
    assert asked == [(None, True), (None, False)]
