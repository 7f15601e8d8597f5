from __future__ import annotations

import pytest

from condyle.io.tables.text import decode, to_utf8, unify_line_ends, walk_lines


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
