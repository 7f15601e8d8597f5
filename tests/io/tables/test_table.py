from __future__ import annotations

import pytest

from condyle.errors import CondyleError
from condyle.io.tables.table import Table, find_table, find_titled

ROWS = "1,2,3\n4,5,6\n"


def sheet(text: str, **said: object) -> Table:
    found = find_table(text.encode(), **said)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "separator", "decimal_comma"),
    [
        ("1,2,3\n4,5,6\n", b",", False),
        ("1, 2, 3\n4, 5, 6\n", b",", False),
        ("1;2;3\n4;5;6\n", b";", False),
        ("1,5;2,5;3\n4;5;6\n", b";", True),
        ("1;2;3\n4,5;5;6\n", b";", True),
        ("1.5\t2\t3\n4\t5\t6\n", b"\t", False),
        ("1,5\t2\t3\n4\t5\t6\n", b"\t", True),
        (" 1   2 3\n4 5   6\n", None, False),
        ("0,1 0,2 0,3\n0,4 0,5 0,6\n", None, True),
        ("1|2|3\n4|5|6\n", b"|", False),
    ],
)
def test_the_separator_and_the_decimal_mark_are_found(text: str, separator: bytes | None, decimal_comma: bool) -> None:
    found = sheet(text)
    assert (found.separator, found.decimal_comma) == (separator, decimal_comma)
    values, _, cut = found.read([0, 1, 2])
    assert values.shape == (2, 3)
    assert not cut


@pytest.mark.parametrize(
    ("line", "separator", "comma"),
    [
        ("1,2,3", b",", False),
        ("1;2;3", b";", False),
        ("1,5;2,5", b";", True),
        ("1,5\t2,5", b"\t", True),
        ("1.5\t2.5", b"\t", False),
        ("1 2 3", None, False),
    ],
)
def test_separators_and_decimal_commas_are_told_from_a_line(line: str, separator: bytes | None, comma: bool) -> None:
    found = sheet(line)
    assert (found.separator, found.decimal_comma) == (separator, comma)


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("", ("", "", "")),
        ("a,b,c\n", ("a", "b", "c")),
        ('"a, of x",b,c\n', ("a, of x", "b", "c")),
        ("# taken by hand\na,b,c\n", ("a", "b", "c")),
        ("a,b,c\nm,m,m\n", ("a", "b", "c")),  # a row of units repeats
        ("a,b,c\n\n", ("a", "b", "c")),
        ("# a b c\n", ("a", "b", "c")),
        ("made by a program\n1,7\n\na,b,c\n", ("a", "b", "c")),
        ("a,b,c,\n", ("a", "b", "c")),
        ("2,2,2021\na,b,c\n", ("a", "b", "c")),
    ],
)
def test_the_names_of_the_columns_stand_right_above_the_numbers(head: str, names: tuple[str, ...]) -> None:
    found = sheet(head + ROWS * 3)
    assert found.names == names
    assert found.titled == any(names)
    assert found.line == head.count("\n") + 1


def test_a_separator_too_many_ends_every_row() -> None:
    found = sheet("a,b,c\n" + ROWS.replace("\n", ",\n"))
    assert found.names == ("a", "b", "c")
    assert found.read([2])[0][:, 0].tolist() == [3, 6]


def test_comments_are_kept_as_words() -> None:
    assert sheet("# rate: 30\n% unit: m,,\n" + ROWS).comments == ("rate: 30", "unit: m")


def test_columns_of_text_are_skipped_or_read_as_words() -> None:
    found = sheet("t,who,x,ok\n0,left,1,true\n\n1,right,2,False\n2,,3,true\n")
    values, words, cut = found.read([2, 3], [1])
    assert values.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert words == [["left", "right", ""]]
    assert not cut
    assert found.read([2])[0][:, 0].tolist() == [1, 2, 3]


def test_a_bad_number_beside_text_keeps_its_line_and_column() -> None:
    found = sheet("t,who,x\n0,a,1\n1,b,z\n2,c,3\n")
    with pytest.raises(CondyleError) as error:
        found.read([2])
    assert (error.value.code, error.value.line, error.value.column) == ("bad-number", 3, 3)


def test_a_cut_last_row_beside_text_is_left_out_with_its_words() -> None:
    values, words, cut = sheet("t,who,x\n0,a,1\n1,b,2\n2,c").read([2], [1])
    assert (values[:, 0].tolist(), words, cut) == ([1, 2], [["a", "b"]], True)


@pytest.mark.parametrize("broken", range(6))
def test_a_broken_row_is_never_skipped_in_silence(broken: int) -> None:
    rows = ["1,2,3,4\n"] * 6
    rows[broken] = "1,2,3\n"
    found = sheet("a,b,c,d\n" + "".join(rows))
    assert found.line == 2
    if broken == 5:
        assert found.read([0])[2]
        return
    with pytest.raises(CondyleError) as error:
        found.read([0])
    assert (error.value.code, error.value.line) == ("ragged-row", broken + 2)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "words\nand words\n", "a,b,c\n", "NO_OF_FRAMES\t6\nRATE\t7\n", "x," * 30000]
)
def test_a_text_without_rows_of_numbers_is_no_table(text: str) -> None:
    assert find_table(text.encode()) is None


AXES = ",X,Y,Z,X,Y,Z\n"
UNITS = "s,mm,mm,mm,mm,mm,mm\n"


@pytest.mark.parametrize("below", [AXES + UNITS, UNITS + AXES, AXES])
def test_names_axes_and_units_below_each_other_are_one_name(below: str) -> None:
    found = find_titled(("Point frequency,200\n\nTime,A,,,left B,,\n" + below + "0,1,2,3,4,5,6\n" * 6).encode())
    assert found is not None
    unit, second = (" [mm]", "Time [s]") if UNITS in below else ("", "Time")
    assert found.names == (second, *(f"{name} {axis}{unit}" for name in ("A", "left B") for axis in "XYZ"))
    assert (found.names_line, found.comments) == (3, ("Point frequency,200", ""))


def test_letters_of_axes_without_names_above_are_names() -> None:
    found = sheet("about\n" + AXES + "0,1,2,3,4,5,6\n" * 6)
    assert not found.stacked
    assert found.names == ("", "X", "Y", "Z", "X", "Y", "Z")


def test_only_a_table_that_begins_with_its_names_is_titled() -> None:
    assert find_titled(b"# c\na,b,c\n1,2,3\n4,5,6\n") is not None
    assert find_titled(b"about\n\na,b,c\n1,2,3\n4,5,6\n") is None
    assert find_titled(b"1,2,3\n4,5,6\n") is None
    assert find_titled(b"\x00\x01\x02") is None
