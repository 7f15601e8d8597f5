"""What a page says in words and numbers, from the skeleton and what is known of its motion."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec
import numpy as np

from .._version import __version__
from ..findings import Finding, cause_of, list_some, merge_findings
from ..maths.arrays import Floats
from ..maths.robust import Z95
from ..model.clock import Clock
from ..model.options import FitOptions
from ..model.skeleton import Joint, Skeleton
from ..model.take import WORLD
from ..result.coverage import JointCoverage, find_coverage
from ..result.verdict import verdict_of
from . import page_data as page
from .page_data import to_triple
from .titles import entitle, name_cause

Fact = TypeVar("Fact", bound=msgspec.Struct)

CONVENTION_CODES = ("convention-", "sensor-convention", "unit-assumed", "rotation-assumed", "scaled", "common-clock")
_SWITCH = {True: "yes", False: "no", None: "not given"}


def make_title(skeleton: Skeleton) -> str:
    """The names of the files, or of the first two and how many more there are."""
    names = [PurePath(source).name or source for source in _sources(skeleton)]
    return list_some(names, 2) if names else "condyle"


def show_verdict(skeleton: Skeleton) -> page.PageVerdict:
    verdict = verdict_of(skeleton)
    return page.PageVerdict(verdict.text, verdict.tone, verdict.sure, verdict.length_95)


def list_bodies(skeleton: Skeleton) -> tuple[page.PageBody, ...]:
    noise = {one.body: one for one in skeleton.noise}
    masked, figure = _count_masked(skeleton), _figures(skeleton)
    return tuple(
        page.PageBody(
            name=name,
            figure=figure.get(name, -1),
            root=name in skeleton.roots,
            world=name == WORLD and bool(skeleton.options.get("world")),
            noise_position=noise[name].position if name in noise else None,
            noise_orientation=noise[name].orientation if name in noise else None,
            masked=masked.get(name, 0),
        )
        for name in skeleton.bodies
    )


def _figures(skeleton: Skeleton) -> dict[str, int]:
    """{body: number of its tree}; joints have their parents before them."""
    figure = {root: k for k, root in enumerate(skeleton.roots)}
    for joint in skeleton.joints:
        figure[joint.child] = figure.get(joint.parent, -1)
    return figure


def list_joints(
    skeleton: Skeleton, steps: Floats, gaps: Floats
) -> tuple[tuple[page.PageJoint, ...], tuple[page.PageJoint, ...]]:
    """The joints of the tree and the loops; steps (J,) and gaps (J, 3) [m] are of the joints, then of the loops."""
    every = (*skeleton.joints, *skeleton.loops)
    judged = find_coverage(replace(skeleton, joints=every, limbs=(), take={})).joints
    pages = tuple(
        _joint(joint, skeleton, cover, float(step), gap)
        for joint, cover, step, gap in zip(every, judged, steps, gaps, strict=True)
    )
    return pages[: len(skeleton.joints)], pages[len(skeleton.joints) :]


def _joint(joint: Joint, skeleton: Skeleton, cover: JointCoverage, step: float, gap: Floats) -> page.PageJoint:
    place_95 = None
    if joint.covariance is not None:
        spread = np.linalg.eigvalsh(joint.covariance[:3, :3])[::-1]
        place_95 = to_triple(Z95 * np.sqrt(np.maximum(spread, 0.0)))
    known = joint.runner_up is not None and set(joint.runner_up) <= set(skeleton.bodies)
    return _by_place(
        page.PageJoint,
        joint if known else replace(joint, runner_up=None),
        skeleton,
        place_95=place_95,
        half_width=joint.half_width,
        verdict=cover.verdict,
        advice=cover.text.removeprefix(f"{joint.child}: "),
        gap_step=step,
        p50=float(gap[0]),
        p95=float(gap[1]),
        largest=float(gap[2]),
    )


def _by_place(kind: type[Fact], value: Any, skeleton: Skeleton, /, **own: Any) -> Fact:
    """What the page has of a value of `model`: its `own` fields, and the others from the value, names as places."""
    body = {name: k for k, name in enumerate(skeleton.bodies)}
    joint = {one.child: k for k, one in enumerate(skeleton.joints)}

    def put(found: Any, place: dict[str, int]) -> Any:
        return place[found] if isinstance(found, str) else tuple(put(one, place) for one in found)

    def plain(name: str) -> Any:
        found = getattr(value, name)
        if name in page.PLACE_TYPES and found is not None:
            return put(found, joint if "joint" in name else body)
        return to_triple(found) if isinstance(found, np.ndarray) else found

    return kind(**{name: plain(name) for name in kind.__struct_fields__ if name not in own}, **own)


def list_connections(skeleton: Skeleton, clock: Clock) -> tuple[page.PageConnection, ...]:
    """Joints that hold for part of the take, and all loops that say when they hold."""
    parts = [(joint, k) for k, joint in enumerate(skeleton.joints)] + [(joint, None) for joint in skeleton.loops]
    return tuple(
        _by_place(
            page.PageConnection,
            joint,
            skeleton,
            joint=place,
            start=clock.moment(joint.time[0]),
            end=clock.moment(joint.time[1]),
        )
        for joint, place in parts
        if joint.time is not None
    )


def list_limbs(skeleton: Skeleton) -> tuple[page.PageLimb, ...]:
    known, bodies = {joint.child for joint in skeleton.joints}, set(skeleton.bodies)
    limbs = [limb for limb in skeleton.limbs if limb.body in bodies and {limb.from_joint, limb.to_joint} <= known]
    return tuple(_by_place(page.PageLimb, limb, skeleton) for limb in limbs)


def list_placements(skeleton: Skeleton) -> tuple[page.PagePlacement, ...]:
    known = {joint.child for joint in skeleton.joints}
    sensors = [one for one in skeleton.sensors if one.body in skeleton.bodies and one.joint in known]
    return tuple(_by_place(page.PagePlacement, one, skeleton) for one in sensors)


def list_findings(skeleton: Skeleton, clock: Clock) -> tuple[page.PageFinding, ...]:
    """Errors first; what many bodies share stands in one line, as in the terminal."""
    return tuple(
        _by_place(
            page.PageFinding,
            replace(finding, bodies=tuple(name for name in finding.bodies if name in skeleton.bodies)),
            skeleton,
            title=title,
            cause=cause_of(finding.code),
            text=text,
            time=_span(finding, clock),
            value=finding.value if finding.value is None or np.isfinite(finding.value) else None,
            unit=finding.unit or None,
        )
        for finding in merge_findings(skeleton.findings)
        for title, text in [entitle(finding, skeleton)]
    )


def _span(finding: Finding, clock: Clock) -> tuple[float, float] | None:
    if finding.time is None or not np.isfinite(finding.time).all():
        return None
    return clock.moment(finding.time[0], finding.frame), clock.moment(finding.time[1], finding.frame)


def describe_making(skeleton: Skeleton, up: str | None, rate: float | None, recordings: int) -> tuple[page.Made, ...]:
    """How it was made: files, conventions, options, frames, versions. `up`: the axis that points up on the page."""
    sources = _sources(skeleton)
    groups = {
        "Files": [(f"file {k}" if len(sources) > 1 else "file", source) for k, source in enumerate(sources, 1)],
        "Conventions": _conventions(skeleton, up),
        "Options": _options(skeleton),
        "Hierarchy of the file": [(child, f"on {parent}") for parent, child in skeleton.own_tree],
        "Markers": [(body, ", ".join(names)) for body, names in _markers(skeleton).items()],
        "Frames": _frames(skeleton, rate, recordings),
        "Versions": [
            ("fitted by", f"condyle {skeleton.condyle}"),
            ("page by", f"condyle {__version__}, Python {platform.python_version()}, numpy {np.__version__}"),
        ],
    }
    return tuple(page.Made(group, tuple(rows)) for group, rows in groups.items() if rows)


def _conventions(skeleton: Skeleton, up: str | None) -> list[tuple[str, str]]:
    told = skeleton.conventions
    rows = [("the file was read as", str(told["read_as"]))] if told.get("read_as") else []
    guessed = "not told" if up is None else f"{up}, as the figure's trunk points; the recording does not say"
    rows += [("axis that points up", str(told["up"]) if told.get("up") else guessed)]
    rows += [("factor on recorded lengths", f"{skeleton.scale:g}")] if skeleton.scale != 1 else []
    chosen = [finding for finding in skeleton.findings if finding.code.startswith(CONVENTION_CODES)]
    rows += [(name_cause(finding), finding.text) for finding in chosen]
    inside = [str(told[key]) for key in ("length", "angle", "time") if key in told]
    rows += [("units of skeleton.json", ", ".join(inside))] if inside else []
    rows += [("rotations", str(told["rotation"]))] if told.get("rotation") else []
    return rows


def _frames(skeleton: Skeleton, rate: float | None, recordings: int) -> list[tuple[str, str]]:
    frames, seconds = skeleton.take.get("frames"), count_seconds(skeleton)
    rows = [("recorded time", f"{seconds:.2f} s")] if seconds else []
    rows += [("rate", f"{rate:.4g} Hz")] if rate else []
    rows += [("recordings", str(recordings))] if recordings > 1 else []
    if isinstance(frames, int):
        rows.insert(0, ("frames", str(frames)))
    lost = [f"{name} {count}" for name, count in _count_masked(skeleton).items() if count]
    rows += [("left out", ", ".join(lost))] if lost else []
    return rows


def _options(skeleton: Skeleton) -> list[tuple[str, str]]:
    """What was asked for beyond what is usual."""
    usual = FitOptions().to_plain()
    asked = {name: value for name, value in skeleton.options.items() if value != usual.get(name)}
    rows = [] if skeleton.method == usual["method"] else [("method", skeleton.method)]
    rows += [(name.replace("_", " "), _describe_option(value)) for name, value in asked.items() if name != "method"]
    return rows or [("all", "as usual")]


# skeleton.json does not hold the entries of `take` to a type; what somebody changed there must not stop a page.


def count_seconds(skeleton: Skeleton) -> float:
    """[s] recorded time; 0 where it is not told."""
    seconds = skeleton.take.get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) and np.isfinite(seconds) else 0.0


def _sources(skeleton: Skeleton) -> list[str]:
    sources = skeleton.take.get("sources")
    return [str(source) for source in sources] if isinstance(sources, (list, tuple)) else []


def _count_masked(skeleton: Skeleton) -> dict[str, int]:
    masked = skeleton.take.get("masked")
    return {str(name): n for name, n in masked.items() if isinstance(n, int)} if isinstance(masked, Mapping) else {}


def _markers(skeleton: Skeleton) -> dict[str, list[str]]:
    """{body: the markers it was formed from}."""
    names: dict[str, list[str]] = {}
    for marker in skeleton.markers:
        names.setdefault(marker.body, []).append(marker.name)
    return names


def _describe_option(value: Any) -> str:
    """An option as words."""
    if value is None or isinstance(value, bool):
        return _SWITCH[value]
    if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)):
        return (
            ", ".join(":".join(map(str, one)) if isinstance(one, (list, tuple)) else str(one) for one in value)
            or "none"
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
