"""live/service.py: from the first packet to the fit, with what is sent on meanwhile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

import condyle
from condyle.io.exports.figure import Figure
from condyle.live.feed import Feed
from condyle.live.newest import NewestPoses, Poses
from condyle.live.recorder import Recorder
from condyle.live.service import LiveSession, describe_solve, play_figure
from condyle.live.session import Session, Solve
from condyle.live.source import Packet
from condyle.live.sources import open_source
from condyle.live.watch import Watch
from condyle.model.skeleton import Skeleton
from tests.make.sessions import person, records, stream


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
