"""Bags are written by another library, from its own definitions of the messages."""

from __future__ import annotations

import bz2
import sqlite3
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import CondyleError
from condyle.io.formats import _bag_files as bag_files
from condyle.io.formats import identify, read_recording, rosbag
from condyle.model.recording import Recording, to_take
from tests.make.size import pick
from tests.make.texts import codes

pytest.importorskip("rosbags")
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

EXACT = 1e-12  # m or quaternion units
CUBIC = 1e-4  # m, of the motion below sampled at 50 Hz
STAMP = 1e-6  # s, of seconds since 1970 as a float

START = 1_700_000_000_000_000_000  # ns
SECOND = 10**9
ROS1, ROS2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
ROS1.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms", "tf2_msgs/msg/TFMessage"))
KINDS = ("ROS 1", "ROS 1 bz2", "ROS 1 lz4", "sqlite3", "sqlite3 zstd messages", "MCAP", "MCAP zstd")
TF, POSE = "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PoseStamped"
Pose = tuple[Sequence[float], Sequence[float]]  # position, quaternion xyzw
Line = tuple[str, str, int, Any]  # topic, type, log time, content


def motion(k: int, phase: float = 0.0, rate: float = 100.0) -> Pose:
    t = k / rate
    q = Rotation.from_rotvec([np.sin(t + phase), 0.4 * np.cos(2 * t), phase]).as_quat()
    return (0.3 * np.sin(2 * t + phase), phase, 0.1 * t), tuple(q)


def message(store: Any, kind: str, content: Any) -> Any:
    """A message of another library's making: stamp, frame, child frame or None, pose or poses."""
    T = store.types
    if kind == TF:
        return T[TF]([message(store, "geometry_msgs/msg/TransformStamped", each) for each in content])
    stamp, frame, child, pose = content
    extra = {"seq": 7} if store is ROS1 else {}
    header = T["std_msgs/msg/Header"](
        stamp=T["builtin_interfaces/msg/Time"](stamp // SECOND, stamp % SECOND), frame_id=frame, **extra
    )
    point = lambda p: T["geometry_msgs/msg/Point"](*map(float, p))  # noqa: E731
    turn = lambda q: T["geometry_msgs/msg/Quaternion"](*map(float, q))  # noqa: E731
    as_pose = lambda each: T["geometry_msgs/msg/Pose"](point(each[0]), turn(each[1]))  # noqa: E731
    if kind == "geometry_msgs/msg/PoseArray":
        return T[kind](header, [as_pose(each) for each in pose])
    if kind == POSE:
        return T[kind](header, as_pose(pose))
    if kind == "geometry_msgs/msg/TransformStamped":
        vector = T["geometry_msgs/msg/Vector3"](*map(float, pose[0]))
        return T[kind](header, child, T["geometry_msgs/msg/Transform"](vector, turn(pose[1])))
    with_covariance = T["geometry_msgs/msg/PoseWithCovariance"](as_pose(pose), np.zeros(36))
    if kind == "geometry_msgs/msg/PoseWithCovarianceStamped":
        return T[kind](header, with_covariance)
    zero = T["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
    twist = T["geometry_msgs/msg/TwistWithCovariance"](T["geometry_msgs/msg/Twist"](zero, zero), np.zeros(36))
    return T["nav_msgs/msg/Odometry"](header, child, with_covariance, twist)


def text_message(store: Any, content: str) -> Any:
    return store.types["std_msgs/msg/String"](content)


def write(folder: Path, kind: str, lines: Sequence[Line]) -> Path:
    """The file of a bag of this kind."""
    store = ROS1 if kind.startswith("ROS 1") else ROS2
    if store is ROS1:
        path = folder / "take.bag"
        writer: Any = Writer1(path)
        if kind != "ROS 1":
            writer.set_compression(getattr(Writer1.CompressionFormat, kind.split()[-1].upper()))
        serialize = store.serialize_ros1
    else:
        writer = Writer2(
            folder / "take",
            version=9,
            storage_plugin=StoragePlugin.MCAP if kind.startswith("MCAP") else StoragePlugin.SQLITE3,
        )
        if kind.endswith("zstd messages"):
            writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
        elif kind.endswith("zstd"):
            writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        path = folder / "take" / ("take.mcap" if kind.startswith("MCAP") else "take.db3")
        serialize = store.serialize_cdr
    with writer:
        connections: dict[str, Any] = {}
        for topic, msgtype, stamp, content in lines:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, msgtype, typestore=store)
            built = text_message(store, content) if isinstance(content, str) else message(store, msgtype, content)
            writer.write(connections[topic], stamp, serialize(built, msgtype))
    return path


def tf(k: int, *edges: tuple[str, str, Pose], rate: float = 100.0, topic: str = "/tf") -> Line:
    stamp = START + int(k * SECOND / rate)
    return topic, TF, stamp + 5000, [(stamp, parent, child, pose) for parent, child, pose in edges]


def two_trackers(frames: int = 5) -> list[Line]:
    chatter: Line = ("/chatter", "std_msgs/msg/String", START, "hello")
    return [chatter] + [tf(k, ("world", "hip", motion(k)), ("world", "knee", motion(k, 1.0))) for k in range(frames)]


def _small(kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write(Path(folder), kind, two_trackers()).read_bytes()


SMALL = {kind: _small(kind) for kind in KINDS}


@pytest.fixture
def bag(tmp_path: Path) -> Callable[..., Recording]:
    def read_lines(lines: Sequence[Line], kind: str = "MCAP") -> Recording:
        return read_recording(write(tmp_path, kind, lines))

    return read_lines


def poses(recording: Recording, name: str) -> tuple[np.ndarray, np.ndarray]:
    assert recording.bodies is not None
    k = recording.bodies.names.index(name)
    return recording.bodies.position[:, k], recording.bodies.orientation[:, k]


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_are_read_from_every_container(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file-of-any-name"
    path.write_bytes(SMALL[kind])
    assert identify(path).name == "rosbag"
    recording = read_recording(path)
    assert recording.bodies is not None
    assert recording.bodies.names == ("hip", "knee")
    assert recording.findings == ()
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, START / 1e9 + np.arange(5) / 100, atol=STAMP)
    position, orientation = poses(recording, "knee")
    np.testing.assert_array_equal(position, [motion(k, 1.0)[0] for k in range(5)])
    np.testing.assert_array_equal(orientation, [motion(k, 1.0)[1] for k in range(5)])
    assert recording.facts["world"] == "world"
    assert recording.convention.rotation == "xyzw"


@pytest.mark.parametrize("kind", ["ROS 1", "MCAP"])
@pytest.mark.parametrize(
    "msgtype",
    [
        POSE,
        "geometry_msgs/msg/PoseWithCovarianceStamped",
        "geometry_msgs/msg/TransformStamped",
        "nav_msgs/msg/Odometry",
    ],
)
def test_a_topic_of_poses_is_a_body_by_the_name_of_the_topic(
    bag: Callable[..., Recording], kind: str, msgtype: str
) -> None:
    lines: list[Line] = []
    for k in range(6):
        stamp = START + k * SECOND // 100
        lines += [(f"/{who}/pose", msgtype, stamp, (stamp, "map", who, motion(k, j))) for j, who in enumerate("ab")]
    recording = bag(lines, kind)
    assert recording.bodies is not None
    assert recording.bodies.names == ("/a/pose", "/b/pose")
    np.testing.assert_array_equal(poses(recording, "/b/pose")[0], [motion(k, 1.0)[0] for k in range(6)])
    np.testing.assert_array_equal(poses(recording, "/b/pose")[1], [motion(k, 1.0)[1] for k in range(6)])


def test_an_array_of_poses_is_a_body_each(bag: Callable[..., Recording]) -> None:
    kind = "geometry_msgs/msg/PoseArray"
    stamps = [START + k * SECOND // 100 for k in range(4)]
    recording = bag([("/all", kind, t, (t, "map", None, [motion(k), motion(k, 2.0)])) for k, t in enumerate(stamps)])
    assert recording.bodies is not None
    assert recording.bodies.names == ("/all[0]", "/all[1]")
    np.testing.assert_array_equal(poses(recording, "/all[1]")[0], [motion(k, 2.0)[0] for k in range(4)])


def test_chains_are_composed_up_to_the_top_with_standing_transforms_between(bag: Callable[..., Recording]) -> None:
    mount: Pose = ((1.0, 2.0, 3.0), tuple(Rotation.from_euler("z", 90, degrees=True).as_quat()))
    lines = [tf(0, ("room", "base", mount), topic="/tf_static")]
    lines += [tf(k, ("base", "upper", motion(k)), ("/upper", "/lower", motion(k, 1.0))) for k in range(8)]
    recording = bag(lines)
    assert recording.bodies is not None
    assert recording.bodies.names == ("upper", "lower")
    assert recording.facts["world"] == "room"
    R0, p0 = Rotation.from_quat(mount[1]), np.array(mount[0])
    for k in range(8):
        (p1, q1), (p2, q2) = motion(k), motion(k, 1.0)
        R1, R2 = Rotation.from_quat(q1), Rotation.from_quat(q2)
        expected = p0 + R0.apply(p1 + R1.apply(p2))
        np.testing.assert_allclose(poses(recording, "lower")[0][k], expected, atol=EXACT)
        turned = Rotation.from_quat(poses(recording, "lower")[1][k])
        assert ((R0 * R1 * R2).inv() * turned).magnitude() < 1e-7


def test_streams_of_other_rates_come_on_one_clock_and_it_is_told(bag: Callable[..., Recording]) -> None:
    lines = [tf(k, ("world", "fast", motion(k))) for k in range(100)]
    lines += [tf(k, ("world", "slow", motion(k, 1.0, 50.0)), rate=50.0) for k in range(50)]
    recording = bag(sorted(lines, key=lambda line: line[2]))
    assert codes(recording) == ["common-clock"]
    assert recording.frames == 100
    position, _ = poses(recording, "slow")
    truth = np.array([motion(k, 1.0)[0] for k in range(100)])
    assert np.abs(position - truth)[2:96].max() < CUBIC
    assert np.isnan(position[-1]).all()


def test_what_another_world_holds_is_left_out_and_told(bag: Callable[..., Recording]) -> None:
    lines = [
        tf(k, ("world", "a", motion(k)), ("world", "b", motion(k, 1.0)), ("elsewhere", "c", motion(k)))
        for k in range(5)
    ]
    recording = bag(lines)
    assert recording.bodies is not None
    assert recording.bodies.names == ("a", "b")
    assert codes(recording) == ["frames-left-out"]
    assert recording.findings[0].severity == "warning"
    assert recording.findings[0].bodies == ("c",)


def test_a_topic_that_repeats_a_frame_of_tf_is_no_second_body(bag: Callable[..., Recording]) -> None:
    lines = two_trackers()
    for k in range(5):
        stamp = START + k * SECOND // 100
        lines.append(("/vicon/hip", "geometry_msgs/msg/TransformStamped", stamp, (stamp, "world", "hip", motion(k))))
    recording = bag(lines)
    assert recording.bodies is not None
    assert recording.bodies.names == ("hip", "knee")
    assert [(f.code, f.severity) for f in recording.findings] == [("frames-left-out", "info")]


def test_a_few_goals_are_no_body(bag: Callable[..., Recording]) -> None:
    goal: Line = ("/goal", POSE, START, (START, "world", None, motion(3)))
    recording = bag([*two_trackers(), goal])
    assert recording.bodies is not None
    assert "/goal" not in recording.bodies.names
    assert codes(recording) == ["frames-left-out"]


def test_a_transform_sent_once_on_tf_stands_still(bag: Callable[..., Recording]) -> None:
    mount: Pose = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    recording = bag([tf(0, ("room", "world", mount)), *two_trackers()])
    assert recording.facts["world"] == "room"
    np.testing.assert_allclose(poses(recording, "hip")[0][:, 0], [1 + motion(k)[0][0] for k in range(5)], atol=EXACT)


def test_a_loop_of_transforms_is_an_error(bag: Callable[..., Recording]) -> None:
    with pytest.raises(CondyleError) as error:
        bag([tf(k, ("a", "b", motion(k)), ("b", "a", motion(k))) for k in range(4)])
    assert error.value.code == "tf-loop"


def test_a_topic_with_the_name_of_its_own_frame_is_a_body_and_no_loop(bag: Callable[..., Recording]) -> None:
    lines: list[Line] = []
    for k in range(6):
        stamp = START + k * SECOND // 100
        lines += [("truth", POSE, stamp, (stamp, "truth", None, motion(k)))]
        lines += [("guess", POSE, stamp, (stamp, "truth", None, motion(k, 1.0)))]
    recording = bag(lines)
    assert recording.bodies is not None
    assert recording.bodies.names == ("truth", "guess")
    assert codes(recording) == []
    np.testing.assert_array_equal(poses(recording, "guess")[0], [motion(k, 1.0)[0] for k in range(6)])


def test_a_topic_with_the_name_of_a_frame_takes_nothing_from_what_hangs_on_the_frame(
    bag: Callable[..., Recording],
) -> None:
    mount: Pose = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    lines = [tf(0, ("room", "base", mount), topic="/tf_static"), *[tf(k, ("base", "a", motion(k))) for k in range(5)]]
    for k in range(9):
        stamp = START + k * SECOND // 100
        lines.append(("base", POSE, stamp, (stamp, "map", None, motion(k, 2.0))))
    recording = bag(lines)
    assert recording.facts["world"] == "room"
    np.testing.assert_allclose(poses(recording, "a")[0][:, 0], [1 + motion(k)[0][0] for k in range(5)], atol=EXACT)
    assert [(one.code, one.bodies) for one in recording.findings] == [("frames-left-out", ("base in map",))]


def test_a_frame_with_two_parents_keeps_the_one_it_had_longest(bag: Callable[..., Recording]) -> None:
    lines = two_trackers() + [tf(k, ("hand", "hip", motion(k))) for k in range(5, 8)]
    recording = bag(lines)
    assert codes(recording) == ["frames-left-out"]
    assert "hip in hand" in recording.findings[0].text


def test_a_stamp_of_zero_is_the_time_of_recording(bag: Callable[..., Recording]) -> None:
    lines: list[Line] = []
    for k in range(4):
        lines.append(("/a", POSE, START + k * SECOND, (0, "map", None, motion(k))))
        lines.append(("/tf", TF, START + k * SECOND, [(0, "map", "b", motion(k))]))
    recording = bag(lines)
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, START / 1e9 + np.arange(4), atol=STAMP)


@pytest.mark.parametrize("kind", ["ROS 1", "MCAP", "sqlite3"])
def test_a_bag_without_poses_names_its_topics(bag: Callable[..., Recording], kind: str) -> None:
    with pytest.raises(CondyleError) as error:
        bag([("/chatter", "std_msgs/msg/String", START, "hello")], kind)
    assert error.value.code == "no-data"
    assert "/chatter (std_msgs/" in error.value.text


def test_a_pose_that_is_not_a_number_is_not_seen(bag: Callable[..., Recording]) -> None:
    lines = two_trackers()
    lines[3] = tf(2, ("world", "hip", ((np.nan, 0, 0), (0, 0, 0, 1))), ("world", "knee", motion(2, 1.0)))
    take = to_take(bag(lines))
    assert take.seen[:, 0].tolist() == [True, True, False, True, True]


@pytest.mark.sized
@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_is_told_or_an_error(tmp_path: Path, kind: str) -> None:
    path, whole = tmp_path / "cut", SMALL[kind]
    kept = 0
    for cut in [*range(1, len(whole), 1 + len(whole) // pick(100, 400, len(whole))), len(whole) - 1]:
        path.write_bytes(whole[:cut])
        try:
            recording = read_recording(path)
        except CondyleError:
            continue
        kept = max(kept, recording.frames)
        if recording.frames < 5:
            assert "truncated-file" in codes(recording), cut
    if "ROS 1" in kind or "MCAP" in kind:
        assert kept == 5


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_never_crash(tmp_path: Path, kind: str, rng: np.random.Generator) -> None:
    path = tmp_path / "damaged"
    for _ in range(150):
        raw = bytearray(SMALL[kind])
        for at in rng.integers(0, len(raw), 4):
            raw[at] = rng.integers(0, 256)
        path.write_bytes(raw)
        try:
            read_recording(path)
        except CondyleError:
            continue


def by_hand(changed: bool = False, compression: bytes = b"") -> bytes:
    """An MCAP of one chunk with its checksum, of which one number may be changed afterwards."""
    record = lambda code, content: struct.pack("<BQ", code, len(content)) + content  # noqa: E731
    text = lambda words: struct.pack("<I", len(words)) + words  # noqa: E731
    inside = record(3, struct.pack("<H", 1) + text(b"geometry_msgs/msg/PoseStamped") + text(b"ros2msg") + text(b""))
    inside += record(4, struct.pack("<HH", 0, 1) + text(b"/a") + text(b"cdr") + text(b""))
    for k in range(3):
        stamp = START + k * SECOND
        data = bytes(ROS2.serialize_cdr(message(ROS2, POSE, (stamp, "map", None, motion(k))), POSE))
        inside += record(5, struct.pack("<HIQQ", 0, k, stamp, stamp) + data)
    head = struct.pack("<QQQI", START, START, len(inside), zlib.crc32(inside)) + text(compression)
    if changed:
        inside = inside.replace(struct.pack("<d", motion(2)[0][0]), struct.pack("<d", 9.0))
    chunk = record(6, head + struct.pack("<Q", len(inside)) + inside)
    return bag_files.MCAP + record(1, text(b"ros2") + text(b"")) + chunk + record(0x0F, bytes(4)) + bag_files.MCAP


def test_a_number_changed_inside_a_chunk_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "changed.mcap"
    path.write_bytes(by_hand())
    np.testing.assert_array_equal(poses(read_recording(path), "/a")[0], [motion(k)[0] for k in range(3)])
    path.write_bytes(by_hand(changed=True))
    with pytest.raises(CondyleError) as error:
        read_recording(path)
    assert "checksum" in error.value.text
    path.write_bytes(by_hand(compression=b"rar"))
    with pytest.raises(CondyleError) as error:
        read_recording(path)
    assert "'rar' is not known" in error.value.text


def test_a_chunk_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    def record(fields: dict[bytes, bytes], data: bytes) -> bytes:
        head = b"".join(struct.pack("<I", len(k) + 1 + len(v)) + k + b"=" + v for k, v in fields.items())
        return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data

    packed = bz2.compress(bytes(40 * 2**20))
    path = tmp_path / "bomb.bag"
    for size in (1000, 40 * 2**20, 2**32 - 1):
        chunk = {b"op": b"\x05", b"compression": b"bz2", b"size": struct.pack("<I", size)}
        path.write_bytes(b"#ROSBAG V2.0\n" + record(chunk, packed))
        with pytest.raises(CondyleError) as error:
            read_recording(path)
        assert error.value.code == "suspicious-size"


@pytest.mark.parametrize(("kind", "library"), [("ROS 1 lz4", "lz4"), ("MCAP zstd", "zstd")])
def test_without_the_extra_a_compressed_bag_names_it(
    tmp_path: Path, kind: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bag"
    path.write_bytes(SMALL[kind])
    for module in ("lz4.frame", "backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CondyleError) as error:
        rosbag.read(path, rosbag.ReadOptions())
    assert error.value.code == "missing-extra"
    assert "condyle[ros]" in error.value.text
    assert library in error.value.text


@pytest.mark.parametrize(
    "messages",
    [
        "VIEW messages AS WITH RECURSIVE c(topic_id, timestamp, data) AS "
        "(SELECT 1, 1, 1 UNION ALL SELECT topic_id, timestamp, data FROM c) SELECT * FROM c",
        "VIRTUAL TABLE messages USING rtree(topic_id, timestamp, data)",
    ],
)
def test_a_database_with_anything_else_for_tables_is_refused(tmp_path: Path, messages: str) -> None:
    path = tmp_path / "trap.db3"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE topics(id, name, type, serialization_format)")
    try:
        base.execute(f"CREATE {messages}")
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    base.commit()
    base.close()
    assert identify(path).name == "rosbag"
    with pytest.raises(CondyleError) as fault:
        read_recording(path)
    assert fault.value.code == "bad-header"


@pytest.mark.parametrize("head", [b"", b"#ROS", b"\x89PNG\r\n", b"SQLite format 3\x00" + bytes(100)])
def test_other_files_are_not_claimed(head: bytes) -> None:
    assert not rosbag.looks_like(head)


def test_no_recorded_file_of_another_kind_is_claimed(shared_data: Path) -> None:
    files = [file for file in shared_data.rglob("*") if file.is_file()]
    assert [file.name for file in files if rosbag.looks_like(file.read_bytes()[:65536])] == []


@pytest.mark.parametrize("kind", ["MCAP", "ROS 2"])
def test_the_folder_of_a_bag_stands_for_its_files(kind: str, tmp_path: Path) -> None:
    from condyle.cli import main
    from condyle.io.formats import list_files
    from condyle.prepare.read import read

    if kind not in KINDS:
        kind = next(one for one in KINDS if not one.startswith(("ROS 1", "MCAP")))
    file = write(tmp_path, kind, two_trackers())
    assert list_files(file.parent) == [file]
    assert read(file.parent, doctor=False).names == ("hip", "knee")
    assert main(["info", str(file.parent)]) == 0
    for number in (10, 2):
        file.with_stem(f"take_{number}").write_bytes(file.read_bytes())
    assert [one.stem for one in list_files(file.parent)] == ["take", "take_2", "take_10"]


def test_a_folder_that_only_looks_like_a_bag_is_told(tmp_path: Path) -> None:
    from condyle.errors import CondyleError
    from condyle.prepare.read import read

    (tmp_path / "metadata.yaml").touch()
    with pytest.raises(CondyleError, match="is a folder; name the files"):
        read(tmp_path)
