from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io.tables.text import (
    LongText,
    change_lines,
    decode,
    find_all,
    read_text,
    to_utf8,
    unify_line_ends,
    walk_blocks,
    walk_lines,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_any_unicode_encoding_becomes_utf8(encoding: str) -> None:
    assert to_utf8("time,hip.px\n1,2\n".encode(encoding)) == b"time,hip.px\n1,2\n"


def test_utf16_that_is_cut_inside_a_character_loses_that_character_only() -> None:
    assert to_utf8("abcdefgh".encode("utf-16")[:-1]) == b"abcdefg"


def test_bytes_that_are_not_utf8_are_read_as_latin1() -> None:
    assert decode("Hüfte".encode("latin-1")) == "Hüfte"
    assert decode("Hüfte".encode()) == "Hüfte"


def test_every_line_end_becomes_a_line_feed() -> None:
    assert unify_line_ends(b"a\r\nb\rc\nd") == b"a\nb\nc\nd"
    long = b"one line of words"
    assert unify_line_ends(long + b"\r\n" + long + b"\r\r\n" + long + b"\r" + long) == b"\n".join(
        [long, long, b"", long, long]
    )


@pytest.mark.parametrize("raw", [b"", b"a", b"\xff\xfe", b"\x00"])
def test_next_to_nothing_is_read_without_complaint(raw: bytes) -> None:
    decode(unify_line_ends(to_utf8(raw)))


@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"a\nb", b"\n\na\n"])
def test_lines_come_one_by_one_as_split_has_them_with_the_place_of_the_next(text: bytes) -> None:
    lines = list(walk_lines(text))
    assert [line for _, line, _ in lines] == text.split(b"\n")
    assert [number for number, _, _ in lines] == list(range(1, len(lines) + 1))
    assert [text[after:] for _, _, after in lines] == [text.split(b"\n", k)[-1] for k in range(1, len(lines))] + [b""]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of more than 32 bytes is long, and what is made of it lies on disk."""
    for name in ("TEXT_BLOCK_BYTES", "LONG_TEXT_MIN_BYTES", "READ_AHEAD_BYTES"):
        monkeypatch.setattr(f"condyle.io.tables.text.{name}", 32)
    monkeypatch.setenv("CONDYLE_ARRAY_BYTES", "0")


LINES = b"".join(b"%d,%d\n" % (k, k * k) for k in range(40)) + b"cut"


@pytest.mark.usefixtures("small_blocks")
def test_a_long_text_answers_as_bytes_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    text = read_text(tmp_path / "a.txt")
    assert isinstance(text, LongText)
    assert len(text) == len(LINES)
    inner = text[30:200]
    assert isinstance(inner, LongText)
    for whole, own in ((LINES, text), (LINES[30:200], inner)):
        assert bytes(own) == whole
        assert own[3] == whole[3]
        assert own[-1] == whole[-1]
        assert own[5:25] == whole[5:25]
        assert own[20:10] == b""
        for word in (b"\n", b"9,81", b"nowhere"):
            assert own.find(word) == whole.find(word)
            assert own.find(word, 40, 100) == whole.find(word, 40, 100)
            assert own.rfind(word) == whole.rfind(word)
            assert own.rfind(word, 0, 77) == whole.rfind(word, 0, 77)
            assert (word in own) == (word in whole)
        assert own.count(b"\n") == whole.count(b"\n")
        assert own.count(b"\n", 7, 93) == whole.count(b"\n", 7, 93)
        assert [b"".join(block for _, block in walk_blocks(one)) for one in own.split(b"\n", 3)] == whole.split(
            b"\n", 3
        )
        with pytest.raises(IndexError):
            own[len(whole)]


@pytest.mark.usefixtures("small_blocks")
def test_a_long_text_that_is_cut_while_it_is_read_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    """A mapped file would end the process by SIGBUS where a page of it is gone."""
    path = tmp_path / "a.txt"
    path.write_bytes(LINES)
    text = read_text(path)
    assert text[:10] == LINES[:10]
    os.truncate(path, 100)
    assert text[60:90] == LINES[60:90]
    for look in (lambda: text[90:120], lambda: text.find(b"nowhere"), lambda: text[200], lambda: bytes(text)):
        with pytest.raises(CondyleError, match="was cut while it was read") as error:
            look()
        assert error.value.code == "damaged-file"


@pytest.mark.usefixtures("small_blocks")
def test_a_long_text_is_walked_by_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    found = list(walk_blocks(read_text(tmp_path / "a.txt")))
    assert b"".join(block for _, block in found) == LINES
    assert all(block.endswith(b"\n") for _, block in found[:-1])
    assert [lines for lines, _ in found] == [LINES[: LINES.index(block)].count(b"\n") for _, block in found]
    changed = change_lines(read_text(tmp_path / "a.txt"), lambda block: block.replace(b",", b";;"))
    assert b"".join(block for _, block in walk_blocks(changed)) == LINES.replace(b",", b";;")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_and_line_ends_of_a_long_text_change_nothing(tmp_path: Path, end: bytes, encoding: str) -> None:
    lines = LINES.decode().replace("7", "é")
    (tmp_path / "a.txt").write_bytes(lines.replace("\n", end.decode()).encode(encoding))
    text = read_text(tmp_path / "a.txt")
    assert b"".join(block for _, block in walk_blocks(text)).decode() == lines


@pytest.mark.usefixtures("small_blocks")
def test_a_pattern_is_found_all_over_a_long_text_and_a_line_without_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    pattern = re.compile(rb"^(\d)\1,", re.MULTILINE)
    text = read_text(tmp_path / "a.txt")
    assert [one.start() for one in find_all(pattern, text)] == [one.start() for one in pattern.finditer(LINES)]
    (tmp_path / "a.txt").write_bytes(b"1" * 100)
    with pytest.raises(CondyleError, match="a line of more than 32 bytes"):
        list(walk_blocks(read_text(tmp_path / "a.txt")))
