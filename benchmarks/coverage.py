"""Whether the 95 % intervals of limb lengths hold 95 % of the time, and how wide they are for it.

Nothing is told to the program: no tree, no noise, no hint of what disturbs the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import condyle
from condyle import Skeleton
from condyle.maths.robust import Z95
from condyle.simulate import Truth, linkage, simulate

from .bound import CM, noise
from .harness import (
    Case,
    Table,
    arguments,
    edges,
    measured,
    percent,
    progress,
    publish,
    rms,
    told_limbs,
    true_edges,
    true_lengths,
)

FIELD = {"field_warp": 1.25 * CM, "field_length": 90 * CM}
SOFT = {"soft_tissue": 0.5 * CM}
CASES = (
    Case("white, exercise", noise(0.3, 0.3)),
    Case("white, walk", noise(0.3, 0.3), "walk"),
    Case("correlated over 0.5 s, exercise", noise(0.3, 0.3, correlation_time=0.5)),
    Case("warped field, exercise", noise(0.15, 0.15, **FIELD)),
    Case("warped field, walk", noise(0.15, 0.15, **FIELD), "walk"),
    Case("soft tissue, exercise", noise(0.15, 0.15, **SOFT)),
    Case("soft tissue, walk", noise(0.15, 0.15, **SOFT), "walk"),
    Case("soft tissue + field, walk", noise(0.15, 0.15, **SOFT, **FIELD), "walk"),
    Case("joints that move + soft tissue, exercise", noise(0.15, 0.15, **SOFT, non_rotary=1.0)),
    Case("joints that move + soft tissue, walk", noise(0.15, 0.15, **SOFT, non_rotary=1.0), "walk"),
    Case("linkage, warped field, exercise", noise(0.15, 0.15, **FIELD), figure=linkage()),
    Case("linkage, warped field, walk", noise(0.15, 0.15, **FIELD), "walk", linkage()),
)


@dataclass
class Intervals:
    """Over all limbs of all trials: error [m], half-width [m]; and what was not told."""

    error: list[float]
    half: list[float]
    body: list[str] = field(default_factory=list)
    silent: int = 0
    wrong_trees: int = 0

    @property
    def coverage(self) -> float:
        return float(np.mean(np.abs(self.error) <= np.array(self.half)))

    @property
    def worst(self) -> tuple[str, float]:
        """The body whose lengths are held least often, left and right together, and how often."""
        part = np.array([body.removeprefix("l_").removeprefix("r_") for body in self.body])
        hold = np.abs(self.error) <= np.array(self.half)
        return min(((str(name), float(hold[part == name].mean())) for name in np.unique(part)), key=lambda x: x[1])

    @property
    def width(self) -> float:
        """Mean half-width over what errors of this size need."""
        return float(np.mean(self.half) / (Z95 * rms(self.error)))


def measure(case: Case, seeds: Sequence[int]) -> Intervals:
    found = Intervals([], [])
    for seed in seeds:
        world = simulate(case.figure, case.motion, seed=seed, disturbances=case.disturbances)  # type: ignore[arg-type]
        skeleton = condyle.fit(world.take).skeleton
        if edges(skeleton) != true_edges(world.truth):
            found.wrong_trees += 1
            continue
        compare(skeleton, world.truth, found)
    return found


def compare(skeleton: Skeleton, truth: Truth, found: Intervals) -> None:
    """Adds the limbs of one skeleton with the right tree."""
    true, before = true_lengths(truth), len(found.error)
    for key, limb in told_limbs(skeleton).items():
        if limb.length is None or limb.low is None or limb.high is None or limb.between != "joints":
            continue
        found.error.append(limb.length - true[key])
        found.half.append((limb.high - limb.low) / 2)
        found.body.append(limb.body)
    found.silent += len(skeleton.limbs) - (len(found.error) - before)


def main() -> None:
    given = arguments(__doc__, trials=30)
    rows, data = [], {}
    for case, found in measured(CASES, measure, given):
        rows.append(
            [
                case.name,
                percent(found.coverage),
                "{} {}".format(found.worst[0].replace("_", " "), percent(found.worst[1])),
                f"{found.width:.2f}",
                f"{rms(found.error) / CM:.3f}",
                f"{np.mean(found.half) / CM:.3f}",
                str(len(found.error)),
                str(found.silent),
                str(found.wrong_trees),
            ]
        )
        data[case.name] = {**vars(found), "coverage": found.coverage, "width": found.width}
        progress(" | ".join(rows[-1]))
    heads = ["disturbance", "hold", "least held", "half-width over need", "rms error, cm", "half-width, cm"]
    table = Table([*heads, "limbs", "without interval", "wrong trees"], rows)
    how = (
        "Share of the 95 % intervals of limb lengths that hold the true length. What a limb's error needs is 1.96 "
        "times the rms error over the trials. 45 s at 30 Hz, nothing known; white noise of 0.3 cm and 0.3 deg where "
        "only noise is named, else 0.15 cm and 0.15 deg."
    )
    publish("coverage", "Intervals that hold", how, {"Limb lengths": table}, data, given)


if __name__ == "__main__":
    main()
