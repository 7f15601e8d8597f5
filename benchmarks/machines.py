"""Machines: tree, kinds and tables of simulated robots, and the recorded joint angles of one played on its dimensions.

The recorded angles and the recorded linkage are not part of the project; without them these tables are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.make.recordings import DATA, all_truth

import condyle
from condyle import Take
from condyle.maths import rotation
from condyle.model.axes import Measured
from condyle.simulate import MACHINES, machine

from .harness import Table, arguments, edges, measured, percent, progress, publish, rms

LOG = DATA / "franka_log"
LEVELS = (
    ("exact", 0.0, 0.0),
    ("0.5 mm, 0.1 deg", 0.0005, 0.1),
    ("1 mm, 0.2 deg", 0.001, 0.2),
    ("5 mm, 1 deg", 0.005, 1.0),
)


@dataclass(frozen=True)
class Case:
    name: str
    machine: str
    position: float  # m
    orientation: float  # deg


@dataclass
class Found:
    """What became of a machine over trials."""

    tree: list[bool] = field(default_factory=list)
    kinds: list[bool] = field(default_factory=list)
    doubt: list[bool] = field(default_factory=list)
    length: list[float] = field(default_factory=list)  # [m] distances and offsets, found less true
    angle: list[float] = field(default_factory=list)  # [rad] angles between axes, likewise
    held: list[bool] = field(default_factory=list)


CASES = [
    Case(f"{name}, {level}", name, position, orientation)
    for name in (*MACHINES, "four-bar")
    for level, position, orientation in LEVELS
]


def measure(case: Case, seeds: Sequence[int]) -> Found:
    found = Found()
    for seed in seeds:
        noise = {"position_noise": case.position, "orientation_noise": np.radians(case.orientation)}
        one = machine(case.machine, seed=seed, **noise)
        fit = condyle.fit(one.take)
        beside = {frozenset((j.child, j.parent)) for j in fit.skeleton.loops}  # sliders, and what closes a four-bar
        found.tree.append(edges(fit.skeleton) | beside == one.edges | {frozenset(pair) for pair in one.loop})
        kinds = {frozenset((j.child, j.parent)): j.kind for j in (*fit.skeleton.joints, *fit.skeleton.loops)}
        true = {frozenset((f"link{k}", f"link{k + 1}")): joint.kind for k, joint in enumerate(one.joints)}
        true |= {frozenset(pair): "hinge" for pair in one.loop}
        found.kinds.append(kinds == true)
        verdict = fit.skeleton.verdict
        found.doubt.append(verdict is None or verdict.sure < verdict.joints)
        hinged = not {"slider", "universal"} & set(true.values())
        if edges(fit.skeleton) == one.edges and found.kinds[-1] and hinged:  # a four-bar may be cut elsewhere
            compare(found, fit, [(joint.a, joint.alpha, joint.d) for joint in one.joints])
    return found


def compare(found: Found, fit: condyle.Fit, rows: Sequence[tuple[float, float, float]]) -> None:
    """Adds the errors of a table against its true rows a, alpha, d, whichever way axes point."""
    chain = fit.axes(base="link0")[0]
    for k, (row, (a, alpha, d)) in enumerate(zip(chain.rows, rows, strict=True)):
        if row.distance is not None and row.angle is not None:
            add(found.length, found.held, row.distance, abs(a))
            off = np.arcsin(np.clip(abs(np.sin(row.angle.value)), 0, 1)) - np.arcsin(abs(np.sin(alpha)))
            if abs(abs(np.sin(alpha)) - 1) < 1e-9:  # at 90 deg the sine says nothing
                off = abs(row.angle.value) - np.pi / 2
            found.angle.append(float(off))
            if row.angle.half_width is not None and row.lie != "parallel":
                found.held.append(bool(abs(off) <= row.angle.half_width + 1e-9))
        parallel = "parallel" in (row.lie, chain.rows[min(k + 1, len(chain.rows) - 1)].lie)
        if 0 < k < len(chain.rows) - 1 and not parallel and row.kind != "screw":  # whose offset is that of the zero
            off = abs(row.offset.value) - abs(d)
            found.length.append(off)
            if row.offset.half_width is not None:
                found.held.append(bool(abs(off) <= row.offset.half_width + 1e-9))


def add(lengths: list[float], held: list[bool], told: Measured, true: float) -> None:
    lengths.append(told.value - true)
    if told.half_width is not None:
        alone = told.value if told.free is None else told.free
        held.append(bool(abs(alone - true) <= told.half_width + 1e-9))


def play_log(position: float, orientation: float, seed: int) -> tuple[Take, list[tuple[float, float, float]]]:
    """The links of a seven-axis arm by its recorded joint angles, every twentieth frame, sensors mounted anyhow."""
    rows = all_truth()["franka_log/*"]["mdh_a_alpha_d"]
    q = np.loadtxt(LOG / "exciting_traj_positions.txt").reshape(-1, len(rows))[::20]
    time, rng = np.loadtxt(LOG / "exciting_traj_time.txt")[::20], np.random.default_rng(seed)
    T, links = np.tile(np.eye(4), (len(q), 1, 1)), []
    for k in range(len(rows) + 1):
        mount = np.eye(4)
        mount[:3, :3], mount[:3, 3] = rotation.random(rng), rng.uniform(-0.1, 0.1, 3)
        links.append(T @ mount)
        if k < len(rows):
            a, alpha, d = rows[k]
            fixed, turn = np.eye(4), np.tile(np.eye(4), (len(q), 1, 1))
            fixed[:3, :3], fixed[:3, 3] = (
                rotation.from_vector([alpha, 0, 0]),
                [a, -np.sin(alpha) * d, np.cos(alpha) * d],
            )
            turn[:, :3, :3] = rotation.from_vector(q[:, k, None] * np.array([0, 0, 1.0]))
            T = T @ fixed @ turn
    poses = np.stack(links, axis=1)
    R, p = poses[..., :3, :3], poses[..., :3, 3]
    R = R @ rotation.from_vector(np.radians(orientation) * rng.standard_normal(p.shape))
    p = p + position * rng.standard_normal(p.shape)
    return Take(tuple(f"link{k}" for k in range(len(rows) + 1)), time, R, p), [tuple(row) for row in rows]


def measure_log(trials: int, seed: int) -> list[list[str]]:
    table = []
    for level, position, orientation in LEVELS:
        found, sure = Found(), []
        for k in range(trials if position else 1):
            take, rows = play_log(position, orientation, seed + k)
            fit = condyle.fit(take)
            sure.append(fit.skeleton.verdict.sure if fit.skeleton.verdict else 0)
            found.tree.append(edges(fit.skeleton) == {frozenset((f"link{i}", f"link{i + 1}")) for i in range(7)})
            if found.tree[-1]:
                compare(found, fit, rows)
        table.append([level, percent(np.mean(found.tree)), f"{np.mean(sure):.1f} of 7", *format_errors(found)])
        progress(" | ".join(table[-1]))
    return table


def format_errors(found: Found) -> list[str]:
    if not found.length:
        return ["-"] * 5
    return [
        f"{1000 * rms(found.length):.2g}",
        f"{1000 * np.abs(found.length).max():.2g}",
        f"{np.degrees(rms(found.angle)):.2g}",
        f"{np.degrees(np.abs(found.angle).max()):.2g}",
        f"{percent(np.mean(found.held))} of {len(found.held)}" if found.held else "-",
    ]


def main() -> None:
    given = arguments(__doc__, trials=20)
    rows, data = [], {}
    for case, found in measured(CASES, measure, given):
        rows.append(
            [case.name, percent(np.mean(found.tree)), percent(np.mean(found.kinds)), percent(np.mean(found.doubt))]
            + format_errors(found)
        )
        data[case.name] = vars(found)
        progress(" | ".join(rows[-1]))
    errors = ["lengths, rms mm", "worst mm", "angles, rms deg", "worst deg", "intervals that hold"]
    tables = {
        "Simulated machines": Table(["machine, noise", "tree right", "kinds right", "a joint in doubt", *errors], rows)
    }
    if LOG.is_dir() and not given.only:
        log = measure_log(given.trials, given.seed)
        own = Table(["noise", "tree right", "sure joints", *errors], log)
        tables["A seven-axis arm by its recorded joint angles"] = own
        data["recorded angles"] = log
    how = (
        "Every link has a sensor mounted anyhow, 20 s at 50 Hz, nothing given. Lengths are distances of axes and "
        "offsets along them, angles those between axes; tables of sliders and universal joints are compared by the "
        "tests. The recorded angles are 21 s of a Franka Emika Panda on its published dimensions, 1028 frames."
    )
    publish("machines", "Machines", how, tables, data, given)


if __name__ == "__main__":
    main()
