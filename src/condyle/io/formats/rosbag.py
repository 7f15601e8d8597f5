"""Recordings of ROS: transforms (tf) and poses in bags of ROS 1, databases of rosbag2, and MCAP; docs/formats/ros.md.

Every stream is an edge from a parent frame to what moves in it. Edges are put on one clock and composed up to the frame
at the top, which is the world.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, list_some
from ...maths.arrays import Floats
from ...maths.spool import GrowingRows, one_of_many, seal, side_by_side
from ...model.recording import Bodies, Convention, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..resample import BodySamples, resample_streams
from ._bag_files import BAG, MCAP, SQLITE, Bag
from ._bag_messages import TF, TYPES, read_samples

STATIC_TOPIC = "tf_static"
FEWEST_STREAM_SAMPLES = 3  # of one that moves; fewer, all alike, hold the place of a transform that stands still
MOST_BAG_STREAMS = 2000


@dataclass
class _Edge:
    """Poses of `name` in the frame `parent`: rows of a stamp [ns] and 7 numbers. frame: as what tf knows it."""

    parent: str
    name: str
    frame: str | None
    tf: bool
    static: bool
    rows: GrowingRows = field(default_factory=GrowingRows)

    def stream(self) -> BodySamples:
        rows = self.rows.array()
        return BodySamples(self.name, rows[:, 0] / 1e9, rows[:, 1:4], rows[:, 4:])


def looks_like(head: bytes) -> bool:
    """The marks of a bag and of MCAP, or a database with rosbag2's two tables."""
    if head.startswith(SQLITE):
        return b"topics" in head and b"messages" in head and b"serialization_format" in head
    return head.startswith((BAG, MCAP))


def read(path: Path, options: ReadOptions) -> Recording:
    """Poses of everything that moves, in the frame at the top of the tree of transforms."""
    bag = Bag(path, TYPES)
    edges = _collect_edges(bag)
    if not edges:
        listed = ", ".join(f"{topic[:60]} ({kind[:60]})" for topic, kind in sorted(bag.topics.items())[:6])
        raise CondyleError(
            f"no transform and no pose in this bag; its topics are {listed or 'none'}, and tf, TransformStamped, "
            "PoseStamped, PoseWithCovarianceStamped, PoseArray and Odometry are read",
            code="no-data",
        )
    tree, findings = _find_tree(edges)
    world, moving, told = _find_one_world(tree)
    needed = {name for body in moving for name in _find_chain(tree, body)}
    edges_moving = [edge for name, edge in tree.items() if name in needed and not edge.static]
    time, position, orientation, clock = resample_streams([edge.stream() for edge in edges_moving])
    column = {edge.name: k for k, edge in enumerate(edges_moving)}
    poses: dict[str, tuple[Floats, Floats]] = {}
    for body in moving:
        above: tuple[Floats, Floats] | None = None
        for name in reversed(_find_chain(tree, body)):  # from the world down
            if name not in poses:
                edge = tree[name]
                local = (
                    _read_standing(edge) if edge.static else (position[:, column[name]], orientation[:, column[name]])
                )
                p, q = local if above is None else _compose(above, local)
                poses[name] = one_of_many(p, len(tree)), one_of_many(q, len(tree))
            above = poses[name]
    findings += told + clock
    if bag.cut:
        text = f"the bag ends early; {len(time)} frames come before the cut; copy it again or run its repair tool"
        findings.append(Finding("truncated-file", "warning", text, value=1.0, unit="frames", frame=len(time), count=1))
    n = len(time)
    return Recording(
        bodies=Bodies(
            tuple(moving),
            seal(side_by_side([np.broadcast_to(poses[name][0], (n, 3)) for name in moving])),
            seal(side_by_side([np.broadcast_to(poses[name][1], (n, 4)) for name in moving])),
        ),
        time=time,
        convention=Convention("xyzw", unit="m", up="z", stated=frozenset({"rotation"})),
        facts={"length": "m", "rotation": "quaternion xyzw", "program": bag.container, "world": world or "not named"},
        findings=tuple(findings),
    )


def _collect_edges(bag: Bag) -> list[_Edge]:
    """One edge per parent and name, in the order of their first samples."""
    edges: dict[tuple[str, str, bool], _Edge] = {}
    for message in bag.messages():
        tf = message.type in TF
        static = tf and message.topic.rpartition("/")[2] == STATIC_TOPIC
        for sample in read_samples(message):
            key = (sample.parent, sample.name, static)
            edge = edges.get(key)
            if edge is None:
                if len(edges) >= MOST_BAG_STREAMS:
                    raise CondyleError(f"more than {MOST_BAG_STREAMS} frames and pose topics", code="suspicious-size")
                edge = edges[key] = _Edge(sample.parent, sample.name, sample.frame, tf, static)
            edge.rows.add([min(sample.stamp, 2**63 - 1), *sample.values])
    return list(edges.values())


def _find_tree(edges: list[_Edge]) -> tuple[dict[str, _Edge], list[Finding]]:
    """{name: the edge above it}. Of several parents the one with most samples counts; copies and strays are told.

    A topic may have the name of a frame: frames go first, so that what hangs on them does not lose its place.
    """
    tree: dict[str, _Edge] = {}
    twice: list[str] = []
    for edge in sorted(edges, key=lambda edge: (not edge.tf, edge.static, -len(edge.rows))):
        if edge.name not in tree:
            tree[edge.name] = edge
        elif edge.parent != tree[edge.name].parent:
            twice.append(f"{edge.name} in {edge.parent}")
    moving_frames = {edge.name for edge in tree.values() if edge.tf and not edge.static}
    copies = [edge.name for edge in tree.values() if not edge.tf and edge.frame in moving_frames]
    few: list[str] = []
    standing: list[str] = []
    for name, edge in tree.items():
        if not edge.static and len(edge.rows) < FEWEST_STREAM_SAMPLES:
            alike = len({tuple(row) for row in edge.rows.array()[:, 1:].tolist()}) == 1
            (standing if alike and edge.tf else few).append(name)
    for name in {*copies, *few}:
        del tree[name]
    for name in standing:
        tree[name].static = True
    order = {edge.name: k for k, edge in reversed(list(enumerate(edges)))}
    findings = [
        *_describe_left_out(twice, "other parents of a frame, which has one parent at a time here", "warning"),
        *_describe_left_out(copies, "the same frames as in tf", "info"),
        *_describe_left_out(few, f"fewer than {FEWEST_STREAM_SAMPLES} poses", "info"),
    ]
    return dict(sorted(tree.items(), key=lambda item: order[item[0]])), findings


def _find_one_world(tree: dict[str, _Edge]) -> tuple[str, list[str], list[Finding]]:
    """The frame at the top of most moving things, those things, and what hangs elsewhere."""
    worlds: dict[str, list[str]] = {}
    for name, edge in tree.items():
        if not edge.static:
            worlds.setdefault(tree[_find_chain(tree, name)[-1]].parent, []).append(name)
    if not worlds:
        raise CondyleError("every transform in this bag stands still", code="no-data")
    world = max(worlds, key=lambda top: len(worlds[top]))
    others = [name for top, names in worlds.items() if top != world for name in names]
    told = _describe_left_out(others, f"no transform joins them to the frame '{world}' of the rest", "warning")
    return world, worlds[world], told


def _find_chain(tree: dict[str, _Edge], name: str) -> list[str]:
    """The names from this one up to the last below the world: a body that is a topic carries no frame."""
    chain = [name]
    while (above := tree[chain[-1]].parent) in tree and tree[above].tf:
        if above in chain:
            raise CondyleError(f"the transforms form a loop at '{above[:80]}'", code="tf-loop")
        chain.append(above)
    return chain


def _read_standing(edge: _Edge) -> tuple[Floats, Floats]:
    """The latest pose of a transform that stands still: (3,), (4,)."""
    values = edge.rows.array()[-1]
    return values[1:4], values[4:]


def _compose(above: tuple[Floats, Floats], below: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Poses in the world of what stands in a frame: positions (..., 3), quaternions xyzw (..., 4)."""
    (p, q), (x, r) = above, below
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        length = np.linalg.norm(q, axis=-1, keepdims=True)
        v, w = q[..., :3] / length, q[..., 3:] / length
        turn = 2 * np.cross(v, x)
        position = p + x + w * turn + np.cross(v, turn)
        vector = w * r[..., :3] + r[..., 3:] * v + np.cross(v, r[..., :3])
        scalar = w * r[..., 3:] - (v * r[..., :3]).sum(axis=-1, keepdims=True)
    return position, np.concatenate([vector, scalar], axis=-1)


def _describe_left_out(names: list[str], why: str, severity: str) -> list[Finding]:
    if not names:
        return []
    shown = list_some(names, 6, ", ...")
    text = f"left out: {shown} ({why})"
    return [Finding("frames-left-out", severity, text, tuple(names), value=float(len(names)))]  # type: ignore[arg-type]


FORMAT = Format("rosbag", "ROS bag (ROS 1, ROS 2, MCAP)", looks_like, read)
