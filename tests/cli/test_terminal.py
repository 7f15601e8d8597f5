from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.cli.terminal import (
    CLEAR_LINE,
    choose_status,
    escape_text,
    print_findings,
    print_json,
    print_line,
    print_table,
    redraw,
    to_plain,
    wrap_error,
    wrap_text,
)
from condyle.findings import Finding

WARNING = Finding("no-time", "warning", "no time in [bold]a\x1b]0;title\x07.csv[/bold]")
INFO = Finding("hinge", "info", "knee turns about one axis")
HOSTILE = ["\x1b[31mred", "a\rb", "a\nb", "a\x9b31m", "\x07", "\u202egnp.exe", "a\u200bb", "\x7f", "a\u2028b", "\ud800"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def as_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard output as a terminal 40 cells wide; called inside the test, since pytest swaps it between phases."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


@pytest.mark.parametrize("text", HOSTILE)
def test_safe_leaves_no_character_that_could_act_on_a_terminal(text: str) -> None:
    assert escape_text(text).isprintable()
    assert "\\" in escape_text(text)


@pytest.mark.parametrize("text", ["hip", "Fuß", "左手", "[bold]x[/bold]", "", "a b"])
def test_safe_leaves_ordinary_text_alone(text: str) -> None:
    assert escape_text(text) == text


def test_a_table_in_a_pipe_is_plain_text_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["body", "x"], [("a" * 150, 1), ("左手", None), ("[red]b\x1b[0m", 12345)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "body" + " " * 152 + "x"
    assert lines[1] == "a" * 150 + "      1"
    assert lines[2] == "左手"
    assert lines[3].startswith("[red]b\\x1b[0m ")
    assert lines[3].endswith("12345")


def test_an_empty_table_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["body", "x"], [])
    assert capsys.readouterr().out == "body  x\n"


def test_a_table_in_a_narrow_terminal_folds_and_loses_no_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    name = "".join("αβγδεζηθικ"[k % 10] for k in range(60))
    print_table(["body", "number"], [(name, "123456789012")])
    text = terminal.getvalue()
    assert "…" not in text
    assert sorted(letter for letter in text if letter in set(name)) == sorted(name)
    assert "123456789012" in text
    assert "body" in text  # what names the rows: of several tables below each other it tells which one this is
    assert max(len(line) for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()) <= 40


def test_a_table_that_just_fits_the_terminal_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    print_table(["joint", "mm"], [("a" * 30, "12345678")])
    head, rule, row = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines()
    assert head == "joint" + 25 * " " + "        mm"
    assert set(rule) == {"─"}
    assert row == "a" * 30 + "  12345678"


def test_an_error_in_a_terminal_is_wrapped_at_words_and_stays_one_line_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "condyle: error: recordings/take-of-monday-morning-with-a-long-name.npz: no such file; did you mean another?"
    assert wrap_error(text) == text
    as_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stderr", Terminal())
    lines = wrap_error(text).splitlines()
    assert " ".join(lines) == text
    assert [line for line in lines if len(line) > 39] == ["recordings/take-of-monday-morning-with-a-long-name.npz:"]


def test_a_command_in_quotes_of_any_form_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    as_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stderr", Terminal())
    for quoted in ("`pip install 'a b'`", "'my take of monday'", '"my take of monday"'):
        assert wrap_error(f"condyle: error: something in {quoted} is missing").splitlines()[1].startswith(quoted)


def measure(monkeypatch: pytest.MonkeyPatch, out: int, err: int) -> Terminal:
    """Standard output and error as terminals that say so many columns; returns standard error's."""
    as_terminal(monkeypatch)
    screens = [Terminal(), Terminal()]
    for name, number, screen in zip(("stdout", "stderr"), (1001, 1002), screens, strict=True):
        monkeypatch.setattr(screen, "fileno", lambda number=number: number)
        monkeypatch.setattr(sys, name, screen)
    widths = {1001: out, 1002: err}
    monkeypatch.setattr(os, "get_terminal_size", lambda number: os.terminal_size((widths.get(number, 0), 24)))
    return screens[1]


def test_a_line_drawn_over_and_over_fits_the_terminal_it_is_drawn_in(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = measure(monkeypatch, 120, 20)
    redraw("reading 左手左手左手左手左手.csv")
    assert screen.getvalue() == CLEAR_LINE + "reading 左手左手..."  # 8 + 8 + 3 columns: the 20th stays free
    assert len(wrap_text("word " * 23)) == 1  # standard output has its own width
    for width in range(1, 7):
        screen = measure(monkeypatch, 120, width)
        redraw("reading take.csv")
        assert len(screen.getvalue().removeprefix(CLEAR_LINE)) <= max(width - 1, 1)


def test_a_terminal_that_says_0_columns_is_as_wide_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    measure(monkeypatch, 0, 0)
    assert wrap_error("one two three four") == "one two three four"
    assert wrap_text("one two three four") == ["one two three four"]


def test_a_terminal_without_escapes_gets_blanks_over_the_line_before(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = measure(monkeypatch, 20, 20)
    monkeypatch.setenv("TERM", "dumb")
    for text in ("takes", "takes 50 %", ""):
        redraw(text)
    assert screen.getvalue() == "".join(f"\r{text:19}\r" for text in ("takes", "takes 50 %", ""))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delenv("WT_SESSION", raising=False)
    redraw("takes")
    assert "\x1b" not in screen.getvalue()
    monkeypatch.setenv("WT_SESSION", "1")
    redraw("takes")
    assert screen.getvalue().endswith(CLEAR_LINE + "takes")


def test_escapes_are_written_by_this_file_alone_which_knows_what_a_console_shows() -> None:
    folder = Path(condyle.__file__).parent
    found = [file.name for file in folder.rglob("*.py") if "\\x1b[" in file.read_text(encoding="utf-8")]
    assert found == ["terminal.py"]


def test_a_line_is_drawn_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = measure(monkeypatch, 20, 20)
    screen = io.StringIO()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "20")
    redraw("12 frames", screen)
    assert (screen.getvalue(), errors.getvalue()) == (f"\r{'12 frames':19}\r", "")


def test_an_indent_is_kept_in_every_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    print_line("  position = [" + ", ".join(["'pelvis x'"] * 4) + "]")
    lines = terminal.getvalue().splitlines()
    assert len(lines) == 2
    assert all(re.match(r"  \S", line) and len(line) <= 40 for line in lines)


def test_markup_and_escapes_in_names_do_not_act_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    print_table(["body"], [("[red]x[/red]",), ("\x1b]0;t\x07",)])
    print_line("[link=http://a]b[/link] \x1b[5m :smile:")
    print_findings([WARNING])
    text = terminal.getvalue()
    assert "[red]x[/red]" in text
    assert "[link=http://a]b[/link] \\x1b[5m" in text
    assert ":smile:" in text
    assert "\x1b]" not in text
    assert "\x07" not in text


def test_lines_in_a_terminal_are_cut_at_spaces_and_longer_words_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    as_terminal(monkeypatch)
    text = "one two " + "x" * 50 + " 左手" * 12 + "  end"
    lines = wrap_text(text)
    assert lines[:3] == ["one two", "x" * 40, "x" * 10 + " 左手" * 6]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap_text("") == [""]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_style_is_left_out_where_colours_are_not_wanted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    terminal = as_terminal(monkeypatch)
    print_line("verdict", style="bold")
    print_findings([INFO])
    assert terminal.getvalue().startswith("\x1b[1mverdict\x1b[0m\n\x1b[36minfo\x1b[0m: knee")
    monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_line("verdict", style="bold")
    print_findings([INFO])
    assert terminal.getvalue() == "verdict\ninfo: knee turns about one axis [hinge]\n"


def test_an_empty_no_color_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "")
    print_line("verdict", style="bold")
    assert terminal.getvalue() == "\x1b[1mverdict\x1b[0m\n"


def test_findings_are_one_line_each_with_the_worst_first(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings([INFO, WARNING])
    first, second = capsys.readouterr().out.splitlines()
    assert first == "warning: no time in [bold]a\\x1b]0;title\\x07.csv[/bold] [no-time]"
    assert second == "info: knee turns about one axis [hinge]"


@pytest.mark.parametrize(("findings", "status"), [([], 0), ([INFO], 0), ([INFO, WARNING], 3)])
def test_the_status_is_3_where_a_finding_is_a_warning_or_worse(findings: list[Finding], status: int) -> None:
    assert choose_status(findings) == status


def test_json_has_null_for_what_is_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    facts: dict[str, Any] = {"a": np.array([1.5, np.nan]), "b": np.float64("inf"), "c": np.int64(3), "d": (INFO,)}
    print_json(facts)
    read = json.loads(capsys.readouterr().out)
    assert read["a"] == [1.5, None]
    assert (read["b"], read["c"]) == (None, 3)
    assert read["d"][0]["code"] == "hinge"


def test_plain_values_are_left_as_they_are() -> None:
    facts = {"a": [1, 2.5, True, None, "x"], "b": {}}
    assert to_plain(facts) == facts
