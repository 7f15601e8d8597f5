"""GLB (binary glTF 2.0): a skinned skeleton with its motion and the shapes that show it. y up, metres.

docs/exports/gltf.md describes what is written.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ...maths import rotation
from ...maths.arrays import Floats
from ..formats._gltf_file import BIN_CHUNK, JSON_CHUNK
from ..formats.gltf import GLTF_MAGIC
from .figure import Figure
from .scene import FigureFormat, Scene, Written
from .shapes import PART_COLOURS, DrawnPart, draw_parts

GL_FLOAT, GL_USHORT, GL_UINT = 5126, 5123, 5125  # types of components
VERTEX_BUFFER, INDEX_BUFFER = 34962, 34963  # what a part of the buffer is for


def write_glb(scene: Scene, path: Path) -> Written:
    """One file: every tree, and an animation for each segment."""
    figure = scene.figure.turn_up("y").fill_gaps()
    path.write_bytes(to_glb(figure))
    return Written((path,), figure.findings)


def to_glb(figure: Figure, extensions: Mapping[str, Any] | None = None) -> bytes:
    """The file of a figure that is y up and without unknown poses; bone k is node k. `extensions` are of the whole."""
    buffer = GlbBuffer()
    parts = draw_parts(figure)
    b = len(figure.names)
    nodes = [_node(figure, k) for k in range(b)]
    nodes.append({"name": "figure", "children": figure.free.tolist()})  # joints of a skin need an ancestor in common
    nodes.append({"name": "figure_shapes", "mesh": 0, "skin": 0})
    content: dict[str, Any] = {
        "asset": {
            "version": "2.0",
            "generator": f"condyle {__version__}",
            "extras": {
                "condyle": __version__,
                "fit_id": figure.fit_id,
                "frame_rate": _plain(figure.rate),
                "bodies": list(figure.bodies),
            },
        },
        "scene": 0,
        "scenes": [{"name": "condyle", "nodes": [b, b + 1]}],
        "nodes": nodes,
        "skins": [_skin(figure, buffer)],
        "meshes": [{"name": "figure_shapes", "primitives": _primitives(parts, buffer)}],
        "materials": [_material(part.name, PART_COLOURS[part.name]) for part in parts],
    }
    if extensions:
        content |= {"extensions": dict(extensions), "extensionsUsed": list(extensions)}
    clips = figure.clips() if figure.frames else ()
    if clips:
        content["animations"] = [_animation(clip, k, buffer) for k, clip in enumerate(clips, start=1)]
    content |= {"accessors": buffer.accessors, "bufferViews": buffer.views}
    content["buffers"] = [{"byteLength": len(buffer.data)}]
    return pack_glb(content, bytes(buffer.data))


class GlbBuffer:
    """The binary chunk while it grows, and what describes its parts; a file's own may stand before."""

    def __init__(self, data: bytes = b"", views: Sequence[Any] = (), accessors: Sequence[Any] = ()) -> None:
        self.data = bytearray(data)
        self.views: list[dict[str, Any]] = list(views)
        self.accessors: list[dict[str, Any]] = list(accessors)

    def add(self, values: NDArray[Any], kind: str, *, target: int | None = None, bounds: bool = False) -> int:
        """Number of the accessor of these values, (count,) or (count, width) or (count, 4, 4) column by column."""
        self.data += b"\x00" * (-len(self.data) % 4)
        raw = np.ascontiguousarray(values)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": raw.nbytes}
        if target is not None:
            view["target"] = target
        self.data += raw.tobytes()
        self.views.append(view)
        component = {"float32": GL_FLOAT, "uint16": GL_USHORT, "uint32": GL_UINT}[raw.dtype.name]
        accessor: dict[str, Any] = {
            "bufferView": len(self.views) - 1,
            "componentType": component,
            "count": len(raw),
            "type": kind,
        }
        if bounds:
            rows = raw.reshape(len(raw), -1)
            accessor |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def animate(self, name: str, time: Floats, tracks: Iterable[tuple[int, str, NDArray[Any]]]) -> dict[str, Any]:
        """An animation on its own clock from zero: of each node a "translation" (n, 3) or a "rotation" (n, 4) xyzw."""
        clock = self.add((time - time[0]).astype(np.float32), "SCALAR", bounds=True)
        samplers: list[dict[str, Any]] = []
        channels: list[dict[str, Any]] = []
        for node, path, values in tracks:
            output = self.add(values.astype(np.float32), "VEC4" if path == "rotation" else "VEC3")
            channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            samplers.append({"input": clock, "output": output, "interpolation": "LINEAR"})
        return {"name": name, "samplers": samplers, "channels": channels}


def _node(figure: Figure, bone: int) -> dict[str, Any]:
    node: dict[str, Any] = {
        "name": figure.names[bone],
        "translation": figure.p_parent_bone[bone].tolist(),
        "rotation": _xyzw(figure.R_parent_bone_rest[bone]).tolist(),
        "extras": {"body": figure.bodies[bone], "joint": figure.joints[bone], "kind": figure.kind[bone]},
    }
    if figure.children(bone):
        node["children"] = figure.children(bone)
    return node


def _skin(figure: Figure, buffer: GlbBuffer) -> dict[str, Any]:
    """Every bone is a joint; their inverse bind matrices are those of the rest pose."""
    R, p = figure.rest
    inverse = np.zeros((len(R), 4, 4), np.float32)
    inverse[:, :3, :3] = R  # the transpose of R', since matrices are stored column by column
    inverse[:, 3, :3] = -(np.swapaxes(R, -1, -2) @ p[..., None])[..., 0]
    inverse[:, 3, 3] = 1
    bones = list(range(len(R)))
    return {"name": "figure", "skeleton": len(R), "joints": bones, "inverseBindMatrices": buffer.add(inverse, "MAT4")}


def _primitives(parts: Sequence[DrawnPart], buffer: GlbBuffer) -> list[dict[str, Any]]:
    """Links, joints and sensors: each vertex follows one bone alone."""
    primitives = []
    for material, part in enumerate(parts):
        follows = np.zeros((len(part.bone), 4), np.uint16)
        follows[:, 0] = part.bone
        weights = np.zeros((len(part.bone), 4), np.float32)
        weights[:, 0] = 1
        attributes = {
            "POSITION": buffer.add(part.solid.point.astype(np.float32), "VEC3", target=VERTEX_BUFFER, bounds=True),
            "NORMAL": buffer.add(_units(part.solid.normal), "VEC3", target=VERTEX_BUFFER),
            "JOINTS_0": buffer.add(follows, "VEC4", target=VERTEX_BUFFER),
            "WEIGHTS_0": buffer.add(weights, "VEC4", target=VERTEX_BUFFER),
        }
        corners = part.solid.triangle.ravel().astype(np.uint32)
        indices = buffer.add(corners, "SCALAR", target=INDEX_BUFFER)
        primitives.append({"attributes": attributes, "indices": indices, "material": material})
    return primitives


def _animation(clip: Figure, number: int, buffer: GlbBuffer) -> dict[str, Any]:
    """The place of the free bones and the rotation of every bone, over the clip's own clock from zero."""
    places = [(bone, "translation", clip.p_world_free[:, k]) for k, bone in enumerate(clip.free.tolist())]
    turns = (
        (bone, "rotation", _units(align_signs(_xyzw(clip.R_parent_bone[:, bone])))) for bone in range(len(clip.names))
    )
    extras = {"frame_rate": _plain(clip.rate), "frames": clip.frames, "start": float(clip.time[0])}
    return {**buffer.animate(f"take {number}", clip.time, chain(places, turns)), "extras": extras}


def align_signs(q: Floats) -> Floats:
    """Quaternions (n, 4) with the sign of each that is nearer to the one before: a player turns the short way."""
    against = (q[1:] * q[:-1]).sum(axis=1) < 0
    sign = 1.0 - 2.0 * (np.concatenate([[0], np.cumsum(against)]) % 2)
    return np.asarray(q * sign[:, None])


def _xyzw(R: Floats) -> Floats:
    return rotation.to_quaternion(R)[..., [1, 2, 3, 0]]


def _units(v: Floats) -> NDArray[np.float32]:
    """In single precision, and of unit length in it."""
    short = v.astype(np.float32)
    return np.asarray(short / np.linalg.norm(short.astype(np.float64), axis=-1, keepdims=True), np.float32)


def _material(name: str, colour: tuple[float, float, float]) -> dict[str, Any]:
    surface = {"baseColorFactor": [*colour, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6}
    return {"name": name, "pbrMetallicRoughness": surface}


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def pack_glb(content: dict[str, Any], data: bytes) -> bytes:
    """Header, JSON chunk, binary chunk."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("utf-8")
    text += b" " * (-len(text) % 4)
    data += b"\x00" * (-len(data) % 4)
    total = 12 + 8 + len(text) + 8 + len(data)
    parts = [GLTF_MAGIC, struct.pack("<II", 2, total), struct.pack("<I", len(text)), JSON_CHUNK, text]
    return b"".join([*parts, struct.pack("<I", len(data)), BIN_CHUNK, data])


FORMAT = FigureFormat("glb", "binary glTF, y up, metres", ".glb", write_glb)
