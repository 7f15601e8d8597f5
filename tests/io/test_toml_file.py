"""io/toml_file.py: one strict way into TOML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io import toml_file
from condyle.io.toml_file import read_toml


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_content_and_text_come_back_whatever_the_editor(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(f'name = "Hüfte"{end}'.encode(encoding))
    assert read_toml(path, "a list", "bad-list") == ({"name": "Hüfte"}, 'name = "Hüfte"\n')


@pytest.mark.parametrize(
    ("raw", "words", "line"),
    [
        (b"a = 1\nb = \n", "is no TOML", 2),
        (b'a = "x', "at the end of the file|is no TOML", None),
        (b"a = " + b"9" * 5000, "is no TOML", None),
        (b"a = " + b"[" * 50_000, "nested too deeply|is no TOML", None),
        (b"a" + b".a" * 30_000 + b" = 1", "nested too deeply", None),
        (b"[a" + b".a" * 30_000 + b"]", "nested too deeply", None),
        (b"x = {a" + b".a" * 30_000 + b" = 1}", "nested too deeply", None),
    ],
)
def test_a_fault_has_its_line_its_code_and_the_hint(tmp_path: Path, raw: bytes, words: str, line: int | None) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(raw)
    with pytest.raises(CondyleError, match=words) as error:
        read_toml(path, "a list", "bad-list", "; expected a = 1")
    assert (error.value.code, error.value.path, error.value.line) == ("bad-list", str(path), line)
    assert error.value.text.endswith("; expected a = 1")


def test_a_file_of_another_kind_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_file, "MOST_TOML_BYTES", 10)
    path = tmp_path / "a.toml"
    path.write_text("a = 1  # and more\n")
    with pytest.raises(CondyleError, match="is too large for a list"):
        read_toml(path, "a list", "bad-list")
    with pytest.raises(CondyleError) as error:
        read_toml(tmp_path / "none.toml", "a list", "bad-list")
    assert error.value.code == "no-such-file"


def test_many_numbers_in_a_line_are_no_nesting(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = [" + ", ".join(["1.5"] * 1000) + "]\n")
    assert read_toml(path, "a list", "bad-list")[0] == {"a": [1.5] * 1000}
