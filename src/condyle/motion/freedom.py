"""What the sensors of a figure leave open: bodies without a sensor, and the turns of theirs that no other tells."""

from __future__ import annotations

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..model.motion import order_joints
from ..model.skeleton import ONE_AXIS, Skeleton
from ..model.take import Take
from ..model.values import dataclass
from .tasks import GUESS_SIGMA_RAD

OPEN_TURN_MIN_RAD = GUESS_SIGMA_RAD / 2  # rad, standard deviation of a turn from which on the sensors leave it open
SLACK_MIN_M = 1e-4  # m, standard deviation of the gap at a joint at least
UNKNOWN_PLACE_M = 1.0  # m, the same at a joint whose place the calibration did not determine
FREEDOM_FRAMES = 20  # frames that are asked
_OPEN_WORDS = ("", "its turn about one axis", "its turn about two axes", "its turn")


def count_open_turns(
    skeleton: Skeleton, poses: Take, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> tuple[Ints, dict[str, Ints]]:
    """Some frames, and in each {body: axes about which its turn is not told} of the bodies without a sensor that have a
    pose.

    poses           of the figure in motion
    placed, turned  (n, m) which bodies' positions and rotations were measured, with standard deviations `sigmas` (m,)
    """
    absent = [k for k in range(poses.bodies) if not turned[:, k].any()]
    rows = np.flatnonzero(poses.seen[:, absent].all(axis=1)) if absent else np.empty(0, np.int64)
    if not len(rows):
        whole = [k for k in absent if poses.seen[:, k].any()]
        rows = np.flatnonzero(poses.seen[:, whole].all(axis=1)) if whole else rows
    counts: dict[str, list[int]] = {poses.names[k]: [] for k in absent}
    asked = rows[evenly(len(rows), FREEDOM_FRAMES)]
    for frame in asked:
        for body, count in _count_in_frame(skeleton, poses, int(frame), placed[frame], turned[frame], sigmas).items():
            if body in counts:
                counts[body].append(count)
    return asked, {body: np.array(found) for body, found in counts.items() if found}


def _count_in_frame(
    skeleton: Skeleton, poses: Take, frame: int, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> dict[str, int]:
    """The same in one frame, of every body that has a pose."""
    jacobian, slack = _differentiate(skeleton, poses, frame)
    place, turn = jacobian[:, :3], jacobian[:, 3:]
    known = poses.seen[frame]
    guess = known & ~turned
    sigma_turn = np.where(guess, GUESS_SIGMA_RAD, sigmas[1])
    rows = [(place[k] / sigmas[0][k]) for k in np.flatnonzero(placed & known)]
    rows += [turn[k] / sigma_turn[k] for k in np.flatnonzero(known)]
    rows.append(np.diag(1 / slack))
    table = np.concatenate(rows)
    covariance = np.linalg.pinv(table.T @ table, rcond=1e-14, hermitian=True)
    found = {}
    for k in np.flatnonzero(known):
        spread = np.linalg.eigvalsh(turn[k] @ covariance @ turn[k].T)
        found[poses.names[k]] = int((np.sqrt(np.maximum(spread, 0.0)) > OPEN_TURN_MIN_RAD).sum())
    return found


def _differentiate(skeleton: Skeleton, poses: Take, frame: int) -> tuple[Floats, Floats]:
    """(m, 6, F) how the place [m] and the turn [rad] of each body change with the figure's freedoms, in one frame, and
    (F,) [m] how far these go: what holds together at a joint only as well as it did at the calibration may shift.
    """
    R, p = np.nan_to_num(poses.R_world_body[frame]), np.nan_to_num(poses.p_world_body[frame])
    m, order = poses.bodies, order_joints(skeleton)
    above = {child: parent for child, parent, _ in order}
    columns: list[Floats] = []
    slack: list[float] = []

    def add(body: int, axis: Floats, about: Floats | None, far: float = np.inf) -> None:
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
        slack.append(far)

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
        far = UNKNOWN_PLACE_M if joint.kind == "undetermined" else max(float(joint.residual), SLACK_MIN_M)
        for axis in np.eye(3):
            add(child, axis, None, far)
    return np.stack(columns, axis=-1), np.array(slack)


@dataclass(frozen=True)
class Absent:
    """A body without a sensor: whether it has a pose, and about how many axes its turn is open where most are.

    share, time  of the frames in which it is open at all, and [s] from the first of them to the last
    held         whether a joint of it is held to an axis, or to a rotation, of the calibration
    """

    body: str
    posed: bool
    open_turns: int
    share: float = 1.0
    time: tuple[float, float] | None = None
    held: bool = False


def find_absent(
    skeleton: Skeleton, poses: Take, placed: Bools, turned: Bools, sigmas: tuple[Floats, Floats]
) -> list[Absent]:
    """The bodies that no sensor reports in any frame; see `count_open_turns`."""
    asked, counts = count_open_turns(skeleton, poses, placed, turned, sigmas)
    holding = [joint for joint in skeleton.joints if joint.kind in (*ONE_AXIS, "rigid")]
    held = {name for joint in holding for name in (joint.child, joint.parent)}
    absent = []
    for k, name in enumerate(poses.names):
        if turned[:, k].any():
            continue
        found = counts.get(name, np.zeros(0, np.int64))
        when = poses.time[asked[found > 0]] if found.any() else np.zeros(0)
        span = (float(when.min()), float(when.max())) if len(when) and poses.timed else None
        share = float((found > 0).mean()) if len(found) else 1.0
        posed, most = bool(poses.seen[:, k].any()), int(found.max(initial=0))
        absent.append(Absent(name, posed, most, share, span, name in held))
    return absent


def describe_absent(absent: list[Absent]) -> list[Finding]:
    """What to say of bodies without a sensor: what the others tell of them, and what nothing tells."""
    findings = []
    for one in absent:
        if not one.posed:
            text = f"{one.body} has no sensor here, and none is beyond it: it has no pose"
        elif one.open_turns == 0:
            text = f"{one.body} has no sensor here; the lengths and the other sensors determine its pose"
            text += ", if its joints turn as they did at the calibration" if one.held else ""
        else:
            what = _OPEN_WORDS[one.open_turns] + (f" in {one.share:.0%} of the frames" if one.share < 1 else "")
            text = (
                f"{one.body} has no sensor here, and the others do not determine {what}: it is not measured but kept "
                "near that of the calibration"
            )
        sure = one.posed and one.open_turns == 0
        findings.append(
            Finding("sensor-absent", "info" if sure else "warning", text, (one.body,), one.time, float(one.open_turns))
        )
    return findings
