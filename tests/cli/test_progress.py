from __future__ import annotations

import io

import pytest

from condyle.cli.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_drawn_where_standard_error_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar("reading long.csv", 5, 10)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_terminal_sees_the_file_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar() as bar:
        bar("reading [red]long\x1b]0;x.csv", 5_000_000, 10_000_000)
        bar("reading [red]long\x1b]0;x.csv", 10_000_000, 10_000_000)
    drawn = screen.getvalue()
    assert "10.0/10.0 MB" in drawn
    assert "reading [red]long\\x1b]0;x.csv" in drawn.replace("\n", "")


def test_a_terminal_sees_nothing_of_short_files(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with ProgressBar():
        pass
    assert screen.getvalue() == ""


def test_an_interrupt_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    bar = ProgressBar()

    def interrupted() -> None:
        with bar:
            bar("reading long.csv", 5, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert bar._progress is not None
    assert bar._progress.live.is_started is False
