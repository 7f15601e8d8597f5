"""The line below a cloud of points: what a clock's offset and drift are read off, since delays are never negative."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import isfinite

import numpy as np

from .arrays import Floats
from .series import count_frames


class LowerHull:
    """The lower convex hull of points that come one after the other; a point costs a step or two on average.

    Points come with growing x; one whose x does not grow counts where it lies lower than the last.
    """

    def __init__(self) -> None:
        self.x: list[float] = []
        self.y: list[float] = []

    def add(self, x: float, y: float) -> None:
        xs, ys = self.x, self.y
        if xs and x <= xs[-1]:
            if x < xs[-1] or y >= ys[-1]:
                return
            xs.pop()
            ys.pop()
        while len(xs) > 1 and (ys[-1] - ys[-2]) * (x - xs[-2]) >= (y - ys[-2]) * (xs[-1] - xs[-2]):
            xs.pop()
            ys.pop()
        xs.append(x)
        ys.append(y)

    def line_below(self, middle: float) -> tuple[float, float]:
        """Height at `middle`, and slope, of the edge of the hull over it.

        Of all lines with no point below them it lies nearest to points whose mean is `middle`, by the sum of heights.
        """
        return edge_over(self.x, self.y, middle)


def edge_over(x: Sequence[float], y: Sequence[float], middle: float) -> tuple[float, float]:
    """Height at `middle` and slope of the edge of a hull over it; beyond the ends, of the last one. An edge too steep
    for a number, between times that hardly differ, has its lower end's height.
    """
    if len(x) < 2:
        return y[0], 0.0
    right = min(max(bisect_left(x, middle), 1), len(x) - 1)
    slope = (y[right] - y[right - 1]) / (x[right] - x[right - 1])
    if not isfinite(slope):
        return min(y[right - 1], y[right]), 0.0
    return y[right] + slope * (middle - x[right]), slope


def merge_hulls(hulls: Sequence[LowerHull]) -> LowerHull:
    """The hull of all their points; each lies behind the one before."""
    whole = LowerHull()
    for hull in hulls:
        for x, y in zip(hull.x, hull.y, strict=True):
            whole.add(x, y)
    return whole


def lower_line(x: Floats, y: Floats, block: float) -> Floats:
    """(n,) the height over each point of the line below points (n,) with growing x.

    Over more than two blocks of x it is bent: straight between the middles of blocks, whose heights their own lines
    give. There are no more blocks than points, whatever x counts.
    """
    count = max(1, count_frames((x[-1] - x[0]) / block, len(x), whole=True)) if len(x) else 0
    if count < 3:
        return _line_of(x, y, x) if len(x) else np.empty(0)
    edges = np.linspace(x[0], x[-1], count + 1)
    starts = np.searchsorted(x, edges[:-1])
    stops = np.append(starts[1:], len(x))
    parts = [(x[a:b], y[a:b]) for a, b in zip(starts, stops, strict=True) if b > a]
    middles = np.array([part[0].mean() for part in parts])
    heights = np.array([_line_of(*part, middle[None])[0] for part, middle in zip(parts, middles, strict=True)])
    out = np.interp(x, middles, heights)
    for outside, part in ((x < middles[0], parts[0]), (x > middles[-1], parts[-1])):
        out[outside] = _line_of(*part, x[outside])
    return np.asarray(out)


def _line_of(x: Floats, y: Floats, at: Floats) -> Floats:
    hull = LowerHull()
    for one in zip(x.tolist(), y.tolist(), strict=True):
        hull.add(*one)
    middle = float(x.mean())
    height, slope = hull.line_below(middle)
    return np.asarray(height + slope * (at - middle))
