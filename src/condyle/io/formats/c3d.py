"""C3D: points (markers) and the 4x4 matrices of its ROTATION group (bodies), with an own parser.

Nothing is allocated before the file's size has been held against what it declares, and frames are read in blocks, so a
damaged file ends in one error and a large one needs little more memory than its result.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...maths.spool import is_any_finite, join_arrays, seal
from ...model.recording import Bodies, Convention, Markers, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.header import is_length
from ..tables.rows import describe_truncation
from ._c3d_data import COMPUTED_GROUPS, read_bodies, read_markers
from ._c3d_layout import C3dHeader, PointLayout, Rotations, find_layout, find_rotation_start, find_rotations
from ._c3d_parameters import C3D_BLOCK_BYTES, Numbers, Parameters, find_processor, parse_parameters

MOST_C3D_PARAMETER_BYTES = 2**22  # of the parameter section; 65,535 labels fit in
SOLVERS = ("Theia", "condyle")  # programs whose rotations are those of a skeleton of their own


@dataclass(frozen=True)
class _C3dFile:
    """What stands before the frames, and how many bytes there are in all."""

    numbers: Numbers
    header: C3dHeader
    parameters: Parameters
    size: int

    @property
    def rate(self) -> float | None:
        for rate in (self.parameters.number("POINT:RATE"), self.header.rate):
            if rate is not None and math.isfinite(rate) and rate > 0:
                return rate
        return None


def looks_like(head: bytes) -> bool:
    """The key 0x50 in the second byte, and a processor's number where the first byte says that the parameters begin."""
    if len(head) < 2 or head[1] != 0x50 or not head[0]:
        return False
    if head[0] == 2 and (len(head) < C3D_BLOCK_BYTES or b"\x00" in head[:C3D_BLOCK_BYTES]):
        return True
    at = (head[0] - 1) * C3D_BLOCK_BYTES + 3
    return at < len(head) and head[at] in (84, 85, 86) and b"\x00" in head[:C3D_BLOCK_BYTES]


def read(path: Path, options: ReadOptions) -> Recording:
    """Markers in the file's unit, bodies where the file has rotations; NaN where a marker or a body is not seen."""
    with open(path, "rb") as stream:
        file = _open(stream, path.stat().st_size)
        layout = find_layout(file.header, file.parameters, file.size)
        rotations = find_rotations(file.parameters, layout.frames, file.rate)
        after = find_rotation_start(file.parameters)
        marks = layout.present(after if after > layout.start else file.size)
        poses = rotations.present(file.size) if rotations is not None else 0
        kept = (stream, file.numbers, file.parameters)
        markers, told = read_markers(*kept, layout, marks) if layout.points and marks else (None, [])
        bodies, also = read_bodies(*kept, rotations, poses) if rotations is not None and poses else (None, [])
    recording = _make_recording(file, layout, rotations, markers, bodies, (marks, poses))
    return replace(recording, findings=(*recording.findings, *told, *also))


def _open(stream: IO[bytes], size: int) -> _C3dFile:
    first = stream.read(C3D_BLOCK_BYTES)
    if len(first) < C3D_BLOCK_BYTES:
        text = f"the file ends at byte {len(first)}, inside its header of {C3D_BLOCK_BYTES} bytes; copy it again"
        raise CondyleError(text, code="damaged-file")
    if first[1] != 0x50 or not first[0]:
        text = f"is no C3D file: it begins with the bytes {first[0]:02x} {first[1]:02x} instead of 02 50"
        raise CondyleError(text, code="damaged-file")
    start = (first[0] - 1) * C3D_BLOCK_BYTES
    stream.seek(start)
    section = stream.read(4)
    numbers = find_processor(section, start)
    header = C3dHeader.of(first, numbers)
    until = (header.start - 1) * C3D_BLOCK_BYTES  # the parameters end where the data begin
    length = min(until - start, MOST_C3D_PARAMETER_BYTES) if until > start else MOST_C3D_PARAMETER_BYTES
    section += stream.read(length - 4)
    parameters = parse_parameters(section, numbers, start, cut=len(section) < length)
    if not len(parameters):
        text = (
            f"the parameter section at byte {start} is empty: nothing names the {header.points} points of the header "
            "or their unit; export the recording again"
        )
        raise CondyleError(text, code="damaged-file")
    return _C3dFile(numbers, header, parameters, size)


def _make_recording(
    file: _C3dFile,
    layout: PointLayout,
    rotations: Rotations | None,
    markers: Markers | None,
    bodies: Bodies | None,
    present: tuple[int, int],
) -> Recording:
    rate, findings = file.rate, []
    if layout.points:
        findings += describe_truncation(present[0], layout.frames, cut=False)
    if rotations is not None:
        told = describe_truncation(present[1], rotations.frames, cut=False)
        findings += [replace(f, text=f.text.replace("frames", "frames of rotations", 1)) for f in told]
    if bodies is not None and rotations is not None:
        if markers is not None and not is_any_finite(markers.position):
            markers = None  # names without a single place
        if markers is None:
            rate = rotations.rate
        elif rotations.ratio != 1:
            text = (
                f"rotations come at {rotations.ratio} times the rate of the points; condyle reads one rate per file: "
                "export points and rotations at the same rate, or one of them only"
            )
            raise CondyleError(text, code="unequal-rates")
        else:
            frames = max(len(markers.position), len(bodies.position))
            markers = Markers(markers.names, _pad(markers.position, frames))
            bodies = Bodies(bodies.names, _pad(bodies.position, frames), _pad(bodies.orientation, frames))
    if bodies is None and (markers is None or not is_any_finite(markers.position)):
        _refuse_nothing(file, layout, rotations, present)
    program = _find_program(file.parameters)
    convention = _find_convention(file.parameters, bodies is not None)
    solver = next((name for name in SOLVERS if program.lower().startswith(name.lower())), None)
    return Recording(
        bodies=bodies,
        markers=markers,
        rate=rate,
        convention=convention,
        facts=_describe_facts(file, layout, convention, program, rotations if bodies is not None else None),
        findings=tuple(findings),
        solved_by=None if bodies is None else solver,
    )


def _refuse_nothing(file: _C3dFile, layout: PointLayout, rotations: Rotations | None, present: tuple[int, int]) -> None:
    for what, part, there in (("points", layout, present[0]), ("rotations", rotations, present[1])):
        if part is not None and part.stride and not there:
            text = (
                f"{part.frames} frames of {what} are declared from byte {part.start} on, "
                f"but the file ends at byte {file.size}; copy it again"
            )
            raise CondyleError(text, code="damaged-file")
    if layout.points:
        raise CondyleError(f"none of its {layout.points} points is seen in any frame", code="no-data")
    raise CondyleError("holds neither points nor rotations", code="no-data")


def _pad(values: Floats, frames: int) -> Floats:
    if len(values) == frames:
        return values
    return seal(join_arrays([values, np.full((frames - len(values), *values.shape[1:]), np.nan)]))


def _find_convention(parameters: Parameters, has_bodies: bool) -> Convention:
    stated: set[str] = {"rotation", "transposed"} if has_bodies else set()
    spelled = parameters.text("POINT:UNITS").lower()
    unit = spelled if spelled.isalpha() and is_length(spelled) else None
    if unit is not None:
        stated.add("unit")
    screen = parameters.text("POINT:Y_SCREEN").lower()
    up = screen.removeprefix("+") if screen.removeprefix("+").removeprefix("-") in ("x", "y", "z") else None
    if up is not None and up.startswith("-") and parameters.text("MANUFACTURER:COMPANY").lower() == "qualisys":
        up = up[1:]  # QTM writes -Z for recordings in which z points up
    elif up is not None:
        stated.add("up")
    return Convention("matrix" if has_bodies else "wxyz", unit=unit, up=up, stated=frozenset(stated))


def _find_program(parameters: Parameters) -> str:
    """Name and version of the program that wrote the file, "" where it does not say."""
    name, version = parameters.text("MANUFACTURER:SOFTWARE"), parameters.text("MANUFACTURER:VERSION_LABEL")
    if not version:
        try:
            version = ".".join(f"{part:g}" for part in parameters.values("MANUFACTURER:VERSION"))
        except CondyleError:  # text in some files; nothing depends on it
            version = ""
    return f"{name} {version}".strip() if name else ""


def _describe_facts(
    file: _C3dFile, layout: PointLayout, convention: Convention, program: str, rotations: Rotations | None
) -> dict[str, str]:
    facts = {"length": convention.unit or "not stated"}
    if program:
        facts["program"] = program
    facts["numbers"] = f"{'32-bit floats' if layout.scale < 0 else '16-bit integers'}, {file.numbers.processor}"
    if rotations is not None:
        facts["rotation"] = "4x4 matrices"
    if convention.up is not None:
        facts["up"] = f"{convention.up} (Y_SCREEN {file.parameters.text('POINT:Y_SCREEN')})"
    if file.header.first > 1:
        facts["first frame"] = str(file.header.first)
    computed = sum(len(file.parameters.read_continued(f"POINT:{name}")) for name in COMPUTED_GROUPS)
    if computed:
        facts["left out"] = f"{computed} points that are angles, forces, moments or powers"
    rest = file.size - max(
        layout.end, 0 if rotations is None else rotations.start + rotations.frames * rotations.stride
    )
    if rest > C3D_BLOCK_BYTES + layout.stride:
        facts["at the end"] = f"{rest} bytes that nothing in the file describes"
    return facts


FORMAT = Format("c3d", "C3D", looks_like, read)
