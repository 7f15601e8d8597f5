"""condyle view: the address is printed, a browser is opened only where that was not forbidden, and Ctrl-C ends it."""

from __future__ import annotations

import json
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from condyle.cli import main
from condyle.report import page as pages
from condyle.report.page import DATA_PLACE
from tests.make.fitted import fitted, take


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted(tmp_path_factory.mktemp("view") / "out", take(12))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser was asked for."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    monkeypatch.setattr(pages, "read_template", lambda: DATA_PLACE)
    return asked


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What is done while the verb waits, which then ends as by Ctrl-C."""
    calls: list[Callable[[], None]] = []
    wait = threading.Event.wait

    def stop(event: threading.Event, timeout: float | None = None) -> bool:
        if not sys._getframe(1).f_code.co_filename.endswith("view.py"):  # threads wait for events too
            return wait(event, timeout)
        assert timeout is not None, "on Windows Ctrl-C would not end it"
        for call in calls:
            call()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", stop)
    return calls


@pytest.mark.usefixtures("meanwhile")
def test_the_address_is_printed_and_opened(folder: Path, opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(folder)]) == 0
    first, last = capsys.readouterr().out.strip().split("\n")
    assert first.startswith("http://127.0.0.1:")
    assert last == "Ctrl-C ends it."
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(1.0)
    assert opened == [first]


@pytest.mark.usefixtures("meanwhile")
def test_a_program_gets_the_address_as_facts(
    folder: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(folder), "--no-open", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert f":{facts['port']}/" in facts["url"]
    assert opened == []


@pytest.mark.usefixtures("opened")
def test_the_page_is_served_while_it_waits(
    folder: Path, meanwhile: list[Callable[[], None]], capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[int] = []

    def ask() -> None:
        with urlopen(capsys.readouterr().out.split()[0], timeout=20) as answer:
            answers.append(answer.status)

    meanwhile.append(ask)
    assert main(["view", str(folder), "--no-open"]) == 0
    assert answers == [200]


def test_a_folder_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--no-open", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
