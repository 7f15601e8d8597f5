from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import CondyleError
from condyle.io.formats import identify, read_recording
from condyle.io.formats.bvh import looks_like
from condyle.model.recording import Recording
from condyle.prepare.read import read
from tests.make import recordings
from tests.make.texts import codes, read_cuts, recording_of

EXACT = 1e-12  # of the file's unit, and of matrix entries

HIERARCHY = """HIERARCHY
ROOT hips
{
  OFFSET 0.0 0.0 0.0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT upper leg
  {
    OFFSET 0.1 -0.2 0.3
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT shin
    {
      OFFSET 0.0 -0.4 0.05
      CHANNELS 1 Xrotation
      End Site
      {
        OFFSET 0.0 -0.4 0.0
      }
    }
  }
}
"""
ROWS = ["1 2 3 10 20 30 5 -6 7 40", "1.5 2.5 3.5 11 21 31 15 -16 17 50", "2 3 4 12 22 32 25 -26 27 60"]
TEXT = HIERARCHY + "MOTION\nFrames: 3\nFrame Time: 0.01\n" + "\n".join(ROWS) + "\n"
TWO_ROOTS = """HIERARCHY
ROOT a
{
OFFSET 0 0 0
CHANNELS 3 Xrotation Yrotation Zrotation
}
ROOT b {
OFFSET 1 2 3
CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation }
MOTION
Frames: 2
Frame Time: 0
1 2 3 4 5 6 7 8 9
2 3 4 5 6 7 8 9 10
"""
SMALL: dict[str, bytes] = {
    "plain": TEXT.encode(),
    "two roots, no rate": TWO_ROOTS.encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "positions everywhere": TEXT.replace("CHANNELS 1 Xrotation", "CHANNELS 4 Xposition Yposition Zposition Xrotation")
    .replace(" 40\n", " 0 -0.4 0.05 40\n")
    .replace(" 50\n", " 0 -0.4 0.05 50\n")
    .replace(" 60\n", " 0 -0.4 0.05 60\n")
    .encode(),
}


def _read(folder: Path, content: str | bytes, **options: object) -> Recording:
    return recording_of(folder / "clip.bvh", content, **options)


def _poses(recording: Recording) -> tuple[np.ndarray, np.ndarray]:
    assert recording.bodies is not None
    R = recording.bodies.orientation.reshape(recording.frames, -1, 3, 3)
    return R, recording.bodies.position


def _one_frame(joints: list[dict], row: list[float]) -> dict[str, np.ndarray]:
    """Homogeneous matrices by plain recursion over joints {name, parent, offset, channels}: an independent answer."""
    found: dict[str, np.ndarray] = {}
    values = iter(row)
    for joint in joints:
        T = np.eye(4)
        T[:3, 3] = joint["offset"]
        for channel in joint["channels"]:
            value, step = next(values), np.eye(4)
            if channel.endswith("position"):
                T["XYZ".index(channel[0]), 3] += value
            else:
                step[:3, :3] = Rotation.from_euler(channel[0].lower(), value, degrees=True).as_matrix()
                T = T @ step
        found[joint["name"]] = (found[joint["parent"]] if joint["parent"] else np.eye(4)) @ T
    return found


def _random_file(rng: np.random.Generator) -> tuple[str, list[dict], np.ndarray]:
    count = int(rng.integers(2, 9))
    joints = []
    for k in range(count):
        axes = [f"{axis}rotation" for axis in rng.permutation(list("XYZ"))[: int(rng.integers(1, 4))]]
        moves = [f"{axis}position" for axis in rng.permutation(list("XYZ"))] if k == 0 else []
        parent = None if k == 0 else f"j{int(rng.integers(k))}"
        channels = axes + moves if rng.random() < 0.5 else moves + axes
        joints.append({"name": f"j{k}", "parent": parent, "offset": rng.normal(size=3), "channels": channels})

    def block(joint: dict) -> str:
        inner = "".join(block(child) for child in joints if child["parent"] == joint["name"])
        word = "JOINT" if joint["parent"] else "ROOT"
        offset = " ".join(repr(float(x)) for x in joint["offset"])
        channels = f"{len(joint['channels'])} {' '.join(joint['channels'])}"
        return f"{word} {joint['name']}\n{{\nOFFSET {offset}\nCHANNELS {channels}\n{inner}}}\n"

    listed: list[dict] = []

    def walk(joint: dict) -> None:
        listed.append(joint)
        for child in joints:
            if child["parent"] == joint["name"]:
                walk(child)

    walk(joints[0])
    values = rng.uniform(-180, 180, size=(5, sum(len(joint["channels"]) for joint in listed)))
    rows = "\n".join(" ".join(repr(float(x)) for x in row) for row in values)
    return f"HIERARCHY\n{block(joints[0])}MOTION\nFrames: 5\nFrame Time: 0.02\n{rows}\n", listed, values


def test_random_skeletons_stand_where_a_plain_recursion_puts_them(tmp_path: Path, rng: np.random.Generator) -> None:
    for _ in range(20):
        text, joints, values = _random_file(rng)
        recording = _read(tmp_path, text)
        R, p = _poses(recording)
        for n, row in enumerate(values):
            answer = _one_frame(joints, row.tolist())
            for k, name in enumerate(recording.bodies.names):  # type: ignore[union-attr]
                np.testing.assert_allclose(R[n, k], answer[name][:3, :3], atol=EXACT)
                np.testing.assert_allclose(p[n, k], answer[name][:3, 3], atol=1e-9)


def test_a_file_tells_names_rate_skeleton_and_that_it_was_solved(tmp_path: Path) -> None:
    recording = _read(tmp_path, TEXT)
    assert recording.bodies is not None
    assert recording.bodies.names == ("hips", "upper leg", "shin")
    assert recording.rate == pytest.approx(100)
    assert recording.convention.unit is None
    assert recording.convention.up == "y"
    assert not {"unit", "up"} & recording.convention.stated
    assert recording.own is not None
    assert recording.own.parent.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(recording.own.p_parent_joint, [[0, 0, 0], [0.1, -0.2, 0.3], [0, -0.4, 0.05]])
    take = read(tmp_path / "clip.bvh")
    assert {"solved-poses", "unit-assumed"} == {finding.code for finding in take.findings}


@pytest.mark.costly
def test_the_cmu_clips_agree_with_the_loader_of_the_tests(shared_data: Path) -> None:
    for path in sorted((shared_data / "cmu_bvh").glob("*.bvh"))[:6]:
        recording = read_recording(path)
        names, _, _, R, p, rate = recordings.bvh(path.name)
        rows = [names.index(name) for name in recording.bodies.names]  # type: ignore[union-attr]
        mine, at = _poses(recording)
        np.testing.assert_allclose(mine, R[:, rows], atol=EXACT)
        np.testing.assert_allclose(at * recordings.BVH_METRES, p[:, rows], atol=EXACT)
        assert recording.rate == rate


@pytest.mark.costly
def test_the_unit_of_the_cmu_clips_is_found_by_the_size_of_the_people(shared_data: Path) -> None:
    for path in sorted((shared_data / "cmu_bvh").glob("*.bvh")):
        told = [finding for finding in read(path).findings if finding.code == "unit-assumed"]
        assert [finding.value for finding in told] == [pytest.approx(recordings.BVH_METRES)]


@pytest.mark.parametrize(("scale", "metres"), [(1.0, 1.0), (100.0, 0.01), (1000.0, 0.001), (39.37, 0.0254)])
def test_a_person_in_metres_centimetres_millimetres_or_inches_is_a_person(
    tmp_path: Path, scale: float, metres: float
) -> None:
    chain = [0.45, 0.42, 0.5, 0.2, 0.3, 0.27]
    opening = "".join(
        f"JOINT j{k}\n{{\nOFFSET 0 {size * scale} 0\nCHANNELS 1 Xrotation\n" for k, size in enumerate(chain)
    )
    text = f"HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{opening}{'}' * 7}\n"
    rows = "1 2 3 4 5 6 7\n2 3 4 5 6 7 8\n3 4 5 6 7 8 9\n"
    (tmp_path / "clip.bvh").write_text(f"{text}MOTION\nFrames: 3\nFrame Time: 0.01\n{rows}")
    found = next(finding for finding in read(tmp_path / "clip.bvh").findings if finding.code == "unit-assumed")
    assert found.value == pytest.approx(metres)
    assert not any(f.code == "unit-assumed" for f in read(tmp_path / "clip.bvh", unit="0.056444").findings)


def test_several_roots_are_bodies_of_one_recording_and_no_frame_time_is_no_rate(tmp_path: Path) -> None:
    recording = _read(tmp_path, TWO_ROOTS)
    assert recording.bodies is not None
    assert recording.bodies.names == ("a", "b")
    assert recording.rate is None
    np.testing.assert_allclose(recording.bodies.position[0], [[0, 0, 0], [5, 7, 9]])
    assert "no-time" in {finding.code for finding in read(tmp_path / "clip.bvh").findings}


@pytest.mark.parametrize(("positions", "word"), [("0.01 -0.4 0.05", "instead of"), ("0.01 0 0", "added to")])
def test_positions_of_joints_are_places_or_departures_as_the_numbers_say(
    tmp_path: Path, positions: str, word: str
) -> None:
    text = TEXT.replace("CHANNELS 1 Xrotation", "CHANNELS 4 Xposition Yposition Zposition Xrotation")
    for angle in ("40", "50", "60"):
        text = text.replace(f" {angle}\n", f" {positions} {angle}\n")
    recording = _read(tmp_path, text)
    R, p = _poses(recording)
    local = np.einsum("nji,nj->ni", R[:, 1], p[:, 2] - p[:, 1])
    np.testing.assert_allclose(local, [[0.01, -0.4, 0.05]] * 3, atol=EXACT)
    assert recording.own is not None
    np.testing.assert_allclose(recording.own.p_parent_joint[2], [0.01, -0.4, 0.05], atol=EXACT)
    assert recording.facts["positions of joints"].startswith(word)


def test_equal_names_get_a_number_and_it_is_told(tmp_path: Path) -> None:
    recording = _read(tmp_path, TEXT.replace("JOINT shin", "JOINT upper leg"))
    assert recording.bodies is not None
    assert recording.bodies.names == ("hips", "upper leg", "upper leg_2")
    assert [finding.code for finding in recording.findings] == ["renamed-bodies"]


def test_a_joint_with_its_parents_pose_is_no_body_and_its_children_hang_on_the_parent(tmp_path: Path) -> None:
    text = TEXT.replace("OFFSET 0.1 -0.2 0.3", "OFFSET 0 0 0")
    for angles in ("5 -6 7", "15 -16 17", "25 -26 27"):
        text = text.replace(f" {angles} ", " 0 0 0 ")
    recording = _read(tmp_path, text)
    assert recording.own is not None
    assert recording.own.names == ("hips", "shin")
    assert recording.own.parent.tolist() == [-1, 0]
    assert [(finding.code, finding.bodies) for finding in recording.findings] == [("same-body", ("upper leg",))]


def test_fewer_frames_than_declared_are_told_and_more_are_read(tmp_path: Path) -> None:
    short = _read(tmp_path, TEXT.replace("Frames: 3", "Frames: 9"))
    assert short.frames == 3
    assert [(f.code, f.value) for f in short.findings] == [("truncated-file", 6.0)]
    more = _read(tmp_path, TEXT.replace("Frames: 3", "Frames: 2"))
    assert more.frames == 3
    assert more.facts["frames"] == "header says 2, 3 present and read"
    assert more.findings == ()


@pytest.mark.sized
def test_a_file_cut_anywhere_is_told_or_refused(tmp_path: Path) -> None:
    for cut, recording in read_cuts(TEXT.encode(), lambda cut: _read(tmp_path, cut)):
        assert "truncated-file" in codes(recording), len(cut)


def test_a_missing_number_hides_the_joint_and_what_hangs_on_it(tmp_path: Path) -> None:
    recording = _read(tmp_path, TEXT.replace("15 -16 17", "nan -16 17"))
    R, p = _poses(recording)
    assert np.isnan(R).any(axis=(2, 3)).tolist() == [[False] * 3, [False, True, True], [False] * 3]
    assert np.isfinite(p[:, :2]).all()


@pytest.mark.parametrize("variant", SMALL)
def test_every_small_variant_is_recognised_and_read(tmp_path: Path, variant: str) -> None:
    recording = _read(tmp_path, SMALL[variant])
    assert identify(tmp_path / "clip.bvh").name == "bvh"
    assert recording.frames == (2 if variant.startswith("two") else 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(".", ","),
        lambda text: text.replace("CHANNELS", "channels").replace("Zrotation", "ZROTATION"),
        lambda text: text.replace("\n{", " {").replace("  ", "\t"),
    ],
)
def test_marks_line_ends_decimal_commas_and_spellings_change_nothing(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    R, p = _poses(_read(tmp_path, TEXT))
    other_R, other_p = _poses(_read(tmp_path, change(TEXT)))
    np.testing.assert_array_equal(R, other_R)
    np.testing.assert_array_equal(p, other_p)


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "column"),
    [
        (ROWS[1], ROWS[1].replace("21", "2x1"), "bad-number", 25, 5),
        (ROWS[1], ROWS[1][:-3], "ragged-row", 25, 10),
        ("OFFSET 0.1 -0.2 0.3", "OFFSET 0.1 -0.2", "bad-number", 8, None),
        ("OFFSET 0.1 -0.2 0.3", "OFFSET 0.1 -0.2 inf", "bad-number", 8, None),
        ("OFFSET 0.1 -0.2 0.3", "OFFSET 0.1 -0.2 nan", "bad-number", 8, None),
        ("CHANNELS 1 Xrotation", "CHANNELS 2 Xrotation", "bad-header", 13, None),
        ("CHANNELS 1 Xrotation", "CHANNELS 1 Xscale", "bad-header", 13, None),
        ("JOINT shin", "JOINT", "bad-name", 10, None),
        ("JOINT shin", "BONE shin", "bad-header", 10, None),
        ("}\nMOTION", "}\n}\nMOTION", "bad-header", 21, None),
        ("Frames: 3", "Frames: many", "bad-header", 22, None),
        ("Frame Time: 0.01", "Frame Time: -1", "bad-time", 23, None),
        ("MOTION", "", "bad-header", None, None),
        (f"{ROWS[0]}\n{ROWS[1]}\n{ROWS[2]}\n", "", "no-data", 24, None),
    ],
)
def test_a_fault_names_its_place(
    tmp_path: Path, old: str, new: str, code: str, line: int | None, column: int | None
) -> None:
    assert old in TEXT
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, TEXT.replace(old, new))
    assert (error.value.code, error.value.line, error.value.column) == (code, line, column)


def test_joints_that_cost_nothing_to_write_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    joints = "JOINT j\n{\nOFFSET 0 1 0\n}\n" * 4000
    text = (
        f"HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{joints}}}\nMOTION\nFrames: 9\nFrame Time: 0.1\n"
    )
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, text + "1\n" * 20_000)
    assert error.value.code == "suspicious-size"


def test_no_other_file_is_claimed(shared_data: Path) -> None:
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                assert looks_like(file.read(65536)) == (path.suffix == ".bvh"), path
