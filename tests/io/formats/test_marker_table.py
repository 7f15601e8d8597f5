from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import marker_table
from condyle.model.recording import Recording
from tests.make.texts import codes, read_cuts

EXACT = 1e-12
COUNT = 4  # frames


def table(names: str, comments: str = "", time: str | None = None) -> str:
    columns = names.split(",")
    rows = [[f"{k + 10 * j}.5" for j in range(len(columns))] for k in range(COUNT)]
    if time is not None:
        columns = [time, *columns]
        rows = [[f"{k / 100}", *row] for k, row in enumerate(rows)]
    return comments + ",".join(columns) + "\n" + "".join(",".join(row) + "\n" for row in rows)


NAMES = "A_x,A_y,A_z,B_x,B_y,B_z,C_x,C_y,C_z"
COMMENTS = "# sampling frequency: 30\n# units are seconds/meters/radians/a.u.\n"
SMALL: dict[str, bytes] = {
    "comments": table(NAMES, COMMENTS).encode(),
    "time": table(NAMES.replace("_", ".").upper(), time="Time").encode(),
}


def read(tmp_path: Path, text: str | bytes) -> Recording:
    path = tmp_path / "markers.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return marker_table.read(path, ReadOptions())


def fault(tmp_path: Path, text: str | bytes) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(tmp_path, text)
    return error.value


def test_markers_rate_and_unit_are_read(tmp_path: Path) -> None:
    recording = read(tmp_path, SMALL["comments"])
    assert recording.markers is not None
    assert recording.markers.names == ("A", "B", "C")
    assert recording.markers.position[1, 1].tolist() == [31.5, 41.5, 51.5]
    assert recording.rate == 30
    assert recording.time is None
    assert recording.convention.unit == "meters"
    assert recording.convention.stated == {"unit"}


@pytest.mark.parametrize(
    "names",
    [
        NAMES,
        NAMES.upper(),
        NAMES.replace("_", "."),
        NAMES.replace("_", " "),
        NAMES.replace("_", ":"),
        ",".join(name + " [mm]" for name in NAMES.split(",")),
        NAMES.replace("A_", "left knee "),
        "A_x,B_x,C_x,A_y,B_y,C_y,A_z,B_z,C_z",
        NAMES + ",seg_quat_w,seg_quat_x,seg_quat_y,seg_quat_z",
    ],
)
def test_the_usual_spellings_are_recognised(tmp_path: Path, names: str) -> None:
    text = table(names)
    assert marker_table.looks_like(text.encode())
    markers = read(tmp_path, text).markers
    assert markers is not None
    assert len(markers.names) == 3
    first = next(k for k, name in enumerate(names.lower().split(",")) if re.match(r"b\Wx|b_x", name))
    assert markers.position[2, 1, 0] == 2 + 10 * first + 0.5


def test_orientations_beside_markers_are_left_out_and_named(tmp_path: Path) -> None:
    recording = read(tmp_path, table(NAMES + ",seg_quat_w,seg_quat_x,seg_quat_y,seg_quat_z"))
    assert recording.bodies is None
    assert recording.facts["orientations"] == "1 in the file, not used"


@pytest.mark.parametrize(("name", "seconds"), [("Time", 1.0), ("time (ms)", 1e-3), ("t_us", 1e-6)])
def test_a_column_of_time_wins_over_a_rate(tmp_path: Path, name: str, seconds: float) -> None:
    recording = read(tmp_path, table(NAMES, COMMENTS, time=name))
    assert recording.rate is None
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, np.arange(COUNT) / 100 * seconds, atol=EXACT)


@pytest.mark.parametrize(
    ("comments", "suffix", "unit"),
    [("# units: mm\n", "", "mm"), ("", " [cm]", "cm"), ("", " (mm)", "mm"), ("# made in 3 m by Ann\n", "", None),
     ("", " [V]", None)],
)  # fmt: skip
def test_a_unit_is_read_from_brackets_and_comments(
    tmp_path: Path, comments: str, suffix: str, unit: str | None
) -> None:
    names = ",".join(name + suffix for name in NAMES.split(","))
    assert read(tmp_path, table(names, comments)).convention.unit == unit


def test_empty_cells_and_zeros_are_markers_not_seen(tmp_path: Path) -> None:
    text = NAMES + "\n1,2,3,,,,7,8,9\n1,2,3,4,5,6,0,0,0\n1,2,3,4,5,6,7,0,0\n"
    markers = read(tmp_path, text).markers
    assert markers is not None
    assert np.isnan(markers.position[:, :, 0]).tolist() == [[False, True, False], [False, False, True], [False] * 3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        table("A_x,A_y,A_z,B_x,B_y,B_z"),  # two markers make no body
        table(NAMES + ",temperature"),
        table(NAMES + ",A_qw,A_qx,A_qy,A_qz"),  # A is a body
        table("a,b,c,d,e,f,g,h,i"),
        "title\n" + table(NAMES),
        NAMES + "\n",
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not marker_table.looks_like(text.encode())


@pytest.mark.costly
def test_only_marker_tables_are_claimed_among_real_files(shared_data: Path) -> None:
    claimed = set()
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                if marker_table.looks_like(stream.read(65536)):
                    claimed.add("/".join(path.relative_to(shared_data).parts[:2]))
    assert claimed == {"diodem/arm", "diodem/gait", "hard/hip", "hard/linkage"}


def test_a_linkage_is_read_with_its_rate(shared_data: Path) -> None:
    path = next((shared_data / "diodem/arm/exp01/motion02_pause1").glob("*.csv"))
    recording = marker_table.read(path, ReadOptions())
    assert recording.markers is not None
    assert recording.markers.names == tuple(f"seg{s}_marker{k}" for s in range(1, 6) for k in range(1, 5))
    lines = path.read_text().splitlines()
    assert recording.frames == len(lines) - 3
    assert recording.rate == 30
    names = lines[2].split(",")
    row = dict(zip(names, lines[103].split(","), strict=True))
    expected = [float(row[f"seg4_marker2_{axis}"]) for axis in "xyz"]
    np.testing.assert_allclose(recording.markers.position[100, 13], expected, atol=EXACT)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_and_line_ends_do_not_matter(tmp_path: Path, variant: str, encoding: str) -> None:
    raw = SMALL[variant].decode().replace("\n", "\r\n").encode(encoding)
    assert marker_table.looks_like(raw)
    assert read(tmp_path, raw).frames == COUNT


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_table_cut_at_any_byte_is_read_or_refused(tmp_path: Path, variant: str) -> None:
    for cut, recording in read_cuts(SMALL[variant], lambda cut: read(tmp_path, cut)):
        marker_table.looks_like(cut)
        assert ("truncated-file" in codes(recording)) == (not cut.endswith(b"\n"))


def test_faults_name_their_place(tmp_path: Path) -> None:
    error = fault(tmp_path, table(NAMES.replace("B_x", "A_x"), COMMENTS))
    assert (error.code, error.line, error.column) == ("duplicate-column", 3, 4)
    error = fault(tmp_path, SMALL["comments"].replace(b"\n1.5,11.5", b"\n1.5,11..5"))
    assert (error.code, error.line, error.column) == ("bad-number", 5, 2)
    error = fault(tmp_path, table("a,b,c"))
    assert error.code == "missing-column"
    assert "--columns" in error.text


@pytest.mark.parametrize("text", ["", "\n", NAMES + "\n"])
def test_a_file_without_rows_has_no_data(tmp_path: Path, text: str) -> None:
    assert fault(tmp_path, text).code == "no-data"
