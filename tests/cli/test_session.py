"""cli/session.py: sessions with a routine, of a known performer, and what an operator says."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

import condyle
from condyle.cli import main
from condyle.cli.session import print_alarm, take_guide
from condyle.findings import Finding
from condyle.io.exports import write_take
from condyle.live.alarms import Alarm
from tests.make.sessions import person

SCRIPT = '[[step]]\nprompt = "Stand still"\nat_least = 0\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_take(tmp_path / "take.npz", person(seconds=6, seed=4))
    return tmp_path


def test_a_script_ends_in_toml_and_anything_else_behind_guide_is_a_source() -> None:
    args = argparse.Namespace(guide="demo")
    assert take_guide(args, []) == ["demo"]
    assert args.guide == ""
    args = argparse.Namespace(guide="mine.toml")
    assert take_guide(args, ["demo"]) == ["demo"]
    assert args.guide == "mine.toml"


def test_a_routine_that_is_over_ends_the_session(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "routine.toml").write_text(SCRIPT)
    words = ["live", "replay:take.npz@0.05", "-o", "out", "--no-page", "--guide", "routine.toml", "--seconds", "60"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "routine: 1 step" in out
    assert "The session is over (the routine is over)." in out
    assert Path("out/session.log").is_file()


def test_a_routine_that_is_none_is_told_before_anything_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "routine.toml").write_text("title = 3")
    assert main(["live", "replay:take.npz", "-o", "out", "--guide", "routine.toml"]) == 1
    assert "routine.toml: is no routine" in capsys.readouterr().err
    assert not Path("out").exists()


def test_an_outlet_that_was_sent_nothing_is_told_and_leaves_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcap", reason="mcap is not installed")
    assert main(["live", "replay:take.npz@max", "-o", "out", "--no-page", "--send", "mcap:tf.mcap"]) == 0
    assert "nothing was sent to mcap:tf.mcap: no figure was known before the end" in capsys.readouterr().err
    assert not Path("tf.mcap").exists()
    assert Path("out/skeleton.json").is_file()


@pytest.mark.costly
@pytest.mark.parametrize("known", ["--skeleton", "--profile"])
def test_a_known_performer_is_solved_as_the_log_is(
    folder: Path, known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    condyle.fit(person(seconds=20, seed=4)).save("known", report=False)
    assert main(["profile", "known", "-o", "performer.json"]) == 0
    given = [known, "known" if known == "--skeleton" else "performer.json"]
    assert main(["solve", "--live", "replay:take.npz@max", *given, "-o", "out", "--no-page"]) == 0
    assert "The session is over (every source ended)" in capsys.readouterr().out
    live = condyle.load("out").skeleton
    assert main(["solve", "out/session.log", *given, "-o", "again", "--no-report"]) == 0
    again = condyle.load("again").skeleton
    assert [one.p_child_joint.tolist() for one in live.joints] == [one.p_child_joint.tolist() for one in again.joints]


def test_an_alarm_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_alarm(Alarm(Finding("slip", "warning", "thigh moved", ("thigh",)), 2, 24.4))
    assert capsys.readouterr().out == "ALARM at 24 s: thigh moved\n"


def test_a_page_that_cannot_be_served_leaves_no_log_in_the_way_of_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [one for one in sys.modules if one.startswith(("websockets", "condyle.live.server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "websockets", None)
    assert main(["live", "demo", "-o", str(tmp_path / "day")]) == 1
    assert 'pip install "condyle[live]"' in capsys.readouterr().err
    assert not (tmp_path / "day").exists()
