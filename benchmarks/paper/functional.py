"""Real functional trials of people: hip and knee, told from each half of the trial, and the tree."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import condyle
from condyle import Joint
from condyle.model.take import Take

from ..cmu import recordings
from ..harness import edges, progress
from .store import PLAY, Rival, table

TITLE = "5. Real functional trials"
TRIALS = {  # label: recording, and the joint that was exercised (child)
    "left hip": ("vicon_functional_c3d/left_hip.c3d", "pelvis", "l_thigh"),
    "right knee": ("functional_knee_c3d/right_knee.c3d", "r_thigh", "r_shank"),
}
TURNED = np.radians(10.0)  # rms rotation in both halves from which a joint is compared
METHODS = ("least-squares", "default")


def measure(given: argparse.Namespace) -> dict[str, Any] | None:
    """None where the recordings are not beside the project."""
    source = recordings()
    if source is None:
        return None
    out = {}
    for label, (name, parent, child) in TRIALS.items():
        take = source.take(name)
        whole = condyle.fit(take)
        plain = condyle.fit(take, plan="least-squares", intervals=False)
        tree = [(joint.parent, joint.child) for joint in whole.skeleton.joints]
        out[label] = {
            "seconds": take.seconds,
            "bodies": take.bodies,
            "edges": len(source.edges(name)),
            "edges_right": len(edges(whole.skeleton) & source.edges(name)),
            "spanning_right": len(edges(plain.skeleton) & source.edges(name)),
            "functional": sorted((parent, child)),
            "joints": halves(take, whole, tree),
        }
        progress(f"{label}: {len(out[label]['joints'])} joints turned in both halves")
    return out


def halves(take: Take, whole: condyle.Fit, tree: list[tuple[str, str]]) -> dict[str, Any]:
    """Of every joint that turns in both halves: how far apart the halves put it [mm], by both methods."""
    parts = [take.slice(0, take.frames // 2), take.slice(take.frames // 2, take.frames)]
    root = whole.skeleton.roots[0]
    fits = {method: [condyle.fit(part, tree=tree, root=root, plan=method) for part in parts] for method in METHODS}
    out = {}
    for joint in whole.skeleton.joints:
        both = [fit.skeleton.joint(joint.child) for fit in fits["default"]]
        if min(one.rotation[0] for one in both) < TURNED:
            continue
        placed = next(one for one in whole.skeleton.sensors if one.body == joint.parent and one.joint == joint.child)
        out[f"{joint.parent} - {joint.child}"] = {
            "kind": joint.kind,
            "residual_mm": 1000 * joint.residual,
            "turned_deg": np.degrees(joint.rotation).tolist(),
            "interval_mm": None if placed.high is None or placed.low is None else 500 * (placed.high - placed.low),
            **{method: _apart([f.skeleton.joint(joint.child) for f in fits[method]], joint) for method in METHODS},
        }
    return out


def _apart(both: list[Joint], whole: Joint) -> dict[str, float]:
    """Distance [mm] of the point from one half to the other, mean over both bodies: across the main axis, and along."""
    across, along = [], []
    for half, column in (("p_child_joint", 0), ("p_parent_joint", 1)):
        off = getattr(both[1], half) - getattr(both[0], half)
        axis = main_axis(both[0], whole)[column]
        along.append(abs(float(off @ axis)) if axis is not None else 0.0)
        across.append(float(np.linalg.norm(off - (off @ axis) * axis if axis is not None else off)))
    return {"across_mm": 1000 * float(np.mean(across)), "along_mm": 1000 * float(np.mean(along))}


def main_axis(joint: Joint, whole: Joint) -> tuple[Any, Any]:
    """The hinge's axis in child and parent; None for a ball, whose point is compared as a whole."""
    return (whole.axis_child, whole.axis_parent) if whole.kind == "hinge" else (None, None)


def section(found: dict[str, Any]) -> str:
    parts = [
        "Two trials of people with camera markers on every segment: one swings the left leg about the hip, one bends "
        "the right knee. Nobody knows where the joints are, but both halves of a trial should tell the same place. "
        "How far apart the halves put each joint that turns in both (mean of both bodies; of a hinge across the axis "
        "and along it), by least squares and by the default on the same tree; the half-width of the default's 95 % "
        "interval of the distance from the parent's frame to the joint, over the whole trial.",
    ]
    for label, one in found.items():
        rows = []
        for name, joint in one["joints"].items():
            plain, ours = joint["least-squares"], joint["default"]
            shown = f"**{name}**" if sorted(name.split(" - ")) == one["functional"] else name
            hinge = joint["kind"] == "hinge"
            rows.append(
                [
                    shown,
                    joint["kind"],
                    "/".join(f"{angle:.0f}" for angle in joint["turned_deg"]),
                    f"{joint['residual_mm']:.1f}",
                    f"{plain['across_mm']:.1f} / {ours['across_mm']:.1f}",
                    f"{plain['along_mm']:.1f} / {ours['along_mm']:.1f}" if hinge else "-",
                    "-" if joint["interval_mm"] is None else f"{joint['interval_mm']:.0f}",
                ]
            )
        heads = [
            "joint",
            "kind",
            "turned, deg",
            "residual, mm",
            "halves apart, mm: least squares / default",
            "along, mm",
        ]
        parts += [
            f"### {label.capitalize()}: {one['bodies']} bodies, {one['seconds']:.0f} s",
            f"Tree: {one['edges_right']} of {one['edges']} edges right, {one['spanning_right']} by the spanning tree.",
            table([*heads, "± mm"], rows),
        ]
    return "\n\n".join(parts)


def rivals(found: dict[str, Any]) -> list[Rival]:
    out = []
    for label, one in found.items():
        for name, joint in one["joints"].items():
            if sorted(name.split(" - ")) == one["functional"]:
                ours, plain = joint["default"]["across_mm"], joint["least-squares"]["across_mm"]
                out.append(Rival(f"halves apart, {label}", ours, plain, "mm", "least squares on the same data", PLAY))
    return out
