"""Connections that hold for a part of a take: hands that clasp, a prop that is picked up, two dancers who link arms.

In a second or two of smooth motion nearly every pair of bodies fits some joint, so a small gap alone tells nothing. It
is compared with what the same window offers otherwise: how well the bodies that lie between the two in the tree fit
each of them, or, where no tree joins the two, how well the room does. Where the pair comes apart many times less than
that, for long enough, at a point near both sensors that moves as all bodies in between see it, the two are connected.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints, distinct, dot_rows, freeze_array
from ..maths.graph import components, count_steps, orient
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.windows import Windows, count_skipped, cut_windows, pick_frames, sum_windows
from ..prepare.room_moves import undo_room_moves

CONNECTION_MIN_SCORE = 3.5  # windows of a stretch times log of (gap to be expected in them / gap)
SCORED_WINDOWS_S = (0.5, 1.0, 2.0, 4.0)  # s: windows that a stretch is cut into
EXPECTED_MIN_GAPS = 3.0  # gap to be expected over gap, at least
MOVING_MIN_GAPS = 1.5  # motion of the point, as every body in between sees it, over the gap
RESTING_MAX_GAPS = 3.0  # the same up to which a connection that is known explains another
CONTACT_MAX_SHARE = 0.25  # of the usual distance between joined sensors: a larger gap is no contact
TOUCH_MAX_SHARE = 0.03  # of that distance within one figure, whose limbs may keep step without touching
TOUCH_MAX_JOINT_GAPS = 1.5  # times the usual gap of its joints that a contact within one figure may have, if more
CONTACT_REACH_SHARE = 1.25  # of that distance from either sensor: a contact is near the bodies that touch
NEIGHBOUR_MAX_GAPS = 1.2  # times the gap, up to which a neighbour fits as well
GAP_MIN_SHARE = 0.003  # of that distance: gaps below it are alike
HOLDING_MAX_GAPS = 2.5  # gap over that of the stretch, up to which it holds
SMOOTHED_S = 0.25  # s over which that gap is taken
CONTACT_MIN_S = 0.8  # s that a contact lasts at least
SPIKE_MAX_S = 0.5  # s: poses that fit nothing for less are spikes
GROWTH_ROUNDS = 8  # of finding the ends and the point in turn
MOST_SEEDS = 40  # windows from which a stretch is grown, the clearest first
MOST_CONNECTED_BODIES = 64  # beyond, nothing is looked for: pairs and windows grow too many


@dataclass(frozen=True, eq=False)
class Contact:
    """Two bodies that are connected in frames first <= k < stop.

    bodies      names
    start, end  [s]  times of the first and of the last such frame
    points      (2, 3) [m]  where, in either body's frame
    gap         [m]  root mean square distance of the two points
    free        [m]  gap that was to be expected had the two not been connected
    score       [s]  length of the stretch times the log of free over gap
    """

    bodies: tuple[str, str]
    first: int
    stop: int
    start: float
    end: float
    points: Floats
    gap: float
    free: float
    score: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", freeze_array(self.points, (2, 3), "points"))


def find_connections(
    take: Take,
    edges: Ints,
    usual: float = 0.0,
    known: Collection[frozenset[int]] = (),
    good: Bools | None = None,
    still: int | None = None,
    only: tuple[int, int] | None = None,
) -> list[Contact]:
    """Connections outside the tree, in the order of time.

    edges   (J, 2) bodies that are joined throughout, by joints whose usual gap [m] is `usual`
    known   further pairs that are joined
    good    (n, m) poses to trust
    still   index of a body that is the room itself
    only    the one pair to look at
    """
    if not take.timed or take.bodies < 2 or take.bodies > MOST_CONNECTED_BODIES or not np.isfinite(take.rate):
        return []
    take = undo_room_moves(take)  # or the room would offer nothing where it was moved
    every, joined = count_skipped(take), np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if every > 1:
        rows = pick_frames(take.seen if good is None else take.seen & good, every)
        trusted = None if good is None else good[rows]
        found = _search(take.at(rows), joined, usual, known, trusted, still, only)
        found = [_in_frames(take, good, one, rows) for one in found]
    else:
        found = _search(take, joined, usual, known, good, still, only)
    return sorted((contact_of(take, one) for one in found), key=lambda one: one.first)


def _in_frames(take: Take, good: Bools | None, one: Stretch, rows: Ints) -> Stretch:
    """A stretch that was found in some frames of the take, with its ends to the frame."""
    there = replace(one, first=int(rows[one.first]), stop=int(rows[one.stop - 1]) + 1)
    first, stop = ends_of(take, good, there)
    return replace(there, first=first, stop=stop)


def _search(
    take: Take,
    edges: Ints,
    usual: float,
    known: Collection[frozenset[int]],
    good: Bools | None,
    still: int | None,
    only: tuple[int, int] | None,
) -> list[Stretch]:
    """See `find_connections`."""
    pairs = _Pairs(take, edges, usual, known, still)
    if only is not None:
        pairs.open &= np.arange(len(pairs.open)) == pairs.row[only]
    seeds = [seed for windows in sum_windows(take, good) for seed in pairs.seeds(take, windows)]
    seeds.sort(key=lambda seed: -seed.score)
    found: list[Stretch] = []
    for _ in range(MOST_SEEDS):
        if not seeds:
            break
        seed, *seeds = seeds
        grown = _grow(take, good, pairs, seed)
        done = [seed]
        named = None if grown is None else _name(take, good, pairs, grown)
        if grown is not None and named is not None and not pairs.is_explained(take, good, grown, found):
            done += [grown, named]
            if not any(named.pair == other.pair and named.overlaps(other) for other in found):
                found.append(named)
        seeds = [other for other in seeds if not any(other.pair == one.pair and other.overlaps(one) for one in done)]
    return found


def describe_connections(contacts: Sequence[Contact]) -> list[Finding]:
    """What to say of them."""
    found = []
    for one in contacts:
        a, b = one.bodies
        reach = " and ".join(f"{1000 * x:.0f} mm" for x in np.linalg.norm(one.points, axis=1))
        text = (
            f"{a} and {b}: connected from {one.start:.1f} to {one.end:.1f} s, {reach} from their sensors; they come "
            f"apart by {1000 * one.gap:.0f} mm there, where {1000 * one.free:.0f} mm were to be expected of two that "
            "are not"
        )
        span, count = (one.start, one.end), one.stop - one.first
        found.append(Finding("connection", "info", text, one.bodies, span, one.gap, "m", frame=one.first, count=count))
    return found


def find_lasting(take: Take, good: Bools) -> Bools:
    """(n, m) poses to trust: of those that fit no joint of their sensor only short runs are left out.

    What is off for a moment is a spike; what is off for long may be a prop that was put down.
    """
    if not take.timed or not np.isfinite(take.rate) or (good == take.seen).all():
        return take.seen
    out = good.copy()
    least = max(1, take.count_frames(SPIKE_MAX_S))
    for body in np.flatnonzero((good != take.seen).any(axis=0)):
        bad = np.concatenate([[False], take.seen[:, body] & ~good[:, body], [False]])
        edges = np.flatnonzero(np.diff(bad.astype(np.int8)))
        for first, stop in zip(edges[::2], edges[1::2], strict=True):
            if stop - first >= least:
                out[first:stop, body] = take.seen[first:stop, body]
    return out


@dataclass(frozen=True, eq=False)
class Stretch:
    """Frames first <= k < stop of a pair (a row of the table of pairs) that one joint explains."""

    pair: int
    bodies: tuple[int, int]
    first: int
    stop: int
    points: Floats
    gap: float
    free: float
    score: float

    def overlaps(self, other: Stretch) -> bool:
        return self.first < other.stop and other.first < self.stop

    def covers(self, other: Stretch) -> bool:
        """Whether half of the other lies inside."""
        return 2 * (min(self.stop, other.stop) - max(self.first, other.first)) > other.stop - other.first


class _Pairs:
    """All pairs of bodies, the room as the last body, and what is between the two of each.

    i, j      (P,)
    open      (P,)       pairs that may turn out connected
    same      (P,)       whether one tree joins them
    between   (P, m + 1) the bodies on the way through the tree; the room where there is none
    largest   (P,)  [m]  gap up to which the pair may be connected
    """

    def __init__(
        self, take: Take, edges: Ints, usual: float, known: Collection[frozenset[int]], still: int | None
    ) -> None:
        m = take.bodies
        self.edges, self.room = edges, m
        self.i, self.j = np.triu_indices(m + 1, 1)
        self.row = np.full((m + 1, m + 1), -1)
        self.row[self.i, self.j] = self.row[self.j, self.i] = np.arange(len(self.i))
        used = {frozenset(edge) for edge in edges.tolist()} | set(known)
        self.open = np.array([b != m and frozenset((a, b)) not in used for a, b in zip(self.i, self.j, strict=True)])
        if still is not None:
            self.open &= (self.i != still) & (self.j != still)
        way, label = _ways(m, edges)
        self.same = label[self.i] == label[self.j]
        self.between = way[self.i, self.j]
        self.between[~self.same, m] = True
        self.size = usual_distance(take, edges)
        self.largest = np.where(
            self.same, max(TOUCH_MAX_SHARE * self.size, TOUCH_MAX_JOINT_GAPS * usual), CONTACT_MAX_SHARE * self.size
        )

    def seeds(self, take: Take, windows: Windows) -> list[Stretch]:
        """Windows and pairs that may be part of a connection."""
        gap, c, l = windows.fit(self.i, self.j)
        gap = np.maximum(gap, GAP_MIN_SHARE * self.size)
        window, pair = np.nonzero((gap <= self.largest) & self.open)
        points = np.stack([c[window, pair], l[window, pair]], axis=1)  # (q, 2, 3)
        inside = (dot_rows(points, points) <= (CONTACT_REACH_SHARE * self.size) ** 2).all(axis=1)
        window, pair, points = window[inside], pair[inside], points[inside]
        if not len(window):
            return []
        i, j, own = self.i[pair], self.j[pair], gap[window, pair]
        some = distinct(window)  # few windows have a pair that is near
        row = np.searchsorted(some, window)
        table = np.zeros((len(some), self.room + 1, self.room + 1))
        table[:, self.i, self.j] = np.where(np.isfinite(gap[some]), gap[some], 0.0)  # unseen: no evidence
        table[:, self.j, self.i] = table[:, self.i, self.j]
        off = np.where(np.isin(np.arange(self.room + 1), self.edges), np.inf, np.zeros(table.shape[:2]))
        for a, b in self.edges:
            off[:, a], off[:, b] = np.minimum(off[:, a], table[:, a, b]), np.minimum(off[:, b], table[:, a, b])
        free = _free(table[row, i], table[row, j], off[row])
        free = np.where(self.between[pair], free, 0.0).max(axis=1)
        moves = np.zeros(len(pair))
        far = free >= EXPECTED_MIN_GAPS * own
        moves[far] = self._moves(windows, window[far], pair[far], points[far])
        seconds = take.time[windows.stop - 1] - take.time[windows.first]
        found = []
        for k in np.flatnonzero(moves >= MOVING_MIN_GAPS * own):
            w, p = int(window[k]), int(pair[k])
            span, bodies = (int(windows.first[w]), int(windows.stop[w])), (int(i[k]), int(j[k]))
            score = float(seconds[w] * np.log(free[k] / own[k]))
            found.append(Stretch(p, bodies, *span, points[k], float(own[k]), float(free[k]), score))
        return found

    def _moves(self, windows: Windows, window: Ints, pair: Ints, points: Floats) -> Floats:
        """(q,) [m] how far the points (q, 2, 3) of a pair move in a window, seen by what is between and sees least."""
        least = np.full(len(pair), np.inf)
        seen_by = self.between[pair]
        seen_by[:, self.room] = True  # two that rest in the room are not connected to each other
        row, by = np.nonzero(seen_by)
        for side, point in zip((self.i, self.j), points.swapaxes(0, 1), strict=True):
            np.minimum.at(least, row, windows.spread(window[row], side[pair[row]], point[row], by))
        return least

    def score(
        self, take: Take, good: Bools | None, one: Stretch, first: int, stop: int, moving: bool = True
    ) -> Stretch | None:
        """The pair of a stretch over other frames, with the score of them; None: no contact.

        moving   False: whether the point moves as others see it is not asked

        The longer the windows, the better the room or the bodies between are told from a contact, but the fewer
        windows there are that tell it independently of each other. The length that tells most counts.
        """
        near = np.array([*one.bodies, *np.flatnonzero(self.between[one.pair][:-1])])
        # What the two are compared with: the bodies between them, or the room, which stands last.
        rest = np.arange(2, len(near)) if self.same[one.pair] else np.array([len(near)])
        whole = cut_windows(take, first, stop, np.inf, good, near)
        gap, c, l = whole.fit(np.array([0]), np.array([1]))
        points = np.concatenate([c[0], l[0]])
        own = max(float(gap[0, 0]), GAP_MIN_SHARE * self.size)
        if own > self.largest[one.pair] or np.linalg.norm(points, axis=1).max() > CONTACT_REACH_SHARE * self.size:
            return None
        if moving and least_motion(whole, (0, 1), points, np.arange(2, len(near) + 1)) < MOVING_MIN_GAPS * own:
            return None
        seconds = float(take.time[stop - 1] - take.time[first])
        best, most = 0.0, 0.0
        for length in SCORED_WINDOWS_S:
            if 2 * length > seconds:
                break
            windows = cut_windows(take, first, stop, length, good, near)
            free = self._free_gaps(windows, near, rest)
            expected = float(np.sqrt(np.mean(free**2, axis=0)).max())
            score = (seconds / length - 1) * np.log(max(expected, 1e-300) / own)
            best, most = max(best, score), max(most, expected)
        if most < EXPECTED_MIN_GAPS * own:
            return None
        return replace(one, first=first, stop=stop, points=points, gap=own, free=most, score=float(best))

    def _free_gaps(self, windows: Windows, near: Ints, rest: Ints) -> Floats:
        """(w, r) [m] gap to be expected of the first two of k bodies by each of the rest (r,) of them, or by the room,
        number k; 0 of one that is not seen, which tells nothing.
        """
        place = {int(body): k for k, body in enumerate(near)}
        edges = [(place[a], place[b]) for a, b in self.edges.tolist() if a in place and b in place]
        # To either of the two, and the best joint of each with the others: what its own sensor adds.
        i, j = np.array([*((side, other) for side in (0, 1) for other in rest.tolist()), *edges]).T
        to_one, to_other, joined = np.split(windows.fit(i, j)[0], [len(rest), 2 * len(rest)], axis=1)
        off = np.full((len(windows.first), len(near) + 1), np.inf)
        for (a, b), own in zip(edges, joined.T, strict=True):
            off[:, a], off[:, b] = np.minimum(off[:, a], own), np.minimum(off[:, b], own)
        free = _free(to_one, to_other, np.where(np.isfinite(off), off, 0.0)[:, rest])
        return np.where(np.isfinite(free), free, 0.0)

    def nearest(self, take: Take, good: Bools | None, one: Stretch) -> Stretch:
        """The same contact between those neighbours of the two that fit as well and whose sensors are nearest to it.

        While a wrist is stiff, what the hand holds fits the forearm as well.
        """
        windows = cut_windows(take, one.first, one.stop, np.inf, good)
        gap, c, l = (values[0] for values in windows.fit(self.i, self.j))
        reach = np.sqrt(np.sum(c * c, axis=1)) + np.sqrt(np.sum(l * l, axis=1))
        fits = self.open & (gap <= max(NEIGHBOUR_MAX_GAPS * one.gap, GAP_MIN_SHARE * self.size))
        here = one.pair
        for _ in range(self.room):
            near = [{body, *self._find_neighbours(body)} for body in (self.i[here], self.j[here])]
            rows = {int(self.row[a, b]) for a in near[0] for b in near[1] if a != b}
            best = min((row for row in rows if fits[row] or row == here), key=lambda row: float(reach[row]))
            if best == here:
                break
            here = best
        if here == one.pair:
            return one
        bodies = int(self.i[here]), int(self.j[here])
        return replace(one, pair=here, bodies=bodies, points=np.stack([c[here], l[here]]), gap=float(gap[here]))

    def is_moving(self, take: Take, good: Bools | None, named: Stretch, grown: Stretch) -> bool:
        """Whether the point of a connection moves as the room and what lies between its farther sensors see it: a
        wrist between them and the nearest may be stiff.
        """
        by = np.append(np.flatnonzero(self.between[grown.pair][:-1]), self.room)
        windows = cut_windows(take, named.first, named.stop, np.inf, good)
        return least_motion(windows, named.bodies, named.points, by) >= MOVING_MIN_GAPS * named.gap

    def _find_neighbours(self, body: int) -> list[int]:
        """The neighbours of a body in the tree."""
        return [int(x) for edge in self.edges if body in edge for x in edge if x != body]

    def is_explained(self, take: Take, good: Bools | None, one: Stretch, found: Sequence[Stretch]) -> bool:
        """Whether connections that are known already say the same: the point rests in a body on the way they open."""
        others = [other for other in found if other.covers(one)]
        if not others:
            return False
        extra = np.array([other.bodies for other in others])
        way, label = _ways(self.room, np.concatenate([self.edges, extra]), one.bodies)
        a, b = one.bodies
        if label[a] != label[b]:
            return False
        windows = cut_windows(take, one.first, one.stop, np.inf, good)
        return least_motion(windows, one.bodies, one.points, np.flatnonzero(way[a, b])) < RESTING_MAX_GAPS * one.gap


def _free(to_one: Floats, to_other: Floats, off: Floats) -> Floats:
    """[m] gap to be expected of two whose gaps to a third are known; `off`: what the third one's own sensor adds."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(to_one**2 + to_other**2 - 2 * off**2, 0.0)))


def least_motion(windows: Windows, bodies: tuple[int, int], points: Floats, by: Ints) -> float:
    """[m] how far the points (2, 3) of two bodies move in the first window, as that of others sees it that sees
    least.
    """
    none = np.zeros(len(by), dtype=np.int64)
    moves = [
        windows.spread(none, np.full(len(by), body), np.tile(point, (len(by), 1)), by)
        for body, point in zip(bodies, points, strict=True)
    ]
    return float(np.min(moves, initial=np.inf))


def _ways(bodies: int, edges: Ints, between: tuple[int, int] | None = None) -> tuple[Bools, Ints]:
    """(m + 1, m + 1, m + 1) the bodies between two that are joined, and (m + 1,) the number of the tree of each.

    The room, the last, is in a tree of its own. Where edges close a loop the shortest way counts, and it is told for
    the pair `between` only.
    """
    label = np.full(bodies + 1, -1)
    for number, group in enumerate(components(bodies, edges)):
        label[group] = number
    if between is None:
        steps = count_steps(bodies + 1, edges)
        ends = np.eye(bodies + 1, dtype=bool)
        way = steps[:, None] + steps[None] == steps[..., None]
        return way & np.isfinite(steps)[..., None] & ~ends[:, None] & ~ends[None], label
    way, (start, other) = np.zeros((bodies + 1,) * 3, dtype=bool), between
    parent = orient(bodies, edges, [start])
    k = int(parent[other])
    while k >= 0 and k != start:
        way[start, other, k] = True
        k = int(parent[k])
    return way, label


def usual_distance(take: Take, edges: Ints) -> float:
    """[m] root mean square over joined sensors; where nothing is joined, to the nearest."""
    part, _ = take.thin(200)
    p = part.p_world_body
    if len(edges):
        apart = np.linalg.norm(p[:, edges[:, 0]] - p[:, edges[:, 1]], axis=-1)
    else:
        apart = np.linalg.norm(p[:, :, None] - p[:, None], axis=-1)
        apart[:, np.arange(take.bodies), np.arange(take.bodies)] = np.nan
        with np.errstate(invalid="ignore"):
            apart = np.fmin.reduce(apart, axis=2)
    known = apart[np.isfinite(apart)]
    return max(float(np.sqrt(np.mean(known**2))), 1e-9) if known.size else 1.0


def _grow(take: Take, good: Bools | None, pairs: _Pairs, seed: Stretch, moving: bool = True) -> Stretch | None:
    """The stretch around a window as far as one point holds it together; the surest of all rounds."""
    best, now = None, seed
    for _ in range(GROWTH_ROUNDS):
        first, stop = ends_of(take, good, now)
        if take.time[stop - 1] - take.time[first] < CONTACT_MIN_S:
            break
        one = pairs.score(take, good, now, first, stop, moving)
        if one is None:
            break
        if best is None or one.score > best.score:
            best = one
        if (first, stop) == (now.first, now.stop):
            break
        now = one
    return best


def _name(take: Take, good: Bools | None, pairs: _Pairs, grown: Stretch) -> Stretch | None:
    """A connection between the sensors nearest to it, which have the least noise and so tell it best; None: chance."""
    named = pairs.nearest(take, good, grown)
    if named is not grown:
        named = _grow(take, good, pairs, named, moving=False) or named
        if not pairs.is_moving(take, good, named, grown):
            return None
    return named if max(named.score, grown.score) >= CONNECTION_MIN_SCORE else None


def ends_of(take: Take, good: Bools | None, one: Stretch, most: float = np.inf) -> tuple[int, int]:
    """First frame and the one after the last around the middle of a stretch where its points stay together.

    most   [m]  gap up to which they do, whatever the stretch itself has
    """
    middle, reach = (one.first + one.stop) // 2, max(one.stop - one.first, 1)
    while True:  # farther around it, until it ends on either side
        low, high = max(one.first - reach, 0), min(one.stop + reach, take.frames)
        seen, far = _find_apart(take, good, one, min(HOLDING_MAX_GAPS * one.gap, most), low, high)
        before, after = np.flatnonzero(far[: middle - low]), np.flatnonzero(far[middle - low :])
        if (len(before) or low == 0) and (len(after) or high == take.frames):
            break
        reach *= 4
    first = low + int(before[-1]) + 1 if len(before) else 0
    stop = middle + int(after[0]) if len(after) else take.frames
    inside = np.flatnonzero(seen[first - low : stop - low])
    if not len(inside):
        return one.first, one.stop
    return first + int(inside[0]), first + int(inside[-1]) + 1


def _find_apart(take: Take, good: Bools | None, one: Stretch, most: float, low: int, high: int) -> tuple[Bools, Bools]:
    """Frames low <= k < high in which both bodies of a stretch are seen, and those around which its points are farther
    apart than `most` [m], or which begin a recording.
    """
    (i, j), width = one.bodies, max(1, take.count_frames(SMOOTHED_S))
    wide = slice(max(low - width, 0), min(high + width, take.frames))
    inner = slice(low - wide.start, high - wide.start)
    seen = take.seen[wide, i] & take.seen[wide, j]
    if good is not None:
        seen = seen & good[wide, i] & good[wide, j]
    R, p = take.R_world_body, take.p_world_body
    away = R[wide, i] @ one.points[0] + p[wide, i] - (R[wide, j] @ one.points[1] + p[wide, j])
    square = np.where(seen, np.square(away).sum(axis=1), 0.0)
    kernel = np.ones(width)
    count = np.convolve(seen.astype(np.float64), kernel, "same")
    smooth = np.sqrt(np.convolve(square, kernel, "same") / np.maximum(count, 1.0))
    far = (count > 0) & (smooth > most)
    # A segment's end is an end, and so is a long time without a pose of either.
    far[np.flatnonzero(np.diff(take.segment[wide])) + 1] = True
    return seen[inner], far[inner]


def contact_of(take: Take, one: Stretch) -> Contact:
    a, b = (take.names[body] for body in one.bodies)
    start, end = float(take.time[one.first]), float(take.time[one.stop - 1])
    return Contact((a, b), one.first, one.stop, start, end, one.points, one.gap, one.free, one.score)
