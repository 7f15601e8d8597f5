from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import csv, vr
from condyle.model.recording import Recording, to_take
from tests.make.texts import codes, read_cuts

EXACT = 1e-12  # of a number that is only parsed
PARSED = 1e-8  # rad, of a quaternion written with nine digits


def turn(k: int) -> tuple[float, float]:
    return math.cos(0.05 * k), math.sin(0.05 * k)


def wide(head: str, devices: int, order: str, count: int = 6, rate: float = 90.0, time: float = 1.0) -> str:
    """Rows of time, then x y z and a quaternion about z in this order for each device."""
    rows = []
    for k in range(count):
        w, z = turn(k)
        q = {"w": w, "x": 0.0, "y": 0.0, "z": z}
        cells = [f"{k / rate * time:.6f}"]
        for device in range(devices):
            cells += [f"{0.01 * k + device}", "1", "2", *(f"{q[part]:.9f}" for part in order)]
        rows.append(",".join(cells))
    return head + "\n" + "\n".join(rows) + "\n"


def named(pattern: str, parts: str) -> str:
    return ",".join(pattern.format(part) for part in parts)


def header(time: str, devices: list[str], place: str, turn: str, order: str) -> str:
    parts = [f"{named(device + place, 'xyz')},{named(device + turn, order)}" for device in devices]
    return ",".join([time, *parts])


UNITY = header("time_stamp", ["head_", "hand_"], "pos_{}", "rot_{}", "xyzw")
OPENVR = header("timestamp", ["tracker_1_", "tracker_2_"], "{}", "q{}", "wxyz")


def long(stamp: str = "t_ms", between: float = 0.0, count: int = 6) -> str:
    """Two devices in turn at 100 Hz, the second `between` ms later."""
    rows = []
    for k in range(count):
        w, z = turn(k)
        for device in range(2):
            rows.append(f"{10 * k + device * between:g},LHR-{device},{k}.5,{device},2,{w:.9f},0,0,{z:.9f},ok,1\n")
    return f"{stamp},serial,x,y,z,qw,qx,qy,qz,state,valid\n" + "".join(rows)


SMALL: dict[str, bytes] = {
    "Unity": wide(UNITY, 2, "xyzw").encode(),
    "OpenVR": wide(OPENVR, 2, "wxyz").encode(),
    "rows per device": long().encode(),
}


def read(tmp_path: Path, text: str | bytes) -> Recording:
    path = tmp_path / "tracker log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return vr.read(path, ReadOptions())


def fault(tmp_path: Path, text: str | bytes) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(tmp_path, text)
    return error.value


def test_a_unity_log_is_left_handed_with_y_up_and_in_metres(tmp_path: Path) -> None:
    recording = read(tmp_path, SMALL["Unity"])
    convention = recording.convention
    assert (convention.handed, convention.up, convention.unit) == ("left", "y", "m")
    assert convention.stated == {"rotation"}
    assert recording.bodies is not None
    assert recording.bodies.names == ("head", "hand")
    assert recording.bodies.position[2].tolist() == [[0.02, 1, 2], [1.02, 1, 2]]
    w, z = turn(2)
    assert convention.rotation == "xyzw"  # as they stand in the file
    np.testing.assert_allclose(recording.bodies.orientation[2, 1], [0, 0, z, w], atol=PARSED)
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, np.round(np.arange(6) / 90, 6), atol=EXACT)


def sized(head: str, size: float, count: int = 6) -> str:
    """Rows of three devices that stand 0.3 of this size apart."""
    cells = [
        ",".join(f"{size * (0.3 * device + 0.01 * k):.6f},{size},{size},0,0,0,1" for device in range(3))
        for k in range(count)
    ]
    return head + "\n" + "\n".join(f"{k / 90:.6f},{row}" for k, row in enumerate(cells)) + "\n"


@pytest.mark.parametrize(
    ("place", "turn", "size", "expected"),
    [
        ("Loc{}", "Rot{}", 100.0, ("left", "z", "cm")),
        ("pos_{}", "rot_{}", 100.0, ("left", "z", None)),
        ("pos_{}", "rot_{}", 1.0, ("left", "y", "m")),
        ("pos_{}", "rot_{}", 1000.0, ("left", "y", None)),
        ("loc_{}", "rot_{}", 1.0, ("right", "y", "m")),
        ("{}", "q{}", 1.0, ("right", "y", "m")),
        ("{}", "q{}", 100.0, ("right", "y", None)),
    ],
)
def test_sizes_of_centimetres_in_the_words_of_an_engine_are_unreals(
    tmp_path: Path, place, turn, size, expected
) -> None:
    """They were read as metres with y up: a person of 180 m."""
    convention = read(
        tmp_path, sized(header("time", ["a_tracker_", "b_tracker_", "c_tracker_"], place, turn, "xyzw"), size)
    ).convention
    assert (convention.handed, convention.up, convention.unit) == expected
    assert convention.rotation == "xyzw"


def swung(devices: int, size: float, degrees: float = 60.0) -> str:
    """Rows of devices that swing about points 0.4 of this size away, by so many degrees to each side, 1.5 apart."""
    head = header("time", ["a_tracker_", "b_tracker_"][:devices], "pos_{}", "rot_{}", "xyzw")
    rows = []
    for k in range(400):
        angle = math.radians(degrees) * math.sin(k / 20)
        x, y = 0.4 * size * math.cos(angle), 0.4 * size * math.sin(angle)
        q = f"0,0,{math.sin(angle / 2):.9f},{math.cos(angle / 2):.9f}"
        rows.append(f"{k / 90:.6f}," + ",".join(f"{x:.6f},{y:.6f},{1.5 * size * d:.6f},{q}" for d in range(devices)))
    return "\n".join([head, *rows]) + "\n"


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    ("size", "metres", "told"), [(1.0, 1.0, []), (100.0, 0.01, ["unit-assumed"]), (1000.0, 0.001, ["unit-assumed"])]
)
def test_one_device_or_two_tell_the_unit_by_how_they_swing(
    tmp_path: Path, devices: int, size: float, metres: float, told: list[str]
) -> None:
    """They were read as metres without a word."""
    take = to_take(read(tmp_path, swung(devices, size)))
    np.testing.assert_allclose(np.ptp(take.p_world_body[:, 0, 1]), 0.8 * math.sin(math.radians(60)), rtol=0.01)
    assert codes(take) == told
    assert [finding.value for finding in take.findings] == [metres] * len(told)


def test_of_one_device_that_hardly_turns_metres_are_taken_and_told(tmp_path: Path) -> None:
    for devices, told in [(1, "info"), (2, None)]:
        recording = read(tmp_path, swung(devices, 1.0, 0.5))
        assert recording.convention.unit == "m"
        assert [finding.severity for finding in recording.findings] == [told] * (told is not None)
    path = tmp_path / "tracker log.csv"
    path.write_text(swung(1, 1.0, 0.5))
    assert not vr.read(path, ReadOptions(unit="cm")).findings


def test_a_device_that_hardly_turns_in_a_room_of_a_hundred_metres_is_not_in_metres(tmp_path: Path) -> None:
    assert read(tmp_path, swung(1, 2e4, 0.5)).convention.unit is None


def test_an_openvr_log_is_right_handed(tmp_path: Path) -> None:
    recording = read(tmp_path, SMALL["OpenVR"])
    assert (recording.convention.handed, recording.convention.up, recording.convention.unit) == ("right", "y", "m")
    take = to_take(recording)
    assert take.names == ("tracker_1", "tracker_2")
    np.testing.assert_allclose(take.R_world_body[3, 0, :2, 0], [math.cos(0.3), math.sin(0.3)], atol=PARSED)


@pytest.mark.parametrize(
    ("head", "order", "name"),
    [
        ("Time,PosX,PosY,PosZ,RotX,RotY,RotZ,RotW", "xyzw", "tracker log"),
        ("time,posx,posy,posz,rotx,roty,rotz,rotw", "xyzw", "tracker log"),
        ("time,px,py,pz,qx,qy,qz,qw", "xyzw", "tracker log"),
        ("time,position.x,position.y,position.z,rotation.x,rotation.y,rotation.z,rotation.w", "xyzw", "tracker log"),
        ("t,pos_x,pos_y,pos_z,quat_w,quat_x,quat_y,quat_z", "wxyz", "tracker log"),
        ("timestamp,x,y,z,r_w,r_x,r_y,r_z", "wxyz", "tracker log"),
        ("time,hmd_x,hmd_y,hmd_z,hmd_qx,hmd_qy,hmd_qz,hmd_qw", "xyzw", "hmd"),
        ("time,LHandPosX,LHandPosY,LHandPosZ,LHandRotX,LHandRotY,LHandRotZ,LHandRotW", "xyzw", "LHand"),
        (header("time", ["Tracker1."], "position.{}", "orientation.{}", "wxyz"), "wxyz", "Tracker1"),
    ],
)  # fmt: skip
def test_the_usual_spellings_are_recognised_and_read_alike(tmp_path: Path, head: str, order: str, name: str) -> None:
    text = wide(head, 1, order)
    assert vr.looks_like(text.encode())
    found = read(tmp_path, text)
    plain = read(tmp_path, wide("time,px,py,pz,qw,qx,qy,qz", 1, "wxyz"))
    assert found.bodies is not None
    assert plain.bodies is not None
    assert found.bodies.names == (name,)
    assert (found.convention.rotation, found.convention.stated) == (order, {"rotation"})
    take, known = (to_take(one.under(one.convention.but(unit="m", handed="right"))) for one in (found, plain))
    np.testing.assert_array_equal(take.p_world_body, known.p_world_body)
    np.testing.assert_array_equal(take.R_world_body, known.R_world_body)


def test_a_table_of_no_known_program_states_no_unit_and_no_axis(tmp_path: Path) -> None:
    convention = read(tmp_path, wide("time,px,py,pz,qw,qx,qy,qz", 1, "wxyz")).convention
    assert (convention.unit, convention.up, convention.handed) == (None, None, "right")


@pytest.mark.parametrize(
    ("name", "factor"),
    [("time", 1), ("time", 1e3), ("t_ms", 1e3), ("time", 1e6), ("time_us", 1e6), ("timestamp [ns]", 1e9)],
)
def test_time_has_the_unit_of_its_name_or_that_of_a_plausible_rate(tmp_path: Path, name: str, factor: float) -> None:
    recording = read(tmp_path, wide(f"{name},px,py,pz,qw,qx,qy,qz", 1, "wxyz", time=factor))
    assert recording.time is not None
    np.testing.assert_allclose(np.diff(recording.time), 1 / 90, atol=2e-6)


def test_rows_of_devices_become_frames(tmp_path: Path) -> None:
    recording = read(tmp_path, SMALL["rows per device"])
    assert recording.bodies is not None
    assert recording.bodies.names == ("LHR-0", "LHR-1")
    assert recording.bodies.position[4].tolist() == [[4.5, 0, 2], [4.5, 1, 2]]
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, np.arange(6) / 100, atol=EXACT)
    assert recording.convention.handed == "right"


def test_devices_with_stamps_of_their_own_are_put_on_one_clock_and_that_is_told(tmp_path: Path) -> None:
    recording = read(tmp_path, long("time", 4.0, 20))
    assert [finding.code for finding in recording.findings] == ["common-clock"]
    assert recording.bodies is not None
    assert recording.bodies.names == ("LHR-0", "LHR-1")


def test_rows_that_are_not_valid_are_not_seen(tmp_path: Path) -> None:
    text = SMALL["rows per device"].decode().replace("ok,1", "ok,true")
    lines = text.splitlines(keepends=True)
    lines[3] = lines[3].replace("true", "false")
    bodies = read(tmp_path, "".join(lines)).bodies
    assert bodies is not None
    assert np.isnan(bodies.position[:, :, 0]).sum() == 1
    assert np.isnan(bodies.position[1, 0]).all()


def test_a_pose_of_zeros_and_an_empty_one_are_not_seen(tmp_path: Path) -> None:
    lines = SMALL["OpenVR"].decode().splitlines()
    time = lines[2].split(",")[0]
    lines[2] = ",".join([time, *["0"] * 7, *lines[2].split(",")[8:]])
    lines[3] = ",".join([*lines[3].split(",")[:8], *[""] * 7])
    bodies = read(tmp_path, "\n".join(lines) + "\n").bodies
    assert bodies is not None
    gone = np.isnan(bodies.orientation[:, :, 0])
    assert gone.tolist() == [[k == 1, k == 2] for k in range(6)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        wide("time,x,y,z,a,b,c,d", 1, "wxyz"),
        wide("time,x1,y1,z1,w2,x2,y2,z2", 1, "wxyz"),  # which of them is the place is not said
        wide("time,x,y,z,roll,pitch,yaw,n", 1, "wxyz"),
        wide("time,hip.px,hip.py,hip.pz,hip.qw,hip.qx,hip.qy,hip.qz", 1, "wxyz"),  # condyle's own
        wide("%time,field.pose.position.x,field.pose.position.y,field.pose.position.z,field.pose.orientation.w,"
             "field.pose.orientation.x,field.pose.orientation.y,field.pose.orientation.z", 1, "wxyz"),
        wide("time,acc_x,acc_y,acc_z,qw,qx,qy,qz", 1, "wxyz"),
        UNITY + "\n",
    ],
)  # fmt: skip
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not vr.looks_like(text.encode())


def test_condyles_own_table_is_left_to_its_reader() -> None:
    text = wide("time,hip.px,hip.py,hip.pz,hip.qw,hip.qx,hip.qy,hip.qz", 1, "wxyz").encode()
    assert csv.looks_like(text)


@pytest.mark.costly
def test_no_recording_of_another_format_is_claimed(shared_data: Path) -> None:
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                assert not vr.looks_like(stream.read(65536)), path


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_and_line_ends_do_not_matter(tmp_path: Path, variant: str, encoding: str) -> None:
    raw = SMALL[variant].decode().replace("\n", "\r\n").encode(encoding)
    assert vr.looks_like(raw)
    assert read(tmp_path, raw).frames == 6


@pytest.mark.parametrize("variant", SMALL)
def test_semicolons_and_decimal_commas_are_read(tmp_path: Path, variant: str) -> None:
    text = re.sub(r"(\d)\.(\d)", r"\1,\2", SMALL[variant].decode().replace(",", ";"))
    assert vr.looks_like(text.encode())
    a, b = read(tmp_path, text).bodies, read(tmp_path, SMALL[variant]).bodies
    assert a is not None
    assert b is not None
    np.testing.assert_array_equal(a.position, b.position)


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_log_cut_at_any_byte_is_read_or_refused(tmp_path: Path, variant: str) -> None:
    for cut, recording in read_cuts(SMALL[variant], lambda cut: read(tmp_path, cut)):
        vr.looks_like(cut)
        assert ("truncated-file" in codes(recording)) == (not cut.endswith(b"\n"))


def test_a_bad_number_is_told_with_line_and_column(tmp_path: Path) -> None:
    error = fault(tmp_path, SMALL["OpenVR"].replace(b"0.02,1,2", b"0.02,1,z"))
    assert (error.code, error.line, error.column) == ("bad-number", 4, 4)
    error = fault(tmp_path, SMALL["rows per device"].replace(b"LHR-0,2.5", b"LHR-0,2.5.5"))
    assert (error.code, error.line, error.column) == ("bad-number", 6, 3)


def test_a_row_without_time_is_told(tmp_path: Path) -> None:
    assert fault(tmp_path, SMALL["OpenVR"].replace(b"\n0.000000,", b"\n,")).code == "bad-time"


@pytest.mark.parametrize("text", ["", "\n", UNITY + "\n", "words\n"])
def test_a_file_without_rows_is_refused(tmp_path: Path, text: str) -> None:
    assert fault(tmp_path, text).code == "missing-column"


@pytest.mark.parametrize("mark", ["#", "//", "%"])
def test_comment_lines_state_the_unit_and_the_rate(mark: str, tmp_path: Path) -> None:
    head = f"{mark} unit: mm\n{mark} rate: 50 Hz\n" + named("hip_{}", "xyz") + "," + named("hip_q{}", "wxyz")
    file = tmp_path / "log.csv"
    file.write_text(head + "\n" + "".join(f"{10 * k},900,0,1,0,0,0\n" for k in range(5)))
    found = vr.read(file, ReadOptions())
    assert (found.convention.unit, found.rate, found.time) == ("mm", 50.0, None)
    assert "unit" in found.convention.stated
    take = to_take(found)
    assert take.timed
    assert take.rate == pytest.approx(50.0)
