from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import CondyleError
from condyle.io.formats import identify, opensim
from condyle.model.recording import to_take
from tests.make.size import cut_lengths
from tests.make.texts import codes, fault, recording_of

EXACT = 1e-12  # of a rotation matrix

WORDS = "Body segment orientations are described using body-fixed X-Y-Z Euler angles.\n"
PARTS = "{0}_X\t{0}_Y\t{0}_Z\t{0}_Ox\t{0}_Oy\t{0}_Oz"
COLUMNS = (
    f"time\t{PARTS.format('pelvis')}\t{PARTS.format('femur_r')}\tcenter_of_mass_X\tcenter_of_mass_Y\tcenter_of_mass_Z\n"
)
ROWS = [f"      0.0{k}000000\t{k}.5\t1\t-2e-1\t10\t20\t30\t0.1\t0.2\t0.3\t-40\t50\t{k}\t0\t1\t2\n" for k in range(3)]
BODIES = (
    f"Positions\nversion=1\nnRows=3\nnColumns=16\ninDegrees=yes\n\n{WORDS}\nUnits are S.I. units\n\nendheader\n"
    + COLUMNS
    + "".join(ROWS)
)
POINTS = (
    "units=mm\nDataRate=100\nDataType=Vec3\nversion=3\nOpenSimVersion=4.4\nendheader\n"
    "time\tRASI\tLASI\n0.00\t1,2,3\t4,5.5,6\n0.01\tnan,nan,nan\t4,5,-6e0\n"
)
QUATERNIONS = (
    "DataRate=100.000000\nDataType=Quaternion\nversion=3\nOpenSimVersion=4.1\nendheader\n"
    "time\tpelvis_imu\ttibia_r_imu\n0\t1,0,0,0\t1,0,0,0\n0.01\t1,0,0,0\t1,0,0,0\n"
)
ANGLES = (
    "Coordinates\nversion=1\nnRows=1\nnColumns=4\ninDegrees=yes\n\nendheader\n"
    "time\tpelvis_tilt\tpelvis_tx\tknee_angle_r\n0\t1\t2\t3\n"
)
SMALL = {
    "BodyKinematics": BODIES.encode(),
    "points": POINTS.encode(),
    "quaternions": QUATERNIONS.encode(),
    "coordinates": ANGLES.encode(),
    "SIMM": BODIES.replace("nRows=3", "datarows 3").replace("nColumns=16", "datacolumns 16").encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.sto"


def test_poses_of_bodies_are_read_and_what_is_no_pose_is_named(path: Path) -> None:
    recording = recording_of(path, BODIES)
    assert recording.format == "opensim"
    assert recording.bodies is not None
    assert recording.bodies.names == ("pelvis", "femur_r")
    assert recording.bodies.position[2].tolist() == [[2.5, 1, -0.2], [0.1, 0.2, 0.3]]
    assert recording.time is not None
    assert recording.time.tolist() == [0, 0.01, 0.02]
    assert recording.findings == ()
    assert recording.facts["not read"] == "center_of_mass"
    assert recording.solved_by == "OpenSim"
    assert {"rotation", "degrees"} <= recording.convention.stated


def test_angles_turn_about_the_axes_of_the_body(path: Path) -> None:
    take = to_take(recording_of(path, BODIES))
    expected = Rotation.from_euler("XYZ", [[10, 20, 30], [-40, 50, 1]], degrees=True).as_matrix()
    np.testing.assert_allclose(take.R_world_body[1], expected, atol=EXACT)
    assert take.up == "y"


@pytest.mark.parametrize("header", ["inDegrees=no\n", ""])
def test_angles_are_radians_unless_the_header_says_degrees(path: Path, header: str) -> None:
    recording = recording_of(path, BODIES.replace("inDegrees=yes\n", header))
    assert not recording.convention.degrees
    assert ("degrees" in recording.convention.stated) == bool(header)


def test_the_ground_is_no_body(path: Path) -> None:
    recording = recording_of(path, BODIES.replace("femur_r", "ground"))
    assert recording.bodies is not None
    assert recording.bodies.names == ("pelvis",)


def test_cells_that_are_points_are_markers(path: Path) -> None:
    recording = recording_of(path, POINTS)
    assert recording.bodies is None
    assert recording.markers is not None
    assert recording.markers.names == ("RASI", "LASI")
    np.testing.assert_array_equal(recording.markers.position[0], [[1, 2, 3], [4, 5.5, 6]])
    np.testing.assert_array_equal(recording.markers.position[1], [[np.nan] * 3, [4, 5, -6]])
    assert recording.convention.unit == "mm"
    assert recording_of(path, POINTS.replace("units=mm\n", "")).convention.unit is None
    assert fault(path, POINTS.replace("units=mm", "units=ell")).code == "unknown-unit"


def test_orientations_alone_are_refused_with_the_way_to_poses(path: Path) -> None:
    error = fault(path, QUATERNIONS)
    assert error.code == "no-positions"
    assert "BodyKinematics" in error.text


def test_coordinates_of_a_model_are_refused_with_the_way_to_poses(path: Path) -> None:
    error = fault(path, ANGLES)
    assert error.code == "joint-angles"
    assert "pelvis_tilt" in error.text
    assert "BodyKinematics" in error.text


@pytest.mark.parametrize("name", ["Velocities", "Accelerations"])
def test_velocities_have_the_same_columns_and_are_refused(path: Path, name: str) -> None:
    error = fault(path, BODIES.replace("Positions", name))
    assert error.code == "no-positions"
    assert name.lower() in error.text


@pytest.mark.sized
def test_every_cut_is_told_or_an_error(path: Path) -> None:
    for cut in cut_lengths(BODIES, 1):
        try:
            recording = recording_of(path, BODIES[:cut])
        except CondyleError:
            assert BODIES[:cut].count("\n") - BODIES.index(COLUMNS) < len(COLUMNS)
            continue
        assert codes(recording) == ["truncated-file"], cut
        assert recording.frames < 3


def test_a_cut_row_of_points_is_told_though_no_length_is_declared(path: Path) -> None:
    recording = recording_of(path, POINTS[:-3])
    assert recording.frames == 1
    assert codes(recording) == ["truncated-file"]


def test_more_rows_than_declared_are_all_read(path: Path) -> None:
    recording = recording_of(path, BODIES.replace("nRows=3", "nRows=2"))
    assert recording.frames == 3
    assert recording.findings == ()


def test_a_word_in_place_of_a_number_is_named_with_line_and_column(path: Path) -> None:
    error = fault(path, BODIES.replace("0.5\t1\t", "0.5\tone\t"))
    assert (error.code, error.column) == ("bad-number", 3)
    assert error.line == BODIES[: BODIES.index(ROWS[0])].count("\n") + 1
    assert "pelvis_Y" in error.text
    assert fault(path, BODIES.replace("0.5\t1\t", "0.5\t")).code == "ragged-row"


@pytest.mark.parametrize("none", ["nan", "NaN", "-nan", "-nan(ind)", "1.#QNAN", "-1.#IND00"])
def test_numbers_that_are_none_are_poses_not_seen(path: Path, none: str) -> None:
    take = to_take(recording_of(path, BODIES.replace("1.5\t1\t", f"{none}\t1\t")))
    assert take.seen[:, 0].tolist() == [True, False, True]
    assert take.seen[:, 1].all()


def test_an_infinite_angle_is_a_pose_not_seen(path: Path) -> None:
    take = to_take(recording_of(path, BODIES.replace("-40\t50\t1\t", "-40\tinf\t1\t")))
    assert take.seen[:, 1].tolist() == [True, False, True]


@pytest.mark.parametrize("change", ["utf-8-sig", "utf-16", "crlf", "cr", "blanks"])
def test_marks_encodings_line_ends_and_blanks_make_no_difference(path: Path, change: str) -> None:
    text = {
        "crlf": BODIES.replace("\n", "\r\n"),
        "cr": BODIES.replace("\n", "\r"),
        "blanks": BODIES.replace("\t", "  "),
    }
    raw = text[change].encode() if change in text else BODIES.encode(change)
    recording = recording_of(path, raw)
    assert recording.bodies is not None
    assert recording.frames == 3
    assert recording.findings == ()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("".join(ROWS), "", "no-data"),
        ("\n" + "".join(ROWS), "", "no-data"),
        ("pelvis_Y", "pelvis_X", "duplicate-column"),
        ("pelvis_Y", "", "bad-name"),
        ("nColumns=16", "nColumns=17", "bad-header"),
        ("nRows=3", "nRows=many", "bad-header"),
        ("inDegrees=yes", "DataType=SpatialVec", "bad-header"),
        ("      0.01000000", "nan", "bad-time"),
    ],
)
def test_a_broken_file_is_one_clear_error(path: Path, old: str, new: str, code: str) -> None:
    assert fault(path, BODIES.replace(old, new)).code == code


@pytest.mark.parametrize(
    "head", [b"", b"endheader\nx\ty\n", b"time\tx\n0\t1\n", b"\x00endheader\ntime\n", b"ply\nend_header\n"]
)
def test_other_files_are_not_claimed(head: bytes) -> None:
    assert not opensim.looks_like(head)


def test_no_recorded_file_of_another_kind_is_claimed(shared_data: Path) -> None:
    claimed = [
        file.name for file in shared_data.rglob("*") if file.is_file() and opensim.looks_like(file.read_bytes()[:65536])
    ]
    assert claimed == []


def test_the_content_names_the_format(path: Path) -> None:
    for raw in SMALL.values():
        path.write_bytes(raw)
        assert identify(path).name == "opensim"
