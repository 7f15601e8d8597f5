from __future__ import annotations

import pytest

from condyle.io.tables.vocabulary import (
    find_stated_rate,
    find_stated_unit,
    read_column_name,
    read_column_names,
    read_tracker_name,
)


def columns(pattern: str, parts: str) -> list[str]:
    return [pattern.format(part) for part in parts]


@pytest.mark.parametrize(
    ("name", "owner", "kind", "part"),
    [
        ("px", "", "position", "x"),
        ("TX", "", "position", "x"),
        ("hand_px", "hand", "position", "x"),
        ("hand.pos.X", "hand", "position", "x"),
        ("handPosX", "hand", "position", "x"),
        ("posx", "", "position", "x"),
        ("Position_Right_x", "Right", "position", "x"),
        ("loc1_x", "1", "position", "x"),
        ("LeftControllerPosZ", "LeftController", "position", "z"),
        ("b_primed_local.position.X", "b_primed_local", "position", "x"),
        ("b_primed_local.rotation.quaternion.W", "b_primed_local", "rotation", "w"),
        ("qw", "", "rotation", "w"),
        ("q0", "", "rotation", "0"),
        ("hand_rot_w", "hand", "rotation", "w"),
        ("seg1_quat_z", "seg1", "rotation", "z"),
        ("r_w", "", "rotation", "w"),
        ("tracker1.orientation.y", "tracker1", "rotation", "y"),
        ("LASI X", "LASI", "place", "x"),
        ("seg1_marker1_x", "seg1_marker1", "place", "x"),
        ("w1", "1", "place", "w"),
        ("x", "", "place", "x"),
        ("yaw", "", "angle", "Z"),
        ("Az2", "2", "angle", "Z"),
        ("el", "", "angle", "Y"),
        ("Rot[4]", "", "matrix", "4"),
        ("arm.r12", "arm", "matrix", "12"),
        ("hand_x [mm]", "hand", "place", "x"),
        ("FP1.PosX", "FP1", "position", "x"),
    ],
)
def test_a_name_says_of_whom_and_what_it_is(name: str, owner: str, kind: str, part: str) -> None:
    found = read_column_name(name)
    assert found is not None
    assert (found.owner, found.kind, found.part) == (owner, kind, part)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "note",
        "headset_vel_x",
        "hand_angularVel_y",
        "acc_x",
        "gyr_z",
        "force_x",
        "q7",
        "max",
        "x" * 300,
        "FP1.CopX",
        "FP2.MomZ",
    ],
)
def test_other_names_say_nothing(name: str) -> None:
    assert read_column_name(name) is None


@pytest.mark.parametrize(
    ("name", "unit"),
    [("time", None), ("t", None), ("Time (Seconds)", "s"), ("timestamp_ms", "ms"), ("t_ms", "ms"), ("unix_ms", "ms"),
     ("timestamp [ns]", "ns"), ("TimeSinceStart", None), ("utc_ms", "ms"), ("ts", None), ("elapsed_ms", "ms"),
     ("ms", "ms"), ("clock [s]", "s"), ("time_stamp", None), ("Seconds", "s")],
)  # fmt: skip
def test_a_clock_is_known_by_its_name(name: str, unit: str | None) -> None:
    found = read_column_names(["other", name])
    assert (found.time, found.time_unit) == (1, unit)


def test_a_quaternion_takes_precedence_over_angles_and_a_place_over_nothing() -> None:
    found = read_column_names([*columns("rot_{}", "xyzw"), *columns("{}", "xyz")])
    assert [(thing.position, thing.rotation, thing.kind) for thing in found.things] == [
        ((4, 5, 6), (0, 1, 2, 3), "xyzw")
    ]


def test_things_without_orientation_are_markers_and_the_rest_is_told() -> None:
    found = read_column_names(["frame", *columns("A_{}", "xyz"), *columns("B quat {}", "wxyz"), "temperature"])
    assert [thing.name for thing in found.markers] == ["A"]
    assert found.bodies == ()
    assert found.frame == 0
    assert found.rest == (8,)


def test_three_angles_are_sorted_by_the_axes_they_turn_about() -> None:
    found = read_column_names(["x", "y", "z", "roll", "pitch", "yaw"])
    assert found.bodies[0].rotation == (5, 4, 3)


@pytest.mark.parametrize("start", [0, 1])
def test_nine_numbered_columns_are_a_matrix(start: int) -> None:
    names = [f"r{i}{j}" for i in range(start, start + 3) for j in range(start, start + 3)]
    assert read_column_names(["x", "y", "z", *names]).bodies[0].rotation == tuple(range(3, 12))


@pytest.mark.parametrize(
    ("comment", "rate"),
    [
        ("sampling rate: 120", 120),
        ("Frame rate = 59.94 Hz", 59.94),
        ("fps 30", 30),
        ("rate", None),
        ("made at 12:30", None),
        ("fs=100  nSamples=955", 100),
        ("Point frequency,200", 200),
        ("Analog frequency,1000", None),
    ],
)
def test_a_rate_is_read_from_comments(comment: str, rate: float | None) -> None:
    assert find_stated_rate([comment]) == rate


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("Units: cm", "cm"),
        ("position in inches", "inches"),
        ("Position units: mm", "mm"),
        ("1 m away from the wall", None),
        ("community", None),
        ("all positions in mm", "mm"),
        ("positions are given in metres", "metres"),
        ("posUnit=m", "m"),
        ("timeUnit=ms length_unit: cm", "cm"),
    ],
)
def test_a_unit_is_stated_beside_the_word_for_it(line: str, unit: str | None) -> None:
    assert find_stated_unit([line]) == unit


@pytest.mark.parametrize(
    ("name", "role", "station", "unit"),
    [
        ("x", "x", None, None),
        ("X (mm)", "x", None, "mm"),
        ("x_pos", "x", None, None),
        ("bird 3 a", "az", 3, None),
        ("roll_12", "roll", 12, None),
        ("r1", "roll", 1, None),
        ("r11", "m11", None, None),
        ("m11_2", "m11", 2, None),
        ("q0_1", "q0", 1, None),
        ("quat3", "q3", None, None),
        ("s1_qw", "q0", 1, None),
        ("time_ms", "time", None, "ms"),
        ("sensor_id", "station", None, None),
        ("rx", None, None, None),
        ("hand_x", None, None, None),
        ("button", None, None, None),
    ],
)
def test_a_column_of_a_tracker_says_its_role_its_sensor_and_its_unit(
    name: str, role: str | None, station: int | None, unit: str | None
) -> None:
    assert read_tracker_name(name) == (role, station, unit)
