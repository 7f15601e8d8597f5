"""Tracks that change places: from one frame to the next each of two sensors goes on where the other was.

A step is judged by where a track was going. Few frames have steps far above the usual one; only those are looked at.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, distinct, dot_rows, evenly, evenly_seen, find_marked
from ..maths.robust import median
from ..maths.series import SHORTEST_STEP_S, segment_slices
from ..maths.spool import POSE_BYTES, blocks_of, empty, over_frames
from ..model.take import Take
from ..pairs.digest import STEP_FRAMES

TRACK_MAX_GAP_S = 0.25  # s: samples farther apart do not tell where a track goes on
TRACK_JUMP_MIN_STEPS = 4.0  # usual steps from which a track may have changed places
NEARNESS_FRAMES = 50  # spread over a take, in which the distances of all bodies are measured
NEARNESS_BODIES = 64  # bodies, spread over all, whose distances to the others are measured
CROSSED_MAX_SHARE = 0.4  # of the jump: what is left where each track goes on at the other's place

Moves = dict[int, set[tuple[int, int]]]


def find_crossings(moves: Moves) -> dict[tuple[int, int], Ints]:
    """{pair of bodies: frames from which on each goes on where the other was}."""
    out: dict[tuple[int, int], list[int]] = {}
    for t, goes in moves.items():
        for a, b in goes:
            if a < b and (b, a) in goes:
                out.setdefault((a, b), []).append(t)
    return {pair: np.array(frames, dtype=np.int64) for pair, frames in sorted(out.items())}


def find_moves(take: Take) -> Moves:
    """{frame: pairs (a, b) of which both jump into it, and a goes on where b was}, in the order of time."""
    before, size = _Before(take), measure_nearness(take)
    far = np.maximum(TRACK_JUMP_MIN_STEPS * before.usual_steps(size), 1e-6 * size)
    with np.errstate(invalid="ignore"):
        frame, body = find_marked(over_frames(lambda step: step > far, before.longest_steps(size)))
    known = before.any(frame, body)
    frame, body = frame[known], body[known]
    kept = before.step(size, frame, body, body)
    jumps = kept > far[body]
    frame, body, kept = frame[jumps], body[jumps], kept[jumps]
    out: Moves = {}
    for shift in range(1, take.bodies):
        same = np.flatnonzero(frame[shift:] == frame[:-shift]) if len(frame) > shift else np.empty(0, np.int64)
        if not len(same):
            break
        t, least = frame[same], CROSSED_MAX_SHARE * np.minimum(kept[same], kept[same + shift])
        for a, b in ((body[same], body[same + shift]), (body[same + shift], body[same])):
            for k in np.flatnonzero(before.step(size, t, a, b) < least):
                out.setdefault(int(t[k]), set()).add((int(a[k]), int(b[k])))
    return dict(sorted(out.items()))


def measure_nearness(take: Take) -> float:
    """[m] usual distance of a body to the nearest other one; worked out once for a take."""
    if take not in _nearness:
        part, _ = take.thin(NEARNESS_FRAMES)
        some = evenly(take.bodies, NEARNESS_BODIES)
        square = np.zeros((part.frames, len(some), take.bodies))
        for p in np.moveaxis(part.p_world_body, 2, 0):
            square += np.square(p[:, some, None] - p[:, None])
        usual = median(np.sqrt(square))
        _nearness[take] = float(median(np.where(usual > 0, usual, np.inf).min(axis=1, initial=np.inf)))
    return _nearness[take]


_nearness: WeakKeyDictionary[Take, float] = WeakKeyDictionary()


class _Before:
    """The samples of each body before a frame, in its segment and near, and the step from there."""

    def __init__(self, take: Take) -> None:
        self.take = take
        self._starts = np.array([part.start for part in segment_slices(take.segment)], np.int64)
        self._gaps: dict[int, Ints] = {}  # first frames of the stretches in which a body is not seen

    def _last(self, frame: Ints, body: Ints) -> Ints:
        """(q,) frame of the last sample of a body (q,) before a frame (q,) that is not the first, -1: none."""
        last, seen = frame - 1, self.take.seen
        lost = np.flatnonzero(~seen[last, body])  # the others were seen in the frame before
        for one in distinct(body[lost]):
            if one not in self._gaps:
                self._gaps[one] = np.flatnonzero(~seen[:, one] & np.append(True, seen[:-1, one]))
            own = lost[body[lost] == one]
            last[own] = self._gaps[one][np.searchsorted(self._gaps[one], last[own], "right") - 1] - 1
        start = self._starts[np.searchsorted(self._starts, frame, "right") - 1]
        near = (last >= start) & (self.take.time[frame] - self.take.time[last] <= TRACK_MAX_GAP_S)
        return np.where(near, last, -1)

    def any(self, frame: Ints, body: Ints) -> Bools:
        """(q,) whether a body has a sample before a frame."""
        return self._last(frame, body) >= 0

    def longest_steps(self, size: float) -> Floats:
        """(n, m) [m] no step into a frame is longer; NaN where it has no sample, infinite where none is in the frame
        before.
        """

        def measure(p: Floats, p1: Floats, R: Floats, R1: Floats) -> Floats:
            way = p - p1
            turn = np.maximum(3 - dot_rows(R.reshape(*R.shape[:2], 9), R1.reshape(*R.shape[:2], 9)), 0.0)
            return np.sqrt(dot_rows(way, way) + 0.25 * size**2 * turn)  # half the square of the turn's difference

        take, out = self.take, empty(self.take.seen.shape)
        p, R = take.p_world_body, take.R_world_body
        out[:1] = np.nan
        out[1:] = over_frames(measure, p[1:], p[:-1], R[1:], R[:-1])
        if not take.seen.all():
            out[1:][take.seen[1:] & ~take.seen[:-1]] = np.inf
        return out

    def usual_steps(self, size: float) -> Floats:
        """(m,) [m] median step of each body, of frames spread over the take."""
        rows = 1 + evenly_seen(self.take.seen[1:], STEP_FRAMES)
        frame, body = (one.ravel() for one in np.meshgrid(rows, np.arange(self.take.bodies), indexing="ij"))
        step = self.step(size, frame, body, body).reshape(len(rows), -1)
        return median(np.where(np.isfinite(step), step, np.nan))

    def step(self, size: float, frame: Ints, body: Ints, track: Ints) -> Floats:
        """[m] from where `track` was going to where `body` is in `frame`; rotation counts as way at half the size."""
        out = np.empty(len(frame))
        for some in blocks_of(len(frame), 6 * POSE_BYTES):
            out[some] = self._step(size, frame[some], body[some], track[some])
        return out

    def _step(self, size: float, frame: Ints, body: Ints, track: Ints) -> Floats:
        take, last = self.take, self._last(frame, track)
        second = np.where(last >= 1, self._last(np.maximum(last, 1), track), -1)
        p, p1, p2 = (take.p_world_body[k, who] for k, who in ((frame, body), (last, track), (second, track)))
        spent = take.time[last] - take.time[second]
        spent = np.where((second >= 0) & (np.abs(spent) > SHORTEST_STEP_S), spent, np.inf)
        pace = (take.time[frame] - take.time[last]) / spent
        plain, turned = p - p1, take.R_world_body[frame, body] - take.R_world_body[last, track]
        ahead = plain - pace[:, None] * (p1 - p2)
        square, least = (np.einsum("qi,qi->q", way, way) for way in (plain, ahead))
        square = np.where(second >= 0, np.minimum(square, least), square)
        turn = np.einsum("qij,qij->q", turned, turned)
        return np.where(last >= 0, np.sqrt(square + 0.125 * size**2 * turn), np.inf)
