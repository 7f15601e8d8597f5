from __future__ import annotations

import tomllib
from contextlib import suppress

import pytest

from condyle.errors import CondyleError
from condyle.io.bodies_file import bodies_of, check_groups, read_bodies, write_bodies

GROUPS = {"pelvis": ("LASI", "RASI", "SACR"), "l_thigh": ("LF01", "LF02", "LF03", "LF04")}
TEXT = '[bodies]\npelvis = ["LASI", "RASI", "SACR"]\nl_thigh = ["LF01", "LF02", "LF03", "LF04"]\n'
HOSTILE = 'a"b\\c\n\x1b[31m\x7f<script>=1+1 \U0001f9b4\u2028'


def fault(tmp_path, text: str | bytes) -> CondyleError:
    path = tmp_path / "bodies.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CondyleError) as error:
        read_bodies(path)
    assert error.value.path == str(path)
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize(
    "raw",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.replace(", ", ",\n  ").encode(),
    ],
    ids=["plain", "CRLF", "byte order mark", "UTF-16", "several lines"],
)
def test_a_table_of_bodies_is_read(tmp_path, raw) -> None:
    path = tmp_path / "bodies.toml"
    path.write_bytes(raw)
    assert read_bodies(path) == GROUPS
    assert bodies_of(path) == bodies_of(str(path)) == GROUPS


def test_the_mapping_itself_will_do() -> None:
    assert bodies_of({"pelvis": ["LASI", "RASI", "SACR"]}) == {"pelvis": ("LASI", "RASI", "SACR")}


def test_what_is_written_is_read_back(tmp_path) -> None:
    path = tmp_path / "bodies.toml"
    write_bodies(path, GROUPS, {"pelvis": "fit 1.2 mm"}, ["found in walk.c3d"])
    assert read_bodies(path) == GROUPS
    lines = path.read_text().splitlines()
    assert lines[:2] == ["# found in walk.c3d", "[bodies]"]
    assert lines[2] == 'pelvis = ["LASI", "RASI", "SACR"]  # fit 1.2 mm'


def test_hostile_names_and_comments_stay_data(tmp_path) -> None:
    path = tmp_path / "bodies.toml"
    groups = {HOSTILE: (HOSTILE, "x = 1", "]")}
    write_bodies(path, groups, {HOSTILE: "a\nb = 1"}, ["c\nd = 1"])
    assert read_bodies(path) == groups
    assert list(tomllib.loads(path.read_text(encoding="utf-8"))) == ["bodies"]
    assert "\x1b" not in path.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path) -> None:
    path = tmp_path / "bodies.toml"
    path.write_text(TEXT)
    with pytest.raises(CondyleError):
        write_bodies(path, {"pelvis": ("LASI", "RASI")})
    assert path.read_text() == TEXT
    with pytest.raises(CondyleError) as error:
        write_bodies(tmp_path / "nowhere" / "bodies.toml", GROUPS)
    assert error.value.code == "unwritable"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "[bodies]"),
        ("pelvis = 1\n", None, "[bodies]"),
        ("bodies = 3\n", None, "[bodies]"),
        ("[bodies]\n", None, "no body"),
        ('[bodies]\npelvis = ["LASI", "RASI"\nx = 1\n', 3, "no TOML"),
        ('[bodies]\npelvis = ["LASI", "RASI', None, "no TOML"),
        ('[bodies]\n\npelvis = "LASI"\n', 3, "list of marker names"),
        ("[bodies]\npelvis = [1, 2, 3]\n", 2, "1 is no name"),
        ('[bodies]\npelvis = ["LASI", "LASI", "RASI"]\n', 2, "'LASI' twice"),
        ('[bodies]\na = ["x", "y", "z"]\nb = ["x", "y"]\n', 3, "2 of the three markers"),
        ('[bodies]\na = ["x", "y", "z"]\n[other]\nb = 1\n', 3, "'other'"),
        ('[bodies]\n[bodies.a]\nm = ["x", "y", "z"]\n', None, "list of marker names"),
    ],
)
def test_a_fault_is_told_in_one_sentence_with_its_line(tmp_path, text, line, words) -> None:
    error = fault(tmp_path, text)
    assert error.code in ("bad-bodies", "few-markers")
    assert words in str(error)
    if line is not None:
        assert error.line == line


def test_any_bytes_are_refused_with_one_error(tmp_path, rng) -> None:
    for raw in (rng.bytes(300), b"[" * 100_000, b"a" * 100_000, b"[bodies]\na = " + b"[" * 50_000, b"\x00" * 20):
        assert fault(tmp_path, raw).code == "bad-bodies"


@pytest.mark.parametrize("end", range(0, len(TEXT), 3))
def test_a_cut_file_is_read_or_refused(tmp_path, end) -> None:
    path = tmp_path / "bodies.toml"
    path.write_text(TEXT[:end])
    with suppress(CondyleError):
        assert read_bodies(path).items() <= GROUPS.items()


def test_a_missing_file_is_told(tmp_path) -> None:
    with pytest.raises(CondyleError) as error:
        read_bodies(tmp_path / "none.toml")
    assert error.value.code == "no-such-file"


@pytest.mark.parametrize("groups", [{}, {" ": ["a", "b", "c"]}, {"a": None}, {"a": ["b", "", "c"]}, {"a": {"b": 1}}])
def test_a_mapping_that_names_no_bodies_is_refused(groups) -> None:
    with pytest.raises(CondyleError) as error:
        check_groups(groups)
    assert error.value.code == "bad-bodies"
