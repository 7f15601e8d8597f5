"""Two markers that bear each other's labels for a stretch: exchanged back, their clusters keep their shape again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from ..findings import Finding, list_some, many
from ..maths.arrays import Bools, Floats, Ints, distinct, evenly
from ..maths.robust import median
from ..maths.series import find_runs
from ..maths.spool import copy_array
from ..model.values import dataclass
from .shapes import Shape, find_seen, fit_error, fit_poses
from .swaps import EITHER_PART_MIN_SHARE

GLANCED_FRAMES = 40  # frames on which an exchange between two bodies is tried first
DOUBT_MIN_TIMES = 2.0  # times the usual fit error from which an exchange inside a body is tried
DOUBT_MIN_SHARE = 0.02  # of the cluster's size from which it is tried: markers as good as alike are not told apart
SAME_ERROR_SHARE = 0.1  # of that error: smaller ones are alike
MENDED_MAX_SHARE = 0.5  # of the fit error, to which an exchange brings it at least
MENDED_BOTH_MAX_SHARE = 0.25  # of both bodies' fit error, to which an exchange brings it where not to the usual size
END_MIN_OCTAVES = 2.0  # by which the gain of an exchange changes where it begins and ends; skin changes it smoothly
END_FRAMES = 3  # frames on either side of an end that tell
STRETCH_MAX_GAP_FRAMES = 5  # frames between two exchanges of the same markers that are one stretch
MARKER_SWAP_MIN_FRAMES = 3  # frames in which two markers are exchanged; in one, chance may do it
MOST_LISTED_STRETCHES = 3  # stretches that a finding lists
MIRROR_MIN_TIMES = 3.0  # by which labels must be more alike left and right: 24 and 31 in a functional hip trial

_SIDES = {"l": "r", "r": "l", "left": "right", "right": "left"}


@dataclass(frozen=True, eq=False)
class MarkerCluster:
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
        """(n,) frames that do not fit."""
        return self._over(self.limit)

    @property
    def doubt(self) -> float:
        """Fit error from which two of the body's own markers may be exchanged: skin hides less."""
        return min(self.limit, max(DOUBT_MIN_TIMES * float(median(self.error)), DOUBT_MIN_SHARE * self.shape.size))

    @property
    def doubtful(self) -> Bools:
        """(n,) frames beyond that."""
        return self._over(self.doubt)

    @property
    def sight(self) -> Ints:
        """(n,) a number for the set of markers that is seen."""
        return np.asarray(find_seen(self.cloud) @ (1 << np.arange(len(self.markers), dtype=np.int64)))

    def error_of(self, cloud: Floats) -> Floats:
        """(r,) fit errors of other points (r, k, 3); NaN without a pose."""
        return fit_error(cloud, self.shape, *fit_poses(cloud, self.shape))

    def _over(self, limit: float) -> Bools:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.error > limit)


@dataclass(frozen=True, eq=False)
class MarkerSwap:
    """Two markers, each with its body and its place among that body's markers, and the frames they are exchanged in.

    sure   False: it may be all other frames that they are exchanged in
    fewer  False: the other frames are fewer, and without them the body keeps its poses as well
    """

    bodies: tuple[str, str]
    markers: tuple[str, str]
    places: tuple[int, int]
    rows: Ints
    sure: bool = True
    fewer: bool = True

    @property
    def stretches(self) -> list[Ints]:
        """The frames in runs."""
        return np.split(self.rows, np.flatnonzero(np.diff(self.rows) > STRETCH_MAX_GAP_FRAMES) + 1)


def find_marker_swaps(clusters: Sequence[MarkerCluster]) -> list[MarkerSwap]:
    """Exchanges of two markers after which frames that did not fit do: between two bodies, then inside each.

    One of two bodies spoils both and mends both, so that it is not mistaken for one inside. An exchange that the shape
    cannot tell, as of the two equal corners of an isosceles triangle, is not found.
    """
    found: list[MarkerSwap] = []
    left = {cluster.body: cluster.suspect for cluster in clusters}
    for one, other in combinations(clusters, 2):
        for (a, b), own in _between(one, other, _close(np.flatnonzero(left[one.body] & left[other.body]))):
            left[one.body][own] = left[other.body][own] = False
            names = one.markers[a], other.markers[b]
            found.append(MarkerSwap((one.body, other.body), names, (a, b), own))
    for cluster in clusters:
        taken = np.concatenate([np.empty(0, np.int64), *(one.rows for one in found if cluster.body in one.bodies)])
        for (a, b), own in _inside(cluster, taken):
            names = cluster.markers[a], cluster.markers[b]
            found.append(MarkerSwap((cluster.body, cluster.body), names, (a, b), own))
    return found


def find_wrong_part(swap: MarkerSwap, clusters: Sequence[MarkerCluster], recording: Ints) -> MarkerSwap:
    """The swap as it is or in all other frames instead: there the labels contradict the other recordings or, of a
    marker that has one of the same name on the other side, the left and right of a person.

    recording  (n,) the recording that each frame is of
    A shape is the same whichever of two of its own markers is called which, so nothing else tells.
    """
    if swap.bodies[0] != swap.bodies[1]:
        return swap  # only one of the two parts moves with its body
    cluster = next(one for one in clusters if one.body == swap.bodies[0])
    both: Bools = np.asarray(find_seen(cluster.cloud)[:, list(swap.places)].all(axis=1))
    inside = np.isin(np.arange(len(both)), swap.rows)
    shares = [float(inside[own].mean()) for k in np.unique(recording) if (own := both & (recording == k)).any()]
    votes = sum(1 if share == 0 else -1 for share in shares if share in (0.0, 1.0))
    if not votes:
        votes = _count_mirror_votes(swap, clusters, both & ~inside) - _count_mirror_votes(swap, clusters, both & inside)
    if votes < 0:
        return replace(swap, rows=np.flatnonzero(both & ~inside), fewer=False)
    return replace(swap, sure=bool(votes) or float(inside[both].mean()) < EITHER_PART_MIN_SHARE)


def _count_mirror_votes(swap: MarkerSwap, clusters: Sequence[MarkerCluster], rows: Bools) -> int:
    """1 where in these frames (n,) the two labels are those of the same markers on the other side, -1 where they are
    each other's, 0 where that is not to be told.

    Of a pair across the body, inner and outer, one is nearer to its own counterpart than the other, but each is as far
    from the other's counterpart. Of another pair, the other markers of the body are as far as on the other side.
    """
    points = {name: one.cloud[:, k] for one in clusters for k, name in enumerate(one.markers)}
    mirror = {name: next((other for other in _mirror_names(name) if other in points), "") for name in points}
    a, b = swap.markers
    if not (mirror[a] and mirror[b] and rows.any()):
        return 0

    def far(one: str, other: str, where: Bools | slice = slice(None)) -> Floats:
        return np.asarray(np.linalg.norm(points[one][where] - points[other][where], axis=1))

    own = [float(median(np.abs(far(a, mirror[a], rows) - far(b, mirror[b], rows))))]
    crossed = [float(median(np.abs(far(a, mirror[b], rows) - far(b, mirror[a], rows))))]
    beside = [name for one in clusters if one.body == swap.bodies[0] for name in one.markers if name not in (a, b)]
    for name in beside:
        if mirror[name]:
            here = [float(median(far(marker, name, rows))) for marker in (a, b)]
            there = [float(median(far(mirror[marker], mirror[name]))) for marker in (a, b)]
            own.append(abs(here[0] - there[1]) + abs(here[1] - there[0]))  # small where they are each other's
            crossed.append(abs(here[0] - there[0]) + abs(here[1] - there[1]))
    for more, less in ((own[0], crossed[0]), (float(np.nansum(own[1:])), float(np.nansum(crossed[1:])))):
        if max(more, less) > MIRROR_MIN_TIMES * min(more, less):
            return 1 if more > less else -1
    return 0


def _mirror_names(name: str) -> Iterator[str]:
    """What the marker on the other side may be called: LLFE for RLFE, Right_knee for Left_knee, knee.R for knee.L."""
    for place in re.finditer(r"(?i)left|right|^[lr]|(?<=:)[lr]|(?<=[a-z])[LR]$|(?<![a-z])[lr](?![a-z])", name):
        word = place[0]
        new = _SIDES[word.lower()]
        new = new.upper() if word.isupper() else new.capitalize() if word[0].isupper() else new
        yield name[: place.start()] + new + name[place.end() :]


def exchange_back(clouds: dict[str, Floats], swaps: Sequence[MarkerSwap]) -> dict[str, Floats]:
    """The points (n, k, 3) of every body with exchanged markers under their own labels again."""
    out = {body: copy_array(cloud) for body, cloud in clouds.items()}
    for swap in swaps:
        (one, other), (a, b) = swap.bodies, swap.places
        out[one][swap.rows, a], out[other][swap.rows, b] = out[other][swap.rows, b], out[one][swap.rows, a].copy()
    return out


def leave_out(clouds: dict[str, Floats], swaps: Sequence[MarkerSwap]) -> dict[str, Floats]:
    """The points (n, k, 3) of every body without exchanged markers: NaN while they bear another's label."""
    out = {body: copy_array(cloud) for body, cloud in clouds.items()}
    for swap in swaps:
        for body, place in zip(swap.bodies, swap.places, strict=True):
            out[body][swap.rows, place] = np.nan
    return out


def describe_marker_swaps(
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
        spans = list_some([_span(run, time if known else None) for run in runs], MOST_LISTED_STRETCHES)
        whose = " and ".join(dict.fromkeys(swap.bodies))
        done = "there" if swap.fewer else "in the other frames, which are fewer,"
        done = "they were exchanged back" if repaired else f"{done} both are left out; --fix swaps exchanges them back"
        doubt = "" if swap.sure else " or in all others, for nothing tells which part is right"
        text = (
            f"{whose}: markers {swap.markers[0]} and {swap.markers[1]} bear each other's labels in "
            f"{many(len(inside), 'frame')} ({spans}){doubt}; {done}"
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


def _inside(cluster: MarkerCluster, explained: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Pairs of a body's own markers with the frames that their exchange mends, but for those explained already."""
    taken = np.isin(np.arange(len(cluster.error)), explained)
    rows = _close(np.flatnonzero(cluster.doubtful & ~taken))
    pairs = list(combinations(np.flatnonzero(cluster.shape.placed).tolist(), 2))
    if len(rows) < MARKER_SWAP_MIN_FRAMES or not pairs:
        return
    errors = np.stack([cluster.error_of(_swap(cluster.cloud[rows], a, b)) for a, b in pairs])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = np.argmin(errors, axis=0)
    mended = errors.min(axis=0) <= MENDED_MAX_SHARE * cluster.error[rows]
    signs = [rows[mended & (best == k)] for k in range(len(pairs))]
    for k in sorted(range(len(pairs)), key=lambda k: -len(signs[k])):
        if len(signs[k]) < MARKER_SWAP_MIN_FRAMES:
            break
        swapped = cluster.error_of(_swap(cluster.cloud, *pairs[k]))
        own = _stretches(cluster.error, swapped, signs[k], cluster.limit, cluster.doubt, cluster.sight)
        own = own[~taken[own]]
        if len(own) >= MARKER_SWAP_MIN_FRAMES:
            taken[own] = True
            yield pairs[k], own


def _between(one: MarkerCluster, other: MarkerCluster, rows: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Pairs of markers of two bodies with the frames that their exchange mends in both."""
    if len(rows) < MARKER_SWAP_MIN_FRAMES:
        return
    few = rows[evenly(len(rows), GLANCED_FRAMES)]
    pairs = product(np.flatnonzero(one.shape.placed).tolist(), np.flatnonzero(other.shape.placed).tolist())
    likely = [pair for pair in pairs if _repair(one, other, few, *pair).any()]
    taken = np.zeros(len(one.error), dtype=bool)
    limit, doubt = float(np.hypot(one.limit, other.limit)), float(np.hypot(one.doubt, other.doubt))
    sight = (one.sight << len(other.markers)) + other.sight
    for pair in likely:
        signs = rows[_repair(one, other, rows, *pair) & ~taken[rows]]
        if len(signs) < MARKER_SWAP_MIN_FRAMES:
            continue
        swapped = np.hypot(*_both_swapped(one, other, np.arange(len(taken)), *pair))
        own = _stretches(np.hypot(one.error, other.error), swapped, signs, limit, doubt, sight)
        own = own[~taken[own]]
        if len(own) >= MARKER_SWAP_MIN_FRAMES:
            taken[own] = True
            yield pair, own


def _close(rows: Ints) -> Ints:
    """The frames of which there are enough close together: lone spikes are no stretch, and are not tried."""
    if len(rows) < MARKER_SWAP_MIN_FRAMES:
        return rows[:0]
    apart = rows[MARKER_SWAP_MIN_FRAMES - 1 :] - rows[: len(rows) - MARKER_SWAP_MIN_FRAMES + 1]
    near = np.flatnonzero(apart <= STRETCH_MAX_GAP_FRAMES)
    return np.asarray(rows[distinct(near[:, None] + np.arange(MARKER_SWAP_MIN_FRAMES))])


def _repair(one: MarkerCluster, other: MarkerCluster, rows: Ints, a: int, b: int) -> Bools:
    """(r,) whether both bodies fit after the exchange, or nearly so against before."""
    first, second = _both_swapped(one, other, rows, a, b)
    before = one.error[rows], other.error[rows]
    with np.errstate(invalid="ignore"):
        half = (first <= MENDED_MAX_SHARE * before[0]) & (second <= MENDED_MAX_SHARE * before[1])
        fits = (first <= one.limit) & (second <= other.limit)
        nearly = np.hypot(first, second) <= MENDED_BOTH_MAX_SHARE * np.hypot(*before)
    return np.asarray(half & (fits | nearly))


def _both_swapped(one: MarkerCluster, other: MarkerCluster, rows: Ints, a: int, b: int) -> tuple[Floats, Floats]:
    """(r,) fit errors of two bodies after a marker of each was exchanged."""
    first, second = one.cloud[rows].copy(), other.cloud[rows].copy()
    first[:, a], second[:, b] = second[:, b], first[:, a].copy()
    return one.error_of(first), other.error_of(second)


def _stretches(labelled: Floats, swapped: Floats, signs: Ints, limit: float, doubt: float, sight: Ints) -> Ints:
    """Frames in which two markers are exchanged, from the fit errors (n,) as labelled and after the exchange.

    A stretch holds signs of it, goes on while the exchange fits better, and begins and ends with a step of that gain,
    unless that cannot be seen; then it must be a gross misfit, and without any step in sight one that is mended.
    limit, doubt  fit errors: up to which a frame fits, from which it may not
    sight         (n,) a number for the set of markers that is seen
    """
    with np.errstate(invalid="ignore"):
        gain = np.log2((labelled + SAME_ERROR_SHARE * doubt) / (swapped + SAME_ERROR_SHARE * doubt))  # octaves
        # Where the markers that are seen fit both ways, they do not tell.
        known = np.flatnonzero(np.isfinite(gain) & (np.maximum(labelled, swapped) > doubt))
    gain = gain[known]
    sign = np.isin(known, signs)
    out = [np.empty(0, np.int64)]
    for first, stop in _runs(gain):
        last = stop - 1
        if sign[first:stop].sum() < MARKER_SWAP_MIN_FRAMES:
            continue
        steps = [_step(gain, known, sight, first, -1), _step(gain, known, sight, last, 1)]
        rows = known[first:stop]
        gross = float(median(labelled[rows])) > limit
        fits = float(median(swapped[rows])) <= limit
        if False not in steps and (None not in steps or (gross and (fits or True in steps))):
            out.append(np.arange(rows[0], rows[-1] + 1))
    return np.concatenate(out)


def _runs(gain: Floats) -> list[tuple[int, int]]:
    """(first, stop) of runs in which the gain (k,) is above zero, over a few frames where it is not.

    Two runs are one where the frames between count less than either, every frame one octave at most: a spike beside a
    stretch does not lengthen it, a spike inside does not cut it in two.
    """
    total = np.concatenate([[0.0], np.cumsum(np.clip(gain, -1, 1))])
    runs: list[tuple[int, int]] = []
    for first, stop in find_runs(gain > 0):
        if runs:
            start, end = runs[-1]
            lost = total[end] - total[first]
            if first - end <= STRETCH_MAX_GAP_FRAMES and lost < min(
                total[end] - total[start], total[stop] - total[first]
            ):
                runs[-1] = start, stop
                continue
        runs.append((first, stop))
    return runs


def _step(gain: Floats, known: Ints, sight: Ints, end: int, way: int) -> bool | None:
    """Whether the gain falls off beyond an end of a stretch; None where the frames beyond show other markers or none.

    gain, known  (k,) the gain in octaves in the frames `known`; way: -1 backwards, 1 forwards
    """
    beyond = np.arange(end + way, end + way * (END_FRAMES + 1), way)
    beyond = beyond[(beyond >= 0) & (beyond < len(known))]
    if not len(beyond) or abs(known[beyond[0]] - known[end]) > STRETCH_MAX_GAP_FRAMES:
        return None
    if sight[known[beyond[0]]] != sight[known[end]]:  # with other markers, the gain is another
        return None
    within = np.clip(np.arange(end, end - way * END_FRAMES, -way), 0, len(known) - 1)
    return bool(median(gain[within]) - median(gain[beyond]) >= END_MIN_OCTAVES)


def _swap(cloud: Floats, a: int, b: int) -> Floats:
    out = copy_array(cloud)
    out[:, [a, b]] = cloud[:, [b, a]]
    return out
