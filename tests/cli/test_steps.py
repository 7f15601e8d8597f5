from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path

import pytest

from condyle.cli import main, steps
from condyle.cli.steps import StepLine, show_steps
from condyle.cli.terminal import CLEAR_LINE, print_line
from condyle.model.progress import begin_step, tell_share


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(stream: io.StringIO, words: str) -> bool:
    end = time.monotonic() + 20
    while words not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return words in stream.getvalue()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHOWN_AFTER_S", "PLAIN_AFTER_S", "REDRAWN_EVERY_S"):
        monkeypatch.setattr(steps, name, 0.01)


@pytest.mark.usefixtures("hasty")
def test_a_terminal_shows_the_step_its_share_and_its_time_and_is_clean_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")
    with show_steps():
        begin_step("reading a\x1b.csv (298 MB)")
        tell_share(0.42)
        assert wait_for(screen, "reading a\\x1b.csv (298 MB) 42 %, 0 s")
        print_line("done")
    assert screen.getvalue().endswith(CLEAR_LINE)


@pytest.mark.usefixtures("hasty")
def test_a_terminal_without_escapes_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    with show_steps():
        begin_step("reading a.csv")
        assert wait_for(screen, "reading a.csv, 0 s")
    assert "\x1b" not in screen.getvalue()
    assert not screen.getvalue().split("\r")[-2].strip()


@pytest.mark.usefixtures("hasty")
def test_a_pipe_gets_one_line_for_each_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with show_steps():
        begin_step("reading a.csv")
        assert wait_for(log, "reading a.csv")
        begin_step("finding the tree")
        assert wait_for(log, "finding the tree")
    assert log.getvalue() == "condyle: reading a.csv ...\ncondyle: finding the tree ...\n"


def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with show_steps():
        begin_step("reading a.csv")
    assert screen.getvalue() == ""


def test_a_step_begins_without_the_share_of_the_one_before() -> None:
    line = StepLine()
    line.hear("reading", None)
    line.hear("", 0.5)
    assert line.describe(time.monotonic()).startswith("reading 50 %")
    line.hear("fitting", None)
    assert line.describe(time.monotonic()).startswith("fitting, ")


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_a_fit_in_a_terminal_of_40_columns_stays_within_them(tmp_path: Path) -> None:
    import pty
    import subprocess

    from condyle.cli import main

    take = tmp_path / "take.npz"
    assert main(["simulate", str(take), "--seconds", "4", "--position-noise", "1"]) == 0
    for words in (["fit", "take.npz"], ["fit", "--help"], ["--help"]):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
        program = [sys.executable, "-m", "condyle", *words]
        process = subprocess.Popen(program, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment)
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # what Linux says at the end of a terminal
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
        os.close(ours)
        lines = shown.decode().replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[2m", "").splitlines()
        long = [line for line in lines if len(line.rstrip()) > 40 and "\x1b" not in line]
        assert not long, long


def test_what_is_done_with_a_recording_and_a_fit_tells_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    monkeypatch.setattr(StepLine, "hear", lambda self, step, share: told.append(step))
    for words, step in (
        ("simulate take.npz --seconds 12", "simulating 12 s of exercise"),
        ("simulate take.npz --seconds 12", "writing take.npz"),
        ("fit take.npz -o out --no-report", "solving the motion again where sensors are far off"),
        ("angles out", "reading out"),
        ("angles out", "computing the angles"),
        ("export out --to bvh", "making the figure"),
    ):
        told.clear()
        assert main(words.split()) == 0
        assert step in told, words
