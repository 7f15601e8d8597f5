"""Messages of ROS 2 are read back by another library as they were written."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.io.ros_messages import SCHEMAS, Transform, encode_joint_state, encode_string, encode_transforms
from condyle.maths import rotation

typesys = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")
STORE = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
TIME = 12_345_678_901  # ns


@pytest.mark.parametrize("names", [("a",), ("hip", "knee_1", "a name that is longer"), ()])
def test_a_joint_state_has_its_names_and_angles(names: tuple[str, ...]) -> None:
    angles = np.arange(len(names)) / 7
    read = STORE.deserialize_cdr(encode_joint_state(names, angles, TIME), "sensor_msgs/msg/JointState")
    assert tuple(read.name) == names
    assert read.position.tolist() == angles.tolist()
    assert (len(read.velocity), len(read.effort)) == (0, 0)
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == divmod(TIME, 10**9)


def test_transforms_have_their_frames_places_and_turns() -> None:
    R = rotation.from_vector(np.array([0.1, -0.4, 0.2]))
    sent = [Transform("world", "base", R, np.array([1.0, 2.0, 3.0])), Transform("base", "arm", R.T, np.zeros(3))]
    read = STORE.deserialize_cdr(encode_transforms(sent, TIME), "tf2_msgs/msg/TFMessage").transforms
    assert [(one.header.frame_id, one.child_frame_id) for one in read] == [("world", "base"), ("base", "arm")]
    turn = read[0].transform.rotation
    assert np.allclose(rotation.from_quaternion(np.array([turn.w, turn.x, turn.y, turn.z])), R)
    place = read[0].transform.translation
    assert (place.x, place.y, place.z) == (1.0, 2.0, 3.0)


def test_a_text_is_the_text() -> None:
    assert STORE.deserialize_cdr(encode_string("<robot/>"), "std_msgs/msg/String").data == "<robot/>"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_definitions_are_those_of_the_types(kind: str) -> None:
    told = typesys.get_types_from_msg(SCHEMAS[kind], kind)
    assert told[kind] == STORE.fielddefs[kind]
