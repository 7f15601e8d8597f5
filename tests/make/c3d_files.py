"""A small writer of C3D files in every variant of the format, sound or contradictory, for the tests of the reader."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 512
PROCESSORS = {"Intel": 84, "DEC": 85, "MIPS": 86}


class Encoder:
    """Numbers as one processor stores them."""

    def __init__(self, processor: str) -> None:
        self.processor = processor
        self.order = ">" if processor == "MIPS" else "<"

    def integers(self, values: ArrayLike) -> bytes:
        return (np.atleast_1d(values).astype(np.int64) & 0xFFFF).astype(f"{self.order}u2").tobytes()

    def floats(self, values: ArrayLike) -> bytes:
        if self.processor != "DEC":
            return np.asarray(values, f"{self.order}f4").tobytes()
        with np.errstate(all="ignore"):
            bits = (np.atleast_1d(np.asarray(values, np.float32)) * np.float32(4)).view(np.uint32)
        return ((bits >> 16) | (bits << 16)).astype("<u4").tobytes()


def record(code: Encoder, group: int, name: str, value: Any = None, *, last: bool = False) -> bytes:
    """One record of the parameter section: a group where the number is below zero, else a parameter."""
    body = b"\x00"
    if group > 0:
        kind, shape, data = encoded(code, value)
        body = struct.pack("bB", kind, len(shape)) + bytes(shape) + data + b"\x00"
    link = 0 if last else (len(body) + 2) & 0xFFFF
    head = struct.pack("bb", len(name.encode()), group) + name.encode()
    return head + struct.pack(f"{code.order}H", link) + body


def encoded(code: Encoder, value: Any) -> tuple[int, list[int], bytes]:
    """Type, dimensions and bytes: text, int and float alone, or lists of one of them; bytes stay text as they are."""
    if isinstance(value, bytes):
        return -1, [len(value)], value
    if isinstance(value, str):
        return -1, [len(value.encode())], value.encode()
    alone = isinstance(value, (int, float))
    values = [value] if alone else list(value)
    if values and isinstance(values[0], str):
        raw = [text.encode() for text in values]
        width = max(map(len, raw)) if raw else 0
        return -1, [width, len(raw)], b"".join(text.ljust(width) for text in raw)
    shape = [] if alone else [len(values)]
    if any(isinstance(number, float) for number in values):
        return 4, shape, code.floats(values)
    return 2, shape, code.integers(values)


def c3d(
    points: ArrayLike | None = None,
    labels: Sequence[str] = (),
    *,
    processor: str = "Intel",
    scale: float = -1.0,
    residual: ArrayLike = 0.0,
    analog: NDArray[Any] | None = None,
    rate: float = 100.0,
    first: int = 1,
    rotations: NDArray[Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    header: Mapping[str, Any] | None = None,
    last_link: bool = False,
) -> bytes:
    """The bytes of a file.

    points      (n, k, 3) in the unit of the file
    scale       below zero: floats; else integers, points / scale
    analog      (n, samples, channels)
    rotations   (n * ratio, m, 17)
    parameters  "GROUP:NAME" to add or change; None leaves one out
    header      words to change: points, analog, first, last, scale, start, samples, rate
    last_link   the last record says that it is the last, instead of a zero behind it
    """
    code = Encoder(processor)
    points = np.zeros((0 if rotations is None else len(rotations), 0, 3)) if points is None else np.asarray(points)
    n, k = points.shape[:2]
    values: dict[str, Any] = {
        "POINT:USED": k,
        "POINT:FRAMES": min(n, 65535),
        "POINT:SCALE": float(scale),
        "POINT:RATE": float(rate),
        "POINT:DATA_START": 0,
        "POINT:UNITS": "mm",
        "POINT:LABELS": list(labels) or [f"M{j}" for j in range(k)],
        "ANALOG:USED": 0 if analog is None else analog.shape[2],
    }
    if rotations is not None:
        values |= {"ROTATION:USED": rotations.shape[1], "ROTATION:DATA_START": 0, "ROTATION:RATIO": 1}
    given = dict(parameters or {})
    values = {name: value for name, value in (values | given).items() if value is not None}
    frames = _frames(code, points, np.broadcast_to(residual, (n, k)), scale, analog)
    size = len(_section(code, values, last_link))
    start = 2 + size // BLOCK
    for name, block in (("POINT", start), ("ROTATION", start + len(frames) // BLOCK)):
        if f"{name}:DATA_START" in values and f"{name}:DATA_START" not in given:
            values[f"{name}:DATA_START"] = block
    section = _section(code, values, last_link)
    words = {
        "points": k,
        "analog": 0 if analog is None else analog.shape[1] * analog.shape[2],
        "first": first,
        "last": min(first + n - 1, 65535),
        "scale": scale,
        "start": start,
        "samples": 0 if analog is None else analog.shape[1],
        "rate": rate,
    } | dict(header or {})
    tail = b"" if rotations is None else _filled(code.floats(rotations))
    return _header(code, words) + section + frames + tail


def _header(code: Encoder, words: Mapping[str, Any]) -> bytes:
    raw = bytearray(BLOCK)
    raw[:2] = b"\x02\x50"
    for name, at in (("points", 2), ("analog", 4), ("first", 6), ("last", 8), ("start", 16), ("samples", 18)):
        raw[at : at + 2] = code.integers(words[name])
    raw[12:16], raw[20:24] = code.floats(words["scale"]), code.floats(words["rate"])
    return bytes(raw)


def _section(code: Encoder, values: Mapping[str, Any], last_link: bool) -> bytes:
    groups = list(dict.fromkeys(name.partition(":")[0] for name in values))
    raw = b"".join(record(code, -(k + 1), name) for k, name in enumerate(groups))
    names = list(values)
    for name in names:
        group, _, own = name.partition(":")
        raw += record(code, groups.index(group) + 1, own, values[name], last=last_link and name == names[-1])
    raw = b"\x01\x50\x00" + bytes([PROCESSORS[code.processor]]) + raw + (b"" if last_link else b"\x00\x00")
    raw = _filled(raw)
    return raw[:2] + bytes([len(raw) // BLOCK & 0xFF]) + raw[3:]


def _frames(
    code: Encoder, points: NDArray[Any], residual: NDArray[Any], scale: float, analog: NDArray[Any] | None
) -> bytes:
    n = len(points)
    flat = np.concatenate([points if scale < 0 else points / scale, residual[..., None]], axis=2).reshape(n, -1)
    if analog is not None:
        flat = np.concatenate([flat, analog.reshape(n, -1)], axis=1)
    return _filled(code.floats(flat) if scale < 0 else code.integers(np.rint(flat)))


def _filled(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % BLOCK)
