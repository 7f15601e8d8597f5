"""readers/qualisys.py: TSV files of Qualisys Track Manager."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats import ReadOptions, identify, qualisys, read_recording
from condyle.maths import rotation
from condyle.model.recording import to_take
from tests.make.size import cut_lengths
from tests.make.texts import codes, fault, recording_of

FIFTH_DIGIT = 2e-5  # of matrices written with five digits

HEAD = "NO_OF_FRAMES\t3\nNO_OF_CAMERAS\t7\n{count}\nFREQUENCY\t100\nNO_OF_ANALOG\t0\nDESCRIPTION\t--\n"
MARKER_HEAD = HEAD.format(count="NO_OF_MARKERS\t2") + "DATA_INCLUDED\t3D\nMARKER_NAMES\tleft hand\tback\n"
TYPES = "TRAJECTORY_TYPES\tMeasured\tMixed\n"
COLUMNS = "Frame\tTime\t" + "\t".join(f"{name} {axis}" for name in ("left hand", "back") for axis in "XYZ") + "\n"
ROWS = [f"{k + 1}\t{k / 100:.5f}\t1.5\t2\t{k}\t4\t5\t6.5\n" for k in range(3)]
MARKERS = MARKER_HEAD + TYPES + COLUMNS + "".join(ROWS)

PARTS = ["Y", "Z", "Roll", "Pitch", "Yaw", "Residual", *(f"Rot[{k}]" for k in range(9))]
BODY_HEAD = HEAD.format(count="NO_OF_BODIES\t2") + "DATA_INCLUDED\t6D\nBODY_NAMES\thip\tknee\n"
BODY_COLUMNS = "Frame\tTime\t" + "\t".join("\t".join([f"{name} X", *PARTS]) for name in ("hip", "knee")) + "\t\n"
# Angles and matrix of one pose as QTM writes them: the nine numbers go down the columns.
ANGLES = (-40.0, 25.0, 70.0)
MATRIX = rotation.from_euler(np.radians(ANGLES), "XYZ")
POSE = "\t".join(f"{x:.5f}" for x in (*ANGLES, 0.4, *MATRIX.T.ravel()))
BODY_ROWS = [f"{k + 1}\t{k / 100:.5f}\t1\t2\t{k}\t{POSE}\t4\t5\t6.5\t{POSE}\t\n" for k in range(3)]
BODIES = BODY_HEAD + BODY_COLUMNS + "".join(BODY_ROWS)

SEGMENT_HEAD = (
    "NO_OF_FRAMES\t2\nNO_OF_CAMERAS\t12\nFREQUENCY\t100\nTIME_STAMP\t2019-11-28, 13:43:42.715\t1476252.9\n"
    "REFERENCE\tGLOBAL\nSCALE\t1.00000\nSOLVER\tQualisys\n"
    "Frame\tTime\tHips\tX\tY\tZ\tQX\tQY\tQZ\tQW\tLeft Arm\tX\tY\tZ\tQX\tQY\tQZ\tQW\n"
)
SEGMENTS = SEGMENT_HEAD + "".join(
    f"{k + 1}\t{k / 100}\t\t1\t2\t{k + 3}\t0\t0\t0.6\t0.8\t\t4\t5\t6\t0\t0\t0\t1\n" for k in range(2)
)
SMALL: dict[str, bytes] = {
    "markers": MARKERS.encode(),
    "bodies": BODIES.encode(),
    "skeleton": SEGMENTS.encode(),
    "no column names": (MARKER_HEAD + "".join(ROWS)).encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.tsv"


def without_frame_and_time(rows: list[str]) -> str:
    return "".join(row.split("\t", 2)[2] for row in rows)


def test_markers_are_read_as_they_stand_there(path: Path) -> None:
    found = recording_of(path, MARKERS)
    assert found.format == "qualisys"
    assert found.bodies is None
    assert found.markers is not None
    assert found.markers.names == ("left hand", "back")
    assert found.markers.position[2].tolist() == [[1.5, 2, 2], [4, 5, 6.5]]
    assert found.time is not None
    assert found.time.tolist() == [0, 0.01, 0.02]
    assert (found.convention.unit, found.convention.up, found.convention.stated) == ("mm", "z", frozenset())
    assert (found.findings, found.solved_by) == ((), None)


@pytest.mark.parametrize(
    "text",
    [
        MARKER_HEAD + COLUMNS + "".join(ROWS),
        MARKER_HEAD + "".join(ROWS),
        MARKER_HEAD + TYPES + without_frame_and_time(ROWS),
        MARKER_HEAD + COLUMNS.split("\t", 2)[2] + without_frame_and_time(ROWS),
        "FILE_VERSION\t2.0.0\n" + MARKERS,
        MARKERS.replace("MARKER_NAMES", "EVENT\tstart\t1\t0.00\nEVENT\tstop\t3\t0.02\nMARKER_NAMES"),
        MARKERS.replace("\tback\n", "\tback\t\n").replace("6.5\n", "6.5\t\n"),
        MARKERS.replace("MARKER_NAMES\tleft hand\tback\n", ""),
    ],
    ids=["no types", "no columns", "numbers only", "no time", "version 2", "events", "last tab", "no names"],
)
def test_every_choice_of_the_export_dialog_gives_the_same_markers(path: Path, text: str) -> None:
    found = recording_of(path, text)
    assert found.markers is not None
    assert found.markers.names == ("left hand", "back")
    assert found.markers.position[2].tolist() == [[1.5, 2, 2], [4, 5, 6.5]]
    assert codes(found) == []
    assert (found.time is None) == (not text.startswith(("NO", "FILE")) or "\n1\t0.00000" not in text)
    assert found.rate == 100


@pytest.mark.parametrize("cells", ["\t\t", "0.000\t0.000\t0.000", "NaN\tNaN\tNaN"])
def test_a_marker_that_is_not_seen_is_empty_or_zero(path: Path, cells: str) -> None:
    found = recording_of(path, MARKERS.replace("2\t0.01000\t1.5\t2\t1", f"2\t0.01000\t{cells}"))
    assert found.markers is not None
    assert np.isnan(found.markers.position).any(axis=2).tolist() == [[False] * 2, [True, False], [False] * 2]


def test_a_marker_missing_at_the_end_of_every_line_is_no_cut(path: Path) -> None:
    found = recording_of(path, MARKERS.replace("4\t5\t6.5", "\t\t"))
    assert codes(found) == []
    assert found.frames == 3


def test_the_nine_numbers_of_a_body_go_down_the_columns_of_its_matrix(path: Path) -> None:
    found = recording_of(path, BODIES)
    assert found.bodies is not None
    assert found.bodies.names == ("hip", "knee")
    assert found.bodies.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]
    assert (found.convention.rotation, found.convention.unit) == ("matrix", "mm")
    np.testing.assert_allclose(to_take(found).R_world_body[0, 1], MATRIX, atol=FIFTH_DIGIT)


def test_a_row_that_qtm_wrote_has_matrix_and_angles_that_agree() -> None:
    angles = np.radians([-0.65630, 0.09391, 0.05772])
    rot = [1.0, 0.00099, -0.00165, -0.00101, 0.99993, -0.01145, 0.00164, 0.01145, 0.99993]
    written = np.array(rot)[list(qualisys.MATRIX_BY_ROWS)].reshape(3, 3)
    np.testing.assert_allclose(written, rotation.from_euler(angles, "XYZ"), atol=FIFTH_DIGIT)


def test_angles_alone_are_roll_pitch_yaw_about_moving_axes(path: Path) -> None:
    text = BODY_HEAD + "Frame\tTime\t" + "\t".join(f"{n} X\tY\tZ\tRoll\tPitch\tYaw" for n in ("hip", "knee")) + "\n"
    text += "".join(f"{k + 1}\t{k / 100}\t1\t2\t{k}\t-40\t25\t70\t4\t5\t6.5\t-40\t25\t70\n" for k in range(3))
    for named in (text, text.replace("Roll\tPitch\tYaw", "A\tB\tC")):
        found = recording_of(path, named)
        assert found.convention.rotation == "XYZ"
        assert "rotation" not in found.convention.stated
        np.testing.assert_allclose(to_take(found).R_world_body[0, 1], MATRIX, atol=FIFTH_DIGIT)


def test_bodies_without_column_names_are_read(path: Path) -> None:
    for text in (BODY_HEAD + "".join(BODY_ROWS), BODY_HEAD + without_frame_and_time(BODY_ROWS)):
        found = recording_of(path, text)
        assert found.bodies is not None
        assert found.bodies.names == ("hip", "knee")
        np.testing.assert_allclose(to_take(found).R_world_body[0, 1], MATRIX, atol=FIFTH_DIGIT)


def test_a_body_at_zero_is_not_seen(path: Path) -> None:
    zeros = "\t".join(["0.00000"] * 16)
    found = recording_of(path, BODIES.replace(f"4\t5\t6.5\t{POSE}", zeros, 1))
    assert found.bodies is not None
    assert np.isnan(found.bodies.orientation[0, 1]).all()
    assert to_take(found).seen.tolist() == [[True, False], [True, True], [True, True]]


def test_a_skeleton_is_read_as_poses_that_qtm_solved(path: Path) -> None:
    found = recording_of(path, SEGMENTS)
    assert found.bodies is not None
    assert found.bodies.names == ("Hips", "Left Arm")
    assert found.bodies.position[1].tolist() == [[1, 2, 4], [4, 5, 6]]
    assert found.bodies.orientation[0, 0].tolist() == [0, 0, 0.6, 0.8]
    assert (found.convention.rotation, found.solved_by) == ("xyzw", "QTM")


def test_segments_relative_to_their_parents_are_refused(path: Path) -> None:
    assert fault(path, SEGMENTS.replace("GLOBAL", "LOCAL")).code == "local-poses"


def test_2d_data_are_refused(path: Path) -> None:
    assert "2D" in fault(path, MARKERS.replace("\t3D", "\t2D")).text


def test_fewer_rows_than_declared_are_told(path: Path) -> None:
    found = recording_of(path, MARKERS.replace("FRAMES\t3", "FRAMES\t6000"))
    assert "header says 6000 frames, 3 present" in found.findings[0].text
    assert recording_of(path, MARKERS.replace("FRAMES\t3", "FRAMES\t2")).frames == 3


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_cut_at_any_byte_gives_whole_frames_and_says_so_or_is_an_error(path: Path, variant: str) -> None:
    raw = SMALL[variant]
    whole = recording_of(path, raw)
    for end in cut_lengths(raw, 1):
        path.write_bytes(raw[:end])
        try:
            found = qualisys.read(path, ReadOptions())
        except CondyleError:
            continue
        assert codes(found) == ["truncated-file"], end
        for part in ("bodies", "markers"):
            now, then = getattr(found, part), getattr(whole, part)
            if now is not None:
                np.testing.assert_array_equal(now.position, then.position[: found.frames])


def test_a_bad_number_is_an_error_with_line_and_column(path: Path) -> None:
    error = fault(path, MARKERS.replace("2\t0.01000\t1.5", "2\t0.01000\tone"))
    assert (error.code, error.line, error.column) == ("bad-number", 12, 3)
    assert "'one' in column left hand X" in error.text
    error = fault(path, MARKERS.replace("2\t0.01000\t1.5", "2\t1.5"))
    assert (error.code, error.line) == ("ragged-row", 12)
    assert fault(path, MARKERS.replace("\t0.01000", "\t")).code == "bad-time"


def test_names_that_come_twice_are_an_error(path: Path) -> None:
    assert fault(path, MARKERS.replace("left hand", "back")).code == "duplicate-name"
    assert fault(path, BODIES.replace("knee", "hip")).code == "duplicate-name"
    assert fault(path, SEGMENTS.replace("Left Arm", "Hips")).code == "duplicate-name"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("back", "Rücken").encode("latin-1"),
        lambda text: text.replace(".", ",").encode(),
    ],
    ids=["bom", "utf16", "crlf", "latin1", "decimal comma"],
)
def test_files_that_went_through_other_programs_are_read(path: Path, change: object) -> None:
    found = recording_of(path, change(MARKERS))  # type: ignore[operator]
    assert found.markers is not None
    assert found.markers.names[1] in ("back", "Rücken")
    assert found.markers.position[2, 1].tolist() == [4, 5, 6.5]


@pytest.mark.parametrize(
    "text", [MARKER_HEAD, MARKER_HEAD + TYPES + COLUMNS, BODY_HEAD, SEGMENT_HEAD, MARKER_HEAD + "\n\n"]
)
def test_a_header_without_rows_is_an_error(path: Path, text: str) -> None:
    assert fault(path, text).code == "no-data"


def test_columns_that_do_not_fit_are_an_error(path: Path) -> None:
    assert fault(path, MARKER_HEAD + "1\t0.0\t3\t4\n").code == "bad-header"
    assert fault(path, MARKERS.replace("back Y", "back V")).code == "missing-column"
    assert fault(path, BODIES.replace("Rot[4]", "Rot[40]")).code == "missing-column"
    assert fault(path, MARKERS.replace(" X", " U").replace(" Y", " V")).code in ("no-data", "missing-column")


@pytest.mark.parametrize(
    "head", [b"", b"\x00\x01", b"NO_OF_FRAMES", b"Frame\tTime\n1\t2\n", b"NO_OF_FRAMES\t3\nmore\n"]
)
def test_files_of_another_kind_are_not_claimed(head: bytes) -> None:
    assert not qualisys.looks_like(head)


def test_the_real_recording_is_read_with_its_21_markers(shared_data: Path) -> None:
    file = shared_data / "qualisys_tsv" / "recording.tsv"
    assert identify(file).name == "qualisys"
    found = read_recording(file)
    rows = [line.rstrip("\r\n").split("\t") for line in file.read_text().splitlines()]
    assert found.markers is not None
    assert found.time is not None
    assert found.markers.position.shape == (6000, 21, 3)
    assert list(found.markers.names) == rows[9][1:]
    assert (found.time[0], found.time[-1], found.rate) == (0, 59.99, 100)
    for frame in (0, 2999, 5999):
        cells = np.array([float(cell) if cell else np.nan for cell in rows[12 + frame][2:65]]).reshape(21, 3)
        cells[(cells == 0).all(axis=1)] = np.nan
        np.testing.assert_array_equal(found.markers.position[frame], cells)
    missing = np.isnan(found.markers.position).any(axis=2).sum(axis=0)
    assert {found.markers.names[k]: int(missing[k]) for k in np.flatnonzero(missing)} == {
        "thumb_tip": 493,
        "ring_tip": 42,
        "middle_tip": 78,
    }
    assert found.findings == ()
