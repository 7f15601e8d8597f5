"""The unit of length that a file does not say, from what people and machines are like: how far apart sensors are, how
far from a sensor lies what it turns about, how long a skeleton is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import median, quantile
from ..maths.series import SHORTEST_STEP_S, count_frames
from .units import metres_per

if TYPE_CHECKING:
    from .take import OwnSkeleton

CMU_UNIT = "0.056444"  # m: an inch over 0.45
MOST_PAIRS = 4_000_000  # distances that a plausible unit is found from, whatever the number of bodies
UNITS = ("m", "cm", "mm")
USUAL_DISTANCE_M = 0.3  # m between sensors next to each other; chosen
FEW_BODIES = 2  # or one, whose distances tell little
# A sensor that turns at `w` and moves at `v` turns about something v / w away. 433 segments of 46 recorded people who
# walk, lift, cycle and stand have 0.03 to 3.33 m, 0.42 as a rule, 0.06 where they turn often.
USUAL_LEVER_M = 0.42  # m from a sensor to what it turns about, of recorded people
LEVER_MAX_M = 4.3  # m, half way from the 3.33 m of recorded people to the 5.5 that they have in cm read as m
TURNING_MIN_RAD_S = np.radians(20)  # rad/s from which it is turning that moves a sensor, and not walking
TURNING_MIN_SHARE = 0.15  # of the time in which a sensor turns so; people who stand have 0.13 at most
LEVER_PAIRS = 500  # pairs of frames at most that levers are measured from
LEVER_MIN_PAIRS = 10  # pairs at least in which a sensor turns
LEVER_SECONDS = 0.1  # s between the two: noise from one frame to the next has a speed of its own
LEVER_MAX_SECONDS = 0.5  # s: in a longer gap a sensor may turn there and back


def plausible_unit(position: Floats, levers: Floats | None = None) -> str:
    """m, cm or mm: whichever puts the usual distance between neighbouring things nearest to 0.3 m.

    For one thing alone it is the extent of its path that counts; where levers (m,) of `measure_levers` are known, they
    tell metres from the others, and count like the distance between these.
    """
    size = measure_size(position)
    lever = usual_lever(levers)
    if lever is None:
        return nearest_unit(size / USUAL_DISTANCE_M, UNITS)
    if lever < LEVER_MAX_M:
        return "m"
    times = lever / USUAL_LEVER_M
    if position.shape[1] > 1 and size > 0:
        times = float(np.sqrt(times * size / USUAL_DISTANCE_M))
    return nearest_unit(times, UNITS[1:])


def nearest_unit(size: float, units: tuple[str, ...]) -> str:
    """The unit in which a size is nearest to 1 m; the first where it is none."""
    if not (np.isfinite(size) and size > 0):
        return units[0]
    return min(units, key=lambda unit: abs(np.log(size * metres_per(unit))))


def usual_lever(levers: Floats | None) -> float | None:
    known = np.empty(0) if levers is None else levers[np.isfinite(levers)]
    return float(median(known)) if len(known) else None


def measure_size(position: Floats) -> float:
    """Usual distance from a thing (n, k, 3) to the nearest other one; of one alone, the extent of its path; NaN where
    that is not known.
    """
    p = position[:, evenly(position.shape[1], 1000)]
    p = p[evenly(len(p), min(200, max(1, MOST_PAIRS // max(p.shape[1], 1) ** 2)))]
    p = np.where((p == 0).all(axis=-1, keepdims=True), np.nan, p)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.linalg.norm(p[:, :, None] - p[:, None, :], axis=-1)
        apart[:, np.arange(p.shape[1]), np.arange(p.shape[1])] = np.inf
        nearest = np.where(np.isnan(apart), np.inf, apart).min(axis=2, initial=np.inf)
    known = nearest[np.isfinite(nearest) & (nearest > 0)]
    if known.size:
        return float(median(known))
    seen = p[np.isfinite(p).all(axis=-1)]
    return float(np.ptp(seen, axis=0).max()) if len(seen) else np.nan


def pairs_in_time(time: Floats | None, rate: float, segment: Ints | None, frames: int) -> tuple[Ints, Ints, Floats]:
    """Frames evenly over a recording, those about 0.1 s later, and how long after [s].

    The rate [Hz] counts where there is no time.
    """
    step = 1 / rate
    with np.errstate(over="ignore", invalid="ignore"):  # of absurd times
        if time is not None and frames > 1:
            steps = np.diff(time[evenly(frames - 1, 10_000)[:, None] + np.arange(2)], axis=1)
            step = float(median(steps[steps > 0], empty=np.inf))
        apart = max(1, count_frames(float(np.divide(LEVER_SECONDS, step)), frames))
    first = evenly(max(0, frames - apart), LEVER_PAIRS)
    later = first + apart
    with np.errstate(over="ignore", invalid="ignore"):
        lasted = np.full(len(first), apart * step) if time is None else time[later] - time[first]
    near = (lasted > SHORTEST_STEP_S) & (lasted <= LEVER_MAX_SECONDS)
    if segment is not None:
        near &= segment[first] == segment[later]
    return first[near], later[near], lasted[near]


def measure_levers(p_first: Floats, p_later: Floats, R_first: Floats, R_later: Floats, lasted: Floats) -> Floats:
    """(m,) how far from the origin of each body lies what it turns about, from pairs of its poses (k, m, ...) that lie
    `lasted` (k,) [s] apart; NaN where it hardly turns.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        way = np.linalg.norm(p_later - p_first, axis=2)
        turn = np.linalg.norm(rotation.between(R_first, R_later), axis=2)
    known = np.isfinite(way) & np.isfinite(turn)
    return np.array(
        [_measure_lever(a[one], b[one], lasted[one]) for a, b, one in zip(way.T, turn.T, known.T, strict=True)]
    )


def _measure_lever(way: Floats, turn: Floats, lasted: Floats) -> float:
    speed = turn / lasted
    turning: Bools = speed >= TURNING_MIN_RAD_S
    if turning.sum() < LEVER_MIN_PAIRS or turning.mean() < TURNING_MIN_SHARE:
        return np.nan
    turning &= speed >= quantile(speed, 0.75)  # the fastest tell most
    return float(median(way[turning] / turn[turning]))


def check_unit(levers: Floats, unit: str) -> list[Finding]:
    """A finding where bodies turn about what is farther away (m,) [unit] than on people and machines: the unit of the
    file, or of its format, may be wrong.
    """
    lever, metres = usual_lever(levers), metres_per(unit)
    if lever is None or lever * metres < LEVER_MAX_M:
        return []
    text = (
        f"lengths are read in {unit} as the file or its format says, but what the sensors turn about is then "
        f"{lever * metres:.3g} m away as a rule, farther than on people and machines; "
        f"{nearest_unit(lever / USUAL_LEVER_M, UNITS)} would give what these have: if so, give it with --unit"
    )
    return [Finding("implausible-size", "warning", text, value=lever * metres, unit="m")]


def unit_of_figure(own: OwnSkeleton) -> str:
    """m, cm or mm where one makes the skeleton a person; else inches or the CMU clips' unit; else the nearest.

    A person is measured from joint to joint along the longest way through the skeleton, from a toe to a hand: whatever
    the pose, 2.1 to 2.3 m in the people of the CMU clips.
    """
    path = _longest_path(own)
    if not (np.isfinite(path) and path > 0):
        return "m"
    for units, low, high in ((("m", "cm", "mm"), 1.5, 3.0), (("in", CMU_UNIT), 1.9, 2.6)):
        for unit in units:
            if low <= path * metres_per(unit) <= high:
                return unit
    return min(("m", "cm", "mm"), key=lambda unit: abs(np.log(path * metres_per(unit) / 2.2)))


def _longest_path(own: OwnSkeleton) -> float:
    children: dict[int, list[int]] = {}
    for k, up in enumerate(own.parent.tolist()):
        children.setdefault(up, []).append(k)
    order = list(children.get(-1, ()))
    for k in order:  # grows while it is walked: parents first
        order.extend(children.get(k, ()))
    with np.errstate(over="ignore"):
        length = np.linalg.norm(own.p_parent_joint, axis=1)
        deepest, longest = np.zeros(len(length)), 0.0
        for k in reversed(order):
            ways = sorted((float(deepest[child] + length[child]) for child in children.get(k, ())), reverse=True)
            deepest[k] = ways[0] if ways else 0.0
            longest = max(longest, sum(ways[:2]))
    return longest
