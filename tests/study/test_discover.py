"""The takes in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import UsageError
from condyle.study.discover import find_takes
from tests.make.fitted import fitted, take
from tests.make.studies import write_small_take


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("anna/monday/rom.npz", "anna/friday/rom.npz", "ben/rom.npz", "loose.npz"):
        write_small_take(tmp_path / "in" / name)
    return tmp_path / "in"


def names(root: Path, out: Path, **options: bool) -> list[str]:
    return [entry.name for entry in find_takes(root, out, {}, **options).entries]


def test_every_recording_below_a_folder_is_a_take(root: Path) -> None:
    found = find_takes(root, root / "study", {"intervals": False})
    assert [entry.name for entry in found.entries] == ["anna/friday/rom", "anna/monday/rom", "ben/rom", "loose"]
    assert found.entries[0].files == ("anna/friday/rom.npz",)
    assert {entry.performer for entry in found.entries} == {""}
    assert found.entries[0].settings == {"intervals": False}


def test_folders_are_performers_and_sessions_where_that_is_asked_for(root: Path) -> None:
    found = find_takes(root, root / "study", {}, performers=True)
    assert [(one.performer, one.session, one.mounting) for one in found.entries] == [
        ("anna", "friday", "friday"),
        ("anna", "monday", "monday"),
        ("ben", "", ""),
        ("", "", ""),
    ]


def test_the_study_itself_other_fits_and_hidden_files_are_no_takes(root: Path) -> None:
    before = names(root, root / "study")
    fitted(root / "fit", take(4))
    write_small_take(root / "study" / "takes" / "x" / "motion.npz")
    write_small_take(root / "older" / "takes" / "x.npz")
    (root / "older" / "ledger.jsonl").touch()
    write_small_take(root / ".trash" / "x.npz")
    write_small_take(root / "ben" / ".x.npz")
    assert names(root, root / "study") == before


def test_a_file_that_no_reader_knows_fails_where_other_takes_have_its_ending_and_is_told_else(root: Path) -> None:
    (root / "ben" / "walk.NPZ").touch()
    (root / "notes.txt").write_text("hello world")
    found = find_takes(root, root / "study", {})
    assert {entry.name: entry.fault for entry in found.entries if entry.fault} == {
        "ben/walk": ("empty-file", "ben/walk.NPZ: the file is empty")
    }
    assert [name for name, _ in found.passed] == ["notes.txt"]
    assert found.passed[0][1].startswith("notes.txt: this seems to be")


def test_a_folder_without_a_recording_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello world")
    with pytest.raises(UsageError, match=r"no recording is in this folder; of 1 files, .*a\.txt: this seems to be"):
        find_takes(tmp_path, tmp_path / "study", {})


@pytest.mark.parametrize("files", [("skeleton.json", "motion.npz"), ("ledger.jsonl",)])
def test_the_folder_of_a_fit_or_a_study_is_told_as_such(files: tuple[str, ...], tmp_path: Path) -> None:
    for name in (*files, "take.npz"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(UsageError, match="is the folder of a fit or of a study"):
        find_takes(tmp_path, tmp_path / "study", {})
