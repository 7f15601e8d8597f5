"""The samples around a moment: the nearest one, velocities smoothed over its neighbours, and poses between samples."""

from __future__ import annotations

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.series import count_frames
from ..maths.spool import blocks_of, empty
from ..model.take import Take
from ..model.values import dataclass

VELOCITY_REACH_S = 0.1  # s on each side over which a velocity is taken
VELOCITY_MIN_SAMPLES = 4  # samples on each side, however slow the clock
VELOCITY_MOST_SAMPLES = 4  # samples on each side at most: of a fast clock every second or third does
EVEN_MAX_PERIODS = 0.02  # of a period by which steps of an even clock may differ
HOLE_MIN_PERIODS = 1.5  # periods from which samples are missing
WEIGHT_BYTES = 100  # of one neighbour of a sample, with what its weights are worked out from
SEEN_AROUND_MIN_SHARE = 0.5  # share of a body's samples around a moment that must be seen
VELOCITY_DEGREE = 3  # of the polynomial through the samples around, whose slope is the velocity


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Where the neighbours of every sample are and how to weigh them.

    time     (n,) [s]       the take's time with its segments set far apart
    period         [s]      of nine tenths of the steps, the longest
    offsets  (w,)           frames from a sample to its neighbours
    whole    (n,)           samples whose neighbours are all there: same segment, no hole between
    weights  (n or 1, 2, w) what turns the neighbours into velocity [1/s] and acceleration [1/s^2]
    """

    time: Floats
    period: float
    offsets: Ints
    whole: Bools
    weights: Floats

    @property
    def even(self) -> bool:
        """Whether samples follow each other in equal steps, but for holes."""
        return len(self.weights) == 1

    @classmethod
    def of(cls, take: Take) -> Neighbours:
        n = take.frames
        step = np.diff(take.time)
        inside = np.diff(take.segment) == 0
        steps = np.sort(step[inside])
        period = float(steps[int(0.9 * (len(steps) - 1))]) if len(steps) else 1.0
        time = np.concatenate([[0.0], np.cumsum(np.where(inside, step, 1e4 * period))])[:n]
        side = max(VELOCITY_MIN_SAMPLES, count_frames(VELOCITY_REACH_S / max(period, 1e-9), n))
        stride = max(1, side // VELOCITY_MOST_SAMPLES)
        offsets = stride * np.arange(-(side // stride), side // stride + 1)
        reach = int(offsets[-1])
        whole = np.zeros(n, dtype=bool)
        if n > 2 * reach:
            hole = np.concatenate([[0], np.cumsum(~inside | (step > HOLE_MIN_PERIODS * period))])
            whole[reach : n - reach] = hole[2 * reach :] == hole[: n - 2 * reach]
        even = bool((np.abs(steps[steps <= HOLE_MIN_PERIODS * period] - period) < EVEN_MAX_PERIODS * period).all())
        if even:
            apart = np.asarray((offsets * period)[None])
            return cls(time, period, offsets, whole, _polynomial_weights(apart, float(np.abs(apart).max())))
        reach = min(reach, n - 1)
        together = (time[reach:] - time[: n - reach])[whole[reach:] | whole[: n - reach]]  # no border between them
        widest = float(together.max(initial=reach * period))
        weights = empty((n, 2, len(offsets)))
        for rows in blocks_of(n, WEIGHT_BYTES * len(offsets)):
            around = np.clip(np.arange(rows.start, rows.stop)[:, None] + offsets, 0, n - 1)
            weights[rows] = _polynomial_weights(time[around] - time[rows, None], widest)
        return cls(time, period, offsets, whole, weights)

    def nearest(self, rows: Ints, later: Floats) -> Ints:
        """(k, m) sample that lies nearest to `later` (m,) [s] after each row; -1 where none is near or whole."""
        asked = self.time[rows, None] + later
        at = np.clip(np.searchsorted(self.time, asked), 1, len(self.time) - 1)
        at -= asked - self.time[at - 1] < self.time[at] - asked
        near = np.abs(self.time[at] - asked) <= 0.5 * HOLE_MIN_PERIODS * self.period
        return np.where(near & self.whole[at], at, -1)

    def velocity(self, take: Take, at: Ints) -> Floats:
        """(k, m, 12) [1/s, m/s] rates of the nine numbers of R and of p at samples `at` (k, m); NaN where at is -1."""
        if self.even and (at == at[:, :1]).all() and (at >= 0).all():  # all bodies at once
            around, out = at[:, :1] + self.offsets, np.empty((*at.shape, 12))
            for values, part in ((take.R_world_body, out[..., :9]), (take.p_world_body, out[..., 9:])):
                part[:] = (self.weights[:1, 0] @ values[around].reshape(*around.shape, -1)).reshape(part.shape)
            bodies = np.flatnonzero(~take.seen.all(axis=0))
        else:
            out, bodies = np.empty((*at.shape, 12)), np.arange(take.bodies)
        for body in bodies.tolist():
            around = np.clip(at[:, body, None] + self.offsets, 0, take.frames - 1)
            known = np.flatnonzero(take.seen[:, body])
            pose = _fill(take, body, self.time, known, around.ravel()).reshape(*around.shape, 12)
            out[:, body] = self._rates(pose, at[:, body], 0)
            out[(at[:, body] < 0) | ~_is_seen_around(take.seen[:, body])[at[:, body]], body] = np.nan
        return out

    def carry(self, take: Take, body: int, later: float) -> Floats:
        """(n, 12) R and p of a body `later` [s] after every frame: the nearest sample, carried the rest of the way."""
        seen, moved = take.seen[:, body], empty((take.frames, 12))
        full, known = _is_seen_around(seen), np.flatnonzero(seen)
        for rows in blocks_of(take.frames, 12 * WEIGHT_BYTES * len(self.offsets)):
            at = self.nearest(np.arange(rows.start, rows.stop), np.array([later]))[:, 0]
            rest = (self.time[rows] + later - self.time[at])[:, None]
            around = np.clip(at[:, None] + self.offsets, 0, take.frames - 1)
            pose = _fill(take, body, self.time, known, around.ravel()).reshape(*around.shape, 12)
            own = _fill(take, body, self.time, known, at)
            part = own + rest * self._rates(pose, at, 0) + 0.5 * rest**2 * self._rates(pose, at, 1)
            part[(at < 0) | ~full[at] | ~take.seen[at, body]] = np.nan
            moved[rows] = part
        return moved

    def _rates(self, around: Floats, at: Ints, order: int) -> Floats:
        """(k, 12) first (order 0) or second derivative at samples `at` (k,) of poses around them (k, w, 12)."""
        if self.even:
            return np.asarray(np.einsum("w,kwc->kc", self.weights[0, order], around))
        return np.asarray(np.einsum("kw,kwc->kc", self.weights[at, order], around))


def _fill(take: Take, body: int, time: Floats, known: Ints, rows: Ints) -> Floats:
    """(k, 12) poses of a body in frames `rows` (k,), with its gaps bridged by straight lines between the frames that
    are `known`; 0 where there is none.
    """

    def read(frames: Ints) -> Floats:
        R, p = take.R_world_body[frames, body], take.p_world_body[frames, body]
        return np.concatenate([R.reshape(len(frames), 9), p], axis=1)

    pose = read(rows)
    if not len(known):
        return np.zeros(pose.shape)
    gone = np.flatnonzero(~take.seen[rows, body])
    lost = rows[gone] % take.frames
    after = np.searchsorted(known, lost)
    low, high = known[np.maximum(after - 1, 0)], known[np.minimum(after, len(known) - 1)]
    way = time[high] - time[low]
    way = np.where(way > 0, way, np.inf)  # beyond the ends, and between stamps that are one, the nearest one stands
    first = read(low)
    pose[gone] = first + ((time[lost] - time[low]) / way)[:, None] * (read(high) - first)
    return pose


def _is_seen_around(seen: Bools) -> Bools:
    """(n,) where a body is seen (n,), and in enough of the frames around."""
    reach, n = 2 * VELOCITY_MIN_SAMPLES, len(seen)
    count = np.concatenate([[0], np.cumsum(seen)])
    low, high = np.maximum(np.arange(n) - reach, 0), np.minimum(np.arange(n) + reach + 1, n)
    return np.asarray((count[high] - count[low] >= SEEN_AROUND_MIN_SHARE * (high - low)) & seen)


def _polynomial_weights(apart: Floats, scale: float) -> Floats:
    """(k, 2, w) weights of samples `apart` (k, w) [s], at most `scale` [s], for the slope and the curvature of a cubic
    through them.
    """
    A = (apart / scale)[..., None] ** np.arange(VELOCITY_DEGREE + 1)
    transposed = np.swapaxes(A, 1, 2)
    gram = transposed @ A
    flat = np.linalg.cond(gram) > 1e10  # at the ends, where neighbours coincide
    gram[flat] = np.eye(VELOCITY_DEGREE + 1)
    weights = np.linalg.solve(gram, transposed)
    return np.stack([weights[:, 1] / scale, 2 * weights[:, 2] / scale**2], axis=1)
