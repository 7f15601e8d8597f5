"""Joint angles as the page and the figures show them."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError
from ..maths.arrays import Floats
from ..model.angles import CAVEAT, AngleColumn, AngleRange, Angles
from ..model.html import FAINT_COLOUR, INK_COLOUR, MARK_COLOUR
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..motion.angles import AngleOptions, find_joint_angles, hide_outliers
from .drawing import TEXT_COLOUR, _figure, lay_out_time, shorten_name, styled
from .page_data import NO_ANGLE, PageAngle, PageAngles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .shown import MotionPieces

ANGLE_STEP_RAD = math.radians(0.05)  # rad that 1 stands for on the page
ANGLE_COUNT_FRAMES = 2_400  # frames at most that are counted for the page
ANGLE_SHOWN_FRAMES = 1_500  # frames at most that it shows: more than its small plots have columns
PANEL_WIDTH_IN, ANGLES_PANEL_HEIGHT_IN = 2.1, 1.25  # in: size of the plot of one angle
PANELS_IN_ROW = 3


def show_angles(skeleton: Skeleton, shown: MotionPieces, up: str | None) -> PageAngles | None:
    """The angles of the shown frames by ISB, thinned; None where there are none to count."""
    source, rows = shown.source, shown.rows
    if not len(rows) or not skeleton.joints:
        return None
    counted = rows[:: math.ceil(len(rows) / ANGLE_COUNT_FRAMES)]
    held = source.rows(counted)
    take = Take(skeleton.bodies, source.time[counted], held.R, held.p, source.segment[counted], up=up)
    angles = count_angles(skeleton, hide_outliers(skeleton, take, held.weight))
    if angles is None:
        return None
    every = math.ceil(len(counted) / ANGLE_SHOWN_FRAMES)
    body = {name: k for k, name in enumerate(skeleton.bodies)}
    columns = tuple(
        _show_column(column, row, angles.values[::every, k], body[column.child])
        for k, (column, row) in enumerate(zip(angles.columns, angles.ranges, strict=True))
    )
    frames = tuple((frame.segment, frame.made) for frame in angles.frames)
    return PageAngles(angles.title, angles.neutral, angles.heading, CAVEAT, ANGLE_STEP_RAD, columns, frames)


def count_angles(skeleton: Skeleton, take: Take) -> Angles | None:
    """The angles by ISB; None where there are none, or no figure to count them on: all else can be shown."""
    try:
        angles = find_joint_angles(skeleton, take, AngleOptions(up=take.up))
    except CondyleError:
        return None
    return angles if angles.columns else None


def _show_column(column: AngleColumn, row: AngleRange, values: Floats, body: int) -> PageAngle:
    steps = np.clip(np.rint(values / ANGLE_STEP_RAD), NO_ANGLE + 1, -NO_ANGLE - 1)
    packed = np.where(np.isfinite(values), steps, NO_ANGLE).astype("<i2")

    def rad(degrees: float | None) -> float | None:
        return None if degrees is None else math.radians(degrees)

    return PageAngle(
        column.name,
        name_panel(column),
        column.side,
        body,
        rad(row.low),
        rad(row.high),
        rad(row.median),
        rad(row.offset_sd),
        rad(row.curve_sd),
        rad(row.noise_sd),
        row.definition,
        base64.b64encode(packed.tobytes()).decode("ascii"),
    )


def name_panel(column: AngleColumn) -> str:
    """What both sides of an angle are shown as: "knee flexion"."""
    name = column.name.removesuffix(f"_{column.side}") if column.side else column.name
    return name.replace("_", " ")


def plot_angles(angles: Angles, names: Sequence[str] | None = None) -> Figure:
    """Every angle over time, left and right in one plot, with the band of ± level and course; needs matplotlib.

    names  of the panels, such as "knee flexion"; None: all
    """
    every = dict(_find_panels(angles))
    unknown = [name for name in names or () if name not in every]
    if unknown:
        raise CondyleError(f"no angle '{unknown[0]}' to plot; there are {', '.join(every)}", code="unknown-angle")
    panels = {name: own for name, own in every.items() if names is None or name in names}
    with styled():
        rows = max(math.ceil(len(panels) / PANELS_IN_ROW), 1)
        figure = _figure(PANELS_IN_ROW * PANEL_WIDTH_IN, rows * ANGLES_PANEL_HEIGHT_IN + 0.3)
        axes = figure.subplots(rows, PANELS_IN_ROW, sharex=True, squeeze=False).ravel()
        time = lay_out_time(angles.time, angles.segment)
        for place, (name, own) in zip(axes, panels.items(), strict=False):
            _draw_panel(place, angles, own, time.at)
            place.set_title(shorten_name(name))
        for place in axes[len(panels) :]:
            place.axis("off")
        for place in axes[max(len(panels) - PANELS_IN_ROW, 0) : len(panels)]:
            place.set_xlabel(time.label)
            place.xaxis.set_tick_params(labelbottom=True)
        sides = [("left", INK_COLOUR, "-"), ("right", MARK_COLOUR, "--"), ("middle", TEXT_COLOUR, "-")]
        keys = [axes[0].plot([], [], style, color=colour, label=word)[0] for word, colour, style in sides]
        figure.legend(handles=keys, loc="outside upper right", ncols=3)
        figure.suptitle(f"Joint angles [deg]: {angles.title}", x=0.01, ha="left", fontsize=8.5, color=TEXT_COLOUR)
        return figure


def _find_panels(angles: Angles) -> Iterator[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for k, column in enumerate(angles.columns):
        found.setdefault(name_panel(column), []).append(k)
    yield from found.items()


def _draw_panel(axes: Axes, angles: Angles, columns: list[int], at: Floats) -> None:
    styles = {"l": (INK_COLOUR, "-"), "r": (MARK_COLOUR, "--"), "": (TEXT_COLOUR, "-")}
    breaks = np.flatnonzero(np.diff(angles.segment)) + 1
    for k in columns:
        colour, style = styles[angles.columns[k].side]
        values = np.insert(np.degrees(angles.values[:, k]), breaks, np.nan)
        time = np.insert(at, breaks, at[breaks])
        sds = np.degrees([angles.offset_sd[k], angles.curve_sd[k]])
        width = float(np.sqrt(np.square(sds[np.isfinite(sds)]).sum()))
        axes.fill_between(time, values - width, values + width, color=colour, alpha=0.18, linewidth=0)
        axes.plot(time, values, style, color=colour, linewidth=0.8)
    axes.axhline(0.0, color=FAINT_COLOUR, linewidth=0.4)
