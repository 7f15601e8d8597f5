from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats import identify, mvnx, read_recording
from condyle.model.recording import to_take
from tests.make.size import cut_lengths
from tests.make.texts import codes, fault, recording_of

JOINT_GAP = 0.002  # m: the two ends of MVN's own joints come apart by up to 1.9 mm at the shoulders
WRITTEN = 1e-6  # m: decimals of the file

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- <!DOCTYPE mvnx SYSTEM "http://www.xsens.com/mvn/mvnx/schema.dtd"> -->
<mvnx xmlns="http://www.xsens.com/mvn/mvnx" version="4">
<mvn version="2022.0.0" build="b"/>
<comment></comment>
<subject label="S" frameRate="60" segmentCount="2" configuration="FullBody">
<segments>
<segment label="Pelvis" id="1"><points>
<point label="pHipOrigin"><pos_b>0 0 0</pos_b></point>
<point label="jL5S1"><pos_b>0.01 0.02 0.1</pos_b></point></points></segment>
<segment label="L5" id="2"><points><point label="jL5S1"><pos_b>0 0 0</pos_b></point></points></segment>
</segments>
<sensors><sensor label="Pelvis"/></sensors>
<joints><joint label="jL5S1"><connector1>Pelvis/jL5S1</connector1><connector2>L5/jL5S1</connector2></joint></joints>
<frames segmentCount="2" sensorCount="1" jointCount="1">
<frame time="0" tc="" ms="0" type="identity">
<orientation>1 0 0 0 1 0 0 0</orientation><position>0 0 0 0 0 0</position></frame>
<frame time="0" tc="" ms="0" type="tpose">
<orientation>1 0 0 0 1 0 0 0</orientation><position>0 0 0 0 0 0</position></frame>
"""
TAIL = "</frames>\n</subject>\n<securityCode code=\"0\"/>\n</mvnx>\n"  # fmt: skip


def frame(k: int) -> str:
    return (
        f'<frame time="{round(k * 1000 / 60)}" index="{k}" tc="" ms="15420826318{k}" type="normal">\n'
        f"<orientation>1 0 0 0 0.5 0.5 -0.5 0.5</orientation>\n"
        f"<position>{k} 2 3 4.5 5 -6e-1</position>\n"
        f"<velocity>1 1 1 1 1 1</velocity></frame>\n"
    )


WHOLE = HEAD + "".join(frame(k) for k in range(3)) + TAIL
OLDER = (
    WHOLE.replace('version="4"', 'version="3"')
    .replace("pos_b", "pos_s")
    .replace('type="tpose"', 'type="npose"')
    .replace(' configuration="FullBody"', "")
)
SMALL = {
    "version 4": WHOLE.encode(),
    "version 3": OLDER.encode(),
    "UTF-16": WHOLE.replace("UTF-8", "UTF-16").encode("utf-16"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.mvnx"


@pytest.mark.parametrize("variant", SMALL)
def test_a_file_is_read_without_its_calibration_frames(path: Path, variant: str) -> None:
    recording = recording_of(path, SMALL[variant])
    assert recording.format == "mvnx"
    assert recording.bodies is not None
    assert recording.bodies.names == ("Pelvis", "L5")
    assert recording.bodies.position[2].tolist() == [[2, 2, 3], [4.5, 5, -0.6]]
    assert recording.bodies.orientation[1].tolist() == [[1, 0, 0, 0], [0.5, 0.5, -0.5, 0.5]]
    assert recording.findings == ()
    assert recording.solved_by == "Xsens MVN"
    assert recording.convention.up == "z"
    assert recording.convention.unit == "m"


def test_the_joints_of_the_file_are_its_own_skeleton(path: Path) -> None:
    own = to_take(recording_of(path, WHOLE)).own
    assert own is not None
    assert own.names == ("Pelvis", "L5")
    assert own.parent.tolist() == [-1, 0]
    assert own.p_parent_joint[1].tolist() == [0.01, 0.02, 0.1]


@pytest.mark.parametrize(
    "change",
    [
        ("<connector1>Pelvis/jL5S1", "<connector1>Pelvis/nowhere"),
        ("<connector1>Pelvis/jL5S1", "<connector1>Nobody/jL5S1"),
        ("<connector1>Pelvis/jL5S1", "<connector1>L5/jL5S1"),
        ("<joints>", "<joints><joint><connector1>L5/jL5S1</connector1><connector2>Pelvis/j</connector2></joint>"),
    ],
)
def test_joints_that_are_no_tree_of_known_points_are_no_skeleton(path: Path, change: tuple[str, str]) -> None:
    assert recording_of(path, WHOLE.replace(*change)).own is None


def test_time_is_the_index_over_the_rate_where_the_rounded_stamps_agree(path: Path) -> None:
    np.testing.assert_array_equal(recording_of(path, WHOLE).time, np.arange(3) / 60)


def test_time_is_the_stamp_where_it_disagrees_with_the_index(path: Path) -> None:
    recording = recording_of(path, WHOLE.replace('time="33"', 'time="133"'))
    assert recording.time is not None
    assert recording.time.tolist() == [0, 0.017, 0.133]


def test_frames_without_stamps_have_the_frame_rate(path: Path) -> None:
    recording = recording_of(path, re.sub(r'time="\d+" index="\d+"', "", WHOLE))
    assert recording.time is None
    assert recording.rate == 60


def test_a_document_type_is_refused_and_one_in_a_comment_is_not(path: Path) -> None:
    error = fault(path, WHOLE.replace("<!-- ", "").replace(" -->", ""))
    assert error.code == "xml-doctype"
    assert error.line == 2
    bomb = '<!DOCTYPE mvnx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    assert fault(path, WHOLE.replace("<mvnx", bomb + "<mvnx")).code == "xml-doctype"


@pytest.mark.sized
def test_whole_frames_before_a_cut_are_kept_and_the_cut_is_told(path: Path) -> None:
    for cut in cut_lengths(WHOLE, 1):
        path.write_bytes(WHOLE.encode()[:cut])
        whole = WHOLE[:cut].count("</frame>") - 2
        try:
            recording = read_recording(path)
        except CondyleError:
            assert whole <= 0, cut
            continue
        assert recording.frames == whole
        told = codes(recording)
        assert told == ([] if cut >= len(WHOLE.rstrip()) else ["truncated-file"]), cut


def test_a_name_in_latin_1_does_not_break_the_file(path: Path) -> None:
    recording = recording_of(path, WHOLE.replace('label="S"', 'label="Müller"').encode("latin-1"))
    assert recording.frames == 3


def test_a_mark_and_other_line_ends_are_read(path: Path) -> None:
    assert recording_of(path, b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()).frames == 3


def test_a_word_in_place_of_a_number_is_named_with_its_line(path: Path) -> None:
    error = fault(path, WHOLE.replace("1 2 3 4.5", "1 two 3 4.5"))
    assert error.code == "bad-number"
    assert "'two'" in error.text
    assert error.line == WHOLE[: WHOLE.index("<position>1 2 3")].count("\n") + 1
    assert fault(path, WHOLE.replace("1 2 3 4.5", "1 2_0 3 4.5")).code in ("bad-number", "ragged-row")


def test_too_few_numbers_in_a_frame_are_an_error_with_the_line(path: Path) -> None:
    error = fault(path, WHOLE.replace("1 2 3 4.5", "1 2 4.5"))
    assert error.code == "ragged-row"
    assert "5 numbers in <position>, expected 6 for 2 segments" in error.text


def test_a_pose_that_is_not_a_number_is_not_seen(path: Path) -> None:
    take = to_take(recording_of(path, WHOLE.replace("1 2 3 4.5", "nan nan nan 4.5")))
    assert take.seen.tolist() == [[True, True], [False, True], [True, True]]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('label="L5"', 'label="Pelvis"', "duplicate-name"),
        ('label="L5"', 'label=" "', "bad-name"),
        ('segmentCount="2" conf', 'segmentCount="3" conf', "bad-header"),
        ("<velocity>", "</velocity>", "damaged-file"),
        ('encoding="UTF-8"', 'encoding="EBCDIC-99"', "damaged-file"),
        ("<comment></comment>", "<a>" * 100 + "</a>" * 100, "damaged-file"),
        ("</mvnx>", "<subject label='two'></subject></mvnx>", "several-subjects"),
        ("<position>1 2 3 4.5 5 -6e-1</position>", "", "no-positions"),
        ('type="normal"', 'type="tpose"', "no-data"),
    ],
)
def test_a_broken_file_is_one_clear_error(path: Path, old: str, new: str, code: str) -> None:
    assert fault(path, WHOLE.replace(old, new)).code == code


def test_a_text_without_end_is_refused_before_it_fills_the_memory(path: Path) -> None:
    assert fault(path, WHOLE.replace("<position>1", "<position>" + "1 " * 3_000_000)).code == "suspicious-size"


def test_names_are_kept_as_they_are(path: Path) -> None:
    recording = recording_of(path, WHOLE.replace("L5", "&lt;b>\u001b"[:6] + "=1+1"))
    assert recording.bodies is not None
    assert recording.bodies.names[1] == "<b>=1+1"


def test_fingers_are_said_to_be_left_out(path: Path) -> None:
    hand = '<fingerTrackingSegmentsLeft><segment label="LeftCarpus" id="1"/></fingerTrackingSegmentsLeft>'
    recording = recording_of(path, WHOLE.replace("<sensors>", hand + "<sensors>"))
    assert recording.bodies is not None
    assert len(recording.bodies.names) == 2
    assert recording.facts["fingers"] == "not read"


@pytest.mark.parametrize("head", [b"", b"<", b"<!--", b"<?xml", b"<mvnxx>", b"<html><mvnx>", b"mvnx", b"\xff\xfe<"])
def test_other_files_are_not_claimed(head: bytes) -> None:
    assert not mvnx.looks_like(head)


def test_the_real_file_is_read_as_another_parser_reads_it(shared_data: Path) -> None:
    file = shared_data / "xsens_mvnx" / "test_mocap.mvnx"
    assert identify(file).name == "mvnx"
    recording = read_recording(file)
    space = "{http://www.xsens.com/mvn/mvnx}"
    frames = [each for each in ET.parse(file).iter(space + "frame") if each.get("type") == "normal"]
    assert recording.frames == len(frames) == 112
    assert recording.bodies is not None
    for k in (0, 50, 111):
        for part, ours in (("position", recording.bodies.position), ("orientation", recording.bodies.orientation)):
            text = frames[k].findtext(space + part)
            assert text is not None
            assert ours[k].ravel().tolist() == [float(word) for word in text.split()]
    assert recording.findings == ()
    np.testing.assert_allclose(np.diff(recording.time), 1 / 60)  # type: ignore[arg-type]


def test_the_joints_of_the_real_file_hold_its_segments_together(shared_data: Path) -> None:
    take = to_take(read_recording(shared_data / "xsens_mvnx" / "test_mocap.mvnx"))
    own = take.own
    assert own is not None
    assert (own.parent < 0).sum() == 1
    assert take.bodies == 23
    for child, parent in enumerate(own.parent):
        if parent >= 0:
            joint = take.R_world_body[:, parent] @ own.p_parent_joint[child] + take.p_world_body[:, parent]
            assert np.abs(joint - take.p_world_body[:, child]).max() < JOINT_GAP + WRITTEN
