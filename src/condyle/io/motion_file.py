"""motion.npz of a fit: the one way into it, and out of it.

Export, report, view and retarget all read it here. Parts are read when they are asked for, so that a long take is
never in memory as a whole; sizes, types and checksums are looked at before the first number is. Nothing is ever
unpickled, nor mapped: where somebody cuts a mapped file, that ends the process.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..errors import CondyleError, name_file
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from ..maths.spool import hide, over_frames, spool_bytes
from ..model.clock import LATEST
from ..model.motion import Motion, derive_motion
from ..model.skeleton import Joint, Skeleton
from ..model.take import FARTHEST, UNTIMED_RATE, Take
from ..model.values import dataclass
from . import MOTION, SKELETON
from .folder import check_ids, find_folder, settle_folder
from .skeleton_file import read_skeleton

_AGAIN = "write it anew with condyle fit -o"
_PLACES = ("p_world_body", "p_world_played")
_QUATERNIONS, _MATRICES = "q_world_played", "R_world_played"  # the second as it was before; one of them is there
_DAMAGE = (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError, RuntimeError, OSError)
AROUND_S = 1.0  # before and after a loop holds in which its gap is told as well: how it came and went
_ROTATION_MAX_OFF = 0.01  # of the sum of squares and of the determinant of a rotation matrix, rounded to float16 or so
_READ_AT_ONCE = 2**20  # bytes
READ_OVER_MOST = 16  # rows that lie so near to each other are read with all between: one read costs as much as so many
FARTHEST_ROW = 2**40  # rows of an array that somebody may have; numpy has no shapes of more than 2**63
_REPLACED_WHILE_OPEN = os.name == "posix"  # Windows refuses to replace a file that is open, by whomever


class OpenFile:
    """Bytes of a file by their place, which several threads may read; closed when nobody has it any more. A pickled one
    has all its bytes, for a handle means nothing elsewhere.
    """

    def __init__(self, source: IO[bytes] | bytes) -> None:
        self._copy = source if isinstance(source, bytes) else _copy_stream(source)
        self._handle = -1 if isinstance(source, bytes) or self._copy is not None else os.dup(source.fileno())

    def read(self, start: int, size: int) -> bytes:
        """Raises where the file was cut since it was opened."""
        data = self._copy[start : start + size] if self._copy is not None else self._read_placed(start, size)
        if len(data) < size:
            raise CondyleError(f"motion.npz was cut while it was read; {_AGAIN}", code="damaged-file")
        return data

    def _read_placed(self, start: int, size: int) -> bytes:
        data = b""
        try:
            while len(data) < size:  # at most 2 GB come at once
                more = os.pread(self._handle, size - len(data), start + len(data))
                if not more:
                    break
                data = data + more if data else more
        except OSError as error:
            raise CondyleError(f"motion.npz cannot be read: {error.strerror}", code="damaged-file") from None
        return data

    def __reduce__(self) -> tuple[type[OpenFile], tuple[bytes]]:
        size = os.fstat(self._handle).st_size if self._copy is None else len(self._copy)
        return OpenFile, (self.read(0, size),)

    def __copy__(self) -> OpenFile:
        return self

    def __deepcopy__(self, memo: object) -> OpenFile:
        return self

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            os.close(self._handle)


def _copy_stream(stream: IO[bytes]) -> mmap.mmap | None:
    """All bytes of a file that could not be replaced while it is open; None where it can be."""
    if _REPLACED_WHILE_OPEN:
        return None
    stream.seek(0)
    return spool_bytes(iter(lambda: stream.read(_READ_AT_ONCE), b""))


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array that stays in its file, of which rows are read when they are asked for."""

    file: OpenFile
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def whole(self) -> NDArray[Any]:
        data = self.file.read(self.start, math.prod(self.shape) * self.itemsize)
        return np.frombuffer(data, self.dtype, math.prod(self.shape)).reshape(
            self.shape, order="F" if self.fortran else "C"
        )

    def __getitem__(self, rows: slice | Ints) -> NDArray[Any]:
        if self.fortran:  # whoever wrote that anew: no row lies in one place
            return self.whole()[rows]
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._read(start, max(stop - start, 0))
            wanted = np.arange(start, stop, step)
        else:
            there = rows.dtype.kind in "iu" and bool(((rows >= 0) & (rows < len(self))).all())
            wanted = rows.astype(np.int64) if there else np.arange(len(self))[rows]
        if not len(wanted):
            return np.empty((0, *self.shape[1:]), self.dtype)
        apart, block = np.diff(wanted), wanted // max(_READ_AT_ONCE // max(self._row_bytes, 1), 1)
        runs = np.split(wanted, np.flatnonzero((apart < 1) | (apart > READ_OVER_MOST) | (np.diff(block) != 0)) + 1)
        parts = [self._read(int(run[0]), int(run[-1] - run[0]) + 1)[run - run[0]] for run in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def _row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.itemsize

    def _read(self, first: int, count: int) -> NDArray[Any]:
        data = self.file.read(self.start + first * self._row_bytes, count * self._row_bytes)
        return np.frombuffer(data, self.dtype, count * math.prod(self.shape[1:])).reshape(count, *self.shape[1:])


def _over_stored(change: Callable[[NDArray[Any]], Floats], array: StoredArray) -> Floats:
    """What `change` makes of all of it, block by block."""
    return over_frames(lambda part: change(part[:]), array)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class MotionFile:
    """A take, its played motion and its gaps, as they stand in a file.

    bodies  (m,) column of each of the skeleton's bodies in the file
    gaps    (J,) column of the gap of each of the skeleton's joints
    time    (n,) [s]; segment (n,): number of the recording
    """

    skeleton: Skeleton
    arrays: dict[str, StoredArray]
    bodies: Ints
    gaps: Ints
    time: Floats
    segment: Ints
    timed: bool

    @property
    def frames(self) -> int:
        return len(self.time)

    def rows(self, rows: slice | Ints) -> Frames:
        """These frames with the skeleton's bodies, and the gaps of its joints, then of its loops. `time` is the take's.
        A loop has a gap while it holds and AROUND_S that, and counts while it holds.

        A pose that is none, in a file that somebody changed, is not seen.
        """
        R, R_played = (self._pick_turns(self.arrays[name][rows]) for name in ("R_world_body", self._played))
        p, p_played = (self._pick(self.arrays[name][rows]) for name in _PLACES)
        for turn, place in ((R, p), (R_played, p_played)):
            wrong = ~find_poses(turn, place)
            if wrong.any():
                turn[wrong], place[wrong] = np.nan, np.nan
        gap, weight = (_pick_columns(self.arrays[name][rows], self.gaps) for name in ("gap", "weight"))
        gap[~(np.abs(gap) < FARTHEST)] = np.nan
        weight[~(np.abs(weight) < FARTHEST)] = 0.0
        time = self.time[rows]
        loops = [_measure_loop(joint, self.skeleton, R, p) for joint in self.skeleton.loops]
        for joint, size in zip(self.skeleton.loops, loops, strict=True):
            size[~_find_times(time, joint, AROUND_S)] = np.nan
        length = np.column_stack([np.sqrt(np.einsum("njk,njk->nj", gap, gap)), *loops])
        held = [
            np.isfinite(size) & _find_times(time, joint) for joint, size in zip(self.skeleton.loops, loops, strict=True)
        ]
        length[~(np.abs(length) < FARTHEST)] = np.nan
        weight = np.where(np.isfinite(weight), weight, 0.0)
        return Frames(time, R, p, R_played, p_played, length, np.column_stack([weight, *held]))

    @property
    def gap(self) -> Floats:
        """(n, J, 3) [m] world vector from the parent's to the child's side of each of the skeleton's joints."""
        return _over_stored(lambda part: _pick_columns(part, self.gaps), self.arrays["gap"])

    @property
    def weight(self) -> Floats:
        """(n, J) [-] how much each gap counted."""
        return _over_stored(lambda part: _pick_columns(part, self.gaps), self.arrays["weight"])

    def take(self) -> Take:
        """The measured poses, in the order of the skeleton's bodies."""
        return self._take("R_world_body", "p_world_body")

    @property
    def _played(self) -> str:
        return _QUATERNIONS if _QUATERNIONS in self.arrays else _MATRICES

    def motion(self) -> Motion:
        """The played motion: `forward` gives the played poses again."""
        return derive_motion(self.skeleton, self._take(self._played, "p_world_played"))

    def _take(self, turns: str, places: str) -> Take:
        R = _over_stored(self._pick_turns, self.arrays[turns])
        p = _over_stored(self._pick, self.arrays[places])
        wrong = over_frames(lambda R, p: ~find_poses(R, p), R, p)
        R, p = hide(R, wrong), hide(p, wrong)
        sources, up = tuple(self.skeleton.take.get("sources", ())), self.skeleton.up
        return Take(self.skeleton.bodies, self.time, R, p, self.segment, self.timed, sources, up=up)

    def _pick(self, values: NDArray[Any]) -> Floats:
        return _pick_columns(values, self.bodies)

    def _pick_turns(self, values: NDArray[Any]) -> Floats:
        """(n, m, 3, 3) of matrices, or of quaternions (n, m, 4): those that are not of unit length are none."""
        turns = self._pick(values)
        if turns.ndim == 4:
            return turns
        with np.errstate(invalid="ignore", over="ignore"):
            turns[~(np.abs(np.einsum("nmi,nmi->nm", turns, turns) - 1) <= _ROTATION_MAX_OFF)] = np.nan
        return rotation.from_quaternion(turns)


def _pick_columns(values: NDArray[Any], columns: Ints) -> Floats:
    """(n, c, ...) these columns, in double precision and in memory of their own."""
    in_order = len(columns) == values.shape[1] and (columns == np.arange(len(columns))).all()
    with np.errstate(invalid="ignore"):  # damaged bytes may be numbers that are none in a way that warns
        return np.array(values if in_order else values[:, columns], np.float64)


def find_poses(R: Floats, p: Floats) -> Bools:
    """(n, m) where there is a pose: a rotation, and a place that is one.

    Of matrices whose squares add up to 3 and whose determinant is 1, all singular values are 1.
    """
    found = np.empty(R.shape[:-2], bool)
    flat = found.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore"):
        for rows, M in rotation.blocks(R, 9):
            square = np.einsum("ib,ib->b", M, M)
            volume = np.einsum("ib,ib->b", M[:3], rotation.cofactors(M)[:3])
            flat[rows] = (np.abs(square - 3) <= _ROTATION_MAX_OFF) & (np.abs(volume - 1) <= _ROTATION_MAX_OFF)
        for axis in range(3):
            found &= np.abs(p[..., axis]) < FARTHEST
    return found


def _find_times(time: Floats, joint: Joint, around: float = 0.0) -> Bools:
    """(n,) when a joint holds, and `around` [s] before and after."""
    start, end = (-np.inf, np.inf) if joint.time is None else joint.time
    return np.asarray((time >= start - around) & (time <= end + around))


def _measure_loop(joint: Joint, skeleton: Skeleton, R: Floats, p: Floats) -> Floats:
    """(n,) [m] how far the two sides of a loop are apart."""
    child, parent = skeleton.columns(joint)
    apart = p[:, child] + rotation.carry(R[:, child], joint.p_child_joint)
    apart -= p[:, parent] + rotation.carry(R[:, parent], joint.p_parent_joint)
    return np.asarray(np.linalg.norm(apart, axis=-1))


def open_motion(place: str | Path, skeleton: Skeleton | None = None) -> MotionFile:
    """What a fit wrote beside skeleton.json, given as the folder or as the skeleton.json in it.

    It belongs to the skeleton there, or to the given one. Raises CondyleError where it is missing, damaged or not of
    this fit.
    """
    folder = find_folder(place)
    settle_folder(folder)
    skeleton = read_skeleton(place) if skeleton is None else skeleton
    file = folder / MOTION
    if not file.is_file():
        raise CondyleError(
            "there is no motion.npz beside skeleton.json; write both with condyle fit -o", code="no-motion", path=folder
        )
    with name_file(file):
        arrays = _open_arrays(file)
        fit_id = _read_text(arrays.pop("fit_id").whole()) if "fit_id" in arrays else None
        check_ids((file, fit_id), (folder / SKELETON, skeleton.fit_id))
        return _match_arrays(arrays, skeleton)


def _match_arrays(arrays: dict[str, StoredArray], skeleton: Skeleton) -> MotionFile:
    names, joints = (_read_names(arrays[name].whole(), name) for name in ("names", "joints"))
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
        **dict.fromkeys(("R_world_body", _MATRICES), (n, m, 3, 3)), _QUATERNIONS: (n, m, 4),
        **dict.fromkeys(_PLACES, (n, m, 3)),
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
    time = np.array(arrays["time"].whole(), np.float64) if timed else np.arange(n) / UNTIMED_RATE
    segment = np.array(arrays["segment"].whole(), np.int64) if "segment" in arrays else np.zeros(n, np.int64)
    if not (np.abs(time) < LATEST).all() or ((np.diff(time) <= 0) & (np.diff(segment) == 0)).any():
        raise CondyleError(f"time does not increase; {_AGAIN}", code="bad-time")
    return MotionFile(
        skeleton,
        arrays,
        np.array([names.index(name) for name in skeleton.bodies], np.int64),
        np.array([joints.index(joint.child) for joint in skeleton.joints], np.int64),
        time,
        segment,
        timed,
    )


def _read_names(names: NDArray[Any], what: str) -> tuple[str, ...]:
    if names.dtype.kind != "U" or names.ndim != 1:
        raise CondyleError(f"'{what}' is no list of texts; {_AGAIN}", code="bad-shape")
    _check_letters(names, what)
    return tuple(names.tolist())


def _check_letters(texts: NDArray[Any], what: str) -> None:
    letters = np.ascontiguousarray(texts).reshape(-1).view(f"{texts.dtype.byteorder}u4")
    if (letters > sys.maxunicode).any():  # numpy would make texts of them that nothing can print
        raise CondyleError(f"'{what}' holds numbers that are no letters; {_AGAIN}", code="damaged-file")


def _read_text(array: NDArray[Any]) -> str:
    if array.dtype.kind != "U" or array.ndim != 0:
        raise CondyleError(f"'fit_id' is no text; {_AGAIN}", code="bad-shape")
    _check_letters(array, "fit_id")
    return str(array[()])


def _open_arrays(file: Path) -> dict[str, StoredArray]:
    """The arrays of the file, summed up and not kept; nothing in it is ever unpickled."""
    needed = ("names", "joints", "R_world_body", *_PLACES, "gap", "weight")
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            missing = [name for name in needed if name not in there]
            missing += [_QUATERNIONS] if not there.keys() & {_QUATERNIONS, _MATRICES} else []
            if missing:
                raise CondyleError(f"no array '{missing[0]}'; {_AGAIN}", code="missing-array")
            wanted = [name for name in (*needed, _QUATERNIONS, _MATRICES, "time", "segment", "fit_id") if name in there]
            opened = OpenFile(stream)
            return {name: _find_member(opened, stream, there[name]) for name in wanted}
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):  # the file may be sound
            raise CondyleError(f"cannot be read: {error.strerror}", code="unreadable-file") from None
        raise CondyleError(f"is cut short or damaged ({error}); {_AGAIN}", code="damaged-file") from None


def _find_member(file: OpenFile, stream: IO[bytes], member: zipfile.ZipInfo) -> StoredArray:
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
        except Exception as error:  # numpy reads it as Python: SyntaxError, TokenError, MemoryError, ...
            raise ValueError(f"the header of {member.filename} is no header") from error
    start = stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if (
        dtype.hasobject
        or not dtype.itemsize
        or not 0 <= min(shape, default=0) <= max(shape, default=0) <= FARTHEST_ROW
        or start - begin + size != member.file_size
    ):
        raise zipfile.BadZipFile(f"{member.filename} does not hold what it declares")
    checksum = 0
    for at in range(begin, start + size, _READ_AT_ONCE):
        checksum = zlib.crc32(file.read(at, min(_READ_AT_ONCE, start + size - at)), checksum)
    if checksum != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} is wrong")
    return StoredArray(file, start, shape, dtype, fortran)


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
