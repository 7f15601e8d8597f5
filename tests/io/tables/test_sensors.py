"""io/tables/sensors.py: columns and frames of tracker logs."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.tables.sensors import add_extras, find_kind, find_log, find_sensors, group_frames

ROW = "1,2,3,4,5,6\n"


@pytest.mark.parametrize(
    ("station", "frame"),
    [
        ([1, 2, 1, 2], [0, 0, 1, 1]),
        ([1, 2, 2, 1, 2], [0, 0, 1, 2, 2]),  # the first is missing once
        ([1, 2, 3, 1, 3, 1, 2, 3], [0, 0, 0, 1, 1, 2, 2, 2]),
        ([5, 5, 5], [0, 1, 2]),
        ([3], [0]),
        ([], []),
    ],
)
def test_a_frame_begins_where_the_numbers_of_the_sensors_start_over(station: list[int], frame: list[int]) -> None:
    assert group_frames(np.array(station, dtype=np.int64)).tolist() == frame


def test_a_count_of_frames_or_a_jump_in_time_begins_a_frame_too() -> None:
    station = np.array([1, 2, 1, 2, 1, 2, 1, 2, 1, 3])
    assert group_frames(station, np.array([0.0, 0, 1, 1, 2, 2, 3, 3, 4, 5]))[-2:].tolist() == [4, 5]
    assert group_frames(station, time=np.array([0.0, 1, 10, 11, 20, 21, 30, 31, 40, 50]))[-2:].tolist() == [4, 5]
    assert group_frames(station, time=np.array([0.0, 1, 10, 11, 20, 21, 30, 31, 40, 41]))[-2:].tolist() == [4, 4]


def test_the_numbers_begin_at_the_first_line_of_six_numbers_or_more() -> None:
    table = find_log(b"Log of 2021\n1,2,3\na,b,c,d,e,f\n\n" + ROW.encode() * 2)
    assert (table.line, len(table.names), table.names, table.names_line) == (5, 6, ("a", "b", "c", "d", "e", "f"), 3)
    assert table.numbers()[0].tolist() == [[1, 2, 3, 4, 5, 6]] * 2


@pytest.mark.parametrize("text", ["", "\n", "words\n" * 500, "1,2,3\n" * 3])
def test_text_without_such_a_line_is_refused(text: str) -> None:
    with pytest.raises(CondyleError) as error:
        find_log(text.encode())
    assert error.value.code == "no-data"


@pytest.mark.parametrize(
    ("header", "sensors"),
    [
        ("x,y,z,az,el,roll", [1]),
        ("X (mm),Y (mm),Z (mm),Azimuth (deg),Elevation (deg),Roll (deg)", [1]),
        ("bird 3 x,bird 3 y,bird 3 z,bird 3 a,bird 3 e,bird 3 r", [3]),
        ("x_12,y_12,z_12,az_12,el_12,roll_12", [12]),
        ("x,y,z,az,el,button", []),
        ("x1,y1,z1,az2,el2,roll2", []),
        ("length,y,z,az,el,roll", []),
    ],
)
def test_a_header_names_sensors_or_not(header: str, sensors: list[int]) -> None:
    layout = find_sensors(find_log(f"{header}\n{ROW}".encode()))
    assert ([] if layout is None else [sensor[0] for sensor in layout.sensors]) == sensors


def test_quaternions_win_over_angles_where_both_are_named() -> None:
    header = "x,y,z,az,el,roll,q0,q1,q2,q3\n1,2,3,4,5,6,1,0,0,0\n"
    layout = find_sensors(find_log(header.encode()))
    assert layout is not None
    assert (layout.rotation, layout.sensors[0][2]) == ("wxyz", (6, 7, 8, 9))


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([[0.5, 0.5, 0.5, -0.5]], ("wxyz", 4)),
        ([[0.0, 0, 0, 0], [0.5, 0.5, 0.5, -0.5]], ("wxyz", 4)),
        ([[10.0, 20, 30]], ("ZYX", 3)),
        ([[10.0, 20, 30, 77]], ("ZYX", 3)),
        ([[10.0, 95, 30]], None),
        ([[1.0, 0, 0, 0, 1, 0, 0, 0, 1]], ("matrix", 9)),
        ([[0.0, 0, 0]], None),
        ([[np.nan, 1, 2]], None),
        ([[1e300, 1e300, 1e300, 1e300]], None),
    ],
)
def test_the_numbers_tell_what_kind_of_rotation_they_are(numbers: list[list[float]], kind: object) -> None:
    assert find_kind(np.array(numbers)) == kind


def test_a_column_that_counts_by_one_is_a_count_and_one_that_grows_otherwise_is_time() -> None:
    values = np.array([[0, 5, 9.0], [0, 6, 9.5], [1, 7, 9.9]])
    table = find_log(f"x,y,z,az,el,roll\n{ROW}".encode())
    layout = find_sensors(table)
    assert layout is not None
    found = add_extras(layout, values, [0, 1, 2])
    assert (found.frame, found.time) == (0, 2)
