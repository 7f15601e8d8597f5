"""One sensor in another unit or convention than the others: it fits nothing until its numbers are read its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import numpy as np

from ..errors import CondyleError
from ..findings import Finding
from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..maths.spool import blocks, copy_array, seal
from ..model.recording import along_axes
from ..model.take import Take
from ..model.units import METRES
from ..model.values import dataclass
from ..pairs.fits import PairFits, fit_pairs
from ..pairs.forest import EXACT_GAP_SHARE, scene_size
from ..pairs.sums import sum_pairs

MILD_MIN_GAPS = 1.5  # gap of a sensor over the usual one, from which other readings of its rotations are tried
ODD_MIN_GAPS = 4.0  # gap of a sensor over the usual one, from which other units and axes are tried as well
FITTING_MAX_GAPS = 2.5  # gap over the usual one, up to which such a sensor counts as explained
BETTER_MIN_TIMES = 2.0  # times by which its own reading must lower the product of the gaps of the tree
RESTING_MAX_SHARE = (
    0.05  # of the usual sensor's travel: what moves less would be at rest; tests/make/machines.py has 0.005
)
PARTS_OF_TAKE = 5  # in each of which a sensor in another unit fits badly
PART_MIN_FRAMES = 30  # frames that a joint is told by at least
SAME_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class OddSensor:
    """A sensor whose own numbers have to be understood in another way than the others'; then it fits `times` better.

    scale    of its positions; transposed: of its rotations; axes: of its positions
    shifted  places by which its quaternion's numbers are turned round: 1 where w stands last instead of first
    """

    name: str
    times: float
    scale: float = 1.0
    transposed: bool = False
    shifted: int = 0
    axes: tuple[str, str, str] = SAME_AXES

    def __str__(self) -> str:
        if self.scale != 1.0:
            return f"positions {self.scale:g} times as large"
        if self.shifted:
            return "quaternions in the other order" + (", transposed" if self.transposed else "")
        return "transposed rotations" if self.transposed else f"position axes {','.join(self.axes)}"


def find_odd_sensors(take: Take) -> tuple[OddSensor, ...]:
    """Sensors that fit badly as they are, but fit like the others in another unit or convention of their own.

    What a reading gains is how far it lowers the product of the gaps of the best tree. The sensor that gains most is
    put right first: beside a sensor that is wrong, its neighbours look wrong as well.
    """
    odd: list[OddSensor] = []
    while take.bodies >= 3 and len(odd) < take.bodies // 2:
        best = _oddest(take, {one.name for one in odd})
        if best is None:
            break
        odd.append(best)
        take = apply_odd(take, best)
    return tuple(odd)


def _oddest(take: Take, known: set[str]) -> OddSensor | None:
    """The sensor whose own reading gains most, if one gains enough."""
    fits = fit_pairs(sum_pairs(take))
    table = _table(fits, take.bodies)
    nearest = table.min(axis=1)
    told = nearest[np.isfinite(nearest)]
    if not len(told):
        return None
    floor = EXACT_GAP_SHARE * scene_size(take)
    usual = max(float(median(told)), floor)
    before = _tree_score(take, fits.pairs, table, floor)
    best, most, travel = None, np.log(BETTER_MIN_TIMES), _measure_travel(take)
    for k in np.flatnonzero(nearest > MILD_MIN_GAPS * usual):
        if take.names[k] in known:
            continue
        for reading in _odd_readings(take.names[k], everything=bool(nearest[k] > ODD_MIN_GAPS * usual)):
            if reading.scale < 1 and reading.scale * travel[k] < RESTING_MAX_SHARE * median(travel):
                continue  # it would be at rest, and fit whatever stands in the room
            row = _row(apply_odd(take, reading), int(k))
            if row.min() >= FITTING_MAX_GAPS * usual:
                continue
            changed = table.copy()
            changed[k] = changed[:, k] = row
            gain = before - _tree_score(take, fits.pairs, changed, floor)
            if gain > most and (reading.scale == 1.0 or _is_off_throughout(take, int(k), FITTING_MAX_GAPS * usual)):
                best, most = replace(reading, times=float(nearest[k] / max(row.min(), floor))), gain
    return best


def _is_off_throughout(take: Take, k: int, limit: float) -> bool:
    """Whether a sensor is apart by more than a gap [m] in every part of the take in which it moves, and in several: a
    unit is wrong throughout, a sensor that came off moves and fits before, or moves once, when it falls.
    """
    fits = []
    for part in range(PARTS_OF_TAKE):
        rows = take.slice(take.frames * part // PARTS_OF_TAKE, take.frames * (part + 1) // PARTS_OF_TAKE)
        travel = _measure_travel(rows)
        if rows.frames >= PART_MIN_FRAMES and travel[k] > RESTING_MAX_SHARE * median(travel):
            fits.append(_row(rows, k).min() < limit)
    return take.frames < PARTS_OF_TAKE * PART_MIN_FRAMES or (len(fits) > 1 and not any(fits))


def _measure_travel(take: Take) -> Floats:
    """(m,) [m] rms distance of each sensor from its mean place."""
    seen = take.seen[..., None]
    count = np.maximum(seen.sum(axis=0), 1)
    away = np.where(seen, take.p_world_body, 0.0)
    away = np.where(seen, take.p_world_body - away.sum(axis=0) / count, 0.0)
    return np.asarray(np.sqrt(np.square(away).sum(axis=(0, 2)) / count[:, 0]))


def apply_odd(take: Take, odd: OddSensor) -> Take:
    """The take with one sensor's poses understood in its own way."""
    k = take.index(odd.name)
    R, p = copy_array(take.R_world_body), copy_array(take.p_world_body)
    for rows in blocks(R):
        own = R[rows, k]
        if odd.shifted:
            own = rotation.from_quaternion(np.roll(rotation.to_quaternion(own), odd.shifted, axis=-1))
        R[rows, k] = np.swapaxes(own, -1, -2).copy() if odd.transposed else own
        p[rows, k] = along_axes(p[rows, k] * odd.scale, odd.axes)
    return replace(take, R_world_body=seal(R), p_world_body=seal(p))


def repair_odd_sensors(take: Take, odd: Sequence[OddSensor]) -> Take:
    """The take with odd sensors put right, each a finding; a sensor in a unit of its own is an error that names it."""
    for one in odd:
        if one.scale != 1.0:
            raise CondyleError(
                f"its positions fit {one.times:.0f} times better when multiplied by {one.scale:g}: it seems to be in "
                "another unit than the other sensors; write all of them in one unit",
                code="sensor-unit",
                path=", ".join(take.sources) or None,
                body=one.name,
            )
        text = f"{one.name}: fits {one.times:.0f} times better with {one}, unlike the other sensors, and was read so"
        finding = Finding("sensor-convention", "warning", text, (one.name,), value=one.times, unit="1")
        take = apply_odd(take, one).with_findings((*take.findings, finding))
    return take


def _odd_readings(name: str, *, everything: bool) -> list[OddSensor]:
    """Simple ones first: of equals the first is taken. Units and axes only where `everything` is tried."""
    sizes = METRES.values()
    factors = sorted({a / b for a in sizes for b in sizes if a != b and 0.9e-3 <= a / b <= 1.1e3})
    out = [OddSensor(name, 1.0, transposed=True)]
    out += [OddSensor(name, 1.0, shifted=shift, transposed=turned) for shift in (1, -1) for turned in (False, True)]
    if everything:
        out += [OddSensor(name, 1.0, scale=factor) for factor in factors]
        out += [OddSensor(name, 1.0, axes=axes) for axes in axis_orders() if axes != SAME_AXES]
    return out


def _table(fits: PairFits, bodies: int) -> Floats:
    """(m, m) residual of every pair [m]; inf on the diagonal and where nothing is known."""
    table = np.full((bodies, bodies), np.inf)
    known = np.where(np.isfinite(fits.residual), fits.residual, np.inf)
    table[fits.pairs[:, 0], fits.pairs[:, 1]] = table[fits.pairs[:, 1], fits.pairs[:, 0]] = known
    return table


def _row(take: Take, k: int) -> Floats:
    """(m,) residuals of one body with every other [m]."""
    pairs = np.array([(k, j) for j in range(take.bodies) if j != k])
    residual = fit_pairs(sum_pairs(take), pairs).residual
    out = np.full(take.bodies, np.inf)
    out[pairs[:, 1]] = np.where(np.isfinite(residual), residual, np.inf)
    return out


def _tree_score(take: Take, pairs: Ints, table: Floats, floor: float) -> float:
    """Sum of the logarithms of the gaps of the best tree."""
    residual = table[pairs[:, 0], pairs[:, 1]]
    edges = spanning_tree(take.bodies, pairs, np.where(np.isfinite(residual), residual, np.nan), take.names)
    return float(np.log(np.maximum(residual[edges], max(floor, 1e-300))).sum())


def axis_orders() -> list[tuple[str, str, str]]:
    """Every order and sign of three axes that residuals tell apart.

    Turning all three about at once only mirrors the scene; of such two, the one with fewer minus signs is listed.
    """
    return [
        (signs[0] + order[0], signs[1] + order[1], signs[2] + order[2])
        for order in permutations("xyz")
        for signs in product(("", "-"), repeat=3)
        if signs.count("-") <= 1
    ]
