"""Axes of a mechanism: how they lie to each other, and the tables that go into a robot's model.

A link between two axes has their distance, their angle and, along each axis, the offset between the feet of the normals
to its two neighbours. Where the motion cannot tell two axes from parallel ones, or from ones that meet, they are taken
as such, and what it says by itself stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from ..findings import many
from ..maths import rotation
from ..maths.arrays import Floats, Vector, freeze
from ..maths.robust import Z95
from .values import dataclass

AxisKind = Literal["hinge", "screw", "slider"]
Lie = Literal["skew", "meet", "parallel", "same line"]

SINGULAR_SD = 3.0  # standard errors within which axes are taken as parallel or meeting: 1 % of parallel ones lie beyond
SINGULAR_MIN_RAD, SINGULAR_MIN_M = 1e-6, 1e-6  # below which they are so in exact data, whose errors are rounding
SLOPE_STEP = 1e-6  # m and rad, by which axes are moved to see how tables change


@dataclass(frozen=True, eq=False)
class Axis:
    """The axis of one joint of a chain, as seen from the bodies on its two sides.

    p_inner, z_inner  (3,)  point [m] and direction on the side of the base; p_outer, z_outer: on that of the tool
    R_inner_outer     (3, 3)  at the zero of the joint; it carries z_outer onto z_inner
    covariance        (12, 12)  of [p_inner, z_inner, p_outer, z_outer] [m, rad]; None without intervals
    zero_sd           [rad]  standard error of the angle in a single frame, which the zero is
    kind              "hinge"; "screw", with its pitch [m] along the axis in a whole turn; "slider": any line of its
                      direction is its axis, and the one is taken that goes through the origin of the frame before
    """

    joint: str
    inner: str
    outer: str
    p_inner: Vector
    z_inner: Vector
    p_outer: Vector
    z_outer: Vector
    R_inner_outer: Annotated[Floats, "3 3"]
    covariance: Annotated[Floats, "12 12"] | None = None
    zero_sd: float = 0.0
    kind: AxisKind = "hinge"
    pitch: float = 0.0

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def numbers(self) -> Floats:
        """(12,) in the order of the covariance."""
        return np.concatenate([self.p_inner, self.z_inner, self.p_outer, self.z_outer])


@dataclass(frozen=True)
class Measured:
    """A number with the half-width of its 95 % interval, None where there is none; in metres or radians.

    free   what the motion alone says, where the value is that of a special case (0, 180 deg)
    """

    value: float
    half_width: float | None = None
    free: float | None = None


@dataclass(frozen=True)
class AxisRow:
    """One joint of a chain.

    joint             its name in the skeleton; inner, outer: the bodies before and behind it
    distance, angle   from the axis before to this one; None at the first. a and alpha of modified DH
    lie               how the two lie to each other, as far as the motion tells
    offset            along this axis, from the normal to the one before to that to the next: d
    theta             about this axis, between these two normals at the zero of the joint; at the first and the last
                      joint both are 0 by definition, and have no interval
    low, high         [rad] least and largest angle of the recording, from the zero; of a slider [m]
    kind, pitch       [m] along the axis in a whole turn of a screw, else 0
    """

    joint: str
    inner: str
    outer: str
    distance: Measured | None
    angle: Measured | None
    lie: Lie | None
    offset: Measured
    theta: Measured
    low: float
    high: float
    kind: AxisKind = "hinge"
    pitch: float = 0.0

    def move(self, coordinate: Floats) -> tuple[Floats, Floats]:
        """What a coordinate [rad; m of a slider] adds to theta [rad] and to d [m]."""
        coordinate = np.asarray(coordinate)
        if self.kind == "slider":
            return np.zeros_like(coordinate), coordinate
        return coordinate, self.pitch * coordinate / (2 * np.pi)


@dataclass(frozen=True, eq=False)
class AxisChain:
    """A serial chain of axes from its base to its tool, at a zero that is a frame of the recording.

    T_tool = T_base_frame0 @ row(1) @ ... @ row(n) @ T_frame_tool, of the tool's sensor as seen from the base's.

    rows           from the base on
    T_base_frame0  (4, 4) [m]  frame 0 in the frame of the base's sensor: z along the first axis
    T_frame_tool   (4, 4) [m]  the tool's sensor in the last frame
    T_world_base   (4, 4) [m]  mean pose of the base's sensor, where it stands still; else None
    screws         (n, 6)      (z, p x z) of every axis in the frame of the base's sensor at the zero: z first, then m;
                               a screw's pitch over 2 pi times z is added to the latter, a slider has (0, z)
    T_base_tool    (4, 4) [m]  the tool's sensor at the zero
    zero_time      [s]         of the frame that is the zero
    time, angle    (f,) [s], (f, n) [rad]  joint angles from the zero, of a slider [m]; NaN where not seen
    played_m, played_rad       rms distance and angle between the tool as recorded and as the table has it
    """

    base: str
    tool: str
    rows: tuple[AxisRow, ...]
    T_base_frame0: Annotated[Floats, "4 4"]
    T_frame_tool: Annotated[Floats, "4 4"]
    T_world_base: Annotated[Floats, "4 4"] | None
    screws: Annotated[Floats, "n 6"]
    T_base_tool: Annotated[Floats, "4 4"]
    zero_time: float
    time: Annotated[Floats, "f"]
    angle: Annotated[Floats, "f n"]
    played_m: float | None = None
    played_rad: float | None = None

    def __post_init__(self) -> None:
        freeze(self, n=len(self.rows), f=len(self.time))

    @property
    def modified(self) -> Floats:
        """(n, 4) alpha [rad], a [m], d [m], theta at the zero [rad]: Rx(alpha) Dx(a) Rz(theta) Dz(d), after Craig."""
        return np.array([[_value(r.angle), _value(r.distance), r.offset.value, r.theta.value] for r in self.rows])

    @property
    def standard(self) -> Floats:
        """(n, 4) theta at the zero [rad], d [m], a [m], alpha [rad]: Rz(theta) Dz(d) Dx(a) Rx(alpha)."""
        table = self.modified
        after = np.vstack([table[1:, :2], np.zeros((1, 2))])
        return np.stack([table[:, 3], table[:, 2], after[:, 1], after[:, 0]], axis=1)

    def play_modified(self, angle: Floats) -> Floats:
        """(..., 4, 4) the tool's sensor in the base's, at joint angles (..., n) [rad] from the zero."""
        T = np.broadcast_to(self.T_base_frame0, (*np.shape(angle)[:-1], 4, 4))
        for k, (alpha, a, d, theta) in enumerate(self.modified):
            turn, along = self.rows[k].move(angle[..., k])
            T = T @ _turn_x(alpha, a) @ _turn_z(theta + turn, d + along)
        return np.asarray(T @ self.T_frame_tool)

    def play_standard(self, angle: Floats) -> Floats:
        """The same by the standard table."""
        T = np.broadcast_to(self.T_base_frame0, (*np.shape(angle)[:-1], 4, 4))
        for k, (theta, d, a, alpha) in enumerate(self.standard):
            turn, along = self.rows[k].move(angle[..., k])
            T = T @ _turn_z(theta + turn, d + along) @ _turn_x(alpha, a)
        return np.asarray(T @ self.T_frame_tool)

    def play_screws(self, angle: Floats) -> Floats:
        """The same by the product of exponentials."""
        T = np.broadcast_to(np.eye(4), (*np.shape(angle)[:-1], 4, 4))
        for k, screw in enumerate(self.screws):
            T = T @ _exponential(screw, angle[..., k])
        return np.asarray(T @ self.T_base_tool)

    def __str__(self) -> str:
        head = f"{many(len(self.rows), 'axis').replace('axiss', 'axes')} from {self.base} to {self.tool}"
        if self.played_m is None or self.played_rad is None:
            return head
        return f"{head}; the table plays the recording within {1000 * self.played_m:.2g} mm and " + (
            f"{np.degrees(self.played_rad):.2g} deg rms"
        )


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a recording has of a chain.

    angle         (f, n)     [rad]  of the joints from the zero; zero_row: the frame of it
    T_base_tool   (f, 4, 4)  [m]    the tool's sensor in the base's
    T_outer_tool  (4, 4)     [m]    the tool's sensor in the body behind the last axis, which may be the tool itself
    T_world_base  (4, 4)     [m]    of a base that stands still; else None
    """

    tool: str
    time: Floats
    angle: Floats
    zero_row: int
    T_base_tool: Floats
    T_outer_tool: Floats
    T_world_base: Floats | None


def tabulate(axes: Sequence[Axis], recorded: Recorded) -> AxisChain:
    """The tables of a chain of axes, base first."""
    angle = recorded.angle
    axes = _place_sliders(axes)
    lies, free, free_sds = find_lies(axes)
    table = solve_table(axes, lies)
    sds = np.where(np.isnan(errors := _find_errors(axes, lies)), free_sds, errors)
    rows = [_make_row(axes, k, lies, table, free, sds, angle[:, k]) for k in range(len(axes))]
    start, end = _frame_first(axes, table), _frame_last(axes, table)
    chain = AxisChain(
        axes[0].inner,
        recorded.tool,
        tuple(rows),
        start,
        invert(end) @ recorded.T_outer_tool,
        recorded.T_world_base,
        np.zeros((len(axes), 6)),
        np.eye(4),
        float(recorded.time[recorded.zero_row]),
        recorded.time,
        angle,
    )
    return _with_screws(chain, recorded.T_base_tool)


def _make_row(
    axes: Sequence[Axis], k: int, lies: Sequence[Lie], table: _AxisTable, free: _AxisTable, sds: Floats, angle: Floats
) -> AxisRow:
    axis, ends = axes[k], k in (0, len(axes) - 1)

    def measure(name: str, column: int, *, set_to: bool = False, defined: bool = False) -> Measured:
        alone = float(getattr(free, name)[k]) if set_to else None
        sd = float(sds[k, column])
        half = None if defined or np.isnan(sd) else Z95 * sd
        return Measured(float(getattr(table, name)[k]), half, alone)

    lie = lies[k - 1] if k else None
    return AxisRow(
        axis.joint,
        axis.inner,
        axis.outer,
        measure("a", 1, set_to=lie in ("meet", "same line") and axis.kind != "slider") if k else None,
        measure("alpha", 0, set_to=lie in ("parallel", "same line")) if k else None,
        lie,
        measure("d", 2, defined=ends),
        measure("theta", 3, defined=ends),
        float(np.nanmin(angle)),
        float(np.nanmax(angle)),
        axis.kind,
        axis.pitch,
    )


@dataclass(frozen=True, eq=False)
class _AxisTable:
    """Numbers (n,) of a chain, and its normals: x_inner (n, 3) before each joint in the body inside, x_outer behind it
    in the body outside; feet of them along each axis [m], from the point that is given.
    """

    alpha: Floats
    a: Floats
    d: Floats
    theta: Floats
    x_inner: Floats
    x_outer: Floats
    foot_inner: Floats
    foot_outer: Floats
    lies: list[Lie]


def solve_table(axes: Sequence[Axis], lies: Sequence[Lie], numbers: Floats | None = None) -> _AxisTable:
    """Modified DH of a chain whose links lie as said; numbers (n, 12) stand for those of the axes."""
    n = len(axes)
    values = np.stack([axis.numbers for axis in axes]) if numbers is None else numbers
    p_in, z_in, p_out, z_out = (values[:, 3 * k : 3 * k + 3] for k in range(4))
    alpha, a, x_in, x_out = np.zeros(n), np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3))
    t_in, t_out = np.zeros(n), np.zeros(n)
    for k, lie in enumerate(lies):  # the link between axes k and k + 1, in the frame of the body between
        z1, z2, apart = z_out[k], z_in[k + 1], p_in[k + 1] - p_out[k]
        normal = np.cross(z1, z2)
        if lie in ("parallel", "same line"):
            across = apart - z1 * (z1 @ apart)
            size = float(np.linalg.norm(across))
            if lie == "same line" or size == 0:
                size, x = 0.0, axes[k].R_inner_outer.T @ x_in[k] if k else _across(z1)
            else:
                x = across / size
            t_out[k] = t_in[k]
            t_in[k + 1] = (z2 @ z1) * (t_out[k] - z1 @ apart)
            alpha[k + 1] = 0.0 if z1 @ z2 > 0 else np.pi
            a[k + 1] = size
        else:
            square = float(normal @ normal)
            t_out[k] = np.cross(apart, z2) @ normal / square
            t_in[k + 1] = np.cross(apart, z1) @ normal / square
            x = normal / np.sqrt(square)
            along = float(x @ apart)
            if lie == "skew" and along < 0:
                x, along = -x, -along
            a[k + 1] = 0.0 if lie == "meet" else along
            alpha[k + 1] = np.arctan2(x @ normal, z1 @ z2)
        x_out[k] = x_in[k + 1] = x
    turned = [axis.R_inner_outer for axis in axes]
    if n == 1:
        x_out[0] = _across(z_out[0])
    x_in[0], t_in[0] = turned[0] @ x_out[0], t_out[0]
    if n > 1:
        x_out[-1], t_out[-1] = turned[-1].T @ x_in[-1], t_in[-1]
    theta = np.array([_turn_between(z_in[k], x_in[k], turned[k] @ x_out[k]) for k in range(n)])
    return _AxisTable(alpha, a, t_out - t_in, theta, x_in, x_out, t_in, t_out, list(lies))


def _place_sliders(axes: Sequence[Axis]) -> list[Axis]:
    """The axes with those of sliders through the origin of the frame before each."""
    placed = list(axes)
    for k, axis in enumerate(axes):
        if axis.kind == "slider" and k:
            before = placed[k - 1]
            lies, _, _ = find_lies(placed[:k])
            foot = solve_table(placed[:k], lies).foot_inner[k - 1]
            point = before.p_outer + foot * before.z_outer
            moved = axis.R_inner_outer.T @ (point - axis.p_inner)
            placed[k] = replace(axis, p_inner=point, p_outer=axis.p_outer + moved)
    return placed


def find_lies(axes: Sequence[Axis]) -> tuple[list[Lie], _AxisTable, Floats]:
    """How neighbours lie to each other by what the motion tells, the table of what it says by itself, and the standard
    errors (n, 4) of that.
    """
    turned, sds = zip(*(_find_angle(*pair) for pair in pairwise(axes)), strict=True) if len(axes) > 1 else ((), ())
    lies: list[Lie] = [
        "parallel" if np.sin(angle) < max(SINGULAR_SD * sd, SINGULAR_MIN_RAD) else "skew"
        for angle, sd in zip(turned, sds, strict=True)
    ]
    free, errors = solve_table(axes, lies), _find_errors(axes, lies)
    for k, lie in enumerate(lies):
        least = max(SINGULAR_SD * np.nan_to_num(errors[k + 1, 1]), SINGULAR_MIN_M)
        if axes[k + 1].kind == "slider" or free.a[k + 1] < least:
            lies[k] = "meet" if lie == "skew" else "same line"
        if lie == "parallel":
            free.alpha[k + 1], errors[k + 1, 0] = turned[k], sds[k] if axes[k].covariance is not None else np.nan
    return lies, free, errors


def _find_angle(one: Axis, other: Axis) -> tuple[float, float]:
    """[rad] the angle from one axis to the next, and its standard error where that is largest; 0 without one."""
    z1, z2 = one.z_outer, other.z_inner
    angle = float(np.arctan2(np.linalg.norm(np.cross(z1, z2)), z1 @ z2))
    if one.covariance is None or other.covariance is None:
        return angle, 0.0
    return angle, float(np.sqrt(np.linalg.eigvalsh(one.covariance[9:, 9:] + other.covariance[3:6, 3:6])[-1]))


def _find_errors(axes: Sequence[Axis], lies: Sequence[Lie]) -> Floats:
    """(n, 4) standard errors of alpha, a, d, theta; NaN without intervals and where one is set.

    Errors of the axes are small, so that the tables follow them on a straight line.
    """
    n = len(axes)
    known = np.array([axis.covariance is not None for axis in axes])
    values = np.stack([axis.numbers for axis in axes])
    variance = np.zeros((n, 4))
    for k, axis in enumerate(axes):
        if axis.covariance is None:
            continue
        slope = np.zeros((12, n, 4))
        for number in range(12):
            ends = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved[k, number] += sign * SLOPE_STEP
                ends.append(_stack(solve_table(axes, lies, moved)))
            change = ends[0] - ends[1]
            for column in (0, 3):
                change[:, column] = np.arctan2(np.sin(change[:, column]), np.cos(change[:, column]))
            slope[number] = change / (2 * SLOPE_STEP)
        flat = slope.reshape(12, -1)
        variance += (flat * (np.asarray(axis.covariance) @ flat)).sum(axis=0).reshape(n, 4)
    variance[:, 3] += [axis.zero_sd**2 for axis in axes]
    out = np.sqrt(np.maximum(variance, 0.0))
    before, after = np.append(True, known[:-1]), np.append(known[1:], True)
    out[~(known & before)] = np.nan
    out[~after, 2:] = np.nan
    for k, lie in enumerate(lies):
        out[k + 1, 0] = np.nan if lie in ("parallel", "same line") else out[k + 1, 0]
        out[k + 1, 1] = np.nan if lie in ("meet", "same line") else out[k + 1, 1]
    return out


def _stack(table: _AxisTable) -> Floats:
    return np.stack([table.alpha, table.a, table.d, table.theta], axis=1)


def _frame_first(axes: Sequence[Axis], table: _AxisTable) -> Floats:
    """Frame 0 in the base: z along the first axis, x along the first normal at the zero."""
    one = axes[0]
    return _frame(one.z_inner, table.x_inner[0], one.p_inner + table.foot_inner[0] * one.z_inner)


def _frame_last(axes: Sequence[Axis], table: _AxisTable) -> Floats:
    """The last frame in the tool."""
    one = axes[-1]
    return _frame(one.z_outer, table.x_outer[-1], one.p_outer + table.foot_outer[-1] * one.z_outer)


def _with_screws(chain: AxisChain, recorded: Floats) -> AxisChain:
    """The chain with its product of exponentials, and how well its table plays what was recorded."""
    frames = list(_frames(chain))
    screws = np.array([_find_screw(row, T) for row, T in zip(chain.rows, frames, strict=True)])
    chain = replace(chain, screws=screws, T_base_tool=frames[-1] @ chain.T_frame_tool)
    known = np.isfinite(chain.angle).all(axis=1) & np.isfinite(recorded).all(axis=(1, 2))
    if not known.any():
        return chain
    played, seen = chain.play_modified(chain.angle[known]), recorded[known]
    apart = np.square(played[:, :3, 3] - seen[:, :3, 3]).sum(axis=1).mean()
    turned = np.square(rotation.between(played[:, :3, :3], seen[:, :3, :3])).sum(axis=-1).mean()
    return replace(chain, played_m=float(np.sqrt(apart)), played_rad=float(np.sqrt(turned)))


def _find_screw(row: AxisRow, T: Floats) -> Floats:
    """(6,) of an axis that is the z of a frame (4, 4)."""
    z, p = T[:3, 2], T[:3, 3]
    if row.kind == "slider":
        return np.concatenate([np.zeros(3), z])
    return np.concatenate([z, np.cross(p, z) + row.pitch / (2 * np.pi) * z])


def _frames(chain: AxisChain) -> Iterator[Floats]:
    """(4, 4) of every frame in the base at the zero."""
    T = np.asarray(chain.T_base_frame0)
    for alpha, a, d, theta in chain.modified:
        T = T @ _turn_x(alpha, a) @ _turn_z(np.asarray(theta), d)
        yield T


def invert(T: Floats) -> Floats:
    """(..., 4, 4) the pose of the one frame as seen from the other."""
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    out = np.zeros_like(T)
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = R, -(R @ T[..., :3, 3:])[..., 0], 1.0
    return out


def _frame(z: Floats, x: Floats, origin: Floats) -> Floats:
    """(4, 4) with this z axis, and x as near to the one given as that lets it be."""
    x = x - z * (z @ x)
    x = x / np.linalg.norm(x)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), origin
    return T


def _turn_x(alpha: float, a: float) -> Floats:
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def _turn_z(theta: Floats, d: float) -> Floats:
    T = np.zeros((*np.shape(theta), 4, 4))
    T[..., 0, 0] = T[..., 1, 1] = np.cos(theta)
    T[..., 1, 0] = np.sin(theta)
    T[..., 0, 1] = -T[..., 1, 0]
    T[..., 2, 2] = T[..., 3, 3] = 1.0
    T[..., 2, 3] = d
    return T


def _exponential(screw: Floats, angle: Floats) -> Floats:
    """(..., 4, 4) of a turn about a fixed line, with what goes along it."""
    z, moment = screw[:3], screw[3:]
    point, along = np.cross(z, moment), moment if not z.any() else z * (z @ moment)
    T = np.zeros((*np.shape(angle), 4, 4))
    T[..., :3, :3] = rotation.from_vector(np.asarray(angle)[..., None] * z)
    T[..., :3, 3], T[..., 3, 3] = point - T[..., :3, :3] @ point, 1.0
    T[..., :3, 3] += np.asarray(angle)[..., None] * along
    return T


def _turn_between(z: Floats, x: Floats, y: Floats) -> float:
    """[rad] angle about z from x to y."""
    return float(np.arctan2(z @ np.cross(x, y), x @ y - (z @ x) * (z @ y)))


def _across(z: Floats) -> Floats:
    """Some unit vector across z, always the same."""
    side = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    return np.asarray(side / np.linalg.norm(side))


def _value(one: Measured | None) -> float:
    return 0.0 if one is None else one.value
