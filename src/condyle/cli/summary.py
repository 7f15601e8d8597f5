"""A calibration in the terminal: one sentence, the joints, the lengths, what to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .terminal import print_findings, print_line, print_table

if TYPE_CHECKING:
    from ..findings import Finding
    from ..skeleton import Joint, Limb, Skeleton

# Findings that many bodies tend to share; from three on they are told in one line.
_MERGED = {
    "missing-samples",
    "outliers",
    "hinge",
    "one-axis-only",
    "rigid-pair",
    "wide-interval",
    "undetermined-joint",
    "gap-bridged",
    "gap-left",
}


def print_calibration(skeleton: Skeleton, truth: Mapping[tuple[str, str, str], float] | None = None) -> None:
    """Everything a person reads first; `truth` adds the known lengths [m] beside the found ones."""
    print_line(str(skeleton), style="bold")
    if skeleton.joints:
        print_line()
        print_table(
            ["joint", "parent", "kind", "residual mm", "turned deg", "margin"],
            [_joint_row(joint) for joint in skeleton.joints],
            left=3,
        )
    if skeleton.loops:
        print_line()
        print_table(
            ["loop", "with", "kind", "residual mm", "turned deg"],
            [_joint_row(joint)[:-1] for joint in skeleton.loops],
            left=3,
        )
    limbs = [limb for limb in skeleton.limbs if limb.length is not None]
    if limbs:
        print_line()
        columns = ["length on", "from", "to", "mm", "95 % interval"]
        print_table(
            columns + (["true mm", "error mm"] if truth else []), [_limb_row(limb, truth) for limb in limbs], left=3
        )
    open_limbs = [limb for limb in skeleton.limbs if limb.length is None]
    if open_limbs:
        names = ", ".join(f"{limb.body} ({limb.from_joint} to {limb.to_joint})" for limb in open_limbs)
        print_line(f"not determined: {names}")
    if skeleton.findings:
        print_line()
        print_findings(merge(skeleton.findings))


def _joint_row(joint: Joint) -> list[object]:
    kind: str = joint.kind
    if joint.kind == "hinge" and joint.point == "arbitrary":
        kind = "hinge, point open"
    turned = "/".join(f"{math.degrees(angle):.0f}" for angle in joint.rotation)
    margin = None if joint.margin is None else f"{min(joint.margin, 99):.2f}"
    return [joint.child, joint.parent, kind, f"{joint.residual * 1000:.2f}", turned, margin]


def _limb_row(limb: Limb, truth: Mapping[tuple[str, str, str], float] | None) -> list[object]:
    assert limb.length is not None
    interval = None
    if limb.low is not None and limb.high is not None:
        interval = f"{limb.low * 1000:.1f} to {limb.high * 1000:.1f}"
    ends = {"joints": limb.to_joint, "joint and axis": f"{limb.to_joint} (axis)", "axes": f"{limb.to_joint} (axes)"}
    row: list[object] = [limb.body, limb.from_joint, ends[limb.between], f"{limb.length * 1000:.1f}", interval]
    if truth is not None:
        known = true_length(limb, truth)
        row += [None, None] if known is None else [f"{known * 1000:.1f}", f"{(limb.length - known) * 1000:+.1f}"]
    return row


def true_length(limb: Limb, truth: Mapping[tuple[str, str, str], float]) -> float | None:
    """The known length [m] of a limb, whichever way round its joints are named."""
    return truth.get(
        (limb.body, limb.from_joint, limb.to_joint), truth.get((limb.body, limb.to_joint, limb.from_joint))
    )


def merge(findings: tuple[Finding, ...]) -> list[Finding]:
    """The findings with those that many bodies share told in one line a kind; single ones stay as they are."""
    from dataclasses import replace

    out: list[Finding] = []
    for finding in findings:
        same = [f for f in findings if f.code == finding.code and f.severity == finding.severity]
        if finding.code not in _MERGED or len(same) < 3:
            out.append(finding)
        elif finding is same[0]:
            bodies = tuple(f.bodies[0] for f in same)
            names = ", ".join(bodies)
            counts = ", ".join(f"{f.bodies[0]} {f.count}" for f in same)
            words = {
                "missing-samples": f"missing poses, left out for their own sensor only: {counts}",
                "outliers": f"poses that disagree with every joint of their sensor were weighted out: {counts}",
                "hinge": f"hinges: {names}",
                "one-axis-only": f"only one axis exercised, so the point along it is open: {names}; if they can "
                "turn otherwise, twist them",
                "rigid-pair": f"never moved against their parents: {names}",
                "wide-interval": "centres known poorly, move these joints more: "
                + ", ".join(f"{f.bodies[0]} +-{(f.value or 0) * 1000:.0f} mm" for f in same),
                "undetermined-joint": f"connected, but where is not determined: {names}; move these joints about more "
                "axes, and for longer",
                "gap-bridged": f"not seen for a short time, rotations there interpolated: {counts}",
                "gap-left": f"not seen for too long to interpolate, so without a played pose there: {counts}",
            }
            total = sum(f.count or 0 for f in same) or None
            out.append(replace(finding, text=words[finding.code], bodies=bodies, count=total))
    return out
