"""Lengths of a person in the names of VR programs, as a small JSON file. docs/exports/proportions.md describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._version import __version__
from ...findings import Finding
from ...model.anatomy import MAIN_CHILD, Part
from ...model.skeleton import Between, Skeleton
from ...model.values import dataclass
from .figure import Figure
from .rigs import RIGS, find_one_person, find_rig_names
from .scene import FigureFormat, Scene, Written

# SlimeVR's lengths by the bones that have them; it has one for both sides.
SLIMEVR_LENGTHS: dict[str, tuple[str, ...]] = {
    "neckLength": ("NECK",),
    "upperChestLength": ("UPPER_CHEST",),
    "chestLength": ("CHEST",),
    "waistLength": ("WAIST",),
    "hipLength": ("HIP",),
    "upperLegLength": ("LEFT_UPPER_LEG", "RIGHT_UPPER_LEG"),
    "lowerLegLength": ("LEFT_LOWER_LEG", "RIGHT_LOWER_LEG"),
    "footLength": ("LEFT_FOOT", "RIGHT_FOOT"),
    "upperArmLength": ("LEFT_UPPER_ARM", "RIGHT_UPPER_ARM"),
    "lowerArmLength": ("LEFT_LOWER_ARM", "RIGHT_LOWER_ARM"),
}
SLIMEVR_WIDTHS: dict[str, Part] = {"hipsWidth": "thigh", "shouldersWidth": "upper_arm"}
_TRUNK = ("WAIST", "CHEST", "UPPER_CHEST")
# Why there is no length: nobody wore the sensors; the motion leaves it open; its ends are not both joints of the take.
NOT_WORN, NOT_MEASURED, NOT_JOINTS = "not worn", "not determined", "not between joints"


@dataclass(frozen=True)
class Length:
    """[m] between two joints and its 95 % interval, None where the fit has no intervals.

    between  what was measured, as limbs have it; None for a mean
    sides    that it is the mean of, by name
    """

    length: float
    low: float | None
    high: float | None
    between: Between | None = None
    sides: tuple[tuple[str, Length], ...] = ()

    def describe(self) -> dict[str, Any]:
        own: dict[str, Any] = {"length": self.length, "low": self.low, "high": self.high}
        if self.between is not None:
            own["between"] = self.between
        return own | {side: one.describe() for side, one in self.sides}


Lengths = dict[str, Length | str]  # by name; a word where there is none


def write_proportions(scene: Scene, path: Path) -> Written:
    """The file; lengths that a program asks for and the take does not tell are told."""
    tables = find_proportions(scene)
    facts = {
        "format": "condyle.proportions",
        "version": 1,
        "condyle": __version__,
        "fit_id": scene.skeleton.fit_id,
        "units": "m",
        **{name: _describe(table) for name, table in tables.items()},
    }
    path.write_bytes((json.dumps(facts, indent=1, allow_nan=False) + "\n").encode())
    open_ones = [key for key, found in tables["slimevr"].items() if isinstance(found, str)]
    if not open_ones:
        return Written((path,))
    if len(open_ones) == len(tables["slimevr"]):
        text = "none of SlimeVR's lengths is told by this take; the file says of each why not"
        return Written((path,), (Finding("proportions-missing", "warning", text, count=len(open_ones)),))
    text = f"SlimeVR's {', '.join(open_ones)}: not told by this take; leave them as they are there"
    return Written((path,), (Finding("proportions-missing", "info", text, count=len(open_ones)),))


def find_proportions(scene: Scene) -> dict[str, Lengths]:
    """{"slimevr" and "vrm": lengths by the program's names}; raises where there is not one person."""
    figure = scene.figure
    bones = find_one_person(figure, "proportions are", code="no-lengths")
    along = {k: _measure_bone(scene.skeleton, figure, k) for k in bones}
    return {
        "slimevr": _fill_slimevr(scene.skeleton, figure, bones, along),
        "vrm": {
            name: along[k] for k, name in find_rig_names(figure, bones, RIGS["vrm"]).items() if along[k] != NOT_WORN
        },
    }


def _describe(table: Mapping[str, Length | str]) -> dict[str, Any]:
    known = {name: found.describe() for name, found in table.items() if isinstance(found, Length)}
    return {"lengths": known, "missing": {name: found for name, found in table.items() if isinstance(found, str)}}


def _fill_slimevr(
    skeleton: Skeleton, figure: Figure, bones: Sequence[int], along: Mapping[int, Length | str]
) -> Lengths:
    named = {name: k for k, name in find_rig_names(figure, bones, RIGS["slimevr"]).items()}
    whole = sum(figure.parts[k] in ("spine", "chest") for k in bones) == len(_TRUNK)
    found: Lengths = {}
    for key, names in SLIMEVR_LENGTHS.items():
        worn = [name for name in names if name in named]
        lone = not whole and names[0] in _TRUNK  # the trunk is divided otherwise than SlimeVR's
        found[key] = _join_sides([NOT_JOINTS if lone else along[named[name]] for name in worn], worn)
    for key, part in SLIMEVR_WIDTHS.items():
        first = {figure.sides[k]: k for k in reversed(bones) if figure.parts[k] == part}
        found[key] = _measure_between(skeleton, figure, first["l"], first["r"]) if len(first) == 2 else NOT_WORN
    return found


def _join_sides(found: Sequence[Length | str], names: Sequence[str]) -> Length | str:
    """The mean of left and right, as uncertain as if both erred alike; one alone where the other is not known."""
    known = [(name, one) for name, one in zip(names, found, strict=True) if isinstance(one, Length)]
    if not known:
        return next((word for word in found if isinstance(word, str)), NOT_WORN)
    if not known[0][0].startswith(("LEFT_", "RIGHT_")):
        return known[0][1]
    low, high = (_mean([getattr(one, end) for _, one in known]) for end in ("low", "high"))
    length = float(np.mean([one.length for _, one in known]))
    return Length(length, low, high, None, tuple((name.split("_")[0].lower(), one) for name, one in known))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _measure_bone(skeleton: Skeleton, figure: Figure, k: int) -> Length | str:
    """From the bone's joint to that of the bone it leads to."""
    leads = next((parts for part, parts in MAIN_CHILD.items() if part == figure.parts[k]), ())
    ahead = [c for part in leads for c in figure.children(k) if figure.parts[c] == part]
    if figure.parent[k] < 0:
        return NOT_JOINTS
    if not ahead:
        return NOT_WORN
    return _find_limb(skeleton, figure.bodies[k], _name_joints(skeleton, figure, (k, ahead[0])))


def _measure_between(skeleton: Skeleton, figure: Figure, a: int, b: int) -> Length | str:
    """Between the joints of two bones that hang on the same one."""
    if figure.parent[a] != figure.parent[b] or figure.parent[a] < 0:
        return NOT_JOINTS
    return _find_limb(skeleton, figure.bodies[figure.parent[a]], _name_joints(skeleton, figure, (a, b)))


def _name_joints(skeleton: Skeleton, figure: Figure, bones: Sequence[int]) -> set[str]:
    """What the skeleton calls the joints of bones to their parents: a figure may see one from its other side."""
    ends = [{figure.bodies[k], figure.bodies[figure.parent[k]]} for k in bones]
    return {joint.child for joint in skeleton.joints if {joint.child, joint.parent} in ends}


def _find_limb(skeleton: Skeleton, body: str, joints: set[str]) -> Length | str:
    for limb in skeleton.limbs:
        if limb.length is not None and limb.body == body and {limb.from_joint, limb.to_joint} == joints:
            return Length(limb.length, limb.low, limb.high, limb.between)
    return NOT_MEASURED


def check_proportions(scene: Scene) -> None:
    """Raises where there is not one person."""
    find_proportions(scene)


FORMAT = FigureFormat(
    "proportions",
    "JSON, lengths in the names of VR programs",
    ".proportions.json",
    write_proportions,
    check_proportions,
)
