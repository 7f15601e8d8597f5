from __future__ import annotations

import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import (
    SENTENCE_MOST_LETTERS,
    CondyleError,
    UsageError,
    check_flag,
    check_number,
    check_path,
    check_paths,
    join_command,
    suggest,
)


def test_an_error_names_every_place_it_knows_before_what_is_wrong() -> None:
    error = CondyleError("'x' is no number", code="bad-number", path="a.csv", line=7, column=3)
    assert str(error) == "a.csv, line 7, column 3: 'x' is no number"
    assert str(CondyleError("lost", code="lost", frame=4, body="hip")) == "frame 4, sensor hip: lost"
    assert str(CondyleError("plain", code="plain")) == "plain"


def test_an_error_quotes_no_more_of_a_file_than_anybody_reads() -> None:
    error = CondyleError(f"'{'a.' * 30_000}' is not 'parent child'", code="bad-tree", line=1, body="b" * 5000)
    assert str(error).startswith("line 1, sensor bbb")
    assert str(error).endswith("a.a.' is not 'parent child'")
    assert len(str(error)) < 3 * SENTENCE_MOST_LETTERS
    assert str(error.at("tree.txt")) == f"tree.txt, {error}"
    assert CondyleError("x" * SENTENCE_MOST_LETTERS, code="long").text == "x" * SENTENCE_MOST_LETTERS


def test_at_adds_the_file_and_keeps_the_rest() -> None:
    error = CondyleError("wrong", code="bad", frame=2, body="hip").at("b.npz")
    assert (error.path, error.frame, error.body, error.code) == ("b.npz", 2, "hip", "bad")


def test_at_leaves_a_file_that_is_already_named() -> None:
    error = CondyleError("wrong", code="bad", path="a.npz")
    assert error.at("b.npz") is error


def test_wrong_usage_is_caught_as_the_one_error_too() -> None:
    assert issubclass(UsageError, CondyleError)


def test_names_that_are_near_are_suggested_else_the_first_are_listed() -> None:
    assert suggest("hand_X", ["hand_x", "foot_x"]) == "did you mean 'hand_x'?"
    assert suggest("zzz", [str(k) for k in range(20)]).endswith("and 8 more")


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps the folder that a program runs in")
def test_a_path_in_a_folder_that_is_no_more_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(CondyleError, match=r"a\.csv: the folder that this runs in is no more"):
        check_path("a.csv", "a recording")


def test_what_is_no_path_and_no_number_is_refused_by_what_it_should_be() -> None:
    assert check_path("a/b", "a rig") == Path("a/b")
    assert check_number(3, "a factor") == 3.0
    for value in (None, 5, ["a"], b"a", "", "a\0b", Path("a\0b")):
        with pytest.raises(UsageError, match="a rig is told by its path, not"):
            check_path(value, "a rig")
    for value in ("\ud800", Path("b\udcff.npz")):  # as names of other bytes come from the system
        with pytest.raises(CondyleError, match="its name is no text in UTF-8; rename it"):
            check_path(value, "a rig")
    with pytest.raises(CondyleError, match="xxx: cannot be opened: "):
        check_path("x" * 5000, "a rig")
    assert check_paths("a") == check_paths([Path("a")]) == [Path("a")]
    for several in (b"a", {"a": "b"}, ["a", None], 5):
        with pytest.raises(UsageError, match="a recording is told by its path, not"):
            check_paths(several)
    for value in (None, "5", True):
        with pytest.raises(UsageError, match="a factor is a number, not"):
            check_number(value, "a factor")
    for large in (10**400, -(10**5000)):
        with pytest.raises(UsageError, match=r"^a factor is a number too large for float64$"):
            check_number(large, "a factor")
    assert [check_flag(value, "world") for value in (True, 0, np.True_, np.array(False))] == [True, False, True, False]
    for value in (None, "no", 2, 1.0, np.array([True]), np.int64(1)):
        with pytest.raises(UsageError, match="world is True or False, not"):
            check_flag(value, "world")


@pytest.mark.parametrize("name", ["my takes", "it's mine", "$HOME x", "a%b c", "plain", "back\\slash x", 'a "b"'])
def test_a_command_can_be_pasted_and_plain_names_have_quotes_that_every_shell_knows(name: str) -> None:
    line = join_command(["condyle", "fit", name])
    assert shlex.split(line) == ["condyle", "fit", name]
    assert join_command(["condyle", "fit", "my takes"]) == 'condyle fit "my takes"'


def test_paths_of_windows_have_its_own_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.errors.os.name", "nt")
    line = join_command(["condyle", "fit", "C:\\my takes\\a.csv", "C:\\out"])
    monkeypatch.undo()
    assert line == 'condyle fit "C:\\my takes\\a.csv" C:\\out'
