"""condyle batch."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from condyle.cli import main, steps
from condyle.cli.terminal import CLEAR_LINE
from condyle.model.progress import begin_step
from tests.make.size import trials
from tests.make.studies import write_small_take

LONGEST_WAIT_S = 60.0


@pytest.fixture
def takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_take(tmp_path / "takes" / "anna" / "rom.npz", 0)
    (tmp_path / "options.toml").write_text("intervals = false\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "takes"


WORDS = ["batch", "takes", "-o", "study", "--config", "options.toml", "--workers", "1", "--no-report"]


def test_a_folder_of_takes_is_done_and_summed_up(takes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--performers", "--export", "npz", "--parquet"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("1/1 anna/rom: Found: 3 of 3 joints sure.")
    assert told[1] == "1 take: 1 done. Of those done, 1 good."
    assert told[2] == f"wrote {takes.parent / 'study' / 'index.html'}"
    assert (takes.parent / "study" / "takes" / "anna" / "rom" / "figure.npz").is_file()
    assert (takes.parent / "study" / "limbs.parquet").is_file()


def test_a_take_that_fails_gives_the_status_one_and_its_sentence(
    takes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (takes / "bad.npz").touch()
    (takes / "notes.txt").write_text("hello world")
    assert main(WORDS) == 1
    told = capsys.readouterr().out.splitlines()
    assert "failed bad: bad.npz: the file is empty" in told
    assert "1 file passed over, no recordings: notes.txt" in told
    assert main([*WORDS, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["counts"] == {"done": 1, "failed": 1, "waiting": 0, "good": 1, "look": 0, "bad": 0}
    assert facts["failed"] == {"bad": "bad.npz: the file is empty"}
    assert facts["ran"] == 0


def test_takes_to_look_at_give_the_status_three_where_that_is_asked_for(takes: Path) -> None:
    write_small_take(takes / "anna" / "rom.npz", 0, "still")
    assert main([*WORDS, "--strict"]) == 3
    assert main(WORDS) == 0


def test_wrong_usage_is_one_line(takes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text('[[take]]\nfile = "a.npz"\npreformer = "anna"\n')
    assert main(["batch", "study.toml", "-o", "study"]) == 2
    assert capsys.readouterr().err == (
        "condyle: error: study.toml, line 3: [[take]] 1: no key 'preformer'; did you mean 'performer'?\n"
    )


def test_paths_in_a_configuration_are_relative_to_it(takes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("there").mkdir()
    Path("there/options.toml").write_text('field_file = "field.json"\n')
    assert main(["batch", "takes", "-o", "study", "--config", "there/options.toml"]) == 1
    assert f"{Path('there/field.json').absolute()}: cannot be read" in capsys.readouterr().err


def test_what_an_interrupted_run_says_is_not_written_into_the_line_of_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        begin_step("doing 30 takes")
        end = time.monotonic() + LONGEST_WAIT_S
        while not (shown := capsys.readouterr().err) and time.monotonic() < end:
            time.sleep(0.01)
        sys.stderr.write(shown)
        raise KeyboardInterrupt

    monkeypatch.setattr("condyle.study.batch.batch", stop)
    monkeypatch.setattr(steps, "SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(steps, "REDRAWN_EVERY_S", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(sys, "argv", ["condyle", "batch", "takes", "-o", "a long name of a study", "--workers", "1"])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")
    monkeypatch.setenv("COLUMNS", "60")
    assert main(sys.argv[1:]) == 130
    shown = capsys.readouterr().err.replace(CLEAR_LINE, "|")
    assert "|doing 30 takes, 0 s|condyle: stopped; what is done stays. To go on:\n" in shown
    assert '\n`condyle batch takes -o "a long name of a study" --workers 1`\n' in shown  # whole, to be copied


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_run_that_is_interrupted_says_how_to_go_on(takes: Path) -> None:
    for seed in range(30):
        write_small_take(takes / f"take{seed}.npz", seed)
    words = [sys.executable, "-m", "condyle", *WORDS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        told = process.stderr.read()
        assert process.wait(LONGEST_WAIT_S) == 130
        assert time.monotonic() - begin < LONGEST_WAIT_S
    assert "condyle: stopped; what is done stays. To go on: `condyle batch takes -o study" in told
    assert "Traceback" not in told
    assert not list(Path("study").rglob(".condyle-*"))
    assert 0 < len(Path("study/ledger.jsonl").read_text().splitlines()) < 31


@pytest.mark.sized
@pytest.mark.usefixtures("takes")
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_to_all_processes_at_any_moment_is_one_sentence() -> None:
    """As a terminal sends Ctrl-C: those that are started hear it too, while they import and when nobody waits."""
    rng = random.Random(21)
    words = [str(Path(sys.executable).with_name("condyle")), *WORDS]
    for k in trials(3, 6):
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[k % 3]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as one:
            assert one.stderr is not None
            while not Path("study/ledger.jsonl").exists() and one.poll() is None:
                time.sleep(0.002)  # from when the study is there, processes are started
            time.sleep(rng.uniform(0, 2.0))
            with suppress(ProcessLookupError):
                os.killpg(one.pid, number)
            told = one.stderr.read().decode()  # until the last of them has ended
        assert "Traceback" not in told
        assert (one.wait(), told.count("\n")) in ((128 + number, 1), (0, 0)), told
        assert not list(Path("study").rglob(".condyle-*"))
        shutil.rmtree("study", ignore_errors=True)
