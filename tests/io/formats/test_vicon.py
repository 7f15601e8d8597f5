"""readers/vicon.py: CSV files of Vicon Tracker and Nexus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.formats import ReadOptions, vicon
from condyle.maths import rotation
from condyle.model.recording import to_take
from tests.make.texts import codes, fault, read_cuts, recording_of, write_content

ROUNDING = 1e-12  # of rotations that were turned into quaternions

VECTOR = (30.0, -100.0, 20.0)  # deg: RY beyond a quarter turn, so it can be no middle Euler angle
ANGLES = (150.0, 40.0, -140.0)  # deg: longer than half a turn, so they can be no rotation vector
EITHER = (10.0, 20.0, 30.0)


def objects(turns: tuple[float, ...] = VECTOR, *, title: str = "Objects", unit: str = "deg", frames: int = 3) -> str:
    """Two objects: the first turned, the second not."""
    axes = ("RX", "RY", "RZ", "RW")[: len(turns)]
    head = ",".join((*axes, "TX", "TY", "TZ"))
    wide = "," * len(head.split(","))
    units = ",".join((*([unit] * len(turns)), "mm", "mm", "mm"))
    still = ",".join(["0"] * 3 + ["1"] * (len(turns) - 3))
    turned = ",".join(str(x) for x in turns)
    rows = "".join(f"{k + 7},0,{turned},1,2,{k},{still},4,5,6.5\n" for k in range(frames))
    return f"{title}\n200\n,,A:wand{wide}B:box{wide[1:]}\nFrame,Sub Frame,{head},{head}\n,,{units},{units}\n{rows}"


def trajectories(frames: int = 3, first: int = 7) -> str:
    rows = "".join(f"{k + first},0,1,2,{k},4,5,6.5\n" for k in range(frames))
    return f"Trajectories\n200\n,,A:LASI,,,A:RASI,,\nFrame,Sub Frame,X,Y,Z,X,Y,Z\n,,mm,mm,mm,mm,mm,mm\n{rows}"


FORCES = "Devices\n1000\n,,Plate - Force,,\nFrame,Sub Frame,Fx,Fy,Fz\n,,N,N,N\n1,0,1,2,3\n1,1,1,2,3\n"
SMALL: dict[str, bytes] = {
    "objects": objects().encode(),
    "quaternions": objects((0.0, 0.0, 0.6, 0.8), unit="").encode(),
    "trajectories": trajectories().encode(),
    "several blocks": (FORCES + "\n" + objects() + "\n" + trajectories()).encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.csv"


def test_objects_are_read_with_their_names_rate_and_unit(path: Path) -> None:
    found = recording_of(path, objects())
    assert found.format == "vicon"
    assert found.bodies is not None
    assert found.bodies.names == ("A:wand", "B:box")
    assert found.bodies.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]
    assert found.time is not None
    assert found.time.tolist() == [0, 0.005, 0.01]
    assert (found.convention.unit, found.convention.up, found.solved_by) == ("mm", "z", None)
    assert found.convention.stated == {"degrees", "unit"}


def test_a_quaternion_is_read_as_it_stands_there(path: Path) -> None:
    found = recording_of(path, SMALL["quaternions"])
    assert found.bodies is not None
    assert found.convention.rotation == "xyzw"
    assert "rotation" in found.convention.stated
    assert found.bodies.orientation[0].tolist() == [[0, 0, 0.6, 0.8], [0, 0, 0, 1]]
    assert codes(found) == []
    assert recording_of(path, SMALL["quaternions"], quaternion="wxyz").convention.rotation == "wxyz"


@pytest.mark.parametrize("unit", ["deg", "rad"])
def test_rotation_vectors_are_told_by_their_size(path: Path, unit: str) -> None:
    turns = VECTOR if unit == "deg" else tuple(np.radians(VECTOR))
    found = recording_of(path, objects(turns, unit=unit))
    expected = rotation.from_vector(np.radians(VECTOR))
    np.testing.assert_allclose(to_take(found).R_world_body[1, 0], expected, atol=ROUNDING)
    np.testing.assert_allclose(to_take(found).R_world_body[1, 1], np.eye(3), atol=ROUNDING)
    assert [(f.code, f.severity) for f in found.findings] == [("rotation-assumed", "info")]


def test_euler_angles_are_told_by_their_size(path: Path) -> None:
    found = recording_of(path, objects(ANGLES))
    expected = rotation.from_euler(np.radians(ANGLES), "XYZ")
    np.testing.assert_allclose(to_take(found).R_world_body[1, 0], expected, atol=ROUNDING)
    assert [(f.code, f.severity) for f in found.findings] == [("rotation-assumed", "info")]


def test_angles_that_may_be_either_are_read_as_vectors_with_a_warning(path: Path) -> None:
    found = recording_of(path, objects(EITHER))
    np.testing.assert_allclose(
        to_take(found).R_world_body[1, 0], rotation.from_vector(np.radians(EITHER)), atol=ROUNDING
    )
    assert [(f.code, f.severity) for f in found.findings] == [("rotation-assumed", "warning")]


@pytest.mark.parametrize("order", ["XYZ", "ZYX-extrinsic"])
def test_the_option_euler_settles_it(path: Path, order: str) -> None:
    found = recording_of(path, objects(EITHER), euler=order)
    expected = rotation.from_euler(np.radians(EITHER), order[:3], extrinsic="-" in order)
    np.testing.assert_allclose(to_take(found).R_world_body[1, 0], expected, atol=ROUNDING)
    assert "rotation-assumed" not in codes(found)


def test_the_option_quaternion_is_refused_for_three_numbers(path: Path) -> None:
    error = fault(path, objects(), quaternion="wxyz")
    assert isinstance(error, UsageError)
    assert error.code == "option-not-used"


def test_trajectories_are_markers_and_empty_cells_are_not_seen(path: Path) -> None:
    found = recording_of(path, trajectories().replace("8,0,1,2,1,", "8,0,,,,").replace("4,5,6.5\n9", "0,0,0\n9"))
    assert found.bodies is None
    assert found.markers is not None
    assert found.markers.names == ("A:LASI", "A:RASI")
    assert found.markers.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]
    assert np.isnan(found.markers.position[1]).all()


def test_an_object_at_zero_or_in_empty_cells_is_not_seen(path: Path) -> None:
    text = objects(EITHER).replace("10.0,20.0,30.0,1,2,1,", ",,,,,,").replace("0,0,0,4,5,6.5\n9", "0,0,0,0,0,0\n9")
    assert to_take(recording_of(path, text)).seen.tolist() == [[True, True], [False, False], [True, True]]


def test_objects_and_trajectories_of_one_file_are_both_read_and_devices_are_not(path: Path) -> None:
    found = recording_of(path, SMALL["several blocks"])
    assert found.bodies is not None
    assert found.markers is not None
    assert found.frames == 3
    assert found.facts["blocks not read"] == "Devices"
    assert "truncated-file" not in codes(found)


def test_blocks_are_put_together_by_their_frame_numbers(path: Path) -> None:
    found = recording_of(path, objects(frames=2) + "\n" + trajectories(frames=3, first=8))
    assert found.bodies is not None
    assert found.markers is not None
    assert found.time is not None
    assert found.time.tolist() == [0, 0.005, 0.01, 0.015]
    assert np.isnan(found.bodies.position[:, 0, 0]).tolist() == [False, False, True, True]
    assert np.isnan(found.markers.position[:, 0, 0]).tolist() == [True, False, False, False]


def test_missing_frames_leave_a_gap_in_time(path: Path) -> None:
    found = recording_of(path, objects().replace("\n9,0", "\n19,0"))
    assert found.time is not None
    assert found.time.tolist() == [0, 0.005, 0.06]


def test_segments_of_one_skeleton_are_poses_that_were_solved(path: Path) -> None:
    assert recording_of(path, objects(title="Segments")).solved_by == "Vicon"


def test_the_words_before_a_name_are_no_part_of_it(path: Path) -> None:
    found = recording_of(path, objects().replace("A:wand", "Global Angle A:wand"))
    assert found.bodies is not None
    assert found.bodies.names[0] == "A:wand"


def test_joints_and_model_outputs_alone_are_an_error_that_names_them(path: Path) -> None:
    error = fault(path, trajectories().replace("Trajectories", "Model Outputs"))
    assert error.code == "no-data"
    assert "Model Outputs" in error.text


def test_a_file_without_a_row_of_units_is_read_in_millimetres_and_degrees(path: Path) -> None:
    text = "\n".join(line for line in objects().split("\n") if not line.startswith(",,deg"))
    found = recording_of(path, text)
    assert (found.convention.unit, found.frames) == ("mm", 3)
    assert "unit" not in found.convention.stated


def test_units_that_differ_or_are_unknown_are_an_error(path: Path) -> None:
    assert fault(path, trajectories().replace("mm,mm\n", "mm,cm\n")).code == "bad-header"
    assert fault(path, objects() + "\n" + trajectories().replace("mm", "m")).code == "bad-header"
    assert fault(path, trajectories().replace("mm", "ell")).code == "unknown-unit"
    np.testing.assert_allclose(
        to_take(recording_of(path, objects().replace("mm", "m"))).p_world_body[0, 1], [4, 5, 6.5]
    )


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_cut_at_any_byte_gives_whole_frames_or_is_an_error(path: Path, variant: str) -> None:
    raw = SMALL[variant]
    whole = recording_of(path, raw)
    for cut, found in read_cuts(raw, lambda cut: vicon.read(write_content(path, cut), ReadOptions())):
        if not cut.endswith(b"\n") and cut.count(b"\n\n") == raw.count(b"\n\n"):
            assert "truncated-file" in codes(found), len(cut)
        for part in ("bodies", "markers"):
            now, then = getattr(found, part), getattr(whole, part)
            if now is not None:
                seen = np.isfinite(now.position)
                np.testing.assert_array_equal(now.position[seen], then.position[: found.frames][seen])


def test_a_last_block_that_ends_before_the_others_is_told(path: Path) -> None:
    found = recording_of(path, objects() + "\n" + trajectories(frames=2))
    assert "the block trajectories has 2 of 3 frames" in found.findings[0].text


def test_a_bad_number_is_an_error_with_line_and_column(path: Path) -> None:
    error = fault(path, FORCES + "\n" + trajectories().replace("8,0,1,2", "8,0,1,two"))
    assert (error.code, error.line, error.column) == ("bad-number", 15, 4)
    error = fault(path, trajectories().replace("8,0,1,2", "8,0,1"))
    assert (error.code, error.line) == ("ragged-row", 7)
    assert fault(path, trajectories().replace("\n8,0", "\n,0")).code == "bad-time"


def test_names_that_come_twice_or_not_at_all_are_an_error(path: Path) -> None:
    assert fault(path, objects().replace("B:box", "A:wand")).code == "duplicate-name"
    assert fault(path, trajectories().replace("RASI", "LASI")).code == "duplicate-name"
    assert fault(path, trajectories().replace("A:RASI", "")).code == "bad-header"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("box", "Fuß").encode("latin-1"),
        lambda text: text.replace(",", ";").encode(),
        lambda text: text.replace(",", ";").replace(".", ",").encode(),
        lambda text: text.replace(",", "\t").encode(),
        lambda text: text.replace("Objects\n200\n", "Objects,,,,,\n200,,,,,\n").encode(),
    ],
    ids=["bom", "utf16", "crlf", "latin1", "semicolons", "decimal comma", "tabs", "padded"],
)
def test_files_that_went_through_other_programs_are_read(path: Path, change: object) -> None:
    found = recording_of(path, change(objects()))  # type: ignore[operator]
    assert found.bodies is not None
    assert found.bodies.names[1] in ("B:box", "B:Fuß")
    assert found.bodies.position[2, 1].tolist() == [4, 5, 6.5]


@pytest.mark.parametrize("lines", [4, 5])
def test_a_header_without_rows_is_an_error(path: Path, lines: int) -> None:
    assert fault(path, "\n".join(objects().split("\n")[:lines]) + "\n").code == "no-data"


@pytest.mark.parametrize("head", [b"", b"\x00\x01", b"Objects\n100\n", b"Frame,Sub Frame,X\n1,0,2\n", b"a,b\n1,2\n"])
def test_files_of_another_kind_are_not_claimed(head: bytes) -> None:
    assert not vicon.looks_like(head)


def test_no_file_of_another_program_is_claimed(shared_data: Path) -> None:
    for file in shared_data.rglob("*"):
        if file.is_file():
            with open(file, "rb") as stream:
                assert not vicon.looks_like(stream.read(65536)), file
