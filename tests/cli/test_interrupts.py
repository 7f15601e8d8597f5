"""TERM and HUP end like Ctrl-C, and Ctrl-C while the program starts gives no traceback."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from condyle.cli.interrupts import Interrupted, raise_signals
from tests.make.size import trials

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
SAID = b"condyle: interrupted; nothing was left half written\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_an_exception_with_the_shells_status(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, raise_signals() as signals:
        signal.raise_signal(number)
    assert caught.value.status == status
    assert signals.received is caught.value
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_signals() as signals:
            signal.raise_signal(signal.SIGHUP)
        assert signals.received is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_a_thread_nothing_is_changed() -> None:
    done: list[object] = []

    def work() -> None:
        with raise_signals() as signals:
            done.append(signals.received)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [None]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_ended_from_outside_says_so_and_leaves_nothing(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "condyle", "simulate", str(tmp_path / "a.csv"), "--seconds", "200"]
    with subprocess.Popen([*program, "--rate", "120"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(10_000):  # until it has begun to write
            if os.listdir(tmp_path) or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate()
    assert (process.returncode, err) == (status, SAID)
    assert os.listdir(tmp_path) == []


@pytest.mark.sized
def test_ctrl_c_while_the_program_starts_gives_no_traceback(tmp_path: Path) -> None:
    hook = "import sys, condyle.__main__ as m; sys.stdout.write('x'); sys.stdout.flush(); sys.exit(m.main())"
    rng = random.Random(1)
    for _ in trials(3, 8):
        program = [sys.executable, "-c", hook, "fit", str(tmp_path / "none.npz")]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.read(1)  # Python itself has started
            time.sleep(0.002 + rng.uniform(0, 0.25))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert process.returncode in (130, 1, -signal.SIGINT), err  # 1: it was done; -2: Python was ending already
        assert b"Traceback" not in err
