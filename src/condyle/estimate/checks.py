"""Whether a take can answer what was asked: every refusal in one place, and what is left out among many bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding, many
from ..maths.arrays import Ints, centre_positions, evenly
from ..maths.spool import blocks

if TYPE_CHECKING:
    from ..model.options import FitOptions
    from ..model.take import Take

JOINT_MIN_FRAMES = 3  # two frames always fit
TWIN_GLANCES = 20  # frames in which twins are looked for; what is alike there is compared in all


def _refusal(take: Take, text: str, code: str, body: str | None = None) -> CondyleError:
    return CondyleError(text, code=code, path=", ".join(take.sources) or None, body=body)


def check_asked(take: Take, options: FitOptions) -> list[tuple[int, int]]:
    """The edges (parent, child) that were given, by number; raises where the take cannot answer what was asked."""
    check_take(take, options)
    edges, loops = ([(take.index(a), take.index(b)) for a, b in pairs] for pairs in (options.tree, options.loops))
    check_forest(take, edges)
    check_seen_together(take, [*edges, *loops])
    return edges


def check_take(take: Take, options: FitOptions) -> None:
    """Raises where there is too little to fit a joint to."""
    if take.bodies < 2:
        name = take.names[0] if take.names else None
        text = "one sensor alone has no joint; to fit it against the room, add --world (world=True)"
        raise _refusal(take, text, code="one-sensor", body=name)
    if take.frames < JOINT_MIN_FRAMES:
        text = f"{many(take.frames, 'frame')} cannot tell a joint; at least {JOINT_MIN_FRAMES} are needed, "
        raise _refusal(take, text + "and seconds of motion", code="few-frames")
    whole = bool(take.seen.all())
    if not whole and (take.seen.sum(axis=0) >= JOINT_MIN_FRAMES).sum() < 2:
        text = "fewer than two sensors are seen in three frames or more; check the file's columns and units"
        raise _refusal(take, text, code="nothing-seen")
    if not whole and take.seen.sum(axis=1).max() < 2:
        text = "no two sensors are seen in one frame, so nothing tells how they move against each other; write the "
        raise _refusal(take, text + "poses of one moment into one row, with its time", code="nothing-seen")
    glance = evenly(take.frames, 100)  # enough, unless they all are alike
    looks: list[Ints | slice] = [glance, *blocks(take.p_world_body)]
    if not any(centre_positions(take.p_world_body[rows], take.seen[rows]).any() for rows in looks):
        text = "all positions are the same; are these orientations only? condyle needs positions as well"
        raise _refusal(take, text, code="no-positions")
    if options.root is not None:
        take.index(options.root)


def check_forest(take: Take, fixed: Sequence[tuple[int, int]]) -> None:
    """Raises where edges (parent, child) that were given are no forest."""
    label = list(range(take.bodies))
    above: dict[int, int] = {}
    for parent, child in fixed:
        if above.setdefault(child, parent) != parent:
            raise UsageError(
                f"the given tree has two parents for '{take.names[child]}': '{take.names[above[child]]}' and "
                f"'{take.names[parent]}'",
                code="bad-tree",
            )
        if label[parent] == label[child]:
            raise UsageError(
                f"the given tree closes a loop at '{take.names[parent]}' and '{take.names[child]}'; "
                "name that edge as a loop instead",
                code="bad-tree",
            )
        old = label[child]
        label = [label[parent] if value == old else value for value in label]


def check_seen_together(take: Take, pairs: Sequence[tuple[int, int]]) -> None:
    """Raises where pairs that were given as joined share too few frames."""
    for i, j in pairs:
        together = int((take.seen[:, i] & take.seen[:, j]).sum())
        if together < JOINT_MIN_FRAMES:
            text = f"'{take.names[i]}' and '{take.names[j]}' were given as joined but share {many(together, 'frame')}"
            raise _refusal(take, text, code="few-frames")


def describe_left_out(take: Take, most_bodies: Mapping[str, int]) -> list[Finding]:
    """What is not looked for: {check: bodies beyond which it is not made}, and all that needs frames in a row."""
    if take.timed and not np.isfinite(take.rate):
        text = "no two frames follow each other in time, and nothing that needs it is looked for: slips, delays"
        return [Finding("checks-left-out", "warning", text, value=float(take.bodies), unit="1")]
    left = [f"{check} (up to {most})" for check, most in most_bodies.items() if take.bodies > most]
    if not left:
        return []
    text = f"among {take.bodies} bodies nothing is looked for of: {', '.join(left)}; fit fewer with --only for that"
    return [Finding("checks-left-out", "info", text, value=float(take.bodies), unit="1")]


def check_twins(take: Take) -> None:
    """Raises where two sensors report the same pose in every frame: one sensor read twice, which no tree can hold."""
    R, p = take.R_world_body.reshape(take.frames, take.bodies, 9), take.p_world_body
    alike: set[tuple[int, int]] = set()
    for frame in evenly(take.frames, TWIN_GLANCES):
        order = np.lexsort(p[frame].T)
        beside = np.flatnonzero((p[frame, order[1:]] == p[frame, order[:-1]]).all(axis=1))
        alike |= {
            (min(pair), max(pair)) for pair in zip(order[beside].tolist(), order[beside + 1].tolist(), strict=True)
        }
    for i, j in sorted(alike):
        both = take.seen[:, i] & take.seen[:, j]
        same = np.array_equal(p[both, i], p[both, j]) and np.array_equal(R[both, i], R[both, j])
        if both.sum() >= JOINT_MIN_FRAMES and same:
            text = (
                f"'{take.names[i]}' and '{take.names[j]}' report the same pose in all {both.sum()} frames; "
                "remove one, or check the columns"
            )
            raise _refusal(take, text, code="identical-sensors", body=take.names[j])
