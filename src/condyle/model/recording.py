"""Recording: the numbers of a file as they stand there, and what the file says they mean. Poses come out as a Take.

A reader fills a Recording and converts nothing: units, quaternion order, Euler order, handedness stay data, so that an
option can overrule them and the doctor can try others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly, freeze_array
from ..maths.robust import median
from ..maths.spool import over_frames, seal, take_rows
from .clock import describe_clock_unit, in_order
from .plausible_unit import (
    FEW_BODIES,
    check_unit,
    measure_levers,
    pairs_in_time,
    plausible_unit,
    unit_of_figure,
)
from .take import UNTIMED_RATE, UP_AXES, BodyMarker, CarriedCentre, OwnSkeleton, Take, check_quaternions
from .units import metres_per
from .values import dataclass

SPEED_FRAMES = 10  # from one to the other, between which a body's speed is measured; chosen
FIGURE_MAX_REACH_M = 5.0  # m from the middle of all to the usual body; chosen: no figure reaches as far
QUATERNIONS = ("wxyz", "xyzw")
MATRIX = "matrix"
HANDS = ("right", "left")
EULER_ORDERS = (
    "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX",
    "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ",
)  # fmt: skip
EXTRINSIC = "-extrinsic"
VECTOR = "vector"
LARGEST_ANGLE = 1e12  # rad or deg: of a larger number hardly a digit would be left after whole turns
GIMBAL = np.radians(1.0)  # of the middle angle from where the other two turn about one axis


@dataclass(frozen=True)
class Convention:
    """How numbers become poses. A value that the file does not state is the format's custom, or None where it has none.

    rotation    "wxyz", "xyzw" (quaternions), "matrix" (row by row), "vector" (axis times angle), or an Euler order:
                "ZYX" (intrinsic), "ZYX-extrinsic"
    degrees     angles are in degrees, not radians
    transposed  the rotations turn the world's axes into the body's: their transposes are meant
    axes        the file's axis, with its sign, that each axis of the positions is: ("x", "-z", "y")
    unit        of the positions; None: not known
    handed      "right" or "left": of the file's world
    up          axis that points up, "y" or "-z"; None: not known
    stated      names of the fields above that the file declares
    given       ... that the user says
    guessed     ... that nobody says, not even a custom of the format: the motion has to tell
    """

    rotation: str = "wxyz"
    degrees: bool = True
    transposed: bool = False
    axes: tuple[str, str, str] = ("x", "y", "z")
    unit: str | None = None
    handed: str = "right"
    up: str | None = None
    stated: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    guessed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        width_of(self.rotation)
        if self.unit is not None:
            metres_per(self.unit)
        if self.handed not in HANDS:
            raise UsageError(f"handed is 'right' or 'left', not '{self.handed}'", code="bad-option")
        if self.up is not None and self.up not in UP_AXES:
            raise UsageError(f"up is one of {', '.join(UP_AXES)}, not '{self.up}'", code="bad-option")
        if sorted(axis[-1:] for axis in self.axes) != ["x", "y", "z"] or not set(self.axes) <= set(UP_AXES):
            raise UsageError(
                f"'{','.join(self.axes)}' is not x, y and z in some order, each with or without a minus",
                code="bad-option",
            )

    def but(self, *, given: bool = False, **changes: object) -> Convention:
        """The same with some fields changed, by the user (`given`) or by the program."""
        who = self.given | set(changes) if given else self.given
        return replace(self, given=frozenset(who), guessed=self.guessed - who, **changes)  # type: ignore[arg-type]

    def __str__(self) -> str:
        if self.rotation in QUATERNIONS:
            words = [f"quaternion {self.rotation}"]
        elif self.rotation == MATRIX:
            words = ["matrices"]
        else:
            kind = "rotation vector" if self.rotation == VECTOR else f"Euler {self.rotation}"
            words = [f"{kind} in {'degrees' if self.degrees else 'radians'}"]
        if self.transposed:
            words.append("transposed")
        if self.axes != ("x", "y", "z"):
            words.append(f"position axes {','.join(self.axes)}")
        if self.handed == "left":
            words.append("left-handed")
        return ", ".join(words)


def width_of(rotation_kind: str) -> int:
    """Numbers per orientation: 4, 9 or 3; raises with the choices."""
    if rotation_kind in QUATERNIONS:
        return 4
    if rotation_kind == MATRIX:
        return 9
    if rotation_kind == VECTOR or rotation_kind.removesuffix(EXTRINSIC) in EULER_ORDERS:
        return 3
    raise UsageError(
        f"no rotation '{rotation_kind}'; choose from wxyz, xyzw, matrix, vector, or Euler axes: ZYX, ZYX-extrinsic",
        code="bad-option",
    )


@dataclass(frozen=True, eq=False)
class Bodies:
    """Poses as written. names m; position (n, m, 3); orientation (n, m, 3 | 4 | 9); NaN where there is no number."""

    names: tuple[str, ...]
    position: Floats
    orientation: Floats

    def __post_init__(self) -> None:
        m = len(self.names)
        position = freeze_array(self.position, (None, m, 3), "position", part=True)
        orientation = freeze_array(self.orientation, (len(position), m, None), "orientation", part=True)
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "orientation", orientation)


@dataclass(frozen=True, eq=False)
class Markers:
    """Points as written. names k; position (n, k, 3) in the file's unit; NaN where a marker is not seen."""

    names: tuple[str, ...]
    position: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        position = freeze_array(self.position, (None, len(self.names), 3), "position", part=True)
        object.__setattr__(self, "position", position)


class PlacedMarker(NamedTuple):
    """A marker that a body was formed with: place (3,) in the body's own right-handed frame, in the file's unit."""

    body: str
    marker: str
    place: Floats
    carried: CarriedCentre | None = None


@dataclass(frozen=True, eq=False)
class Recording:
    """One file, or several joined: bodies, markers or both over n frames.

    source     path of the file, and format, the name of its format: set by whoever asked the format to read
    time       (n,) [s] as written: it may repeat or jump; None where the file has none
    rate       [Hz] where the file states it and has no time
    segment    (n,) or None
    facts      what the file says about itself, a few words each, for people
    solved_by  program that solved these poses on a skeleton of its own, or None
    own        that skeleton, where the file has it; lengths in the file's unit
    placed     markers that bodies were formed from
    """

    source: str = ""
    format: str = ""
    bodies: Bodies | None = None
    markers: Markers | None = None
    time: Floats | None = None
    rate: float | None = None
    segment: Ints | None = None
    convention: Convention = field(default_factory=Convention)
    facts: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    solved_by: str | None = None
    own: OwnSkeleton | None = None
    placed: tuple[PlacedMarker, ...] = ()

    def __post_init__(self) -> None:
        parts = [len(part.position) for part in (self.bodies, self.markers) if part is not None]
        if not parts or max(parts) != min(parts):
            raise ValueError("a recording has bodies, markers or both, of the same number of frames")
        if self.time is not None:
            object.__setattr__(self, "time", freeze_array(self.time, (parts[0],), "time"))
        if self.segment is not None:
            object.__setattr__(self, "segment", freeze_array(self.segment, (parts[0],), "segment", np.int64))
        if self.bodies is not None and width_of(self.convention.rotation) != self.bodies.orientation.shape[2]:
            raise ValueError(
                f"{self.bodies.orientation.shape[2]} numbers per orientation for {self.convention.rotation}"
            )

    @cached_property
    def frames(self) -> int:
        part = self.bodies if self.bodies is not None else self.markers
        return 0 if part is None else len(part.position)

    def under(self, convention: Convention) -> Recording:
        """The same numbers, understood in another way."""
        return replace(self, convention=convention)

    def at(self, rows: Ints | slice) -> Recording:
        """These frames only."""
        bodies, markers = self.bodies, self.markers
        return replace(
            self,
            bodies=None
            if bodies is None
            else Bodies(bodies.names, take_rows(bodies.position, rows), take_rows(bodies.orientation, rows)),
            markers=None if markers is None else Markers(markers.names, take_rows(markers.position, rows)),
            time=None if self.time is None else self.time[rows],
            segment=None if self.segment is None else self.segment[rows],
        )


def to_take(recording: Recording) -> Take:
    """The poses of a recording's bodies under its convention, right-handed and in metres, with every finding."""
    bodies, convention = recording.bodies, recording.convention
    if bodies is None:
        raise CondyleError(
            "holds markers but no bodies; say which markers belong together with --bodies, "
            f"or let `condyle info {recording.source}` propose them",
            code="markers-only",
        )
    findings = list(recording.findings)
    metres, doubt = length_of(recording)
    findings += doubt
    position, orientation = bodies.position, bodies.orientation
    rows, segment, time, repaired = in_order(
        recording.time, recording.segment, recording.frames, lambda: _find_moved(position)
    )
    if not isinstance(rows, slice):  # not all of them, as nearly always
        position, orientation = take_rows(position, rows), take_rows(orientation, rows)
    findings += [*repaired, *describe_clock_unit(time, segment, partial(_measure_speed, position, metres, segment))]
    with np.errstate(over="ignore", invalid="ignore"):  # invalid: NaN of the signalling kind, in binary files
        if metres != 1:
            position = seal(over_frames(lambda part: part * metres, position))
        if convention.axes != ("x", "y", "z"):
            position = seal(over_frames(lambda part: along_axes(part, convention.axes), position))
        if convention.handed == "left":
            mirror = mirror_of(convention)
            position = seal(over_frames(lambda part: part * mirror, position))
    rate = recording.rate if time is None else None
    common = {"names": bodies.names, "time": time, "rate": rate, "segment": segment, "sources": [recording.source]}
    R, told = matrices(orientation, convention, bodies.names)
    if convention.handed == "left":
        R = seal(over_frames(lambda part: mirror[:, None] * part * mirror, R))
    if convention.rotation == MATRIX:
        findings += told
        take = Take.from_poses(position, R_world_body=R, **common)  # type: ignore[arg-type]
    else:  # made from quaternions or angles, they are rotations
        take = Take.from_checked(position, R, told, **common)  # type: ignore[arg-type]
    if recording.solved_by is not None:
        text = (
            f"these poses were solved by {recording.solved_by} on a skeleton of its own: "
            "a small residual tells how well that skeleton is found again, not how accurate it is"
        )
        findings.append(Finding("solved-poses", "info", text))
    own = recording.own
    if own is not None:
        sign = mirror_of(convention) if convention.handed == "left" else 1.0
        own = own.with_joints(own.p_parent_joint * metres * sign)
    read_as = f"{convention}, {convention.unit or f'{metres:g} m'}"
    markers = tuple(BodyMarker(body, name, metres * place, carried) for body, name, place, carried in recording.placed)
    everything = (*findings, *take.findings)
    return take.with_findings(everything, up=convention.up, own=own, read_as=read_as, markers=markers)


def _measure_speed(position: Floats, metres: float, segment: Ints | None, time: Floats) -> float:
    """[m/s] of the body that moves fastest against the middle of all, in half of its frames; 0 where that is not known,
    or where bodies are too far apart for a figure: it is the unit of length then that is in doubt.

    Over some frames, since noise from one to the next has a speed of its own.
    """
    first = evenly(len(time) - SPEED_FRAMES, 500)
    if segment is not None:
        first = first[segment[first] == segment[first + SPEED_FRAMES]]
    lasted = time[first + SPEED_FRAMES] - time[first]
    first, lasted = first[lasted > 0], lasted[lasted > 0]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        here = metres * position[first]
        way = metres * position[first + SPEED_FRAMES] - here
        seen = np.asarray(np.isfinite(way).all(axis=2))
        count = np.maximum(seen.sum(axis=1), 1)[:, None, None]
        off, way = (np.where(seen[..., None], one, 0.0) for one in (here, way))
        apart = np.linalg.norm(off - off.sum(axis=1, keepdims=True) / count, axis=2)
        speed = np.linalg.norm(way - way.sum(axis=1, keepdims=True) / count, axis=2) / lasted[:, None]
    if not seen.any() or not median(apart[seen]) < FIGURE_MAX_REACH_M:
        return 0.0
    usual = [float(median(one[known])) for one, known in zip(speed.T, seen.T, strict=True) if known.any()]
    return max((one for one in usual if np.isfinite(one)), default=0.0)


def _find_moved(position: Floats) -> Bools:
    """(n - 1,) whether any body is elsewhere than in the row before."""
    same = over_frames(
        lambda a, b: ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=(1, 2)), position[1:], position[:-1]
    )
    return np.asarray(~same)


def matrices(orientation: Floats, convention: Convention, names: Sequence[str] = ()) -> tuple[Floats, list[Finding]]:
    """(n, m, 3, 3) as the convention has them, still in the file's handedness, and what was noticed."""
    kind = convention.rotation
    findings: list[Finding] = []
    if kind in QUATERNIONS:
        last = kind != "wxyz"
        if names:
            R, findings = check_quaternions(orientation, tuple(names), last)
        else:
            R = over_frames(partial(rotation.from_quaternion, last=last), orientation)
    elif kind == MATRIX:
        R = orientation.reshape(*orientation.shape[:-1], 3, 3)
    else:
        turn = rotation.from_vector
        if kind != VECTOR:
            order = kind.removesuffix(EXTRINSIC)
            turn = partial(rotation.from_euler, order=order, extrinsic=kind.endswith(EXTRINSIC))
            findings += _near_gimbal_lock(orientation, convention, order, names)
        R = over_frames(lambda part: turn(_radians(part, convention)), orientation)
    return (np.swapaxes(R, -1, -2) if convention.transposed else R), findings


def _radians(angles: Floats, convention: Convention) -> Floats:
    """Angles as written in radians; NaN where one is absurd."""
    known = np.where(np.abs(angles) < LARGEST_ANGLE, angles, np.nan)
    return np.radians(known) if convention.degrees else known


def along_axes(position: Floats, axes: Sequence[str]) -> Floats:
    """Positions (..., 3) along other axes of the same room: each of `axes` is an old one, with its sign."""
    order = ["xyz".index(axis[-1]) for axis in axes]
    sign = np.array([-1.0 if axis.startswith("-") else 1.0 for axis in axes])
    return np.asarray(position[..., order] * sign)


def axes_matrix(axes: Sequence[str]) -> Floats:
    """(3, 3) with p_new = A @ p_old for `along_axes`."""
    return along_axes(np.eye(3), axes).T


def mirror_of(convention: Convention) -> Floats:
    """Signs (3,) that make a left-handed world right-handed: x is turned about, or y where x points up."""
    flipped = 1 if (convention.up or "")[-1:] == "x" else 0
    return np.where(np.arange(3) == flipped, -1.0, 1.0)


def length_of(recording: Recording) -> tuple[float, list[Finding]]:
    """Metres in the file's unit: as given, as stated, or the plausible one with a finding."""
    unit, bodies = recording.convention.unit, recording.bodies
    levers = levers_of(recording) if bodies is not None and len(bodies.names) <= FEW_BODIES else np.empty(0)
    if unit is not None:
        return metres_per(unit), [] if "unit" in recording.convention.given else check_unit(levers, unit)
    part = recording.markers if bodies is None else bodies
    assert part is not None
    unit = plausible_unit(part.position, levers) if recording.own is None else unit_of_figure(recording.own)
    spoken = unit if unit.isalpha() else f"{unit} m"
    text = (
        f"the file does not say its unit of length; {spoken} gives sizes that a person or a machine has. "
        "A wrong unit scales every length alike and cannot be seen in residuals: give --unit"
    )
    return metres_per(unit), [Finding("unit-assumed", "warning", text, value=metres_per(unit), unit="m")]


def levers_of(recording: Recording) -> Floats:
    """(m,) in the file's unit, how far from its bodies lies what they turn about; NaN where that is not known."""
    bodies, convention = recording.bodies, recording.convention
    assert bodies is not None
    first, later, lasted = pairs_in_time(
        recording.time, recording.rate or UNTIMED_RATE, recording.segment, recording.frames
    )
    p_first, p_later = (take_rows(bodies.position, rows) for rows in (first, later))
    R_first, R_later = (matrices(take_rows(bodies.orientation, rows), convention)[0] for rows in (first, later))
    return measure_levers(p_first, p_later, R_first, R_later, lasted)


def _near_gimbal_lock(orientation: Floats, convention: Convention, order: str, names: Sequence[str]) -> list[Finding]:
    found = []
    for k, name in enumerate(names):
        middle = _radians(orientation[:, k, 1], convention)
        with np.errstate(invalid="ignore"):
            critical = np.cos(middle) if order[0] != order[2] else np.sin(middle)
            rows = np.abs(critical) < np.sin(GIMBAL)
        if rows.any():
            text = (
                f"{name}: {many(rows.sum(), 'pose')} within 1 degree of gimbal lock, first in frame {np.argmax(rows)}; "
                "the rotation is read without loss, but its angles jump there"
            )
            found.append(
                Finding("gimbal-lock", "info", text, (name,), frame=int(np.argmax(rows)), count=int(rows.sum()))
            )
    return found
