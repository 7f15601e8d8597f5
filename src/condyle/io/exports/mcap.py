"""MCAP for ROS 2: the URDF with its transforms and joint states, as a node would send them. Needs mcap.

docs/exports/ros.md describes what is written.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError
from ...maths.series import segment_slices
from ..atomic import open_atomic
from ..ros_messages import SCHEMAS, Transform, encode_joint_state, encode_string, encode_transforms
from .mechanism import POSE, build_mechanism, make_title
from .scene import FigureFormat, Scene, Written, number_file
from .urdf import BASE_LINK, URDF_FIRST_LETTER, URDF_LETTERS, WORLD_LINK, Robot, describe_lost_loops, to_urdf

TOPICS = {
    "/robot_description": "std_msgs/msg/String",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/joint_states": "sensor_msgs/msg/JointState",
}
SENT_ONCE = ("/robot_description", "/tf_static")  # kept for programs that subscribe later, as ROS nodes do
LONGEST_S = 2**31  # s: the seconds of a ROS message are 32 bits with a sign
FOREVER = "{sec: 9223372036, nsec: 854775807}"  # the longest duration of ROS 2
# Quality of service as a recorder of ROS 2 Humble writes it: keep last 1, reliable, transient local, automatic.
LATCHED_PROFILE = f"""- history: 1
  depth: 1
  reliability: 1
  durability: 1
  deadline: {FOREVER}
  lifespan: {FOREVER}
  liveliness: 1
  liveliness_lease_duration: {FOREVER}
  avoid_ros_namespace_conventions: false
"""
# Later players take policies for words, unless this record of the file says that an older recorder wrote it.
RECORDER = ("rosbag2", {"ROS_DISTRO": "humble"})


MovingFrame = tuple[str, str, np.ndarray, np.ndarray]


def check_mcap(scene: Scene) -> None:
    """Raises where the package mcap is not installed, or a recording lasts longer than its clock counts."""
    if find_spec("mcap") is None:
        raise CondyleError('MCAP is written with mcap: pip install "condyle[mcap]"', code="missing-extra")
    time, parts = scene.motion.time, segment_slices(scene.motion.segment)
    longest = max(float(time[part.stop - 1] - time[part.start]) for part in parts) if len(time) else 0.0
    if longest >= LONGEST_S:
        text = f"lasts {longest:.3g} s, longer than messages of ROS can count; are these seconds? give --rate"
        raise CondyleError(text, code="bad-time", path=", ".join(scene.motion.sources) or None)


def write_mcap(scene: Scene, path: Path) -> Written:
    """`path`, or with the root's name where there are several trees; its robot is the one of `--to urdf`."""
    check_mcap(scene)
    figure = build_mechanism(scene, "z", URDF_LETTERS, URDF_FIRST_LETTER, (WORLD_LINK, BASE_LINK), "MCAP")
    trees, files = figure.trees(), []
    for tree in trees:
        own = path if len(trees) == 1 else path.with_name(f"{path.stem}-{tree.names[0]}{path.suffix}")
        robot = Robot(tree)
        states, moving = _list_angles(robot), _list_moving(robot)
        description = to_urdf(robot, make_title(own), scene.body_mass if tree.parts[0] else None).decode()
        for number, rows in enumerate(segment_slices(tree.segment), 1):
            files.append(number_file(own, number))
            _write_part(files[-1], robot, rows, states, moving, description)
    return Written(tuple(files), (*figure.findings, *describe_lost_loops(scene, figure)))


def _write_part(
    path: Path,
    robot: Robot,
    rows: slice,
    states: tuple[list[str], np.ndarray],
    moving: list[MovingFrame],
    description: str,
) -> None:
    """The frames of one recording, whose clock begins at 0; `states` as of `_list_angles`, description: the URDF."""
    from mcap.writer import Writer

    figure = robot.figure
    begin = figure.time[rows.start]
    times = [round(time * 1e9) for time in np.maximum(figure.time[rows] - begin, 0.0).tolist()]
    joints, angles = states
    with open_atomic(path) as stream:
        writer: Any = Writer(stream)
        writer.start(profile="ros2", library="condyle")
        channels = {}
        schemas = {name: writer.register_schema(name, "ros2msg", text.encode()) for name, text in SCHEMAS.items()}
        for topic, kind in TOPICS.items():
            facts = {"offered_qos_profiles": LATCHED_PROFILE} if topic in SENT_ONCE else {}
            channels[topic] = writer.register_channel(topic, "cdr", schemas[kind], facts)

        def put(topic: str, time: int, message: bytes) -> None:
            writer.add_message(channels[topic], time, message, time)

        put("/robot_description", times[0], encode_string(description))
        put("/tf_static", times[0], encode_transforms(_list_fixed(robot), times[0]))
        for frame, time in enumerate(times, rows.start):
            put(
                "/tf",
                time,
                encode_transforms([Transform(up, name, R[frame], p[frame]) for up, name, R, p in moving], time),
            )
            put("/joint_states", time, encode_joint_state(joints, angles[frame], time))
        writer.add_metadata(*RECORDER)
        writer.finish()


def _list_angles(robot: Robot) -> tuple[list[str], np.ndarray]:
    """Names of the URDF's joints that move, and their angles [rad] or ways [m] (n, c)."""
    columns, values = robot.table()
    free = len(POSE) if robot.figure.kind[0] == "free" else 0
    return columns[free:], values[:, free:]


def _list_fixed(robot: Robot) -> list[Transform]:
    """The root in its base, bones that do not turn, and the sensors."""
    figure = robot.figure
    found = []
    for k, name in enumerate(figure.names):
        if figure.kind[k] == "free":
            found.append(Transform(BASE_LINK, name, figure.R_parent_bone_rest[k], np.zeros(3)))
        elif figure.kind[k] == "rigid":
            found.append(
                Transform(robot.find_parent_link(k), name, figure.R_parent_bone_rest[k], figure.p_parent_bone[k])
            )
        found.append(Transform(name, robot.sensor[k], figure.R_bone_body[k], figure.p_bone_body[k]))
    return found


def _list_moving(robot: Robot) -> list[MovingFrame]:
    """(frame, child, R (n, 3, 3), p (n, 3)): the base in the world, and each bone that moves on its parent."""
    figure, found = robot.figure, []
    for k, name in enumerate(figure.names):
        R = figure.R_parent_bone[:, k]
        if figure.kind[k] == "free":
            found.append((WORLD_LINK, BASE_LINK, R @ figure.R_parent_bone_rest[k].T, figure.p_world_free[:, 0]))
        elif figure.kind[k] != "rigid":
            found.append((robot.find_parent_link(k), name, R, figure.offsets[:, k]))
    return found


FORMAT = FigureFormat("mcap", "MCAP for ROS 2: URDF, transforms, joint states", ".mcap", write_mcap, check_mcap)
