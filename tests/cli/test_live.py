"""cli/live.py: records until the end, Ctrl-C or the time is over, and says how to go on."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from condyle.cli import main
from condyle.cli.live import describe_status
from condyle.cli.session import open_feed
from condyle.io.exports import write_take
from condyle.io.formats import read_recording
from condyle.live import sources
from condyle.live.sources import PROTOCOLS, Stream
from condyle.simulate import human, simulate
from tests.make.sessions import layout, packets, write_log


@pytest.fixture
def take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_take(tmp_path / "take.npz", simulate(human(), "exercise", seconds=3, rate=50, seed=5).take)
    return Path("take.npz")


def test_a_replay_is_recorded_to_its_end_and_the_way_on_is_told(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"replay:{take}@max", "-o", "out", "--record-only"]) == 0
    out = capsys.readouterr().out
    assert "recorded 150 frames in " in out
    assert out.endswith("fit them with: condyle fit out/session.log -o out\n")
    assert main(["fit", "out/session.log", "-o", "out", "--no-report", "--no-intervals"]) == 0
    assert read_recording("out/session.log").frames == 150


def test_what_the_log_does_not_keep_is_in_the_command_that_fits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(Path("markers.log"), packets(layout(markers=("a1", "a2", "a3", "b1", "b2", "b3")), 20))
    Path("my bodies.toml").write_text('[bodies]\na = ["a1", "a2", "a3"]\nb = ["b1", "b2", "b3"]\n')
    words = ["--bodies", "my bodies.toml", "--only", "a,b", "--rename", "a=arm", "--no-doctor"]
    assert main(["live", "replay:markers.log@max", "-o", "out", "--record-only", "--unit", "mm", *words]) == 0
    last = shlex.split(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])
    assert last[:5] == ["condyle", "fit", "out/session.log", "-o", "out"]
    assert sorted(last[5:]) == sorted(words)


def test_bodies_that_are_named_may_be_at_any_source(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"replay:{take}@max", "-o", "legs", "--record-only", "--only", "pelvis,*thigh"]) == 0
    assert main(["live", f"replay:{take}@max", "-o", "arms", "--record-only", "--only", "chest,*upper_arm"]) == 0
    both = ["live", "replay:legs/session.log@max", "replay:arms/session.log@max", "--record-only"]
    assert main([*both, "-o", "both", "--only", "pelvis,chest", "--rename", "chest=thorax"]) == 0
    bodies = read_recording("both/session.log").bodies
    assert bodies is not None
    assert set(bodies.names) == {"pelvis", "thorax"}
    capsys.readouterr()
    assert main([*both, "-o", "none", "--only", "pelvis,chest,tail"]) != 0
    assert "no body named 'tail' at any source" in capsys.readouterr().err
    assert not Path("none").exists()


def test_a_recording_is_never_written_over(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"replay:{take}@max", "-o", "out"]) == 0
    before = Path("out/session.log").read_bytes()
    assert main(["live", f"replay:{take}@max", "-o", "out"]) == 1
    assert "choose another folder" in capsys.readouterr().err
    assert Path("out/session.log").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["replay:take.npz"], 2, "say where to record with -o DIR"),
        (["replay:take.npz", "-o", "out\udcff"], 1, "its name is no text in UTF-8; rename it"),
        (["replay:take\udcff.npz", "-o", "out"], 1, "its name is no text in UTF-8; rename it"),
        (["replay:take.npz", "-o", "out", "--seconds", "0"], 2, "0 s is no time to record for"),
        (["nope:1", "-o", "out"], 2, "no source 'nope:1'; what can be connected is"),
        (["replay:none.npz", "-o", "out"], 1, "none.npz: no such file"),
        (["replay:take.npz", "replay:take.npz", "-o", "out"], 2, "is named twice"),
        (["replay:take.npz", "-o", "take.npz"], 1, "cannot be made"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_told_and_leaves_nothing(
    words: list[str], status: int, told: str, take: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["live", *words]) == status
    assert told in capsys.readouterr().err
    assert not Path("out").exists()


def test_it_stops_when_the_time_is_over_and_says_so_as_json(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"replay:{take}", "-o", "out", "--seconds", "0.5", "--json", "--record-only"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert 0 < facts["frames"] < 150
    (one,) = facts["sources"]
    assert (one["bodies"], one["ended"], facts["not_recorded"]) == (15, False, 0)
    assert read_recording(facts["log"]).frames == facts["frames"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_log_and_is_no_fault(take: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-m", "condyle", "live", f"replay:{take}@0.1", "-o", "out", "--record-only"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            if Path("out/session.log").exists() and Path("out/session.log").stat().st_size > 20_000:
                break
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "fit them with" in out
    assert not read_recording("out/session.log").findings


def test_the_status_line_names_sources_bodies_rate_and_lag(take: Path) -> None:
    feed = open_feed([f"replay:{take}@4"], Path("out"))
    assert describe_status(feed) == "0 frames | replay:take.npz: nothing yet"
    feed.start()
    feed.wait(0.4)
    line = describe_status(feed)
    feed.close()
    assert "replay:take.npz: 15 of 15 bodies, " in line
    assert " Hz, lag 0 ms" in line


def test_without_a_source_it_lists_what_streams_and_what_can_be_connected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "find_streams", lambda: [Stream("lsl:room", "15 bodies at 120 Hz")])
    assert main(["live"]) == 0
    out = capsys.readouterr().out
    assert "lsl:room  15 bodies at 120 Hz" in out
    for name in PROTOCOLS:
        assert sources.name_protocol(name) in out
    monkeypatch.setattr(sources, "find_streams", list)
    assert main(["live", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streaming"] == []


def test_a_session_ends_with_what_fit_writes_and_says_where(take: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", f"replay:{take}@4", "-o", "out", "--no-page"]) == 0
    out = capsys.readouterr().out
    assert "The session is over (every source ended). Fitting all of it." in out
    assert "Written to out; look at it with: condyle view out" in out
    assert sorted(file.name for file in Path("out").iterdir()) == [
        "manifest.json", "motion.npz", "options.toml", "report.html", "session.log", "skeleton.json",
    ]  # fmt: skip
    assert main(["fit", "out/session.log", "-o", "again"]) == 0
    one, other = (json.loads(Path(folder, "skeleton.json").read_text()) for folder in ("out", "again"))
    assert one == other


@pytest.mark.parametrize("streaming", [True, False])
def test_without_a_source_all_that_streams_is_recorded(
    streaming: bool, take: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Stream(f"replay:{take}@max", "15 bodies")] if streaming else []
    monkeypatch.setattr(sources, "find_streams", lambda: found)
    assert main(["live", "-o", "out", "--record-only"]) == (0 if streaming else 1)
    err = capsys.readouterr().err
    assert ("found replay:take.npz@max" if streaming else "nothing was found streaming") in err
    assert Path("out").exists() == streaming
