"""The convention doctor: how many times worse a wrong reading of the same numbers is, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from tests.make.spoilt import FAULTS, RIGHT, make_recording

from condyle import CondyleError
from condyle.model.recording import to_take
from condyle.model.take import Take
from condyle.prepare.convention import diagnose
from condyle.prepare.odd_sensors import find_odd_sensors
from condyle.simulate import Disturbances, SimulatedFigure, chain, human, linkage, simulate

from .bound import CM, noise
from .harness import Table, arguments, measured, publish

SECONDS = 30.0
SAME_GAP = 0.02  # of the true reading's gap: a reading that holds together as well as it


@dataclass(frozen=True)
class Case:
    name: str
    figure: Callable[[], SimulatedFigure]
    disturbances: Disturbances
    motion: str = "exercise"
    range: float = 1.0


TYPICAL = noise(0.4, 0.5)
HUMAN = noise(0.3, 0.5, soft_tissue=1 * CM, field_warp=0.7 * CM)
ROUGH = noise(0.3, 0.5, spikes=0.05, stale=0.05, missing=0.1)
CASES = (
    Case("human exercise, 4 mm", human, TYPICAL),
    Case("human exercise, soft tissue 1 cm, warped field", human, HUMAN),
    Case("human exercise, 5 % spikes, 5 % held, 10 % missing", human, ROUGH),
    Case("human walk, 4 mm", human, TYPICAL, "walk"),
    Case("human walk, soft tissue 1 cm, warped field", human, HUMAN, "walk"),
    Case("human walk at half range, 4 mm", human, TYPICAL, "walk", 0.5),
    Case("linkage exercise, 4 mm", linkage, TYPICAL),
    Case("linkage exercise, soft tissue 1 cm, warped field", linkage, HUMAN),
    Case("chain of three hinges, 4 mm", lambda: chain(["hinge"] * 3), TYPICAL),
)


@dataclass
class Found:
    """times: a wrong reading over the right one; verdicts by fault; sensors told and untold."""

    times: dict[str, list[float]] = field(default_factory=dict)
    verdicts: dict[str, list[str]] = field(default_factory=dict)
    odd: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, name: str, times: float, verdict: str) -> None:
        self.times.setdefault(name, []).append(times)
        self.verdicts.setdefault(name, []).append(verdict)

    def share(self, name: str, verdict: str) -> float:
        return float(np.mean([one == verdict for one in self.verdicts[name]]))


def measure(case: Case, seeds: Sequence[int]) -> Found:
    found = Found()
    for seed in seeds:
        world = simulate(
            case.figure(), case.motion, seed=seed, seconds=SECONDS, disturbances=case.disturbances, range=case.range
        )  # type: ignore[arg-type]
        true = np.nan
        for name, right in RIGHT.items():
            told = diagnose([right(world.take)])
            assert told is not None
            true = told.used.gap
            others = [one.gap for one in told.ranking if one is not told.used]
            found.add(name, min(others) / told.used.gap, told.verdict)
        for name, spoil in FAULTS.items():
            told = diagnose([spoil(world.take)])
            assert told is not None
            right_one = abs(told.best.gap / true - 1) < SAME_GAP
            found.add(name, told.used.gap / told.best.gap, told.verdict if right_one else "wrong")
        _odd_sensors(world.take, found, seed)
    return found


def _odd_sensors(take: Take, found: Found, seed: int) -> None:
    k = seed % take.bodies
    p, R = take.p_world_body.copy(), take.R_world_body.copy()
    p[:, k] *= 1000
    R[:, k] = np.swapaxes(R[:, k], -1, -2)
    for name, spoilt in {
        "none": take,
        "mm": replace(take, p_world_body=p),
        "transposed": replace(take, R_world_body=R),
    }.items():
        try:
            told = find_odd_sensors(to_take(make_recording(spoilt)))
        except CondyleError:
            told = ()
        wanted = [] if name == "none" else [take.names[k]]
        found.odd.setdefault(name, []).append([one.name for one in told] == wanted)


def main() -> None:
    given = arguments(__doc__, trials=10)
    right, wrong, odd, data = [], [], [], {}
    for case, found in measured(CASES, measure, given):
        for name in RIGHT:
            nearest = found.times[name]
            right.append(
                [
                    case.name,
                    name,
                    f"{min(nearest):.1f}",
                    f"{np.median(nearest):.1f}",
                    _percent(found.share(name, "confirmed")),
                ]
            )
        for name in FAULTS:
            times = found.times[name]
            wrong.append(
                [
                    case.name,
                    name,
                    f"{min(times):.1f}",
                    f"{np.median(times):.1f}",
                    _percent(found.share(name, "other")),
                    _percent(found.share(name, "ambiguous")),
                    _percent(found.share(name, "wrong") + found.share(name, "confirmed")),
                ]
            )
        odd.append([case.name, *(_percent(float(np.mean(found.odd[name]))) for name in ("none", "mm", "transposed"))])
        data[case.name] = {"times": found.times, "verdicts": found.verdicts, "odd": found.odd}
    tables = {
        "The right reading: how many times worse the nearest other one is, and how often it is confirmed": Table(
            ["world", "numbers", "times, least", "median", "confirmed"], right
        ),
        "A wrong reading: how many times worse than the right one, and what is made of it": Table(
            ["world", "fault", "times, least", "median", "put right", "stopped as ambiguous", "not put right"], wrong
        ),
        "One sensor in another unit or convention: told, with no other sensor accused": Table(
            ["world", "no odd sensor", "one in mm", "one transposed"], odd
        ),
    }
    how = f"Simulated recordings of {SECONDS:g} s at 30 Hz. `python -m benchmarks.conventions`."
    publish("conventions", "Conventions told from the motion", how, tables, data, given)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


if __name__ == "__main__":
    main()
