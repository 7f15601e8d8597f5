"""Kinds of joint: hinges found, others left alone, how true the axes are, whether a point on the axis is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import condyle
from condyle.simulate import Disturbances, chain, simulate

from .bound import CM, noise
from .harness import Table, arguments, known_tree, measured, progress, publish, rms

KINDS = ("ball", "hinge", "hinge", "ball", "hinge", "rigid", "ball")


@dataclass(frozen=True)
class Case:
    name: str
    disturbances: Disturbances
    motion: str = "exercise"
    range: float = 1.0


CASES = (
    Case("exact", noise(0, 0)),
    Case("0.05 cm, 0.05 deg", noise(0.05, 0.05)),
    Case("0.3 cm, 0.3 deg", noise(0.3, 0.3)),
    Case("0.3 cm, 0.5 deg", noise(0.3, 0.5)),
    Case("0.3 cm, 1 deg", noise(0.3, 1.0)),
    Case("0.3 cm, 2 deg", noise(0.3, 2.0)),
    Case("0.3 cm, 0.5 deg, soft tissue 0.1 cm", noise(0.3, 0.5, soft_tissue=0.1 * CM)),
    Case("0.3 cm, 0.5 deg, soft tissue 0.3 cm", noise(0.3, 0.5, soft_tissue=0.3 * CM)),
    Case("0.3 cm, 0.5 deg, soft tissue 0.5 cm", noise(0.3, 0.5, soft_tissue=0.5 * CM)),
    Case("0.3 cm, 0.5 deg, warped field", noise(0.3, 0.5, field_warp=1.25 * CM)),
    Case("0.3 cm, 0.5 deg, 2 % spikes", noise(0.3, 0.5, spikes=0.02)),
)


@dataclass
class Found:
    """What became of joints by their true kind, over trials."""

    kind: Counter[tuple[str, str]] = field(default_factory=Counter)  # (true, told)
    open: Counter[tuple[str, str]] = field(default_factory=Counter)  # (true kind, point)
    axis: list[float] = field(default_factory=list)  # [rad] error of the axis in child and parent
    play: list[float] = field(default_factory=list)  # [rad] told for hinges, which have none

    def share(self, true: str, told: str) -> float:
        return self.kind[true, told] / sum(count for (kind, _), count in self.kind.items() if kind == true)

    def arbitrary(self, true: str) -> float:
        return self.open[true, "arbitrary"] / max(self.open[true, "arbitrary"] + self.open[true, "determined"], 1)


def measure(case: Case, seeds: Sequence[int]) -> Found:
    found = Found()
    for seed in seeds:
        world = simulate(chain(KINDS), case.motion, seed=seed, disturbances=case.disturbances, range=case.range)  # type: ignore[arg-type]
        skeleton = condyle.fit(world.take, tree=known_tree(world.truth)).skeleton
        for joint in skeleton.joints:
            k = world.truth.names.index(joint.child)
            true = world.truth.kind[k]
            found.kind[true, joint.kind] += 1
            found.open[true, joint.point] += 1
            if true == "hinge" and joint.axis_child is not None and joint.axis_parent is not None:
                found.axis.append(between(joint.axis_child, world.truth.axis_child[k]))
                found.axis.append(between(joint.axis_parent, world.truth.axis_parent[k]))
                found.play.append(joint.play or 0.0)
    return found


def between(a: np.ndarray, b: np.ndarray) -> float:
    """Angle [rad] between two lines."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def main() -> None:
    given = arguments(__doc__, trials=30)
    rows, data = [], {}
    for case, found in measured(CASES, measure, given):
        rows.append(
            [
                case.name,
                f"{100 * found.share('hinge', 'hinge'):.0f} %",
                f"{100 * found.share('ball', 'hinge'):.0f} %",
                f"{100 * found.share('ball', 'ball'):.0f} %",
                f"{100 * found.share('rigid', 'rigid'):.0f} %",
                f"{np.degrees(rms(found.axis)):.2g}" if found.axis else "-",
                f"{np.degrees(max(found.axis)):.2g}" if found.axis else "-",
                f"{np.degrees(rms(found.play)):.2g}" if found.axis else "-",
                f"{100 * found.arbitrary('hinge'):.0f} %",
                f"{100 * found.arbitrary('ball'):.0f} %",
            ]
        )
        data[case.name] = {
            "kind": {" told ".join(key): count for key, count in found.kind.items()},
            "point": {" ".join(key): count for key, count in found.open.items()},
            "axis_rad": found.axis,
            "play_rad": found.play,
        }
        progress(" | ".join(rows[-1]))
    heads = ["disturbance", "hinges told", "balls told hinge", "balls told ball", "rigid told rigid"]
    heads += ["axis, rms deg", "axis, worst deg", "play told, deg", "hinges: point arbitrary", "balls: point arbitrary"]
    how = (
        "A chain of three balls, three hinges and one rigid pair in exercise, 45 s at 30 Hz, the tree given. A perfect "
        "hinge has no point along its axis: the right answer is arbitrary, unless something else lets the axis wander."
    )
    publish("hinges", "Hinges", how, {"Kinds, axes and points": Table(heads, rows)}, data, given)


if __name__ == "__main__":
    main()
