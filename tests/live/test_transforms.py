"""live/transforms.py: transforms in MCAP, read back by another library and as a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from condyle.errors import CondyleError
from condyle.live.newest import Poses
from condyle.live.outlets import open_outlets
from condyle.live.service import play_figure
from tests.make.sessions import person

pytest.importorskip("mcap", reason="mcap is not installed")
rosbags = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")


def send_figure(path: Path) -> tuple[condyle.Take, condyle.Skeleton]:
    take = person(seconds=4, seed=4)
    skeleton = condyle.fit(take).skeleton
    (outlet,) = open_outlets(f"mcap:{path}")
    for k in range(30):
        poses = Poses(float(take.time[k]), take.names, take.p_world_body[k], take.R_world_body[k])
        outlet.send(play_figure(skeleton, poses), skeleton, None)
    cut = path.with_name("cut.mcap")
    cut.write_bytes(path.read_bytes())  # as after a kill
    outlet.close()
    return take, skeleton


def test_another_library_reads_every_transform(tmp_path: Path) -> None:
    from mcap.reader import make_reader

    _, skeleton = send_figure(tmp_path / "tf.mcap")
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    with open(tmp_path / "tf.mcap", "rb") as stream:
        messages = list(make_reader(stream).iter_messages(["/tf"]))
    assert len(messages) == 30
    schema, channel, message = messages[7]
    assert (schema.name, channel.message_encoding) == ("tf2_msgs/msg/TFMessage", "cdr")
    read = store.deserialize_cdr(message.data, schema.name)
    parents = {one.child_frame_id: one.header.frame_id for one in read.transforms}
    expected = {joint.child: joint.parent for joint in skeleton.joints}
    assert {child: parent for child, parent in parents.items() if parent != "world"} == expected
    stamp = read.transforms[0].header.stamp
    assert stamp.sec + stamp.nanosec * 1e-9 == pytest.approx(7 / 30)


@pytest.mark.parametrize("name", ["tf.mcap", "cut.mcap"])
def test_it_is_a_recording_of_the_played_figure(tmp_path: Path, name: str) -> None:
    take, skeleton = send_figure(tmp_path / "tf.mcap")
    back = condyle.read(tmp_path / name)
    assert back.frames == 30
    assert set(back.names) == set(skeleton.bodies)
    k = back.index("head")
    assert back.R_world_body[5, k] == pytest.approx(take.R_world_body[5, take.index("head")], abs=1e-6)


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "tf.mcap").write_bytes(b"mine")
    with pytest.raises(CondyleError, match="is there already"):
        open_outlets(f"mcap:{tmp_path / 'tf.mcap'}")
    assert (tmp_path / "tf.mcap").read_bytes() == b"mine"
