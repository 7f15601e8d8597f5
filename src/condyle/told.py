"""Findings as people read them: what many bodies share stands in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .findings import Finding

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
    "gap-inferred",
}


def merge(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with those that many bodies share told in one line a kind; single ones stay as they are."""
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
                "gap-inferred": f"not seen for a while, poses there told by the bodies beyond: {counts}",
            }
            total = sum(f.count or 0 for f in same) or None
            out.append(replace(finding, text=words[finding.code], bodies=bodies, count=total))
    return out
