"""Connections that hold for a while: how many are found, when and where, and how often one is told that is none.

Nothing is told to the program, the tree included. A connection counts as found if the two bodies that touch are named,
at a time that overlaps. A recording without contacts counts as a false alarm if any is told in it, or a joint of the
tree is told to hold for a part of the time only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import condyle
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import forget_stacks, sum_pairs
from condyle.pairs.windows import sum_windows
from condyle.simulate import Disturbances, SimulatedFigure, Truth, disturb, human, linkage, prop, simulate, together
from condyle.simulate.contacts import clasp_hands, join_hands, pick_up, plant_feet
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import FIELD, SOFT
from .harness import Table, arguments, measured, percent, progress, publish

LENGTHS = (1.0, 2.0, 4.0, 8.0)  # s
SECONDS = 30.0
CLEAN = 9  # recordings without contacts for each one with
APART = 1.0  # m between two figures
STANCE = 0.8  # s
WHITE, WARPED, SKIN = noise(0.3, 0.3), noise(0.15, 0.15, **FIELD), noise(0.15, 0.15, **SOFT)


@dataclass(frozen=True)
class Case:
    name: str
    disturbances: Disturbances
    motion: str
    contact: str = "none"
    figure: SimulatedFigure = field(default_factory=human)


QUIET = (
    Case("white, exercise", WHITE, "exercise"),
    Case("white, walk", WHITE, "walk"),
    Case("warped field, exercise", WARPED, "exercise"),
    Case("warped field, walk", WARPED, "walk"),
    Case("linkage, white, exercise", WHITE, "exercise", figure=linkage()),
    Case("linkage, warped field, walk", WARPED, "walk", figure=linkage()),
    Case("soft tissue, exercise", SKIN, "exercise"),
    Case("soft tissue + field, walk", noise(0.15, 0.15, **SOFT, **FIELD), "walk"),
    Case("spikes and bursts, exercise", noise(0.3, 0.3, spikes=0.02, bursts=0.05), "exercise"),
    Case("white, walk, and a prop", WHITE, "walk", "loose prop"),
    Case("white, exercise, two figures", WHITE, "exercise", "two figures"),
)
TOUCHING = tuple(
    Case(f"{contact}: {world}, {motion}", disturbances, motion, contact)
    for contact in ("hand in hand", "own hands", "prop")
    for world, disturbances, motion in (
        ("white", WHITE, "exercise"),
        ("white", WHITE, "walk"),
        ("warped field", WARPED, "walk"),
        ("soft tissue", SKIN, "walk"),
    )
)
FEET = (Case("white, walk", WHITE, "walk"), Case("soft tissue, walk", SKIN, "walk"))


def exact(case: Case, seed: int, span: tuple[float, float] | None) -> tuple[Truth, frozenset[str], Any]:
    """A world with one contact in a span of time; the two that touch, and where in the frame of each."""
    one = simulate(case.figure, case.motion, seconds=SECONDS, seed=seed).truth  # type: ignore[arg-type]
    if case.contact in ("prop", "loose prop"):
        world = simulate(case.figure, case.motion, seconds=SECONDS, seed=seed)  # type: ignore[arg-type]
        truth = together([world, prop(seconds=SECONDS, seed=seed + 1)], ["", ""]).truth
        if span is None:
            return truth, frozenset(), None
        return pick_up(truth, "r_hand", "prop", *span), frozenset(("r_hand", "prop")), None
    if case.contact == "own hands" and span is not None:
        truth = clasp_hands(one, *span, stream(seed, "sway"))
        points = {}
        for name in ("l_hand", "r_hand"):
            k = truth.names.index(name)
            R, p = truth.mounts.R_bone_body[k], truth.mounts.p_bone_body[k]
            points[name] = R.T @ (np.array([0.0, 0.0, -0.08]) - p)
        return truth, frozenset(points), points
    if case.contact in ("hand in hand", "two figures"):
        worlds = [simulate(case.figure, case.motion, seconds=SECONDS, seed=seed + k) for k in (0, 5000)]  # type: ignore[arg-type]
        truth = together(worlds).truth
        p = truth.p_world_body.copy()
        p[:, len(case.figure.names) :, 0] += APART
        truth = replace(truth, p_world_body=p)
        if span is None:
            return truth, frozenset(), None
        points = stream(seed, "touch").standard_normal((2, 3))
        points *= 0.08 / np.linalg.norm(points, axis=1, keepdims=True)
        names = ("a_r_hand", "b_l_hand")
        return join_hands(truth, names, points, *span), frozenset(names), dict(zip(names, points, strict=True))
    return one, frozenset(), None


def fit(case: Case, seed: int, truth: Truth, **options: bool) -> condyle.Fit:
    take, _ = disturb(truth, case.disturbances, seed)
    return condyle.fit(take, intervals=False, **options)  # type: ignore[arg-type]


def told(fitted: condyle.Fit) -> list[str]:
    return [f.text for f in fitted.findings if f.code in ("connection", "part-time-joint")]


@dataclass
class Hits:
    """Contacts of one length: found, error of start and end [s], of the place [m], and further ones that were told."""

    found: list[bool] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    place: list[float] = field(default_factory=list)
    further: int = 0


def measure_quiet(case: Case, seeds: Sequence[int]) -> tuple[int, int]:
    alarms = 0
    count = CLEAN if case.contact != "two figures" else CLEAN // 3
    for seed in seeds:
        for k in range(count):
            own = seed + 1000 * k
            alarms += bool(told(fit(case, own, exact(case, own, None)[0])))
    return alarms, count * len(seeds)


def measure_touching(case: Case, seeds: Sequence[int]) -> dict[float, Hits]:
    hits = {length: Hits() for length in LENGTHS}
    for seed in seeds:
        for length, one in hits.items():
            start = float(stream(seed, "moment").uniform(3, SECONDS - length - 3))
            truth, pair, points = exact(case, seed, (start, start + length))
            count(one, fit(case, seed, truth), pair, points, (start, start + length))
    return hits


def count(hits: Hits, fitted: condyle.Fit, pair: frozenset[str], points: Any, span: tuple[float, float]) -> None:
    loops = [loop for loop in fitted.skeleton.loops if loop.time is not None]
    own = [loop for loop in loops if {loop.child, loop.parent} == pair and overlap(loop.time, span)]
    hits.found.append(bool(own))
    hits.further += len(loops) - len(own[:1])
    for loop in own[:1]:
        hits.start.append(loop.time[0] - span[0])
        hits.end.append(loop.time[1] - span[1])
        if points is not None and loop.point == "determined":
            hits.place.append(float(np.linalg.norm(loop.p_child_joint - points[loop.child])))


def overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def measure_feet(case: Case, seeds: Sequence[int]) -> list[str]:
    """Share of the stances that were found, errors of their ends [s], and how many of all that is told is no stance."""
    found, ends, wrong, total = [], [], 0, 0
    for seed in seeds:
        one = simulate(case.figure, case.motion, seconds=SECONDS, seed=seed, range=0.6).truth  # type: ignore[arg-type]
        loops = fit(case, seed, plant_feet(one, stance=STANCE), world=True).skeleton.loops
        spans = [(k * STANCE, (k + 1) * STANCE, ("l_foot", "r_foot")[k % 2]) for k in range(int(SECONDS / STANCE))]
        total += len(loops)
        for start, end, foot in spans:
            own = [x for x in loops if x.child == foot and x.time and x.time[0] < end - 0.1 and x.time[1] > start + 0.1]
            found.append(bool(own))
            ends += [abs(x.time[0] - start) for x in own if x.time] + [abs(x.time[1] - end) for x in own if x.time]
            wrong -= len(own)
    wrong += total
    return [case.name, percent(float(np.mean(found))), f"{np.median(ends):.2f}", f"{wrong} of {total}"]


def cost() -> Table:
    """CPU time of the windows of all pairs, beside the fit of the whole take: minimum of five."""
    rows = []
    for bodies, rate in ((15, 30.0), (15, 120.0)):
        take, _ = disturb(simulate(human(), seconds=45, rate=rate, seed=1).truth, WHITE, 1)
        i, j = np.triu_indices(bodies + 1, 1)

        def whole(take: condyle.Take = take) -> None:
            forget_stacks()
            fit_pairs(sum_pairs(take))

        def windows(take: condyle.Take = take, i: Any = i, j: Any = j) -> None:
            for one in sum_windows(take):
                one.fit(i, j)

        def default(take: condyle.Take = take) -> None:
            forget_stacks()
            condyle.fit(take)

        a, b, c = (least(work) for work in (windows, whole, default))
        name = f"{bodies} bodies, 45 s, {rate:g} Hz"
        rows.append([name, f"{1000 * a:.0f}", f"{1000 * b:.1f}", f"{a / b:.1f}", f"{1000 * c:.0f}", f"{a / c:.2f}"])
    heads = ["take", "windows, ms", "sums and fits of all pairs, ms", "ratio", "default fit, ms", "ratio"]
    return Table(heads, rows)


def least(work: Callable[[], None]) -> float:
    times = []
    for _ in range(5):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def row(case: Case, hits: dict[float, Hits]) -> list[str]:
    cells = [case.name]
    for one in hits.values():
        if not one.start:
            cells.append(percent(float(np.mean(one.found))))
            continue
        errors = f"{np.median(np.abs(one.start)):.2f}, {np.median(np.abs(one.end)):.2f}"
        place = f", {1000 * np.median(one.place):.0f}" if one.place else ""
        cells.append(f"{percent(float(np.mean(one.found)))}, {errors}{place}")
    return [*cells, str(sum(one.further for one in hits.values()))]


def main() -> None:
    given = arguments(__doc__ or "", 6)
    quiet, touching, data = [], [], {}
    for case, (alarms, total) in measured(QUIET, measure_quiet, given):
        quiet.append([case.name, f"{alarms} of {total}"])
        data[case.name] = {"alarms": alarms, "recordings": total}
        progress(" | ".join(quiet[-1]))
    for case, hits in measured(TOUCHING, measure_touching, given):
        touching.append(row(case, hits))
        data[case.name] = {f"{length:g}": vars(one) for length, one in hits.items()}
        progress(" | ".join(touching[-1]))
    feet = [found for _, found in measured(FEET, measure_feet, given)] if not given.only else []
    heads = ["contact: world"]
    heads += [f"{length:g} s: found, start and end off by, s; place off by, mm" for length in LENGTHS]
    tables = {
        "False alarms": Table(["world", "recordings with one"], quiet),
        "Detection": Table([*heads, "further ones told"], touching),
    }
    if not given.only:
        tables["Feet on the floor"] = Table(["world", "stances found", "ends off by, s", "told that are none"], feet)
        tables["Cost"] = cost()
    how = (
        f"Recordings of {SECONDS:g} s at 30 Hz. Hand in hand: two figures, {APART:g} m apart else; own hands: clasped "
        "before the chest and moved about; prop: lies still, is carried in a hand, lies still again. Errors are "
        f"medians. Feet: with `--world`, one foot after the other keeps its toe in place for {STANCE:g} s."
    )
    publish("connections", "Connections that hold for a while", how, tables, data, given)


if __name__ == "__main__":
    main()
