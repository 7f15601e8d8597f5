from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import CondyleError
from condyle.io.formats import identify
from condyle.io.formats.htr import looks_like
from condyle.model.recording import Recording
from condyle.prepare.read import read
from tests.make.texts import codes, read_cuts, recording_of

EXACT = 1e-12  # of matrix entries
LENGTH = 1e-9  # of the file's unit

HEADER = """#Hierarchical Translation and Rotation (.htr) file
[Header]
FileType htr
DataType HTRS
FileVersion 1
NumSegments 3
NumFrames 3
DataFrameRate 60
EulerRotationOrder ZYX
CalibrationUnits mm
RotationUnits Degrees
GlobalAxisofGravity Y
BoneLengthAxis Y
ScaleFactor 1.00
[SegmentNames&Hierarchy]
#CHILD\tPARENT
pelvis\tGLOBAL
thigh\tpelvis
shin\tthigh
[BasePosition]
#SegmentName Tx, Ty, Tz, Rx, Ry, Rz, BoneLength
pelvis\t10.0\t900.0\t20.0\t5.0\t6.0\t7.0\t100.0
thigh\t80.0\t-50.0\t0.0\t0.0\t10.0\t-170.0\t400.0
shin\t0.0\t400.0\t0.0\t3.0\t0.0\t0.0\t410.0
#Beginning of Data. Separated by tabs
#Fr\tTx\tTy\tTz\tRx\tRy\tRz\tSF
"""
BASE = {
    "pelvis": (None, [10, 900, 20, 5, 6, 7]),
    "thigh": ("pelvis", [80, -50, 0, 0, 10, -170]),
    "shin": ("thigh", [0, 400, 0, 3, 0, 0]),
}
ROWS = {
    "pelvis": [[1, 2, 3, 10, 20, 30], [4, 5, 6, 11, 21, 31], [7, 8, 9, 12, 22, 32]],
    "thigh": [[0, 0, 0, 40, 5, 6], [0, 0, 0, 41, 7, 8], [0, 0, 0, 42, 9, 10]],
    "shin": [[0, 0, 0, -70, 1, 2], [0, 0, 0, -60, 3, 4], [0, 0, 0, -50, 5, 6]],
}


def _blocks(rows: dict[str, list[list[float]]] = ROWS) -> str:
    text = ""
    for name, block in rows.items():
        text += f"[{name}]\n"
        for k, row in enumerate(block):
            text += "\t".join([str(k + 1), *(f"{x:.3f}" for x in row), "1.000"]) + "\n"
    return text


TEXT = HEADER + _blocks() + "[EndOfFile]\n"
UNENDED = HEADER + _blocks()
GTR = (
    HEADER.replace("FileType htr", "FileType gtr").replace(
        "[SegmentNames&Hierarchy]\n#CHILD\tPARENT\npelvis\tGLOBAL\nthigh\tpelvis\nshin\tthigh\n", ""
    )
    + _blocks()
)
SMALL: dict[str, bytes] = {
    "plain": TEXT.encode(),
    "without an end": UNENDED.encode(),
    "global": GTR.encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
}


def _read(folder: Path, content: str | bytes = TEXT) -> Recording:
    return recording_of(folder / "clip.htr", content)


def _poses(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    assert recording.bodies is not None
    return recording.bodies.orientation.reshape(recording.frames, -1, 3, 3), recording.bodies.position


def _expected(frame: int, order: str = "ZYX", flat: bool = False) -> dict[str, np.ndarray]:
    """Homogeneous matrices by plain products, (base + frame translation) (base rotation) (frame rotation)."""
    found: dict[str, np.ndarray] = {}

    def turned(angles: list[float]) -> np.ndarray:
        return Rotation.from_euler(order, [angles["XYZ".index(axis)] for axis in order], degrees=True).as_matrix()

    for name, (parent, base) in BASE.items():
        row, T = ROWS[name][frame], np.eye(4)
        T[:3, :3] = turned(base[3:]) @ turned(row[3:])
        T[:3, 3] = np.add(base[:3], row[:3])
        found[name] = T if parent is None or flat else found[parent] @ T
    return found


@pytest.mark.parametrize("order", ["ZYX", "XYZ", "YXZ", "ZXY"])
def test_segments_stand_where_plain_products_put_them(tmp_path: Path, order: str) -> None:
    recording = _read(tmp_path, TEXT.replace("EulerRotationOrder ZYX", f"EulerRotationOrder {order}"))
    R, p = _poses(recording)
    for frame in range(3):
        for k, (name, T) in enumerate(_expected(frame, order).items()):
            assert recording.bodies is not None
            assert recording.bodies.names[k] == name
            np.testing.assert_allclose(R[frame, k], T[:3, :3], atol=EXACT)
            np.testing.assert_allclose(p[frame, k], T[:3, 3], atol=LENGTH)


def test_the_header_tells_unit_rate_and_up(tmp_path: Path) -> None:
    recording = _read(tmp_path)
    assert (recording.convention.unit, recording.convention.up) == ("mm", "y")
    assert {"unit", "up"} <= recording.convention.stated
    np.testing.assert_allclose(recording.time, [0, 1 / 60, 2 / 60])  # type: ignore[arg-type]
    assert recording.own is not None
    assert recording.own.parent.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(recording.own.p_parent_joint, [[0, 0, 0], [80, -50, 0], [0, 400, 0]])
    take = read(tmp_path / "clip.htr")
    assert [finding.code for finding in take.findings] == ["solved-poses"]
    assert take.p_world_body[0, 0].tolist() == pytest.approx([0.011, 0.902, 0.023])


def test_radians_a_scale_and_an_unknown_unit(tmp_path: Path) -> None:
    R, p = _poses(_read(tmp_path))
    text = TEXT.replace("ScaleFactor 1.00", "ScaleFactor 2.00").replace("CalibrationUnits mm", "CalibrationUnits ell")
    recording = _read(tmp_path, text)
    np.testing.assert_allclose(_poses(recording)[1], 2 * p)
    assert recording.convention.unit is None
    radians = _read(tmp_path, TEXT.replace("RotationUnits Degrees", "RotationUnits Radians"))
    assert np.abs(_poses(radians)[0] - R).max() > 0.1
    assert radians.facts["rotation"] == "Euler ZYX in radians from the base position"


def test_numbers_that_mean_missing_hide_the_segment_and_what_hangs_on_it(tmp_path: Path) -> None:
    row = "2\t0.000\t0.000\t0.000\t41.000\t7.000\t8.000\t1.000"
    assert row in TEXT
    recording = _read(tmp_path, TEXT.replace(row, "2" + "\t9999999.000" * 7))
    R, _ = _poses(recording)
    assert np.isnan(R).any(axis=(2, 3)).tolist() == [[False] * 3, [False, True, True], [False] * 3]


def test_segments_may_stand_in_any_order(tmp_path: Path) -> None:
    R, p = _poses(_read(tmp_path))
    backwards = dict(reversed(ROWS.items()))
    header = HEADER.replace(
        "pelvis\tGLOBAL\nthigh\tpelvis\nshin\tthigh\n", "shin\tthigh\nthigh\tpelvis\npelvis\tGLOBAL\n"
    )
    other = _read(tmp_path, header + _blocks(backwards) + "[EndOfFile]\n")
    assert other.bodies is not None
    assert other.bodies.names == ("shin", "thigh", "pelvis")
    np.testing.assert_array_equal(_poses(other)[0][:, ::-1], R)
    np.testing.assert_array_equal(_poses(other)[1][:, ::-1], p)


def test_a_global_file_has_every_segment_in_the_room_and_no_skeleton(tmp_path: Path) -> None:
    recording = _read(tmp_path, GTR)
    assert recording.own is None
    R, p = _poses(recording)
    for k, T in enumerate(_expected(1, flat=True).values()):
        np.testing.assert_allclose(R[1, k], T[:3, :3], atol=EXACT)
        np.testing.assert_allclose(p[1, k], T[:3, 3], atol=LENGTH)


def test_gaps_in_the_frame_numbers_are_gaps_in_time(tmp_path: Path) -> None:
    recording = _read(tmp_path, TEXT.replace("\n3\t", "\n7\t"))
    np.testing.assert_allclose(recording.time, [0, 1 / 60, 6 / 60])  # type: ignore[arg-type]


def test_equal_names_get_a_number_and_it_is_told(tmp_path: Path) -> None:
    text = TEXT.replace("shin\tthigh", "thigh\tthigh").replace("shin\t0.0", "thigh\t0.0").replace("[shin]", "[thigh]")
    recording = _read(tmp_path, text)
    assert recording.bodies is not None
    assert recording.bodies.names == ("pelvis", "thigh", "thigh_2")
    np.testing.assert_array_equal(_poses(recording)[1], _poses(_read(tmp_path))[1])
    assert [finding.code for finding in recording.findings] == ["renamed-bodies"]


def test_a_missing_last_segment_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    recording = _read(tmp_path, UNENDED[: UNENDED.index("[shin]")])
    assert recording.bodies is not None
    assert recording.bodies.names == ("pelvis", "thigh")
    assert [(f.code, f.unit, f.value) for f in recording.findings] == [("truncated-file", "segments", 1.0)]


def test_a_last_segment_with_fewer_frames_is_missing_there(tmp_path: Path) -> None:
    recording = _read(tmp_path, UNENDED[: UNENDED.rindex("3\t")])
    R, _ = _poses(recording)
    assert np.isnan(R).any(axis=(2, 3)).tolist() == [[False] * 3, [False] * 3, [False, False, True]]
    assert [(f.code, f.unit, f.value) for f in recording.findings] == [("truncated-file", "frames", 1.0)]


@pytest.mark.sized
def test_a_file_cut_anywhere_is_told_or_refused(tmp_path: Path) -> None:
    for cut, recording in read_cuts(UNENDED.encode(), lambda cut: _read(tmp_path, cut)):
        assert "truncated-file" in codes(recording), len(cut)


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "column"),
    [
        ("2\t4.000\t5.000", "2\t4.000\tx", "bad-number", 29, 3),
        ("1\t1.000\t2.000", "1\t1.000", "ragged-row", 28, None),
        ("NumFrames 3", "NumFrames x", "bad-header", None, None),
        ("EulerRotationOrder ZYX", "EulerRotationOrder ZYZ", "bad-header", None, None),
        ("DataFrameRate 60", "DataFrameRate -1", "bad-header", None, None),
        ("FileVersion 1", "FileVersion 2", "newer-format", None, None),
        ("shin\tthigh", "shin\tfoot", "bad-header", 19, None),
        ("pelvis\tGLOBAL", "pelvis\tshin", "bad-header", None, None),
        ("shin\tthigh", "shin", "bad-header", 19, None),
        ("shin\t0.0\t400.0", "shin\tx\t400.0", "bad-number", 24, None),
        ("shin\t0.0\t400.0", "shin\t0.0\tnan", "bad-number", 24, None),
        ("shin\t0.0\t400.0\t0.0\t3.0\t0.0\t0.0\t410.0\n", "", "bad-header", 21, None),
        ("[shin]", "[foot]", "bad-header", 35, None),
        ("[shin]\n1\t", "[shin]\n8\t", "bad-time", 36, None),
        ("[BasePosition]", "[Base]", "bad-header", None, None),
    ],
)
def test_a_fault_names_its_place(
    tmp_path: Path, old: str, new: str, code: str, line: int | None, column: int | None
) -> None:
    assert old in TEXT
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, TEXT.replace(old, new, 1))
    if code == "ragged-row":
        assert error.value.code == code
    else:
        assert (error.value.code, error.value.line, error.value.column) == (code, line, column)


def test_a_row_short_in_a_middle_segment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, TEXT.replace("3\t7.000\t8.000\t9.000\t12.000\t22.000\t32.000\t1.000\n", ""))
    assert error.value.code == "ragged-row"


@pytest.mark.parametrize("encode", ["utf-8-sig", "utf-16", "latin-1"])
def test_marks_and_line_ends_change_nothing(tmp_path: Path, encode: str) -> None:
    R, p = _poses(_read(tmp_path))
    other_R, other_p = _poses(_read(tmp_path, TEXT.replace("\n", "\r\n").encode(encode)))
    np.testing.assert_array_equal(R, other_R)
    np.testing.assert_array_equal(p, other_p)


@pytest.mark.parametrize("content", ["", "[Header]\nFileType htr\n", HEADER, HEADER + "[pelvis]\n"])
def test_nothing_in_it_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(CondyleError):
        _read(tmp_path, content)


def test_every_small_file_is_recognised_and_no_other(tmp_path: Path, shared_data: Path) -> None:
    for content in SMALL.values():
        (tmp_path / "x").write_bytes(content)
        assert identify(tmp_path / "x").name == "htr"
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                assert not looks_like(file.read(65536)), path
