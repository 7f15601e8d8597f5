from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.io.format import ReadOptions
from condyle.io.formats import columns
from condyle.io.formats.propose import MapProposal, propose
from condyle.maths import rotation
from condyle.maths.arrays import Floats
from condyle.model.recording import Recording, to_take

FRAMES = 60
EXACT = 1e-12


def motion(bodies: int) -> tuple[Floats, Floats]:
    """Positions (n, bodies, 3) and matrices (n, bodies, 3, 3) that move smoothly."""
    t = np.linspace(0, 6, FRAMES)[:, None]
    phase = np.arange(bodies)
    p = np.stack([np.sin(t + phase), np.cos(0.7 * t + phase), 2 + np.sin(0.5 * t - phase)], axis=2)
    angles = np.stack([2.5 * np.sin(t + phase), 0.8 * np.sin(1.3 * t + phase), np.cos(t - phase)], axis=2)
    return p, rotation.from_euler(angles, "ZYX")


def written(path: Path, *blocks: Floats, head: str = "", separator: str = ",") -> Path:
    values = np.concatenate([np.reshape(block, (FRAMES, -1)) for block in blocks], axis=1)
    path.write_text(head + "".join(separator.join(f"{x:.9g}" for x in row) + "\n" for row in values))
    return path


def proposed(path: Path) -> tuple[dict[str, Any], MapProposal]:
    found = propose(path)
    assert found is not None
    assert found.toml is not None, found.reasons
    return tomllib.loads(found.toml), found


def read_as_proposed(path: Path) -> Recording:
    """The recording under the proposed map: a proposal must be usable as it is."""
    _, found = proposed(path)
    assert found.toml is not None
    maps = path.with_suffix(".toml")
    maps.write_text(found.toml)
    return columns.read(path, ReadOptions(columns=maps))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def test_positions_then_quaternions_are_told_apart(path: Path) -> None:
    p, R = motion(2)
    toml, found = proposed(written(path, p, rotation.to_quaternion(R)))
    assert toml["bodies"]["body1"] == {"position": [1, 2, 3], "orientation": [7, 8, 9, 10]}
    assert toml["bodies"]["body2"] == {"position": [4, 5, 6], "orientation": [11, 12, 13, 14]}
    assert "rotation" not in toml  # left open: the order is not known
    assert found.toml is not None
    assert "order of a quaternion cannot be told" in found.toml


@pytest.mark.parametrize("quaternion_first", [False, True])
def test_poses_one_after_the_other_are_told_apart(path: Path, quaternion_first: bool) -> None:
    p, R = motion(3)
    q = rotation.to_quaternion(R)
    parts = [q, p] if quaternion_first else [p, q]
    toml, _ = proposed(written(path, np.concatenate(parts, axis=2), separator="\t"))
    place, turn = ([5, 6, 7], [1, 2, 3, 4]) if quaternion_first else ([1, 2, 3], [4, 5, 6, 7])
    assert toml["bodies"]["body1"] == {"position": place, "orientation": turn}
    assert toml["bodies"]["body3"]["position"] == [column + 14 for column in place]


@pytest.mark.parametrize(
    ("rate", "unit", "factor"), [(120.0, "s", 1.0), (90.0, "ms", 1e3), (60.0, "us", 1e6), (100.0, "ns", 1e9)]
)
def test_a_steady_column_is_time_in_the_unit_of_a_plausible_rate(
    path: Path, rate: float, unit: str, factor: float
) -> None:
    p, R = motion(1)
    clock = np.arange(FRAMES) / rate * factor
    toml, _ = proposed(written(path, np.arange(FRAMES, dtype=np.float64), clock, p, rotation.to_quaternion(R)))
    assert toml["time"] == 2  # the first column only counts rows
    assert toml.get("time_unit", "s") == unit
    assert toml["bodies"]["log"] == {"position": [3, 4, 5], "orientation": [6, 7, 8, 9]}


@pytest.mark.parametrize("width", [9, 12, 16])
def test_matrices_are_recognised_and_read(path: Path, width: int) -> None:
    p, R = motion(2)
    if width == 9:
        written(path, np.concatenate([p, R.reshape(FRAMES, 2, 9)], axis=2))
    else:
        T = np.zeros((FRAMES, 2, 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1
        written(path, T.reshape(FRAMES, 2, 16)[..., :width])
    recording = read_as_proposed(path)
    take = to_take(recording.under(recording.convention.but(unit="m")))
    np.testing.assert_allclose(take.p_world_body, p, atol=1e-8)
    np.testing.assert_allclose(take.R_world_body, R, atol=1e-8)


def test_angles_are_known_by_turning_over(path: Path) -> None:
    p, _ = motion(2)
    t = np.linspace(0, 6, FRAMES)[:, None] + np.arange(2)
    angles = np.stack([(t * 100 + 180) % 360 - 180, 40 * np.sin(t), 30 * np.cos(t)], axis=2)
    toml, found = proposed(written(path, np.concatenate([p, angles], axis=2)))
    assert toml["bodies"]["body2"] == {"position": [7, 8, 9], "orientation": [10, 11, 12]}
    assert toml["degrees"] is True
    assert "rotation" not in toml
    assert found.toml is not None
    assert "order of the angles" in found.toml


def test_triples_that_move_smoothly_are_markers(path: Path) -> None:
    p, _ = motion(4)
    toml, _ = proposed(written(path, p))
    assert toml["markers"]["marker4"] == [10, 11, 12]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("time,px,py,pz,qw,qx,qy,qz\n", (["px", "py", "pz"], ["qw", "qx", "qy", "qz"], "wxyz")),
        ("time,tx,ty,tz,qx,qy,qz,qw\n", (["tx", "ty", "tz"], ["qx", "qy", "qz", "qw"], "xyzw")),
        ("time,x,y,z,q0,q1,q2,q3\n", (["x", "y", "z"], ["q0", "q1", "q2", "q3"], "wxyz")),
        ("time,pos_x,pos_y,pos_z,rot_x,rot_y,rot_z,rot_w\n", (["pos_x", "pos_y", "pos_z"],
                                                           ["rot_x", "rot_y", "rot_z", "rot_w"], "xyzw")),
    ],
)  # fmt: skip
def test_names_say_what_columns_are(path: Path, head: str, expected: tuple[list[str], list[str], str]) -> None:
    p, R = motion(1)
    toml, _ = proposed(written(path, np.arange(FRAMES) / 50, p, rotation.to_quaternion(R), head=head))
    assert toml["time"] == "time"
    assert toml["bodies"]["log"] == {"position": expected[0], "orientation": expected[1]}
    assert "rotation" not in toml  # the names say it, and the motion may contradict
    convention = read_as_proposed(path).convention
    assert (convention.rotation, convention.given, convention.guessed) == (expected[2], set(), set())


def test_named_angles_have_an_order_and_those_about_axes_have_none(path: Path) -> None:
    p, _ = motion(1)
    angles = np.stack([np.linspace(-170, 170, FRAMES), np.ones(FRAMES), np.zeros(FRAMES)], axis=1)
    toml, _ = proposed(written(path, p, angles, head="x [cm],y [cm],z [cm],roll,pitch,yaw\n"))
    assert toml["bodies"]["log"]["orientation"] == ["yaw", "pitch", "roll"]
    assert (toml["degrees"], toml["unit"]) == (True, "cm")
    convention = read_as_proposed(path).convention
    assert (convention.rotation, "rotation" in convention.given | convention.guessed) == ("ZYX", False)
    toml, _ = proposed(written(path, p, angles, head="x,y,z,rx,ry,rz\n"))
    assert toml["bodies"]["log"]["orientation"] == ["rz", "ry", "rx"]
    assert "rotation" not in toml


@pytest.mark.parametrize(("place", "unity"), [("pos", True), ("position", True), ("loc", False)])
def test_angles_that_are_called_as_in_unity_are_in_its_order(path: Path, place: str, unity: bool) -> None:
    """They were read as ZYX, whose columns no other order could be read from."""
    p, _ = motion(2)
    degrees = 100 * p[..., [1, 2, 0]]  # about x, y and z
    names = ",".join(f"{body}_{what}_{axis}" for body in "ab" for what in (place, "rot") for axis in "xyz")
    columns = [part[:, k] for k in range(2) for part in (p, degrees)]
    written(path, np.arange(len(p))[:, None] / 60, *columns, head=f"time,{names}\n")
    recording = read_as_proposed(path)
    assert (recording.convention.handed, recording.convention.up) == (("left", "y") if unity else ("right", None))
    wanted = degrees[..., [1, 0, 2] if unity else [2, 1, 0]]
    np.testing.assert_allclose(recording.bodies.orientation, wanted, atol=1e-5)
    assert ('# rotation = "YXZ"' in (proposed(path)[1].toml or "")) == unity


def test_one_body_that_is_called_as_in_unity_does_not_set_the_order_of_the_others(path: Path) -> None:
    p, _ = motion(1)
    names = ["time", *(f"a_{what}_{axis}" for what in ("pos", "rot") for axis in "xyz")]
    names += [*(f"b_t{axis}" for axis in "xyz"), "b_roll", "b_pitch", "b_yaw"]
    columns = [p[:, 0], 100 * p[:, 0], p[:, 0] + 1, 100 * p[:, 0]]
    toml, found = proposed(written(path, np.arange(len(p))[:, None] / 60, *columns, head=",".join(names) + "\n"))
    assert toml["bodies"]["a"]["orientation"] == ["a_rot_z", "a_rot_y", "a_rot_x"]
    assert toml["bodies"]["b"]["orientation"] == ["b_yaw", "b_pitch", "b_roll"]
    assert "handed" not in toml
    assert '# rotation = "ZYX"' in (found.toml or "")


def test_four_columns_of_unit_length_are_a_quaternion_whatever_their_names(path: Path) -> None:
    p, R = motion(1)
    toml, _ = proposed(written(path, p, rotation.to_quaternion(R), head="x,y,z,Rot1,Rot2,Rot3,Rot4\n"))
    assert toml["bodies"]["log"]["orientation"] == ["Rot1", "Rot2", "Rot3", "Rot4"]
    assert "rotation" not in toml


def test_a_quaternion_whose_columns_are_named_has_the_order_of_the_names(path: Path) -> None:
    p, R = motion(1)
    head = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []\n"
    toml, found = proposed(written(path, np.arange(FRAMES) / 50, p, rotation.to_quaternion(R), head=head))
    assert toml["bodies"]["log"]["orientation"] == ["q_RS_w []", "q_RS_x []", "q_RS_y []", "q_RS_z []"]
    assert '# rotation = "wxyz"  # as the columns are named' in (found.toml or "")
    convention = read_as_proposed(path).convention
    assert (convention.rotation, convention.stated) == ("wxyz", {"rotation"})


def test_force_plates_are_no_markers(path: Path) -> None:
    p, _ = motion(2)
    head = "TimeStamp,RHEE.PosX,RHEE.PosY,RHEE.PosZ,FP1.ForX,FP1.ForY,FP1.ForZ\n"
    toml, found = proposed(written(path, np.arange(FRAMES) / 50, p, head=head))
    assert list(toml["markers"]) == ["RHEE"]
    assert "not used: FP1.ForX, FP1.ForY, FP1.ForZ" in found.reasons


def test_points_of_two_coordinates_are_not_cut_into_threes(path: Path) -> None:
    p, _ = motion(4)
    head = ",".join(f"{name}.Pos{axis}" for name in ("RSHO", "RGTRO", "RLEK", "RLM", "RHEE", "RMT5") for axis in "XY")
    found = propose(written(path, p, head=head + "\n"))
    assert found is not None
    assert found.toml is None
    assert "of less than three coordinates, such as RSHO" in found.reasons[0]


def test_a_row_per_sensor_is_proposed_as_such(path: Path) -> None:
    lines = [f"{k // 2 / 50},{k % 2},{k},2,3,1,0,0,0\n" for k in range(40)]
    path.write_text("time,sensor,x,y,z,qw,qx,qy,qz\n" + "".join(lines))
    recording = read_as_proposed(path)
    assert recording.bodies is not None
    assert recording.bodies.names == ("0", "1")
    assert recording.frames == 20


def test_names_that_repeat_are_given_by_number(path: Path) -> None:
    p, R = motion(2)
    head = "x,y,z,qw,qx,qy,qz,x,y,z,qw,qx,qy,qz\n"
    toml, _ = proposed(written(path, np.concatenate([p, rotation.to_quaternion(R)], axis=2), head=head))
    assert toml["bodies"]["log"]["position"] == [1, 2, 3]


def test_hostile_names_stay_data(path: Path) -> None:
    name = 'a"]\\n[bodies.x\x7f\x1b[31m'
    p, _ = motion(3)
    head = ",".join('"' + f"{name}{k}_{axis}".replace('"', '""') + '"' for k in range(3) for axis in "xyz") + "\n"
    toml, _ = proposed(written(path, p, head=head))
    assert list(toml["markers"]) == [f"{name}{k}" for k in range(3)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.5\n2.5\n1\n" * 20, "a single column of numbers: joint angles need a kinematic model"),
        ("".join(f"{k / 10}\n" for k in range(20)), "a clock without poses"),
        ("1 2\n2 1\n" * 20, "two columns of numbers"),
        ("1 2 3\n" * 3, "only 3 rows"),
        ("".join(f"{k % 7} {k % 5} {k % 3} {k % 2}\n" for k in range(40)), "joint angles need a kinematic model"),
    ],
)
def test_a_table_without_poses_is_declined_with_a_reason(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    found = propose(path)
    assert found is not None
    assert found.toml is None
    assert reason in found.reasons[0]


@pytest.mark.parametrize("raw", [b"", b"\n", b"words and words\n", b"\x00" * 100, b"<xml/>"])
def test_what_is_no_table_gets_no_proposal(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    assert propose(path) is None


def test_vr_trackers_get_the_right_map(shared_data: Path) -> None:
    toml, _ = proposed(shared_data / "vr_tundra" / "000_tracker_data_record.csv")
    assert toml["bodies"]["body1"] == {"position": [1, 2, 3], "orientation": [7, 8, 9, 10]}
    assert toml["bodies"]["body2"] == {"position": [4, 5, 6], "orientation": [11, 12, 13, 14]}


def test_a_door_with_two_columns_too_many_gets_the_right_map(shared_data: Path) -> None:
    toml, _ = proposed(shared_data / "door_pose" / "door.txt")
    assert toml["bodies"] == {"door": {"position": [1, 2, 3], "orientation": [4, 5, 6, 7]}}


def test_a_robots_joint_angles_are_declined(shared_data: Path) -> None:
    for path in sorted((shared_data / "franka_log").glob("*.txt")):
        found = propose(path)
        assert found is not None
        assert found.toml is None
        assert "kinematic model" in found.reasons[0] or "clock" in found.reasons[0]


def test_a_linkage_of_markers_gets_all_of_them(shared_data: Path) -> None:
    toml, _ = proposed(next((shared_data / "diodem/arm/exp01/motion02_pause1").glob("*.csv")))
    assert len(toml["markers"]) == 20
    assert toml["rate"] == 30
    assert toml["markers"]["seg2_marker3"] == [f"seg2_marker3_{axis}" for axis in "xyz"]


def test_magnetic_trackers_without_a_header_get_their_six_sensors(shared_data: Path) -> None:
    toml, _ = proposed(shared_data / "ascension_trakstar" / "hand_1.csv")
    assert len(toml["bodies"]) == 6
    assert toml["bodies"]["body2"] == {"position": [9, 10, 11], "orientation": [12, 13, 14]}
    assert toml["degrees"] is True


def test_numbers_on_lines_of_json_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n "x": [\n' + "  0.5,\n" * 40 + "  1.0\n ]\n}\n")
    assert propose(tmp_path / "a.json") is None
