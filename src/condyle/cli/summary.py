"""A fit in the terminal: one sentence, the joints, the lengths, what to look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .terminal import print_findings, print_line, print_table

if TYPE_CHECKING:
    from ..model.skeleton import Joint, Limb, Skeleton

MOST_LOOPS = 20  # rows: feet on the floor may make hundreds


def print_fit(skeleton: Skeleton, truth: Mapping[tuple[str, str, str], float] | None = None) -> None:
    """Everything a person reads first; `truth` adds the known lengths [m] beside the found ones."""
    print_line(str(skeleton), style="bold")
    if skeleton.joints:
        print_line()
        own = {child: parent for parent, child in skeleton.own_tree}
        print_table(
            [
                "joint",
                "parent",
                "kind",
                "residual mm",
                "explained",
                "turned deg",
                "support",
                *(["file's"] if own else []),
            ],
            [[*_format_joint(joint), *([own.get(joint.child)] if own else [])] for joint in skeleton.joints],
            left=3,
        )
    if skeleton.loops:
        print_line()
        print_table(
            ["loop", "with", "kind", "residual mm", "explained", "turned deg", "from s", "to s"],
            [[*_format_joint(joint)[:-1], *_format_span(joint)] for joint in skeleton.loops[:MOST_LOOPS]],
            left=3,
        )
        if len(skeleton.loops) > MOST_LOOPS:
            print_line(f"and {len(skeleton.loops) - MOST_LOOPS} more")
    limbs = [limb for limb in skeleton.limbs if limb.length is not None]
    if limbs:
        print_line()
        columns = ["length on", "from", "to", "mm", "95 % interval"]
        offsets = any(limb.along is not None for limb in limbs)
        columns += ["along the axis mm", "± 95 %"] if offsets else []
        print_table(
            columns + (["true mm", "error mm"] if truth else []),
            [_format_limb(limb, truth, offsets) for limb in limbs],
            left=3,
        )
    open_limbs = [limb for limb in skeleton.limbs if limb.length is None]
    if open_limbs:
        names = ", ".join(f"{limb.body} ({limb.from_joint} to {limb.to_joint})" for limb in open_limbs)
        print_line(f"not determined: {names}")
    if skeleton.findings:
        from ..findings import merge_findings

        print_line()
        print_findings(merge_findings(skeleton.findings))


def _format_span(joint: Joint) -> list[object]:
    return [None, None] if joint.time is None else [f"{moment:.2f}" for moment in joint.time]


def _format_joint(joint: Joint) -> list[object]:
    kind: str = joint.kind
    if joint.kind in ("hinge", "screw") and joint.point == "arbitrary":
        kind = f"{joint.kind}, point open"
    turned = "/".join(f"{math.degrees(angle):.0f}" for angle in joint.rotation)
    explained = None if joint.explained is None else f"{joint.explained * 1000:.2f}"
    support = None if joint.support is None else f"{math.floor(1000 * joint.support) / 1000:.3f}"
    residual = f"{joint.residual * 1000:.2f}" if joint.frames else None
    return [joint.child, joint.parent, kind, residual, explained, turned, support]


def _format_limb(limb: Limb, truth: Mapping[tuple[str, str, str], float] | None, offsets: bool) -> list[object]:
    assert limb.length is not None
    interval = None
    if limb.low is not None and limb.high is not None:
        interval = f"{limb.low * 1000:.1f} to {limb.high * 1000:.1f}"
    ends = {"joints": limb.to_joint, "joint and axis": f"{limb.to_joint} (axis)", "axes": f"{limb.to_joint} (axes)"}
    row: list[object] = [limb.body, limb.from_joint, ends[limb.between], f"{limb.length * 1000:.1f}", interval]
    if offsets:
        row += [
            None if one is None else f"{one * 1000:z.{digits}f}"
            for one, digits in ((limb.along, 1), (limb.along_95, 2))
        ]
    if truth is not None:
        known = find_true_length(limb, truth)
        row += [None, None] if known is None else [f"{known * 1000:.1f}", f"{(limb.length - known) * 1000:+z.1f}"]
    return row


def find_true_length(limb: Limb, truth: Mapping[tuple[str, str, str], float]) -> float | None:
    """The known length [m] of a limb, whichever way round its joints are named."""
    return truth.get(
        (limb.body, limb.from_joint, limb.to_joint), truth.get((limb.body, limb.to_joint, limb.from_joint))
    )
