"""Slipping sensors: how many are found, how often one is told where none slipped, and what moving them back is worth.

Nothing is told to the program, the tree included. A recording counts as a false alarm if one slip is told in it that
did not happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import condyle
from condyle.simulate import Disturbances, SensorSlip, linkage, simulate
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, fit, length_errors, measured, percent, progress, publish, rms

SIZES = (0.5 * CM, 1 * CM, 2 * CM)
NEAR = 0.5  # s
SECONDS = 45.0
CLEAN = 10  # recordings without a slip for each one with


@dataclass(frozen=True)
class Slipping(Case):
    turn: float = 0.0  # rad per metre of slip
    times: int = 1  # recordings with a slip for each that the other worlds have


CASES = (
    Slipping("white, exercise", noise(0.3, 0.3)),
    Slipping("white, walk", noise(0.3, 0.3), "walk"),
    Slipping("correlated over 0.5 s, exercise", noise(0.3, 0.3, correlation_time=0.5), times=4),
    Slipping("warped field, exercise", noise(0.15, 0.15, **FIELD)),
    Slipping("warped field, walk", noise(0.15, 0.15, **FIELD), "walk"),
    Slipping("metal spots, walk", noise(0.15, 0.15, metal_spots=3), "walk", times=4),
    Slipping("soft tissue, exercise", noise(0.15, 0.15, **SOFT)),
    Slipping("soft tissue + field, exercise", noise(0.15, 0.15, **SOFT, **FIELD)),
    Slipping("soft tissue + field, walk", noise(0.15, 0.15, **SOFT, **FIELD), "walk"),
    Slipping("soft tissue + field, exercise, turns 3 deg per cm", noise(0.15, 0.15, **SOFT, **FIELD), turn=5.2),
    Slipping("joints that move + soft tissue, exercise", noise(0.15, 0.15, **SOFT, non_rotary=1.0)),
    Slipping("soft tissue 1 cm, exercise", noise(0.15, 0.15, soft_tissue=1 * CM)),
    Slipping("spikes and bursts, exercise", noise(0.3, 0.3, spikes=0.02, bursts=0.05)),
    Slipping("10 % missing, walk", noise(0.3, 0.3, missing=0.1), "walk"),
    Slipping("linkage, warped field, exercise", noise(0.15, 0.15, **FIELD), figure=linkage(), times=4),
    Slipping("linkage, white, walk", noise(0.1, 0.1), "walk", linkage()),
)


@dataclass
class Hits:
    """Over recordings with one slip of one size: found, right sensor, off [s], distance told [m]."""

    found: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    size: list[float] = field(default_factory=list)
    further: int = 0


@dataclass
class Result:
    clean: int = 0
    alarms: int = 0
    hits: dict[float, Hits] = field(default_factory=lambda: {size: Hits() for size in SIZES})
    errors: dict[str, list[float]] = field(default_factory=lambda: {"none": [], "left": [], "moved back": []})


def measure(case: Slipping, seeds: Sequence[int]) -> Result:
    result = Result()
    for seed in seeds:
        for k in range(CLEAN):
            world = simulate(case.figure, case.motion, seed=seed + 1000 * k, **_how(case.disturbances))
            fitted = fit(world.take)
            result.clean += 1
            result.alarms += bool(_told(fitted))
            if k == 0:
                result.errors["none"] += length_errors(fitted.skeleton, world.truth).values()
        for k in range(case.times):
            _measure_slips(case, seed + 100 * k, result, k == 0)
    return result


def _measure_slips(case: Slipping, seed: int, result: Result, lengths: bool) -> None:
    """One recording with a slip of each size; `lengths`: and what the largest does to lengths."""
    for size in SIZES:
        slip = _slip(case, seed, size)
        world = simulate(case.figure, case.motion, seed=seed, **_how(replace(case.disturbances, slips=(slip,))))
        fitted = fit(world.take)
        _count(result.hits[size], fitted, slip)
        if lengths and size == SIZES[-1]:
            left = fit(world.take, no_fix="slips")
            result.errors["moved back"] += length_errors(fitted.skeleton, world.truth).values()
            result.errors["left"] += length_errors(left.skeleton, world.truth).values()


def _how(disturbances: Disturbances) -> dict[str, object]:
    return {"seconds": SECONDS, "rate": 30.0, "disturbances": disturbances}


def _slip(case: Slipping, seed: int, size: float) -> SensorSlip:
    rng = stream(seed, "slip")
    way, axis = rng.standard_normal((2, 3))
    body = case.figure.names[int(rng.integers(len(case.figure.names)))]
    when = float(rng.uniform(5, SECONDS - 5))
    turn = case.turn * size * axis / np.linalg.norm(axis)
    return SensorSlip(body, when, tuple(size * way / np.linalg.norm(way)), tuple(turn))


def _told(fitted: condyle.Fit) -> list[condyle.Finding]:
    return [finding for finding in fitted.findings if finding.code == "slip"]


def _count(hits: Hits, fitted: condyle.Fit, slip: SensorSlip) -> None:
    told = _told(fitted)
    own = [finding for finding in told if finding.bodies[0] == slip.body]
    hits.found.append(bool(told))
    hits.right.append(bool(own))
    hits.further += max(len(told) - 1, 0)
    if own and own[0].time is not None and own[0].value is not None:
        hits.off.append(abs(own[0].time[0] - slip.time))
        hits.size.append(own[0].value)


def row(case: Slipping, result: Result) -> list[str]:
    cells = [case.name, f"{result.alarms} of {result.clean}"]
    for size, hits in result.hits.items():
        near = percent(float(np.mean(np.array(hits.off) < NEAR))) if hits.off else "-"
        distance = f"{np.median(hits.size) / size:.2f}" if hits.size else "-"
        cells.append(f"{percent(np.mean(hits.found))}, {percent(np.mean(hits.right))}, {near}, {distance}")
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
            "slips": {f"{size:g}": vars(hits) for size, hits in result.hits.items()},
        }
        progress(" | ".join(rows[-1]))
    heads = ["world", "false alarms"]
    heads += [f"{size / CM:g} cm: found, right sensor, within {NEAR:g} s, distance told over true" for size in SIZES]
    heads.append(f"length error, cm: no slip / {SIZES[-1] / CM:g} cm left / moved back")
    how = (
        f"One sensor of a recording of {SECONDS:g} s at 30 Hz slips so far in a random direction at a random moment; "
        f"false alarms are counted over {CLEAN} times as many recordings without a slip. "
        f"In {', '.join(case.name for case in CASES if case.times > 1)}: four times as many slips."
    )
    publish("slips", "Slipping sensors", how, {"Detection": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
