"""io/formats/_log_frames.py: bodies that join, leave and return, damage in the middle, frames never written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._log_frames import read_frames
from condyle.io.log_records import LOST, LOST_COUNT, Layout, pack_record
from condyle.model.recording import Convention
from tests.make.sessions import layout, packets, write_log


def test_bodies_that_join_late_leave_and_return_have_no_pose_meanwhile(tmp_path: Path) -> None:
    two, three, one = layout("a", "b"), layout("b", "c", "a"), layout("c")
    sent = [
        *packets(two, 3),
        *packets(three, 2, first=3),
        *packets(one, 2, first=5),
        *packets(two, 2, first=7),
    ]
    (source,), _, findings = read_frames(write_log(tmp_path / "a.log", sent))
    assert not findings
    assert source.layout.bodies == ("a", "b", "c")
    seen = np.isfinite(source.position[:, :, 0]).astype(int).tolist()
    assert seen == [[1, 1, 0]] * 3 + [[1, 1, 1]] * 2 + [[0, 0, 1]] * 2 + [[1, 1, 0]] * 2
    assert (np.isfinite(source.orientation).all(axis=2) == np.isfinite(source.position[:, :, 0])).all()
    assert source.position[3, :, 0].tolist() == [3.006, 3.0, 3.003]  # by name, not by place
    assert source.orientation[3, 0].tolist() == sent[3].values[9 + 8 :].tolist()
    assert source.device.tolist() == [packet.device_time for packet in sent]


def test_sources_keep_their_own_names_and_clocks(tmp_path: Path) -> None:
    one, two = packets(layout("a"), 6), packets(layout("a", "b", source="osc:9000"), 4, rate=40)
    mixed = [packet for pair in zip(one, [*two, *two[:2]], strict=True) for packet in pair]
    sources, _, _ = read_frames(write_log(tmp_path / "a.log", mixed))
    assert [(len(source.device), source.layout.bodies) for source in sources] == [(6, ("a",)), (6, ("a", "b"))]


def test_damage_in_the_middle_is_left_out_and_told(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.log", packets(layout("a", "b"), 20))
    raw = bytearray(path.read_bytes())
    raw[-300] ^= 1
    path.write_bytes(raw)
    (source,), _, findings = read_frames(path)
    assert len(source.device) == 19
    (told,) = findings
    assert told.code == "log-damaged"
    assert told.text == "148 bytes in the middle of the log are damaged; they are left out"


def test_frames_without_their_layout_are_counted_not_guessed(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.log", [*packets(layout("a"), 4), *packets(layout("a", "b"), 5)])
    raw = path.read_bytes()
    at = raw.rindex(b'"source"')
    path.write_bytes(raw[:at] + b"'" + raw[at + 1 :])
    (source,), _, findings = read_frames(path)
    assert len(source.device) == 4
    assert ", and 5 frames cannot be understood" in findings[0].text


def test_frames_that_arrived_at_no_time_are_told_by_their_source_and_nothing_else_is_called_damaged(
    tmp_path: Path,
) -> None:
    one, two = packets(layout("a"), 6), packets(layout("b", source="osc:9000"), 4)
    sent = [*one[:2], *(packet._replace(arrival_time=np.inf) for packet in one[2:]), *two]
    _, _, findings = read_frames(write_log(tmp_path / "a.log", sent))
    assert [one.text for one in findings] == ["4 frames of lsl:room without a time: left out"]


def test_frames_that_could_not_be_written_are_told(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.log", packets(layout("a"), 4))
    raw = path.read_bytes()
    path.write_bytes(raw[:-12] + pack_record(LOST, LOST_COUNT.pack(7)) + raw[-12:])
    _, _, findings = read_frames(path)
    assert [(one.code, one.count) for one in findings] == [("log-damaged", 7)]


def test_a_source_whose_numbers_change_their_meaning_is_refused(tmp_path: Path) -> None:
    other = Layout("lsl:room", ("a",), (), Convention("xyzw", unit="m"))
    path = write_log(tmp_path / "a.log", [*packets(layout("a"), 2), *packets(other, 2)])
    with pytest.raises(CondyleError, match="change their meaning"):
        read_frames(path)
