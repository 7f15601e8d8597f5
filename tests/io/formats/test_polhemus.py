"""readers/polhemus.py: rows of stations, named columns and matrices of Polhemus trackers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import condyle
from condyle import read
from condyle.io.formats import HEAD_BYTES, ReadOptions, identify, polhemus, read_recording
from tests.make.texts import codes, read_cuts, take_fault, take_of

EXACT = 1e-12  # of numbers that are only copied or turned into matrices
ANGLES = [[10.0, -20.0, 30.0], [170.0, 45.0, -90.0]]
PLACES = [[1.25, -2.5, 3.0], [-100.25, 20.0, 7.5]]
QUATERNIONS = Rotation.from_euler("ZYX", ANGLES, degrees=True).as_quat()[:, [3, 0, 1, 2]]
MATRICES = Rotation.from_euler("ZYX", ANGLES, degrees=True).as_matrix()


def cells(numbers: object, digits: int = 4) -> str:
    return " ".join(f"{number:.{digits}f}" for number in np.ravel(numbers))  # type: ignore[call-overload]


def rows(frames: int = 3, orientation: object = ANGLES, station: str = "{:02d} ") -> list[str]:
    """Two stations per frame; the first moves by 1 along x in every frame."""
    turned = np.asarray(orientation).reshape(2, -1)
    moved = [np.add(PLACES, [[k, 0, 0], [0, 0, 0]]) for k in range(frames)]
    return [f"{station.format(s + 1)} {cells(p[s])} {cells(turned[s], 9)}\n" for p in moved for s in range(2)]


def matrix_text(frames: int = 3) -> str:
    blocks = []
    for k in range(frames):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = MATRICES[0], [k, 2, 3]
        blocks.append("".join(f"{cells(row, 12)}\n" for row in T) + "\n")
    return "".join(blocks)


NAMED = "Time,w1,x1,y1,z1,w2,x2,y2,z2,loc1_x,loc1_y,loc1_z,loc2_x,loc2_y,loc2_z\n" + "".join(
    f"{0.1 * k:.1f}," + cells([*QUATERNIONS.ravel(), *np.ravel(PLACES)], 9).replace(" ", ",") + "\n" for k in range(3)
)
SMALL: dict[str, bytes] = {
    "angles": "".join(rows()).encode(),
    "quaternions": "".join(rows(orientation=QUATERNIONS)).encode(),
    "header": ("Polhemus Liberty\nUnits: cm\n" + "".join(rows())).encode(),
    "named": NAMED.encode(),
    "matrices": matrix_text().encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.txt"


@pytest.mark.parametrize("variant", SMALL)
def test_every_form_is_recognised_and_read(path: Path, variant: str) -> None:
    take = take_of(path, SMALL[variant], unit="cm")
    assert identify(path).name == "polhemus"
    assert take.frames == 3
    assert take.names == (("s1",) if variant == "matrices" else ("s1", "s2"))
    np.testing.assert_allclose(take.R_world_body[1, 0], MATRICES[0], atol=1e-8)
    assert take.seen.all()


def test_azimuth_elevation_and_roll_turn_about_z_then_y_then_x(path: Path) -> None:
    take = take_of(path, SMALL["angles"], unit="m")
    np.testing.assert_allclose(take.R_world_body[2], MATRICES, atol=EXACT)
    np.testing.assert_allclose(take.p_world_body[2], [[3.25, -2.5, 3.0], [-100.25, 20.0, 7.5]], atol=EXACT)


def test_direction_cosines_are_read_row_by_row(path: Path) -> None:
    take = take_of(path, "".join(rows(orientation=MATRICES)), unit="m")
    np.testing.assert_allclose(take.R_world_body[0], MATRICES, atol=1e-8)


@pytest.mark.parametrize("station", ["{:02d} ", "{:d}", "  {:d} ", "{:02d}"])
def test_the_station_is_written_with_or_without_a_zero(path: Path, station: str) -> None:
    assert take_of(path, "".join(rows(station=station)), unit="cm").names == ("s1", "s2")


def test_numbers_that_a_minus_glues_together_are_put_apart(path: Path) -> None:
    lines = [f"0{k % 2 + 1}  123.45-100.22-101.00  -1.20 -20.00 {k}0.00\n" for k in range(4)]
    take = take_of(path, "".join(lines), unit="cm")
    np.testing.assert_allclose(take.p_world_body[0, 0], [1.2345, -1.0022, -1.01], atol=EXACT)


@pytest.mark.parametrize("flag", ["E", "a", "*"])
def test_an_error_flag_is_told_and_its_row_kept(path: Path, flag: str) -> None:
    text = "".join(rows()).replace("01 ", f"01{flag}", 1)
    take = take_of(path, text, unit="cm")
    np.testing.assert_array_equal(take.p_world_body, take_of(path, SMALL["angles"], unit="cm").p_world_body)
    told = next(finding for finding in take_of(path, text, unit="cm").findings if finding.code == "device-error")
    assert (told.bodies, told.count, told.severity) == (("s1",), 1, "warning")
    assert flag in told.text


def test_a_first_cell_with_an_exponent_is_no_error_flag(path: Path) -> None:
    text = "".join(rows()).replace("01 ", "1e0 ")
    assert "device-error" not in codes(take_of(path, text, unit="cm", format="polhemus"))


@pytest.mark.parametrize("lost", [0, 1, 2, 3, 4, 5])
def test_a_station_that_a_frame_lacks_is_not_seen_there(path: Path, lost: int) -> None:
    lines = rows(frames=3)
    del lines[lost]
    take = take_of(path, "".join(lines), unit="cm")
    assert take.frames == 3
    assert np.argwhere(~take.seen).tolist() == [[lost // 2, lost % 2]]


def test_where_two_stations_in_a_row_are_lost_the_count_of_frames_tells(path: Path) -> None:
    lines = [f"{row.strip()} {100 + k // 2}\n" for k, row in enumerate(rows(frames=4))]
    del lines[3:5]  # the second station of one frame and the first of the next
    take = take_of(path, "".join(lines), unit="cm")
    assert np.argwhere(~take.seen).tolist() == [[1, 1], [2, 0]]
    assert "no-time" in codes(take)


@pytest.mark.parametrize("before", [True, False])
def test_a_time_in_milliseconds_and_a_count_of_frames_stand_before_or_behind(path: Path, before: bool) -> None:
    extra = [f"{1000 + 4 * (k // 2)} {7 + k // 2}" for k in range(6)]
    lines = [f"{e} {r.strip()}\n" if before else f"{r.strip()} {e}\n" for e, r in zip(extra, rows(), strict=True)]
    take = take_of(path, "".join(lines), unit="cm")
    assert take.names == ("s1", "s2")
    np.testing.assert_allclose(take.time, [1.0, 1.004, 1.008], atol=EXACT)


def test_a_pose_of_zeros_is_not_seen(path: Path) -> None:
    lines = rows()
    lines[2] = "01  0.00 0.00 0.00 0.00 0.00 0.00\n"
    take = take_of(path, "".join(lines), unit="cm")
    assert np.argwhere(~take.seen).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("words", "unit", "length"),
    [("Units: cm", "cm", 0.0125), ("unit = inches", "inches", 0.03175), ("Position units mm", "mm", 0.00125)],
)
def test_a_unit_in_the_header_is_taken_as_stated(path: Path, words: str, unit: str, length: float) -> None:
    text = f"Polhemus Fastrak\n{words}\n" + "".join(rows())
    path.write_text(text)
    convention = read_recording(path).convention
    assert (convention.unit, "unit" in convention.stated) == (unit, True)
    take = take_of(path, text)
    assert take.p_world_body[0, 0, 0] == pytest.approx(length, abs=EXACT)
    assert "unit-assumed" not in codes(take)


def test_without_a_stated_unit_one_is_assumed_and_told(path: Path) -> None:
    path.write_bytes(SMALL["angles"])
    assert read_recording(path).convention.unit is None
    assert "unit-assumed" in codes(read(path))


def test_columns_are_found_by_their_names(path: Path) -> None:
    head = "station,frame,timestamp_ms,x [cm],y [cm],z [cm],azimuth,elevation,roll\n"
    body = [f"{k % 2 + 1},{k // 2},{4 * (k // 2)},{k},2,3,10,-20,30\n" for k in range(6)]
    take = take_of(path, head + "".join(body))
    assert identify(path).name == "polhemus"
    assert take.names == ("s1", "s2")
    np.testing.assert_allclose(take.time, [0, 0.004, 0.008], atol=EXACT)
    np.testing.assert_allclose(take.p_world_body[:, 1, 0], [0.01, 0.03, 0.05], atol=EXACT)
    np.testing.assert_allclose(take.R_world_body[0, 0], MATRICES[0], atol=EXACT)


def test_the_numbers_of_named_columns_may_stand_in_any_order(path: Path) -> None:
    lines = [line.split(",") for line in NAMED.splitlines()]
    turned = "".join(",".join(reversed(line)) + "\n" for line in lines)
    np.testing.assert_array_equal(
        take_of(path, turned, unit="m").R_world_body[:, ::-1], take_of(path, NAMED, unit="m").R_world_body
    )


def test_a_sensor_without_all_its_columns_is_an_error(path: Path) -> None:
    text = NAMED.replace("loc2_z", "height")
    error = take_fault(path, text, format="polhemus")
    assert (error.code, error.line) == ("missing-column", 1)


def test_a_column_named_twice_is_an_error_with_its_place(path: Path) -> None:
    error = take_fault(path, NAMED.replace("loc2_x", "loc1_x"), format="polhemus")
    assert (error.code, error.line, error.column) == ("duplicate-column", 1, 13)


@pytest.mark.parametrize(("line", "column"), [(1, 4), (3, 2), (4, 7)])
def test_a_word_in_the_place_of_a_number_is_told_with_line_and_column(path: Path, line: int, column: int) -> None:
    lines = rows()
    numbers = lines[line - 1].split()
    numbers[column - 1] = "oops"
    lines[line - 1] = " ".join(numbers) + "\n"
    error = take_fault(path, "".join(lines))
    assert (error.code, error.line, error.column) == ("bad-number", line, column)
    assert "oops" in error.text


def test_a_row_that_is_too_short_is_told_with_its_line(path: Path) -> None:
    lines = rows()
    lines[2] = "01 1 2 3 4 5\n"
    error = take_fault(path, "".join(lines))
    assert (error.code, error.line) == ("ragged-row", 3)


def test_a_station_that_is_no_whole_number_is_told_with_its_line(path: Path) -> None:
    head = "station,x,y,z,azimuth,elevation,roll\n"
    error = take_fault(path, head + "1,1,2,3,4,5,6\n1.5,1,2,3,4,5,6\n1,1,2,3,4,5,6\n")
    assert (error.code, error.line, error.column) == ("bad-number", 3, 1)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_file_cut_anywhere_is_read_or_refused_and_a_cut_row_is_told(path: Path, variant: str) -> None:
    for cut, take in read_cuts(SMALL[variant], lambda cut: take_of(path, cut, unit="cm")):
        assert cut.endswith(b"\n") or "truncated-file" in codes(take), len(cut)


def test_matrices_cut_between_rows_lose_the_last_one_and_say_so(path: Path) -> None:
    lines = matrix_text().splitlines(keepends=True)
    take = take_of(path, "".join(lines[:12]))
    assert take.frames == 2
    assert "truncated-file" in codes(take)


def test_matrices_with_a_row_missing_are_told_with_the_line(path: Path) -> None:
    lines = matrix_text(4).splitlines(keepends=True)
    del lines[6]
    error = take_fault(path, "".join(lines))
    assert (error.code, error.line, error.frame) == ("ragged-row", 10, 1)


def test_a_bad_number_in_a_matrix_is_told_with_line_and_column(path: Path) -> None:
    lines = matrix_text(4).splitlines(keepends=True)
    lines[6] = "1 2 x 4\n"
    error = take_fault(path, "".join(lines))
    assert (error.code, error.line, error.column) == ("bad-number", 7, 3)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.encode() + b"\n\n",
    ],
    ids=["bom", "utf16", "crlf", "cr", "blank-end"],
)
def test_encodings_and_line_ends_of_other_programs_are_read(path: Path, variant: str, change: object) -> None:
    take = take_of(path, change(SMALL[variant].decode()), unit="cm")  # type: ignore[operator]
    plain = take_of(path, SMALL[variant], unit="cm")
    np.testing.assert_array_equal(take.p_world_body, plain.p_world_body)


@pytest.mark.parametrize("text", ["Polhemus\n", NAMED.splitlines()[0] + "\n", "station,x,y,z,azimuth,elevation,roll\n"])
def test_a_header_without_rows_is_an_error(path: Path, text: str) -> None:
    assert take_fault(path, text, format="polhemus").code == "no-data"


def test_a_table_without_stations_is_refused_with_the_way_out(path: Path) -> None:
    error = take_fault(path, "".join(f"{k} 2 3 4 5 6 700\n" for k in range(30)), format="polhemus")
    assert error.code == "bad-header"
    assert "first line" in error.text


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{k} 0.1 0.2 0.3 0 0 0 1\n" for k in range(1, 30)),  # a count of frames, not stations
        "".join(f"{0.1 * k} 0.1 0.2 0.3 0 0 0 1\n" for k in range(30)),  # time and a pose
        "1 0 0 0\n0 1 0 0\n0 0 1 0\n1 2 3 4\n",
        "1 0 0 0 0 1 0 0 0 0 1 0\n" * 5,
        "x,y,z\n1,2,3\n",
        "",
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not polhemus.looks_like(text.encode())


@pytest.mark.costly
def test_of_all_recorded_files_only_those_of_this_tracker_are_claimed(shared_data: Path) -> None:
    claimed = set()
    for file in shared_data.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                if polhemus.looks_like(stream.read(HEAD_BYTES)):
                    claimed.add(file.parent.name + file.suffix)
    assert claimed == {"polhemus_liberty.csv", "polhemus_fastrak.traj", "hemisphere.csv"}


def test_the_recorded_hinge_is_read_to_the_last_digit_and_found(shared_data: Path) -> None:
    file = shared_data / "polhemus_liberty" / "hinge_x.csv"
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    recording = read_recording(file)
    bodies = recording.bodies
    assert bodies is not None
    np.testing.assert_array_equal(bodies.position.reshape(-1, 6), table[:, 9:])
    np.testing.assert_array_equal(bodies.orientation.reshape(-1, 8), table[:, 1:9])
    np.testing.assert_array_equal(recording.time, table[:, 0])
    assert recording.convention.unit is None
    joint = condyle.fit(read(file, unit="cm")).skeleton.joints[0]
    assert {joint.child, joint.parent} == {"s1", "s2"}
    assert joint.kind == "hinge"


def test_the_recorded_matrices_are_read_to_the_last_digit(shared_data: Path) -> None:
    files = sorted((shared_data / "polhemus_fastrak").glob("*.traj"))
    assert len(files) == 6
    for file in files:
        T = np.loadtxt(file).reshape(-1, 4, 4)
        recording = polhemus.read(file, ReadOptions())
        bodies = recording.bodies
        assert bodies is not None
        np.testing.assert_array_equal(bodies.position[:, 0], T[:, :3, 3])
        np.testing.assert_array_equal(bodies.orientation[:, 0].reshape(-1, 3, 3), T[:, :3, :3])
        assert recording.time is None
        assert recording.rate is None
