"""White noise of every sensor, read off high differences of its own signal, where motion no longer shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import CHI3_MEDIAN, median
from ..maths.spool import POSE_BYTES, blocks_of, empty, over_frames
from ..model.values import dataclass

if TYPE_CHECKING:
    from ..model.take import Take

DIFFERENCE_ORDER = 6  # of the differences in which motion no longer shows
_SIXTH = (1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0)  # weights of a sixth difference
_SIXTH_VARIANCE = 924.0  # C(12, 6): variance of a sixth difference of white noise, in units of its variance
NOISE_MIN_WINDOWS = 20  # windows below which a sensor's noise is not told
NOISE_MAX_WINDOWS = 500  # windows looked at, spread over the take; more would hardly change the median
PLACE_MIN_WINDOWS = 400  # of all sensors, below which nothing is told of how noise grows with place
PLACE_MIN_LOG_SPREAD = (
    0.5  # spread of log variance over the capture space from which noise counts as growing with place
)
PLACE_MAX_LOG_VARIANCE = 2.5  # log variance beyond which a place is not trusted further


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviation per axis of each sensor's white noise; 0 where too few frames tell.

    position     (m,)  [m]
    orientation  (m,)  [rad]
    """

    position: Floats
    orientation: Floats

    @classmethod
    def none(cls, bodies: int) -> Noise:
        return cls(np.zeros(bodies), np.zeros(bodies))

    @classmethod
    def from_differences(cls, square: Floats) -> Noise:
        """From squares (S, m, 2) of sixth differences, NaN where not known; see `sixth_differences`."""
        return cls(*_spread(square))

    def of_rows(self, every: int) -> Noise:
        """That of means of so many frames."""
        share = 1 / np.sqrt(every)
        return Noise(self.position * share, self.orientation * share)

    def gap_shares(self, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
        """(J, 2) [m^2] per axis variance that the white noise of either sensor, child first, gives a joint's gap."""
        lever = np.stack([np.sum(p_child_joint**2, axis=1), np.sum(p_parent_joint**2, axis=1)], axis=1)
        return np.asarray(self.position[pairs] ** 2 + 2 / 3 * self.orientation[pairs] ** 2 * lever)

    def gap_variance(self, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
        """(J,) [m^2] per axis variance of each joint's gap that the white noise of its sensors explains."""
        return np.asarray(self.gap_shares(pairs, p_child_joint, p_parent_joint).sum(axis=1))

    def gap_covariance(self, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
        """(J, J) [m^2] per axis covariance of the joints' gaps by white noise: joints share that of their sensors."""
        J, sensor = len(pairs), pairs.ravel()
        places = np.stack([p_child_joint, -p_parent_joint], axis=1).reshape(-1, 3)
        turned = np.sqrt(2 / 3) * self.orientation[sensor, None] * places
        moved = self.position[sensor, None] * np.tile([[1.0], [-1.0]], (J, 1))
        ends = np.concatenate([turned, moved], axis=1)  # (2 J, 4) what a sensor's noise does to its end of a joint
        shared = np.where(sensor[:, None] == sensor, ends @ ends.T, 0.0)
        rows = shared[::2] + shared[1::2]
        return np.asarray(rows[:, ::2] + rows[:, 1::2])

    def cap(self, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats, residual: Floats) -> Noise:
        """With no more orientation noise than the residuals (J,) [m] of joints allow: the rest of it was fast motion.

        A joint comes apart at least by what the orientation noise of its two sensors makes of its levers.
        """
        lever = np.stack([np.sum(p_child_joint**2, axis=1), np.sum(p_parent_joint**2, axis=1)], axis=1)
        least = np.sqrt(2 * (self.orientation[pairs] ** 2 * lever).sum(axis=1))
        scale = np.ones(len(self.orientation))
        share = np.minimum(residual, least) / np.maximum(least, 1e-300)
        np.minimum.at(scale, pairs, np.where(least > residual, share, 1.0)[:, None])
        return Noise(self.position, self.orientation * scale)


def windows(take: Take, good: Bools | None = None, length: int = DIFFERENCE_ORDER + 1) -> tuple[Ints, Bools]:
    """First frames of runs of `length` frames in one segment, and (runs, m) whether a body is good throughout."""
    seen = take.seen if good is None else take.seen & good
    n = take.frames
    if n < length:
        return np.empty(0, np.int64), np.empty((0, take.bodies), bool)
    starts = np.arange(n - length + 1)
    run = np.concatenate([[0], np.cumsum(np.diff(take.segment) != 0)])
    inside = run[starts] == run[starts + length - 1]
    # A jump in time is no neighbour either.
    step = np.diff(take.time, prepend=take.time[:1])
    usual = 1.5 / take.rate if np.isfinite(take.rate) else np.inf
    jump = np.concatenate([[0], np.cumsum(step[1:] > usual)])
    inside &= jump[starts] == jump[starts + length - 1]
    whole = np.zeros((n, take.bodies), dtype=bool)
    for body in range(take.bodies):
        count = np.concatenate([[0], np.cumsum(seen[:, body])])
        whole[: len(starts), body] = count[starts + length] - count[starts] == length
    return starts[inside], whole[: len(starts)][inside]


def estimate_noise(take: Take, good: Bools | None = None) -> Noise:
    """Noise from sixth differences of position and fifth differences of the step rotation (log R_k' R_k+1).

    good   (n, m) poses to trust; windows that touch another are left out
    """
    if not take.timed or take.frames <= DIFFERENCE_ORDER:
        return Noise.none(take.bodies)
    starts, whole = windows(take, good)
    if len(starts) < NOISE_MIN_WINDOWS:
        return Noise.none(take.bodies)
    pick = evenly(len(starts), NOISE_MAX_WINDOWS)
    told = whole[pick]
    position, orientation = _differences(take, starts[pick], told)
    for body in np.flatnonzero((told.sum(axis=0) < NOISE_MIN_WINDOWS) & (whole.sum(axis=0) >= NOISE_MIN_WINDOWS)):
        own = starts[whole[:, body]][:NOISE_MAX_WINDOWS]  # a sensor that is seen in some stretches only
        one = take.select([take.names[body]])
        position[body], orientation[body] = (x[0] for x in _differences(one, own, np.ones((len(own), 1), dtype=bool)))
    return Noise(position, orientation)


def _differences(take: Take, starts: Ints, whole: Bools) -> tuple[Floats, Floats]:
    """Noise (m,) of position [m] and orientation [rad] from windows of frames that begin at `starts`."""
    return _spread(np.where(whole[..., None], sixth_differences(take, starts), np.nan))


def sixth_differences(take: Take, starts: Ints) -> Floats:
    """(S, m, 2) [m^2, rad^2] squared lengths of the sixth difference of every body's place, and of the fifth difference
    of its step rotation (log R_k' R_k+1), in windows of seven frames; lengths do not depend on the axes of anything.
    """
    square = empty((len(starts), take.bodies, 2))
    for rows in blocks_of(len(starts), len(_SIXTH) * take.bodies * POSE_BYTES):
        first = starts[rows]
        with np.errstate(invalid="ignore"):
            dp = sum(w * take.p_world_body[first + k] for k, w in enumerate(_SIXTH))
            frames = take.R_world_body[first + np.arange(DIFFERENCE_ORDER + 1)[:, None]]
            step = rotation.between(frames[:-1], frames[1:])
            dr = np.diff(step, n=DIFFERENCE_ORDER - 1, axis=0)[0]
        np.stack([np.square(part).sum(axis=-1) for part in (np.asarray(dp), dr)], axis=-1, out=square[rows])
    return square


def _spread(square: Floats) -> tuple[Floats, Floats]:
    """(m,) noise of position [m] and of orientation [rad] from squares of sixth differences, NaN where not known; 0
    where too few tell.
    """
    size = np.sqrt(median(square)) / (CHI3_MEDIAN * np.sqrt(_SIXTH_VARIANCE))
    told = np.isfinite(square).sum(axis=0) >= NOISE_MIN_WINDOWS
    position, orientation = np.where(told, size, 0.0).T
    return position, orientation


@dataclass(frozen=True, eq=False)
class PlaceNoise:
    """How the noise of every sensor grows with place: the log of its variance is one quadratic in position.

    centre  (3,) [m]    size [m]: what positions are taken from and divided by
    beta    (9,)        of the monomials of degree one and two
    level   (m,)        usual value of the quadratic at each sensor
    """

    centre: Floats
    size: float
    beta: Floats
    level: Floats

    def variance(self, take: Take) -> Floats:
        """(n, m) variance of each pose's noise relative to its sensor's usual one; 1 where not seen."""

        def grow(p: Floats, seen: Bools) -> Floats:
            field = _quadratic((p - self.centre) / self.size) @ self.beta - self.level
            most = PLACE_MAX_LOG_VARIANCE
            return np.asarray(np.exp(np.clip(np.where(seen, field, 0.0), -most, most)))

        return over_frames(grow, take.p_world_body, take.seen)


def fit_place_noise(square: Floats, place: Floats) -> PlaceNoise | None:
    """How noise depends on place, or None where it does not.

    Magnetic noise grows with the distance to the transmitter, wherever that stands: the log of the squared sixth
    difference is fitted by one quadratic in position, shared by all sensors, so no origin is assumed.

    square  (S, m) [m^2] squares of sixth differences of position, NaN where not known;  place (S, m, 3) [m] of them
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.log(square)
    use = np.isfinite(y)
    if use.sum() < PLACE_MIN_WINDOWS:
        return None
    parts = list(blocks_of(len(use), 3 * 9 * y[:1].nbytes))
    count = np.maximum(use.sum(axis=0), 1)
    centre = np.asarray(sum(place[part][use[part]].sum(axis=0) for part in parts)) / use.sum()
    square_sum = sum(float(np.square(place[part][use[part]] - centre).sum()) for part in parts)
    size = float(np.sqrt(square_sum / (3 * use.sum()))) or 1.0

    def read(part: slice) -> Floats:
        return np.where(use[part][..., None], _quadratic((place[part] - centre) / size), 0.0)

    level = np.asarray(sum(read(part).sum(axis=0) for part in parts)) / count[:, None]
    y = np.where(use, y, 0.0)
    y = np.where(use, y - y.sum(axis=0) / count, 0.0)  # every sensor has its own level

    XX, Xy = np.zeros((9, 9)), np.zeros(9)
    for part in parts:
        X = np.where(use[part][..., None], read(part) - level, 0.0).reshape(-1, 9)
        XX += X.T @ X
        Xy += X.T @ y[part].ravel()
    beta = np.linalg.lstsq(XX, Xy, rcond=None)[0]
    if float(beta @ XX @ beta) < PLACE_MIN_LOG_SPREAD**2 * use.sum():
        return None
    return PlaceNoise(centre, size, np.asarray(beta), level @ beta)


def _quadratic(x: Floats) -> Floats:
    """(..., 9) the monomials of degree one and two of positions (..., 3)."""
    cross = np.stack([x[..., 0] * x[..., 1], x[..., 0] * x[..., 2], x[..., 1] * x[..., 2]], axis=-1)
    return np.concatenate([x, x * x, cross], axis=-1)
