"""Two sensors fixed to one another and carried through the room: the unit of length, and the noise of the set-up.

Their true distance is constant, so its mean gives the scale and its spread the noise (paper, figure 4). White noise
explains part of the spread; the rest, where it follows the place, is a bent field.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, freeze_array
from ..maths.robust import median, robust_sd
from ..model.scale import Scale
from ..model.skeleton import SensorNoise
from ..model.take import Take
from ..model.values import dataclass
from .noise import estimate_noise

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)  # of a distance, as they are listed
RIGID_MIN_FRAMES = 10  # frames with both sensors
DISTANCE_SPIKE_SD = 4.0  # robust standard deviations beyond which a distance is left out
RIGID_MAX_TURN_RAD = np.radians(3.0)  # rms rotation of one sensor against the other, beyond which a pair is not rigid
RIGID_MAX_SPREAD = 0.04  # standard deviation over the distance, beyond which a pair is not rigid
RIGID_MAX_DRIFT = 0.03  # of the distance: between the first and the last fifth of the time
DRIFT_PARTS = 5  # of a recording, the first and the last of which tell its drift
SAME_PLACE_M = 1e-9  # m: two sensors in one place have no distance
BENT_NOISE_RATIO = 2.0  # times the white noise that the spread must exceed before the field is called bent
BENT_MIN_SHARE = 0.25  # share of it that place and direction explain, before the field is called bent
CARRIED_MIN_LENGTHS = 1.0  # of the distance: how far the pair must be carried along one axis at least
PLACES_PER_AXIS = 3  # parts of the room along each axis, whose means are listed
CHANCE_SHIFTS = 24  # times at which the distances are tried against the places, to see what chance does
CHANCE_SD = 2.5  # standard deviations of what chance does that the place must explain beyond
COLUMN_RANK_RATIO = 1e-8  # singular value over the largest, below which a column says nothing new
INDEPENDENT_PLACES = 1.5  # independent places of a bent field that a room has, as far as the mean over it is concerned
SCALE_INTERVAL_SE = 1.96  # standard errors in half of a 95 % interval
ROD_MAX_BODIES = 12  # bodies joined to nothing beyond which no rod is looked for among them
ONE_BODY = "never moved against each other; they count as one rigid body"
TURN_QUANTILE, RESTING_TURN_QUANTILE = (0.8, 2.1544), (0.95, 2.7955)  # of the length of a unit Gaussian vector in space
SCALE_MAX_FACTOR = 2.0  # factor from which, or its inverse up to which, it is rather the unit that is wrong


@dataclass(frozen=True)
class Place:
    """Distances in one third of the room along one axis: mean and standard deviation [m], number of frames."""

    axis: str
    low: float
    high: float
    mean: float
    sd: float
    frames: int


@dataclass(frozen=True, eq=False)
class RigidPair:
    """The distance of two sensors over a take.

    time, distance  (n,)  [s], [m]  NaN where one of the two is not seen or far off
    mean, sd              [m]       over the frames that count
    error                 [m]       standard error of the mean: noise over time, and a field that is bent by place
    percentiles     (7,)  [m]       PERCENTILES of the same
    white                 [m]       standard deviation of the distance that the sensors' white noise explains
    turn                  [rad]     rms rotation of one sensor against the other, noise removed
    drift                 [m]       mean of the last fifth of the time less that of the first
    follows               [-]       share of the variance that place and direction explain beyond chance
    carried               [m]       longest way along an axis of the room
    noise                           white noise of the two sensors
    places                          the distance by place
    """

    names: tuple[str, str]
    time: Floats
    distance: Floats
    mean: float
    sd: float
    error: float
    percentiles: Floats
    white: float
    turn: float
    drift: float
    follows: float
    carried: float
    noise: tuple[SensorNoise, ...]
    places: tuple[Place, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", freeze_array(self.time, (None,), "time"))
        object.__setattr__(self, "distance", freeze_array(self.distance, (len(self.time),), "distance"))
        object.__setattr__(self, "percentiles", freeze_array(self.percentiles, (len(PERCENTILES),), "percentiles"))

    @property
    def frames(self) -> int:
        return int(np.isfinite(self.distance).sum())

    @property
    def length(self) -> float:
        """[m] the distance without what noise adds to it: noise across the rod makes it longer on average."""
        return self.mean - self.white**2 / self.mean

    @property
    def interval(self) -> tuple[float, float]:
        """[m] within which the distance lies with 95 %, in recorded units."""
        return max(self.length - SCALE_INTERVAL_SE * self.error, 0.0), self.length + SCALE_INTERVAL_SE * self.error

    @property
    def loose(self) -> str | None:
        """Why the pair is not rigid, in words; None where it is."""
        a, b = self.names
        bent = self.follows > BENT_MIN_SHARE  # a bent field turns sensors too
        if self.turn > (BENT_NOISE_RATIO if bent else 1.0) * RIGID_MAX_TURN_RAD:
            return f"{a} and {b} turn against each other by {np.degrees(self.turn):.1f} deg rms"
        if abs(self.drift) > RIGID_MAX_DRIFT * self.mean and abs(self.drift) > self.sd:
            return f"the distance of {a} and {b} drifts by {1000 * self.drift:+z.0f} mm"
        if self.sd > max(RIGID_MAX_SPREAD * self.mean, BENT_NOISE_RATIO * self.white):
            return f"the distance of {a} and {b} varies by {1000 * self.sd:.0f} mm (standard deviation)"
        return None


def measure_pair(take: Take, a: str, b: str) -> RigidPair:
    """The distance of two bodies of a take and how it varies; raises where they are hardly seen together."""
    pair = take.select([a, b])
    both: Bools = np.asarray(pair.seen.all(axis=1))
    distance = np.linalg.norm(pair.p_world_body[:, 1] - pair.p_world_body[:, 0], axis=1)
    usual, spread = (float(value) for value in robust_sd(distance))
    with np.errstate(invalid="ignore"):
        both &= np.abs(distance - usual) <= np.maximum(DISTANCE_SPIKE_SD * spread, 1e-9 * usual)
    path = ", ".join(take.sources) or None
    if both.sum() < RIGID_MIN_FRAMES:
        seen = many(int(both.sum()), "frame")
        text = f"'{a}' and '{b}' are seen together in {seen}; at least {RIGID_MIN_FRAMES} are needed"
        raise CondyleError(text, code="few-frames", path=path)
    if usual < SAME_PLACE_M:
        text = f"'{a}' and '{b}' are at the same place; their distance tells no scale"
        raise CondyleError(text, code="identical-sensors", path=path, body=b)
    values = distance[both]
    noise = estimate_noise(pair, np.stack([both, both], axis=1))
    fifth = max(len(values) // DRIFT_PARTS, 1)
    middle = pair.p_world_body[both].mean(axis=1)
    follows, sure = _explain_variance(values, middle, pair.p_world_body[both, 1] - pair.p_world_body[both, 0])
    # A field that is bent in one place is bent there however long the pair stays.
    field = follows * values.var() / INDEPENDENT_PLACES
    return RigidPair(
        names=(a, b),
        time=take.time,
        distance=np.where(both, distance, np.nan),
        mean=float(values.mean()),
        sd=float(values.std()),
        error=float(np.sqrt(values.var() * _alike(values) / len(values) + field)),
        percentiles=_percentiles(values),
        white=float(np.hypot(*noise.position)),
        turn=_turn(pair.R_world_body[both], float(np.hypot(*noise.orientation))),
        drift=float(values[-fifth:].mean() - values[:fifth].mean()),
        follows=follows if sure else 0.0,
        carried=float(np.ptp(middle, axis=0).max()),
        noise=tuple(map(SensorNoise, (a, b), noise.position.tolist(), noise.orientation.tolist())),
        places=tuple(place for axis in range(3) for place in _thirds(values, middle[:, axis], "xyz"[axis])),
    )


def find_rigid_pairs(take: Take) -> list[tuple[str, str]]:
    """Pairs of bodies that neither turn nor move against each other while they are carried about, nearest first."""
    part, _ = take.thin(1000)
    carried = [k for k in range(take.bodies) if _is_carried(part.R_world_body[part.seen[:, k], k])]
    found = []
    for i, j in combinations(carried, 2):
        both = part.seen[:, [i, j]].all(axis=1)
        if both.sum() < RIGID_MIN_FRAMES:
            continue
        R, p = part.R_world_body[both], part.p_world_body[both]
        length = np.linalg.norm(p[:, j] - p[:, i], axis=1)
        if not (
            SAME_PLACE_M < length.mean() and length.std() < RIGID_MAX_SPREAD * length.mean() and _is_carried(R[:, i])
        ):
            continue
        # A joint that rests for most of a take must not look like none.
        if _turn(R[:, [i, j]], nearly_all=True) < RIGID_MAX_TURN_RAD:
            found.append((float(length.mean()), (take.names[i], take.names[j])))
    return [names for _, names in sorted(found)]


def describe_pair(pair: RigidPair) -> list[Finding]:
    """What to say of a rigid pair: a field that is bent, a pair that was not carried through the room."""
    found = []
    if pair.white > 0 and pair.sd > BENT_NOISE_RATIO * pair.white and pair.follows > BENT_MIN_SHARE:
        low, high = min(pair.places, key=lambda one: one.mean), max(pair.places, key=lambda one: one.mean)
        text = (
            f"the distance of {' and '.join(pair.names)} varies by {1000 * pair.sd:.1f} mm, of which white noise "
            f"explains {1000 * pair.white:.1f} mm, and follows the place: {1000 * low.mean:.0f} mm for {_where(low)}, "
            f"{1000 * high.mean:.0f} mm for {_where(high)}; the field is bent, keep away from metal"
        )
        found.append(Finding("bent-field", "warning", text, pair.names, value=pair.sd, unit="m"))
    if pair.carried < CARRIED_MIN_LENGTHS * pair.mean:
        text = (
            f"{' and '.join(pair.names)} were carried over {pair.carried:.2g} m only, so the scale is that of one "
            "place; carry them through all of the room"
        )
        found.append(Finding("pair-not-carried", "warning", text, pair.names, value=pair.carried, unit="m"))
    return found


def describe_loose_pairs(take: Take, names: Sequence[str]) -> list[Finding]:
    """Of bodies that are joined to nothing, those that are two on one rod: a bent field hides it from the fit."""
    if not 2 <= len(names) <= ROD_MAX_BODIES:
        return []
    found = []
    for a, b in find_rigid_pairs(take.select(list(names))):
        text, distance = rigid_sentence(take, a, b, "keep their distance wherever they are carried, as on one rod")
        found.append(Finding("rigid-pair", "info", text, (a, b), value=distance, unit="" if distance is None else "m"))
    return found


def rigid_sentence(take: Take, a: str, b: str, why: str = ONE_BODY, *, bends: bool = False) -> tuple[str, float | None]:
    """What a fit says of two sensors that are one body, and their distance [m]; None where it is not measured.

    `bends`: by their names a joint is between them.
    """
    then = (
        "the joint that their names tell cannot be placed: bend it"
        if bends
        else "if you know their distance, `condyle scale --distance` gives the scale"
    )
    text = f"{a} and {b} {why}"
    try:
        pair = measure_pair(take, a, b)
    except CondyleError:
        return f"{text}; {then}" if bends else text, None
    sd = max(1000 * pair.sd, 0.001)
    return f"{text}, {1000 * pair.mean:.1f} mm apart (standard deviation {sd:.2g} mm); {then}", pair.mean


def _percentiles(values: Floats) -> Floats:
    ordered = np.sort(values)
    return np.interp(np.array(PERCENTILES) / 100 * (len(ordered) - 1), np.arange(len(ordered)), ordered)


def _is_carried(R_world_body: Floats) -> bool:
    """Whether a body (n, 3, 3) turns in the room at all: what rests tells nothing."""
    if len(R_world_body) < RIGID_MIN_FRAMES:
        return False
    room = np.broadcast_to(np.eye(3), R_world_body.shape)
    return bool(_turn(np.stack([room, R_world_body], axis=1)) > RIGID_MAX_TURN_RAD)


def _turn(R_world_body: Floats, noise: float = 0.0, nearly_all: bool = False) -> float:
    """[rad] rms rotation of the second of two bodies (n, 2, 3, 3) in the first's axes, noise and spikes left out.

    Read off the quantile TURN_QUANTILE of the angles, or the one RESTING_TURN_QUANTILE.
    """
    relative = np.swapaxes(R_world_body[:, 0], 1, 2) @ R_world_body[:, 1]
    middle = rotation.from_vector(median(rotation.to_vector(relative[0].T @ relative)))
    angle = np.sort(rotation.angle((relative[0] @ middle).T @ relative))
    share, length = RESTING_TURN_QUANTILE if nearly_all else TURN_QUANTILE
    rms = np.sqrt(3) * float(angle[int(share * (len(angle) - 1))]) / length
    return float(np.sqrt(max(rms**2 - 3 * noise**2, 0.0)))


def _explain_variance(values: Floats, place: Floats, apart: Floats) -> tuple[float, bool]:
    """Share of the variance of (n,) that a quadratic in place and direction explains beyond chance; if that is sure."""
    x = (place - place.mean(axis=0)) / max(float(place.std()), 1e-12)
    u = apart / np.maximum(np.linalg.norm(apart, axis=1), 1e-300)[:, None]
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    squares = [np.stack([v[:, i] * v[:, j] for i, j in pairs], axis=1) for v in (x, u)]
    bent = (squares[1][:, :, None] * x[:, None, :]).reshape(len(x), -1)  # a stretch along a direction, by place
    design = np.concatenate([np.ones((len(x), 1)), x, *squares, bent], axis=1)
    centred = values - values.mean()
    total = float(centred @ centred)
    n = len(values)
    if n < 2 * design.shape[1] or total <= 0:
        return 0.0, False
    # The squares of a direction add up to one: not all columns are independent.
    basis, size, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, size > COLUMN_RANK_RATIO * size[0]]
    # Noise that lasts is at one place meanwhile. The same values at another time show how much chance explains.
    moved = np.linspace(0.1 * n, 0.9 * n, CHANCE_SHIFTS).astype(int)
    tries = np.stack([centred, *(np.roll(centred, shift) for shift in moved)], axis=1)
    share, *chance = np.square(basis.T @ tries).sum(axis=0) / total
    usual, spread = float(np.mean(chance)), float(np.std(chance))
    beyond = max(float(share - usual) / (1 - usual), 0.0) if usual < 1 else 0.0
    return beyond, share > usual + CHANCE_SD * spread


def _alike(values: Floats) -> float:
    """How many neighbouring values (n,) count as one: one for white noise, more for noise that lasts."""
    n, centred = len(values), values - values.mean()
    total = float(centred @ centred)
    if total <= 0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * n)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:n] / total
    stop = int(np.argmax(correlation < 0)) or n  # beyond the first zero there is only chance
    return max(1.0, 2 * float(correlation[:stop].sum()) - 1)


def _thirds(values: Floats, along: Floats, axis: str) -> list[Place]:
    edges = np.linspace(along.min(), along.max(), PLACES_PER_AXIS + 1)
    which = np.clip(np.searchsorted(edges, along, side="right") - 1, 0, PLACES_PER_AXIS - 1)
    parts = [(edges[k], edges[k + 1], values[which == k]) for k in range(PLACES_PER_AXIS)]
    return [
        Place(axis, float(low), float(high), float(own.mean()), float(own.std()), len(own))
        for low, high, own in parts
        if len(own) >= RIGID_MIN_FRAMES
    ]


def _where(place: Place) -> str:
    return f"{place.axis} from {place.low:z.2f} to {place.high:z.2f} m"


def scale_of(pair: RigidPair, distance: float, sources: tuple[str, ...] = ()) -> Scale:
    """The scale from a pair at a known distance [m]; raises where the pair is not rigid."""
    if not (math.isfinite(distance) and distance > 0):
        raise UsageError(f"the distance {distance:g} m is not above zero", code="bad-call")
    if pair.loose is not None:
        text = f"{pair.loose}, so they are not rigid and tell no scale; fix both to one stiff rod"
        raise CondyleError(text, code="not-rigid", path=", ".join(sources) or None)
    near, far = pair.interval
    return Scale(
        scale=distance / pair.length,
        pair=pair.names,
        distance=distance,
        measured=pair.mean,
        sd=pair.sd,
        white=pair.white,
        noise=pair.noise,
        frames=pair.frames,
        sources=sources,
        low=distance / far,
        high=distance / near if near > 0 else None,
    )


def find_oddity(scale: Scale) -> list[Finding]:
    """Whether the factor is so far from one that a unit is wrong."""
    if 1 / SCALE_MAX_FACTOR < scale.scale < SCALE_MAX_FACTOR:
        return []
    text = (
        f"the scale is {scale.scale:.4g}: {scale.measured:.4g} m were recorded where {scale.distance:g} m are true; is "
        "the distance in metres, and the file's unit right? give the unit with --unit"
    )
    return [Finding("implausible-size", "warning", text, scale.pair, value=scale.scale, unit="1")]
