"""The README: its commands are those of the program, and its block runs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import condyle
from condyle.cli import make_full_parser
from condyle.simulate import human, simulate
from tests.make import PROJECT

from .pages import blocks

README = PROJECT / "README.md"
COMMANDS = [
    command
    for block in blocks(README)
    for line in block.text.splitlines()
    if (command := line.partition("&& uv run --no-dev ")[2] or line).startswith("condyle ")
]


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 12
    assert "condyle demo " in COMMANDS[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_of_the_program(command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    assert make_full_parser().parse_args(words).verb == words[0]


def test_the_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("condyle-demo").mkdir()
    condyle.write_take("condyle-demo/take.npz", simulate(human(), "exercise", seconds=5, seed=1).take)
    (block,) = blocks(README, "python")
    exec(compile("\n" * (block.line - 1) + block.text, str(README), "exec"), {"__name__": "readme"})
    assert "l_thigh" in capsys.readouterr().out
    assert condyle.load("out").skeleton.joint("l_shank").parent == "l_thigh"
