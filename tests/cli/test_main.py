"""cli/__init__.py: exit status, errors in one line, a quick start."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from condyle import cli
from condyle.cli import VERBS, main
from condyle.errors import CondyleError, UsageError


def pretend(monkeypatch: pytest.MonkeyPatch, fault: BaseException | None = None, status: int = 0) -> None:
    """A verb `info` that raises or returns."""

    def run(args: argparse.Namespace) -> int:
        if fault is not None:
            raise fault
        print("done")
        return status

    monkeypatch.setattr(cli, "_import_verb", lambda name: SimpleNamespace(add_arguments=lambda parser: None, run=run))


@pytest.mark.parametrize("status", [0, 3])
def test_the_status_of_the_verb_is_the_status_of_a_strict_program(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    pretend(monkeypatch, status=status)
    assert main(["info", "--strict"]) == status
    assert main(["info"]) == 0  # what is to be looked at is no failure, unless asked


@pytest.mark.parametrize(("kind", "status"), [(CondyleError, 1), (UsageError, 2)])
def test_a_fault_is_one_line_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: type[CondyleError], status: int
) -> None:
    pretend(monkeypatch, kind("too short", code="short", path="a\x1b[31m.csv", line=3))
    assert main(["info"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "condyle: error: a\\x1b[31m.csv, line 3: too short\n"


def test_a_fault_is_an_object_on_standard_output_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, CondyleError("too short", code="short", path="a.csv", line=3))
    assert main(["info", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "short"
    assert (error["path"], error["line"], error["column"]) == ("a.csv", 3, None)


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pretend(monkeypatch, MemoryError())
    assert main(["info"]) == 1
    assert capsys.readouterr().err == "condyle: error: not enough memory for this recording\n"


def test_an_interrupt_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, KeyboardInterrupt())
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "condyle: interrupted; nothing was left half written\n"


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["info"])


@pytest.mark.parametrize("words", [[], ["nonsense"], ["--nonsense"], ["info"], ["info", "a.npz", "--rate", "fast"]])
def test_wrong_usage_has_status_2(words: list[str]) -> None:
    assert main(words) == 2


def test_help_names_every_verb_and_has_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in VERBS)


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("condyle ")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_file_and_takes_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path(cli.__file__).with_name(f"{verb}.py").exists():
        pytest.skip(f"{verb} is not written yet")
    assert main([verb, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_help_imports_neither_numpy_nor_any_verb() -> None:
    code = (
        "import sys; from condyle.cli import main; main(['--help']); "
        "print([name for name in ('numpy', 'scipy', 'msgspec', 'condyle.cli.info') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_closed_pipe_ends_the_program_quietly(tmp_path: Path) -> None:
    assert main(["simulate", str(tmp_path / "a.npz"), "--figure", "linkage", "--seconds", "1"]) == 0
    program = [sys.executable, "-m", "condyle", "info", *[str(tmp_path / "a.npz")] * 20, "--json"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")


@pytest.mark.costly
@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_an_interrupt_from_outside_leaves_nothing_half_written(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "condyle", "simulate", str(tmp_path / "a.csv"), "--seconds", "200"]
    program += ["--rate", "120"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(3000):  # until it has begun to write
            if os.listdir(tmp_path) or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err == b"condyle: interrupted; nothing was left half written\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ftt"], "condyle: error: no verb 'ftt'; did you mean 'fit'?"),
        (["fit", "--halp"], "condyle fit: error: no option '--halp'; did you mean '--help'"),
        (["fit", "a.npz", "-o", ""], "condyle fit: error: what is written has no name; name a file or folder in place"),
        (["fit", "a.npz", "-o", "-"], "condyle fit: error: nothing is written to the standard output; name"),
        (["info", "a.npz", "--propose", "-"], "condyle info: error: nothing is written to the standard output; name"),
        (["fitt"], "condyle: error: no verb 'fitt'; did you mean 'fit'?"),
        (["info", "a.npz", "--strct"], "condyle info: error: no option '--strct'; did you mean '--strict'?"),
        (["info", "a.npz", "--handed", "lef"], "condyle info: error: --handed: no choice 'lef'; did you mean 'left'?"),
        (["simulate", "-o", "a.npz"], "condyle simulate: error: no option '-o': OUT stands by itself, as in condyle"),
        (["view", "out", "more"], "condyle view: error: nothing is asked for where 'more' stands"),
    ],
)
def test_a_slip_of_the_fingers_gets_one_line_with_what_was_meant(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["help"], ["help", "fit"]])
def test_help_is_a_verb_as_well(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    asked = capsys.readouterr().out
    assert main([*words[1:], "--help"]) == 0
    assert asked == capsys.readouterr().out


def test_the_status_of_a_strict_program_stands_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fit", "--help"])
    assert "--strict" in (told := " ".join(capsys.readouterr().out.split()))
    assert "exit with 3, not 0, where something is to be looked at" in told
    main(["--help"])
    assert "with --strict, 3 where something is to be looked at" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", [["--up", "-y"], ["--up=-y"], ["--axes", "-y,x,z"]])
def test_an_axis_with_a_minus_is_no_option(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.npz")
    main(["simulate", path, "--figure", "linkage", "--seconds", "2"])
    assert main(["info", *words, path]) == 0
    assert "-y" in capsys.readouterr().out


def test_a_command_makes_no_formatter_of_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(prog: str) -> None:  # in a terminal it imports colours
        raise AssertionError(prog)

    monkeypatch.setattr("condyle.cli._make_formatter", fail)
    assert main(["fit", "nowhere.csv"]) == 1
    assert "no such file" in capsys.readouterr().err
