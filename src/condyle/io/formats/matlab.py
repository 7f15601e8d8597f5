"""MATLAB files, version 5 to 7 and 7.3 (extra `matlab`): exports of Qualisys, and arrays or structures of poses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...model.recording import MATRIX, Bodies, Convention, Markers, Recording
from ..format import Format, ReadOptions
from ..tables.header import check_different, is_length
from ..tables.rows import hide_zeros
from ._matlab_file import MATLAB_5, MATLAB_73, read_variables
from .qualisys import MATRIX_BY_ROWS

_WORDS = {
    "position": "p pos position positions translation translations origin origins location xyz pworldbody place",
    "matrix": "r rot rotm rotation rotations orientation orientations dcm matrix rotationmatrix rworldbody",
    "quaternion": "q quat quats quaternion quaternions",
    "pose": "t tf pose poses transform transforms transformation htm",
    "time": "t time times timestamp timestamps",
    "rate": "fs rate freq frequency framerate samplerate samplingrate samplingfrequency hz",
    "unit": "unit units posunit positionunit lengthunit",
    "names": "name names label labels bodies bodynames segments segmentnames sensors sensornames",
}
_MEANINGS = {meaning: frozenset(words.split()) for meaning, words in _WORDS.items()}
EXPECTED = (
    "expected an export of Qualisys, or position (frames x bodies x 3) beside R (3 x 3 x frames x bodies) or "
    "quaternion, or one structure with position and R or quaternion for each body"
)


def looks_like(head: bytes) -> bool:
    """The sentence that every MATLAB file begins with."""
    return head.startswith((MATLAB_5, MATLAB_73))


def read(path: Path, options: ReadOptions) -> Recording:
    """The poses, or the markers, that the variables are."""
    variables = read_variables(path)
    for values in _walk_structures(variables):
        if "Trajectories" in values or "RigidBodies" in values:
            return _read_qualisys(values)
    for values in _walk_structures(variables):
        bodies = _find_structures(values) or _find_arrays(values)
        if bodies is not None:
            return _to_recording(bodies, [values, variables])
    some = ", ".join(sorted(variables)[:8]) or "nothing"
    raise CondyleError(f"holds {some}; {EXPECTED}", code="missing-array")


def _walk_structures(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A structure and those inside it, the outer ones first."""
    yield values
    for value in values.values():
        if isinstance(value, Mapping):
            yield from _walk_structures(value)


def _read_qualisys(values: Mapping[str, Any]) -> Recording:
    """Rigid bodies (bodies x 3 or 9 x frames) and labelled markers (markers x 4 x frames) as QTM writes them, in mm."""
    frames, rigid, labelled = None, values.get("RigidBodies"), None
    if isinstance(values.get("Trajectories"), Mapping):
        labelled = values["Trajectories"].get("Labeled")
    bodies = markers = None
    if isinstance(rigid, Mapping) and "Positions" in rigid and "Rotations" in rigid:
        names = _to_names(rigid.get("Name", ()))
        position = _to_frames(rigid["Positions"], len(names), 3, "RigidBodies.Positions")
        turned = _to_frames(rigid["Rotations"], len(names), 9, "RigidBodies.Rotations")
        bodies, frames = Bodies(names, position, turned[..., list(MATRIX_BY_ROWS)]), len(position)
    if isinstance(labelled, Mapping) and "Data" in labelled:
        names = _to_names(labelled.get("Labels", ()))
        data = np.asarray(labelled["Data"])
        width = data.shape[-2] if data.ndim >= 2 else 0
        points = _to_frames(data, len(names), width, "Trajectories.Labeled.Data")[..., :3]
        if frames is None or len(points) == frames:
            markers = Markers(names, hide_zeros(points))
    if bodies is None and markers is None:
        raise CondyleError("has neither rigid bodies nor labelled trajectories; export them from QTM", code="no-data")
    rate = _to_number(values.get("FrameRate"))
    return Recording(
        bodies=bodies,
        markers=markers,
        rate=rate,
        convention=Convention(MATRIX, unit="mm", up="z"),
        facts={"program": "Qualisys Track Manager", "rate": f"{rate:g} Hz" if rate else "not stated"},
    )


def _to_frames(value: Any, count: int, width: int, what: str) -> Floats:
    """(n, count, width) of an array (count, width, n), whose first axis is lost where it has one element."""
    array = _to_floats(value)
    array = array[None] if array.ndim == 2 and count == 1 else array
    if array.ndim == 2 and array.shape == (count, width):
        array = array[..., None]  # a single frame
    if array.ndim != 3 or array.shape[:2] != (count, width) or width < 3:
        raise CondyleError(
            f"{what} is {' x '.join(map(str, array.shape))}, expected {count} x {width} x frames", code="bad-shape"
        )
    return np.ascontiguousarray(np.moveaxis(array, 2, 0))


Parts = tuple[tuple[str, ...], Floats, Floats, str]  # names, position (n, m, 3), orientation (n, m, 4 | 9), rotation


def _find_structures(values: Mapping[str, Any]) -> Parts | None:
    """Bodies that are a structure each, with position and orientation."""
    found = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and (one := _find_arrays(value, single=True)) is not None:
            found[name] = one
    if not found:
        return None
    kinds, counts = {one[3] for one in found.values()}, {len(one[1]) for one in found.values()}
    if len(kinds) > 1 or len(counts) > 1:
        raise CondyleError(
            f"its bodies {', '.join(found)} have different rotations or numbers of frames", code="bad-shape"
        )
    position, orientation = (np.concatenate([one[k] for one in found.values()], axis=1) for k in (1, 2))
    return tuple(found), position, orientation, kinds.pop()


def _find_arrays(values: Mapping[str, Any], single: bool = False) -> Parts | None:
    """Bodies in arrays of all of them, or the one body of a structure."""
    known = {meaning: _pick(values, meaning) for meaning in ("position", "matrix", "quaternion", "pose")}
    names = () if single else _to_names(_pick(values, "names"))
    if known["pose"] is not None and (T := _square(_to_floats(known["pose"]), 4)) is not None:
        return _name(names, T[..., :3, 3], T[..., :3, :3].reshape(*T.shape[:2], 9), MATRIX)
    if known["position"] is None:
        return None
    if known["matrix"] is not None and (R := _square(_to_floats(known["matrix"]), 3)) is not None:
        position = _vectors(_to_floats(known["position"]), 3, R.shape[:2])
        return None if position is None else _name(names, position, R.reshape(*R.shape[:2], 9), MATRIX)
    if known["quaternion"] is None:
        return None
    quaternion = _vectors(_to_floats(known["quaternion"]), 4, None)
    position = None if quaternion is None else _vectors(_to_floats(known["position"]), 3, quaternion.shape[:2])
    return None if position is None or quaternion is None else _name(names, position, quaternion, "wxyz")


def _square(array: Floats, size: int) -> Floats | None:
    """(n, m, size, size) of matrices whose two axes stand first or last, as in R(:, :, frame, body)."""
    if array.ndim < 2:
        return None
    if array.shape[:2] == (size, size):
        array = np.moveaxis(array, (0, 1), (-2, -1))
    if array.shape[-2:] != (size, size) or array.ndim > 4:
        return None
    array = array.reshape(*array.shape[:-2], *(1,) * (4 - array.ndim), size, size)
    return array if array.shape[0] >= array.shape[1] else np.swapaxes(array, 0, 1)


def _vectors(array: Floats, width: int, shape: tuple[int, ...] | None) -> Floats | None:
    """(n, m, width) of vectors whose axis stands first, in the middle or last; frames are more than bodies."""
    if array.ndim not in (2, 3):
        return None
    for axis in (array.ndim - 1, 0, *((1,) if array.ndim == 3 else ())):
        if array.shape[axis] != width:
            continue
        turned = np.moveaxis(array, axis, -1)
        turned = turned[:, None] if turned.ndim == 2 else turned
        turned = turned if turned.shape[0] >= turned.shape[1] else np.swapaxes(turned, 0, 1)
        if shape is None or turned.shape[:2] == tuple(shape):
            return turned
    return None


def _name(names: tuple[str, ...], position: Floats, orientation: Floats, kind: str) -> Parts:
    count = position.shape[1]
    if names and len(names) != count:
        raise CondyleError(f"{len(names)} names for {count} bodies", code="bad-shape")
    return names or tuple(f"body{k + 1}" for k in range(count)), position, orientation, kind


def _to_recording(parts: Parts, where: Sequence[Mapping[str, Any]]) -> Recording:
    names, position, orientation, kind = parts
    check_different(names, "body")
    time, rate, unit = (
        next((one for values in where if (one := _pick(values, meaning)) is not None), None)
        for meaning in ("time", "rate", "unit")
    )
    unit = "".join(_to_names(unit)[:1]) if unit is not None else ""
    clock = None if time is None else _to_floats(time).ravel()
    clock = clock if clock is not None and len(clock) == len(position) else None
    known = {"rotation"} if kind == MATRIX else set()  # the order of a quaternion's numbers is left to the motion
    return Recording(
        bodies=Bodies(names, np.ascontiguousarray(position), np.ascontiguousarray(orientation)),
        time=clock,
        rate=None if clock is not None else _to_number(rate),
        convention=Convention(
            kind,
            unit=unit if is_length(unit) else None,
            stated=frozenset(known | ({"unit"} if is_length(unit) else set())),
            guessed=frozenset({"rotation"} - known),
        ),
        facts={
            "length": unit if is_length(unit) else "not stated",
            "orientation": "matrices" if kind == MATRIX else "quaternions",
        },
    )


def _pick(values: Mapping[str, Any], meaning: str) -> Any:
    """The variable of a meaning; None where there is none."""
    for name, value in values.items():
        plain = re.sub(r"[\W_\d]+", "", name).lower()
        if plain in _MEANINGS[meaning] and not isinstance(value, Mapping):
            return value
    return None


def _to_floats(value: Any) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def _to_names(value: Any) -> tuple[str, ...]:
    """Strings of a cell array, or one string."""
    if isinstance(value, str):
        return (value.strip(),)
    if value is None:
        return ()
    return tuple(one.strip() for one in np.asarray(value, dtype=object).ravel().tolist() if isinstance(one, str))


def _to_number(value: Any) -> float | None:
    numbers = _to_floats(value).ravel() if value is not None else np.empty(0)
    return float(numbers[0]) if len(numbers) == 1 and numbers[0] > 0 else None


FORMAT = Format("matlab", "MATLAB file", looks_like, read, held_whole="a MATLAB file is unpacked in memory")
