"""live/sources/replay.py: a file comes as it was recorded, and its log gives the skeleton of the file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from condyle import fit
from condyle.errors import CondyleError, UsageError
from condyle.io.exports import write_take
from condyle.io.format import ReadOptions
from condyle.io.formats import read_recording
from condyle.io.skeleton_file import to_plain
from condyle.live.recorder import Recorder
from condyle.live.sources.replay import describe_recording, find_due_times, open_source
from condyle.model.recording import Bodies, Recording
from condyle.simulate import human, simulate
from tests.make.recordings import ABSENT, DATA, all_truth
from tests.make.size import pick

# One of a kind: angles in cm, logs of trackers, markers, matrices, solved poses with a skeleton of their own.
REAL = [
    "functional_knee_c3d/right_knee.c3d",
    "ascension_trakstar/hand_1.csv",
    "qualisys_c3d/walk.c3d",
    "cmu_bvh/02_01.bvh",
    "polhemus_liberty/hinge_x.csv",
]


def record(word: str, log: Path) -> Path:
    source = open_source(word)
    with Recorder(log) as recorder:
        while not source.ended:
            for packet in source.read(0.1):
                recorder.write(packet)
    return log


def facts(path: Path, **options: object) -> str:
    """The skeleton of a file as JSON, but for its source."""
    plain = to_plain(fit(path, **options).skeleton)
    plain["take"]["sources"] = plain["take"]["windows"] = plain["fit_id"] = None
    return json.dumps(plain)


def test_a_log_of_a_replay_gives_the_skeleton_of_the_file(tmp_path: Path) -> None:
    take = simulate(human(), "exercise", seconds=8, rate=60, seed=5).take
    write_take(tmp_path / "take.npz", take)
    log = record(f"{tmp_path / 'take.npz'}@max", tmp_path / "session.log")
    assert facts(log) == facts(tmp_path / "take.npz")


@pytest.mark.costly
@pytest.mark.sized
@pytest.mark.parametrize("name", pick(REAL[:2], REAL, REAL))
def test_a_log_of_a_real_recording_gives_its_skeleton(name: str, tmp_path: Path) -> None:
    if not (DATA / name).is_file():
        pytest.skip(ABSENT)
    options = {"bodies": all_truth().get(name, {}).get("bodies_from_markers"), "intervals": False}
    log = record(f"{DATA / name}@max", tmp_path / "session.log")
    assert facts(log, **options) == facts(DATA / name, **options)


def test_what_a_file_says_of_itself_comes_through(tmp_path: Path) -> None:
    rows = "".join(f"0{1 + k % 2} {k}.25 -2.5 3.0 10.0 -20.0 {k}.0\n" for k in range(40))
    (tmp_path / "log.txt").write_text(f"Units: cm\n{rows}")
    before = read_recording(tmp_path / "log.txt")
    after = read_recording(record(f"{tmp_path / 'log.txt'}@max", tmp_path / "session.log"))
    assert after.convention == before.convention
    assert (after.time, after.rate, after.solved_by) == (None, None, None)
    assert after.findings == before.findings
    assert after.bodies is not None
    assert before.bodies is not None
    assert after.bodies.orientation.tobytes() == before.bodies.orientation.tobytes()
    assert describe_recording(before, "replay:x").clock == "frames"


def still(times: list[float] | None, n: int = 0) -> Recording:
    n = n or len(times or ())
    poses = Bodies(("a",), np.zeros((n, 1, 3)), np.tile([1.0, 0, 0, 0], (n, 1, 1)))
    return Recording(bodies=poses, time=None if times is None else np.array(times))


def test_frames_are_due_as_they_were_recorded_without_pauses_and_jumps() -> None:
    assert find_due_times(still([5.0, 5.5, 5.6, 90.0, 2.0, 2.1])).tolist() == pytest.approx(
        [0, 0.5, 0.6, 1.6, 1.6, 1.7]
    )
    assert find_due_times(still(None, 3)).tolist() == [0.0, 0.01, 0.02]
    assert find_due_times(still([0.0, np.inf, np.inf, np.nan, 0.5, 0.6])).tolist() == pytest.approx(
        [0, 0, 0, 0, 0, 0.1]
    )


@pytest.mark.parametrize(("speed", "seconds"), [("@2", 0.5), ("", 1.0), ("@max", 0.0)])
def test_a_replay_takes_as_long_as_its_speed_says(speed: str, seconds: float, tmp_path: Path) -> None:
    take = simulate(human(), "exercise", seconds=1, rate=50, seed=5).take
    write_take(tmp_path / "a@b.npz", take)
    source = open_source(f"{tmp_path / 'a@b.npz'}{speed}")
    begin, got = time.monotonic(), []
    while not source.ended:
        got += source.read(0.05)
    took = time.monotonic() - begin
    assert len(got) == take.frames
    assert seconds - 0.05 < took < seconds + 2  # a busy machine may take longer
    assert got[-1].arrival_time - got[0].arrival_time > seconds - 0.1
    assert source.read(0.01) == []


def test_a_speed_that_is_none_and_a_file_that_is_not_there_are_told(tmp_path: Path) -> None:
    for speed in ("@fast", "@0", "@-1", "@nan"):
        with pytest.raises(UsageError, match="is no speed"):
            open_source(f"{tmp_path / 'a.npz'}{speed}")
    with pytest.raises(CondyleError, match="no such file"):
        open_source(str(tmp_path / "a.npz"))


def test_what_is_said_of_a_file_is_said_of_its_replay(tmp_path: Path) -> None:
    take = simulate(human(), "exercise", seconds=8, rate=60, seed=5).take
    write_take(tmp_path / "take.npz", take)
    said = {
        "unit": "cm",
        "only": ("*thigh", "pelvis", "*shank"),
        "rename": {"pelvis": "hip"},
        "start": 1.0,
        "stop": 7.0,
    }
    source = open_source(f"{tmp_path / 'take.npz'}@max", ReadOptions(**said))  # type: ignore[arg-type]
    with Recorder(tmp_path / "session.log") as recorder:
        while not source.ended:
            for packet in source.read(0.1):
                recorder.write(packet)
    assert facts(tmp_path / "session.log") == facts(tmp_path / "take.npz", **said)
    with pytest.raises(UsageError, match="'bodies' is for markers, but this file has none"):
        open_source(str(tmp_path / "take.npz"), ReadOptions(bodies={"a": ["b"]}))
    with pytest.raises(UsageError, match="no body named 'hand'"):
        open_source(str(tmp_path / "take.npz"), ReadOptions(drop="hand"))


def test_a_bag_that_is_a_folder_is_replayed_where_it_has_one_file(tmp_path: Path) -> None:
    from tests.io.formats.test_rosbag import SMALL

    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "metadata.yaml").write_text("rosbag2_bagfile_information:\n")
    (tmp_path / "bag" / "bag_0.mcap").write_bytes(SMALL["MCAP"])
    assert open_source(f"{tmp_path / 'bag'}@max").read(0.1)
    (tmp_path / "bag" / "bag_1.mcap").write_bytes(SMALL["MCAP"])
    with pytest.raises(UsageError, match=r"a bag of 2 files; replay one of them: bag_0.mcap, bag_1.mcap"):
        open_source(str(tmp_path / "bag"))
