"""study.toml: what it lists, and one sentence with the line for what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import UsageError
from condyle.study import manifest
from condyle.study.manifest import find_line, read_manifest

WHOLE = """
[settings]
intervals = false
[settings.reading]
unit = "mm"
rate = 60.0

[performer.anna.settings]
root = "pelvis"
[performer.anna.settings.reading]
unit = "m"

[[take]]
file = "anna/rom.c3d"
performer = "anna"
session = "monday"

[[take]]
file = "anna/walk*.c3d"
performer = "anna"
session = "monday"
mounting = "first"
role = "performance"
settings = { intervals = true, export = "bvh" }

[[take]]
name = "ben rom"
files = ["ben/a.c3d", "ben/b.c3d"]
performer = "ben"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_takes_are_listed_with_whose_they_are_and_their_settings(tmp_path: Path) -> None:
    (tmp_path / "anna").mkdir()
    for name in ("walk2.c3d", "walk1.c3d"):
        (tmp_path / "anna" / name).touch()
    root, entries = read_manifest(write(tmp_path, WHOLE), {"world": True, "intervals": True})
    assert root == tmp_path
    assert [entry.name for entry in entries] == ["anna/rom", "anna/walk1", "anna/walk2", "ben rom"]
    rom, walk, _, ben = entries
    assert (rom.files, rom.performer, rom.session, rom.mounting) == (("anna/rom.c3d",), "anna", "monday", "monday")
    assert (rom.role, walk.role, walk.mounting) == ("calibration", "performance", "first")
    assert ben.files == ("ben/a.c3d", "ben/b.c3d")
    reading = {"unit": "mm", "rate": 60.0}
    assert ben.settings == {"world": True, "intervals": False, "reading": reading}
    assert rom.settings == {**ben.settings, "root": "pelvis", "reading": {**reading, "unit": "m"}}
    assert walk.settings == {**rom.settings, "intervals": True, "export": "bvh"}


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("[settings]", "[setings]", 2, "no key 'setings'; did you mean 'settings'?"),
        (
            'session = "monday"\n\n',
            'sesion = "monday"\n\n',
            16,
            r"\[\[take\]\] 1: no key 'sesion'; did you mean 'session'?",
        ),
        (
            "intervals = false",
            "intervalls = false",
            3,
            r"\[settings\]: no option 'intervalls'; did you mean 'intervals'?",
        ),
        ('unit = "mm"', 'unti = "mm"', 5, r"\[settings\]: no option 'unti'; did you mean 'unit'?"),
        ('unit = "mm"', 'unit = "furlong"', 4, r"\[settings\]: .*furlong"),
        ('root = "pelvis"', "root = 3", 9, r"\[performer.anna.settings\]: root = 3"),
        ('"performance"', '"performence"', 23, r"\[\[take\]\] 2: no role 'performence'; did you mean 'performance'?"),
        ('export = "bvh"', 'export = "bvx"', 24, r"\[\[take\]\] 2: .*bvx"),
        ("[performer.anna.settings]", "[performer.ana.settings]", 8, "performer 'ana'; did you mean 'anna'?"),
        ('performer = "ben"', "performer = 7", 29, r"\[\[take\]\] 3: performer = 7 is no text; put it in quotes"),
        ('file = "anna/rom.c3d"', "", 13, r"\[\[take\]\] 1: needs either file"),
        ('file = "anna/rom.c3d"', "file = 3", 14, r"\[\[take\]\] 1: file = 3 is not one path"),
        (
            'files = ["ben/a.c3d", "ben/b.c3d"]',
            "files = []",
            28,
            r"\[\[take\]\] 3: files = \[\] is not a list of paths",
        ),
        ("[settings]", "[settings", 2, "is no TOML"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(old: str, new: str, line: int, text: str, tmp_path: Path) -> None:
    assert old in WHOLE
    with pytest.raises(Exception, match=text) as caught:
        read_manifest(write(tmp_path, WHOLE.replace(old, new, 1)))
    assert getattr(caught.value, "line", None) == line, caught.value
    assert "study.toml" in str(caught.value)


@pytest.mark.parametrize("text", ["", "take = 3", "take = []", "[settings]\nintervals = false"])
def test_a_list_without_a_take_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"lists no take; begin each with \[\[take\]\]"):
        read_manifest(write(tmp_path, text))


def test_a_pattern_that_no_file_fits_fails_alone(tmp_path: Path) -> None:
    _, entries = read_manifest(write(tmp_path, '[[take]]\nfile = "x*.c3d"\n[[take]]\nfile = "y.c3d"'))
    assert [entry.fault for entry in entries] == [("no-such-file", "x*.c3d: no file fits this pattern"), None]


def test_a_pattern_longer_than_any_path_is_refused_before_files_are_looked_for(tmp_path: Path) -> None:
    long = "[" * 30_000  # each was looked through for its end: minutes
    with pytest.raises(UsageError, match="a pattern of 30005 letters, more than 1000; list the files one by one"):
        read_manifest(write(tmp_path, f'[[take]]\nfile = "{long}*.c3d"'))
    _, entries = read_manifest(write(tmp_path, f'[[take]]\nfile = "{long[:900]}*.c3d"'))
    assert entries[0].fault is not None


def test_one_name_for_many_files_is_told(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.c3d").touch()
    with pytest.raises(UsageError, match="one name for the 2 files of a pattern; leave it out"):
        read_manifest(write(tmp_path, '[[take]]\nname = "x"\nfile = "*.c3d"'))


def test_of_field_and_rod_the_nearer_one_wins(tmp_path: Path) -> None:
    text = (
        '[settings]\nfield = true\n[[take]]\nfile = "a.npz"\n[take.settings.rod]\npair = ["a", "b"]\ndistance = 0.5\n'
    )
    _, entries = read_manifest(write(tmp_path, text))
    assert entries[0].settings == {"rod": {"pair": ["a", "b"], "distance": 0.5}}


def test_a_list_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MOST_TAKES", 1)
    with pytest.raises(UsageError, match="more than 1 takes by now"):
        read_manifest(write(tmp_path, '[[take]]\nfile = "a"\n[[take]]\nfile = "b"'))


def test_lines_are_found_in_their_table() -> None:
    text = "a = 1\n[x]\na = 2\n[[take]]\na = 3\n[take.settings]\nb = 4\n[[take]]\na = 5\n"
    assert find_line(text, "", "a") == 1
    assert find_line(text, "x", "a") == 3
    assert find_line(text, "take", "a", 1) == 9
    assert find_line(text, "take.settings", "b", 0) == 7
    assert find_line(text, "take", None, 1) == 8
    assert find_line(text, "y", "a") is None
