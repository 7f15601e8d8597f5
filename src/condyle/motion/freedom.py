"""What the sensors of a figure leave open: bodies without a sensor, and the turns of theirs that no other tells."""

from __future__ import annotations

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, evenly
from ..model.motion import order_joints
from ..model.skeleton import ONE_AXIS, Skeleton
from ..model.take import Take
from ..model.values import dataclass
from .tasks import GUESS_SIGMA_RAD

OPEN_TURN_MIN_RAD = GUESS_SIGMA_RAD / 2  # rad, standard deviation of a turn from which on the sensors leave it open
FREEDOM_FRAMES = 20  # frames that are asked
_OPEN_WORDS = ("", "its turn about one axis", "its turn about two axes", "its turn")


def count_open_turns(
    skeleton: Skeleton, poses: Take, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> dict[str, int]:
    """{body: axes about which its turn is not told} of the bodies without a sensor that have a pose, in most frames.

    poses           of the figure in motion
    placed, turned  (n, m) which bodies' positions and rotations were measured, with standard deviations `sigmas` (m,)
    """
    absent = [k for k in range(poses.bodies) if not turned[:, k].any()]
    rows = np.flatnonzero(poses.seen[:, absent].all(axis=1)) if absent else np.empty(0, np.int64)
    if not len(rows):
        whole = [k for k in absent if poses.seen[:, k].any()]
        rows = np.flatnonzero(poses.seen[:, whole].all(axis=1)) if whole else rows
    counts: dict[str, list[int]] = {poses.names[k]: [] for k in absent}
    for frame in rows[evenly(len(rows), FREEDOM_FRAMES)]:
        for body, count in _count_in_frame(skeleton, poses, int(frame), placed[frame], turned[frame], sigmas).items():
            if body in counts:
                counts[body].append(count)
    return {body: int(np.median(found)) for body, found in counts.items() if found}


def _count_in_frame(
    skeleton: Skeleton, poses: Take, frame: int, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> dict[str, int]:
    """The same in one frame, of every body that has a pose."""
    jacobian = _differentiate(skeleton, poses, frame)
    place, turn = jacobian[:, :3], jacobian[:, 3:]
    known = poses.seen[frame]
    guess = known & ~turned
    sigma_turn = np.where(guess, GUESS_SIGMA_RAD, sigmas[1])
    rows = [(place[k] / sigmas[0][k]) for k in np.flatnonzero(placed & known)]
    rows += [turn[k] / sigma_turn[k] for k in np.flatnonzero(known)]
    table = np.concatenate(rows)
    covariance = np.linalg.pinv(table.T @ table, rcond=1e-14, hermitian=True)
    found = {}
    for k in np.flatnonzero(known):
        spread = np.linalg.eigvalsh(turn[k] @ covariance @ turn[k].T)
        found[poses.names[k]] = int((np.sqrt(np.maximum(spread, 0.0)) > OPEN_TURN_MIN_RAD).sum())
    return found


def _differentiate(skeleton: Skeleton, poses: Take, frame: int) -> Floats:
    """(m, 6, F) how the place [m] and the turn [rad] of each body change with the figure's freedoms, in one frame."""
    R, p = np.nan_to_num(poses.R_world_body[frame]), np.nan_to_num(poses.p_world_body[frame])
    m, order = poses.bodies, order_joints(skeleton)
    above = {child: parent for child, parent, _ in order}
    columns: list[Floats] = []

    def add(body: int, axis: Floats, about: Floats | None) -> None:
        """A turn about an axis through a point, or without one a shift along it, of a body and what hangs on it."""
        column = np.zeros((m, 6))
        for k in range(m):
            up: int | None = k
            while up is not None and up != body:
                up = above.get(up)
            if up is not None:
                column[k, :3] = axis if about is None else np.cross(axis, p[k] - about)
                column[k, 3:] = 0.0 if about is None else axis
        columns.append(column)

    for body in set(range(m)) - set(above):
        for axis in np.eye(3):
            add(body, axis, None)
            add(body, axis, p[body])
    for child, _, joint in order:
        centre = p[child] + R[child] @ joint.p_child_joint
        axes = np.eye(3)
        if joint.kind in ONE_AXIS and joint.axis_child is not None:
            axes = (R[child] @ joint.axis_child)[None]
        for axis in axes if joint.kind != "rigid" else ():
            add(child, axis, centre)
    return np.stack(columns, axis=-1)


@dataclass(frozen=True)
class Absent:
    """A body without a sensor: whether it has a pose, and about how many axes its turn is open."""

    body: str
    posed: bool
    open_turns: int


def find_absent(
    skeleton: Skeleton, poses: Take, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> list[Absent]:
    """The bodies that no sensor reports in any frame; see `count_open_turns`."""
    counts = count_open_turns(skeleton, poses, placed, turned, sigmas)
    return [
        Absent(name, bool(poses.seen[:, k].any()), counts.get(name, 0))
        for k, name in enumerate(poses.names)
        if not turned[:, k].any()
    ]


def describe_absent(absent: list[Absent]) -> list[Finding]:
    """What to say of bodies without a sensor: what the others tell of them, and what nothing tells."""
    findings = []
    for one in absent:
        if not one.posed:
            text = f"{one.body} has no sensor here, and none is beyond it: it has no pose"
        elif one.open_turns == 0:
            text = f"{one.body} has no sensor here; the lengths and the other sensors determine its pose"
        else:
            what = _OPEN_WORDS[one.open_turns]
            text = (
                f"{one.body} has no sensor here, and the others do not determine {what}: it is kept near that of the "
            )
            text += "calibration"
        sure = one.posed and one.open_turns == 0
        findings.append(
            Finding("sensor-absent", "info" if sure else "warning", text, (one.body,), value=float(one.open_turns))
        )
    return findings
