"""Whom the figure in motion is sent to while it streams in: avatars by VMC, other programs by LSL, a file.

An outlet is opened by a word such as `vmc:127.0.0.1:39539`. It gets the figure with its joints together, turned as the
sensors are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..errors import CondyleError, UsageError, import_extra
from ..io.exports.figure import Figure, find_world_turn
from ..maths import rotation
from ..maths.arrays import Floats
from ..model.anatomy import Part
from ..model.skeleton import Skeleton
from .newest import Poses
from .transforms import McapOutlet

VMC_PORT = 39539  # of marionettes, by the protocol
# Bones of a humanoid in Unity, which VMC names; sides stand before them.
HUMANOID_BONES: dict[Part, str] = {
    "pelvis": "Hips",
    "spine": "Spine",
    "chest": "Chest",
    "neck": "Neck",
    "head": "Head",
    "clavicle": "Shoulder",
    "upper_arm": "UpperArm",
    "forearm": "LowerArm",
    "hand": "Hand",
    "thigh": "UpperLeg",
    "shank": "LowerLeg",
    "foot": "Foot",
    "toe": "Toes",
}
_SIDES = {"l": "Left", "r": "Right", "": ""}
_MIRROR = np.array([-1.0, 1.0, 1.0])  # from right-handed, y up, to Unity's left-handed axes


class Outlet(Protocol):
    """Somebody who is sent the figure. word: by which it was opened."""

    word: str

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        """A frame of the skeleton's bodies; bones: as other programs understand them, None where not known."""

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class HumanoidPose:
    """Bones of a humanoid in Unity's axes: each turned from its place in a T-pose, in its parent's axes.

    bones     names, in the order of `rotation` (k, 4) as x y z w
    position  (3,) [m] of the hips
    """

    bones: tuple[str, ...]
    rotation: Floats
    position: Floats


def pose_humanoid(figure: Figure, poses: Poses) -> HumanoidPose | None:
    """A person's bones as an avatar has them; None for a figure without hips."""
    turn = find_world_turn(figure.up, "y")
    R = poses.R[[poses.names.index(body) for body in figure.bodies]] @ figure.R_body_bone
    moved = turn @ R @ np.swapaxes(figure.rest[0], -1, -2) @ turn.T  # from the T-pose to now, in axes with y up
    names = [_name_bone(part, side) for part, side in zip(figure.parts, figure.sides, strict=True)]
    if "Hips" not in names:
        return None
    bones, turns = [], []
    for bone, name in enumerate(names):
        if not name or name in bones or not np.isfinite(moved[bone]).all():
            continue
        parent = int(figure.parent[bone])
        while parent >= 0 and not names[parent]:
            parent = int(figure.parent[parent])
        local = moved[bone] if parent < 0 else moved[parent].T @ moved[bone]
        w, x, y, z = rotation.to_quaternion(local)
        bones.append(name)
        turns.append([x, -y, -z, w])  # a mirror along x keeps the turn about x and reverses the others
    hips = figure.bodies[names.index("Hips")]
    k = poses.names.index(hips)
    place = poses.p[k] + poses.R[k] @ figure.p_body_bone[names.index("Hips")]
    return HumanoidPose(tuple(bones), np.array(turns).reshape(-1, 4), _MIRROR * (turn @ place))


def _name_bone(part: str, side: str) -> str:
    name = HUMANOID_BONES.get(part)  # type: ignore[call-overload]
    return f"{_SIDES[side]}{name}" if name else ""


class VmcOutlet:
    """An avatar's program that takes VMC: bones of people, by OSC over UDP."""

    def __init__(self, address: str) -> None:
        osc = import_extra("pythonosc.udp_client", "osc", "VMC is sent with python-osc")
        host, _, port = address.rpartition(":")
        if not port.isdigit():
            host, port = address, str(VMC_PORT)
        self.word = f"vmc:{host}:{port}"
        try:
            self._client = osc.SimpleUDPClient(host, int(port))
        except (OSError, OverflowError) as error:
            raise CondyleError(f"{self.word} cannot be reached: {error}", code="no-answer") from None

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        pose = None if bones is None else pose_humanoid(bones, figure)
        send: Callable[[str, list[Any]], None] = self._client.send_message
        send("/VMC/Ext/OK", [1])
        send("/VMC/Ext/T", [figure.time])
        if pose is None:
            return
        send("/VMC/Ext/Root/Pos", ["root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        for name, turn in zip(pose.bones, pose.rotation.tolist(), strict=True):
            place = pose.position.tolist() if name == "Hips" else [0.0, 0.0, 0.0]
            send("/VMC/Ext/Bone/Pos", [name, *place, *turn])

    def close(self) -> None:
        self._client._sock.close()


class LslOutlet:
    """A stream of the Lab Streaming Layer: seven numbers a body, place [m] and quaternion x y z w."""

    def __init__(self, name: str) -> None:
        from .sources.lsl import import_library

        self.word, self._pylsl, self._name = f"lsl:{name}", import_library(), name
        self._bodies: tuple[str, ...] = ()
        self._stream: Any = None

    def send(self, figure: Poses, skeleton: Skeleton, bones: Figure | None) -> None:
        if figure.names != self._bodies:
            self._bodies, self._stream = figure.names, self._open(figure.names)
        quaternion = rotation.to_quaternion(figure.R)[:, [1, 2, 3, 0]]
        self._stream.push_sample(np.concatenate([figure.p, quaternion], axis=1).ravel().tolist())

    def _open(self, bodies: tuple[str, ...]) -> Any:
        info = self._pylsl.StreamInfo(self._name, "MoCap", 7 * len(bodies), 0.0, "double64", f"condyle-{self._name}")
        channels = info.desc().append_child("channels")
        for body in bodies:
            for label in ("X", "Y", "Z", "QX", "QY", "QZ", "QW"):
                channel = channels.append_child("channel")
                channel.append_child_value("label", f"{body}_{label}")
                channel.append_child_value("unit", "meters" if len(label) == 1 else "quaternion")
        return self._pylsl.StreamOutlet(info)

    def close(self) -> None:
        self._stream = None


OUTLETS: dict[str, Callable[[str], Outlet]] = {"vmc": VmcOutlet, "lsl": LslOutlet, "mcap": McapOutlet}


def open_outlets(words: str) -> list[Outlet]:
    """The outlets of words with commas between them: vmc:127.0.0.1:39539,lsl:figure."""
    found: list[Outlet] = []
    for word in filter(None, words.split(",")):
        name, _, address = word.partition(":")
        if name not in OUTLETS or not address:
            raise UsageError(
                f"nothing can be sent to '{word}'; it is vmc:HOST:PORT, lsl:NAME or mcap:FILE", code="bad-option"
            )
        found.append(OUTLETS[name](address))
    return found
