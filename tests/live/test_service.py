"""live/service.py: from the first packet to the fit, with what is sent on meanwhile."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports.figure import Figure
from condyle.io.log_records import Mark
from condyle.live.clock import Stamp
from condyle.live.coach import Prompt
from condyle.live.excerpt import LogTail
from condyle.live.feed import Feed
from condyle.live.newest import NewestPoses, Poses
from condyle.live.recorder import Recorder
from condyle.live.service import FINISHED_MIN_S, LiveSession, describe_solve, play_figure
from condyle.live.session import Session, Solve
from condyle.live.source import Packet, now
from condyle.live.sources import open_source
from condyle.live.watch import Watch
from condyle.model.skeleton import Skeleton
from condyle.model.take import BodyMarker
from tests.make.sessions import layout, packets, person, records, stream


class Listening:
    """An outlet that keeps what it is sent."""

    word = "test"

    def __init__(self) -> None:
        self.sent: list[Poses] = []
        self.closed = False

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        self.sent.append(figure)

    def close(self) -> None:
        self.closed = True


class Patient:
    """A replay that stays until somebody has solved it."""

    def __init__(self, word: str) -> None:
        self._replay = open_source(word)
        self.word, self.bad_packets, self.fault = self._replay.word, 0, ""
        self._left = False

    def leave(self, _: Solve) -> None:
        self._left = True

    @property
    def ended(self) -> bool:
        return self._replay.ended and self._left

    def read(self, timeout: float) -> list[Packet]:
        if self._replay.ended:
            time.sleep(timeout)
            return []
        return self._replay.read(timeout)

    def close(self) -> None:
        self._replay.close()


def test_a_replay_is_recorded_solved_sent_on_and_fitted_as_the_file_is(tmp_path: Path) -> None:
    take = person(seconds=10)
    condyle.write_take(tmp_path / "take.csv", take)
    newest, outlet = NewestPoses(), Listening()
    source = Patient(f"replay:{tmp_path / 'take.csv'}@max")
    feed = Feed([source], Recorder(tmp_path / "session.log"), newest.listen)
    session = LiveSession(feed, newest, Watch(), outlets=[outlet])
    solves: list[Solve] = []
    session.on_solve(solves.append)
    session.on_solve(source.leave)
    session.run()
    assert session.ending == "every source ended"
    assert not session.fault
    assert solves
    assert outlet.closed
    fitted, whole = session.fit().skeleton, condyle.fit(tmp_path / "take.csv").skeleton
    assert [(j.parent, j.child) for j in fitted.joints] == [(j.parent, j.child) for j in whole.joints]
    for one, other in zip(fitted.joints, whole.joints, strict=True):
        assert np.array_equal(one.p_child_joint, other.p_child_joint)
    assert fitted.take["sha256"] == whole.take["sha256"]


def test_the_figure_that_is_sent_on_does_not_come_apart() -> None:
    take = person(seconds=6)
    skeleton = condyle.fit(take).skeleton
    poses = Poses(0.0, take.names, take.p_world_body[50], take.R_world_body[50])
    figure = play_figure(skeleton, poses)
    for joint in skeleton.joints:
        c, p = figure.names.index(joint.child), figure.names.index(joint.parent)
        gap = figure.R[c] @ joint.p_child_joint + figure.p[c] - figure.R[p] @ joint.p_parent_joint - figure.p[p]
        assert np.abs(gap).max() < 1e-12


def test_a_solve_is_told_in_words_that_json_knows() -> None:
    session = Session()
    for record in records(stream(person(seconds=6))):
        session.add(record)
    told = json.loads(describe_solve(session.solve()))
    assert told["type"] == "solve"
    assert told["shown"]["page"]["verdict"]["text"].startswith("Found")
    assert told["prompt"]["text"]
    assert len(told["progress"]) == len(told["shown"]["page"]["joints"])


class Dying:
    """A source that sends a person's packets, is silent for a while, and comes back."""

    word, bad_packets, fault, ended = "test:dying", 0, "", False

    def __init__(self, silent_from: float, silent_to: float, until: float) -> None:
        self._silence, self._until = (silent_from, silent_to), until
        self._sent, self._begin, self._next = stream(person(seconds=until, rate=30), "test:dying"), 0.0, 0

    def read(self, timeout: float) -> list[Packet]:
        self._begin = self._begin or now()
        due = now() - self._begin
        self.ended = due >= self._until
        time.sleep(0.01)
        if self._silence[0] <= due < self._silence[1]:
            self._next = max(self._next, int(30 * due))
            return []
        found = []
        while self._next < min(30 * due, len(self._sent)):
            one = self._sent[self._next]
            found.append(one._replace(device_time=self._next / 30, arrival_time=now()))
            self._next += 1
        return found

    def close(self) -> None:
        self.ended = True


@pytest.mark.costly
def test_a_source_that_dies_and_returns_is_told_and_marks_are_in_the_log_and_the_result(tmp_path: Path) -> None:
    newest, watch = NewestPoses(), Watch()

    def listen(packet: Packet, stamp: Stamp) -> None:
        newest.listen(packet, stamp)
        watch.listen(packet, stamp)

    feed = Feed([Dying(2.0, 6.0, 11.0)], Recorder(tmp_path / "session.log"), listen)
    session = LiveSession(feed, newest, watch)
    told: list[tuple[float, str]] = []
    session.on_alarm(lambda alarm: told.append((now() - session._begin, alarm.finding.text)))
    threading.Timer(8.0, session.obey, ["mark  strap <tight>ened "]).start()
    threading.Timer(9.0, session.obey, ["nonsense"]).start()
    session.run()
    words = [text for _, text in told]
    assert any(text.startswith("test:dying sends nothing for") for text in words), words
    assert any(text.startswith("test:dying is lost: nothing came for 3 s") for text in words), words
    back = next(one for one in watch.alarms if one.finding.code == "source-stale" and one.over is not None)
    assert "back after" in back.finding.text
    assert [text for _, text in session.marks] == ["strap <tight>ened"]
    findings = condyle.fit(tmp_path / "session.log").skeleton.findings
    (mark,) = [one for one in findings if one.code == "mark"]
    assert mark.text.startswith("strap <tight>ened: marked at ")
    assert mark.time is not None
    assert 7.0 < mark.time[0] < 10.0


def test_what_came_before_a_restart_is_left_out_of_the_result(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "session.log")
    sent = stream(person(seconds=10))
    for packet in sent[:100]:
        recorder.write(packet)
    recorder.mark(Mark(sent[100].arrival_time, True, ""))
    for packet in sent[100:]:
        recorder.write(packet)
    recorder.mark(Mark(sent[-1].arrival_time, False, ""))
    recorder.close()
    fit = condyle.fit(tmp_path / "session.log")
    assert fit.take.frames == len(sent) - 100
    told = {one.code: one.text for one in fit.skeleton.findings}
    assert told["begun-anew"] == "the session was begun anew: 100 frames before that are left out"
    assert told["mark"].startswith("mark 1: marked at 10.0 s")
    session = Session()
    tail = LogTail(tmp_path / "session.log")
    for record in tail.read():
        session.add(record)
    solve = session.solve()
    assert solve.skeleton is not None
    assert solve.skeleton.take["frames"] == fit.skeleton.take["frames"]


def test_trouble_with_the_session_itself_is_told_once(tmp_path: Path) -> None:
    with Recorder(tmp_path / "session.log") as recorder:
        session = LiveSession(Feed([], recorder), NewestPoses(), Watch())
        session._solver = SimpleNamespace(given_up=False, restarts=0)  # type: ignore[assignment]
        told: list[str] = []
        session.on_trouble(told.append)
        session._pass_on_trouble()
        assert told == []
        session._solver.restarts = 1
        session._pass_on_trouble()
        session._pass_on_trouble()
        assert told == ["the solver died and was started again; the recording goes on"]
        session._solver.restarts = 2
        session._pass_on_trouble()
        assert len(told) == 2
        recorder.fault = CondyleError("no space left on the disk", code="unwritable")
        session._pass_on_trouble()
        recorder.fault = CondyleError("no space left on the disk for 7 frames", code="unwritable")
        session._pass_on_trouble()
        assert told[2:] == ["not recorded: no space left on the disk"]
        recorder.fault = None  # there is room again: the restart of before is no news
        session._pass_on_trouble()
        assert len(told) == 3
        recorder.fault = CondyleError("no space left on the disk", code="unwritable")
        session._solver.restarts, session._solver.given_up = 6, True
        session._pass_on_trouble()
        assert [text.partition(":")[0] for text in told[3:]] == ["not recorded", "nothing is solved any more"]


def test_it_ends_by_itself_when_solves_in_a_row_say_that_more_brings_little_and_not_sooner(tmp_path: Path) -> None:
    enough, open_yet = (Solve(1.0, None, finished=one, prompt=Prompt(None, "brings little")) for one in (True, False))
    with Recorder(tmp_path / "session.log") as recorder:
        session = LiveSession(Feed([], recorder), NewestPoses(), Watch(), until_enough=True)
        for solves in ([enough, enough, open_yet], [enough, enough]):
            session._solver = SimpleNamespace(poll=lambda solves=solves: solves)  # type: ignore[assignment]
            session._begin = now() - FINISHED_MIN_S - 1
            session._pass_on_solves()
            assert session.ending == ""
        session._solver = SimpleNamespace(poll=lambda: [enough])  # type: ignore[assignment]
        session._begin = now()  # a session that has just begun goes on
        session._pass_on_solves()
        assert session.ending == ""
        session._begin = now() - FINISHED_MIN_S - 1
        session._pass_on_solves()
        assert session.ending == "brings little"


class Showing:
    """A server that keeps the texts it is to send."""

    viewers = 1

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, kind: str, text: str) -> None:
        self.sent.append(json.loads(text))

    def send_frame(self, frame: bytes) -> None: ...
    def send_line(self, line: str) -> None: ...


def test_trouble_with_showing_is_not_told_as_trouble_with_recording(tmp_path: Path) -> None:
    with Recorder(tmp_path / "session.log") as recorder:
        session = LiveSession(Feed([], recorder), NewestPoses(), Watch(), fault="no such bone")
        session.server = showing = Showing()  # type: ignore[assignment]
        session._solver = SimpleNamespace(given_up=False, restarts=0, newest=None)  # type: ignore[assignment]
        session._pass_on_status()
        recorder.fault = CondyleError("no space left on the disk", code="unwritable")
        session._pass_on_status()
    told = [(one["fault"], one["trouble"]) for one in showing.sent]
    assert told == [("", "no such bone"), ("no space left on the disk", "no such bone")]


def test_a_page_is_told_of_bodies_that_a_solve_forms_before_the_solve(tmp_path: Path) -> None:
    with Recorder(tmp_path / "session.log") as recorder:
        newest = NewestPoses()
        session = LiveSession(Feed([], recorder), newest, Watch())
        session.server = showing = Showing()  # type: ignore[assignment]
        packet = packets(layout(markers=("a", "b", "c")), 1)[0]
        newest.listen(packet._replace(arrival_time=now()), Stamp("new", 0.0, 0.0, 0))
        skeleton = condyle.fit(person(seconds=6)).skeleton
        shape = [BodyMarker(skeleton.bodies[0], name, p) for name, p in zip("abc", np.eye(3), strict=True)]
        solve = Solve(1.0, replace(skeleton, markers=tuple(shape)))
        session._solver = SimpleNamespace(newest=solve, poll=lambda: [solve])  # type: ignore[assignment]
        session._pass_on_frame()
        session._pass_on_solves()
        session._pass_on_frame()
    assert [one["type"] for one in showing.sent] == ["bodies", "bodies", "solve"]
    assert [one["names"] for one in showing.sent[:2]] == [[], [skeleton.bodies[0]]]
