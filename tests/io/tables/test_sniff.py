"""io/tables/sniff.py: what an unknown file seems to be."""

from __future__ import annotations

import pytest

from condyle.io.tables.sniff import describe_content, is_bare_header, is_table


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\x02\x50" + bytes(510), "a C3D file"),
        (b"\x00\x00\x00\x18ftypmp42", "a video"),
        (bytes(20), "a file of zero bytes"),
        (b"\n \n", "a file of blank lines"),
        (bytes(range(1, 32)) * 9, "a binary file of an unknown kind"),
        (b"<html>", "an HTML page"),
        (b"<a/>", "an XML file"),
        (b"HIERARCHY\n", "a BVH file"),
        (b'{"a": 1}', "a JSON file"),
        (b"[1, 2]\n", "a JSON file"),
        (b'[bones]\n"hips" = "pelvis"\n', "a TOML file"),
        (b'rate = "60"\n', "a TOML file"),
        (b"a;b\n1;2\n", "a text table with semicolons"),
        (b"hip.px\thip.py\n1\t2\n", "condyle's CSV with tabs"),
        (b"1 2 3\n4 5 6\n", "a text table with blanks"),
        (b"words\n", "a text file"),
    ],
)
def test_a_file_is_described_by_its_first_bytes(head: bytes, words: str) -> None:
    assert describe_content(head).startswith(words)


@pytest.mark.parametrize(
    ("head", "table", "bare"),
    [
        (b"a,b,c,d\n1,2,3,4\n5,6,7,8\n", True, False),
        (b"1 2 3\n4 5 6\n", True, False),
        (b"1,2\n3,4\n", False, False),
        (b"a,b,c,d\n", False, True),
        (b"# only\n# comments\n", False, True),
        (b"words\n", False, False),
        (b'{"Frames":\n[\n[1, 2, 3, 4],\n[5, 6, 7, 8],\n[5, 6, 7, 8]\n]}\n', False, False),
        (b"\x00\x01", False, False),
    ],
)
def test_tables_and_headers_without_rows_are_told_apart(head: bytes, table: bool, bare: bool) -> None:
    assert (is_table(head), is_bare_header(head)) == (table, bare)
