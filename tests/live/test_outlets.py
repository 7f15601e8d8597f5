"""live/outlets.py: the figure as avatars and other programs understand it."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.live.newest import Poses
from condyle.live.outlets import HumanoidPose, open_outlets, pose_humanoid
from condyle.live.service import play_figure
from condyle.live.session import Session, Solve
from condyle.maths import rotation
from condyle.model.take import Take
from tests.make.sessions import person, records, stream

# Unity: y up, z forward, left-handed: the left of somebody who looks along z is -x. So bones point in a T-pose:
T_POSE = {
    "LeftUpperArm": (-1, 0, 0),
    "RightUpperArm": (1, 0, 0),
    "LeftUpperLeg": (0, -1, 0),
    "RightLowerLeg": (0, -1, 0),
}
CHAIN = {
    "Chest": "Hips", "LeftUpperArm": "Chest", "RightUpperArm": "Chest", "LeftUpperLeg": "Hips",
    "RightUpperLeg": "Hips", "RightLowerLeg": "RightUpperLeg",
}  # fmt: skip
ENDS = {
    "LeftUpperArm": ("l_upper_arm", "l_forearm"), "RightUpperArm": ("r_upper_arm", "r_forearm"),
    "LeftUpperLeg": ("l_thigh", "l_shank"), "RightLowerLeg": ("r_shank", "r_foot"),
}  # fmt: skip


@pytest.fixture(scope="module")
def take() -> Take:
    return person(seconds=12, soft_tissue=0.0)


@pytest.fixture(scope="module")
def solve(take: Take) -> Solve:
    session = Session()
    for record in records(stream(take)):
        session.add(record)
    return session.solve()


def turned(pose: HumanoidPose, bone: str) -> np.ndarray:
    """The rotation of a bone in Unity's world, from its parents'."""
    own = np.eye(3)
    if bone in pose.bones:
        x, y, z, w = pose.rotation[pose.bones.index(bone)]
        own = rotation.from_quaternion(np.array([w, x, y, z]))  # the same formula in a left-handed world
    return own if bone == "Hips" else turned(pose, CHAIN[bone]) @ own


@pytest.mark.parametrize("frame", [0, 120, 250])
def test_an_avatars_bones_point_where_the_persons_do(take: Take, solve: Solve, frame: int) -> None:
    assert solve.skeleton is not None
    assert solve.figure is not None
    poses = Poses(0.0, take.names, take.p_world_body[frame], take.R_world_body[frame])
    figure = play_figure(solve.skeleton, poses)
    pose = pose_humanoid(solve.figure, figure)
    assert pose is not None
    assert {"Hips", "Head", *T_POSE} <= set(pose.bones)
    joint = {one.child: one for one in solve.skeleton.joints}
    for bone, rest in T_POSE.items():
        a, b = (_place(joint[end], figure) for end in ENDS[bone])
        x, y, z = (b - a) / np.linalg.norm(b - a)  # z up, -y forward
        found = turned(pose, bone) @ np.array(rest, float)
        assert np.allclose(found, [-x, z, -y], atol=0.02), bone
    hips = pose.position
    assert hips[1] == pytest.approx(figure.p[figure.names.index("pelvis")][2], abs=0.25)


def _place(joint: condyle.Joint, figure: Poses) -> np.ndarray:
    k = figure.names.index(joint.child)
    return np.asarray(figure.R[k] @ joint.p_child_joint + figure.p[k])


def test_vmc_arrives_by_osc(take: Take, solve: Solve) -> None:
    osc = pytest.importorskip("pythonosc.osc_message", reason="python-osc is not installed")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        (outlet,) = open_outlets(f"vmc:127.0.0.1:{receiver.getsockname()[1]}")
        assert solve.skeleton is not None
        poses = Poses(1.5, take.names, take.p_world_body[9], take.R_world_body[9])
        outlet.send(play_figure(solve.skeleton, poses), solve.skeleton, solve.figure)
        found: dict[str, Any] = {}
        while "/VMC/Ext/Bone/Pos RightFoot" not in found:
            message = osc.OscMessage(receiver.recv(4096))
            name = f" {message.params[0]}" if "Bone" in message.address else ""
            found[message.address + name] = message.params
        outlet.close()
    assert found["/VMC/Ext/OK"] == [1]
    assert found["/VMC/Ext/T"] == [1.5]
    assert len(found["/VMC/Ext/Bone/Pos Hips"]) == 8
    assert np.linalg.norm(found["/VMC/Ext/Bone/Pos Head"][4:]) == pytest.approx(1, abs=1e-5)


def test_lsl_arrives_with_its_names(take: Take, solve: Solve) -> None:
    pylsl = pytest.importorskip("pylsl", reason="pylsl is not installed")
    name = f"condyle-test-{np.random.default_rng().integers(1 << 40)}"
    (outlet,) = open_outlets(f"lsl:{name}")
    poses = Poses(1.5, take.names, take.p_world_body[9], take.R_world_body[9])
    outlet.send(poses, solve.skeleton, solve.figure)
    found = pylsl.resolve_byprop("name", name, 1, 5.0)
    if not found:
        pytest.skip("LSL finds no stream of this machine: no multicast here")
    inlet = pylsl.StreamInlet(found[0])
    inlet.open_stream(5.0)
    outlet.send(poses, solve.skeleton, solve.figure)
    sample, _ = inlet.pull_sample(5.0)
    assert sample[:3] == pytest.approx(take.p_world_body[9, 0].tolist())
    outlet.close()


@pytest.mark.parametrize("word", ["fax:1", "vmc:", "lsl"])
def test_what_nothing_can_be_sent_to_is_told(word: str) -> None:
    with pytest.raises(UsageError, match=f"nothing can be sent to '{word}'"):
        open_outlets(word)
