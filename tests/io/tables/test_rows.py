"""io/tables/rows.py: rows of numbers, fast and exact."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.tables import rows as _table
from condyle.io.tables.rows import describe_truncation, parse_rows, take_columns

NAMES = ("a", "b", "c")


def text_of(values: np.ndarray, separator: str = ",", decimal: str = ".") -> bytes:
    cells = [["" if np.isnan(x) else repr(float(x)).replace(".", decimal) for x in row] for row in values]
    return "".join(separator.join(row) + "\n" for row in cells).encode()


@pytest.fixture(params=["simdjson", "msgspec"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to read plain rows: the fast one, and what there is where it is not built."""
    if request.param == "msgspec":
        monkeypatch.setitem(sys.modules, "simdjson", None)
    else:
        pytest.importorskip("simdjson", reason="pysimdjson is not built for this Python")
    return str(request.param)


@pytest.mark.parametrize("at_once", [1, 2**16])
def test_lines_end_by_lf_crlf_or_cr_wherever_they_stand(
    parser: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_table, "PARSED_AT_ONCE_BYTES", at_once)
    for k in range(1, 9):
        for end in (b"\r\n", b"\r"):
            lines = [b"%d,2,%d\n" % (one, one) for one in range(9)]
            lines[k] = lines[k].replace(b"\n", end)
            values, cut = parse_rows(b"".join(lines), NAMES, line=1)
            assert (values[:, 0].tolist(), cut) == (list(range(9)), 0)
            lines[7] = b"7,x,7\n"
            with pytest.raises(CondyleError) as caught:
                parse_rows(b"".join(lines), NAMES, line=1)
            assert caught.value.line == 8
    with pytest.raises(CondyleError, match=r"line 3.*1 cells, expected 3"):  # and not taken for one row
        parse_rows(b"1,2,3\n4,5,\r6\n7,8,9\n", NAMES, line=1)


@pytest.mark.parametrize("cell", ["1e400", "12345678901234567890123", "true", '"1"', "{}", "[1]", "0x10", "1_0", "--1"])
def test_what_is_no_number_is_found_by_both_ways(parser: str, cell: str) -> None:
    rows = b"1,2,3\n4," + cell.encode() + b",6\n7,8,9\n"
    if cell in ("1e400", "12345678901234567890123"):
        assert parse_rows(rows, NAMES, line=1)[0][1, 1] == float(cell)
    elif cell == '"1"':
        assert parse_rows(rows, NAMES, line=1)[0][1, 1] == 1
    else:
        with pytest.raises(CondyleError, match="line 2"):
            parse_rows(rows, NAMES, line=1)


def test_rows_of_several_lengths_are_not_taken_for_even_ones(parser: str) -> None:
    with pytest.raises(CondyleError, match="2 cells, expected 3"):
        parse_rows(b"1,2,3\n4,5\n6,7,8,9\n", NAMES, line=1)


@pytest.mark.parametrize(("frames", "gap"), [(1, False), (1, True), (9000, False), (9000, True)])
def test_the_quick_way_and_the_careful_way_read_the_same_numbers(
    rng: np.random.Generator, parser: str, frames: int, gap: bool
) -> None:
    values = rng.standard_normal((frames, 3)) * 10.0 ** rng.integers(-200, 3, (frames, 3))
    if gap:
        values[rng.random((frames, 3)) < 0.3] = np.nan
    rows = text_of(values).rstrip(b"\n")
    assert len(rows) > _table.PARSED_AT_ONCE_BYTES or frames == 1
    quick, cut = _table._read_blocks(rows, NAMES, 1, b",", False, len(rows))
    careful, broken = _table._read_carefully(rows, NAMES, 1, b",", False)
    assert not cut
    assert not broken
    np.testing.assert_array_equal(quick, values)
    np.testing.assert_array_equal(careful, values)


@pytest.mark.parametrize(
    "columns", [[[1, 2, 3], [5, 6, 7]], [[7, 5, 3], [6, 4, 2]], [[1, 2, 3], [3, 1, 2]], [[4, 5, 6]], [[4], [2], [0]]]
)
def test_columns_side_by_side_and_in_any_order_are_the_same_as_picked_one_by_one(columns: list[list[int]]) -> None:
    values = np.arange(40.0).reshape(5, 8)
    got = take_columns(values, columns)
    np.testing.assert_array_equal(got, values[:, np.array(columns)])
    assert not got.flags.writeable


def test_columns_that_are_a_part_of_the_table_cannot_change_with_it() -> None:
    values = np.arange(40.0).reshape(5, 8).copy()
    got = take_columns(values, [[1, 2, 3], [5, 6, 7]])
    assert np.shares_memory(got, values)
    with pytest.raises(ValueError, match="read-only"):
        values[0, 1] = 9


def test_a_table_whose_rows_grow_shorter_has_room_for_all_of_them(rng: np.random.Generator) -> None:
    values = np.concatenate([rng.standard_normal((4000, 3)), np.arange(60000.0).reshape(-1, 3) % 10])
    got, _ = parse_rows(text_of(values), NAMES, line=1)
    np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize("separator", [",", "\t", ";", None])
@pytest.mark.parametrize("ending", ["", "\n\n", "  \n"])
def test_every_separator_gives_the_same_numbers(rng: np.random.Generator, separator: str | None, ending: str) -> None:
    values = rng.standard_normal((50, 3))
    rows = text_of(values, separator or "   ") + ending.encode()
    got, cut = parse_rows(rows, NAMES, line=1, separator=None if separator is None else separator.encode())
    assert not cut
    np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_decimal_commas_are_read(rng: np.random.Generator, separator: str) -> None:
    values = rng.standard_normal((50, 3))
    got, _ = parse_rows(
        text_of(values, separator, ","), NAMES, line=1, separator=separator.encode(), decimal_comma=True
    )
    np.testing.assert_array_equal(got, values)


def test_numbers_that_json_does_not_know_are_read() -> None:
    got, cut = parse_rows(b"+1,.5,5.\n007,nan,NULL\n1e3,-.25,Inf\n", NAMES, line=1)
    assert not cut
    np.testing.assert_array_equal(got, [[1, 0.5, 5], [7, np.nan, np.nan], [1000, -0.25, np.inf]])


def test_a_separator_at_the_end_of_every_line_is_allowed() -> None:
    got, _ = parse_rows(b"1,2,3,\n4,5,6,\n", NAMES, line=1)
    np.testing.assert_array_equal(got, [[1, 2, 3], [4, 5, 6]])


def test_empty_cells_at_the_end_of_tabbed_lines_are_cells() -> None:
    got, cut = parse_rows(b"1\t2\t\n4\t\t\n", NAMES, line=1, separator=b"\t")
    assert not cut
    np.testing.assert_array_equal(got, [[1, 2, np.nan], [4, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("rows", "code", "line", "column"),
    [
        (b"1,2,3\n1,x,3\n1,2,3\n", "bad-number", 8, 2),
        (b"1,2,3\n1,2\n1,2,3\n", "ragged-row", 8, 3),
        (b"1,2,3,4\n1,2,3\n", "ragged-row", 7, 4),
        (b"1,2,3\n1,1_0,3\n1,2,3\n", "bad-number", 8, 2),
    ],
)
def test_a_broken_row_raises_with_its_line_and_column(rows: bytes, code: str, line: int, column: int) -> None:
    with pytest.raises(CondyleError) as error:
        parse_rows(rows, NAMES, line=7)
    assert (error.value.code, error.value.line, error.value.column) == (code, line, column)


@pytest.mark.parametrize("last", [b"4,5", b"4,5,6", b"4,5,x\n", b"4,5\n"])
def test_a_cut_or_broken_last_row_is_left_out_and_told(last: bytes) -> None:
    got, cut = parse_rows(b"1,2,3\n" + last, NAMES, line=1)
    assert cut
    np.testing.assert_array_equal(got, [[1, 2, 3]])


def test_no_rows_are_no_numbers() -> None:
    got, cut = parse_rows(b"\n\n", NAMES, line=1)
    assert got.shape == (0, 3)
    assert not cut


def test_truncation_is_told_with_both_counts() -> None:
    assert describe_truncation(10, 10, False) == []
    assert describe_truncation(10, None, False) == []
    (finding,) = describe_truncation(3912, 5400, False)
    assert finding.text == "header says 5400 frames, 3912 present; the end of the recording is missing"
    assert finding.count == 1488
