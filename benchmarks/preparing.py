"""What preparing a take is worth: faults found and put right, delays removed, good takes left as they are.

The tree is given, so that errors of joint centres compare; what preparing does is not told of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import condyle
from condyle.model.options import FitOptions
from condyle.model.stage import apply_changes
from condyle.model.take import Take
from condyle.pairs.sums import forget_stacks
from condyle.prepare.dropouts import prepare
from condyle.prepare.latency import repair_latency
from condyle.simulate import Disturbances, World, chain, device, human, prop, rod, simulate, together
from condyle.simulate.seeds import stream

from .bound import CM, joint_errors, noise
from .harness import Table, arguments, known_tree, measured, percent, progress, publish, rms

METHODS = ("least-squares", "default")
CODES = ("dropout", "frozen-samples", "repeated-rows", "hemisphere-flip", "latency")
MS = 1e-3
PLACE = (1.0, 0.2, 0.3)  # m, where a device parks sensors that it lost
Spoil = Callable[[Take, int], tuple[Take, np.ndarray]]  # the spoilt take and which samples (n, m) are wrong


def lost(take: Take, seed: int, share: float, seconds: float) -> np.ndarray:
    """(n, m) samples in runs of so many seconds or more."""
    shape = (take.frames, take.bodies)
    return device.draw_runs(
        stream(seed, "preparing"), shape, np.full(take.bodies, share), max(1, round(seconds * take.rate))
    )


def zeros(take: Take, seed: int) -> tuple[Take, np.ndarray]:
    return _written(take, lost(take, seed, 0.05, 0.1), np.zeros(3), np.eye(3))


def parked(take: Take, seed: int) -> tuple[Take, np.ndarray]:
    return _written(take, lost(take, seed, 0.05, 0.1), np.array(PLACE), np.eye(3)[[1, 2, 0]])


def _written(take: Take, mask: np.ndarray, place: np.ndarray, turn: np.ndarray) -> tuple[Take, np.ndarray]:
    p = np.where(mask[..., None], place, take.p_world_body)
    R = np.where(mask[..., None, None], turn, take.R_world_body)
    return replace(take, p_world_body=p, R_world_body=R), mask


def flipped(share: float, seconds: float, turned: bool = False) -> Spoil:
    """Positions mirrored through the transmitter in runs; `turned`: orientations jump with them."""

    def spoil(take: Take, seed: int) -> tuple[Take, np.ndarray]:
        mask = lost(take, seed, share, seconds)
        p = np.where(mask[..., None], -take.p_world_body, take.p_world_body)
        R = take.R_world_body
        if turned:
            R = np.where(mask[..., None, None], R @ np.diag([1.0, -1.0, -1.0]), R)
        return replace(take, p_world_body=p, R_world_body=R), mask

    return spoil


def held(every: int, bodies: slice = slice(None)) -> Spoil:
    """Bodies that measure only every so many frames and repeat in between."""

    def spoil(take: Take, seed: int) -> tuple[Take, np.ndarray]:
        row = np.arange(take.frames) // every * every
        p, R = take.p_world_body.copy(), take.R_world_body.copy()
        p[:, bodies], R[:, bodies] = p[row][:, bodies], R[row][:, bodies]
        mask = np.zeros((take.frames, take.bodies), dtype=bool)
        mask[:, bodies] = (row != np.arange(take.frames))[:, None]
        return replace(take, p_world_body=p, R_world_body=R), mask

    return spoil


def stale(take: Take, seed: int) -> tuple[Take, np.ndarray]:
    """A tenth of every sensor's samples repeat the last good one, in runs of 0.3 s or more."""
    mask = lost(take, seed, 0.1, 0.3)
    mask[0] = False
    rows = device.find_held_rows(mask)
    p = np.take_along_axis(take.p_world_body, rows[..., None], axis=0)
    R = np.take_along_axis(take.R_world_body, rows[..., None, None], axis=0)
    return replace(take, p_world_body=p, R_world_body=R), mask


def unseen(take: Take, seed: int) -> tuple[Take, np.ndarray]:
    """A tenth of every third sensor's places are held, in runs of a second or more, while the orientation goes on."""
    mask = lost(take, seed, 0.1, 1.0)
    mask[0] = False
    mask[:, np.arange(take.bodies) % 3 > 0] = False
    rows = device.find_held_rows(mask)
    return replace(take, p_world_body=np.take_along_axis(take.p_world_body, rows[..., None], axis=0)), mask


@dataclass(frozen=True)
class Fault:
    name: str
    spoil: Spoil
    code: str
    disturbances: Disturbances = field(default_factory=lambda: noise(0.4, 0.5))


FAULTS = (
    Fault("5 % written as zeros", zeros, "dropout"),
    Fault("5 % parked at one place", parked, "dropout"),
    Fault("10 % frozen, runs of 0.3 s", stale, "frozen-samples"),
    Fault("10 % of a third of the sensors' places held, runs of 1 s", unseen, "frozen-samples"),
    Fault("every second row a repeat", held(2), "repeated-rows"),
    Fault("a third of the sensors at half the rate", held(2, slice(0, None, 3)), "frozen-samples"),
    Fault("1 % flipped, runs of 50 ms", flipped(0.01, 0.05), "hemisphere-flip"),
    Fault("1 % flipped, single samples", flipped(0.01, 0.001), "hemisphere-flip"),
    Fault("10 % flipped, runs of 2 s", flipped(0.1, 2.0), "hemisphere-flip"),
    Fault("1 % flipped and turned, runs of 50 ms", flipped(0.01, 0.05, turned=True), "hemisphere-flip"),
    Fault(
        "1 % flipped among spikes", flipped(0.01, 0.05), "hemisphere-flip", noise(0.4, 0.5, spikes=0.02, bursts=0.02)
    ),
)


@dataclass(frozen=True)
class Late:
    """`latency` draws the delays (m,) [s] of the sensors."""

    name: str
    latency: Callable[[int, int], np.ndarray]
    disturbances: Disturbances
    motion: str = "exercise"
    rate: float = 60.0


def nobody(seed: int, bodies: int) -> np.ndarray:
    return np.zeros(bodies)


def one(delay: float) -> Callable[[int, int], np.ndarray]:
    return lambda seed, bodies: delay * (np.arange(bodies) == seed % bodies)


def everybody(most: float) -> Callable[[int, int], np.ndarray]:
    return lambda seed, bodies: np.random.default_rng([seed, 20]).uniform(0, most, bodies)


def polled(most: float) -> Callable[[int, int], np.ndarray]:
    """Sensors read one after the other."""
    return lambda seed, bodies: np.linspace(0, most, bodies)


CLEAN, TURNS = noise(0.2, 0.15), noise(0.3, 1.0)
SPIKY = noise(0.3, 0.3, spikes=0.02, bursts=0.05)
SOFT = noise(0.15, 0.15, soft_tissue=0.5 * CM, field_warp=1.25 * CM, field_length=90 * CM)
GAPPY = noise(0.2, 0.15, missing=0.1, missing_run=0.1)
LATE = tuple(
    Late(f"{motion}: {what}, {who}", latency, disturbances, motion, rate)
    for motion in ("exercise", "walk")
    for what, disturbances, delays in (
        ("0.2 cm, 0.15 deg", CLEAN, ("none", "one", "one100", "random", "polled")),
        ("0.3 cm, 1 deg", TURNS, ("none", "random")),
        ("spikes and bursts", SPIKY, ("none", "one")),
        ("10 % missing", GAPPY, ("none", "random")),
        ("soft tissue and field", SOFT, ("none", "one", "random")),
    )
    for key in delays
    for who, latency, rate in (
        {
            "none": ("none", nobody, 60.0),
            "one": ("one sensor 33 ms", one(0.033), 60.0),
            "one100": ("one sensor 100 ms", one(0.1), 60.0),
            "random": ("all 0 to 10 ms", everybody(0.01), 60.0),
            "polled": ("polled over 16 ms", polled(0.016), 60.0),
        }[key],
    )
)


@dataclass(frozen=True)
class Spiky:
    """What is wrong with single samples is left to the fit, which weighs them out."""

    name: str
    disturbances: Disturbances
    motion: str = "exercise"


WRONG = 0.03  # m: a spike of less is not seen at its joint under this noise
SPIKES = (
    Spiky("1 % spikes", noise(0.3, 0.3, spikes=0.01)),
    Spiky("2 % spikes, 5 % bursts", SPIKY),
    Spiky("2 % spikes, 5 % bursts, walk", SPIKY, "walk"),
    Spiky("1 % spikes, soft tissue and field", replace(SOFT, spikes=0.01)),
    Spiky("none", noise(0.3, 0.3)),
    Spiky("none, walk", noise(0.3, 0.3), "walk"),
    Spiky("none, noise correlated over 0.5 s", noise(0.3, 0.3, correlation_time=0.5)),
    Spiky("none, field", noise(0.15, 0.15, field_warp=1.25 * CM)),
    Spiky("none, soft tissue and field", SOFT),
    Spiky("none, soft tissue and field, walk", SOFT, "walk"),
)


@dataclass(frozen=True)
class Good:
    name: str
    world: Callable[[int], World]


def _figure(motion: str, rate: float = 60.0, **more: float) -> Callable[[int], World]:
    position, orientation = more.pop("position", 0.3), more.pop("orientation", 0.5)
    done = noise(position, orientation, **more)
    return lambda seed: simulate(human(), motion, rate=rate, seed=seed, disturbances=done)  # type: ignore[arg-type]


def few_decimals(seed: int) -> World:
    """Noise below the last digit: at rest poses come back to the last bit."""
    world = simulate(human(), seed=seed, rate=120.0, disturbances=noise(0.005, 0.01))
    p, R = np.round(world.take.p_world_body, 3), np.round(world.take.R_world_body, 3)
    return replace(world, take=Take.from_poses(p, R_world_body=R, names=world.take.names, time=world.take.time))


def stops(seed: int) -> World:
    """Exact figures that come to rest between motions, all together and one by one, as synthetic clips do."""
    world = simulate(human(), "walk", seconds=20.0, rate=60.0, seed=seed)
    n = world.take.frames
    pace = np.clip(np.sin(np.linspace(0, 6 * np.pi, n)) + 0.5, 0, None)  # never below nought: it waits there
    clock = np.cumsum(pace) / pace.sum() * (world.take.time[-1] - 0.1)
    row = np.clip(np.searchsorted(world.take.time, clock), 1, n - 1)
    part = ((clock - world.take.time[row - 1]) / (world.take.time[row] - world.take.time[row - 1]))[:, None, None]
    p = (1 - part) * world.take.p_world_body[row - 1] + part * world.take.p_world_body[row]
    mixed = (1 - part[..., None]) * world.take.R_world_body[row - 1] + part[..., None] * world.take.R_world_body[row]
    return replace(world, take=Take(world.take.names, world.take.time, condyle.rotation.project(mixed), p))


def with_room(seed: int) -> World:
    """A figure, a loose thing, and a body of the room that never moves to the last bit."""
    world = together([simulate(human(), seed=seed, rate=60.0, disturbances=CLEAN), prop(seed=seed, rate=60.0)])
    take = world.take
    p = np.concatenate([take.p_world_body, np.zeros((take.frames, 1, 3))], axis=1)
    R = np.concatenate([take.R_world_body, np.tile(np.eye(3), (take.frames, 1, 1, 1))], axis=1)
    return replace(world, take=Take((*take.names, "room"), take.time, R, p))


GOOD = (
    Good("exact, exercise", _figure("exercise", position=0.0, orientation=0.0)),
    Good("exact, walk", _figure("walk", position=0.0, orientation=0.0)),
    Good("exact, still", _figure("still", position=0.0, orientation=0.0)),
    Good("exact, with stops", stops),
    Good("0.3 cm, 0.5 deg, exercise", _figure("exercise")),
    Good("0.3 cm, 0.5 deg, walk", _figure("walk")),
    Good("0.3 cm, 0.5 deg, still", _figure("still")),
    Good("0.3 cm, 0.5 deg, 120 Hz walk", _figure("walk", 120.0)),
    Good("noise correlated over 0.5 s, walk", _figure("walk", correlation_time=0.5)),
    Good("spikes and bursts, exercise", _figure("exercise", spikes=0.05, bursts=0.05)),
    Good("soft tissue, exercise", _figure("exercise", soft_tissue=0.5 * CM)),
    Good("soft tissue, walk", _figure("walk", soft_tissue=0.5 * CM)),
    Good("joints that move + soft tissue, walk", _figure("walk", soft_tissue=0.5 * CM, non_rotary=1.0)),
    Good("warped field, walk", _figure("walk", field_warp=1.25 * CM)),
    Good("soft tissue + field, walk", _figure("walk", soft_tissue=0.5 * CM, field_warp=1.25 * CM)),
    Good("pelvis pack wobbles 5 cm, walk", _figure("walk", pelvis_wobble=5 * CM)),
    Good("three decimals", few_decimals),
    Good(
        "hinges and a rigid pair",
        lambda seed: simulate(
            chain(("ball", "hinge", "hinge", "ball", "hinge", "rigid", "ball")), seed=seed, disturbances=CLEAN
        ),
    ),
    Good("two sensors on a rod", lambda seed: rod(seed=seed, disturbances=CLEAN)),
    Good("figure, loose thing and a body of the room", with_room),
)


@dataclass
class Errors:
    """Mean square joint error [m^2] by method for takes as they should be, as they came, and prepared; of hinges that
    of their line.
    """

    clean: dict[str, list[float]] = field(default_factory=lambda: {m: [] for m in METHODS})
    plain: dict[str, list[float]] = field(default_factory=lambda: {m: [] for m in METHODS})
    ready: dict[str, list[float]] = field(default_factory=lambda: {m: [] for m in METHODS})
    told: int = 0  # sensors or takes with the finding
    asked: int = 0  # ... that should have it
    other: Counter[str] = field(default_factory=Counter)  # findings of other codes
    hit: int = 0  # wrong samples that were masked or changed
    wrong: int = 0
    harmed: int = 0  # good samples that were
    good: int = 0
    delay: list[float] = field(default_factory=list)  # [s] errors of delays between joined sensors
    late: int = 0  # sensors moved

    def add(self, world: World, which: dict[str, list[float]], take: Take) -> None:
        for method in METHODS:
            made = condyle.fit(
                take,
                plan=method,  # type: ignore[arg-type]
                tree=known_tree(world.truth),
                intervals=False,
                prepare=False,
            )
            which[method].append(float(np.mean(joint_errors(made.skeleton, world.truth, lines=True) ** 2)))

    def cells(self, which: dict[str, list[float]]) -> str:
        return " / ".join(f"{rms(np.sqrt(which[m])) / CM:.3f}" for m in METHODS)


def measure_fault(case: Fault, seeds: Sequence[int]) -> Errors:
    found = Errors()
    for seed in seeds:
        world = simulate(human(), rate=120.0, seed=seed, disturbances=case.disturbances)
        spoilt, mask = case.spoil(world.take, seed)
        ready = prepare(spoilt)
        new = ready.findings[len(spoilt.findings) :]
        named = {name for f in new if f.code == case.code for name in f.bodies or spoilt.names}
        found.told += sum(name in named for k, name in enumerate(spoilt.names) if mask[:, k].any())
        found.asked += int(mask.any(axis=0).sum())
        found.other.update(f.code for f in new if f.code != case.code)
        kept = np.isin(spoilt.time, ready.time)
        touched = np.ones(mask.shape, dtype=bool)
        touched[kept] = ~(ready.seen & (ready.p_world_body == spoilt.p_world_body[kept]).all(axis=2))
        found.hit += int((touched & mask).sum())
        found.wrong += int(mask.sum())
        found.harmed += int((touched & ~mask).sum())
        found.good += int((~mask).sum())
        for which, take in ((found.clean, world.take), (found.plain, spoilt), (found.ready, ready)):
            found.add(world, which, take)
    return found


def measure_late(case: Late, seeds: Sequence[int]) -> Errors:
    found = Errors()
    for seed in seeds:
        bodies = len(human().names)
        delay = case.latency(seed, bodies)
        make = {"seconds": 45.0, "rate": case.rate, "seed": seed}
        done = replace(case.disturbances, latency=delay)
        world = simulate(human(), case.motion, disturbances=done, **make)  # type: ignore[arg-type]
        ready = prepare(world.take)
        repairs = repair_latency(ready, FitOptions()).changes
        told = [finding for one in repairs for finding in one.describe()]
        new = [f for f in (*ready.findings, *told) if f.code in CODES]
        ready = apply_changes(ready, repairs)
        found.told += any(f.code == "latency" for f in new)
        found.asked += 1
        found.other.update(f.code for f in new if f.code != "latency")
        found.late += sum(len(f.bodies) for f in new if f.code == "latency")
        estimate = condyle.prepare.latency.find_latency(world.take)
        if estimate is not None:
            left = np.where(estimate.late, estimate.delay, 0.0) - delay
            child = np.flatnonzero(world.truth.parent >= 0)
            found.delay += list(left[child] - left[world.truth.parent[child]])
        same = replace(case.disturbances, latency=0.0)
        clean = simulate(human(), case.motion, disturbances=same, **make)  # type: ignore[arg-type]
        for which, take in ((found.clean, clean.take), (found.plain, world.take), (found.ready, ready)):
            found.add(world, which, take)
    return found


def measure_spiky(case: Spiky, seeds: Sequence[int]) -> Counter[str]:
    """Wrong samples that count less than half at all their joints, good ones that do, and takes and sensors told."""
    found: Counter[str] = Counter()
    for seed in seeds:
        world = simulate(human(), case.motion, seed=seed, disturbances=case.disturbances)  # type: ignore[arg-type]
        made = condyle.fit(world.take, tree=known_tree(world.truth), intervals=False)
        off = np.linalg.norm(world.take.p_world_body - world.truth.p_world_body, axis=2)
        spoilt = world.truth.spiked | world.truth.burst
        bad = spoilt & (off > WRONG)
        best = np.zeros(bad.shape)
        near = np.zeros(bad.shape, dtype=bool)  # a partner was spoilt, so that the joint tells nothing of this one
        for k, joint in enumerate(made.skeleton.joints):
            child, parent = world.take.index(joint.child), world.take.index(joint.parent)
            for own, other in ((child, parent), (parent, child)):
                best[:, own] = np.maximum(best[:, own], made.weight[:, k])
                near[:, own] |= spoilt[:, other]
        good = ~spoilt & ~near
        told = [f for f in made.findings if f.code == "outliers"]
        named = {name for f in told for name in f.bodies}
        found["hit"] += int(((best < 0.5) & bad).sum())
        found["wrong"] += int(bad.sum())
        found["harmed"] += int(((best < 0.5) & good).sum())
        found["good"] += int(good.sum())
        found["told"] += sum(name in named for k, name in enumerate(world.take.names) if bad[:, k].any())
        found["asked"] += int(bad.any(axis=0).sum())
        found["takes told"] += bool(told)
        found["takes warned"] += any(f.severity == "warning" for f in told)
        found["takes"] += 1
    return found


def measure_good(case: Good, seeds: Sequence[int]) -> Counter[str]:
    """How many takes got which finding; "changed" counts samples that are not the same to the last bit."""
    found: Counter[str] = Counter()
    for seed in seeds:
        take = case.world(seed).take
        ready = prepare(take)
        found.update({f.code for f in ready.findings[len(take.findings) :]})
        repairs = repair_latency(ready, FitOptions()).changes
        found.update({finding.code for one in repairs for finding in one.describe()})
        ready = apply_changes(ready, repairs)
        kept = np.isin(take.time, ready.time)
        same = (ready.p_world_body == take.p_world_body[kept]).all(axis=2)
        same &= (ready.R_world_body == take.R_world_body[kept]).all(axis=(2, 3))
        found["changed"] += int(take.seen.sum() - same.sum())
        found["samples"] += int(take.seen.sum())
    return found


def fit(take: Take) -> object:
    return condyle.fit(take, prepare=False)


def measure_cost(seed: int) -> dict[str, float]:
    """CPU seconds, minimum of five: preparing a clean and a late take of 45 s at 120 Hz, and the default fit."""
    out = {}
    for name, latency in (("clean", 0.0), ("late", everybody(0.01)(seed, 15))):
        take = simulate(human(), rate=120.0, seed=seed, disturbances=replace(CLEAN, latency=latency)).take
        takes: dict[str, Callable[[Take], object]] = {
            f"prepare, {name}": prepare,
            f"fit without preparing, {name}": fit,
        }
        for what, call in takes.items():
            spent = []
            for _ in range(5):
                forget_stacks()
                start = time.process_time()
                call(take)
                spent.append(time.process_time() - start)
            out[what] = min(spent)
    return out


def main() -> None:
    given = arguments(__doc__, trials=6)
    data: dict[str, object] = {}
    faults, late, spiky, good = [], [], [], []
    for case, found in measured(FAULTS, measure_fault, given):
        row = [case.name, percent(found.told / found.asked), f"{100 * found.hit / found.wrong:.1f} %"]
        row += [f"{100 * found.harmed / found.good:.2f} %", found.cells(found.clean), found.cells(found.plain)]
        faults.append([*row, found.cells(found.ready), ", ".join(sorted(found.other)) or "none"])
        data[case.name] = vars(found)
        progress(" | ".join(faults[-1]))
    for case, found in measured(LATE, measure_late, given):
        row = [case.name, percent(found.told / found.asked), f"{found.late / found.asked:.1f}"]
        row += [f"{rms(found.delay) / MS:.2f}", found.cells(found.clean), found.cells(found.plain)]
        late.append([*row, found.cells(found.ready)])
        data[case.name] = vars(found)
        progress(" | ".join(late[-1]))
    for case, counts in measured(SPIKES, measure_spiky, given):
        caught = f"{100 * counts['hit'] / counts['wrong']:.1f} %" if counts["wrong"] else "-"
        row = [case.name, percent(counts["told"] / counts["asked"]) if counts["asked"] else "-", caught]
        row += [f"{100 * counts['harmed'] / counts['good']:.2f} %"]
        spiky.append([*row, *(f"{counts[key]} of {counts['takes']}" for key in ("takes told", "takes warned"))])
        data[f"spikes: {case.name}"] = counts
        progress(" | ".join(spiky[-1]))
    for case, counts in measured(GOOD, measure_good, given):
        told = [f"{code} {count}" for code, count in sorted(counts.items()) if code not in ("changed", "samples")]
        good.append([case.name, f"{counts['changed']} of {counts['samples']}", ", ".join(told) or "none"])
        data[case.name] = counts
        progress(" | ".join(good[-1]))
    cost = measure_cost(given.seed)
    data["cost"] = cost
    spent = [[what, f"{1000 * seconds:.0f}"] for what, seconds in cost.items()]
    both = "least squares / default"
    heads = [f"as it should be, {both}", "as it came", "prepared"]
    tables = {
        "Faults: human, exercise, 45 s at 120 Hz, 0.4 cm and 0.5 deg; joint errors in cm": Table(
            ["fault", "sensors told", "wrong samples caught", "good ones lost", *heads, "other findings"], faults
        ),
        "Latency: human, 45 s at 60 Hz; joint errors in cm": Table(
            ["case", "takes told", "sensors moved", "delay error between joined sensors, ms rms", *heads], late
        ),
        "Spikes: human, 45 s at 30 Hz; weighed out by the fit, not by preparing": Table(
            ["case", "sensors told", f"samples off by over {WRONG / CM:g} cm caught", "good ones lost"]
            + ["takes told", "takes warned"],
            spiky,
        ),
        f"Good takes, {given.trials} each": Table(["take", "samples changed", "takes with a finding"], good),
        "CPU time, human of 15 sensors, 45 s at 120 Hz, ms": Table(["what", "ms"], spent),
    }
    how = (
        "Joint errors are root mean squares over both halves of all joints, with the tree given; as it came is the "
        "take fitted without preparing. A sample counts as caught when it was masked, dropped or put right; a spike "
        "when it counts less than half at every joint of its sensor. False alarms: the cases with none, and the good "
        "takes."
    )
    publish("preparing", "Preparing a take", how, tables, data, given)


if __name__ == "__main__":
    main()
