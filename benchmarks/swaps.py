"""Sensors that are exchanged for a stretch: how many are found, to the frame or nearly, how often one is told where
none was, and what leaving out or exchanging back is worth.

Nothing is told to the program, the tree included. A recording counts as a false alarm if any exchange is told in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np

from condyle import Take
from condyle.prepare.dropouts import prepare
from condyle.prepare.swaps import Swap, exchange_back, find_swaps
from condyle.simulate import World, linkage, simulate
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, fit, length_errors, measured, percent, progress, publish, rms

CM = 0.01
SECONDS, RATE = 45.0, 30.0
LENGTHS = (1.0, 3.0, 10.0, SECONDS / 2)  # s
KINDS = ("twins", "neighbours", "any two")
NEAR = 0.1  # s
HIDDEN = 0.6  # s without samples of both sensors around each end
CLEAN = 10  # recordings without an exchange for each one with
FITTED = 10.0  # s: the exchange whose length errors are shown


@dataclass(frozen=True)
class Swapped(Case):
    hidden: bool = False  # neither end can be seen: cables exchanged while both were unplugged


SPIKY = noise(0.3, 0.3, spikes=0.02, bursts=0.05)
CASES = (
    Swapped("white, exercise", noise(0.3, 0.3)),
    Swapped("white, walk", noise(0.3, 0.3), "walk"),
    Swapped("white, walk, ends not seen", noise(0.3, 0.3), "walk", hidden=True),
    Swapped("warped field, exercise", noise(0.15, 0.15, **FIELD)),
    Swapped("warped field, walk", noise(0.15, 0.15, **FIELD), "walk"),
    Swapped("soft tissue, exercise", noise(0.15, 0.15, **SOFT)),
    Swapped("soft tissue + field, exercise", noise(0.15, 0.15, **SOFT, **FIELD)),
    Swapped("soft tissue + field, walk", noise(0.15, 0.15, **SOFT, **FIELD), "walk"),
    Swapped("soft tissue + field, exercise, ends not seen", noise(0.15, 0.15, **SOFT, **FIELD), hidden=True),
    Swapped("spikes and bursts, exercise", SPIKY),
    Swapped("spikes and bursts, walk", SPIKY, "walk"),
    Swapped("10 % missing, walk", noise(0.3, 0.3, missing=0.1), "walk"),
    Swapped("linkage, white, exercise", noise(0.3, 0.3), figure=linkage()),
    Swapped("linkage, warped field, walk", noise(0.15, 0.15, **FIELD), "walk", linkage()),
    Swapped("linkage, spikes and bursts, exercise", SPIKY, figure=linkage()),
)


@dataclass
class Hits:
    """Over recordings with one exchange: told at all, the right two, both ends within NEAR, error of the worse [s]."""

    found: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    near: list[bool] = field(default_factory=list)
    off: list[float] = field(default_factory=list)


@dataclass
class Result:
    clean: int = 0
    alarms: int = 0
    hits: dict[float, Hits] = field(default_factory=lambda: {length: Hits() for length in LENGTHS})
    errors: dict[str, list[float]] = field(
        default_factory=lambda: {"none": [], "unnoticed": [], "left out": [], "exchanged": []}
    )


def measure(case: Swapped, seeds: Sequence[int]) -> Result:
    result = Result()
    for seed in seeds:
        for k in range(CLEAN):
            result.clean += 1
            result.alarms += bool(find_swaps(_ready(_world(case, seed + 1000 * k).take)))
        world = _world(case, seed)
        result.errors["none"] += length_errors(fit(world.take).skeleton, world.truth).values()
        for length in LENGTHS:
            for kind in KINDS:
                swap = _swap(world, kind, length, seed)
                take = _exchanged(case, world.take, swap)
                _count(result.hits[length], find_swaps(_ready(take)), swap, take, case.hidden)
                if length == FITTED and kind == KINDS[0]:
                    result.errors["left out"] += length_errors(fit(take).skeleton, world.truth).values()
                    result.errors["exchanged"] += length_errors(fit(take, fix="swaps").skeleton, world.truth).values()
                    with patch("condyle.prepare.swaps.find_swaps", return_value=[]):
                        result.errors["unnoticed"] += length_errors(fit(take).skeleton, world.truth).values()
    return result


def _world(case: Swapped, seed: int) -> World:
    return simulate(
        case.figure,
        case.motion,  # type: ignore[arg-type]
        seconds=SECONDS,
        rate=RATE,
        seed=seed,
        disturbances=case.disturbances,
    )


def _ready(take: Take) -> Take:
    """The take as a fit looks at it for exchanges."""
    return prepare(take)


def _swap(world: World, kind: str, length: float, seed: int) -> Swap:
    """Two sensors and a stretch, drawn anew for every seed, kind and length; half a take is one of its halves."""
    rng = stream(seed, f"swap {kind} {length:g}")
    names = world.take.names
    if kind == "twins":
        choices = [(name, "r_" + name[2:]) for name in names if name.startswith("l_")]
    elif kind == "neighbours":
        choices = sorted(world.truth.edges)
    else:
        choices = [(a, b) for a in names for b in names if a < b]
    pair = choices[int(rng.integers(len(choices)))]
    frames = round(length * RATE)
    last = world.take.frames - frames
    first = int(rng.integers(last + 1)) if length < SECONDS / 2 else last * int(rng.integers(2))
    return Swap(pair, first, first + frames, 0.0, 0.0, 0.0, 0.0)


def _exchanged(case: Swapped, take: Take, swap: Swap) -> Take:
    out = exchange_back(take, [swap])
    if not case.hidden:
        return out
    lost = np.zeros(take.seen.shape, dtype=bool)
    half = round(HIDDEN / 2 * RATE)
    for end in (swap.first, swap.stop):
        if 0 < end < take.frames:
            lost[max(end - half, 0) : end + half, [take.index(name) for name in swap.bodies]] = True
    return out.mask(lost)


def _count(hits: Hits, told: list[Swap], swap: Swap, take: Take, blind: bool) -> None:
    own = [one for one in told if set(one.bodies) == set(swap.bodies)]
    hits.found.append(bool(told))
    hits.right.append(len(own) == len(told) == 1)
    if len(own) != 1:
        return
    n = take.frames
    ends = [(swap.first, swap.stop)]
    if swap.stop - swap.first > 0.4 * n:  # either half may be the one that is told
        ends.append((0, swap.first) if swap.first else (swap.stop, n))
    off = min(max(abs(own[0].first - a), abs(own[0].stop - b)) for a, b in ends) / RATE
    if blind:
        off = max(off - HIDDEN / 2, 0.0)
    hits.off.append(off)
    hits.near.append(off <= NEAR)


def row(case: Swapped, result: Result) -> list[str]:
    cells = [case.name, f"{result.alarms} of {result.clean}"]
    for hits in result.hits.values():
        near = percent(float(np.mean(hits.near))) if hits.near else "-"
        cells.append(f"{percent(np.mean(hits.found))}, {percent(np.mean(hits.right))}, {near}")
    off = [value for hits in result.hits.values() for value in hits.off]
    cells.append(f"{np.median(off):.3f}, {max(off):.2f}" if off else "-")
    cells.append(" / ".join(f"{rms(errors) / CM:.3f}" for errors in result.errors.values()))
    return cells


def main() -> None:
    given = arguments(__doc__ or "", 30)
    rows, data = [], {}
    for case, result in measured(CASES, measure, given):
        rows.append(row(case, result))
        data[case.name] = {
            "clean": result.clean,
            "alarms": result.alarms,
            "errors": result.errors,
            "swaps": {f"{length:g}": vars(hits) for length, hits in result.hits.items()},
        }
        progress(" | ".join(rows[-1]))
    heads = ["world", "false alarms"]
    heads += [f"{length:g} s: told, the right two alone, both ends within {NEAR:g} s" for length in LENGTHS]
    heads += ["worse end off, median and most, s"]
    heads.append(f"length error, cm: none exchanged / {FITTED:g} s of twins unnoticed / left out / exchanged back")
    how = (
        f"Two sensors of a recording of {SECONDS:g} s at {RATE:g} Hz are exchanged for so long: left and right twins, "
        f"neighbours, and any two, in equal numbers; the last column of lengths is half of the take. False alarms are "
        f"counted over {CLEAN} times as many recordings without an exchange. Where the ends are not seen, both sensors "
        f"miss {HIDDEN:g} s around each, and what is missing does not count as off."
    )
    publish("swaps", "Exchanged sensors", how, {"Detection": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
