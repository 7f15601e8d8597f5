"""Two tracking systems in two worlds: error of the registration by motion, noise and what shares a body or a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from tests.make.recordings import all_truth
from tests.make.recordings import take as load_recording

import condyle
from condyle import Take
from condyle.maths import rotation
from condyle.simulate import Disturbances, human, prop, simulate, together

from .harness import Table, arguments, edges, measured, percent, progress, publish, true_edges

LEGS = ("l_thigh", "l_shank", "l_foot", "r_thigh", "r_shank", "r_foot")


@dataclass(frozen=True)
class Case:
    name: str
    motion: str = "exercise"
    position: float = 0.001  # m
    orientation: float = 0.2  # deg
    skin: float = 0.0  # m
    delay: float = 0.0  # s
    scale: float = 1.0
    worlds: int = 2
    second: tuple[str, ...] = LEGS
    seconds: float = 30.0


CASES = (
    Case("exercise, 1 mm, 0.2 deg"),
    Case("exercise, 3 mm, 0.5 deg", position=0.003, orientation=0.5),
    Case("exercise, skin 4 mm", skin=0.004),
    Case("exercise, 80 ms late", delay=0.08),
    Case("exercise, 700 ms early", delay=-0.7),
    Case("exercise, 3 % longer, 40 ms late", scale=1.03, delay=0.04),
    Case("exercise, one hand only", second=("l_hand",)),
    Case("walk, 1 mm, 0.2 deg", motion="walk"),
    Case("walk, 3 mm, 0.5 deg", motion="walk", position=0.003, orientation=0.5),
    Case("walk, skin 4 mm, 80 ms late", motion="walk", skin=0.004, delay=0.08),
    Case("exercise, 8 s", seconds=8.0),
    Case("still", motion="still"),
    Case("one world: a person", worlds=1),
    Case("one world: a person and a thing", worlds=1, second=("thing",)),
    Case("one world: two people", worlds=1, second=("b",)),
)


@dataclass
class Found:
    told: list[bool] = field(default_factory=list)
    registered: list[bool] = field(default_factory=list)
    tree: list[bool] = field(default_factory=list)
    rotation: list[float] = field(default_factory=list)  # [rad]
    place: list[float] = field(default_factory=list)  # [m] at the sensors of the second system


def make(case: Case, seed: int) -> tuple[Take, Take, condyle.simulate.Truth]:
    """The take with its second system in another world, and the same in one."""
    late = dict.fromkeys(case.second, case.delay) if case.delay else 0.0
    noise = Disturbances(
        position_noise=case.position,
        orientation_noise=np.radians(case.orientation),
        soft_tissue=case.skin,
        latency=late,  # type: ignore[arg-type]
    )
    world = simulate(human(), case.motion, seconds=case.seconds, rate=60, seed=seed, disturbances=noise)  # type: ignore[arg-type]
    if case.second in (("thing",), ("b",)):
        other = prop("thing", seconds=case.seconds, rate=60, seed=seed + 1, disturbances=noise)
        if case.second == ("b",):
            other = simulate(human(), "exercise", seconds=case.seconds, rate=60, seed=seed + 1, disturbances=noise)
        world = together([world, other], ["", "b" if case.second == ("b",) else ""])
    take = world.take
    if case.worlds == 1:
        return take, take, world.truth
    rng = np.random.default_rng(seed)
    Q, t = rotation.random(rng), rng.uniform(-2, 2, 3)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    own = [take.index(name) for name in case.second]
    R[:, own], p[:, own] = Q.T @ R[:, own], (p[:, own] - t) @ Q / case.scale
    return replace(take, R_world_body=R, p_world_body=p), take, world.truth


def measure(case: Case, seeds: Sequence[int]) -> Found:
    found = Found()
    for seed in seeds:
        take, true, truth = make(case, seed)
        found.told.append("two-worlds" in {told.code for told in condyle.fit(take, intervals=False).findings})
        fit = condyle.fit(take, intervals=False, register="auto", no_fix=("slips", "part-time"))
        done = any(told.code == "registered" for told in fit.findings)
        found.registered.append(done)
        found.tree.append(edges(fit.skeleton) == true_edges(truth))
        if done and case.worlds == 2:
            own = [take.index(name) for name in case.second]
            rows = np.flatnonzero(np.isfinite(fit.take.p_world_body[:, own]).all(axis=(1, 2)))[100:-100]
            at = take.time[rows] + case.delay
            for k in own:
                p = np.stack([np.interp(at, take.time, true.p_world_body[:, k, x]) for x in range(3)], axis=1)
                found.place.append(float(np.linalg.norm((fit.take.p_world_body[rows, k] - p).mean(axis=0))))
            nearest = np.clip(np.searchsorted(take.time, at), 0, take.frames - 1)
            turn = np.swapaxes(true.R_world_body[nearest][:, own[0]], 1, 2)
            off = fit.take.R_world_body[rows, own[0]] @ turn
            found.rotation.append(float(np.linalg.norm(rotation.to_vector(rotation.project(off.sum(axis=0))))))
    return found


def main() -> None:
    given = arguments(__doc__, trials=20)
    rows, data = [], {}
    for case, found in measured(CASES, measure, given):
        errors = ["-", "-", "-", "-"]
        if found.rotation:
            turn, place = np.degrees(found.rotation), 1000 * np.array(found.place)
            errors = [f"{value:.2g}" for value in (np.median(turn), turn.max(), np.median(place), place.max())]
        shares = [percent(np.mean(part)) for part in (found.told, found.registered, found.tree)]
        rows.append([case.name, str(len(found.registered)), *shares, *errors])
        data[case.name] = vars(found)
        progress(" | ".join(rows[-1]))
    heads = ["case", "trials", "two worlds told", "registered", "tree right after", "rotation, median deg", "worst deg"]
    heads += ["place, median mm", "worst mm"]
    how = (
        "A simulated person, 30 s at 60 Hz; the sensors of both legs, or of one hand, are tracked in a second world "
        "that is turned and moved at random. `--register auto`, nothing else given. In one world nothing may be "
        "registered; a still person determines nothing. The recordings are those of people and machines whose tree is "
        "known, and are not part of the project."
    )
    tables = {"Registration": Table(heads, rows)}
    if all_truth() and not given.only:
        data["recorded"] = recorded = try_recorded()
        told, registered = (sum(one[k] for one in recorded.values()) for k in (0, 1))
        own = [str(len(recorded)), str(told), str(registered)]
        tables["Recordings, each in one world"] = Table(["takes", "two worlds told", "registered"], [own])
    publish("worlds", "Two tracking systems", how, tables, data, given)


def try_recorded() -> dict[str, tuple[bool, bool]]:
    """{recording: whether two worlds were told, whether one was registered}, of those with a known tree."""
    found = {}
    for name in all_truth():
        try:
            take = load_recording(name)
            told = "two-worlds" in {finding.code for finding in condyle.fit(take, intervals=False).findings}
            fit = condyle.fit(take, intervals=False, register="auto")
        except (condyle.CondyleError, OSError) as error:  # a broken file, or one that is read with options only
            progress(f"{name}: {error}")
            continue
        found[name] = told, any(finding.code == "registered" for finding in fit.findings)
        progress(f"{name}: {found[name]}")
    return found


if __name__ == "__main__":
    main()
