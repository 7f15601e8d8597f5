"""python -m condyle is the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import condyle
from condyle.__main__ import _NAMES
from condyle.cli import interrupts


def test_the_package_runs_as_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "condyle", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"condyle {condyle.__version__}\n", "")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_that_is_ignored_stays_so() -> None:
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); from condyle.__main__ import main; "
    code += "sys.argv[1:] = ['--version']; main(); print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", _NAMES[:3])
def test_a_signal_when_all_is_done_or_nothing_is_imported_ends_as_ctrl_c_does(name: str) -> None:
    begin, ring = "import sys, signal\nfrom condyle.__main__ import main\n", f"signal.raise_signal(signal.{name})"
    done = f"sys.argv[1:] = ['--version']\nmain()\n{ring}"
    early = f"class First:\n    def find_spec(*_): {ring}\nsys.meta_path.insert(0, First)\nmain()"  # its first import
    for code in (done, early):
        ended = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (128 + getattr(signal, name), "")


def test_the_first_handlers_are_for_the_signals_of_the_whole_run() -> None:
    assert _NAMES == interrupts._NAMES


def test_warnings_of_libraries_do_not_reach_a_terminal_unless_they_are_asked_for() -> None:
    code = (
        "import warnings; import condyle.cli as cli; cli.main = lambda: warnings.warn('loud') or 0\n"
        "from condyle.__main__ import main; main()"
    )
    quiet, asked = (
        subprocess.run([sys.executable, *words, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        for words in ((), ("-W", "default"))
    )
    assert quiet.stderr == ""
    assert "loud" in asked.stderr


@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["no-such-verb"], 2)])
def test_the_installed_program_ends_at_once_after_what_was_registered_for_its_end(
    words: list[str], status: int
) -> None:
    code = (
        "import atexit, sys, threading; from condyle.__main__ import start\n"
        f"atexit.register(print, 'registered'); sys.argv[1:] = {words!r}\n"
    )
    leave = "status = start(); print('came back'); sys.exit(status)"
    work = "threading.Timer(0.2, print, ['worked']).start()\n"
    for before, told in (("", ["registered"]), (work, ["came back", "registered", "worked"])):
        done = subprocess.run([sys.executable, "-c", code + before + leave], capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if not line.startswith("condyle ")]
        assert (done.returncode, sorted(said)) == (status, told)
