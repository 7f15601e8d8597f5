"""Real linkages of known joints, recorded by cameras: do motions that have nothing in common tell the same joints?"""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from condyle import Joint
from condyle.model.take import Take

from ..cmu import recordings
from ..harness import edges, progress, rms
from .store import table

NAMES = {"as an arm": "diodem/arm/exp01", "as a leg": "diodem/gait/exp06"}
TURNED = np.radians(15.0)  # rms rotation that every joint must have for a motion to count
METHODS = ("least-squares", "default")


def motions(take: Take, tree: list[tuple[str, str]], root: str) -> list[Take]:
    """The recordings of a take in which every joint is turned; body frames are the same in all of them."""
    out = []
    for number in np.unique(take.segment):
        rows = np.flatnonzero(take.segment == number)
        part = take.slice(int(rows[0]), int(rows[-1]) + 1)
        fitted = condyle.fit(part, tree=tree, root=root, plan="least-squares", intervals=False)
        if all(joint.rotation[0] > TURNED for joint in fitted.skeleton.joints):
            out.append(part)
    return out


def measure() -> dict[str, Any]:
    """Empty where the recordings are not beside the project."""
    source = recordings()
    if source is None:
        return {}
    found = {}
    for label, name in NAMES.items():
        take = source.take(name)
        known = {
            frozenset(joint[:2]): "ball" if joint[2] == "two-axis" else joint[2]
            for joint in source.truth(name)["joints"]
        }
        whole = condyle.fit(take)
        tree = [(joint.parent, joint.child) for joint in whole.skeleton.joints]
        parts = motions(take, tree, whole.skeleton.roots[0])
        found[label] = {
            "motions": len(parts),
            "seconds": [part.seconds for part in parts],
            "tree_right": edges(whole.skeleton) == set(known),
            "trees_right": sum(edges(condyle.fit(part).skeleton) == set(known) for part in parts),
            "joints": _joints(parts, tree, whole, known),
        }
        progress(f"linkage {label}: {len(parts)} motions")
    return found


def _joints(
    parts: list[Take], tree: list[tuple[str, str]], whole: condyle.Fit, known: dict[Any, str]
) -> dict[str, Any]:
    root = whole.skeleton.roots[0]
    fits = {
        method: [condyle.fit(part, tree=tree, root=root, plan=method, intervals=False) for part in parts]
        for method in METHODS
    }
    out = {}
    for joint in whole.skeleton.joints:
        pair = frozenset((joint.child, joint.parent))
        entry: dict[str, Any] = {
            "true": known.get(pair, "none"),
            "kind": joint.kind,
            "kinds_right": sum(fit.skeleton.joint(joint.child).kind == known.get(pair) for fit in fits["default"]),
            "residual_mm": 1000 * joint.residual,
        }
        for method in METHODS:
            each = [fit.skeleton.joint(joint.child) for fit in fits[method]]
            entry[method] = _repeatability(each, joint)
        out[f"{joint.parent} - {joint.child}"] = entry
    return out


def _repeatability(each: list[Joint], whole: Joint) -> dict[str, float | None]:
    """Rms deviations from the mean over motions: of the point across and along the axis [mm], of the axis [deg]."""
    across, along, turned = [], [], []
    for half, axis_name in (("p_child_joint", "axis_child"), ("p_parent_joint", "axis_parent")):
        points = np.array([getattr(joint, half) for joint in each])
        off = points - points.mean(axis=0)
        axis = getattr(whole, axis_name)
        if axis is None:
            across.append(np.linalg.norm(off, axis=1))
            continue
        along.append(off @ axis)
        across.append(np.linalg.norm(off - np.outer(off @ axis, axis), axis=1))
        axes = [getattr(joint, axis_name) for joint in each]
        told = np.array([one * np.sign(one @ axis) for one in axes if one is not None]).reshape(-1, 3)
        mean = told.sum(axis=0) / max(np.linalg.norm(told.sum(axis=0)), 1e-12)
        turned.append(np.degrees(np.arccos(np.clip(told @ mean, -1, 1))))
    return {
        "across_mm": 1000 * rms(np.concatenate(across)),
        "along_mm": 1000 * rms(np.concatenate(along)) if along else None,
        "axis_deg": rms(np.concatenate(turned)) if turned else None,
    }


def section(found: dict[str, Any]) -> str:
    if not found:
        return ""
    parts = [
        "### Real linkages",
        "Two built linkages of five segments, four camera markers on each, recorded in several motions (slow, fast, "
        "shaken). Every motion in which all joints turn is fitted on its own; the table has how far its joints are "
        "from the mean over motions (rms, both bodies; for hinges across the axis, along it, and the axis itself), "
        "by the paper's least squares and by the default. A two-axis joint counts as ball. Body frames are the same "
        "in all motions.",
    ]
    for label, one in found.items():
        count = one["motions"]
        rows = []
        for name, joint in one["joints"].items():
            plain, ours = joint["least-squares"], joint["default"]
            rows.append(
                [
                    name,
                    f"{joint['true']}: {joint['kind']}, {joint['kinds_right']} of {count} motions",
                    f"{joint['residual_mm']:.2f}",
                    f"{plain['across_mm']:.2f} / {ours['across_mm']:.2f}",
                    "-" if ours["along_mm"] is None else f"{plain['along_mm']:.1f} / {ours['along_mm']:.1f}",
                    "-" if ours["axis_deg"] is None else f"{ours['axis_deg']:.2f}",
                ]
            )
        lengths = ", ".join(f"{value:.0f}" for value in one["seconds"])
        heads = ["joint", "true kind: found", "residual, mm", "across, mm: least squares / default", "along, mm"]
        parts += [
            f"Linkage {label}: {count} motions of {lengths} s; the tree is {'right' if one['tree_right'] else 'wrong'} "
            f"for all together and right in {one['trees_right']} of {count} motions alone.",
            table([*heads, "axis, deg"], rows),
        ]
    return "\n\n".join(parts)
