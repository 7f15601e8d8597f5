"""A GLB file as a rig: meshes, skins and materials stay, its animations are the new motion alone."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError
from ...maths import rotation
from ...maths.arrays import Floats
from ..atomic import read_small
from ..exports.gltf import GlbBuffer, align_signs, pack_glb
from ..formats._gltf_file import View, read_chunks
from ..formats._kinematics import order_parents_first
from ..formats.gltf import compute_poses, find_nearest, find_parents, find_rotations
from ..tables.header import number_repeats
from .bvh_rig import MOST_RIG_BYTES
from .rig_file import RigClip, RigFile


def read_glb_rig(path: Path) -> RigFile:
    """The joints of its skins, or without a skin all nodes that carry others, in the pose of its nodes."""
    raw = read_small(path, MOST_RIG_BYTES)
    file, data = read_chunks(raw)
    parent = find_parents(file.nodes)
    joints = sorted({joint for skin in file.skins for joint in skin.joints})
    if not joints:
        raise CondyleError("has no skin that tells its bones; export the character with its skin", code="no-data")
    if joints[0] < 0 or joints[-1] >= len(file.nodes):
        raise CondyleError("a skin names a joint that is not there; export it again", code="damaged-file")
    up = find_nearest(joints, parent)
    order = order_parents_first(up)
    place = {k: row for row, k in enumerate(order)}
    joints, up = [joints[k] for k in order], [place.get(up[k], -1) for k in order]
    A, p = compute_poses(file.nodes, parent, [], np.zeros(1))
    R = find_rotations(A[:, 0])
    if not (np.isfinite(R[joints]).all() and np.isfinite(p[joints]).all()):
        raise CondyleError(
            "a joint is mirrored, flat or nowhere at rest; apply its scale and export again", code="bad-header"
        )
    names, _ = number_repeats([file.nodes[k].name.strip() or f"node{k}" for k in joints], "joint")
    content = json.loads(raw[20 : 20 + struct.unpack("<I", raw[12:16])[0]])
    _check_buffer(file.bufferViews, content.get("buffers"), data)
    rest = _Rest(joints, parent, up, A[:, 0], R, p[:, 0])

    def render(clips: Sequence[RigClip]) -> list[bytes]:
        return [_render(content, data, rest, clips)]

    return RigFile(
        path,
        names,
        np.array(up, np.int64),
        R[joints],
        p[joints, 0],
        np.full((len(joints), 3), np.nan),
        (True,) * len(joints),
        render,
        tuple(_find_vrm_bones(content).get(node, name) for node, name in zip(joints, names, strict=True)),
    )


def _check_buffer(views: Sequence[View], buffers: Any, data: bytes) -> None:
    """Raises where meshes and skins have their numbers elsewhere or nowhere: the motion goes into that same buffer."""
    first = buffers[0] if isinstance(buffers, list) and buffers else None
    if isinstance(first, dict) and "uri" in first:
        raise CondyleError("has its meshes in another file; export it as one GLB, all inside", code="bad-header")
    end = max((view.byteOffset + view.byteLength for view in views if view.buffer == 0), default=0)
    if views and (not isinstance(first, dict) or end > len(data)):
        raise CondyleError("numbers of its meshes and skins are not in the file; export it again", code="damaged-file")


def _find_vrm_bones(content: dict[str, Any]) -> dict[int, str]:
    """{node: bone of VRM} of an avatar, version 1 or 0; nothing of other files, or where that part is damaged."""
    extensions = content.get("extensions")
    found: dict[int, str] = {}
    for word in ("VRMC_vrm", "VRM"):
        try:
            bones = extensions[word]["humanoid"]["humanBones"]  # type: ignore[index]
            pairs = bones.items() if isinstance(bones, dict) else ((one["bone"], one) for one in bones)
            found |= {int(one["node"]): str(bone) for bone, one in pairs}
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


class _Rest:
    """Nodes at rest: joints (b) by their nodes, each one's parent among them, and of all nodes the parent, the linear
    part A (m, 3, 3), its rotation R and the place p (m, 3).
    """

    def __init__(self, joints: list[int], parent: list[int], up: list[int], A: Floats, R: Floats, p: Floats) -> None:
        self.joints, self.parent, self.up, self.A, self.R, self.p = joints, parent, up, A, R, p

    def find_local(self, clip: RigClip, bone: int) -> Floats:
        """(n, 3, 3) rotation of a joint in its own parent node, which may lie between two joints."""
        above, near = self.parent[self.joints[bone]], self.up[bone]
        R = clip.R_world[:, bone]
        if above < 0:
            return R
        if near < 0:
            return np.asarray(self.R[above].T @ R)
        still = self.R[self.joints[near]].T @ self.R[above]
        return np.asarray(np.swapaxes(clip.R_world[:, near] @ still, -1, -2) @ R)

    def find_place(self, clip: RigClip, bone: int) -> Floats:
        """(n, 3) place of a joint in its own parent node; what is above the joint stands still."""
        above = self.parent[self.joints[bone]]
        p = clip.p_world[:, bone]
        return p if above < 0 else np.asarray(np.linalg.solve(self.A[above], (p - self.p[above]).T).T)


def _render(content: dict[str, Any], data: bytes, rest: _Rest, clips: Sequence[RigClip]) -> bytes:
    made = dict(content)
    buffer = GlbBuffer(data, content.get("bufferViews", ()), content.get("accessors", ()))
    made["nodes"] = [
        _separate(node, rest.R[k], rest.parent[k], rest) if k in set(rest.joints) and "matrix" in node else node
        for k, node in enumerate(content["nodes"])
    ]
    made["animations"] = [_animate(clip, rest, number, buffer) for number, clip in enumerate(clips, 1)]
    made |= {"accessors": buffer.accessors, "bufferViews": buffer.views}
    first, *others = content.get("buffers") or [{}]
    made["buffers"] = [{**first, "byteLength": len(buffer.data)}, *others]
    return pack_glb(made, bytes(buffer.data))


def _separate(node: dict[str, Any], R: Floats, above: int, rest: _Rest) -> dict[str, Any]:
    """A node that has a matrix with place, rotation and scale instead: only these can be animated."""
    M = np.array(node["matrix"], np.float64).reshape(4, 4).T
    local = R if above < 0 else rest.R[above].T @ R
    scale = np.diag(local.T @ M[:3, :3])
    plain = {key: value for key, value in node.items() if key != "matrix"}
    turn = rotation.to_quaternion(local)[[1, 2, 3, 0]].tolist()
    return plain | {"translation": M[:3, 3].tolist(), "rotation": turn, "scale": scale.tolist()}


def _animate(clip: RigClip, rest: _Rest, number: int, buffer: GlbBuffer) -> dict[str, Any]:
    turns = (rotation.to_quaternion(rest.find_local(clip, bone)) for bone in range(len(rest.joints)))
    tracks = [
        (rest.joints[clip.placed], "translation", rest.find_place(clip, clip.placed)),
        *((node, "rotation", align_signs(q[:, [1, 2, 3, 0]])) for node, q in zip(rest.joints, turns, strict=True)),
    ]
    return buffer.animate(f"take {number}", clip.time, tracks)
