"""Bodies that stand or rest on the room for a while: feet on the floor, a hand on a table. Asked for with `--world`.

A planted foot keeps one point in place, about which it may turn, while the rest of the figure moves on. Nearly so do a
thigh over a standing leg, and a hand in the moment in which it turns back. So what stands has to do so clearly once;
then less tells that it stands on that point again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.series import segment_slices
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..pairs.noise import Noise
from ..pairs.windows import WINDOW_CHUNK_BYTES, Windows, cut_windows
from .connections import MOST_CONNECTED_BODIES, Contact, Stretch, contact_of, ends_of, least_motion, usual_distance

FEWEST_BODIES = 4  # the room, the body, and two others: one alone does not tell that the rest moves on
WINDOW_STEP_S = 0.1  # s between windows of four times that length in which a body is looked at
STANCE_MIN_S = 0.35  # s that the end of a limb is planted at least
MIDDLE_STANCE_MIN_S = 1.0  # s that what has joints on both sides is planted: a thigh turns about a point for a moment
PLANTED_MAX_SHARE = 0.02  # of the usual distance between joined sensors: a point that moves more is not planted
PLANTED_MAX_JOINT_GAPS = 1.5  # times the usual gap of joints, whose noise it shares, that it may move, if that is more
PASSING_MIN_SHARE = 0.015  # of that distance: motion of the usual other body, below which nothing moves on
# Feet in walks, jumps and lifts have 46 to 300, and move by up to 0.065 of what passes; a thigh over a standing leg, a
# linkage or a wheel has up to 75, or moves more.
PASSING_MIN_RATIO = 45.0  # that motion over what noise leaves of the gap
OWN_MAX_SHARE = 0.07  # of that motion, of the body's own
CLEAR_MIN_RATIO = 100.0  # from which a body may turn as it likes
# Hands, feet and heads that turn in the air in simulated exercise have up to 2.2, a foot that rolls in a recorded walk
# has 8.7.
JOINT_MAX_GAPS = 3.0  # gaps that a point moves as one joined with its body sees it, below which it is their joint
# Of feet that roll over their toe under 5 mm of skin nine in ten have more; one foot in the air of 144 takes has 22.
# The 23 stances of recordings that it adds are of feet at the height of the floor.
PLACE_MIN_RATIO = 30.0  # that ratio at a point on which the body stands clearly at another time
PLANTED_REACH_SHARE = 0.6  # of the usual distance between joined sensors from the sensor


def find_planted(
    take: Take, edges: Ints, usual: float, still: int, noise: Noise, good: Bools | None = None
) -> list[Contact]:
    """Where bodies keep a point in place on the room, the body `still`, in the order of time.

    edges   (J, 2) the tree, whose joints' usual gap [m] is `usual`; good: (n, m) poses to trust
    """
    if not take.timed or not np.isfinite(take.rate) or not FEWEST_BODIES <= take.bodies <= MOST_CONNECTED_BODIES:
        return []
    size = usual_distance(take, edges)
    most = max(PLANTED_MAX_SHARE * size, PLANTED_MAX_JOINT_GAPS * usual)
    on_room = {int(x) for edge in edges for x in edge if still in edge}
    bodies = [k for k in range(take.bodies) if k not in on_room and k != still]
    # Ends of limbs first: what they stand on explains what turns about their ankles.
    bodies.sort(key=lambda body: int((edges == body).sum()))
    search = _Search(take, good, edges, noise, still, size, most)
    always = np.zeros((2, 3))  # who is joined with the room stands on it all the time
    search.known += [Stretch(-1, (k, still), 0, take.frames, always, 0.0, 0.0, 0.0) for k in on_room - {still}]
    least = {body: STANCE_MIN_S if (edges == body).sum() < 2 else MIDDLE_STANCE_MIN_S for body in bodies}
    search.look(least, {})
    places: dict[int, list[Floats]] = {}
    for one in search.found:
        places.setdefault(one.bodies[0], []).append(one.points[0])
    if places:
        search.look({body: seconds for body, seconds in least.items() if body in places}, places)
    return sorted((contact_of(take, one) for one in search.found), key=lambda one: one.first)


@dataclass(eq=False)
class _Search:
    """Stretches in which bodies keep a point in place, as far as they were looked for.

    size   [m]    usual distance between joined sensors
    most   [m]    that a planted point moves
    found         what stands
    known         the same, and what stands on it: a knee over a shank over a foot
    taken  (m, n) frames in which a body is one of the known
    """

    take: Take
    good: Bools | None
    edges: Ints
    noise: Noise
    still: int
    size: float
    most: float

    def __post_init__(self) -> None:
        self.found: list[Stretch] = []
        self.known: list[Stretch] = []
        self.taken = np.zeros((self.take.bodies, self.take.frames), dtype=bool)

    def look(self, least: Mapping[int, float], places: Mapping[int, Sequence[Floats]]) -> None:
        """Look at bodies for stretches of so many seconds [s] at least, given places [m] at which they are known to
        stand.
        """
        take, good = self.take, self.good
        for span in _spans(take):
            windows = _windows(take, span, good)
            for body, seconds in least.items():
                for seed in _seeds(take, windows, body, self.still, self.most, self.size, self.noise):
                    if self.taken[body, (seed.first + seed.stop) // 2]:
                        continue
                    one = _grow(take, good, seed, self.most, self.size, self.noise, places.get(body, ()))
                    if one is None or take.time[one.stop - 1] - take.time[one.first] < seconds:
                        continue
                    if not self.taken[body, one.first : one.stop].any() and (places or not self._is_joint(one)):
                        self.taken[body, one.first : one.stop] = True
                        if not _is_explained(take, good, one, self.known):
                            self.found.append(one)
                        self.known.append(one)

    def _is_joint(self, one: Stretch) -> bool:
        """Whether a body turns about a point that one joined with it keeps as well: a head over a chest at rest."""
        body, still = one.bodies
        by = np.array([x for edge in self.edges.tolist() if body in edge for x in edge if x != body], dtype=np.int64)
        windows = cut_windows(self.take, one.first, one.stop, np.inf, self.good)
        if _measure_moves(windows, np.array([body]), still)[0, 0] <= OWN_MAX_SHARE * one.free:
            return False
        return bool((_measure_point(windows, body, one.points[0], by) < JOINT_MAX_GAPS * one.gap).any())


def describe_planted(contacts: Sequence[Contact]) -> list[Finding]:
    """What to say of them, body by body."""
    found = []
    for body in dict.fromkeys(contact.bodies[0] for contact in contacts):
        own = [contact for contact in contacts if contact.bodies[0] == body]
        seconds = sum(contact.end - contact.start for contact in own)
        gap = float(median(np.array([contact.gap for contact in own])))
        times = f"{len(own)} times, {seconds:.1f} s in all, first" if len(own) > 1 else "once,"
        text = (
            f"{body}: keeps a point in place in the room {times} from {own[0].start:.2f} to {own[0].end:.2f} s, within "
            f"{1000 * gap:.1g} mm, while the rest moves on"
        )
        span = (own[0].start, own[-1].end)
        count = sum(contact.stop - contact.first for contact in own)
        found.append(Finding("connection", "info", text, (body, WORLD), span, gap, "m", own[0].first, count))
    return found


def _spans(take: Take) -> list[tuple[int, int]]:
    """(first, stop) of the segments, in overlapping parts where they are long, so that few sums are held."""
    window = max(1, take.count_frames(WINDOW_STEP_S))
    part = window * max(32, WINDOW_CHUNK_BYTES // (112 * (take.bodies + 1) ** 2))
    spans = [
        (k, min(k + part + 8 * window, rows.stop))
        for rows in segment_slices(take.segment)
        for k in range(rows.start, rows.stop, part)
    ]
    return [(a, b) for a, b in spans if b - a > 8 * window]


def _windows(take: Take, span: tuple[int, int], good: Bools | None) -> Windows:
    """Windows that overlap: a short stance lies in one of them."""
    return cut_windows(take, *span, WINDOW_STEP_S, good).join_later(1).join_later(2)


def _seeds(
    take: Take, windows: Windows, body: int, still: int, most: float, size: float, noise: Noise
) -> list[Stretch]:
    """Windows in which a body may be planted."""
    gap, c, _ = (values[:, 0] for values in windows.fit(np.array([body]), np.array([take.bodies])))
    gap = np.maximum(gap, 1e-4 * size)
    passed = _measure_passing(windows, body, still)
    near = np.linalg.norm(c, axis=1) <= PLANTED_REACH_SHARE * size
    excess = np.array([_without_noise(float(own), noise, body, point) for own, point in zip(gap, c, strict=True)])
    moving = passed >= np.maximum(PASSING_MIN_RATIO / 2 * excess, PASSING_MIN_SHARE * size)
    keep = np.flatnonzero((gap <= most) & near & moving)
    keep = keep[np.argsort(gap[keep] / passed[keep])]
    return [
        Stretch(
            -1,
            (body, still),
            int(windows.first[w]),
            int(windows.stop[w]),
            _points(take, body, c[w], int(windows.first[w]), int(windows.stop[w])),
            float(gap[w]),
            float(passed[w]),
            0.0,
        )
        for w in keep
    ]


def _points(take: Take, body: int, c: Floats, first: int, stop: int) -> Floats:
    """(2, 3) [m] a point c of the body, and where in the room it is on average."""
    rows = slice(first, stop)
    return np.stack([c, np.nanmean(take.p_world_body[rows, body] + take.R_world_body[rows, body] @ c, axis=0)])


def _measure_passing(windows: Windows, body: int, still: int) -> Floats:
    """(w,) [m] how far the usual other body moves in each window, in the room."""
    others = np.array([k for k in range(windows.bodies - 1) if k not in (body, still)])
    return median(_measure_moves(windows, others, still).T)


def _measure_moves(windows: Windows, bodies: Ints, still: int) -> Floats:
    """(w, k) [m] how far these bodies move in each window, in the room."""
    count = len(windows.first)
    window, body = np.repeat(np.arange(count), len(bodies)), np.tile(bodies, count)
    by = np.full(len(window), still)
    return windows.spread(window, body, np.zeros((len(window), 3)), by).reshape(count, len(bodies))


def _without_noise(gap: float, noise: Noise, body: int, point: Floats) -> float:
    """[m] what the sensor's noise leaves of a gap, a fifth of it at least."""
    expected = 3 * noise.position[body] ** 2 + 2 * noise.orientation[body] ** 2 * float(point @ point)
    return float(np.sqrt(max(gap**2 - expected, (0.2 * gap) ** 2)))


def _grow(
    take: Take,
    good: Bools | None,
    seed: Stretch,
    most: float,
    size: float,
    noise: Noise,
    places: Sequence[Floats] = (),
) -> Stretch | None:
    """The stretch around a window as far as one point stays in place.

    places   [m]  points at which the body is known to stand; then it does so at one of them, and turns as it likes
    """
    best, now = None, seed
    for _ in range(4):
        first, stop = ends_of(take, good, now, most)
        if take.time[stop - 1] - take.time[first] < STANCE_MIN_S:
            break
        windows = cut_windows(take, first, stop, np.inf, good)
        gap, c, _ = (values[0, 0] for values in windows.fit(np.array([seed.bodies[0]]), np.array([take.bodies])))
        own, passed = max(float(gap), 1e-4 * size), float(_measure_passing(windows, *seed.bodies)[0])
        if own > most or np.linalg.norm(c) > PLANTED_REACH_SHARE * size or passed < PASSING_MIN_SHARE * size:
            break
        ratio = passed / _without_noise(own, noise, seed.bodies[0], c)
        moves = float(_measure_moves(windows, np.array(seed.bodies[:1]), seed.bodies[1])[0, 0])
        clear = PASSING_MIN_RATIO if moves <= OWN_MAX_SHARE * passed else CLEAR_MIN_RATIO
        within = min(most, passed / PLACE_MIN_RATIO)
        there = any(_is_place(windows, seed.bodies, place, within, noise) for place in places)
        if not there if places else ratio < clear:
            break
        points = _points(take, seed.bodies[0], c, first, stop)
        one = Stretch(-1, seed.bodies, first, stop, points, own, passed, 0.0)
        if best is None or stop - first > best.stop - best.first:
            best = one
        if (first, stop) == (now.first, now.stop):
            break
        now = one
    return best


def _is_place(windows: Windows, bodies: tuple[int, int], place: Floats, most: float, noise: Noise) -> bool:
    """Whether a point [m] of a body stays in place in the first window, to within `most` [m] beside the noise."""
    moves = float(_measure_point(windows, bodies[0], place, np.array(bodies[1:]))[0])
    return _without_noise(moves, noise, bodies[0], place) <= most


def _measure_point(windows: Windows, body: int, point: Floats, by: Ints) -> Floats:
    """(k,) [m] how far a point of a body moves in the first window, as each of k others sees it."""
    count = len(by)
    return windows.spread(np.zeros(count, dtype=np.int64), np.full(count, body), np.tile(point, (count, 1)), by)


def _is_explained(take: Take, good: Bools | None, one: Stretch, found: Sequence[Stretch]) -> bool:
    """Whether the point rests in a body that is known to be planted then: an ankle over a foot."""
    others = [other for other in found if other.covers(one) and other.bodies[0] != one.bodies[0]]
    if not others:
        return False
    windows = cut_windows(take, one.first, one.stop, np.inf, good)
    by = np.array([other.bodies[0] for other in others])
    return bool(least_motion(windows, one.bodies, one.points, by) < 3 * one.gap)
