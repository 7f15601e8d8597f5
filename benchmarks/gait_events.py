"""Foot strikes and offs against made steps, against those that laboratories marked, and against force plates.

Made feet roll over the heel, lie flat and roll over the toes; what is between two stands is smooth. What else people do
(stand, exercise without a step, walk on a belt) has no event. The recordings are not part of the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from tests.make import recordings

import condyle
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.motion.gait_events import find_gait_events
from condyle.simulate import Disturbances, human, simulate

from .harness import Table, arguments, measured, progress, publish

RATE_HZ = 100.0
SECONDS = 12.0
NEAR_S = 0.15  # between an event and the one it is taken for
EDGE_S = 0.05  # from the ends of a recording in which no event is asked for
PLATE_MIN_N = 20.0  # vertical force from which a plate is stepped on
STEP_MIN_S = 0.2  # on a plate
HEEL_M, TOE_M = np.array([-0.07, 0.0, -0.06]), np.array([0.14, 0.0, -0.06])  # from the ankle
STRIKE_RAD, OFF_RAD = np.radians(20.0), np.radians(-55.0)  # pitch of the foot, toes up
FLAT_SHARE, RISE_SHARE = 0.12, 0.55  # of a stand, at which the foot is flat and at which the heel rises
PARTS = ("thigh", "shank", "foot")
LEGS = [(a, f"{s}_{b}") for s in "lr" for a, b in zip(("pelvis", f"{s}_thigh", f"{s}_shank"), PARTS, strict=True)]
Event = tuple[str, str, float]  # side, kind, time [s]


@dataclass(frozen=True)
class Case:
    """Steps: time of a stride [s], its length [m], share of it that a foot stands, and how high it is lifted [m]; noise
    of positions [m] and orientations [rad], and skin [m rms] that swings with the stride. Without a stride the people
    exercise in place; those who stand all the time stand still. Steps are seen `rate` [Hz] times a second.
    """

    name: str
    stride: float = 1.1
    length: float = 1.4
    stand: float = 0.62
    lift: float = 0.06
    noise: tuple[float, float] = (0.0, 0.0)
    skin: float = 0.0
    belt: bool = False
    rate: float = RATE_HZ


LOUD = {"3 mm": (0.003, np.radians(0.5)), "6 mm": (0.006, np.radians(1.0))}
CASES = (
    Case("walk, exact"),
    Case("walk, 3 mm and 0.5 deg", noise=LOUD["3 mm"]),
    Case("walk, 6 mm and 1 deg", noise=LOUD["6 mm"]),
    Case("walk at 30 Hz, 6 mm and 1 deg", noise=LOUD["6 mm"], rate=30.0),
    Case("walk, 5 mm of skin", skin=0.005),
    Case("walk, 3 mm and 0.5 deg, 5 mm of skin", noise=LOUD["3 mm"], skin=0.005),
    Case("slow walk (0.5 m/s), 3 mm and 0.5 deg", stride=1.7, length=0.85, stand=0.7, noise=LOUD["3 mm"]),
    Case("fast walk (2 m/s), 3 mm and 0.5 deg", stride=0.9, length=1.8, stand=0.58, noise=LOUD["3 mm"]),
    Case("run (3.4 m/s), exact", stride=0.7, length=2.4, stand=0.35),
    Case("run (3.4 m/s), 3 mm and 0.5 deg", stride=0.7, length=2.4, stand=0.35, noise=LOUD["3 mm"]),
    Case("shuffle of 0.3 m, 3 mm and 0.5 deg", stride=1.6, length=0.3, stand=0.75, noise=LOUD["3 mm"]),
    Case("shuffle of 0.3 m at 30 Hz, 6 mm and 1 deg", 1.6, 0.3, 0.75, noise=LOUD["6 mm"], rate=30.0),
    Case("walk on a belt, 3 mm and 0.5 deg", noise=LOUD["3 mm"], belt=True),
    Case("on the spot, 3 mm and 0.5 deg", length=0.0, lift=0.2, noise=LOUD["3 mm"]),
    Case("standing still, 3 mm and 0.5 deg", stand=1.0, length=0.0, noise=LOUD["3 mm"]),
    Case("standing still, 6 mm and 1 deg", stand=1.0, length=0.0, noise=LOUD["6 mm"]),
    Case("exercise without a step, exact", stride=0.0),
    Case("exercise without a step, 3 mm and 0.5 deg", stride=0.0, noise=LOUD["3 mm"]),
    Case("exercise without a step, 6 mm and 1 deg", stride=0.0, noise=LOUD["6 mm"]),
    Case("exercise without a step, 5 mm of skin", stride=0.0, skin=0.005),
)
WALKS = (
    "qualisys_c3d/walk.c3d",
    "more/bmc/C_S05_T08_3_Cycle.c3d",
    *(f"more/lasem/FAILT01_Walk0{k}.c3d" for k in (1, 2, 3)),
    *(f"more/lasem/FAILT01_SLDJ0{k}.c3d" for k in range(1, 7)),
    *(f"more/zoo/{name}.c3d" for name in ("HC002D06", "HC002D25", "HC033A10", "HC033A22", "HC039A17", "HC039A31")),
)
PLATES = (
    "qualisys_c3d/walk.c3d",
    *(f"more/osimcore/{name}.c3d" for name in ("test_walking", "walking2", "walking5")),
    *(f"more/lasem/FAILT01_Walk0{k}.c3d" for k in (1, 2, 3)),
    *(f"more/lasem/FAILT01_SLDJ0{k}.c3d" for k in range(1, 7)),
    *(f"more/zoo/{name}.c3d" for name in ("HC002D06", "HC002D25", "HC033A10", "HC033A22", "HC039A17", "HC039A31")),
)


@dataclass
class Score:
    """Events that there were, those that were found within NEAR_S and how late [s], and those that were none."""

    asked: int = 0
    late: dict[str, list[float]] = field(default_factory=lambda: {"strike": [], "off": []})
    false: int = 0
    seconds: float = 0.0

    def add(self, true: Sequence[Event], told: Sequence[Event], seconds: float, *, whole: bool = True) -> None:
        """whole  whether all events are known, so that another is a false one"""
        left = list(told)
        for side, kind, time in true:
            near = [one for one in left if one[:2] == (side, kind) and abs(one[2] - time) <= NEAR_S]
            self.asked += 1
            if near:
                best = min(near, key=lambda one: abs(one[2] - time))
                left.remove(best)
                self.late[kind].append(best[2] - time)
        self.false += len(left) if whole else 0
        self.seconds += seconds

    def row(self, name: str, *, whole: bool = True) -> list[str]:
        found = sum(map(len, self.late.values()))
        late = [
            f"{1000 * np.median(one):+.0f}, {1000 * np.percentile(np.abs(one), 90):.0f}" if one else "-"
            for one in self.late.values()
        ]
        false = f"{self.false} in {self.seconds:.0f} s" if whole else "-"
        return [name, f"{found} of {self.asked}" if self.asked else "-", *late, false]


def make_foot(time: np.ndarray, case: Case, start: float) -> tuple[np.ndarray, np.ndarray, list[tuple[str, float]]]:
    """Pitch (n,) [rad], ankle (n, 2) [m] forward and up, and the events of a foot that strikes at `start` [s]."""
    if case.stand == 1.0:
        return np.zeros(len(time)), np.zeros((len(time), 2)), []
    stand = case.stand * case.stride
    count = np.floor((time - start) / case.stride)
    share = (time - start - count * case.stride) / stand

    def pose(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Standing: about the heel until it is flat, about the toes once the heel rises."""
        down = np.clip(share / FLAT_SHARE, 0.0, 1.0)
        up = np.clip((share - RISE_SHARE) / (1 - RISE_SHARE), 0.0, 1.0)
        pitch = STRIKE_RAD * (1 - down) ** 2 + OFF_RAD * up**2
        point = np.where(share[:, None] < RISE_SHARE, HEEL_M[[0, 2]], TOE_M[[0, 2]])
        turned = np.stack([
            np.cos(pitch) * point[:, 0] - np.sin(pitch) * point[:, 1],
            np.sin(pitch) * point[:, 0] + np.cos(pitch) * point[:, 1],
        ], axis=1)  # fmt: skip
        flat = np.where(share[:, None] < RISE_SHARE, HEEL_M[[0, 2]], TOE_M[[0, 2]])
        return pitch, flat - turned + [0.0, 0.06]

    pitch, ankle = pose(np.clip(share, 0.0, 1.0))
    step = 1e-3 / stand
    ends = [np.column_stack(pose(np.array([at, at + step]))) for at in (1 - step, 0.0)]
    swing = np.clip((share - 1.0) * stand / (case.stride - stand), 0.0, 1.0)
    path = np.empty((len(time), 3))
    for k in range(3):
        (a, b), (c, d) = ends[0][:, k], ends[1][:, k]
        there = c + (case.length if k == 1 else 0.0)
        path[:, k] = _hermite(swing, b, there, (b - a) / 1e-3, (d - c) / 1e-3, case.stride - stand)
    path[:, 2] += case.lift * np.sin(np.pi * swing) ** 2
    moving = share > 1.0
    pitch = np.where(moving, path[:, 0], pitch)
    ankle = np.where(moving[:, None], path[:, 1:], ankle) + np.column_stack([case.length * count, 0 * time])
    events = [("strike", start + k * case.stride) for k in np.unique(count)]
    events += [("off", at + stand) for _, at in events]
    return pitch, ankle, [one for one in events if EDGE_S < one[1] - time[0] < time[-1] - time[0] - EDGE_S]


def _hermite(s: np.ndarray, a: float, b: float, va: float, vb: float, span: float) -> np.ndarray:
    """From a to b with these speeds at the ends."""
    return (
        (2 * s**3 - 3 * s**2 + 1) * a
        + (s**3 - 2 * s**2 + s) * span * va
        + (3 * s**2 - 2 * s**3) * b
        + (s**3 - s**2) * span * vb
    )


def make_steps(case: Case, seed: int) -> tuple[Take, list[Event]]:
    """Feet with sensors mounted anyhow on the instep under a pelvis that goes along."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(SECONDS * case.rate)) / case.rate
    speed = case.length / case.stride
    R, p, true = {}, {}, []
    start = rng.uniform(0.0, case.stride)
    for side, shift in (("l", 0.0), ("r", 0.5)):
        pitch, ankle, events = make_foot(time, case, start + shift * case.stride - case.stride)
        place = np.column_stack([ankle[:, 0], np.full(len(time), 0.1 if side == "l" else -0.1), ankle[:, 1]])
        R[f"{side}_foot"] = rotation.from_vector(np.column_stack([0 * pitch, -pitch, 0 * pitch]))
        p[f"{side}_foot"] = place + R[f"{side}_foot"] @ (np.array([0.07, 0.0, 0.0]) + 0.02 * rng.standard_normal(3))
        true += [] if case.belt else [(side, *event) for event in events]
    names = ["pelvis", *(f"{side}_{part}" for side in "lr" for part in PARTS)]
    for k, name in enumerate(name for name in names if name not in R):
        swing = 0.3 * np.sin(2 * np.pi * time / case.stride + k)
        R[name] = rotation.from_vector(np.column_stack([0 * swing, swing, 0 * swing]))
        p[name] = np.column_stack([speed * time, 0 * time, np.full(len(time), 1.0 - 0.3 * k)])
    places, turns = np.stack([p[name] for name in names], 1), np.stack([R[name] for name in names], 1)
    phase = 2 * np.pi * time[:, None, None] / case.stride + rng.uniform(0, 6, (1, len(names), 3))
    slide = np.sqrt(2 / 3) * case.skin * np.sin(phase)  # in the segment
    places = places + np.einsum("nmij,nmj->nmi", turns, slide) + case.noise[0] * rng.standard_normal(places.shape)
    if case.belt:
        places[..., 0] -= speed * time[:, None]
    turns = turns @ rotation.from_vector(case.noise[1] * rng.standard_normal(places.shape))
    mounts = rotation.from_vector(rng.standard_normal((len(names), 3)))
    return Take.from_poses(places, R_world_body=turns @ mounts, names=names, time=time), true


@cache
def legs() -> condyle.Skeleton:
    return condyle.fit(make_steps(CASES[0], 1)[0], tree=LEGS, intervals=False).skeleton


def measure(case: Case, seeds: Sequence[int]) -> Score:
    score = Score()
    for seed in seeds:
        if case.stride:
            take, true = make_steps(case, seed)
            events = find_gait_events(legs(), take)[0]
        else:
            noise, turn = case.noise
            fault = Disturbances(position_noise=noise, orientation_noise=turn, soft_tissue=case.skin)
            take = simulate(human(), "exercise", seconds=30, rate=60, seed=seed, disturbances=fault).take
            events, true = condyle.fit(take, intervals=False).gait_events(), []
        start, end = take.time[[0, -1]]
        told = [(one.side, one.kind, one.time) for one in events]
        score.add(true, [one for one in told if EDGE_S < one[2] - start < end - start - EDGE_S], end - start)
    return score


def read_plates(path: Path) -> list[tuple[str, float]]:
    """Kind and time [s] from the first frame of every step that lies wholly on a force plate."""
    import ezc3d

    file = ezc3d.c3d(str(path), extract_forceplat_data=True)
    rate = file["parameters"]["ANALOG"]["RATE"]["value"][0]
    found = []
    for plate in file["data"]["platform"]:
        force = np.linalg.norm(np.nan_to_num(plate["force"]), axis=0)
        force = np.abs(force - np.median(force[force < np.percentile(force, 30) + PLATE_MIN_N]))
        on = np.concatenate([[False], force > PLATE_MIN_N, [False]])
        for first, stop in np.flatnonzero(np.diff(on.astype(np.int8))).reshape(-1, 2):
            if (stop - first) / rate >= STEP_MIN_S:
                found += [("strike", first / rate)] if first > 0 else []
                found += [("off", stop / rate)] if stop < len(force) else []
    return found


def measure_recorded() -> dict[str, dict[str, Score]]:
    """{source: {take: score}}; a plate does not tell the side, which is then not asked."""
    found: dict[str, dict[str, Score]] = {"marked": {}, "plates": {}}
    for name in sorted({*WALKS, *PLATES}):
        path = recordings.DATA / name
        fit = condyle.fit(str(path), intervals=False)
        start, end = fit.take.time[[0, -1]]
        told = [(one.side, one.kind, one.time - start) for one in fit.gait_events()]
        if name in WALKS:
            true = [one for one in recordings.marked_events(name) if EDGE_S < one[2] < end - start - EDGE_S]
            found["marked"].setdefault(name, Score()).add(true, told, end - start, whole=False)
        if name in PLATES:
            steps = [("", *one) for one in read_plates(path) if EDGE_S < one[1] < end - start - EDGE_S]
            bare = [("", *one[1:]) for one in told]
            found["plates"].setdefault(name, Score()).add(steps, bare, end - start, whole=False)
        progress(name)
    return found


def main() -> None:
    given = arguments(__doc__ or "", trials=10)
    heads = ["steps", "found", "strikes late, 90 % within, ms", "offs late, 90 % within, ms", "false"]
    rows, data = [], {}
    for case, score in measured(CASES, measure, given):
        rows.append(score.row(case.name))
        data[case.name] = {"asked": score.asked, "late": score.late, "false": score.false, "seconds": score.seconds}
        progress(" | ".join(rows[-1]))
    tables = {"Made steps": Table(heads, rows)}
    if recordings.DATA.is_dir() and not given.only:
        for source, scores in measure_recorded().items():
            total = Score()
            for score in scores.values():
                total.asked += score.asked
                for kind, late in score.late.items():
                    total.late[kind] += late
            title = {"marked": "Recorded, marked by people", "plates": "Recorded, steps on force plates"}[source]
            own = [score.row(name, whole=False) for name, score in scores.items()]
            tables[title] = Table(heads[:4], [row[:4] for row in [*own, total.row("all", whole=False)]])
            data |= {f"{source}: {name}": {"asked": one.asked, "late": one.late} for name, one in scores.items()}
    how = (
        "Found: within 0.15 s. Late: median, and the error that nine of ten do not exceed. Made steps are 12 s at 100 "
        "Hz each where no rate is named, exercise 30 s at 60 Hz. Laboratories mark some of the events of a take, and "
        "plates see some of the steps, so that nothing can be called false there; a plate counts from 20 N, and does "
        "not tell the side."
    )
    publish("gait_events", "Gait events", how, tables, data, given)


if __name__ == "__main__":
    main()
