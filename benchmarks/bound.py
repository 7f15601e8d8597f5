"""Joint centres against the Cramer-Rao bound, and against outliers; the tree is given.

Every trial is a new motion, new sensor mounts and new noise. Errors of both halves of every joint are pooled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import condyle
from condyle import Skeleton
from condyle.model.take import Take
from condyle.pairs.noise import Noise
from condyle.simulate import Disturbances, SimulatedFigure, Truth, World, human, linkage, simulate

from .harness import Table, arguments, known_tree, progress, publish, rms
from .information import fisher_information

METHODS = ("least-squares", "default")
CM, DEG = 0.01, np.pi / 180


@dataclass(frozen=True)
class Case:
    """A figure, how it moves, and what the tracker does; `spread` draws each sensor's own noise, log-uniformly."""

    name: str
    disturbances: Disturbances
    figure: SimulatedFigure = field(default_factory=human)
    motion: str = "exercise"
    rate: float = 30.0
    spread: bool = False

    def world(self, seed: int) -> World:
        done = self.disturbances
        if self.spread:
            rng = np.random.default_rng([seed, 5])
            bodies = len(self.figure.names)
            position, orientation = np.exp(rng.uniform(np.log(0.1), 0.0, (2, bodies)))
            done = Disturbances(position_noise=position * CM, orientation_noise=orientation * DEG)
        return simulate(self.figure, self.motion, rate=self.rate, seed=seed, disturbances=done)  # type: ignore[arg-type]

    def white(self, world: World, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) noise per axis of position [m] and orientation [rad]; a rounding step counts as white."""
        shape = world.truth.p_world_body.shape[:2]
        done = self.disturbances
        if self.spread:
            rng = np.random.default_rng([seed, 5])
            position, orientation = np.exp(rng.uniform(np.log(0.1), 0.0, (2, shape[1])))
            return np.broadcast_to(position * CM, shape), np.broadcast_to(orientation * DEG, shape)
        position = np.full(shape, float(done.position_noise))  # type: ignore[arg-type]
        orientation = np.full(shape, float(done.orientation_noise))  # type: ignore[arg-type]
        if done.range_power:
            reach = np.linalg.norm(world.truth.p_world_body - np.asarray(done.transmitter), axis=-1)
            growth = 1 + (reach / done.range_scale) ** done.range_power
            position, orientation = position * growth, orientation * growth
        return np.hypot(position, done.quantisation / np.sqrt(12)), orientation


def noise(position: float, orientation: float, **more: float) -> Disturbances:
    """Position [cm] and orientation [deg] noise with further disturbances."""
    return Disturbances(position_noise=position * CM, orientation_noise=orientation * DEG, **more)  # type: ignore[arg-type]


WHITE = (
    Case("A1 0.2 cm + 0.4 cm steps", noise(0.2, 0, quantisation=0.4 * CM)),
    Case("A2 0.3 cm, 0.15 deg", noise(0.3, 0.15)),
    Case("A3 0.3 cm, 0.5 deg", noise(0.3, 0.5)),
    Case("A3 walk", noise(0.3, 0.5), motion="walk"),
    Case("A3 linkage", noise(0.3, 0.5), figure=linkage()),
    Case("A1 linkage", noise(0.2, 0, quantisation=0.4 * CM), figure=linkage()),
    Case("A4 0.3 cm, 1 deg", noise(0.3, 1)),
    Case("A5 each sensor 0.1-1 cm, 0.1-1 deg", noise(0, 0), spread=True),
    Case("A6 growing with range^4", noise(0.1, 0.05, range_power=4.0)),
    Case("A3 120 Hz", noise(0.3, 0.5), rate=120.0),
)
OUTLIERS = (
    Case("clean", noise(0.3, 0.3)),
    Case("2 % spikes + 5 % bursts", noise(0.3, 0.3, spikes=0.02, bursts=0.05)),
    Case("10 % spikes", noise(0.3, 0.3, spikes=0.1)),
    Case("20 % bursts", noise(0.3, 0.3, bursts=0.2)),
    Case("5 % stale", noise(0.3, 0.3, stale=0.05)),
    Case("20 % stale, runs of 0.5 s", noise(0.3, 0.3, stale=0.2, stale_run=0.5)),
)


@dataclass
class Errors:
    """Over trials: mean square joint error by method, mean square limb error, limb errors, bounds of the two."""

    joint: dict[str, list[float]]
    limb: dict[str, list[float]]
    bias: dict[str, list[float]]
    joint_bound: list[float]
    limb_bound: list[float]

    def ratio(self, method: str) -> float:
        """Pooled joint error over the pooled bound."""
        mine = self.joint[method]
        return float(np.sqrt(np.mean(mine) / np.mean(self.joint_bound[: len(mine)])))

    def limb_ratio(self, method: str) -> float:
        mine = self.limb[method]
        return float(np.sqrt(np.mean(mine) / np.mean(self.limb_bound[: len(mine)])))

    def scatter(self, method: str) -> float:
        """Bootstrap standard error of `ratio` over trials."""
        mine = np.array(self.joint[method])
        rows = np.random.default_rng(1).integers(0, len(mine), (400, len(mine)))
        bound = np.array(self.joint_bound[: len(mine)])
        return float(np.std(np.sqrt(mine[rows].mean(axis=1) / bound[rows].mean(axis=1))))


def measure(case: Case, seeds: Sequence[int], methods: Sequence[str] = METHODS, bound: bool = True) -> Errors:
    """Errors of the methods on the case's worlds of these seeds."""
    found = Errors({m: [] for m in methods}, {m: [] for m in methods}, {m: [] for m in methods}, [], [])
    for seed in seeds:
        world = case.world(seed)
        if bound:
            joint, limb = bounds(world.truth, *case.white(world, seed))
            found.joint_bound.append(joint)
            found.limb_bound.append(limb)
        for method in methods:
            known = known_tree(world.truth)
            skeleton = condyle.fit(world.take, plan=method, tree=known, intervals=False).skeleton
            found.joint[method].append(float(np.mean(joint_errors(skeleton, world.truth) ** 2)))
            limbs = limb_errors(skeleton, world.truth)
            found.limb[method].append(float(np.mean(limbs**2)))
            found.bias[method].append(float(np.mean(limbs)))
    return found


def joint_errors(skeleton: Skeleton, truth: Truth, lines: bool = False) -> np.ndarray:
    """(2J,) [m] distance of every joint's two halves to where they are.

    lines   of a joint that is told as a hinge: of its line, since its point along that is told as arbitrary
    """
    out = []
    for joint in skeleton.joints:
        k = truth.names.index(joint.child)
        for off, axis in (
            (joint.p_child_joint - truth.p_child_joint[k], joint.axis_child),
            (joint.p_parent_joint - truth.p_parent_joint[k], joint.axis_parent),
        ):
            along = 0.0 if not lines or joint.kind != "hinge" or axis is None else (off @ axis) * axis
            out.append(np.linalg.norm(off - along))
    return np.array(out)


def limb_errors(skeleton: Skeleton, truth: Truth) -> np.ndarray:
    """[m] error of every joint-to-joint length."""
    place = {(joint.child, True): joint.p_child_joint for joint in skeleton.joints}
    place |= {(joint.child, False): joint.p_parent_joint for joint in skeleton.joints}
    out = []
    for (body, start, end), length in truth.limbs.items():
        out.append(np.linalg.norm(place[start, start == body] - place[end, end == body]) - length)
    return np.array(out)


def bounds(truth: Truth, position: np.ndarray, orientation: np.ndarray) -> tuple[float, float]:
    """Least mean square [m^2] that any unbiased joint centre and limb length can reach, per half joint and per limb."""
    child = np.flatnonzero(truth.parent >= 0)
    pairs = np.stack([child, truth.parent[child]], axis=1)
    unknowns = np.concatenate([truth.p_child_joint[child], truth.p_parent_joint[child]], axis=1).ravel()
    exact = Take(truth.names, truth.time, truth.R_world_body, truth.p_world_body)
    if (position == position[0]).all() and (orientation == orientation[0]).all():
        information = fisher_information(exact, pairs, unknowns, Noise(position[0], orientation[0]))
    else:  # noise that changes from frame to frame: information adds over frames
        information = sum(
            fisher_information(exact.slice(k, k + 1), pairs, unknowns, Noise(position[k], orientation[k]))
            for k in range(exact.frames)
        )
    covariance = np.linalg.inv(information)
    at = {truth.names[k]: 6 * row for row, k in enumerate(child)}
    variance = []
    for body, start, end in truth.limbs:
        gradient = np.zeros(len(covariance))
        rows = [slice(at[j] + 3 * (j != body), at[j] + 3 * (j != body) + 3) for j in (start, end)]
        apart = unknowns[rows[0]] - unknowns[rows[1]]
        gradient[rows[0]] = apart / np.linalg.norm(apart)
        gradient[rows[1]] = -gradient[rows[0]]
        variance.append(gradient @ covariance @ gradient)
    return float(np.trace(covariance) / (2 * len(child))), float(np.mean(variance))


def main() -> None:
    given = arguments(__doc__, trials=30)
    seeds = range(given.seed, given.seed + given.trials)
    white, outlier, data = [], [], {}
    for case in WHITE:
        if given.only not in case.name:
            continue
        found = measure(case, seeds)
        cells = [f"{found.ratio(m):.2f} ± {found.scatter(m):.2f} ({found.limb_ratio(m):.2f})" for m in METHODS]
        bias = [f"{np.mean(found.bias[m]) / CM:+.3f}" for m in METHODS]
        floor = rms(np.sqrt(found.joint_bound)) / CM
        white.append([case.name, f"{floor:.3f}", *cells, ", ".join(bias)])
        data[case.name] = vars(found)
        progress(" | ".join(white[-1]))
    for case in OUTLIERS:
        if given.only not in case.name:
            continue
        found = measure(case, seeds, bound=False)
        outlier.append([case.name, *(f"{np.sqrt(np.mean(found.joint[m])) / CM:.3f}" for m in METHODS)])
        data[case.name] = vars(found)
        progress(" | ".join(outlier[-1]))
    tables = {
        "White noise: joint error over the bound (limb lengths in brackets)": Table(
            ["noise", "bound, cm", *METHODS, "mean limb error of the two, cm"], white
        ),
        "Outliers on 0.3 cm and 0.3 deg: joint error, cm": Table(["case", *METHODS], outlier),
    }
    how = (
        "Human of 15 bodies in exercise, 45 s at 30 Hz unless the case says otherwise; the tree is given. ± is the "
        "bootstrap standard error over trials. The bound is the inverse Fisher information of all joints together."
    )
    publish("bound", "Joint centres against the Cramer-Rao bound", how, tables, data, given)


if __name__ == "__main__":
    main()
