from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.model.take import Take
from condyle.prepare.read import read
from tests.make.size import cut_lengths, trials
from tests.make.texts import take_fault, take_of

BODY = "{0}.px,{0}.py,{0}.pz,{0}.qw,{0}.qx,{0}.qy,{0}.qz"
HEAD = "# condyle take 1\n# frames: 3\n# length: m\n# quaternion: wxyz\n"
COLUMNS = "time," + BODY.format("hip") + "," + BODY.format("knee") + "\n"
ROWS = [f"{k / 10},1,2,{k},1,0,0,0,4,5,6.5,0.5,0.5,-0.5,0.5\n" for k in range(3)]
WHOLE = HEAD + COLUMNS + "".join(ROWS)
SMALL: dict[str, bytes] = {
    "whole": WHOLE.encode(),
    "no header": (COLUMNS + "".join(ROWS)).encode(),
    "segments, an empty pose": WHOLE.replace("time,", "segment,time,")
    .replace("0.0,1,", "0,0.0,1,")
    .replace("0.1,1,2,1,1,0,0,0,", "0,0.1,,,,,,,,")
    .replace("0.2,1,", "1,0.2,1,")
    .encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.csv"


def read_or_fault(path: Path, raw: bytes) -> Take | CondyleError:
    """The take, or the error that a damaged file may raise; any other exception is a crash."""
    try:
        return take_of(path, raw)
    except CondyleError as error:
        return error


def describe_truncation(take: Take) -> str | None:
    told = [finding.text for finding in take.findings if finding.code == "truncated-file"]
    return told[0] if told else None


def test_a_file_is_read_as_it_says(path: Path) -> None:
    take = take_of(path, WHOLE)
    assert take.names == ("hip", "knee")
    assert take.findings == ()
    assert take.time.tolist() == [0, 0.1, 0.2]
    assert take.p_world_body[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]
    np.testing.assert_array_equal(take.R_world_body[0, 0], np.eye(3))
    assert take.sources == (str(path),)


@pytest.mark.parametrize(("unit", "metres"), [("mm", 0.001), ("inches", 0.0254), ("m", 1)])
def test_lengths_are_in_the_unit_of_the_header(path: Path, unit: str, metres: float) -> None:
    take = take_of(path, WHOLE.replace("length: m", f"length: {unit}"))
    np.testing.assert_allclose(take.p_world_body[0, 0], np.array([1, 2, 0]) * metres)


def test_an_unknown_unit_is_an_error_in_the_file_with_the_choices(path: Path) -> None:
    error = take_fault(path, WHOLE.replace("length: m", "length: ell"))
    assert error.code == "unknown-unit"
    assert "mm" in error.text


def test_columns_are_found_by_name_in_any_order(path: Path) -> None:
    cells = [line.strip().split(",") for line in (COLUMNS, *ROWS)]
    order = [0, *range(1, 4), 5, 6, 7, 4, *range(8, 11), 12, 13, 14, 11]
    text = HEAD.replace("wxyz", "xyzw") + "".join(",".join(row[k] for k in order) + "\n" for row in cells)
    np.testing.assert_array_equal(take_of(path, text).R_world_body, take_of(path, WHOLE).R_world_body)


def test_a_header_that_contradicts_the_order_of_the_columns_is_an_error(path: Path) -> None:
    assert take_fault(path, WHOLE.replace("wxyz", "xyzw")).code == "bad-header"


def test_the_comment_lines_are_optional(path: Path) -> None:
    assert take_of(path, COLUMNS + "".join(ROWS)).frames == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-32"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("knee", "Fuß").encode("latin-1"),
        lambda text: text.replace("\n0.1", "\r\n0.1").encode(),
        lambda text: text.replace(",", ", ").encode(),
        lambda text: text.encode() + b"\n\n",
    ],
    ids=["bom", "utf16", "utf16-no-bom", "utf32", "crlf", "cr", "latin1", "mixed", "spaces", "blank-end"],
)
def test_encodings_and_line_ends_of_other_programs_are_read(path: Path, change: object) -> None:
    take = take_of(path, change(WHOLE))  # type: ignore[operator]
    assert take.names[1] in ("knee", "Fuß")
    assert take.findings == ()
    np.testing.assert_array_equal(take.p_world_body[2, 1], [4, 5, 6.5])


def test_a_file_that_went_through_a_spreadsheet_is_read(path: Path) -> None:
    padded = "".join(f'"{line}",,,\n' if "frames" in line else f"{line},,,\n" for line in HEAD.splitlines())
    assert take_of(path, padded + COLUMNS + "".join(ROWS)).findings == ()


@pytest.mark.parametrize("empty", ["", " ", "nan", "NaN", "inf", "1e999"])
@pytest.mark.parametrize("cell", [1, 7, 8, 14])
def test_a_cell_that_is_empty_or_not_finite_is_a_pose_not_seen(path: Path, empty: str, cell: int) -> None:
    cells = ROWS[1].strip().split(",")
    cells[cell] = empty
    take = take_of(path, HEAD + COLUMNS + ROWS[0] + ",".join(cells) + "\n" + ROWS[2])
    assert np.argwhere(~take.seen).tolist() == [[1, (cell - 1) // 7]]
    assert take.findings == ()


def test_a_file_of_nothing_but_empty_cells_is_read_as_wholly_unseen(path: Path) -> None:
    take = take_of(path, HEAD + COLUMNS + "".join(f"{k}" + "," * 14 + "\n" for k in range(3)))
    assert not take.seen.any()


def test_without_a_time_column_frames_are_counted_and_that_is_told(path: Path) -> None:
    text = HEAD + COLUMNS[5:] + "".join(row.partition(",")[2] for row in ROWS)
    assert [finding.code for finding in take_of(path, text).findings] == ["no-time"]
    assert take_of(path, text, rate=50).time.tolist() == [0, 0.02, 0.04]


def test_segments_are_read_and_must_be_whole_numbers(path: Path) -> None:
    text = HEAD + "segment," + COLUMNS + "".join(f"{k},{row}" for k, row in zip((0, 1, 1), ROWS, strict=True))
    assert take_of(path, text).segment.tolist() == [0, 1, 1]
    error = take_fault(path, text.replace("\n1,0.1", "\n0.5,0.1"))
    assert (error.code, error.line, error.column) == ("bad-segment", 7, 1)


@pytest.mark.parametrize("text", [HEAD, HEAD + COLUMNS, HEAD + COLUMNS + "\n", COLUMNS, HEAD + COLUMNS + ROWS[0][:20]])
def test_a_header_without_rows_is_an_error(path: Path, text: str) -> None:
    assert take_fault(path, text).code in ("no-data", "bad-header")


def test_fewer_rows_than_declared_are_told_with_both_numbers(path: Path) -> None:
    take = take_of(path, WHOLE.replace("frames: 3", "frames: 5400"))
    assert describe_truncation(take) == "header says 5400 frames, 3 present; the end of the recording is missing"
    assert take.findings[0].severity == "warning"


def test_more_rows_than_declared_are_an_error_with_both_numbers(path: Path) -> None:
    assert "header says 2 frames, 3 present" in take_fault(path, WHOLE.replace("frames: 3", "frames: 2")).text


@pytest.mark.parametrize("count", ["many", "-3", "1e3", ""])
def test_a_declared_number_of_frames_must_be_a_count(path: Path, count: str) -> None:
    assert take_fault(path, WHOLE.replace("frames: 3", f"frames: {count}")).code == "bad-header"


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("0.2,1,2,2,1,0\n", "too few cells"),
        (ROWS[2].replace("0.5\n", "0.5,7\n"), "too many cells"),
        (ROWS[2].replace("6.5", "six"), "a word"),
        (ROWS[2][:-1], "no line end"),
        (ROWS[2][:-3], "a number cut short"),
    ],
)
def test_a_broken_last_row_is_left_out_and_told(path: Path, last: str, why: str) -> None:
    take = take_of(path, HEAD + COLUMNS + ROWS[0] + ROWS[1] + last)
    assert take.frames == 2, why
    assert describe_truncation(take) == "header says 3 frames, 2 present; the last line is cut and was left out"


def test_a_cut_last_row_is_told_where_no_length_is_declared(path: Path) -> None:
    take = take_of(path, COLUMNS + ROWS[0] + ROWS[1][:25])
    assert describe_truncation(take) == "1 frame present; the last line is cut and was left out"


def test_a_ragged_row_is_an_error_with_line_and_column(path: Path) -> None:
    error = take_fault(path, HEAD + COLUMNS + ROWS[0] + "0.1,1,2\n" + ROWS[2])
    assert (error.code, error.line, error.column) == ("ragged-row", 7, 4)
    assert error.text == "3 cells, expected 15"
    error = take_fault(path, HEAD + COLUMNS + ROWS[0][:-1] + ",9\n" + ROWS[1])
    assert (error.line, error.column) == (6, 16)


def test_two_ragged_rows_that_make_up_for_each_other_are_an_error(path: Path) -> None:
    joined = ROWS[0].replace("\n", "," + ROWS[1][:4] + "\n")
    error = take_fault(path, HEAD + COLUMNS + joined + ROWS[1][4:] + ROWS[2])
    assert (error.code, error.line) == ("ragged-row", 6)


@pytest.mark.parametrize("text", ["six", "1_000", "0x10", "true", "1;5", "--1", "=1+1", "[1]", "1e", "{}"])
def test_text_in_a_number_is_an_error_with_line_column_and_the_text(path: Path, text: str) -> None:
    error = take_fault(path, WHOLE.replace("4,5,6.5", f"4,5,{text}", 2))
    assert (error.code, error.line, error.column) == ("bad-number", 6, 11)
    assert f"'{text}' in column knee.pz is no number" in error.text


@pytest.mark.parametrize("number", ["+4", "4.", "04", '"4"', "4e0", " 4"])
def test_numbers_in_other_spellings_are_read(path: Path, number: str) -> None:
    take = take_of(path, WHOLE.replace("4,5,6.5", f"{number},5,6.5"))
    assert (take.p_world_body[:, 1, 0] == 4).all()


def test_an_empty_time_is_an_error_with_its_line(path: Path) -> None:
    error = take_fault(path, WHOLE.replace("\n0.1,", "\n,"))
    assert (error.code, error.line, error.column) == ("bad-time", 7, 1)


def test_a_row_that_repeats_the_time_of_the_row_before_is_left_out_and_told(path: Path) -> None:
    path.write_text(WHOLE.replace("\n0.2,", "\n0.1,"))
    take = read(path)
    assert take.time.tolist() == [0, 0.1]
    (finding,) = take.findings
    assert (finding.code, finding.frame, finding.count) == ("repeated-time", 2, 1)


def test_a_second_column_of_the_same_name_is_an_error(path: Path) -> None:
    error = take_fault(path, WHOLE.replace("knee", "hip"))
    assert (error.code, error.line, error.column) == ("duplicate-column", 5, 9)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("knee.qz", "knee.q4", "unknown-column"),
        ("knee.qz", "ankle.qz", "missing-column"),
        (",knee.qz", "", "missing-column"),
        ("take 1", "take 2", "newer-format"),
        ("time,hip.px", 'time,"hip.px', "bad-header"),
    ],
)
def test_a_broken_header_is_an_error(path: Path, old: str, new: str, code: str) -> None:
    assert take_fault(path, WHOLE.replace(old, new)).code == code


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_semicolons_tabs_and_decimal_commas_of_a_spreadsheet_are_read(path: Path, mark: str, decimal: str) -> None:
    head, rows = COLUMNS.replace(",", mark), "".join(ROWS).replace(",", mark).replace(".", decimal)
    padded = HEAD.replace("\n", f"{mark * 14}\n")
    for text in (padded + head + rows, HEAD + head + rows, head + rows):
        take = take_of(path, text)
        assert take.findings == ()
        np.testing.assert_array_equal(take.p_world_body, take_of(path, WHOLE).p_world_body)
        np.testing.assert_array_equal(take.time, [0, 0.1, 0.2])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.sized
def test_a_file_cut_at_any_byte_is_an_error_or_told_as_cut(path: Path, encoding: str) -> None:
    whole = WHOLE.encode(encoding)
    expected = take_of(path, whole)
    data_starts = len((HEAD + COLUMNS).encode(encoding))
    for length in cut_lengths(whole):
        take = read_or_fault(path, whole[:length])
        if isinstance(take, CondyleError):
            assert take.path == str(path)
            continue
        assert length > data_starts
        assert describe_truncation(take) is not None, length
        np.testing.assert_array_equal(take.p_world_body, expected.p_world_body[: take.frames])
        np.testing.assert_array_equal(take.R_world_body, expected.R_world_body[: take.frames])


def test_a_file_cut_between_two_rows_with_no_declared_length_is_a_shorter_file(path: Path) -> None:
    assert take_of(path, COLUMNS + ROWS[0] + ROWS[1]).findings == ()


def test_a_file_with_bytes_changed_is_read_or_refused_and_never_a_crash(path: Path, rng: np.random.Generator) -> None:
    for _ in trials(150, 600):
        damaged = bytearray(WHOLE.encode())
        for place in rng.integers(0, len(damaged), 3):
            damaged[place] = int(rng.choice(list(b'\x00\xff,."\n\r#=e-9 ')))
        result = read_or_fault(path, bytes(damaged))
        assert isinstance(result, Take) or result.path == str(path)
