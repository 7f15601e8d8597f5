"""What was noticed in the data: one list for the terminal, the JSON and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    "rotation-assumed": "the file does not state how its rotations are written; a plausible reading was taken",
    "columns-paired": "points and quaternions whose names do not say which belong together were paired by the motion",
    "unit-assumed": "the file does not state its unit of length; a plausible one was taken",
    "convention-repaired": "the motion tells another convention than the file, and it was used",
    "convention-unclear": "another convention fits nearly as well as the one in use, which is the usual one",
    "convention-doubt": "the motion tells another convention than the one that was given",
    "sensor-convention": "one sensor uses another convention than the others, and was read so",
    "gimbal-lock": "Euler angles near the pose where two of their axes coincide",
    "solved-poses": "another program solved these poses on a skeleton of its own; their residual tells nothing",
    "renamed-bodies": "several bodies of a file have the same name; a number was put behind it",
    "same-body": "a bone that has the pose of another one in every frame; it is not read as a body",
    "clock-unit": "the times give a rate that no sensor has, or a speed, but a usual one in another unit",
    "clock-origin": "the times count from a date; they are given from the start of the take",
    "clock-packets": "frames were stamped in packets; they are spread over the time before each",
    "repeated-time": "rows with the same time stamp; the first of each is kept, or all where none has another",
    "time-backwards": "time runs backwards; a new segment begins there, or rows are put in their order",
    "time-jumps": "time jumps forward; a new segment begins there",
    "time-gaps": "frames are missing in the middle of a recording",
    "repeated-rows": "rows that repeat the row before in every sensor; the first of each is kept",
    "dropout": "zeros or one constant pose stand for samples that a device lost; they are masked",
    "frozen-samples": "a sensor repeats its pose, or its place, while others move; the repeats are masked",
    "hemisphere-flip": "positions lie mirrored on the other side of a magnetic transmitter; put right or masked",
    "latency": "sensors report late against the others; their poses were moved to when they were measured",
    "common-clock": "streams with clocks of their own were interpolated onto one",
    "begun-together": "recordings of one scene have clocks without a common moment, and are taken to begin together",
    "frames-left-out": "parts of a recording that are no poses in one common world, or too few; they are left out",
    "device-error": "rows that carry the tracker's error flag",
    "sensor-clocks": "sensors have clocks of their own that differ within a row",
    "markers-by-name": "bodies were formed from the names of the markers, without a list of bodies",
    "segment-left-out": "segments whose markers are too few or do not move as one body; they are left out",
    "segment-completed": "a segment of two markers whose third point is the centre of the joint above it",
    "marker-assumed": "a marker at a joint was counted to the segment that had too few without it",
    "marker-missing": "a marker of a body is never seen, or not in this file",
    "shared-marker": "a marker is named in two bodies",
    "marker-swap": "two markers that bear each other's labels for a stretch",
    "cluster-misfit": "markers of a body that do not keep their shape in some frames, or in none",
    "cluster-collinear": "markers of a body that lie nearly on a line",
    "broken-plugin": "a format that another package brings along cannot be used; the file was read without it",
    "truncated-file": "the file holds fewer frames than it declares",
    "log-damaged": "parts of a session log are damaged, or could not be written; the rest is read",
    "frames-reordered": "packets that came out of order were put in their place by the device's time",
    "mark": "a moment that an operator marked while the session was recorded",
    "begun-anew": "an operator began a session anew; what was recorded before that is left out",
    "source-stale": "a source of a session sends nothing",
    "clock-drift": "the clocks of two sources of a session run at different rates",
    "scaled": "recorded lengths were multiplied by a scale that was given",
    "outliers": "poses that disagree with every joint of their sensor were weighted out",
    "few-frames": "a body or a pair is seen together in too few frames",
    # joints
    "slip": "a sensor moved on its body during the take",
    "swap": "two sensors have each other's poses for a stretch of the take",
    "hinge": "a joint turns about one axis; in files of version 0.1",
    "one-axis-only": "a joint turned about one axis only; the point on that axis is arbitrary",
    "universal-joint": "a joint turns about two axes alone",
    "screw-joint": "a joint moves along its axis as it turns",
    "slider": "two bodies keep their direction and move along a line; they are joined beside the tree",
    "rigid-pair": "two sensors never moved against each other",
    "two-sensors": "sensors on one segment count as several mountings of it, which share its lengths",
    "undetermined-joint": "a connection whose centre the motion does not determine",
    "not-rotary": "a pair translates without a common centre of rotation; it is not a joint",
    "large-residual": "a joint comes apart much more than the sensors' noise",
    "follows-angle": "a joint's gap follows its own angle: skin, or a joint that does not turn about one point",
    "symmetry-assumed": "left and right lengths were taken as equal, as was asked",
    "wide-interval": "the centre of a joint is known poorly",
    "bent-field": "joints come apart, or two sensors on one rod change their distance, by where they are in the room",
    "field-corrected": "the bend of the room's field was taken away, as was asked, and how much that changed",
    "pair-not-carried": "two sensors on one rod were measured at one place of the room only",
    "detached-sensor": "a sensor lies still, or moves with no other body: it came off, or was not put on yet",
    "exchanged-names": "bodies are joined that are no neighbours by their names; some of them bear each other's names",
    "mirrored-person": "knees bend forwards: a left-handed world or exchanged names; arms above the other legs: names",
    "implausible-size": "joined sensors, a named limb, or what a sensor turns about are too far or near for the unit",
    # a known figure
    "sensor-moved": "a sensor sits elsewhere on its body than it did at the calibration",
    "kind-differs": "a joint turned about fewer axes at the calibration than it does now, and is played freely",
    "sensor-absent": "a body of a known figure has no sensor in this recording; what the others tell of it",
    "orientation-only": "sensors that report no position; where they are follows from the known figure",
    "remounted": "the sensors sit elsewhere on the person than in the other files, or at the calibration",
    "mirrored-names": "left and right are exchanged in the names against the other files, or the calibration",
    "sensors-exchanged": "two sensors stand for each other against the other files, or the calibration",
    "other-unit": "all lengths differ from the other files', or the calibration's, by the ratio of two units",
    "sensor-moved-between-files": "a sensor sits elsewhere in one of several files, and is left out there",
    "files-not-compared": "the motion of a file does not tell whether its sensors sit where they do in the others",
    "lengths-shared": "limb lengths are those of several mountings together, and how much that changed",
    "prior-learned": "sides or proportions of people counted as a prior whose weight was learned, and what it changed",
    "another-person": "lengths differ by more than their errors: recordings or fits are of two people",
    "profile-used": "lengths of a performer that are known from before were used, and how much that changed",
    "profile-not-used": "no length of a performer that is known from before is one that the take tells",
    "extra-sensors": "sensors that the known figure does not have; they are left out",
    # structure
    "tree-not-determined": "the motion does not tell which bodies are connected",
    "rivals": "an edge of which the motion does not tell whether it, another one, or none is right",
    "not-joined": "bodies that are no neighbours by their names: something between them was not worn, or two persons",
    "loose-body": "a body that is joined to nothing",
    "several-figures": "the bodies form more than one figure",
    "two-worlds": "a figure is tracked in another world than the largest: the two share a joint in no other",
    "registered": "sensors of a second tracking system were brought into the world of the first, as was asked",
    "registration-open": "two systems were to be brought into one world, and what keeps them apart",
    "loop-joint": "a pair outside the tree fits like a joint",
    "connection": "two bodies outside the tree are connected for a part of the take",
    "checks-left-out": "checks that are not made among so many bodies",
    "repair-not-kept": "a repair was tried and made no joint come apart less, so the take was fitted as recorded",
    "part-time-joint": "a joint of the tree comes apart for a part of the take",
    "given-edge-misfit": "an edge that was given fits much worse than another the motion offers",
    "own-tree": "the hierarchy that the recording brought along has other edges than were found",
    "root-chosen": "which body was taken as the root, and by which rule",
    # the folder
    "older-files": "files of an older fit in the same folder were changed since, and are kept",
    # motion
    "gap-bridged": "a sensor was not seen for a short time; its rotation there is interpolated",
    "gap-inferred": "a sensor was not seen; its body's place there follows from the bodies beyond it",
    "gap-left": "a sensor was not seen for longer than is interpolated; its body and what hangs on it have no pose",
    "path-not-scaled": "a figure of other size keeps its root's path, since nothing tells which way is up",
    "departure": "how far the played figure is from what its sensors measured, at the body where it is most",
    # angles
    "split-foot": "a foot of two bodies: its ankle is that of the hindfoot alone",
    "frame-not-known": "nothing tells the anatomical axes of a segment",
    "near-gimbal-lock": "a joint is near the singular pose of its sequence of angles",
    "gait-events": "moments in which feet come to rest on the room or leave it",
    "beyond-gimbal-lock": "a joint goes beyond the singular pose of its sequence of angles",
    # exports
    "up-assumed": "no recording says which axis points up; it was told from the figure, or taken to be z",
    "pose-held": "poses that are not known, in a format that has no gaps; the last known pose is held",
    "resampled": "frames that are not evenly spaced were interpolated onto an even clock",
    "renamed-bones": "names that a format forbids were changed",
    "rig-bones-missing": "bones that a rig requires were worn by nobody",
    "rig-bones-extra": "bones that a rig has no name for kept their own",
    "rig-bodies-left": "bodies that move no bone of the rig that was given",
    "rig-bones-follow": "bones of the rig that was given which no body moves",
    "rig-sides-crossed": "bones of the rig that was given and what moves them are on different sides by their names",
    "feet-held": "feet that stand do not slide on the rig that was given, and how much they would have",
    "feet-not-held": "feet may slide on the rig that was given",
    "proportions-missing": "lengths that a VR program has and the take does not tell",
    "loop-lost": "two bodies close a loop, which a format that is a tree cannot hold",
    "no-axes": "a figure whose joints have no axis has no table of axes",
    "split-file": "a motion that is too long for one file of a format is in several, one after the other",
}


# Findings that many bodies tend to share; from three on they are told in one line.
_MERGED = {
    "quaternion-normalised",
    "missing-samples",
    "outliers",
    "hinge",
    "one-axis-only",
    "rigid-pair",
    "wide-interval",
    "undetermined-joint",
    "follows-angle",
    "gap-bridged",
    "gap-left",
    "gap-inferred",
    "repair-not-kept",
}


# Findings of one cause count as one thing to look at; those that stand nowhere here are of the recording.
_CAUSES: dict[str, tuple[str, ...]] = {
    "tree": ("tree-not-determined", "rivals", "loose-body", "not-rotary", "not-joined", "given-edge-misfit"),
    "motion": ("undetermined-joint", "wide-interval", "one-axis-only"),
    "mounting": (
        "large-residual",
        "follows-angle",
        "slip",
        "part-time-joint",
        "detached-sensor",
        "sensor-moved",
        "sensor-moved-between-files",
    ),
    "files": ("remounted", "another-person", "mirrored-names"),
    "sensors": ("sensor-absent", "orientation-only", "extra-sensors"),
    "exchange": ("swap", "marker-swap"),
    "worlds": ("two-worlds", "registered", "registration-open"),
    "field": ("bent-field", "field-corrected", "pair-not-carried", "hemisphere-flip"),
    "size": ("implausible-size", "unit-assumed", "scaled"),
    "export": (
        "up-assumed",
        "pose-held",
        "resampled",
        "renamed-bones",
        "rig-bones-missing",
        "rig-bones-extra",
        "rig-bodies-left",
        "rig-bones-follow",
        "rig-sides-crossed",
        "feet-held",
        "feet-not-held",
        "proportions-missing",
        "split-file",
        "no-axes",
        "loop-lost",
        "older-files",
    ),
}
_CAUSE_OF = {code: cause for cause, codes in _CAUSES.items() for code in codes}


def cause_of(code: str) -> str:
    """What findings of this code have in common with others: "tree", "motion", "mounting", ...; else "recording"."""
    return _CAUSE_OF.get(code, "recording")


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


def many(count: int, thing: str) -> str:
    """The count with its noun: 1 frame, 2 frames."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then information; the given order within each."""
    return tuple(sorted(findings, key=lambda finding: _RANK[finding.severity]))


def list_some(names: Sequence[str], most: int = 5, end: str = " and {} more") -> str:
    """The first of many names, and behind them how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else shown + end.format(len(names) - most)


def worst_severity(findings: Iterable[Finding]) -> Severity | None:
    """The most severe of them, or None when there is no finding."""
    return min((f.severity for f in findings), key=lambda s: _RANK[s], default=None)


def count_causes(findings: Iterable[Finding]) -> int:
    """How many things there are to look at: causes of warnings and errors."""
    return len({_CAUSE_OF.get(finding.code) for finding in findings if finding.severity != "info"})


def _sort_by_harm(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first; of equal severity those of one cause together, what costs most millimetres first: a wrong edge
    costs all of them. The length of a unit that was taken is no cost.
    """

    def harm(finding: Finding) -> float:
        if _CAUSE_OF.get(finding.code) == "tree":
            return math.inf
        if finding.code == "unit-assumed":
            return 0.0
        return abs(finding.value or 0.0) if finding.unit == "m" else 0.0

    worst: dict[tuple[str, str | None], float] = {}
    for finding in findings:
        key = finding.severity, _CAUSE_OF.get(finding.code)
        worst[key] = max(worst.get(key, 0.0), harm(finding))
    order = list(worst)

    def place(finding: Finding) -> tuple[int, float, int, float]:
        key = finding.severity, _CAUSE_OF.get(finding.code)
        return _RANK[finding.severity], -worst[key], order.index(key), -harm(finding)

    return sorted(findings, key=place)


def mm(metres: float) -> str:
    """A length for people: millimetres with two or three digits."""
    return f"{metres * 1000:.0f}" if metres >= 0.01 else f"{metres * 1000:.2g}"


def merge_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The findings by cause and harm, those that many bodies share told in one line a kind."""
    findings = _sort_by_harm(findings)
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
                "quaternion-normalised": "quaternions were scaled to unit length"
                + (", check the columns" if finding.severity == "warning" else "")
                + f": {counts}",
                "missing-samples": f"missing poses, left out for their own sensor only: {counts}",
                "outliers": f"poses that disagree with every joint of their sensor were weighted out: {counts}",
                "hinge": f"hinges: {names}",
                "one-axis-only": f"only one axis exercised, so the point along it is open: {names}; if they can "
                "turn otherwise, twist them",
                "rigid-pair": "never moved against each other: "
                + ", ".join(" and ".join(f.bodies[:2]) for f in same)
                + ("; bend the joints that their names tell" if finding.severity == "warning" else ""),
                "wide-interval": "centres known poorly, move these joints more: "
                + ", ".join(f"{f.bodies[0]} ± {(f.value or 0) * 1000:.0f} mm" for f in same),
                "undetermined-joint": f"connected, but where is not determined: {names}; move these joints about more "
                "axes, and for longer",
                "follows-angle": "gaps that follow the joint's own angle, mm rms: "
                + ", ".join(f"{f.bodies[0]} {mm(f.value or 0)}" for f in same)
                + "; skin that moves, or joints that do not turn about one point; their intervals allow for it",
                "gap-bridged": f"not seen for a short time, rotations there interpolated: {counts}",
                "gap-left": f"not seen for too long to interpolate, so without a played pose there: {counts}",
                "repair-not-kept": "repairs that were tried and not kept, since no joint would come apart less: "
                + ", ".join(dict.fromkeys(name for f in same for name in f.bodies)),
                "gap-inferred": f"not seen for a while, places there follow from the bodies beyond: {counts}",
            }
            total = sum(f.count or 0 for f in same) or None
            out.append(replace(finding, text=words[finding.code], bodies=bodies, count=total))
    return out
