"""readers/trc.py: marker files of Motion Analysis, OpenSim and others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.io.formats import ReadOptions, trc
from tests.make.texts import codes, fault, read_cuts, recording_of, write_content

FIRST = "PathFileType\t4\t(X/Y/Z)\twalk.trc\n"
KEYS = "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
VALUES = "100.00\t100.00\t3\t2\tmm\t100.00\t1\t3\n"
NAMES = "Frame#\tTime\tL.ASIS\t\t\tRASI\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
ROWS = [f"{k + 1}\t{k / 100:.3f}\t1.5\t2\t{k + 1}\t4\t5\t6.5\n" for k in range(3)]
HEAD = FIRST + KEYS + VALUES + NAMES
WHOLE = HEAD + "\n" + "".join(ROWS)
BLANKS = (HEAD + "".join(ROWS)).replace("\t\t\n", "\n").replace("\t\t\t", "\t").replace("\t", "  ")
SMALL: dict[str, bytes] = {
    "tabs": WHOLE.encode(),
    "no blank line": (HEAD + "".join(ROWS)).encode(),
    "blanks": BLANKS.encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "walk.trc"


@pytest.mark.parametrize("variant", SMALL)
def test_markers_are_read_as_they_stand_there(path: Path, variant: str) -> None:
    found = recording_of(path, SMALL[variant])
    assert found.format == "trc"
    assert found.markers is not None
    assert found.markers.names == ("L.ASIS", "RASI")
    assert found.markers.position[2].tolist() == [[1.5, 2, 3], [4, 5, 6.5]]
    assert found.time is not None
    assert found.time.tolist() == [0, 0.01, 0.02]
    assert (found.convention.unit, found.convention.up, found.rate) == ("mm", "y", 100)
    assert found.convention.stated == {"unit"}
    assert found.findings == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("RASI\t\t\n", "RASI\n"),
        lambda text: text.replace("\t\tX1", "X1"),
        lambda text: text.replace("6.5\n", "6.5\t\n").replace("Z2\n", "Z2\t\n"),
        lambda text: text.replace("\n\n", "\n\t\t\n"),
        lambda text: text.replace("3\t2\tmm", "3\t7\tmm"),
        lambda text: text.replace(VALUES, "  " + VALUES.replace("\t", "\t\t ")),
    ],
    ids=["short names", "shifted axes", "last tab", "line of tabs", "wrong count", "two tabs between values"],
)
def test_habits_of_other_writers_are_understood(path: Path, change: object) -> None:
    found = recording_of(path, change(WHOLE))  # type: ignore[operator]
    assert found.markers is not None
    assert found.markers.names == ("L.ASIS", "RASI")
    assert found.markers.position[2].tolist() == [[1.5, 2, 3], [4, 5, 6.5]]
    assert found.convention.unit == "mm"


@pytest.mark.parametrize("cells", ["\t\t", "NaN\tNaN\tNaN", "0.0\t0.0\t0.0"])
@pytest.mark.parametrize("marker", [0, 1])
def test_a_marker_that_is_not_seen_is_empty_nan_or_zero(path: Path, cells: str, marker: int) -> None:
    seen = "1.5\t2\t2" if marker == 0 else "4\t5\t6.5"
    found = recording_of(path, HEAD + ROWS[0] + ROWS[1].replace(seen, cells) + ROWS[2])
    assert found.markers is not None
    assert np.argwhere(np.isnan(found.markers.position).any(axis=2)).tolist() == [[1, marker]]
    assert codes(found) == []


def test_the_unit_is_that_of_the_header_or_left_open(path: Path) -> None:
    assert recording_of(path, WHOLE.replace("\tmm\t", "\tm\t")).convention.unit == "m"
    found = recording_of(path, WHOLE.replace("\tmm\t", "\t\t"))
    assert (found.convention.unit, found.convention.stated) == (None, frozenset())
    assert fault(path, WHOLE.replace("\tmm\t", "\tell\t")).code == "unknown-unit"


def test_fewer_rows_than_declared_are_told(path: Path) -> None:
    found = recording_of(path, WHOLE.replace("\t3\t2\tmm", "\t900\t2\tmm"))
    assert "header says 900 frames, 3 present" in found.findings[0].text
    assert recording_of(path, WHOLE.replace("\t3\t2\tmm", "\t2\t2\tmm")).frames == 3


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_cut_at_any_byte_gives_whole_frames_and_says_so_or_is_an_error(path: Path, variant: str) -> None:
    raw = SMALL[variant]
    whole = recording_of(path, raw).markers
    assert whole is not None
    for cut, found in read_cuts(raw, lambda cut: trc.read(write_content(path, cut), ReadOptions())):
        assert codes(found) == ["truncated-file"], len(cut)
        assert found.markers is not None
        np.testing.assert_array_equal(found.markers.position, whole.position[: found.frames])


def test_a_bad_number_is_an_error_with_line_and_column(path: Path) -> None:
    error = fault(path, WHOLE.replace("2\t0.010\t1.5", "2\t0.010\tone"))
    assert (error.code, error.line, error.column) == ("bad-number", 8, 3)
    assert "'one' in column L.ASIS X" in error.text
    error = fault(path, WHOLE.replace("2\t0.010\t1.5", "2\t1.5"))
    assert (error.code, error.line) == ("ragged-row", 8)
    assert fault(path, WHOLE.replace("\t0.010", "\t")).code == "bad-time"


def test_a_broken_header_is_an_error_with_its_line(path: Path) -> None:
    assert fault(path, WHOLE.replace("RASI", "L.ASIS")).code == "duplicate-name"
    error = fault(path, WHOLE.replace("\tX2\tY2\tZ2", ""))
    assert (error.code, error.line) == ("bad-header", 4)
    assert fault(path, WHOLE.replace("Frame#", "Bild#")).line == 4
    assert fault(path, WHOLE.replace("L.ASIS\t\t\tRASI", "\t\t\t")).code == "bad-header"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("RASI", "Fuß").encode("latin-1"),
        lambda text: text.replace("L.ASIS", "L_ASIS").replace(".", ",").encode(),
    ],
    ids=["bom", "utf16", "crlf", "latin1", "decimal comma"],
)
def test_files_that_went_through_other_programs_are_read(path: Path, change: object) -> None:
    found = recording_of(path, change(WHOLE))  # type: ignore[operator]
    assert found.markers is not None
    assert found.markers.names[1] in ("RASI", "Fuß")
    assert found.markers.position[2, 1].tolist() == [4, 5, 6.5]


@pytest.mark.parametrize("text", [FIRST, FIRST + KEYS, HEAD, HEAD + "\n\n", HEAD + ROWS[0][:-3]])
def test_a_header_without_rows_is_an_error(path: Path, text: str) -> None:
    assert fault(path, text).code == "no-data"


@pytest.mark.parametrize("head", [b"", b"\x00\x01", b"Frame#\tTime\n", b"x PathFileType"])
def test_files_of_another_kind_are_not_claimed(head: bytes) -> None:
    assert not trc.looks_like(head)


def test_of_all_recorded_files_those_that_are_named_trc_are_claimed(shared_data: Path) -> None:
    for file in shared_data.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                assert trc.looks_like(stream.read(65536)) == (file.suffix == ".trc"), file


@pytest.mark.parametrize("axes", ["X1\tY1\tZ1\tX2\tY2\tZ2\t", "X1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\tX4\tY4\tZ4"])
@pytest.mark.parametrize("end", ["", "\t\t\t\t\t\t\t"])
def test_virtual_markers_that_were_not_exported_are_left_out(path: Path, axes: str, end: str) -> None:
    head = FIRST + KEYS + VALUES + f"Frame#\tTime\tL.ASIS\t\t\tRASI\t\t\tV_Mid\t\t\tV_Mid\t\t\t\n\t\t{axes}\n"
    found = recording_of(path, head + "".join(row.replace("\n", f"{end}\n") for row in ROWS))
    assert found.markers is not None
    assert found.markers.names == ("L.ASIS", "RASI")
    assert found.markers.position[2].tolist() == [[1.5, 2, 3], [4, 5, 6.5]]
    assert found.facts["virtual markers"] == "2 named, none in the rows"
    assert found.findings == ()


def test_virtual_markers_that_were_exported_are_markers(path: Path) -> None:
    head = FIRST + KEYS + VALUES + NAMES.replace("RASI\t\t", "RASI\t\t\tV_Mid\t\t").replace("Z2", "Z2\tX3\tY3\tZ3")
    found = recording_of(path, head + "".join(row.replace("\n", "\t7\t8\t9\n") for row in ROWS))
    assert found.markers is not None
    assert found.markers.names == ("L.ASIS", "RASI", "V_Mid")
