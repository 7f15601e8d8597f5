"""One person in several mountings: how near do limb lengths come to the truth by the number of mountings, what are
sides and proportions as learned priors worth, and do the intervals hold?

Performers of different stature whose sides differ; the sensors, and with them the skin, are drawn anew for every
mounting. The trees are known. Thighs, shanks, upper arms and forearms count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import condyle
from condyle.model.profile import Profile, name_length
from condyle.model.skeleton import Skeleton
from condyle.result.mountings import share_figures
from condyle.simulate import MALE_LENGTHS, SimulatedFigure, Truth, human, simulate
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, measured, percent, progress, publish, rms

SECONDS, RATE = 45.0, 30.0
STATURE = (0.88, 1.1)  # times the usual, least and most
LIMB_SD, SIDE_SD = 0.03, 0.005  # of a limb's share of the stature [-], and of the difference of two sides [m]
MOST = 4  # mountings
PARTS = ("thigh", "shank", "upper_arm", "forearm")
Z95 = 1.96
CASES = (
    Case("skin", noise(0.15, 0.15, **SOFT)),
    Case("skin, bent field", noise(0.15, 0.15, **SOFT, **FIELD)),
)


@dataclass
class Lengths:
    """Errors [m] of lengths, half-widths [m] of their intervals, and whether these hold."""

    error: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)


def draw_person(seed: int) -> SimulatedFigure:
    rng = stream(seed, "performer")
    size = rng.uniform(*STATURE)
    own = {part: size * (1 + LIMB_SD * rng.normal()) for part in PARTS}
    return human(
        {name: length * own[name[2:]] + SIDE_SD / np.sqrt(2) * rng.normal() for name, length in MALE_LENGTHS.items()}
    )


def measure(case: Case, seeds: Sequence[int]) -> dict[str, Lengths]:
    found: dict[str, Lengths] = {}
    for seed in seeds:
        figure = draw_person(seed)
        worlds = [
            simulate(
                figure, "exercise", seconds=SECONDS, rate=RATE, seed=seed + 1000 * k, disturbances=case.disturbances
            )
            for k in range(MOST)
        ]
        truth = worlds[0].truth
        anew = [_fit(world.take, truth) for world in worlds]
        add_person(found, anew, truth)
        progress(f"{case.name} {seed}")
    return found


def add_person(found: dict[str, Lengths], anew: Sequence[Skeleton], truth: Truth) -> None:
    """Errors of one person's lengths, by how many of the mountings count, and what else."""
    for name, skeletons, options in (
        ("1 mounting", anew[:1], {}),
        *((f"{count} mountings", anew[:count], {}) for count in range(2, MOST + 1)),
        ("1 mounting, sides", anew[:1], {"sides": True}),
        ("1 mounting, proportions", anew[:1], {"proportions": True}),
        (f"{MOST} mountings, sides", anew, {"sides": True}),
        (f"{MOST} mountings, proportions", anew, {"proportions": True}),
        (f"{MOST} mountings, sides and proportions", anew, {"sides": True, "proportions": True}),
    ):
        _add(found, name, share_figures(skeletons, **options).profile, truth)


def _fit(take: condyle.Take, truth: Truth) -> Skeleton:
    return condyle.fit(take, tree=[(parent, child) for child, parent in truth.edges]).skeleton


def _add(found: dict[str, Lengths], name: str, profile: Profile, truth: Truth) -> None:
    up = dict(truth.edges)
    true = {name_length(body, (a, up[a]), (b, up[b])): length for (body, a, b), length in truth.limbs.items()}
    into = found.setdefault(name, Lengths())
    for one in profile.lengths:
        if one.body[2:] in PARTS and not one.axes:
            into.error.append(one.length - true[one.key])
            into.width.append((one.high - one.low) / 2)
            into.held.append(one.low <= true[one.key] <= one.high)


def main() -> None:
    given = arguments(__doc__ or "", 20)
    tables, data = {}, {}
    for case, found in measured(CASES, measure, given):
        rows = []
        for name, one in found.items():
            size, held = rms(one.error), float(np.mean(one.held))
            wide = float(np.mean(one.width)) / (Z95 * size)
            rows.append((name, f"{100 * size:.2f}", percent(held), f"{wide:.2f}", str(len(one.error))))
            data[f"{case.name}: {name}"] = {
                "rms": size,
                "held": held,
                "width over need": wide,
                "lengths": len(one.error),
            }
        heads = ("", "rms error, cm", "95 % intervals that hold", "width over need", "lengths")
        tables[case.name.capitalize()] = Table(heads, rows)
    how = "Exercises of 45 s, sensors and skin drawn anew for each. The need is 1.96 times the rms error of a row."
    publish("mountings", "One person in several mountings", how, tables, data, given)


if __name__ == "__main__":
    main()
