"""A figure as MCAP: a URDF with the transforms and joint states that belong to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports.export import write_figure
from condyle.io.exports.mcap import TOPICS, write_mcap
from condyle.io.exports.scene import Scene
from condyle.io.exports.urdf import write_urdf
from tests.make import moving
from tests.make.clients import ask

pytest.importorskip("mcap", reason="mcap is not installed")
typesys = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")
STORE = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
EXACT_M = 1e-9
CHAIN = """
import pinocchio as pin, numpy as np
model = pin.buildModelFromXML(facts["urdf"])
data, out = model.createData(), []
for row in facts["rows"]:
    q = pin.neutral(model)
    for name, angle in zip(facts["joints"], row):
        q[model.joints[model.getJointId(name)].idx_q] = angle
    pin.framesForwardKinematics(model, data, q)
    out.append({frame.name: data.oMf[k].translation.tolist() for k, frame in enumerate(model.frames)})
answer(out)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scene, Path]:
    one = moving.person(seconds=3)
    scene = Scene(one.skeleton, one.motion)
    path = tmp_path_factory.mktemp("mcap") / "person.mcap"
    assert write_mcap(scene, path).files == (path,)
    return scene, path


def messages(path: Path) -> dict[str, list]:
    from mcap.reader import make_reader

    found: dict[str, list] = {topic: [] for topic in TOPICS}
    with open(path, "rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            assert schema.name == TOPICS[channel.topic]
            found[channel.topic].append((message.log_time, STORE.deserialize_cdr(message.data, schema.name)))
    return found


def test_times_that_ros_cannot_count_are_refused_before_anything_is_written(
    written: tuple[Scene, Path], tmp_path: Path
) -> None:
    scene, _ = written
    late = replace(scene, motion=replace(scene.motion, time=scene.motion.time * 1e9))  # nanoseconds as seconds
    with pytest.raises(CondyleError, match=r"lasts .* s, longer than messages of ROS can count; .* give --rate"):
        write_figure(late, "mcap", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_every_frame_has_its_transforms_and_joint_states(written: tuple[Scene, Path], tmp_path: Path) -> None:
    scene, path = written
    found = messages(path)
    frames = scene.motion.frames
    assert [len(found[topic]) for topic in TOPICS] == [1, 1, frames, frames]
    urdf, table = write_urdf(scene, tmp_path / "person.urdf").files
    assert found["/robot_description"][0][1].data == urdf.read_text()
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    head = table.read_text(encoding="utf-8").splitlines()[0].split(",")
    _, state = found["/joint_states"][17]
    named = dict(zip(state.name, state.position.tolist(), strict=True))
    assert named == pytest.approx({name: rows[17, head.index(name)] for name in named}, abs=1e-9)


def test_what_is_sent_once_is_kept_for_late_subscribers(written: tuple[Scene, Path]) -> None:
    from mcap.reader import make_reader

    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    with open(written[1], "rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        assert [(one.name, one.metadata) for one in reader.iter_metadata()] == [("rosbag2", {"ROS_DISTRO": "humble"})]
    assert summary is not None
    found = {one.topic: one.metadata for one in summary.channels.values()}
    assert {topic for topic, facts in found.items() if facts} == {"/robot_description", "/tf_static"}
    (profile,) = yaml.safe_load(found["/tf_static"]["offered_qos_profiles"])
    policies = {name: profile[name] for name in ("history", "depth", "reliability", "durability", "liveliness")}
    # Numbers of rmw: keep last, reliable, transient local, automatic.
    assert policies == {"history": 1, "depth": 1, "reliability": 1, "durability": 1, "liveliness": 1}
    assert profile["avoid_ros_namespace_conventions"] is False
    for name in ("deadline", "lifespan", "liveliness_lease_duration"):
        assert 10**9 * profile[name]["sec"] + profile[name]["nsec"] == 2**63 - 1


def test_it_is_a_recording_of_the_same_motion(written: tuple[Scene, Path]) -> None:
    scene, path = written
    back = condyle.read(path)
    figure = scene.figure_on_axes
    assert back.frames == scene.motion.frames
    p = figure.turn_up("z").world[1]
    for k, name in enumerate(figure.names):
        if name in back.names:
            assert np.abs(back.p_world_body[:, back.index(name)] - p[:, k]).max() < EXACT_M, name
    assert len(set(figure.names) & set(back.names)) > 10


def test_pinocchio_has_the_links_where_the_transforms_are(written: tuple[Scene, Path]) -> None:
    _, path = written
    found = messages(path)
    chosen = [0, 40, 80]
    states = [found["/joint_states"][k][1] for k in chosen]
    facts = {
        "urdf": found["/robot_description"][0][1].data,
        "joints": list(states[0].name),
        "rows": [state.position.tolist() for state in states],
    }
    told = ask("pinocchio", CHAIN, json.loads(json.dumps(facts)))
    fixed = {one.child_frame_id: one for one in found["/tf_static"][0][1].transforms}
    for k, places in zip(chosen, told, strict=True):
        sent = {one.child_frame_id: one for one in found["/tf"][k][1].transforms} | fixed
        for name, place in places.items():
            if name in sent and name != "base":
                assert np.allclose(_place(sent, name), place, atol=EXACT_M), name


def _place(sent: dict, name: str) -> np.ndarray:
    """Where a frame is in the base."""
    from condyle.maths import rotation

    p = np.zeros(3)
    while name != "base":
        one = sent[name]
        turn, place = one.transform.rotation, one.transform.translation
        R = rotation.from_quaternion(np.array([turn.w, turn.x, turn.y, turn.z]))
        p = R @ p + np.array([place.x, place.y, place.z])
        name = one.header.frame_id
    return p
