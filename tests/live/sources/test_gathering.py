"""live/sources/_gathering.py: poses that come one by one become frames."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.live.source import PacketError, now
from condyle.live.sources import _gathering
from condyle.live.sources._gathering import Gatherer
from tests.make.sessions import layout

POSE = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])


def test_a_frame_ends_when_all_have_come_and_when_one_comes_again() -> None:
    frames = Gatherer(layout())
    assert [len(frames.take(body, POSE, 1.0)) for body in "ab"] == [0, 0]  # who else is there is not known yet
    (first,) = frames.take("a", POSE, 2.0)
    assert (first.layout.bodies, first.arrival_time) == (("a", "b"), 1.0)
    (second,) = frames.take("b", 2 * POSE, 2.1)
    assert second.values.tolist() == [1, 2, 3, 2, 4, 6, 1, 0, 0, 0, 2, 0, 0, 0]
    assert second.arrival_time == 2.0


def test_a_frame_ends_when_the_device_s_time_goes_on() -> None:
    frames = Gatherer(layout())
    for body in "ab":
        frames.take(body, POSE, 1.0, 10.0)
    (first,) = frames.take("a", POSE, 2.0, 11.0)
    (second,) = frames.take("b", POSE, 3.0, 12.0)
    assert (first.device_time, second.device_time) == (10.0, 11.0)
    assert np.isnan(second.values[3:6]).all()


def test_poses_that_are_stamped_a_little_apart_are_of_one_frame() -> None:
    frames = Gatherer(layout())
    frames.take("a", POSE, 1.0, 10.0)
    assert frames.take("b", POSE, 1.0, 10.001) == []
    assert len(frames.take("a", POSE, 1.0, 10.003)) == 1


def test_a_frame_whose_rest_is_late_is_given_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = Gatherer(layout())
    moment = now()
    frames.take("a", POSE, moment)
    monkeypatch.setattr(_gathering, "now", lambda: moment + 0.01)
    assert frames.flush() == []
    monkeypatch.setattr(_gathering, "now", lambda: moment + 0.06)
    assert len(frames.flush()) == 1
    assert frames.flush() == []


def test_bodies_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gathering, "MOST_BODIES", 3)
    frames = Gatherer(layout())
    for body in "abc":
        frames.take(body, POSE, 1.0)
    with pytest.raises(PacketError, match="more than 3 bodies"):
        frames.take("d", POSE, 1.0)
