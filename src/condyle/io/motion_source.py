"""motion.npz of a fit, some frames at a time: a long take is never in memory as a whole."""

from __future__ import annotations

import math
import mmap
import struct
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import CondyleError
from ..maths.arrays import Bools, Floats, Ints
from ..model.skeleton import Joint, Skeleton
from ..model.take import FARTHEST, UNTIMED_RATE

_AGAIN = "write it anew with condyle fit -o"
_TURNS, _PLACES = ("R_world_body", "R_world_played"), ("p_world_body", "p_world_played")
_DAMAGE = (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError, RuntimeError, OSError)
AROUND = 1.0  # s before and after a loop holds in which its gap is told as well: how it came and went
_LARGEST_ENTRY = 2.0  # of a rotation matrix; beyond, it is none


@dataclass(frozen=True, eq=False)
class Source:
    """A take, its played motion and its gaps, as they stand in a file.

    bodies  (m,) column of each of the skeleton's bodies in the file
    gaps    (J,) column of the gap of each of the skeleton's joints
    time    (n,) [s]; segment (n,): number of the recording
    mapping the file, of which the arrays are parts
    """

    skeleton: Skeleton
    arrays: dict[str, NDArray[Any]]
    bodies: Ints
    gaps: Ints
    time: Floats
    segment: Ints
    timed: bool
    mapping: mmap.mmap | None = None

    @property
    def frames(self) -> int:
        return len(self.time)

    def rows(self, rows: slice | Ints) -> Frames:
        """These frames with the skeleton's bodies, and the gaps of its joints, then of its loops. `time` is the take's.
        A loop has a gap while it holds and AROUND that, and counts while it holds.

        A pose that is none, in a file that somebody changed, is not seen.
        """
        R, R_played = (self._poses(name, rows) for name in _TURNS)
        p, p_played = (self._poses(name, rows) for name in _PLACES)
        for turn, place in ((R, p), (R_played, p_played)):
            wrong = ~sound(turn, place)
            turn[wrong], place[wrong] = np.nan, np.nan
        gap = np.array(self.arrays["gap"][rows][:, self.gaps], np.float64)
        weight = np.array(self.arrays["weight"][rows][:, self.gaps], np.float64)
        if self.mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self.mapping.madvise(mmap.MADV_DONTNEED)  # what was read need not stay in memory
        time = self.time[rows]
        loops = [_loop_gap(joint, self.skeleton, R, p) for joint in self.skeleton.loops]
        for joint, size in zip(self.skeleton.loops, loops, strict=True):
            size[~_within(time, joint, AROUND)] = np.nan
        length = np.column_stack([np.linalg.norm(gap, axis=-1), *loops])
        held = [
            np.isfinite(size) & _within(time, joint) for joint, size in zip(self.skeleton.loops, loops, strict=True)
        ]
        length[~(np.abs(length) < FARTHEST)] = np.nan
        weight = np.where(np.isfinite(weight), weight, 0.0)
        return Frames(time, R, p, R_played, p_played, length, np.column_stack([weight, *held]))

    def _poses(self, name: str, rows: slice | Ints) -> Floats:
        return np.array(self.arrays[name][rows][:, self.bodies], np.float64)


def sound(R: Floats, p: Floats) -> Bools:
    """(n, m) where there is a pose: numbers throughout, and none that no pose has."""
    with np.errstate(invalid="ignore"):
        turned = (np.abs(R) <= _LARGEST_ENTRY).all(axis=(-2, -1))
        return np.asarray(turned & (np.abs(p) < FARTHEST).all(axis=-1))


def _within(time: Floats, joint: Joint, around: float = 0.0) -> Bools:
    """(n,) when a joint holds, and `around` [s] before and after."""
    start, end = (-np.inf, np.inf) if joint.time is None else joint.time
    return np.asarray((time >= start - around) & (time <= end + around))


def _loop_gap(joint: Joint, skeleton: Skeleton, R: Floats, p: Floats) -> Floats:
    """(n,) [m] how far the two sides of a loop are apart."""
    child, parent = (skeleton.bodies.index(name) for name in (joint.child, joint.parent))
    apart = p[:, child] - p[:, parent] + R[:, child] @ joint.p_child_joint - R[:, parent] @ joint.p_parent_joint
    return np.asarray(np.linalg.norm(apart, axis=-1))


def open_motion(folder: Path, skeleton: Skeleton) -> Source:
    """What a fit wrote beside skeleton.json. Raises where it is missing, damaged or not of this fit."""
    file = folder / "motion.npz"
    if not file.is_file():
        raise CondyleError(
            "there is no motion.npz beside skeleton.json; write both with condyle fit -o", code="no-motion", path=folder
        )
    try:
        arrays, mapping = _arrays(file)
        return _source(arrays, mapping, skeleton)
    except CondyleError as error:
        raise error.at(file) from None


def _source(arrays: dict[str, NDArray[Any]], mapping: mmap.mmap, skeleton: Skeleton) -> Source:
    names, joints = (_texts(arrays[name], name) for name in ("names", "joints"))
    for what, there, wanted in (
        ("bodies", names, skeleton.bodies),
        ("joints", joints, tuple(joint.child for joint in skeleton.joints)),
    ):
        if sorted(there) != sorted(wanted):
            raise CondyleError(
                f"holds the {what} {', '.join(there) or 'none'}, the skeleton {', '.join(wanted) or 'none'}; {_AGAIN}",
                code="bodies-differ",
            )
    n, m, j = len(arrays["p_world_body"]) if arrays["p_world_body"].ndim else 0, len(names), len(joints)
    if not n or not m:
        raise CondyleError(f"holds no pose at all; {_AGAIN}", code="no-data")
    shapes = {
        **dict.fromkeys(_TURNS, (n, m, 3, 3)), **dict.fromkeys(_PLACES, (n, m, 3)),
        "gap": (n, j, 3), "weight": (n, j), "time": (n,), "segment": (n,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if name in arrays and (arrays[name].shape != shape or arrays[name].dtype.kind not in "fiu"):
            raise CondyleError(
                f"'{name}' is {arrays[name].dtype} of shape {arrays[name].shape}, expected numbers of shape {shape}; "
                f"{_AGAIN}",
                code="bad-shape",
            )
    timed = "time" in arrays
    time = np.array(arrays["time"], np.float64) if timed else np.arange(n) / UNTIMED_RATE
    segment = np.array(arrays["segment"], np.int64) if "segment" in arrays else np.zeros(n, np.int64)
    if not np.isfinite(time).all() or ((np.diff(time) <= 0) & (np.diff(segment) == 0)).any():
        raise CondyleError(f"time does not increase; {_AGAIN}", code="bad-time")
    return Source(
        skeleton,
        arrays,
        np.array([names.index(name) for name in skeleton.bodies], np.int64),
        np.array([joints.index(joint.child) for joint in skeleton.joints], np.int64),
        time,
        segment,
        timed,
        mapping,
    )


def _texts(names: NDArray[Any], what: str) -> tuple[str, ...]:
    if names.dtype.kind != "U" or names.ndim != 1:
        raise CondyleError(f"'{what}' is no list of texts; {_AGAIN}", code="bad-shape")
    return tuple(names.tolist())


def _arrays(file: Path) -> tuple[dict[str, NDArray[Any]], mmap.mmap]:
    """The arrays of the file, mapped and not read; nothing in it is ever unpickled."""
    needed = ("names", "joints", *_TURNS, *_PLACES, "gap", "weight")
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            missing = [name for name in needed if name not in there]
            if missing:
                raise CondyleError(f"no array '{missing[0]}'; {_AGAIN}", code="missing-array")
            wanted = [name for name in (*needed, "time", "segment") if name in there]
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            return {name: _mapped(mapping, stream, there[name]) for name in wanted}, mapping
    except _DAMAGE as error:
        raise CondyleError(f"is cut short or damaged ({error}); {_AGAIN}", code="damaged-file") from None


def _mapped(mapping: mmap.mmap, stream: IO[bytes], member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        raise zipfile.BadZipFile(f"{member.filename} is packed or locked, which condyle fit does not do")
    stream.seek(member.header_offset)
    head = stream.read(30)
    name, extra = struct.unpack("<HH", head[26:30])
    begin = member.header_offset + 30 + name + extra
    stream.seek(begin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers of Python 2 warn and are read all the same
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(npy.read_magic(stream))
        if reader is None:
            raise zipfile.BadZipFile(f"the header of {member.filename} is of another version")
        try:
            shape, fortran, dtype = reader(stream)
        except (SyntaxError, TypeError, KeyError, MemoryError) as error:  # numpy reads it as Python
            raise ValueError(f"the header of {member.filename} is no header") from error
    start = stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or start - begin + size != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} does not hold what it declares")
    if not size:
        return np.zeros(shape, dtype)
    return np.frombuffer(mapping, dtype, math.prod(shape), start).reshape(shape, order="F" if fortran else "C")


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of a motion, before packing or after unpacking.

    time      (n,)          [s]  since the recording began
    R, p      (n, m, 3, 3), (n, m, 3) [m]  measured; NaN where not seen
    R_played, p_played      the same of the played motion; NaN where not known
    gap       (n, J)   [m]  length of the gap; NaN where not known
    weight    (n, J)   [-]
    """

    time: Floats
    R: Floats
    p: Floats
    R_played: Floats
    p_played: Floats
    gap: Floats
    weight: Floats

    def at(self, rows: Ints) -> Frames:
        """Copies of these frames."""
        return Frames(*(getattr(self, name)[rows] for name in Frames.__dataclass_fields__))
