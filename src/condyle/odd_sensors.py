"""One sensor in another unit or convention than the others: it fits nothing until its numbers are read its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from . import rotation
from ._median import median
from ._shapes import Floats
from .errors import CondyleError
from .findings import Finding
from .joints import PairFits, fit_pairs
from .misfit import EXACT, scene_size
from .recording import along_axes
from .sums import sum_pairs
from .take import Take
from .units import METRES

ODD = 4.0  # gap of a sensor over the usual one, from which it is looked at alone
FITTING = 2.5  # gap over the usual one, up to which such a sensor counts as explained
BETTER = 3.0  # times that its own reading must fit better
IDENTITY = ("x", "y", "z")


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
    axes: tuple[str, str, str] = IDENTITY

    def __str__(self) -> str:
        if self.scale != 1.0:
            return f"positions {self.scale:g} times as large"
        if self.shifted:
            return "quaternions in the other order" + (", transposed" if self.transposed else "")
        return "transposed rotations" if self.transposed else f"position axes {','.join(self.axes)}"


def find_odd_sensors(take: Take) -> tuple[OddSensor, ...]:
    """Sensors that fit nothing as they are, but fit like the others in another unit or convention of their own."""
    if take.bodies < 3:
        return ()
    fits = fit_pairs(sum_pairs(take))
    nearest = _nearest_gap(fits, take.bodies)
    known = nearest[np.isfinite(nearest)]
    if not len(known):
        return ()
    usual = max(float(median(known)), EXACT * scene_size(take))
    odd = []
    for k in np.flatnonzero(nearest > ODD * usual):
        readings = _odd_readings(take.names[k])
        gaps = [_nearest_of(apply_odd(take, one), int(k)) for one in readings]
        gap, best = min(gaps), readings[int(np.argmin(gaps))]
        if gap < FITTING * usual and nearest[k] >= BETTER * gap:
            odd.append(replace(best, times=float(nearest[k] / max(gap, 1e-300))))
    return tuple(odd)


def apply_odd(take: Take, odd: OddSensor) -> Take:
    """The take with one sensor's poses understood in its own way."""
    k = take.index(odd.name)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    if odd.shifted:
        R[:, k] = rotation.from_quaternion(np.roll(rotation.to_quaternion(R[:, k]), odd.shifted, axis=-1))
    if odd.transposed:
        R[:, k] = np.swapaxes(R[:, k], -1, -2)
    p[:, k] = along_axes(p[:, k] * odd.scale, odd.axes)
    return replace(take, R_world_body=R, p_world_body=p)


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
        take = replace(apply_odd(take, one), findings=(*take.findings, finding))
    return take


def _odd_readings(name: str) -> list[OddSensor]:
    """Simple ones first: of equals the first is taken."""
    sizes = METRES.values()
    factors = sorted({a / b for a in sizes for b in sizes if a != b and 0.9e-3 <= a / b <= 1.1e3})
    out = [OddSensor(name, 1.0, transposed=True)]
    out += [OddSensor(name, 1.0, shifted=shift, transposed=turned) for shift in (1, -1) for turned in (False, True)]
    out += [OddSensor(name, 1.0, scale=factor) for factor in factors]
    out += [OddSensor(name, 1.0, axes=axes) for axes in axis_orders() if axes != IDENTITY]
    return out


def _nearest_gap(fits: PairFits, bodies: int) -> Floats:
    """(m,) residual of the best pair of each body [m]."""
    table = np.full((bodies, bodies), np.inf)
    known = np.where(np.isfinite(fits.residual), fits.residual, np.inf)
    table[fits.pairs[:, 0], fits.pairs[:, 1]] = table[fits.pairs[:, 1], fits.pairs[:, 0]] = known
    return np.asarray(table.min(axis=1))


def _nearest_of(take: Take, k: int) -> float:
    pairs = np.array([(k, j) for j in range(take.bodies) if j != k])
    residual = fit_pairs(sum_pairs(take), pairs).residual
    return float(np.nanmin(residual)) if np.isfinite(residual).any() else np.inf


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
