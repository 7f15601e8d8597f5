"""io/formats/session_log.py: a log is read like any file, and what is torn is told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from condyle import CondyleError, fit, read
from condyle.io.formats import identify, read_recording
from condyle.io.log_records import Mark
from condyle.live.recorder import Recorder
from tests.make.sessions import layout, packets, walk, write_log


def _bytes(sent: list) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_log(Path(folder) / "a.log", sent).read_bytes()


_TWO = [*packets(layout("a", "b"), 6), *packets(layout("a", "b", "c"), 5, first=6)]
SMALL = {
    "one source": _bytes(packets(layout("a", "b"), 8)),
    "bodies that come and go": _bytes(_TWO),
    "two sources": _bytes([*packets(layout("a"), 6), *packets(layout("b", source="osc:9000"), 6, rate=50)]),
    "markers": _bytes(packets(layout(markers=("m", "n")), 6)),
}


def test_a_log_is_known_by_its_content_and_read_bit_by_bit(tmp_path: Path) -> None:
    sent = packets(layout("a", "b", markers=("m",)), 20)
    path = write_log(tmp_path / "take.csv", sent)
    found = read_recording(path)
    assert identify(path).name == found.format == "session-log"
    assert found.bodies is not None
    assert found.markers is not None
    rows = np.stack([packet.values for packet in sent])
    assert found.bodies.position.tobytes() == rows[:, :6].tobytes()
    assert found.bodies.orientation.tobytes() == rows[:, 6:14].tobytes()
    assert found.markers.position.tobytes() == rows[:, 14:].tobytes()
    assert found.time is not None
    assert found.time.tolist() == [packet.device_time for packet in sent]
    assert not found.findings


def test_a_torn_end_is_told_and_everything_before_it_kept(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.log", packets(layout("a", "b"), 20))
    path.write_bytes(path.read_bytes()[:-40])  # 12 of them close the log
    found = read_recording(path)
    assert found.frames == 19
    (told,) = found.findings
    assert (told.code, told.severity) == ("truncated-file", "warning")
    assert "all 19 frames before that are there" in told.text


def test_a_log_that_still_grows_is_read_and_that_is_told(tmp_path: Path) -> None:
    found = read_recording(write_log(tmp_path / "a.log", packets(layout("a", "b"), 20), close=False))
    assert found.frames == 20
    assert [(one.code, one.severity) for one in found.findings] == [("truncated-file", "info")]


def test_a_log_without_a_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CondyleError) as error:
        read_recording(write_log(tmp_path / "a.log", []))
    assert error.value.code == "no-data"


def test_a_log_of_a_person_is_fitted_like_its_take(tmp_path: Path) -> None:
    sent = walk()
    found = fit(write_log(tmp_path / "session.log", sent), intervals=False).skeleton
    assert len(found.joints) == 14
    assert read(tmp_path / "session.log").frames == len(sent)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e300])
def test_frames_of_one_or_several_sources_without_a_time_are_left_out_and_told(wrong: float, tmp_path: Path) -> None:
    one, two = packets(layout("a", "b"), 20), packets(layout("c", source="osc:9000"), 20)
    sent = [*one[:7], one[7]._replace(device_time=wrong), *one[8:]]
    for number, several in enumerate((sent, [*sent, *two])):
        found = read_recording(write_log(tmp_path / f"{number}.log", several))
        assert found.time is not None
        assert np.isfinite(found.time).all()
        assert [one.text for one in found.findings if one.code == "log-damaged"] == [
            "1 frame of lsl:room without a time: left out"
        ]
    assert found.frames == 20


def test_frames_that_never_arrived_are_counted_and_marks_without_a_moment_are_none(tmp_path: Path) -> None:
    sent = packets(layout("a", "b"), 20)
    with Recorder(tmp_path / "a.log") as recorder:
        for packet in (*sent[:10], sent[10]._replace(arrival_time=np.nan), *sent[11:]):
            recorder.write(packet)
        recorder.mark(Mark(np.nan, anew=True, text="never"))
    found = read_recording(tmp_path / "a.log")
    assert found.frames == 19
    (told,) = found.findings
    assert (told.code, told.count, told.text) == ("log-damaged", 1, "1 frame of lsl:room without a time: left out")
