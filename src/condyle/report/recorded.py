"""What was recorded before sensors were moved back: where they sat, and how far their joints came apart."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats, Ints, evenly
from ..model.clock import Clock
from ..model.skeleton import Skeleton, Slip
from ..model.take import Take
from .page_data import PageRecorded, PageSlip, to_triple

if TYPE_CHECKING:
    from .shown import MotionPieces

RECORDED_SHOWN_FRAMES = 6_000  # frames at most: what a wide plot can show
RECORDED_STEPS = 60_000  # into which the largest gap is cut


def list_slips(skeleton: Skeleton, clock: Clock) -> tuple[PageSlip, ...]:
    """Where every sensor that slipped sat after each of its slips."""
    end = float(clock.end.max(initial=0.0)) + clock.step  # the last frame is before it
    found = []
    for k, slip in enumerate(skeleton.slips):
        turn, shift = sum_slips([one for one in skeleton.slips[: k + 1] if one.body == slip.body])
        after = next((one for one in skeleton.slips[k + 1 :] if one.body == slip.body), None)
        stop = end if after is None else clock.moment(after.time, after.frame)
        start = clock.moment(slip.time, slip.frame)
        where = to_triple(shift), to_triple(rotation.to_vector(turn))
        found.append(PageSlip(skeleton.bodies.index(slip.body), start, stop, *where))
    return tuple(found)


def sum_slips(slips: list[Slip]) -> tuple[Floats, Floats]:
    """(R, p) of a sensor after its slips, in the frame that it had before the first of them."""
    turn, shift = np.eye(3), np.zeros(3)
    for slip in slips:
        shift = shift + turn @ slip.shift
        turn = turn @ rotation.from_vector(slip.turn)
    return turn, shift


def show_recorded(skeleton: Skeleton, shown: MotionPieces) -> tuple[PageRecorded, ...]:
    """The gaps of the joints that slips touched, as they were recorded."""
    slipped = {slip.body for slip in skeleton.slips}
    touched = [k for k, joint in enumerate(skeleton.joints) if {joint.child, joint.parent} & slipped]
    if not touched:
        return ()
    rows = shown.rows[evenly(len(shown.rows), RECORDED_SHOWN_FRAMES)]
    held = shown.source.rows(rows)
    gap = find_recorded_gaps(
        skeleton, Take(skeleton.bodies, held.time, held.R, held.p, shown.source.segment[rows]), rows
    )
    found = []
    for k in touched:
        step = float(np.nanmax(gap[:, k], initial=0.0)) / RECORDED_STEPS
        if step > 0:
            packed = np.where(np.isfinite(gap[:, k]), np.rint(gap[:, k] / step), 0).astype("<u2")
            found.append(PageRecorded(k, step, base64.b64encode(packed.tobytes()).decode("ascii")))
    return tuple(found)


def find_recorded_gaps(skeleton: Skeleton, take: Take, rows: Ints) -> Floats:
    """(n, J) [m] gaps of all joints with sensors where they were; NaN where no slip touches them. rows (n,): the frames
    of the whole take that `take` has.
    """
    R, p = np.array(take.R_world_body), np.array(take.p_world_body)
    moved = np.zeros(p.shape[:2], dtype=bool)
    for k, slip in enumerate(skeleton.slips):
        body = skeleton.bodies.index(slip.body)
        turn, shift = sum_slips([one for one in skeleton.slips[: k + 1] if one.body == slip.body])
        since = rows >= slip.frame
        p[since, body] = take.p_world_body[since, body] + take.R_world_body[since, body] @ shift
        R[since, body] = take.R_world_body[since, body] @ turn
        moved[since, body] = True
    gap = np.full((len(rows), len(skeleton.joints)), np.nan)
    for k, joint in enumerate(skeleton.joints):
        child, parent = skeleton.columns(joint)
        apart = p[:, child] + R[:, child] @ joint.p_child_joint - p[:, parent] - R[:, parent] @ joint.p_parent_joint
        gap[:, k] = np.where(moved[:, child] | moved[:, parent], np.linalg.norm(apart, axis=1), np.nan)
    return gap
