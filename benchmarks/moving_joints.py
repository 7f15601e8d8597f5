"""Joints that do not turn about one point, and what may be assumed about people and sensors.

Which gaps are told to follow the joint's own angle, how large, and how often without reason; whether intervals hold
then; what taking left and right as equal is worth, on people who are and who are not; what differences over a second
are worth where sensors drift, and cost where they do not. Nothing is told to the program, the tree included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import condyle
from condyle import Take
from condyle.simulate import MALE_LENGTHS, Truth, disturb, human, simulate
from condyle.simulate.device import colour_noise
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import FIELD, SOFT
from .harness import (
    Case,
    Table,
    arguments,
    length_errors,
    lengths_held,
    measured,
    percent,
    progress,
    publish,
    rms,
    told_limbs,
    true_lengths,
)

SECONDS, RATE = 30.0, 30.0
SHIFTS = (0.25 * CM, 0.5 * CM, 1 * CM, 2 * CM)  # of the centre over 90 deg of flexion
KNEE = 1.69 * CM  # the same of a joint that moves as a real knee does
MOVING = ("l_shank", "r_shank", "l_upper_arm", "r_upper_arm")
CLEAN = 9  # recordings without any for each one with
SIDES = 1 * CM  # by which the left limbs of some people are longer
TOLERANCES = (0.3 * CM, 1 * CM)
DRIFTS = (0.0, 1 * CM, 2 * CM, 5 * CM)  # rms way of a sensor in DRIFT_TIME
DRIFT_TIME = 30.0  # s
WHITE, FINE, WARPED = noise(0.3, 0.3), noise(0.05, 0.05), noise(0.15, 0.15, **FIELD)
SKIN = noise(0.15, 0.15, **SOFT)
SLOW = noise(0.3, 0.3, correlation_time=0.5)

WORLDS = (
    Case("0.05 cm, 0.05 deg, exercise", FINE),
    Case("0.05 cm, 0.05 deg, walk", FINE, "walk"),
    Case("white, exercise", WHITE),
    Case("white, walk", WHITE, "walk"),
    Case("correlated over 0.5 s, exercise", SLOW),
    Case("warped field, exercise", WARPED),
    Case("warped field, walk", WARPED, "walk"),
    Case("soft tissue, exercise", SKIN),
    Case("soft tissue, walk", SKIN, "walk"),
)
EQUAL = {name: MALE_LENGTHS[f"l_{name[2:]}"] for name in MALE_LENGTHS}
LONGER = {name: size + SIDES * (name[0] == "l") for name, size in EQUAL.items()}
PEOPLE = tuple(
    Case(f"{people}: {world}", disturbances, motion, human(lengths))
    for people, lengths in (("sides equal", EQUAL), (f"left {SIDES / CM:g} cm longer", LONGER))
    for world, disturbances, motion in (
        ("white, exercise", WHITE, "exercise"),
        ("warped field, exercise", WARPED, "exercise"),
        ("soft tissue, exercise", SKIN, "exercise"),
        ("soft tissue, walk", SKIN, "walk"),
    )
)
DRIFTING = (
    Case("white, exercise", WHITE),
    Case("white, walk", WHITE, "walk"),
    Case("soft tissue, walk", SKIN, "walk"),
)


@dataclass
class Following:
    """At one size of shift: whether each moving joint was told, the size told over the true one, others told."""

    told: list[bool] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    others: int = 0
    held: list[bool] = field(default_factory=list)  # of the lengths, by their intervals
    bare: list[bool] = field(default_factory=list)  # by what is left of them without what repeats


@dataclass
class Result:
    clean: int = 0
    alarms: int = 0
    joints: int = 0
    hits: dict[float, Following] = field(default_factory=lambda: {shift: Following() for shift in SHIFTS})


def follows(fitted: condyle.Fit) -> dict[str, float]:
    """[m] by child; a body hangs on the other one of its joint where another root was chosen."""
    return {name: f.value or 0.0 for f in fitted.findings if f.code == "follows-angle" for name in f.bodies[:1]}


def measure_following(case: Case, seeds: Sequence[int]) -> Result:
    result = Result()
    for seed in seeds:
        for k in range(CLEAN):
            world = simulate(case.figure, case.motion, **how(seed + 1000 * k), disturbances=case.disturbances)  # type: ignore[arg-type]
            told = follows(calibrated(world.take, world.truth))
            result.clean += 1
            result.alarms += bool(told)
            result.joints += len(told)
        for shift, hits in result.hits.items():
            moving = replace(case.disturbances, non_rotary=shift / KNEE)
            world = simulate(case.figure, case.motion, **how(seed), disturbances=moving)  # type: ignore[arg-type]
            fitted = calibrated(world.take, world.truth)
            count(hits, fitted, world.truth, true_gaps(case, seed, shift))
    return result


def how(seed: int) -> dict[str, float | int]:
    return {"seconds": SECONDS, "rate": RATE, "seed": seed}


def calibrated(take: Take, truth: Truth, **options: object) -> condyle.Fit:
    root = truth.names[int(np.flatnonzero(truth.parent < 0)[0])]
    return condyle.fit(take, root=root, **options)  # type: ignore[arg-type]


def true_gaps(case: Case, seed: int, shift: float) -> dict[str, float]:
    """[m] rms gap that the shift alone makes at each joint, seen without any noise."""
    exact = simulate(case.figure, case.motion, **how(seed))  # type: ignore[arg-type]
    take, truth = disturb(exact.truth, noise(0, 0, non_rotary=shift / KNEE), seed)
    skeleton = calibrated(take, truth, tree=[(p, c) for c, p in truth.edges], plan="least-squares").skeleton
    return {joint.child: joint.residual for joint in skeleton.joints}


def count(hits: Following, fitted: condyle.Fit, truth: Truth, true: dict[str, float]) -> None:
    told = follows(fitted)
    for name in MOVING:
        hits.told.append(name in told)
        if name in told:
            hits.ratio.append(told[name] / true[name])
    hits.others += sum(name not in MOVING for name in told)
    length = true_lengths(truth)
    for key, limb in told_limbs(fitted.skeleton).items():
        if key in length and limb.length is not None and limb.low is not None and limb.high is not None:
            half, error = (limb.high - limb.low) / 2, abs(limb.length - length[key])
            hits.held.append(error <= half)
            hits.bare.append(error <= half * np.sqrt(limb.passing or 0.0))


@dataclass
class Errors:
    """Of lengths [m], and whether their intervals hold; how often a finding was told, and as a warning."""

    error: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    warned: list[bool] = field(default_factory=list)

    def add(self, fitted: condyle.Fit, truth: Truth, code: str = "") -> None:
        self.error += length_errors(fitted.skeleton, truth).values()
        self.held += lengths_held(fitted.skeleton, truth).values()
        told = [finding for finding in fitted.findings if finding.code == code]
        self.told.append(bool(told))
        self.warned.append(any(finding.severity != "info" for finding in told))

    def __str__(self) -> str:
        return f"{rms(self.error) / CM:.3f} ({percent(float(np.mean(self.held)))})"


def measure_sides(case: Case, seeds: Sequence[int]) -> dict[float, Errors]:
    found = {tolerance: Errors() for tolerance in (0.0, *TOLERANCES)}
    for seed in seeds:
        world = simulate(case.figure, case.motion, **how(seed), disturbances=case.disturbances)  # type: ignore[arg-type]
        for tolerance, errors in found.items():
            fitted = calibrated(world.take, world.truth, symmetric=tolerance or None)
            errors.add(fitted, world.truth, "symmetry-assumed")
    return found


def measure_drift(case: Case, seeds: Sequence[int]) -> dict[tuple[float, str], Errors]:
    found = {(drift, method): Errors() for drift in DRIFTS for method in ("default", "drift")}
    for seed in seeds:
        world = simulate(case.figure, case.motion, **how(seed), disturbances=case.disturbances)  # type: ignore[arg-type]
        for (drift, method), errors in found.items():
            fitted = calibrated(drifting(world.take, drift, seed), world.truth, plan=method)
            errors.add(fitted, world.truth)
    return found


def drifting(take: Take, size: float, seed: int) -> Take:
    """Every sensor's position wanders off, by `size` [m] rms in DRIFT_TIME, and comes back in the long run."""
    white = stream(seed, "drift").standard_normal(take.p_world_body.shape)
    wander = colour_noise(white, take.time, DRIFT_TIME) / np.sqrt(3 * 2 * (1 - np.exp(-1)))
    return replace(take, p_world_body=take.p_world_body + size * wander)


def main() -> None:
    given = arguments(__doc__ or "", 12)
    rows: dict[str, list[list[str]]] = {"follows": [], "sides": [], "drift": []}
    data: dict[str, object] = {}
    for case, result in measured(WORLDS, measure_following, given):
        cells = [case.name, f"{result.alarms} of {result.clean}", f"{result.joints / result.clean:.1f}"]
        for hits in result.hits.values():
            size = f", {np.median(hits.ratio):.2f}" if hits.ratio else ""
            cells.append(f"{percent(np.mean(hits.told))}{size}, {hits.others}")
        cells += [f"{percent(np.mean(hits.held))}, {percent(np.mean(hits.bare))}" for hits in result.hits.values()][1:]
        rows["follows"].append(cells)
        progress(" | ".join(cells))
        data[case.name] = {
            **{name: getattr(result, name) for name in ("clean", "alarms", "joints")},
            **{f"{shift:g}": vars(hits) for shift, hits in result.hits.items()},
        }
    for case, found in measured(PEOPLE, measure_sides, given):
        told = [e for tolerance, e in found.items() if tolerance]
        said = " / ".join(f"{percent(np.mean(e.told))}, {percent(np.mean(e.warned))}" for e in told)
        rows["sides"].append([case.name, *map(str, found.values()), said])
        progress(" | ".join(rows["sides"][-1]))
        data[case.name] = {f"{tolerance:g}": vars(errors) for tolerance, errors in found.items()}
    for case, drifts in measured(DRIFTING, measure_drift, given):
        pairs = [f"{drifts[size, 'default']} / {drifts[size, 'drift']}" for size in DRIFTS]
        rows["drift"].append([case.name, *pairs])
        progress(" | ".join(rows["drift"][-1]))
        data[f"drift: {case.name}"] = {f"{size:g} {method}": vars(e) for (size, method), e in drifts.items()}
    follow = ["world", "recordings without any in which one is told", "joints told in each"]
    follow += [f"{s / CM:g} cm: told, size told over true, other joints told" for s in SHIFTS]
    follow += [f"{s / CM:g} cm: lengths held, and without the widening" for s in SHIFTS[1:]]
    sides = ["people: world", "as measured", *(f"equal within {t / CM:g} cm" for t in TOLERANCES), "told, as a warning"]
    tables = {
        "Gaps that follow the angle": Table(follow, rows["follows"]),
        "Left and right alike: length error, cm (lengths held)": Table(sides, rows["sides"]),
        "Drift: length error, cm (lengths held), default / drift": Table(
            ["world", *("none" if not s else f"{s / CM:g} cm in {DRIFT_TIME:g} s" for s in DRIFTS)], rows["drift"]
        ),
    }
    how_ = (
        f"Recordings of {SECONDS:g} s at {RATE:g} Hz. The centres of knees and shoulders move with flexion, by so much "
        f"over 90 deg; a real knee's by about {KNEE / CM:.1f} cm. The true size of a gap is what the same motion shows "
        f"without noise. False alarms are counted over {CLEAN} times as many recordings. White noise of 0.3 cm and 0.3 "
        "deg where only noise is named, else 0.15 cm and 0.15 deg with a field of 1.25 cm or skin of 0.5 cm."
    )
    publish("moving_joints", "Joints that move, sides that are equal, sensors that drift", how_, tables, data, given)


if __name__ == "__main__":
    main()
