"""readers/motive.py: CSV files of OptiTrack's Motive, and of Tracking Tools before it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from condyle.io.formats import ReadOptions, identify, motive, read_recording
from condyle.maths import rotation
from condyle.model.recording import to_take
from condyle.model.take import Take
from tests.make.texts import codes, fault, read_cuts, recording_of, write_content

MICROMETRE = 1e-6  # m
BONE_STRETCH = 0.3  # mm: Motive's spine gives way a little
SIXTH_DIGIT = 1e-5  # of quaternions written with six digits

FIRST = (
    "Format Version,{version},Take Name,walk,Capture Frame Rate,120.000000,Export Frame Rate,120.000000,"
    "Total Frames in Take,900,Total Exported Frames,{frames},Rotation Type,{rotation},Length Units,{unit},"
    "Coordinate Space,{space}"
)
TURN = ("-0.5,0.5,0.5,0.5", "0,0,0.6,0.8", "0.1,0.1,0.1,0.984886")


def written(
    things: Sequence[tuple[str, str, str, str]],
    rows: Sequence[str],
    *,
    version: str = "1.25",
    titles: Sequence[str] = ("Type", "Name", "ID", "Parent"),
    rotation: str = "Quaternion",
    unit: str = "Meters",
    space: str = "Global",
    frames: int | None = None,
    lead: str = "Frame,Time (Seconds)",
) -> str:
    """A file as Motive writes it: things are (type, name, parent, parts), parts in letters: q, e, p, r (error)."""
    parts = {"q": ("Rotation", "XYZW"), "e": ("Rotation", "XYZ"), "p": ("Position", "XYZ"), "r": ("Error", " ")}
    cells = [
        (kind, name, f"id {name}", parent, parts[letter][0], axis)
        for kind, name, parent, letters in things
        for letter in letters
        for axis in parts[letter][1]
    ]
    spare = "," * lead.count(",")
    count = len(rows) if frames is None else frames
    lines = [FIRST.format(version=version, rotation=rotation, unit=unit, space=space, frames=count), ""]
    for k, title in enumerate(("Type", "Name", "ID", "Parent")):
        if title in titles:
            lines.append(spare[1:] + f",{title}," + ",".join(cell[k] for cell in cells))
        elif title.lower() in titles:  # a row without its title
            lines.append(spare + "," + ",".join(cell[k] for cell in cells))
    lines += [spare + "," + ",".join(cell[4] for cell in cells), lead + "," + ",".join(cell[5] for cell in cells)]
    return "\n".join([*lines, *rows]) + "\n"


TWO = (("Rigid Body", "hip", "", "qpr"), ("Rigid Body", "knee", "", "qpr"))
ROWS = [f"{k},{k / 120:.6f},{TURN[k]},1,2,{k},0.001,0,0,0,1,4,5,6.5,0.002" for k in range(3)]
BODIES = written(TWO, ROWS)
BONES = written(
    (("Bone", "S:S", "Root", "qp"), ("Bone", "S:Ab", "S:S", "qp")),
    [f"{k},{k / 120:.6f},{TURN[k]},1,2,{k},0,0,0,1," + "{},{},{}" for k in range(3)],
)
MIXED = written(
    (("Rigid Body", "hip", "", "qp"), ("Rigid Body Marker", "hip:1", "hip", "p"), ("Marker", "hip:1", "", "p")),
    [f"{k},{k / 120:.6f},{TURN[k]},1,2,{k},7,7,7," + ("1,2,3" if k else ",,") for k in range(3)],
)
OLD = """comment,"OptiTrack Export Data"
righthanded
info,version,1.1
info,framecount,2
info,rigidbodycount,2
rigidbody,"hip",7,1,0.1,0.2,0.3
rigidbody,"knee",9,0
frame,0,0.00,2,7,1,2,3,0,0,0.6,0.8,10,20,30,9,4,5,6,0,0,0,1,0,0,0,1,0.1,0.2,0.3,1,"M1"
rigidbody,0,0.00,"hip",7,0,1
frame,1,0.01,1,9,4,5,7,0,0,0,1,0,0,0,0
"""


def bones() -> str:
    """BONES with the child 2 m along the parent's x axis."""
    q = np.array([[float(x) for x in turn.split(",")] for turn in TURN])[:, [3, 0, 1, 2]]
    p = np.array([[1, 2, k] for k in range(3)]) + 2 * rotation.from_quaternion(q)[:, :, 0]
    return BONES.format(*p.ravel().round(9))


SMALL: dict[str, bytes] = {
    "rigid bodies": BODIES.encode(),
    "bones": bones().encode(),
    "bodies and markers": MIXED.encode(),
    "euler": written(
        (("Rigid Body", "hip", "", "ep"),), ["0,0,10,20,30,1,2,3", "1,0.01,11,21,31,1,2,4"], rotation="XYZ"
    ).encode(),
    "tracking tools": OLD.encode(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.csv"


def posed(path: Path) -> Take:
    return to_take(read_recording(path))


def test_rigid_bodies_are_read_as_the_header_says(path: Path) -> None:
    found = recording_of(path, BODIES)
    assert found.bodies is not None
    assert found.format == "motive"
    assert found.bodies.names == ("hip", "knee")
    assert found.bodies.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]
    assert found.bodies.orientation[1, 0].tolist() == [0, 0, 0.6, 0.8]
    assert found.time is not None
    assert found.time.tolist() == [0, 0.008333, 0.016667]
    assert (found.convention.rotation, found.convention.unit, found.convention.up) == ("xyzw", "m", "y")
    assert found.convention.stated == {"rotation", "unit"}
    assert (found.solved_by, found.own, found.markers, found.findings) == (None, None, None, ())
    turned = posed(path).R_world_body[1, 0]
    np.testing.assert_allclose(turned[:2, 0], [0.28, 0.96], atol=MICROMETRE)


@pytest.mark.parametrize(("unit", "metres"), [("Millimeters", 0.001), ("Centimeters", 0.01), ("Inches", 0.0254)])
def test_lengths_are_in_the_unit_of_the_header(path: Path, unit: str, metres: float) -> None:
    recording_of(path, written(TWO, ROWS, unit=unit))
    np.testing.assert_allclose(posed(path).p_world_body[2, 1], np.array([4, 5, 6.5]) * metres)


def test_a_header_without_a_unit_leaves_it_open(path: Path) -> None:
    found = recording_of(path, BODIES.replace("Length Units,Meters,", ""))
    assert found.convention.unit is None
    assert "unit" not in found.convention.stated


@pytest.mark.parametrize(
    "titles",
    [
        ("Type", "Name", "ID"),
        ("type", "name", "id"),
        ("type", "name"),
        ("type", "name", "id", "parent"),
        ("Type", "Name"),
    ],
)
@pytest.mark.parametrize("version", ["1.2", "1.21", "1.22", "1.23", "1.24"])
def test_headers_of_older_versions_are_read(path: Path, titles: tuple[str, ...], version: str) -> None:
    found = recording_of(path, written(TWO, ROWS, titles=titles, version=version))
    assert found.bodies is not None
    assert found.bodies.names == ("hip", "knee")
    assert found.bodies.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]


def test_a_column_of_time_codes_is_passed_over(path: Path) -> None:
    rows = [row.replace(",", ",@,", 2).replace("@,", "", 1).replace("@", "15:26:46:12.02") for row in ROWS]
    found = recording_of(path, written(TWO, rows, lead="Frame,Time (Seconds),TimeCode"))
    assert found.bodies is not None
    assert found.bodies.position[2].tolist() == [[1, 2, 2], [4, 5, 6.5]]


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "YXZ"])
def test_euler_angles_are_taken_in_the_order_of_the_header_by_the_names_of_their_columns(
    path: Path, order: str
) -> None:
    text = written((("Rigid Body", "hip", "", "ep"),), ["0,0,10,20,30,1,2,3"] * 2, rotation=order)
    found = recording_of(path, text)
    assert found.convention.rotation == order
    angles = np.radians([10.0 * (1 + "XYZ".index(axis)) for axis in order])
    np.testing.assert_allclose(posed(path).R_world_body[0, 0], rotation.from_euler(angles, order), atol=MICROMETRE)


def test_an_unknown_rotation_type_is_an_error(path: Path) -> None:
    assert fault(path, BODIES.replace("Quaternion", "Spinor")).code == "bad-header"


def test_poses_relative_to_the_parent_are_refused_with_the_way_out(path: Path) -> None:
    error = fault(path, bones().replace("Space,Global", "Space,Local"))
    assert error.code == "local-poses"
    assert "export again" in error.text


def test_bones_bring_their_skeleton_from_the_row_of_parents(path: Path) -> None:
    found = recording_of(path, bones())
    assert found.solved_by == "Motive"
    assert found.own is not None
    assert found.own.names == ("S:S", "S:Ab")
    assert found.own.parent.tolist() == [-1, 0]
    np.testing.assert_allclose(found.own.p_parent_joint, [[0, 0, 0], [2, 0, 0]], atol=SIXTH_DIGIT)
    assert "solved-poses" in [finding.code for finding in posed(path).findings]


def test_bones_without_parents_or_with_a_wandering_joint_bring_none(path: Path) -> None:
    text = bones()
    assert (
        recording_of(path, text.replace(",Parent,", ",,").replace("S:S,S:S,S:S,S:S,S:S,S:S,S:S\n,,R", ",\n,,R")).own
        is None
    )
    assert recording_of(path, BONES.format(*range(9))).own is None


def test_parents_in_a_circle_bring_no_skeleton(path: Path) -> None:
    things = (("Bone", "a", "Root", "qp"), ("Bone", "b", "a", "qp"))
    text = written(things, ["0,0,0,0,0,1,1,2,3,0,0,0,1,4,5,6"])
    assert recording_of(path, text).own is not None
    assert recording_of(path, text.replace("Root", "b")).own is None


def test_measured_markers_are_read_and_those_of_the_model_are_not(path: Path) -> None:
    found = recording_of(path, MIXED)
    assert found.bodies is not None
    assert found.markers is not None
    assert found.markers.names == ("hip:1",)
    assert found.markers.position[1].tolist() == [[1, 2, 3]]
    assert np.isnan(found.markers.position[0]).all()
    assert found.facts["markers of the model"].startswith("1, not read")


def test_markers_of_the_model_stand_in_where_none_was_measured(path: Path) -> None:
    found = recording_of(path, written((("Rigid Body Marker", "a", "", "p"),), ["0,0,1,2,3"]))
    assert found.bodies is None
    assert found.markers is not None
    assert found.markers.names == ("a",)


def test_a_marker_name_that_comes_again_gets_a_number_and_a_body_is_an_error(path: Path) -> None:
    kinds = [("Marker", name, "", "p") for name in ("a", "b", "a", "a", "a (2)")]
    text = written(kinds, ["0,0," + ",".join(str(k) for k in range(15))])
    found = recording_of(path, text)
    assert found.markers is not None
    assert found.markers.names == ("a", "b", "a (3)", "a (4)", "a (2)")
    error = fault(path, BODIES.replace("knee", "hip"))
    assert error.code == "duplicate-name"
    assert "hip" in error.text


def test_an_empty_cell_is_a_pose_not_seen(path: Path) -> None:
    gone = ROWS[1].split(",")
    gone[2:9] = [""] * 7
    recording_of(path, written(TWO, [ROWS[0], ",".join(gone), ROWS[2]]))
    assert posed(path).seen.tolist() == [[True, True], [False, True], [True, True]]


def test_fewer_rows_than_declared_are_told_with_both_numbers(path: Path) -> None:
    found = recording_of(path, written(TWO, ROWS, frames=17263))
    assert codes(found) == ["truncated-file"]
    assert "header says 17263 frames, 3 present" in found.findings[0].text
    assert recording_of(path, written(TWO, ROWS, frames=2)).frames == 3


@pytest.mark.sized
def test_a_cut_at_any_byte_gives_whole_frames_and_says_so_or_is_an_error(path: Path) -> None:
    for variant, raw in SMALL.items():
        whole = recording_of(path, raw)
        for cut, found in read_cuts(raw, lambda cut: motive.read(write_content(path, cut), ReadOptions())):
            assert codes(found)[:1] == ["truncated-file"], (variant, len(cut))
            for part in ("bodies", "markers"):
                now, then = getattr(found, part), getattr(whole, part)
                if now is not None:
                    np.testing.assert_array_equal(now.position, then.position[: found.frames])


def test_a_bad_number_is_an_error_with_line_and_column(path: Path) -> None:
    error = fault(path, written(TWO, [ROWS[0], ROWS[1].replace("6.5", "six"), ROWS[2]]))
    assert (error.code, error.line, error.column) == ("bad-number", 10, 17)
    assert "six" in error.text
    error = fault(path, written(TWO, [ROWS[0], "1,0.01,3", ROWS[2]]))
    assert (error.code, error.line) == ("ragged-row", 10)
    assert fault(path, written(TWO, [ROWS[0], ROWS[1].replace("0.008333", ""), ROWS[2]])).code == "bad-time"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("knee", "Fuß").encode("latin-1"),
        lambda text: text.replace("hip", '"hip"').encode(),
        lambda text: text.replace(",", ";").replace(".", ",").replace("1,25", "1.25").encode(),
    ],
    ids=["bom", "utf16", "crlf", "latin1", "quoted", "semicolons"],
)
def test_files_that_went_through_other_programs_are_read(path: Path, change: object) -> None:
    found = recording_of(path, change(BODIES))  # type: ignore[operator]
    assert found.bodies is not None
    assert found.bodies.names in (("hip", "knee"), ("hip", "Fuß"))
    assert found.bodies.position[2, 1].tolist() == [4, 5, 6.5]


@pytest.mark.parametrize("lines", [1, 2, 4, 7, 8])
def test_a_header_without_rows_is_an_error(path: Path, lines: int) -> None:
    assert fault(path, "\n".join(BODIES.split("\n")[:lines]) + "\n").code in ("no-data", "bad-header")


def test_columns_of_other_things_alone_are_an_error(path: Path) -> None:
    assert fault(path, written((("Force Plate", "p", "", "p"),), ["0,0,1,2,3"])).code == "no-data"
    assert fault(path, BODIES.replace(",Type,", ",Kind,").replace("Rigid Body", "")).code in ("no-data", "bad-header")


def test_files_of_tracking_tools_are_read(path: Path) -> None:
    found = recording_of(path, OLD)
    assert found.bodies is not None
    assert found.bodies.names == ("hip", "knee")
    assert found.bodies.position[0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.bodies.orientation[0, 0].tolist() == [0, 0, 0.6, 0.8]
    assert np.isnan(found.bodies.position[1, 0]).all()
    assert found.bodies.position[1, 1].tolist() == [4, 5, 7]
    assert found.convention.handed == "right"
    assert recording_of(path, OLD.replace("righthanded", "lefthanded")).convention.handed == "left"
    assert codes(recording_of(path, OLD.replace("framecount,2", "framecount,5"))) == ["truncated-file"]
    assert fault(path, OLD.replace("4,5,7", "4,five,7")).line == 10
    assert fault(path, OLD.replace('"knee"', '"hip"')).code == "duplicate-name"
    assert fault(path, OLD.replace("0.01,1,9", "0.01,9,9")).code == "ragged-row"
    assert fault(path, OLD.replace("rigidbody,", "other,")).code == "no-data"
    assert np.isnan(recording_of(path, OLD.replace("4,5,7", "1.#QNAN,5,7")).bodies.position[1, 1, 0])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "head", [b"", b"\x00\x01", b"frame,time\n1,2\n", b"Format,1.2\n", b"info,framecount,2\n", b"\xff"]
)
def test_files_of_another_kind_are_not_claimed(head: bytes) -> None:
    assert not motive.looks_like(head)


def test_the_real_skeleton_is_read_with_its_51_bones(shared_data: Path) -> None:
    file = shared_data / "optitrack_csv" / "skeleton.csv"
    assert identify(file).name == "motive"
    found = read_recording(file)
    with open(file, encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream))
    assert found.bodies is not None
    assert found.markers is not None
    assert (found.frames, len(found.bodies.names), len(found.markers.names)) == (32, 51, 82)
    for k in (0, 17, 50):
        cells = [float(cell) for cell in rows[8 + 31][2 + 7 * k : 9 + 7 * k]]
        assert rows[3][2 + 7 * k] == found.bodies.names[k]
        assert [*found.bodies.orientation[31, k], *found.bodies.position[31, k]] == cells
    column = rows[2].index("Marker")
    assert found.markers.names[0] == rows[3][column]
    assert found.markers.position[0, 0].tolist() == [float(cell) for cell in rows[8][column : column + 3]]
    assert (found.convention.unit, found.solved_by) == ("mm", "Motive")
    assert "header says 17263 frames, 32 present" in found.findings[0].text


def test_the_real_skeleton_has_bones_of_constant_length(shared_data: Path) -> None:
    found = read_recording(shared_data / "optitrack_csv" / "skeleton.csv")
    assert found.own is not None
    assert found.bodies is not None
    parent = found.own.parent
    assert [found.own.names[k] for k in np.flatnonzero(parent < 0)] == ["763:763"]
    child = np.flatnonzero(parent >= 0)
    apart = np.linalg.norm(found.bodies.position[:, child] - found.bodies.position[:, parent[child]], axis=2)
    length = np.linalg.norm(found.own.p_parent_joint[child], axis=1)
    np.testing.assert_allclose(apart, np.broadcast_to(length, apart.shape), atol=BONE_STRETCH)
