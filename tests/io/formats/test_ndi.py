"""readers/ndi.py: three kinds of CSV of NDI trackers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import condyle
from condyle import read
from condyle.errors import CondyleError
from condyle.io.formats import HEAD_BYTES, identify, ndi, read_recording
from tests.make.size import cut_lengths
from tests.make.texts import codes, take_fault, take_of

EXACT = 1e-12  # of numbers that are only copied
ROUNDED = 1e-6  # of clocks with many digits, s
QUATERNION = "0.5,0.5,-0.5,0.5"
TURN = Rotation.from_quat([0.5, -0.5, 0.5, 0.5]).as_matrix()

SAMPLES = (
    "Test Date: \nday, month, year, hour, minute, second, milliseconds\n2, 2, 2021, 4, 15 , 52 , 821 \n\n"
    "Sample:,Hour,Minutes,Seconds,ms,Xa,Ya,Za,qoa,qxa,qya,qza,Xb,Yb,Zb,qob,qxb,qyb,qzb\n"
) + "".join(
    f"{k + 1}, 4 , 15 , 52, {100 * k},{k}.5 , -60.0 , 3, 0.5 , 0.5 , -0.5, 0.5, 4, 5, 6, 1, 0, 0, 0, \n"
    for k in range(4)
)
_PORT = "Frame,Time [sec],Face,State,Q0,Qx,Qy,Qz,Tx,Ty,Tz,Error,Markers,State,Tx,Ty,Tz"
TOOLS = f"Tools,Port 0x01: Probe  s/n:3E4C880C,{_PORT},Port 0x02: Tibia  s/n:3E4C8800,{_PORT}\n" + "".join(
    f"2,Port 0x01: Probe  s/n:3E4C880C,{600 + k},17780674.{k}5,1,OK,{QUATERNION},{k}.5,-60.0,3,0.2,1,OK,1,2,3,"
    f"Port 0x02: Tibia  s/n:3E4C8800,{600 + k},17780674.{k}5,1,OK,1,0,0,0,4,5,6,0.2,1,OK,1,2,3\n"
    for k in range(4)
)
_OLD = "Frame,Face,State,Q0,Qx,Qy,Qz,Tx,Ty,Tz,Error"
OLD_TOOLS = f"Tools,Port 1,{_OLD},Port 2,{_OLD}\n" + "".join(
    f"2,Port 1,{k},1,OK,{QUATERNION},{k}.5,-60.0,3,0.2,Port 2,{k},1,OK,1,0,0,0,4,5,6,0.2\n" for k in range(4)
)
API = (
    "#Tools,ToolInfo,Frame#,PortHandle,Face#,TransformStatus,Q0,Qx,Qy,Qz,Tx,Ty,Tz,Error,Markers,State,Tx,Ty,Tz\n"
    + "".join(
        f"2,8700339 s/n:3A,{k},Port:1,0,OK,{QUATERNION},{k}.5,-60.0,3,0.2,2,OK,1,2,3,Missing,,,,"
        f"8700340 s/n:3B,{k},Port:2,0,OK,1,0,0,0,4,5,6,0.2,0\n"
        for k in range(4)
    )
)
SMALL: dict[str, bytes] = {
    "samples": SAMPLES.encode(),
    "tools": TOOLS.encode(),
    "old-tools": OLD_TOOLS.encode(),
    "api": API.encode(),
}
NAMES = {
    "samples": ("a", "b"),
    "tools": ("Probe", "Tibia"),
    "old-tools": ("Port 1", "Port 2"),
    "api": ("8700339 s/n:3A", "8700340 s/n:3B"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def row_changed(variant: str, row: int, old: str, new: str) -> str:
    """The file with one replacement in one of its last four lines."""
    lines = SMALL[variant].decode().splitlines(keepends=True)
    assert old in lines[row - 4]
    lines[row - 4] = lines[row - 4].replace(old, new, 1)
    return "".join(lines)


@pytest.mark.parametrize("variant", SMALL)
def test_every_form_is_recognised_and_read_in_millimetres_scalar_first(path: Path, variant: str) -> None:
    take = take_of(path, SMALL[variant])
    assert identify(path).name == "ndi"
    assert take.names == NAMES[variant]
    np.testing.assert_allclose(take.p_world_body[3], [[0.0035, -0.06, 0.003], [0.004, 0.005, 0.006]], atol=EXACT)
    np.testing.assert_allclose(take.R_world_body[0], [TURN, np.eye(3)], atol=EXACT)
    assert take.seen.all()
    assert "unit-assumed" not in codes(take)


def test_what_is_only_custom_is_not_taken_as_stated(path: Path) -> None:
    path.write_bytes(SMALL["tools"])
    convention = read_recording(path).convention
    assert (convention.unit, convention.rotation, convention.stated) == ("mm", "wxyz", frozenset())


def test_the_time_of_day_becomes_seconds(path: Path) -> None:
    take = take_of(path, SAMPLES)
    np.testing.assert_allclose(take.time - 4 * 3600 - 15 * 60 - 52, [0, 0.1, 0.2, 0.3], atol=ROUNDED)


def test_time_goes_on_past_midnight(path: Path) -> None:
    text = SAMPLES
    for k, clock in enumerate(("23 , 59 , 59, 800", "23 , 59 , 59, 900", "0 , 0 , 0, 0", "0 , 0 , 0, 100")):
        text = text.replace(f"4 , 15 , 52, {100 * k},", f"{clock},", 1)
    take = take_of(path, text)
    np.testing.assert_allclose(take.time - take.time[0], [0, 0.1, 0.2, 0.3], atol=ROUNDED)
    assert "time-backwards" not in codes(take)


def test_time_comes_from_the_column_in_seconds_and_else_there_is_none(path: Path) -> None:
    take = take_of(path, TOOLS)
    np.testing.assert_allclose(take.time, [0, 0.1, 0.2, 0.3], atol=ROUNDED)
    assert [one.value for one in take.findings if one.code == "clock-origin"] == [17780674.05]
    assert "no-time" in codes(take_of(path, OLD_TOOLS))
    assert take_of(path, OLD_TOOLS, rate=40).time.tolist() == [0, 0.025, 0.05, 0.075]


def test_time_in_seconds_and_nanoseconds_is_put_together(path: Path) -> None:
    text = API.replace("Face#,", "Face#,timespec_s,timespec_ns,")
    for k in range(4):
        for port in (1, 2):
            text = text.replace(f"{k},Port:{port},0,", f"{k},Port:{port},0,17780674,{k}00000000,")
    np.testing.assert_allclose(take_of(path, text).time, [0, 0.1, 0.2, 0.3], atol=ROUNDED)


@pytest.mark.parametrize(
    ("variant", "old", "new"),
    [
        ("samples", "4, 5, 6, 1, 0, 0, 0", "0, 0, 0, 0, 0, 0, 0"),
        ("samples", "4, 5, 6, 1, 0, 0, 0", ", , , , , , "),
        ("tools", "OK,1,0,0,0,4,5,6,0.2", "Missing,,,,,,,,"),
        ("tools", "OK,1,0,0,0,4,5,6,0.2", "Missing,1,0,0,0,4,5,6,0.2"),
        ("tools", "OK,1,0,0,0,4,5,6,0.2", "Disabled,0,0,0,0,0,0,0,0"),
        ("tools", "OK,1,0,0,0,4,5,6", "Too Few Markers" + ",-3.697314E28" * 7),
        ("old-tools", "OK,1,0,0,0,4,5,6,0.2", "MISSING,,,,,,,,"),
        ("api", "OK,1,0,0,0,4,5,6,0.2", "Missing,,,,,,,,"),
    ],
)
def test_a_pose_that_was_not_measured_is_not_seen(path: Path, variant: str, old: str, new: str) -> None:
    take = take_of(path, row_changed(variant, 1, old, new))
    assert np.argwhere(~take.seen).tolist() == [[1, 1]]
    assert set(codes(take)) <= {"no-time", "clock-origin"}


def test_a_tool_at_the_origin_of_the_tracker_is_seen(path: Path) -> None:
    assert take_of(path, row_changed("tools", 1, "1,0,0,0,4,5,6", "1,0,0,0,0,0,0")).seen.all()


def test_a_tool_with_fewer_markers_in_one_row_shifts_nothing(path: Path) -> None:
    take = take_of(path, row_changed("api", 2, ",2,OK,1,2,3,Missing,,,,", ",0,"))
    np.testing.assert_array_equal(take.p_world_body[2], take_of(path, API).p_world_body[2])
    assert take.seen.all()


def test_names_that_differ_in_port_or_serial_number_only_are_kept_whole(path: Path) -> None:
    take = take_of(path, TOOLS.replace("Tibia", "Probe"))
    assert take.names == ("Port 0x01: Probe  s/n:3E4C880C", "Port 0x02: Probe  s/n:3E4C8800")


def test_two_tools_of_one_name_are_an_error(path: Path) -> None:
    assert take_fault(path, API.replace("8700340 s/n:3B", "8700339 s/n:3A")).code == "duplicate-name"


def test_a_quoted_name_with_a_comma_is_one_cell(path: Path) -> None:
    assert take_of(path, TOOLS.replace("Port 0x01: Probe  s/n:3E4C880C", '"Port 0x01: Probe, old"')).names == (
        "Probe, old",
        "Tibia",
    )


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_file_cut_anywhere_is_read_or_refused_and_a_cut_row_is_told(path: Path, variant: str) -> None:
    whole = SMALL[variant]
    for stop in cut_lengths(whole):
        path.write_bytes(whole[:stop])
        try:
            take = read(path)
        except CondyleError:
            continue
        assert whole[:stop].endswith(b"\n") or "truncated-file" in codes(take), stop


@pytest.mark.parametrize(
    ("variant", "old"), [("samples", "4, 5, 6"), ("tools", "4,5,6"), ("old-tools", "4,5,6"), ("api", "4,5,6")]
)
def test_a_word_in_the_place_of_a_number_is_told_with_line_and_column(path: Path, variant: str, old: str) -> None:
    text = row_changed(variant, 1, old, old.replace("6", "oops"))
    lines = text.splitlines()
    error = take_fault(path, text)
    column = [cell.strip() for cell in lines[-3].split(",")].index("oops") + 1
    assert (error.code, error.line, error.column) == ("bad-number", len(lines) - 2, column)
    assert "oops" in error.text


@pytest.mark.parametrize("variant", SMALL)
def test_a_row_that_is_too_short_is_told_with_its_line(path: Path, variant: str) -> None:
    lines = SMALL[variant].decode().splitlines(keepends=True)
    lines[-3] = "2,1,2,3\n"
    error = take_fault(path, "".join(lines))
    assert (error.code, error.line) == ("ragged-row", len(lines) - 2)


@pytest.mark.parametrize("variant", SMALL)
def test_a_last_row_that_is_too_short_is_left_out_and_told(path: Path, variant: str) -> None:
    lines = SMALL[variant].decode().splitlines(keepends=True)
    take = take_of(path, "".join([*lines[:-1], "2,1,2,3\n"]))
    assert take.frames == 3
    assert "truncated-file" in codes(take)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SAMPLES.replace("Yb", "Yc"), "missing-column"),
        (SAMPLES.replace("Xb", "Xa"), "duplicate-column"),
        (TOOLS.replace("Ty,Tz,Error,Markers,State,Tx,Ty,Tz\n", "Ty,Error,Markers,State,Tx,Ty\n"), "missing-column"),
        (API.replace("Markers,State,Tx,Ty,Tz", "n"), "missing-column"),
        ("nothing,of,the,kind\n1,2,3,4\n", "bad-header"),
    ],
)
def test_a_header_that_lacks_a_column_is_an_error(path: Path, text: str, code: str) -> None:
    assert take_fault(path, text, format="ndi").code == code


@pytest.mark.parametrize("variant", SMALL)
def test_a_header_without_rows_is_an_error(path: Path, variant: str) -> None:
    lines = SMALL[variant].decode().splitlines(keepends=True)
    for text in ("".join(lines[:-4]), "".join(lines[:-4]).rstrip("\n"), "".join(lines[:-4]) + "\n \n"):
        assert take_fault(path, text, format="ndi").code == "no-data"


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
    take = take_of(path, change(SMALL[variant].decode()))  # type: ignore[operator]
    np.testing.assert_array_equal(take.p_world_body, take_of(path, SMALL[variant]).p_world_body)
    assert "truncated-file" not in codes(take)


@pytest.mark.parametrize("text", ["", "Tools,Hammer\n1,2\n", "Sample:,Hour\n1,2\n", "q0,qx,qy,qz,tx,ty,tz\n"])
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not ndi.looks_like(text.encode())


def test_of_all_recorded_files_only_that_of_this_tracker_is_claimed(shared_data: Path) -> None:
    claimed = []
    for file in shared_data.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                if ndi.looks_like(stream.read(HEAD_BYTES)):
                    claimed.append(file.name)
    assert claimed == ["rest.csv"]


def test_the_recorded_sensors_at_rest_are_read_and_tell_no_tree(shared_data: Path) -> None:
    file = shared_data / "ndi_aurora" / "rest.csv"
    rows = [line.rstrip(", \n").split(",") for line in file.read_text().splitlines()[5:]]
    table = np.array([row for row in rows if len(row) == 33], dtype=float)
    poses = table[:, 5:].reshape(-1, 4, 7)
    gone = (poses == 0).all(axis=2)
    recording = read_recording(file)
    bodies = recording.bodies
    assert bodies is not None
    assert bodies.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(bodies.position, np.where(gone[..., None], np.nan, poses[..., :3]))
    np.testing.assert_array_equal(bodies.orientation, np.where(gone[..., None], np.nan, poses[..., 3:]))
    clock = table[:, 1] * 3600 + table[:, 2] * 60 + table[:, 3] + table[:, 4] / 1000
    np.testing.assert_allclose(recording.time, clock, atol=ROUNDED)
    assert codes(recording) == ["truncated-file"]
    assert "tree-not-determined" in [finding.code for finding in condyle.fit(read(file)).findings]
