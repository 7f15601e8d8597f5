"""What was noticed in the data: one list for the terminal, the JSON and the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]
_RANK: dict[str, int] = {"error": 0, "warning": 1, "info": 2}

CODES: dict[str, str] = {
    # the recording
    "missing-samples": "poses that were not seen; each is left out for its own sensor only",
    "no-time": "the file has neither time nor rate; frames are counted at 100 Hz and nothing that needs time is run",
    "quaternion-normalised": "quaternions were not of unit length and were scaled",
    "rotation-repaired": "rotation matrices were slightly off and were replaced by the nearest rotation",
    "rotation-rejected": "rotation matrices were no rotations (mirrored, sheared, zero) and their poses are masked",
    "unit-assumed": "the file does not state its unit of length; a plausible one was taken",
    "gimbal-lock": "Euler angles near the pose where two of their axes coincide",
    "solved-poses": "another program solved these poses on a skeleton of its own; their residual tells nothing",
    "repeated-time": "rows with the same time stamp; the first of each is kept",
    "time-backwards": "time runs backwards; a new segment begins there",
    "truncated-file": "the file holds fewer frames than it declares",
    "outliers": "poses that disagree with every joint of their sensor were weighted out",
    "few-frames": "a body or a pair is seen together in too few frames",
    # joints
    "hinge": "a joint turns about one axis",
    "one-axis-only": "a ball joint or unknown joint turned about one axis only; the point on that axis is arbitrary",
    "rigid-pair": "two sensors never moved against each other",
    "undetermined-joint": "a connection whose centre the motion does not determine",
    "not-rotary": "a pair translates without a common centre of rotation; it is not a joint",
    "large-residual": "a joint comes apart much more than the sensors' noise",
    "wide-interval": "the centre of a joint is known poorly",
    "implausible-size": "joined sensors are so far apart, or so near, that the unit of length is doubted",
    # structure
    "tree-not-determined": "nothing moved enough to tell which bodies are connected",
    "thin-margin": "another edge would explain the motion almost as well as one in the tree",
    "loose-body": "a body that is joined to nothing",
    "several-figures": "the bodies form more than one figure",
    "loop-joint": "a pair outside the tree fits like a joint",
    "tied-edges": "several bodies share one point, so the edges among them cannot be told apart",
    "given-edge-misfit": "an edge that was given fits much worse than another the motion offers",
    "root-chosen": "which body was taken as the root, and by which rule",
}


@dataclass(frozen=True)
class Finding:
    """One thing noticed: `text` says it and what to do; `value` in `unit`; `time` (start, end) [s].

    frame, count   first frame and number of frames concerned, where that makes sense
    """

    code: str
    severity: Severity
    text: str
    bodies: tuple[str, ...] = ()
    time: tuple[float, float] | None = None
    value: float | None = None
    unit: str = ""
    frame: int | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"finding code '{self.code}' is not listed in findings.CODES")
        if self.value is not None:  # a plain number, whatever computed it: files know no others
            object.__setattr__(self, "value", float(self.value))

    def __str__(self) -> str:
        return f"{self.severity}: {self.text} [{self.code}]"


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then information; the given order within each."""
    return tuple(sorted(findings, key=lambda finding: _RANK[finding.severity]))


def worst_severity(findings: Iterable[Finding]) -> Severity | None:
    """The most severe of them, or None when there is no finding."""
    return min((f.severity for f in findings), key=lambda s: _RANK[s], default=None)
