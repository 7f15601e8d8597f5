"""GLB (binary glTF 2.0): poses of the joints of its skins, by forward kinematics of its animations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import CondyleError
from ...maths import rotation
from ...maths.arrays import Bools, Floats
from ...model.recording import Convention, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import number_repeats
from ._kinematics import STATED_BY_ANGLES, STILL_ANGLE, BoneChain, order_parents_first

if TYPE_CHECKING:
    from ._gltf_file import Animation, GltfDocument, Node

GLTF_MAGIC = b"glTF"
MOST_GLTF_NODES = 65536
SAME_KEY_TIME_S = 1e-5  # s: keys of two channels nearer than this belong to one frame
TRACK_WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
COMPRESSED = ("EXT_meshopt_compression", "KHR_meshopt_compression")


@dataclass(frozen=True, eq=False)
class _Track:
    """One animated property of a node: time (k,) [s], values (k, width), how it goes on between."""

    node: int
    path: str
    time: Floats
    values: Floats
    interpolation: str


def looks_like(head: bytes) -> bool:
    """The magic word of a binary glTF file."""
    return head[:4] == GLTF_MAGIC


def read(path: Path, options: ReadOptions) -> Recording:
    """The pose of every joint of a skin, or of every animated node; one segment for each animation."""
    from ._gltf_file import read_chunks

    file, data = read_chunks(path.read_bytes())
    if any(word in COMPRESSED for word in file.extensionsRequired):
        raise CondyleError("its numbers are compressed (meshopt); export it without compression", code="bad-header")
    parent = find_parents(file.nodes)
    clips = [_read_tracks(animation, file, data) for animation in file.animations]
    clips = [clip for clip in clips if clip]
    joints = sorted({joint for skin in file.skins for joint in skin.joints}) or sorted(
        {track.node for clip in clips for track in clip}
    )
    if not joints or not clips:
        raise CondyleError("holds no skeleton with an animation; export the animation with it", code="no-data")
    if joints[0] < 0 or joints[-1] >= len(file.nodes):
        raise CondyleError("a skin names a joint that is not there; export it again", code="damaged-file")
    clocks = [_find_clock(clip) for clip in clips]
    frames = sum(map(len, clocks))
    names, findings = number_repeats([file.nodes[k].name.strip() or f"node{k}" for k in joints], "joint")
    up = find_nearest(joints, parent)
    R_rest, p_rest = compute_poses(file.nodes, parent, [], np.zeros(1))
    offsets = _find_offsets(up, find_rotations(R_rest[joints, 0]), p_rest[joints, 0])
    chain = BoneChain(names, tuple(up), offsets)
    moved = {track.node for clip in clips for track in clip}
    width = sum(TRACK_WIDTHS[track.path] for track in max(clips, key=len))
    BoneChain(("",) * len(file.nodes), (), offsets).check_size(frames, width)
    parts = [compute_poses(file.nodes, parent, clip, clock) for clip, clock in zip(clips, clocks, strict=True)]
    R = find_rotations(np.concatenate([part[0][joints] for part in parts], axis=1))
    p = np.concatenate([part[1][joints] for part in parts], axis=1)
    still = np.array([joint not in moved for joint in joints])
    poses, own, told = chain.bodies(np.moveaxis(R, 0, 1), np.moveaxis(p, 0, 1), _find_unmoved(still, up, R, p))
    names_of = ", ".join(animation.name for animation in file.animations if animation.name)
    facts = {"length": "m, as glTF has it", "rotation": "quaternions per joint", "up": "y, as glTF has it"}
    facts |= {"animations": f"{len(clips)}{f' ({names_of})' if names_of else ''}"}
    if file.asset.generator:
        facts["program"] = file.asset.generator
    return Recording(
        bodies=poses,
        time=np.concatenate(clocks),
        segment=np.repeat(np.arange(len(clocks)), [len(clock) for clock in clocks]),
        convention=Convention("matrix", unit="m", up="y", stated=STATED_BY_ANGLES | {"unit", "up", "handed"}),
        facts=facts,
        findings=(*findings, *told),
        solved_by=file.asset.generator or "the program that wrote the glTF file",
        own=own,
    )


def find_parents(nodes: Sequence[Node]) -> list[int]:
    if len(nodes) > MOST_GLTF_NODES:
        raise CondyleError(f"{len(nodes)} nodes; at most {MOST_GLTF_NODES} are read", code="suspicious-size")
    parent = [-1] * len(nodes)
    for k, node in enumerate(nodes):
        for child in node.children:
            if not 0 <= child < len(nodes) or parent[child] >= 0:
                raise CondyleError("its nodes are no tree; export it again", code="damaged-file")
            parent[child] = k
    return parent


def _read_tracks(animation: Animation, file: GltfDocument, data: bytes) -> list[_Track]:
    """What an animation does to nodes; weights of shapes and unknown targets are left out."""
    from ._gltf_file import read_values

    found = []
    for channel in animation.channels:
        path, node = channel.target.path, channel.target.node
        if path not in TRACK_WIDTHS or node is None:
            continue
        if not 0 <= node < len(file.nodes) or not 0 <= channel.sampler < len(animation.samplers):
            raise CondyleError("an animation names a node or sampler that is not there", code="damaged-file")
        sampler = animation.samplers[channel.sampler]
        time = read_values(sampler.input, "SCALAR", file, data)[:, 0]
        values = read_values(sampler.output, f"VEC{TRACK_WIDTHS[path]}", file, data)
        each = 3 if sampler.interpolation == "CUBICSPLINE" else 1
        if (
            not len(time)
            or len(values) != each * len(time)
            or not np.isfinite(time).all()
            or (np.diff(time) <= 0).any()
        ):
            raise CondyleError("an animation's keys and values do not match; export it again", code="damaged-file")
        if each == 3:
            values = values[1::3]  # the middle of in-tangent, value, out-tangent: exact at the keys
        found.append(_Track(node, path, time, values, sampler.interpolation))
    return found


def _find_clock(tracks: Sequence[_Track]) -> Floats:
    """(n,) [s] every time at which a channel has a key; keys nearer than rounding are one."""
    if all(track.time.shape == tracks[0].time.shape and (track.time == tracks[0].time).all() for track in tracks):
        return tracks[0].time
    times = np.unique(np.concatenate([track.time for track in tracks]))
    return np.asarray(times[np.concatenate([[True], np.diff(times) > SAME_KEY_TIME_S])])


def compute_poses(
    nodes: Sequence[Node], parent: Sequence[int], tracks: Sequence[_Track], clock: Floats
) -> tuple[Floats, Floats]:
    """Linear part (m, n, 3, 3) and place (m, n, 3) of every node in the world."""
    n, m = len(clock), len(nodes)
    by_node: dict[int, list[_Track]] = {}
    for track in tracks:
        by_node.setdefault(track.node, []).append(track)
    A, p = np.empty((m, n, 3, 3)), np.empty((m, n, 3))
    with np.errstate(invalid="ignore", over="ignore"):
        for k in order_parents_first(parent):
            A[k], p[k] = _compute_local(nodes[k], by_node.get(k, ()), clock)
            if parent[k] >= 0:
                up = parent[k]
                p[k] = p[up] + (A[up] @ p[k][..., None])[..., 0]
                A[k] = A[up] @ A[k]
    return A, p


def _compute_local(node: Node, tracks: Sequence[_Track], clock: Floats) -> tuple[Floats, Floats]:
    """A node in its parent: linear part (n, 3, 3) and place (n, 3), or with one row where it does not move."""
    if node.matrix is not None:
        if len(node.matrix) != 16:
            raise CondyleError(f"a node's matrix has {len(node.matrix)} numbers, not 16", code="damaged-file")
        M = np.array(node.matrix).reshape(4, 4).T
        return M[None, :3, :3], M[None, :3, 3]
    values: dict[str, Floats] = {
        "translation": np.array([node.translation]),
        "rotation": np.array([node.rotation]),
        "scale": np.array([node.scale]),
    }
    values |= {track.path: _sample(track, clock) for track in tracks}
    R = rotation.from_quaternion(values["rotation"][:, [3, 0, 1, 2]])
    return R * values["scale"][:, None, :], values["translation"]


def _sample(track: _Track, clock: Floats) -> Floats:
    """(n, width) at the times of the clock; held before the first and after the last key."""
    time, values = track.time, track.values
    if time.shape == clock.shape and (time == clock).all():
        return values
    before = np.clip(np.searchsorted(time, clock + SAME_KEY_TIME_S / 2, side="right") - 1, 0, max(len(time) - 2, 0))
    after = np.minimum(before + 1, len(time) - 1)
    apart = time[after] - time[before]
    share = np.clip((clock - time[before]) / np.where(apart > 0, apart, 1.0), 0.0, 1.0)[:, None]
    if track.interpolation == "STEP":
        share = np.floor(share + SAME_KEY_TIME_S)
    a, b = values[before], values[after]
    if track.path != "rotation":
        return np.asarray((1 - share) * a + share * b)
    Ra, Rb = rotation.from_quaternion(a[:, [3, 0, 1, 2]]), rotation.from_quaternion(b[:, [3, 0, 1, 2]])
    turn = rotation.from_vector(share * rotation.between(Ra, Rb))
    return rotation.to_quaternion(Ra @ turn)[:, [1, 2, 3, 0]]


def find_rotations(A: Floats) -> Floats:
    """Rotations of linear parts (..., 3, 3): without scale; what is mirrored or flat has none."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        size = np.cbrt(np.linalg.det(np.where(np.isfinite(A), A, np.nan)))[..., None, None]
        R = A / np.where(size > 0, size, np.nan)
        sheared = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1)) > 1e-5
    if sheared.any():
        R[sheared] = rotation.project(R[sheared])
    return R


def find_nearest(joints: Sequence[int], parent: Sequence[int]) -> list[int]:
    """Position among the joints of each one's nearest ancestor that is a joint, -1 without one."""
    row = {joint: k for k, joint in enumerate(joints)}
    found: dict[int, int] = {-1: -1}
    for k in order_parents_first(parent):
        up = parent[k]
        found[k] = row.get(up, found[up])
    return [found[joint] for joint in joints]


def _find_offsets(up: Sequence[int], R: Floats, p: Floats) -> Floats:
    """(m, 3) [m] of joints in their parents, in the pose that the file has without animation; roots have zeros."""
    inside = np.array(up) >= 0
    offsets = np.zeros((len(up), 3))
    parents = np.array(up)[inside]
    with np.errstate(invalid="ignore"):
        local = (np.swapaxes(R[parents], -1, -2) @ (p[inside] - p[parents])[..., None])[..., 0]
    offsets[inside] = np.where(np.isfinite(local), local, 0.0)
    return offsets


def _find_unmoved(still: Bools, up: Sequence[int], R: Floats, p: Floats) -> Bools:
    """(m,) which joints never turn or move in their parent's frame. R (m, n, 3, 3), p (m, n, 3)."""
    found = still.copy()
    for k in np.flatnonzero(~still).tolist():
        if up[k] >= 0:
            local = np.swapaxes(R[up[k]], -1, -2) @ R[k]
            place = (np.swapaxes(R[up[k]], -1, -2) @ (p[k] - p[up[k]])[..., None])[..., 0]
            found[k] = bool(
                np.ptp(local, axis=0).max() <= 1e3 * STILL_ANGLE and np.ptp(place, axis=0).max() <= 1e3 * STILL_ANGLE
            )
    return found


FORMAT = Format("gltf", "binary glTF", looks_like, read, held_whole="its numbers lie in any order behind a directory")
