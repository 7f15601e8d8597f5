"""BioBuddy's SCoRE and SARA on the same data: ball joints, hinges, joints that hardly turn, outliers; and real sets."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle import Joint, Skeleton
from condyle.model.take import Take
from condyle.simulate import Disturbances, SimulatedFigure, Truth, chain, human, linkage, simulate

from ..bound import noise
from ..cmu import recordings
from ..coverage import SOFT
from ..harness import progress, rms
from ..speed import BIOBUDDY, lstsq_pair
from . import clients, functional, real_linkage
from .store import PLAY, Rival, table

TITLE = "7. Peers on the same data"
TRIALS = 4
WAYS = ("least squares", "SCoRE", "SARA", "condyle, pair alone", "condyle, all together")
PEERS = ("SCoRE", "SARA")
HINGES = ("hinge", "hinge", "hinge", "hinge")
RIGID = "condyle calls a joint that turns so little rigid, although its axis can be told"
BAD = {"spikes": 0.02, "bursts": 0.05}


@dataclass(frozen=True)
class Case:
    """A world; `range` scales the joint angles of a walk."""

    name: str
    disturbances: Disturbances
    figure: SimulatedFigure = field(default_factory=linkage)
    motion: str = "exercise"
    range: float = 1.0

    @property
    def hinges(self) -> bool:
        return "hinge" in self.figure.kind


CASES = (
    Case("ball joints, 3 mm and 0.5 deg", noise(0.3, 0.5)),
    Case("ball joints, 3 mm and 1 deg", noise(0.3, 1.0)),
    Case("ball joints, 2 % spikes and 5 % bursts", noise(0.3, 0.3, **BAD)),
    Case("ball joints of a person, soft tissue 0.5 cm", noise(0.15, 0.15, **SOFT), human()),
    Case("ball joints that turn by a fifth of a walk", noise(0.3, 0.5), linkage(), "walk", 0.2),
    Case("ball joints that turn by a tenth of a walk", noise(0.3, 0.5), linkage(), "walk", 0.1),
    Case("hinges, 3 mm and 0.5 deg", noise(0.3, 0.5), chain(HINGES)),
    Case("hinges, 2 % spikes and 5 % bursts", noise(0.3, 0.3, **BAD), chain(HINGES)),
    Case("hinges that turn by a fifth of a walk", noise(0.3, 0.5), chain(HINGES), "walk", 0.2),
)


@dataclass(frozen=True, eq=False)
class Placed:
    """A joint as somebody tells it: the point [m] and the unit axis in child and parent; None where no axis is told.

    sure  whether the point is called determined; peers never say
    """

    points: tuple[np.ndarray, np.ndarray]
    axes: tuple[np.ndarray, np.ndarray] | None = None
    sure: bool = True


def measure(given: argparse.Namespace) -> dict[str, Any] | None:
    """None where there is no environment with BioBuddy."""
    python = clients.python_of("biobuddy")
    if python is None:
        return None
    trials = 1 if given.quick else given.repeats or TRIALS
    out: dict[str, Any] = {"biobuddy": clients.version_of(python, "biobuddy"), "trials": trials, "simulated": {}}
    for case in CASES:
        worlds = [
            simulate(
                case.figure,
                case.motion,  # type: ignore[arg-type]
                seed=given.seed + k,
                disturbances=case.disturbances,
                range=case.range,
            )
            for k in range(trials)
        ]
        told = of_peers(python, [(world.take, _true_pairs(world.truth)) for world in worlds])
        found = {way: _Tally() for way in WAYS}
        for world, theirs in zip(worlds, told, strict=True):
            for way, joints in (theirs | ours(world.take, world.truth)).items():
                found[way].add(joints, world.truth, case.hinges)
        out["simulated"][case.name] = {way: tally.facts() for way, tally in found.items()}
        progress(f"{case.name}: {out['simulated'][case.name]}")
    out["real"] = real(python)
    return out


@dataclass
class _Tally:
    """Errors of joints: of the point [m] (of hinges across the axis), of the axis [rad]; what is not called sure."""

    points: list[float] = field(default_factory=list)
    sure_points: list[float] = field(default_factory=list)
    axes: list[float] = field(default_factory=list)
    unsure: int = 0

    def add(self, joints: dict[tuple[int, int], Placed], truth: Truth, hinges: bool) -> None:
        for (child, _), joint in joints.items():
            true = truth.p_child_joint[child], truth.p_parent_joint[child]
            axes = truth.axis_child[child], truth.axis_parent[child]
            offs = [point - place for point, place in zip(joint.points, true, strict=True)]
            if hinges:
                offs = [off - (off @ axis) * axis for off, axis in zip(offs, axes, strict=True)]
            errors = [float(np.linalg.norm(off)) for off in offs]
            self.points += errors
            self.sure_points += errors if joint.sure else []
            self.unsure += not joint.sure
            if hinges and joint.axes is not None:
                self.axes += [_angle(a, b) for a, b in zip(joint.axes, axes, strict=True)]

    def facts(self) -> dict[str, Any]:
        return {
            "point_mm": 1000 * rms(self.points),
            "sure_mm": 1000 * rms(self.sure_points) if self.sure_points else None,
            "axis_deg": float(np.degrees(rms(self.axes))) if self.axes else None,
            "unsure": self.unsure,
            "joints": len(self.points) // 2,
        }


def _angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def _true_pairs(truth: Truth) -> list[tuple[int, int]]:
    return [(k, int(up)) for k, up in enumerate(truth.parent) if up >= 0]


def of_peers(
    python: Path, takes: list[tuple[Take, list[tuple[int, int]]]]
) -> list[dict[str, dict[tuple[int, int], Placed]]]:
    """What SCoRE and SARA tell of (child, parent) pairs, take by take, and plain least squares beside them."""
    facts = {str(k): pairs for k, (_, pairs) in enumerate(takes)}
    arrays = {f"{k} R": take.R_world_body for k, (take, _) in enumerate(takes)}
    arrays |= {f"{k} p": take.p_world_body for k, (take, _) in enumerate(takes)}
    _, told = clients.ask(python, "biobuddy_peers.py", facts, arrays)
    out = []
    for k, (take, pairs) in enumerate(takes):
        rows = dict(zip(pairs, told[str(k)], strict=True))
        plain = {pair: lstsq_pair(_seen(take, pair), *pair)[0] for pair in pairs}
        out.append(
            {
                "least squares": {pair: Placed((u[:3], u[3:])) for pair, u in plain.items()},
                "SCoRE": {pair: Placed((row[0], row[1])) for pair, row in rows.items()},
                "SARA": {pair: Placed((row[4], row[5]), (row[2], row[3])) for pair, row in rows.items()},
            }
        )
    return out


def _seen(take: Take, pair: tuple[int, int]) -> Take:
    both = np.flatnonzero(take.seen[:, list(pair)].all(axis=1))
    return take if len(both) == take.frames else _rows(take, both)


def _rows(take: Take, rows: np.ndarray) -> Take:
    parts = take.names, take.time[rows], take.R_world_body[rows], take.p_world_body[rows], take.segment[rows]
    return Take(*parts)


def ours(take: Take, truth: Truth) -> dict[str, dict[tuple[int, int], Placed]]:
    """condyle's default on every pair as if there were nothing else, and on the whole take with the known tree."""
    pairs = _true_pairs(truth)
    names = truth.names
    tree = [(names[parent], names[child]) for child, parent in pairs]
    whole = condyle.fit(take, tree=tree, intervals=False).skeleton
    alone = {}
    for child, parent in pairs:
        part = take.select([names[parent], names[child]])
        fitted = condyle.fit(part, tree=[(names[parent], names[child])], intervals=False).skeleton
        alone[child, parent] = placed(fitted, names[child], names[parent])
    together = {pair: placed(whole, names[pair[0]], names[pair[1]]) for pair in pairs}
    return {"condyle, pair alone": alone, "condyle, all together": together}


def placed(skeleton: Skeleton, child: str, parent: str) -> Placed:
    """A joint of a skeleton with the given side as child, whichever root was chosen."""
    joint: Joint = next(one for one in skeleton.joints if {one.child, one.parent} == {child, parent})
    points, axes = (joint.p_child_joint, joint.p_parent_joint), (joint.axis_child, joint.axis_parent)
    if joint.child != child:
        points, axes = points[::-1], axes[::-1]
    known = None if axes[0] is None or axes[1] is None else (axes[0], axes[1])
    return Placed(points, known, joint.point == "determined" and joint.kind in ("ball", "hinge"))


def real(python: Path) -> dict[str, Any]:
    """How far apart joints are between motions of real linkages, and between halves of real trials."""
    source = recordings()
    if source is None:
        return {}
    out = {}
    for label, name in real_linkage.NAMES.items():
        take = source.take(name)
        whole = condyle.fit(take, intervals=False).skeleton
        tree = [(joint.parent, joint.child) for joint in whole.joints]
        parts = real_linkage.motions(take, tree, whole.roots[0])
        out[f"linkage {label}, {len(parts)} motions"] = _repeated(python, parts, whole, tree)
    for label, (name, parent, child) in functional.TRIALS.items():
        take = source.take(name)
        whole = condyle.fit(take, intervals=False).skeleton
        tree = [(joint.parent, joint.child) for joint in whole.joints]
        parts = [take.slice(0, take.frames // 2), take.slice(take.frames // 2, take.frames)]
        out[f"{label}, halves"] = _repeated(python, parts, whole, tree, {parent, child})
    return out


def _repeated(
    python: Path, parts: list[Take], whole: Skeleton, tree: list[tuple[str, str]], only: set[str] | None = None
) -> dict[str, Any]:
    """For every joint and way: rms distance [mm] of the point from its mean over parts, of hinges across the axis."""
    names = parts[0].names
    joints = [joint for joint in whole.joints if only is None or {joint.child, joint.parent} == only]
    pairs = [(names.index(joint.child), names.index(joint.parent)) for joint in joints]
    told = of_peers(python, [(part, pairs) for part in parts])
    for part, entry in zip(parts, told, strict=True):
        fitted = condyle.fit(part, tree=tree, root=whole.roots[0], intervals=False).skeleton
        entry["condyle, all together"] = {
            pair: placed(fitted, joint.child, joint.parent) for pair, joint in zip(pairs, joints, strict=True)
        }
        entry["condyle, pair alone"] = {}
        for pair, joint in zip(pairs, joints, strict=True):
            two = part.select([joint.parent, joint.child])
            one = condyle.fit(two, tree=[(joint.parent, joint.child)], intervals=False).skeleton
            entry["condyle, pair alone"][pair] = placed(one, joint.child, joint.parent)
    out = {}
    for pair, joint in zip(pairs, joints, strict=True):
        row: dict[str, Any] = {"kind": joint.kind}
        for way in WAYS:
            each = [entry[way][pair] for entry in told]
            row[way] = 1000 * _spread(each, joint)
        out[f"{joint.parent} - {joint.child}"] = row
    return out


def _spread(each: list[Placed], whole: Joint) -> float:
    offs = []
    for side, axis in ((0, whole.axis_child), (1, whole.axis_parent)):
        points = np.array([one.points[side] for one in each])
        off = points - points.mean(axis=0)
        offs.append(off if axis is None else off - np.outer(off @ axis, axis))
    return rms(np.linalg.norm(np.concatenate(offs), axis=1))


def section(found: dict[str, Any]) -> str:
    rows, axes = [], []
    for name, ways in found["simulated"].items():
        hinges = name.startswith("hinge")
        cells = ["-" if way == "SARA" and not hinges else f"{ways[way]['point_mm']:.2f}" for way in WAYS]
        last = ways[WAYS[-1]]
        said = f"{last['unsure']} of {last['joints']}"
        if last["unsure"] and last["sure_mm"] is not None:
            said += f", the others {last['sure_mm']:.2f}"
        rows.append([name, *cells, said])
        if hinges:
            angles = [ways[way]["axis_deg"] for way in ("SARA", *WAYS[3:])]
            axes.append([name, *("none told" if angle is None else f"{angle:.2f}" for angle in angles)])
    real_rows = [
        [trial, name, joint["kind"]]
        + ["-" if way == "SARA" and joint["kind"] != "hinge" else f"{joint[way]:.2f}" for way in WAYS]
        for trial, joints in found["real"].items()
        for name, joint in joints.items()
    ]
    parts = [
        "SCoRE and SARA (for hinges) of BioBuddy as its own tasks call them, on each true pair of bodies; least "
        "squares is one lstsq per pair; condyle's default on each pair alone, and on all bodies with the tree given. "
        f"BioBuddy {found.get('biobuddy', BIOBUDDY)}, {found['trials']} recordings a case, 45 s at 30 Hz.",
        "Rms error of joint centres, mm; of hinges across the axis. Last, how many points condyle calls not "
        "determined (of a hinge that is as it should be: any point on the axis is as good):",
        table(["simulated", *WAYS, "called not determined"], rows),
        "Rms error of hinge axes, deg:",
        table(["simulated", "SARA", *WAYS[3:]], axes),
    ]
    if real_rows:
        parts += [
            "Real recordings, where nobody knows the truth: rms distance of a joint from its mean over motions or "
            "halves, mm; of hinges across the axis.",
            table(["recording", "joint", "kind", *WAYS], real_rows),
        ]
    return "\n\n".join(parts)


def rivals(found: dict[str, Any]) -> list[Rival]:
    out = []
    for name, ways in found["simulated"].items():
        ours_mm, unsure = ways[WAYS[-1]]["point_mm"], ways[WAYS[-1]]["unsure"]
        hinges = name.startswith("hinge")
        told = ways[WAYS[-1]]["axis_deg"]
        why = "Within the scatter of so few recordings"
        if hinges and told is None:
            why = RIGID
        elif unsure and not hinges:
            why = (
                "So little motion leaves the point open: condyle says so, holds it near the sensors and tells no length"
            )
        for peer in PEERS if hinges else PEERS[:1]:
            label = f"rms error of centres, {name}"
            out.append(Rival(label, ours_mm, ways[peer]["point_mm"], "mm", f"BioBuddy's {peer}", why))
        if hinges:
            why = RIGID if told is None else "Axes are read off the poses that the robust weights kept"
            theirs = ways["SARA"]["axis_deg"]
            out.append(Rival(f"rms error of axes, {name}", told, theirs, "deg", "BioBuddy's SARA", why))
    for trial, joints in found["real"].items():
        for name, joint in joints.items():
            for peer in PEERS if joint["kind"] == "hinge" else PEERS[:1]:
                label = f"repeatability, {trial}: {name}"
                out.append(Rival(label, joint[WAYS[-1]], joint[peer], "mm", f"BioBuddy's {peer}", PLAY))
    return out
