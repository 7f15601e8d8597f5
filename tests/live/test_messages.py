"""live/messages.py: what the page of a session is told can be read back."""

from __future__ import annotations

import json

import numpy as np

import condyle
from condyle.live.messages import encode, encode_figure, encode_poses
from condyle.live.newest import Poses
from tests.make.sessions import person


def test_numbers_of_numpy_and_poses_arrive_as_they_are() -> None:
    assert json.loads(encode("x", value=np.float64(0.5), none=float("nan"))) == {
        "type": "x",
        "value": 0.5,
        "none": None,
    }
    p, q = np.arange(6.0).reshape(2, 3), np.array([[1.0, 0, 0, 0], [np.nan] * 4])
    frame = encode_poses(12.5, p, q)
    assert np.frombuffer(frame[:8])[0] == 12.5
    values = np.frombuffer(frame[8:], np.float32).reshape(2, 7)
    assert np.array_equal(values[:, :3], p)
    assert np.array_equal(values[:, 3:], q, equal_nan=True)


def test_a_line_of_motion_has_bodies_and_joints_by_name() -> None:
    take = person(seconds=6)
    skeleton = condyle.fit(take).skeleton
    line = encode_figure(Poses(2.0, take.names, take.p_world_body[3], take.R_world_body[3]), skeleton)
    assert line.endswith("\n")
    told = json.loads(line)
    assert told["time"] == 2.0
    assert told["bodies"]["head"]["p"] == take.p_world_body[3, take.index("head")].tolist()
    assert set(told["joints"]) == {joint.child for joint in skeleton.joints}
