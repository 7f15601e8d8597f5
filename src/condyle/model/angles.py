"""Angles: joint angles of a figure over time, with how they were defined and how well they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..errors import CondyleError, import_extra
from ..findings import Finding, many
from ..maths.arrays import Floats, Ints, freeze
from ..maths.robust import median
from .anatomy import Side
from .values import dataclass

Landmarks = Mapping[str, str | Sequence[float]]  # {landmark: name of a marker on the body, or its place in it [m]}
FrameSource = Literal["functional", "landmarks", "pose"]
STRIDE_MIN_KNOWN = 0.95  # of the frames of a stride in which an angle must be known for its range
CAVEAT = (
    "Offsets depend on how the frames are defined and do not compare with laboratories that palpate landmarks; curves "
    "and ranges of flexion do."
)


@dataclass(frozen=True, eq=False)
class SegmentFrame:
    """The anatomical axes of one segment on its body.

    segment      "thigh_l", or the name of the bone
    R_body_anat  (3, 3)       X forward, Y up, Z to the right, in the body's own frame
    sd           (3,) [rad]   standard error about X, Y, Z; NaN where an axis is a definition, or left open
    source       what the roll about the long axis, or the whole frame, comes from
    made         the same in words
    """

    segment: str
    body: str
    R_body_anat: Annotated[Floats, "3 3"]
    sd: Annotated[Floats, "3"]
    source: FrameSource
    made: str

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True)
class AngleColumn:
    """One angle of a joint.

    joint, side      "hip", "l"; `label` is the two together, as the figure calls the joint
    child, parent    bodies it belongs to; parent None: in the room
    """

    name: str
    joint: str
    side: Side
    label: str
    child: str
    parent: str | None


@dataclass(frozen=True)
class AngleRange:
    """What one angle did, in degrees; None where it is not known.

    low, high, range   over all frames
    median             where it mostly was
    offset_sd          standard error of its level, from the frames
    curve_sd           standard error of its course, from the frames: one angle shows in another
    noise_sd           of a single frame, from the sensors
    definition         its level depends on how a frame was defined
    other_side         difference of range to the other side, over whole strides where both have them; None without one
    stride_range       mean of the ranges within whole strides of its side; None without any
    strides            how many
    """

    name: str
    low: float | None
    high: float | None
    range: float | None
    median: float | None
    offset_sd: float | None
    curve_sd: float | None
    noise_sd: float | None
    definition: bool
    other_side: float | None
    stride_range: float | None = None
    strides: int = 0


class Stride(NamedTuple):
    """From a strike of one foot to its next [s], in the recording `segment`."""

    side: str
    segment: int
    start: float
    stop: float


@dataclass(frozen=True, eq=False)
class Angles:
    """Joint angles over time; the columns are the same in every take of the same sensors, on both sides.

    columns      c of them
    time         (n,)    [s]
    values       (n, c)  [rad]  without jumps; NaN where not known, or near gimbal lock
    offset_sd    (c,)    [rad]  standard error of the level of an angle that its frames' errors make; NaN: open
    curve_sd     (c,)    [rad]  the same of its course over time
    noise_sd     (c,)    [rad]  of one frame, from the sensors' noise; NaN: not known
    definition   c       whether the level depends on a definition (a pose, the mean up), not on the joints alone
    p_room_root  (n, 3)  [m]    pelvis in the room, X heading, Y up; NaN where not known
    segment      (n,)           number of the recording a frame belongs to
    convention, neutral, heading   how they were counted, in words
    strides      of both feet, where the feet tell them
    """

    columns: tuple[AngleColumn, ...]
    time: Annotated[Floats, "n"]
    values: Annotated[Floats, "n c"]
    offset_sd: Annotated[Floats, "c"]
    curve_sd: Annotated[Floats, "c"]
    noise_sd: Annotated[Floats, "c"]
    definition: tuple[bool, ...]
    frames: tuple[SegmentFrame, ...]
    p_room_root: Annotated[Floats, "n 3"]
    convention: str = "isb"
    title: str = ""
    neutral: str = ""
    heading: str = ""
    findings: tuple[Finding, ...] = ()
    segment: Annotated[Ints, "n"] = field(default=None)  # type: ignore[arg-type]
    fit_id: str | None = None
    strides: tuple[Stride, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, n=len(self.time), c=len(self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> Floats:
        """(n,) [deg] one column."""
        if name not in self.names:
            raise CondyleError(f"no angle '{name}'; there are {', '.join(self.names) or 'none'}", code="unknown-angle")
        return np.degrees(self.values[:, self.names.index(name)])

    @cached_property
    def ranges(self) -> tuple[AngleRange, ...]:
        """What every angle did, in the order of the columns."""
        rows = [self._describe(k) for k in range(len(self.columns))]
        named = {row.name: row for row in rows}
        found = []
        for row, column in zip(rows, self.columns, strict=True):
            other = named.get(_name_other_side(column))
            found.append(row if other is None else replace(row, other_side=_compare_sides(row, other)))
        return tuple(found)

    def _describe(self, k: int) -> AngleRange:
        values = np.degrees(self.values[:, k])
        values = values[np.isfinite(values)]
        low, high, middle = (
            (float(values.min()), float(values.max()), float(median(values))) if len(values) else (None, None, None)
        )
        width = None if low is None or high is None else high - low
        level, course, white = (_plain(np.degrees(one[k])) for one in (self.offset_sd, self.curve_sd, self.noise_sd))
        within = self._measure_strides(k)
        mean = float(np.mean(within)) if within else None
        return AngleRange(
            *(self.columns[k].name, low, high, width, middle, level, course, white, self.definition[k], None),
            stride_range=mean,
            strides=len(within),
        )

    def _measure_strides(self, k: int) -> list[float]:
        """[deg] ranges of a column of one side within its strides, where it is known in nearly all frames."""
        found = []
        for stride in self.strides:
            if stride.side == self.columns[k].side:
                rows = (self.segment == stride.segment) & (self.time >= stride.start) & (self.time <= stride.stop)
                values = self.values[rows, k]
                known = np.isfinite(values)
                if known.any() and known.mean() >= STRIDE_MIN_KNOWN:
                    found.append(float(np.degrees(np.ptp(values[known]))))
        return found

    def to_dataframe(self, unit: Literal["deg", "rad"] = "deg") -> Any:
        """A pandas DataFrame: time [s], segment, and every angle; needs pandas."""
        pandas = import_extra("pandas", "notebook")
        values = np.degrees(self.values) if unit == "deg" else np.asarray(self.values)
        table = {"time": self.time, "segment": self.segment}
        return pandas.DataFrame({**table, **{name: values[:, k] for k, name in enumerate(self.names)}})

    def __str__(self) -> str:
        joints = len({column.label for column in self.columns})
        counts = (joints, "joint"), (len(self.columns), "angle"), (len(self.time), "frame")
        return f"{', '.join(many(*one) for one in counts)}: {self.title}"


def _name_other_side(column: AngleColumn) -> str:
    """hip_flexion_l to hip_flexion_r, and hip_l_angle to hip_r_angle; "" where there is no side."""
    tail, other = f"_{column.side}", {"l": "_r", "r": "_l"}.get(column.side, "")
    if not other:
        return ""
    if column.name.endswith(tail):
        return column.name.removesuffix(tail) + other
    return column.label.removesuffix(tail) + other + column.name.removeprefix(column.label)


def _compare_sides(row: AngleRange, other: AngleRange) -> float | None:
    """[deg] between two ranges, of whole strides where both have some."""
    pair = (row.stride_range, other.stride_range)
    if None in pair:
        pair = (row.range, other.range)
    return None if pair[0] is None or pair[1] is None else abs(pair[0] - pair[1])


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
