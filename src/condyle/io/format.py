"""What a file format tells the registry, and what the caller may tell a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ..errors import UsageError, check_names, check_number
from ..model.recording import EXTRINSIC, MATRIX, QUATERNIONS, VECTOR, Recording, width_of
from ..model.repairs import check_repairs
from ..model.take import check_rate
from ..model.units import metres_per
from ..model.values import dataclass


class Reading(TypedDict, total=False):
    """The fields of ReadOptions as keywords, for type checkers. Each is described there."""

    rate: float | None
    unit: str | None
    up: str | None
    handed: str | None
    quaternion: str | None
    euler: str | None
    degrees: bool | None
    transposed: bool | None
    axes: str | None
    bodies: str | Path | Mapping[str, Sequence[str]] | None
    columns: str | Path | None
    format: str | None
    doctor: bool | None
    start: float | None
    stop: float | None
    only: str | Sequence[str]
    drop: str | Sequence[str]
    rename: Mapping[str, str] | None


@dataclass(frozen=True)
class ReadOptions:
    """What the caller says about the numbers in a file. None: as the file says. What is given wins over the file.

    rate        frames per second [Hz]
    unit        unit of length of the positions: "m", "mm", "inches", ...
    up          axis of the file that points up: "y", "-z", ...
    handed      "right" or "left"
    quaternion  "wxyz" or "xyzw"
    euler       order of the angles' axes: "ZYX", or "ZYX-extrinsic" for fixed axes; "vector" for axis times angle
    degrees     Euler angles are in degrees (False: radians)
    transposed  rotations turn the world's axes into the body's
    axes        the file's axis that each axis of the positions is, with its sign: "x,-z,y"
    bodies      markers of each body: a path to a bodies.toml, or {"pelvis": ["LASI", ...]}
    columns     path to a column map (TOML) for a table that no format knows
    format      name of the format, where the content leaves it open
    doctor      False: take the convention as it is said, without trying others
    start, stop the part of every file that is read [s], from its first frame
    only, drop  bodies that are read, or not: their names in the file, or patterns such as "l_*"
    rename      {name in the file: name from now on}
    fix         repairs by name; with `bodies`, "swaps" exchanges markers back that bear each other's labels for a while
    """

    rate: float | None = None
    unit: str | None = None
    up: str | None = None
    handed: str | None = None
    quaternion: str | None = None
    euler: str | None = None
    degrees: bool | None = None
    transposed: bool | None = None
    axes: str | None = None
    bodies: str | Path | Mapping[str, Sequence[str]] | None = None
    columns: str | Path | None = None
    format: str | None = None
    doctor: bool | None = None
    start: float | None = None
    stop: float | None = None
    only: str | Sequence[str] = ()
    drop: str | Sequence[str] = ()
    rename: Mapping[str, str] | None = None
    fix: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("only", "drop"):
            object.__setattr__(self, name, check_names(getattr(self, name), name))
        for name in ("start", "stop", "rate"):  # also of numpy, whose numbers are no answer to `in`
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_number(getattr(self, name), name))
        if self.rename is not None and not isinstance(self.rename, Mapping):
            raise UsageError(f"rename is {{old name: new name}}, not {self.rename!r}", code="bad-option")
        if not 0 <= (self.start or 0.0) < (float("inf") if self.stop is None else self.stop):
            raise UsageError(
                f"a part from {self.start or 0:g} s to {self.stop or 0:g} s has no frame; start is 0 or more, and stop "
                "is later",
                code="bad-option",
            )
        check_rate(self.rate)
        if self.axes is not None and not isinstance(self.axes, str):
            raise UsageError(f"axes are told as 'x,-z,y', not {self.axes!r}", code="bad-option")
        if self.unit is not None:
            object.__setattr__(self, "unit", str(self.unit))  # metres as a number
            metres_per(self.unit)
        if self.quaternion not in (None, *QUATERNIONS):
            raise UsageError(f"quaternion is wxyz or xyzw, not '{self.quaternion}'", code="bad-option")
        if self.euler is not None and width_of(self.euler_order) != 3:
            raise UsageError(
                f"'{self.euler}' is no order of Euler angles such as ZYX or ZYX-extrinsic", code="bad-option"
            )

    @property
    def euler_order(self) -> str:
        """`euler` as a convention spells it: the axes in capitals, then `-extrinsic` where that is said."""
        order, dash, frame = (self.euler or "").partition("-")
        if self.euler == VECTOR:
            return VECTOR
        if dash and frame not in ("intrinsic", "extrinsic"):
            raise UsageError(f"'{self.euler}': after the axes comes -intrinsic or -extrinsic", code="bad-option")
        return order.upper() + (EXTRINSIC if frame == "extrinsic" else "")

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that were given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) not in (None, (), {}))

    @classmethod
    def of(cls, fix: str | Iterable[str] = (), **values: Unpack[Reading]) -> ReadOptions:
        """Options by name; raises with the choices."""
        known = [f.name for f in fields(cls)]
        for name in values:
            if name not in known:
                raise UsageError(f"no reading option '{name}'; choose from {', '.join(known)}", code="bad-option")
        return cls(**values, fix=check_repairs(fix))


@dataclass(frozen=True)
class Format:
    """One file format.

    looks_like  sees the first bytes only (64 KiB) and never raises; `tables.text.read_head_lines` gives them as text
    read        the numbers as they stand in the file. It converts nothing that `Convention` can say, applies no option
                but those that it needs to parse, and raises CondyleError only. What it repaired is a finding
    certain     the content names the format beyond doubt: the first such format that looks like a file wins
    held_whole  why a file of this format cannot be longer than the memory; empty where it can
    """

    name: str
    title: str
    looks_like: Callable[[bytes], bool]
    read: Callable[[Path, ReadOptions], Recording]
    certain: bool = True
    held_whole: str = ""


def apply_options(recording: Recording, options: ReadOptions, what: str) -> Recording:
    """The recording under what the user says of its numbers; an option that cannot apply is refused, not ignored.

    what  it is called then: BVH file, stream
    """
    convention = recording.convention
    kind = convention.rotation if recording.bodies is not None else None
    changes: dict[str, Any] = {}
    for name in ("unit", "up", "handed"):
        if getattr(options, name) is not None:
            changes[name] = getattr(options, name)
    if options.axes is not None:
        changes["axes"] = tuple(part.strip().lower() for part in options.axes.split(","))
    if options.quaternion is not None:
        _check_needs(kind in QUATERNIONS, "quaternion", what, "quaternions", kind)
        changes["rotation"] = options.quaternion
    if options.euler is not None or options.degrees is not None:
        is_euler = kind is not None and kind not in (*QUATERNIONS, MATRIX)
        _check_needs(is_euler, "euler" if options.euler is not None else "degrees", what, "Euler angles", kind)
    if options.euler is not None:
        changes["rotation"] = options.euler_order
    if options.degrees is not None:
        changes["degrees"] = options.degrees
    if options.transposed is not None:
        _check_needs(kind is not None, "transposed", what, "orientations", kind)
        changes["transposed"] = options.transposed
    if options.rate is not None:
        recording = replace(recording, time=None, rate=options.rate)
    return recording.under(convention.but(given=True, **changes)) if changes else recording


def _check_needs(fits: bool, option: str, what: str, wanted: str, kind: str | None) -> None:
    if fits:
        return
    if kind is None:
        has = "markers only"
    elif kind in QUATERNIONS:
        has = "quaternions"
    else:
        has = "matrices" if kind == MATRIX else "Euler angles"
    raise UsageError(f"the option '{option}' is for {wanted}, but this {what} has {has}", code="option-not-used")
