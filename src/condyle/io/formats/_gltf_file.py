"""The two chunks of a GLB file: a typed view of its JSON, and numbers out of its binary part."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import CondyleError
from ...maths.arrays import Floats
from ._kinematics import FARTHEST_OFFSET

GLTF_VERSION = 2
JSON_CHUNK, BIN_CHUNK = b"JSON", b"BIN\x00"
COMPONENTS: dict[int, str] = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
ACCESSOR_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Node(msgspec.Struct):
    name: str = ""
    children: list[int] = []
    matrix: list[float] | None = None
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Skin(msgspec.Struct):
    joints: list[int] = []


class ChannelTarget(msgspec.Struct):
    path: str = ""
    node: int | None = None


class Channel(msgspec.Struct):
    sampler: int
    target: ChannelTarget


class Sampler(msgspec.Struct):
    input: int
    output: int
    interpolation: str = "LINEAR"


class Animation(msgspec.Struct):
    channels: list[Channel] = []
    samplers: list[Sampler] = []
    name: str = ""


class Accessor(msgspec.Struct):
    componentType: int
    count: int
    type: str
    bufferView: int | None = None
    byteOffset: int = 0
    normalized: bool = False
    sparse: Any = None


class View(msgspec.Struct):
    byteLength: int
    buffer: int = 0
    byteOffset: int = 0
    byteStride: int | None = None


class GltfAsset(msgspec.Struct):
    generator: str = ""


class GltfDocument(msgspec.Struct):
    asset: GltfAsset
    nodes: list[Node] = []
    skins: list[Skin] = []
    animations: list[Animation] = []
    accessors: list[Accessor] = []
    bufferViews: list[View] = []
    extensionsRequired: list[str] = []


def read_chunks(raw: bytes) -> tuple[GltfDocument, bytes]:
    """The JSON and the binary chunk; raises where the file is cut or is no glTF 2.0."""
    if len(raw) < 20:
        raise CondyleError("the file is cut within its header; copy it again", code="damaged-file")
    version, total, size = struct.unpack("<III", raw[4:16])
    if version != GLTF_VERSION:
        raise CondyleError(f"glTF version {version}; version 2 is read", code="newer-format")
    if total > len(raw):
        raise CondyleError(f"{len(raw)} of {total} bytes are there; copy it again", code="damaged-file")
    if raw[16:20] != JSON_CHUNK or 20 + size > total:
        raise CondyleError("its first chunk is not JSON; export it again", code="damaged-file")
    try:
        file = msgspec.json.decode(raw[20 : 20 + size].rstrip(b" \x00"), type=GltfDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CondyleError(f"its JSON is not that of a glTF file: {error}", code="damaged-file") from None
    start = 20 + size
    while start + 8 <= total:
        (length,) = struct.unpack("<I", raw[start : start + 4])
        if start + 8 + length > total:
            raise CondyleError("a chunk is longer than the file; copy it again", code="damaged-file")
        if raw[start + 4 : start + 8] == BIN_CHUNK:
            return file, raw[start + 8 : start + 8 + length]
        start += 8 + length
    return file, b""


def read_values(number: int, kind: str, file: GltfDocument, data: bytes) -> Floats:
    """(count, width) of an accessor; integers that stand for fractions become them."""
    if not 0 <= number < len(file.accessors):
        raise CondyleError("an animation names an accessor that is not there", code="damaged-file")
    accessor = file.accessors[number]
    view = None
    if accessor.bufferView is not None and 0 <= accessor.bufferView < len(file.bufferViews):
        view = file.bufferViews[accessor.bufferView]
    if view is None or accessor.sparse is not None or accessor.type != kind or view.buffer != 0:
        raise CondyleError("an animation's numbers are not plain arrays inside the file", code="bad-header")
    if accessor.componentType not in COMPONENTS:
        raise CondyleError(f"no type of number {accessor.componentType} in glTF", code="damaged-file")
    dtype = np.dtype(COMPONENTS[accessor.componentType])
    width = ACCESSOR_WIDTHS[kind]
    stride = view.byteStride or width * dtype.itemsize
    start = view.byteOffset + accessor.byteOffset
    inside = min(len(data), view.byteOffset + view.byteLength)
    end = start + (accessor.count - 1) * stride + width * dtype.itemsize
    if min(accessor.count, start, view.byteOffset, accessor.byteOffset, stride - width * dtype.itemsize) < 0 or (
        accessor.count and end > inside
    ):
        raise CondyleError("an animation's numbers lie outside the file; copy it again", code="damaged-file")
    raw: NDArray[Any] = np.ndarray(
        (accessor.count, width), dtype, data, start if accessor.count else 0, (stride, dtype.itemsize)
    )
    with np.errstate(invalid="ignore"):
        values = raw.astype(np.float64)
    if accessor.normalized and dtype.kind in "iu":
        values = np.maximum(values / np.iinfo(dtype).max, -1.0)
    return np.where(np.abs(values) < FARTHEST_OFFSET, values, np.nan)
