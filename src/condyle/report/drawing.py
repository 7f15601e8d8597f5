"""How figures are drawn: one quiet style for all of them. Needs matplotlib.

Every function returns a new matplotlib Figure and leaves the global state alone. Lengths come in metres and are
shown in millimetres.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..errors import import_extra
from ..maths.arrays import Floats, Ints, freeze
from ..model.clock import Clock
from ..model.html import FAINT_COLOUR, INK_COLOUR, MARK_COLOUR, lay_out_tree
from ..model.skeleton import Limb, Skeleton
from ..model.values import dataclass

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE_COLOUR, TEXT_COLOUR, GRID_COLOUR = "#b9cbdd", "#333333", "#dddddd"
FIGURE_WIDTH_IN = 6.4  # in: a column and a half of a paper, and all of a page's text
FIGURE_MAX_IN = 60.0  # in: side of a figure of very many bodies
LINE_MAX_POINTS = 1200  # points of a line; a longer one is drawn as the range of each stretch
HISTOGRAM_BINS = 40
MEAN_STRETCHES = 90
LETTER_WIDTH_IN = 0.075  # in: width of a letter, on the wide side
TREE_COLUMN_GAP_LETTERS = 9.0  # letters between two columns of the tree, for the margins
NAME_MAX_LETTERS = 28  # letters of a name
UNDRAWN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # categories of characters that are not drawn
FIGURE_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.edgecolor": TEXT_COLOUR,
    "axes.labelcolor": TEXT_COLOUR,
    "axes.linewidth": 0.6,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": TEXT_COLOUR,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": TEXT_COLOUR,
    "text.parse_math": False,  # names from files stand as they are
    "xtick.color": TEXT_COLOUR,
    "ytick.color": TEXT_COLOUR,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "svg.hashsalt": "condyle",  # the same drawing is the same file
    "svg.fonttype": "none",
}


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """Where frames stand along an axis.

    at      (n,)  running time of frames since the first [s], or their numbers
    breaks  (b,)  where a new recording begins
    label         what stands at the axis
    """

    at: Annotated[Floats, "n"]
    breaks: Annotated[Floats, "b"]
    label: str

    def __post_init__(self) -> None:
        freeze(self)


def lay_out_time(time: Floats | None, segment: Ints) -> TimeAxis:
    """Frames by the one clock of their recordings; without time, they are counted."""
    clock = Clock.of(np.arange(len(segment), dtype=np.float64) if time is None else time, segment)
    if time is None or len(segment) < 2:
        return TimeAxis(np.arange(len(segment)), clock.first[1:], "frame")  # type: ignore[arg-type]
    at = clock.times(time, np.arange(len(time)))
    return TimeAxis(at - at[0], at[clock.first[1:]] - at[0], "time [s]")


def shorten_name(name: str) -> str:
    """A body's name as it is drawn: names come from files, and a figure holds neither commands nor pages of text."""
    plain = "".join("?" if unicodedata.category(letter) in UNDRAWN_CATEGORIES else letter for letter in name)
    return plain if len(plain) <= NAME_MAX_LETTERS else plain[: NAME_MAX_LETTERS - 1] + "…"


def draw_series(
    axis: TimeAxis,
    value: Floats,
    *,
    title: str,
    label: str,
    level: float | None = None,
    note: str = "",
    zero: bool = True,
    unit: float = 1000.0,
    marks: Sequence[tuple[float, str]] = (),
) -> Figure:
    """A length (n,) [m] over time and its histogram beside it, as figures 4 and 6 to 8 of the paper; NaN: not drawn.

    The dark line is the rms of each stretch (or its mean, where the axis does not begin at zero).

    level  [m] a line across both
    unit   what 1 m is on the axis
    marks  places along the axis, with what stands at each
    """
    with styled():
        figure = _figure(FIGURE_WIDTH_IN, 2.1)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 1])
        shown = np.isfinite(value)
        _line(left, axis, value * unit)
        _stretches(left, axis, value * unit, zero)
        for at in axis.breaks:
            left.axvline(at, color=GRID_COLOUR, linewidth=0.8, zorder=0)
        for at, word in marks:
            left.axvline(at, color=MARK_COLOUR, linewidth=0.9)
            left.annotate(
                word, (at, 1), (2, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                va="top", color=MARK_COLOUR,
            )  # fmt: skip
        right.hist(
            value[shown] * unit,
            bins=HISTOGRAM_BINS,
            orientation="horizontal",
            color=PALE_COLOUR,
            edgecolor=INK_COLOUR,
            linewidth=0.4,
        )
        if level is not None and np.isfinite(level):
            for axes in (left, right):
                axes.axhline(level * unit, color=MARK_COLOUR, linewidth=0.9, linestyle=(0, (4, 2)))
        if zero and shown.any():
            left.set_ylim(0, 1.06 * float(np.nanmax(value)) * unit or 1.0)
        left.set(xlabel=axis.label, ylabel=label, title=title)
        right.set(xlabel="frames")
        right.set_title(note, color=MARK_COLOUR)
        if len(axis.at) > 1:
            left.set_xlim(axis.at[0], axis.at[-1])
        return figure


def draw_lengths(limbs: Sequence[Limb], truth: dict[tuple[str, str, str], float] | None = None) -> Figure:
    """Limb lengths, and beside them their 95 % intervals; `truth` [m] by (body, from, to) is marked where known."""
    told = [limb for limb in limbs if limb.length is not None]
    with styled():
        names = [
            "{}: {} to {}".format(*map(shorten_name, (limb.body, limb.from_joint, limb.to_joint))) for limb in told
        ]
        wide = LETTER_WIDTH_IN * max(map(len, names), default=0) + 4.2
        figure = _figure(max(FIGURE_WIDTH_IN, wide), 0.7 + 0.2 * max(len(told), 1))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1, 1])
        for row, limb in enumerate(told):
            length = 1000 * (limb.length or 0.0)
            left.plot([0, length], [row, row], color=PALE_COLOUR, linewidth=3, solid_capstyle="butt")
            words = f"{length:.1f}"
            if limb.low is not None and limb.high is not None:
                low, high = 1000 * limb.low, 1000 * limb.high
                right.plot(
                    [low - length, high - length], [row, row], color=INK_COLOUR, linewidth=3, solid_capstyle="butt"
                )
                words = f"{length:.1f}  ({low:.1f} to {high:.1f})"
            true = (truth or {}).get((limb.body, limb.from_joint, limb.to_joint))
            if true is not None:
                right.plot([1000 * true - length], [row], "|", color=MARK_COLOUR, markersize=8, markeredgewidth=1.4)
            right.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center")
        left.set(xlabel="length [mm]", yticks=range(len(told)), ylim=(len(told) - 0.4, -0.6))
        left.set_yticklabels(names)
        left.set_xlim(left=0)
        right.axvline(0, color=GRID_COLOUR, linewidth=0.8, zorder=0)
        right.set(xlabel="95 % interval about it [mm]", title="true length marked" if truth else "")
        left.set_title("limb lengths" if told else "no limb length was told")
        return figure


def draw_tree(skeleton: Skeleton, doubtful: Sequence[str] = ()) -> Figure:
    """The tree from root to leaves, each edge with its margin; edges of the joints in `doubtful` stand out."""
    place = _lay_out_tree(skeleton)
    deepest = max((depth for depth, _ in place.values()), default=0)
    longest = [max(len(shorten_name(body)) for body, (at, _) in place.items() if at == k) for k in range(deepest + 1)]
    column = np.concatenate(
        [[0.0], np.cumsum(np.array(longest[:-1], dtype=np.float64) + TREE_COLUMN_GAP_LETTERS)]
    )  # in letters
    letters = float(column[-1]) + longest[-1]
    rows = max(row for _, row in place.values()) + 1
    with styled():
        figure = _figure(max(FIGURE_WIDTH_IN, LETTER_WIDTH_IN * (letters + 2)), 0.27 * rows + 0.5)
        axes = figure.subplots()
        for joint in skeleton.joints:
            (_, y0), (depth, y1) = place[joint.parent], place[joint.child]
            start, x1 = column[depth - 1] + len(shorten_name(joint.parent)) + 0.5, column[depth] - 0.5
            bend = column[depth] - TREE_COLUMN_GAP_LETTERS + 1.5
            colour = MARK_COLOUR if joint.child in doubtful else INK_COLOUR
            axes.plot([start, bend, bend, x1], [y0, y0, y1, y1], color=colour, linewidth=1.1, zorder=1)
            if joint.margin is not None:
                words = f"{joint.margin:.3g}" if joint.margin < 1000 else "> 1000"
                axes.annotate(words, (x1, y1), (0, 1.5), textcoords="offset points", ha="right", color=colour)
        for body, (depth, y) in place.items():
            colour = FAINT_COLOUR if body in skeleton.loose else TEXT_COLOUR
            axes.annotate(shorten_name(body), (column[depth], y), va="center", color=colour, zorder=2)
        axes.set(xlim=(-1, max(letters, FIGURE_WIDTH_IN / LETTER_WIDTH_IN - 2) + 1), ylim=(rows - 0.4, -0.8))
        axes.axis("off")
        told = "tree; on each edge, times the gap would grow with the best other edge"
        axes.set_title(told if skeleton.joints else "no tree was told")
        return figure


def _lay_out_tree(skeleton: Skeleton) -> dict[str, tuple[int, float]]:
    """Depth and row of every body; a body stands amid its children, and every leaf has a row of its own."""
    order = lay_out_tree(skeleton)
    children: dict[str, list[str]] = {}
    for joint in skeleton.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    leaves = [body for body, _ in order if body not in children]
    row = {body: float(k) for k, body in enumerate(leaves)}
    for body, _ in reversed(order):  # children before their parent
        if body in children:
            row[body] = (row[children[body][0]] + row[children[body][-1]]) / 2
    return {body: (depth, row[body]) for body, depth in order}


class styled:
    """matplotlib in the style of these figures while the block lasts; raises where it is not installed."""

    def __enter__(self) -> None:
        matplotlib = import_extra("matplotlib", "plot", "figures are drawn with matplotlib")
        self._context = matplotlib.rc_context(FIGURE_STYLE)
        self._context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(min(width, FIGURE_MAX_IN), float(np.clip(height, 1.2, FIGURE_MAX_IN))), layout="constrained")


def _line(axes: Axes, axis: TimeAxis, value: Floats) -> None:
    """A pale line, broken where recordings end and values are missing; a long one as the range of each stretch."""
    n = len(value)
    if n <= LINE_MAX_POINTS:
        cut = np.searchsorted(axis.at, axis.breaks)
        axes.plot(np.insert(axis.at, cut, axis.breaks), np.insert(value, cut, np.nan), color=PALE_COLOUR, linewidth=0.7)
        return
    edges = np.linspace(0, n, LINE_MAX_POINTS // 2 + 1).astype(int)[:-1]
    known = np.isfinite(value)
    low = np.minimum.reduceat(np.where(known, value, np.inf), edges)
    high = np.maximum.reduceat(np.where(known, value, -np.inf), edges)
    empty = ~np.isfinite(low)
    low[empty], high[empty] = np.nan, np.nan
    axes.fill_between(axis.at[edges], low, high, facecolor=PALE_COLOUR, edgecolor=PALE_COLOUR, linewidth=0.5)


def _stretches(axes: Axes, axis: TimeAxis, value: Floats, square: bool) -> None:
    """The rms of each of STRETCHES parts as a dark line, or the mean."""
    if len(value) < 4 * MEAN_STRETCHES:
        return
    edges = np.linspace(0, len(value), MEAN_STRETCHES + 1).astype(int)[:-1]
    known = np.isfinite(value)
    count = np.add.reduceat(known.astype(np.float64), edges)
    total = np.add.reduceat(np.where(known, value**2 if square else value, 0.0), edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        usual = total / count
    at = np.add.reduceat(axis.at, edges) / np.diff(np.append(edges, len(value)))
    axes.plot(at, np.sqrt(usual) if square else usual, color=INK_COLOUR, linewidth=1.1)
