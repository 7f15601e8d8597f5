from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import CondyleError
from condyle.io.formats import identify, read_recording
from condyle.io.formats.amc import looks_like
from condyle.model.recording import Recording
from condyle.prepare.read import read
from tests.make.size import cut_lengths
from tests.make.texts import codes, read_cuts

EXACT = 1e-12  # of the file's unit, and of matrix entries
JOINT_GAP = 1e-13  # of the file's unit: a joint of an exact skeleton does not come apart
BVH_DIGITS = 1e-5  # of the file's unit: the BVH clips were written with five decimals

ASF = """# a skeleton
:version 1.10
:name test
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  made by hand
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 1 0 0
    length 2
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name thigh
    direction 0.6 -0.8 0
    length 7
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 3
    name shin
    direction 0.6 -0.8 0
    length 7.5
    axis 0 0 20 XYZ
    dof rx
    limits (-10 170)
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
  end
"""
FRAMES = [
    "1\nroot 1 2 3 4 5 6\nthigh 10 20 30\nshin 40\n",
    "2\nroot 1.5 2.5 3.5 14 15 16\nthigh 11 21 31\nshin 50\n",
    "3\nroot 2 3 4 24 25 26\nthigh 12 22 32\nshin 60\n",
]
HEAD = "#!OML:ASF test.asf\n:FULLY-SPECIFIED\n:DEGREES\n"
AMC = HEAD + "".join(FRAMES)
SMALL: dict[str, bytes] = {
    "motion": AMC.encode(),
    "motion without keywords": "".join(FRAMES).encode(),
    "skeleton": ASF.encode(),
}


def _read(folder: Path, motion: str | bytes = AMC, skeleton: str | bytes = ASF) -> Recording:
    (folder / "s.asf").write_bytes(skeleton.encode() if isinstance(skeleton, str) else skeleton)
    path = folder / "s_01.amc"
    path.write_bytes(motion.encode() if isinstance(motion, str) else motion)
    return read_recording(path)


def _poses(recording: Recording) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    assert recording.bodies is not None
    R = recording.bodies.orientation.reshape(recording.frames, -1, 3, 3)
    return {name: (R[:, k], recording.bodies.position[:, k]) for k, name in enumerate(recording.bodies.names)}


def _one_frame(skeleton: str, frame: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Axes and joint of every bone by plain recursion over an ASF with axes and angles XYZ: an independent answer."""
    bones: dict[str, dict[str, list[str]]] = {}
    for block in skeleton.split("begin")[1:-1]:
        fields = {line.split()[0]: line.split()[1:] for line in block.splitlines() if line.split()}
        bones[fields["name"][0]] = fields
    values = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in frame.splitlines() if line.split()}
    root = values["root"]
    pose = {"root": (Rotation.from_euler("xyz", root[3:], degrees=True), np.array(root[:3]), np.zeros(3))}
    for line in skeleton.split(":hierarchy")[1].splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        W, p, end = pose[words[0]]
        for name in words[1:]:
            bone = bones[name]
            C = Rotation.from_euler("xyz", [float(x) for x in bone["axis"][:3]], degrees=True)
            angles = dict(zip(bone.get("dof", []), values.get(name, []), strict=True))
            M = Rotation.from_euler("xyz", [angles.get(f"r{axis}", 0.0) for axis in "xyz"], degrees=True)
            direction = np.array([float(x) for x in bone["direction"][:3]])
            own_end = direction / np.linalg.norm(direction) * float(bone["length"][0])
            pose[name] = (W * C * M * C.inv(), p + W.apply(end), own_end)
    return {name: (W.as_matrix(), p) for name, (W, p, _) in pose.items()}


def _agrees(recording: Recording, skeleton: str, frames: dict[int, str]) -> None:
    mine = _poses(recording)
    for n, frame in frames.items():
        answer = _one_frame(skeleton, frame)
        for name, (R, p) in mine.items():
            np.testing.assert_allclose(R[n], answer[name][0], atol=EXACT)
            np.testing.assert_allclose(p[n], answer[name][1], atol=EXACT * 100)


def _gap(recording: Recording) -> float:
    """How far the joints of the file's own skeleton come apart, at most."""
    own, poses = recording.own, _poses(recording)
    assert own is not None
    worst = 0.0
    for k, up in enumerate(own.parent):
        if up >= 0:
            R, p = poses[own.names[up]]
            gap = p + np.einsum("nij,j->ni", R, own.p_parent_joint[k]) - poses[own.names[k]][1]
            worst = max(worst, float(np.abs(gap).max()))
    return worst


def test_bones_stand_where_a_plain_recursion_puts_them(tmp_path: Path) -> None:
    recording = _read(tmp_path)
    assert recording.bodies is not None
    assert recording.bodies.names == ("root", "thigh", "shin")  # the hip never turns and has the root's own frame
    _agrees(recording, ASF, dict(enumerate(FRAMES)))
    assert _gap(recording) < JOINT_GAP
    assert recording.convention.unit is not None
    assert float(recording.convention.unit) == pytest.approx(0.0254 / 0.45, rel=1e-15)
    assert "unit" in recording.convention.stated
    assert recording.facts["skeleton"] == "s.asf"


@pytest.mark.parametrize("clip", ["01_01", "11_01"])
def test_the_cmu_clips_agree_with_a_plain_recursion(shared_data: Path, clip: str) -> None:
    folder = shared_data / "cmu_amc"
    recording = read_recording(folder / f"{clip}.amc")
    text = (folder / f"{clip}.amc").read_text().replace("\r\n", "\n")
    skeleton = (folder / f"{clip[:2]}.asf").read_text()
    frames = {}
    for n in (0, 100, recording.frames - 1):
        start = text.index(f"\n{n + 1}\nroot") + 1
        end = text.find(f"\n{n + 2}\nroot", start)
        frames[n] = text[start:end] if end > 0 else text[start:]
    _agrees(recording, skeleton, frames)
    assert _gap(recording) < JOINT_GAP * 100
    assert {finding.code for finding in recording.findings} == {"same-body"}


def test_the_skeleton_has_the_lengths_of_the_same_persons_bvh(shared_data: Path) -> None:
    mine = read_recording(shared_data / "cmu_amc/01_01.amc").own
    other = read_recording(shared_data / "cmu_bvh/01_03.bvh").own
    assert mine is not None
    assert other is not None
    same = [("lfemur", "LeftUpLeg"), ("ltibia", "LeftLeg"), ("lfoot", "LeftFoot"), ("ltoes", "LeftToeBase")]
    same += [("rtibia", "RightLeg"), ("upperback", "Spine"), ("thorax", "Spine1"), ("head", "Head")]
    for bone, joint in same:
        np.testing.assert_allclose(
            mine.p_parent_joint[mine.names.index(bone)],
            other.p_parent_joint[other.names.index(joint)],
            atol=BVH_DIGITS,
        )


@pytest.mark.parametrize(
    ("present", "motion", "chosen"),
    [
        (["01.asf", "02.asf"], "01_02.amc", "01.asf"),
        (["HDM_bd.ASF", "HDM.asf"], "HDM_bd_03_120.amc", "HDM_bd.ASF"),
        (["clip.asf", "other.asf"], "clip.amc", "clip.asf"),
        (["anything.asf"], "walk.amc", "anything.asf"),
    ],
)
def test_the_skeleton_is_found_by_its_name_or_by_being_the_only_one(
    tmp_path: Path, present: list[str], motion: str, chosen: str
) -> None:
    for name in present:
        (tmp_path / name).write_text(ASF)
    (tmp_path / motion).write_text(AMC)
    assert read_recording(tmp_path / motion).facts["skeleton"] == chosen


@pytest.mark.parametrize("present", [[], ["05.asf", "06.asf"]])
def test_without_its_skeleton_a_motion_says_what_is_looked_for(tmp_path: Path, present: list[str]) -> None:
    for name in present:
        (tmp_path / name).write_text(ASF)
    (tmp_path / "01_02.amc").write_text(AMC)
    with pytest.raises(CondyleError, match=r"01\.asf") as error:
        read_recording(tmp_path / "01_02.amc")
    assert error.value.code == "missing-skeleton"


def test_a_skeleton_alone_asks_for_the_motion(tmp_path: Path) -> None:
    (tmp_path / "s.asf").write_text(ASF)
    with pytest.raises(CondyleError, match=r"a skeleton without motion; give the \.amc") as error:
        read_recording(tmp_path / "s.asf")
    assert error.value.code == "no-data"


def test_radians_other_orders_and_a_rate_are_read_as_stated(tmp_path: Path) -> None:
    expected = _poses(_read(tmp_path))
    frames = []
    for frame in FRAMES:
        lines = [line.split() for line in frame.splitlines()]
        root = [lines[1][k] for k in (1, 2, 3)] + [str(np.radians(float(lines[1][k]))) for k in (4, 5, 6)]
        thigh = [str(np.radians(float(x))) for x in lines[2][1:]]
        shin = str(np.radians(float(lines[3][1])))
        frames.append(f"{lines[0][0]}\nshin {shin}\nthigh {' '.join(thigh)}\nroot {' '.join(root)}\n")
    motion = ":FULLY-SPECIFIED\n:RADIANS\n:SAMPLES-PER-SECOND 120\n" + "".join(frames)
    recording = _read(tmp_path, motion)
    assert recording.rate == 120
    for name, (R, p) in _poses(recording).items():
        np.testing.assert_allclose(R, expected[name][0], atol=EXACT)
        np.testing.assert_allclose(p, expected[name][1], atol=EXACT)


def test_the_channels_order_is_the_order_of_the_numbers_and_of_the_turns(tmp_path: Path) -> None:
    recording = _read(tmp_path, AMC, ASF.replace("dof rx ry rz", "dof rz rx ry").replace("axis 10 20 30", "axis 0 0 0"))
    R = _poses(recording)
    local = np.swapaxes(R["root"][0], 1, 2) @ R["thigh"][0]
    np.testing.assert_allclose(local[0], Rotation.from_euler("zxy", [10, 20, 30], degrees=True).as_matrix(), atol=EXACT)


@pytest.mark.parametrize("length", ["1.0", "-2", "0"])
def test_a_length_that_says_nothing_leaves_the_unit_open(tmp_path: Path, length: str) -> None:
    recording = _read(tmp_path, AMC, ASF.replace("length 0.45", f"length {length}"))
    assert recording.convention.unit is None
    assert "unit-assumed" in {finding.code for finding in read(tmp_path / "s_01.amc").findings}


def test_without_a_rate_it_is_told_that_there_is_no_time(tmp_path: Path) -> None:
    _read(tmp_path)
    assert {f.code for f in read(tmp_path / "s_01.amc").findings} == {"no-time", "solved-poses", "same-body"}
    assert read(tmp_path / "s_01.amc", rate=120).rate == pytest.approx(120)


def test_a_jump_of_the_frame_numbers_begins_a_segment(tmp_path: Path) -> None:
    frames = [*FRAMES, FRAMES[0].replace("1\n", "9\n", 1), FRAMES[1].replace("2\n", "10\n", 1)]
    recording = _read(tmp_path, HEAD + "".join(frames))
    assert recording.segment is not None
    assert recording.segment.tolist() == [0, 0, 0, 1, 1]
    assert _read(tmp_path).segment is None


def test_a_last_frame_that_lacks_bones_is_left_out_and_told(tmp_path: Path) -> None:
    recording = _read(tmp_path, AMC.removesuffix("shin 60\n"))
    assert recording.frames == 2
    assert "truncated-file" in {finding.code for finding in recording.findings}


@pytest.mark.sized
def test_a_motion_cut_anywhere_is_told_or_ends_with_a_whole_frame(tmp_path: Path) -> None:
    whole = AMC.encode()
    ends = {len((HEAD + "".join(FRAMES[:n])).encode()) for n in range(4)}
    for cut, recording in read_cuts(whole, lambda cut: _read(tmp_path, cut)):
        assert ("truncated-file" in codes(recording)) != (len(cut) in ends), len(cut)


@pytest.mark.sized
def test_a_skeleton_cut_anywhere_raises_nothing_but_its_error(tmp_path: Path) -> None:
    whole = ASF.encode()
    refused = 0
    for size in cut_lengths(whole):
        try:
            _read(tmp_path, AMC, whole[:size])
        except CondyleError:
            refused += 1
    assert refused > len(cut_lengths(whole)) / 2


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "column"),
    [
        ("thigh 11 21 31\n", "", "missing-column", 8, None),
        ("thigh 11 21 31", "thigh 11 21", "ragged-row", 10, 4),
        ("thigh 11 21 31", "thigh 11 x 31", "bad-number", 10, 3),
        ("thigh 11 21 31", "thigh 11 2_1 31", "bad-number", 10, 3),
        ("thigh 11 21 31", "toe 11 21 31", "bad-header", 10, None),
        ("shin 50", "thigh 1 2 3", "duplicate-name", 11, None),
    ],
)
def test_a_fault_in_the_motion_names_its_place(
    tmp_path: Path, old: str, new: str, code: str, line: int, column: int | None
) -> None:
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, AMC.replace(old, new))
    assert (error.value.code, error.value.line, error.value.column) == (code, line, column)
    assert str(error.value.path).endswith("s_01.amc")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("direction 1 0 0", "direction 1 0", "bad-number"),
        ("length 7.5", "length long", "bad-number"),
        ("axis 0 0 20 XYZ", "axis 0 0 20 XXZ", "bad-header"),
        ("dof rx\n", "dof rx l\n", "bad-header"),
        ("dof rx\n", "dof tx\n", "bad-header"),
        ("name shin", "name thigh", "duplicate-name"),
        ("thigh shin", "", "bad-header"),
        ("thigh shin", "thigh shin shin", "bad-header"),
        ("thigh shin", "shin thigh", "bad-header"),
        ("root hip\n    hip thigh", "hip thigh", "bad-header"),
        ("root hip\n    hip thigh", "thigh hip\n hip thigh", "bad-header"),
        (":hierarchy", ":documentation", "bad-header"),
    ],
)
def test_a_fault_in_the_skeleton_names_that_file(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert old in ASF
    with pytest.raises(CondyleError) as error:
        _read(tmp_path, AMC, ASF.replace(old, new))
    assert error.value.code == code
    assert str(error.value.path).endswith((".asf", ".amc"))


@pytest.mark.parametrize("encode", ["utf-8-sig", "utf-16"])
def test_marks_and_line_ends_change_nothing(tmp_path: Path, encode: str) -> None:
    expected = _poses(_read(tmp_path))
    found = _poses(_read(tmp_path, AMC.replace("\n", "\r\n").encode(encode), ASF.replace("\n", "\r").encode(encode)))
    for name, (R, p) in found.items():
        np.testing.assert_array_equal(R, expected[name][0])
        np.testing.assert_array_equal(p, expected[name][1])


def test_frames_in_differing_order_are_read_like_those_in_one_order(tmp_path: Path) -> None:
    expected = _poses(_read(tmp_path))
    shuffled = FRAMES[1].splitlines(keepends=True)
    motion = HEAD + FRAMES[0] + "".join([shuffled[0], *shuffled[:0:-1]]) + FRAMES[2] + "# the end\n"
    for name, (R, p) in _poses(_read(tmp_path, motion)).items():
        np.testing.assert_array_equal(R, expected[name][0])
        np.testing.assert_array_equal(p, expected[name][1])


@pytest.mark.parametrize("content", ["", HEAD, "\n\n", ":FULLY-SPECIFIED"])
def test_nothing_in_it_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(CondyleError):
        _read(tmp_path, content)


def test_every_small_file_is_recognised_and_no_other(tmp_path: Path, shared_data: Path) -> None:
    for content in SMALL.values():
        (tmp_path / "x").write_bytes(content)
        assert identify(tmp_path / "x").name == "amc"
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                assert looks_like(file.read(65536)) == (path.suffix in (".amc", ".asf")), path
