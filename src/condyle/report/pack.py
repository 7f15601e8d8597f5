"""Motion as small whole numbers: what a page of a few megabytes can carry, at a stated precision.

A piece holds some frames (1024, but for the last) and unpacks by itself: base64, then raw deflate (RFC 1951), then ten
groups of channels, one after the other. A channel is one whole number a frame. For m bodies, k bodies in `free`, and J
joints and loops together:

    time     1    times `time_step` [s], since the recording's entry in `starts`
    seen     m    1 where the measured pose is there
    known    m    1 where the played pose is there
    largest  m    which component of the played quaternion w, x, y, z is largest; it is positive
    rest     3 m  the other three, in that order, times half of `orientation_step`
    place    3 k  played place of the bodies in `free`, times `position_step` [m], from `origin`
    shift    3 m  measured minus played place, times `position_step` [m], along the axes of the world
    turn     3 m  rotation vector from played to measured axes, in the played ones, times `orientation_step` [rad]
    gap      J    0 where not known, else 1 + the length of the gap over the joint's `gap_step` [m]
    weight   J    how much the gap counted, times 15; a loop counts while it holds, and has a gap a second around

A group of c channels over n frames is one byte, the order 0, 1 or 2, and four planes of c times n bytes: the lowest
byte of every number, channel after channel, then the next, up to the highest, so that deflate finds what is alike. The
number u of four bytes stands for u / 2 where it is even and -(u + 1) / 2 where it is odd. Then running sums over time
are taken within each channel, as often as the order says, in 32 bits that wrap around.

The largest component is the root of one minus the squares of the others. Bodies that are not in `free` have their
played place from their joint, parents first: p_child = p_parent + R_parent p_parent_joint - R_child p_child_joint.
Where the played pose is not known, shift and turn are relative to the axes of the world at `origin`. Measured poses are
written against the played ones as the page will unpack them, so that errors do not add up.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.motion_file import Frames
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from ..model.values import dataclass
from .page_data import WEIGHT_STEPS

Small = NDArray[np.int32]
LARGEST_NUMBER = 2**31 - 2  # the largest number that is written; what lies beyond is shown there


@dataclass(frozen=True, eq=False)
class Packing:
    """How the numbers of a piece are to be understood.

    bodies      m
    links       (child, parent, p_child_joint, p_parent_joint) of the bodies whose played place follows, parents first
    free        bodies whose played place is written
    origin      (3,) [m]  from which places are counted
    position    [m], orientation [rad], time [s]: what 1 stands for; for quaternions half of `orientation` [-]
    gap         (J,) [m]  the same of each joint's gap
    """

    bodies: int
    links: tuple[tuple[int, int, Floats, Floats], ...]
    free: tuple[int, ...]
    origin: Floats
    position: float
    orientation: float
    time: float
    gap: Floats

    def channels(self) -> dict[str, int]:
        """How many channels each group has, in the order in which they are written."""
        m, k, joints = self.bodies, len(self.free), len(self.gap)
        return {
            "time": 1, "seen": m, "known": m, "largest": m, "rest": 3 * m, "place": 3 * k, "shift": 3 * m,
            "turn": 3 * m, "gap": joints, "weight": joints,
        }  # fmt: skip


def pack(frames: Frames, packing: Packing) -> bytes:
    """One piece of these frames."""
    n = len(frames.time)
    seen = _whole(frames.R, frames.p)
    known = _whole(frames.R_played, frames.p_played)
    for child, parent, _, _ in packing.links:
        known[:, child] &= known[:, parent]  # a place that follows needs what it follows from
    largest, rest = _quaternions(frames.R_played, known, packing)
    place = _steps(np.nan_to_num(frames.p_played[:, packing.free] - packing.origin), packing.position)
    place = _hold_last(place, known[:, packing.free])
    R_shown, p_shown = _unpack_poses(largest, rest, place, known, packing)
    shift = _steps(np.where(seen[..., None], frames.p - p_shown, 0.0), packing.position)
    turn = _steps(np.where(seen[..., None], rotation.between(R_shown, frames.R), 0.0), packing.orientation)
    there = np.isfinite(frames.gap)
    gap = np.where(there, _steps(np.where(there, frames.gap, 0.0), packing.gap, LARGEST_NUMBER - 1) + 1, 0)
    weight = np.rint(np.clip(np.nan_to_num(frames.weight), 0, 1) * WEIGHT_STEPS)
    groups = {
        "time": _steps(frames.time, packing.time), "seen": seen, "known": known, "largest": largest, "rest": rest,
        "place": place, "shift": shift, "turn": turn, "gap": gap, "weight": weight,
    }  # fmt: skip
    engine = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_RLE)  # noise repeats nothing but empty planes
    parts = [engine.compress(_pack(groups[name].reshape(n, -1))) for name in packing.channels()]
    return b"".join([*parts, engine.flush()])


def unpack(data: bytes, n: int, packing: Packing) -> Frames:
    """The `n` frames of a piece again, each number within half of what 1 stands for."""
    raw = zlib.decompress(data, wbits=-15)
    groups: dict[str, Ints] = {}
    begin = 0
    for name, count in packing.channels().items():
        end = begin + 1 + 4 * count * n
        groups[name] = _unpack(raw[begin:end], n).astype(np.int64)
        begin = end
    if begin != len(raw):
        raise ValueError(f"{len(raw)} bytes, expected {begin}")
    m = packing.bodies
    seen, known = groups["seen"] == 1, groups["known"] == 1
    rest, place = groups["rest"].reshape(n, m, 3), groups["place"].reshape(n, -1, 3)
    R_shown, p_shown = _unpack_poses(groups["largest"], rest, place, known, packing)
    turned = R_shown @ rotation.from_vector(groups["turn"].reshape(n, m, 3) * packing.orientation)
    moved = p_shown + groups["shift"].reshape(n, m, 3) * packing.position
    return Frames(
        np.asarray(groups["time"][:, 0] * packing.time, np.float64),
        np.where(seen[..., None, None], turned, np.nan),
        np.where(seen[..., None], moved, np.nan),
        np.where(known[..., None, None], R_shown, np.nan),
        np.where(known[..., None], p_shown, np.nan),
        np.where(groups["gap"] > 0, (groups["gap"] - 1) * packing.gap, np.nan),
        groups["weight"] / WEIGHT_STEPS,
    )


def _quaternions(R: Floats, known: Bools, packing: Packing) -> tuple[Ints, Ints]:
    """(n, m) which component is largest, made positive; (n, m, 3) the three others, in order, as steps."""
    w, x, y, z = rotation.to_quaternion(R if known.all() else np.where(known[..., None, None], R, np.eye(3))).T
    largest = np.abs([w, x, y, z]).argmax(axis=0)
    by_w, by_x, by_y = largest == 0, largest <= 1, largest <= 2
    sign = np.copysign(1.0, np.where(by_w, w, np.where(by_x, x, np.where(by_y, y, z))))
    others = np.where(by_w, x, w), np.where(by_x, y, x), np.where(by_y, z, y)
    rest = _steps(np.stack([(sign * one).T for one in others], axis=-1), packing.orientation / 2)
    return _hold_last(largest.T[..., None], known)[..., 0], _hold_last(rest, known)


def _unpack_poses(largest: Ints, rest: Ints, place: Ints, known: Bools, packing: Packing) -> tuple[Floats, Floats]:
    """The played poses as a page unpacks them; where they are not known, the axes of the world at the origin."""
    n, m = largest.shape
    a, b, c = np.moveaxis(rest * (packing.orientation / 2), -1, 0)
    first = np.sqrt(np.maximum(1 - (a * a + b * b + c * c), 0.0))
    w = np.where(largest == 0, first, a)
    x = np.where(largest == 1, first, np.where(largest < 1, a, b))
    y = np.where(largest == 2, first, np.where(largest < 2, b, c))
    q = np.stack([w, x, y, np.where(largest == 3, first, c)], axis=-1)
    R, p = rotation.from_quaternion(q), np.zeros((n, m, 3))
    p[:, packing.free] = place * packing.position + packing.origin
    for child, parent, p_child_joint, p_parent_joint in packing.links:
        reach = rotation.carry(R[:, parent], p_parent_joint) - rotation.carry(R[:, child], p_child_joint)
        p[:, child] = p[:, parent] + reach
    if known.all():
        return R, p
    return np.where(known[..., None, None], R, np.eye(3)), np.where(known[..., None], p, packing.origin)


def _whole(R: Floats, p: Floats) -> Bools:
    """(n, m) which poses have no NaN: a sum over them has none either."""
    return np.asarray(np.isfinite(np.einsum("nmij->nm", R) + np.einsum("nmi->nm", p)))


def _steps(values: Floats, step: float | Floats, most: int = LARGEST_NUMBER) -> Ints:
    return np.rint(np.clip(values / step, -most, most)).astype(np.int64)


def _hold_last(values: Ints, known: Bools) -> Ints:
    """(n, c, ...) with the last known value in place of those that are not, so that differences are zero there."""
    if known.all():
        return values
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(known, rows, -1), axis=0)
    first = np.where(known.any(axis=0), known.argmax(axis=0), 0)
    return np.asarray(values[np.where(last < 0, first, last), np.arange(values.shape[1])])


def _pack(channels: NDArray[Any]) -> bytes:
    """A group (n, c): the order of differences, then four planes of c channels, each with n bytes."""
    steps = [np.ascontiguousarray(channels.T, dtype=np.int32)]  # differences wrap around, and back again when added up
    for _ in range(2):
        steps.append(np.diff(steps[-1], axis=1, prepend=np.int32(0)))
    order = int(np.argmin([_cost(step) for step in steps]))
    folded = (steps[order] << 1) ^ (steps[order] >> 31)
    planes = folded.astype("<i4", copy=False).view(np.uint8).reshape(-1, 4).T
    return bytes([order]) + planes.tobytes()


def _unpack(data: bytes, n: int) -> Small:
    """What `_pack` was given."""
    order, planes = data[0], np.frombuffer(data, np.uint8, offset=1).reshape(4, -1)
    folded = np.ascontiguousarray(planes.T).view("<u4")[:, 0]
    values = (folded >> 1).astype(np.int32) ^ -(folded & 1).astype(np.int32)
    channels = values.reshape(-1, n)
    for _ in range(order):
        channels = np.cumsum(channels, axis=1, dtype=np.int32)
    return np.asarray(channels.T)


def _cost(steps: Small) -> float:
    """About how many bits the numbers of a group take."""
    return float(np.log2(1 + np.abs(steps, dtype=np.float32)).sum())


def join_frames(parts: Sequence[Frames]) -> Frames:
    """Frames one after the other."""
    return Frames(*(np.concatenate([getattr(part, name) for part in parts]) for name in Frames.__dataclass_fields__))
