"""Two markers that bear each other's labels for a stretch: exchanged back, their clusters keep their shape again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ._shapes import Bools, Floats, Ints
from .findings import Finding, many
from .rigid import Shape, fit_error, fit_poses
from .take import evenly

LOOK = 40  # frames on which an exchange between two bodies is tried first
HALF = 0.5  # of the fit error, to which an exchange brings it at least
APART = 5  # frames between two exchanges of the same markers that are one stretch
FEWEST = 3  # frames in which two markers are exchanged; in one, chance may do it
LISTED = 3  # stretches that a finding lists


@dataclass(frozen=True, eq=False)
class Cluster:
    """A body's markers over n frames.

    cloud  (n, k, 3) as labelled; shape: what they should look like
    error  (n,) fit error, limit: up to which a frame fits
    """

    body: str
    markers: tuple[str, ...]
    cloud: Floats
    shape: Shape
    error: Floats
    limit: float

    @property
    def suspect(self) -> Bools:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.error > self.limit)

    def errors_with(self, rows: Ints, cloud: Floats) -> Floats:
        """(r,) fit errors of other points (r, k, 3) in these frames over what is allowed there; inf without a pose."""
        error = fit_error(cloud, self.shape, *fit_poses(cloud, self.shape))
        allowed = np.minimum(self.limit, HALF * self.error[rows])
        return np.where(np.isfinite(error), error / allowed, np.inf)


@dataclass(frozen=True, eq=False)
class MarkerSwap:
    """Two markers, each with its body and its place among that body's markers, and the frames they are exchanged in."""

    bodies: tuple[str, str]
    markers: tuple[str, str]
    places: tuple[int, int]
    rows: Ints

    @property
    def stretches(self) -> list[Ints]:
        """The frames in runs."""
        return np.split(self.rows, np.flatnonzero(np.diff(self.rows) > APART) + 1)


def find_marker_swaps(clusters: Sequence[Cluster]) -> list[MarkerSwap]:
    """Exchanges of two markers after which frames that did not fit do: inside a body first, then between two.

    An exchange that the shape cannot tell, as of the two equal corners of an isosceles triangle, is not found.
    """
    found: list[MarkerSwap] = []
    left = {cluster.body: cluster.suspect for cluster in clusters}
    for cluster in clusters:
        rows = np.flatnonzero(left[cluster.body])
        for (a, b), own in _inside(cluster, rows):
            left[cluster.body][own] = False
            names = cluster.markers[a], cluster.markers[b]
            found.append(MarkerSwap((cluster.body, cluster.body), names, (a, b), own))
    for one, other in combinations(clusters, 2):
        for (a, b), own in _between(one, other, np.flatnonzero(left[one.body] & left[other.body])):
            left[one.body][own] = left[other.body][own] = False
            names = one.markers[a], other.markers[b]
            found.append(MarkerSwap((one.body, other.body), names, (a, b), own))
    return found


def exchanged_back(clouds: dict[str, Floats], swaps: Sequence[MarkerSwap]) -> dict[str, Floats]:
    """The points (n, k, 3) of every body with exchanged markers under their own labels again."""
    out = {body: cloud.copy() for body, cloud in clouds.items()}
    for swap in swaps:
        (one, other), (a, b) = swap.bodies, swap.places
        out[one][swap.rows, a], out[other][swap.rows, b] = out[other][swap.rows, b], out[one][swap.rows, a].copy()
    return out


def judge_marker_swaps(
    swaps: Sequence[MarkerSwap], rows: slice, time: Floats | None, repaired: bool
) -> Iterator[Finding]:
    """What to say of the exchanges in these frames of one recording with its own time (n,) [s]."""
    for swap in swaps:
        inside = swap.rows[(swap.rows >= rows.start) & (swap.rows < rows.stop)] - rows.start
        if not len(inside):
            continue
        runs = MarkerSwap(swap.bodies, swap.markers, swap.places, inside).stretches
        longest = max(runs, key=len)
        known = time is not None and bool(np.isfinite(time[inside]).all())
        spans = [_span(run, time if known else None) for run in runs[:LISTED]]
        more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
        whose = " and ".join(dict.fromkeys(swap.bodies))
        done = "they were exchanged back" if repaired else "exchange them back with --fix-swaps"
        text = (
            f"{whose}: markers {swap.markers[0]} and {swap.markers[1]} bear each other's labels in "
            f"{many(len(inside), 'frame')} ({', '.join(spans)}{more}); {done}"
        )
        moment = (float(time[longest[0]]), float(time[longest[-1]])) if known and time is not None else None
        yield Finding(
            "marker-swap",
            "info" if repaired else "warning",
            text,
            tuple(dict.fromkeys(swap.bodies)),
            moment,
            frame=int(inside[0]),
            count=len(inside),
        )


def _span(run: Ints, time: Floats | None) -> str:
    if time is None:
        return f"frame {run[0]} to {run[-1]}"
    return f"{time[run[0]]:.2f} to {time[run[-1]]:.2f} s"


def _inside(cluster: Cluster, rows: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Pairs of a body's own markers with the frames that their exchange mends."""
    pairs = list(combinations(np.flatnonzero(cluster.shape.placed).tolist(), 2))
    if not len(rows) or not pairs:
        return
    over = np.stack([cluster.errors_with(rows, _swapped(cluster.cloud[rows], a, b)) for a, b in pairs])
    best = np.argmin(over, axis=0)
    mended = over.min(axis=0) <= 1
    for k, pair in enumerate(pairs):
        own = rows[mended & (best == k)]
        if len(own) >= FEWEST:
            yield pair, own


def _between(one: Cluster, other: Cluster, rows: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Pairs of markers of two bodies with the frames that their exchange mends in both."""
    if not len(rows):
        return
    few = rows[evenly(len(rows), LOOK)]
    pairs = product(np.flatnonzero(one.shape.placed).tolist(), np.flatnonzero(other.shape.placed).tolist())
    likely = [pair for pair in pairs if _mended(one, other, few, *pair).any()]
    taken = np.zeros(len(rows), dtype=bool)
    for pair in likely:
        mended = _mended(one, other, rows, *pair) & ~taken
        if mended.sum() >= FEWEST:
            taken |= mended
            yield pair, rows[mended]


def _mended(one: Cluster, other: Cluster, rows: Ints, a: int, b: int) -> Bools:
    first, second = one.cloud[rows].copy(), other.cloud[rows].copy()
    first[:, a], second[:, b] = second[:, b], first[:, a].copy()
    return np.asarray((one.errors_with(rows, first) <= 1) & (other.errors_with(rows, second) <= 1))


def _swapped(cloud: Floats, a: int, b: int) -> Floats:
    out = cloud.copy()
    out[:, [a, b]] = cloud[:, [b, a]]
    return out
