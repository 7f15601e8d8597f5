"""readers/ascension.py: blocks of eight numbers per sensor, and tables with named columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle import read
from condyle.io.formats import HEAD_BYTES, ascension, identify, read_recording
from tests.make.texts import codes, read_cuts, take_fault, take_of

EXACT = 1e-12  # of numbers that are only copied or turned into matrices
STEP_IN = 36 / 2**15  # inches: the finest step of the tracker
ANGLES = [[10.0, -20.0, 30.0], [170.0, 45.0, -90.0]]
MATRICES = Rotation.from_euler("ZYX", ANGLES, degrees=True).as_matrix()
QUATERNIONS = Rotation.from_euler("ZYX", ANGLES, degrees=True).as_quat()[:, [3, 0, 1, 2]]


def places(frames: int, step: float = 0.37) -> np.ndarray:
    """(frames, 2, 3): two sensors that move along x."""
    p = np.tile([[11.0, 22.0, -33.0], [-7.0, 8.0, 90.0]], (frames, 1, 1))
    p[..., 0] += np.arange(frames)[:, None]
    return p * step


def blocks(frames: int = 4, step: float = 0.37, late: float = 0.0, event: str = ",0") -> str:
    """Eight numbers per sensor and an event; the second sensor's clock is `late` [s]."""
    p = places(frames, step)
    lines = []
    for k in range(frames):
        parts = [[*p[k, s], *ANGLES[s], 400 - 4 * s, 0.01 * k + late * s] for s in range(2)]
        lines.append(",".join(f"{number:.10g}" for part in parts for number in part) + f"{event}\n")
    return "".join(lines)


WIDE = "time,x1,y1,z1,az1,el1,roll1,q1,x2,y2,z2,az2,el2,roll2,q2\n" + "".join(
    f"{0.01 * k:.2f},{k},2,3,10,-20,30,0,4,5,6,170,45,-90,0\n" for k in range(3)
)
LONG = "timestamp_ms,sensor_id,x,y,z,azimuth,elevation,roll,quality\n" + "".join(
    f"{1000 + 4 * (k // 2)},{k % 2 + 1},{k // 2}.5,2,3,{ANGLES[k % 2][0]},{ANGLES[k % 2][1]},{ANGLES[k % 2][2]},0\n"
    for k in range(10)
)
SMALL: dict[str, bytes] = {"blocks": blocks().encode(), "wide": WIDE.encode(), "long": LONG.encode()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


@pytest.mark.parametrize("variant", SMALL)
def test_every_form_is_recognised_and_its_angles_turn_about_z_then_y_then_x(path: Path, variant: str) -> None:
    take = take_of(path, SMALL[variant], unit="mm")
    assert identify(path).name == "ascension"
    assert take.names == ("s1", "s2")
    np.testing.assert_allclose(take.R_world_body[1], MATRICES, atol=EXACT)
    assert take.seen.all()


def test_neither_the_transpose_nor_the_order_is_taken_as_stated(path: Path) -> None:
    path.write_bytes(SMALL["blocks"])
    convention = read_recording(path).convention
    assert (convention.rotation, convention.degrees, convention.transposed) == ("ZYX", True, False)
    assert convention.stated == frozenset()


@pytest.mark.parametrize("event", [",0", ",7", ""])
def test_blocks_of_eight_with_or_without_an_event_are_read(path: Path, event: str) -> None:
    take = take_of(path, blocks(event=event), unit="mm")
    np.testing.assert_allclose(take.p_world_body, places(4) * 1e-3, atol=EXACT)
    np.testing.assert_allclose(take.time, [0, 0.01, 0.02, 0.03], atol=EXACT)


@pytest.mark.parametrize("separator", ["\t", ";", " "])
def test_blocks_may_be_separated_otherwise(path: Path, separator: str) -> None:
    take = take_of(path, blocks().replace(",", separator), unit="mm")
    np.testing.assert_array_equal(take.p_world_body, take_of(path, blocks(), unit="mm").p_world_body)


def test_decimal_commas_are_read(path: Path) -> None:
    text = blocks().replace(",", ";").replace(".", ",")
    np.testing.assert_array_equal(
        take_of(path, text, unit="mm").p_world_body, take_of(path, blocks(), unit="mm").p_world_body
    )


@pytest.mark.parametrize(
    ("step", "unit"), [(STEP_IN * 25.4, "mm"), (4 * STEP_IN * 25.4, "mm"), (STEP_IN, "in"), (2 * STEP_IN, "in")]
)
def test_the_step_of_the_tracker_betrays_the_unit_and_that_is_told(path: Path, step: float, unit: str) -> None:
    path.write_text(blocks(20, step))
    recording = read_recording(path)
    assert recording.convention.unit == unit
    assert "unit" not in recording.convention.stated
    assert [(f.code, f.severity) for f in recording.findings] == [("unit-assumed", "info")]


def test_a_place_beyond_the_reach_in_inches_is_millimetres_with_a_warning(path: Path) -> None:
    path.write_text(blocks(20, 17.123))
    recording = read_recording(path)
    assert recording.convention.unit == "mm"
    assert [(f.code, f.severity) for f in recording.findings] == [("unit-assumed", "warning")]


def test_where_nothing_betrays_the_unit_it_stays_open(path: Path) -> None:
    path.write_text(blocks())
    assert read_recording(path).convention.unit is None


@pytest.mark.parametrize(("cell", "unit"), [("x1 [mm]", "mm"), ("x1 (cm)", "cm"), ("x1_in", "in")])
def test_a_unit_in_the_name_of_a_column_is_stated(path: Path, cell: str, unit: str) -> None:
    path.write_text(WIDE.replace("x1", cell))
    convention = read_recording(path).convention
    assert (convention.unit, "unit" in convention.stated) == (unit, True)


def test_angles_whose_column_says_radians_are_radians(path: Path) -> None:
    path.write_text(LONG.replace("azimuth", "azimuth (rad)"))
    convention = read_recording(path).convention
    assert (convention.degrees, "degrees" in convention.stated) == (False, True)


def test_a_clock_that_starts_over_begins_a_new_segment(path: Path) -> None:
    take = take_of(path, blocks(20) + blocks(20), unit="mm")
    assert take.segment.tolist() == [0] * 20 + [1] * 20
    assert "time-backwards" in codes(take)


@pytest.mark.parametrize("late", [0.0, 0.004, -0.004])
def test_clocks_within_half_a_frame_are_one(path: Path, late: float) -> None:
    assert "sensor-clocks" not in codes(take_of(path, blocks(late=late), unit="mm"))


@pytest.mark.parametrize("late", [0.009, -0.011])
def test_a_sensor_with_another_clock_is_told_and_the_first_clock_kept(path: Path, late: float) -> None:
    take = take_of(path, blocks(late=late), unit="mm")
    told = next(finding for finding in take.findings if finding.code == "sensor-clocks")
    assert (told.bodies, told.severity, told.unit) == (("s2",), "info", "s")
    assert told.value == pytest.approx(late, abs=1e-6)
    np.testing.assert_allclose(take.time, [0, 0.01, 0.02, 0.03], atol=EXACT)


@pytest.mark.parametrize(
    "header",
    [
        "x,y,z,a,e,r,quality,x,y,z,a,e,r,quality",
        "s1_x,s1_y,s1_z,s1_az,s1_el,s1_roll,s1_button,s2_x,s2_y,s2_z,s2_az,s2_el,s2_roll,s2_button",
        "X 1,Y 1,Z 1,Azimuth 1,Elevation 1,Roll 1,Quality 1,X 2,Y 2,Z 2,Azimuth 2,Elevation 2,Roll 2,Quality 2",
        "Sensor1.X,Sensor1.Y,Sensor1.Z,Sensor1.A,Sensor1.E,Sensor1.R,n,"
        "Sensor2.X,Sensor2.Y,Sensor2.Z,Sensor2.A,Sensor2.E,Sensor2.R,n",
    ],
)
def test_columns_of_one_row_per_frame_are_found_by_many_names(path: Path, header: str) -> None:
    rows = "".join(f"{k},2,3,10,-20,30,0,4,5,6,170,45,-90,0\n" for k in range(3))
    take = take_of(path, f"{header}\n{rows}", unit="m")
    assert identify(path).name == "ascension"
    np.testing.assert_array_equal(take.p_world_body[2], [[2, 2, 3], [4, 5, 6]])
    np.testing.assert_allclose(take.R_world_body[0], MATRICES, atol=EXACT)


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ("q0,q1,q2,q3", QUATERNIONS),
        ("qw,qx,qy,qz", QUATERNIONS),
        ("m11,m12,m13,m21,m22,m23,m31,m32,m33", MATRICES.reshape(2, 9)),
    ],
)
def test_quaternions_and_matrices_are_read_where_columns_name_them(path: Path, names: str, numbers: np.ndarray) -> None:
    rows = "".join(f"{s + 1},1,2,3,{','.join(f'{v:.15g}' for v in numbers[s])}\n" for _ in range(3) for s in range(2))
    take = take_of(path, f"# trakSTAR\nsensor,x,y,z,{names}\n{rows}", unit="m")
    assert identify(path).name == "ascension"
    np.testing.assert_allclose(take.R_world_body[2], MATRICES, atol=EXACT)


def test_rows_of_one_sensor_each_are_put_together_and_a_lost_one_is_not_seen(path: Path) -> None:
    lines = LONG.splitlines(keepends=True)
    take = take_of(path, "".join(lines[:4] + lines[5:]), unit="mm")
    np.testing.assert_allclose(take.time, 1 + 0.004 * np.arange(5), atol=EXACT)
    assert np.argwhere(~take.seen).tolist() == [[1, 1]]


def test_where_neighbouring_rows_are_lost_the_time_tells_the_frames_apart(path: Path) -> None:
    lines = LONG.splitlines(keepends=True)
    take = take_of(path, "".join(lines[:2] + lines[4:]), unit="mm")  # the last of one frame, the first of the next
    assert np.argwhere(~take.seen).tolist() == [[0, 1], [1, 0]]


def test_a_time_that_stands_still_is_not_used(path: Path) -> None:
    text = WIDE.replace("0.01,", "0.00,", 1).replace("0.02,", "0.00,", 1)
    assert "no-time" in codes(take_of(path, text, unit="mm"))


def test_a_pose_of_zeros_and_an_empty_one_are_not_seen(path: Path) -> None:
    lines = WIDE.splitlines(keepends=True)
    lines[1] = "0,0,0,0,0,0,0,0,4,5,6,170,45,-90,0\n"
    lines[3] = "0.02,1,2,3,10,-20,30,0,,,,,,,\n"
    take = take_of(path, "".join(lines), unit="mm")
    assert np.argwhere(~take.seen).tolist() == [[0, 0], [2, 1]]


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_file_cut_anywhere_is_read_or_refused_and_a_cut_row_is_told(path: Path, variant: str) -> None:
    for cut, take in read_cuts(SMALL[variant], lambda cut: take_of(path, cut, unit="mm")):
        assert cut.endswith(b"\n") or "truncated-file" in codes(take), len(cut)


@pytest.mark.parametrize(("line", "column"), [(1, 4), (3, 2), (4, 16)])
def test_a_word_in_the_place_of_a_number_is_told_with_line_and_column(path: Path, line: int, column: int) -> None:
    lines = [row.split(",") for row in blocks(6).splitlines()]
    lines[line - 1][column - 1] = "oops"
    error = take_fault(path, "".join(",".join(row) + "\n" for row in lines))
    assert (error.code, error.line, error.column) == ("bad-number", line, column)


def test_a_row_that_is_too_short_is_told_with_its_line(path: Path) -> None:
    lines = WIDE.splitlines(keepends=True)
    error = take_fault(path, "".join([*lines[:2], "1,2,3\n", *lines[2:]]))
    assert (error.code, error.line) == ("ragged-row", 3)


def test_a_column_named_twice_is_an_error_with_its_place(path: Path) -> None:
    error = take_fault(path, WIDE.replace("x2", "x1"), format="ascension")
    assert (error.code, error.line, error.column) == ("duplicate-column", 1, 9)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("\n", ",\n").encode(),
        lambda text: text.encode() + b"\n\n",
    ],
    ids=["bom", "utf16", "crlf", "cr", "separator-at-end", "blank-end"],
)
def test_encodings_and_line_ends_of_other_programs_are_read(path: Path, variant: str, change: object) -> None:
    take = take_of(path, change(SMALL[variant].decode()), unit="mm")  # type: ignore[operator]
    np.testing.assert_array_equal(take.p_world_body, take_of(path, SMALL[variant], unit="mm").p_world_body)


def test_a_header_without_rows_is_an_error(path: Path) -> None:
    assert take_fault(path, WIDE.splitlines()[0] + "\n", format="ascension").code == "no-data"


def test_a_table_of_another_width_is_refused_with_the_way_out(path: Path) -> None:
    error = take_fault(path, "1,2,3,4,5,6\n2,3,4,5,6,7\n", format="ascension")
    assert error.code == "bad-header"
    assert "first line" in error.text


@pytest.mark.parametrize(
    "text",
    [
        "0.1,0.2,0.3,0,0,0,1,0.5\n" * 4,  # a quaternion and a time
        "time,x,y,z,roll,pitch,yaw\n0,1,2,3,4,5,6\n0,1,2,3,4,5,6\n",
        "station,x,y,z,azimuth,elevation,roll\n1,1,2,3,4,5,6\n1,1,2,3,4,5,6\n",
        "hip.px,hip.py,hip.pz\n1,2,3\n",
        "",
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not ascension.looks_like(text.encode())


@pytest.mark.costly
def test_of_all_recorded_files_only_that_of_this_tracker_is_claimed(shared_data: Path) -> None:
    claimed = []
    for file in shared_data.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                if ascension.looks_like(stream.read(HEAD_BYTES)):
                    claimed.append(file.name)
    assert claimed == ["hand_1.csv"]


def test_the_recorded_hand_is_read_to_the_last_digit(shared_data: Path) -> None:
    file = shared_data / "ascension_trakstar" / "hand_1.csv"
    table = np.loadtxt(file, delimiter=",")[:, :48].reshape(-1, 6, 8)
    recording = read_recording(file)
    bodies = recording.bodies
    assert bodies is not None
    np.testing.assert_array_equal(bodies.position, table[..., :3])
    np.testing.assert_array_equal(bodies.orientation, table[..., 3:6])
    np.testing.assert_array_equal(recording.time, table[:, 0, 7])
    assert recording.convention.unit == "mm"
    told = {finding.code: finding for finding in recording.findings}
    assert told["sensor-clocks"].bodies == ("s5", "s6")
    turned = Rotation.from_euler("ZYX", table[100, :, 3:6], degrees=True).as_matrix()
    np.testing.assert_allclose(read(file).R_world_body[100], turned, atol=EXACT)
